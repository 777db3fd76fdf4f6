//! One step of an iteration: drawn, built, sent, checked and tallied.

use super::VirtualUser;
use super::observer::IterationObserver;
use super::placement::RequestPlacement;
use super::progress::{IterationProgress, StepTiming};
use super::renewal::expire_once;
use super::sampled::SampledJourney;
use crate::chain::{Halt, Http, Purpose, StepSender, Unmet, with_step_sender};
use crate::engine::outcome::{
    StepOutcome, StepSample, dependency_tally, tally_failure, tally_not_sent, tally_without_request,
};
use crate::engine::request_log::{OwnWaits, RequestEntries, RequestLog, ShownOperation};
use crate::engine::request_loop::{AttemptEnd, AttemptSummary, RequestLoop};
use crate::engine::step_client::StepClient;
use crate::engine::trace::JourneyTrace;
use crate::engine::vu_guard::VuGuard;
use crate::engine::worker_state::WorkerState;
use crate::transport::{Failure, Transport};
use http::StatusCode;
use loadtest_model::definition::StepDef;
use loadtest_model::metrics::ErrorKind;
use loadtest_model::metrics::{Cause, RootCause};
use loadtest_model::redacted::Redacted;
use loadtest_model::schedule::Window;
use loadtest_model::trace::TracePoint;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;

/// A step of an iteration: its definition, the window it counts in, and the state of its worker.
#[derive(Clone, Copy)]
pub(crate) struct StepContext<'a> {
    /// The zero-based number of the step.
    pub(crate) step: usize,
    pub(crate) def: &'a StepDef,
    pub(crate) window: Window,
    pub(crate) state: &'a Rc<WorkerState>,
    /// The trace of the journey, if requests carry one.
    pub(crate) trace: Option<&'a JourneyTrace>,
    /// The journey, if it leaves raw samples.
    pub(crate) sampled: Option<SampledJourney>,
}

impl<'a> StepContext<'a> {
    /// The context of a step in an iteration that counts in `window`. A step that runs once per user is measured
    /// over the whole run.
    pub(super) fn new(
        step: usize,
        def: &'a StepDef,
        window: Window,
        state: &'a Rc<WorkerState>,
        trace: Option<&'a JourneyTrace>,
        sampled: Option<SampledJourney>,
    ) -> Self {
        Self {
            step,
            def,
            window: state.step_window(step, window),
            state,
            trace,
            sampled,
        }
    }

    /// Counts the first step of a journey as failed, since its chain panicked before.
    pub(super) fn fail_unprepared(&self, message: &str) {
        let failure = Failure::new(ErrorKind::StepPanic, message);
        self.state.with_tally(self.window, |tally| {
            tally_failure(&mut tally.steps[self.step], &failure, None);
        });
        self.keep_sample(&StepOutcome::Failed(failure), None);
    }

    /// Returns the place in a trace that is kept of the step that took so long.
    fn trace_point(&self, begun: Option<Instant>, time: Duration) -> Option<TracePoint> {
        let start = self.state.start;
        let begun = || {
            begun
                .unwrap_or_else(Instant::now)
                .saturating_duration_since(start)
        };
        self.trace?.point(self.step, begun, time)
    }
}

/// What ends a step before the next one may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepBreak {
    /// The end of the run, which ends the journey.
    CutOff,
    /// The answer, with a status after which a `once` step or a setup runs again, and then this one.
    Refused,
    /// Its error, by which a `once` step or a setup runs again; the step is counted.
    Stale,
}

/// Every step that gets the transport of a user gives it back.
pub(super) fn missing_transport<R>() -> R {
    unreachable!("a step keeps nothing that is lent to it")
}

/// Hands over the operations of an async step that are kept to be shown.
fn show_operations<O: IterationObserver>(step: usize, log: &mut RequestEntries, observer: &mut O) {
    for shown in std::mem::take(&mut log.shown) {
        match shown {
            ShownOperation::Request(row, sent) => {
                observer.on_row(&log.rows[row]);
                observer.on_exchange(step, &sent.0, &sent.1);
            }
            ShownOperation::Call(row, call) => observer.on_call(step, &log.rows[row], &call),
            ShownOperation::Own { row, time, failure } => {
                observer.on_operation(step, &log.rows[row], time, failure.as_ref());
            }
        }
    }
}

