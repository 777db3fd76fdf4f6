//! Reads an answer that is a stream of events.

use super::body::{self, UnreadBody};
use super::compression::Encoding;
use super::connection::Connection;
use super::events::{EventLog, EventSplitter, Framing, RawEvent, TooMuch};
use super::hop::hop_read_limit;
use super::{ErrorKind, Failure, graphql};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use loadtest_model::definition::{EndMark, StreamDef, StreamFormat};
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How long the end of a body is waited for after the event that ends its stream: the connection is of use again then.
const END_OF_BODY: Duration = Duration::from_millis(100);

/// The most bytes of an event that a message quotes.
const MAX_QUOTED: usize = 300;

/// How an answer is read as a stream of events.
#[derive(Clone, Copy)]
pub(crate) struct StreamCall<'a> {
    /// What the step declares.
    pub(crate) def: &'a StreamDef,
    /// False where the times are kept alone.
    pub(crate) keeps_data: bool,
    /// True for a subscription of GraphQL, which the event `complete` ends.
    pub(crate) is_graphql: bool,
    /// The time after which the stream is left, with success.
    pub(crate) lasts: Option<Duration>,
    /// Takes each event, and returns whether it ends the stream.
    ///
    /// # Errors
    /// The panic of the scenario's code.
    pub(crate) each: &'a dyn Fn(&RawEvent) -> Result<bool, Failure>,
    /// Takes the status once the answer is known to be a stream.
    pub(crate) opened: Option<&'a Cell<Option<StatusCode>>>,
}

impl StreamCall<'_> {
    /// Returns whether only server-sent events are read.
    pub(super) fn accepts_events_alone(self) -> bool {
        self.is_graphql || self.def.format == StreamFormat::Events
    }
}

impl fmt::Debug for StreamCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.def.fmt(f)
    }
}

/// A stream that is read, or was.
#[derive(Debug)]
pub(super) struct StreamProgress {
    pub(super) log: EventLog,
    /// The time at which its request was ready.
    begun: Instant,
    /// The last event of a stream that ended well, or the time at which the step ended it.
    pub(super) ended_at: Option<Instant>,
    /// The start of the body, if somebody watches.
    pub(super) excerpt: Option<Vec<u8>>,
}

/// How a stream stands.
enum StreamState {
    Open,
    /// The event that is its end was there.
    Marked,
    /// There were as many events as the step wants.
    Enough,
    Failed(Failure),
}

impl StreamProgress {
    pub(super) fn new(begun: Instant, is_watched: bool) -> Self {
        Self {
            log: EventLog::default(),
            begun,
            ended_at: None,
            excerpt: is_watched.then(Vec::new),
        }
    }

    /// Reads the body of an answer with `status` and `headers`; whether it was read to its end.
    #[expect(
        clippy::too_many_lines,
        reason = "what is read, and what ends it, in one place"
    )]
    pub(super) async fn read(
        &mut self,
        connection: &mut Connection,
        (status, headers): (StatusCode, &HeaderMap),
        call: StreamCall<'_>,
    ) -> Result<bool, UnreadBody> {
        let framing = match find_framing(headers, call.def.format) {
            Ok(framing) => framing,
            Err(failure) => {
                let refused = (call.is_graphql, failure);
                return Err(self.refuse_body(connection, headers, refused).await);
            }
        };
        if let Some(opened) = call.opened {
            opened.set(Some(status));
        }
        let (begun, def) = (self.begun, call.def);
        let mut splitter = EventSplitter::new(framing);
        let mut state = StreamState::Open;
        let meter = Rc::clone(&connection.meter);
        let last_read = Cell::new(Instant::now());
        let alive_at = Cell::new(last_read.get());
        let marked_at = Cell::new(None);
        let mut bytes_read = None;
        let mut is_together = false;
        let (log, excerpt) = (&mut self.log, &mut self.excerpt);
        let read = {
            let body = connection.body(|data| {
                let bytes = Some(meter.received_bytes());
                if bytes != bytes_read {
                    // Pieces of one read have one time.
                    (bytes_read, is_together) = (bytes, false);
                    last_read.set(Instant::now());
                }
                if def.idle_counts_bytes {
                    alive_at.set(last_read.get());
                }
                if let Some(excerpt) = excerpt {
                    let room = hop_read_limit().saturating_sub(excerpt.len());
                    excerpt.extend_from_slice(&data[..data.len().min(room)]);
                }
                if !matches!(state, StreamState::Open) {
                    return ControlFlow::Continue(());
                }
                let at = last_read.get() - begun;
                let pushed = splitter.push(data, |event| {
                    let event = RawEvent {
                        begun: Some(begun),
                        at,
                        is_together: std::mem::replace(&mut is_together, true),
                        ..event
                    };
                    alive_at.set(last_read.get());
                    state = take_event(log, event, call);
                    matches!(state, StreamState::Open)
                });
                if pushed.is_err() {
                    state = StreamState::Failed(too_much());
                }
                match state {
                    StreamState::Open => ControlFlow::Continue(()),
                    StreamState::Marked => {
                        marked_at.set(Some(last_read.get()));
                        ControlFlow::Continue(())
                    }
                    StreamState::Enough | StreamState::Failed(_) => ControlFlow::Break(()),
                }
            });
            let clock = StreamClock {
                over_at: call.lasts.map(|lasts| begun + lasts),
                idle: def.idle,
                alive_at: &alive_at,
                last_read: &last_read,
                marked_at: &marked_at,
            };
            clock.read_on(body).await.map_err(UnreadBody::Stream)?
        };
        let read = read.map(|read| read.map_err(UnreadBody::Broken));
        let is_complete = match (read, state) {
            (_, StreamState::Failed(failure)) => return Err(UnreadBody::Stream(failure)),
            // What comes after the end is no part of it.
            (Some(Err(_)) | None, StreamState::Marked) => false,
            (Some(Err(error)), _) => return Err(error),
            // The step has ended it, after so long.
            (None, _) => {
                if self.log.events.is_empty() && !def.idle_counts_bytes {
                    return Err(UnreadBody::Stream(silence(call.lasts.unwrap_or_default())));
                }
                self.ended_at = Some(Instant::now());
                return Ok(false);
            }
            (Some(Ok(is_complete)), StreamState::Open) if is_complete => {
                let last = splitter.finish().map(|event| {
                    let at = last_read.get() - begun;
                    take_event(
                        &mut self.log,
                        RawEvent {
                            begun: Some(begun),
                            at,
                            is_together,
                            ..event
                        },
                        call,
                    )
                });
                match last {
                    Some(StreamState::Failed(failure)) => return Err(UnreadBody::Stream(failure)),
                    Some(StreamState::Marked | StreamState::Enough) => {}
                    _ => check_end(def.end.as_ref(), &self.log)?,
                }
                true
            }
            (Some(Ok(is_complete)), _) => is_complete,
        };
        let last = self.log.events.last();
        self.ended_at = last.map(|event| begun + event.at);
        Ok(is_complete)
    }
}

