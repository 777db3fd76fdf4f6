//! Remote write 1.0 of Prometheus, with classic and native histograms.
//!
//! A new series begins with a 0 a second before, so that `increase` misses nothing; a series that ends has a stale
//! marker, so that no chart draws it on.

use super::{HttpTarget, Sent, Sink};
use crate::config::HistogramForm;
use crate::telemetry::family::{Family, FamilyKind};
use crate::telemetry::histogram::ZERO_SECONDS;
use crate::telemetry::interval::{Exemplar, Interval, Labels, Series, SeriesValue, Times};
use crate::telemetry::wire::prometheus::{
    self as wire, BucketSpan, Histogram, Label, MetricMetadata, Sample, TimeSeries, WriteRequest,
};
use prost::Message as _;
use std::collections::{HashMap, HashSet};

/// Bits of the NaN that ends a series.
const STALE: u64 = 0x7ff0_0000_0000_0002;
/// Words of receivers that do not take old samples, or not twice.
const OF_TIMES: [&str; 7] = [
    "out of order",
    "out-of-order",
    "out of bounds",
    "out-of-bounds",
    "too old",
    "too-old",
    "duplicate",
];

/// Writes to a receiver.
pub(crate) struct RemoteWriteSink {
    target: HttpTarget,
    form: HistogramForm,
    has_metadata: bool,
    known: HashMap<usize, KnownSeries>,
}

/// Series of a scenario that the receiver has.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownSeries {
    series: HashSet<(usize, Labels)>,
    /// The second after its newest interval.
    next_second: u32,
    /// The time of its newest samples, also of an earlier load of the same scenario.
    newest: Option<i64>,
}

impl RemoteWriteSink {
    pub(crate) fn new(target: HttpTarget, form: HistogramForm) -> Self {
        Self {
            target,
            form,
            has_metadata: false,
            known: HashMap::new(),
        }
    }

    fn post(&self, request: &WriteRequest) -> Sent {
        let bytes = request.encode_to_vec();
        let body = match snap::raw::Encoder::new().compress_vec(&bytes) {
            Ok(body) => body,
            Err(error) => return Sent::Rejected(error.to_string()),
        };
        let headers = [
            ("content-encoding", "snappy"),
            ("x-prometheus-remote-write-version", "0.1.0"),
        ];
        match self.target.post("application/x-protobuf", &headers, body) {
            Ok(_) => Sent::Delivered,
            Err(Sent::Refused(why)) if is_of_times(&why) => Sent::Rejected(why),
            Err(sent) => sent,
        }
    }
}

/// Returns true if a refusal is of these samples, and not of all.
fn is_of_times(why: &str) -> bool {
    let why = why.to_lowercase();
    why.starts_with("400") && OF_TIMES.iter().any(|words| why.contains(words))
}

impl Sink for RemoteWriteSink {
    fn send(&mut self, interval: &Interval) -> Sent {
        let known = self.known.entry(interval.scenario).or_default();
        let mut request = WriteRequest {
            timeseries: encode_interval(interval, self.form, known),
            metadata: Vec::new(),
        };
        if !self.has_metadata {
            request.metadata = Family::all().iter().map(describe_family).collect();
        }
        let sent = self.post(&request);
        if let Sent::Delivered | Sent::Rejected(_) = sent {
            self.has_metadata = true;
            let known = self.known.entry(interval.scenario).or_default();
            known.newest = known.newest.max(Some(interval.time.as_millisecond()));
            known.next_second = interval.second + 1;
            for (family, series) in interval.all_series() {
                known
                    .series
                    .insert((family.place, Labels::clone(&series.labels)));
            }
        }
        sent
    }

    fn end(&mut self, last: &Interval) -> Sent {
        let known = self.known.entry(last.scenario).or_default();
        let request = WriteRequest {
            timeseries: encode_end(last, self.form, known),
            metadata: Vec::new(),
        };
        known.series.clear();
        known.next_second = 0;
        known.newest = known.newest.map(|newest| newest + 1);
        if request.timeseries.is_empty() {
            return Sent::Delivered;
        }
        self.post(&request)
    }
}