impl<T: Transport> VirtualUser<T> {
    /// Runs one step that sends a request; whether it was executed. Breaks off where the end of the run does.
    pub(super) async fn run_request_step<P: RequestPlacement, O: IterationObserver>(
        &mut self,
        context: &StepContext<'_>,
        progress: &mut IterationProgress,
        observer: &mut O,
    ) -> ControlFlow<StepBreak, bool> {
        let StepContext {
            step,
            window,
            state,
            ..
        } = *context;
        let mut timing = None;
        let filled =
            if let Err(outcome) = self.draw_step(context, progress.stopped, O::FORCES_ALL_STEPS) {
                Err(outcome)
            } else {
                if let Some(fetched) = self.await_setups(step, progress) {
                    fetched.await;
                }
                self.fill_request(context)
            };
        let outcome = match filled {
            Ok(()) => {
                if let Some(meeting) = state.rendezvous_at(step) {
                    progress.paused += meeting.await;
                }
                let mut sender = self.request_loop(context, observer);
                let attempt = P::place(sender.send_until_settled()).await;
                progress.paused += attempt.paused;
                match attempt.end {
                    AttemptEnd::Settled => {}
                    AttemptEnd::CutOff => return ControlFlow::Break(StepBreak::CutOff),
                    AttemptEnd::Refused => {
                        self.refused = Some(Box::new(attempt));
                        return ControlFlow::Break(StepBreak::Refused);
                    }
                }
                progress.sent = true;
                self.has_waited = true;
                let outcome;
                (outcome, timing) = self.settle_attempt(context, progress, attempt);
                outcome
            }
            Err(outcome) => {
                let traced = context.trace_point(None, Duration::ZERO);
                state.with_tally(window, |tally| {
                    tally_not_sent(tally, step, &outcome, traced);
                });
                outcome
            }
        };
        let ended = (outcome, timing);
        ControlFlow::Continue(self.end_request_step(context, progress, ended, observer))
    }

