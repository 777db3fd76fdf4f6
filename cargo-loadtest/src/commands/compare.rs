//! `cargo loadtest compare`: what changed between a baseline, or a run, and another run.

use crate::cli::CompareArgs;
use crate::error::Error;

pub(crate) fn compare(args: &CompareArgs) -> Result<u8, Error> {
    todo!("{args:?}")
}
