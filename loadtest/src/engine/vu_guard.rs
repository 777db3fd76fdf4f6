//! A virtual user while the scenario's code runs.

use super::worker_state::WorkerState;
use crate::chain::{Figure, Vu};
use crate::redact;
use std::ops::{Deref, DerefMut};

/// A virtual user that runs the code of the scenario. What that counts, times and sets is tallied when the user
/// comes back, also where the code panics or the end of the run cuts it off.
pub(super) struct VuGuard<'a> {
    vu: &'a mut Vu,
    state: &'a WorkerState,
    /// The code is that of a step which runs once per user.
    runs_once: bool,
}

impl<'a> VuGuard<'a> {
    pub(super) fn new(vu: &'a mut Vu, state: &'a WorkerState, runs_once: bool) -> Self {
        Self {
            vu,
            state,
            runs_once,
        }
    }
}

impl Deref for VuGuard<'_> {
    type Target = Vu;

    fn deref(&self) -> &Vu {
        self.vu
    }
}

impl DerefMut for VuGuard<'_> {
    fn deref_mut(&mut self) -> &mut Vu {
        self.vu
    }
}

impl Drop for VuGuard<'_> {
    fn drop(&mut self) {
        let given = self.vu.given();
        if given.is_empty() {
            return;
        }
        for given in given.drain(..) {
            let Some(window) = self.state.given_window(given.at, self.runs_once) else {
                continue;
            };
            let name = redact::redact_row_name(&given.name);
            self.state.with_tally(window, |tally| match given.figure {
                Figure::Count(number) => tally.own.count(&name, number),
                Figure::Time(time) => tally.own.time(&name, time),
                Figure::Gauge(number) => {
                    let at = given.at.saturating_duration_since(self.state.start);
                    tally.own.gauge(&name, number, at);
                }
            });
        }
    }
}
