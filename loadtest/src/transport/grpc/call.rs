//! One call: its head and its messages are sent, and its answer is read as its client asks for it.

use super::channel::{CallTarget, Channel, Lease};
use super::log::CallLog;
use super::messages::MessageCounter;
use super::status::{CallStatus, declared_timeout, head_failure, refuse_broken_details};
use super::upload::{BoxError, OutgoingBody, Upload};
use crate::transport::connection::ConnectionEnd;
use crate::transport::network::Network;
use crate::transport::pool::StreamPermit;
use crate::transport::progress::CallStage;
use crate::transport::request::{RUN_HEADER, USER_AGENT_VALUE, absolute_uri, parse_authority};
use crate::transport::trace::TRACEPARENT_HEADER;
use crate::transport::{ErrorKind, Failure, STOP, connection, error_mapping, http2};
use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use http::header::{HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, Response, Version, response};
use http_body::Frame;
use loadtest_model::trace::TraceParent;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

/// The longest time that a call may take: what no clock can hold is none.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A call that was answered.
pub(crate) struct OpenedCall {
    pub(crate) head: response::Parts,
    pub(crate) body: CallBody,
    /// Sends the rest of its messages, where there are some; it is to be driven.
    pub(crate) rest: Option<Pin<Box<dyn Future<Output = Option<String>>>>>,
}

/// The reason why a call was not answered.
#[derive(Debug)]
pub(crate) enum OpenCallError {
    Failed(Failure),
    /// The error of its messages.
    Body(BoxError),
}

/// The answer of a call; the default is one without messages.
#[derive(Default)]
pub(crate) struct CallBody(Option<Box<UnreadAnswer>>);

/// An answer of which there may be more.
struct UnreadAnswer {
    stream: RecvStream,
    counter: MessageCounter,
    /// True if it was waited for since the last message.
    has_waited: bool,
    /// True once there is no more but the trailers.
    is_at_trailers: bool,
    deadline: Pin<Box<Sleep>>,
    timeout: Duration,
    network: Arc<Network>,
    /// The target, in words.
    origin: String,
    /// Ends what sends the rest of the messages, when it is dropped.
    _sending: oneshot::Sender<()>,
    /// Its share in a connection of several users; given back after all else is dropped.
    _permit: Option<StreamPermit>,
}

/// A stream of the connection: what sends, and what answers.
struct CallStream {
    sending: SendStream<Bytes>,
    response: ResponseFuture,
}

impl From<Failure> for OpenCallError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl CallTarget {
    /// Sends a call with `headers`, and waits for the head of its answer, which is the end of it where the answer is a
    /// failure. The call has `timeout`, or the shorter time that its client has declared.
    ///
    /// # Errors
    /// There is no answer to a call.
    pub(crate) async fn open(
        &self,
        mut headers: HeaderMap,
        body: OutgoingBody,
        (timeout, parent): (Duration, Option<TraceParent>),
        log: &mut CallLog,
    ) -> Result<OpenedCall, OpenCallError> {
        let declared = declared_timeout(&headers).unwrap_or(MAX_TIMEOUT);
        let timeout = timeout.min(declared).min(MAX_TIMEOUT);
        let head = self.request(&mut headers, parent)?;
        if let Some(shown) = &mut log.shown {
            shown.metadata = head.headers().clone();
        }
        let upload = Upload::new(body, Arc::clone(&log.sent));
        let deadline = log.begun + timeout;
        let answered = timeout_at(deadline, self.channel.exchange(&head, upload, log)).await;
        let Ok(answered) = answered else {
            return Err(log.stage.timeout_failure(false, timeout).into());
        };
        let (response, upload, permit) = answered?;
        let (mut head, stream) = response.into_parts();
        refuse_broken_details(&mut head.headers);
        log.head(head.status, &head.headers);
        let channel = &self.channel;
        heed_stop(&head.headers, &channel.network, &channel.origin.to_string());
        if let Some(status) = CallStatus::from_headers(&head.headers) {
            log.finish(status.into_result());
        } else if let Some(failure) = head_failure(head.status, &head.headers) {
            log.finish(Err(failure.clone()));
            if failure.kind != ErrorKind::Status {
                return Err(failure.into());
            }
        }
        if log.end.is_some() {
            return Ok(OpenedCall {
                head,
                body: CallBody::default(),
                rest: None,
            });
        }
        let (sending, over) = oneshot::channel();
        let rest = upload.map(|(upload, stream)| Box::pin(upload.send_rest(stream, over)) as _);
        let body = UnreadAnswer {
            stream,
            counter: MessageCounter::default(),
            has_waited: true,
            is_at_trailers: false,
            deadline: Box::pin(sleep_until(deadline)),
            timeout,
            network: Arc::clone(&channel.network),
            origin: channel.origin.to_string(),
            _sending: sending,
            _permit: permit,
        };
        Ok(OpenedCall {
            head,
            body: CallBody(Some(Box::new(body))),
            rest,
        })
    }

