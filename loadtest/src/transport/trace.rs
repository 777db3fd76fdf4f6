//! The `traceparent` of each request on the wire, and what a span tells of it.

use super::{ErrorKind, Phases};
use crate::targets::Origin;
use http::{HeaderName, Method, StatusCode};
use loadtest_model::trace::{TRACEPARENT, TraceId, TraceParent};
use std::cell::Cell;
use std::time::Duration;
use tokio::time::Instant;

/// The name of the header.
pub(super) static TRACEPARENT_HEADER: HeaderName = HeaderName::from_static(TRACEPARENT);

/// The place of a call in the trace of its journey.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTrace<'a> {
    /// The trace.
    pub(crate) trace: TraceId,
    /// True if the target is told to keep its spans.
    pub(crate) is_sampled: bool,
    /// True if the requests are to be told in [`Exchange::requests`](super::Exchange::requests).
    pub(crate) is_kept: bool,
    /// The zero-based number of the step.
    pub(crate) step: usize,
    /// The number of requests of the step so far.
    pub(crate) requests: &'a Cell<u32>,
}

impl CallTrace<'_> {
    /// Begins another request of the step, and returns its number.
    pub(crate) fn next_number(&self) -> u32 {
        let number = self.requests.get().saturating_add(1);
        self.requests.set(number);
        number
    }

    /// Returns what the header of a request says.
    pub(crate) fn parent(&self, number: u32) -> TraceParent {
        TraceParent {
            trace: self.trace,
            span: self.trace.request(self.step, number),
            is_sampled: self.is_sampled,
        }
    }
}

/// A request on the wire.
#[derive(Debug, Clone)]
pub(crate) struct SentRequest {
    /// Its number in the step.
    pub(crate) number: u32,
    pub(crate) method: Method,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_redirect: bool,
    /// The time it was ready to be sent, before any connecting.
    pub(crate) begun: Instant,
    pub(crate) ended: Instant,
    /// The time at which a new connection was ready, where there is one.
    pub(crate) connected_at: Option<Instant>,
    pub(crate) connect: Option<Duration>,
    pub(crate) tls: Option<Duration>,
    pub(crate) first_byte_at: Option<Instant>,
    pub(crate) status: Option<StatusCode>,
    pub(crate) error: Option<ErrorKind>,
}

/// The requests of a call whose spans are kept.
#[derive(Debug)]
pub(crate) struct SentRequests {
    pub(super) all: Vec<SentRequest>,
    /// True if the last one has not ended.
    is_open: bool,
    /// The time at which the next one was ready.
    next_begun: Instant,
    /// Time spent on connections for the requests so far.
    spent: (Duration, Duration),
}

impl SentRequests {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            all: Vec::with_capacity(1),
            is_open: false,
            next_begun: start,
            spent: Default::default(),
        }
    }

    /// A request is about to be written, or to be connected for.
    pub(super) fn begin(&mut self, number: u32, method: &Method, origin: &Origin, redirects: u32) {
        self.all.push(SentRequest {
            number,
            method: method.clone(),
            host: origin.host.to_string(),
            port: origin.port,
            is_redirect: redirects > 0,
            begun: self.next_begun,
            ended: self.next_begun,
            connected_at: None,
            connect: None,
            tls: None,
            first_byte_at: None,
            status: None,
            error: None,
        });
        self.is_open = true;
    }
}

impl SentRequests {
    /// A new connection is ready for the last request; the times of all connections so far are given.
    pub(super) fn connected(&mut self, now: Instant, phases: &Phases) {
        let sums = (
            phases.connect.unwrap_or_default(),
            phases.tls.unwrap_or_default(),
        );
        let spent = std::mem::replace(&mut self.spent, sums);
        if let Some(last) = self.all.last_mut() {
            let tls = sums.1.saturating_sub(spent.1);
            last.connected_at = Some(now);
            last.connect = Some(sums.0.saturating_sub(spent.0));
            last.tls = (!tls.is_zero()).then_some(tls);
        }
    }

    /// The last request is over.
    pub(super) fn end(
        &mut self,
        end: Instant,
        first_byte_at: Option<Instant>,
        status: Option<StatusCode>,
    ) {
        if let (true, Some(last)) = (self.is_open, self.all.last_mut()) {
            (last.ended, last.first_byte_at, last.status) = (end, first_byte_at, status);
            (self.is_open, self.next_begun) = (false, end);
        }
    }

    /// The last request failed.
    pub(super) fn fail(&mut self, error: ErrorKind) {
        if let Some(last) = self.all.last_mut() {
            last.error = Some(error);
        }
    }
}
