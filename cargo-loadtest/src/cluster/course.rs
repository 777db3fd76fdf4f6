//! A run of several agents as one: their seconds for the live view and the journal, their records for the result.

use super::clock::ClockOffset;
use super::controller::ClusterRun;
use super::messages::{AgentInfo, decode_parcel};
use super::mirror::Mirror;
use super::seconds::Seconds;
use crate::console;
use crate::error::Error;
use crate::live::Live;
use crate::session::journal;
use loadtest_model::card::{Validity, describe_broken};
use loadtest_model::display;
use loadtest_model::failure::RunFailure;
use loadtest_model::metrics::{AbortThresholds, Broken, Frame};
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{
    AgentRun, EndReason, RunRecord, RunStart, ScenarioRecord, merge_shards,
};
use loadtest_model::redacted::Redacted;
use loadtest_model::schedule::Schedule;
use loadtest_model::shard::Shard;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// All agents of a run.
pub(super) struct RunCourse<'a> {
    run: &'a ClusterRun<'a>,
    agents: Vec<Mirror>,
    scenarios: Vec<ScenarioCourse>,
    /// Losses that were not told yet.
    news: Vec<String>,
}

/// One scenario of all agents.
struct ScenarioCourse {
    journal: PathBuf,
    file: File,
    seconds: Seconds,
    /// Agents whose load is ready, and those of which no more comes.
    ready: Vec<bool>,
    finished: Vec<bool>,
    starts: Vec<Option<RunStart>>,
    thresholds: Option<AbortThresholds>,
    broken: Option<Broken>,
    failure: Option<(usize, RunFailure)>,
    has_ended: bool,
}

