//! A WebSocket that is open: what its user and the task that drives it share.

use super::counts::{count_closed, count_received, count_sent};
use super::frame::{Opcode, Received, random_mask, write_close, write_frame};
use super::{Agreement, MAX_MESSAGE, SocketError, deflate};
use crate::targets::Allowance;
use crate::transport::{ErrorKind, Failure};
use bytes::Bytes;
use loadtest_model::protocol::SocketFrame;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The messages that are kept until somebody takes them; of more, no more is read.
pub(super) const MAX_KEPT_MESSAGES: usize = 1_024;
/// The bytes of them.
pub(super) const MAX_KEPT_BYTES: usize = 1 << 20;
/// How long the close frame of the target is waited for.
pub(super) const CLOSING_TIME: Duration = Duration::from_secs(1);
/// The most bytes that wait for a target that does not read: two messages of the largest size.
const MAX_UNWRITTEN: usize = 2 * MAX_MESSAGE;
/// The bytes that are written and yet kept, at most.
const MUCH_WRITTEN: usize = 64 * 1024;
/// The bytes that wait for the target from which on only the last ping is answered.
const MAX_UNWRITTEN_PONGS: usize = 4 * 1024;

/// The code of a connection that ended without a close frame.
const ABNORMAL: u16 = 1006;
/// The code of a close frame without one.
const NO_CODE: u16 = 1005;

/// A connection, as its user has it. It is driven by a task, and used by one thread alone; the lock is for types that
/// may move between threads.
pub(crate) struct SocketConnection {
    pub(super) agreement: Agreement,
    /// The caps of the target, where it has some.
    allowance: Option<Arc<Allowance>>,
    state: Mutex<SocketState>,
    /// Something came, was written or ended.
    pub(super) changed: Notify,
}

/// The state of a connection.
#[derive(Default)]
pub(super) struct SocketState {
    /// Frames that are to be written, of which so much is.
    pub(super) outgoing: Vec<u8>,
    pub(super) written: usize,
    /// The place in it of its last frame, where that is a pong.
    last_pong: Option<usize>,
    /// Messages that nobody has taken, oldest first.
    messages: VecDeque<SocketMessage>,
    kept_bytes: usize,
    /// The number of messages that have come.
    pub(super) arrived: u64,
    /// The number of the last ping, and that of the last pong, with its time.
    pings: u64,
    pub(super) pong: Option<(u64, Instant)>,
    /// The code of our close frame, once it is to be written.
    pub(super) closing: Option<u16>,
    /// In a box, since few of many connections have ended.
    pub(super) ended: Option<Box<(SocketEnd, Instant)>>,
    pub(super) task: Option<Waker>,
    /// What was sent and what came since it was last taken, where that is to be shown.
    transcript: Option<Vec<TranscriptLine>>,
}

/// A message that was sent or that came, to be shown.
#[derive(Debug, Clone)]
pub(crate) struct TranscriptLine {
    pub(crate) is_sent: bool,
    pub(crate) frame: SocketFrame,
    pub(crate) is_text: bool,
    /// Of a close frame its code and reason, in words.
    pub(crate) data: Bytes,
    pub(crate) at: Instant,
}

/// A message that came.
#[derive(Debug, Clone)]
pub(crate) struct SocketMessage {
    /// Its place among all messages of the connection.
    pub(crate) number: u64,
    pub(crate) is_text: bool,
    pub(crate) data: Bytes,
    /// The read that completed it.
    pub(crate) at: Instant,
}

/// The end of a connection.
#[derive(Debug, Clone)]
pub(super) enum SocketEnd {
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

