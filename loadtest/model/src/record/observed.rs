//! What was read of the target's own side while a load went on.

use crate::redacted::Redacted;
use serde::{Deserialize, Serialize};

/// A figure of the target's side over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedSeries {
    /// The name: `target cpu`.
    pub name: String,
    /// The unit: `cores`, `bytes`, `/s`; empty where it has none.
    pub unit: String,
    /// Where it is from: `process 4711 (shop)`.
    pub source: Redacted,
    /// The number of seconds per point.
    pub width: u32,
    /// The points in the order of time; a gap has none.
    pub points: Vec<ObservedPoint>,
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
}