fn describe_family(family: &Family) -> MetricMetadata {
    MetricMetadata {
        kind: match family.kind {
            FamilyKind::Counter => 1,
            FamilyKind::Gauge => 2,
            FamilyKind::Histogram => 3,
            FamilyKind::Info => 6,
        },
        metric_family_name: family.series_name(),
        help: family.help.to_owned(),
    }
}

/// Returns all series of an interval.
pub(crate) fn encode_interval(
    interval: &Interval,
    form: HistogramForm,
    known: &KnownSeries,
) -> Vec<TimeSeries> {
    let time = interval.time.as_millisecond();
    let before =
        Some(time - 1_000).filter(|before| known.newest.is_none_or(|newest| newest < *before));
    let mut writer = SeriesWriter::new(interval, form);
    writer.exemplars_from = Some(known.next_second);
    for (family, series) in interval.all_series() {
        let is_known = known
            .series
            .contains(&(family.place, Labels::clone(&series.labels)));
        let zero = before.filter(|_| !is_known);
        writer.write(family, series, |value| {
            let zero = zero.map(|time| value.empty_at(time));
            zero.into_iter().chain([value.at(time)]).collect()
        });
    }
    writer.all
}

/// Returns the end of all series that are known.
fn encode_end(last: &Interval, form: HistogramForm, known: &KnownSeries) -> Vec<TimeSeries> {
    let time = last.time.as_millisecond() + 1;
    let mut writer = SeriesWriter::new(last, form);
    for (family, series) in last.all_series() {
        if known
            .series
            .contains(&(family.place, Labels::clone(&series.labels)))
        {
            writer.write(family, series, |value| vec![value.stale_at(time)]);
        }
    }
    writer.all
}

/// A value of a series in Prometheus.
#[derive(Debug, Clone, Copy)]
enum WrittenValue<'a> {
    Number { value: f64, is_gauge: bool },
    Native(&'a Times),
}

/// A value at a time.
enum TimedValue {
    Sample(Sample),
    Histogram(Histogram),
}

impl WrittenValue<'_> {
    fn at(self, timestamp: i64) -> TimedValue {
        match self {
            Self::Number { value, .. } => TimedValue::Sample(Sample { value, timestamp }),
            Self::Native(times) => TimedValue::Histogram(native_histogram(times, timestamp)),
        }
    }

    /// Returns the value before the series began.
    fn empty_at(self, timestamp: i64) -> TimedValue {
        match self {
            Self::Number { value, is_gauge } => TimedValue::Sample(Sample {
                value: if is_gauge { value } else { 0.0 },
                timestamp,
            }),
            Self::Native(times) => TimedValue::Histogram(empty_histogram(times, timestamp)),
        }
    }

    fn stale_at(self, timestamp: i64) -> TimedValue {
        let stale = f64::from_bits(STALE);
        match self {
            Self::Number { .. } => TimedValue::Sample(Sample {
                value: stale,
                timestamp,
            }),
            Self::Native(times) => TimedValue::Histogram(Histogram {
                sum: stale,
                ..empty_histogram(times, timestamp)
            }),
        }
    }
}

/// A histogram of nothing with buckets as wide as those of `times`: finer ones would be taken for a new beginning.
fn empty_histogram(times: &Times, timestamp: i64) -> Histogram {
    let mut nothing = Times::default();
    nothing.exponential.scale = times.exponential.scale;
    native_histogram(&nothing, timestamp)
}

fn native_histogram(times: &Times, timestamp: i64) -> Histogram {
    let exponential = &times.exponential;
    let counts = exponential.counts.iter().map(|count| count.cast_signed());
    let mut before = 0;
    let deltas = counts.map(|count| count - std::mem::replace(&mut before, count));
    let span = BucketSpan {
        // There a bucket is named by its end.
        offset: exponential.first + 1,
        length: exponential.counts.len() as u32,
    };
    Histogram {
        count_int: Some(times.count),
        sum: times.sum,
        schema: exponential.scale,
        zero_threshold: ZERO_SECONDS,
        zero_count_int: Some(exponential.zero),
        positive_spans: Some(span)
            .filter(|span| span.length > 0)
            .into_iter()
            .collect(),
        positive_deltas: deltas.collect(),
        timestamp,
    }
}