    /// The request of a call with `headers`, joined with what all calls say.
    fn request(
        &self,
        headers: &mut HeaderMap,
        parent: Option<TraceParent>,
    ) -> Result<Request<()>, Failure> {
        let channel = &*self.channel;
        let authority = match headers.remove(HOST) {
            Some(host) => parse_authority(&host)?,
            None => channel.authority.clone(),
        };
        headers.entry(USER_AGENT).or_insert(USER_AGENT_VALUE);
        let run_id = &channel.network.run_id;
        headers.entry(RUN_HEADER).or_insert_with(|| run_id.clone());
        let parent = parent.and_then(|parent| HeaderValue::from_bytes(&parent.to_header()).ok());
        if let Some(parent) = parent {
            headers.entry(&TRACEPARENT_HEADER).or_insert(parent);
        }
        let mut request = Request::new(());
        *request.method_mut() = http::Method::POST;
        *request.version_mut() = Version::HTTP_2;
        let is_tls = channel.origin.scheme.is_tls();
        *request.uri_mut() = absolute_uri(is_tls, authority, self.path.clone())?;
        *request.headers_mut() = std::mem::take(headers);
        Ok(request)
    }
}

/// A head, what is still to be sent, and the share in a connection of several users.
type Answered = (
    Response<RecvStream>,
    Option<(Upload, SendStream<Bytes>)>,
    Option<StreamPermit>,
);

impl Channel {
    /// Sends a call over the connection, and again where the target has not looked at it.
    async fn exchange(
        &self,
        head: &Request<()>,
        mut upload: Upload,
        log: &mut CallLog,
    ) -> Result<Answered, OpenCallError> {
        let mut repeated = 0;
        loop {
            let mut lease = self.lease(log).await?;
            log.usable_at = Instant::now();
            log.stage = CallStage::Head;
            let began = lease.sender.send_request(head.clone(), false);
            let answered = match began {
                Ok((response, sending)) => {
                    log.requests += 1;
                    let stream = CallStream { sending, response };
                    stream.read_head(&mut upload).await?
                }
                Err(error) => Err(error),
            };
            match answered {
                Ok((response, is_sent, stream)) => {
                    upload.forget();
                    lease.meter.rest_from(Instant::now());
                    let rest = (!is_sent).then_some((upload, stream));
                    return Ok((response, rest, lease.permit.take()));
                }
                Err(error) => {
                    let most = if http2::is_refused(&error) {
                        http2::MAX_REFUSALS
                    } else {
                        u32::from(lease.is_reused && http2::is_unprocessed(&error))
                    };
                    if repeated >= most || !upload.rewind() {
                        return Err(unanswered(error, &lease, log.usable_at).into());
                    }
                    drop(lease);
                    http2::pause_after_refusals(repeated).await;
                    repeated += 1;
                }
            }
        }
    }
}

impl CallStream {
    /// Sends the messages that are there, and waits for the head of the answer; whether all are sent.
    async fn read_head(
        mut self,
        upload: &mut Upload,
    ) -> Result<Result<(Response<RecvStream>, bool, SendStream<Bytes>), h2::Error>, OpenCallError>
    {
        let mut is_sent = false;
        let answered = poll_fn(|cx| {
            if !is_sent {
                match upload.poll_send(&mut self.sending, cx) {
                    Poll::Ready(Ok(())) => is_sent = true,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(OpenCallError::Body(error))),
                    Poll::Pending => {}
                }
            }
            Pin::new(&mut self.response).poll(cx).map(Ok)
        });
        let answered = answered.await;
        if answered.is_err() {
            self.sending.send_reset(Reason::CANCEL);
        }
        Ok(answered?.map(|response| (response, is_sent, self.sending)))
    }
}