impl StreamProgress {
    /// Adds the start of a JSON answer to the failure: services answer with their errors so, whatever the status. Of
    /// others nothing is read, which may come at any time.
    async fn refuse_body(
        &mut self,
        connection: &mut Connection,
        headers: &HeaderMap,
        (is_graphql, mut failure): (bool, Failure),
    ) -> UnreadBody {
        let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        if kind.is_some_and(|kind| kind.windows(4).any(|part| part == b"json")) {
            let encoding = Encoding::from_headers(headers);
            let start = if is_graphql {
                let (whole, _) =
                    body::read_sample(connection, body::MAX_DRAINED_BODY as usize).await;
                if let Some(errors) = graphql::errors_in_body(&whole, &encoding) {
                    failure = Failure::new(ErrorKind::GraphqlErrors, errors);
                }
                whole
            } else {
                let mut start = Vec::new();
                let limit = hop_read_limit();
                let read = connection.body(|data| {
                    start.extend_from_slice(&data[..data.len().min(limit)]);
                    ControlFlow::Break(())
                });
                // Of one that breaks off, what came is shown.
                let _read = read.await;
                start
            };
            failure.sample = body::sample_text(start.clone(), &encoding);
            if let Some(excerpt) = &mut self.excerpt {
                *excerpt = start;
            }
        }
        UnreadBody::Stream(failure)
    }
}

/// The times that a stream ends at, whatever comes of it.
struct StreamClock<'a> {
    /// The time at which the step ends it.
    over_at: Option<Instant>,
    idle: Duration,
    /// The time of what ended the last silence.
    alive_at: &'a Cell<Instant>,
    last_read: &'a Cell<Instant>,
    /// The time at which the event was there that is its end.
    marked_at: &'a Cell<Option<Instant>>,
}

impl StreamClock<'_> {
    /// Reads on until the body is over; `None` where the step ends it, or its end is there and no more comes.
    ///
    /// # Errors
    /// The failure of a stream that is silent for too long.
    async fn read_on<R>(&self, body: impl Future<Output = R>) -> Result<Option<R>, Failure> {
        let mut body = pin!(body);
        loop {
            let marked = self.marked_at.get();
            let silent_at = self.alive_at.get() + self.idle;
            let (wake, is_silence) = match (marked, self.over_at) {
                (Some(marked), _) => (marked + END_OF_BODY, false),
                (None, Some(over)) if over <= silent_at => (over, false),
                (None, _) => (silent_at, true),
            };
            // The end of a stream sets another time to wait for.
            let read_on = poll_fn(|context| match body.as_mut().poll(context) {
                Poll::Ready(read) => Poll::Ready(Some(read)),
                Poll::Pending if self.marked_at.get() != marked => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            tokio::select! {
                biased;
                read = read_on => if let Some(read) = read {
                    return Ok(Some(read));
                },
                () = sleep_until(wake) => {
                    if !is_silence {
                        return Ok(None);
                    }
                    // What was read since then has moved it.
                    if self.alive_at.get() + self.idle <= wake {
                        return Err(self.silence());
                    }
                }
            }
        }
    }
}

impl StreamClock<'_> {
    /// The failure of a stream without an event for so long, although other bytes may have come.
    fn silence(&self) -> Failure {
        let mut failure = silence(self.idle);
        if self.last_read.get() > self.alive_at.get() {
            let idle = self.idle;
            failure.message = format!(
                "{}, only bytes that are none, such as heartbeats, which count with `idle(bytes) = {idle:?}`",
                failure.message
            );
        }
        failure
    }
}

