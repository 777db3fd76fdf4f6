//! Tests of the measurement itself: counts, arithmetic and accounts, against a scripted server.
//!
//! They run alone, one after another, and assert only what is exact on a busy machine.

mod accounts;
#[path = "../e2e/call.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod call;
mod capacity;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(unix)]
mod generator;
#[path = "../e2e/lonely.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "the functional tests use the rest"
)]
mod lonely;
mod mix;
#[path = "../e2e/project.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod project;
#[path = "../e2e/site.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod site;
#[path = "../e2e/trial.rs"]
mod trial;

#[cfg(unix)]
use call::Call;
use libtest_mimic::Arguments;
#[cfg(unix)]
use loadtest_tests::Server;
#[cfg(unix)]
use site::Sandbox;
use std::process::ExitCode;
pub(crate) use trial::trials;

fn main() -> ExitCode {
    let arguments = Arguments {
        test_threads: Some(1),
        ..Arguments::from_args()
    };
    let trials = [
        accounts::trials(),
        capacity::trials(),
        #[cfg(target_os = "linux")]
        faults::trials(),
        #[cfg(unix)]
        generator::trials(),
        mix::trials(),
    ];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}

/// `cargo loadtest run <line>` where `ulimit <limit>` holds: `-n 400`, or `-S -n 128` until the tool raises it.
#[cfg(unix)]
fn run_with_files(sandbox: &Sandbox, limit: &str, line: &str, server: &Server) -> Call {
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    sandbox
        .wrapped("sh", &["-c", &script])
        .args(["run", "--profile", "dev"])
        .line(line)
        .args(["--base-url", &server.url()])
}
