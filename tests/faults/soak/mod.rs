//! Runs that are large: what they keep is bounded, and their accounts balance. They are no rows of the table.
//!
//! Hours of a run are in the tests of the engine and of the tool, on a paused clock.

mod errors;
mod run;
mod users;

use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![errors::trial(), users::trial()]
}
