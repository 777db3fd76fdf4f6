//! Runs on disk: a folder for each, its record, its journals.

use crate::config::Config;
use crate::error::Error;
use crate::files::{write, write_json};
use crate::selection::similar;
use crate::session::journal;
use crate::workspace::Workspace;
use jiff::Timestamp;
use loadtest::capacity::SearchEnding;
use loadtest::protocol::{RunFailure, SearchLine, TrialFiles};
use loadtest::record::{Ending, NotRun, RunRecord, SCHEMA_VERSION, ScenarioRecord};
use loadtest::redact;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

const LATEST: &str = "latest";
const RECORD: &str = "record.json";
/// The record as far as it is known at the start: it tells of a run that was killed.
const HEADER: &str = "run.json";

/// The folder that holds all runs.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    directory: PathBuf,
}

/// The folder of one run.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    path: PathBuf,
    record: PathBuf,
}

impl Store {
    /// The one that the configuration names, else `loadtest` among the artifacts of the build.
    pub(crate) fn of(workspace: &Workspace, config: &Config) -> Self {
        let directory = config
            .store
            .directory
            .clone()
            .unwrap_or_else(|| workspace.target_directory.join("loadtest"));
        Self { directory }
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
                Ok(()) => return Ok(RunFolder::at(&path)),
            }
        }
    }

    /// Makes `folder` the one that `latest` means.
    ///
    /// # Errors
    /// When the marker cannot be written.
    pub(crate) fn mark_latest(&self, folder: &RunFolder) -> Result<(), Error> {
        write(&self.directory.join(LATEST), folder.identifier().as_bytes())
    }

    /// The folder of `run`: an identifier, the beginning of one that no other has, or `latest`.
    ///
    /// # Errors
    /// [`Error::UnknownRun`], [`Error::SeveralRuns`], [`Error::NoRun`].
    pub(crate) fn find(&self, run: &str) -> Result<RunFolder, Error> {
        let identifiers = self.identifiers();
        let wanted = if run == LATEST {
            self.latest(&identifiers).ok_or_else(|| Error::NoRun {
                directory: self.directory.clone(),
            })?
        } else {
            run.to_owned()
        };
        let begins = |known: &&String| !wanted.is_empty() && known.starts_with(&wanted);
        let found: Vec<&String> = match identifiers.iter().find(|known| **known == wanted) {
            Some(known) => vec![known],
            None => identifiers.iter().filter(begins).collect(),
        };
        match found[..] {
            [only] => Ok(RunFolder::at(&self.directory.join(only))),
            [] => Err(Error::UnknownRun {
                suggestion: similar(&wanted, identifiers.iter().map(String::as_str))
                    .map(str::to_owned),
                name: wanted,
                directory: self.directory.clone(),
            }),
            _ => Err(Error::SeveralRuns {
                candidates: found.into_iter().rev().cloned().collect(),
                name: wanted,
            }),
        }
    }

    /// The newest run that measured something, killed ones included. The marker only decides between
    /// runs of the same second.
    fn latest(&self, identifiers: &[String]) -> Option<String> {
        let marked = std::fs::read_to_string(self.directory.join(LATEST)).unwrap_or_default();
        identifiers
            .iter()
            .filter(|identifier| {
                let path = self.directory.join(identifier);
                RunFolder::at(&path).holds_something()
            })
            .max_by_key(|identifier| (time_of(identifier), **identifier == marked.trim()))
            .cloned()
    }

    /// The runs, the oldest first.
    fn identifiers(&self) -> Vec<String> {
        let mut identifiers: Vec<_> = std::fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        identifiers.sort();
        identifiers
    }
}

impl RunFolder {
    /// A folder that somebody named by its path.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            record: path.join(RECORD),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a record that somebody named by its path.
    pub(crate) fn of(record: &Path) -> Self {
        Self {
            path: record.parent().unwrap_or(Path::new(".")).to_path_buf(),
            record: record.to_path_buf(),
        }
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
        let is_part = folder.path.join(HEADER).exists() || folder.record().exists();
        let name = path.file_name()?.to_string_lossy();
        let parts = ["journal-", "record-", "request-", "run.", "search."];
        (is_part && parts.iter().any(|part| name.starts_with(part))).then_some(folder)
    }

    /// A file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What the tool asks of the scenario that runs as number `number`.
    pub(crate) fn request(&self, number: usize) -> PathBuf {
        self.path.join(format!("request-{number}.json"))
    }

