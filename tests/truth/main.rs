//! Tests of the measurement itself: counts, arithmetic and accounts, against a scripted server.
//!
//! They run alone, one after another, and assert only what is exact on a busy machine.

mod accounts;
#[path = "../e2e/call.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod call;
mod capacity;
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
#[path = "../e2e/project.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod project;
#[path = "../e2e/site.rs"]
#[expect(dead_code, reason = "the functional tests use the rest")]
mod site;
#[path = "../e2e/trial.rs"]
mod trial;

use libtest_mimic::Arguments;
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
        #[cfg(unix)]
        generator::trials(),
    ];
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}
