//! The text of OpenMetrics: families, and samples with their labels.

use crate::console::clean;
use crate::export::labels::round_to_micros;
use loadtest_model::card::Quantiles;
use std::fmt::Write as _;

/// The labels of a sample.
pub(super) type Labels = Vec<(&'static str, String)>;
/// The labels and the value of a sample, which is left out without a finite value.
pub(super) type Sample = (Labels, Option<f64>);

/// The families: full name, kind and help.
const FAMILIES: &str = include_str!("families.tsv");
/// Begins the name of every family.
const PREFIX: &str = "loadtest_";

/// The text so far.
#[derive(Debug, Default)]
pub(super) struct MetricsText(String);

impl MetricsText {
    /// Returns the text with its end.
    pub(super) fn finish(self) -> String {
        self.0 + "# EOF\n"
    }

    /// Writes a family with all its samples; `name` is without its prefix.
    pub(super) fn family(&mut self, name: &str, samples: impl IntoIterator<Item = Sample>) {
        let (name, kind) = self.head(name);
        let suffix = match kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        for (labels, value) in samples {
            self.sample(&format!("{name}{suffix}"), &labels, value);
        }
    }

    /// Writes a family that is left out without samples.
    pub(super) fn optional_family(&mut self, name: &str, samples: Vec<Sample>) {
        if !samples.is_empty() {
            self.family(name, samples);
        }
    }

    /// Writes a family of times: the quantile 1 is the longest.
    pub(super) fn summary<'a>(
        &mut self,
        name: &str,
        all: impl IntoIterator<Item = (Labels, &'a Quantiles)>,
    ) {
        let (name, _) = self.head(name);
        for (labels, times) in all {
            for (quantile, time) in [
                ("0.5", times.p50),
                ("0.9", times.p90),
                ("0.95", times.p95),
                ("0.99", times.p99),
                ("0.999", times.p99_9),
                ("1.0", times.max),
            ] {
                let mut labels = labels.clone();
                labels.push(("quantile", quantile.to_owned()));
                let seconds = time.map(|time| round_to_micros(time) as f64 / 1e6);
                self.sample(name, &labels, seconds);
            }
            let samples = times.samples as f64;
            self.sample(&format!("{name}_count"), &labels, Some(samples));
            let sum = times.mean.map_or(0.0, |mean| mean.as_secs_f64() * samples);
            self.sample(&format!("{name}_sum"), &labels, Some(sum));
        }
    }

    /// Begins a family, and returns its full name and kind; its unit is the end of its name, where there is one.
    fn head(&mut self, name: &str) -> (&'static str, &'static str) {
        let mut families = FAMILIES.lines().filter_map(|line| {
            let (full_name, rest) = line.split_once('\t')?;
            let (kind, help) = rest.split_once('\t')?;
            (full_name.strip_prefix(PREFIX)? == name).then_some((full_name, kind, help))
        });
        let (name, kind, help) = families.next().expect("a family of the list");
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        for unit in ["seconds", "bytes", "ratio"] {
            if name.ends_with(&format!("_{unit}")) {
                let _ = writeln!(self.0, "# UNIT {name} {unit}");
            }
        }
        let _ = writeln!(self.0, "# HELP {name} {}", escape_label(help));
        (name, kind)
    }

    fn sample(&mut self, name: &str, labels: &Labels, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return;
        };
        self.0.push_str(name);
        for (i, (label, text)) in labels.iter().enumerate() {
            let before = if i == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escape_label(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }
}

/// Adds up the samples with the same labels, in the order they came.
pub(super) fn add_up(samples: impl IntoIterator<Item = (Labels, u64)>) -> Vec<Sample> {
    let mut sums: Vec<(Labels, u64)> = Vec::new();
    for (labels, count) in samples {
        match sums.iter_mut().find(|(there, _)| *there == labels) {
            Some((_, sum)) => *sum += count,
            None => sums.push((labels, count)),
        }
    }
    let sums = sums.into_iter();
    sums.map(|(labels, sum)| (labels, Some(sum as f64)))
        .collect()
}

/// Returns the value of a state.
pub(super) fn flag_value(is_set: bool) -> f64 {
    f64::from(u8::from(is_set))
}

/// Escapes a text for a label or a help line.
fn escape_label(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"")
}
