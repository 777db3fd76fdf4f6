//! Thresholds that end a run once they fail, evaluated once a second.

use super::{Aggregate, Broken, Frame, TOO_LATE, Tally};
use crate::definition::{Better, GaugeFigure, Metric, Part, Statistic, Threshold};
use crate::plan::{Plan, ScopedThreshold};
use crate::schedule::Schedule;
use crate::shard::Shard;
use std::time::Duration;

/// Without `after`, a threshold needs this many samples before it may abort the run.
const MIN_SAMPLES: u64 = 100;

/// Looks at the steady part so far, with the figures that the card has at the end.
#[derive(Debug)]
pub struct AbortThresholds {
    /// The thresholds that may end the run, with their numbers in the plan and their delays.
    watched: Vec<(usize, ScopedThreshold, Duration)>,
    schedule: Schedule,
    shard: Shard,
    steady: Tally,
}

impl AbortThresholds {
    /// Prepares the limits of a scenario of so many steps.
    pub fn new(plan: &Plan, steps: usize) -> Self {
        let all = plan.thresholds.iter().enumerate();
        Self {
            watched: all
                .filter_map(|(at, scoped)| {
                    Some((at, scoped.clone(), scoped.threshold.abort_after?))
                })
                .collect(),
            schedule: Schedule::new(&plan.load),
            shard: plan.shard,
            steady: Tally::new(steps),
        }
    }

    /// Adds a second, and returns what is broken after it.
    pub fn check_second(&mut self, frame: &Frame) -> Option<Broken> {
        if self.watched.is_empty() {
            return None;
        }
        self.steady.merge(&frame.windows.steady);
        let after = Duration::from_secs(u64::from(frame.second) + 1);
        let measured = self.schedule.steady_part(after);
        if measured.is_zero() {
            return None;
        }
        let seconds = Some(measured.as_secs_f64());
        self.watched.iter().find_map(|(number, scoped, delay)| {
            let threshold = &scoped.threshold;
            let aggregate = Aggregate::from_threshold(scoped, &self.steady, seconds, self.shard);
            let is_due = if delay.is_zero() {
                aggregate.samples >= MIN_SAMPLES || is_irreversible(threshold)
            } else {
                measured >= *delay
            };
            // What has no sample yet may get some.
            let actual = aggregate.value.filter(|_| is_due)?;
            let bound = threshold.bound.number();
            let holds = threshold.comparison.holds(actual, bound);
            // The generator may have broken it by starting late.
            let late = self.late_us(&threshold.metric);
            let is_own = late > TOO_LATE.as_secs_f64() * 1e6 && actual - late < bound;
            (!holds && !is_own).then_some(Broken {
                threshold: *number,
                actual,
                after,
            })
        })
    }
}

impl AbortThresholds {
    /// By how much late starts can have raised a figure at most, in microseconds.
    fn late_us(&self, metric: &Metric) -> f64 {
        let lateness = &self.steady.journey.lateness;
        let late = match metric {
            Metric::Time(Part::Whole | Part::FirstEvent, Statistic::Max) => lateness.max(),
            Metric::Time(Part::Whole | Part::FirstEvent, statistic) => {
                (statistic.quantile()).and_then(|quantile| lateness.quantile(quantile))
            }
            _ => None,
        };
        late.map_or(0.0, |late| late.as_nanos() as f64 / 1e3)
    }
}

/// Returns whether a value that is too high, or too low, stays so.
fn is_irreversible(threshold: &Threshold) -> bool {
    match &threshold.metric {
        Metric::Count(_) | Metric::Gauge(_, GaugeFigure::Max) => !threshold.comparison.is_floor(),
        Metric::Gauge(_, GaugeFigure::Min) => threshold.comparison.is_floor(),
        metric => metric.better() == Better::Less && metric.statistic() == Some(Statistic::Max),
    }
}