fn write_exemplar(exemplar: &Exemplar) -> wire::Exemplar {
    let label = |name: &str, value: String| Label {
        name: name.to_owned(),
        value,
    };
    wire::Exemplar {
        labels: vec![
            label("span_id", exemplar.span.to_string()),
            label("trace_id", exemplar.trace.to_string()),
        ],
        value: exemplar.value,
        timestamp: exemplar.at.as_millisecond(),
    }
}

/// Writes series with their labels.
struct SeriesWriter<'a> {
    interval: &'a Interval,
    form: HistogramForm,
    /// Examples of this second and later ones are written; none without one.
    exemplars_from: Option<u32>,
    all: Vec<TimeSeries>,
}

impl<'a> SeriesWriter<'a> {
    fn new(interval: &'a Interval, form: HistogramForm) -> Self {
        Self {
            interval,
            form,
            exemplars_from: None,
            all: Vec::new(),
        }
    }

    fn write(
        &mut self,
        family: &Family,
        series: &Series,
        values: impl Fn(WrittenValue<'_>) -> Vec<TimedValue>,
    ) {
        let name = family.series_name();
        let counter = |value: f64| {
            values(WrittenValue::Number {
                value,
                is_gauge: false,
            })
        };
        match &series.value {
            SeriesValue::Counter { total, .. } => {
                self.add(&name, series, None, counter(*total));
            }
            SeriesValue::Gauge(value) => {
                let value = WrittenValue::Number {
                    value: *value,
                    is_gauge: true,
                };
                // A gauge that was not there had no value.
                let newest = values(value).pop().into_iter().collect();
                self.add(&name, series, None, newest);
            }
            SeriesValue::Histogram(times) => {
                let new = self.exemplars_from;
                let new = new.map_or_else(Vec::new, |second| times.exemplars_from(second));
                if self.form != HistogramForm::Classic {
                    self.add(&name, series, None, values(WrittenValue::Native(times)));
                    self.exemplify(new.iter().copied());
                }
                if self.form == HistogramForm::Native {
                    return;
                }
                let bucket = format!("{name}_bucket");
                for (number, (limit, count)) in times.all_buckets().enumerate() {
                    self.add(&bucket, series, Some(&limit), counter(count as f64));
                    let own = times.exemplar(number).filter(|one| new.contains(one));
                    self.exemplify(own);
                }
                let count = times.count as f64;
                self.add(&format!("{name}_count"), series, None, counter(count));
                self.add(&format!("{name}_sum"), series, None, counter(times.sum));
            }
        }
    }

    fn add(&mut self, name: &str, series: &Series, limit: Option<&str>, values: Vec<TimedValue>) {
        let labels = self.interval.labels(series);
        let labels = labels.filter(|(_, value)| !value.is_empty());
        let more = limit.map(|limit| ("le", limit));
        let mut labels: Vec<Label> = labels
            .chain([("__name__", name)])
            .chain(more)
            .map(|(name, value)| Label {
                name: name.to_owned(),
                value: value.to_owned(),
            })
            .collect();
        labels.sort();
        let mut written = TimeSeries {
            labels,
            ..TimeSeries::default()
        };
        for value in values {
            match value {
                TimedValue::Sample(sample) => written.samples.push(sample),
                TimedValue::Histogram(histogram) => written.histograms.push(histogram),
            }
        }
        self.all.push(written);
    }

    /// Adds examples to the series that was added last.
    fn exemplify<'b>(&mut self, exemplars: impl IntoIterator<Item = &'b Exemplar>) {
        if let Some(series) = self.all.last_mut() {
            let exemplars = exemplars.into_iter().map(write_exemplar);
            series.exemplars.extend(exemplars);
        }
    }
}
