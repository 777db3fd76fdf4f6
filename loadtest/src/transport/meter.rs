//! Counts what passes over a connection, and bounds the head of an answer.

use super::deadline;
use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

/// The largest head of an answer, interim (1xx) answers before it included.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// The most that a target may send over HTTP/2 before the head of the answer is looked at: above the window of a
/// connection (5 MiB), since all that has come of the body is read before.
pub(super) const MAX_BEFORE_HTTP2_HEAD: usize = 8 * 1024 * 1024;

/// The traffic of the present request on a connection.
#[derive(Debug)]
pub(super) struct Meter {
    /// The most bytes before the head of the answer is known.
    max_before_head: u64,
    sent: Cell<u64>,
    received: Cell<u64>,
    awaits_head: Cell<bool>,
    head_too_large: Cell<bool>,
    /// True while written bytes wait for the target to take them.
    is_waiting: Cell<bool>,
    fault: Cell<Option<io::ErrorKind>>,
    /// True if what the target sent first begins as an answer in HTTP/1.
    speaks_http1: Cell<bool>,
    /// True if the target asked for a certificate of the client.
    wants_identity: Cell<bool>,
    /// The time that opening the connection took: about the way to the target and back.
    round_trip: Cell<Duration>,
    /// The bytes sent with which a large request is written; 0 where that is of no interest.
    upload_end: Cell<u64>,
    /// The time at which a large request was written.
    uploaded_at: Cell<Option<Instant>>,
    /// The time of the last answer, from which the connection rests.
    rests_since: Cell<Option<Instant>>,
}

/// A body above this size has a phase of its own. The first write takes those that are smaller.
pub(super) const LARGE_BODY: usize = 16 * 1024;

/// The beginning of an answer in HTTP/1.
const HTTP1: &[u8] = b"HTTP/1.";

impl Meter {
    /// The meter of a connection on which no more than `max_before_head` bytes come before a head is known.
    pub(super) fn new(max_before_head: usize) -> Self {
        Self {
            max_before_head: max_before_head as u64,
            sent: Cell::default(),
            received: Cell::default(),
            awaits_head: Cell::default(),
            head_too_large: Cell::default(),
            is_waiting: Cell::default(),
            fault: Cell::default(),
            speaks_http1: Cell::default(),
            wants_identity: Cell::default(),
            round_trip: Cell::default(),
            upload_end: Cell::default(),
            uploaded_at: Cell::default(),
            rests_since: Cell::default(),
        }
    }

    /// Starts counting for another request.
    pub(super) fn begin(&self) {
        self.sent.set(0);
        self.received.set(0);
        self.awaits_head.set(true);
        self.is_waiting.set(false);
        self.upload_end.set(0);
        self.uploaded_at.set(None);
    }

    /// Notes the time when so many bytes of the present request are sent.
    pub(super) fn begin_upload(&self, bytes: usize) {
        self.upload_end.set(bytes as u64);
    }

    /// The present request is written as a whole.
    #[cold]
    pub(super) fn finish_upload(&self) {
        self.upload_end.set(0);
        self.uploaded_at.set(Some(Instant::now()));
    }

    /// The time at which the present request was written, if it is a large one.
    pub(super) fn uploaded_at(&self) -> Option<Instant> {
        self.uploaded_at.get()
    }

    /// The head is there: from now on any number of bytes may come.
    pub(super) fn finish_head(&self) {
        self.awaits_head.set(false);
    }

    /// Adds bytes that passed over a connection with a meter of its own.
    pub(super) fn add(&self, sent: u64, received: u64) {
        self.sent.set(self.sent.get() + sent);
        self.received.set(self.received.get() + received);
    }

    /// Sets whether the target has yet to take written bytes.
    pub(super) fn set_waiting(&self, is_waiting: bool) {
        self.is_waiting.set(is_waiting);
    }

    /// Sets whether the target asked for a certificate of the client.
    pub(super) fn set_wants_identity(&self, wants_identity: bool) {
        self.wants_identity.set(wants_identity);
    }

    /// Returns whether the target asked for a certificate of the client.
    pub(super) fn wants_identity(&self) -> bool {
        self.wants_identity.get()
    }

    pub(super) fn set_round_trip(&self, time: Duration) {
        self.round_trip.set(time);
    }

    pub(super) fn round_trip(&self) -> Duration {
        self.round_trip.get()
    }

    /// An answer was read at `now`: until the next request the connection rests.
    pub(super) fn rest_from(&self, now: Instant) {
        self.rests_since.set(Some(now));
    }

    /// The time of the last answer, if there was one.
    pub(super) fn rests_since(&self) -> Option<Instant> {
        self.rests_since.get()
    }

    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent.get()
    }

    pub(super) fn received_bytes(&self) -> u64 {
        self.received.get()
    }

    pub(super) fn is_head_too_large(&self) -> bool {
        self.head_too_large.get()
    }

    /// Returns whether the target has not yet taken all written bytes.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting.get()
    }

    /// The first error the connection itself met, whatever was made of it since.
    pub(super) fn fault(&self) -> Option<io::ErrorKind> {
        self.fault.get()
    }

    /// Returns whether the connection ended by a reset.
    pub(super) fn is_reset(&self) -> bool {
        matches!(
            self.fault(),
            Some(
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::TimedOut
            )
        )
    }

    /// Returns true if the target speaks HTTP/1, whatever it was asked to speak.
    pub(super) fn speaks_http1(&self) -> bool {
        self.speaks_http1.get()
    }

    #[inline]
    fn note_error<T>(&self, result: &io::Result<T>) {
        let Err(error) = result else { return };
        // An alert of TLS says why the peer is gone, which a write may notice before the alert is read.
        let is_reason = error.kind() == io::ErrorKind::InvalidData;
        if is_reason || self.fault.get().is_none() {
            self.fault.set(Some(error.kind()));
        }
    }
}

