//! What a step that sends for itself returns, in one form.

use super::{Halt, Http, HttpError};
use crate::chain::error::{Error, causes};
use crate::chain::{Response, Skip, Slot, Unmet};
use http::{HeaderMap, StatusCode};
use std::any::Any;
use std::error::Error as StdError;
use std::fmt::Display;

/// What a step that sends for itself may return.
#[diagnostic::on_unimplemented(
    message = "an `async` step returns `Result<T, E>` with an error that can be shown, not `{Self}`",
    label = "not a `Result<T, impl Display>`",
    note = "`Error` takes every error by `?`: write `-> Result<T, Error>`"
)]
pub trait SenderReturn<T> {
    /// The value, or how the step came to none.
    ///
    /// # Errors
    /// That it left itself out, or why it failed.
    fn into_value(self) -> Result<T, Halt>;
}

#[diagnostic::do_not_recommend]
impl<T, E: Display + 'static> SenderReturn<T> for Result<T, E> {
    fn into_value(self) -> Result<T, Halt> {
        self.map_err(halt)
    }
}

/// Keeps what a step of return type `R` returned as its response, with the status and the headers of
/// its last answer.
///
/// # Errors
/// How the step came to no value.
#[doc(hidden)]
pub fn sent<R: SenderReturn<T>, T>(
    slot: &mut Slot<T>,
    returned: R,
    http: &mut Http,
) -> Result<(), Halt> {
    let body = returned.into_value()?;
    let (status, headers) = http
        .last
        .take()
        .unwrap_or((StatusCode::OK, HeaderMap::new()));
    *slot = Slot::Full(Response::new(status, headers, body));
    Ok(())
}

fn halt<E: Display + 'static>(error: E) -> Halt {
    let known = as_error(&error);
    let skip = known.and_then(|error| causes(error).find_map(|cause| cause.downcast_ref::<Skip>()));
    if let Some(skip) = skip {
        return Halt::Unmet(Unmet::LeftOut {
            reason: skip.reason().to_owned(),
        });
    }
    Halt::Failed(match known {
        Some(known) => Error::like(known),
        None => Error::msg(error),
    })
}

/// `error` as what it is, if it is of a type that can hold a [`Skip`] or an error of `reqwest`.
fn as_error<E: 'static>(error: &E) -> Option<&(dyn StdError + 'static)> {
    let error: &dyn Any = error;
    if let Some(error) = error.downcast_ref::<Error>() {
        return Some(error.get());
    }
    if let Some(error) = error.downcast_ref::<Box<dyn StdError + Send + Sync>>() {
        return Some(&**error);
    }
    if let Some(error) = error.downcast_ref::<Box<dyn StdError + Send>>() {
        return Some(&**error);
    }
    if let Some(error) = error.downcast_ref::<Box<dyn StdError>>() {
        return Some(&**error);
    }
    if let Some(error) = error.downcast_ref::<reqwest::Error>() {
        return Some(error);
    }
    if let Some(error) = error.downcast_ref::<HttpError>() {
        return Some(error);
    }
    error
        .downcast_ref::<Skip>()
        .map(|skip| skip as &(dyn StdError + 'static))
}
