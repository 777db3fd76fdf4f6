//! The failure of a step: its kind, its message, and what the answer said.

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::redacted::Redacted;
use std::io;
use std::time::Duration;

/// The failure of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The kind.
    pub(crate) kind: ErrorKind,
    /// The status of the answer, where there was one.
    pub(crate) status: Option<StatusCode>,
    /// The code of a gRPC call that ended with one, or of a WebSocket that was closed.
    pub(crate) code: Option<u16>,
    /// A description without secrets.
    pub(crate) message: String,
    /// The start of the body of an unexpected or unreadable answer: at most 1 KiB, redacted.
    pub(crate) sample: Option<Redacted>,
    /// The headers of such an answer, or of one that broke off, where the step keeps headers or they say when to send again.
    pub(crate) headers: Option<Box<HeaderMap>>,
}

impl Failure {
    /// A failure without an answer.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            code: None,
            message: message.into(),
            sample: None,
            headers: None,
        }
    }

    /// Returns how long the target wants to be left alone, where it says so in seconds.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.as_ref()?.get(RETRY_AFTER)?.to_str().ok()?;
        seconds.trim().parse().ok().map(Duration::from_secs)
    }

    /// Returns the number of its status: of HTTP, of gRPC, or of a closed WebSocket.
    pub(crate) fn status_number(&self) -> Option<u16> {
        let http = self.status.map(|status| status.as_u16());
        self.code.or(http)
    }
}

/// The reason why there is no connection to an address.
#[derive(Debug)]
pub(super) enum ConnectError {
    /// Nothing answers there: another address may.
    Unanswered(io::Error),
    /// It answered, and is of no use.
    #[cfg(feature = "http3")]
    Failed(Failure),
}
