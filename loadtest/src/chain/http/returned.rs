//! Converts the return value of an async step.

use super::{Halt, Http};
use crate::chain::{Error, RawResponse, Response, Slot};
use std::fmt::Display;

/// What a step that sends for itself may return.
#[diagnostic::on_unimplemented(
    message = "an `async` step returns `Result<T, E>` with an error that can be shown, not `{Self}`",
    label = "not a `Result<T, impl Display>`",
    note = "`Error` takes every error by `?`: write `-> Result<T, Error>`"
)]
pub trait SenderReturn<T> {
    /// The value, or how the step came to none; `seen` is what is known of its error.
    ///
    /// # Errors
    /// That it left itself out, or why it failed.
    fn into_value(self, seen: Option<Halt>) -> Result<T, Halt>;
}

#[diagnostic::do_not_recommend]
impl<T, E: Display + 'static> SenderReturn<T> for Result<T, E> {
    fn into_value(self, seen: Option<Halt>) -> Result<T, Halt> {
        self.map_err(|error| halt(&error, seen))
    }
}

/// Keeps what a step of return type `R` returned as its response, with the status and the headers of
/// its last answer; `seen` is what is known of its error.
///
/// # Errors
/// How the step came to no value.
#[doc(hidden)]
pub fn sent<R: SenderReturn<T>, T>(
    slot: &mut Slot<T>,
    returned: R,
    seen: Option<Halt>,
    http: &mut Http,
) -> Result<(), Halt> {
    let body = returned.into_value(seen)?;
    let last = http.last.take().map(|last| *last);
    let last = last.unwrap_or_else(|| RawResponse::from(http::Response::default()));
    *slot = Slot::Full(Response::new(last, body, true));
    Ok(())
}

/// Combines the text of `error` with the kind that `seen` has.
fn halt(error: &impl Display, seen: Option<Halt>) -> Halt {
    let words = error.to_string();
    match seen {
        Some(Halt::Failed(seen)) => Halt::Failed(seen.said_as(words)),
        Some(skip) => skip,
        None => Halt::Failed(Error::msg(words)),
    }
}
