//! `cargo loadtest history`: the runs of each scenario, and the version each belongs to.

mod data;

mod human;

#[cfg(test)]
mod tests;

use crate::archive::{Archive, ScenarioHistory};
use crate::cli::{HistoryArgs, ResultFormat};
use crate::selection::matching;
use crate::store::Store;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::exit_code::ExitCode;

/// Prints the runs in the store.
///
/// # Errors
/// When the store cannot be found, or what was asked for is not in it.
pub(crate) fn history(args: &HistoryArgs) -> Result<ExitCode, Error> {
    let store = Store::of_workspace(&args.cargo)?;
    let archive = Archive::read(&store)?;
    let known = archive.scenarios();
    let chosen = match &args.scenario {
        Some(filter) => matching(&known, filter)?,
        None => known,
    };
    let histories: Vec<ScenarioHistory<'_>> = chosen
        .iter()
        .map(|scenario| ScenarioHistory::from_entries(scenario, &archive.entries))
        .collect();
    match args.format {
        ResultFormat::Human => {
            let colour = console::colours_results();
            let text = human::render(
                &histories,
                &archive,
                args.limit,
                console::result_width(),
                colour,
            );
            console::print_result(text.trim_end())?;
        }
        ResultFormat::Json => {
            console::print_json(data::render(&histories, &archive, args.limit))?;
        }
    }
    Ok(ExitCode::Passed)
}
