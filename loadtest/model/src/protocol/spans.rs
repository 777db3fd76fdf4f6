//! The spans of a sampled journey, as the load writes them down. Times are in microseconds from the start of the load.

use crate::metrics::ErrorKind;
use crate::trace::TraceId;
use serde::{Deserialize, Serialize};

/// A line of the file of spans: `{"journey":{..}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanLine {
    /// The start of the load, in microseconds after 1970-01-01 in UTC.
    Start {
        /// That time.
        unix_us: u64,
    },
    /// A journey is over.
    Journey(Box<TracedJourney>),
    /// Spans that there was no room for, since the last such line.
    Lost {
        /// Their number.
        spans: u64,
    },
}

/// The spans of a journey, or of the steps that a user runs last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracedJourney {
    /// Its trace.
    pub trace_id: TraceId,
    /// The number of the iteration.
    pub iteration: u64,
    /// The journey itself; none for steps that run after it.
    pub root: Option<TracedRoot>,
    /// The steps that were executed.
    pub steps: Vec<TracedStep>,
}

/// The span of a journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedRoot {
    /// The actual start.
    pub begin_us: u64,
    /// The end.
    pub end_us: u64,
    /// From the intended start to the actual one.
    pub delay_us: u64,
    /// The result.
    pub outcome: TracedOutcome,
}

/// The result of a journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TracedOutcome {
    /// Every step was ok.
    Ok,
    /// A step failed, or did not run for want of a value.
    Failed,
    /// The end of the run cut it off.
    Cancelled,
}

/// The span of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracedStep {
    /// The zero-based number of the step.
    pub step: usize,
    /// The start of its first request, or of itself where it sent none.
    pub begin_us: u64,
    /// The end.
    pub end_us: u64,
    /// The kind of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// The requests on the wire, redirects and repeats included.
    pub requests: Vec<TracedRequest>,
}

/// The span of a request on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracedRequest {
    /// Its number in the step, from 1.
    pub number: u32,
    /// The time it was ready to be sent, before any connecting.
    pub begin_us: u64,
    /// The last byte of the answer, or the failure.
    pub end_us: u64,
    /// The name of its row, where the step sends for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The method.
    pub method: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// True if it follows a redirect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_redirect: bool,
    /// The status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The kind of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// The time spent on opening a connection, where it opened one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<u64>,
    /// The time spent on the TLS handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_us: Option<u64>,
    /// The time at which a connection was ready for it, where it opened one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_at_us: Option<u64>,
    /// The time at which the head of the answer was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_at_us: Option<u64>,
}

impl TracedJourney {
    /// Returns the number of spans.
    pub fn spans(&self) -> u64 {
        let steps = self.steps.iter().map(|step| 1 + step.requests.len() as u64);
        steps.sum::<u64>() + u64::from(self.root.is_some())
    }
}
