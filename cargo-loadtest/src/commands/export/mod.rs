//! `cargo loadtest export`: a scenario as data, in the shape of `docs/scenario.schema.json`.

mod document;

use super::Project;
use crate::cli::{Cli, ExportArgs};
use crate::console;
use crate::error::Error;
use crate::files;
use crate::selection::one;
use document::describe_scenario;
use std::path::Path;

/// Writes the scenario to the file that was asked for, or prints it.
///
/// # Errors
/// When it cannot be found or written; there is then no file, or the one that was there.
pub(crate) fn export(args: &ExportArgs, cli: &Cli) -> Result<u8, Error> {
    let to_file = args.output != Path::new("-");
    if to_file {
        super::publish::check_path(&args.output)?;
    }
    let project = Project::open(&args.project, cli)?;
    let all = project.scenarios()?;
    let found = one(&all, &args.scenario)?;
    let text = format!("{:#}", describe_scenario(&found.definition));
    if to_file {
        files::write(&args.output, format!("{text}\n").as_bytes())?;
        if !cli.quiet {
            let identity = found.definition.identity();
            let to = args.output.display();
            console::print_status("Exported", format_args!("`{identity}` to {to}"));
        }
    } else {
        console::print_result(text)?;
    }
    Ok(0)
}
