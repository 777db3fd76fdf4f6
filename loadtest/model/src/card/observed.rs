//! The target's own side on the card: figures read while the load went on, and their limits.

use super::timeline::Timeline;
use crate::display;
use crate::record::{ObservedFigure, ObservedPoint, ObservedSeries, ScenarioRecord};
use serde::Serialize;

/// A figure of the target's side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservedRow {
    /// The name: `db cpu`.
    pub name: String,
    /// The unit: `cores`, `bytes`, `%`; empty where it has none.
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
    /// The limit in words: `max < 3.5 cores`.
    pub limit: Option<String>,
    /// The bound of the limit.
    pub bound: Option<f64>,
    /// Whether the limit holds. Without values in at least half of the points it does not.
    pub holds: Option<bool>,
    /// The last reason why the source did not answer, if it did not always.
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
        let judged = course.points.iter().zip(&means);
        let judged = judged.filter(|(point, _)| warm_up + point.second >= from);
        let known = judged.clone().filter(|(_, mean)| mean.is_some()).count();
        let is_known = sum.is_some() && 2 * known >= judged.count();
        let holds = series.limit.as_ref().map(|limit| {
            let figure = sum.map(|sum| match limit.figure {
                ObservedFigure::Max => sum.max,
                ObservedFigure::Mean => sum.mean,
                ObservedFigure::Last => sum.last,
            });
            is_known && figure.is_some_and(|figure| limit.holds(figure))
        });
        Self {
            name: series.name.clone(),
            unit: series.unit.clone(),
            source: series.source.to_string(),
            mean: sum.map(|sum| sum.mean),
            max: sum.map(|sum| sum.max),
            max_at: highest.map(|point| point.second.saturating_sub(warm_up)),
            last: sum.map(|sum| sum.last),
            limit: series.limit.as_ref().map(|limit| {
                let sign = if limit.is_above { '>' } else { '<' };
                let bound = display::format_observed(limit.bound, &series.unit);
                format!("{} {sign} {bound}", limit.figure.name())
            }),
            bound: series.limit.as_ref().map(|limit| limit.bound),
            holds,
            gap: series.gap.as_ref().map(ToString::to_string),
            course: means,
        }
    }

    /// Returns why the limit does not hold, if it does not: `db cpu is at most 3.9 cores, and must be max < 3.5 cores`.
    pub(super) fn explain_failure(&self) -> Option<String> {
        if self.holds != Some(false) {
            return None;
        }
        let limit = self.limit.as_deref().unwrap_or_default();
        let figure = match limit.split(' ').next() {
            Some("mean") => self.mean,
            Some("last") => self.last,
            _ => self.max,
        };
        let name = display::quote_name(&self.name);
        Some(match (figure, &self.gap) {
            (Some(figure), None) => format!(
                "observed {name}: {limit} does not hold, it is {}",
                display::format_observed(figure, &self.unit)
            ),
            (_, Some(gap)) => {
                format!("observed {name}: {limit} does not hold without enough values: {gap}")
            }
            (None, None) => format!("observed {name}: {limit} does not hold without a value"),
        })
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
