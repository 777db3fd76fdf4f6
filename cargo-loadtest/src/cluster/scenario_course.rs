//! One scenario of several agents as one: its seconds for the live view and the journal, and its spans.

use super::seconds::Seconds;
use crate::live::Live;
use jiff::Timestamp;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::card::describe_broken;
use loadtest_model::failure::RunFailure;
use loadtest_model::metrics::{AbortThresholds, Broken, Frame, JourneyTally, micros};
use loadtest_model::protocol::{JournalLine, RunRequest, SpanLine};
use loadtest_model::record::{RunStart, ScenarioRecord};
use loadtest_model::shard::Shard;
use serde::Serialize;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// No run has lost so many spans at once.
const MAX_LOST: u64 = 1 << 40;

/// One scenario of all agents.
pub(super) struct ScenarioCourse {
    journal: LineFile,
    /// The spans of all agents, if they keep some.
    spans: Option<LineFile>,
    seconds: Seconds,
    /// Agents whose load is ready, and those of which no more comes.
    pub(super) ready: Vec<bool>,
    finished: Vec<bool>,
    /// Those whose journal has an end.
    pub(super) ended: Vec<bool>,
    pub(super) starts: Vec<Option<RunStart>>,
    /// The newest second that each agent told, and the journeys that it told of in all.
    newest: Vec<Option<u32>>,
    told: Vec<JourneyTally>,
    thresholds: Option<AbortThresholds>,
    pub(super) broken: Option<Broken>,
    pub(super) failure: Option<(usize, RunFailure)>,
    has_ended: bool,
    /// The start of the load by our own clock, in microseconds after 1970; 0 until it is set.
    pub(super) start_us: u64,
}

/// A file of lines that are each in JSON.
struct LineFile {
    path: PathBuf,
    file: File,
}

impl LineFile {
    fn create(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            file: File::create(path).map_err(Error::io("write", path))?,
            path: path.to_path_buf(),
        })
    }

    fn write(&self, line: &impl Serialize) -> Result<(), Error> {
        let mut bytes = serde_json::to_vec(line).map_err(Error::encode("a line"))?;
        bytes.push(b'\n');
        (&self.file)
            .write_all(&bytes)
            .map_err(Error::io("write", &self.path))
    }
}

impl ScenarioCourse {
    /// Prepares that of so many agents, with the files of the whole.
    ///
    /// # Errors
    /// When they cannot be made.
    pub(super) fn create(request: &RunRequest, agents: usize) -> Result<Self, Error> {
        let spans = request.spans.as_deref().map(LineFile::create);
        Ok(Self {
            journal: LineFile::create(&request.journal)?,
            spans: spans.transpose()?,
            seconds: Seconds::new(agents),
            ready: vec![false; agents],
            finished: vec![false; agents],
            ended: vec![false; agents],
            starts: vec![None; agents],
            newest: vec![None; agents],
            told: vec![JourneyTally::default(); agents],
            thresholds: None,
            broken: None,
            failure: None,
            has_ended: false,
            start_us: 0,
        })
    }

    /// Adds a line of an agent's journal, who was asked for the part `shard` of `request`.
    ///
    /// # Errors
    /// What cannot be in it.
    pub(super) fn add(
        &mut self,
        place: usize,
        line: JournalLine,
        (request, shard): (&RunRequest, Shard),
    ) -> Result<(), String> {
        if self.ended[place] {
            return Err("a line after the end".to_owned());
        }
        match line {
            JournalLine::Ready => self.ready[place] = true,
            JournalLine::Start(_) if self.starts[place].is_some() => {
                return Err("a second start".to_owned());
            }
            JournalLine::Start(start) => {
                let mut record = ScenarioRecord::new(*start);
                record.check().map_err(|wrong| wrong.to_string())?;
                if record.start.plan.seed != request.seed
                    || record.start.definition.identity() != request.scenario
                    || record.start.executable_hash != request.executable_hash
                    || record.start.plan.shard != shard
                {
                    return Err("a load that was not assigned".to_owned());
                }
                let mut others = self.starts.iter().flatten();
                if let Some(what) = others.find_map(|other| record.start.find_difference(other)) {
                    return Err(format!("the agents differ in {what}"));
                }
                self.correct_time(&mut record.start);
                self.starts[place] = Some(record.start);
            }
            JournalLine::Frame(frame) => {
                let start = self.starts[place]
                    .as_ref()
                    .ok_or("a second before the start")?;
                frame
                    .check(start.definition.steps.len())
                    .map_err(|wrong| wrong.to_string())?;
                if let Some(newest) = self.newest[place].filter(|newest| frame.second <= *newest) {
                    return Err(format!("second {} after second {newest}", frame.second));
                }
                self.newest[place] = Some(frame.second);
                for window in frame.windows.all() {
                    count_journeys(&mut self.told[place], &window.journey);
                }
                self.seconds.add(place, *frame);
            }
            JournalLine::End(_) => {
                self.ended[place] = true;
                self.finish(place);
            }
            JournalLine::Failed(failure) => {
                self.ended[place] = true;
                self.failure = self.failure.take().or(Some((place, failure)));
                self.finish(place);
            }
        }
        Ok(())
    }

