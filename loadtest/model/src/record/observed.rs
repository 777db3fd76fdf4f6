//! What was read of the target's own side while a load went on.

use crate::redacted::Redacted;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A figure of the target's side over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedSeries {
    /// The name: `db cpu`.
    pub name: String,
    /// The unit: `cores`, `bytes`, `%`; empty where it has none.
    pub unit: String,
    /// Where it is from: scheme and host, or the process.
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

/// The values of some seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedPoint {
    /// The first second, counted from the start of the load.
    pub second: u32,
    /// The number of values.
    pub count: u32,
    /// The mean of the values.
    pub mean: f64,
    /// The highest value.
    pub max: f64,
    /// The last value.
    pub last: f64,
}

/// A limit of an observed figure: `max < 3.5`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedLimit {
    /// What is judged.
    pub figure: ObservedFigure,
    /// True if the figure has to be above the bound, false if it has to be below.
    pub is_above: bool,
    /// The bound, in the unit of the series.
    pub bound: f64,
}

/// The figure that a limit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservedFigure {
    /// The highest value.
    Max,
    /// The mean over time.
    Mean,
    /// The last value.
    Last,
}

impl ObservedFigure {
    /// Returns the word in a limit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Mean => "mean",
            Self::Last => "last",
        }
    }
}

impl ObservedLimit {
    /// Returns true if the limit holds for a value.
    pub fn holds(&self, value: f64) -> bool {
        if self.is_above {
            value > self.bound
        } else {
            value < self.bound
        }
    }
}

impl fmt::Display for ObservedLimit {
    /// Formats the limit without the unit of its bound: `max < 3.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_above { '>' } else { '<' };
        write!(f, "{} {sign} {}", self.figure.name(), self.bound)
    }
}

impl ObservedSeries {
    /// The most points of a series; when full, neighbours merge and the width doubles.
    pub const LIMIT: usize = 600;

    /// Adds a value that is no later than those that come after it; one that is no number is left out.
    pub fn add(&mut self, second: u32, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.width = self.width.max(1);
        while (second / self.width) as usize >= Self::LIMIT {
            self.double();
        }
        let point = ObservedPoint {
            second: second / self.width * self.width,
            count: 1,
            mean: value,
            max: value,
            last: value,
        };
        match self.points.last_mut() {
            Some(last) if last.second == point.second => last.merge(point),
            _ => self.points.push(point),
        }
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

impl ObservedPoint {
    /// Adds the values of later seconds.
    pub fn merge(&mut self, later: Self) {
        let (own, others) = (f64::from(self.count), f64::from(later.count));
        self.mean = (self.mean * own + later.mean * others) / (own + others);
        self.max = self.max.max(later.max);
        self.last = later.last;
        self.count += later.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_limit_says_which_way() {
        let limit = |is_above| ObservedLimit {
            figure: ObservedFigure::Max,
            is_above,
            bound: 3.5,
        };
        assert!(limit(false).holds(3.4) && !limit(false).holds(3.5));
        assert!(limit(true).holds(3.6) && !limit(true).holds(3.5));
        assert_eq!(limit(false).to_string(), "max < 3.5");
    }
}
