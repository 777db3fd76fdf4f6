//! An interval: all figures of one scenario at the end of one second, as sinks get them.

use super::family::Family;
use jiff::Timestamp;
use loadtest_model::trace::{SpanId, TraceId};
use std::sync::Arc;

/// The labels of a series, beside those that all series of its scenario have.
pub(super) type Labels = Arc<[(&'static str, String)]>;

/// The figures of one scenario since the start of its load, those of the warm-up apart.
#[derive(Debug, Clone)]
pub(crate) struct Interval {
    /// The number of the scenario in the run.
    pub(super) scenario: usize,
    /// The labels of all series: those of the team, the run, and the scenario.
    pub(super) common: Arc<[(String, String)]>,
    /// The identifier of the run.
    pub(super) run: Arc<str>,
    /// The second, counted from the start of the load; the interval is at its end.
    pub(super) second: u32,
    /// The start of the load.
    pub(super) start: Timestamp,
    /// The time of the figures.
    pub(super) time: Timestamp,
    /// The families that have series, in the order of their list.
    pub(super) families: Vec<FamilySeries>,
}

/// A family and its series.
#[derive(Debug, Clone)]
pub(super) struct FamilySeries {
    pub(super) family: &'static Family,
    pub(super) series: Vec<Series>,
}

/// A series and its value.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) labels: Labels,
    pub(super) value: SeriesValue,
}

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SeriesValue {
    /// A count since the start of the load, and since the interval before.
    Counter { total: f64, own: f64 },
    /// A number that goes up and down.
    Gauge(f64),
    /// Times.
    Histogram(Arc<Times>),
}

/// A histogram of times in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Times {
    /// The number of times since the start of the load.
    pub(super) count: u64,
    /// Their sum.
    pub(super) sum: f64,
    /// The number of times up to each boundary.
    pub(super) classic: Vec<(f64, u64)>,
    pub(super) exponential: Exponential,
    /// The newest example of each classic bucket, that of the last one beyond all boundaries; empty without any.
    pub(super) exemplars: Vec<Option<Exemplar>>,
    /// The times of the interval alone.
    pub(super) own: OwnTimes,
}

/// A time whose trace is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exemplar {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
    /// The time, in seconds.
    pub(super) value: f64,
    /// The end of what took it.
    pub(super) at: Timestamp,
    /// The second of the first interval that has it.
    pub(super) second: u32,
}

impl Times {
    /// Returns the example of a classic bucket.
    pub(super) fn exemplar(&self, bucket: usize) -> Option<&Exemplar> {
        self.exemplars.get(bucket)?.as_ref()
    }

    /// Returns the examples that came in a second or after it, the oldest first.
    #[cfg(feature = "telemetry")]
    pub(super) fn exemplars_from(&self, second: u32) -> Vec<&Exemplar> {
        let all = self.exemplars.iter().flatten();
        let mut new: Vec<_> = all.filter(|one| one.second >= second).collect();
        new.sort_by_key(|one| one.at);
        new
    }
}

/// Buckets that grow by one factor: bucket `i` holds what is above `2^(i / 2^scale)`, up to the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Exponential {
    pub(super) scale: i32,
    /// Times too short to differ from zero.
    pub(super) zero: u64,
    /// The index of the first bucket.
    pub(super) first: i32,
    pub(super) counts: Vec<u64>,
}

/// The times of one interval, in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OwnTimes {
    pub(super) count: u64,
    pub(super) sum: f64,
    /// Names and values of the quantiles; none without times.
    pub(super) quantiles: Vec<(&'static str, f64)>,
}

impl Interval {
    /// All series, with their families.
    pub(super) fn all_series(&self) -> impl Iterator<Item = (&'static Family, &Series)> {
        let families = self.families.iter();
        families.flat_map(|one| one.series.iter().map(|series| (one.family, series)))
    }

    /// The labels of a series, those of all series first.
    pub(super) fn labels<'a>(
        &'a self,
        series: &'a Series,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + Clone {
        let common = self.common.iter();
        let common = common.map(|(name, text)| (&**name, &**text));
        common.chain(series.labels.iter().map(|(name, text)| (*name, &**text)))
    }
}
