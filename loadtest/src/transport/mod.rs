//! The HTTP client of one virtual user: its connections, their phases, limits and the permission guard.
//!
//! The engine knows only [`Transport`]; tests script it.

mod body;
mod certificates;
mod compression;
mod connection;
mod cookies;
mod deadline;
mod error_mapping;
pub(crate) mod events;
mod failure;
pub(crate) mod graphql;
pub(crate) mod grpc;
mod hop;
mod http;
mod http1;
mod http2;
#[cfg(feature = "http3")]
mod http3;
mod lookup;
#[cfg(test)]
pub(crate) mod memory;
pub(crate) mod message;
mod meter;
mod network;
mod pool;
mod progress;
mod redirect;
mod request;
mod route;
pub(crate) mod socket;
mod stream;
#[cfg(test)]
mod tests;
mod tls;
mod trace;
pub(crate) mod websocket;

pub(crate) use self::http::HttpTransport;
pub(crate) use body::{MAX_SAMPLE, sample_of_body};
pub(crate) use error_mapping::io_error_kind;
pub(crate) use failure::Failure;
pub(crate) use hop::{Hop, HopAnswer, Hops};
pub(crate) use loadtest_model::metrics::{ErrorKind, Phases, Traffic};
#[cfg(test)]
pub(crate) use lookup::Resolver;
pub(crate) use message::{
    AnswerDetails, KeptHeaders, NO_URL, RawResponse, RequestBuf, RequestTarget,
};
pub(crate) use network::{Network, NetworkError};
pub(crate) use socket::{OperationTarget, Sockets};
pub(crate) use stream::{StreamCall, silence, too_much};
pub(crate) use trace::{CallTrace, SentRequest, SentRequests};
pub(crate) use websocket::{
    SocketConnection, SocketMessage, TranscriptLine, count_open_sockets, count_reopened_socket,
    take_socket_counts,
};

use ::http::{HeaderName, StatusCode, Uri, Version};
use bytes::Bytes;
use events::EventLog;
use loadtest_model::definition::{Expect, Reads, WebSocketDef};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The header of an answer by which a target ends a load test.
pub(crate) const STOP: HeaderName = HeaderName::from_static(STOP_NAME);
const STOP_NAME: &str = "loadtest-stop";

/// Sends the requests of one virtual user.
pub(crate) trait Transport: 'static {
    /// The URL that paths are joined to, without a final slash, where there is one.
    fn base_url(&self) -> Option<&Arc<str>> {
        None
    }

    /// Returns whether nothing may be sent any more: the permission was withdrawn.
    fn is_withdrawn(&self) -> bool {
        false
    }

    /// Returns whether others are to have the thread before the next journey of the user.
    fn owes_a_turn(&self) -> bool {
        false
    }

    /// What clients of the scenario's own connect over, where they can.
    fn sockets(&self) -> Option<&Sockets> {
        None
    }

    /// The same, if any client of the scenario's own has asked for it.
    fn used_sockets(&self) -> Option<&Sockets> {
        None
    }

    /// Shares connections with the other users of this thread, where the scenario wants that. `numbers` returns, for so
    /// many connections in all, the numbers of those that are this thread's, of which there is one at least.
    fn share_connections(&mut self, numbers: &dyn Fn(u64) -> Vec<u64>) {
        let _ = numbers;
    }

    /// A new iteration begins: what belongs to one iteration is forgotten.
    fn begin(&mut self) {}

    /// Sends `call` and waits for the last byte of the answer, or for the failure. What is sent while
    /// another call is under way takes a connection of its own.
    fn send(&self, call: Call<'_>) -> impl Future<Output = Exchange>;
}

/// What there was of a call that was dropped before it was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UnfinishedExchange {
    pub(crate) traffic: Traffic,
    pub(crate) phases: Phases,
}

/// Takes what there was of a call that is dropped before it is answered.
// In a box, as most calls leave nothing.
#[derive(Default)]
pub(crate) struct UnfinishedCall(Cell<Option<Box<UnfinishedExchange>>>);

impl UnfinishedCall {
    pub(crate) fn put(&self, exchange: UnfinishedExchange) {
        self.0.set(Some(Box::new(exchange)));
    }

    #[inline]
    pub(crate) fn take(&self) -> Option<Box<UnfinishedExchange>> {
        self.0.take()
    }
}

impl fmt::Debug for UnfinishedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnfinishedCall").finish_non_exhaustive()
    }
}

/// A request to send, and the wanted parts of its response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The request.
    pub(crate) request: &'a RequestBuf,
    /// The statuses that count as success.
    pub(crate) expect: &'a Expect,
    /// The parts of a response with such a status that are kept.
    pub(crate) reads: Reads,
    /// From ready to the last body byte, connecting included.
    pub(crate) timeout: Duration,
    /// The most redirects that are followed; with 0 a redirect is a response like others.
    pub(crate) redirects: u32,
    /// True if it opens a connection of its own, which is closed behind it.
    pub(crate) new_connection: bool,
    /// Takes what there was of the call, where it is dropped before it is answered.
    pub(crate) unfinished: &'a UnfinishedCall,
    /// Its place in the trace of the journey, where requests carry one.
    pub(crate) trace: Option<CallTrace<'a>>,
    /// How the answer is read, where it is a stream of events.
    pub(crate) stream: Option<StreamCall<'a>>,
    /// How a WebSocket is opened, where the call does that.
    pub(crate) websocket: Option<&'a WebSocketDef>,
    /// True if errors of a GraphQL server are looked for in an answer with another status.
    pub(crate) is_graphql: bool,
}

impl Call<'_> {
    /// Returns whether headers are needed that say nothing to a client otherwise.
    fn needs_all_headers(&self) -> bool {
        self.reads.headers || self.stream.is_some() || self.websocket.is_some()
    }
}

/// The result of a [`Call`].
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The answer with an expected status, or what went wrong.
    pub(crate) result: Result<Received, Failure>,
    /// The time at which it was ready to be sent.
    pub(crate) begun: Instant,
    /// From ready to the last body byte or the failure, a visible retry included.
    pub(crate) service_time: Duration,
    /// The parts of it that are known.
    pub(crate) phases: Phases,
    /// The traffic on the wire.
    pub(crate) traffic: Traffic,
    /// The URL of the last request, if a redirect was followed.
    pub(crate) redirected_to: Option<Box<Uri>>,
    /// The events of an answer that is a stream, whole or not.
    pub(crate) events: Option<Box<EventLog>>,
    /// The WebSocket that was opened.
    pub(crate) socket: Option<Arc<SocketConnection>>,
    /// Every request and its answer, if the transport is watched.
    pub(crate) hops: Option<Box<Hops>>,
    /// The requests on the wire as their spans tell them, if these are kept.
    pub(crate) requests: Option<Box<SentRequests>>,
}

impl Exchange {
    /// Takes the requests on the wire; none unless their spans are kept.
    pub(crate) fn take_requests(&mut self) -> Vec<SentRequest> {
        let requests = self.requests.take();
        requests.map_or_else(Vec::new, |requests| requests.all)
    }
}

/// An answer with an expected status, read to its end.
#[derive(Debug)]
pub(crate) struct Received {
    /// The status.
    pub(crate) status: StatusCode,
    /// The version of the protocol.
    pub(crate) version: Version,
    /// The headers as they came; empty unless [`Reads::headers`].
    pub(crate) headers: KeptHeaders,
    /// The body, decompressed; empty unless [`Reads::body`].
    pub(crate) body: Bytes,
}
