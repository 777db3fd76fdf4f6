//! The failure of a request in an async step.

use crate::chain::error::describe_error;
use std::fmt;

/// The kind of a request that could not be made.
const UNSENT: &str = "step.error";

/// A request that was not answered.
///
/// A step that returns it fails with its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError {
    kind: &'static str,
    message: String,
}

impl HttpError {
    /// A failure of the kind that has this name.
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// A request that could not be made.
    pub(super) fn unsent(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::invalid(describe_error(error))
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(UNSENT, message)
    }

    /// Returns whether the request could not be made.
    pub(in crate::chain) fn is_unsent(&self) -> bool {
        self.kind == UNSENT
    }

    /// The name of its kind in reports: `connect.refused`, `timeout.head`; `step.error` for a request
    /// that could not be made.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns whether there was no complete answer in time.
    pub fn is_timeout(&self) -> bool {
        self.kind.starts_with("timeout.")
    }

    /// Returns whether there was no connection.
    pub fn is_connect(&self) -> bool {
        ["dns.", "connect.", "tls."]
            .iter()
            .any(|kinds| self.kind.starts_with(kinds))
            || self.kind == "timeout.connect"
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HttpError {}