    /// Checks that what an agent tells at its end is what it told second by second.
    ///
    /// # Errors
    /// What differs.
    pub(super) fn compare(&self, place: usize, record: &ScenarioRecord) -> Result<(), String> {
        if let Some(start) = &self.starts[place]
            && let Some(what) = record.start.find_difference(start)
        {
            return Err(format!("its record and its journal differ in {what}"));
        }
        let mut sum = JourneyTally::default();
        for window in record.windows.all() {
            count_journeys(&mut sum, &window.journey);
        }
        let told = &self.told[place];
        if self.ended[place] && sum != *told {
            let [told, sum] = [told, &sum].map(|of| {
                format!(
                    "{} started, {} ok, {} failed, {} dropped",
                    of.started, of.ok, of.failed, of.dropped
                )
            });
            return Err(format!("its record has {sum}, and its journal {told}"));
        }
        Ok(())
    }

    /// Returns a line of the spans of an agent whose start is known, with times by our own clock.
    pub(super) fn accept_spans(&self, place: usize, line: SpanLine) -> Result<SpanLine, String> {
        match (line, &self.starts[place]) {
            _ if self.spans.is_none() => Err("spans that were not requested".to_owned()),
            // All began at once; their clocks differ.
            (SpanLine::Start { .. }, Some(start)) => Ok(SpanLine::Start {
                unix_us: micros(self.begin_of(start)),
            }),
            (SpanLine::Lost { spans }, _) if spans > MAX_LOST => {
                Err("more spans than any run has".to_owned())
            }
            (line, _) => Ok(line),
        }
    }

    /// Adds a line to the spans of the whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn keep_spans(&self, line: &SpanLine) -> Result<(), Error> {
        self.spans
            .as_ref()
            .map_or(Ok(()), |spans| spans.write(line))
    }

    /// Returns the start of the load by our own clock, since 1970.
    fn begin_of(&self, start: &RunStart) -> Duration {
        Duration::from_micros(self.start_us) + start.plan.start
    }

    /// Sets the time of the start by our own clock.
    pub(super) fn correct_time(&self, start: &mut RunStart) {
        let begins = Timestamp::UNIX_EPOCH.checked_add(self.begin_of(start));
        if let Ok(begins) = begins {
            start.started_at = begins.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        }
    }

    /// Expects nothing more of an agent.
    pub(super) fn finish(&mut self, place: usize) {
        if !std::mem::replace(&mut self.finished[place], true) {
            self.seconds.finish(place);
        }
    }

    /// Shows the seconds that all have told, and keeps them. Returns the words on a threshold that ends the run.
    pub(super) fn show(
        &mut self,
        number: usize,
        live: &mut Live,
        begin: Instant,
    ) -> Result<Option<String>, Error> {
        if self.thresholds.is_none() {
            let told = |(place, start): (usize, &Option<RunStart>)| {
                start.is_some() || self.finished[place]
            };
            if !self.starts.iter().enumerate().all(told) {
                return Ok(None);
            }
            let Some(start) = join_starts(&self.starts) else {
                return Ok(None);
            };
            self.thresholds = Some(AbortThresholds::new(
                &start.plan,
                start.definition.steps.len(),
            ));
            self.keep(&JournalLine::Start(Box::new(start.clone())))?;
            live.start(number, start, begin.elapsed());
        }
        let mut words = None;
        while let Some(mut frame) = self.seconds.next_complete() {
            if self.broken.is_none() {
                frame.broken = self
                    .thresholds
                    .as_mut()
                    .and_then(|limits| limits.check_second(&frame));
                self.broken = frame.broken;
                if let (Some(broken), Some(start)) = (&self.broken, join_starts(&self.starts)) {
                    words = Some(console::clean(&describe_broken(
                        broken,
                        &start.plan,
                        &start.definition,
                    )));
                }
            }
            self.keep(&JournalLine::Frame(Box::new(frame.clone())))?;
            live.frame(number, Frame { ..frame });
        }
        if !self.has_ended && self.finished.iter().all(|finished| *finished) {
            self.has_ended = true;
            live.end_one(number);
        }
        Ok(words.filter(|_| self.broken.is_some()))
    }

    /// Adds a line to the journal of the whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn keep(&self, line: &JournalLine) -> Result<(), Error> {
        self.journal.write(line)
    }
}

