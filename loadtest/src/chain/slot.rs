//! The slot of a step's response in a chain, and the parameters that take it.

#![expect(clippy::missing_errors_doc, reason = "only generated code calls this")]

use super::response::{FromBody, Response};
use super::{Cause, RawResponse, ReadError, RootCause, Unmet};
use crate::transport::ErrorKind;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};
use std::any::TypeId;

/// The response of a step in the current iteration, or why there is none.
#[derive(Debug)]
pub enum Slot<T> {
    /// There is none.
    Empty(Cause),
    /// The step ran and its response was read.
    Full(Response<T>),
}

impl<T> Slot<T> {
    /// The slot of `step` before it has run.
    pub fn unused(step: usize) -> Self {
        Self::Empty(Cause {
            root: RootCause::NotDrawn,
            step,
        })
    }

    /// The response, where there is one.
    pub fn response(&self) -> Option<&Response<T>> {
        match self {
            Self::Full(response) => Some(response),
            Self::Empty(_) => None,
        }
    }

    /// The response of `step`, for `variable`.
    ///
    /// # Errors
    /// The cause of the slot, when it is empty.
    pub fn get(&self, step: usize, variable: &'static str) -> Result<&Response<T>, Unmet> {
        match self {
            Self::Full(response) => Ok(response),
            &Self::Empty(cause) => Err(Unmet::Upstream {
                step,
                variable,
                cause,
            }),
        }
    }

    /// The body alone.
    ///
    /// # Errors
    /// The cause of the slot, when it is empty.
    pub fn body(&self, step: usize, variable: &'static str) -> Result<&T, Unmet> {
        self.get(step, variable).map(Response::body)
    }

    /// The body alone, to be changed.
    ///
    /// # Errors
    /// The cause of the slot, when it is empty.
    pub fn body_mut(&mut self, step: usize, variable: &'static str) -> Result<&mut T, Unmet> {
        match self {
            Self::Full(response) => Ok(response.body_mut()),
            &mut Self::Empty(cause) => Err(Unmet::Upstream {
                step,
                variable,
                cause,
            }),
        }
    }

    /// The first header of that name.
    ///
    /// # Errors
    /// The cause of the slot, when it is empty; that the header is there and no text.
    pub fn header(
        &self,
        step: usize,
        variable: &'static str,
        name: &HeaderName,
    ) -> Result<Option<&str>, Unmet> {
        let headers = self.get(step, variable)?.headers();
        let value = headers.get(name).map(http::HeaderValue::to_str);
        value.transpose().map_err(|_| Unmet::Invalid {
            reason: format!("`{variable}` is not text"),
        })
    }

    /// The value of the cookie `name` that the answer set.
    ///
    /// # Errors
    /// The cause of the slot, when it is empty.
    pub fn cookie(
        &self,
        step: usize,
        variable: &'static str,
        name: &str,
    ) -> Result<Option<&str>, Unmet> {
        Ok(self.get(step, variable)?.find_cookie(name))
    }
}

/// The parts of a response that a placeholder can take, for editors.
#[derive(Debug)]
pub struct Answer<T> {
    /// `{{login.response.token}}`: the body.
    pub response: T,
    /// `{{login.headers.location}}`: a header, whose name follows.
    pub headers: (),
    /// `{{login.cookies.csrf}}`: a cookie that the answer set, whose name follows.
    pub cookies: (),
}

/// A parameter of steps without a body, which code cannot call: the engine sends them, and a parameter such as
/// `login: &Login` takes the answer.
#[derive(Debug)]
pub enum SentByEngine {}

/// Reads `response` into `slot`.
pub fn fill<T: FromBody>(slot: &mut Slot<T>, mut response: RawResponse) -> Result<(), ReadError> {
    let body = T::from_response(&mut response);
    let body = body.map_err(|error| explain_by_content_type(error, &response.headers))?;
    let is_read = TypeId::of::<T>() != TypeId::of::<()>();
    *slot = Slot::Full(Response::new(response, body, is_read));
    Ok(())
}

/// Adds the content type to why a body cannot be read, where it is not that of JSON.
pub(super) fn explain_by_content_type(error: ReadError, headers: &HeaderMap) -> ReadError {
    let content_type = headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let other = content_type.filter(|value| !value.contains("json"));
    match other {
        Some(value) if error.kind == ErrorKind::BodyDecode => {
            error.explained(|reason| format!("{reason}; content-type {value}"))
        }
        _ => error,
    }
}

