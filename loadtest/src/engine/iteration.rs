//! One virtual user and one journey of it through the steps of its scenario.

use super::attempt::Sender;
use super::desk::Desk;
use super::lent::Lent;
use super::outcome::{Outcome, Sample, dependency, fail, not_sent, without_request};
use super::wire::{Account, Line};
use crate::chain::{
    Cause, Chain, Halt, Http, Purpose, RequestBuf, RootCause, Scenario, Shared, Unmet, Vu,
};
use crate::definition::{Reads, StepDef};
use crate::metrics::{SlowJourney, SlowStep, micros};
use crate::schedule::Window;
use crate::transport::{ErrorKind, Exchange, Failure, Transport};
use http::StatusCode;
use std::any::Any;
use std::cell::Cell;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;

/// One virtual user: its chain, its connection, its buffers.
pub(crate) struct VirtualUser<T> {
    scenario: &'static Scenario,
    shared: Shared,
    vu: Vu,
    chain: Option<Box<dyn Chain>>,
    /// Not there while a step that sends for itself has it.
    transport: Option<T>,
    request: RequestBuf,
    /// The steps of the journey under way, or of the last one.
    ran: Vec<Ran>,
    /// Which steps that run `once` have done so.
    done: Vec<bool>,
    /// When the last iteration ended.
    pub(super) ended: Instant,
    /// Whether the last iteration sent no request, and so gave nobody else the thread.
    pub(super) sent_nothing: bool,
}

/// When an iteration was to start, and when it could.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// The number of the iteration over all users.
    pub(crate) iteration: u64,
    /// Its place among the iterations of all users, which decides the rows of feeds.
    pub(crate) turn: u64,
    /// Its intended start.
    pub(crate) due: Instant,
    /// When a user was free for it: `due`, or later when it waited.
    pub(crate) ready: Instant,
    /// When it began, where its user has just looked at the clock.
    pub(crate) begun: Option<Instant>,
}

/// Sees what happens in an iteration, step by step.
pub(crate) trait Observer {
    /// Whether steps that chance would leave out run all the same.
    const RUNS_ALL: bool;
    /// How many exchanges of a step that sends for itself it is told of, the last ones.
    const EXCHANGES: usize;
    /// What of a response is wanted besides what the chain reads.
    fn reads(&self, reads: Reads) -> Reads;
    /// A request was answered, or not.
    fn exchanged(&mut self, step: usize, request: &RequestBuf, exchange: &Exchange);
    /// A step is over.
    fn ended(&mut self, step: usize, outcome: &Outcome);
    /// The user would think for `time` after a step; whether it does.
    fn thinks(&mut self, step: usize, time: Duration) -> bool;
}

/// The observer of load: none.
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    const RUNS_ALL: bool = false;
    const EXCHANGES: usize = 0;

    fn reads(&self, reads: Reads) -> Reads {
        reads
    }

    fn exchanged(&mut self, _: usize, _: &RequestBuf, _: &Exchange) {}

    fn ended(&mut self, _: usize, _: &Outcome) {}

    fn thinks(&mut self, _: usize, _: Duration) -> bool {
        true
    }
}

/// Counts an iteration as cancelled unless it comes to its end.
struct Running<'a> {
    desk: &'a Rc<Desk>,
    window: Window,
    in_step: Cell<Option<usize>>,
    ended: Cell<bool>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.ended.get() {
            self.desk.tally(self.window, |tally| {
                tally.journey.cancelled += 1;
                if let Some(step) = self.in_step.get() {
                    tally.steps[step].cancelled += 1;
                }
            });
        }
        self.desk.leave();
    }
}

/// The state of a journey on its way.
struct Journey {
    /// From intended to actual start; the first request carries it, and takes it away.
    delay: Option<Duration>,
    /// Whether it sent a request.
    sent: bool,
    /// The pauses: after steps, and between the requests of one.
    paused: Duration,
    failed: bool,
    /// The steps that were executed so far.
    ran: Vec<Ran>,
}

/// A step that was executed.
#[derive(Debug)]
struct Ran {
    step: usize,
    begun: Instant,
    service: Duration,
    ok: bool,
}