/// Adds the journeys that began and ended.
fn count_journeys(sum: &mut JourneyTally, more: &JourneyTally) {
    sum.started += more.started;
    sum.ok += more.ok;
    sum.failed += more.failed;
    sum.dropped += more.dropped;
}

/// Returns the start of the whole: that of the first part, with all workers.
fn join_starts(starts: &[Option<RunStart>]) -> Option<RunStart> {
    let mut all = starts.iter().flatten();
    let mut whole = all.next()?.clone();
    whole.workers += all.map(|start| start.workers).sum::<u32>();
    whole.plan.shard = Shard::WHOLE;
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;

    #[test]
    fn spans_of_all_agents_are_timed_by_our_own_clock() {
        let folder = tempfile::tempdir().unwrap();
        let mut start = sample::start();
        start.plan.start = Duration::from_secs(2);
        let request = RunRequest {
            spans: Some(folder.path().join("spans-1.jsonl")),
            ..sample::request(folder.path())
        };
        let mut course = ScenarioCourse::create(&request, 1).unwrap();
        course.start_us = 1_000_000;
        course.starts[0] = Some(start);
        let told = SpanLine::Start { unix_us: 77 };
        let ours = SpanLine::Start { unix_us: 3_000_000 };
        assert_eq!(course.accept_spans(0, told), Ok(ours));
        let lost = |spans| course.accept_spans(0, SpanLine::Lost { spans });
        assert!(lost(MAX_LOST).is_ok() && lost(u64::MAX).is_err());
        course.spans = None;
        let lost = SpanLine::Lost { spans: 1 };
        assert!(course.accept_spans(0, lost).is_err());
    }

    #[test]
    fn a_journal_goes_on_and_ends_once() {
        let folder = tempfile::tempdir().unwrap();
        let first = sample::start();
        let request = RunRequest {
            scenario: first.definition.identity(),
            executable_hash: first.executable_hash.clone(),
            seed: first.plan.seed,
            ..sample::request(folder.path())
        };
        let start = || JournalLine::Start(Box::new(sample::start()));
        let second = |number| JournalLine::Frame(Box::new(sample::frame(number, 5)));
        let end = || JournalLine::End(ScenarioRecord::new(sample::start()).end);
        let told = |lines: Vec<JournalLine>| {
            let mut course = ScenarioCourse::create(&request, 1).unwrap();
            let mut lines = lines.into_iter();
            let told = lines.try_for_each(|line| course.add(0, line, (&request, Shard::WHOLE)));
            (told.err().unwrap_or_default(), course)
        };
        let (wrong, course) = told(vec![start(), second(0), second(2), end()]);
        assert_eq!(wrong, "");
        for (lines, wrong) in [
            (vec![second(0)], "a second before the start"),
            (vec![start(), start()], "a second start"),
            (
                vec![start(), second(2), second(1)],
                "second 1 after second 2",
            ),
            (
                vec![start(), second(2), second(2)],
                "second 2 after second 2",
            ),
            (vec![start(), end(), second(0)], "a line after the end"),
            (vec![start(), end(), end()], "a line after the end"),
        ] {
            assert_eq!(told(lines).0, wrong);
        }
        let mut course_of_another = ScenarioCourse::create(&request, 1).unwrap();
        let third = Shard::new(1, 3).unwrap();
        let wrong = course_of_another.add(0, start(), (&request, third));
        assert_eq!(wrong.unwrap_err(), "a load that was not assigned");

        // The record at the end has what the journal had.
        let mut record = ScenarioRecord::new(sample::start());
        record.absorb(&sample::frame(0, 5));
        let wrong = course.compare(0, &record).unwrap_err();
        assert!(
            wrong.starts_with("its record has 5 started") && wrong.contains("journal 10 started"),
            "{wrong}"
        );
        record.absorb(&sample::frame(2, 5));
        assert_eq!(course.compare(0, &record), Ok(()));
        record.start.base_url = Some("http://127.0.0.1:2".to_owned());
        let wrong = course.compare(0, &record).unwrap_err();
        assert_eq!(wrong, "its record and its journal differ in their target");
    }
}
