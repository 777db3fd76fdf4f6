//! The raw samples of a journey: of the whole, of its steps, and of their requests.

use super::progress::StepTiming;
use super::step::StepContext;
use crate::engine::outcome::StepOutcome;
use crate::engine::samples::{SampleBuffer, SampledTraffic};
use crate::engine::worker_state::WorkerState;
use crate::transport::{ErrorKind, Failure};
use loadtest_model::metrics::micros;
use loadtest_model::samples::{Sample, SampleKind};
use loadtest_model::schedule::Window;
use std::time::Duration;
use tokio::time::Instant;

/// A journey that leaves raw samples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampledJourney {
    user: u32,
    /// The number of the iteration; none after the last one.
    iteration: Option<u64>,
}

/// A request of an async step that ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampledRequest<'a> {
    pub(crate) name: &'a str,
    pub(crate) begun: Instant,
    pub(crate) time: Duration,
    pub(crate) status: Option<u16>,
    pub(crate) error: Option<ErrorKind>,
    pub(crate) traffic: SampledTraffic,
}

impl SampledJourney {
    /// Returns the journey of a user if it leaves samples; without a number, the steps after its last one.
    pub(super) fn choose(state: &WorkerState, user: u64, iteration: Option<u64>) -> Option<Self> {
        let samples = state.samples.as_ref()?;
        let is_kept = iteration.is_none_or(|iteration| samples.keeps(iteration));
        is_kept.then(|| Self {
            user: u32::try_from(user).unwrap_or(u32::MAX),
            iteration,
        })
    }

    /// Returns a sample that began then and was a success, of which nothing else is known.
    fn sample(self, kind: SampleKind, window: Window, begun_us: u64) -> Sample {
        Sample {
            kind,
            window,
            step: None,
            name: None,
            user: self.user,
            iteration: self.iteration,
            begun_us,
            start_delay_us: 0,
            service_us: None,
            first_byte_us: None,
            status: None,
            is_ok: true,
            error: None,
            sent: 0,
            received: 0,
        }
    }

    /// Keeps the sample of the whole, which was due then, began so much later and took `time` since then.
    pub(super) fn keep_journey(
        self,
        samples: &SampleBuffer,
        window: Window,
        due: Instant,
        (delay, time): (Duration, Duration),
        is_ok: bool,
    ) {
        let due_us = samples.micros_at(due);
        let sample = Sample {
            start_delay_us: micros(delay),
            service_us: Some(micros(time.saturating_sub(delay))),
            is_ok,
            ..self.sample(SampleKind::Journey, window, due_us)
        };
        samples.add(sample, None);
    }

    /// Keeps the sample of a request of an async step.
    pub(crate) fn keep_request(
        self,
        samples: &SampleBuffer,
        (step, window): (usize, Window),
        request: SampledRequest<'_>,
    ) {
        let begun_us = samples.micros_at(request.begun);
        let sample = Sample {
            step: u16::try_from(step).ok(),
            service_us: Some(micros(request.time)),
            first_byte_us: request.traffic.first_byte_us,
            status: request.status,
            is_ok: request.error.is_none(),
            error: request.error,
            sent: request.traffic.sent,
            received: request.traffic.received,
            ..self.sample(SampleKind::Request, window, begun_us)
        };
        samples.add(sample, Some(request.name));
    }
}

impl StepContext<'_> {
    /// Keeps the sample of a step that was executed, if its journey leaves samples.
    pub(super) fn keep_sample(&self, outcome: &StepOutcome, timing: Option<StepTiming>) {
        let (Some(journey), Some(samples)) = (self.sampled, &self.state.samples) else {
            return;
        };
        let failure = match outcome {
            StepOutcome::Failed(failure) => Some(failure),
            _ => None,
        };
        let status = timing.and_then(|timing| timing.status);
        let status = status.map(|status| status.as_u16());
        let status = status.or(failure.and_then(Failure::status_number));
        let begun = timing.map_or_else(Instant::now, |timing| timing.begun);
        let traffic = timing.map_or_else(SampledTraffic::default, |timing| timing.traffic);
        let delay = timing.map(|timing| timing.response.saturating_sub(timing.service));
        let sample = Sample {
            step: u16::try_from(self.step).ok(),
            start_delay_us: micros(delay.unwrap_or_default()),
            service_us: timing.map(|timing| micros(timing.service)),
            first_byte_us: traffic.first_byte_us,
            status,
            is_ok: failure.is_none(),
            error: failure.map(|failure| failure.kind),
            sent: traffic.sent,
            received: traffic.received,
            ..journey.sample(SampleKind::Step, self.window, samples.micros_at(begun))
        };
        samples.add(sample, None);
    }
}
