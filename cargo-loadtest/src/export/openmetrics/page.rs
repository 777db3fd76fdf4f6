//! The text of OpenMetrics: families, and samples with their labels.

use crate::export::labels::round_to_micros;
use loadtest_console::console::clean;
use loadtest_model::card::Quantiles;
use std::fmt::Write as _;

/// The labels of a sample.
pub(super) type Labels = Vec<(&'static str, String)>;
/// The labels and the value of a sample, which is left out without a finite value.
pub(super) type Sample = (Labels, Option<f64>);

/// The families of the export: full name, kind and help.
pub(super) const FAMILIES: &str = include_str!("families.tsv");
/// Begins the name of every family.
const PREFIX: &str = "loadtest_";

/// The format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFormat {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus, which older readers take.
    Prometheus,
}

/// The text so far.
#[derive(Debug)]
pub(crate) struct MetricsText {
    text: String,
    /// The known families, a line each.
    families: &'static str,
    format: TextFormat,
}

impl MetricsText {
    /// Begins a text of these families: full name, kind and help, a line each.
    pub(crate) fn new(families: &'static str, format: TextFormat) -> Self {
        Self {
            text: String::new(),
            families,
            format,
        }
    }

    /// Returns the text with its end.
    pub(crate) fn finish(self) -> String {
        match self.format {
            TextFormat::OpenMetrics => self.text + "# EOF\n",
            TextFormat::Prometheus => self.text,
        }
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
            self.sample(&format!("{name}{suffix}"), as_pairs(&labels), value);
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
                self.sample(name, as_pairs(&labels), seconds);
            }
            let samples = times.samples as f64;
            self.sample(&format!("{name}_count"), as_pairs(&labels), Some(samples));
            let sum = times.mean.map_or(0.0, |mean| mean.as_secs_f64() * samples);
            self.sample(&format!("{name}_sum"), as_pairs(&labels), Some(sum));
        }
    }

    /// Begins a family, and returns its full name and kind; its unit is the end of its name, where there is one.
    pub(crate) fn head(&mut self, name: &str) -> (&'static str, &'static str) {
        let mut families = self.families.lines().filter_map(|line| {
            let (full_name, rest) = line.split_once('\t')?;
            let (kind, help) = rest.split_once('\t')?;
            (full_name.strip_prefix(PREFIX)? == name).then_some((full_name, kind, help))
        });
        let (name, kind, help) = families.next().expect("a family of the list");
        // The older format knows samples only, and no info.
        let (suffix, shown_kind) = match (self.format, kind) {
            (TextFormat::Prometheus, "counter") => ("_total", kind),
            (TextFormat::Prometheus, "info") => ("_info", "gauge"),
            _ => ("", kind),
        };
        let _ = writeln!(self.text, "# TYPE {name}{suffix} {shown_kind}");
        for unit in ["seconds", "bytes", "ratio"] {
            if self.format == TextFormat::OpenMetrics && name.ends_with(&format!("_{unit}")) {
                let _ = writeln!(self.text, "# UNIT {name} {unit}");
            }
        }
        let _ = writeln!(self.text, "# HELP {name}{suffix} {}", escape_label(help));
        (name, kind)
    }

    /// Writes a sample, unless its value is not finite.
    pub(crate) fn sample<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: Option<f64>,
    ) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return;
        };
        self.text.push_str(name);
        let mut end = "";
        for (label, text) in labels {
            let before = if end.is_empty() { '{' } else { ',' };
            let _ = write!(self.text, "{before}{label}=\"{}\"", escape_label(text));
            end = "}";
        }
        let _ = writeln!(self.text, "{end} {value}");
    }

    /// Adds an example to the sample before, which is of a bucket; the older format has none.
    pub(crate) fn exemplar(&mut self, labels: [(&str, &str); 2], value: f64, seconds: f64) {
        if self.format == TextFormat::OpenMetrics && self.text.ends_with('\n') {
            self.text.pop();
            let [(name, text), (other, more)] = labels;
            let labels = format!("{name}=\"{text}\",{other}=\"{more}\"");
            let _ = writeln!(self.text, " # {{{labels}}} {value} {seconds}");
        }
    }
}

/// Borrows labels.
fn as_pairs(labels: &Labels) -> impl Iterator<Item = (&str, &str)> {
    labels.iter().map(|(label, text)| (*label, &**text))
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