    /// What the tool asks of a program whose scenarios run at once.
    pub(crate) fn mix(&self) -> PathBuf {
        self.path.join("mix.json")
    }

    /// The course of a search, whose trials have journals and records as scenarios have.
    pub(crate) fn search(&self) -> PathBuf {
        self.path.join("search.jsonl")
    }

    /// The files of the trial with the number `number`.
    pub(crate) fn trial(&self, number: usize) -> TrialFiles {
        TrialFiles {
            journal: self.journal(number),
            record: self.scenario_record(number),
        }
    }

    /// Its journal.
    pub(crate) fn journal(&self, number: usize) -> PathBuf {
        self.path.join(format!("journal-{number}.jsonl"))
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
        write_json(&self.path.join(HEADER), header)
    }

    /// Keeps the record of the run, in which everything that led to it is contained.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn close(&self, record: &RunRecord, scenarios: usize) -> Result<(), Error> {
        write_json(&self.record(), record)?;
        let parts =
            (1..=scenarios).flat_map(|number| [self.scenario_record(number), self.request(number)]);
        let common = [self.path.join(HEADER), self.mix(), self.search()];
        for part in parts.chain(common) {
            // A file that stays does no harm.
            let _ = std::fs::remove_file(part);
        }
        Ok(())
    }

    fn holds_something(&self) -> bool {
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

    /// Reads the record; that of a killed run is put together from what its scenarios left.
    ///
    /// # Errors
    /// A record that is damaged or newer than this tool; nothing at all.
    pub(crate) fn read(&self) -> Result<RunRecord, Error> {
        if self.record().exists() {
            return read_record(&self.record());
        }
        let mut record = read_record(&self.path.join(HEADER)).map_err(|error| match error {
            Error::Io { .. } => Error::EmptyRun {
                directory: self.path.clone(),
            },
            error => error,
        })?;
        if record.capacity.is_some() {
            self.fold_search(&mut record)?;
            return Ok(record);
        }
        let expected = std::mem::take(&mut record.not_run);
        for (number, expected) in (1..).zip(expected) {
            match read_part(&self.scenario_record(number), &self.journal(number))? {
                Part::Ran(scenario) => record.scenarios.push(*scenario),
                Part::Refused(failure) => record.not_run.push(not_run(expected.scenario, failure)),
                Part::Nothing => record.not_run.push(expected),
            }
        }
        if record.scenarios.is_empty() && record.not_run.is_empty() {
            return Err(Error::EmptyRun {
                directory: self.path.clone(),
            });
        }
        Ok(record)
    }
}

impl RunFolder {
    /// Puts what a search came to into `record`, as far as it got, and the trial that shows it best.
    ///
    /// # Errors
    /// When it cannot be read, or when nothing was measured.
    pub(crate) fn fold_search(&self, record: &mut RunRecord) -> Result<(), Error> {
        let path = self.search();
        let bytes = std::fs::read(&path).map_err(Error::io("read", path))?;
        let lines = bytes.split(|byte| *byte == b'\n');
        let mut failure = None;
        if let Some(search) = &mut record.capacity {
            // Of one that was killed, the last line may be cut.
            for line in lines.filter_map(|line| serde_json::from_slice(line).ok()) {
                match line {
                    SearchLine::Begin { .. } => {}
                    SearchLine::Trial(trial) => search.trials.push(*trial),
                    SearchLine::End(ending) => search.ending = Some(ending),
                    SearchLine::Failed(failed) => failure = Some(failed),
                }
            }
            // Of one that ended within its first trial, that is all there is.
            let number = search.decisive().map_or(1, |at| at + 1);
            let part = read_part(&self.scenario_record(number), &self.journal(number))?;
            if let Part::Ran(scenario) = part {
                record.scenarios.push(*scenario);
            }
        }
        // One that could not even begin its first trial is no search.
        let broken = record
            .capacity
            .as_ref()
            .and_then(|search| match &search.ending {
                Some(SearchEnding::Broken { failure }) => Some(failure.clone()),
                _ => None,
            });
        let failure = failure.or(broken.filter(|_| record.scenarios.is_empty()));
        if let Some(failure) = failure {
            let scenario = record.capacity.take().map(|search| search.scenario);
            record
                .not_run
                .push(not_run(scenario.unwrap_or_default(), failure));
        } else if record.scenarios.is_empty() {
            return Err(Error::EmptyRun {
                directory: self.path.clone(),
            });
        }
        Ok(())
    }
}

