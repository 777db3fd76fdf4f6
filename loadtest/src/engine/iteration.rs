//! One virtual user and one journey of it through the steps of its scenario.

use super::desk::Desk;
use super::wire::Line;
use crate::chain::{
    Cause, Chain, Halt, Http, Purpose, RawResponse, RequestBuf, RootCause, Scenario, Shared, Unmet,
    Vu,
};
use crate::definition::{Reads, StepDef};
use crate::metrics::{DependencyTally, ErrorTally, StepTally, Tally};
use crate::schedule::Window;
use crate::transport::{Call, ErrorKind, Exchange, Failure, Phases, Transport};
use http::StatusCode;
use std::any::Any;
use std::cell::Cell;
use std::future::poll_fn;
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
    service: Vec<Duration>,
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
}

/// Sees what happens in an iteration, step by step.
pub(crate) trait Observer {
    /// Whether steps that chance would leave out run all the same, and nobody thinks.
    const SMOKE: bool;
    /// What of a response is wanted besides what the chain reads.
    fn reads(&self, reads: Reads) -> Reads;
    /// A request was answered, or not.
    fn exchanged(&mut self, step: usize, request: &RequestBuf, exchange: &Exchange);
    /// A step is over.
    fn ended(&mut self, step: usize, outcome: &Outcome);
}

/// What became of a step.
#[derive(Debug)]
pub(crate) enum Outcome {
    Ok,
    Failed(Failure),
    NotDrawn,
    /// Its function left it out on purpose.
    LeftOut,
    /// It ran `once`, and its response is kept.
    Kept,
    Skipped(DependencyTally),
}

/// The observer of load: none.
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    const SMOKE: bool = false;

    fn reads(&self, reads: Reads) -> Reads {
        reads
    }

    fn exchanged(&mut self, _: usize, _: &RequestBuf, _: &Exchange) {}

    fn ended(&mut self, _: usize, _: &Outcome) {}
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
    failed: bool,
    /// Think times and pauses.
    rested: Duration,
}

