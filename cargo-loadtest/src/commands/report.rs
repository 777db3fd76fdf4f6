//! `cargo loadtest report`: grades the record of an earlier run again.

use super::publish;
use crate::cli::{Cli, ReportArgs};
use crate::error::Error;
use crate::store::{self, Store};
use loadtest::plan::GradingDefaults;

/// Prints and exports the card of a run.
///
/// # Errors
/// When there is no such run, or its record cannot be read.
pub(crate) fn report(args: &ReportArgs, _cli: &Cli) -> Result<u8, Error> {
    let exports = publish::Exports::check(&args.export, &args.pdf)?;
    let (folder, mut record) = store::open(&args.run, || Store::of_workspace(&args.cargo))?;
    if args.apdex.is_some() || args.budget.is_some() {
        record.regrade(&GradingDefaults {
            apdex: args.apdex,
            budget: args.budget,
            ..Default::default()
        });
    }
    publish::publish(&record, &folder, &exports)
}
