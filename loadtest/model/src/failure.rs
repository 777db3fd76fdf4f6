//! The reason why there was no run.

use crate::exit_code::ExitCode;
use crate::redacted::Redacted;
use serde::{Deserialize, Serialize};

/// The reason why there was no run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// The kind of failure, which decides the exit code.
    pub kind: FailureKind,
    /// The mistake, in one line or more.
    pub message: Redacted,
    /// The remedy, if one is known.
    pub help: Option<Redacted>,
}

/// The kind of a [`RunFailure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A mistake in scenario, command line or configuration: exit code 2.
    Usage,
    /// The setup failed or the target cannot be reached: exit code 100.
    Setup,
    /// The target is not one that may be tested: exit code 103.
    NotPermitted,
    /// The target withdrew its permission before the load: exit code 103.
    Withdrawn,
    /// The process could not be kept from the network: exit code 2.
    NotOffline,
    /// Stopped before the load started: exit code 105.
    Interrupted,
    /// Anything else: exit code 1.
    Internal,
}

impl FailureKind {
    /// The process exit code for this kind.
    pub const fn exit_code(self) -> ExitCode {
        match self {
            Self::Usage | Self::NotOffline => ExitCode::Usage,
            Self::Setup => ExitCode::SetupFailed,
            Self::NotPermitted | Self::Withdrawn => ExitCode::NotPermitted,
            Self::Interrupted => ExitCode::Interrupted,
            Self::Internal => ExitCode::Internal,
        }
    }
}
