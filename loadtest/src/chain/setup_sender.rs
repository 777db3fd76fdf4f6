//! The clients of setups and teardowns, which belong to no virtual user. No I/O here: the harness
//! provides the client.

#![expect(clippy::missing_errors_doc, reason = "only generated code calls this")]

use super::kept::{SetupValue, Shareable, run_setup};
use super::setup_values::JsonForm;
use super::{Http, Local, SetupContext, SetupError, with_step_sender};
use loadtest_model::redacted::Redacted;
use std::fmt::{Debug, Display};
use std::future::{Future, poll_fn};
use std::pin::pin;

/// Provides the client of setups and teardowns, and waits for them.
pub(crate) trait SetupSender: Debug + Send + Sync {
    /// Returns a client that joins paths to `base`, or else to the declared base URL.
    ///
    /// # Errors
    /// Why nothing can be sent there.
    fn client(&self, base: Option<&str>, redirects: u32) -> Result<Http, String>;

    /// Waits for the end of `errand`.
    fn wait(&self, errand: Local<'_, ()>);

    /// Takes the start of the last body that came with an error status.
    fn take_refusal(&self) -> Option<Redacted>;

    /// Prints a warning about a setup that fails during the load.
    fn warn(&self, message: &str);
}

/// Runs the setup `name`, an `async fn`; `own` is the URL of the target that a setup above it started.
pub fn run_async_setup<T: Shareable, E: Display>(
    name: &'static str,
    context: &SetupContext,
    form: &JsonForm<T>,
    own: Option<&str>,
    redirects: u32,
    setup: impl AsyncFnOnce(&mut Http) -> Result<T, E>,
) -> Result<SetupValue<T>, SetupError> {
    run_setup::<T, String>(name, context, form, || {
        send_setup(context, own, redirects, setup)
    })
}

/// Calls the function of an `async` setup, and waits for what it returns.
pub(super) fn send_setup<T, E: Display>(
    context: &SetupContext,
    own: Option<&str>,
    redirects: u32,
    setup: impl AsyncFnOnce(&mut Http) -> Result<T, E>,
) -> Result<T, String> {
    let returned = run_errand(context, own, redirects, setup)?;
    let refusal = context.sender.as_ref();
    let refusal = refusal.and_then(|sender| sender.take_refusal());
    returned.map_err(|error| match refusal {
        Some(body) => format!("{error}; the last answer with an error status was `{body}`"),
        None => error.to_string(),
    })
}

/// Runs an `async` teardown.
pub fn run_async_teardown(
    context: &SetupContext,
    redirects: u32,
    teardown: impl AsyncFnOnce(&mut Http) -> Result<(), String>,
) -> Result<(), String> {
    run_errand(context, None, redirects, teardown)?
}

fn run_errand<R>(
    context: &SetupContext,
    own: Option<&str>,
    redirects: u32,
    errand: impl AsyncFnOnce(&mut Http) -> R,
) -> Result<R, String> {
    let sender = context.sender.as_ref().ok_or("there is no client here")?;
    let base = context.base_url.as_deref().or(own);
    let mut http = sender.client(base, redirects)?;
    let mut returned = None;
    let lent = http.sender();
    sender.wait(Box::pin(async {
        let mut errand = pin!(errand(&mut http));
        let polled = poll_fn(|context| with_step_sender(&lent, || errand.as_mut().poll(context)));
        returned = Some(polled.await);
    }));
    returned.ok_or_else(|| "it did not end".to_owned())
}
