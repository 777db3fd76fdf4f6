//! The text of OpenMetrics: families, and samples with their labels.

use crate::console::clean;
use crate::export::labels::round_to_micros;
use loadtest_model::card::Quantiles;
use std::fmt::Write as _;

/// The labels of a sample.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

/// The text so far.
#[derive(Debug)]
pub(super) struct Page(pub(super) String);

impl Page {
    /// Begins a family; its unit is the end of its name, where there is one.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        for unit in ["seconds", "bytes", "ratio"] {
            if name.ends_with(&format!("_{unit}")) {
                let _ = writeln!(self.0, "# UNIT {name} {unit}");
            }
        }
        let _ = writeln!(self.0, "# HELP {name} {}", escaped(help));
    }

    pub(super) fn sample(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.0.push_str(name);
        for (i, (label, text)) in labels.iter().enumerate() {
            let before = if i == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// A sample, where there is a figure.
    pub(super) fn figure(&mut self, name: &str, labels: Labels<'_>, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.sample(name, labels, value);
        }
    }

    /// The samples of a summary: the quantile 1 is the longest.
    pub(super) fn summary(&mut self, name: &str, labels: Labels<'_>, times: &Quantiles) {
        for (quantile, time) in [
            ("0.5", times.p50),
            ("0.9", times.p90),
            ("0.95", times.p95),
            ("0.99", times.p99),
            ("0.999", times.p99_9),
            ("1.0", times.max),
        ] {
            let labels = [labels, &[("quantile", quantile)]].concat();
            self.figure(
                name,
                &labels,
                time.map(|time| round_to_micros(time) as f64 / 1e6),
            );
        }
        let samples = times.samples as f64;
        self.sample(&format!("{name}_count"), labels, samples);
        let sum = times.mean.map(|mean| mean.as_secs_f64() * samples);
        self.sample(&format!("{name}_sum"), labels, sum.unwrap_or(0.0));
    }
}

/// Counts by what they are of, in the order they came.
#[derive(Debug, Default)]
pub(super) struct Sums(pub(super) Vec<(Vec<String>, u64)>);

impl Sums {
    pub(super) fn add(&mut self, of: Vec<String>, count: u64) {
        match self.0.iter_mut().find(|(there, _)| *there == of) {
            Some((_, sum)) => *sum += count,
            None => self.0.push((of, count)),
        }
    }
}

/// Escapes a text for a label or a help line.
fn escaped(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"")
}
