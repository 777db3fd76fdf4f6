//! `cargo loadtest config`: what is in force, and from where.

use crate::cli::ConfigArgs;
use crate::error::Error;

pub(crate) fn config(args: &ConfigArgs) -> Result<u8, Error> {
    todo!("{args:?}")
}