    /// Counts the requests of a step, and runs its checks; what became of it, and when.
    #[expect(
        clippy::inline_always,
        reason = "each request passes here, and copies of large values cost more than the rest"
    )]
    #[inline(always)]
    pub(super) fn settle_attempt(
        &mut self,
        context: &StepContext<'_>,
        progress: &mut IterationProgress,
        attempt: AttemptSummary,
    ) -> (StepOutcome, Option<StepTiming>) {
        let StepContext {
            step,
            def,
            window,
            state,
            ..
        } = *context;
        let service = attempt.service;
        let start_delay = progress.start_delay.take().unwrap_or_default();
        let target = state.plan.grading[step].target;
        let mut sample = StepSample::new(def, target, (service, start_delay), attempt.stream);
        let response = sample.response;
        sample.traced = context.trace_point(attempt.begun, response);
        let timing = attempt.begun.map(|begun| StepTiming {
            begun,
            service,
            response,
            traffic: attempt.traffic,
            status: attempt.result.as_ref().ok().copied(),
        });
        let ended_at = attempt
            .begun
            .map(|begun| begun + (service + attempt.paused));
        let is_partial = attempt.result.is_ok() && self.has_partial_answer(context);
        let result = attempt
            .result
            .and_then(|status| self.run_checks(context, Some(status), &mut sample.checks));
        let is_good = result.is_ok() && sample.is_good(&def.good);
        state.with_tally(window, |tally| {
            tally.steps[step].partial_answers += u64::from(is_partial);
            sample.tally(&mut tally.steps[step], &result);
            tally.steps[step].good += u64::from(is_good);
            if def.until.is_some() {
                let done = tally.steps[step].done.get_or_insert_default();
                let times = if result.is_ok() {
                    &mut done.ok
                } else {
                    &mut done.failed
                };
                times.record(response + attempt.paused);
            }
        });
        let ended_at = ended_at.unwrap_or_else(Instant::now);
        state.count_ended(ended_at, |ended| {
            let ended = ended.step(step);
            ended.sent += u64::from(attempt.has_sent);
            ended.received_bytes += attempt.received_bytes;
            ended.good += u64::from(is_good);
        });
        if let (Ok(()), Some(stream)) = (&result, &sample.stream) {
            let units = state.measured_units(stream, ended_at - sample.response);
            state.with_ended(|ended| ended.step(step).units += units);
        }
        let outcome = result.map_or_else(StepOutcome::Failed, |()| StepOutcome::Ok);
        (outcome, timing)
    }

    /// Notes what became of a step that sends a request; whether it was executed.
    #[expect(
        clippy::inline_always,
        reason = "each request passes here, and copies of large values cost more than the rest"
    )]
    #[inline(always)]
    pub(super) fn end_request_step<O: IterationObserver>(
        &mut self,
        context: &StepContext<'_>,
        progress: &mut IterationProgress,
        (outcome, timing): (StepOutcome, Option<StepTiming>),
        observer: &mut O,
    ) -> bool {
        self.note_once(context, &outcome);
        progress.stop_after(context.step, context.def, &outcome);
        progress.record_step(context, &outcome, timing, observer)
    }

    /// Notes when a step that runs `once` has its answer.
    fn note_once(&mut self, context: &StepContext<'_>, outcome: &StepOutcome) {
        if context.def.once && matches!(outcome, StepOutcome::Ok) {
            self.completed_once[context.step] = Some(Instant::now());
        }
    }

    /// Returns the loop that sends the request which was built.
    pub(super) fn request_loop<'a, O: IterationObserver>(
        &'a mut self,
        context: &'a StepContext<'a>,
        observer: &'a mut O,
    ) -> RequestLoop<'a, T, O> {
        let chain = self
            .chain
            .as_deref_mut()
            .unwrap_or_else(|| unreachable!("a request was built"));
        RequestLoop {
            context,
            request: &self.request,
            transport: self.transport.as_mut().unwrap_or_else(missing_transport),
            sockets: &mut self.sockets,
            chain,
            observer,
        }
    }

    /// Runs one step that sends for itself; whether it was executed. Breaks off where the end of the run does.
    #[expect(
        clippy::too_many_lines,
        reason = "one step, in the order in which it happens"
    )]
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its arguments twice"
    )]
    pub(super) fn run_async_step<O: IterationObserver>(
        &mut self,
        context: &StepContext<'_>,
        progress: &mut IterationProgress,
        observer: &mut O,
    ) -> impl Future<Output = ControlFlow<StepBreak, bool>> {
        async move {
            let StepContext {
                step,
                def,
                window,
                state,
                ..
            } = *context;
            if let Err(outcome) = self.draw_step(context, progress.stopped, O::FORCES_ALL_STEPS) {
                let traced = context.trace_point(None, Duration::ZERO);
                state.with_tally(window, |tally| {
                    tally_not_sent(tally, step, &outcome, traced);
                });
                let executed = progress.record_step(context, &outcome, None, observer);
                return ControlFlow::Continue(executed);
            }
            if let Some(fetched) = self.await_setups(step, progress) {
                fetched.await;
            }
            if let Some(meeting) = state.rendezvous_at(step) {
                progress.paused += meeting.await;
            }
            let (ran, mut account) = self.run_with_client(context, O::KEPT_EXCHANGES).await;
            let cut_off = account.cut_off();
            let log = account.entries();
            show_operations(step, log, observer);
            if O::SHOWS_MESSAGES {
                observer.on_messages(step, &self.sockets.take_transcript());
            }
            // Without the rest of its stream, a step may lack what it waited for.
            let lacks_rest = log.was_told_of_end && matches!(ran, Ok(Err(Halt::Failed(_))));
            if cut_off.get() || lacks_rest {
                return ControlFlow::Break(StepBreak::CutOff);
            }
            let mut checks = log.checks;
            let is_stale = matches!(&ran, Ok(Err(Halt::Failed(error))) if error.is_stale());
            let mut outcome = match ran {
                Ok(Ok(())) => self
                    .run_checks(context, None, &mut checks)
                    .map_or_else(StepOutcome::Failed, |()| StepOutcome::Ok),
                Ok(Err(Halt::Unmet(unmet))) => self.skip_or_fail_unmet(context, unmet),
                Ok(Err(Halt::Failed(error))) => self.fail_step(step, log.failure_for(&error)),
                Err(failure) => self.fail_step(step, failure),
            };
            let failure = match &outcome {
                StepOutcome::Failed(failure) => Some(failure),
                _ => None,
            };
            if let Some(failure) = log.failure_of_check(failure) {
                outcome = StepOutcome::Failed(failure);
            }
            let result = match &outcome {
                StepOutcome::Ok => Some(Ok(())),
                StepOutcome::Failed(failure) => Some(Err(failure.clone())),
                _ => None,
            };
            progress.paused += log.rested;
            let (first, service) = (log.first, log.service());
            progress.sent |= service.is_some();
            let mut sample = None;
            if let (Some(service), Some(_)) = (service, &result) {
                // A step that sent nothing leaves the delay to the next one.
                let start_delay = progress.start_delay.take().unwrap_or_default();
                let target = state.plan.grading[step].target;
                let stream = log.only_stream(window).cloned().map(Box::new);
                let mut timed = StepSample::new(def, target, (service, start_delay), stream);
                timed.checks = checks;
                timed.traced = context.trace_point(first, timed.response);
                sample = Some(timed);
            }
            let traced = context.trace_point(first, Duration::ZERO);
            let timing = first
                .zip(sample.as_ref())
                .map(|(begun, sample)| StepTiming {
                    begun,
                    service: sample.service,
                    response: sample.response,
                    traffic: log.sampled_traffic(),
                    status: None,
                });
            let is_ok = matches!(result, Some(Ok(())));
            let is_good = sample
                .as_ref()
                .is_some_and(|sample| is_ok && sample.is_good(&def.good));
            if let (Some(_), Some(ended_at)) = (&sample, log.ended_at()) {
                state.count_ended(ended_at, |ended| {
                    let ended = ended.step(step);
                    ended.sent += u64::from(log.has_sent());
                    ended.good += u64::from(is_good);
                });
            }
            state.with_tally(window, |tally| {
                let steps = &mut tally.steps[step];
                steps.good += u64::from(is_good);
                match (sample, result) {
                    (Some(sample), Some(result)) => {
                        sample.tally(steps, &result);
                    }
                    (_, Some(result)) => tally_without_request(steps, &result, checks, traced),
                    (_, None) => tally_not_sent(tally, step, &outcome, traced),
                }
            });
            self.note_once(context, &outcome);
            progress.stop_after(step, def, &outcome);
            let executed = progress.record_step(context, &outcome, timing, observer);
            if is_stale {
                return ControlFlow::Break(StepBreak::Stale);
            }
            ControlFlow::Continue(executed)
        }
    }

    /// Runs the function of a step with a client that logs what it does, and keeps the last operations to be shown.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its arguments twice"
    )]
    fn run_with_client(
        &mut self,
        context: &StepContext<'_>,
        keeps: usize,
    ) -> impl Future<Output = (Result<Result<(), Halt>, Failure>, RequestLog)> {
        async move {
            let client = self.lend_transport(context, keeps);
            let (cut_off, waits) = client.limits();
            let sender = || Rc::clone(&client) as Rc<dyn StepSender>;
            let mut http = Http::new(sender());
            self.vu.set_sender(Some(sender()));
            let measurer = sender();
            let running =
                self.poll_step_function(context, (&mut http, &measurer), &cut_off, &waits);
            let ran = running.await;
            drop(measurer);
            drop(http);
            (ran, self.take_back_transport(context, client))
        }
    }

    /// Returns the client of a step, which has the transport until the step is over.
    fn lend_transport(&mut self, context: &StepContext<'_>, keeps: usize) -> Rc<StepClient<T>> {
        let transport = self.transport.take().unwrap_or_else(missing_transport);
        // Made here, since a future keeps room for all that it moves.
        let log = RequestLog::new(context, keeps);
        Rc::new(StepClient::new(transport, context, log))
    }

    fn take_back_transport(
        &mut self,
        context: &StepContext<'_>,
        client: Rc<StepClient<T>>,
    ) -> RequestLog {
        self.vu.set_sender(None);
        let client = Rc::into_inner(client).unwrap_or_else(missing_transport);
        let (transport, mut log) = client.into_parts();
        if let Some(sockets) = transport.used_sockets() {
            let begun = log.begun();
            let share = context.state.measured_share(begun, Instant::now());
            log.entries()
                .add_traffic(context.window, sockets.take_traffic(), share);
        }
        self.transport = Some(transport);
        log
    }

    /// Lends the thread to the function of a step each time it can go on, unless that was `cut_off`, until it waits
    /// too long for anything but its requests. A panic is counted and is a failure.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its arguments twice"
    )]
    fn poll_step_function(
        &mut self,
        context: &StepContext<'_>,
        (http, sender): (&mut Http, &Rc<dyn StepSender>),
        cut_off: &Cell<bool>,
        waits: &OwnWaits,
    ) -> impl Future<Output = Result<Result<(), Halt>, Failure>> {
        async move {
            let StepContext {
                step, def, state, ..
            } = *context;
            let Self {
                chain: Some(chain),
                vu,
                has_waited,
                ..
            } = self
            else {
                return Ok(Ok(()));
            };
            vu.reseed(step, Purpose::Scenario);
            let mut vu = VuGuard::new(vu, state, context.def.runs_once_per_user());
            let panicked = |message: Redacted| {
                Failure::new(ErrorKind::StepPanic, format!("panicked: {message}"))
            };
            waits.begin();
            let function = state.run_user_code(step, || chain.run(step, &mut vu, http));
            let mut function = function.map_err(panicked)?;
            let polled = poll_fn(|context| {
                let poll = || with_step_sender(sender, || function.as_mut().poll(context));
                match state.run_user_code(step, poll) {
                    Ok(Poll::Pending) if cut_off.get() => Poll::Ready(Ok(Ok(()))),
                    Ok(Poll::Pending) => {
                        *has_waited = true;
                        Poll::Pending
                    }
                    Ok(Poll::Ready(ran)) => Poll::Ready(Ok(ran)),
                    Err(message) => Poll::Ready(Err(panicked(message))),
                }
            });
            let ran = tokio::select! {
                biased;
                ran = polled => ran,
                () = waits.exceed(def.timeout) => Err(Failure::new(
                    ErrorKind::StepError,
                    format!("the step waited {:?} for something other than a request or a pause", def.timeout),
                )),
            };
            // What it still holds may be code of the scenario too.
            let dropped = state.run_user_code(step, || drop(function));
            dropped.map_err(panicked).and(ran)
        }
    }

    /// Draws the step, unless it runs `always` or has run once and for all. None runs in a journey that was
    /// `stopped`.
    fn draw_step(
        &mut self,
        context: &StepContext<'_>,
        stopped: Option<Cause>,
        always: bool,
    ) -> Result<(), StepOutcome> {
        let StepContext { step, state, .. } = *context;
        if let Some(done) = self.completed_once[step] {
            let after = context
                .def
                .renewal
                .as_ref()
                .and_then(|renewal| renewal.after);
            if after.is_none_or(|after| done.elapsed() < after) {
                return Err(StepOutcome::AlreadyRun);
            }
            expire_once(&mut self.completed_once, &self.scenario.definition, step);
        }
        let Self {
            chain: Some(chain),
            vu,
            ..
        } = self
        else {
            return Err(StepOutcome::NotDrawn);
        };
        let draw = state.draws[step];
        if !draw.is_certain() && !always {
            vu.reseed(draw.key, Purpose::Weight);
            if !draw.contains(vu.random()) {
                chain.skip(
                    step,
                    Cause {
                        root: RootCause::NotDrawn,
                        step,
                    },
                );
                return Err(StepOutcome::NotDrawn);
            }
        }
        match stopped {
            Some(cause) => Err(self.skip_or_fail_unmet(context, Unmet::Stopped { cause })),
            None => Ok(()),
        }
    }

    /// Builds the request of a step, or says why there is none.
    pub(super) fn fill_request(&mut self, context: &StepContext<'_>) -> Result<(), StepOutcome> {
        let StepContext { step, state, .. } = *context;
        let Self {
            chain: Some(chain),
            vu,
            request,
            ..
        } = self
        else {
            return Err(StepOutcome::NotDrawn);
        };
        vu.reseed(step, Purpose::Scenario);
        let built = state.run_user_code(step, || {
            chain.build(
                step,
                &mut VuGuard::new(vu, state, context.def.runs_once_per_user()),
                request,
            )
        });
        match built {
            Ok(Ok(())) => Ok(()),
            Ok(Err(unmet)) => Err(self.skip_or_fail_unmet(context, unmet)),
            Err(message) => {
                let message = format!("panicked: {message}");
                Err(self.fail_step(step, Failure::new(ErrorKind::StepPanic, message)))
            }
        }
    }

    /// Empties the slot of a step that sends nothing, and says what became of it.
    fn skip_or_fail_unmet(&mut self, context: &StepContext<'_>, unmet: Unmet) -> StepOutcome {
        let StepContext { step, state, .. } = *context;
        let (cause, outcome) = match unmet {
            Unmet::Invalid { reason } => {
                let failure = Failure::new(ErrorKind::StepError, reason);
                let root = RootCause::Invalid;
                (Cause { root, step }, StepOutcome::Failed(failure))
            }
            unmet @ Unmet::LeftOut { .. } => {
                let skip = dependency_tally(step, unmet, state);
                (skip.cause, StepOutcome::LeftOut(skip))
            }
            unmet => {
                let skip = dependency_tally(step, unmet, state);
                (skip.cause, StepOutcome::Skipped(skip))
            }
        };
        self.skip_step(step, cause);
        outcome
    }

    /// Empties the slot of a step that failed.
    fn fail_step(&mut self, step: usize, failure: Failure) -> StepOutcome {
        let root = RootCause::Failed;
        self.skip_step(step, Cause { root, step });
        StepOutcome::Failed(failure)
    }

    fn skip_step(&mut self, step: usize, cause: Cause) {
        if let Some(chain) = &mut self.chain {
            chain.skip(step, cause);
        }
    }

    /// Returns whether the answer of a step has errors beside its data, which the step accepts.
    fn has_partial_answer(&self, context: &StepContext<'_>) -> bool {
        let accepts = (context.def.graphql.as_ref()).is_some_and(|graphql| graphql.partial);
        let chain = self.chain.as_ref().filter(|_| accepts);
        chain.is_some_and(|chain| chain.is_partial(context.step))
    }

    /// Runs the checks of a step, counted as passed and failed; `status` is that of its answer.
    fn run_checks(
        &mut self,
        context: &StepContext<'_>,
        status: Option<StatusCode>,
        checks: &mut (u64, u64),
    ) -> Result<(), Failure> {
        let StepContext { step, state, .. } = *context;
        let Self {
            chain: Some(chain),
            vu,
            ..
        } = self
        else {
            return Ok(());
        };
        if !chain.is_checked(step) {
            return Ok(());
        }
        let mut problem = None;
        let ran = state.run_user_code(step, || {
            let mut vu = VuGuard::new(vu, state, context.def.runs_once_per_user());
            chain.check(step, &mut vu, &mut |name, result| match result {
                Ok(()) => checks.0 += 1,
                Err(reason) => {
                    checks.1 += 1;
                    let colon = if reason.is_empty() { "" } else { ": " };
                    problem.get_or_insert(format!("check `{name}` failed{colon}{reason}"));
                }
            });
        });
        let (kind, message) = match (ran, problem) {
            (Ok(()), None) => return Ok(()),
            (Ok(()), Some(message)) => (ErrorKind::StepAssert, message),
            (Err(message), _) => (ErrorKind::StepPanic, format!("a check panicked: {message}")),
        };
        Err(Failure {
            status,
            ..Failure::new(kind, message)
        })
    }
}
