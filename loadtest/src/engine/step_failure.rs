//! How operations of an async step failed, and which of them the step failed for.

use super::request_log::RequestEntries;
use crate::chain::{Error, Fault};
use crate::redact;
use crate::transport::Failure;
use crate::transport::grpc::code_of_failure;
use loadtest_model::metrics::{ErrorKind, InnerTally, is_grpc_code};
use std::time::Duration;

/// The codes that clients give to answers that they cannot read: too large, compressed otherwise, or no message.
const UNREADABLE: [u16; 3] = [11, 12, 13];

/// Why an operation failed.
pub(super) struct FailedOperation {
    pub(super) kind: ErrorKind,
    /// The status of an answer that is a failure, or the code of a WebSocket that was closed.
    pub(super) status: Option<u16>,
    pub(super) message: String,
}

impl From<&Failure> for FailedOperation {
    fn from(failure: &Failure) -> Self {
        Self {
            kind: failure.kind,
            status: failure.status_number(),
            message: failure.message.clone(),
        }
    }
}

impl FailedOperation {
    /// Returns the status of its answer, if that is the failure for every reader.
    pub(super) fn answered_status(&self) -> Option<u16> {
        self.status.filter(|status| match self.kind {
            ErrorKind::GrpcStatus => true,
            ErrorKind::Status => *status >= 400,
            _ => false,
        })
    }

    /// Counts it in its row.
    pub(super) fn tally(&self, row: &mut InnerTally, time: Duration) {
        let message = || redact::redact_message(&self.message);
        match self.answered_status() {
            Some(code) if is_grpc_code(code) => row.called(code, time, message),
            Some(status) => row.answered(status, time, message),
            None => {
                let code = self.status.filter(|_| self.kind == ErrorKind::WsClosed);
                row.unanswered(self.kind, code, message(), time);
            }
        }
    }
}

impl RequestEntries {
    /// Returns the failure of the last call whose client sees this code.
    fn failure_of_call(&self, code: u16) -> Option<&Failure> {
        let mut failed = self.failed_calls.iter();
        failed.find(|(seen, _)| *seen == code).map(|(_, it)| it)
    }

    /// Keeps the failure of a call by the code that its client sees.
    pub(super) fn keep_failed_call(&mut self, failure: &Failure) {
        let code = code_of_failure(failure);
        self.failed_calls.retain(|(seen, _)| *seen != code);
        self.failed_calls.push((code, failure.clone()));
    }

    /// Fails the last call if its client could not read the answer, and made a status with this code of that, which
    /// shows as `shown`. What is within messages, only the client knows: it leaves such an answer before its end, or
    /// misses a message in it.
    fn fail_unread_call(&mut self, code: u16, shown: &str) -> Option<Failure> {
        let last = self.finished.last_mut()?;
        let messages = last.messages?;
        let is_unread = match last.result {
            Ok(None) => UNREADABLE.contains(&code),
            Ok(Some(_)) => UNREADABLE.contains(&code) && messages.received == 0,
            Err(_) => false,
        };
        if !is_unread {
            return None;
        }
        let words = format!("the client could not read the answer: {shown}");
        let failure = Failure::new(ErrorKind::BodyDecode, words);
        last.result = Err((&failure).into());
        Some(failure)
    }

    /// Returns the failure of a step with a failed check, whose outcome was otherwise `failure`. What has a kind of
    /// its own, such as a refused connection, keeps it.
    pub(super) fn failure_of_check(&mut self, failure: Option<&Failure>) -> Option<Failure> {
        let problem = self.problem.take()?;
        match failure {
            None => Some(Failure::new(ErrorKind::StepAssert, problem)),
            Some(failure) if failure.kind == ErrorKind::StepAssert => {
                Some(Failure::new(ErrorKind::StepAssert, problem))
            }
            Some(failure) if failure.kind == ErrorKind::StepError => {
                let message = format!("{problem}: {}", failure.message);
                Some(Failure::new(ErrorKind::StepAssert, message))
            }
            Some(_) => None,
        }
    }

    /// Returns the failure of a step that returned `error`: that of the operation which the error is about,
    /// else that of the last one.
    pub(super) fn failure_for(&mut self, error: &Error) -> Failure {
        let mut words = error.to_string();
        let fault = error.fault();
        let mut last = self.failure.take();
        if let Fault::Call { code, shown } = &fault
            && let Some(failure) = self.failure_of_call(*code)
        {
            words = words.replace(shown, &failure.message);
            last = Some(failure.clone());
        } else if let Fault::Call { code, shown } = &fault
            && let Some(failure) = self.fail_unread_call(*code, shown)
        {
            return failure;
        }
        match (fault, last) {
            (Fault::Unsent, _) => Failure::new(ErrorKind::StepError, words),
            (Fault::Unanswered(kind), last)
                if last.as_ref().is_none_or(|last| last.kind.name() != kind) =>
            {
                let known = ErrorKind::from_name(kind);
                Failure::new(known.unwrap_or(ErrorKind::StepError), words)
            }
            (_, Some(mut failure)) => {
                failure.message = if words.contains(&failure.message) {
                    words
                } else {
                    format!("{words} ({})", failure.message)
                };
                failure
            }
            (Fault::Undecodable(reason), None) => Failure::new(ErrorKind::BodyDecode, reason),
            (Fault::Status(status), None) => Failure {
                status: Some(status),
                ..Failure::new(ErrorKind::Status, words)
            },
            (Fault::Unanswered(_) | Fault::Call { .. } | Fault::Other, None) => {
                Failure::new(ErrorKind::StepError, words)
            }
        }
    }
}
