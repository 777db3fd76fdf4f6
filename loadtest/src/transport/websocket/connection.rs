//! A WebSocket that is open: what its user and the task that drives it share, and that task.

use super::frame::{FrameReader, Opcode, Received, random_mask, write_close, write_frame};
use super::{Agreement, MAX_MESSAGE, SocketError, deflate};
use crate::targets::Allowance;
use crate::transport::meter::MeteredStream;
use crate::transport::socket::ByteCounts;
use crate::transport::{ErrorKind, Failure};
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

/// The messages that are kept until somebody takes them; of more, no more is read.
pub(crate) const MAX_KEPT_MESSAGES: usize = 1_024;
/// The bytes of them.
pub(crate) const MAX_KEPT_BYTES: usize = 1 << 20;
/// How long the close frame of the target is waited for.
pub(crate) const CLOSING_TIME: Duration = Duration::from_secs(1);
/// The code of a connection that ended without a close frame.
const ABNORMAL: u16 = 1006;
/// The code of a close frame without one.
const NO_CODE: u16 = 1005;
/// The size of one read.
const READ_SIZE: usize = 64 * 1024;
/// The capacity that a connection retains for what it writes next.
const RETAINED_CAPACITY: usize = 1_024;
/// The reads of one turn, so that a target that sends without end leaves the thread to others.
const READS_A_TURN: usize = 16;

thread_local! {
    /// The read buffer that all connections of a thread share.
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_SIZE].into());
}

/// A connection, as its user has it. It is driven by a task, and used by one thread alone; the lock is for types that
/// may move between threads.
pub(crate) struct SocketConnection {
    agreement: Agreement,
    /// The caps of the target, where it has some.
    allowance: Option<Arc<Allowance>>,
    state: Mutex<SocketState>,
    /// Something came, was written or ended.
    changed: Notify,
}

#[derive(Default)]
struct SocketState {
    /// Frames that are to be written, of which so much is.
    outgoing: Vec<u8>,
    written: usize,
    /// Messages that nobody has taken, oldest first.
    messages: VecDeque<SocketMessage>,
    kept_bytes: usize,
    /// The number of messages that have come.
    arrived: u64,
    /// The number of the last ping, and that of the last pong, with its time.
    pings: u64,
    pong: Option<(u64, Instant)>,
    /// The code of our close frame, once it is to be written.
    closing: Option<u16>,
    ended: Option<(SocketEnd, Instant)>,
    task: Option<Waker>,
}

/// A message that came.
#[derive(Debug, Clone)]
pub(crate) struct SocketMessage {
    /// Its place among all messages of the connection.
    pub(crate) number: u64,
    pub(crate) data: Bytes,
    /// The read that completed it.
    pub(crate) at: Instant,
}

/// The end of a connection.
#[derive(Debug, Clone)]
enum SocketEnd {
    /// The target sent a close frame.
    Closed(Option<u16>, String),
    /// The connection ended without one.
    Lost(Option<io::ErrorKind>),
    /// The target did something wrong.
    Broken(SocketError),
    /// The target did not answer our close frame.
    Unanswered,
}

