//! A run of agents under way: its start, what is heard, who is lost, and its end.

use super::clock::{AgentClock, ClockOffset, measure_clocks, now_us};
use super::conclude::StoppedAfter;
use super::controller::{BEAT, Crew};
use super::course::RunCourse;
use super::messages::{Beat, Phase};
use super::parcels::Parcels;
use crate::cli::AgentLoss;
use crate::live::Live;
use async_nats::connection::State;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::display;
use loadtest_model::record::ScenarioRecord;
use std::time::Duration;
use tokio::spawn;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// The interval between two beats until the load begins: what is lost then may come too late.
const NOTICE_BEAT: Duration = Duration::from_millis(100);
/// The time for agents to be heard after our own connection came back.
const SILENCE_AFTER_OUTAGE: Duration = Duration::from_secs(4);
/// The interval between two looks at a connection that is down.
const OUTAGE_POLL: Duration = Duration::from_millis(100);
/// The time for agents to prepare.
const PREPARATION_LIMIT: Duration = Duration::from_secs(120);
/// The time for the rest of the journals once nothing runs any more.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// Agents whose load is over have so long to deliver what they measured.
const OVERDUE: Duration = Duration::from_secs(90);
/// The interval between two measurements of the clocks.
const CLOCK_INTERVAL: Duration = Duration::from_secs(30);
/// The user is told that the server is away after so long.
const OUTAGE_TOLD: Duration = Duration::from_secs(1);
/// The least time between the moment when all are ready and the start.
const NOTICE: Duration = Duration::from_secs(1);

/// A run that is being made.
pub(super) struct Control<'a> {
    crew: &'a Crew<'a>,
    course: RunCourse<'a>,
    clocks: Vec<AgentClock>,
    /// A measurement of the clocks under way.
    measuring: Option<JoinHandle<Vec<Option<ClockOffset>>>>,
    measured_at: Option<Instant>,
    parcels: Parcels,
    phase: Phase,
    /// The start by our own clock, and by that of each agent.
    start_us: u64,
    starts_us: Vec<u64>,
    last_beat: Option<Instant>,
    /// The last time at which we could hear no agent.
    outage: Option<Instant>,
    /// The time since which it is down.
    outage_since: Option<Instant>,
    outage_is_told: bool,
    /// The time when agents were first told to stop, and how long after the start of the load that was.
    stopped_at: Option<Instant>,
    stopped_after: StoppedAfter,
    /// The number of requests to stop that were obeyed.
    stopped_by: Option<u32>,
}

impl<'a> Control<'a> {
    pub(super) fn new(
        crew: &'a Crew<'a>,
        course: RunCourse<'a>,
        clocks: Vec<ClockOffset>,
        parcels: Parcels,
    ) -> Self {
        Self {
            crew,
            course,
            clocks: clocks.into_iter().map(AgentClock::new).collect(),
            measuring: None,
            measured_at: None,
            parcels,
            phase: Phase::Prepare,
            start_us: 0,
            starts_us: Vec::new(),
            last_beat: None,
            outage: None,
            outage_since: None,
            outage_is_told: false,
            stopped_at: None,
            stopped_after: None,
            stopped_by: None,
        }
    }

