//! Adds up the frames of all workers, watches the run and decides when to give it up.

use super::POLL_INTERVAL;
use super::control::{Control, RunPhase};
use super::panics::PanicRate;
use super::watchdog::BlockingStepDetector;
use super::worker::WorkerSummary;
use super::worker_state::ThreadOccupancy;
use crate::machine::ContentionMeter;
use loadtest_model::card::describe_broken;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::metrics::{AbortThresholds, Broken, Frame};
use loadtest_model::plan::Plan;
use loadtest_model::record::{EndReason, RunEnd};
use loadtest_model::redacted::Redacted;
use loadtest_model::schedule::{Model, Schedule};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use tokio::time::Instant;

/// Time after the hard end until a worker that has not reported counts as stuck in a step.
const STUCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The same time after an abort.
const ABORTED_STUCK_TIMEOUT: Duration = Duration::from_secs(2);

/// A message from a worker to the collector.
pub(super) enum WorkerMessage {
    /// The tally of one second.
    Frame(Box<Frame>),
    /// The worker is finished; it sends no more frames.
    Done(WorkerSummary),
}

/// The two controls that can end a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Controls<'a> {
    /// Used by the caller of the engine.
    pub(super) requested: &'a Control,
    /// Used by the engine to give up a run.
    pub(super) internal: &'a Control,
}