impl SocketConnection {
    pub(super) fn new(agreement: Agreement, allowance: Option<Arc<Allowance>>) -> Self {
        Self {
            agreement,
            allowance,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, SocketState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The protocol that the target chose.
    pub(crate) fn protocol(&self) -> Option<&str> {
        self.agreement.protocol.as_deref()
    }

    /// The caps of the target, where it has some.
    pub(crate) fn allowance(&self) -> Option<&Arc<Allowance>> {
        self.allowance.as_ref()
    }

    /// Returns whether messages can be sent.
    pub(crate) fn is_open(&self) -> bool {
        let state = self.state();
        state.ended.is_none() && state.closing.is_none()
    }

    /// Returns the failure of what needs the connection, once it has ended or is to end.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.state().failure()
    }

    /// Writes a message, and returns the number of the next one that comes.
    ///
    /// # Errors
    /// The connection has ended, or the message is too large.
    pub(crate) fn send(&self, is_text: bool, message: &[u8]) -> Result<u64, Failure> {
        let opcode = if is_text {
            Opcode::Text
        } else {
            Opcode::Binary
        };
        if message.len() > MAX_MESSAGE {
            let words = "a message of more than 16 MiB is not sent";
            return Err(Failure::new(ErrorKind::StepError, words));
        }
        let compressed = self
            .agreement
            .compresses
            .then(|| deflate::compress(message));
        let payload = compressed.as_deref().unwrap_or(message);
        let state = &mut *self.state();
        if let Some(failure) = state.failure() {
            return Err(failure);
        }
        let is_compressed = compressed.is_some();
        let out = &mut state.outgoing;
        write_frame(out, opcode, is_compressed, payload, random_mask());
        state.wake();
        Ok(state.arrived)
    }

    /// Waits until all that was sent is written.
    ///
    /// # Errors
    /// The connection has ended.
    pub(crate) async fn flushed(&self) -> Result<(), Failure> {
        self.wait(|state| state.outgoing.is_empty().then_some(Ok(())))
            .await
    }

    /// Writes a ping, and waits for its pong; returns when that came.
    ///
    /// # Errors
    /// The connection has ended.
    pub(crate) async fn ping(&self) -> Result<Instant, Failure> {
        let number = {
            let state = &mut *self.state();
            if let Some(failure) = state.failure() {
                return Err(failure);
            }
            state.pings += 1;
            let payload = state.pings.to_be_bytes();
            let out = &mut state.outgoing;
            write_frame(out, Opcode::Ping, false, &payload, random_mask());
            state.wake();
            state.pings
        };
        self.wait(|state| match state.pong {
            Some((answered, at)) if answered >= number => Some(Ok(at)),
            _ => None,
        })
        .await
    }

    /// Waits for the first message from number `from` on for which `is_wanted` holds, and takes it. `is_wanted` sees
    /// each message once.
    ///
    /// # Errors
    /// The connection has ended, or the error of `is_wanted`, which takes the message too.
    pub(crate) async fn receive<R>(
        &self,
        mut from: u64,
        mut is_wanted: impl FnMut(&SocketMessage) -> Result<Option<R>, Failure>,
    ) -> Result<(R, Instant), Failure> {
        loop {
            let changed = self.changed.notified();
            // The lock is not held while the code of the scenario looks at a message.
            while let Some(message) = self.message(from) {
                from = message.number + 1;
                let looked = is_wanted(&message).transpose();
                if let Some(wanted) = looked {
                    self.state().take(message.number);
                    return wanted.map(|wanted| (wanted, message.at));
                }
            }
            if let Some(failure) = self.failure() {
                return Err(failure);
            }
            changed.await;
        }
    }

    /// The first message from number `from` on that nobody has taken.
    fn message(&self, from: u64) -> Option<SocketMessage> {
        let state = self.state();
        let at = state.messages.partition_point(|kept| kept.number < from);
        state.messages.get(at).cloned()
    }

    /// Returns the messages that nobody has taken.
    pub(crate) fn messages(&self) -> Vec<SocketMessage> {
        self.state().messages.iter().cloned().collect()
    }

    /// Takes the message with this number.
    pub(crate) fn take(&self, number: u64) {
        self.state().take(number);
    }

    /// Returns whether so much is kept that no more is read.
    pub(crate) fn is_full(&self) -> bool {
        self.state().is_full()
    }

    /// Has the connection closed with `code`, unless it is already.
    pub(crate) fn begin_close(&self, code: u16) {
        let state = &mut *self.state();
        if state.ended.is_none() && state.closing.is_none() {
            state.closing = Some(code);
            write_close(&mut state.outgoing, code, random_mask());
            state.wake();
        }
    }

    /// Closes the connection with `code`, and waits for the close frame of the target; returns when that came.
    ///
    /// # Errors
    /// It did not come.
    pub(crate) async fn close(&self, code: u16) -> Result<Instant, Failure> {
        if !self.is_open()
            && let Some(failure) = self.failure()
        {
            return Err(failure);
        }
        self.begin_close(code);
        loop {
            let changed = self.changed.notified();
            if let Some((end, at)) = &self.state().ended {
                return match end {
                    SocketEnd::Closed(..) => Ok(*at),
                    end => Err(end.failure()),
                };
            }
            changed.await;
        }
    }

    /// Waits until `look` has found what it looks for.
    async fn wait<R>(
        &self,
        look: impl Fn(&SocketState) -> Option<Result<R, Failure>>,
    ) -> Result<R, Failure> {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state();
                if let Some(found) = look(&state) {
                    return found;
                }
                if let Some((end, _)) = &state.ended {
                    return Err(end.failure());
                }
            }
            changed.await;
        }
    }
}

