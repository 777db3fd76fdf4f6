//! HTTP/1.1 over one connection, one request at a time.
//!
//! It is driven by the task of its user, and holds no memory while it waits: what is read goes through a
//! buffer of the thread. (A connection of hyper's has a task, a channel and two buffers of its own, 35 KiB
//! in all, however little passes over it.)

#[cfg(test)]
mod beside_hyper;
mod chunks;
#[cfg(test)]
mod fuzz;
mod request_head;
mod response_head;

use super::meter::{MAX_HEAD, MeteredStream, is_peer_gone};
use super::request::OutgoingRequest;
use bytes::Bytes;
use chunks::Chunks;
use http::{HeaderMap, StatusCode, Version};
use response_head::{ParsedHead, ResponseHead, parse_head};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

/// The size of one read.
const READ_SIZE: usize = 64 * 1024;
/// The buffer capacity that a connection retains for the next response.
const RETAINED_CAPACITY: usize = 1024;
/// A body up to this size is written together with its head.
const INLINE_BODY_SIZE: usize = 16 * 1024;
/// The bytes of a head that are examined as soon as they arrive, so that anything else is noticed early.
const HEAD_PROBE_SIZE: usize = 16;

thread_local! {
    /// The read buffer that all connections of a thread share.
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_SIZE].into());
    /// The write buffer that they share.
    static WRITE_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The reason why a response is missing or incomplete.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The head is larger than it may be.
    #[error("the head is too large")]
    TooLarge,
    /// The head is none of HTTP/1.1.
    #[error("{0}")]
    Malformed(&'static str),
    /// A body in chunks has something else where a chunk should be.
    #[error("{0}")]
    Chunk(&'static str),
    /// The connection was closed.
    #[error("the connection was closed before the end")]
    Ended,
    /// The connection broke.
    #[error("{0}")]
    Broken(io::Error),
}

/// A connection.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Http1 {
    io: MeteredStream,
    /// Bytes that were read and are not consumed yet, from `used` on.
    read: Vec<u8>,
    used: usize,
    body: Body,
    /// True if another request may follow.
    is_kept: bool,
    /// True if the server sent more than was asked for.
    is_spoilt: bool,
    /// True if nothing had come when the connection was last read, so that its task is woken when something does.
    is_awaited: bool,
    /// True if all of the last answer that was read came with its head.
    is_answered_at_once: bool,
    /// The rest of a request that was answered before it was written as a whole.
    unsent: Option<Box<UnsentRequest>>,
}

/// The rest of a body.
#[derive(Debug)]
enum Body {
    /// So many bytes.
    Length(u64),
    Chunked(Chunks),
    /// All until the connection is closed.
    UntilEnd,
}

impl Body {
    fn is_over(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunks) => chunks.is_over(),
            Self::UntilEnd => false,
        }
    }

    /// Passes on what of `input` is body. How much of it that was, with all around it, and whether more
    /// is wanted.
    fn decode(
        &mut self,
        input: &[u8],
        take: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(usize, ControlFlow<()>), Error> {
        match self {
            Self::Length(left) => {
                let length = input
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= length as u64;
                Ok((length, take(&input[..length])))
            }
            Self::Chunked(chunks) => chunks.decode(input, take),
            Self::UntilEnd => Ok((input.len(), take(input))),
        }
    }
}

/// A request on its way.
#[derive(Default)]
pub(super) struct UnsentRequest {
    /// The head, and the body if that is small.
    start: Vec<u8>,
    body: Bytes,
    sent: usize,
    is_flushed: bool,
    error: Option<io::Error>,
}

impl UnsentRequest {
    fn new(outgoing: &OutgoingRequest<'_>) -> Self {
        let mut start = WRITE_BUFFER.take();
        start.clear();
        let is_chunked = request_head::encode_request_head(outgoing, &mut start);
        let mut body = outgoing.buffer.body.clone();
        if is_chunked {
            chunks::encode_chunked(&body, &mut start);
            body.clear();
        } else if body.len() <= INLINE_BODY_SIZE {
            start.extend_from_slice(&body);
            body.clear();
        }
        Self {
            start,
            body,
            sent: 0,
            is_flushed: false,
            error: None,
        }
    }

    /// The bytes that are to be written.
    pub(super) fn length(&self) -> usize {
        self.start.len() + self.body.len()
    }

