//! Where every iteration went: `planned = started + dropped`, `started = ok + failed + cancelled`.

use crate::metrics::{JourneyTally, Windows};
use crate::record::{Ending, ScenarioRecord};
use serde::Serialize;

/// The iterations of a run, ramp included and warm-up apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Accounts {
    /// Iterations that were to start.
    pub planned: u64,
    /// Of these, begun.
    pub started: u64,
    /// Arrivals that never began.
    pub dropped: u64,
    /// Of those begun, ended with every drawn step ok.
    pub ok: u64,
    /// Of those begun, ended otherwise.
    pub failed: u64,
    /// Of those begun, cut off by the end of the run.
    pub cancelled: u64,
    /// Begun within the warm-up; in no other figure here.
    pub warm_up: u64,
    /// Whether both equations hold; `None` where the process died or a worker was blocked, so that what
    /// was in flight is unknown.
    pub balanced: Option<bool>,
}

impl Accounts {
    pub(super) fn of(record: &ScenarioRecord) -> Self {
        let Windows {
            warm_up,
            ramp,
            steady,
        } = &record.windows;
        let sum = |part: fn(&JourneyTally) -> u64| part(&ramp.journey) + part(&steady.journey);
        let started = sum(|journey| journey.started);
        let dropped = sum(|journey| journey.dropped);
        let (ok, failed) = (sum(|journey| journey.ok), sum(|journey| journey.failed));
        let cancelled = sum(|journey| journey.cancelled);
        let warmed = warm_up.journey.started + warm_up.journey.dropped;
        let planned = record.planned.saturating_sub(warmed);
        let unknown = matches!(record.ending, Ending::Died { .. } | Ending::Stuck { .. });
        let balances = planned == started + dropped && started == ok + failed + cancelled;
        Self {
            planned: if unknown { started + dropped } else { planned },
            started,
            dropped,
            ok,
            failed,
            cancelled,
            warm_up: warm_up.journey.started,
            balanced: (!unknown).then_some(balances),
        }
    }

    /// Both equations with their figures, for a run whose accounts do not balance.
    pub(super) fn equations(&self) -> String {
        format!(
            "planned {} = started {} + dropped {}; started {} = ok {} + failed {} + cancelled {}",
            self.planned,
            self.started,
            self.dropped,
            self.started,
            self.ok,
            self.failed,
            self.cancelled
        )
    }
}
