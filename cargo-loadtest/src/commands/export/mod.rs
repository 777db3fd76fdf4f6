//! `cargo loadtest export`: a scenario as data, in the shape of `docs/scenario.schema.json`, or a launcher for it.

mod document;
mod launchers;

use super::{Project, run};
use crate::cli::{Cli, ExportArgs, LoadArgs};
use crate::selection::one;
use document::describe_scenario;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_model::exit_code::ExitCode;
use std::path::Path;

/// Writes the scenario, or a launcher for it, to the file that was asked for, or prints it.
///
/// # Errors
/// When it cannot be found or written; there is then no file, or the one that was there.
pub(crate) fn export(args: &ExportArgs, cli: &Cli) -> Result<ExitCode, Error> {
    let (name, output, project) = if let Some(launcher) = &args.launcher {
        let args = launcher.args();
        (&*args.scenario, &args.output, &args.project)
    } else {
        let name = args.scenario.as_deref().unwrap_or_default();
        (name, &args.output, &args.project)
    };
    let to_file = output != Path::new("-");
    if to_file {
        super::publish::check_path(output)?;
    }
    let project = Project::open(project, cli)?;
    let all = project.scenarios()?;
    let found = one(&all, name)?;
    let definition = &found.definition;
    let text = match &args.launcher {
        Some(launcher) => {
            let config = project.config()?;
            let load = config
                .defaults(launcher.is_ci())
                .load_args(&LoadArgs::default());
            let overrides = config.overrides(&load)?;
            let chosen = std::slice::from_ref(found);
            let overrides = std::slice::from_ref(&overrides);
            let plans = run::plan(chosen, overrides, &config.grading, 0)?;
            launcher.render(definition, plans.first())?
        }
        None => format!("{:#}\n", describe_scenario(definition)),
    };
    if to_file {
        files::write(output, text.as_bytes())?;
        if !cli.quiet {
            let (identity, to) = (definition.identity(), output.display());
            console::print_status("Exported", format_args!("`{identity}` to {to}"));
        }
    } else {
        console::print_result(text.trim_end_matches('\n'))?;
    }
    Ok(ExitCode::Passed)
}
