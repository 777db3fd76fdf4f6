//! What was read of the target's own side while a load went on.

use crate::capacity::ObservedMax;
use crate::metrics::{ObservedLimit, ObservedPoint};
use crate::redacted::Redacted;
use crate::schedule::{Schedule, Window};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A figure of the target's side over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedSeries {
    /// The name: `target cpu`.
    pub name: String,
    /// The unit: `cores`, `bytes`, `/s`; empty where it has none.
    pub unit: String,
    /// Where it is from: `process 4711 (shop)`, or scheme and host.
    pub source: Redacted,
    /// The number of seconds per point.
    pub width: u32,
    /// The points in the order of time; a gap has none.
    pub points: Vec<ObservedPoint>,
    /// The limit that has to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<ObservedLimit>,
    /// The last reason why the source did not answer, if it did not always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Redacted>,
}

impl ObservedSeries {
    /// Returns its highest value, for a trial of a search.
    pub fn highest(&self) -> ObservedMax {
        let values = self.points.iter().map(|point| point.max);
        ObservedMax {
            name: self.name.clone(),
            unit: self.unit.clone(),
            max: values.reduce(f64::max),
        }
    }

    /// The most points of a series; when full, neighbours merge and the width doubles.
    pub const LIMIT: usize = 600;

    /// Adds a value that is no later than those that come after it; one that is no number is left out.
    pub fn add(&mut self, second: u32, value: f64) {
        self.add_weighted(second, value, 1);
    }

    /// Adds a value that counts as so many.
    pub fn add_weighted(&mut self, second: u32, value: f64, count: u32) {
        if !value.is_finite() {
            return;
        }
        self.width = self.width.max(1);
        while (second / self.width) as usize >= Self::LIMIT {
            self.double();
        }
        let point = ObservedPoint {
            second: second / self.width * self.width,
            count,
            mean: value,
            max: value,
            last: value,
        };
        match self.points.last_mut() {
            Some(last) if last.second == point.second => last.merge(point),
            _ => self.points.push(point),
        }
    }

    /// Returns the points of the steady part of a load, before a second.
    pub fn steady_points(
        &self,
        schedule: &Schedule,
        until: u32,
    ) -> impl Iterator<Item = &ObservedPoint> {
        let points = self.points.iter();
        points.filter(move |point| {
            let due = Duration::from_secs(point.second.into());
            point.second < until && schedule.window(due) == Window::Steady
        })
    }

    /// Returns all values of the steady part as one; `None` without any.
    pub fn sum_steady(&self, schedule: &Schedule, until: u32) -> Option<ObservedPoint> {
        let points = self.steady_points(schedule, until).copied();
        points.reduce(|mut sum, point| {
            sum.merge(point);
            sum
        })
    }

    fn double(&mut self) {
        self.width *= 2;
        let mut merged: Vec<ObservedPoint> = Vec::with_capacity(Self::LIMIT);
        for mut point in self.points.drain(..) {
            point.second = point.second / self.width * self.width;
            match merged.last_mut() {
                Some(last) if last.second == point.second => last.merge(point),
                _ => merged.push(point),
            }
        }
        self.points = merged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Comparator, Load, Shape};
    use crate::metrics::ObservedFigure;

    fn series() -> ObservedSeries {
        ObservedSeries {
            name: "cpu".to_owned(),
            unit: "cores".to_owned(),
            source: "process 1".into(),
            width: 1,
            points: Vec::new(),
            limit: None,
            gap: None,
        }
    }

    #[test]
    fn a_series_keeps_mean_maximum_and_last_value_however_long_it_gets() {
        let mut series = series();
        for second in 0..1_500 {
            series.add(second, f64::from(second));
            series.add(second, f64::NAN);
        }
        assert_eq!(series.width, 4);
        assert_eq!(series.points.len(), 375);
        let point = series.points[10];
        assert_eq!(
            (point.second, point.count, point.mean, point.max, point.last),
            (40, 4, 41.5, 43.0, 43.0)
        );
    }

    fn limit(figure: ObservedFigure, comparison: Comparator, after: Option<u64>) -> ObservedLimit {
        ObservedLimit {
            figure,
            comparison,
            bound: 3.5,
            abort_after: after.map(Duration::from_secs),
        }
    }

    #[test]
    fn a_limit_is_about_the_values_of_the_seconds_that_are_judged() {
        let mut series = series();
        for (second, value) in [(0, 9.0), (1, 3.0), (2, 4.0), (3, 2.0), (4, 9.0)] {
            series.add(second, value);
        }
        let schedule = Schedule::new(&Load::new(Shape::Rate {
            per_second: 10.0,
            ramp_up: Duration::from_secs(1),
            duration: Duration::from_secs(9),
        }));
        let sum = series.sum_steady(&schedule, 4).unwrap();
        let holds = |figure, comparison| limit(figure, comparison, None).holds(&sum);
        assert!(!holds(ObservedFigure::Max, Comparator::Less));
        assert!(holds(ObservedFigure::Mean, Comparator::Less));
        assert!(holds(ObservedFigure::Last, Comparator::Less));
        assert!(holds(ObservedFigure::Max, Comparator::GreaterOrEqual));
        assert_eq!(series.sum_steady(&schedule, 1), None);
        let limit = limit(ObservedFigure::Max, Comparator::Less, None);
        assert_eq!(limit.describe("cores"), "max < 3.5 cores");
        assert_eq!(
            limit.describe_failure("db cpu", "cores", &sum),
            "max of `db cpu`: 4 cores, and must be < 3.5 cores"
        );
    }

    #[test]
    fn only_a_limit_with_abort_ends_a_run_and_only_when_it_can_be_sure() {
        let values = |count, mean| ObservedPoint {
            count,
            mean,
            max: 4.0,
            last: 4.0,
            second: 0,
        };
        let ends = |figure, after, count, seconds| {
            let limit = limit(figure, Comparator::Less, after);
            limit.ends_run(&values(count, 4.0), Duration::from_secs(seconds))
        };
        assert!(!ends(ObservedFigure::Max, None, 1_000, 1_000));
        assert!(ends(ObservedFigure::Max, Some(0), 1, 1));
        assert!(!ends(ObservedFigure::Mean, Some(0), 9, 9));
        assert!(ends(ObservedFigure::Mean, Some(0), 10, 10));
        assert!(!ends(ObservedFigure::Last, Some(30), 29, 29));
        assert!(ends(ObservedFigure::Last, Some(30), 3, 30));
        let good = limit(ObservedFigure::Mean, Comparator::Less, Some(0));
        assert!(!good.ends_run(&values(100, 3.0), Duration::from_secs(100)));
    }
}
