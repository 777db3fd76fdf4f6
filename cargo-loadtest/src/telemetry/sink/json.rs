//! Lines of JSON: one for each second and each part of a scenario. `docs/intervals.schema.json` describes them.

use super::{Sent, Sink};
use crate::telemetry::family::FamilyKind;
use crate::telemetry::interval::{Interval, Series, SeriesValue};
use loadtest_console::process::{Stream, write_to};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::Write as _;

/// The version of the lines.
const SCHEMA_VERSION: u32 = 1;
/// The labels that make a line of its own, as its keys.
const PARTS: [&str; 5] = ["step", "request", "group", "name", "condition"];

/// Writes lines to a file, or to standard output.
#[derive(Debug)]
pub(crate) struct JsonSink {
    file: Option<File>,
}

impl JsonSink {
    pub(crate) fn new(file: Option<File>) -> Self {
        Self { file }
    }
}

impl Sink for JsonSink {
    fn send(&mut self, interval: &Interval) -> Sent {
        let lines = encode_interval(interval);
        let written = match &mut self.file {
            Some(file) => file.write_all(lines.as_bytes()),
            None => write_to(Stream::Output, lines.as_bytes()),
        };
        match written {
            Ok(()) => Sent::Delivered,
            // A line may be there in part: another attempt would write it twice.
            Err(error) => Sent::Refused(error.kind().to_string()),
        }
    }
}

/// A line under way.
#[derive(Debug, Default)]
struct JsonLine {
    parts: Vec<(&'static str, String)>,
    counts: Map<String, Value>,
    totals: Map<String, Value>,
    times: Map<String, Value>,
    gauges: Map<String, Value>,
}

/// Returns the lines of an interval.
pub(crate) fn encode_interval(interval: &Interval) -> String {
    let mut lines: Vec<JsonLine> = Vec::new();
    let all = interval.all_series();
    // What runs is in every line by its identifier, and in the record.
    for (family, series) in all.filter(|(family, _)| family.kind != FamilyKind::Info) {
        let parts = find_parts(series);
        let found = lines.iter().position(|line| line.parts == parts);
        let place = found.unwrap_or_else(|| {
            lines.push(JsonLine {
                parts: parts.clone(),
                ..JsonLine::default()
            });
            lines.len() - 1
        });
        lines[place].add(family.short_name(), series);
    }
    // Where every line belongs, and in what order.
    lines.sort_by_key(|line| line.parts.len());
    let mut text = String::new();
    for line in &lines {
        text.push_str(&line.render(interval).to_string());
        text.push('\n');
    }
    text
}

/// Returns the labels of a series that say which part it is about.
fn find_parts(series: &Series) -> Vec<(&'static str, String)> {
    let labels = series.labels.iter();
    let parts = labels.filter(|(name, text)| PARTS.contains(name) && !text.is_empty());
    parts.cloned().collect()
}

impl JsonLine {
    fn add(&mut self, family: &str, series: &Series) {
        let name = short_key(family);
        match &series.value {
            SeriesValue::Counter { total, own } => {
                put(&mut self.counts, name, series, number(*own));
                put(&mut self.totals, name, series, number(*total));
            }
            SeriesValue::Gauge(value) => put(&mut self.gauges, name, series, number(*value)),
            SeriesValue::Histogram(times) => {
                let own = &times.own;
                let mut figures = Map::new();
                figures.insert("count".to_owned(), json!(own.count));
                figures.insert("total".to_owned(), json!(times.count));
                figures.insert("sum_us".to_owned(), json!(to_us(own.sum)));
                for (quantile, seconds) in &own.quantiles {
                    figures.insert(format!("{quantile}_us"), json!(to_us(*seconds)));
                }
                put(&mut self.times, name, series, Value::Object(figures));
            }
        }
    }

    fn render(&self, interval: &Interval) -> Value {
        let mut line = Map::new();
        let mut add = |key: &str, value: Value| line.insert(key.to_owned(), value);
        add("schema_version", json!(SCHEMA_VERSION));
        add("time", json!(interval.time.to_string()));
        add("second", json!(interval.second));
        add("run", json!(&*interval.run));
        let labels = interval.common.iter();
        let mut more = Map::new();
        for (name, text) in labels {
            match &**name {
                "run" => {}
                "scenario" => _ = add("scenario", json!(text)),
                _ => _ = more.insert(name.clone(), json!(text)),
            }
        }
        add("labels", Value::Object(more));
        for part in PARTS {
            let found = self.parts.iter().find(|(name, _)| *name == part);
            add(part, json!(found.map(|(_, text)| text)));
        }
        add("counts", Value::Object(self.counts.clone()));
        add("totals", Value::Object(self.totals.clone()));
        add("times", Value::Object(self.times.clone()));
        add("gauges", Value::Object(self.gauges.clone()));
        Value::Object(line)
    }
}

/// Puts a value below its name, and below the texts of those labels that are no part: `errors.status 503`.
fn put(map: &mut Map<String, Value>, name: &str, series: &Series, value: Value) {
    let labels = series.labels.iter();
    let rest = labels.filter(|(label, text)| !PARTS.contains(label) && !text.is_empty());
    let key: Vec<_> = rest.map(|(_, text)| text.as_str()).collect();
    if key.is_empty() {
        map.insert(name.to_owned(), value);
        return;
    }
    let inner = map.entry(name.to_owned()).or_insert_with(|| json!({}));
    if let Some(inner) = inner.as_object_mut() {
        inner.insert(key.join(" "), value);
    }
}

/// The name without its part and unit, which the line has: `response`.
fn short_key(family: &str) -> &str {
    let parts = ["step_", "request_", "group_", "threshold_"];
    let name = parts.iter().find_map(|part| family.strip_prefix(part));
    let name = name.unwrap_or(family);
    name.strip_suffix("_seconds").unwrap_or(name)
}

/// Whole numbers have no fraction.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        json!(value as i64)
    } else {
        json!(value)
    }
}

fn to_us(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}
