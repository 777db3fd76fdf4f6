//! `Socket<T>`: an open WebSocket. No I/O here: the transport drives the connection, and the engine measures.

use super::WaitError;
use super::current_sender::current_sender;
use super::response::FromBody;
use super::stamp::Stamp;
use super::{Error, Local, MeasureError, OperationEnd, RawResponse, ReadError, StepSender};
use crate::transport::websocket::is_sent_code;
use crate::transport::{ErrorKind, Failure, OperationTarget, SocketConnection, SocketMessage};
use bytes::Bytes;
use loadtest_model::display;
use std::borrow::Cow;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// An open WebSocket, the answer of a step with `ws = ".."`, whose messages are each a `T`: read from JSON; as text for
/// `String`; as it came for [`Bytes`].
///
/// It is used by `async` steps. What these wait for counts in rows of their own, and the steps are graded by it.
///
/// ```
/// use loadtest::prelude::*;
/// use std::time::Duration;
///
/// #[response]
/// #[serde(tag = "type", rename_all = "snake_case")]
/// enum Heard { Joined { members: u32 }, Text { text: String } }
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn chat() {
///     #[step(ws = "/rooms/7", protocol = "chat.v2", p95 < 200ms)]
///     fn socket() -> Socket<Heard>;
///
///     #[step(p95 < 50ms)]
///     async fn join(socket: &Socket<Heard>) -> Result<u32, Error> {
///         let join = json!({ "type": "join" });
///         match socket.ask(&join).until(|heard| matches!(heard, Heard::Joined { .. })).await? {
///             Heard::Joined { members } => Ok(members),
///             Heard::Text { text } => Err(Error::msg(text)),
///         }
///     }
///
///     #[step]
///     async fn listen(join: &u32, socket: &Socket<Heard>, vu: &mut Vu) -> Result<(), Error> {
///         socket.pause(Duration::from_secs(2)).await;
///         vu.count("heard", socket.heard().len() as u64);
///         Ok(())
///     }
/// }
/// ```
///
/// Nothing that comes is missed: it is read as it comes, and kept with its time until it is taken, up to 1,024 messages
/// or 1 MiB. With so many, no more is read until some are taken.
pub struct Socket<T> {
    connection: Arc<SocketConnection>,
    messages: PhantomData<fn() -> T>,
}

/// A message of a WebSocket; it derefs to its data.
#[derive(Debug, Clone)]
pub struct Message<T> {
    data: T,
    is_text: bool,
    at: Instant,
}

/// A wait for a message of a WebSocket, as [`Socket::ask`], [`Socket::next`] and [`Socket::wait`] make it: awaited, it
/// sends what is to be sent, and yields the message.
#[must_use = "a message is sent and waited for when this is awaited"]
pub struct SocketWait<'a, T> {
    socket: &'a Socket<T>,
    name: Cow<'static, str>,
    /// What is sent first, or why it cannot be.
    message: Option<Result<OutgoingMessage, Error>>,
    is_wanted: Option<Condition<'a, T>>,
    timeout: Option<Duration>,
}

/// A condition on a message.
type Condition<'a, T> = Box<dyn Fn(&T) -> bool + 'a>;

/// A message to be sent.
#[derive(Debug, Clone)]
pub struct OutgoingMessage {
    is_text: bool,
    data: Bytes,
}

/// What can be sent over a WebSocket: a reference to what serde can serialize, as JSON in a text; text, as a `&str`, a
/// `String` or a reference to one; and bytes, as [`Bytes`], a `Vec<u8>`, an array or a slice.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a WebSocket message",
    label = "not a message",
    note = "a message is a reference to what serde can serialize, sent as JSON; or text, or `Bytes`"
)]
pub trait IntoMessage {
    /// The message.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    fn into_message(self) -> Result<OutgoingMessage, Error>;
}

