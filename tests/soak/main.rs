//! Runs that are large or long: what they keep is bounded, and their accounts balance.
//!
//! They run alone, one after another. Hours of a run are in the tests of the engine and of the tool, on a paused clock.

#[cfg(target_os = "linux")]
mod errors;
#[path = "../projects/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "the functional tests use the rest"
)]
mod projects;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod users;

use libtest_mimic::Arguments;
pub(crate) use projects::{call, lonely, project, site};
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
