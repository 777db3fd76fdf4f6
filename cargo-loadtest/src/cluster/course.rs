//! What the controller knows of the agents of a run: what they measured, who is ready, and who is lost.

use super::controller::ClusterRun;
use super::messages::{AgentInfo, decode_parcel};
use super::mirror::Mirror;
use super::parcels::Parcel;
use super::scenario_course::ScenarioCourse;
use crate::live::Live;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::display;
use loadtest_model::failure::RunFailure;
use loadtest_model::redacted::Redacted;
use loadtest_model::schedule::Schedule;
use loadtest_model::shard::Shard;
use std::iter;
use std::time::Duration;
use tokio::time::Instant;

/// An agent that says nothing for so long is lost.
const SILENCE: Duration = Duration::from_millis(3_500);

/// All agents of a run.
pub(super) struct RunCourse<'a> {
    pub(super) run: &'a ClusterRun<'a>,
    /// The parts of the agents.
    pub(super) shards: Vec<Shard>,
    pub(super) agents: Vec<Mirror>,
    pub(super) scenarios: Vec<ScenarioCourse>,
    /// Losses that were not told yet.
    news: Vec<String>,
}

impl<'a> RunCourse<'a> {
    /// Prepares the files of all agents, which have these parts, and those of the whole.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub(super) fn create(
        agents: &[AgentInfo],
        shards: Vec<Shard>,
        run: &'a ClusterRun<'a>,
    ) -> Result<Self, Error> {
        let (count, scenarios) = (agents.len(), run.requests.len());
        let mirrors = (1..)
            .zip(agents)
            .map(|(number, info)| Mirror::create(info.clone(), &run.folder, number, scenarios));
        let mirrors = mirrors.collect::<Result<_, _>>()?;
        let requests = run.requests.iter();
        let scenarios = requests.map(|request| ScenarioCourse::create(request, count));
        Ok(Self {
            run,
            shards,
            agents: mirrors,
            scenarios: scenarios.collect::<Result<_, Error>>()?,
            news: Vec::new(),
        })
    }

    /// Takes what came under the subject of an agent. One that sends what cannot be is lost.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn take(&mut self, parcel: &Parcel) -> Result<(), Error> {
        let Some(place) = parcel.place.filter(|place| *place < self.agents.len()) else {
            return Ok(());
        };
        let agent = &mut self.agents[place];
        let (head, bytes) = match decode_parcel(&parcel.bytes) {
            Ok(decoded) => decoded,
            Err(wrong) => {
                self.distrust(place, &format!("sends unreadable data: {wrong}"));
                return Ok(());
            }
        };
        // Whoever sent it, it is not of this one; another must not get it lost.
        if head.agent != agent.info.agent || agent.is_distrusted {
            return Ok(());
        }
        agent.last_word = parcel.said_at;
        if let Err(wrong) = agent.add(head, bytes)? {
            self.distrust(place, wrong);
        }
        Ok(())
    }

    /// Loses an agent that told what cannot be: nothing of it counts, and the others go on.
    fn distrust(&mut self, place: usize, what: &str) {
        let reason = format!("agent {} {}", self.name(place), console::clean(what));
        self.agents[place].is_distrusted = true;
        if self.agents[place].lost.is_none() {
            self.news.push(reason.clone());
            self.agents[place].lost = Some(reason);
        }
        for scenario in &mut self.scenarios {
            scenario.finish(place);
        }
    }

    /// Notes when the load begins, in microseconds after 1970: what agents tell of that is by clocks of their own.
    pub(super) fn note_start(&mut self, start_us: u64) {
        for scenario in &mut self.scenarios {
            scenario.start_us = start_us;
        }
    }

    /// Reads what is new of all journals and spans, and shows it. Returns the words on a threshold that ends the run now.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn read(
        &mut self,
        live: &mut Live,
        begin: Instant,
    ) -> Result<Option<String>, Error> {
        let mut broken = None;
        let mut liars = Vec::new();
        for (number, scenario) in self.scenarios.iter_mut().enumerate() {
            for (place, agent) in self.agents.iter_mut().enumerate() {
                if agent.is_distrusted {
                    continue;
                }
                let (request, shard) = (&self.run.requests[number], self.shards[place]);
                // A long journal is read in pieces.
                let mut lines = iter::from_fn(|| agent.next_lines(number)).flatten();
                let mut added =
                    lines.try_for_each(|line| scenario.add(place, line?, (request, shard)));
                drop(lines);
                // Their times are from the start that the journal tells.
                if added.is_ok() && scenario.starts[place].is_some() {
                    for told in iter::from_fn(|| agent.next_spans(number)).flatten() {
                        match told.and_then(|told| scenario.accept_spans(place, told)) {
                            Ok(spans) => scenario.keep_spans(&spans)?,
                            Err(wrong) => {
                                added = Err(wrong);
                                break;
                            }
                        }
                    }
                }
                if let Err(wrong) = added {
                    liars.push((place, format!("sends impossible data: {wrong}")));
                    scenario.finish(place);
                    continue;
                }
                if agent.has_figures() && agent.lost.is_none() && !scenario.ended[place] {
                    let reason = agent.describe_early_end();
                    self.news.push(reason.clone());
                    agent.lost = Some(reason);
                }
                if agent.lost.is_some() || agent.has_figures() {
                    scenario.finish(place);
                }
            }
            broken = scenario.show(number, live, begin)?.or(broken);
        }
        for (place, wrong) in liars {
            self.distrust(place, &wrong);
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
                "agent {} ended before the load started: {}",
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

    /// Notes the agents that gave up, and those that said nothing for too long, if all was heard until `heard_until`.
    pub(super) fn note_losses(&mut self, heard_until: Option<Instant>) {
        for place in 0..self.agents.len() {
            let name = self.name(place);
            let agent = &mut self.agents[place];
            let silence = heard_until.map(|until| until.saturating_duration_since(agent.last_word));
            let is_silent = silence.is_some_and(|silence| silence > SILENCE);
            let gave_up = agent.end.as_ref().and_then(|end| end.gave_up.as_ref());
            let reason = match (&agent.end, gave_up) {
                (_, Some(reason)) => format!("agent {name} gave up: {}", console::clean(reason)),
                (None, None) if is_silent => {
                    let limit = display::format_span(SILENCE);
                    format!("agent {name} was lost: it was silent for {limit}")
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

    /// Notes the agents that do not end.
    pub(super) fn note_overdue(&mut self) {
        for place in 0..self.agents.len() {
            let reason = format!("agent {} did not end after its load", self.name(place));
            let agent = &mut self.agents[place];
            if agent.end.is_none() && agent.lost.is_none() {
                self.news.push(reason.clone());
                agent.lost = Some(reason);
            }
        }
    }

    /// Returns the length of the longest load, where loads have one, and the longest time for what is in flight then.
    pub(super) fn longest_end(&self) -> (Option<Duration>, Duration) {
        let plans = self.scenarios.iter().filter_map(|scenario| {
            let start = scenario.starts.iter().flatten().next()?;
            Some(&start.plan)
        });
        let lengths = plans.clone().map(|plan| {
            let end = Schedule::new(&plan.load).end()?;
            Some(plan.start + end)
        });
        let length = lengths.collect::<Option<Vec<_>>>();
        let patience = plans.map(|plan| plan.graceful_stop).max();
        (
            length.and_then(|lengths| lengths.into_iter().max()),
            patience.unwrap_or_default(),
        )
    }

    /// Returns a loss that was not told yet.
    pub(super) fn take_news(&mut self) -> Option<String> {
        (!self.news.is_empty()).then(|| std::mem::take(&mut self.news).join("; "))
    }

    /// Returns the words on an agent that is lost.
    pub(super) fn describe_loss(&self) -> Option<String> {
        self.agents.iter().find_map(|agent| agent.lost.clone())
    }

    /// Returns how much of each file is here, by agent.
    pub(super) fn received(&self) -> impl Iterator<Item = Vec<u64>> {
        self.agents.iter().map(Mirror::received)
    }

    /// Returns true once all files of all agents are here.
    pub(super) fn is_complete(&self) -> bool {
        let mut agents = self.agents.iter();
        agents.all(|agent| agent.is_distrusted || agent.is_complete())
    }

    /// Returns true once nobody is expected to send load any more.
    pub(super) fn all_ended_or_lost(&self) -> bool {
        self.agents
            .iter()
            .all(|agent| agent.end.is_some() || agent.lost.is_some())
    }

    /// Returns a message for each agent whose spans may not all be here.
    pub(super) fn describe_missing_spans(&self) -> Vec<String> {
        let is_traced = self.run.requests.iter().any(|one| one.spans.is_some());
        let has_all = |place: usize| {
            self.agents[place].is_complete() && self.scenarios.iter().all(|one| one.ended[place])
        };
        let places = (0..self.agents.len()).filter(|place| is_traced && !has_all(*place));
        places
            .map(|place| {
                format!(
                    "agent {} did not deliver all of its spans",
                    self.name(place)
                )
            })
            .collect()
    }

    /// Returns the agents that have not delivered all of their files, as messages name them.
    pub(super) fn undelivered(&self) -> Vec<String> {
        let places = 0..self.agents.len();
        let owing = places.filter(|place| !self.agents[*place].is_complete());
        owing.map(|place| self.name(place)).collect()
    }

    /// Returns the names of the agents.
    pub(super) fn agents(&self) -> Vec<String> {
        let agents = self.agents.iter();
        agents.map(|agent| agent.info.agent.clone()).collect()
    }

    /// Returns an agent as messages name it.
    pub(super) fn name(&self, place: usize) -> String {
        let info = &self.agents[place].info;
        format!(
            "{} ({}/{})",
            console::clean(&info.agent),
            place + 1,
            self.agents.len()
        )
    }
}
