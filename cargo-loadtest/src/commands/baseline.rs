//! `cargo loadtest baseline`: runs kept under a name.

use crate::cli::BaselineArgs;
use crate::error::Error;

pub(crate) fn baseline(args: &BaselineArgs) -> Result<u8, Error> {
    todo!("{args:?}")
}
