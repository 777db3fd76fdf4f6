//! Pass/fail conditions on what a run measures.

use super::micros;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A condition on an aggregate: `p95 < 300ms`, `errors < 1%`, `rps > 190/s`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The aggregate that is compared.
    pub metric: Metric,
    /// How it is compared.
    pub comparison: Comparison,
    /// What it is compared with.
    pub bound: Bound,
}

/// An aggregate of a step or of the whole journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Metric {
    P50,
    P90,
    P95,
    P99,
    #[serde(rename = "p99_9")]
    P999,
    Max,
    Mean,
    /// Failed of all executed.
    Errors,
    /// Passed of all evaluated checks.
    Checks,
    /// Iterations (or executions of a step) per second.
    Rps,
}

/// How a metric is compared with its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Comparison {
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    LessOrEqual,
    #[serde(rename = ">")]
    Greater,
    #[serde(rename = ">=")]
    GreaterOrEqual,
}

/// The bound of a threshold, in the unit of its metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A time, of the percentiles, `max` and `mean`.
    #[serde(rename = "time_us", with = "micros")]
    Time(Duration),
    /// A share of one, of `errors` and `checks`.
    Ratio(f64),
    /// A frequency, of `rps`.
    PerSecond(f64),
}

impl Metric {
    /// Every metric, in the order documentation lists them.
    pub const ALL: [Self; 10] = [
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::Max,
        Self::Mean,
        Self::Errors,
        Self::Checks,
        Self::Rps,
    ];

    /// The name a scenario uses: `p95`, `p99_9`, `errors`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99_9",
            Self::Max => "max",
            Self::Mean => "mean",
            Self::Errors => "errors",
            Self::Checks => "checks",
            Self::Rps => "rps",
        }
    }

    /// The quantile of a percentile metric, a share of one.
    pub const fn quantile(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P999 => Some(0.999),
            _ => None,
        }
    }
}

impl Comparison {
    /// Whether `value` satisfies the comparison with `bound`.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::LessOrEqual => value <= bound,
            Self::Greater => value > bound,
            Self::GreaterOrEqual => value >= bound,
        }
    }

    /// The operator as written.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl fmt::Display for Threshold {
    /// As it stands in the source: `p95 < 300ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.metric.name(), self.comparison.symbol())?;
        match self.bound {
            Bound::Time(time) => write!(f, "{time:?}"),
            Bound::Ratio(ratio) => write!(f, "{}%", ratio * 100.0),
            Bound::PerSecond(rate) => write!(f, "{rate}/s"),
        }
    }
}
