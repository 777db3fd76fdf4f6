//! `cargo loadtest report`: grades the record of an earlier run again.

use super::{baseline, publish};
use crate::baselines::Against;
use crate::cli::{CargoArgs, Cli, ReportArgs};
use crate::config::Config;
use crate::error::Error;
use crate::store::{self, RunFolder, Store};
use crate::workspace::Workspace;
use loadtest::plan::GradingDefaults;
use loadtest::record::RunRecord;
use std::path::{Path, PathBuf};

/// Prints and exports the card of a run.
///
/// # Errors
/// When there is no such run, or its record cannot be read.
pub(crate) fn report(args: &ReportArgs, _cli: &Cli) -> Result<u8, Error> {
    let mut exports = publish::Exports::check(&args.export, &args.pdf)?;
    let (folder, mut record) = find(&args.run, &args.cargo)?;
    if args.ci {
        // A record may be read far from its sources.
        let workspace = Workspace::load(&args.cargo);
        let root = workspace.map_or(PathBuf::from("."), |found| found.root().to_path_buf());
        exports = exports.for_ci(&root);
    }
    if let Some(name) = &args.baseline {
        let baseline = baseline::baselines(&args.cargo)?.open(name)?;
        let scenarios = record.scenarios.iter();
        let identities = scenarios.map(|scenario| scenario.definition.identity());
        Against::read(&baseline, identities)?.compare(&mut record);
    }
    if args.apdex.is_some() || args.budget.is_some() {
        record.regrade(&GradingDefaults {
            apdex: args.apdex,
            budget: args.budget,
            ..Default::default()
        });
    }
    publish::publish(&record, &folder, &exports)
}

/// The record of a run: an identifier or its beginning, a path, or `latest`.
///
/// # Errors
/// When there is no such run, or its record cannot be read.
pub(super) fn find(run: &str, cargo: &CargoArgs) -> Result<(RunFolder, RunRecord), Error> {
    let path = Path::new(run);
    // What is no name in the store is a path, also one that is not there.
    if path.is_file() || (!path.is_dir() && path.components().count() > 1) {
        if let Some(folder) = RunFolder::around(path) {
            let record = folder.read()?;
            return Ok((folder, record));
        }
        return Ok((RunFolder::of(path), store::read_record(path)?));
    }
    let folder = if path.is_dir() {
        RunFolder::at(path)
    } else {
        let workspace = Workspace::load(cargo)?;
        let config = Config::load(&workspace.start, workspace.root())?;
        Store::of(&workspace, &config).find(run)?
    };
    let record = folder.read()?;
    Ok((folder, record))
}
