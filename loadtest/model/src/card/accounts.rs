//! Where every iteration went: `planned = started + dropped`, `started = ok + failed + cancelled`; and of
//! each step `executed = ok + failed`, where every failure has a kind.

use crate::metrics::{JourneyTally, Windows};
use crate::record::{EndReason, ScenarioRecord};
use serde::Serialize;

/// The iterations of a run, ramp included and warm-up apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Accounts {
    /// Iterations that were to start.
    pub planned: u64,
    /// Iterations that began.
    pub started: u64,
    /// Arrivals that never began.
    pub dropped: u64,
    /// Iterations of lost agents that are not known to have begun.
    pub not_run: u64,
    /// Iterations that ended with every drawn step ok.
    pub ok: u64,
    /// Iterations that ended otherwise.
    pub failed: u64,
    /// Iterations cut off by the end of the run.
    pub cancelled: u64,
    /// Begun within the warm-up; in no other figure here.
    pub warm_up: u64,
    /// True if all equations hold; `None` where the process died or a worker was blocked, so that the iterations in
    /// flight are unknown.
    pub balanced: Option<bool>,
}

impl Accounts {
    /// Adds up where the iterations of a record went.
    pub fn from_record(record: &ScenarioRecord) -> Self {
        let Windows {
            warm_up,
            ramp,
            steady,
        } = &record.windows;
        let sum = |part: fn(&JourneyTally) -> u64| {
            part(&ramp.journey).saturating_add(part(&steady.journey))
        };
        let started = sum(|journey| journey.started);
        let dropped = sum(|journey| journey.dropped);
        let (ok, failed) = (sum(|journey| journey.ok), sum(|journey| journey.failed));
        let cancelled = sum(|journey| journey.cancelled);
        let warmed = warm_up
            .journey
            .started
            .saturating_add(warm_up.journey.dropped);
        let planned = record.end.planned.saturating_sub(warmed);
        let unknown = matches!(
            record.end.ending,
            EndReason::Died { .. } | EndReason::Stuck { .. } | EndReason::AgentLost { .. }
        );
        let lost = record.shards.iter().filter_map(|shard| {
            let agent = shard.agent.as_ref()?;
            Some(agent.not_run)
        });
        let not_run = lost.fold(0, u64::saturating_add);
        let accounts = Self {
            planned: if unknown {
                started.saturating_add(dropped).saturating_add(not_run)
            } else {
                planned
            },
            started,
            dropped,
            not_run,
            ok,
            failed,
            cancelled,
            warm_up: warm_up.journey.started,
            balanced: None,
        };
        let balances = accounts.equations_hold() && find_unexplained_step(record).is_none();
        Self {
            balanced: (!unknown).then_some(balances),
            ..accounts
        }
    }

    fn equations_hold(&self) -> bool {
        self.planned == self.started + self.dropped + self.not_run
            && self.started == self.ok + self.failed + self.cancelled
    }

    /// The equations that do not hold, with their figures.
    pub fn mismatch(&self, record: &ScenarioRecord) -> Option<String> {
        if self.balanced != Some(false) {
            return None;
        }
        if self.equations_hold() {
            return find_unexplained_step(record);
        }
        Some(format!(
            "planned {} = started {} + dropped {}; started {} = ok {} + failed {} + cancelled {}",
            self.planned,
            self.started,
            self.dropped,
            self.started,
            self.ok,
            self.failed,
            self.cancelled
        ))
    }
}

/// The first step whose executions and failures do not add up, with the figures.
fn find_unexplained_step(record: &ScenarioRecord) -> Option<String> {
    let steps = record.windows.all().into_iter().flat_map(|tally| {
        let names = record.start.definition.steps.iter().map(|step| &step.name);
        names.zip(&tally.steps)
    });
    steps.into_iter().find_map(|(name, step)| {
        let kinds: u64 = step.errors.iter().map(|error| error.count).sum();
        (step.executed != step.ok + step.failed || step.failed != kinds).then(|| {
            format!(
                "`{name}`: executed {} = ok {} + failed {}; failed {} = {kinds} with a kind",
                step.executed, step.ok, step.failed, step.failed
            )
        })
    })
}
