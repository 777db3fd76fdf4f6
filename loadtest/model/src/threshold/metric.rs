//! The aggregates of a step, of the whole journey, and of what a scenario counts and times by itself.
//!
//! A metric is written, shown and kept in records in one way: `p95`, `first_byte.p99`, `count(sold_out)`.

use super::grammar::{ThresholdMistake, parse_metric};
use super::quoted::quote_text;
#[cfg(feature = "data")]
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// An aggregate of a step or of the whole journey.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "data", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "data", serde(into = "String", try_from = "String"))]
pub enum Metric {
    /// A statistic of times: `p95`, `service.max`.
    Time(Part, Statistic),
    /// Failed of all executed; of the journey, failed and dropped of all finished and dropped.
    Errors,
    /// Passed of all evaluated checks.
    Checks,
    /// Skipped since an upstream value was missing, of all attempts.
    Skips,
    /// Arrivals that never began, of all planned iterations.
    Dropped,
    /// Repeated of all requests.
    Retries,
    /// Iterations (or executions of a step that sent something) per second.
    Rps,
    /// Bytes read per second, heads included.
    Throughput,
    /// Executions for which all of `good(..)` holds, of all.
    Good,
    /// The same per second.
    GoodRate,
    /// Units of work per second, such as tokens of a stream.
    Units,
    /// The sum of what the scenario counted under a name: `count(sold_out)`.
    Count(Cow<'static, str>),
    /// The same per second: `rate(sold_out)`.
    Rate(Cow<'static, str>),
    /// A statistic of what the scenario timed under a name: `time(queued).p95`.
    Timing(Cow<'static, str>, Statistic),
    /// A figure of the numbers that the scenario set a gauge to: `gauge(queue).max`.
    Gauge(Cow<'static, str>, GaugeFigure),
}

/// The part of an execution that a time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Response times of a step, times of ok journeys: a statistic that stands alone.
    Whole,
    /// Service times: response times without the delay of the start.
    Service,
    /// Of steps with `until`: response times with the pauses until it holds.
    Done,
    /// Opening TCP connections.
    Connect,
    /// TLS handshakes.
    Tls,
    /// From a usable connection to the head of the answer.
    FirstByte,
    /// From the head of the answer to its last byte.
    Body,
    /// Of streams: from a request that was due to the first event that counts.
    FirstEvent,
    /// From each of these events to the next.
    Gap,
    /// The time for each unit of work after the first.
    PerUnit,
    /// Response times of executions, or times of journeys, that failed.
    Failed,
    /// The lateness of iterations by the generator's fault.
    Lateness,
}

/// A statistic of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Statistic {
    P50,
    P90,
    P95,
    P99,
    P999,
    Max,
    Mean,
}

/// A figure of the numbers that a gauge was set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum GaugeFigure {
    Last,
    Min,
    Max,
    Mean,
}

impl GaugeFigure {
    /// Every figure, in the order documentation lists them.
    pub const ALL: [Self; 4] = [Self::Last, Self::Min, Self::Max, Self::Mean];

    /// The word that a scenario uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }
}

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A length of time.
    Time,
    /// A share of one.
    Share,
    /// A frequency.
    PerSecond,
    /// An amount of data in a time.
    BytesPerSecond,
    /// A whole number.
    Count,
    /// Any number.
    Number,
}

/// The direction in which a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Small ones: a limit is an upper bound.
    Less,
    /// Large ones: a limit is a lower bound.
    More,
    /// Known only to the author.
    Either,
}

/// The subjects that can have a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Steps and journeys.
    Both,
    /// Steps only.
    Step,
    /// The scenario as a whole only.
    Journey,
}

impl Metric {
    /// `p50` of the times in large type.
    pub const P50: Self = Self::Time(Part::Whole, Statistic::P50);
    /// `p90` of the same.
    pub const P90: Self = Self::Time(Part::Whole, Statistic::P90);
    /// `p95` of the same.
    pub const P95: Self = Self::Time(Part::Whole, Statistic::P95);
    /// `p99` of the same.
    pub const P99: Self = Self::Time(Part::Whole, Statistic::P99);
    /// `p99_9` of the same.
    pub const P999: Self = Self::Time(Part::Whole, Statistic::P999);
    /// `max` of the same.
    pub const MAX: Self = Self::Time(Part::Whole, Statistic::Max);
    /// `mean` of the same.
    pub const MEAN: Self = Self::Time(Part::Whole, Statistic::Mean);