/// A connection, plain or encrypted.
pub(super) enum TransportStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    #[cfg(test)]
    Memory(tokio::io::DuplexStream),
}

/// A connection with its meter.
pub(super) struct MeteredStream {
    stream: TransportStream,
    meter: Rc<Meter>,
    /// True if the end of the connection is to be seen by reading alone.
    ends_by_reading: bool,
    /// True once the peer was gone when something was written, where the end is seen by reading.
    is_unwritable: bool,
    /// The bytes that were read since there was nothing to read.
    read_at_once: usize,
}

/// The most bytes that are read before others have their turn: a target that sends as fast as it is read would else keep the
/// thread of all users of its worker, and time would stand still for them.
const MOST_AT_ONCE: usize = 256 * 1024;

/// Returns whether the peer is gone, so that reading will end too.
pub(super) fn is_peer_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
    )
}

impl MeteredStream {
    pub(super) fn new(stream: TransportStream, meter: Rc<Meter>) -> Self {
        Self {
            stream,
            meter,
            ends_by_reading: false,
            is_unwritable: false,
            read_at_once: 0,
        }
    }

    /// Has all read that the peer sent before it was gone, for a client that reads no more once it cannot write: what it
    /// writes to a peer that is gone is dropped.
    ///
    /// Over HTTP/2 there is always something to write beside requests, such as an acknowledgement. Without this the
    /// order of two packets decides whether an answer, a GOAWAY or an alert that came before the end is seen.
    pub(super) fn ending_by_reading(mut self) -> Self {
        self.ends_by_reading = true;
        self
    }

    #[inline]
    fn note_written(
        &mut self,
        poll: Poll<io::Result<usize>>,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        self.meter.is_waiting.set(poll.is_pending());
        let result = ready!(poll);
        self.meter.note_error(&result);
        match &result {
            Ok(count) => {
                let sent = self.meter.sent.get() + *count as u64;
                self.meter.sent.set(sent);
                let end = self.meter.upload_end.get();
                if end != 0 && sent >= end {
                    self.meter.finish_upload();
                }
            }
            Err(error) if self.ends_by_reading && is_peer_gone(error) => {
                self.is_unwritable = true;
                return Poll::Ready(Ok(length));
            }
            Err(_) => {}
        }
        Poll::Ready(result)
    }

    /// Passes over the failure of a peer that is gone, where reading will tell.
    fn note_flushed(&mut self, poll: Poll<io::Result<()>>) -> Poll<io::Result<()>> {
        match ready!(poll) {
            Err(error) if self.ends_by_reading && is_peer_gone(&error) => {
                self.is_unwritable = true;
                Poll::Ready(Ok(()))
            }
            result => Poll::Ready(result),
        }
    }
}

impl AsyncRead for MeteredStream {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let received = &this.meter.received;
        if this.meter.awaits_head.get() && received.get() >= this.meter.max_before_head {
            this.meter.head_too_large.set(true);
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        if this.read_at_once >= MOST_AT_ONCE {
            this.read_at_once = 0;
            return deadline::yield_turn(cx);
        }
        let before = buf.filled().len();
        let polled = match &mut this.stream {
            TransportStream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            TransportStream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
            #[cfg(test)]
            TransportStream::Memory(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        let Poll::Ready(result) = polled else {
            this.read_at_once = 0;
            return Poll::Pending;
        };
        this.read_at_once += buf.filled().len() - before;
        this.meter.note_error(&result);
        if received.get() == 0 && buf.filled()[before..].starts_with(HTTP1) {
            this.meter.speaks_http1.set(true);
        }
        received.set(received.get() + (buf.filled().len() - before) as u64);
        Poll::Ready(result)
    }
}

impl AsyncWrite for MeteredStream {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_unwritable {
            return Poll::Ready(Ok(buf.len()));
        }
        let poll = match &mut self.stream {
            TransportStream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            TransportStream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
            #[cfg(test)]
            TransportStream::Memory(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        self.note_written(poll, buf.len())
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = bufs.iter().map(|buf| buf.len()).sum();
        if self.is_unwritable {
            return Poll::Ready(Ok(length));
        }
        let poll = match &mut self.stream {
            TransportStream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            TransportStream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            #[cfg(test)]
            TransportStream::Memory(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        };
        self.note_written(poll, length)
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            TransportStream::Plain(stream) => stream.is_write_vectored(),
            TransportStream::Tls(stream) => stream.is_write_vectored(),
            #[cfg(test)]
            TransportStream::Memory(stream) => stream.is_write_vectored(),
        }
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_unwritable {
            return Poll::Ready(Ok(()));
        }
        let poll = match &mut self.stream {
            TransportStream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            TransportStream::Tls(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(test)]
            TransportStream::Memory(stream) => Pin::new(stream).poll_flush(cx),
        };
        self.meter.is_waiting.set(poll.is_pending());
        self.note_flushed(poll)
    }

    #[inline]
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_unwritable {
            return Poll::Ready(Ok(()));
        }
        match &mut self.stream {
            TransportStream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            TransportStream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(test)]
            TransportStream::Memory(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_says_more_than_the_write_that_failed_before_it() {
        let meter = Meter::new(MAX_HEAD);
        for (kind, fault) in [
            (io::ErrorKind::BrokenPipe, io::ErrorKind::BrokenPipe),
            (io::ErrorKind::InvalidData, io::ErrorKind::InvalidData),
            (io::ErrorKind::ConnectionReset, io::ErrorKind::InvalidData),
        ] {
            meter.note_error::<()>(&Err(kind.into()));
            assert_eq!(meter.fault(), Some(fault));
        }
    }
}
