//! Runs on disk: a folder for each, with its record, or its journals until it has one.

mod claim;
mod find;
mod folder;
mod identifier;
mod prune;
mod read;

#[cfg(feature = "ui")]
pub(crate) use claim::Claim;
pub(crate) use find::open;
pub(crate) use folder::{MeasuredRun, RunFolder, is_of_a_run, is_packed_record};
pub(crate) use read::{RecordError, damaged_record, decode_record, not_run, read_record};

use crate::cli::CargoArgs;
use crate::config::Config;
use crate::workspace::Workspace;
pub(crate) use find::LATEST;
use identifier::identifier;
use jiff::Timestamp;
use loadtest_console::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run under way is among so many of the newest.
#[cfg(feature = "ui")]
const UNDER_WAY_WITHIN: usize = 20;

/// The folder that holds all runs.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    directory: PathBuf,
    /// The number of runs to keep, the newest.
    keep: Option<usize>,
    /// The maximum age of a run.
    max_age: Option<Duration>,
    /// The folder of baselines, which pruning never touches.
    baselines: PathBuf,
}

impl Store {
    /// A store in `directory`, whose baselines lie in it.
    #[cfg(test)]
    pub(crate) fn at(directory: PathBuf) -> Self {
        Self {
            baselines: directory.join("baselines"),
            directory,
            keep: None,
            max_age: None,
        }
    }

    /// The one that the configuration names, else that among the artifacts of the build.
    pub(crate) fn in_workspace(workspace: &Workspace, config: &Config) -> Self {
        let directory = config
            .store
            .directory
            .clone()
            .unwrap_or_else(|| workspace.run_directory());
        Self {
            directory,
            keep: config.store.keep,
            max_age: config.store.max_age,
            baselines: config.folder.join(".loadtest/baselines"),
        }
    }

    /// The one of the workspace that cargo finds from here, or that of a folder without a package.
    ///
    /// # Errors
    /// Those of cargo; a configuration that cannot be read.
    pub(crate) fn of_workspace(cargo: &CargoArgs) -> Result<Self, Error> {
        let workspace = Workspace::load_or_folder(cargo)?;
        let config = Config::load(&workspace.start, workspace.root())?;
        Ok(Self::in_workspace(&workspace, &config))
    }

    /// A new folder, named by the time and something random.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn create(&self) -> Result<RunFolder, Error> {
        std::fs::create_dir_all(&self.directory)
            .map_err(Error::io("create the folder", &self.directory))?;
        loop {
            let path = self.directory.join(identifier(Timestamp::now()));
            match std::fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create the folder", path)(error)),
                Ok(()) => return Ok(RunFolder::claimed(&path)),
            }
        }
    }

    /// Tests that runs could be kept; what is made of the folder stays.
    ///
    /// # Errors
    /// When they could not.
    #[cfg(feature = "cluster")]
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        std::fs::create_dir_all(&self.directory)
            .map_err(Error::io("create the folder", &self.directory))?;
        loadtest_console::files::try_write(&self.directory.join(LATEST).with_extension("probe"))
    }

    /// Makes `folder` the one that `latest` means: a link to it, or, where links need rights, a file that names it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn mark_latest(&self, folder: &RunFolder) -> Result<(), Error> {
        let latest = self.directory.join(LATEST);
        #[cfg(unix)]
        {
            let new = self
                .directory
                .join(format!(".{LATEST}-{}", std::process::id()));
            std::os::unix::fs::symlink(folder.identifier(), &new)
                .and_then(|()| std::fs::rename(&new, &latest))
                .map_err(Error::io("write", latest))
        }
        #[cfg(not(unix))]
        loadtest_console::files::write(&latest, folder.identifier().as_bytes())
    }

    /// Returns the folder of all runs.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The folders that hold what this tool wrote.
    pub(crate) fn outputs(&self) -> [&Path; 2] {
        [&self.directory, &self.baselines]
    }

    /// The runs, also those that were killed before they began, the oldest first.
    ///
    /// # Errors
    /// When there is none, or the store cannot be read.
    pub(crate) fn runs(&self) -> Result<Vec<RunFolder>, Error> {
        match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::io("read the folder", &self.directory)(error));
            }
            _ => {}
        }
        let mut runs: Vec<RunFolder> = self
            .identifiers()
            .iter()
            .map(|name| RunFolder::at(&self.directory.join(name)))
            .collect();
        runs.retain(RunFolder::is_known);
        if runs.is_empty() {
            return Err(self.no_run());
        }
        Ok(runs)
    }

    /// Returns the newest run that a process writes now, of those begun last.
    #[cfg(feature = "ui")]
    pub(crate) fn newest_under_way(&self) -> Option<RunFolder> {
        let identifiers = self.identifiers();
        let newest = identifiers.iter().rev().take(UNDER_WAY_WITHIN);
        let folders = newest.map(|name| RunFolder::at(&self.directory.join(name)));
        folders.into_iter().find(RunFolder::is_under_way)
    }

    fn no_run(&self) -> Error {
        Error::nothing_found(format!(
            "there is no run in `{}` yet",
            self.directory.display()
        ))
        .with_help("`cargo loadtest run` makes one")
    }

    /// The names of the folders, in their order: of runs, that of time.
    fn identifiers(&self) -> Vec<String> {
        let mut identifiers: Vec<_> = std::fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        identifiers.sort();
        identifiers
    }
}

