//! `[telemetry]` and `[[telemetry.to]]`: where the figures of a run are sent while it goes on.

use super::key::{ConfigTable, Given, keys_of, suggest_known};
use super::reader::{ConfigReader, Read, Value};
use super::sink::SinkConfig;
use std::collections::BTreeMap;

/// The most labels of one's own.
const MOST_LABELS: usize = 8;
/// The most series of a run, unless the file says otherwise.
const MOST_SERIES: usize = 10_000;
/// The labels that figures have anyway, and those of receivers.
const RESERVED: [&str; 19] = [
    "cause",
    "condition",
    "group",
    "instance",
    "job",
    "kind",
    "le",
    "name",
    "quantile",
    "request",
    "result",
    "root_step",
    "run",
    "scenario",
    "shard",
    "sink",
    "status",
    "step",
    "what",
];

/// The sinks, and the settings that they have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TelemetryConfig {
    /// `labels` of every series.
    pub(crate) labels: BTreeMap<String, String>,
    /// `run_label`: whether every series has the identifier of the run.
    pub(crate) run_label: bool,
    /// `max_series` of a run, at each sink.
    pub(crate) max_series: usize,
    /// `[[telemetry.to]]`.
    pub(crate) sinks: Vec<SinkConfig>,
    /// The line of each of them.
    pub(crate) lines: Vec<usize>,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            labels: BTreeMap::new(),
            run_label: true,
            max_series: MOST_SERIES,
            sinks: Vec::new(),
            lines: Vec::new(),
        }
    }
}

impl ConfigTable for TelemetryConfig {
    const SECTION: &'static str = "telemetry";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        match name {
            "labels" => self.labels = parse_labels(given)?,
            "run_label" => self.run_label = given.flag()?,
            "max_series" => {
                let most = given.text().parse().ok().filter(|most| *most >= 100);
                self.max_series =
                    most.ok_or("is not a number of series; write `10000`, at least `100`")?;
            }
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }
}

fn parse_labels(given: &Given<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::new();
    for (name, value) in given.pairs()? {
        if !is_label_name(&name) {
            return Err(format!(
                "`{name}` is not a name of a label: letters, digits and `_`, and no digit first"
            ));
        }
        if RESERVED.contains(&&*name) || name.starts_with("__") {
            return Err(format!(
                "`{name}` is a label that the figures or their receivers have already; write another name"
            ));
        }
        labels.insert(name, value);
    }
    if labels.len() > MOST_LABELS {
        return Err(format!(
            "{} labels are too many: at most {MOST_LABELS}",
            labels.len()
        ));
    }
    Ok(labels)
}

fn is_label_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Reads the table and the sinks in it.
pub(super) fn read(
    value: Value<'_, '_>,
    config: &mut TelemetryConfig,
    reader: &mut ConfigReader<'_>,
) -> Vec<Read> {
    let mut read = Vec::new();
    let Some(table) = reader.table("telemetry", value) else {
        return read;
    };
    for (name, value) in table {
        let known = keys_of(TelemetryConfig::SECTION).find(|key| key.name == &**name.get_ref());
        match (&**name.get_ref(), known) {
            ("to", _) => {
                for (line, sink) in reader.entries::<SinkConfig>("telemetry.to", value) {
                    for mistake in sink.mistakes() {
                        reader.mistake_in(line, mistake);
                    }
                    config.sinks.push(sink);
                    config.lines.push(line);
                }
            }
            (_, Some(key)) => read.extend(reader.key(key, value, config)),
            _ => {
                let names = keys_of(TelemetryConfig::SECTION).map(|key| key.name);
                let names: Vec<_> = names.chain(["to"]).collect();
                reader.unknown(name, &names);
            }
        }
    }
    read
}

/// Finds one of several words.
pub(super) fn parse_word<T: Copy>(
    word: &str,
    what: &str,
    known: &[(&'static str, T)],
) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        format!("is not a {what}; {}", suggest_known(word, &names))
    })
}