    fn poll_write(&mut self, io: &mut MeteredStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let length = self.length();
        while self.sent < length {
            let io = Pin::new(&mut *io);
            let written = match self.start.get(self.sent..) {
                Some(start) if self.body.is_empty() => io.poll_write(cx, start),
                Some(start) => {
                    let both = [io::IoSlice::new(start), io::IoSlice::new(&self.body)];
                    io.poll_write_vectored(cx, &both)
                }
                None => io.poll_write(cx, &self.body[self.sent - self.start.len()..]),
            };
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
        if !self.is_flushed {
            ready!(Pin::new(io).poll_flush(cx))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for UnsentRequest {
    fn drop(&mut self) {
        // Not where the thread ends with what it held.
        if self.start.capacity() <= READ_SIZE {
            let _ = WRITE_BUFFER.try_with(|out| out.set(std::mem::take(&mut self.start)));
        }
    }
}

impl Http1 {
    pub(super) fn new(io: MeteredStream) -> Self {
        Self {
            io,
            read: Vec::new(),
            used: 0,
            body: Body::Length(0),
            is_kept: true,
            is_spoilt: false,
            is_awaited: false,
            is_answered_at_once: false,
            unsent: None,
        }
    }

    /// Returns whether another request may follow.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// The bare connection, after an answer that changed the protocol, and what was read beyond its head.
    pub(super) fn into_parts(mut self) -> (MeteredStream, Vec<u8>) {
        self.read.drain(..self.used);
        (self.io, self.read)
    }

    /// Returns whether the server sent more than was asked for. Such bytes are never part of a response.
    pub(super) fn is_spoilt(&self) -> bool {
        self.is_spoilt
    }

    fn mark_spoilt(&mut self) {
        self.is_spoilt = true;
        self.is_kept = false;
    }

    /// Returns whether the connection can take a request: it is open, and the server has sent nothing
    /// unasked.
    pub(super) fn is_idle(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.is_kept {
            return false;
        }
        match self.poll_read(cx, <[u8]>::len) {
            Poll::Pending => {
                self.is_awaited = true;
                return true;
            }
            Poll::Ready(Ok(1..)) => self.mark_spoilt(),
            Poll::Ready(_) => {}
        }
        false
    }

    /// Returns the number of body bytes that are announced.
    pub(super) fn announced(&self) -> u64 {
        match self.body {
            Body::Length(length) => length,
            Body::Chunked(_) | Body::UntilEnd => 0,
        }
    }

    /// Returns whether all that was read of the last answer came with its head.
    pub(super) fn is_answered_at_once(&self) -> bool {
        self.is_answered_at_once
    }

    /// Makes a request ready to be written.
    pub(super) fn write(&mut self, outgoing: &OutgoingRequest<'_>) -> UnsentRequest {
        self.is_kept = !request_head::asks_to_close(&outgoing.buffer.headers);
        UnsentRequest::new(outgoing)
    }

    /// Writes a request and waits for the head of its answer: status, version and `headers`. Those that say
    /// nothing to a client are left out unless `all` are wanted.
    // Not an `async fn`, which would hold the request twice, in the memory of every user.
    pub(super) fn send<'a>(
        &'a mut self,
        mut unsent: UnsentRequest,
        is_head: bool,
        all: bool,
        headers: &'a mut HeaderMap,
    ) -> impl Future<Output = Result<(StatusCode, Version), Error>> + use<'a> {
        if !headers.is_empty() {
            headers.clear();
        }
        poll_fn(move |cx| self.poll_head(cx, &mut unsent, is_head, all, headers))
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        unsent: &mut UnsentRequest,
        is_head: bool,
        all: bool,
        headers: &mut HeaderMap,
    ) -> Poll<Result<(StatusCode, Version), Error>> {
        let mut is_sent = false;
        if unsent.error.is_none() {
            match unsent.poll_write(&mut self.io, cx) {
                Poll::Ready(Ok(())) => is_sent = true,
                // What comes would be an answer without a request, unless it is an alert: with TLS 1.3 a client is refused
                // after the handshake.
                Poll::Ready(Err(error)) if unsent.sent == 0 => {
                    let error = match self.poll_fill(cx) {
                        Poll::Ready(Err(alert)) if alert.kind() == io::ErrorKind::InvalidData => {
                            alert
                        }
                        _ => error,
                    };
                    return Poll::Ready(Err(Error::Broken(error)));
                }
                // The server may have answered before it closed.
                Poll::Ready(Err(error)) => unsent.error = Some(error),
                Poll::Pending => {}
            }
        }
        // The request follows a look at the idle connection in one turn of its task.
        if std::mem::take(&mut self.is_awaited) && unsent.error.is_none() {
            return Poll::Pending;
        }
        loop {
            let before = self.read.len();
            let read = match self.poll_fill(cx) {
                Poll::Ready(Ok(1..)) => true,
                Poll::Ready(read) => {
                    return Poll::Ready(Err(match (unsent.error.take(), read) {
                        // An alert of TLS says why nothing can be written.
                        (_, Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                            Error::Broken(error)
                        }
                        (Some(error), _) | (None, Err(error)) => Error::Broken(error),
                        (None, Ok(_)) => Error::Ended,
                    }));
                }
                Poll::Pending => false,
            };
            if !read {
                return match unsent.error.take_if(|error| !is_peer_gone(error)) {
                    Some(error) => Poll::Ready(Err(Error::Broken(error))),
                    // What came before a close is yet to be seen, and so is the close.
                    None => Poll::Pending,
                };
            }
            // A head that comes byte by byte is not parsed anew for each of them.
            if before - self.used >= HEAD_PROBE_SIZE && !self.read[before..].contains(&b'\n') {
                continue;
            }
            while let Some(parsed) = parse_head(&self.read[self.used..], is_head, all, headers)? {
                match parsed {
                    ParsedHead::Interim(length) => self.used += length,
                    ParsedHead::Final(length, _) if length > MAX_HEAD => {
                        return Poll::Ready(Err(Error::TooLarge));
                    }
                    ParsedHead::Final(length, answer) => {
                        self.used += length;
                        let ResponseHead {
                            status,
                            version,
                            body,
                            is_kept,
                        } = answer;
                        self.body = body;
                        self.is_answered_at_once = true;
                        self.is_kept &= is_kept;
                        if !is_sent {
                            self.continue_sending(unsent, status);
                        }
                        // What follows a change of protocols is of the other protocol.
                        if self.body.is_over() && status != StatusCode::SWITCHING_PROTOCOLS {
                            self.end();
                        }
                        return Poll::Ready(Ok((status, version)));
                    }
                }
            }
        }
    }

    /// An answer came before all of its request was written.
    fn continue_sending(&mut self, unsent: &mut UnsentRequest, status: StatusCode) {
        let is_refused = status.is_client_error() || status.is_server_error();
        if unsent.error.is_some() || is_refused && !self.is_kept {
            // The rest is not needed (RFC 9112, section 9.5).
            self.is_kept = false;
        } else {
            // The server may want it before it says more.
            self.unsent = Some(Box::new(std::mem::take(unsent)));
        }
    }

    /// Writes on what is left of a request, while its answer is read.
    fn write_on(&mut self, cx: &mut Context<'_>) {
        if let Some(unsent) = &mut self.unsent
            && let Poll::Ready(written) = unsent.poll_write(&mut self.io, cx)
        {
            self.is_kept &= written.is_ok();
            self.unsent = None;
        }
    }

    /// Reads the body, and hands it over piece by piece; whether it came to its end.
    pub(super) async fn body(
        &mut self,
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<bool, Error> {
        if self.body.is_over() {
            return Ok(true);
        }
        poll_fn(|cx| self.poll_body(cx, &mut take)).await
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        take: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Poll<Result<bool, Error>> {
        self.write_on(cx);
        let (used, mut more) = self.body.decode(&self.read[self.used..], take)?;
        self.used += used;
        while !self.body.is_over() {
            if more.is_break() {
                return Poll::Ready(Ok(false));
            }
            self.is_answered_at_once = false;
            let mut body = std::mem::replace(&mut self.body, Body::Length(0));
            let read = self.poll_read(cx, |piece| {
                let decoded = body.decode(piece, take);
                decoded.map(|(used, more)| (piece.len(), used, more))
            });
            self.body = body;
            let (length, used, wanted) = ready!(read).map_err(Error::Broken)??;
            if length == 0 {
                if !matches!(self.body, Body::UntilEnd) {
                    return Poll::Ready(Err(Error::Ended));
                }
                self.body = Body::Length(0);
            }
            if self.body.is_over() && used < length {
                self.mark_spoilt();
            }
            more = wanted;
        }
        self.end();
        Poll::Ready(Ok(true))
    }

    /// The answer is read to its end.
    fn end(&mut self) {
        if self.used < self.read.len() {
            self.mark_spoilt();
        }
        // After a request that is cut short, the start of the next one is unknown.
        if self.unsent.take().is_some() {
            self.is_kept = false;
        }
        self.read.clear();
        self.used = 0;
        if self.read.capacity() > RETAINED_CAPACITY {
            self.read = Vec::new();
        }
    }

    /// Reads on; how much.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut read = std::mem::take(&mut self.read);
        let filled = self.poll_read(cx, |piece| {
            read.extend_from_slice(piece);
            piece.len()
        });
        self.read = read;
        filled
    }

    /// Reads once, and looks at what came; nothing at the end.
    fn poll_read<R>(
        &mut self,
        cx: &mut Context<'_>,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Poll<io::Result<R>> {
        READ_BUFFER.with_borrow_mut(|pieces| {
            let mut buffer = ReadBuf::new(pieces);
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut buffer))?;
            Poll::Ready(Ok(look(buffer.filled())))
        })
    }
}