/// The failure of a call to which there is no head of an answer.
fn unanswered(error: h2::Error, lease: &Lease, begun: Instant) -> Failure {
    let meter = &lease.meter;
    if meter.speaks_http1() {
        return Failure::new(
            ErrorKind::HeadMalformed,
            "the answer is not HTTP/2, which gRPC needs: the target speaks HTTP/1.1",
        );
    }
    if let Some(failure) = http2::unclear_head_failure(&error) {
        return failure;
    }
    let error = connection::Error::Http2(error);
    let end = ConnectionEnd::judge(meter, lease.is_reused, begun, false);
    error_mapping::head_failure(&error, meter, end)
}

/// Ends the permission to send where the target asks for it.
fn heed_stop(headers: &HeaderMap, network: &Network, origin: &str) {
    if headers.contains_key(STOP) {
        network.halt(format!(
            "{origin} asked for it by `loadtest-stop` in the metadata of a call"
        ));
    }
}

impl CallBody {
    /// Returns whether no message has come in part, and more may come.
    pub(crate) fn is_between_messages(&self) -> bool {
        let answer = self.0.as_ref();
        answer.is_some_and(|answer| !answer.counter.is_within())
    }

    /// The next part of the answer, messages and then trailers; `None` after the last, when `log` says how the call
    /// ended.
    ///
    /// # Errors
    /// The failure of the call.
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
        log: &mut CallLog,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let Some(answer) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let polled = answer.poll_part(cx, log);
        if log.end.is_some() {
            self.0 = None;
        }
        polled.map(Some)
    }
}

impl UnreadAnswer {
    fn poll_part(
        &mut self,
        cx: &mut Context<'_>,
        log: &mut CallLog,
    ) -> Poll<Result<Frame<Bytes>, Failure>> {
        let polled = match self.poll_stream(cx, log) {
            // Not even a stream that always has more goes on for longer.
            Poll::Ready(Ok(_)) if log.end.is_none() && self.deadline.is_elapsed() => {
                Poll::Ready(Err(log.stage.timeout_failure(false, self.timeout)))
            }
            Poll::Pending => {
                self.has_waited = true;
                if self.deadline.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                Poll::Ready(Err(log.stage.timeout_failure(false, self.timeout)))
            }
            polled @ Poll::Ready(_) => polled,
        };
        if let Poll::Ready(Err(failure)) = &polled {
            log.finish(Err(failure.clone()));
        }
        polled
    }

    fn poll_stream(
        &mut self,
        cx: &mut Context<'_>,
        log: &mut CallLog,
    ) -> Poll<Result<Frame<Bytes>, Failure>> {
        if !self.is_at_trailers {
            match std::task::ready!(self.stream.poll_data(cx)) {
                Some(Ok(data)) => {
                    let released = self.stream.flow_control().release_capacity(data.len());
                    released.map_err(|error| broken(&error))?;
                    let has_waited = &mut self.has_waited;
                    self.counter.push(&data, |length| {
                        log.receive(length, !std::mem::take(has_waited));
                    });
                    return Poll::Ready(Ok(Frame::data(data)));
                }
                Some(Err(error)) => return Poll::Ready(Err(broken(&error))),
                None => self.is_at_trailers = true,
            }
        }
        let mut trailers = match std::task::ready!(self.stream.poll_trailers(cx)) {
            Ok(trailers) => trailers.unwrap_or_default(),
            Err(error) => return Poll::Ready(Err(broken(&error))),
        };
        refuse_broken_details(&mut trailers);
        heed_stop(&trailers, &self.network, &self.origin);
        if let Some(shown) = &mut log.shown {
            shown.trailers = Some(trailers.clone());
        }
        let Some(status) = CallStatus::from_headers(&trailers) else {
            let within = if self.counter.is_within() {
                "within a message, and "
            } else {
                ""
            };
            let words = format!("the answer ended {within}without the status of the call");
            return Poll::Ready(Err(Failure::new(ErrorKind::BodyTruncated, words)));
        };
        if status.code == 0 && self.counter.is_within() {
            let words = "the answer ended within a message, though the status of the call is OK";
            return Poll::Ready(Err(Failure::new(ErrorKind::BodyTruncated, words)));
        }
        log.finish(status.into_result());
        Poll::Ready(Ok(Frame::trailers(trailers)))
    }
}

/// The failure of an answer that broke off.
fn broken(error: &h2::Error) -> Failure {
    // How the connection ended says nothing: a server that closes it resets it where something is left unread.
    http2::body_failure(error).unwrap_or_else(|| {
        Failure::new(
            ErrorKind::BodyTruncated,
            "the connection was closed before the status of the call",
        )
    })
}

impl fmt::Debug for CallBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBody")
            .field("is_over", &self.0.is_none())
            .finish()
    }
}
