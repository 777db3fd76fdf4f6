//! What gRPC clients send their calls over. No I/O here: the transport sends, and the engine measures.

use super::current_sender::current_sender;
use super::{Local, MeasureError, StepSender};
use crate::targets::RequestPass;
use crate::transport::grpc::{
    BoxError, CallBody, CallLog, CallTarget, OpenCallError, OpenedCall, failure_trailers,
    ok_trailers,
};
use crate::transport::{ErrorKind, Failure, silence};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use loadtest_model::metrics::grpc_code_name;
use loadtest_model::trace::TraceParent;
use std::error::Error as StdError;
use std::fmt::{self, Write as _};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// What gRPC clients send their calls over, as [`Http::grpc`](super::Http::grpc) returns it: a [`tower_service::Service`],
/// which every client that `tonic` generates takes, and every other one for `http` requests.
///
/// Calls go over an HTTP/2 connection of the virtual user's own, whatever `http = ..` says; those that are under way at
/// once share it. A path is joined to the base of the scenario; an origin that the client sets itself is put to the guard
/// as everywhere. The headers of the scenario are sent as metadata.
///
/// A call is measured from the moment it is sent to its status, within the `timeout` of the step or the shorter one that
/// its client has set. It counts in the row of its path. Another status than `OK` fails the row with `grpc.status`, and
/// fails the step where `?` hands it on.
#[derive(Clone)]
pub struct Grpc {
    /// The headers that a call gets unless it sets them.
    defaults: Arc<[(HeaderName, HeaderValue)]>,
}

/// The answer of a call, as [`Grpc`] hands it over: a stream of messages, then the trailers.
///
/// Dropping it before its end gives the call up, which is no failure once the head of the answer was there.
#[derive(Default)]
pub struct GrpcBody {
    body: CallBody,
    call: Option<Box<MeasuredCall>>,
}

/// A call that may be sent.
pub(crate) struct BegunCall {
    pub(crate) number: u64,
    pub(crate) target: CallTarget,
    pub(crate) timeout: Duration,
    /// The trace that it carries.
    pub(crate) parent: Option<TraceParent>,
    /// True if somebody watches.
    pub(crate) is_watched: bool,
    pub(crate) pass: Option<RequestPass>,
}

/// The reason why a call may not be sent.
#[derive(Debug)]
pub(crate) enum CallRefusal {
    /// The load is over, and the step is dropped.
    CutOff,
    Failed(Failure),
}

/// A call under way, which counts once it is over or dropped.
struct MeasuredCall {
    number: u64,
    log: CallLog,
    /// Its share in the calls that may be under way.
    pass: Option<RequestPass>,
}

impl Grpc {
    pub(super) fn new(defaults: &[(HeaderName, HeaderValue)]) -> Self {
        Self {
            defaults: defaults.into(),
        }
    }

    /// The metadata of a call: what its client says, and what the scenario says besides.
    fn metadata(&self, mut own: HeaderMap) -> HeaderMap {
        let mut added = HeaderMap::new();
        for (name, value) in &*self.defaults {
            if !own.contains_key(name) && *name != CONTENT_TYPE && *name != TE {
                added.append(name, value.clone());
            }
        }
        own.extend(added);
        own
    }
}

impl<B> tower_service::Service<Request<B>> for Grpc
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<GrpcBody>;
    type Error = BoxError;
    type Future = Local<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (head, body) = request.into_parts();
        let metadata = self.metadata(head.headers);
        let body = Box::pin(body.map_err(Into::into));
        Box::pin(call(head.uri, metadata, body))
    }
}

/// Sends a call, and waits for the head of its answer.
async fn call(
    uri: Uri,
    metadata: HeaderMap,
    body: crate::transport::grpc::OutgoingBody,
) -> Result<Response<GrpcBody>, BoxError> {
    let Some(sender) = current_sender() else {
        let words = "a gRPC client can only be used in its `async` step";
        return Err(call_error(Failure::new(ErrorKind::StepError, words)));
    };
    let begun = sender.begin_call(&uri);
    // It belongs to the step, which may be gone before its call is.
    drop(sender);
    let begun = match begun {
        Ok(begun) => begun,
        Err(CallRefusal::Failed(failure)) => return Ok(failed_answer(&failure)),
        Err(CallRefusal::CutOff) => std::future::pending().await,
    };
    let mut call = Box::new(MeasuredCall {
        number: begun.number,
        log: CallLog::new(begun.is_watched),
        pass: begun.pass,
    });
    let log = &mut call.log;
    let limits = (begun.timeout, begun.parent);
    let opened = begun.target.open(metadata, body, limits, log).await;
    let OpenedCall { head, body, rest } = match opened {
        Ok(opened) => opened,
        Err(OpenCallError::Failed(failure)) => {
            log.finish(Err(failure.clone()));
            return Ok(failed_answer(&failure));
        }
        Err(OpenCallError::Body(error)) => {
            let words = format!("the call could not be sent: {error}");
            log.finish(Err(Failure::new(ErrorKind::StepError, words)));
            return Err(error);
        }
    };
    if let (Some(rest), Some(sender)) = (rest, current_sender()) {
        sender.drive(rest);
    }
    let call = call.log.end.is_none().then_some(call);
    Ok(Response::from_parts(head, GrpcBody { body, call }))
}

