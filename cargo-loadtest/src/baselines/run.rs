//! A run in a baseline: a file, and what it holds.

use crate::store;
use crate::store::RecordError;
use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use loadtest_console::error::Error;
use loadtest_console::file_names;
use loadtest_console::files;
use loadtest_model::card::Trust;
use loadtest_model::comparison::Side;
use loadtest_model::record::{RunRecord, ScenarioRecord};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

const ENDING: &str = ".json.gz";
/// No pruned record is larger, and no larger one is read into memory.
const LARGEST: u64 = 256 << 20;

/// The record of one scenario of a run, in a baseline.
#[derive(Debug, Clone)]
pub(crate) struct BaselineRun {
    pub(crate) path: PathBuf,
    /// It holds one scenario.
    pub(crate) record: RunRecord,
}

fn damaged_baseline(path: &Path, reason: &str) -> Error {
    Error::failure(format!(
        "`{}`, a run in a baseline, cannot be read: {reason}",
        path.display()
    ))
    .with_help("restore it from version control, or delete it and save a run again")
}

impl BaselineRun {
    /// Prepares a scenario of a run for the baseline in `folder`.
    ///
    /// # Errors
    /// When the identifier of the run is not a valid file name.
    pub(super) fn from_record(
        record: &RunRecord,
        scenario: &ScenarioRecord,
        folder: &Path,
    ) -> Result<Self, Error> {
        if !file_names::is_file_name(&record.run_id) {
            let reason = format!(
                "the run identifier {:?} is not a valid file name",
                record.run_id
            );
            return Err(store::damaged_record(folder, &reason));
        }
        let directory = folder.join(file_names::scenario_folder(
            &scenario.start.definition.identity(),
        ));
        Ok(Self {
            path: directory.join(format!("{}{ENDING}", record.run_id)),
            record: record.pruned(scenario),
        })
    }

    /// Returns true if the file name looks like that of a saved run.
    pub(super) fn is_named_as_one(path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.strip_suffix(ENDING))
            .is_some_and(file_names::is_file_name)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// One that is damaged, or newer than this tool.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let damaged = |reason: String| damaged_baseline(path, &reason);
        let packed = files::read(path).map_err(Error::io("read", path))?;
        let mut bytes = Vec::new();
        GzDecoder::new(&*packed)
            .take(LARGEST)
            .read_to_end(&mut bytes)
            .map_err(|error| damaged(format!("it is not packed as runs are ({error})")))?;
        let record = store::decode_record(&bytes, path).map_err(|error| match error {
            RecordError::Damaged(reason) => damaged(reason),
            RecordError::Newer(error) => error,
        })?;
        if record.scenarios.len() != 1 {
            return Err(damaged("it is not the record of one scenario".to_owned()));
        }
        let run = Self {
            path: path.to_path_buf(),
            record,
        };
        if path.file_name() != Some(format!("{}{ENDING}", run.record.run_id).as_ref()) {
            let run_id = &run.record.run_id;
            return Err(damaged(format!("it is of the run {run_id:?}")));
        }
        Ok(run)
    }

    /// Writes the file: the same bytes for the same record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self) -> Result<(), Error> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
        files::write(&self.path, &self.bytes()?)
    }

    pub(super) fn bytes(&self) -> Result<Vec<u8>, Error> {
        let json = serde_json::to_vec(&self.record)
            .map_err(Error::encode(format_args!("`{}`", self.path.display())))?;
        // Without the time, and the same whatever the system.
        let mut packed = GzBuilder::new()
            .mtime(0)
            .operating_system(255)
            .write(Vec::new(), Compression::best());
        packed
            .write_all(&json)
            .and_then(|()| packed.finish())
            .map_err(Error::io("pack", &self.path))
    }

    pub(crate) fn scenario(&self) -> &ScenarioRecord {
        &self.record.scenarios[0]
    }

    pub(crate) fn identity(&self) -> String {
        self.scenario().start.definition.identity()
    }

    /// Returns the start of the run, RFC 3339 in UTC.
    #[cfg(feature = "ui")]
    pub(crate) fn started_at(&self) -> &str {
        &self.record.started_at
    }

    /// Returns the sort key for the order of time.
    pub(super) fn age(&self) -> (&str, &str) {
        (&self.record.started_at, &self.record.run_id)
    }

    /// Returns the run as one side of a comparison; only trustworthy runs are saved.
    pub(crate) fn side(&self) -> Side<'_> {
        Side {
            run_id: &self.record.run_id,
            environment: &self.record.environment,
            scenario: self.scenario(),
            trust: Trust::Valid,
        }
    }

    /// Refuses the run of another scenario.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn is_of(&self, identity: &str) -> Result<(), Error> {
        if self.identity() == identity {
            return Ok(());
        }
        Err(damaged_baseline(
            &self.path,
            &format!("it is of the scenario `{}`", self.identity()),
        ))
    }

    /// Refuses the run of a scenario that has another folder.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn belongs_to(&self, folder: &Path) -> Result<(), Error> {
        if folder.file_name() == Some(file_names::scenario_folder(&self.identity()).as_ref()) {
            return Ok(());
        }
        self.is_of("")
    }
}
