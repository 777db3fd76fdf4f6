//! The line protocol of Influx over HTTP: a line per series, its labels as tags.
//!
//! Fields of histograms are those of the interval: quantiles of several intervals cannot be averaged.

use super::{HttpTarget, Sent, Sink};
use crate::telemetry::interval::{Interval, SeriesValue};
use std::fmt::Write as _;

/// Writes lines to a server.
pub(crate) struct InfluxSink {
    target: HttpTarget,
}

impl InfluxSink {
    pub(crate) fn new(target: HttpTarget) -> Self {
        Self { target }
    }
}

impl Sink for InfluxSink {
    fn send(&mut self, interval: &Interval) -> Sent {
        let body = encode_interval(interval).into_bytes();
        match self.target.post("text/plain; charset=utf-8", &[], body) {
            Ok(_) => Sent::Delivered,
            Err(sent) => sent,
        }
    }
}

/// Returns the lines of an interval.
pub(crate) fn encode_interval(interval: &Interval) -> String {
    let time = interval.time.as_nanosecond();
    let mut text = String::new();
    for (family, series) in interval.all_series() {
        text.push_str(family.name);
        for (name, value) in interval.labels(series) {
            // A tag without a value is none.
            if !value.is_empty() {
                let _ = write!(text, ",{}={}", escape_tag(name), escape_tag(value));
            }
        }
        match &series.value {
            SeriesValue::Counter { total, own } => {
                let _ = write!(text, " total={total},count={own}");
            }
            SeriesValue::Gauge(value) => {
                let _ = write!(text, " value={value}");
            }
            SeriesValue::Histogram(times) => {
                let own = &times.own;
                let _ = write!(text, " count={},sum={}", own.count, own.sum);
                for (name, seconds) in &own.quantiles {
                    let _ = write!(text, ",{name}={seconds}");
                }
            }
        }
        let _ = writeln!(text, " {time}");
    }
    text
}

fn escape_tag(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            ',' | '=' | ' ' => escaped.extend(['\\', letter]),
            // It would escape what follows.
            '\\' => escaped.push('/'),
            _ => escaped.push(letter),
        }
    }
    escaped
}