    /// Tells the agents that the run is over, again and again: nobody answers.
    pub(super) async fn dismiss(&mut self) {
        self.phase = Phase::Done;
        for _ in 0..3 {
            self.beat().await;
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Says which agents owe spans.
    pub(super) fn tell_missing_spans(&self, live: &Live) {
        for line in self.course.describe_missing_spans() {
            live.print(&format!("warning: {line}"));
        }
    }

    /// Returns what became of each scenario.
    ///
    /// # Errors
    /// When what came cannot be read.
    pub(super) fn conclude(
        &self,
        enough: Option<f64>,
    ) -> Result<Vec<Result<ScenarioRecord, Error>>, Error> {
        self.course
            .conclude(&self.clocks, enough, self.stopped_after)
    }

    /// Prepares, starts, follows and ends it.
    ///
    /// # Errors
    /// What prevents the whole.
    pub(super) async fn conduct(
        &mut self,
        interrupts: &Interrupts,
        live: &mut Live,
    ) -> Result<(), Error> {
        let begin = Instant::now();
        while !self.course.all_are_ready() {
            self.turn().await?;
            self.course.read(live, begin)?;
            if let Some(failure) = self.course.find_failure() {
                return Err(failure);
            }
            self.find_lost_agents();
            if let Some(reason) = self.course.describe_loss() {
                return Err(Error::failure(format!("{reason}, before the load started")));
            }
            interrupts.check()?;
            if begin.elapsed() > PREPARATION_LIMIT {
                let names = self.course.unready().join(", ");
                return Err(Error::failure(format!(
                    "not ready in {PREPARATION_LIMIT:?}: {names}"
                )));
            }
        }
        self.start();
        let begin = Instant::now();
        let mut drained_since = None;
        loop {
            self.turn().await?;
            self.tell_outage(live);
            self.follow_clocks().await;
            let broken = self.course.read(live, begin)?;
            if let Some(broken) = broken.or_else(|| live.take_broken_limit()) {
                live.print(&broken);
                self.end_with(Phase::Stop);
            }
            live.tick(begin.elapsed());
            self.obey(interrupts, live);
            self.find_lost_agents();
            if let Some(reason) = self.course.take_news() {
                live.print(&reason);
                if self.crew.cluster.on_loss == AgentLoss::Fail {
                    self.end_with(Phase::Stop);
                }
            }
            if self.course.is_complete() {
                return Ok(());
            }
            if self.is_overdue(begin) {
                self.course.note_overdue();
            }
            // By then all agents have stopped by themselves.
            let patience = self.crew.cluster.orphan_after + DRAIN_LIMIT;
            if self
                .outage_since
                .is_some_and(|since| since.elapsed() > patience)
            {
                live.print(
                    "the NATS server no longer answers: the run ends with the known results",
                );
                return Ok(());
            }
            // Who is lost may still deliver what it measured, and who was told to abort has its own limit.
            if self.course.all_ended_or_lost() || self.stopped_by.is_some_and(|count| count > 2) {
                let since = *drained_since.get_or_insert_with(|| {
                    let (limit, owing) =
                        (display::format_span(DRAIN_LIMIT), self.course.undelivered());
                    let owing = owing.join(", ");
                    live.print(&format!(
                        "waiting {limit} for the remaining results of {owing}"
                    ));
                    Instant::now()
                });
                if since.elapsed() > DRAIN_LIMIT || interrupts.count() > 2 {
                    return Ok(());
                }
            } else {
                drained_since = None;
            }
        }
    }

    /// Returns true if agents had to end long ago; `begin` is the time when the start was said.
    fn is_overdue(&self, begin: Instant) -> bool {
        let (length, patience) = self.course.longest_end();
        let is_past = |since: Instant, time: Duration| since.elapsed() > time + patience + OVERDUE;
        length.is_some_and(|length| is_past(begin, length))
            || self
                .stopped_at
                .is_some_and(|at| is_past(at, Duration::ZERO))
    }

    /// Sets the start, by the clock of each agent.
    fn start(&mut self) {
        let clocks = self.clocks.iter().map(AgentClock::at_start);
        let slowest = clocks.clone().map(|clock| clock.error_us).max();
        let notice = NOTICE.max(Duration::from_micros(slowest.unwrap_or_default() * 20));
        self.start_us = now_us() + u64::try_from(notice.as_micros()).unwrap_or_default();
        self.starts_us = clocks.map(|clock| clock.to_agent(self.start_us)).collect();
        self.course.note_start(self.start_us);
        self.end_with(Phase::Run);
    }

    /// Goes on to a phase, and says so at once.
    fn end_with(&mut self, phase: Phase) {
        if phase > self.phase {
            self.phase = phase;
            self.last_beat = None;
            if phase >= Phase::Stop {
                self.stopped_at.get_or_insert_with(Instant::now);
                let after_us = now_us().saturating_sub(self.start_us);
                (self.stopped_after).get_or_insert(Duration::from_micros(after_us));
            }
        }
    }

    /// Says what is wanted, if it is time, and takes what has come.
    async fn turn(&mut self) -> Result<(), Error> {
        let is_notice = self.phase == Phase::Run && now_us() < self.start_us;
        let interval = if is_notice { NOTICE_BEAT } else { BEAT };
        if self.last_beat.is_none_or(|last| last.elapsed() >= interval) {
            self.beat().await;
        }
        if self.crew.client.connection_state() != State::Connected {
            self.outage = Some(Instant::now());
            self.outage_since.get_or_insert_with(Instant::now);
            sleep(OUTAGE_POLL).await;
            return Ok(());
        }
        self.outage_since = None;
        for parcel in self.parcels.next().await {
            self.course.take(&parcel)?;
        }
        if self.parcels.heard_until().is_none() {
            // A connection that broke and is back already, for example.
            self.outage = Some(Instant::now());
        }
        Ok(())
    }

    /// Tells the user that nothing can be heard of the agents, and when that is over.
    fn tell_outage(&mut self, live: &mut Live) {
        let is_away = self
            .outage_since
            .is_some_and(|since| since.elapsed() > OUTAGE_TOLD);
        if is_away && !self.outage_is_told {
            live.print("the NATS server is not reachable: agents continue, and deliver their results later");
        } else if self.outage_is_told && self.outage_since.is_none() {
            live.print("the NATS server is back");
        } else {
            return;
        }
        self.outage_is_told = is_away;
    }

    /// Measures the clocks again, beside the rest: right after the start is set, and from time to time.
    async fn follow_clocks(&mut self) {
        if let Some(measured) = self.measuring.take_if(|measuring| measuring.is_finished())
            && let Ok(found) = measured.await
        {
            for (clock, found) in self.clocks.iter_mut().zip(found) {
                if let Some(found) = found {
                    clock.add(found);
                }
            }
        }
        let is_due = self
            .measured_at
            .is_none_or(|measured| measured.elapsed() >= CLOCK_INTERVAL);
        if is_due && self.measuring.is_none() && self.phase == Phase::Run {
            self.measured_at = Some(Instant::now());
            let agents = self.course.agents();
            self.measuring = Some(spawn(measure_clocks(self.crew.client.clone(), agents)));
        }
    }

    async fn beat(&mut self) {
        self.last_beat = Some(Instant::now());
        let mut starts = self.starts_us.iter().copied();
        let beats = self.course.received().map(|received| Beat {
            phase: self.phase,
            start_us: starts.next(),
            received,
        });
        self.crew.beat(beats).await;
    }

    fn obey(&mut self, interrupts: &Interrupts, live: &mut Live) {
        let wanted = interrupts.count();
        if wanted == 0 || self.stopped_by == Some(wanted) {
            return;
        }
        self.stopped_by = Some(wanted);
        if wanted == 1 {
            self.end_with(Phase::Stop);
            live.end();
            live.print("stopping: waiting for requests in flight (Ctrl-C again to abort)");
        } else {
            self.end_with(Phase::Abort);
            live.print("aborting");
        }
    }

    /// Notes who gave up, and who said nothing for too long while we could have heard it.
    fn find_lost_agents(&mut self) {
        let could_hear = self
            .outage
            .is_none_or(|last| last.elapsed() > SILENCE_AFTER_OUTAGE);
        let heard_until = self.parcels.heard_until().filter(|_| could_hear);
        self.course.note_losses(heard_until);
    }
}