impl Journey {
    /// Notes what became of a step, and when it began and how long it took, if it sent something;
    /// whether it was executed.
    fn ended<O: Observer>(
        &mut self,
        step: usize,
        outcome: &Outcome,
        took: Option<(Instant, Duration)>,
        observer: &mut O,
    ) -> bool {
        self.failed |= outcome.is_failure();
        observer.ended(step, outcome);
        let is_executed = matches!(outcome, Outcome::Ok | Outcome::Failed(_));
        if is_executed {
            let (begun, service) = took.unwrap_or_else(|| (Instant::now(), Duration::ZERO));
            self.ran.push(Ran {
                step,
                begun,
                service,
                ok: matches!(outcome, Outcome::Ok),
            });
        }
        is_executed
    }
}

impl Ran {
    /// The same as the record keeps it, of a journey that was to start at `due`.
    fn slow(&self, due: Instant) -> SlowStep {
        SlowStep {
            step: self.step,
            begin_us: micros(since(due, self.begun)),
            time_us: micros(self.service),
            ok: self.ok,
        }
    }
}

/// The time from `earlier` to `later`; users that do not wait begin when they are due.
fn since(earlier: Instant, later: Instant) -> Duration {
    if later <= earlier {
        return Duration::ZERO;
    }
    later - earlier
}

/// Every step that gets the transport of a user gives it back.
fn lost<R>() -> R {
    unreachable!("a step keeps nothing that is lent to it")
}

impl<T: Transport> VirtualUser<T> {
    pub(crate) fn new(scenario: &'static Scenario, shared: Shared, vu: Vu, transport: T) -> Self {
        let steps = scenario.definition.steps.len();
        Self {
            scenario,
            shared,
            vu,
            chain: None,
            transport: Some(transport),
            request: RequestBuf::default(),
            ran: Vec::with_capacity(steps),
            done: vec![false; steps],
            ended: Instant::now(),
            sent_nothing: false,
        }
    }

    /// Goes through the steps once and tallies everything.
    ///
    /// # Errors
    /// The panic of a `#[state]`, without which there is no chain, or of a feed, without which there is
    /// no row; in words.
    pub(crate) async fn iterate<O: Observer>(
        &mut self,
        arrival: Arrival,
        desk: &Rc<Desk>,
        observer: &mut O,
    ) -> Result<(), String> {
        let window = desk.window(arrival.due);
        let started = arrival.begun.unwrap_or_else(Instant::now);
        desk.enter();
        let running = Running {
            desk,
            window,
            in_step: Cell::new(None),
            ended: Cell::new(false),
        };
        desk.tally(window, |tally| {
            tally.journey.started += 1;
            if started > arrival.ready {
                tally.journey.lateness.record(started - arrival.ready);
            } else {
                tally.journey.prompt += 1;
            }
            if arrival.ready > arrival.due {
                tally.journey.waits.record(arrival.ready - arrival.due);
            }
        });
        let mut journey = Journey {
            delay: Some(since(arrival.due, started)),
            sent: false,
            paused: Duration::ZERO,
            failed: false,
            ran: std::mem::take(&mut self.ran),
        };
        journey.ran.clear();
        let begun = self.begin(arrival, window, desk);
        if begun.is_ok() {
            let steps = self.scenario.definition.steps.iter().enumerate();
            for (step, def) in steps.filter(|(_, def)| !def.last) {
                running.in_step.set(Some(step));
                let step_over = self.step(step, def, window, &mut journey, desk, observer);
                let ControlFlow::Continue(executed) = step_over.await else {
                    self.sent_nothing = false;
                    return Ok(());
                };
                running.in_step.set(None);
                if let (true, Some(think)) = (executed, def.think) {
                    let pause = Instant::now();
                    self.vu.reseed(step, Purpose::Think);
                    let more = think.max.saturating_sub(think.min);
                    let time = think.min + more.mul_f64(self.vu.random());
                    if observer.thinks(step, time) {
                        desk.pause(time).await;
                        journey.paused += pause.elapsed();
                    }
                }
            }
        } else {
            journey.failed = true;
        }
        self.ended = Instant::now();
        let time = (self.ended - arrival.due).saturating_sub(journey.paused);
        running.ended.set(true);
        desk.tally(window, |tally| {
            if let Err(message) = &begun {
                fail(
                    &mut tally.steps[0],
                    &Failure::new(ErrorKind::StepPanic, message.as_str()),
                );
            }
            let journeys = &mut tally.journey;
            if journey.failed {
                journeys.failed += 1;
                journeys.failed_time.record(time);
            } else {
                journeys.ok += 1;
                journeys.time.record(time);
            }
            let shares = journey.ran.iter().map(|ran| (ran.step, ran.service));
            let steps = self.scenario.definition.steps.len();
            journeys.record_shares(time, steps, shares);
            let time_us = micros(time);
            if window == Window::Steady && journeys.slowest.admits(time_us) {
                let due_us = micros(since(desk.start, arrival.due));
                journeys.slowest.add(SlowJourney {
                    iteration: arrival.iteration,
                    due_us,
                    delay_us: micros(since(arrival.due, started)),
                    time_us,
                    ok: !journey.failed,
                    steps: journey
                        .ran
                        .iter()
                        .map(|ran| ran.slow(arrival.due))
                        .collect(),
                });
            }
        });
        self.ran = journey.ran;
        self.sent_nothing = !journey.sent;
        begun
    }

