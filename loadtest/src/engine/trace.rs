//! The traces of journeys: their ids, the choice of those that are sampled, and the spans of these.

use super::spans::SpanOutlet;
use crate::transport::{CallTrace, ErrorKind, SentRequest};
use loadtest_model::metrics::micros;
use loadtest_model::plan::Plan;
use loadtest_model::protocol::{
    TracedJourney, TracedOutcome, TracedRequest, TracedRoot, TracedStep,
};
use loadtest_model::schedule::Schedule;
use loadtest_model::trace::{Quota, RunIds, Sampler, TraceId, TracePoint};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The tracing of a run, for all of its workers.
#[derive(Debug, Clone)]
pub(crate) struct RunTracing {
    /// The ids of the scenario in this run.
    pub(crate) ids: RunIds,
    /// The way of spans to their file; none where only the header is sent.
    pub(crate) spans: Option<SpanOutlet>,
}

/// The tracing of one worker.
#[derive(Debug)]
pub(crate) struct WorkerTracing {
    run: RunTracing,
    start: Instant,
    choice: SamplingChoice,
}

/// The choice of the journeys that are sampled.
#[derive(Debug)]
enum SamplingChoice {
    /// Every one.
    All,
    Sampled {
        sampler: Sampler,
        clock: Option<ClockQuota>,
    },
}

/// The bound of a worker that is kept by the clock.
#[derive(Debug)]
struct ClockQuota {
    quota: Quota,
    /// The stretch of time of the last journey, and the number of journeys in it.
    used: Cell<(u64, u64)>,
}

/// A journey and its trace.
#[derive(Debug, Clone)]
pub(crate) struct JourneyTrace {
    trace: EndedTrace,
    /// The spans, where they are kept.
    spans: Option<Rc<SpanLog>>,
}

/// The spans of a sampled journey so far.
#[derive(Debug)]
struct SpanLog {
    outlet: SpanOutlet,
    trace: EndedTrace,
    /// The start of the load.
    start: Instant,
    /// The start of the journey and its delay, until its span is sent; none for steps after a journey.
    root: Cell<Option<(Instant, Duration)>>,
    steps: RefCell<Vec<TracedStep>>,
    /// The step whose requests these are.
    open_step: Cell<usize>,
    requests: RefCell<Vec<TracedRequest>>,
}

/// The trace of a journey without its spans, which outlives the journey.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedTrace {
    id: TraceId,
    is_sampled: bool,
    iteration: u64,
}

impl WorkerTracing {
    /// The tracing of one of so many workers of all processes; `seed` is that of run and scenario.
    pub(super) fn new(
        run: RunTracing,
        plan: &Plan,
        schedule: &Schedule,
        seed: u64,
        start: Instant,
        workers: u32,
    ) -> Option<Self> {
        let tracing = plan.tracing.as_ref()?;
        let sampler = Sampler::new(tracing, schedule, seed);
        let clock = (sampler.quota_by_clock())
            .and(tracing.at_most_per_second)
            .map(|rate| ClockQuota {
                quota: Quota::per_second(rate / f64::from(workers.max(1))),
                used: Cell::default(),
            });
        Some(Self {
            run,
            start,
            choice: SamplingChoice::Sampled { sampler, clock },
        })
    }

    /// The tracing of a single journey, which is sampled.
    pub(super) fn of_single_journey(ids: RunIds, start: Instant) -> Self {
        Self {
            run: RunTracing { ids, spans: None },
            start,
            choice: SamplingChoice::All,
        }
    }

    /// Begins the trace of an iteration.
    pub(super) fn begin(
        &self,
        schedule: &Schedule,
        iteration: u64,
        due: Instant,
        started: Instant,
    ) -> JourneyTrace {
        let is_sampled = match &self.choice {
            SamplingChoice::All => true,
            SamplingChoice::Sampled { sampler, clock } => {
                sampler.is_chosen(schedule, iteration, || {
                    due.saturating_duration_since(self.start)
                }) && clock
                    .as_ref()
                    .is_none_or(|clock| clock.admits(started - self.start))
            }
        };
        let trace = EndedTrace {
            id: self.run.ids.trace(iteration),
            is_sampled,
            iteration,
        };
        let root = || Some((started, started.saturating_duration_since(due)));
        self.journey(trace, root)
    }

    /// Goes on with the trace of a journey, for the steps that run after it.
    pub(super) fn resume(&self, trace: EndedTrace) -> JourneyTrace {
        self.journey(trace, || None)
    }

    fn journey(
        &self,
        trace: EndedTrace,
        root: impl FnOnce() -> Option<(Instant, Duration)>,
    ) -> JourneyTrace {
        let outlet = self.run.spans.as_ref().filter(|_| trace.is_sampled);
        let log = |outlet: &SpanOutlet| SpanLog {
            outlet: outlet.clone(),
            trace,
            start: self.start,
            root: Cell::new(root()),
            steps: RefCell::default(),
            open_step: Cell::default(),
            requests: RefCell::default(),
        };
        JourneyTrace {
            trace,
            spans: outlet.map(|outlet| Rc::new(log(outlet))),
        }
    }
}