impl<T> Socket<T> {
    /// Sends a message and waits for the next one that comes, or for the first after it that [`until`](SocketWait::until)
    /// holds for. It counts in the row `ask`, from handing over the message to the read that completed the answer.
    ///
    /// A reference is sent as JSON: `&json!({ .. })`, `&order`. Text and bytes are sent as they are, also by reference.
    pub fn ask(&self, message: impl IntoMessage) -> SocketWait<'_, T> {
        let mut wait = self.wait_for("ask");
        wait.message = Some(message.into_message());
        wait
    }

    /// Sends a message and goes on as soon as it is written. It has no time of its own, as there is none to measure.
    ///
    /// # Errors
    /// The connection is closed (`ws.closed`), the target did not take the message in time (`timeout.total`), or the
    /// message cannot be written as JSON.
    pub async fn send(&self, message: impl IntoMessage) -> Result<(), Error> {
        let message = message.into_message()?;
        let sender = step_sender()?;
        let sockets = sender.sockets();
        let passes = sockets.map(|sockets| sockets.admit_operation(self.target()));
        let _passes = passes.transpose().map_err(measured_error)?;
        let sent = self.connection.send(message.is_text, &message.data);
        sent.map_err(measured_error)?;
        let flushed = sender.bound(Box::pin(self.connection.flushed())).await;
        flushed.map_err(|error| {
            measured_error(match error {
                WaitError::Failed(failure) => failure,
                WaitError::TimedOut(time) => {
                    let words = format!(
                        "`send` failed: it did not end within {time:?}{}",
                        self.unread()
                    );
                    Failure::new(ErrorKind::TimeoutTotal, words)
                }
            })
        })
    }

    /// Takes the next message, which may be here already. It counts in the row `next`, from the call.
    pub fn next(&self) -> SocketWait<'_, T> {
        self.wait_for("next")
    }

    /// Takes the first message that `is_wanted`, which may be here already; others stay. It counts in the row `wait`,
    /// from the call.
    pub fn wait<'a>(&'a self, is_wanted: impl Fn(&T) -> bool + 'a) -> SocketWait<'a, T> {
        self.wait_for("wait").until(is_wanted)
    }

    /// Sends a ping and waits for its pong. It counts in the row `ping`.
    ///
    /// # Errors
    /// The connection is closed (`ws.closed`), or no pong comes in time (`timeout.event`).
    pub async fn ping(&self) -> Result<(), Error> {
        self.measure("ping", None, self.connection.ping())
            .await
            .map(drop)
    }

    /// Closes the connection with `code`, such as 1000, and waits for the target to do so too, 1 s at most. It counts in
    /// the row `close`.
    ///
    /// # Errors
    /// The code is none that is ever sent; the connection is closed; or the target does not answer.
    pub async fn close(&self, code: u16) -> Result<(), Error> {
        if !is_sent_code(code) {
            let words = format!(
                "{code} is not a valid close code of a WebSocket: use 1000, or 3000 to 4999"
            );
            return Err(measured_error(Failure::new(ErrorKind::StepError, words)));
        }
        self.measure("close", None, self.connection.close(code))
            .await
            .map(drop)
    }

    /// Pauses, which is part of no latency. What comes meanwhile is kept.
    pub async fn pause(&self, time: Duration) {
        match current_sender() {
            Some(sender) => sender.pause(time).await,
            None => tokio::time::sleep(time).await,
        }
    }

    /// The protocol that the target chose, of those of `protocol = ".."`.
    pub fn protocol(&self) -> Option<&str> {
        self.connection.protocol()
    }

    /// The target of its operations, whose caps they count for.
    fn target(&self) -> OperationTarget<'_> {
        OperationTarget::WebSocket(&self.connection)
    }

    fn wait_for(&self, name: &'static str) -> SocketWait<'_, T> {
        SocketWait {
            socket: self,
            name: Cow::Borrowed(name),
            message: None,
            is_wanted: None,
            timeout: None,
        }
    }

    /// Measures an operation, which yields when it ended, as the row `name`.
    async fn measure(
        &self,
        name: &str,
        time: Option<Duration>,
        operation: impl Future<Output = Result<Instant, Failure>>,
    ) -> Result<(), Error> {
        let operation = pin!(async { operation.await.map(|at| ((), at)) });
        self.measure_value(name, time, operation).await
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its arguments twice"
    )]
    fn measure_value<R>(
        &self,
        name: &str,
        time: Option<Duration>,
        operation: Pin<&mut impl Future<Output = Result<(R, Instant), Failure>>>,
    ) -> impl Future<Output = Result<R, Error>> {
        async move {
            let sender = step_sender()?;
            let measured = sender.begin_operation(name, self.target()).await;
            let measured = measured.map_err(measured_error)?;
            let time = time.unwrap_or(measured.timeout());
            let ended = timeout(time, operation).await;
            let failure = match ended {
                Ok(Ok((value, at))) => {
                    measured.finish(OperationEnd {
                        at: Some(at),
                        ..OperationEnd::default()
                    });
                    return Ok(value);
                }
                Ok(Err(failure)) => failure,
                Err(_) => self.silence(time),
            };
            measured.finish(OperationEnd {
                failure: Some(failure.clone()),
                ..OperationEnd::default()
            });
            Err(measured_error(Failure {
                message: format!("`{name}` failed: {}", failure.message),
                ..failure
            }))
        }
    }

    /// Says that the target does not read what is sent, if so.
    fn unread(&self) -> String {
        match self.connection.unwritten() {
            0 => String::new(),
            bytes => format!(
                "; the target has not read {} of the sent data: it is overloaded, or waits \
                 until its own messages are read",
                display::format_counted(bytes as u64, "byte")
            ),
        }
    }

    /// The failure of a wait for what did not come.
    fn silence(&self, time: Duration) -> Failure {
        let mut words = format!("the awaited message did not arrive within {time:?}");
        words.push_str(&self.unread());
        if self.connection.is_full() {
            words.push_str(
                "; no more is read, because no step takes the messages that have arrived: take them with `heard()`",
            );
        }
        Failure::new(ErrorKind::TimeoutEvent, words)
    }
}

