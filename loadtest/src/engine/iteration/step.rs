//! One step of a journey: drawn, built, sent, checked and tallied.

use super::super::attempt::Sender;
use super::super::desk::Desk;
use super::super::lent::Lent;
use super::super::outcome::{Outcome, Sample, dependency, not_sent, without_request};
use super::super::wire::{Account, Line};
use super::VirtualUser;
use super::journey::Journey;
use super::observer::Observer;
use crate::chain::{Halt, Http, Purpose, Unmet};
use crate::transport::{Failure, Transport};
use http::StatusCode;
use loadtest_model::definition::StepDef;
use loadtest_model::metrics::ErrorKind;
use loadtest_model::metrics::{Cause, RootCause};
use loadtest_model::schedule::Window;
use std::any::Any;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::task::Poll;

/// Every step that gets the transport of a user gives it back.
pub(super) fn lost<R>() -> R {
    unreachable!("a step keeps nothing that is lent to it")
}

impl<T: Transport> VirtualUser<T> {
    /// Runs one step; whether it was executed. Breaks off where the end of the run does.
    pub(super) async fn step<O: Observer>(
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
