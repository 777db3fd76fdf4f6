//! The folder of one run: what lies where in it.

use super::claim::Claim;
use super::identifier::began;
use crate::journal;
use flate2::read::GzDecoder;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_console::files::write_json;
use loadtest_model::card::Report;
use loadtest_model::comparison::RunComparison;
use loadtest_model::protocol::TrialFiles;
use loadtest_model::record::{Environment, RunRecord, SCHEMA_VERSION};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io::Read;
use std::path::{Path, PathBuf};

const RECORD: &str = "record.json";
/// The record as far as it is known at the start: it tells of a run that was killed.
const HEADER: &str = "run.json";
const COMPARISON: &str = "comparison.json";

/// The result of a run: the record, and its comparison with a baseline if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredRun<'a> {
    pub(crate) record: &'a RunRecord,
    pub(crate) comparison: Option<&'a RunComparison>,
}

impl MeasuredRun<'_> {
    /// Grades the run.
    pub(crate) fn grade(self) -> Report {
        Report::grade(self.record, self.comparison)
    }
}

/// The folder of one run.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    record: PathBuf,
    /// Marks the folder as written by this process.
    #[expect(dead_code, reason = "it is held, not used")]
    claim: Option<Claim>,
}

impl RunFolder {
    /// A folder that somebody named by its path.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            record: path.join(RECORD),
            claim: None,
        }
    }

    /// A folder that was just made, which is this process's until that ends.
    pub(super) fn claimed(path: &Path) -> Self {
        Self {
            // Without it, the run is known by what it writes.
            claim: Claim::new(path).ok(),
            ..Self::at(path)
        }
    }

    /// The folder of a record that somebody named by its path.
    pub(crate) fn from_record_path(record: &Path) -> Self {
        Self {
            path: record.parent().unwrap_or(Path::new(".")).to_path_buf(),
            record: record.to_path_buf(),
            claim: None,
        }
    }

    /// Returns the record of a run in this folder that starts now, without a result yet.
    pub(crate) fn new_record(&self, environment: Environment) -> RunRecord {
        RunRecord {
            schema_version: SCHEMA_VERSION,
            run_id: self.identifier(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: super::now(),
            environment,
            scenarios: Vec::new(),
            not_run: Vec::new(),
            capacity: None,
            telemetry: Vec::new(),
        }
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The identifier of the run.
    pub(crate) fn identifier(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The record.
    pub(crate) fn record(&self) -> PathBuf {
        self.record.clone()
    }

    /// The folder of a run of which somebody named the file at `path`, and not its record.
    pub(crate) fn around(path: &Path) -> Option<Self> {
        let folder = Self::at(path.parent().filter(|parent| *parent != Path::new(""))?);
        let name = path.file_name()?.to_string_lossy();
        let parts = [
            "journal-",
            "observed-",
            "record-",
            "request-",
            "spans-",
            "run.",
            "search.",
            "comparison.",
        ];
        (folder.has_begun() && parts.iter().any(|part| name.starts_with(part))).then_some(folder)
    }

    /// A file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the path of the request to run scenario number `number`.
    pub(crate) fn request(&self, number: usize) -> PathBuf {
        self.path.join(format!("request-{number}.json"))
    }

    /// Returns the path of the request to run scenarios at once.
    pub(crate) fn mix(&self) -> PathBuf {
        self.path.join("mix.json")
    }

    /// The course of a search, whose trials have journals and records as scenarios have.
    pub(crate) fn search(&self) -> PathBuf {
        self.path.join("search.jsonl")
    }

    /// The files of the trial with the number `number`, one for spans if some are kept.
    pub(crate) fn trial(&self, number: usize, has_spans: bool) -> TrialFiles {
        TrialFiles {
            journal: self.journal(number),
            record: self.scenario_record(number),
            observed: self.path.join(format!("observed-{number}.json")),
            spans: has_spans.then(|| self.spans(number)),
        }
    }

    /// Its journal, until it is compressed.
    pub(crate) fn journal(&self, number: usize) -> PathBuf {
        self.path.join(format!("journal-{number}.jsonl"))
    }

    /// Returns the path of what is observed of that scenario, until the run has a record.
    pub(crate) fn observed(&self, number: usize) -> PathBuf {
        self.path.join(format!("observed-{number}.jsonl"))
    }

    /// Returns the path of the spans of that scenario.
    pub(crate) fn spans(&self, number: usize) -> PathBuf {
        self.path.join(format!("spans-{number}.jsonl"))
    }

    /// Returns the path of the raw samples of that scenario, until they are lines.
    pub(crate) fn samples(&self, number: usize) -> PathBuf {
        self.path.join(format!("samples-{number}"))
    }

    /// The record of that scenario alone, until the run has one.
    pub(crate) fn scenario_record(&self, number: usize) -> PathBuf {
        self.path.join(format!("record-{number}.json"))
    }

    /// Keeps what is known of a run before it begins: all of its scenarios, in their order, among those
    /// that did not run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn open(&self, header: &RunRecord) -> Result<(), Error> {
        write_json(&self.header(), header)
    }

    /// Keeps the record of the run, in which everything that led to it is contained, and its comparison.
    ///
    /// # Errors
    /// When one cannot be written.
    pub(crate) fn close(&self, result: MeasuredRun<'_>, scenarios: usize) -> Result<(), Error> {
        if let Some(comparison) = result.comparison {
            write_json(&self.comparison(), comparison)?;
        }
        write_json(&self.record(), result.record)?;
        let parts = (1..=scenarios).flat_map(|number| {
            [
                self.scenario_record(number),
                self.request(number),
                self.observed(number),
            ]
        });
        let common = [self.header(), self.mix(), self.search()];
        for part in parts.chain(common) {
            // A file that stays does no harm.
            let _ = std::fs::remove_file(part);
        }
        Ok(())
    }

    /// Compresses the journals of a run that has its record: they are read again only to be sent.
    pub(crate) fn compress_journals(&self, scenarios: usize) {
        for number in 1..=scenarios {
            // One that stays as it is can be read as well.
            let _ = journal::compress(&self.journal(number));
        }
    }

    /// Keeps the same in a new folder among the temporary files, which this returns.
    ///
    /// # Errors
    /// When it cannot be written there either.
    pub(crate) fn close_elsewhere(&self, result: MeasuredRun<'_>) -> Result<Self, Error> {
        let temporary = std::env::temp_dir();
        let path = tempfile::Builder::new()
            .prefix("loadtest-")
            .tempdir()
            .map_err(Error::io("create a folder in", &temporary))?
            .keep()
            .join(self.identifier());
        std::fs::create_dir(&path).map_err(Error::io("create the folder", &path))?;
        let folder = Self::at(&path);
        folder.close(result, 0)?;
        Ok(folder)
    }

    /// Returns the path of the comparison with a baseline.
    pub(crate) fn comparison(&self) -> PathBuf {
        self.path.join(COMPARISON)
    }

    /// The record as far as it was known at the start.
    pub(super) fn header(&self) -> PathBuf {
        self.path.join(HEADER)
    }

    /// Returns true if a run began here.
    pub(super) fn has_begun(&self) -> bool {
        self.record.is_file() || self.header().is_file()
    }

    /// Returns true if this is the folder of a run, even one that was killed before it began.
    pub(super) fn is_known(&self) -> bool {
        began(&self.identifier()).is_some() || self.has_begun()
    }

    /// Returns true while another process writes the run and has no record yet.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.record.exists() && self.header().exists() && self.is_claimed()
    }

    fn is_claimed(&self) -> bool {
        matches!(Claim::try_new(&self.path), Ok(None))
    }

    /// Returns true if a scenario was measured; an unreadable record counts as measured.
    pub(super) fn is_measured(&self) -> bool {
        #[derive(Deserialize)]
        struct Scenarios {
            scenarios: Vec<IgnoredAny>,
        }
        let Ok(bytes) = files::read(&self.record()) else {
            return self.holds_something();
        };
        let read: Result<Scenarios, _> = serde_json::from_slice(&bytes);
        read.map_or(true, |read| !read.scenarios.is_empty())
    }

    /// Returns true if something was measured, without reading it all.
    pub(super) fn holds_something(&self) -> bool {
        let filled = |path: &Path| path.metadata().is_ok_and(|file| file.len() > 0);
        let mut number = 1;
        while self.request(number).exists() {
            if filled(&self.journal(number)) || filled(&self.scenario_record(number)) {
                return true;
            }
            number += 1;
        }
        self.record().exists()
    }
}

