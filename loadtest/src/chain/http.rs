//! What a step that sends for itself sends with. No I/O here: the engine lends the wire.

use super::{Error, RawResponse, Response};
use super::{RequestBuf, Skip, Slot, Unmet};
use std::any::Any;
use std::fmt::{self, Display};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A future that stays on its thread.
pub type Local<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The HTTP client of a step that sends for itself, over the connection of its virtual user.
///
/// ```ignore
/// #[step]
/// async fn wait(buy: &Order, http: &mut Http) -> Result<Order, Error> {
///     for _ in 0..20 {
///         let order: Order = http.get(format!("/orders/{}", buy.id)).send().await?.json().await?;
///         if order.status == "done" {
///             return Ok(order);
///         }
///         http.pause(Duration::from_millis(500)).await;
///     }
///     Err(Error::msg("never done"))
/// }
/// ```
pub struct Http {
    wire: Box<dyn Wire>,
}

/// What the engine lends to [`Http`]: it sends over the transport of the user, and measures.
pub trait Wire: Any {
    /// Sends `request` and waits for the answer, whatever its status; `name` is that of its row in
    /// the report, where the step gives one.
    fn send<'a>(
        &'a mut self,
        request: &'a RequestBuf,
        name: Option<&'a str>,
    ) -> Local<'a, Result<RawResponse, Error>>;

    /// Pauses, which is part of no latency.
    fn pause(&mut self, time: Duration) -> Local<'_, ()>;
}

/// How a step that sends for itself came to no response.
#[derive(Debug)]
pub enum Halt {
    /// It did not run.
    Unmet(Unmet),
    /// It failed.
    Failed(Error),
}

impl From<Unmet> for Halt {
    fn from(unmet: Unmet) -> Self {
        Self::Unmet(unmet)
    }
}

impl Http {
    /// Sends over `wire`.
    #[doc(hidden)]
    pub fn new(wire: Box<dyn Wire>) -> Self {
        Self { wire }
    }

    /// The wire again.
    #[doc(hidden)]
    pub fn into_wire(self) -> Box<dyn Wire> {
        self.wire
    }

    /// Pauses, which is part of no latency; it ends early when the run does.
    pub async fn pause(&mut self, time: Duration) {
        self.wire.pause(time).await;
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

/// Keeps what an `async` step returned as its response.
#[doc(hidden)]
pub fn sent<T, E: Display + 'static>(
    slot: &mut Slot<T>,
    returned: Result<T, E>,
) -> Result<(), Halt> {
    match returned {
        Ok(body) => {
            *slot = Slot::Full(Response::new(
                http::StatusCode::OK,
                http::HeaderMap::new(),
                body,
            ));
            Ok(())
        }
        Err(error) => {
            if let Some(skip) = (&error as &dyn Any).downcast_ref::<Skip>() {
                return Err(Halt::Unmet(Unmet::LeftOut {
                    reason: skip.reason().to_owned(),
                }));
            }
            Err(Halt::Failed(Error::msg(error)))
        }
    }
}
