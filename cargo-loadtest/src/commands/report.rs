//! `cargo loadtest report`: grades the record of an earlier run again.

use super::publish;
use crate::cli::{Cli, ReportArgs};
use crate::config::Config;
use crate::error::Error;
use crate::store::{self, RunFolder, Store};
use crate::workspace::Workspace;
use loadtest::record::RunRecord;
use std::path::Path;

/// Prints and exports the card of a run.
///
/// # Errors
/// When there is no such run, or its record cannot be read.
pub(crate) fn report(args: &ReportArgs, _cli: &Cli) -> Result<u8, Error> {
    let exports = publish::Exports::check(&args.export, &args.pdf)?;
    let (folder, record) = find(args)?;
    publish::publish(&record, &folder, &exports)
}

fn find(args: &ReportArgs) -> Result<(RunFolder, RunRecord), Error> {
    let path = Path::new(&args.run);
    if path.is_file() {
        let folder = path.parent().unwrap_or(Path::new("."));
        return Ok((RunFolder::at(folder), store::read_record(path)?));
    }
    let folder = if path.is_dir() {
        RunFolder::at(path)
    } else {
        let workspace = Workspace::load(&args.cargo)?;
        let config = Config::load(&workspace.start, workspace.root())?;
        Store::of(&workspace, &config).find(&args.run)?
    };
    let record = folder.read()?;
    Ok((folder, record))
}
