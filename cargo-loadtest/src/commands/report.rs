//! `cargo loadtest report`: grades the record of an earlier run again.

use super::{baseline, publish};
use crate::baselines::Against;
use crate::cli::{Cli, ReportArgs};
use crate::store::{self, MeasuredRun, Store};
use crate::workspace::Workspace;
use loadtest_console::error::Error;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::plan::GradingDefaults;
use std::path::PathBuf;

/// Prints and exports the card of a run.
///
/// # Errors
/// When there is no such run, or its record cannot be read.
pub(crate) fn report(args: &ReportArgs, _cli: &Cli) -> Result<ExitCode, Error> {
    let mut exports = publish::Exports::check(&args.export, &args.reports)?;
    let (folder, mut record) = store::open(&args.run, || Store::of_workspace(&args.cargo))?;
    if args.ci {
        // A record may be read far from its sources.
        let workspace = Workspace::load_or_folder(&args.cargo);
        let root = workspace.map_or(PathBuf::from("."), |found| found.root().to_path_buf());
        exports = exports.for_ci(&root);
    }
    let comparison = if let Some(name) = &args.baseline {
        let baseline = baseline::baselines(&args.cargo)?.open(name)?;
        let scenarios = record.scenarios.iter();
        let identities = scenarios.map(|scenario| scenario.start.definition.identity());
        Some(Against::read(&baseline, identities)?.compare(&record))
    } else {
        folder.read_comparison(&record)?
    };
    let policy = GradingDefaults {
        apdex: args.apdex,
        budget: args.budget,
        min_grade: args.min_grade,
        ..Default::default()
    };
    if policy != GradingDefaults::default() {
        record.regrade(&policy);
    }
    let result = MeasuredRun {
        record: &record,
        comparison: comparison.as_ref(),
    };
    publish::publish(result, &folder, &exports)
}