/// A parameter type that takes the response of a step, which is a `T`.
#[diagnostic::on_unimplemented(
    message = "this parameter names a step whose response is `{T}`, but its type is `{Self}`",
    label = "expected `&{T}`",
    note = "a step's response is taken as `&{T}`, `&Response<{T}>`, or `Option` of one of them"
)]
pub trait FromSlot<'a, T>: Sized {
    /// Takes the response of `step`, for the parameter `variable`.
    ///
    /// # Errors
    /// The cause of the slot, when it is empty and the type is no `Option`.
    fn from_slot(slot: &'a Slot<T>, step: usize, variable: &'static str) -> Result<Self, Unmet>;
}

#[diagnostic::do_not_recommend]
impl<'a, T> FromSlot<'a, T> for &'a T {
    fn from_slot(slot: &'a Slot<T>, step: usize, variable: &'static str) -> Result<Self, Unmet> {
        slot.body(step, variable)
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T> FromSlot<'a, T> for &'a Response<T> {
    fn from_slot(slot: &'a Slot<T>, step: usize, variable: &'static str) -> Result<Self, Unmet> {
        slot.get(step, variable)
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T> FromSlot<'a, T> for Option<&'a T> {
    fn from_slot(slot: &'a Slot<T>, _: usize, _: &'static str) -> Result<Self, Unmet> {
        Ok(slot.response().map(Response::body))
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T> FromSlot<'a, T> for Option<&'a Response<T>> {
    fn from_slot(slot: &'a Slot<T>, _: usize, _: &'static str) -> Result<Self, Unmet> {
        Ok(slot.response())
    }
}

#[diagnostic::do_not_recommend]
impl<'a> FromSlot<'a, String> for &'a str {
    fn from_slot(
        slot: &'a Slot<String>,
        step: usize,
        variable: &'static str,
    ) -> Result<Self, Unmet> {
        slot.body(step, variable).map(String::as_str)
    }
}

#[diagnostic::do_not_recommend]
impl<'a> FromSlot<'a, String> for Option<&'a str> {
    fn from_slot(slot: &'a Slot<String>, _: usize, _: &'static str) -> Result<Self, Unmet> {
        Ok(slot.response().map(|response| response.body().as_str()))
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T> FromSlot<'a, Vec<T>> for &'a [T] {
    fn from_slot(
        slot: &'a Slot<Vec<T>>,
        step: usize,
        variable: &'static str,
    ) -> Result<Self, Unmet> {
        slot.body(step, variable).map(Vec::as_slice)
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T> FromSlot<'a, Vec<T>> for Option<&'a [T]> {
    fn from_slot(slot: &'a Slot<Vec<T>>, _: usize, _: &'static str) -> Result<Self, Unmet> {
        Ok(slot.response().map(|response| response.body().as_slice()))
    }
}

/// A parameter type that borrows the row of a feed, or the value of a `#[state]` or `#[setup]` function.
#[diagnostic::on_unimplemented(
    message = "this parameter names a value of type `{T}`, but its type is `{Self}`",
    label = "expected `&{T}`"
)]
pub trait Lend<'a, T>: Sized {
    /// Borrows the value.
    fn lend(value: &'a T) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'a, T> Lend<'a, T> for &'a T {
    fn lend(value: &'a T) -> Self {
        value
    }
}

#[diagnostic::do_not_recommend]
impl<'a> Lend<'a, String> for &'a str {
    fn lend(value: &'a String) -> Self {
        value
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T> Lend<'a, Vec<T>> for &'a [T] {
    fn lend(value: &'a Vec<T>) -> Self {
        value
    }
}

/// A parameter type that borrows the rows of a feed that gives `N` to each iteration.
#[diagnostic::on_unimplemented(
    message = "this parameter names a feed with {N} rows of type `{T}` in each iteration, but its type is `{Self}`",
    label = "expected `[&{T}; {N}]`"
)]
pub trait LendRows<'a, T, const N: usize>: Sized {
    /// Borrows the rows.
    fn lend_rows(rows: [&'a T; N]) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'a, T, L: Lend<'a, T>, const N: usize> LendRows<'a, T, N> for [L; N] {
    fn lend_rows(rows: [&'a T; N]) -> Self {
        rows.map(L::lend)
    }
}

/// A parameter type that borrows the value of a `#[state]` function, or the answer of a step, to change it.
#[diagnostic::on_unimplemented(
    message = "this parameter names a value of type `{T}`, but its type is `{Self}`",
    label = "expected `&mut {T}`"
)]
pub trait LendMut<'a, T>: Sized {
    /// Borrows the value.
    fn lend_mut(value: &'a mut T) -> Self;
}

#[diagnostic::do_not_recommend]
impl<'a, T> LendMut<'a, T> for &'a mut T {
    fn lend_mut(value: &'a mut T) -> Self {
        value
    }
}
