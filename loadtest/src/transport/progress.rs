//! The progress of a call, so that a timeout can be named after what it interrupted.

use super::compression::Encoding;
use super::hop::{self, Hop, Hops};
use super::meter::Meter;
use super::stream::StreamProgress;
use super::trace::SentRequests;
use super::websocket::Upgrade;
use super::{
    Call, ErrorKind, Failure, HopAnswer, Phases, Received, Traffic, UnfinishedCall,
    UnfinishedExchange, body,
};
use crate::targets::Origin;
use crate::transport::RequestTarget;
use http::{Method, StatusCode, Uri};
use loadtest_model::trace::TraceParent;
#[cfg(feature = "http3")]
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The progress of a call. It survives the future of the call, which a deadline may end.
pub(super) struct CallProgress<'a> {
    pub(super) stage: CallStage,
    pub(super) usable_at: Instant,
    /// The time at which the present request was written, if it is a large one.
    uploaded_at: Option<Instant>,
    pub(super) head_at: Option<Instant>,
    /// True if the last byte of the answer came with its head.
    pub(super) is_answered_at_once: bool,
    pub(super) phases: Phases,
    pub(super) status: Option<StatusCode>,
    pub(super) meter: Option<Rc<Meter>>,
    pub(super) traffic: Traffic,
    /// The target had not taken all of the last request when the call ended.
    is_waiting: bool,
    /// The cell that takes what there was of the call when it is dropped.
    unfinished: Option<&'a UnfinishedCall>,
    pub(super) redirected_to: Option<Box<Uri>>,
    /// The answer with an expected status, read to its end; its body is still compressed.
    pub(super) received: Option<Received>,
    pub(super) encoding: Encoding,
    /// The requests and responses, if the call is observed.
    pub(super) hops: Option<Box<Hops>>,
    /// The requests as their spans tell them, if these are kept.
    pub(super) sent: Option<Box<SentRequests>>,
    /// The stream of events, where the answer is read as one.
    pub(super) stream: Option<Box<StreamProgress>>,
    /// The upgrade, where the call opens a WebSocket.
    pub(super) upgrade: Option<Box<Upgrade>>,
    /// The number of the present request within its step, if it carries a trace.
    number: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum CallStage {
    Lookup,
    Connect,
    Handshake,
    /// The QUIC handshake with an address.
    #[cfg(feature = "http3")]
    Quic(SocketAddr),
    /// A stream of a connection that is shared.
    Stream,
    Head,
    Body,
}

impl<'a> CallProgress<'a> {
    /// The progress of a `call` that was ready at `start`.
    #[inline]
    pub(super) fn new(call: &Call<'a>, start: Instant, is_watched: bool) -> Self {
        let is_traced = call.trace.is_some_and(|trace| trace.is_kept);
        Self {
            stage: CallStage::Connect,
            usable_at: start,
            uploaded_at: None,
            head_at: None,
            is_answered_at_once: false,
            phases: Phases::default(),
            status: None,
            meter: None,
            traffic: Traffic::default(),
            is_waiting: false,
            unfinished: Some(call.unfinished),
            redirected_to: None,
            received: None,
            encoding: Encoding::NONE,
            hops: is_watched.then(Box::default),
            sent: is_traced.then(|| Box::new(SentRequests::new(start))),
            stream: (call.stream).map(|_| Box::new(StreamProgress::new(start, is_watched))),
            upgrade: call.websocket.map(|def| Box::new(Upgrade::begin(def))),
            number: 0,
        }
    }

    /// Returns the response to the last request, if the call is observed.
    fn watched_answer(&mut self) -> Option<&mut HopAnswer> {
        self.hops.as_mut()?.0.last_mut()?.answer.as_mut()
    }

    /// Another request begins, before any connecting.
    #[inline]
    pub(super) fn number_request(&mut self, call: &Call<'_>, method: &Method, origin: &Origin) {
        if let Some(trace) = &call.trace {
            self.number = trace.next_number();
            if let Some(sent) = &mut self.sent {
                sent.begin(self.number, method, origin, self.traffic.redirects);
            }
        }
    }

    /// Returns the trace that the present request carries.
    pub(super) fn traceparent(&self, call: &Call<'_>) -> Option<TraceParent> {
        Some(call.trace.as_ref()?.parent(self.number))
    }

    /// A new connection is ready for the present request.
    pub(super) fn connected(&mut self, now: Instant) {
        self.usable_at = now;
        self.traffic.connections += 1;
        if let Some(sent) = &mut self.sent {
            sent.connected(now, &self.phases);
        }
    }

    /// The present request was lost, and is sent again.
    #[cold]
    pub(super) fn lose_request(&mut self, error: ErrorKind) {
        self.settle_traffic();
        self.uploaded_at = None;
        let now = Instant::now();
        if let Some(sent) = &mut self.sent {
            sent.end(now, None, None);
            sent.fail(error);
        }
        self.usable_at = now;
    }

    /// A request is about to be written.
    pub(super) fn begin(&mut self, meter: Rc<Meter>) {
        self.meter = Some(meter);
        self.stage = CallStage::Head;
    }

    /// The head of the answer is there.
    pub(super) fn head(&mut self, status: StatusCode, now: Instant) {
        self.head_at = Some(now);
        self.stage = CallStage::Body;
        self.status = Some(status);
    }

    /// Shows a request to those who watch.
    pub(super) fn show_request(&mut self, hop: impl FnOnce() -> Hop) {
        if let Some(hops) = &mut self.hops {
            hops.0.push(hop());
        }
    }