impl<T: FromBody> Socket<T> {
    /// Takes all messages that came and that nobody has taken. One that is no `T` stays, for who waits for it.
    pub fn heard(&self) -> Vec<Message<T>> {
        let messages = self.connection.messages();
        let taken = messages.iter().filter_map(|message| {
            let data = T::from_body(&message.data).ok()?;
            self.connection.take(message.number);
            let &SocketMessage { is_text, at, .. } = message;
            Some(Message { data, is_text, at })
        });
        taken.collect()
    }
}

impl<'a, T> SocketWait<'a, T> {
    /// Waits for the first message that `is_wanted`. The others stay, for [`heard`](Socket::heard) and for who waits
    /// for them.
    pub fn until(mut self, is_wanted: impl Fn(&T) -> bool + 'a) -> Self {
        self.is_wanted = Some(Box::new(is_wanted));
        self
    }

    /// Counts it in the row `name`.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Gives it another time than the `timeout` of the step.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }
}

impl<'a, T: FromBody> IntoFuture for SocketWait<'a, T> {
    type Output = Result<T, Error>;
    type IntoFuture = Local<'a, Self::Output>;

    fn into_future(mut self) -> Self::IntoFuture {
        // Many users wait at once, so nothing in here is moved: a future has room for each place that a value is in.
        Box::pin(async move {
            let message = self.message.take().transpose()?;
            let is_asked = message.is_some();
            let called = Instant::now();
            let receive = pin!(async {
                let connection = &self.socket.connection;
                let from = match &message {
                    Some(message) => connection.send(message.is_text, &message.data)?,
                    None => 0,
                };
                let look = |message: &SocketMessage| {
                    let data = T::from_body(&message.data);
                    let data = data.map_err(|reason| {
                        let reason = format!("a message cannot be read: {reason}");
                        Failure::new(ErrorKind::BodyDecode, reason)
                    })?;
                    let is_wanted = self.is_wanted.as_ref().is_none_or(|wanted| wanted(&data));
                    Ok(is_wanted.then_some(data))
                };
                let (value, at) = connection.receive(from, look).await?;
                Ok((value, at.max(called)))
            });
            let waiting = self.socket.measure_value(&self.name, self.timeout, receive);
            if is_asked {
                return waiting.await;
            }
            let sender = step_sender()?;
            tokio::select! {
                biased;
                heard = waiting => heard,
                () = sender.end_listening() => unreachable!("the step is dropped"),
            }
        })
    }
}

fn step_sender() -> Result<Rc<dyn StepSender>, Error> {
    current_sender().ok_or_else(|| {
        let words = "a WebSocket can only be used in its `async` step";
        measured_error(Failure::new(ErrorKind::StepError, words))
    })
}

fn measured_error(failure: Failure) -> Error {
    MeasureError::from(failure).into()
}

impl<T> Message<T> {
    /// Its data.
    pub fn data(&self) -> &T {
        &self.data
    }

    /// Its data, to keep.
    pub fn into_data(self) -> T {
        self.data
    }

    /// Returns whether it is text; else it is binary.
    pub fn is_text(&self) -> bool {
        self.is_text
    }

    /// The time that it took from `sent`, a [`Stamp`] that went with it, to the read that completed it.
    pub fn since(&self, sent: Stamp) -> Duration {
        sent.until(self.at)
    }

    /// The time of the read that completed it.
    pub fn at(&self) -> std::time::Instant {
        self.at.into_std()
    }
}