    /// Readies the chain, or says what panicked.
    fn begin(&mut self, arrival: Arrival, window: Window, desk: &Desk) -> Result<(), String> {
        self.transport.as_mut().unwrap_or_else(lost).begin();
        self.vu.begin(arrival.iteration, arrival.turn);
        self.vu.reseed(usize::MAX, Purpose::Scenario);
        let Self {
            scenario,
            shared,
            vu,
            chain,
            ..
        } = self;
        if chain.is_none() {
            let made = desk.lend(0, || {
                (scenario.chain)(shared, &mut Lent::new(vu, desk, window))
            });
            let message = |message| format!("a state panicked when it was made: {message}");
            *chain = Some(made.map_err(message)?);
            desk.meet();
        }
        let begun = desk.lend(0, || {
            if let Some(chain) = chain {
                chain.begin(vu);
            }
        });
        begun.map_err(|message| format!("a feed panicked when it made a row: {message}"))
    }

    /// Runs the steps that are its last, if it has made a journey: they see what that left in the chain.
    pub(crate) async fn leave<O: Observer>(
        &mut self,
        window: Window,
        desk: &Rc<Desk>,
        observer: &mut O,
    ) {
        if self.chain.is_none() {
            return;
        }
        // Nobody waits for a step that is part of no journey.
        let mut alone = Journey {
            delay: None,
            sent: false,
            paused: Duration::ZERO,
            failed: false,
            ran: Vec::new(),
        };
        for step in desk.last_steps() {
            let def = &self.scenario.definition.steps[step];
            // They are not cut short: only the hard end comes before theirs, and drops them.
            let _executed = self
                .step(step, def, window, &mut alone, desk, observer)
                .await;
            desk.ran_last(step);
        }
    }

    /// The user, if there are steps to run now that its last journey is over.
    pub(crate) fn with_last_steps(self) -> Option<Self> {
        let mut steps = self.scenario.definition.steps.iter();
        let has_any = self.chain.is_some() && steps.any(|def| def.last);
        has_any.then_some(self)
    }