impl SocketState {
    fn wake(&mut self) {
        if let Some(task) = self.task.take() {
            task.wake();
        }
    }

    fn is_full(&self) -> bool {
        self.messages.len() >= MAX_KEPT_MESSAGES || self.kept_bytes >= MAX_KEPT_BYTES
    }

    fn take(&mut self, number: u64) {
        let at = self.messages.partition_point(|kept| kept.number < number);
        if self
            .messages
            .get(at)
            .is_some_and(|kept| kept.number == number)
        {
            let was_full = self.is_full();
            if let Some(taken) = self.messages.remove(at) {
                self.kept_bytes -= taken.data.len();
            }
            if was_full && !self.is_full() {
                self.wake();
            }
        }
    }

    fn failure(&self) -> Option<Failure> {
        match (&self.ended, self.closing) {
            (Some((SocketEnd::Closed(..), _)) | None, Some(_)) => Some(Failure::new(
                ErrorKind::StepError,
                "the WebSocket was closed by this user before",
            )),
            (Some((end, _)), _) => Some(end.failure()),
            (None, None) => None,
        }
    }

    fn end(&mut self, end: SocketEnd) {
        if self.ended.is_none() {
            self.ended = Some((end, Instant::now()));
        }
    }

    /// Takes in what the target sent.
    fn receive(&mut self, received: Received, at: Instant) {
        match received {
            Received::Message { data, .. } => {
                let number = self.arrived;
                self.arrived += 1;
                // Nobody waits any more for what comes while the connection is closed.
                if self.closing.is_none() {
                    self.kept_bytes += data.len();
                    self.messages.push_back(SocketMessage { number, data, at });
                }
            }
            Received::Ping(payload) => {
                if self.closing.is_none() {
                    let out = &mut self.outgoing;
                    write_frame(out, Opcode::Pong, false, &payload, random_mask());
                }
            }
            Received::Pong(payload) => {
                if let Ok(number) = payload.as_ref().try_into() {
                    let number = u64::from_be_bytes(number);
                    if number <= self.pings {
                        self.pong = Some((number, at));
                    }
                }
            }
            Received::Close(code, reason) => {
                if self.closing.is_none() {
                    let code = code.unwrap_or(NO_CODE);
                    write_close(&mut self.outgoing, code, random_mask());
                }
                self.end(SocketEnd::Closed(code, reason));
            }
        }
    }
}

impl SocketEnd {
    fn failure(&self) -> Failure {
        let closed = |code: u16, words: &str| {
            let words = format!("the target closed the WebSocket: {code}{words}");
            Failure::new(ErrorKind::WsClosed, words)
        };
        match self {
            Self::Closed(code, reason) => {
                let code = code.unwrap_or(NO_CODE);
                let reason = crate::redact::redact(reason);
                let words = match (&*reason, close_code_name(code)) {
                    ("", None) => String::new(),
                    ("", Some(name)) => format!(" ({name})"),
                    (reason, _) => format!(", {reason}"),
                };
                closed(code, &words)
            }
            Self::Lost(error) => {
                let why = error.map_or_else(String::new, |error| format!(": {error}"));
                closed(ABNORMAL, &format!(" (without a close frame{why})"))
            }
            Self::Broken(error) => error.clone().into(),
            Self::Unanswered => Failure::new(
                ErrorKind::TimeoutEvent,
                format!("no close frame came within {CLOSING_TIME:?}"),
            ),
        }
    }
}

