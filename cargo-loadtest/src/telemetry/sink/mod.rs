//! The sinks: each turns an interval into bytes by a pure function, and sends them.

mod datagram;
mod http;
pub(super) mod influx;
pub(super) mod json;
#[cfg(feature = "telemetry")]
pub(super) mod otlp;
#[cfg(feature = "telemetry")]
mod otlp_spans;
pub(super) mod prometheus;
#[cfg(feature = "telemetry")]
pub(super) mod remote_write;
pub(super) mod statsd;

pub(super) use http::HttpTarget;

use super::interval::Interval;
use super::spans::SpanBatch;
use std::time::Duration;

/// A place to send intervals to.
pub(super) trait Sink: Send {
    /// Sends an interval once.
    fn send(&mut self, interval: &Interval) -> Sent;

    /// Sends spans once; few formats have a place for them.
    fn send_spans(&mut self, batch: &SpanBatch) -> Sent {
        let _ = batch;
        Sent::Delivered
    }

    /// The scenario of this interval, its last one, is over.
    fn end(&mut self, last: &Interval) -> Sent {
        let _ = last;
        Sent::Delivered
    }
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sent {
    Delivered,
    /// The sink has it, and refused some of it.
    Partly(String),
    /// The sink does not take this interval, and may take others.
    Rejected(String),
    /// The interval is lost, and another attempt would be no better.
    Lost(String),
    /// The sink takes nothing.
    Refused(String),
    /// Another attempt may succeed.
    Failed {
        why: String,
        /// The pause that the sink asks for.
        after: Option<Duration>,
    },
}
