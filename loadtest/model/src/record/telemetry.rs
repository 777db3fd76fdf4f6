//! The figures of a run that were sent while it went on.

use crate::metrics::is_zero;
use crate::redacted::Redacted;
use serde::{Deserialize, Serialize};

/// A place that figures were sent to, and what arrived there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TelemetryDelivery {
    /// The number in the configuration, counted from 1.
    pub number: u32,
    /// The format: `remote-write`.
    pub format: String,
    /// Scheme, host and port, an address, or a path.
    pub place: Redacted,
    /// Intervals to send; pages asked for, where it is scraped.
    pub intervals: u64,
    /// The delivered ones.
    pub delivered: u64,
    /// Spans to send.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spans: u64,
    /// The delivered ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spans_delivered: u64,
    /// The reason why some were not, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Redacted>,
}

impl TelemetryDelivery {
    /// Returns true if everything arrived.
    pub fn is_complete(&self) -> bool {
        self.delivered >= self.intervals && self.spans_delivered >= self.spans
    }
}
