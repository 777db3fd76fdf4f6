//! Runs that are large or long: what they keep is bounded, and their accounts balance.
//!
//! They run alone, one after another. Hours of a run are in the tests of the engine and of the tool, on a paused clock.

#[path = "../e2e/call.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod call;
#[cfg(target_os = "linux")]
mod errors;
#[path = "../e2e/lonely.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "the functional tests use the rest"
)]
mod lonely;
#[path = "../e2e/project.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod project;
#[cfg(target_os = "linux")]
mod run;
#[path = "../e2e/site.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod site;
#[cfg(target_os = "linux")]
mod users;

use libtest_mimic::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments {
        test_threads: Some(1),
        ..Arguments::from_args()
    };
    let trials = vec![
        #[cfg(target_os = "linux")]
        errors::trial(),
        #[cfg(target_os = "linux")]
        users::trial(),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}