impl<'a> RunCourse<'a> {
    /// Prepares the journals of all agents, and one of the whole for each scenario at `journals`.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub(super) fn create(
        agents: &[AgentInfo],
        run: &'a ClusterRun<'a>,
        journals: Vec<PathBuf>,
    ) -> Result<Self, Error> {
        let count = agents.len();
        let mirrors = agents.iter().enumerate().map(|(place, info)| {
            let paths = (1..=journals.len()).map(|number| {
                run.folder
                    .join(format!("agent-{}-journal-{number}.jsonl", place + 1))
            });
            Mirror::create(info.clone(), &paths.collect::<Vec<_>>())
        });
        let mirrors = mirrors.collect::<Result<_, _>>()?;
        let scenarios = journals.into_iter().map(|journal| {
            Ok(ScenarioCourse {
                file: File::create(&journal).map_err(Error::io("write", &journal))?,
                journal,
                seconds: Seconds::new(count),
                ready: vec![false; count],
                finished: vec![false; count],
                starts: vec![None; count],
                thresholds: None,
                broken: None,
                failure: None,
                has_ended: false,
            })
        });
        Ok(Self {
            run,
            agents: mirrors,
            scenarios: scenarios.collect::<Result<_, Error>>()?,
            news: Vec::new(),
        })
    }

    /// Takes a parcel, if it is of one of the agents.
    ///
    /// # Errors
    /// When it cannot be what an agent sends.
    pub(super) fn take(&mut self, parcel: &[u8]) -> Result<(), Error> {
        let (head, bytes) = decode_parcel(parcel)
            .map_err(|wrong| Error::failure(format!("a parcel cannot be read: {wrong}")))?;
        let mut agents = self.agents.iter_mut();
        // One of an agent that is not of this run may have the right subject.
        match agents.find(|agent| agent.info.agent == head.agent) {
            Some(agent) => agent.add(head, bytes),
            None => Ok(()),
        }
    }

    /// Reads what is new of all journals, and shows it. Returns the words on a threshold that ends the run now.
    ///
    /// # Errors
    /// When an agent tells what cannot be, or a journal cannot be written.
    pub(super) fn read(
        &mut self,
        live: &mut Live,
        begin: Instant,
    ) -> Result<Option<String>, Error> {
        let mut broken = None;
        for (number, scenario) in self.scenarios.iter_mut().enumerate() {
            for (place, agent) in self.agents.iter_mut().enumerate() {
                for line in agent.lines(number) {
                    let liar = |what: String| {
                        Error::failure(format!(
                            "agent {} tells what cannot be: {what}",
                            agent.info.agent
                        ))
                    };
                    scenario.add(place, line).map_err(liar)?;
                }
                if agent.lost.is_some() || agent.is_complete() {
                    scenario.finish(place);
                }
            }
            broken = scenario.show(number, live, begin)?.or(broken);
        }
        Ok(broken)
    }

    /// Returns true once every agent waits for the start of every scenario.
    pub(super) fn all_are_ready(&self) -> bool {
        self.scenarios
            .iter()
            .all(|scenario| scenario.ready.iter().all(|ready| *ready))
    }

    /// Returns the names of the agents that are not ready.
    pub(super) fn unready(&self) -> Vec<String> {
        let is_ready = |place: usize| self.scenarios.iter().all(|scenario| scenario.ready[place]);
        let places = (0..self.agents.len()).filter(|place| !is_ready(*place));
        places.map(|place| self.name(place)).collect()
    }

    /// Returns why an agent cannot begin.
    pub(super) fn find_failure(&self) -> Option<Error> {
        let failed =
            self.scenarios
                .iter()
                .zip(self.run.requests)
                .find_map(|(scenario, request)| {
                    let (place, failure) = scenario.failure.as_ref()?;
                    let message = Redacted::assume(format!(
                        "agent {}: {}",
                        self.name(*place),
                        failure.message
                    ));
                    let failure = RunFailure {
                        message,
                        ..failure.clone()
                    };
                    Some(Error::refused(&request.scenario, &failure))
                });
        let ended = || {
            let place = self.agents.iter().position(|agent| agent.end.is_some())?;
            let end = self.agents[place].end.as_ref()?;
            let mut message = format!(
                "agent {} ended before the load began: {}",
                self.name(place),
                console::clean(&end.status)
            );
            for line in end.gave_up.iter().chain(&end.output) {
                message.push_str("\n  ");
                message.push_str(&console::clean(line));
            }
            Some(Error::failure(message))
        };
        failed.or_else(ended)
    }

    /// Notes the agents that said nothing for so long.
    pub(super) fn note_silence(&mut self, limit: Duration) {
        for place in 0..self.agents.len() {
            let name = self.name(place);
            let agent = &mut self.agents[place];
            let is_silent = agent.last_word.elapsed() > limit;
            let gave_up = agent.end.as_ref().and_then(|end| end.gave_up.as_ref());
            let reason = match (&agent.end, gave_up) {
                (_, Some(reason)) => format!("agent {name} gave up: {}", console::clean(reason)),
                (None, None) if is_silent => {
                    format!("agent {name} was lost: it said nothing for {limit:?}")
                }
                _ => continue,
            };
            // One that comes back stays lost: its load may have stood still.
            if agent.lost.is_none() {
                self.news.push(reason.clone());
                agent.lost = Some(reason);
            }
        }
    }

    /// Returns a loss that was not told yet.
    pub(super) fn take_news(&mut self) -> Option<String> {
        (!self.news.is_empty()).then(|| std::mem::take(&mut self.news).join("; "))
    }

    /// Returns the words on an agent that is lost.
    pub(super) fn describe_loss(&self) -> Option<String> {
        self.agents.iter().find_map(|agent| agent.lost.clone())
    }

    /// Returns how much of each journal is here, by agent.
    pub(super) fn received(&self) -> Vec<Vec<u64>> {
        self.agents.iter().map(Mirror::received).collect()
    }

    /// Returns true once all that all agents measured is here.
    pub(super) fn is_complete(&self) -> bool {
        self.agents.iter().all(Mirror::is_complete)
    }

    /// Returns true once nobody is expected to send load any more.
    pub(super) fn all_ended_or_lost(&self) -> bool {
        self.agents
            .iter()
            .all(|agent| agent.end.is_some() || agent.lost.is_some())
    }

    /// Joins the journals of all agents into the record of each scenario.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn conclude(
        &self,
        clocks: &[ClockOffset],
    ) -> Result<Vec<Result<ScenarioRecord, Error>>, Error> {
        let results = (0..self.scenarios.len()).map(|number| self.conclude_one(number, clocks));
        let results = results.collect::<Result<_, _>>()?;
        for agent in self.agents.iter().filter(|agent| agent.is_complete()) {
            agent.remove_files();
        }
        Ok(results)
    }

    fn conclude_one(
        &self,
        number: usize,
        clocks: &[ClockOffset],
    ) -> Result<Result<ScenarioRecord, Error>, Error> {
        let scenario = &self.scenarios[number];
        let identity = &self.run.requests[number].scenario;
        let mut parts = Vec::new();
        for (place, agent) in self.agents.iter().enumerate() {
            let path = agent.path(number);
            let folded = journal::fold(path).map_err(Error::io("read", path))?;
            if let Some(failure) = &folded.failure {
                return Ok(Err(Error::refused(identity, failure)));
            }
            let reason = agent.lost.clone().unwrap_or_else(|| {
                let status = agent.end.as_ref().map_or("no end", |end| &end.status);
                format!(
                    "agent {} did not deliver all that it measured ({})",
                    self.name(place),
                    console::clean(status)
                )
            });
            let died = EndReason::Died {
                reason: Redacted::assume(reason),
            };
            let Some(record) = folded.into_record(died) else {
                return Ok(Err(Error::failure(format!(
                    "nothing came of `{identity}` from agent {}",
                    self.name(place)
                ))));
            };
            parts.push(RunRecord {
                run_id: agent.info.agent.clone(),
                environment: agent.info.environment.clone(),
                scenarios: vec![record],
                not_run: Vec::new(),
                ..self.run.header.clone()
            });
        }
        let merged = if let [only] = parts.as_slice() {
            only.scenarios.clone()
        } else {
            merge_shards(&parts).map_err(|errors| {
                let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                Error::failure(lines.join("\n"))
            })?
        };
        let Some(mut record) = merged.into_iter().next() else {
            return Ok(Err(Error::failure(format!("nothing came of `{identity}`"))));
        };
        let parts = parts.iter().flat_map(|part| &part.scenarios);
        let agents = self.agents.iter().zip(clocks).zip(parts);
        for (shard, ((agent, clock), part)) in record.shards.iter_mut().zip(agents) {
            shard.doubts = Validity::list_doubts(part);
            shard.agent = Some(AgentRun {
                host: agent.info.host.clone(),
                clock_offset_us: clock.offset_us,
                clock_error_us: clock.error_us,
                lost: agent.lost.clone().map(Redacted::assume),
            });
        }
        if let Some(reason) = self.describe_missing(&record) {
            record.end.ending = EndReason::AgentLost { reason };
        } else if let Some(broken) = &scenario.broken
            && record.end.ending == EndReason::Interrupted
        {
            record.end.ending = EndReason::ThresholdBroken {
                threshold: broken.threshold,
                after_us: u64::try_from(broken.after.as_micros()).unwrap_or(u64::MAX),
                reason: Redacted::assume(describe_broken(
                    broken,
                    &record.start.plan,
                    &record.start.definition,
                )),
            };
        }
        // The journal of the whole ends as the record does, for who reads it without that.
        let mut file = &scenario.file;
        let end = serde_json::to_vec(&JournalLine::End(record.end.clone()))
            .map_err(Error::encode("the end"))?;
        let written = file.write_all(&end).and_then(|()| file.write_all(b"\n"));
        written.map_err(Error::io("write", &scenario.journal))?;
        Ok(Ok(record))
    }

    /// Describes the agents that did not make their part, or of which something is missing.
    fn describe_missing(&self, record: &ScenarioRecord) -> Option<Redacted> {
        let elapsed = Duration::from_micros(record.end.elapsed_us);
        let due = Schedule::new(&record.start.plan.load).arrivals_until(elapsed);
        let words = self.agents.iter().enumerate().filter_map(|(place, agent)| {
            let reason = match &agent.lost {
                Some(reason) => reason.clone(),
                None if agent.is_complete() => return None,
                None => format!(
                    "agent {} did not deliver all that it measured",
                    self.name(place)
                ),
            };
            let part = record.shards.get(place);
            let not_run = part.zip(due).map_or(0, |(part, due)| {
                let known = part.started + part.dropped;
                part.shard.count_of(due).saturating_sub(known)
            });
            Some(match not_run {
                0 => reason,
                count => format!(
                    "{reason}; {} of its part were not run",
                    display::format_counted(count, "iteration")
                ),
            })
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| Redacted::assume(words.join("; ")))
    }

    fn name(&self, place: usize) -> String {
        let info = &self.agents[place].info;
        format!(
            "{} ({}/{})",
            console::clean(&info.agent),
            place + 1,
            self.agents.len()
        )
    }
}

