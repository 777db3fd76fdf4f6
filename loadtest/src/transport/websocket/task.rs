//! The task of a WebSocket: it reads and writes until the connection ends.

use super::background::Background;
use super::connection::{CLOSING_TIME, SocketConnection, SocketEnd, SocketState};
use super::counts::count_opened;
use super::frame::{FrameReader, Received};
use crate::transport::meter::MeteredStream;
use crate::transport::socket::ByteCounts;
use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

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

/// Reads and writes what passes over a connection.
pub(super) struct SocketTask {
    io: MeteredStream,
    reader: FrameReader,
    background: Option<Box<Background>>,
    connection: Arc<SocketConnection>,
    /// Those of all connections of the user.
    bytes: Arc<ByteCounts>,
    /// Runs out where the target does not answer our close frame, or does not close the connection.
    closing: Option<Pin<Box<Sleep>>>,
}

impl SocketTask {
    /// The task of `connection`, of which `rest` was read with the answer to its handshake.
    pub(super) fn new(
        io: MeteredStream,
        rest: &[u8],
        background: Option<Box<Background>>,
        connection: Arc<SocketConnection>,
        bytes: Arc<ByteCounts>,
    ) -> Self {
        let mut task = Self {
            io,
            reader: FrameReader::new(connection.agreement.compresses),
            background,
            connection,
            bytes,
            closing: None,
        };
        count_opened();
        let connection = Arc::clone(&task.connection);
        // Those bytes are counted with the handshake.
        task.take_in(&mut connection.state(), rest);
        task
    }

    /// Writes and reads what can be, and returns whether the connection is over.
    fn poll_connection(&mut self, state: &mut SocketState, context: &mut Context<'_>) -> bool {
        if let Some(background) = &mut self.background {
            background.poll_heartbeat(state, context);
        }
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
        // Pongs, replies, and the answer to a close frame.
        self.write_out(state, context);
        if state.ended.is_none() && state.closing.is_some() {
            let closing = self
                .closing
                .get_or_insert_with(|| Box::pin(sleep(CLOSING_TIME)));
            if closing.as_mut().poll(context).is_ready() {
                state.end(SocketEnd::Unanswered);
            }
        }
        match state.ended.as_deref() {
            None => false,
            Some((SocketEnd::Closed(..), _)) => self.is_left_by_target(context),
            // What the target does not take of the last frames is not waited for.
            Some(_) => true,
        }
    }