    /// The metrics of one word, in the order documentation lists them.
    pub const WORDS: [Self; 17] = [
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::MAX,
        Self::MEAN,
        Self::Errors,
        Self::Checks,
        Self::Skips,
        Self::Dropped,
        Self::Retries,
        Self::Rps,
        Self::Throughput,
        Self::Good,
        Self::GoodRate,
        Self::Units,
    ];

    /// The statistic, of one that is of times.
    pub const fn statistic(&self) -> Option<Statistic> {
        match self {
            Self::Time(_, statistic) | Self::Timing(_, statistic) => Some(*statistic),
            _ => None,
        }
    }

    /// The quantile of a percentile, a share of one.
    pub fn quantile(&self) -> Option<f64> {
        self.statistic()?.quantile()
    }

    /// Returns its unit.
    pub const fn unit(&self) -> Unit {
        match self {
            Self::Time(..) | Self::Timing(..) => Unit::Time,
            Self::Errors
            | Self::Checks
            | Self::Skips
            | Self::Dropped
            | Self::Retries
            | Self::Good => Unit::Share,
            Self::Rps | Self::Rate(_) | Self::GoodRate | Self::Units => Unit::PerSecond,
            Self::Throughput => Unit::BytesPerSecond,
            Self::Count(_) => Unit::Count,
            Self::Gauge(..) => Unit::Number,
        }
    }

    /// Returns the direction in which it is better.
    pub const fn better(&self) -> Better {
        match self {
            Self::Checks | Self::Good | Self::GoodRate => Better::More,
            Self::Units
            | Self::Rps
            | Self::Throughput
            | Self::Count(_)
            | Self::Rate(_)
            | Self::Gauge(..) => Better::Either,
            _ => Better::Less,
        }
    }

    /// Returns true if that of a part of a load is a part of that of the whole.
    pub const fn is_additive(&self) -> bool {
        matches!(
            self,
            Self::Rps
                | Self::Throughput
                | Self::GoodRate
                | Self::Units
                | Self::Count(_)
                | Self::Rate(_)
        )
    }

    /// Returns the subjects that can have it.
    pub const fn scope(&self) -> Scope {
        match self {
            Self::Time(part, _) => part.scope(),
            Self::Dropped => Scope::Journey,
            Self::Good | Self::GoodRate | Self::Units => Scope::Step,
            _ if self.is_own() => Scope::Journey,
            _ => Scope::Both,
        }
    }

    /// Returns true for a custom metric of the scenario.
    pub const fn is_own(&self) -> bool {
        matches!(
            self,
            Self::Count(_) | Self::Rate(_) | Self::Timing(..) | Self::Gauge(..)
        )
    }
}

impl Part {
    /// The parts that have a word, which stands before the statistic.
    pub const NAMED: [Self; 11] = [
        Self::Service,
        Self::Done,
        Self::Connect,
        Self::Tls,
        Self::FirstByte,
        Self::Body,
        Self::FirstEvent,
        Self::Gap,
        Self::PerUnit,
        Self::Failed,
        Self::Lateness,
    ];

    /// The word before the statistic; nothing for the whole.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Service => "service",
            Self::Done => "done",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::FirstByte => "first_byte",
            Self::Body => "body",
            Self::FirstEvent => "first_event",
            Self::Gap => "gap",
            Self::PerUnit => "per_unit",
            Self::Failed => "failed",
            Self::Lateness => "lateness",
        }
    }

    /// Returns the subjects that can have it.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Whole | Self::Failed => Scope::Both,
            Self::Lateness => Scope::Journey,
            _ => Scope::Step,
        }
    }
}

impl Statistic {
    /// Every statistic, in the order documentation lists them.
    pub const ALL: [Self; 7] = [
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::Max,
        Self::Mean,
    ];