/// The meaning of a close code (RFC 6455, section 7.4.1).
fn close_code_name(code: u16) -> Option<&'static str> {
    Some(match code {
        1000 => "normal closure",
        1001 => "going away",
        1002 => "protocol error",
        1003 => "unsupported data",
        1005 => "no code",
        1007 => "invalid data",
        1008 => "policy violation",
        1009 => "message too big",
        1010 => "extension missing",
        1011 => "internal error",
        1012 => "service restart",
        1013 => "try again later",
        1014 => "bad gateway",
        _ => return None,
    })
}

/// The task of a connection: it reads and writes until the connection ends.
pub(super) struct SocketTask {
    io: MeteredStream,
    reader: FrameReader,
    connection: Arc<SocketConnection>,
    /// Those of all connections of the user.
    bytes: Arc<ByteCounts>,
    /// Runs out where the target does not answer our close frame.
    closing: Option<Pin<Box<Sleep>>>,
}

impl SocketTask {
    /// The task of `connection`, of which `rest` was read with the answer to its handshake.
    pub(super) fn new(
        io: MeteredStream,
        rest: &[u8],
        connection: Arc<SocketConnection>,
        bytes: Arc<ByteCounts>,
    ) -> Self {
        let mut task = Self {
            io,
            reader: FrameReader::new(connection.agreement.compresses),
            connection,
            bytes,
            closing: None,
        };
        let connection = Arc::clone(&task.connection);
        // Those bytes are counted with the handshake.
        task.take_in(&mut connection.state(), rest);
        task
    }

