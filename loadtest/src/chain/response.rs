//! The response of an earlier step.

use crate::redact;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use std::any::TypeId;
use std::ops::Deref;

/// The response of an earlier step, its body read into `T`; it derefs to `T`. `Response` alone is that of a
/// step which does not read the body.
#[derive(Debug, Clone)]
pub struct Response<T = ()> {
    status: StatusCode,
    headers: HeaderMap,
    body: T,
}

impl<T> Response<T> {
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, body: T) -> Self {
        Self {
            status,
            headers,
            body,
        }
    }

    /// The status: one of those the step expects.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body.
    pub fn body(&self) -> &T {
        &self.body
    }
}

impl<T> Deref for Response<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.body
    }
}

/// A type that a response body is read into.
#[diagnostic::on_unimplemented(
    message = "a response cannot be read into `{Self}`",
    label = "not readable from JSON",
    note = "put `#[response]` (or `#[derive(serde::Deserialize)]`) on `{Self}`, or use `Value` for any JSON"
)]
pub trait FromBody: Sized + Send + 'static {
    /// Reads `body`: `()` takes any, and an empty one counts as `null`, so it is `None` or
    /// `Value::Null`.
    ///
    /// # Errors
    /// Why it is no `Self`.
    fn from_body(body: &Bytes) -> Result<Self, String>;
}

#[diagnostic::do_not_recommend]
impl<T: serde::de::DeserializeOwned + Send + 'static> FromBody for T {
    fn from_body(body: &Bytes) -> Result<Self, String> {
        if body.is_empty() || TypeId::of::<T>() == TypeId::of::<()>() {
            return serde_json::from_slice(b"null").map_err(|_| "the body is empty".to_owned());
        }
        serde_json::from_slice(body)
            .map_err(|error| redact::mismatch(&error.to_string()).into_owned())
    }
}