    /// The word that a scenario uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99_9",
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }

    /// The quantile of a percentile, a share of one.
    pub const fn quantile(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P999 => Some(0.999),
            Self::Max | Self::Mean => None,
        }
    }
}

/// A name as it stands between parentheses: a word, or any text in quotes.
pub(super) struct Name<'a>(pub(super) &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_word = self
            .0
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && (self.0.chars()).all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_word {
            f.write_str(self.0)
        } else {
            f.write_str(&quote_text(self.0))
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(Part::Whole, statistic) => f.write_str(statistic.name()),
            Self::Time(part, statistic) => write!(f, "{}.{}", part.name(), statistic.name()),
            Self::Errors => f.write_str("errors"),
            Self::Checks => f.write_str("checks"),
            Self::Skips => f.write_str("skips"),
            Self::Dropped => f.write_str("dropped"),
            Self::Retries => f.write_str("retries"),
            Self::Rps => f.write_str("rps"),
            Self::Throughput => f.write_str("throughput"),
            Self::Good => f.write_str("good"),
            Self::GoodRate => f.write_str("good_rate"),
            Self::Units => f.write_str("units"),
            Self::Count(name) => write!(f, "count({})", Name(name)),
            Self::Rate(name) => write!(f, "rate({})", Name(name)),
            Self::Timing(name, statistic) => {
                write!(f, "time({}).{}", Name(name), statistic.name())
            }
            Self::Gauge(name, figure) => write!(f, "gauge({}).{}", Name(name), figure.name()),
        }
    }
}

impl FromStr for Metric {
    type Err = ThresholdMistake;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_metric(text)
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.to_string()
    }
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
            .map_err(|mistake: ThresholdMistake| mistake.message)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every metric there is, but for the names of the scenario's own.
    pub(crate) fn any_metric() -> impl Strategy<Value = Metric> {
        let parts = [Part::Whole].into_iter().chain(Part::NAMED);
        let parts: Vec<_> = parts.collect();
        let name = prop_oneof!["[a-z_]{1,8}", ".{1,8}"].prop_map(Cow::Owned);
        let statistic = proptest::sample::select(Statistic::ALL.to_vec());
        prop_oneof![
            proptest::sample::select(Metric::WORDS.to_vec()),
            (proptest::sample::select(parts), statistic.clone())
                .prop_map(|(part, statistic)| Metric::Time(part, statistic)),
            name.clone().prop_map(Metric::Count),
            name.clone().prop_map(Metric::Rate),
            (name.clone(), statistic).prop_map(|(name, statistic)| Metric::Timing(name, statistic)),
            (name, proptest::sample::select(GaugeFigure::ALL.to_vec()))
                .prop_map(|(name, figure)| Metric::Gauge(name, figure)),
        ]
    }

    proptest! {
        #[test]
        fn a_record_keeps_every_metric_as_a_text_that_is_read_again(metric in any_metric()) {
            let json = serde_json::to_value(&metric).unwrap();
            prop_assert_eq!(json.as_str(), Some(&*metric.to_string()));
            prop_assert_eq!(serde_json::from_value::<Metric>(json).unwrap(), metric);
        }
    }

    #[test]
    fn metrics_of_the_first_records_are_still_known() {
        let first = [
            "p50", "p90", "p95", "p99", "p99_9", "max", "mean", "errors", "checks", "rps",
        ];
        for text in first {
            let metric: Metric = serde_json::from_value(text.into()).unwrap();
            assert!(Metric::WORDS.contains(&metric));
            assert_eq!(metric.to_string(), text);
        }
    }

    #[test]
    fn a_metric_of_a_later_version_is_said_to_be_unknown() {
        let read = |text: &str| serde_json::from_value::<Metric>(text.into());
        for text in [
            "p42",
            "service.p42",
            "latency.p95",
            "",
            "count()",
            "p95 < 1s",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        let error = read("erors").unwrap_err().to_string();
        assert!(error.contains("did you mean `errors`?"), "{error}");
    }
}