    pub(super) fn state(&self) -> MutexGuard<'_, SocketState> {
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
        self.state().is_open()
    }

    /// Returns whether the target ended it.
    pub(crate) fn is_closed_by_target(&self) -> bool {
        self.state().code_of_target().is_some()
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
        if state.unwritten() + payload.len() > MAX_UNWRITTEN {
            let words = format!(
                "the target does not read: {} bytes are waiting for it",
                state.unwritten()
            );
            return Err(Failure::new(ErrorKind::WsUnread, words));
        }
        state.write_message(is_text, message, compressed.as_deref());
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

    /// Returns the bytes that were sent and are not written, since the target does not take them.
    pub(crate) fn unwritten(&self) -> usize {
        self.state().unwritten()
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
            let out = state.append();
            write_frame(out, Opcode::Ping, false, &payload, random_mask());
            let ping =
                || TranscriptLine::control(true, SocketFrame::Ping, &payload, Instant::now());
            state.note(ping);
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

    /// Has all messages kept to be shown, beginning with those that are here.
    pub(crate) fn begin_transcript(&self) {
        let state = &mut *self.state();
        let lines = state.messages.iter().map(TranscriptLine::received);
        state.transcript = Some(lines.collect());
    }

    /// Takes what is to be shown.
    pub(crate) fn take_transcript(&self) -> Vec<TranscriptLine> {
        let state = &mut *self.state();
        state
            .transcript
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
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
            state.write_close(code);
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
            if let Some((end, at)) = self.state().ended.as_deref() {
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
                if let Some((end, _)) = state.ended.as_deref() {
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

    /// Keeps a line to be shown, if somebody watches.
    fn note(&mut self, line: impl FnOnce() -> TranscriptLine) {
        if let Some(transcript) = &mut self.transcript {
            transcript.push(line());
        }
    }

    /// Returns the bytes that wait for the target.
    pub(super) fn unwritten(&self) -> usize {
        self.outgoing.len() - self.written
    }

    /// Returns whether messages can be sent.
    pub(super) fn is_open(&self) -> bool {
        self.ended.is_none() && self.closing.is_none()
    }

    /// Has a message written, as it was `compressed` if so.
    pub(super) fn write_message(
        &mut self,
        is_text: bool,
        message: &[u8],
        compressed: Option<&[u8]>,
    ) {
        let opcode = if is_text {
            Opcode::Text
        } else {
            Opcode::Binary
        };
        let payload = compressed.unwrap_or(message);
        let out = self.append();
        write_frame(out, opcode, compressed.is_some(), payload, random_mask());
        count_sent(message.len());
        self.note(|| TranscriptLine {
            is_sent: true,
            frame: SocketFrame::Message,
            is_text,
            data: Bytes::copy_from_slice(message),
            at: Instant::now(),
        });
    }

    /// Takes in a text that steps do not get.
    pub(super) fn receive_in_background(&mut self, data: &Bytes, at: Instant) {
        count_received(data.len());
        self.note(|| TranscriptLine {
            is_sent: false,
            frame: SocketFrame::Message,
            is_text: true,
            data: data.clone(),
            at,
        });
    }

    /// Forgets what is written, where that is much: a target that reads slowly may never have read all.
    pub(super) fn forget_written(&mut self) {
        if self.written > MUCH_WRITTEN && self.written > self.outgoing.len() / 2 {
            self.outgoing.drain(..self.written);
            self.last_pong = self.last_pong.and_then(|at| at.checked_sub(self.written));
            self.written = 0;
        }
    }

    /// Returns where the next frame is to be written.
    pub(super) fn append(&mut self) -> &mut Vec<u8> {
        self.last_pong = None;
        &mut self.outgoing
    }

    /// Has a pong written. While the target reads nothing, the last one takes the place of the one before (RFC 6455,
    /// section 5.5.3): a target that only sends pings would else fill the memory.
    fn write_pong(&mut self, payload: &[u8]) {
        let before = self.last_pong.filter(|at| *at >= self.written);
        if let Some(before) = before.filter(|_| self.unwritten() > MAX_UNWRITTEN_PONGS) {
            self.outgoing.truncate(before);
        }
        let at = self.outgoing.len();
        write_frame(
            &mut self.outgoing,
            Opcode::Pong,
            false,
            payload,
            random_mask(),
        );
        self.last_pong = Some(at);
    }

    /// Has a close frame with `code` written.
    pub(super) fn write_close(&mut self, code: u16) {
        write_close(self.append(), code, random_mask());
        self.note(|| TranscriptLine::close(true, code, "", Instant::now()));
    }

    pub(super) fn is_full(&self) -> bool {
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
            if self.messages.is_empty() {
                // Most connections rest, and many do at once.
                self.messages = VecDeque::new();
            }
            if was_full && !self.is_full() {
                self.wake();
            }
        }
    }

    /// The close code of a connection that the target ended, or that ended since the target broke the rules.
    pub(super) fn code_of_target(&self) -> Option<u16> {
        let (end, _) = self.ended.as_deref().filter(|_| self.closing.is_none())?;
        Some(match end {
            SocketEnd::Closed(code, _) => code.unwrap_or(NO_CODE),
            SocketEnd::Lost(_) | SocketEnd::Unanswered => ABNORMAL,
            SocketEnd::Broken(error) => error.code,
        })
    }

    fn failure(&self) -> Option<Failure> {
        match (self.ended.as_deref(), self.closing) {
            (Some((SocketEnd::Closed(..), _)) | None, Some(_)) => Some(Failure::new(
                ErrorKind::StepError,
                "the WebSocket was closed earlier by this user",
            )),
            (Some((end, _)), _) => Some(end.failure()),
            (None, None) => None,
        }
    }

    pub(super) fn end(&mut self, end: SocketEnd) {
        if self.ended.is_none() {
            self.ended = Some(Box::new((end, Instant::now())));
            count_closed(self.code_of_target());
        }
    }

    /// Takes in what the target sent.
    pub(super) fn receive(&mut self, received: Received, at: Instant) {
        match received {
            Received::Message { is_text, data } => {
                let number = self.arrived;
                self.arrived += 1;
                count_received(data.len());
                // Nobody waits any more for what comes while the connection is closed.
                if self.closing.is_none() {
                    self.kept_bytes += data.len();
                    let message = SocketMessage {
                        number,
                        is_text,
                        data,
                        at,
                    };
                    self.note(|| TranscriptLine::received(&message));
                    if self.messages.capacity() == 0 {
                        // Mostly it is taken before the next one comes.
                        self.messages.reserve_exact(1);
                    }
                    self.messages.push_back(message);
                }
            }
            Received::Ping(payload) => {
                self.note(|| TranscriptLine::control(false, SocketFrame::Ping, &payload, at));
                if self.closing.is_none() {
                    self.write_pong(&payload);
                    self.note(|| TranscriptLine::control(true, SocketFrame::Pong, &payload, at));
                }
            }
            Received::Pong(payload) => {
                self.note(|| TranscriptLine::control(false, SocketFrame::Pong, &payload, at));
                if let Ok(number) = payload.as_ref().try_into() {
                    let number = u64::from_be_bytes(number);
                    if number <= self.pings {
                        self.pong = Some((number, at));
                    }
                }
            }
            Received::Close(code, reason) => {
                let shown = code.unwrap_or(NO_CODE);
                self.note(|| TranscriptLine::close(false, shown, &reason, at));
                if self.closing.is_none() {
                    self.write_close(shown);
                }
                self.end(SocketEnd::Closed(code, reason));
            }
        }
    }
}

impl TranscriptLine {
    fn received(message: &SocketMessage) -> Self {
        Self {
            is_sent: false,
            frame: SocketFrame::Message,
            is_text: message.is_text,
            data: message.data.clone(),
            at: message.at,
        }
    }

    /// A ping or a pong.
    fn control(is_sent: bool, frame: SocketFrame, payload: &[u8], at: Instant) -> Self {
        Self {
            is_sent,
            frame,
            is_text: false,
            data: Bytes::copy_from_slice(payload),
            at,
        }
    }

    fn close(is_sent: bool, code: u16, reason: &str, at: Instant) -> Self {
        Self {
            is_sent,
            frame: SocketFrame::Close,
            is_text: true,
            data: format!("{code}{}", explain_close(code, reason)).into(),
            at,
        }
    }
}

impl SocketEnd {
    fn failure(&self) -> Failure {
        let closed = |code: u16, words: &str| {
            let words = format!("the target closed the WebSocket: {code}{words}");
            Failure {
                code: Some(code),
                ..Failure::new(ErrorKind::WsClosed, words)
            }
        };
        match self {
            Self::Closed(code, reason) => {
                let code = code.unwrap_or(NO_CODE);
                let reason = crate::redact::redact(reason);
                closed(code, &explain_close(code, &reason))
            }
            Self::Lost(error) => {
                let why = error.map_or_else(String::new, |error| format!(": {error}"));
                closed(ABNORMAL, &format!(" (without a close frame{why})"))
            }
            Self::Broken(error) => error.clone().into(),
            Self::Unanswered => Failure::new(
                ErrorKind::TimeoutEvent,
                format!("no close frame arrived within {CLOSING_TIME:?}"),
            ),
        }
    }
}

/// What follows the code of a close frame: its reason, else the meaning of the code.
fn explain_close(code: u16, reason: &str) -> String {
    match (reason, close_code_name(code)) {
        ("", None) => String::new(),
        ("", Some(name)) => format!(" ({name})"),
        (reason, _) => format!(", {reason}"),
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

impl fmt::Debug for SocketConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketConnection")
            .field("agreement", &self.agreement)
            .field("is_open", &self.is_open())
            .finish_non_exhaustive()
    }
}