/// Reads a record of a run.
///
/// # Errors
/// A record that is damaged or newer than this tool.
pub(crate) fn read_record(path: &Path) -> Result<RunRecord, Error> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    decode_record(&bytes, path)
}

/// Reads the record that was found at `path`.
///
/// # Errors
/// As [`read_record`].
pub(crate) fn decode_record(bytes: &[u8], path: &Path) -> Result<RunRecord, Error> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u64,
    }
    let damaged = |error: serde_json::Error| Error::DamagedRecord {
        path: path.to_path_buf(),
        reason: error.to_string(),
    };
    let Version { schema_version } = serde_json::from_slice(bytes).map_err(damaged)?;
    if schema_version > u64::from(SCHEMA_VERSION) {
        return Err(Error::NewerRecord {
            path: path.to_path_buf(),
            theirs: schema_version,
            ours: SCHEMA_VERSION,
        });
    }
    serde_json::from_slice(bytes).map_err(damaged)
}

/// What one scenario left.
enum Part {
    Ran(Box<ScenarioRecord>),
    Refused(RunFailure),
    Nothing,
}

fn read_part(part: &Path, journal: &Path) -> Result<Part, Error> {
    if let Ok(bytes) = std::fs::read(part)
        && let Ok(record) = serde_json::from_slice(&bytes)
    {
        return Ok(Part::Ran(record));
    }
    let mut folded = journal::fold(journal).map_err(Error::io("read", journal))?;
    if let Some(failure) = folded.failure.take() {
        return Ok(Part::Refused(failure));
    }
    let record = folded.into_record(Ending::Died {
        reason: "the tool was killed while it ran".to_owned(),
    });
    Ok(record.map_or(Part::Nothing, |record| Part::Ran(Box::new(record))))
}

/// What a record keeps of a scenario that refused to run.
pub(crate) fn not_run(scenario: String, failure: RunFailure) -> NotRun {
    let redacted = |text: String| redact::text(&text).into_owned();
    NotRun {
        scenario,
        exit_code: failure.kind.exit_code(),
        message: redacted(failure.message),
        help: failure.help.map(redacted),
    }
}

/// Whether a file is a record, or what one is made of: nothing else may take its place.
pub(crate) fn is_of_a_run(path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or(path.to_path_buf());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_part = [RECORD, HEADER, "mix.json", "search.jsonl"].contains(&&*name)
        || ["journal-", "record-", "request-"]
            .iter()
            .any(|begin| name.starts_with(begin));
    let is_there = |name: &str| path.with_file_name(name).exists();
    path.is_file() && (is_part && (is_there(RECORD) || is_there(HEADER)) || is_record(&path))
}

/// Whether a file begins as records do, wherever it is.
fn is_record(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(64).read_to_end(&mut begin));
    let begin = String::from_utf8_lossy(&begin);
    read.is_ok() && begin.starts_with("{\"schema_version\":") && begin.contains(",\"run_id\":")
}

/// The part of an identifier that is the time.
fn time_of(identifier: &str) -> &str {
    identifier
        .rsplit_once('-')
        .map_or(identifier, |(time, _)| time)
}

/// The time as a record has it: RFC 3339 in UTC, to the second, as the folder of a run is named.
pub(crate) fn now() -> String {
    format!("{:.0}", Timestamp::now())
}

