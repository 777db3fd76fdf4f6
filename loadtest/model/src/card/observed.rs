//! The target's own side on the card: figures read while the load went on.

use super::timeline::Timeline;
use crate::capacity::{Measured, ObservedCondition};
use crate::display;
use crate::record::{ObservedLimit, ObservedPoint, ObservedSeries, ScenarioRecord};
use crate::redacted::Redacted;
use crate::schedule::{Schedule, Window};
use serde::Serialize;
use std::time::Duration;

/// A figure of the target's side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservedRow {
    /// The name: `target cpu`.
    pub name: String,
    /// The unit: `cores`, `bytes`, `/s`; empty where it has none.
    pub unit: String,
    /// Where it is from.
    pub source: String,
    /// The mean over the steady part; `None` without a value in it. So are the others.
    pub mean: Option<f64>,
    /// The highest value.
    pub max: Option<f64>,
    /// The second of the highest value, counted as those of [`Timeline`].
    pub max_at: Option<u32>,
    /// The last value.
    pub last: Option<f64>,
    /// The limit: `max < 3.5 cores`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The bound of the limit, in the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// True if the limit holds; without a value in at least half of the points of the steady part it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// Why the limit does not hold: `max of db cpu: 3.9 cores, and must be < 3.5 cores`.
    #[serde(skip)]
    pub failure: Option<String>,
    /// The last reason why the source did not answer, if it did not always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<String>,
    /// The mean in each point of [`Timeline`]; `None` in a gap.
    pub course: Vec<Option<f64>>,
}

impl ObservedRow {
    pub(super) fn all(record: &ScenarioRecord, course: &Timeline) -> Vec<Self> {
        let series = record.observed.iter();
        series
            .map(|series| Self::from_series(series, record, course))
            .collect()
    }

    fn from_series(series: &ObservedSeries, record: &ScenarioRecord, course: &Timeline) -> Self {
        let warm_up = record.start.plan.load.warm_up.as_secs() as u32;
        let schedule = Schedule::new(&record.start.plan.load);
        let until = record.end.elapsed_us.div_ceil(1_000_000) as u32;
        let steady = series.steady_points(&schedule, until);
        let highest = steady.reduce(|highest, point| {
            if point.max > highest.max {
                point
            } else {
                highest
            }
        });
        let means = mean_course(series, record, course);
        let known = SteadyValues::new(series, record, course, &means);
        let sum = known.sum;
        let limit = series.limit.as_ref();
        let failure = limit.and_then(|limit| known.explain_failure(limit, series));
        Self {
            name: series.name.clone(),
            unit: series.unit.clone(),
            source: series.source.to_string(),
            mean: sum.map(|sum| sum.mean),
            max: sum.map(|sum| sum.max),
            max_at: highest.map(|point| point.second.saturating_sub(warm_up)),
            last: sum.map(|sum| sum.last),
            limit: limit.map(|limit| limit.describe(&series.unit)),
            bound: limit.map(|limit| limit.bound),
            holds: limit.map(|_| failure.is_none()),
            failure,
            gap: series.gap.as_ref().map(ToString::to_string),
            course: means,
        }
    }

    /// Returns why the limit does not hold, if it does not.
    pub(super) fn explain_failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

/// Judges a condition on the figures of a trial. Returns what was measured, and the reason why it does not hold.
pub(super) fn judge_condition(
    condition: &ObservedCondition,
    record: &ScenarioRecord,
    course: &Timeline,
) -> (Measured, Option<String>) {
    let ObservedCondition { name, unit, limit } = condition;
    let mut all = record.observed.iter();
    let nothing = || ObservedSeries {
        name: name.clone(),
        unit: unit.clone(),
        source: Redacted::default(),
        width: 1,
        points: Vec::new(),
        limit: None,
        gap: None,
    };
    let series = all.find(|series| series.name == *name);
    let series = series.cloned().unwrap_or_else(nothing);
    let means = mean_course(&series, record, course);
    let values = SteadyValues::new(&series, record, course, &means);
    let failure = values.explain_failure(limit, &series);
    let actual = values.sum.map(|sum| limit.figure.of(&sum));
    let measured = Measured {
        actual,
        words: actual.map_or_else(
            || display::NO_VALUE.to_owned(),
            |actual| display::format_observed(actual, unit),
        ),
        held: failure.is_none(),
    };
    (measured, failure)
}

/// Returns the mean in each point of the course.
fn mean_course(
    series: &ObservedSeries,
    record: &ScenarioRecord,
    course: &Timeline,
) -> Vec<Option<f64>> {
    let warm_up = record.start.plan.load.warm_up.as_secs() as u32;
    let points = course.points.iter();
    points
        .map(|point| mean_of(series, warm_up + point.second, course.width))
        .collect()
}

/// The values of the steady part, and how many of its points have one.
struct SteadyValues {
    sum: Option<ObservedPoint>,
    known: usize,
    all: usize,
}

impl SteadyValues {
    fn new(
        series: &ObservedSeries,
        record: &ScenarioRecord,
        course: &Timeline,
        means: &[Option<f64>],
    ) -> Self {
        let warm_up = record.start.plan.load.warm_up.as_secs() as u32;
        let schedule = Schedule::new(&record.start.plan.load);
        let until = record.end.elapsed_us.div_ceil(1_000_000) as u32;
        let steady = course.points.iter().zip(means).filter(|(point, _)| {
            let due = Duration::from_secs((warm_up + point.second).into());
            schedule.window(due) == Window::Steady
        });
        Self {
            sum: series.sum_steady(&schedule, until),
            known: steady.clone().filter(|(_, mean)| mean.is_some()).count(),
            all: steady.count(),
        }
    }

    /// Returns why a limit does not hold for these values, if it does not.
    fn explain_failure(&self, limit: &ObservedLimit, series: &ObservedSeries) -> Option<String> {
        match &self.sum {
            Some(values) if !limit.holds(values) => {
                Some(limit.describe_failure(&series.name, &series.unit, values))
            }
            Some(_) if 2 * self.known >= self.all => None,
            _ => {
                let why = series.gap.as_ref().map(|gap| format!(": {gap}"));
                Some(format!(
                    "{} of {} is not known, and must be {}: values cover only {} of {} of the steady part{}",
                    limit.figure.name(),
                    display::quote_name(&series.name),
                    limit.describe_bound(&series.unit),
                    self.known,
                    display::format_counted(self.all as u64, "point"),
                    why.unwrap_or_default()
                ))
            }
        }
    }
}

/// Returns the mean of the values of a series within some seconds.
fn mean_of(series: &ObservedSeries, from: u32, width: u32) -> Option<f64> {
    // A source that answers more seldom than the chart has points holds its value until the next.
    let within = series
        .points
        .iter()
        .filter(|point| point.second < from + width && from < point.second + series.width);
    let sum = within.copied().reduce(|mut sum: ObservedPoint, point| {
        sum.merge(point);
        sum
    });
    sum.map(|sum| sum.mean)
}
