//! Tests of the measurement itself: counts, arithmetic and accounts, against a scripted server.
//!
//! They run alone, one after another, and assert only what is exact on a busy machine.

mod accounts;
mod capacity;
#[cfg(unix)]
mod generator;
#[path = "../projects/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "the functional tests use the rest"
)]
mod projects;

use libtest_mimic::Arguments;
pub(crate) use projects::{call, lonely, project, site, trial, trial::trials};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments {
        test_threads: Some(1),
        ..Arguments::from_args()
    };
    let trials = [
        accounts::trials(),
        capacity::trials(),
        #[cfg(unix)]
        generator::trials(),
    ];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}