/// `20261121-143005-k3f9`: in the order of time, short, and unlike any other.
fn identifier(now: Timestamp) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnopqrstuvwxyz2345678";
    let random = RandomState::new().hash_one(now);
    let suffix: String = (0..4)
        .map(|i| char::from(LETTERS[(random >> (5 * i)) as usize % LETTERS.len()]))
        .collect();
    format!("{}-{suffix}", now.strftime("%Y%m%d-%H%M%S"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest::capacity::Search;
    use loadtest::protocol::JournalLine;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("target/loadtest");
        (folder, Store { directory })
    }

    fn header(run_id: &str) -> RunRecord {
        RunRecord {
            schema_version: SCHEMA_VERSION,
            run_id: run_id.to_owned(),
            tool_version: "0.1.0".to_owned(),
            started_at: "2026-11-21T14:30:05Z".to_owned(),
            environment: loadtest::record::Environment::default(),
            scenarios: Vec::new(),
            not_run: Vec::new(),
            capacity: None,
        }
    }

    /// The same of a run of so many scenarios.
    fn header_of(scenarios: usize) -> RunRecord {
        let expected = |number| NotRun {
            scenario: format!("shop::load::number_{number}"),
            exit_code: 105,
            message: "interrupted before its load began".to_owned(),
            help: None,
        };
        RunRecord {
            not_run: (1..=scenarios).map(expected).collect(),
            ..header("killed")
        }
    }

    #[test]
    fn an_identifier_sorts_by_time() {
        let at = |second| identifier(Timestamp::from_second(second).unwrap());
        let one = at(1_795_271_405);
        assert!(one.starts_with("20261121-143005-"), "{one}");
        assert_eq!(one.len(), "20261121-143005-k3f9".len());
        assert!(one < at(1_795_271_406));
    }

    #[test]
    fn a_record_that_was_kept_is_read_again() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        store.mark_latest(&folder).unwrap();
        let mut record = header(&folder.identifier());
        folder.open(&record).unwrap();
        record.scenarios.push(sample::scenario_record());
        folder.close(&record, 1).unwrap();
        assert_eq!(store.find("latest").unwrap().read().unwrap(), record);
        assert_eq!(
            store.find(&folder.identifier()).unwrap().read().unwrap(),
            record
        );
        let files: Vec<_> = std::fs::read_dir(&folder.path).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{files:?}");
    }

    #[test]
    fn a_killed_run_is_read_from_its_journal() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        folder.open(&header_of(1)).unwrap();
        let lines = [
            JournalLine::Start(Box::new(sample::start())),
            JournalLine::Frame(Box::new(sample::frame(0, 7))),
            JournalLine::Frame(Box::new(sample::frame(1, 5))),
        ];
        let mut text = sample::journal(&lines);
        text.push_str("{\"frame\":{\"second\":2,\"win");
        std::fs::write(folder.journal(1), text).unwrap();
        let record = folder.read().unwrap();
        assert_eq!(record.run_id, "killed");
        assert_eq!(record.scenarios[0].windows.steady.journey.started, 12);
        assert!(matches!(record.scenarios[0].ending, Ending::Died { .. }));
    }

    #[test]
    fn a_killed_search_is_read_from_its_course_and_the_journal_of_its_best_trial() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        let mut header = header("killed");
        let whole: RunRecord = crate::export::sample::search_record("x");
        let search = whole.capacity.unwrap();
        header.capacity = Some(Search {
            trials: Vec::new(),
            ending: None,
            ..search.clone()
        });
        folder.open(&header).unwrap();
        assert!(folder.read().is_err(), "nothing was measured");
        let mut course = String::new();
        for trial in &search.trials[..2] {
            let line = SearchLine::Trial(Box::new(trial.clone()));
            course.push_str(&serde_json::to_string(&line).unwrap());
            course.push('\n');
        }
        course.push_str("{\"begin\":{\"per_sec");
        std::fs::write(folder.search(), course).unwrap();
        for (number, started) in [(1, 7), (2, 9), (3, 1)] {
            let lines = [
                JournalLine::Start(Box::new(sample::start())),
                JournalLine::Frame(Box::new(sample::frame(0, started))),
            ];
            std::fs::write(folder.journal(number), sample::journal(&lines)).unwrap();
        }
        let record = folder.read().unwrap();
        let read = record.capacity.unwrap();
        assert_eq!((read.trials.len(), read.ending), (2, None));
        let [scenario] = record.scenarios.as_slice() else {
            panic!("{} scenarios", record.scenarios.len());
        };
        assert_eq!(scenario.windows.steady.journey.started, 9);
    }

    #[test]
    fn a_killed_run_tells_of_a_scenario_that_refused_to_run() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        folder.open(&header_of(1)).unwrap();
        let failure = RunFailure {
            kind: loadtest::protocol::FailureKind::Setup,
            message: "setup failed with token=canary".to_owned(),
            help: None,
        };
        let text = sample::journal(&[JournalLine::Failed(failure)]);
        std::fs::write(folder.journal(1), text).unwrap();
        let record = folder.read().unwrap();
        assert_eq!(record.not_run[0].exit_code, 100);
        assert!(!record.not_run[0].message.contains("canary"));
    }

    #[test]
    fn a_run_killed_between_two_scenarios_tells_of_those_that_never_began() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        folder.open(&header_of(3)).unwrap();
        write_json(&folder.scenario_record(1), &sample::scenario_record()).unwrap();
        std::fs::write(folder.journal(2), "").unwrap();
        let record = folder.read().unwrap();
        assert_eq!(record.scenarios, [sample::scenario_record()]);
        assert_eq!(record.not_run, header_of(3).not_run[1..]);
    }

    #[test]
    fn a_run_that_measured_nothing_says_so() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        assert!(matches!(folder.read(), Err(Error::EmptyRun { .. })));
        folder.open(&header("x")).unwrap();
        assert!(matches!(folder.read(), Err(Error::EmptyRun { .. })));
    }

    #[test]
    fn a_newer_record_is_told_from_a_damaged_one() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        std::fs::write(folder.record(), "{\"schema_version\": 99, \"new\": true}").unwrap();
        assert!(matches!(
            folder.read(),
            Err(Error::NewerRecord { theirs: 99, .. })
        ));
        for damaged in ["", "{\"schema_version\": 1", "{\"schema_version\": 1}"] {
            std::fs::write(folder.record(), damaged).unwrap();
            assert!(matches!(folder.read(), Err(Error::DamagedRecord { .. })));
        }
    }

    #[test]
    fn an_unknown_run_is_corrected() {
        let (_guard, store) = store();
        assert!(matches!(store.find("latest"), Err(Error::NoRun { .. })));
        let identifier = store.create().unwrap().identifier();
        let error = store.find(&format!("{identifier}x")).unwrap_err();
        assert_eq!(
            error.help().unwrap(),
            format!("did you mean `{identifier}`?")
        );
    }

    #[test]
    fn the_beginning_of_an_identifier_is_enough_where_no_other_has_it() {
        let (_guard, store) = store();
        for identifier in [
            "20261121-143005-abcd",
            "20261121-143005-abxy",
            "20261122-090000-abcd",
        ] {
            std::fs::create_dir_all(store.directory.join(identifier)).unwrap();
        }
        let found = |run: &str| store.find(run).map(|folder| folder.identifier());
        for run in ["20261122", "2026112", "20261122-090000-abcd"] {
            let expected = match run {
                "2026112" => None,
                _ => Some("20261122-090000-abcd".to_owned()),
            };
            assert_eq!(found(run).ok(), expected, "{run}");
        }
        assert_eq!(
            found("20261121-143005-abx").unwrap(),
            "20261121-143005-abxy"
        );
        let error = found("20261121").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert_eq!(
            error.to_string(),
            "several runs begin with `20261121`: 20261121-143005-abxy, 20261121-143005-abcd"
        );
        assert!(matches!(found(""), Err(Error::UnknownRun { .. })));
        // One that is the beginning of another is meant itself.
        std::fs::create_dir_all(store.directory.join("20261122-090000-abcd-copy")).unwrap();
        assert_eq!(
            found("20261122-090000-abcd").unwrap(),
            "20261122-090000-abcd"
        );
    }

    #[test]
    fn the_latest_run_is_the_newest_that_measured_something() {
        let (_guard, store) = store();
        let make = |identifier: &str, files: &[&str]| {
            let path = store.directory.join(identifier);
            std::fs::create_dir_all(&path).unwrap();
            for file in files {
                std::fs::write(path.join(file), "{}").unwrap();
            }
            RunFolder::at(&path)
        };
        let latest = || store.find("latest").unwrap().identifier();
        make("20261121-143005-zzzz", &["record.json"]);
        let marked = make("20261121-143005-aaaa", &["record.json"]);
        assert_eq!(latest(), "20261121-143005-zzzz");
        store.mark_latest(&marked).unwrap();
        assert_eq!(latest(), "20261121-143005-aaaa");
        make("20261121-150000-aaaa", &["run.json", "request-1.json"]);
        assert_eq!(latest(), "20261121-143005-aaaa");
        make("20261121-140000-aaaa", &["record.json"]);
        make(
            "20261121-160000-aaaa",
            &["request-1.json", "journal-1.jsonl"],
        );
        assert_eq!(latest(), "20261121-160000-aaaa");
    }

    #[test]
    fn a_store_that_cannot_be_written_is_an_error_that_names_it() {
        let (_guard, store) = store();
        std::fs::create_dir_all(store.directory.parent().unwrap()).unwrap();
        std::fs::write(&store.directory, "a file").unwrap();
        let error = store.create().unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(error.to_string().contains("target/loadtest"), "{error}");
    }
}