    /// Runs one step; whether it was executed. Breaks off where the end of the run does.
    async fn step<O: Observer>(
        &mut self,
        step: usize,
        def: &StepDef,
        window: Window,
        journey: &mut Journey,
        desk: &Rc<Desk>,
        observer: &mut O,
    ) -> ControlFlow<(), bool> {
        if def.sends_itself {
            // In a box, so that the journeys of all others stay small.
            let run = Box::pin(self.run(step, def, window, journey, desk, observer));
            return ControlFlow::Continue(run.await);
        }
        let mut took = None;
        let outcome = match self.build(step, O::RUNS_ALL, window, desk) {
            Ok(()) => {
                let sender = self.sender(step, def, window, desk, observer);
                let attempt = sender.attempt().await;
                journey.paused += attempt.paused;
                if attempt.is_cut_off {
                    return ControlFlow::Break(());
                }
                took = attempt.begun.map(|begun| (begun, attempt.service));
                journey.sent = true;
                let mut sample = Sample {
                    service: attempt.service,
                    response: attempt.service + journey.delay.take().unwrap_or_default(),
                    target: desk.plan.grading[step].target,
                    checks: (0, 0),
                };
                let result = attempt.result.and_then(|status| {
                    self.check(step, Some(status), &mut sample.checks, window, desk)
                });
                desk.tally(window, |tally| {
                    sample.tally(&mut tally.steps[step], &result);
                });
                result.map_or_else(Outcome::Failed, |()| Outcome::Ok)
            }
            Err(outcome) => {
                desk.tally(window, |tally| not_sent(tally, step, &outcome));
                outcome
            }
        };
        self.done[step] |= def.once && matches!(outcome, Outcome::Ok);
        ControlFlow::Continue(journey.ended(step, &outcome, took, observer))
    }