impl ClockQuota {
    fn admits(&self, time: Duration) -> bool {
        let stretch = self.quota.stretch(time);
        let used = match self.used.get() {
            (known, used) if known == stretch => used,
            _ => 0,
        };
        let is_admitted = used < self.quota.journeys;
        self.used.set((stretch, used + u64::from(is_admitted)));
        is_admitted
    }
}

impl JourneyTrace {
    /// Returns the place of a call in the trace; `requests` counts those of its step.
    pub(super) fn call<'a>(&self, step: usize, requests: &'a Cell<u32>) -> CallTrace<'a> {
        CallTrace {
            trace: self.trace.id,
            is_sampled: self.trace.is_sampled,
            is_kept: self.spans.is_some(),
            step,
            requests,
        }
    }

    /// Returns this if the spans of the journey are kept.
    #[inline]
    pub(super) fn kept(&self) -> Option<&Self> {
        self.spans.is_some().then_some(self)
    }

    /// Returns the trace for what comes after the journey.
    pub(super) fn ended(&self) -> EndedTrace {
        self.trace
    }

    /// Returns the id of a trace that is kept.
    pub(super) fn sampled_id(&self) -> Option<TraceId> {
        self.trace.is_sampled.then_some(self.trace.id)
    }

    /// Returns the place of an executed step, which began so long after the start of the load, if the trace is kept.
    pub(super) fn point(
        &self,
        step: usize,
        begun: impl FnOnce() -> Duration,
        time: Duration,
    ) -> Option<TracePoint> {
        self.trace.is_sampled.then(|| TracePoint {
            trace_id: self.trace.id,
            span_id: self.trace.id.step(step),
            begin_us: micros(begun()),
            time_us: micros(time),
        })
    }

    /// Keeps requests of a step, which may be of a row.
    pub(super) fn add_requests(&self, step: usize, sent: Vec<SentRequest>, row: Option<&str>) {
        if let Some(spans) = &self.spans {
            spans.add_requests(step, sent, row);
        }
    }

    /// Ends a step that was executed.
    pub(super) fn end_step(&self, step: usize, begun: Option<Instant>, error: Option<ErrorKind>) {
        if let Some(spans) = &self.spans {
            spans.end_step(step, begun, error);
        }
    }

    /// Hands over the spans of a journey that is over.
    pub(super) fn finish(&self, end: Instant, has_failed: bool) {
        let outcome = if has_failed {
            TracedOutcome::Failed
        } else {
            TracedOutcome::Ok
        };
        if let Some(spans) = &self.spans {
            spans.send(end, outcome);
        }
    }
}

impl SpanLog {
    fn add_requests(&self, step: usize, sent: Vec<SentRequest>, row: Option<&str>) {
        self.open_step.set(step);
        let offset = |at| self.offset(at);
        let requests = sent.into_iter().map(|sent| TracedRequest {
            number: sent.number,
            begin_us: offset(sent.begun),
            end_us: offset(sent.ended),
            row: row.map(str::to_owned),
            method: sent.method.to_string(),
            host: sent.host,
            port: sent.port,
            is_redirect: sent.is_redirect,
            status: sent.status.map(|status| status.as_u16()),
            error: sent.error,
            connect_us: sent.connect.map(micros),
            tls_us: sent.tls.map(micros),
            connected_at_us: sent.connected_at.map(offset),
            first_byte_at_us: sent.first_byte_at.map(offset),
        });
        self.requests.borrow_mut().extend(requests);
    }

    fn end_step(&self, step: usize, begun: Option<Instant>, error: Option<ErrorKind>) {
        let end = self.offset(Instant::now());
        self.steps.borrow_mut().push(TracedStep {
            step,
            begin_us: begun.map_or(end, |begun| self.offset(begun)),
            end_us: end,
            error,
            requests: self.requests.take(),
        });
    }

    /// Hands over the spans so far.
    fn send(&self, end: Instant, outcome: TracedOutcome) {
        let end_us = self.offset(end);
        let root = self.root.take().map(|(begun, delay)| TracedRoot {
            begin_us: self.offset(begun),
            end_us,
            delay_us: micros(delay),
            outcome,
        });
        let mut steps = self.steps.take();
        let requests = self.requests.take();
        if let Some(first) = requests.first() {
            // The step that was cut off.
            steps.push(TracedStep {
                step: self.open_step.get(),
                begin_us: first.begin_us,
                end_us,
                error: None,
                requests,
            });
        }
        if root.is_some() || !steps.is_empty() {
            self.outlet.offer(TracedJourney {
                trace_id: self.trace.id,
                iteration: self.trace.iteration,
                root,
                steps,
            });
        }
    }

    fn offset(&self, at: Instant) -> u64 {
        micros(at.saturating_duration_since(self.start))
    }
}

impl EndedTrace {
    /// Returns the trace, and true if it is sampled.
    pub(super) fn id(self) -> (TraceId, bool) {
        (self.id, self.is_sampled)
    }
}

/// A journey that the end of the run cuts off tells what it did.
impl Drop for SpanLog {
    fn drop(&mut self) {
        self.send(Instant::now(), TracedOutcome::Cancelled);
    }
}