/// Adds up what the workers report.
pub(super) struct Collector<'a> {
    definition: &'a ScenarioDef,
    plan: &'a Plan,
    schedule: &'a Schedule,
    thresholds: AbortThresholds,
    occupancies: &'a [Arc<ThreadOccupancy>],
    start: Instant,
    controls: Controls<'a>,
    /// Incomplete seconds: the number of workers that reported, and the sum of their frames.
    pending: BTreeMap<u32, (u32, Frame)>,
    newest_second: u32,
    /// The first second that was not reported yet.
    next_second: u32,
    contention: ContentionMeter,
    blocking: BlockingStepDetector,
    panic_rate: PanicRate,
    /// The time at which the load was over, or was stopped.
    stopped_at: Option<Instant>,
    given_up: Option<EndReason>,
    total: WorkerSummary,
    /// The number of frames from each finished worker.
    finished: Vec<u32>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        definition: &'a ScenarioDef,
        plan: &'a Plan,
        schedule: &'a Schedule,
        occupancies: &'a [Arc<ThreadOccupancy>],
        start: Instant,
        controls: Controls<'a>,
    ) -> Self {
        Self {
            definition,
            plan,
            schedule,
            thresholds: AbortThresholds::new(plan, definition.steps.len()),
            occupancies,
            start,
            controls,
            pending: BTreeMap::new(),
            newest_second: 0,
            next_second: 0,
            contention: ContentionMeter::start(),
            blocking: BlockingStepDetector::default(),
            panic_rate: PanicRate::default(),
            stopped_at: None,
            given_up: None,
            total: WorkerSummary::default(),
            finished: Vec::new(),
        }
    }

    /// Collects until every worker is done or counts as stuck.
    pub(super) fn collect(
        mut self,
        receiver: &Receiver<WorkerMessage>,
        mut report: impl FnMut(Frame) -> ControlFlow<Redacted>,
    ) -> RunEnd {
        while !self.all_finished() {
            let occupancies = self.occupancies.iter().map(AsRef::as_ref);
            self.blocking.observe_workers(Instant::now(), occupancies);
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(message) => self.add(message, &mut report),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.report_complete_seconds(&mut report),
            }
            self.give_up_lost_thread();
            self.note_end();
            if self.is_stuck() {
                break;
            }
        }
        self.finish(report)
    }

    /// Adds a message of a worker, and reports the seconds that are whole with it.
    pub(super) fn add(
        &mut self,
        message: WorkerMessage,
        report: &mut impl FnMut(Frame) -> ControlFlow<Redacted>,
    ) {
        match message {
            WorkerMessage::Frame(frame) => self.add_frame(&frame),
            WorkerMessage::Done(summary) => {
                self.finished.push(summary.seconds);
                self.total.merge(&summary);
            }
        }
        self.report_complete_seconds(report);
    }

    /// Reports what is left, and returns how the run ended.
    pub(super) fn finish(
        mut self,
        mut report: impl FnMut(Frame) -> ControlFlow<Redacted>,
    ) -> RunEnd {
        for (_, frame) in std::mem::take(&mut self.pending).into_values() {
            self.report_frame(frame, &mut report);
        }
        self.into_end()
    }

    fn all_finished(&self) -> bool {
        self.finished.len() == self.occupancies.len()
    }

    /// Returns whether nothing has ended the load yet.
    fn is_running(&self) -> bool {
        self.stopped_at.is_none() && self.controls.internal.phase() == RunPhase::Running
    }

    fn give_up(&mut self, reason: EndReason) {
        self.given_up = Some(reason);
        self.controls.internal.stop();
    }

    fn add_frame(&mut self, frame: &Frame) {
        self.panic_rate.add_frame(frame);
        if self.stopped_at.is_none() && self.panic_rate.is_excessive() {
            self.controls.internal.abort();
        }
        // What comes too late is told with the next second: a journal goes on, and never back.
        let second = frame.second.max(self.next_second);
        let (contention, blocking) = (&mut self.contention, &mut self.blocking);
        let (reports, sum) = self.pending.entry(second).or_insert_with(|| {
            let mut sum = Frame {
                second,
                health: contention.take_health(),
                ..Frame::default()
            };
            sum.health.kept_by = blocking.take_blocking_step();
            (0, sum)
        });
        *reports += u32::from(second == frame.second);
        sum.merge(frame);
        self.newest_second = self.newest_second.max(second);
    }

    /// Reports each second that all working workers have reported, or that is two seconds old.
    fn report_complete_seconds(&mut self, report: &mut impl FnMut(Frame) -> ControlFlow<Redacted>) {
        while let Some(first) = self.pending.first_entry() {
            let second = *first.key();
            let gone = self
                .finished
                .iter()
                .filter(|seconds| **seconds <= second)
                .count();
            let reported = first.get().0 as usize + gone;
            if reported < self.occupancies.len() && second + 2 > self.newest_second {
                break;
            }
            let mut frame = first.remove().1;
            self.next_second = second + 1;
            if self.is_running() {
                frame.broken = self.thresholds.check_second(&frame);
                if let Some(broken) = frame.broken {
                    let reason = self.explain_broken(&broken);
                    self.give_up(reason);
                }
            }
            self.report_frame(frame, report);
        }
    }

    /// Reports a second, and halts a run that is not over if it is told to.
    fn report_frame(
        &mut self,
        frame: Frame,
        report: &mut impl FnMut(Frame) -> ControlFlow<Redacted>,
    ) {
        let is_running = self.is_running();
        if let ControlFlow::Break(reason) = report(frame)
            && is_running
        {
            self.give_up(EndReason::Halted { reason });
        }
    }

    fn explain_broken(&self, broken: &Broken) -> EndReason {
        EndReason::ThresholdBroken {
            threshold: broken.threshold,
            after_us: micros(broken.after),
            reason: Redacted::assume(describe_broken(broken, self.plan, self.definition)),
        }
    }

    fn explain_stuck(&self) -> EndReason {
        let mut occupancies = self.occupancies.iter();
        let step = occupancies.find_map(|occupancy| occupancy.current_step());
        EndReason::Stuck {
            reason: match step.map(|step| &self.definition.steps[step].name) {
                Some(name) => Redacted::assume(format!("step `{name}` did not return its thread")),
                None => "the scenario did not return a thread".into(),
            },
        }
    }

    /// Ends fixed work, which no end of the load does, if the code of a step does not come back.
    fn give_up_lost_thread(&mut self) {
        let limit = |step: usize| self.definition.steps[step].timeout.max(STUCK_TIMEOUT);
        if self.schedule.end().is_none()
            && self.is_running()
            && self.blocking.is_thread_lost(Instant::now(), limit)
        {
            self.given_up = Some(self.explain_stuck());
            self.controls.internal.abort();
        }
    }

    /// Notes the time at which the load was over, or was stopped.
    pub(super) fn note_end(&mut self) {
        let is_over = self
            .schedule
            .end()
            .is_some_and(|end| self.start.elapsed() > end);
        if self.stopped_at.is_none() && (is_over || self.phase() > RunPhase::Running) {
            self.stopped_at = Some(Instant::now());
        }
    }

    /// Returns whether the workers took too long after the end of the load.
    fn is_stuck(&self) -> bool {
        let timeout = if self.phase() == RunPhase::Aborting {
            ABORTED_STUCK_TIMEOUT
        } else {
            self.plan.graceful_stop + STUCK_TIMEOUT
        };
        self.stopped_at
            .is_some_and(|stopped| stopped.elapsed() > timeout)
    }

    fn phase(&self) -> RunPhase {
        let Controls {
            requested,
            internal,
        } = self.controls;
        requested.phase().max(internal.phase())
    }

    fn into_end(mut self) -> RunEnd {
        let complete = self.all_finished();
        let elapsed = if complete {
            self.total.elapsed
        } else {
            self.start.elapsed()
        };
        // Nothing was due after an early stop.
        let due = self.stopped_at.map_or(elapsed, |stopped| {
            elapsed.min(stopped.saturating_duration_since(self.start))
        });
        let due = due_before_last_row(self.plan, self.schedule, due);
        let ending = match self.controls.requested.phase() {
            RunPhase::Stopping => EndReason::Interrupted,
            RunPhase::Aborting => EndReason::Aborted,
            RunPhase::Running if self.total.cut_short => {
                self.given_up.take().unwrap_or(EndReason::Panicked)
            }
            RunPhase::Running if complete => EndReason::Completed,
            RunPhase::Running => self.explain_stuck(),
        };
        RunEnd {
            ending,
            elapsed_us: micros(elapsed),
            planned: self.total.planned,
            steady_us: micros(self.schedule.steady_part(due)),
            complete,
            panics: Vec::new(),
            out_of_rows: self.total.out_of_rows,
            target_death: None,
            samples: None,
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Returns the part of `due` in which iterations were due. After the last row of a feed nothing was due,
/// while its iteration may still run.
pub(super) fn due_before_last_row(plan: &Plan, schedule: &Schedule, due: Duration) -> Duration {
    match &plan.rows {
        Some(limit) if schedule.model() == Model::Open && limit.rows < schedule.arrivals() => {
            due.min(schedule.arrival(limit.rows))
        }
        _ => due,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::definition::{Bound, Comparator, Load, Metric, Threshold};
    use loadtest_model::plan::{GradingDefaults, Overrides};
    use std::sync::mpsc::channel;

    fn collect_all(
        receiver: &Receiver<WorkerMessage>,
        (definition, plan): (&ScenarioDef, &Plan),
        occupancies: &[Arc<ThreadOccupancy>],
        requested: &Control,
        internal: &Control,
        mut report: impl FnMut(Frame),
    ) -> RunEnd {
        let schedule = Schedule::new(&plan.load);
        let controls = Controls {
            requested,
            internal,
        };
        Collector::new(
            definition,
            plan,
            &schedule,
            occupancies,
            Instant::now(),
            controls,
        )
        .collect(receiver, |frame| {
            report(frame);
            ControlFlow::Continue(())
        })
    }

    #[test]
    fn a_second_is_told_when_all_who_still_work_have_told_it() {
        let definition = ScenarioDef {
            load: Some(Load::users(2, Duration::from_secs(60))),
            ..ScenarioDef::new("visit".to_owned(), Vec::new())
        };
        let (overrides, grading) = (Overrides::default(), GradingDefaults::default());
        let plan = Plan::new(&definition, &overrides, &grading, 1).unwrap();
        let (sender, receiver) = channel();
        let frame = |second| {
            let frame = Frame {
                second,
                ..Frame::default()
            };
            sender.send(WorkerMessage::Frame(Box::new(frame))).unwrap();
        };
        let done = |seconds| {
            let done = WorkerSummary {
                seconds,
                ..WorkerSummary::default()
            };
            sender.send(WorkerMessage::Done(done)).unwrap();
        };
        // One ends within its first second; the other is about to say what it did in its second one.
        frame(0);
        done(1);
        frame(0);
        frame(1);
        let control = Control::new();
        // Keeps the test short when a message is missing.
        control.abort();
        let busy = [Arc::default(), Arc::default()];
        let mut told = Vec::new();
        let ended = collect_all(
            &receiver,
            (&definition, &plan),
            &busy,
            &control,
            &Control::new(),
            |frame| {
                told.push(frame.second);
                if frame.second == 1 {
                    done(2);
                }
            },
        );
        assert_eq!(told, [0, 1]);
        assert!(ended.complete);
    }

    /// A frame of a worker whose journeys ended so.
    fn journeys(second: u32, ok: u64, failed: u64) -> WorkerMessage {
        let mut frame = Frame {
            second,
            ..Frame::default()
        };
        let journey = &mut frame.windows.steady.journey;
        (journey.started, journey.ok, journey.failed) = (ok + failed, ok, failed);
        WorkerMessage::Frame(Box::new(frame))
    }

    /// What comes of messages of two workers, and what became of their orders; `errors < 10% or abort`.
    fn watched(messages: Vec<WorkerMessage>) -> (RunEnd, RunPhase, Vec<Frame>) {
        let definition = ScenarioDef {
            load: Some(Load::users(2, Duration::from_secs(60))),
            thresholds: vec![Threshold {
                abort_after: Some(Duration::ZERO),
                ..Threshold::new(Metric::Errors, Comparator::Less, Bound::Ratio(0.1))
            }]
            .into(),
            ..ScenarioDef::new("visit".to_owned(), Vec::new())
        };
        let (overrides, grading) = (Overrides::default(), GradingDefaults::default());
        let plan = Plan::new(&definition, &overrides, &grading, 1).unwrap();
        let (sender, receiver) = channel();
        for message in messages {
            sender.send(message).unwrap();
        }
        for _ in 0..2 {
            let done = WorkerSummary {
                seconds: 9,
                cut_short: true,
                ..WorkerSummary::default()
            };
            sender.send(WorkerMessage::Done(done)).unwrap();
        }
        let (control, own) = (Control::new(), Control::new());
        let mut frames = Vec::new();
        let busy = [Arc::default(), Arc::default()];
        let ended = collect_all(
            &receiver,
            (&definition, &plan),
            &busy,
            &control,
            &own,
            |frame| {
                frames.push(frame);
            },
        );
        (ended, own.phase(), frames)
    }

    #[test]
    fn a_limit_is_looked_at_over_what_all_workers_did() {
        // Each of them alone has too few samples, and the second one too many errors in any case.
        let both = |second, failed| [journeys(second, 60, 0), journeys(second, 60, failed)];
        let (ended, orders, frames) = watched(both(0, 12).into_iter().chain(both(1, 12)).collect());
        assert_eq!(orders, RunPhase::Running);
        assert_eq!(ended.ending, EndReason::Panicked, "whoever said so");
        assert!(frames.iter().all(|frame| frame.broken.is_none()));

        let (ended, orders, frames) = watched(both(0, 12).into_iter().chain(both(1, 20)).collect());
        assert_eq!(orders, RunPhase::Stopping, "what is in flight may end");
        let broken = Broken {
            threshold: 0,
            actual: 32.0 / 272.0,
            after: Duration::from_secs(2),
        };
        let reason = EndReason::ThresholdBroken {
            threshold: 0,
            after_us: 2_000_000,
            reason: "errors of the journey: 11.8 %, and must be < 10 %".into(),
        };
        assert_eq!(ended.ending, reason);
        let told: Vec<_> = frames.iter().map(|frame| frame.broken).collect();
        assert_eq!(told, [None, Some(broken)]);
    }

    #[test]
    fn a_limit_is_not_looked_at_before_all_workers_told_their_second() {
        // 30 of the first worker's 100 failed, and none of the other's 400.
        let (_, orders, _) = watched(vec![journeys(0, 70, 30), journeys(0, 400, 0)]);
        assert_eq!(orders, RunPhase::Running);
        let (_, orders, _) = watched(vec![journeys(0, 70, 30), journeys(0, 100, 0)]);
        assert_eq!(orders, RunPhase::Stopping);
    }

    #[test]
    fn nothing_was_due_after_an_early_stop() {
        let hour = Duration::from_secs(3_600);
        let definition = ScenarioDef {
            load: Some(Load::users(1, 2 * hour)),
            ..ScenarioDef::new("visit".to_owned(), Vec::new())
        };
        let (overrides, grading) = (Overrides::default(), GradingDefaults::default());
        let plan = Plan::new(&definition, &overrides, &grading, 1).unwrap();
        let schedule = Schedule::new(&plan.load);
        // Its last journey took an hour to end.
        let steady_us = |is_stopped: bool| {
            let control = Control::new();
            let controls = Controls {
                requested: &control,
                internal: &control,
            };
            let (busy, start) = ([Arc::default()], Instant::now());
            let mut collector =
                Collector::new(&definition, &plan, &schedule, &busy, start, controls);
            if is_stopped {
                control.stop();
            }
            collector.note_end();
            let mut report = |_| ControlFlow::Continue(());
            let done = WorkerSummary {
                elapsed: hour,
                ..WorkerSummary::default()
            };
            collector.add(WorkerMessage::Done(done), &mut report);
            let end = collector.finish(report);
            assert_eq!(end.elapsed_us, micros(hour));
            end.steady_us
        };
        assert_eq!(steady_us(false), micros(hour));
        assert!(steady_us(true) < micros(hour) / 2);
    }
}
