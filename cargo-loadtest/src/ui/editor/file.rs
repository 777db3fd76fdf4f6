//! The file of a scenario: which it is, and where the scenario stands in it.

use super::super::dashboard::Dashboard;
use crate::commands::duplicate::find_source;
use crate::error::Error;
use crate::source::{FileSource, ScenarioSource, read_source};
use crate::workspace::folder;
use std::path::{Path, PathBuf};

/// A scenario in its file as it is now.
#[derive(Debug)]
pub(in crate::ui) struct EditedFile {
    pub(in crate::ui) path: PathBuf,
    /// The path from the workspace, with `/`.
    pub(in crate::ui) shown: String,
    pub(in crate::ui) text: String,
    pub(in crate::ui) scenario: ScenarioSource,
}

/// The most files of a package that are looked through.
const FILES: usize = 2_000;

/// Reads the file of a scenario.
///
/// # Errors
/// When it is no source of this workspace, is no Rust, or does not hold the scenario any more.
pub(in crate::ui) fn find_scenario(
    dashboard: &Dashboard,
    identity: &str,
) -> Result<EditedFile, Error> {
    let function = identity.rsplit("::").next().unwrap_or_default();
    let Some(definition) = dashboard.definition(identity) else {
        return search_package(dashboard, identity, function);
    };
    let path = find_source(&definition, &dashboard.workspace)
        .map_err(|reason| Error::usage(format!("`{identity}` cannot be edited here: {reason}")))?;
    let text = read_source(&path)?;
    let shown = dashboard.shown_path(&path).to_string();
    let source = FileSource::read(&text)
        .map_err(|error| Error::usage(format!("`{shown}` cannot be read as Rust: {error}")))?;
    let scenario = choose(source.scenarios, identity, &definition.function).ok_or_else(|| {
        Error::nothing_found(format!(
            "`{shown}` does not hold the scenario `{function}` any more"
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

/// Searches the sources of a package for a scenario that is not listed: before the load tests are built, or while they
/// do not build.
fn search_package(
    dashboard: &Dashboard,
    identity: &str,
    function: &str,
) -> Result<EditedFile, Error> {
    let unknown = || Error::nothing_found(format!("there is no scenario `{identity}`"));
    let package = identity.split("::").next().unwrap_or_default();
    let packages = dashboard.workspace.packages();
    let package = packages.iter().find(|one| one.name.as_str() == package);
    let mut folders = vec![folder(package.ok_or_else(unknown)?)];
    let mut found = Vec::new();
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let is_hidden = name.to_string_lossy().starts_with('.');
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && !is_hidden && path != dashboard.workspace.target_directory {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|end| end == "rs") {
                seen += 1;
                found.extend(read_scenario(dashboard, &path, identity, function));
            }
        }
        if seen > FILES {
            break;
        }
    }
    found.sort_by_key(|file| {
        // A file is named in the identity of its scenarios, unless `#[path]` says otherwise.
        let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
        !identity.contains(&format!("::{stem}::"))
    });
    found.into_iter().next().ok_or_else(unknown)
}

fn read_scenario(
    dashboard: &Dashboard,
    path: &Path,
    identity: &str,
    function: &str,
) -> Option<EditedFile> {
    let text = read_source(path).ok()?;
    let is_candidate = text.contains("scenario") && text.contains(function);
    let source = FileSource::read(is_candidate.then_some(&text)?).ok()?;
    Some(EditedFile {
        scenario: choose(source.scenarios, identity, function)?,
        shown: dashboard.shown_path(path).to_string(),
        path: path.to_path_buf(),
        text,
    })
}
