//! Tests whose subject is real time: starts that are due, deadlines, stalls.
//!
//! They run alone, one after another. Each states what it needs of the machine, and [bare loops](machine) beside it measure
//! in the same seconds whether the machine gave that. Where it did not, the test is not judged: it is ignored with the
//! figure, and counted at the end. No other test may do that. A test that can be decided by a paused clock, a server that
//! holds its answer, or a relation that holds at any speed does not belong here.

mod course;
mod machine;
mod pace;
mod trial;

use libtest_mimic::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments {
        test_threads: Some(1),
        ..Arguments::from_args()
    };
    let trials = [pace::trials(), course::trials()];
    let conclusion = libtest_mimic::run(&arguments, trials.into_iter().flatten().collect());
    trial::print_summary();
    conclusion.exit_code()
}
