//! HTTP/2 specifics: where its tasks run, and what its failures mean.

use super::meter::{MAX_HEAD, Meter};
use super::{ErrorKind, Failure};
use h2::Reason;
use hyper::rt::Executor;
use std::error::Error as _;
use std::future::Future;

/// Runs the tasks of a connection on the thread of its user.
#[derive(Debug, Clone, Copy)]
pub(super) struct LocalExecutor;

impl<F: Future + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, future: F) {
        // What a task has to tell reaches the request that is under way.
        drop(tokio::task::spawn_local(async {
            future.await;
        }));
    }
}

/// The error of HTTP/2 behind that of hyper, if it is one.
pub(super) fn h2_error(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref::<h2::Error>()
}

/// Returns whether the server certainly did not process the request (RFC 9113, section 8.7).
pub(super) fn is_unprocessed(error: &h2::Error) -> bool {
    // A request that a GOAWAY includes ends otherwise: with the connection.
    error.is_remote() && (error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM))
}

/// Returns whether the server reset this request rather than the connection.
pub(super) fn is_reset(hyper: &hyper::Error) -> bool {
    h2_error(hyper).is_some_and(h2::Error::is_reset)
}

/// There is a connection, but no head of an answer came over it; `None` where the connection says more.
pub(super) fn head_failure(error: &h2::Error, meter: &Meter) -> Option<Failure> {
    let reason = error.reason()?;
    let failure = if error.is_remote() {
        let hint = if reason == Reason::HTTP_1_1_REQUIRED {
            "; it wants HTTP/1.1: write `http = 1`"
        } else {
            ""
        };
        if error.is_go_away() {
            let message = format!(
                "the server closed the connection before the head of the answer ({reason:?}){hint}"
            );
            Failure::new(ErrorKind::ClosedFresh, message)
        } else {
            let message = format!(
                "the server reset the request before the head of the answer ({reason:?}){hint}"
            );
            Failure::new(ErrorKind::ResetBeforeHead, message)
        }
    } else if error.is_reset() && meter.received_bytes() >= SMALLEST_LARGE_HEAD
        || reason == Reason::ENHANCE_YOUR_CALM
    {
        Failure::new(
            ErrorKind::HeadTooLarge,
            format!(
                "the head of the answer has more than {} KiB",
                MAX_HEAD / 1024
            ),
        )
    } else {
        Failure::new(
            ErrorKind::HeadMalformed,
            format!("the answer is not HTTP/2: {error}"),
        )
    };
    Some(failure)
}

/// A head of [`MAX_HEAD`] takes at least this: no character has a Huffman code below five bits.
const SMALLEST_LARGE_HEAD: u64 = MAX_HEAD as u64 * 5 / 8;

/// The head is there, but the body broke off; `None` where the connection says more.
pub(super) fn body_failure(error: &h2::Error) -> Option<Failure> {
    let reason = error.reason()?;
    let failure = if error.is_remote() {
        Failure::new(
            ErrorKind::ResetInBody,
            format!("the server reset the answer within the body ({reason:?})"),
        )
    } else if error.is_reset() {
        Failure::new(
            ErrorKind::BodyTruncated,
            format!("the body breaks the rules of HTTP/2, such as an announced length: {error}"),
        )
    } else {
        Failure::new(
            ErrorKind::BodyBadChunk,
            format!("the framing of the body is broken: {error}"),
        )
    };
    Some(failure)
}
