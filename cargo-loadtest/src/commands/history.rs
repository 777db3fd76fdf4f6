//! `cargo loadtest history`: the runs of each scenario, and the version each belongs to.

use crate::cli::HistoryArgs;
use crate::error::Error;

pub(crate) fn history(args: &HistoryArgs) -> Result<u8, Error> {
    todo!("{args:?}")
}
