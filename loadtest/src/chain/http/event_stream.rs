//! A stream of events that an async step reads as it comes.

use super::{EventSource, HttpError};
use crate::chain::events::Event;
use crate::chain::response::FromBody;
use crate::chain::{Error, ReadError};
use crate::transport::{ErrorKind, Failure};
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;

/// An answer that is read event by event, as it comes: [`HttpRequest::events`](super::HttpRequest::events).
///
/// Dropping it ends the request, which is no failure. Events are read, and take their times, while the step waits for
/// the next one.
pub struct EventStream<'a, T> {
    source: Box<dyn EventSource + 'a>,
    data: PhantomData<fn() -> T>,
}

impl<'a, T: FromBody> EventStream<'a, T> {
    /// Waits until the answer is known to be a stream.
    pub(super) async fn open(mut source: Box<dyn EventSource + 'a>) -> Result<Self, HttpError> {
        poll_fn(|context| source.poll_opened(context)).await?;
        Ok(Self {
            source,
            data: PhantomData,
        })
    }

    /// Waits for the next event; `None` after the last.
    ///
    /// # Errors
    /// The stream broke off, no event came for too long, it ended without any, or the event is no `T`, after
    /// which there are no more.
    pub async fn next(&mut self) -> Result<Option<Event<T>>, Error> {
        let event = poll_fn(|context| self.source.poll_event(context)).await?;
        let event = event.map(|event| Event::from_raw(&event)).transpose();
        event.map_err(|ReadError { kind, reason }| {
            self.source.fail(Failure::new(kind, &*reason));
            match kind {
                ErrorKind::BodyDecode => Error::undecodable(reason),
                _ => HttpError::new(kind.name(), reason).into(),
            }
        })
    }
}

impl<T> fmt::Debug for EventStream<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}
