//! What a run measured, also of one that was killed: then it is put together from what its scenarios left.

use super::RunFolder;
use crate::journal;
use crate::observe::read_observed;
use loadtest::redact;
use loadtest_console::error::{Error, Kind};
use loadtest_console::files;
use loadtest_model::capacity::SearchEnding;
use loadtest_model::comparison::RunComparison;
use loadtest_model::failure::RunFailure;
use loadtest_model::protocol::SearchLine;
use loadtest_model::record::{
    self, EndReason, NotRun, ObservedSeries, RunRecord, SCHEMA_VERSION, ScenarioRecord,
};
use std::io::ErrorKind;
use std::path::Path;

impl RunFolder {
    /// Reads what was known of a run before it began.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read_header(&self) -> Result<RunRecord, Error> {
        read_record(&self.header())
    }

    /// Reads the record; that of a killed run is put together from what its scenarios left.
    ///
    /// # Errors
    /// A record that is damaged or newer than this tool; nothing at all.
    pub(crate) fn read(&self) -> Result<RunRecord, Error> {
        if self.record().exists() {
            return read_record(&self.record());
        }
        let mut record = self.read_header().map_err(|error| match error {
            error if matches!(error.kind(), Kind::Io(_)) => self.empty_run(),
            error => error,
        })?;
        if record.capacity.is_some() {
            self.fold_search(&mut record)?;
            return Ok(record);
        }
        let expected = std::mem::take(&mut record.not_run);
        for (number, expected) in (1..).zip(expected) {
            match self.read_part(number)? {
                ScenarioRemains::Ran(scenario) => record.scenarios.push(*scenario),
                ScenarioRemains::Refused(failure) => {
                    record.not_run.push(not_run(expected, &failure));
                }
                ScenarioRemains::Nothing => record.not_run.push(expected),
            }
        }
        if record.scenarios.is_empty() && record.not_run.is_empty() {
            return Err(self.empty_run());
        }
        Ok(record)
    }

    /// Reads the comparison of a run with a baseline, if it was compared with one.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub(crate) fn read_comparison(
        &self,
        record: &RunRecord,
    ) -> Result<Option<RunComparison>, Error> {
        let path = self.comparison();
        let bytes = match files::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        let comparison: RunComparison = serde_json::from_slice(&bytes).map_err(|error| {
            let path = path.display();
            Error::failure(format!("the comparison `{path}` cannot be read: {error}"))
        })?;
        // A record that was put beside it is of another run.
        Ok(Some(comparison).filter(|comparison| comparison.run_id == record.run_id))
    }

    fn empty_run(&self) -> Error {
        let folder = self.path().display();
        Error::nothing_found(format!("nothing was measured in the run in `{folder}`"))
    }

    /// Puts what a search came to into `record`, as far as it got, and the trial that shows it best.
    ///
    /// # Errors
    /// When it cannot be read, or when nothing was measured.
    pub(crate) fn fold_search(&self, record: &mut RunRecord) -> Result<(), Error> {
        let path = self.search();
        let bytes = files::read(&path).map_err(Error::io("read", path))?;
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
            for (number, trial) in (1..).zip(&mut search.trials) {
                let observed = self.read_observed(number)?;
                trial.observed = observed.iter().map(ObservedSeries::highest).collect();
            }
            // Of one that ended within its first trial, that is all there is.
            let number = search.decisive().map_or(1, |at| at + 1);
            let part = self.read_part(number)?;
            if let ScenarioRemains::Ran(scenario) = part {
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
            let search = record.capacity.take();
            let expected = NotRun {
                scenario: search.map(|search| search.scenario).unwrap_or_default(),
                ..NotRun::default()
            };
            record.not_run.push(not_run(expected, &failure));
        } else if record.scenarios.is_empty() {
            return Err(self.empty_run());
        }
        Ok(())
    }

    /// Reads what a scenario or a trial left.
    fn read_part(&self, number: usize) -> Result<ScenarioRemains, Error> {
        let part = files::read(&self.scenario_record(number)).ok();
        let part = part.and_then(|bytes| record::from_json::<ScenarioRecord>(&bytes).ok());
        let mut record = match part.filter(|record| record.check().is_ok()) {
            Some(record) => record,
            None => match self.read_journal(number)? {
                ScenarioRemains::Ran(record) => *record,
                other => return Ok(other),
            },
        };
        record.observed = self.read_observed(number)?;
        Ok(ScenarioRemains::Ran(Box::new(record)))
    }

    fn read_journal(&self, number: usize) -> Result<ScenarioRemains, Error> {
        let journal = self.journal(number);
        let mut folded = journal::fold(&journal).map_err(Error::io("read", &journal))?;
        if let Some(failure) = folded.failure.take() {
            return Ok(ScenarioRemains::Refused(failure));
        }
        let record = folded.into_record(EndReason::Died {
            reason: "the tool was killed while it ran".into(),
        });
        Ok(record.map_or(ScenarioRemains::Nothing, |record| {
            ScenarioRemains::Ran(Box::new(record))
        }))
    }

    fn read_observed(&self, number: usize) -> Result<Vec<ObservedSeries>, Error> {
        let path = self.observed(number);
        read_observed(&path).map_err(Error::io("read", &path))
    }
}