    /// Drives the connection until it ends.
    pub(super) async fn run(mut self) {
        poll_fn(|context| self.poll(context)).await;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let connection = Arc::clone(&self.connection);
        let mut state = connection.state();
        let before = (state.arrived, state.outgoing.len(), state.pong);
        let is_over = self.poll_connection(&mut state, context);
        let after = (state.arrived, state.outgoing.len(), state.pong);
        let is_changed = before != after || state.ended.is_some();
        if !is_over {
            match &mut state.task {
                Some(task) => task.clone_from(context.waker()),
                task => *task = Some(context.waker().clone()),
            }
        }
        drop(state);
        if is_changed {
            connection.changed.notify_waiters();
        }
        if is_over {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Writes and reads what can be, and returns whether the connection is over.
    fn poll_connection(&mut self, state: &mut SocketState, context: &mut Context<'_>) -> bool {
        self.write_out(state, context);
        let mut reads = 0;
        while state.ended.is_none() && (!state.is_full() || state.closing.is_some()) {
            if reads == READS_A_TURN {
                context.waker().wake_by_ref();
                break;
            }
            reads += 1;
            if !self.read_once(state, context) {
                break;
            }
        }
        // Pongs, and the answer to a close frame.
        self.write_out(state, context);
        if state.ended.is_none() && state.closing.is_some() {
            let closing = self
                .closing
                .get_or_insert_with(|| Box::pin(sleep(CLOSING_TIME)));
            if closing.as_mut().poll(context).is_ready() {
                state.end(SocketEnd::Unanswered);
            }
        }
        // What the target does not take of the last frames is not waited for.
        state.ended.is_some()
    }

    /// Reads once; whether something came.
    fn read_once(&mut self, state: &mut SocketState, context: &mut Context<'_>) -> bool {
        READ_BUFFER.with_borrow_mut(|pieces| {
            let mut buffer = ReadBuf::new(pieces);
            match Pin::new(&mut self.io).poll_read(context, &mut buffer) {
                Poll::Pending => return false,
                Poll::Ready(Err(error)) => {
                    state.end(SocketEnd::Lost(Some(error.kind())));
                    return false;
                }
                Poll::Ready(Ok(())) => {}
            }
            let read = buffer.filled();
            if read.is_empty() {
                state.end(SocketEnd::Lost(None));
                return false;
            }
            self.bytes.add_received(read.len());
            self.take_in(state, read);
            true
        })
    }

    fn take_in(&mut self, state: &mut SocketState, mut input: &[u8]) {
        let at = Instant::now();
        while state.ended.is_none() {
            match self.reader.read(&mut input) {
                Ok(Some(received)) => state.receive(received, at),
                Ok(None) => return,
                Err(error) => {
                    if state.closing.is_none() {
                        write_close(&mut state.outgoing, error.code, random_mask());
                    }
                    state.end(SocketEnd::Broken(error));
                }
            }
        }
    }

    /// Writes what is to be written, as far as the target takes it.
    fn write_out(&mut self, state: &mut SocketState, context: &mut Context<'_>) {
        while state.written < state.outgoing.len() {
            let rest = &state.outgoing[state.written..];
            match Pin::new(&mut self.io).poll_write(context, rest) {
                Poll::Pending => return,
                Poll::Ready(Ok(0)) => {
                    state.end(SocketEnd::Lost(Some(io::ErrorKind::WriteZero)));
                    return;
                }
                Poll::Ready(Ok(count)) => {
                    state.written += count;
                    self.bytes.add_sent(count);
                }
                Poll::Ready(Err(error)) => {
                    // The target may have sent a close frame before, which is yet to be read.
                    self.read_rest(state, context);
                    state.end(SocketEnd::Lost(Some(error.kind())));
                    return;
                }
            }
        }
        if state.written > 0 {
            state.written = 0;
            state.outgoing.clear();
            if state.outgoing.capacity() > RETAINED_CAPACITY {
                state.outgoing = Vec::new();
            }
            if let Poll::Ready(Err(error)) = Pin::new(&mut self.io).poll_flush(context) {
                state.end(SocketEnd::Lost(Some(error.kind())));
            }
        }
    }

    /// Reads what is left of a connection that cannot be written to.
    fn read_rest(&mut self, state: &mut SocketState, context: &mut Context<'_>) {
        for _ in 0..READS_A_TURN {
            if state.ended.is_some() || !self.read_once(state, context) {
                return;
            }
        }
    }
}

/// A task that is dropped with its user says goodbye, as far as that can be done at once.
impl Drop for SocketTask {
    fn drop(&mut self) {
        let connection = Arc::clone(&self.connection);
        let state = &mut *connection.state();
        if state.ended.is_none() {
            if state.closing.is_none() {
                state.closing = Some(1000);
                write_close(&mut state.outgoing, 1000, random_mask());
            }
            self.write_out(state, &mut Context::from_waker(Waker::noop()));
            state.end(SocketEnd::Lost(None));
        }
    }
}

impl fmt::Debug for SocketConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketConnection")
            .field("agreement", &self.agreement)
            .field("is_open", &self.is_open())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::meter::{MAX_HEAD, Meter, TransportStream};
    use std::net::Ipv4Addr;
    use std::rc::Rc;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::{JoinHandle, LocalSet, spawn_local};

    /// A connection, the target's end of it, and the task that drives it.
    async fn open(compresses: bool) -> (Arc<SocketConnection>, TcpStream, JoinHandle<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
        let meter = Rc::new(Meter::new(MAX_HEAD));
        let io = MeteredStream::new(TransportStream::Plain(ours.unwrap()), meter);
        let agreement = Agreement {
            protocol: None,
            compresses,
        };
        let connection = Arc::new(SocketConnection::new(agreement, None));
        let shared = Arc::clone(&connection);
        let task = SocketTask::new(io, b"", shared, Arc::default());
        (connection, theirs.unwrap().0, spawn_local(task.run()))
    }

    /// Reads a frame of the client, unmasked: its first byte and its payload.
    async fn read_frame(stream: &mut TcpStream) -> (u8, Vec<u8>) {
        let first = stream.read_u8().await.unwrap();
        let length = stream.read_u8().await.unwrap();
        assert!(length & 0x80 > 0, "a client masks");
        let mut mask = [0; 4];
        stream.read_exact(&mut mask).await.unwrap();
        let mut payload = vec![0; usize::from(length & 0x7f)];
        stream.read_exact(&mut payload).await.unwrap();
        for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
            *byte ^= mask;
        }
        (first, payload)
    }

