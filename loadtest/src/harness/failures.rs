//! The failures that keep a run from taking place.

use crate::redact;
use crate::transport::NetworkError;
use loadtest_model::failure::{FailureKind, RunFailure};

pub(crate) fn usage_failure(message: impl Into<String>, help: Option<String>) -> RunFailure {
    RunFailure {
        kind: FailureKind::Usage,
        message: redact::redact_message(&message.into()),
        help: help.map(|help| redact::redact_message(&help)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
pub(super) fn network_failure(error: NetworkError) -> RunFailure {
    let kind = match error {
        NetworkError::BadUrl { .. }
        | NetworkError::NeedsTls { .. }
        | NetworkError::BadFile { .. }
        | NetworkError::Permissions(_) => FailureKind::Usage,
        NetworkError::NotPermitted(_) => FailureKind::NotPermitted,
        _ => FailureKind::Setup,
    };
    RunFailure {
        kind,
        message: redact::redact_message(&error.to_string()),
        help: None,
    }
}

/// Help for a setup that may have missed the network.
pub(super) const OFFLINE_SETUP_HELP: &str = "with `--offline` (LOADTEST_OFFLINE) a setup reaches only targets that the scenario starts itself";

/// A run that a target ended before its load.
pub(super) fn withdrawn_failure(reason: &str) -> RunFailure {
    let message = format!("the permission to test ended before the load: {reason}");
    RunFailure {
        kind: FailureKind::Withdrawn,
        message: redact::redact_message(&message),
        help: None,
    }
}

/// The failure of an iteration that was stopped.
pub(crate) fn interrupted_failure() -> RunFailure {
    RunFailure {
        kind: FailureKind::Interrupted,
        message: "stopped before the journey was over".into(),
        help: None,
    }
}

/// The failure of a run that was stopped while it waited for its start.
pub(super) fn stopped_before_start() -> RunFailure {
    RunFailure {
        message: "stopped before the load started".into(),
        ..interrupted_failure()
    }
}

pub(crate) fn internal_failure(message: impl Into<String>) -> RunFailure {
    RunFailure {
        kind: FailureKind::Internal,
        message: redact::redact_message(&message.into()),
        help: None,
    }
}
