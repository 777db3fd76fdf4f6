//! Lines of samples, as JSON or CSV. `docs/samples.schema.json` describes the first.

use crate::export::csv::defuse_formula;
use jiff::Timestamp;
use loadtest_model::metrics::ErrorKind;
use loadtest_model::samples::{LostSamples, Sample, SampleEntry, SampleKind, SamplesHeader};
use loadtest_model::schedule::Window;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;

/// The version of the lines.
const SCHEMA_VERSION: u32 = 1;

/// The form of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleFormat {
    Json,
    Csv,
}

/// The lines of one scenario.
#[derive(Debug)]
pub(super) struct SampleLines {
    format: SampleFormat,
    header: SamplesHeader,
    names: HashMap<u32, String>,
}

/// The first line of a scenario in JSON.
#[derive(Serialize)]
struct RunLine<'a> {
    kind: &'static str,
    schema_version: u32,
    run: &'a str,
    scenario: &'a str,
    time: String,
    steps: &'a [String],
}

/// A line of JSON; of CSV, all columns.
#[derive(Debug, Default, Serialize)]
struct SampleLine<'a> {
    time: String,
    scenario: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iteration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<Window>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_delay_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_byte_us: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<u64>,
}

/// The header of CSV: the keys of [`Line`].
pub(super) const COLUMNS: &str = "time,scenario,kind,step,request,iteration,user,window,ok,start_delay_us,service_us,response_us,\
                       first_byte_us,status,error,sent,received,until,samples";

impl SampleLines {
    pub(super) fn new(format: SampleFormat, header: SamplesHeader) -> Self {
        Self {
            format,
            header,
            names: HashMap::new(),
        }
    }

    /// Returns the first line, of those of JSON.
    pub(super) fn begin(&self) -> Vec<u8> {
        match self.format {
            SampleFormat::Csv => Vec::new(),
            SampleFormat::Json => {
                let line = RunLine {
                    kind: "run",
                    schema_version: SCHEMA_VERSION,
                    run: &self.header.run,
                    scenario: &self.header.scenario,
                    time: self.time(0),
                    steps: &self.header.steps,
                };
                let mut text = Vec::new();
                write_json(&mut text, &line);
                text
            }
        }
    }

    /// Appends the line of an entry, if it has one.
    pub(super) fn write(&mut self, entry: &SampleEntry, text: &mut Vec<u8>) {
        let line = match entry {
            SampleEntry::Name { number, name } => {
                self.names.insert(*number, name.clone());
                return;
            }
            SampleEntry::Sample(sample) => self.line(sample),
            SampleEntry::Lost(lost) => self.gap(lost),
        };
        match self.format {
            SampleFormat::Json => write_json(text, &line),
            SampleFormat::Csv => write_csv(text, &line),
        }
    }

    fn line(&self, sample: &Sample) -> SampleLine<'_> {
        let step = sample.step.map(usize::from);
        let step = step.and_then(|step| self.header.steps.get(step));
        let name = sample.name.and_then(|name| self.names.get(&name));
        let has_traffic = sample.kind != SampleKind::Journey;
        SampleLine {
            time: self.time(sample.begun_us),
            scenario: &self.header.scenario,
            kind: sample.kind.name(),
            step: step.map(String::as_str),
            request: name.map(String::as_str),
            iteration: sample.iteration,
            user: Some(sample.user),
            window: Some(sample.window),
            ok: Some(sample.is_ok),
            start_delay_us: Some(sample.start_delay_us),
            service_us: sample.service_us,
            response_us: (sample.service_us)
                .map(|service| service.saturating_add(sample.start_delay_us)),
            first_byte_us: sample.first_byte_us,
            status: sample.status,
            error: sample.error.map(ErrorKind::name),
            sent: has_traffic.then_some(sample.sent),
            received: has_traffic.then_some(sample.received),
            until: None,
            samples: None,
        }
    }

    fn gap(&self, lost: &LostSamples) -> SampleLine<'_> {
        SampleLine {
            time: self.time(lost.from_us),
            scenario: &self.header.scenario,
            kind: "lost",
            until: Some(self.time(lost.to_us)),
            samples: Some(lost.count),
            ..SampleLine::default()
        }
    }

    /// Returns the time so long after the start of the load.
    fn time(&self, after_us: u64) -> String {
        let micros = self.header.started_us.saturating_add(after_us);
        let time = i64::try_from(micros).ok();
        let time = time.and_then(|micros| Timestamp::from_microsecond(micros).ok());
        format!("{:.6}", time.unwrap_or(Timestamp::MAX))
    }
}

fn write_json(text: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *text, line).expect("names and numbers are JSON");
    text.push(b'\n');
}

fn write_csv(text: &mut Vec<u8>, line: &SampleLine<'_>) {
    let line = serde_json::to_value(line).expect("names and numbers are JSON");
    let cells = COLUMNS.split(',').map(|column| match &line[column] {
        Value::Null => String::new(),
        Value::String(text) => defuse_formula(text),
        other => other.to_string(),
    });
    let mut row = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(text);
    row.write_record(cells).expect("a vector takes everything");
}
