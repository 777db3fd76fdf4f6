//! Counts panics of scenario code by place, so that a million of them do not flood the terminal.

use crate::panic_message::{read_panic_message, take_panic_message};
use crate::redact;
use loadtest_model::metrics::ErrorKind;
use loadtest_model::metrics::{Frame, Panicked};
use loadtest_model::redacted::Redacted;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Arc, Mutex, Once, PoisonError};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    /// The log of the run that this thread belongs to; several runs may go on at once.
    static PANIC_LOG: RefCell<Option<PanicLog>> = const { RefCell::new(None) };
}

/// The panics of one run; clones are of the same run.
#[derive(Debug, Clone, Default)]
pub(super) struct PanicLog(Arc<Mutex<Vec<Panicked>>>);

impl PanicLog {
    /// Counts the panics of this thread here from now on.
    pub(super) fn record_this_thread(&self) {
        PANIC_LOG.set(Some(self.clone()));
    }

    /// The panics so far.
    pub(super) fn take_all(&self) -> Vec<Panicked> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The share of executed steps that panicked.
#[derive(Debug, Default)]
pub(super) struct PanicRate {
    panicked: u64,
    executed: u64,
}

impl PanicRate {
    /// The share of the executed steps that may panic.
    const MAX_SHARE: f64 = 0.05;
    /// Fewer panics than this are no reason to give up a run.
    const MIN_PANICS: u64 = 20;

    /// Counts the steps of a second.
    pub(super) fn add_frame(&mut self, frame: &Frame) {
        for step in frame
            .windows
            .all()
            .into_iter()
            .flat_map(|tally| &tally.steps)
        {
            let panics = step.errors.iter();
            let panics = panics.filter(|error| error.kind == ErrorKind::StepPanic);
            self.panicked += panics.map(|error| error.count).sum::<u64>();
            self.executed += step.executed;
        }
    }

    /// Returns whether so many steps panic that the run measures nothing.
    pub(super) fn is_excessive(&self) -> bool {
        let share = self.panicked as f64 / self.executed.max(1) as f64;
        self.panicked >= Self::MIN_PANICS && share > Self::MAX_SHARE
    }
}

/// Runs `code` of a scenario; a panic is counted and its message returned.
#[inline]
pub(crate) fn catch_panic<R>(code: impl FnOnce() -> R) -> Result<R, Redacted> {
    install_hook();
    let outer = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(code));
    CATCHING.set(outer);
    result.map_err(take_panic_message)
}

fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                count_panic(info);
            } else {
                usual(info);
            }
        }));
    });
}

fn count_panic(info: &PanicHookInfo<'_>) {
    let Some(places) = PANIC_LOG.with_borrow(Clone::clone) else {
        return;
    };
    let location = info
        .location()
        .map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let mut places = places.0.lock().unwrap_or_else(PoisonError::into_inner);
    match places.iter_mut().find(|place| place.location == location) {
        Some(place) => place.count += 1,
        None => places.push(Panicked {
            location,
            message: read_panic_message(info.payload())
                .map_or_else(|| "without a message".into(), redact::redact_message),
            count: 1,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::metrics::{ErrorTally, StepTally};
    use std::thread;

    #[test]
    fn a_panic_is_counted_in_the_run_whose_thread_it_happened_on() {
        let runs = [PanicLog::default(), PanicLog::default()];
        thread::scope(|scope| {
            for (number, places) in runs.iter().enumerate() {
                scope.spawn(move || {
                    places.record_this_thread();
                    for _ in 0..=number {
                        let caught = catch_panic(|| panic!("in run {number}"));
                        assert_eq!(caught, Err(Redacted::assume(format!("in run {number}"))));
                    }
                });
            }
        });
        for (number, places) in runs.iter().enumerate() {
            let counted = places.take_all();
            assert_eq!(counted.len(), 1);
            assert_eq!(
                counted[0].message,
                Redacted::assume(format!("in run {number}"))
            );
            assert_eq!(counted[0].count, number as u64 + 1);
        }
    }

    #[test]
    fn a_run_is_given_up_for_more_than_a_few_panics_in_a_hundred_steps() {
        let verdict = |panics, others| {
            let mut step = StepTally {
                executed: panics + others,
                ..StepTally::default()
            };
            step.count_error(ErrorTally {
                kind: ErrorKind::StepPanic,
                status: None,
                count: panics,
                example: Redacted::default(),
                sample: None,
                traced: None,
            });
            let mut frame = Frame::default();
            frame.windows.ramp.steps = vec![StepTally::default(), step];
            let mut panicking = PanicRate::default();
            for _ in 0..2 {
                panicking.add_frame(&frame);
            }
            panicking.is_excessive()
        };
        assert!(!verdict(9, 0), "they are few");
        assert!(verdict(10, 0));
        assert!(!verdict(50, 950), "5 % are not more than 5 %");
        assert!(verdict(51, 949));
    }

    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn what_a_panic_carries_is_not_dropped_if_it_is_no_text() {
        let caught = catch_panic(|| panic::panic_any(Bomb));
        assert_eq!(caught, Err::<(), _>("without a message".into()));
    }

    #[test]
    fn a_panic_outside_of_a_run_is_only_told() {
        assert_eq!(catch_panic(|| panic!("here")), Err::<(), _>("here".into()));
    }
}