impl<T> Deref for Message<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T: serde::Serialize> IntoMessage for &T {
    fn into_message(self) -> Result<OutgoingMessage, Error> {
        let encoding = ReferenceEncoding::of::<T>();
        let data = match encoding {
            ReferenceEncoding::Json => serde_json::to_vec(self),
            ReferenceEncoding::Text => {
                let text = serde_json::to_value(self).and_then(serde_json::from_value::<String>);
                text.map(String::into_bytes)
            }
            ReferenceEncoding::Bytes => serde_json::to_value(self).and_then(serde_json::from_value),
        };
        let data = data.map_err(|error| {
            let words = format!("the message cannot be written as JSON: {error}");
            measured_error(Failure::new(ErrorKind::StepError, words))
        })?;
        Ok(OutgoingMessage {
            is_text: encoding != ReferenceEncoding::Bytes,
            data: data.into(),
        })
    }
}

/// How what a reference refers to is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReferenceEncoding {
    Json,
    Text,
    Bytes,
}

impl ReferenceEncoding {
    /// Text and bytes by reference are no JSON, which nobody means who has them. A type that may borrow has no `TypeId`;
    /// no other one has the names of these.
    fn of<T>() -> Self {
        let name = std::any::type_name::<T>().trim_start_matches('&');
        let texts = [
            std::any::type_name::<str>(),
            std::any::type_name::<String>(),
            std::any::type_name::<Box<str>>(),
            std::any::type_name::<Cow<'_, str>>(),
        ];
        if texts.contains(&name) {
            Self::Text
        } else if name == std::any::type_name::<Vec<u8>>() || name.starts_with("[u8") {
            Self::Bytes
        } else {
            Self::Json
        }
    }
}

impl IntoMessage for &str {
    fn into_message(self) -> Result<OutgoingMessage, Error> {
        self.to_owned().into_message()
    }
}

impl IntoMessage for String {
    fn into_message(self) -> Result<OutgoingMessage, Error> {
        Ok(OutgoingMessage {
            is_text: true,
            data: self.into(),
        })
    }
}

impl IntoMessage for Bytes {
    fn into_message(self) -> Result<OutgoingMessage, Error> {
        Ok(OutgoingMessage {
            is_text: false,
            data: self,
        })
    }
}

impl IntoMessage for &[u8] {
    fn into_message(self) -> Result<OutgoingMessage, Error> {
        self.to_vec().into_message()
    }
}

impl IntoMessage for Vec<u8> {
    fn into_message(self) -> Result<OutgoingMessage, Error> {
        Bytes::from(self).into_message()
    }
}

#[diagnostic::do_not_recommend]
impl<T: FromBody> FromBody for Socket<T> {
    fn from_body(_: &Bytes) -> Result<Self, String> {
        Err("a WebSocket is the answer of a declared step or of a `Request`: write `Socket<T>` alone".to_owned())
    }

    fn from_response(response: &mut RawResponse) -> Result<Self, ReadError> {
        let connection = response.socket.take().ok_or_else(|| {
            let status = response.status;
            ReadError::from(format!(
                "the target did not change to a WebSocket: it answered {status}"
            ))
        })?;
        Ok(Self {
            connection,
            messages: PhantomData,
        })
    }
}

impl<T> fmt::Debug for Socket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket")
            .field("connection", &self.connection)
            .finish()
    }
}

impl<T> fmt::Debug for SocketWait<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketWait")
            .field("name", &self.name)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(serde::Serialize)]
    struct Say<'a> {
        text: &'a str,
    }

    fn sent(message: impl IntoMessage) -> (bool, Vec<u8>) {
        let message = message.into_message().unwrap();
        (message.is_text, message.data.to_vec())
    }

    #[test]
    fn text_and_bytes_are_sent_as_they_are_and_other_references_as_json() {
        let text = String::from("hi \"you\"");
        let as_text = (true, text.clone().into_bytes());
        assert_eq!(sent(&text), as_text);
        let nested: &&str = &&*text;
        assert_eq!(sent(nested), as_text);
        assert_eq!(sent(&*text), as_text);
        assert_eq!(sent(&Cow::Borrowed(&*text)), as_text);
        assert_eq!(sent(text.clone()), as_text);

        let bytes = vec![0, 159, 255];
        let as_bytes = (false, bytes.clone());
        assert_eq!(sent(&bytes), as_bytes);
        assert_eq!(sent(&[0_u8, 159, 255]), as_bytes);
        assert_eq!(sent(&bytes[..]), as_bytes);
        assert_eq!(sent(Bytes::from(bytes)), as_bytes);

        let as_json = |json: &str| (true, json.as_bytes().to_vec());
        assert_eq!(sent(&Say { text: "a" }), as_json(r#"{"text":"a"}"#));
        assert_eq!(sent(&json!("a")), as_json(r#""a""#));
        assert_eq!(sent(&vec!["a"]), as_json(r#"["a"]"#));
    }
}