/// Takes in an event, and says how the stream stands then.
fn take_event(log: &mut EventLog, event: RawEvent, call: StreamCall<'_>) -> StreamState {
    let def = call.def;
    let is_mark = matches!(&def.end, Some(EndMark::Data(mark)) if event.data == mark.as_bytes());
    if is_mark || call.is_graphql && event.is_complete() {
        if !log.events.is_empty() {
            return StreamState::Marked;
        }
        // A service that produced nothing sends its mark alone.
        let words = "the stream ended without an event before its end mark";
        return StreamState::Failed(Failure::new(ErrorKind::StreamUnfinished, words));
    }
    if event.is_error() {
        let said = quote_short(&event).unwrap_or_default();
        let words = format!("the service failed within its stream: {said}");
        return StreamState::Failed(Failure::new(ErrorKind::StreamError, words));
    }
    let ends = (call.each)(&event);
    if let Err(TooMuch) = log.add(event, call.keeps_data) {
        return StreamState::Failed(too_much());
    }
    let count = log.events.len();
    match ends {
        Err(failure) => StreamState::Failed(failure),
        Ok(true) => StreamState::Marked,
        Ok(false) if def.events.is_some_and(|most| count >= most as usize) => StreamState::Enough,
        Ok(false) => StreamState::Open,
    }
}

/// Returns how the events of an answer are told apart.
fn find_framing(headers: &HeaderMap, format: StreamFormat) -> Result<Framing, Failure> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let encoding = Encoding::from_headers(headers);
    if encoding.is_compressed() {
        let names = encoding.names();
        let words = format!(
            "a stream of events is read as it comes, and this one is compressed: content-encoding {names}"
        );
        return Err(Failure::new(ErrorKind::HeadMalformed, words));
    }
    match format {
        StreamFormat::Events => Ok(Framing::ServerSent),
        StreamFormat::Lines => Ok(Framing::Lines),
        StreamFormat::Detected => {
            let found = text(&CONTENT_TYPE);
            found.and_then(Framing::from_content_type).ok_or_else(|| {
                let found = found.map_or_else(|| "no content-type".to_owned(), |found| format!("content-type {found}"));
                let words = format!("the answer is not a stream of events: {found}; `format = events` or `format = lines` reads it as one");
                Failure::new(ErrorKind::HeadMalformed, words)
            })
        }
    }
}

/// Refuses a stream that came to its end without the event that is its end, or without any.
fn check_end(mark: Option<&EndMark>, log: &EventLog) -> Result<(), UnreadBody> {
    let wanted = match mark {
        None if log.events.is_empty() => String::new(),
        None => return Ok(()),
        Some(EndMark::Data(mark)) => format!(" without `{mark}`"),
        Some(EndMark::Condition(condition)) => format!(" without an event with `{condition}`"),
    };
    let last = log.events.last().and_then(quote_short);
    let last = last.map_or_else(String::new, |last| format!("; the last one: {last}"));
    let words = format!(
        "the stream ended after {}{wanted}{last}",
        EventCount(log.events.len())
    );
    Err(UnreadBody::Stream(Failure::new(
        ErrorKind::StreamUnfinished,
        words,
    )))
}

/// The data of an event where it was kept and is short: services send errors as the last event. A part of it might be a
/// part of a secret, which is not found any more.
fn quote_short(event: &RawEvent) -> Option<Cow<'_, str>> {
    let is_short = (1..=MAX_QUOTED).contains(&event.data.len());
    is_short.then(|| String::from_utf8_lossy(&event.data))
}

/// The failure of a stream of which no event came for so long.
pub(crate) fn silence(idle: Duration) -> Failure {
    Failure::new(
        ErrorKind::TimeoutEvent,
        format!("no event came within {idle:?}"),
    )
}

pub(crate) fn too_much() -> Failure {
    let words = "the stream has more than 16 MiB of data or 100,000 events; `Events<()>` keeps only the times, up to 1,000,000";
    Failure::new(ErrorKind::BodyTooLarge, words)
}

/// A number of events in words.
struct EventCount(usize);

impl fmt::Display for EventCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} event{plural}", self.0)
    }
}
