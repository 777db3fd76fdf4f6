//! HTTP/2 over one connection, one request at a time.
//!
//! It is driven by the task of its user, as [HTTP/1.1](super::http1) is: no task and no channel stand between a
//! request and its connection. So a connection at rest answers nothing, such as a `PING`, before the next request.

#[cfg(test)]
mod beside_hyper;

use super::connection::ConnectionEnd;
use super::meter::{MAX_HEAD, Meter, MeteredStream};
use super::{ErrorKind, Failure};
use bytes::Bytes;
use h2::client::{Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Request, StatusCode, Version};
use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

/// What a server may send of one body before more is asked for.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
/// What it may send of all that it sends.
const CONNECTION_WINDOW: u32 = 5 * 1024 * 1024;

/// A connection.
pub(super) struct Http2 {
    connection: Connection<MeteredStream, Bytes>,
    sender: SendRequest<Bytes>,
    /// True once the connection has ended.
    is_over: bool,
    /// The request whose answer is to come.
    response: Option<ResponseFuture>,
    /// Its body, while that is on its way.
    request_body: Option<SendStream<Bytes>>,
    /// The body that is to be read, or that of the last answer.
    body: Option<RecvStream>,
    /// Its announced length.
    announced: u64,
}

impl Http2 {
    /// Begins a connection, over which no more than `most` requests are sent before the target says how many it takes;
    /// nothing is written before the first one.
    pub(super) async fn open(io: MeteredStream, most: usize) -> Result<Self, h2::Error> {
        let (sender, connection) = h2::client::Builder::new()
            .enable_push(false)
            .initial_max_send_streams(most)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(MAX_HEAD as u32)
            .handshake(io)
            .await?;
        Ok(Self {
            connection,
            sender,
            is_over: false,
            response: None,
            request_body: None,
            body: None,
            announced: 0,
        })
    }

    /// Returns the connection, which is to be driven, and what sends over it.
    pub(super) fn into_parts(self) -> (Connection<MeteredStream, Bytes>, SendRequest<Bytes>) {
        (self.connection, self.sender)
    }

    /// Reads and writes what can be read and written; an error ends the connection.
    fn drive(&mut self, cx: &mut Context<'_>) -> Result<(), h2::Error> {
        if !self.is_over
            && let Poll::Ready(ended) = Pin::new(&mut self.connection).poll(cx)
        {
            self.is_over = true;
            return ended;
        }
        Ok(())
    }

