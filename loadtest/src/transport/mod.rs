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
mod failure;
mod hop;
mod http;
mod http1;
mod http2;
mod lookup;
mod message;
mod meter;
mod network;
mod progress;
mod redirect;
mod request;
mod route;
mod tls;

pub use self::http::HttpTransport;
pub use failure::Failure;
pub use hop::{Hop, HopAnswer};
pub use loadtest_model::metrics::{ErrorKind, Phases, Traffic};
pub use lookup::Resolver;
pub use message::{RawResponse, RequestBuf, RequestTarget};
pub use network::{Network, NetworkError};

use ::http::{HeaderMap, HeaderName, StatusCode, Uri};
use bytes::Bytes;
use loadtest_model::definition::{Expect, Reads};
use std::cell::Cell;
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;

/// The header of an answer by which a target ends a load test.
pub(crate) const STOP: HeaderName = HeaderName::from_static("loadtest-stop");

/// Sends the requests of one virtual user.
pub trait Transport: 'static {
    /// The URL that paths are joined to, without a final slash, where there is one.
    fn base_url(&self) -> Option<&str> {
        None
    }

    /// A new iteration begins: what belongs to one iteration is forgotten.
    fn begin(&mut self) {}

    /// Sends `call` and waits for the last byte of the answer, or for the failure. What is sent while
    /// another call is under way takes a connection of its own.
    fn send(&self, call: Call<'_>) -> impl Future<Output = Exchange>;
}

/// A request to send, and the wanted parts of its response.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The request.
    pub request: &'a RequestBuf,
    /// The statuses that count as success.
    pub expect: &'a Expect,
    /// The parts of a response with such a status that are kept.
    pub reads: Reads,
    /// From ready to the last body byte, connecting included.
    pub timeout: Duration,
    /// The most redirects that are followed; with 0 a redirect is a response like others.
    pub redirects: u32,
    /// Takes what the call had put on the wire, where it is dropped before it is answered.
    pub unfinished: &'a Cell<Traffic>,
}

/// The result of a [`Call`].
#[derive(Debug)]
pub struct Exchange {
    /// The answer with an expected status, or what went wrong.
    pub result: Result<Received, Failure>,
    /// The time at which it was ready to be sent.
    pub begun: Instant,
    /// From ready to the last body byte or the failure, a visible retry included.
    pub service_time: Duration,
    /// The parts of it that are known.
    pub phases: Phases,
    /// The traffic on the wire.
    pub traffic: Traffic,
    /// The URL of the last request, if a redirect was followed.
    pub redirected_to: Option<Box<Uri>>,
    /// Every request and its answer; empty unless the transport is watched.
    pub hops: Vec<Hop>,
}

/// An answer with an expected status, read to its end.
#[derive(Debug)]
pub struct Received {
    /// The status.
    pub status: StatusCode,
    /// The headers as they came; empty unless [`Reads::headers`].
    pub headers: HeaderMap,
    /// The body, decompressed; empty unless [`Reads::body`].
    pub body: Bytes,
}
