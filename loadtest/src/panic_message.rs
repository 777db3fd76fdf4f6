//! The messages of caught panics.

use crate::redact;
use loadtest_model::redacted::Redacted;
use std::any::Any;

/// Takes the message out of a caught panic. What has none is code of the scenario, whose `drop` may panic again,
/// so it is never dropped.
pub(crate) fn take_panic_message(panic: Box<dyn Any + Send>) -> Redacted {
    if let Some(message) = read_panic_message(&*panic) {
        return redact::redact_message(message);
    }
    std::mem::forget(panic);
    "without a message".into()
}

/// Returns the message of a panic, if it is a text.
pub(crate) fn read_panic_message(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
}