impl ScenarioCourse {
    /// Adds a line of an agent's journal.
    fn add(&mut self, place: usize, line: JournalLine) -> Result<(), String> {
        match line {
            JournalLine::Ready => self.ready[place] = true,
            JournalLine::Start(start) => {
                let record = ScenarioRecord::new(*start);
                record.check().map_err(|wrong| wrong.to_string())?;
                self.starts[place] = Some(record.start);
            }
            JournalLine::Frame(frame) => {
                let start = self.starts[place]
                    .as_ref()
                    .ok_or("a second before the start")?;
                frame
                    .check(start.definition.steps.len())
                    .map_err(|wrong| wrong.to_string())?;
                self.seconds.add(place, *frame);
            }
            JournalLine::End(_) => self.finish(place),
            JournalLine::Failed(failure) => {
                self.failure = self.failure.take().or(Some((place, failure)));
                self.finish(place);
            }
        }
        Ok(())
    }

    fn finish(&mut self, place: usize) {
        if !std::mem::replace(&mut self.finished[place], true) {
            self.seconds.finish(place);
        }
    }

    /// Shows the seconds that all have told, and keeps them. Returns the words on a threshold that ends the run.
    fn show(
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
            live.end_one();
        }
        Ok(words.filter(|_| self.broken.is_some()))
    }

    fn keep(&mut self, line: &JournalLine) -> Result<(), Error> {
        let mut bytes = serde_json::to_vec(line).map_err(Error::encode("a second"))?;
        bytes.push(b'\n');
        self.file
            .write_all(&bytes)
            .map_err(Error::io("write", &self.journal))
    }
}

/// Returns the start of the whole: that of the first part, with all workers.
fn join_starts(starts: &[Option<RunStart>]) -> Option<RunStart> {
    let mut all = starts.iter().flatten();
    let mut whole = all.next()?.clone();
    whole.workers += all.map(|start| start.workers).sum::<u32>();
    whole.plan.shard = Shard::WHOLE;
    Some(whole)
}
