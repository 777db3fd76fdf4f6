//! Panics of scenario code: counted by place, so that a million of them do not flood the terminal.

use crate::metrics::Panicked;
use crate::redact;
use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, Once, PoisonError};

static PLACES: Mutex<Vec<Panicked>> = Mutex::new(Vec::new());

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `code` of a scenario; a panic is counted and its message returned.
pub(crate) fn catch<R>(code: impl FnOnce() -> R) -> Result<R, String> {
    install();
    let outer = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(code));
    CATCHING.set(outer);
    result.map_err(|payload| message(&*payload))
}

/// The panics since the last call.
pub(crate) fn take() -> Vec<Panicked> {
    std::mem::take(&mut *PLACES.lock().unwrap_or_else(PoisonError::into_inner))
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                count(info);
            } else {
                usual(info);
            }
        }));
    });
}

fn count(info: &PanicHookInfo<'_>) {
    let location = info
        .location()
        .map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    match places.iter_mut().find(|place| place.location == location) {
        Some(place) => place.count += 1,
        None => places.push(Panicked {
            location,
            message: message(info.payload()),
            count: 1,
        }),
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message");
    redact::text(text).into_owned()
}
