//! One virtual user and its iterations through the steps of a scenario.

mod observer;
mod placement;
mod progress;
mod renewal;
mod sampled;
mod setups;
mod sockets;
mod step;

use super::request_loop::AttemptSummary;
use super::trace::{EndedTrace, JourneyTrace};
use super::vu_guard::VuGuard;
use super::worker_state::WorkerState;
use crate::chain::{Chain, Purpose, RequestBuf, Scenario, Shared, Vu};
use crate::transport::Transport;
use loadtest_model::metrics::{GroupSample, SlowJourney, Tally, micros};
use loadtest_model::schedule::Window;
use loadtest_model::trace::TraceId;
pub(crate) use observer::{IterationObserver, NoObserver};
pub(crate) use placement::{InBox, InTask, RequestPlacement};
use progress::{ExecutedStep, IterationGuard, IterationProgress, elapsed_between};
use renewal::expire_once;
pub(crate) use sampled::{SampledJourney, SampledRequest};
pub(crate) use sockets::OpenSockets;
use std::cell::Cell;
use std::future::Future;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;
pub(crate) use step::StepContext;
use step::{StepBreak, missing_transport};
use tokio::time::Instant;

/// A virtual user: its chain, its connection, its buffers.
pub(crate) struct VirtualUser<T> {
    scenario: &'static Scenario,
    shared: Shared,
    vu: Vu,
    chain: Option<Box<dyn Chain>>,
    /// Not there while a step that sends for itself has it.
    transport: Option<T>,
    request: RequestBuf,
    /// The steps of the iteration under way, or of the last one.
    executed: Vec<ExecutedStep>,
    /// The groups of the same.
    groups: Vec<GroupSample>,
    /// When the steps marked `once` had their answers.
    completed_once: Vec<Option<Instant>>,
    /// What came of the requests of a step whose answer was refused, until it is sent again.
    refused: Option<Box<AttemptSummary>>,
    /// The WebSockets that are open.
    sockets: OpenSockets,
    /// The end of the last iteration.
    pub(super) ended_at: Instant,
    /// True if the last iteration sent nothing and measured nothing.
    pub(super) sent_nothing: bool,
    /// True if it waited for something, so that others had the thread.
    pub(super) has_waited: bool,
    /// The trace of the last iteration.
    last_trace: Option<EndedTrace>,
}

/// The intended and the possible start of an iteration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// The number of the iteration over all users.
    pub(crate) iteration: u64,
    /// Its place among the iterations of all users, which decides the rows of feeds.
    pub(crate) feed_index: u64,
    /// Its intended start.
    pub(crate) due: Instant,
    /// The time at which a user was free for it: `due`, or later if it waited.
    pub(crate) ready_at: Instant,
    /// The actual start, if its user has just read the clock.
    pub(crate) begun_at: Option<Instant>,
}

impl<T: Transport> VirtualUser<T> {
    pub(crate) fn new(
        scenario: &'static Scenario,
        shared: Shared,
        mut vu: Vu,
        transport: T,
    ) -> Self {
        if let Some(base) = transport.base_url() {
            vu.set_base(base);
        }
        let steps = scenario.definition.steps.len();
        Self {
            scenario,
            shared,
            vu,
            chain: None,
            transport: Some(transport),
            request: RequestBuf::default(),
            executed: Vec::with_capacity(steps),
            groups: vec![GroupSample::default(); scenario.definition.groups.len()],
            completed_once: vec![None; steps],
            refused: None,
            sockets: OpenSockets::default(),
            ended_at: Instant::now(),
            sent_nothing: false,
            has_waited: false,
            last_trace: None,
        }
    }