/// Returns true if a file is a record or a part of one; nothing may overwrite it.
pub(crate) fn is_of_a_run(path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or(path.to_path_buf());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_part = [RECORD, HEADER, COMPARISON, "mix.json", "search.jsonl"].contains(&&*name)
        || [
            "journal-",
            "observed-",
            "record-",
            "request-",
            "samples-",
            "spans-",
        ]
        .iter()
        .any(|begin| name.starts_with(begin));
    let is_there = |name: &str| path.with_file_name(name).exists();
    path.is_file() && (is_part && (is_there(RECORD) || is_there(HEADER)) || is_record(&path))
}

/// Returns true if a file begins as records do.
fn is_record(path: &Path) -> bool {
    std::fs::File::open(path).is_ok_and(begins_as_record)
}

/// Returns true if a file is a compressed record, as baselines have them.
pub(crate) fn is_packed_record(path: &Path) -> bool {
    let file = std::fs::File::open(path);
    file.is_ok_and(|file| begins_as_record(GzDecoder::new(file)))
}

fn begins_as_record(file: impl Read) -> bool {
    let mut begin = Vec::new();
    let read = file.take(64).read_to_end(&mut begin);
    let begin = String::from_utf8_lossy(&begin);
    read.is_ok() && begin.starts_with("{\"schema_version\":") && begin.contains(",\"run_id\":")
}
