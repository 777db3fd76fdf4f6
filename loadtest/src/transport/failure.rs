//! The failure of a step: its kind, its message, and what the answer said.

use http::{HeaderMap, StatusCode};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::redacted::Redacted;

/// The failure of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The kind.
    pub(crate) kind: ErrorKind,
    /// The status of the answer, where there was one.
    pub(crate) status: Option<StatusCode>,
    /// A description without secrets.
    pub(crate) message: String,
    /// The start of the body of an unexpected or unreadable answer: at most 1 KiB, redacted.
    pub(crate) sample: Option<Redacted>,
    /// The headers of such an answer, or of one that broke off, where the step keeps headers.
    pub(crate) headers: Option<Box<HeaderMap>>,
}

impl Failure {
    /// A failure without an answer.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            message: message.into(),
            sample: None,
            headers: None,
        }
    }
}