/// The time as a record has it: RFC 3339 in UTC, to the second, as the folder of a run is named.
pub(crate) fn now() -> String {
    format!("{:.0}", Timestamp::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::exit_code::ExitCode;
    use loadtest_model::record::{NotRun, RunRecord, SCHEMA_VERSION};

    pub(super) fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("target/loadtest");
        let baselines = folder.path().join(".loadtest/baselines");
        let store = Store {
            directory,
            keep: None,
            max_age: None,
            baselines,
        };
        (folder, store)
    }

    pub(super) fn header(run_id: &str) -> RunRecord {
        RunRecord {
            schema_version: SCHEMA_VERSION,
            run_id: run_id.to_owned(),
            tool_version: "0.1.0".to_owned(),
            started_at: "2026-11-21T14:30:05Z".to_owned(),
            environment: loadtest_model::record::Environment::default(),
            scenarios: Vec::new(),
            not_run: Vec::new(),
            capacity: None,
            telemetry: Vec::new(),
        }
    }

    /// The same of a run of so many scenarios.
    pub(super) fn header_of(scenarios: usize) -> RunRecord {
        let expected = |number| NotRun {
            scenario: format!("shop::load::number_{number}"),
            exit_code: ExitCode::Interrupted,
            message: "interrupted before its load started".into(),
            ..NotRun::default()
        };
        RunRecord {
            not_run: (1..=scenarios).map(expected).collect(),
            ..header("killed")
        }
    }

    #[test]
    fn a_record_that_was_kept_is_read_again() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        store.mark_latest(&folder).unwrap();
        let mut record = header(&folder.identifier());
        folder.open(&record).unwrap();
        record.scenarios.push(sample::scenario_record());
        let measured = MeasuredRun {
            record: &record,
            comparison: None,
        };
        folder.close(measured, 1).unwrap();
        assert_eq!(store.find("latest").unwrap().read().unwrap(), record);
        assert_eq!(
            store.find(&folder.identifier()).unwrap().read().unwrap(),
            record
        );
        let files: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .flatten()
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_latest_that_leads_elsewhere_is_replaced_and_not_followed() {
        let (guard, store) = store();
        let elsewhere = guard.path().join("elsewhere");
        std::fs::write(&elsewhere, "untouched").unwrap();
        let folder = store.create().unwrap();
        let latest = store.directory.join(LATEST);
        std::os::unix::fs::symlink(&elsewhere, &latest).unwrap();
        store.mark_latest(&folder).unwrap();
        let led = std::fs::read_link(&latest).unwrap();
        assert_eq!(led, Path::new(&folder.identifier()));
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"untouched");
    }

    #[test]
    fn a_store_that_cannot_be_written_is_an_error_that_names_it() {
        let (_guard, store) = store();
        std::fs::create_dir_all(store.directory.parent().unwrap()).unwrap();
        std::fs::write(&store.directory, "a file").unwrap();
        let error = store.create().unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::Internal);
        assert!(error.to_string().contains("target/loadtest"), "{error}");
    }
}
