//! The target's own side on the card: figures read while the load went on.

use super::timeline::Timeline;
use crate::record::{ObservedPoint, ObservedSeries, ScenarioRecord};
use serde::Serialize;

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
        let from = warm_up + course.steady_from.unwrap_or_default().ceil() as u32;
        let until = record.end.elapsed_us.div_ceil(1_000_000) as u32;
        let steady = series
            .points
            .iter()
            .filter(|point| (from..until.max(from + 1)).contains(&point.second));
        let sum = steady.clone().copied().reduce(|mut sum, point| {
            sum.merge(point);
            sum
        });
        let highest = steady.reduce(|highest, point| {
            if point.max > highest.max {
                point
            } else {
                highest
            }
        });
        let means: Vec<Option<f64>> = course
            .points
            .iter()
            .map(|point| mean_of(series, warm_up + point.second, course.width))
            .collect();
        Self {
            name: series.name.clone(),
            unit: series.unit.clone(),
            source: series.source.to_string(),
            mean: sum.map(|sum| sum.mean),
            max: sum.map(|sum| sum.max),
            max_at: highest.map(|point| point.second.saturating_sub(warm_up)),
            last: sum.map(|sum| sum.last),
            course: means,
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
