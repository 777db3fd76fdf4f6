//! The `main` of a load-test binary: each scenario a test under libtest's rules, or, asked by
//! `cargo-loadtest`, a listing or a run.

mod capacity;
mod control_pipe;
mod debug;
mod definition_redaction;
mod failures;
mod permission;
mod requests;
pub(crate) mod run;
pub(crate) mod run_identity;
mod setup;
mod setup_client;
mod smoke;

use crate::package_folder::find_package_folder;
use crate::registry::Registry;
use crate::secrets;
use crate::targets::{offline, set_running_package};
use loadtest_model::protocol::{Listing, REQUEST_VARIABLE, Request};
use loadtest_model::redacted::replace_controls;
use setup::Hooks;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

#[doc(hidden)]
pub use definition_redaction::redact_definition;

/// Makes a file a load-test binary: the last line of a `harness = false` test target.
///
/// ```no_run
/// loadtest::main!();
/// ```
#[macro_export]
macro_rules! main {
    () => {
        /// By this `cargo loadtest` knows the binary without running it.
        #[used]
        static __LOADTEST_MARKER: [u8; $crate::harness::MARKER.len()] = *$crate::harness::MARKER;

        /// Runs only where the target lacks `harness = false`, so that its scenarios would not.
        #[test]
        fn harness_is_not_switched_off() {
            ::core::panic!("{}", $crate::harness::HARNESS_MISSING);
        }

        fn main() -> ::std::process::ExitCode {
            $crate::harness::main(
                ::core::env!("CARGO_PKG_NAME"),
                ::core::env!("CARGO_MANIFEST_DIR"),
            )
        }
    };
    ($($given:tt)+) => {
        ::core::compile_error!(
            "`loadtest::main!()` takes no arguments: every linked `#[scenario]` is found"
        );
        $crate::main!();
    };
}

/// The remedy for a target that the standard test harness runs.
#[doc(hidden)]
pub const HARNESS_MISSING: &str = "`cargo test` ran no scenario: write `harness = false` into the `[[test]]` of this file in `Cargo.toml`";

/// [`MARKER_PREFIX`](loadtest_model::protocol::MARKER_PREFIX) and [`VERSION`](loadtest_model::protocol::VERSION).
#[doc(hidden)]
pub const MARKER: &[u8; 28] = b"\0loadtest-binary\0protocol=02";

/// Runs what is asked for; `package` is the one that holds the program, in the folder `root`.
#[doc(hidden)]
pub fn main(package: &str, root: &str) -> ExitCode {
    let root = find_package_folder(package, root);
    set_running_package(&root);
    with_guarded_output(|| {
        let registry = Registry::collect();
        let Some(request) = std::env::var_os(REQUEST_VARIABLE) else {
            return smoke::run_smoke_tests(&registry);
        };
        let program = ProgramOrigin {
            package,
            root: &root,
        };
        to_exit_code(answer_request(&registry, &program, Path::new(&request)))
    })
}

/// The package that holds the program.
struct ProgramOrigin<'a> {
    package: &'a str,
    root: &'a Path,
}

/// Does the same with a scenario that comes as data: a [`Replay`] in JSON, the first line of standard input,
/// since what it sends is no one else's to read.
#[cfg(feature = "replay")]
#[doc(hidden)]
pub fn replay() -> ExitCode {
    let Some(request) = std::env::var_os(REQUEST_VARIABLE) else {
        print_error("error: nothing is asked for");
        return ExitCode::FAILURE;
    };
    let read = || {
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        let recorded: loadtest_model::protocol::Replay = serde_json::from_str(&line)?;
        set_running_package(&recorded.root);
        let scenario = crate::replay::build_scenario(recorded).map_err(io::Error::other)?;
        let registry = Registry {
            scenarios: vec![scenario],
            problems: Vec::new(),
        };
        let program = ProgramOrigin {
            package: "",
            root: Path::new(""),
        };
        answer_request(&registry, &program, Path::new(&request))
    };
    with_guarded_output(|| to_exit_code(read()))
}

/// Lets nothing that is secret be printed by what the process does.
fn with_guarded_output(does: impl FnOnce() -> ExitCode) -> ExitCode {
    secrets::own_output();
    let code = does();
    secrets::flush_output();
    code
}

fn to_exit_code(answered: io::Result<()>) -> ExitCode {
    match answered {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn answer_request(
    registry: &Registry,
    program: &ProgramOrigin<'_>,
    request: &Path,
) -> io::Result<()> {
    let request = std::fs::read(request)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", request.display())))?;
    let request = serde_json::from_slice(&request)?;
    if !matches!(request, Request::List { .. }) {
        // Before the first thread; the run reports its result.
        offline::enter();
    }
    match request {
        Request::List { output } => {
            let scenarios = registry
                .scenarios
                .iter()
                .map(|scenario| redact_definition(&scenario.definition))
                .collect();
            let listing = Listing {
                package: program.package.to_owned(),
                package_root: program.root.into(),
                scenarios,
                problems: registry.problems.clone(),
            };
            write_json(&output, &listing)
        }
        Request::Run(request) => requests::run_requests(registry, &[*request]),
        Request::Mix { scenarios } => requests::run_requests(registry, &scenarios),
        Request::Debug(request) => debug::run_debug_request(registry, &request),
        Request::Setup(request) => setup::run_setup_request(registry, &request, Hooks::Setups),
        Request::Teardown(request) => {
            setup::run_setup_request(registry, &request, Hooks::Teardowns)
        }
        Request::Capacity(request) => capacity::run_capacity_search(registry, &request),
    }
}

/// Writes to a temporary name first, so that no half file ever has the final one.
fn write_json(path: &Path, value: &impl serde::Serialize) -> io::Result<()> {
    let temporary = path.with_extension("part");
    let write = || {
        let bytes = secrets::scrub_json(serde_json::to_vec(value)?);
        std::fs::write(&temporary, bytes)?;
        std::fs::rename(&temporary, path)
    };
    let written = write().or_else(|error| match path.parent() {
        // The folder was removed meanwhile.
        Some(folder) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            write()
        }
        _ => Err(error),
    });
    written.map_err(|error| {
        // What is left of it is of no use, and the first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
        write_error(path, &error)
    })
}

/// The error of a file that could not be written, with its name.
fn write_error(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("could not write `{}`: {error}", path.display()),
    )
}

/// Writes a line to standard error, even if that is closed. Nothing in it drives a terminal.
fn print_error(line: &str) {
    let _closed = writeln!(io::stderr(), "{}", replace_controls(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_removed_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store/run/record-1.json");
        write_json(&path, &1).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"1");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        // A folder of that name is there, so the last step fails.
        std::fs::create_dir(&path).unwrap();
        let error = write_json(&path, &1).unwrap_err().to_string();
        assert!(error.contains("record.json"), "{error}");
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
