//! The file of a scenario: which it is, and where the scenario stands in it.

use super::sources::list_sources;
use crate::commands::duplicate::find_source;
use crate::source::{FileSource, ScenarioSource, read_source};
use crate::ui::dashboard::Dashboard;
use loadtest_console::error::Error;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;

/// A scenario in its file as it is now.
#[derive(Debug)]
pub(in crate::ui) struct EditedFile {
    pub(in crate::ui) path: PathBuf,
    /// The path from the workspace, with `/`.
    pub(in crate::ui) shown: String,
    pub(in crate::ui) text: String,
    pub(in crate::ui) scenario: ScenarioSource,
}

/// Returns the version of a text that a page was made from: a form sends it back, so that a change of another text is
/// noticed.
pub(in crate::ui) fn text_version(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Reads the file of a scenario.
///
/// # Errors
/// When it is no source of this workspace, is no Rust, or does not hold the scenario any more.
pub(in crate::ui) fn find_scenario(
    dashboard: &Dashboard,
    identity: &str,
) -> Result<EditedFile, Error> {
    let (path, function) = find_file(dashboard, identity)?;
    let text = read_source(&path)?;
    let shown = dashboard.shown_path(&path).to_string();
    let source = FileSource::read(&text)
        .map_err(|error| Error::usage(format!("`{shown}` cannot be read as Rust: {error}")))?;
    let scenario = choose(source.scenarios, identity, &function).ok_or_else(|| {
        Error::nothing_found(format!(
            "`{shown}` no longer holds the scenario `{function}`"
        ))
        .with_help("read the source again, on the page of all scenarios")
    })?;
    Ok(EditedFile {
        path,
        shown,
        text,
        scenario,
    })
}

/// Chooses the scenario of a function, by its module where several have that name.
fn choose(
    scenarios: Vec<ScenarioSource>,
    identity: &str,
    function: &str,
) -> Option<ScenarioSource> {
    let same = scenarios.into_iter().filter(|one| one.function == function);
    same.max_by_key(|one| {
        if identity.ends_with(&one.path) {
            one.path.len()
        } else {
            0
        }
    })
}

/// Finds the file and the function of a scenario: in the sources, where the load tests are not built yet or do not build.
fn find_file(dashboard: &Dashboard, identity: &str) -> Result<(PathBuf, String), Error> {
    if let Some(definition) = dashboard.definition(identity) {
        let path = find_source(&definition, &dashboard.workspace()).map_err(|reason| {
            Error::usage(format!("`{identity}` cannot be edited here: {reason}"))
        })?;
        return Ok((path, definition.function.to_string()));
    }
    let mut sources = list_sources(dashboard).into_iter();
    let found = sources.find(|source| source.identity == identity);
    found
        .map(|source| (source.path, source.scenario.function))
        .ok_or_else(|| Error::nothing_found(format!("there is no scenario `{identity}`")))
}
