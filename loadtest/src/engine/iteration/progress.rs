//! The progress of an iteration, and its tally if it is cut off.

use super::observer::IterationObserver;
use super::step::StepContext;
use crate::engine::outcome::StepOutcome;
use crate::engine::samples::SampledTraffic;
use crate::engine::trace::JourneyTrace;
use crate::engine::worker_state::WorkerState;
use http::StatusCode;
use loadtest_model::definition::StepDef;
use loadtest_model::metrics::{Cause, GroupSample, RootCause, SlowStep, micros};
use loadtest_model::schedule::Window;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// Counts an iteration as cancelled unless it ends regularly.
pub(super) struct IterationGuard<'a> {
    pub(super) state: &'a Rc<WorkerState>,
    pub(super) window: Window,
    pub(super) in_step: Cell<Option<usize>>,
    pub(super) ended: Cell<bool>,
}

impl Drop for IterationGuard<'_> {
    fn drop(&mut self) {
        if !self.ended.get() {
            self.state.with_tally(self.window, |tally| {
                tally.journey.cancelled += 1;
            });
            if let Some(step) = self.in_step.get() {
                let window = self.state.step_window(step, self.window);
                self.state
                    .with_tally(window, |tally| tally.steps[step].cancelled += 1);
            }
        }
        self.state.end_iteration();
    }
}

/// The state of an iteration under way.
pub(super) struct IterationProgress {
    /// Time from due to actual start; the first step that sends takes it into its response time.
    pub(super) start_delay: Option<Duration>,
    /// True once it has sent a request.
    pub(super) sent: bool,
    /// The pauses: after steps, and between the requests of one.
    pub(super) paused: Duration,
    pub(super) failed: bool,
    /// The cause why the steps that follow are skipped: a failure that ends the journey.
    pub(super) stopped: Option<Cause>,
    /// The steps that were executed so far.
    pub(super) executed: Vec<ExecutedStep>,
    /// The groups of the scenario.
    pub(super) groups: Vec<GroupSample>,
}

/// The start of a step that sent something, and its times.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepTiming {
    pub(super) begun: Instant,
    pub(super) service: Duration,
    pub(super) response: Duration,
    pub(super) traffic: SampledTraffic,
    /// The status of its answer, of which it has one.
    pub(super) status: Option<StatusCode>,
}

/// A step that was executed.
#[derive(Debug)]
pub(super) struct ExecutedStep {
    pub(super) step: usize,
    begun: Instant,
    pub(super) service: Duration,
    ok: bool,
}

impl IterationProgress {
    /// Returns the progress of an iteration that has sent nothing yet.
    pub(super) fn new(
        start_delay: Option<Duration>,
        mut ran: Vec<ExecutedStep>,
        mut groups: Vec<GroupSample>,
    ) -> Self {
        ran.clear();
        groups.fill(GroupSample::default());
        Self {
            start_delay,
            sent: false,
            paused: Duration::ZERO,
            failed: false,
            stopped: None,
            executed: ran,
            groups,
        }
    }

    /// Returns the steps as the record keeps them, of an iteration that was to start at `due`.
    pub(super) fn slow_steps(&self, due: Instant) -> Vec<SlowStep> {
        let executed = self.executed.iter();
        executed.map(|step| step.to_slow_step(due)).collect()
    }

    /// Ends the journey after a step that failed, if its definition says so.
    pub(super) fn stop_after(&mut self, step: usize, def: &StepDef, outcome: &StepOutcome) {
        if def.stop_on_failure && outcome.is_failure() {
            let own = Cause {
                root: RootCause::Failed,
                step,
            };
            let cause = match outcome {
                StepOutcome::Skipped(skip) => skip.cause,
                _ => own,
            };
            self.stopped.get_or_insert(cause);
        }
    }

    /// Notes what became of a step, and its times if it sent something; whether it was executed.
    pub(super) fn record_step<O: IterationObserver>(
        &mut self,
        context: &StepContext<'_>,
        outcome: &StepOutcome,
        timing: Option<StepTiming>,
        observer: &mut O,
    ) -> bool {
        let StepContext { step, state, .. } = *context;
        self.failed |= outcome.is_failure();
        observer.on_step_end(step, outcome);
        let is_executed = matches!(outcome, StepOutcome::Ok | StepOutcome::Failed(_));
        let kept = context.trace.and_then(JourneyTrace::kept);
        if let Some(trace) = kept.filter(|_| is_executed) {
            trace.end_step(
                step,
                timing.map(|timing| timing.begun),
                outcome.error_kind(),
            );
        }
        if let Some(group) = state.groups[step].and_then(|group| self.groups.get_mut(group)) {
            group.executed |= is_executed;
            group.failed |= outcome.is_failure();
            group.response += timing.map_or(Duration::ZERO, |timing| timing.response);
        }
        if is_executed {
            context.keep_sample(outcome, timing);
            self.executed.push(ExecutedStep {
                step,
                begun: timing.map_or_else(Instant::now, |timing| timing.begun),
                service: timing.map_or(Duration::ZERO, |timing| timing.service),
                ok: matches!(outcome, StepOutcome::Ok),
            });
        }
        is_executed
    }
}

impl ExecutedStep {
    /// The same as the record keeps it, of an iteration that was to start at `due`.
    fn to_slow_step(&self, due: Instant) -> SlowStep {
        SlowStep {
            step: self.step,
            begin_us: micros(elapsed_between(due, self.begun)),
            time_us: micros(self.service),
            ok: self.ok,
        }
    }
}

/// The time from `earlier` to `later`; users that do not wait begin when they are due.
pub(super) fn elapsed_between(earlier: Instant, later: Instant) -> Duration {
    if later <= earlier {
        return Duration::ZERO;
    }
    later - earlier
}