    /// Waits for the target to close the connection first, after both have said goodbye (RFC 6455, section 7.1.1): then
    /// its port is free, and it saw a clean end.
    fn is_left_by_target(&mut self, context: &mut Context<'_>) -> bool {
        let patience = (self.closing).get_or_insert_with(|| Box::pin(sleep(CLOSING_TIME)));
        if patience.as_mut().poll(context).is_ready() {
            return true;
        }
        for _ in 0..READS_A_TURN {
            let read = READ_BUFFER.with_borrow_mut(|pieces| {
                let mut buffer = ReadBuf::new(pieces);
                let read = Pin::new(&mut self.io).poll_read(context, &mut buffer);
                read.map_ok(|()| buffer.filled().len())
            });
            match read {
                Poll::Pending => return false,
                Poll::Ready(Err(_) | Ok(0)) => return true,
                // Nothing counts after a close frame.
                Poll::Ready(Ok(_)) => {}
            }
        }
        context.waker().wake_by_ref();
        false
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
                Ok(Some(received)) => self.receive(state, received, at),
                Ok(None) => return,
                Err(error) => {
                    if state.closing.is_none() {
                        state.write_close(error.code);
                    }
                    state.end(SocketEnd::Broken(error));
                }
            }
        }
    }

    fn receive(&mut self, state: &mut SocketState, received: Received, at: Instant) {
        match (received, &mut self.background) {
            (
                Received::Message {
                    is_text: true,
                    data,
                },
                Some(background),
            ) if background.takes(&data) => {
                state.receive_in_background(&data, at);
                background.reply(state, &data);
            }
            (received, _) => state.receive(received, at),
        }
    }

    /// Writes what is to be written, as far as the target takes it.
    fn write_out(&mut self, state: &mut SocketState, context: &mut Context<'_>) {
        while state.written < state.outgoing.len() {
            let rest = &state.outgoing[state.written..];
            match Pin::new(&mut self.io).poll_write(context, rest) {
                Poll::Pending => return state.forget_written(),
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
            state.append().clear();
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

/// Drives the connection until it ends.
impl Future for SocketTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
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
}

/// A task that is dropped with its user says goodbye, as far as that can be done at once.
impl Drop for SocketTask {
    fn drop(&mut self) {
        let connection = Arc::clone(&self.connection);
        let state = &mut *connection.state();
        if state.ended.is_none() {
            if state.closing.is_none() {
                state.closing = Some(1000);
                state.write_close(1000);
            }
            self.write_out(state, &mut Context::from_waker(Waker::noop()));
            state.end(SocketEnd::Lost(None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::meter::{MAX_HEAD, Meter, TransportStream};
    use crate::transport::websocket::Agreement;
    use crate::transport::websocket::connection::{MAX_KEPT_MESSAGES, SocketMessage};
    use crate::transport::{ErrorKind, Failure};
    use bytes::Bytes;
    use loadtest_model::definition::{AutomaticReply, Heartbeat, WebSocketDef};
    use loadtest_model::protocol::SocketFrame;
    use std::rc::Rc;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::task::{JoinHandle, LocalSet, spawn_local};

    /// A connection, the target's end of it, and the task that drives it.
    fn open(compresses: bool) -> (Arc<SocketConnection>, DuplexStream, JoinHandle<()>) {
        open_with(&WebSocketDef {
            compress: compresses,
            ..WebSocketDef::default()
        })
    }

    /// The same, with what `def` declares.
    fn open_with(def: &WebSocketDef) -> (Arc<SocketConnection>, DuplexStream, JoinHandle<()>) {
        let (ours, theirs) = duplex(READ_SIZE);
        let meter = Rc::new(Meter::new(MAX_HEAD));
        let io = MeteredStream::new(TransportStream::Memory(ours), meter);
        let agreement = Agreement {
            protocol: None,
            compresses: def.compress,
        };
        let connection = Arc::new(SocketConnection::new(agreement, None));
        let shared = Arc::clone(&connection);
        let background = Background::begin(def, def.compress);
        let task = SocketTask::new(io, b"", background, shared, Arc::default());
        (connection, theirs, spawn_local(task))
    }

    /// Reads a frame of the client, unmasked: its first byte and its payload. One that never comes is waited for on the
    /// paused clock alone.
    async fn read_frame(stream: &mut DuplexStream) -> (u8, Vec<u8>) {
        let read = tokio::time::timeout(Duration::from_secs(60), read_next_frame(stream));
        read.await.expect("a frame")
    }

    async fn read_next_frame(stream: &mut DuplexStream) -> (u8, Vec<u8>) {
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

    #[tokio::test(start_paused = true)]
    async fn pings_are_answered_while_nobody_waits() {
        local(async {
            let (_connection, mut target, _task) = open(false);
            target.write_all(b"\x89\x02hi").await.unwrap();
            assert_eq!(read_frame(&mut target).await, (0x8a, b"hi".to_vec()));
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn pings_of_a_target_that_reads_nothing_fill_no_memory() {
        local(async {
            let (connection, mut target, _task) = open(false);
            let ping = |number: u32| {
                let number = number.to_be_bytes();
                [&[0x89, 4], &number[..]].concat()
            };
            // In turns it reads a little, so that something is always written and never all.
            for number in 0..200_000_u32 {
                target.write_all(&ping(number)).await.unwrap();
                if number % 1_000 == 0 {
                    let before = connection.state().outgoing.len();
                    assert!(before <= 2 * READ_SIZE, "{before} bytes at {number}");
                    let mut some = vec![0; READ_SIZE / 2];
                    let _read = target.read(&mut some).await.unwrap();
                }
            }
            // Of all that is left, the last is the answer to the last ping.
            target.write_all(&ping(200_000)).await.unwrap();
            let mut rest = Vec::new();
            let mut some = vec![0; READ_SIZE];
            let second = Duration::from_secs(1);
            while let Ok(read) = tokio::time::timeout(second, target.read(&mut some)).await {
                rest.extend_from_slice(&some[..read.unwrap()]);
            }
            let last = &rest[rest.len() - 10..];
            assert_eq!(last[..2], [0x8a, 0x84]);
            let number: Vec<u8> = last[6..]
                .iter()
                .zip(&last[2..6])
                .map(|(a, b)| a ^ b)
                .collect();
            assert_eq!(number, 200_000_u32.to_be_bytes());
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_target_does_not_read_has_a_bound() {
        local(async {
            let (connection, _target, _task) = open(false);
            let message = vec![0; 12 << 20];
            for _ in 0..2 {
                connection.send(false, &message).unwrap();
                tokio::task::yield_now().await;
            }
            let failure = connection.send(false, &message).unwrap_err();
            assert_eq!(failure.kind, ErrorKind::WsUnread);
            let words = "the target does not read: ";
            assert!(failure.message.starts_with(words), "{}", failure.message);
            connection.send(false, b"a short one has room").unwrap();
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_pong_is_that_of_its_ping_or_of_a_later_one() {
        local(async {
            let (connection, mut target, _task) = open(false);
            let pongs = async {
                let (first, payload) = read_frame(&mut target).await;
                assert_eq!((first, payload), (0x89, 1_u64.to_be_bytes().to_vec()));
                // One that was not asked for, one of another length, and the answer.
                target
                    .write_all(b"\x8a\x08\0\0\0\0\0\0\0\x09")
                    .await
                    .unwrap();
                target.write_all(b"\x8a\x01x").await.unwrap();
                sleep(Duration::from_secs(1)).await;
                target
                    .write_all(b"\x8a\x08\0\0\0\0\0\0\0\x01")
                    .await
                    .unwrap();
            };
            let begun = Instant::now();
            let (ponged, ()) = tokio::join!(connection.ping(), pongs);
            assert_eq!(ponged.unwrap() - begun, Duration::from_secs(1));
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_read_than_is_kept_until_somebody_takes_some() {
        local(async {
            let (connection, mut target, _task) = open(false);
            // As many as are kept, and one more by another read: that is not read before there is room.
            let frames = b"\x81\x01a".repeat(MAX_KEPT_MESSAGES);
            target.write_all(&frames).await.unwrap();
            let second = Duration::from_secs(1);
            sleep(second).await;
            target.write_all(b"\x81\x01b").await.unwrap();
            sleep(second).await;
            assert_eq!(connection.messages().len(), MAX_KEPT_MESSAGES);
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

    #[tokio::test(start_paused = true)]
    async fn messages_are_compressed_both_ways_where_that_was_agreed_on() {
        local(async {
            let (connection, mut target, _task) = open(true);
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

    #[tokio::test(start_paused = true)]
    async fn a_close_frame_is_answered_with_its_code_and_ends_the_connection() {
        local(async {
            let (connection, mut target, task) = open(false);
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
            assert_eq!(
                (failure.kind, failure.code),
                (ErrorKind::WsClosed, Some(1008))
            );
            let words = "the target closed the WebSocket: 1008 (policy violation)";
            assert_eq!(failure.message, words);
            assert_eq!(connection.send(true, b"x").unwrap_err(), failure);
            assert_eq!(connection.close(1000).await.unwrap_err(), failure);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_shown_has_pings_pongs_and_close_frames_too() {
        local(async {
            let (connection, mut target, task) = open(false);
            connection.begin_transcript();
            target
                .write_all(b"\x89\x02hi\x81\x01a\x8a\x01x\x88\x05\x03\xf0bye")
                .await
                .unwrap();
            task.await.unwrap();
            let shown = connection.take_transcript();
            let shown: Vec<_> = shown
                .iter()
                .map(|line| (line.is_sent, line.frame, &*line.data))
                .collect();
            assert_eq!(
                shown,
                [
                    (false, SocketFrame::Ping, &b"hi"[..]),
                    (true, SocketFrame::Pong, b"hi"),
                    (false, SocketFrame::Message, b"a"),
                    (false, SocketFrame::Pong, b"x"),
                    (false, SocketFrame::Close, b"1008, bye"),
                    (true, SocketFrame::Close, b"1008 (policy violation)"),
                ]
            );
        })
        .await;
    }

    fn heartbeat(message: &'static str) -> WebSocketDef {
        WebSocketDef {
            heartbeat: Some(Heartbeat {
                message: message.into(),
                every: Duration::from_secs(25),
                answer: Some("pong".into()),
            }),
            replies: vec![AutomaticReply {
                to: "2".into(),
                with: "3".into(),
            }]
            .into(),
            ..WebSocketDef::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeats_are_sent_while_nobody_waits_and_their_answers_are_no_messages() {
        local(async {
            let (connection, mut target, _task) = open_with(&heartbeat("ping"));
            connection.begin_transcript();
            let begun = Instant::now();
            for number in 1..=3 {
                assert_eq!(read_frame(&mut target).await, (0x81, b"ping".to_vec()));
                assert_eq!(begun.elapsed(), Duration::from_secs(25 * number));
                // The answer, one that steps wait for, and bytes that are not the answer.
                let frames = b"\x81\x04pong\x81\x04Pong\x82\x04pong";
                target.write_all(frames).await.unwrap();
            }
            connection.send(true, b"last").unwrap();
            assert_eq!(read_frame(&mut target).await, (0x81, b"last".to_vec()));
            let kept = connection.messages();
            assert!(kept.iter().map(|kept| kept.number).eq(0..6));
            let kept: Vec<_> = kept.iter().map(|kept| &*kept.data).collect();
            assert_eq!(kept, [&b"Pong"[..], b"pong"].repeat(3));
            // They are shown.
            let shown = connection.take_transcript();
            let answers = shown.iter().filter(|line| line.data == "pong");
            assert_eq!((shown.len(), answers.count()), (13, 6));
            connection.begin_close(1000);
            let (first, _) = read_frame(&mut target).await;
            assert_eq!(first, 0x88);
            sleep(Duration::from_secs(60)).await;
            assert_eq!(target.read(&mut [0; 9]).await.unwrap(), 0, "none after it");
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn texts_with_a_reply_are_answered_while_nobody_waits() {
        local(async {
            let (connection, mut target, _task) = open_with(&WebSocketDef {
                compress: true,
                ..heartbeat("ping")
            });
            target
                .write_all(b"\x81\x012\x81\x0222\x82\x012\x81\x012")
                .await
                .unwrap();
            for _ in 0..2 {
                let (first, payload) = read_frame(&mut target).await;
                let reply = crate::transport::websocket::deflate::compress(b"3");
                assert_eq!((first, payload), (0xc1, reply), "compressed, as agreed");
            }
            let kept = connection.messages();
            let kept: Vec<_> = kept.iter().map(|kept| &*kept.data).collect();
            assert_eq!(kept, [&b"22"[..], b"2"]);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn replies_to_a_target_that_reads_nothing_fill_no_memory() {
        local(async {
            let (connection, mut target, _task) = open_with(&heartbeat("ping"));
            let texts = b"\x81\x012".repeat(100_000);
            target.write_all(&texts).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            let unwritten = connection.unwritten();
            assert!(unwritten < 2 * READ_SIZE, "{unwritten}");
            assert!(connection.messages().is_empty());
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_mistake_of_the_target_is_told_to_it() {
        local(async {
            let (connection, mut target, task) = open(false);
            target.write_all(b"\x81\x01\xff").await.unwrap();
            let (first, payload) = read_frame(&mut target).await;
            assert_eq!((first, payload), (0x88, 1007_u16.to_be_bytes().to_vec()));
            task.await.unwrap();
            let failure = connection.failure().unwrap();
            assert_eq!(failure.kind, ErrorKind::WsProtocol);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_close_frame_of_the_target_is_waited_for_a_second() {
        local(async {
            let (connection, mut target, _task) = open(false);
            let begun = Instant::now();
            let (closed, read) = tokio::join!(connection.close(3001), read_frame(&mut target));
            assert_eq!(begun.elapsed(), Duration::from_secs(1));
            assert_eq!(read, (0x88, 3001_u16.to_be_bytes().to_vec()));
            let failure = closed.unwrap_err();
            assert_eq!(failure.kind, ErrorKind::TimeoutEvent);
            assert_eq!(failure.message, "no close frame arrived within 1s");
            assert!(!connection.is_open());
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_user_ends_is_closed_with_1000() {
        local(async {
            let (connection, mut target, task) = open(false);
            connection.send(false, b"last").unwrap();
            task.abort();
            task.await.unwrap_err();
            assert_eq!(read_frame(&mut target).await, (0x82, b"last".to_vec()));
            let (first, payload) = read_frame(&mut target).await;
            assert_eq!((first, payload), (0x88, 1000_u16.to_be_bytes().to_vec()));
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_larger_than_a_buffer_is_written_as_the_target_takes_it() {
        local(async {
            let (connection, mut target, _task) = open(false);
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
