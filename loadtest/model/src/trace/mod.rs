//! Traces: the ids that the requests of a journey carry, and the journeys whose spans are kept.
//!
//! All of it is computed from the run, its seed and the number of an iteration, so that the load, the tool and a
//! second run agree without talking to each other.

mod id;
mod link;
mod sampling;

pub use id::{ParseIdError, RunIds, SpanId, TraceId, TraceParent};
pub use link::{LinkValues, check_link, fill_link, read_unix_ms};
pub use sampling::{Quota, Sampler};

use serde::{Deserialize, Serialize};

/// The name of the header that carries the ids, by W3C Trace Context.
pub const TRACEPARENT: &str = "traceparent";

/// The tracing of a load: each of its requests carries a `traceparent`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tracing {
    /// The share of journeys that are sampled, of one.
    pub sample: f64,
    /// The most journeys that are sampled in a second; `None` for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_per_second: Option<f64>,
    /// The address of a trace, with placeholders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Tracing {
    /// Returns true if any journey may be sampled, whose spans are kept.
    pub fn has_spans(&self) -> bool {
        self.sample > 0.0
    }

    /// Returns true if both ask the target for the same: a link is only read.
    pub fn is_same_load(&self, other: &Self) -> bool {
        (self.sample, self.at_most_per_second) == (other.sample, other.at_most_per_second)
    }
}

/// The place of a request, or of a step, in a trace that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracePoint {
    /// The trace of the journey.
    pub trace_id: TraceId,
    /// The span of the step.
    pub span_id: SpanId,
    /// The start of the step, from the start of the load.
    pub begin_us: u64,
    /// Its response time.
    pub time_us: u64,
}

impl TracePoint {
    /// Keeps the slower one; of equal ones the earlier.
    pub fn keep_slower(slot: &mut Option<Self>, other: Option<Self>) {
        let rank = |point: &Self| (point.time_us, std::cmp::Reverse(point.begin_us));
        if let Some(other) = other
            && slot.as_ref().is_none_or(|kept| rank(&other) > rank(kept))
        {
            *slot = Some(other);
        }
    }

    /// Keeps the earlier one.
    pub fn keep_earlier(slot: &mut Option<Self>, other: Option<Self>) {
        let rank = |point: &Self| (point.begin_us, point.trace_id);
        if let Some(other) = other
            && slot.as_ref().is_none_or(|kept| rank(&other) < rank(kept))
        {
            *slot = Some(other);
        }
    }
}