    /// Returns whether the connection can take a request: it is open, and may begin a stream.
    pub(super) fn is_idle(&mut self) -> bool {
        // Who sends is woken by what comes then, and by nothing before.
        let cx = &mut Context::from_waker(Waker::noop());
        let driven = self.drive(cx);
        self.request_body = None;
        self.body = None;
        driven.is_ok() && !self.is_over && matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(())))
    }

    /// Begins a request, which is written with the [head](Self::read_head) of its answer awaited.
    pub(super) fn write(&mut self, head: Request<()>, body: Bytes) -> Result<(), h2::Error> {
        let (response, mut stream) = self.sender.send_request(head, body.is_empty())?;
        if !body.is_empty() {
            stream.send_data(body, true)?;
            self.request_body = Some(stream);
        }
        self.response = Some(response);
        Ok(())
    }

    /// Writes the request and waits for the head of its answer: status, version and `headers`.
    pub(super) fn read_head<'a>(
        &'a mut self,
        headers: &'a mut HeaderMap,
    ) -> impl Future<Output = Result<(StatusCode, Version), h2::Error>> + use<'a> {
        poll_fn(move |cx| {
            let driven = self.drive(cx);
            let Some(response) = &mut self.response else {
                unreachable!("a head is read after a request was written")
            };
            // What wakes this task is the connection, which hands over all that came.
            let cx = &mut Context::from_waker(Waker::noop());
            match Pin::new(response).poll(cx) {
                Poll::Pending if !self.is_over => Poll::Pending,
                Poll::Pending => Poll::Ready(Err(ended_without_answer(driven))),
                Poll::Ready(answer) => {
                    self.response = None;
                    let (mut head, body) = answer?.into_parts();
                    std::mem::swap(headers, &mut head.headers);
                    self.announced = announced_length(headers);
                    self.body = Some(body);
                    Poll::Ready(Ok((head.status, head.version)))
                }
            }
        })
    }

    /// Returns the number of body bytes that are announced.
    pub(super) fn announced(&self) -> u64 {
        self.announced
    }

    /// Reads the body, and hands it over piece by piece; whether it came to its end. Trailers are passed over.
    pub(super) async fn read_body(
        &mut self,
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<bool, h2::Error> {
        poll_fn(|cx| self.poll_body(cx, &mut take)).await
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        take: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Poll<Result<bool, h2::Error>> {
        if let Poll::Ready(read) = self.poll_arrived(take) {
            return Poll::Ready(read);
        }
        let driven = self.drive(cx);
        match self.poll_arrived(take) {
            Poll::Pending if self.is_over => Poll::Ready(Err(ended_without_answer(driven))),
            polled => polled,
        }
    }

    /// Hands over what has arrived of the body.
    fn poll_arrived(
        &mut self,
        take: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Poll<Result<bool, h2::Error>> {
        let cx = &mut Context::from_waker(Waker::noop());
        poll_data(self.body.as_mut(), cx, take)
    }
}

/// Hands over what is there of a body; whether it came to its end.
pub(super) fn poll_data(
    body: Option<&mut RecvStream>,
    cx: &mut Context<'_>,
    take: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Poll<Result<bool, h2::Error>> {
    let Some(body) = body else {
        return Poll::Ready(Ok(true));
    };
    while !body.is_end_stream() {
        let Some(data) = ready!(body.poll_data(cx)) else {
            break;
        };
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        if take(&data).is_break() {
            return Poll::Ready(Ok(false));
        }
    }
    Poll::Ready(Ok(true))
}

/// The length of a body in frames of the usual size. The head of its request comes on top.
pub(super) fn framed_length(body: usize) -> usize {
    const FRAME: usize = 16 * 1024;
    const FRAME_HEAD: usize = 9;
    body + body / FRAME * FRAME_HEAD
}

/// The length that the head of an answer announces; 0 where it says none.
pub(super) fn announced_length(headers: &HeaderMap) -> u64 {
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or(0)
}

/// The error of a connection that ended while an answer was to come.
fn ended_without_answer(driven: Result<(), h2::Error>) -> h2::Error {
    driven.err().unwrap_or_else(|| Reason::NO_ERROR.into())
}

/// Returns whether the server certainly did not process the request (RFC 9113, section 8.7).
pub(super) fn is_unprocessed(error: &h2::Error) -> bool {
    // A request that a GOAWAY includes ends otherwise: with the connection.
    error.is_remote() && (error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM))
}

/// Returns whether the target refused the request since it has enough of them, although it said that it takes more.
pub(super) fn is_refused(error: &h2::Error) -> bool {
    is_unprocessed(error) && error.is_reset()
}

/// How often a request is sent again that was refused over a connection with others on it: as often as Go's client does.
pub(super) const MAX_REFUSALS: u32 = 6;

/// Waits before a request is sent again that was refused so often before: not at first, then longer and longer.
pub(super) async fn pause_after_refusals(count: u32) {
    if count > 0 {
        tokio::time::sleep(Duration::from_millis(5) * 2_u32.pow(count)).await;
    }
}

/// Returns whether the request itself was at fault, such as by a header that HTTP/2 forbids; then nothing was sent.
pub(super) fn is_invalid_request(error: &h2::Error) -> bool {
    !error.is_io() && error.reason().is_none()
}

/// The failure of an answer that h2 refused on a connection with other answers on it: of what size its head was, nobody
/// knows.
pub(super) fn unclear_head_failure(error: &h2::Error) -> Option<Failure> {
    (error.is_reset() && error.is_library()).then(|| {
        let words = format!("the answer is not HTTP/2, or its head is too large: {error}");
        Failure::new(ErrorKind::HeadMalformed, words)
    })
}

/// There is a connection, but no head of an answer came over it; `None` where the connection says more.
pub(super) fn head_failure(
    error: &h2::Error,
    meter: &Meter,
    end: ConnectionEnd,
) -> Option<Failure> {
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
            // It says that the request was not begun.
            let kind = if end == ConnectionEnd::New {
                ErrorKind::ClosedFresh
            } else {
                ErrorKind::ClosedReused
            };
            Failure::new(kind, message)
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
