//! Trials: test functions under their names.

use crate::project::ours;
use libtest_mimic::{Completion, Trial};
use std::path::PathBuf;
use std::process::Command;

/// Makes a trial of each function, named after its module; `needing "program"` ignores them where
/// there is no such program.
macro_rules! trials {
    (needing $program:literal: $($test:ident,)*) => {
        vec![$($crate::trial::new_trial(module_path!(), stringify!($test), Some($program), $test),)*]
    };
    ($($test:ident,)*) => {
        vec![$($crate::trial::new_trial(module_path!(), stringify!($test), None, $test),)*]
    };
}
pub(crate) use trials;

/// Makes a trial of a test, named after its module.
pub(crate) fn new_trial(module: &str, test: &str, needs: Option<&'static str>, run: fn()) -> Trial {
    let module = module.split_once("::").map_or(module, |(_, module)| module);
    Trial::ignorable_test(format!("{module}::{test}"), move || {
        if let Some(program) = needs.filter(|program| !is_installed(program)) {
            return Ok(Completion::ignored_with(format!(
                "`{program}` is not installed, or not permitted"
            )));
        }
        run();
        Ok(Completion::Completed)
    })
}

/// Returns whether `program` is in `PATH`.
pub(crate) fn is_installed(program: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    // In many a container it is there and may do nothing.
    match program {
        "unshare" => found && succeeds("unshare", &["-Urnm", "true"]),
        "nats-server" => !nats_servers().is_empty(),
        // Packages of Python and Node.
        "sse-starlette" | "websockets" => ours().join("servers/python/bin/uvicorn").is_file(),
        "graphql-yoga" => is_installed("node") && ours().join("servers/node/node_modules").is_dir(),
        "grpcio" => succeeds("/usr/bin/python3", &["-c", "import grpc"]),
        _ => found,
    }
}

/// Returns the servers of clusters: those that `LOADTEST_NATS_SERVER` lists as `PATH` does, else the first in `PATH`
/// that is not too old.
pub(crate) fn nats_servers() -> Vec<PathBuf> {
    if let Some(given) = std::env::var_os("LOADTEST_NATS_SERVER") {
        return std::env::split_paths(&given).collect();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("nats-server"));
    let is_current = |program: &PathBuf| {
        let told = Command::new(program).arg("--version").output();
        told.is_ok_and(|told| {
            let text = String::from_utf8_lossy(&told.stdout);
            !["v2.9.", "v2.8.", "v2.7."]
                .iter()
                .any(|old| text.contains(old))
                && told.status.success()
        })
    };
    programs.find(is_current).into_iter().collect()
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    let output = command.args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}
