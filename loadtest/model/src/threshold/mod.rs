//! Pass/fail conditions on what a run measures.

mod grammar;
mod metric;
mod quantity;
mod quoted;
mod subject;
#[cfg(test)]
mod tests;

pub use grammar::{Condition, ThresholdMistake, parse_conditions, parse_threshold};
pub use quoted::quote_text;
pub use subject::{is_custom_word, is_metric_word, is_part_word};

#[cfg(feature = "data")]
use crate::micros;
use metric::Name;
pub use metric::{Better, GaugeFigure, Metric, Part, Scope, Statistic, Unit};
#[cfg(feature = "data")]
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// A condition on an aggregate: `p95 < 300ms`, `errors < 1% or abort`, `rps > 190/s`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "data", derive(Serialize, Deserialize))]
pub struct Threshold {
    /// The measurements that the metric is of.
    #[cfg_attr(
        feature = "data",
        serde(default, skip_serializing_if = "Subject::is_whole")
    )]
    pub subject: Subject,
    /// The aggregate that is compared.
    pub metric: Metric,
    /// The operator.
    pub comparison: Comparator,
    /// The value to compare with.
    pub bound: Bound,
    /// Aborts the run when broken, but only after this much of the steady part. Zero waits for enough samples
    /// only.
    #[cfg_attr(
        feature = "data",
        serde(
            default,
            rename = "abort_after_us",
            with = "micros::option",
            skip_serializing_if = "Option::is_none"
        )
    )]
    pub abort_after: Option<Duration>,
}

/// The measurements that the metric of a threshold is of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "data", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "data", serde(rename_all = "snake_case"))]
pub enum Subject {
    /// All of the step, or of the scenario, that declares the threshold.
    #[default]
    Whole,
    /// All executions of the steps with this tag: `tag(api).p95`.
    Tag(Cow<'static, str>),
    /// The requests with this name in the `async` step that declares it: `row("order status").p95`.
    Row(Cow<'static, str>),
}

/// The operator between a metric and its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "data", derive(Serialize, Deserialize))]
#[expect(missing_docs, reason = "the names say it")]
pub enum Comparator {
    #[cfg_attr(feature = "data", serde(rename = "<"))]
    Less,
    #[cfg_attr(feature = "data", serde(rename = "<="))]
    LessOrEqual,
    #[cfg_attr(feature = "data", serde(rename = ">"))]
    Greater,
    #[cfg_attr(feature = "data", serde(rename = ">="))]
    GreaterOrEqual,
}

/// The bound of a threshold, in the unit of its metric.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "data", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "data", serde(rename_all = "snake_case"))]
pub enum Bound {
    /// A time, of percentiles, `max` and `mean`.
    #[cfg_attr(feature = "data", serde(rename = "time_us", with = "micros"))]
    Time(Duration),
    /// A share of one, of `errors` and the like.
    Ratio(f64),
    /// A frequency, of `rps` and `rate(..)`.
    PerSecond(f64),
    /// Bytes per second, of `throughput`.
    BytesPerSecond(f64),
    /// A whole number, of `count(..)`.
    Count(u64),
    /// Any number, of `gauge(..)`.
    Number(f64),
}

impl Threshold {
    /// A condition that is judged when the run is over.
    pub const fn new(metric: Metric, comparison: Comparator, bound: Bound) -> Self {
        Self {
            subject: Subject::Whole,
            metric,
            comparison,
            bound,
            abort_after: None,
        }
    }

    /// The same condition, which ends no run.
    #[must_use]
    pub fn without_abort(&self) -> Self {
        Self {
            abort_after: None,
            ..self.clone()
        }
    }
}

impl Subject {
    /// Returns true for the whole step or scenario.
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }
}

impl fmt::Display for Subject {
    /// Writes the subject as it stands before a metric: `tag(api).`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Tag(name) => write!(f, "tag({}).", Name(name)),
            Self::Row(name) => write!(f, "row({}).", Name(name)),
        }
    }
}

impl Comparator {
    /// Returns true if `value` satisfies the comparison with `bound`.
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

    /// Returns true for a lower bound.
    pub const fn is_floor(self) -> bool {
        matches!(self, Self::Greater | Self::GreaterOrEqual)
    }
}

impl Bound {
    /// The number that a measurement is compared with: microseconds, a share of one, per second, or a
    /// number.
    pub fn number(self) -> f64 {
        match self {
            Self::Time(time) => time.as_nanos() as f64 / 1e3,
            Self::Ratio(number)
            | Self::PerSecond(number)
            | Self::BytesPerSecond(number)
            | Self::Number(number) => number,
            Self::Count(number) => number as f64,
        }
    }
}

impl fmt::Display for Threshold {
    /// Writes the threshold as in the source: `p95 < 300ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subject, metric, ..
        } = self;
        write!(f, "{subject}{metric} {} ", self.comparison.symbol())?;
        match self.bound {
            Bound::Time(time) => write!(f, "{time:?}"),
            Bound::Ratio(ratio) => write!(f, "{}%", ratio * 100.0),
            Bound::PerSecond(rate) => write!(f, "{rate}/s"),
            Bound::BytesPerSecond(rate) => {
                let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
                let (unit, size) = units
                    .into_iter()
                    .find(|(_, size)| rate >= *size)
                    .unwrap_or(("B", 1.0));
                write!(f, "{}{unit}/s", rate / size)
            }
            Bound::Count(number) => write!(f, "{number}"),
            Bound::Number(number) => write!(f, "{number}"),
        }?;
        match self.abort_after {
            Some(Duration::ZERO) => f.write_str(" or abort"),
            Some(after) => write!(f, " or abort after {after:?}"),
            None => Ok(()),
        }
    }
}
