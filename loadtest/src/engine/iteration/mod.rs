//! One virtual user and one journey of it through the steps of its scenario.

mod journey;
mod observer;
mod step;

use super::desk::Desk;
use super::lent::Lent;
use super::outcome::fail;
use crate::chain::{Chain, Purpose, RequestBuf, Scenario, Shared, Vu};
use crate::transport::{Failure, Transport};
use journey::{Journey, Ran, Running, since};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::metrics::{SlowJourney, micros};
use loadtest_model::schedule::Window;
pub(crate) use observer::{Observer, Unobserved};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use step::lost;
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
        let delay = since(arrival.due, started);
        let mut journey = Journey::new(Some(delay), std::mem::take(&mut self.ran));
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
                    delay_us: micros(delay),
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
        let mut alone = Journey::new(None, Vec::new());
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
}