    /// Who sends what was built.
    fn sender<'a, O: Observer>(
        &'a mut self,
        step: usize,
        def: &'a StepDef,
        window: Window,
        desk: &'a Desk,
        observer: &'a mut O,
    ) -> Sender<'a, T, O> {
        let chain = self
            .chain
            .as_deref_mut()
            .unwrap_or_else(|| unreachable!("a request was built"));
        Sender {
            step,
            def,
            window,
            desk,
            request: &self.request,
            transport: self.transport.as_mut().unwrap_or_else(lost),
            chain,
            observer,
        }
    }

    /// Runs one step that sends for itself; whether it was executed.
    async fn run<O: Observer>(
        &mut self,
        step: usize,
        def: &StepDef,
        window: Window,
        journey: &mut Journey,
        desk: &Rc<Desk>,
        observer: &mut O,
    ) -> bool {
        if let Err(outcome) = self.draw(step, O::RUNS_ALL, desk) {
            desk.tally(window, |tally| not_sent(tally, step, &outcome));
            return journey.ended(step, &outcome, None, observer);
        }
        let transport = self.transport.take().unwrap_or_else(lost);
        let account = Account::new(desk, window, step, O::EXCHANGES);
        let line = Line::new(transport, def, account);
        let mut http = Http::new(Box::new(line));
        let ran = self.lend(step, &mut http, window, desk).await;
        let wire: Box<dyn Any> = http.into_wire();
        let (transport, mut account) = wire
            .downcast::<Line<T>>()
            .map_or_else(|_| lost(), |line| line.into_parts());
        self.transport = Some(transport);
        let log = account.log();
        for (request, exchange) in std::mem::take(&mut log.exchanges) {
            observer.exchanged(step, &request, &exchange);
        }
        let mut checks = (0, 0);
        let outcome = match ran {
            Ok(Ok(())) => self
                .check(step, None, &mut checks, window, desk)
                .map_or_else(Outcome::Failed, |()| Outcome::Ok),
            Ok(Err(Halt::Unmet(unmet))) => self.refused(step, unmet, desk),
            Ok(Err(Halt::Failed(error))) => self.failed(step, log.failure(&error)),
            Err(message) => self.failed(
                step,
                Failure::new(ErrorKind::StepPanic, format!("panicked: {message}")),
            ),
        };
        let result = match &outcome {
            Outcome::Ok => Some(Ok(())),
            Outcome::Failed(failure) => Some(Err(failure.clone())),
            _ => None,
        };
        journey.paused += log.rested;
        let (first, service) = (log.first, log.service());
        journey.sent |= service.is_some();
        let mut sample = None;
        if let (Some(service), Some(_)) = (service, &result) {
            sample = Some(Sample {
                service,
                // A step that sent nothing leaves the delay to the next one.
                response: service + journey.delay.take().unwrap_or_default(),
                target: desk.plan.grading[step].target,
                checks,
            });
        }
        desk.tally(window, |tally| {
            let steps = &mut tally.steps[step];
            match (sample, result) {
                (Some(sample), Some(result)) => sample.tally(steps, &result),
                (_, Some(result)) => without_request(steps, &result, checks),
                (_, None) => not_sent(tally, step, &outcome),
            }
        });
        self.done[step] |= def.once && matches!(outcome, Outcome::Ok);
        journey.ended(step, &outcome, first.zip(service), observer)
    }

    /// Lends the thread to the function of a step each time it can go on. A panic is counted, and its
    /// message returned.
    async fn lend(
        &mut self,
        step: usize,
        http: &mut Http,
        window: Window,
        desk: &Desk,
    ) -> Result<Result<(), Halt>, String> {
        let Self {
            chain: Some(chain),
            vu,
            ..
        } = self
        else {
            return Ok(Ok(()));
        };
        vu.reseed(step, Purpose::Scenario);
        let mut vu = Lent::new(vu, desk, window);
        let mut function = desk.lend(step, || chain.run(step, &mut vu, http))?;
        let ran = poll_fn(
            |context| match desk.lend(step, || function.as_mut().poll(context)) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(ran)) => Poll::Ready(Ok(ran)),
                Err(message) => Poll::Ready(Err(message)),
            },
        )
        .await;
        // What it still holds may be code of the scenario too.
        desk.lend(step, || drop(function)).and(ran)
    }

    /// Draws the step, unless it runs `always` or has run once and for all.
    fn draw(&mut self, step: usize, always: bool, desk: &Desk) -> Result<(), Outcome> {
        let Self {
            chain: Some(chain),
            vu,
            ..
        } = self
        else {
            return Err(Outcome::NotDrawn);
        };
        if self.done[step] {
            return Err(Outcome::Kept);
        }
        let draw = desk.draws[step];
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
                return Err(Outcome::NotDrawn);
            }
        }
        Ok(())
    }

    /// Draws the step and builds its request, or says why there is none.
    fn build(
        &mut self,
        step: usize,
        always: bool,
        window: Window,
        desk: &Desk,
    ) -> Result<(), Outcome> {
        self.draw(step, always, desk)?;
        let Self {
            chain: Some(chain),
            vu,
            request,
            ..
        } = self
        else {
            return Err(Outcome::NotDrawn);
        };
        vu.reseed(step, Purpose::Scenario);
        let built = desk.lend(step, || {
            chain.build(step, &mut Lent::new(vu, desk, window), request)
        });
        match built {
            Ok(Ok(())) => Ok(()),
            Ok(Err(unmet)) => Err(self.refused(step, unmet, desk)),
            Err(message) => {
                let message = format!("panicked: {message}");
                Err(self.failed(step, Failure::new(ErrorKind::StepPanic, message)))
            }
        }
    }

    /// Empties the slot of a step that sends nothing, and says what became of it.
    fn refused(&mut self, step: usize, unmet: Unmet, desk: &Desk) -> Outcome {
        let (cause, outcome) = match unmet {
            Unmet::Invalid { reason } => {
                let failure = Failure::new(ErrorKind::StepError, reason);
                let root = RootCause::Invalid;
                (Cause { root, step }, Outcome::Failed(failure))
            }
            unmet @ Unmet::LeftOut { .. } => {
                let skip = dependency(step, unmet, desk);
                (skip.cause, Outcome::LeftOut(skip))
            }
            unmet => {
                let skip = dependency(step, unmet, desk);
                (skip.cause, Outcome::Skipped(skip))
            }
        };
        self.skip(step, cause);
        outcome
    }

    /// Empties the slot of a step that failed.
    fn failed(&mut self, step: usize, failure: Failure) -> Outcome {
        let root = RootCause::Failed;
        self.skip(step, Cause { root, step });
        Outcome::Failed(failure)
    }

    fn skip(&mut self, step: usize, cause: Cause) {
        if let Some(chain) = &mut self.chain {
            chain.skip(step, cause);
        }
    }

    /// Runs the checks of a step, counted as passed and failed; `status` is that of its answer.
    fn check(
        &mut self,
        step: usize,
        status: Option<StatusCode>,
        checks: &mut (u64, u64),
        window: Window,
        desk: &Desk,
    ) -> Result<(), Failure> {
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
        let ran = desk.lend(step, || {
            let mut vu = Lent::new(vu, desk, window);
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