    /// Shows the head of the answer to the last request to those who watch.
    pub(super) fn show_answer(&mut self, answer: impl FnOnce() -> HopAnswer) {
        if let Some(hop) = self.hops.as_mut().and_then(|hops| hops.0.last_mut()) {
            hop.answer = Some(answer());
        }
    }

    /// Returns how much of an unwanted body is read.
    pub(super) fn sample_limit(&self) -> usize {
        if self.hops.is_some() {
            hop::hop_read_limit()
        } else {
            body::sample_read_limit()
        }
    }

    /// Shows the start of the body of the last answer to those who watch.
    pub(super) fn show_body(&mut self, body: &[u8], encoding: &Encoding) {
        if let Some(answer) = self.watched_answer() {
            answer.keep(body, encoding);
        }
    }

    /// Adds what went over the connection to the account.
    pub(super) fn settle_traffic(&mut self) {
        if let Some(meter) = self.meter.take() {
            self.traffic.sent_bytes += meter.sent_bytes();
            self.traffic.received_bytes += meter.received_bytes();
            self.traffic.requests += u32::from(meter.sent_bytes() > 0);
            self.is_waiting = meter.is_waiting();
            self.uploaded_at = meter.uploaded_at();
        }
    }

    /// Returns the time of the last byte, where it is known before the call has ended.
    pub(super) fn known_end(&self) -> Option<Instant> {
        match &self.stream {
            Some(stream) => stream.ended_at,
            None => self.head_at.filter(|_| self.is_answered_at_once),
        }
    }

    /// Ends the call, whose last byte came at `end`.
    pub(super) fn finish_call(&mut self, end: Instant) {
        self.end_request(end);
        self.unfinished = None;
    }

    /// Ends the present request of the call, whose last byte came at `end`.
    fn end_request(&mut self, end: Instant) {
        if let Some(meter) = &self.meter {
            meter.rest_from(end);
        }
        self.settle_traffic();
        if let Some(sent) = &mut self.sent {
            sent.end(end, self.head_at, self.status);
        }
        self.add_answer_phases(end);
        self.usable_at = end;
    }

    fn add_answer_phases(&mut self, end: Instant) {
        let mut written_at = self.usable_at;
        if let Some(uploaded_at) = self.uploaded_at.take() {
            // An answer may come before its request is written.
            written_at = uploaded_at.min(self.head_at.unwrap_or(end));
            add_phase(&mut self.phases.upload, written_at - self.usable_at);
        }
        if let Some(head_at) = self.head_at.take() {
            add_phase(&mut self.phases.first_byte, head_at - written_at);
            // Most answers come at once, and to compare two instants costs less than to subtract them.
            let body = if end == head_at {
                Duration::ZERO
            } else {
                end - head_at
            };
            add_phase(&mut self.phases.body, body);
        }
    }

    /// Another request of the call begins: a redirect to `target` is followed.
    pub(super) fn begin_hop(&mut self, now: Instant, target: &RequestTarget) {
        self.traffic.redirects += 1;
        self.end_request(now);
        if let RequestTarget::Absolute(url) = target {
            self.redirected_to = Some(Box::new(url.clone()));
        }
        self.stage = CallStage::Connect;
        self.status = None;
    }

    /// Names where a redirect led, in the failure of a request that was not sent there.
    pub(super) fn name_redirect(&self, failure: Failure) -> Failure {
        let is_sent = matches!(self.stage, CallStage::Head | CallStage::Body);
        let url = self.redirected_to.as_ref().filter(|_| !is_sent);
        match url.and_then(|url| Origin::from_uri(url).ok()) {
            None => failure,
            Some(origin) => Failure {
                message: format!("after a redirect to {origin}: {}", failure.message),
                ..failure
            },
        }
    }

    pub(super) fn timeout_failure(&self, timeout: Duration) -> Failure {
        Failure {
            status: self.status,
            ..self.stage.timeout_failure(self.is_waiting, timeout)
        }
    }
}

impl CallStage {
    /// Describes what was not there in time; the target `is_waiting` where it takes no more of a request.
    pub(super) fn timeout_failure(self, is_waiting: bool, timeout: Duration) -> Failure {
        let (kind, what) = match self {
            Self::Lookup => (ErrorKind::TimeoutConnect, "no address of the host"),
            Self::Connect => (ErrorKind::TimeoutConnect, "no connection"),
            Self::Handshake => (ErrorKind::TimeoutConnect, "the TLS handshake did not end"),
            #[cfg(feature = "http3")]
            Self::Quic(address) => {
                let words = format!(
                    "the QUIC handshake with {address} over UDP did not end within {timeout:?}; is HTTP/3 enabled there, and \
                     does the network let UDP pass?"
                );
                return Failure::new(ErrorKind::TimeoutConnect, words);
            }
            Self::Stream => (
                ErrorKind::TimeoutConnect,
                "no free stream of a shared connection (one until the SETTINGS of the target arrive)",
            ),
            Self::Head if is_waiting => (
                ErrorKind::TimeoutIdle,
                "the target stopped reading the request",
            ),
            Self::Head => (ErrorKind::TimeoutHead, "no head of the answer"),
            Self::Body => (ErrorKind::TimeoutTotal, "no complete answer"),
        };
        Failure::new(kind, format!("{what} within {timeout:?}"))
    }
}

impl Drop for CallProgress<'_> {
    fn drop(&mut self) {
        if let Some(unfinished) = self.unfinished {
            self.settle_traffic();
            self.add_answer_phases(Instant::now());
            unfinished.put(UnfinishedExchange {
                traffic: self.traffic,
                phases: self.phases,
            });
        }
    }
}

/// Adds to a phase that may have happened before.
pub(super) fn add_phase(phase: &mut Option<Duration>, time: Duration) {
    *phase = Some(phase.unwrap_or_default() + time);
}
