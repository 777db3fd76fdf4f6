//! One row of the card per group of steps.

use super::step::{Quantiles, StepRow, share_of};
use crate::definition::GroupDef;
use crate::metrics::{GroupTally, Tally};
use serde::Serialize;

/// The measurements of the steps of a group, taken together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupRow {
    /// The name of the group.
    pub name: String,
    /// The line where it stands in the file of the scenario.
    pub line: u32,
    /// Journeys in which at least one of its steps ran to an end.
    pub executed: u64,
    /// Of these, those in which one of its steps failed, or was skipped since an upstream value was missing.
    pub failed: u64,
    /// Failed of all executed, a share of one.
    pub error_rate: Option<f64>,
    /// Executions that ended within the measured part, per second; `None` where none was, and of a group whose steps all run once per user.
    pub per_second: Option<f64>,
    /// The response times of its steps, summed: at each quantile the larger of that of the journeys in which it did not fail,
    /// and that of all.
    pub response: Quantiles,
    /// The share of its steps in the service time of all; `None` where none of them has one.
    pub time_share: Option<f64>,
}

impl GroupRow {
    /// The rows of all groups; `steps` are the rows of the steps.
    pub(super) fn all(
        groups: &[GroupDef],
        tally: &Tally,
        steps: &[StepRow],
        seconds: Option<f64>,
    ) -> Vec<Self> {
        let nothing = GroupTally::default();
        let ended = tally.ended();
        let rows = groups.iter().enumerate().map(|(at, group)| {
            let tally = tally.groups.get(at).unwrap_or(&nothing);
            let is_member = |step: &&StepRow| step.group.as_deref() == Some(&*group.name);
            let shares: Vec<f64> = steps
                .iter()
                .filter(is_member)
                .filter_map(|step| step.time_share)
                .collect();
            let is_repeated = !shares.is_empty() && tally.executed > 0;
            Self {
                name: group.name.to_string(),
                line: group.line,
                executed: tally.executed,
                failed: tally.failed,
                error_rate: share_of(tally.failed, tally.executed),
                per_second: seconds.filter(|_| is_repeated).map(|seconds| {
                    ended.groups.get(at).map_or(0.0, |count| *count as f64) / seconds
                }),
                response: Quantiles::from_times(&tally.times()),
                time_share: (!shares.is_empty()).then(|| shares.iter().sum()),
            }
        });
        rows.collect()
    }
}