impl Journey {
    /// Notes what became of a step; whether it was executed.
    fn ended<O: Observer>(&mut self, step: usize, outcome: &Outcome, observer: &mut O) -> bool {
        self.failed |= match outcome {
            Outcome::Ok | Outcome::NotDrawn | Outcome::LeftOut | Outcome::Kept => false,
            Outcome::Failed(_) => true,
            Outcome::Skipped(skip) => skip.cause.root.counts(),
        };
        observer.ended(step, outcome);
        matches!(outcome, Outcome::Ok | Outcome::Failed(_))
    }
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
            service: vec![Duration::ZERO; steps],
            sent_nothing: false,
        }
    }

    /// Goes through the steps once and tallies everything.
    ///
    /// # Errors
    /// The panic of a `#[state]`, without which there is no chain.
    pub(crate) async fn iterate<O: Observer>(
        &mut self,
        arrival: Arrival,
        desk: &Rc<Desk>,
        observer: &mut O,
    ) -> Result<(), String> {
        let window = desk.window(arrival.due);
        let started = Instant::now();
        desk.enter();
        let running = Running {
            desk,
            window,
            in_step: Cell::new(None),
            ended: Cell::new(false),
        };
        desk.tally(window, |tally| {
            tally.journey.started += 1;
            tally
                .journey
                .lateness
                .record(started.saturating_duration_since(arrival.ready));
            if arrival.ready > arrival.due {
                tally.journey.waits.record(arrival.ready - arrival.due);
            }
        });
        self.service.fill(Duration::ZERO);
        let mut journey = Journey {
            delay: Some(started.saturating_duration_since(arrival.due)),
            sent: false,
            failed: false,
            rested: Duration::ZERO,
        };
        let begun = self.begin(arrival, desk);
        if begun.is_ok() {
            for (step, def) in self.scenario.definition.steps.iter().enumerate() {
                running.in_step.set(Some(step));
                let executed = self
                    .step(step, def, window, &mut journey, desk, observer)
                    .await;
                running.in_step.set(None);
                if let (true, false, Some(think)) = (executed, O::SMOKE, def.think) {
                    let pause = Instant::now();
                    self.vu.reseed(step, Purpose::Think);
                    desk.pause(
                        think.min
                            + think
                                .max
                                .saturating_sub(think.min)
                                .mul_f64(self.vu.random()),
                    )
                    .await;
                    journey.rested += pause.elapsed();
                }
            }
        } else {
            journey.failed = true;
        }
        let time = arrival.due.elapsed().saturating_sub(journey.rested);
        running.ended.set(true);
        desk.tally(window, |tally| {
            if let Err(message) = &begun {
                let message = format!("a state panicked when it was made: {message}");
                fail(
                    &mut tally.steps[0],
                    &Failure::new(ErrorKind::StepPanic, message),
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
            journeys.record_shares(time, &self.service);
        });
        self.sent_nothing = !journey.sent;
        begun
    }

    /// Readies the chain, or says with which words making it panicked.
    fn begin(&mut self, arrival: Arrival, desk: &Desk) -> Result<(), String> {
        self.transport().begin();
        self.vu.begin(arrival.iteration, arrival.turn);
        self.vu.reseed(usize::MAX, Purpose::Scenario);
        let Self {
            scenario,
            shared,
            vu,
            chain,
            ..
        } = self;
        desk.lend(0, || {
            chain
                .get_or_insert_with(|| (scenario.chain)(shared, vu))
                .begin(vu);
        })
    }

    fn transport(&mut self) -> &mut T {
        self.transport.as_mut().unwrap_or_else(lost)
    }

    /// Runs one step; whether it was executed.
    async fn step<O: Observer>(
        &mut self,
        step: usize,
        def: &StepDef,
        window: Window,
        journey: &mut Journey,
        desk: &Rc<Desk>,
        observer: &mut O,
    ) -> bool {
        if def.sends_itself {
            // In a box, so that the journeys of all others stay small.
            return Box::pin(self.run(step, def, window, journey, desk, observer)).await;
        }
        let outcome = match self.build(step, def, O::SMOKE, desk) {
            Ok(()) => {
                let call = Call {
                    request: &self.request,
                    expect: &def.expect,
                    reads: observer.reads(def.reads),
                    timeout: self.request.timeout.unwrap_or(def.timeout),
                    redirects: def.redirects,
                };
                let transport = self.transport.as_mut().unwrap_or_else(lost);
                let exchange = transport.send(call).await;
                observer.exchanged(step, &self.request, &exchange);
                self.service[step] = exchange.service_time;
                journey.sent = true;
                let delay = journey.delay.take().unwrap_or_default();
                let measured = Measured::of(&exchange, delay);
                let mut checks = (0, 0);
                let result = self.read(step, exchange, &mut checks, desk);
                let target = desk.plan.grading[step].target;
                desk.tally(window, |tally| {
                    measured.tally(&mut tally.steps[step], &result, checks, target);
                });
                result.map_or_else(Outcome::Failed, |()| Outcome::Ok)
            }
            Err(outcome) => {
                desk.tally(window, |tally| not_sent(tally, step, &outcome));
                outcome
            }
        };
        journey.ended(step, &outcome, observer)
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
        if let Err(outcome) = self.draw(step, def, O::SMOKE) {
            desk.tally(window, |tally| not_sent(tally, step, &outcome));
            return journey.ended(step, &outcome, observer);
        }
        let transport = self.transport.take().unwrap_or_else(lost);
        let line = Line::new(transport, Rc::clone(desk), def, O::SMOKE);
        let mut http = Http::new(Box::new(line));
        let ran = self.lend(step, &mut http, desk).await;
        let wire: Box<dyn Any> = http.into_wire();
        let (transport, mut log) = wire
            .downcast::<Line<T>>()
            .map_or_else(|_| lost(), |line| line.into_parts());
        self.transport = Some(transport);
        for (request, exchange) in std::mem::take(&mut log.exchanges) {
            observer.exchanged(step, &request, &exchange);
        }
        let mut checks = (0, 0);
        let outcome = match ran {
            Ok(Ok(())) => self
                .check(step, None, &mut checks, desk)
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
        let target = desk.plan.grading[step].target;
        // A step that sent nothing leaves the delay to the next one.
        let delay = journey.delay.unwrap_or_default();
        let measured = log.measured(delay);
        journey.rested += log.rested;
        journey.sent |= measured.is_some();
        if let (Some(measured), Some(_)) = (&measured, &result) {
            journey.delay = None;
            self.service[step] = measured.service;
        }
        desk.tally(window, |tally| {
            let steps = &mut tally.steps[step];
            log.tally(steps);
            match (measured, result) {
                (Some(measured), Some(result)) => measured.tally(steps, &result, checks, target),
                (None, Some(result)) => without_request(steps, &result, checks),
                (measured, None) => {
                    if let Some(measured) = measured {
                        measured.count(steps);
                    }
                    not_sent(tally, step, &outcome);
                }
            }
        });
        journey.ended(step, &outcome, observer)
    }

    /// Lends the thread to the function of a step each time it can go on. A panic is counted, and its
    /// message returned.
    async fn lend(
        &mut self,
        step: usize,
        http: &mut Http,
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
        let mut function = desk.lend(step, || chain.run(step, vu, http))?;
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

    /// Draws the step, unless it runs `always`.
    fn draw(&mut self, step: usize, def: &StepDef, always: bool) -> Result<(), Outcome> {
        let Self {
            chain: Some(chain),
            vu,
            ..
        } = self
        else {
            return Err(Outcome::NotDrawn);
        };
        if def.weight < 1.0 && !always {
            vu.reseed(step, Purpose::Weight);
            if vu.random() >= def.weight {
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
        def: &StepDef,
        always: bool,
        desk: &Desk,
    ) -> Result<(), Outcome> {
        self.draw(step, def, always)?;
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
        match desk.lend(step, || chain.build(step, vu, request)) {
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
            Unmet::LeftOut { .. } => {
                let root = RootCause::LeftOut;
                (Cause { root, step }, Outcome::LeftOut)
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

    /// Hands an answer to the chain and runs the checks, counted as passed and failed.
    fn read(
        &mut self,
        step: usize,
        exchange: Exchange,
        checks: &mut (u64, u64),
        desk: &Desk,
    ) -> Result<(), Failure> {
        let Some(chain) = &mut self.chain else {
            return Ok(());
        };
        let failed = Cause {
            root: RootCause::Failed,
            step,
        };
        let received = exchange.result.inspect_err(|_| chain.skip(step, failed))?;
        let status = received.status;
        let raw = RawResponse {
            status,
            headers: received.headers,
            body: received.body,
        };
        let problem = match desk.lend(step, || chain.finish(step, raw)) {
            Ok(Ok(())) => None,
            Ok(Err(reason)) => Some((ErrorKind::BodyDecode, reason)),
            Err(message) => Some((ErrorKind::StepPanic, format!("panicked: {message}"))),
        };
        if let Some((kind, message)) = problem {
            chain.skip(step, failed);
            return Err(Failure {
                status: Some(status),
                ..Failure::new(kind, message)
            });
        }
        self.check(step, Some(status), checks, desk)
    }

    /// Runs the checks of a step, counted as passed and failed; `status` is that of its answer.
    fn check(
        &mut self,
        step: usize,
        status: Option<StatusCode>,
        checks: &mut (u64, u64),
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
        let mut problem = None;
        let ran = desk.lend(step, || {
            chain.check(step, vu, &mut |name, result| match result {
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

/// Tallies a step for which no request was sent.
fn not_sent(tally: &mut Tally, step: usize, outcome: &Outcome) {
    let steps = &mut tally.steps[step];
    match outcome {
        Outcome::Ok => {}
        Outcome::NotDrawn => steps.not_drawn += 1,
        Outcome::LeftOut => steps.left_out += 1,
        Outcome::Kept => steps.kept += 1,
        Outcome::Failed(failure) => fail(steps, failure),
        Outcome::Skipped(skip) => {
            if skip.cause.root.counts() {
                steps.skipped += 1;
            } else {
                steps.skipped_not_drawn += 1;
            }
            tally.count_dependency(skip.clone());
        }
    }
}

fn fail(tally: &mut StepTally, failure: &Failure) {
    tally.executed += 1;
    tally.failed += 1;
    let status = failure.status.map(|status| status.as_u16());
    match tally
        .errors
        .iter_mut()
        .find(|error| (error.kind, error.status) == (failure.kind, status))
    {
        Some(error) => error.count += 1,
        None => tally.errors.push(ErrorTally {
            kind: failure.kind,
            status,
            count: 1,
            example: crate::redact::text(&failure.message).into_owned(),
            sample: failure.sample.clone(),
        }),
    }
}

/// Tallies a step that came to its end without a request: it was executed, and took no time that
/// would be a sample. One that is ok is within any target.
fn without_request(tally: &mut StepTally, result: &Result<(), Failure>, checks: (u64, u64)) {
    tally.checks_passed += checks.0;
    tally.checks_failed += checks.1;
    match result {
        Ok(()) => {
            tally.executed += 1;
            tally.ok += 1;
            tally.satisfied += 1;
        }
        Err(failure) => fail(tally, failure),
    }
}

/// What of an exchange is counted whatever the chain makes of it.
pub(super) struct Measured {
    pub(super) status: Option<u16>,
    pub(super) service: Duration,
    /// Service time and what the first request of a journey carries besides.
    pub(super) response: Duration,
    pub(super) phases: Phases,
    pub(super) requests: u32,
    /// Of these, repeated.
    pub(super) retries: u32,
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
}

impl Measured {
    fn of(exchange: &Exchange, delay: Duration) -> Self {
        let status = match &exchange.result {
            Ok(received) => Some(received.status),
            Err(failure) => failure.status,
        };
        Self {
            status: status.map(|status| status.as_u16()),
            service: exchange.service_time,
            response: exchange.service_time + delay,
            phases: exchange.phases,
            requests: exchange.requests,
            retries: exchange.requests.saturating_sub(1),
            sent_bytes: exchange.sent_bytes,
            received_bytes: exchange.received_bytes,
        }
    }

    /// Counts what was sent and received.
    fn count(&self, tally: &mut StepTally) {
        tally.requests += u64::from(self.requests);
        tally.retries += u64::from(self.retries);
        tally.sent_bytes += self.sent_bytes;
        tally.received_bytes += self.received_bytes;
        if let Some(status) = self.status {
            *tally.statuses.entry(status).or_default() += 1;
        }
        let phases = &mut tally.phases;
        for (histogram, time) in [
            (&mut phases.connect, self.phases.connect),
            (&mut phases.tls, self.phases.tls),
            (&mut phases.first_byte, self.phases.first_byte),
            (&mut phases.body, self.phases.body),
        ] {
            if let Some(time) = time {
                histogram.record(time);
            }
        }
    }

    fn tally(
        &self,
        tally: &mut StepTally,
        result: &Result<(), Failure>,
        checks: (u64, u64),
        target: Duration,
    ) {
        self.count(tally);
        tally.checks_passed += checks.0;
        tally.checks_failed += checks.1;
        match result {
            Ok(()) => {
                tally.executed += 1;
                tally.ok += 1;
                if self.response <= target {
                    tally.satisfied += 1;
                } else if self.response <= target * 4 {
                    tally.tolerating += 1;
                }
            }
            Err(failure) => fail(tally, failure),
        }
        if result
            .as_ref()
            .err()
            .is_none_or(|failure| failure.kind.is_timeout())
        {
            tally.response.record(self.response);
            tally.service.record(self.service);
        } else {
            tally.failed_response.record(self.response);
        }
    }
}

/// The ledger's line for a step that cannot run.
fn dependency(step: usize, unmet: Unmet, desk: &Desk) -> DependencyTally {
    let name = |step: usize| &desk.definition.steps[step].name;
    let (variable, upstream, cause, example) = match unmet {
        Unmet::Upstream {
            step: upstream,
            variable,
            cause,
        } => {
            let root = if cause.step == upstream {
                String::new()
            } else {
                format!(", after `{}`", name(cause.step))
            };
            let example = format!(
                "needs `{variable}`, but `{}` has no response: {}{root}",
                name(upstream),
                cause.root
            );
            (Some(variable.to_owned()), upstream, cause, example)
        }
        Unmet::Missing {
            step: upstream,
            variable,
        } => {
            let cause = Cause {
                root: RootCause::Missing,
                step: upstream,
            };
            let example = format!(
                "needs `{variable}`, which the response of `{}` lacks",
                name(upstream)
            );
            (Some(variable.to_owned()), upstream, cause, example)
        }
        Unmet::Declined { reason } | Unmet::LeftOut { reason } => (
            None,
            step,
            Cause {
                root: RootCause::Declined,
                step,
            },
            crate::redact::text(&reason).into_owned(),
        ),
        Unmet::Invalid { reason } => (
            None,
            step,
            Cause {
                root: RootCause::Invalid,
                step,
            },
            crate::redact::text(&reason).into_owned(),
        ),
    };
    DependencyTally {
        step,
        variable,
        upstream,
        cause,
        count: 1,
        example,
    }
}