/// The error of a call that no step sends.
fn call_error(failure: Failure) -> BoxError {
    MeasureError::from(failure).into()
}

/// An answer without messages, as a target gives it that refuses a call: of other errors a client knows no code. What the
/// call counts as is up to its log.
fn failed_answer(failure: &Failure) -> Response<GrpcBody> {
    let mut answer = Response::new(GrpcBody::default());
    *answer.headers_mut() = failure_trailers(failure);
    let content_type = HeaderValue::from_static("application/grpc");
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

/// Counts the call in the step that has the thread.
impl Drop for MeasuredCall {
    fn drop(&mut self) {
        self.pass = None;
        if let Some(sender) = current_sender() {
            sender.end_call(self.number, &mut self.log);
        }
    }
}

impl Body for GrpcBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { body, call } = &mut *self;
        let Some(measured) = call else {
            return Poll::Ready(None);
        };
        let has_messages = !measured.log.arrivals.is_empty();
        let is_over = |sender: Rc<dyn StepSender>| {
            let ended = sender.poll_stream_end(measured.number, has_messages, cx);
            ended.is_ready()
        };
        if body.is_between_messages() && current_sender().is_some_and(is_over) {
            if !has_messages {
                // In a journey that is only tried: one that brought nothing is no success.
                let failure = silence(measured.log.begun.elapsed());
                measured.log.finish(Err(failure.clone()));
                (*body, *call) = (CallBody::default(), None);
                return Poll::Ready(Some(Ok(Frame::trailers(failure_trailers(&failure)))));
            }
            // As if the target had ended it: the step goes on, and the call counts as one that was left.
            *body = CallBody::default();
            *call = None;
            return Poll::Ready(Some(Ok(Frame::trailers(ok_trailers()))));
        }
        let polled = body.poll_frame(cx, &mut measured.log);
        if measured.log.end.is_some() {
            *call = None;
        }
        polled.map(|part| {
            part.map(|part| part.or_else(|failure| Ok(Frame::trailers(failure_trailers(&failure)))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.call.is_none()
    }
}

impl fmt::Debug for Grpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grpc").finish_non_exhaustive()
    }
}

impl fmt::Debug for GrpcBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcBody")
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

/// Returns the code of an error that is the status of a call, as `tonic` has it. Which version it is of, nobody knows,
/// but all write its name first: `Status { code: NotFound, ..`.
pub(super) fn call_code(error: &dyn StdError) -> Option<u16> {
    let mut start = Start(String::new());
    // Stops where there is enough.
    let _ = write!(start, "{error:?}");
    let name = start.0.strip_prefix("Status { code: ")?;
    let name = name.split([',', ' ']).next()?;
    (0..=16).find(|code| grpc_code_name(*code).is_some_and(|known| is_same_name(known, name)))
}

/// Returns whether `NOT_FOUND` and `NotFound` are the same.
fn is_same_name(constant: &str, variant: &str) -> bool {
    let letters = constant.bytes().filter(|byte| *byte != b'_');
    letters.eq(variant.bytes().map(|byte| byte.to_ascii_uppercase()))
}

/// The start of a text.
struct Start(String);

/// More than the longest name of a code takes.
const START: usize = 64;

impl fmt::Write for Start {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() > START {
            return Err(fmt::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statuses_of_clients_are_known_by_their_codes() {
        for (status, code) in [
            (tonic::Status::not_found("no such cart"), Some(5)),
            (tonic::Status::unauthenticated("x".repeat(100)), Some(16)),
            (tonic::Status::ok(""), Some(0)),
        ] {
            assert_eq!(call_code(&status), code);
        }
        assert_eq!(call_code(&fmt::Error), None);
    }
}
