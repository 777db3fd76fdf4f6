//! The figures in large type.

use super::step::{Quantiles, share_of};
use super::threshold::{journey_error_rate, sent};
use crate::definition::Shape;
use crate::display;
use crate::metrics::Tally;
use crate::record::ScenarioRecord;
use serde::Serialize;

/// The figures in large type.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Headline {
    /// The scenario has one step, so that the figures are of its requests; else they are of journeys.
    pub single_request: bool,
    /// Journey time of ok journeys; of a one-step scenario, response time.
    pub time: Quantiles,
    /// The share that the times are of, unless it is almost everything: `of the 88 % that succeeded`.
    pub time_of: Option<String>,
    /// Failed and dropped of all finished and dropped, a share of one.
    pub error_rate: Option<f64>,
    /// Journeys ok.
    pub ok: u64,
    /// Journeys failed.
    pub failed: u64,
    /// Arrivals that never began, each a failed journey.
    pub dropped: u64,
    /// Iterations that ended within the measured part, per second: of a one-step scenario those that sent something,
    /// and `None` where none did.
    pub achieved_per_second: Option<f64>,
    /// Iterations that were to start per second; open model only.
    pub target_per_second: Option<f64>,
    /// Times a step was skipped since an upstream value was missing.
    pub dependency_failures: u64,
}

impl Headline {
    pub(super) fn from_record(
        record: &ScenarioRecord,
        tally: &Tally,
        seconds: Option<f64>,
    ) -> Self {
        let journey = &tally.journey;
        let finished = journey.ok + journey.failed;
        let ended = tally.ended();
        // A step that sends for itself may send any number.
        let single_request =
            matches!(&*record.start.definition.steps, [step] if !step.sends_itself);
        let error_rate = journey_error_rate(tally);
        let time = if single_request {
            &tally.steps[0].response
        } else {
            &journey.time
        };
        let covered = share_of(time.count(), finished + journey.dropped);
        let time_of = covered.filter(|covered| *covered < 0.95).map(|covered| {
            let what = if single_request && time.count() > tally.steps[0].ok {
                "that succeeded or timed out"
            } else {
                "that succeeded"
            };
            format!("of the {} {what}", display::format_whole_percent(covered))
        });
        let target_per_second = match &record.start.plan.load.shape {
            Shape::Rate { per_second, .. } => Some(*per_second * record.start.plan.shard.share()),
            // The mean of the stages: what was to start in the measured part.
            Shape::RateStages { .. } => {
                seconds.map(|seconds| (journey.started + journey.dropped) as f64 / seconds)
            }
            _ => None,
        };
        Self {
            single_request,
            time: Quantiles::from_histogram(time),
            time_of,
            error_rate,
            // Those that measured nothing ended all the same.
            ok: record.windows.steady.journey.ok,
            failed: journey.failed,
            dropped: journey.dropped,
            achieved_per_second: if single_request {
                seconds
                    .filter(|_| sent(&tally.steps[0]) > 0)
                    .map(|seconds| ended.sum(&[0], |step| step.sent) as f64 / seconds)
            } else {
                seconds.map(|seconds| ended.journeys as f64 / seconds)
            },
            target_per_second,
            dependency_failures: tally.steps.iter().map(|step| step.skipped).sum(),
        }
    }
}
