//! The figures in large type.

use super::step::{Quantiles, share_of};
use super::threshold::{journey_error_rate, sent};
use crate::definition::Shape;
use crate::display;
use crate::metrics::{Tally, Times};
use crate::record::ScenarioRecord;
use serde::Serialize;

/// The figures in large type.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Headline {
    /// The scenario has one step, so that the figures are of its requests; else they are of journeys.
    pub single_request: bool,
    /// Journey time; of a one-step scenario, response time. At each quantile the larger of that of what succeeded, and that
    /// of all: an arrival that never began ended when the load did.
    pub time: Quantiles,
    /// Where anything failed, the last percentile of what succeeded: `p99 of the 96 % that succeeded: 2.90 ms`.
    pub good_time: Option<String>,
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
        let ended = tally.ended();
        // A step that sends for itself may send any number.
        let single_request =
            matches!(&*record.start.definition.steps, [step] if !step.sends_itself);
        let error_rate = journey_error_rate(tally);
        let times = if single_request {
            tally.times()
        } else {
            journey.times()
        };
        let time = Quantiles::from_times(&times);
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
            good_time: describe_good_times(&times, &time, tally, single_request),
            time,
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

/// Returns the 99th percentile of what succeeded in words, where that is not all.
fn describe_good_times(
    times: &Times<'_>,
    all: &Quantiles,
    tally: &Tally,
    single_request: bool,
) -> Option<String> {
    let good = times.good();
    let journey = &tally.journey;
    // Records that lack the times of what failed have its number.
    let whole = (journey.ok + journey.failed + journey.dropped).max(all.samples);
    let share = share_of(good.count(), whole).filter(|share| *share < 1.0)?;
    let p99 = good.quantile(0.99)?;
    let what = if single_request && good.count() > tally.steps[0].ok {
        "that succeeded or timed out"
    } else {
        "that succeeded"
    };
    Some(format!(
        "p99 of the {} {what}: {}",
        display::format_percent(share),
        display::format_duration(p99)
    ))
}