    /// Goes through the steps once and tallies everything.
    ///
    /// # Errors
    /// The panic of a `#[state]`, without which there is no chain, or of a feed, without which there is
    /// no row; in words.
    #[expect(
        clippy::too_many_lines,
        reason = "one journey, in the order in which it happens"
    )]
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its arguments twice"
    )]
    pub(crate) fn run_iteration<P: RequestPlacement, O: IterationObserver>(
        &mut self,
        arrival: &Arrival,
        state: &Rc<WorkerState>,
        observer: &mut O,
    ) -> impl Future<Output = Result<(), String>> {
        async move {
            let window = state.window_at(arrival.due);
            let started = arrival.begun_at.unwrap_or_else(Instant::now);
            state.begin_iteration();
            let running = IterationGuard {
                state,
                window,
                in_step: Cell::new(None),
                ended: Cell::new(false),
            };
            let trace = state.begin_trace(arrival, started);
            self.last_trace = trace.as_ref().map(JourneyTrace::ended);
            state.with_tally(window, |tally| {
                record_start(tally, arrival, started);
                let sampled = trace.as_ref().and_then(JourneyTrace::sampled_id);
                tally.journey.sampled += u64::from(sampled.is_some());
            });
            let start_delay = elapsed_between(arrival.due, started);
            let mut progress = IterationProgress::new(
                Some(start_delay),
                std::mem::take(&mut self.executed),
                std::mem::take(&mut self.groups),
            );
            let begun = self.prepare_chain(arrival, state, self.last_trace);
            if begun.is_ok() {
                let steps = self.scenario.definition.steps.iter().enumerate();
                for (step, def) in steps.filter(|(_, def)| !def.last) {
                    running.in_step.set(Some(step));
                    let samples =
                        SampledJourney::choose(state, self.vu.id(), Some(arrival.iteration));
                    let context =
                        StepContext::new(step, def, window, state, trace.as_ref(), samples);
                    let step_over = if def.sends_itself {
                        self.run_async_step(&context, &mut progress, observer).await
                    } else {
                        let running =
                            self.run_request_step::<P, O>(&context, &mut progress, observer);
                        running.await
                    };
                    let step_over = match step_over {
                        ControlFlow::Break(StepBreak::Refused | StepBreak::Stale) => {
                            Box::pin(self.renew_and_resend::<P, O>(
                                &context,
                                &mut progress,
                                observer,
                            ))
                            .await
                        }
                        settled => settled,
                    };
                    let ControlFlow::Continue(executed) = step_over else {
                        self.sent_nothing = false;
                        self.sockets.end_iteration(&self.scenario.definition.steps);
                        return Ok(());
                    };
                    running.in_step.set(None);
                    if let (true, Some(think)) = (executed, def.think) {
                        let pause = Instant::now();
                        self.vu.reseed(step, Purpose::Think);
                        let time = think.draw(|| self.vu.random());
                        if observer.on_think(step, time) {
                            self.has_waited |= !time.is_zero();
                            state.pause_unless_stopping(time).await;
                            progress.paused += pause.elapsed();
                        }
                    }
                }
            }
            if let Err(message) = &begun {
                progress.failed = true;
                self.fail_unprepared(arrival, window, state, message);
            }
            self.ended_at = Instant::now();
            self.sockets.end_iteration(&self.scenario.definition.steps);
            let time = (self.ended_at - arrival.due).saturating_sub(progress.paused);
            running.ended.set(true);
            state.with_tally(window, |tally| {
                let journeys = &mut tally.journey;
                if progress.failed {
                    journeys.failed += 1;
                    journeys.failed_time.record(time);
                } else {
                    journeys.ok += 1;
                    journeys.time.record(time);
                }
                let shares = progress.executed.iter().map(|ran| (ran.step, ran.service));
                journeys.record_shares(time, self.scenario.definition.steps.len(), shares);
                if window == Window::Steady && journeys.slowest.admits(micros(time)) {
                    let times = (start_delay, time);
                    let sampled = trace.as_ref().and_then(JourneyTrace::sampled_id);
                    let journey = slow_journey(arrival, state.start, times, sampled, &progress);
                    journeys.slowest.add(journey);
                }
            });
            state.count_ended(self.ended_at, |ended| ended.journeys += 1);
            let journey = SampledJourney::choose(state, self.vu.id(), Some(arrival.iteration));
            if let (Some(journey), Some(samples)) = (journey, &state.samples) {
                let times = (start_delay, time);
                journey.keep_journey(samples, window, arrival.due, times, !progress.failed);
            }
            state.record_groups(window, &progress.groups, self.ended_at);
            if let Some(trace) = &trace {
                trace.finish(self.ended_at, progress.failed);
            }
            self.executed = progress.executed;
            self.groups = progress.groups;
            self.sent_nothing = !progress.sent;
            begun
        }
    }

    /// Counts the failure of the first step in an iteration without a chain.
    fn fail_unprepared(
        &self,
        arrival: &Arrival,
        window: Window,
        state: &Rc<WorkerState>,
        message: &str,
    ) {
        let first = &self.scenario.definition.steps[0];
        let samples = SampledJourney::choose(state, self.vu.id(), Some(arrival.iteration));
        StepContext::new(0, first, window, state, None, samples).fail_unprepared(message);
    }

    /// Readies the chain, or says what panicked.
    fn prepare_chain(
        &mut self,
        arrival: &Arrival,
        state: &WorkerState,
        trace: Option<EndedTrace>,
    ) -> Result<(), String> {
        self.has_waited = false;
        self.transport
            .as_mut()
            .unwrap_or_else(missing_transport)
            .begin();
        // What the target closed is opened again, and what was derived from that session ends with it.
        for step in self.sockets.take_closed() {
            expire_once(&mut self.completed_once, &self.scenario.definition, step);
        }
        self.vu.begin(arrival.iteration, arrival.feed_index);
        self.vu.set_trace(trace.map(EndedTrace::id));
        self.vu.reseed(usize::MAX, Purpose::Scenario);
        let Self {
            scenario,
            shared,
            vu,
            chain,
            ..
        } = self;
        if chain.is_none() {
            let made = state.run_user_code(0, || {
                (scenario.chain)(shared, &mut VuGuard::new(vu, state, false))
            });
            let message = |message| format!("a state panicked when it was made: {message}");
            *chain = Some(made.map_err(message)?);
            state.expect_last_steps();
        }
        let begun = state.run_user_code(0, || {
            if let Some(chain) = chain {
                chain.begin(vu);
            }
        });
        begun.map_err(|message| format!("a feed panicked when it made a row: {message}"))
    }

    /// Runs the steps that are its last, if it has run an iteration: they see what that left in the chain.
    pub(crate) async fn run_last_steps<O: IterationObserver>(
        &mut self,
        state: &Rc<WorkerState>,
        observer: &mut O,
    ) {
        if self.chain.is_none() {
            return;
        }
        // A step outside of iterations delays no arrival.
        let mut alone = IterationProgress::new(None, Vec::new(), Vec::new());
        let trace = state.resume_trace(self.last_trace);
        for step in state.last_step_indices() {
            let def = &self.scenario.definition.steps[step];
            // They are not cut short: only the hard end comes before theirs, and drops them.
            let leaves_samples = SampledJourney::choose(state, self.vu.id(), None);
            let context = StepContext::new(
                step,
                def,
                Window::Steady,
                state,
                trace.as_ref(),
                leaves_samples,
            );
            let step_over = if def.sends_itself {
                self.run_async_step(&context, &mut alone, observer).await
            } else {
                let running = self.run_request_step::<InBox, O>(&context, &mut alone, observer);
                running.await
            };
            let step_over = match step_over {
                ControlFlow::Break(StepBreak::Refused) => {
                    Box::pin(self.renew_and_resend::<InBox, O>(&context, &mut alone, observer))
                        .await
                }
                settled => settled,
            };
            if step_over == ControlFlow::Break(StepBreak::CutOff) {
                // It is counted as cancelled with those that come after it.
                return;
            }
            state.mark_last_step_run(step);
        }
    }

    /// Returns whether others are to have the thread before its next iteration.
    pub(super) fn owes_a_turn(&self) -> bool {
        !self.has_waited || self.transport.as_ref().is_some_and(T::owes_a_turn)
    }

    /// Returns the user, if there are steps to run now that its last iteration is over.
    pub(crate) fn with_last_steps(self: Box<Self>) -> Option<Box<Self>> {
        let mut steps = self.scenario.definition.steps.iter();
        let has_any = self.chain.is_some() && steps.any(|def| def.last);
        has_any.then_some(self)
    }
}

/// Returns a journey as the record keeps it, under a load that began at `start`, with its start delay and its time.
fn slow_journey(
    arrival: &Arrival,
    start: Instant,
    (delay, time): (Duration, Duration),
    trace_id: Option<TraceId>,
    progress: &IterationProgress,
) -> SlowJourney {
    SlowJourney {
        iteration: arrival.iteration,
        due_us: micros(elapsed_between(start, arrival.due)),
        delay_us: micros(delay),
        time_us: micros(time),
        ok: !progress.failed,
        trace_id,
        steps: progress.slow_steps(arrival.due),
    }
}

/// Counts a journey that began at `started`, and its wait for the generator and for a free user.
fn record_start(tally: &mut Tally, arrival: &Arrival, started: Instant) {
    let journeys = &mut tally.journey;
    journeys.started += 1;
    if started > arrival.ready_at {
        journeys.lateness.record(started - arrival.ready_at);
    } else {
        journeys.on_time += 1;
    }
    if arrival.ready_at > arrival.due {
        journeys.waits.record(arrival.ready_at - arrival.due);
    }
}