    #[expect(clippy::unnecessary_wraps, reason = "`receive` asks so")]
    fn any(message: &SocketMessage) -> Result<Option<Bytes>, Failure> {
        Ok(Some(message.data.clone()))
    }

    async fn local<R>(test: impl Future<Output = R>) -> R {
        LocalSet::new().run_until(test).await
    }

    #[tokio::test]
    async fn pings_are_answered_while_nobody_waits() {
        local(async {
            let (_connection, mut target, _task) = open(false).await;
            target.write_all(b"\x89\x02hi").await.unwrap();
            assert_eq!(read_frame(&mut target).await, (0x8a, b"hi".to_vec()));
        })
        .await;
    }

    #[tokio::test]
    async fn a_pong_is_that_of_its_ping_or_of_a_later_one() {
        local(async {
            let (connection, mut target, _task) = open(false).await;
            let pongs = async {
                let (first, payload) = read_frame(&mut target).await;
                assert_eq!((first, payload), (0x89, 1_u64.to_be_bytes().to_vec()));
                // One that was not asked for, one of another length, and the answer.
                target
                    .write_all(b"\x8a\x08\0\0\0\0\0\0\0\x09")
                    .await
                    .unwrap();
                target.write_all(b"\x8a\x01x").await.unwrap();
                target
                    .write_all(b"\x8a\x08\0\0\0\0\0\0\0\x01")
                    .await
                    .unwrap();
            };
            let (ponged, ()) = tokio::join!(connection.ping(), pongs);
            ponged.unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn no_more_is_read_than_is_kept_until_somebody_takes_some() {
        local(async {
            let (connection, mut target, _task) = open(false).await;
            // One more than are kept, and then a message that is asked for.
            let mut frames = b"\x81\x01a".repeat(MAX_KEPT_MESSAGES);
            frames.extend_from_slice(b"\x81\x01b");
            target.write_all(&frames).await.unwrap();
            let last = connection.receive(0, |message| {
                let number = MAX_KEPT_MESSAGES as u64 - 1;
                Ok((message.number == number).then_some(()))
            });
            last.await.unwrap();
            // The one that was taken left room for one more.
            let (data, _) = connection
                .receive(MAX_KEPT_MESSAGES as u64, any)
                .await
                .unwrap();
            assert_eq!(data, "b");
            let kept = connection.messages();
            assert_eq!(kept.len(), MAX_KEPT_MESSAGES - 1);
            assert!(kept.iter().all(|message| message.data == "a"));

            let large = [b"\x82\x7f\0\0\0\0\0\x20\0\0", vec![7; 2 << 20].as_slice()].concat();
            for message in kept {
                connection.take(message.number);
            }
            let sent = async { target.write_all(&large.repeat(2)).await.unwrap() };
            let received = async {
                // However large it is, it is read where there is room.
                let (data, _) = connection.receive(0, any).await.unwrap();
                assert_eq!(data.len(), 2 << 20);
                connection.receive(0, any).await.unwrap();
            };
            tokio::join!(sent, received);
        })
        .await;
    }

    #[tokio::test]
    async fn messages_are_compressed_both_ways_where_that_was_agreed_on() {
        local(async {
            let (connection, mut target, _task) = open(true).await;
            assert_eq!(connection.send(true, b"Hello").unwrap(), 0);
            let (first, payload) = read_frame(&mut target).await;
            assert_eq!(
                (first, &*payload),
                (0xc1, b"\xf2\x48\xcd\xc9\xc9\x07\x00".as_slice())
            );
            // Compressed in two fragments, and as it is.
            let frames = b"\x41\x03\xf2\x48\xcd\x80\x04\xc9\xc9\x07\x00\x81\x02as";
            target.write_all(frames).await.unwrap();
            for wanted in ["Hello", "as"] {
                let (data, _) = connection.receive(0, any).await.unwrap();
                assert_eq!(data, wanted);
            }
        })
        .await;
    }

    #[tokio::test]
    async fn a_close_frame_is_answered_with_its_code_and_ends_the_connection() {
        local(async {
            let (connection, mut target, task) = open(false).await;
            target
                .write_all(b"\x81\x01a\x88\x02\x03\xf0\x81\x01b")
                .await
                .unwrap();
            let (first, payload) = read_frame(&mut target).await;
            assert_eq!((first, payload), (0x88, vec![3, 0xf0]));
            task.await.unwrap();
            assert_eq!(target.read(&mut [0]).await.unwrap(), 0, "it is closed");
            // What came before is still there.
            let (data, _) = connection.receive(0, any).await.unwrap();
            assert_eq!(data, "a");
            let failure = connection.receive(0, any).await.unwrap_err();
            assert_eq!(failure.kind, ErrorKind::WsClosed);
            let words = "the target closed the WebSocket: 1008 (policy violation)";
            assert_eq!(failure.message, words);
            assert_eq!(connection.send(true, b"x").unwrap_err(), failure);
            assert_eq!(connection.close(1000).await.unwrap_err(), failure);
        })
        .await;
    }

    #[tokio::test]
    async fn a_mistake_of_the_target_is_told_to_it() {
        local(async {
            let (connection, mut target, task) = open(false).await;
            target.write_all(b"\x81\x01\xff").await.unwrap();
            let (first, payload) = read_frame(&mut target).await;
            assert_eq!((first, payload), (0x88, 1007_u16.to_be_bytes().to_vec()));
            task.await.unwrap();
            let failure = connection.failure().unwrap();
            assert_eq!(failure.kind, ErrorKind::WsProtocol);
        })
        .await;
    }

    #[tokio::test]
    async fn the_close_frame_of_the_target_is_waited_for_a_second() {
        local(async {
            let (connection, mut target, _task) = open(false).await;
            let (closed, read) = tokio::join!(connection.close(3001), read_frame(&mut target));
            assert_eq!(read, (0x88, 3001_u16.to_be_bytes().to_vec()));
            let failure = closed.unwrap_err();
            assert_eq!(failure.kind, ErrorKind::TimeoutEvent);
            assert_eq!(failure.message, "no close frame came within 1s");
            assert!(!connection.is_open());
        })
        .await;
    }

    #[tokio::test]
    async fn a_connection_whose_user_ends_is_closed_with_1000() {
        local(async {
            let (connection, mut target, task) = open(false).await;
            connection.send(false, b"last").unwrap();
            task.abort();
            task.await.unwrap_err();
            assert_eq!(read_frame(&mut target).await, (0x82, b"last".to_vec()));
            let (first, payload) = read_frame(&mut target).await;
            assert_eq!((first, payload), (0x88, 1000_u16.to_be_bytes().to_vec()));
        })
        .await;
    }

    #[tokio::test]
    async fn what_is_larger_than_a_buffer_is_written_as_the_target_takes_it() {
        local(async {
            let (connection, mut target, _task) = open(false).await;
            let message = vec![7; 8 << 20];
            connection.send(false, &message).unwrap();
            let mut all = vec![0; message.len() + 14];
            let (flushed, _) = tokio::join!(connection.flushed(), target.read_exact(&mut all));
            flushed.unwrap();
            assert!(connection.state().outgoing.capacity() <= RETAINED_CAPACITY);
        })
        .await;
    }
}
