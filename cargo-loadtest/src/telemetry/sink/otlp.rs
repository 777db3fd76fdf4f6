//! OTLP over HTTP, as protobuf or JSON: sums, gauges and exponential histograms.

use super::otlp_spans::encode_spans;
use super::{HttpTarget, Sent, Sink};
use crate::config::{OtlpEncoding, Temporality};
use crate::telemetry::family::{Family, FamilyKind};
use crate::telemetry::histogram::ZERO_SECONDS;
use crate::telemetry::interval::{
    self, FamilySeries, Interval, Labels, Series, SeriesValue, Times,
};
use crate::telemetry::spans::SpanBatch;
use crate::telemetry::wire::otlp::{
    AnyValue, Buckets, Exemplar, ExponentialHistogram, ExponentialHistogramDataPoint,
    ExportMetricsServiceRequest, ExportMetricsServiceResponse, Gauge, InstrumentationScope,
    KeyValue, NumberDataPoint, OtlpMetric, Resource, ResourceMetrics, ScopeMetrics, Sum,
};
use jiff::Timestamp;
use prost::Message;
use serde::Serialize;
use std::collections::HashMap;

/// Sends to a collector.
pub(crate) struct OtlpSink {
    target: HttpTarget,
    /// Where spans are sent.
    traces: HttpTarget,
    temporality: Temporality,
    encoding: OtlpEncoding,
    /// The last interval of each scenario that was delivered, for deltas.
    before: HashMap<usize, Interval>,
    /// The start of the load, and the second after the same.
    seconds: HashMap<usize, (Timestamp, u32)>,
}

impl OtlpSink {
    pub(crate) fn new(
        (target, traces): (HttpTarget, HttpTarget),
        temporality: Temporality,
        encoding: OtlpEncoding,
    ) -> Self {
        Self {
            target,
            traces,
            temporality,
            encoding,
            before: HashMap::new(),
            seconds: HashMap::new(),
        }
    }

    fn post(&self, target: &HttpTarget, request: &(impl Message + Serialize), what: &str) -> Sent {
        let (content_type, body) = match self.encoding {
            OtlpEncoding::Protobuf => ("application/x-protobuf", request.encode_to_vec()),
            OtlpEncoding::Json => match serde_json::to_vec(request) {
                Ok(body) => ("application/json", body),
                Err(error) => return Sent::Rejected(error.to_string()),
            },
        };
        match target.post(content_type, &[], body) {
            Ok(answer) => self.read_answer(&answer, what),
            Err(sent) => sent,
        }
    }

    /// Reads what was refused of a message that was taken.
    fn read_answer(&self, answer: &[u8], what: &str) -> Sent {
        let (refused, words) = match self.encoding {
            OtlpEncoding::Protobuf => {
                let answer = ExportMetricsServiceResponse::decode(answer);
                let partial = answer.ok().and_then(|answer| answer.partial_success);
                let partial = partial.unwrap_or_default();
                (partial.rejected_data_points, partial.error_message)
            }
            OtlpEncoding::Json => {
                let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
                let partial = &answer["partialSuccess"];
                let refused = ["rejectedDataPoints", "rejectedSpans"].map(|key| &partial[key]);
                let refused = refused.into_iter().find(|value| !value.is_null());
                let refused = refused.unwrap_or(&serde_json::Value::Null);
                let text = refused.as_str().and_then(|text| text.parse().ok());
                let words = partial["errorMessage"].as_str().unwrap_or_default();
                (refused.as_i64().or(text).unwrap_or(0), words.to_owned())
            }
        };
        if refused == 0 {
            return Sent::Delivered;
        }
        let words: String = loadtest::redact::redact(&words).chars().take(100).collect();
        Sent::Partly(format!("{refused} {what} refused: {words}"))
    }
}

impl Sink for OtlpSink {
    fn send(&mut self, interval: &Interval) -> Sent {
        let before = self.before.get(&interval.scenario);
        let before = before.filter(|before| before.start == interval.start);
        let before = before.filter(|_| self.temporality == Temporality::Delta);
        let known = self.seconds.get(&interval.scenario);
        let known = known.filter(|(start, _)| *start == interval.start);
        let next = known.map_or(0, |(_, next)| *next);
        let message = encode_interval(interval, self.temporality, before, next);
        let sent = self.post(&self.target, &message, "points");
        if matches!(sent, Sent::Delivered | Sent::Partly(_)) {
            let known = (interval.start, interval.second + 1);
            self.seconds.insert(interval.scenario, known);
            if self.temporality == Temporality::Delta {
                self.before.insert(interval.scenario, interval.clone());
            }
        }
        sent
    }

    fn send_spans(&mut self, batch: &SpanBatch) -> Sent {
        self.post(&self.traces, &encode_spans(batch), "spans")
    }
}

