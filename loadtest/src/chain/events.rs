//! `Events<T>`: an answer that is a stream of events.

use super::response::FromBody;
use super::slot::Slot;
use super::stamp::Stamp;
use super::value::IndexPath;
use super::{RawResponse, ReadError};
use crate::transport::events::{EventLog, RawEvent};
use bytes::Bytes;
use loadtest_model::metrics::StreamSample;
use std::ops::{Deref, Index};
use std::time::Duration;
use tokio::time::Instant;

/// An answer that is a stream of events, read to its end: server-sent events, or a value on each line.
///
/// Each event is read into `T` as an answer is: from JSON; as text for `String`; not at all for `()`, of which only
/// the times are kept.
///
/// ```
/// use loadtest::prelude::*;
///
/// #[response]
/// struct Notice { order: u64, state: String }
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn follow() {
///     #[step(get = "/orders/events", events = 5, idle = 10s, first_event.p95 < 2s)]
///     fn notices() -> Events<Notice>;
///
///     #[step(get = "/orders/{{notices.response[0].order}}")]
///     fn order();
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Events<T> {
    events: Vec<Event<T>>,
}

/// An event of a stream; it derefs to its data.
#[derive(Debug, Clone)]
pub struct Event<T> {
    data: T,
    name: Option<Box<str>>,
    id: Option<Box<str>>,
    begun: Option<Instant>,
    at: Duration,
    is_together: bool,
}

impl<T> Events<T> {
    /// The events in the order in which they came.
    pub fn iter(&self) -> std::slice::Iter<'_, Event<T>> {
        self.events.iter()
    }

    /// The first event.
    pub fn first(&self) -> Option<&Event<T>> {
        self.events.first()
    }

    /// The last event; an event that marks the end by its data (`end = ".."`) is none of them.
    pub fn last(&self) -> Option<&Event<T>> {
        self.events.last()
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

impl<T: FromBody> Events<T> {
    /// Reads the data of all events; or why that of one cannot be read.
    fn from_log(log: &EventLog) -> Result<Self, ReadError> {
        let events = log.events.iter().enumerate().map(|(at, event)| {
            Event::from_raw(event)
                .map_err(|error| error.explained(|reason| format!("event {}: {reason}", at + 1)))
        });
        let events = events.collect::<Result<_, _>>()?;
        Ok(Self { events })
    }
}

impl<T> Event<T> {
    /// Its data.
    pub fn data(&self) -> &T {
        &self.data
    }

    /// Its data, to keep.
    pub fn into_data(self) -> T {
        self.data
    }

    /// The value of its field `event`, of a server-sent event.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The value of its field `id`, or of that of the last event that had one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The time from the request being ready to the read that completed the event.
    pub fn at(&self) -> Duration {
        self.at
    }

    /// The time that it took from `sent`, a [`Stamp`] that went with it, to the read that completed it.
    pub fn since(&self, sent: Stamp) -> Duration {
        let read_at = self.begun.map(|begun| begun + self.at);
        read_at.map_or(Duration::ZERO, |at| sent.until(at))
    }
}

impl<T: FromBody> Event<T> {
    pub(crate) fn from_raw(event: &RawEvent) -> Result<Self, ReadError> {
        Ok(Self {
            data: T::read_body(&event.data)?,
            name: event.name.clone(),
            id: event.id.clone(),
            begun: event.begun,
            at: event.at,
            is_together: event.is_together,
        })
    }
}

impl<T> Deref for Event<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T> Index<usize> for Events<T> {
    type Output = Event<T>;

    fn index(&self, index: usize) -> &Event<T> {
        &self.events[index]
    }
}

impl<'a, T> IntoIterator for &'a Events<T> {
    type Item = &'a Event<T>;
    type IntoIter = std::slice::Iter<'a, Event<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> IntoIterator for Events<T> {
    type Item = Event<T>;
    type IntoIter = std::vec::IntoIter<Event<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.events.into_iter()
    }
}

#[diagnostic::do_not_recommend]
impl<T> IndexPath<T> for Events<T> {
    fn at(&self, index: usize) -> Option<&T> {
        self.events.get(index).map(Event::data)
    }
}

#[diagnostic::do_not_recommend]
impl<T: FromBody> FromBody for Events<T> {
    fn from_body(_: &Bytes) -> Result<Self, String> {
        Err("a stream of events is the answer of a declared step or of a `Request`: write `Events<T>` alone".to_owned())
    }

    fn from_response(response: &mut RawResponse) -> Result<Self, ReadError> {
        Self::from_log(&response.events.take().unwrap_or_default())
    }
}

/// The most units of one stream; a function that counts more has made a mistake, and sums are to have room.
const MAX_UNITS: u64 = u32::MAX as u64;

/// What is measured of a stream, whose units of work are its events from the first that counts on.
pub fn measure_events<T: FromBody>(
    slot: &Slot<Events<T>>,
    failed: Option<&EventLog>,
    first: impl Fn(&Event<T>) -> bool,
) -> StreamSample {
    measure(slot, failed, first, |_| None)
}

/// What is measured of a stream; `units` counts its units of work.
pub fn measure_units<T: FromBody>(
    slot: &Slot<Events<T>>,
    failed: Option<&EventLog>,
    first: impl Fn(&Event<T>) -> bool,
    units: impl Fn(&Events<T>) -> u64,
) -> StreamSample {
    measure(slot, failed, first, |events| Some(units(events)))
}

fn measure<T: FromBody>(
    slot: &Slot<Events<T>>,
    failed: Option<&EventLog>,
    first: impl Fn(&Event<T>) -> bool,
    units: impl Fn(&Events<T>) -> Option<u64>,
) -> StreamSample {
    let of_failed;
    let events = match (failed, slot.response()) {
        (Some(log), _) => {
            of_failed = Events::from_log(log);
            of_failed.as_ref().ok()
        }
        (None, response) => response.map(super::Response::body),
    };
    let Some(events) = events else {
        return StreamSample::default();
    };
    let first = events.iter().position(first);
    let counting = &events.events[first.unwrap_or(events.len())..];
    let pairs = counting.windows(2);
    StreamSample {
        first_event: counting.first().map(Event::at),
        gaps: pairs
            .map(|pair| pair[1].at.saturating_sub(pair[0].at))
            .collect(),
        units: units(events)
            .unwrap_or(counting.len() as u64)
            .min(MAX_UNITS),
        events: events.len() as u64,
        together: events.iter().filter(|event| event.is_together).count() as u64,
        is_continued: false,
    }
}

/// Returns whether `event` ends a stream.
pub fn ends_stream<T: FromBody>(
    _: &Slot<Events<T>>,
    event: &RawEvent,
    ends: impl Fn(&Event<T>) -> bool,
) -> bool {
    Event::from_raw(event).is_ok_and(|event| ends(&event))
}
