//! Values of the target's own side, and limits of them.

use crate::definition::{Comparator, micros};
use crate::display;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A limit of a figure: `max < 3.5 cores`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedLimit {
    /// What of the steady part is judged.
    pub figure: ObservedFigure,
    /// The operator.
    pub comparison: Comparator,
    /// The bound, in the unit of the series.
    pub bound: f64,
    /// Ends the run when broken, but only after this much of the steady part. Zero waits for enough values only.
    #[serde(
        default,
        rename = "abort_after_us",
        with = "micros::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub abort_after: Option<Duration>,
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

/// The values of some seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedPoint {
    /// The first second, counted from the start of the load.
    pub second: u32,
    /// The number of values; of a figure per request, the number of requests.
    pub count: u32,
    /// The mean of the values.
    pub mean: f64,
    /// The highest value.
    pub max: f64,
    /// The last value.
    pub last: f64,
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

    /// Returns this figure of the values of some time.
    pub const fn of(self, values: &ObservedPoint) -> f64 {
        match self {
            Self::Max => values.max,
            Self::Mean => values.mean,
            Self::Last => values.last,
        }
    }
}

impl ObservedLimit {
    /// Without a delay, a mean or a last value is judged early only of so many values.
    const MIN_VALUES: u32 = 10;

    /// Returns true if it holds for the values of some time.
    pub fn holds(&self, values: &ObservedPoint) -> bool {
        self.comparison.holds(self.figure.of(values), self.bound)
    }

    /// Returns true if the run has to end, after so much of the steady part with these values.
    pub fn ends_run(&self, values: &ObservedPoint, steady: Duration) -> bool {
        let Some(delay) = self.abort_after else {
            return false;
        };
        // A maximum that is too high stays so.
        let is_irreversible = self.figure == ObservedFigure::Max && !self.comparison.is_floor();
        let is_due = if delay.is_zero() {
            is_irreversible || values.count >= Self::MIN_VALUES
        } else {
            steady >= delay
        };
        is_due && !self.holds(values)
    }

    /// Formats it for a figure in this unit: `max < 3.5 cores`.
    pub fn describe(&self, unit: &str) -> String {
        format!("{} {}", self.figure.name(), self.describe_bound(unit))
    }

    /// Explains that it is broken: `max of db cpu: 3.9 cores, and must be < 3.5 cores`.
    pub fn describe_failure(&self, name: &str, unit: &str, values: &ObservedPoint) -> String {
        format!(
            "{} of {}: {}, and must be {}",
            self.figure.name(),
            display::quote_name(name),
            display::format_observed(self.figure.of(values), unit),
            self.describe_bound(unit)
        )
    }

    /// Formats operator and bound: `< 3.5 cores`.
    pub fn describe_bound(&self, unit: &str) -> String {
        let bound = display::format_observed(self.bound, unit);
        format!("{} {bound}", self.comparison.symbol())
    }
}

impl ObservedPoint {
    /// Adds the values of later seconds.
    pub fn merge(&mut self, later: Self) {
        let (own, others) = (f64::from(self.count), f64::from(later.count));
        self.mean = (self.mean * own + later.mean * others) / (own + others);
        self.max = self.max.max(later.max);
        self.last = later.last;
        self.count = self.count.saturating_add(later.count);
    }
}