/// Returns the message of an interval; deltas are those since the interval `before`, or since the start, and examples
/// those of the second `next` and later ones.
pub(crate) fn encode_interval(
    interval: &Interval,
    temporality: Temporality,
    before: Option<&Interval>,
    next: u32,
) -> ExportMetricsServiceRequest {
    let scenario = interval.common.iter().find(|(name, _)| name == "scenario");
    let scenario = scenario.map_or("", |(_, identity)| identity);
    let resource = [
        ("service.name", "loadtest"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("service.instance.id", &interval.run),
        ("loadtest.scenario", scenario),
    ];
    let values: HashMap<(usize, &Labels), &SeriesValue> = before
        .iter()
        .flat_map(|before| before.all_series())
        .map(|(family, series)| ((family.place, &series.labels), &series.value))
        .collect();
    let writer = PointWriter {
        interval,
        start: nanoseconds(before.map_or(interval.start, |before| before.time)),
        temporality: match temporality {
            Temporality::Delta => 1,
            Temporality::Cumulative => 2,
        },
        before: values,
        next,
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: attributes(resource),
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(InstrumentationScope {
                    name: "loadtest".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                }),
                metrics: interval
                    .families
                    .iter()
                    .map(|one| writer.metric(one))
                    .collect(),
            }],
        }],
    }
}

struct PointWriter<'a> {
    interval: &'a Interval,
    start: u64,
    temporality: i32,
    /// The values that deltas are to.
    before: HashMap<(usize, &'a Labels), &'a SeriesValue>,
    /// The first second whose examples are new.
    next: u32,
}

impl PointWriter<'_> {
    fn metric(&self, one: &FamilySeries) -> OtlpMetric {
        let family = one.family;
        let mut metric = OtlpMetric {
            name: family.dotted_name(),
            description: family.help.to_owned(),
            unit: family.unit().map_or("1", |unit| unit.symbol).to_owned(),
            ..OtlpMetric::default()
        };
        let series = one.series.iter();
        match family.kind {
            FamilyKind::Counter => {
                metric.sum = Some(Sum {
                    data_points: series.map(|series| self.number(family, series)).collect(),
                    aggregation_temporality: self.temporality,
                    is_monotonic: true,
                });
            }
            FamilyKind::Gauge | FamilyKind::Info => {
                metric.gauge = Some(Gauge {
                    data_points: series.map(|series| self.number(family, series)).collect(),
                });
            }
            FamilyKind::Histogram => {
                let points = series.filter_map(|series| self.histogram(family, series));
                metric.exponential_histogram = Some(ExponentialHistogram {
                    data_points: points.collect(),
                    aggregation_temporality: self.temporality,
                });
            }
        }
        metric
    }

    fn value_before(&self, family: &Family, series: &Series) -> Option<&SeriesValue> {
        self.before.get(&(family.place, &series.labels)).copied()
    }

    fn number(&self, family: &Family, series: &Series) -> NumberDataPoint {
        let value = match (&series.value, self.value_before(family, series)) {
            (
                SeriesValue::Counter { total, .. },
                Some(SeriesValue::Counter { total: before, .. }),
            ) => total - before,
            (SeriesValue::Counter { total, .. }, _) => *total,
            (SeriesValue::Gauge(value), _) => *value,
            (SeriesValue::Histogram(_), _) => 0.0,
        };
        NumberDataPoint {
            start_time_unix_nano: self.start,
            time_unix_nano: nanoseconds(self.interval.time),
            as_double: Some(value),
            attributes: self.attributes(series),
        }
    }

    fn histogram(&self, family: &Family, series: &Series) -> Option<ExponentialHistogramDataPoint> {
        let SeriesValue::Histogram(times) = &series.value else {
            return None;
        };
        let nothing = Times::default();
        let before = match self.value_before(family, series) {
            Some(SeriesValue::Histogram(before)) => before,
            _ => &nothing,
        };
        let own = times.exponential.since(&before.exponential);
        Some(ExponentialHistogramDataPoint {
            attributes: self.attributes(series),
            start_time_unix_nano: self.start,
            time_unix_nano: nanoseconds(self.interval.time),
            count: times.count - before.count,
            sum: Some(times.sum - before.sum),
            scale: own.scale,
            zero_count: own.zero,
            positive: Some(Buckets {
                offset: own.first,
                bucket_counts: own.counts,
            }),
            exemplars: times
                .exemplars_from(self.next)
                .into_iter()
                .map(write_exemplar)
                .collect(),
            zero_threshold: ZERO_SECONDS,
        })
    }

    fn attributes(&self, series: &Series) -> Vec<KeyValue> {
        let labels = self.interval.labels(series);
        attributes(labels.filter(|(_, value)| !value.is_empty()))
    }
}

fn write_exemplar(exemplar: &interval::Exemplar) -> Exemplar {
    Exemplar {
        time_unix_nano: nanoseconds(exemplar.at),
        as_double: Some(exemplar.value),
        span_id: exemplar.span.to_bytes().to_vec(),
        trace_id: exemplar.trace.to_bytes().to_vec(),
    }
}

pub(super) fn attributes<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<KeyValue> {
    let pairs = pairs.into_iter();
    pairs
        .map(|(key, value)| KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue {
                string_value: Some(value.to_owned()),
                int_value: None,
            }),
        })
        .collect()
}

fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_nanosecond()).unwrap_or_default()
}
