//! One virtual user and one journey of it through the steps of its scenario.

use super::attempt::{Attempt, Sender};
use super::desk::Desk;
use crate::chain::{Cause, Chain, Purpose, RequestBuf, RootCause, Scenario, Shared, Unmet, Vu};
use crate::definition::{Reads, StepDef};
use crate::metrics::{DependencyTally, ErrorTally, StepTally, Tally};
use crate::schedule::Window;
use crate::transport::{ErrorKind, Exchange, Failure, Transport};
use http::StatusCode;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// One virtual user: its chain, its connection, its buffers.
pub(crate) struct VirtualUser<T> {
    scenario: &'static Scenario,
    shared: Shared,
    vu: Vu,
    chain: Option<Box<dyn Chain>>,
    transport: T,
    request: RequestBuf,
    service: Vec<Duration>,
    /// Which steps that run `once` have done so.
    done: Vec<bool>,
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
    LeftOut(DependencyTally),
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
    /// The pauses: after steps, and between the requests of one.
    paused: Duration,
    failed: bool,
}

impl<T: Transport> VirtualUser<T> {
    pub(crate) fn new(scenario: &'static Scenario, shared: Shared, vu: Vu, transport: T) -> Self {
        let steps = scenario.definition.steps.len();
        Self {
            scenario,
            shared,
            vu,
            chain: None,
            transport,
            request: RequestBuf::default(),
            service: vec![Duration::ZERO; steps],
            done: vec![false; steps],
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
            paused: Duration::ZERO,
            failed: false,
        };
        let begun = self.begin(arrival, desk);
        if begun.is_ok() {
            for (step, def) in self.scenario.definition.steps.iter().enumerate() {
                running.in_step.set(Some(step));
                let step_over = self.step(step, def, window, &mut journey, desk, observer);
                let ControlFlow::Continue(executed) = step_over.await else {
                    self.sent_nothing = false;
                    return Ok(());
                };
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
                    journey.paused += pause.elapsed();
                }
            }
        } else {
            journey.failed = true;
        }
        let time = arrival.due.elapsed().saturating_sub(journey.paused);
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
            journeys.record_shares(time, &self.service);
        });
        self.sent_nothing = journey.delay.is_some();
        begun
    }

    /// Readies the chain, or says what panicked.
    fn begin(&mut self, arrival: Arrival, desk: &Desk) -> Result<(), String> {
        self.transport.begin();
        self.vu.begin(arrival.iteration, arrival.turn);
        self.vu.reseed(usize::MAX, Purpose::Scenario);
        let Self {
            scenario,
            shared,
            vu,
            chain,
            ..
        } = self;
        let made = desk.lend(0, || {
            chain.get_or_insert_with(|| (scenario.chain)(shared, vu));
        });
        made.map_err(|message| format!("a state panicked when it was made: {message}"))?;
        let begun = desk.lend(0, || {
            if let Some(chain) = chain {
                chain.begin(vu);
            }
        });
        begun.map_err(|message| format!("a feed panicked when it made a row: {message}"))
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
        let outcome = match self.build(step, def, O::SMOKE, desk) {
            Ok(()) => {
                let attempt = self.attempt(step, def, window, desk, observer).await;
                journey.paused += attempt.paused;
                if attempt.is_cut_off {
                    return ControlFlow::Break(());
                }
                self.service[step] = attempt.service;
                let mut sample = Sample {
                    service: attempt.service,
                    response: attempt.service + journey.delay.take().unwrap_or_default(),
                    target: desk.plan.grading[step].target,
                    checks: (0, 0),
                };
                let result = attempt
                    .result
                    .and_then(|status| self.check(step, status, &mut sample.checks, desk));
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
        journey.failed |= match &outcome {
            Outcome::Ok | Outcome::NotDrawn | Outcome::LeftOut(_) | Outcome::Kept => false,
            Outcome::Failed(_) => true,
            Outcome::Skipped(skip) => skip.cause.root.counts(),
        };
        observer.ended(step, &outcome);
        ControlFlow::Continue(matches!(outcome, Outcome::Ok | Outcome::Failed(_)))
    }

    /// Sends what was built.
    async fn attempt<O: Observer>(
        &mut self,
        step: usize,
        def: &StepDef,
        window: Window,
        desk: &Desk,
        observer: &mut O,
    ) -> Attempt {
        let chain = self
            .chain
            .as_deref_mut()
            .unwrap_or_else(|| unreachable!("a request was built"));
        let sender = Sender {
            step,
            def,
            window,
            desk,
            request: &self.request,
            transport: &mut self.transport,
            chain,
            observer,
        };
        sender.attempt().await
    }

    /// Draws the step and builds its request, or says why there is none.
    fn build(
        &mut self,
        step: usize,
        def: &StepDef,
        always: bool,
        desk: &Desk,
    ) -> Result<(), Outcome> {
        let Self {
            chain: Some(chain),
            vu,
            request,
            ..
        } = self
        else {
            return Err(Outcome::NotDrawn);
        };
        if self.done[step] {
            return Err(Outcome::Kept);
        }
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
        vu.reseed(step, Purpose::Scenario);
        let (cause, outcome) = match desk.lend(step, || chain.build(step, vu, request)) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(Unmet::Invalid { reason })) => {
                let failure = Failure::new(ErrorKind::StepError, reason);
                (
                    Cause {
                        root: RootCause::Invalid,
                        step,
                    },
                    Outcome::Failed(failure),
                )
            }
            Ok(Err(unmet)) => {
                let is_left_out = matches!(unmet, Unmet::LeftOut { .. });
                let skip = dependency(step, unmet, desk);
                let outcome = if is_left_out {
                    Outcome::LeftOut
                } else {
                    Outcome::Skipped
                };
                (skip.cause, outcome(skip))
            }
            Err(message) => {
                let failure = Failure::new(ErrorKind::StepPanic, format!("panicked: {message}"));
                (
                    Cause {
                        root: RootCause::Failed,
                        step,
                    },
                    Outcome::Failed(failure),
                )
            }
        };
        chain.skip(step, cause);
        Err(outcome)
    }

    /// Runs the checks of a step that was answered, counted as passed and failed.
    fn check(
        &mut self,
        step: usize,
        status: StatusCode,
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
            status: Some(status),
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
        Outcome::LeftOut(skip) => {
            steps.left_out += 1;
            tally.count_dependency(skip.clone());
        }
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

/// The times and checks of a step that ran.
struct Sample {
    service: Duration,
    /// Service time and what the first request of a journey carries besides.
    response: Duration,
    /// The grading target T.
    target: Duration,
    checks: (u64, u64),
}

impl Sample {
    fn tally(&self, tally: &mut StepTally, result: &Result<(), Failure>) {
        tally.checks_passed += self.checks.0;
        tally.checks_failed += self.checks.1;
        match result {
            Ok(()) => {
                tally.executed += 1;
                tally.ok += 1;
                if self.response <= self.target {
                    tally.satisfied += 1;
                } else if self.response <= self.target * 4 {
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
        Unmet::NotInFeed { variable } => {
            let cause = Cause {
                root: RootCause::NotInFeed,
                step,
            };
            let example = format!("needs `{variable}`, which the row of the feed lacks");
            (Some(variable.to_owned()), step, cause, example)
        }
        Unmet::Declined { reason } => of_itself(RootCause::Declined, step, &reason),
        Unmet::LeftOut { reason } => of_itself(RootCause::LeftOut, step, &reason),
        Unmet::Invalid { reason } => of_itself(RootCause::Invalid, step, &reason),
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

/// Variable, upstream step, cause and example of a step that is the cause itself.
fn of_itself(root: RootCause, step: usize, reason: &str) -> (Option<String>, usize, Cause, String) {
    let example = crate::redact::text(reason).into_owned();
    (None, step, Cause { root, step }, example)
}
