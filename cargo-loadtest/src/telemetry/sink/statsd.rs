//! Datagrams of `StatsD` in three dialects: counts of the interval, and quantiles as gauges.

use super::datagram::DatagramTarget;
use super::{Sent, Sink};
use crate::config::StatsdDialect;
use crate::telemetry::family::FamilyKind;
use crate::telemetry::interval::{Interval, Series, SeriesValue};
use std::fmt::Write as _;

/// Sends datagrams.
#[derive(Debug)]
pub(crate) struct StatsdSink {
    target: DatagramTarget,
    dialect: StatsdDialect,
}

impl StatsdSink {
    pub(crate) fn new(address: String, dialect: StatsdDialect) -> Self {
        Self {
            target: DatagramTarget::new(address),
            dialect,
        }
    }
}

impl Sink for StatsdSink {
    fn send(&mut self, interval: &Interval) -> Sent {
        self.target.send(&encode_interval(interval, self.dialect))
    }
}

/// Returns the lines of an interval; times are in milliseconds, as is usual there.
pub(crate) fn encode_interval(interval: &Interval, dialect: StatsdDialect) -> String {
    let mut lines = Lines {
        text: String::new(),
        interval,
        dialect,
    };
    let all = interval.all_series();
    // What runs is no figure.
    for (family, series) in all.filter(|(family, _)| family.kind != FamilyKind::Info) {
        let name = family.dotted_name();
        match &series.value {
            SeriesValue::Counter { own, .. } if *own > 0.0 => lines.count(&name, series, *own),
            SeriesValue::Gauge(value) => lines.gauge(&name, series, *value),
            SeriesValue::Histogram(times) if times.own.count > 0 => {
                lines.count(&format!("{name}.count"), series, times.own.count as f64);
                for (quantile, seconds) in &times.own.quantiles {
                    lines.gauge(&format!("{name}.{quantile}"), series, seconds * 1e3);
                }
            }
            SeriesValue::Counter { .. } | SeriesValue::Histogram(_) => {}
        }
    }
    lines.text
}

struct Lines<'a> {
    text: String,
    interval: &'a Interval,
    dialect: StatsdDialect,
}

impl Lines<'_> {
    fn count(&mut self, name: &str, series: &Series, number: f64) {
        self.line(name, series, number, "c");
    }

    fn gauge(&mut self, name: &str, series: &Series, number: f64) {
        // There a sign makes it a change of what was.
        if number < 0.0 && self.dialect != StatsdDialect::Graphite {
            self.line(name, series, 0.0, "g");
        }
        self.line(name, series, number, "g");
    }

    fn line(&mut self, name: &str, series: &Series, number: f64, kind: &str) {
        let labels = self.interval.labels(series);
        let labels = labels.filter(|(_, value)| !value.is_empty());
        match self.dialect {
            StatsdDialect::Statsd => {
                self.text.push_str(name);
                for (_, value) in labels {
                    let _ = write!(self.text, ".{}", clean_part(value, ""));
                }
                let _ = writeln!(self.text, ":{number}|{kind}");
            }
            StatsdDialect::Dogstatsd => {
                let _ = write!(self.text, "{name}:{number}|{kind}|#");
                let tags: Vec<_> = labels
                    .map(|(label, value)| format!("{label}:{}", clean_part(value, ".:/-")))
                    .collect();
                let _ = writeln!(self.text, "{}", tags.join(","));
            }
            StatsdDialect::Graphite => {
                self.text.push_str(name);
                for (label, value) in labels {
                    let _ = write!(self.text, ";{label}={}", clean_part(value, ".:/-"));
                }
                let time = self.interval.time.as_second();
                let _ = writeln!(self.text, " {number} {time}");
            }
        }
    }
}

/// Replaces what separates parts, and all that some receiver may take for such.
fn clean_part(text: &str, kept: &str) -> String {
    let is_kept = |letter: char| letter.is_alphanumeric() || letter == '_' || kept.contains(letter);
    text.chars()
        .map(|letter| if is_kept(letter) { letter } else { '_' })
        .collect()
}
