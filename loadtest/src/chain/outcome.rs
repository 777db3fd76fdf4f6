//! Converts the return values of a scenario's functions.

#![expect(clippy::missing_errors_doc, reason = "only generated code calls this")]

use super::{Request, Response, Unmet};
use crate::panic_message::take_panic_message;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a step may return.
#[diagnostic::on_unimplemented(
    message = "a step cannot return `{Self}`",
    label = "not a request",
    note = "a step returns `Request<T>`, `Option<Request<T>>` or `Result<Request<T>, E>`"
)]
pub trait StepReturn<T> {
    /// The request, or that the step declined.
    ///
    /// # Errors
    /// That the step declined.
    fn into_request(self) -> Result<Request<T>, Unmet>;
}

#[diagnostic::do_not_recommend]
impl<T> StepReturn<T> for Request<T> {
    fn into_request(self) -> Result<Request<T>, Unmet> {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T> StepReturn<T> for Option<Request<T>> {
    fn into_request(self) -> Result<Request<T>, Unmet> {
        self.ok_or_else(|| Unmet::Declined {
            reason: "the step returned `None`".to_owned(),
        })
    }
}

impl<T, E: Display> StepReturn<T> for Result<Request<T>, E> {
    fn into_request(self) -> Result<Request<T>, Unmet> {
        self.map_err(|error| Unmet::Declined {
            reason: error.to_string(),
        })
    }
}

/// What a check may return.
#[diagnostic::on_unimplemented(
    message = "a check returns `bool` or `Result<(), impl Display>`, not `{Self}`",
    label = "neither `bool` nor `Result<(), impl Display>`"
)]
pub trait CheckReturn {
    /// The verdict of the check.
    ///
    /// # Errors
    /// What the check objects to; empty when it does not say.
    fn into_check(self) -> Result<(), String>;
}

#[diagnostic::do_not_recommend]
impl CheckReturn for bool {
    fn into_check(self) -> Result<(), String> {
        if self { Ok(()) } else { Err(String::new()) }
    }
}

#[diagnostic::do_not_recommend]
impl<E: Display> CheckReturn for Result<(), E> {
    fn into_check(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// Calls the closure of `check = |r| ..` or `until = |r| ..` with `response`.
pub fn call_with<T, R>(response: &Response<T>, closure: impl Fn(&Response<T>) -> R) -> R {
    closure(response)
}

/// Runs a check: `None` when an input is missing, and a panic is a failed check.
pub fn run_check(
    check: impl FnOnce() -> Result<Result<(), String>, Unmet>,
) -> Option<Result<(), String>> {
    match catch_unwind(AssertUnwindSafe(check)) {
        Ok(Ok(verdict)) => Some(verdict),
        Ok(Err(_)) => None,
        Err(panic) => Some(Err(format!("panicked: {}", take_panic_message(panic)))),
    }
}

/// What a teardown may return.
#[diagnostic::on_unimplemented(
    message = "a teardown returns nothing or `Result<(), impl Display>`, not `{Self}`",
    label = "neither nothing nor `Result<(), impl Display>`"
)]
pub trait TeardownReturn {
    /// Returns an error if it failed.
    fn into_teardown(self) -> Result<(), String>;
}

#[diagnostic::do_not_recommend]
impl TeardownReturn for () {
    fn into_teardown(self) -> Result<(), String> {
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<E: Display> TeardownReturn for Result<(), E> {
    fn into_teardown(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// A teardown and its name.
type Teardown<'a> = (&'static str, &'a dyn Fn() -> Result<(), String>);

/// Runs every teardown, even after one failed, and returns all failures.
pub fn run_teardowns(teardowns: &[Teardown<'_>]) -> Result<(), String> {
    let failed: Vec<String> = teardowns
        .iter()
        .filter_map(
            |(name, teardown)| match catch_unwind(AssertUnwindSafe(teardown)) {
                Ok(Ok(())) => None,
                Ok(Err(reason)) => Some(format!("teardown `{name}` failed: {reason}")),
                Err(panic) => Some(format!(
                    "teardown `{name}` panicked: {}",
                    take_panic_message(panic)
                )),
            },
        )
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("; "))
    }
}