/// Reads a record of a run.
///
/// # Errors
/// A record that is damaged or newer than this tool.
pub(crate) fn read_record(path: &Path) -> Result<RunRecord, Error> {
    let bytes = files::read(path).map_err(Error::io("read", path))?;
    decode_record(&bytes, path).map_err(|error| match error {
        RecordError::Damaged(reason) => damaged_record(path, &reason),
        RecordError::Newer(error) => error,
    })
}

/// The reason why bytes are no record that this tool reads.
#[derive(Debug)]
pub(crate) enum RecordError {
    /// Not a record, or an impossible one.
    Damaged(String),
    /// A record of a newer version.
    Newer(Error),
}

/// Returns the error for a record that cannot be read.
pub(crate) fn damaged_record(path: &Path, reason: &str) -> Error {
    Error::failure(format!(
        "the record `{}` cannot be read: {reason}",
        path.display()
    ))
}

/// Reads the record that was found at `path`.
///
/// # Errors
/// As [`read_record`].
pub(crate) fn decode_record(bytes: &[u8], path: &Path) -> Result<RunRecord, RecordError> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u64,
    }
    let damaged = |error: serde_json::Error| RecordError::Damaged(error.to_string());
    let Version { schema_version } = serde_json::from_slice(bytes).map_err(damaged)?;
    if schema_version > u64::from(SCHEMA_VERSION) {
        let message = format!(
            "the record `{}` has schema version {schema_version}; this tool reads up to version {SCHEMA_VERSION}",
            path.display()
        );
        let help = "update `cargo-loadtest` to the version that wrote it";
        return Err(RecordError::Newer(Error::usage(message).with_help(help)));
    }
    let record: RunRecord = record::from_json(bytes).map_err(damaged)?;
    let checked = record.check();
    checked.map_err(|impossible| RecordError::Damaged(impossible.to_string()))?;
    Ok(record)
}

/// The remains of one scenario.
enum ScenarioRemains {
    Ran(Box<ScenarioRecord>),
    Refused(RunFailure),
    Nothing,
}

/// Returns the entry of a scenario that refused to run.
pub(crate) fn not_run(expected: NotRun, failure: &RunFailure) -> NotRun {
    NotRun {
        exit_code: failure.kind.exit_code(),
        message: redact::redact(&failure.message),
        help: failure.help.as_deref().map(redact::redact),
        ..expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use crate::store::MeasuredRun;
    use crate::store::tests::{header, header_of, store};
    use loadtest_console::files::write_json;
    use loadtest_model::capacity::Search;
    use loadtest_model::comparison::{BaselineComparison, ComparisonOutcome};
    use loadtest_model::protocol::JournalLine;

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
        assert!(matches!(
            record.scenarios[0].end.ending,
            EndReason::Died { .. }
        ));
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
            kind: loadtest_model::failure::FailureKind::Setup,
            message: "setup failed with token=canary".into(),
            help: None,
        };
        let text = sample::journal(&[JournalLine::Failed(failure)]);
        std::fs::write(folder.journal(1), text).unwrap();
        let record = folder.read().unwrap();
        assert_eq!(record.not_run[0].exit_code.number(), 100);
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
        assert!(
            folder
                .read()
                .unwrap_err()
                .to_string()
                .contains("nothing was measured")
        );
        folder.open(&header("x")).unwrap();
        assert!(
            folder
                .read()
                .unwrap_err()
                .to_string()
                .contains("nothing was measured")
        );
    }

    /// A run that was compared with a baseline.
    fn compared(folder: &RunFolder) -> (RunRecord, RunComparison) {
        let mut record = header(&folder.identifier());
        record.scenarios.push(sample::scenario_record());
        let identity = record.scenarios[0].start.definition.identity();
        let comparison = BaselineComparison {
            baseline: "main".to_owned(),
            outcome: ComparisonOutcome::Absent,
        };
        let comparison = RunComparison {
            run_id: record.run_id.clone(),
            scenarios: [(identity, comparison)].into(),
        };
        (record, comparison)
    }

    #[test]
    fn a_comparison_is_a_file_beside_the_record_of_its_run() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        let (mut record, comparison) = compared(&folder);
        let measured = MeasuredRun {
            record: &record,
            comparison: Some(&comparison),
        };
        folder.close(measured, 1).unwrap();
        assert!(folder.file("comparison.json").is_file());
        assert_eq!(folder.read().unwrap(), record);
        assert_eq!(folder.read_comparison(&record).unwrap(), Some(comparison));
        record.run_id.push('x');
        assert_eq!(folder.read_comparison(&record).unwrap(), None);
        std::fs::write(folder.file("comparison.json"), "{").unwrap();
        let error = folder.read_comparison(&record).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("comparison.json` cannot be read")
        );
    }

    #[test]
    fn a_newer_record_is_told_from_a_damaged_one() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        std::fs::write(folder.record(), "{\"schema_version\": 99, \"new\": true}").unwrap();
        assert!(
            folder
                .read()
                .unwrap_err()
                .to_string()
                .contains("has schema version 99")
        );
        for damaged in ["", "{\"schema_version\": 1", "{\"schema_version\": 1}"] {
            std::fs::write(folder.record(), damaged).unwrap();
            assert!(
                folder
                    .read()
                    .unwrap_err()
                    .to_string()
                    .contains("cannot be read: ")
            );
        }
    }
}
