//! `[[observe]]`: figures of the target's own side, and their limits.

use super::access::{AccessConfig, join_header_names};
use super::key::{ConfigTable, Given, keys_of};
use super::label_match::LabelMatch;
use super::observe_limit::WrittenLimit;
use super::place::{is_loopback, parse_http_url};
use super::reader::{ConfigReader, Value};
use super::telemetry::parse_word;
use loadtest_console::units;
use loadtest_model::record::ObservedLimit;
use std::collections::BTreeSet;
use std::time::Duration;
use url::Url;

/// The most series of a run.
const MOST_SERIES: usize = 32;
/// The most values of the label in `by`; the others are one.
pub(crate) const MOST_GROUPS: usize = 8;
/// The longest name or unit.
const LONGEST: usize = 60;
const SOURCES: [&str; 3] = ["prometheus", "scrape", "process"];

/// Ends the name of a figure of the target's process that is divided by the requests.
pub(crate) const PER_REQUEST: &str = " per request";

/// The figures of the process that a target on this machine is.
const PROCESS_FIGURES: [(&str, (&str, &str)); 5] = [
    ("cpu", ("target cpu", "cores")),
    ("memory", ("target memory", "bytes")),
    ("threads", ("target threads", "")),
    ("open files", ("target open files", "")),
    ("context switches", ("target context switches", "/s")),
];

/// One `[[observe]]`: a source and its figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ObserveConfig {
    /// `prometheus`: the URL of a server.
    pub(crate) prometheus: Option<Url>,
    /// `query` for it.
    pub(crate) query: String,
    /// `scrape`: the URL of a page.
    pub(crate) scrape: Option<Url>,
    /// `process`: the name and the unit of a figure of the target's own process.
    process: Option<(&'static str, &'static str)>,
    /// `metrics` of the page.
    metrics: Vec<MetricConfig>,
    /// `interval` between two questions.
    pub(crate) interval: Option<Duration>,
    /// Its headers, and the variables of its secrets.
    pub(crate) access: AccessConfig,
    /// `name`, `unit`, `by`, `per` and `limit`.
    figure: WrittenFigure,
    /// The keys that were given, and those values that may be shown.
    given: Vec<(String, Option<String>)>,
}

/// One of `metrics`: the values of a page that make a figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MetricConfig {
    /// `family`
    pub(crate) family: String,
    /// `where`: what labels have to be.
    pub(crate) labels: Vec<LabelMatch>,
    /// `as = "rate"`: by how much a counter grows a second.
    pub(crate) is_rate: bool,
    figure: WrittenFigure,
}

/// A figure as it is written.
#[derive(Debug, Clone, Default, PartialEq)]
struct WrittenFigure {
    name: String,
    unit: String,
    by: Option<String>,
    /// `per = "request"`: it is divided by what was sent meanwhile.
    is_per_request: bool,
    limit: Option<WrittenLimit>,
}

/// A figure, and what has to hold of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FigureConfig {
    /// The name in reports.
    pub(crate) name: String,
    /// The unit; empty where it has none.
    pub(crate) unit: String,
    /// The label that tells series apart; all are added where there is none.
    pub(crate) by: Option<String>,
    /// True if it is divided by the requests that were sent meanwhile.
    pub(crate) is_per_request: bool,
    /// The limit.
    pub(crate) limit: Option<ObservedLimit>,
    /// The values of a page that it is made of.
    pub(crate) metric: Option<MetricConfig>,
}

impl FigureConfig {
    /// Returns true if a series with this name is one of the figure.
    pub(crate) fn has_series(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&*self.name);
        rest.is_some_and(|rest| rest.is_empty() || self.by.is_some() && rest.starts_with(' '))
    }

    /// Formats the figure: `db cpu in cores, max < 3.5 cores or abort`.
    pub(crate) fn describe(&self) -> String {
        let mut words = self.name.clone();
        if !self.unit.is_empty() {
            words = format!("{words} in {}", self.unit);
        }
        if let Some(limit) = &self.limit {
            let abort = match limit.abort_after {
                Some(Duration::ZERO) => " or abort".to_owned(),
                Some(after) => format!(" or abort after {}", units::show(after)),
                None => String::new(),
            };
            words = format!("{words}, {}{abort}", limit.describe(&self.unit));
        }
        words
    }
}

impl WrittenFigure {
    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        match name {
            "name" => self.name = parse_label(&given.name()?)?,
            "unit" => self.unit = parse_label(given.text())?,
            "by" => self.by = Some(given.name()?),
            "per" => {
                let known = [("request", true)];
                self.is_per_request = parse_word(given.text(), "unit to divide by", &known)?;
            }
            "limit" => self.limit = Some(WrittenLimit::parse(given.text())?),
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }

    /// Returns the figure with a name; a limit in another unit is told by [`mistakes`](ObserveConfig::mistakes).
    fn named(&self, name: String, unit: &str, metric: Option<MetricConfig>) -> FigureConfig {
        let limit = self.limit.as_ref();
        let unit = self.unit_of(unit);
        FigureConfig {
            name,
            by: self.by.clone(),
            is_per_request: self.is_per_request,
            limit: limit.and_then(|limit| limit.in_unit(&unit).ok()),
            unit,
            metric,
        }
    }

    /// Returns the unit of the figure, whose source has this one.
    fn unit_of(&self, unit: &str) -> String {
        if !self.is_per_request {
            return unit.to_owned();
        }
        let amount = match unit {
            // A core for a second is a second.
            "cores" | "seconds" => "s",
            unit => unit.strip_suffix("/s").unwrap_or(unit),
        };
        format!("{amount}/request")
    }

    fn mistake_of_limit(&self, unit: &str) -> Option<String> {
        let limit = self.limit.as_ref()?;
        if self.is_per_request && limit.ends_run() {
            let wrong =
                "a limit of a figure per request is judged after the load; leave `or abort` out";
            return Some(wrong.to_owned());
        }
        limit.in_unit(&self.unit_of(unit)).err()
    }
}

fn parse_label(text: &str) -> Result<String, String> {
    if text.chars().any(char::is_control) {
        return Err("holds a control character".to_owned());
    }
    if text.chars().count() > LONGEST {
        return Err(format!("is longer than {LONGEST} letters"));
    }
    Ok(text.to_owned())
}

impl ConfigTable for MetricConfig {
    const SECTION: &'static str = "observe.metrics";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        match name {
            "family" => self.family = given.name()?,
            "where" => {
                let labels = given.pairs()?.into_iter();
                let labels = labels.map(|(label, written)| LabelMatch::parse(label, written));
                self.labels = labels.collect::<Result<_, _>>()?;
            }
            "as" => {
                let known = [("value", false), ("rate", true)];
                self.is_rate = parse_word(given.text(), "way to read a value", &known)?;
            }
            name => self.figure.set_key(name, given)?,
        }
        Ok(())
    }
}

impl ConfigTable for ObserveConfig {
    const SECTION: &'static str = "observe";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        let text = given.text();
        let shown = match name {
            "by" | "per" | "interval" | "insecure" => Some(text.to_owned()),
            "headers" => Some(join_header_names(given)),
            _ => None,
        };
        self.given.push((name.to_owned(), shown));
        match name {
            "prometheus" => {
                self.prometheus = Some(parse_http_url(text, "http://127.0.0.1:9090")?);
            }
            "scrape" => {
                self.scrape = Some(parse_http_url(text, "http://127.0.0.1:9100/metrics")?);
            }
            "query" => self.query = given.name()?,
            "process" => {
                self.process = Some(parse_word(text, "figure of a process", &PROCESS_FIGURES)?);
            }
            "interval" => match units::duration(text)? {
                time if time.is_zero() || time.subsec_nanos() > 0 || time.as_secs() > 300 => {
                    return Err("is not a number of whole seconds; write `1s` to `5m`".to_owned());
                }
                time => self.interval = Some(time),
            },
            name if AccessConfig::KEYS.contains(&name) => self.access.set_key(name, given)?,
            name => self.figure.set_key(name, given)?,
        }
        Ok(())
    }
}

impl ObserveConfig {
    /// Returns the figures of the source.
    pub(crate) fn figures(&self) -> Vec<FigureConfig> {
        let figure = &self.figure;
        if let Some((_, unit)) = self.process {
            return vec![figure.named(self.name(), unit, None)];
        }
        if self.prometheus.is_some() {
            return vec![figure.named(figure.name.clone(), &figure.unit, None)];
        }
        let metrics = self.metrics.iter().map(|metric| {
            let name = match &*metric.figure.name {
                "" => figure.name.clone(),
                name => format!("{} {name}", figure.name),
            };
            let unit = &metric.figure.unit;
            metric.figure.named(name, unit, Some(metric.clone()))
        });
        metrics.collect()
    }

    /// Returns the URL of the source; the target's own process has none.
    pub(crate) fn url(&self) -> Option<&Url> {
        self.prometheus.as_ref().or(self.scrape.as_ref())
    }

    /// Returns what may be shown of the source: scheme, host and port.
    pub(crate) fn place(&self) -> String {
        let origin = |url: &Url| url.origin().ascii_serialization();
        self.url()
            .map_or_else(|| "the target's process".to_owned(), origin)
    }

    /// Returns true if it is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.url().is_none_or(is_loopback)
    }

    /// Returns the name of the entry.
    pub(crate) fn name(&self) -> String {
        match self.process {
            Some((name, _)) if self.figure.is_per_request => format!("{name}{PER_REQUEST}"),
            Some((name, _)) => name.to_owned(),
            None => self.figure.name.clone(),
        }
    }

    /// Returns the kind of source: the word of its key.
    pub(crate) fn kind(&self) -> &'static str {
        let kind = SOURCES.iter().find(|source| self.has(source));
        kind.copied().unwrap_or_default()
    }

    /// Returns the options that were given and may be shown, with their values.
    pub(crate) fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = self.given.iter();
        given.filter_map(|(name, value)| Some((&**name, value.as_deref()?)))
    }

    fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| given == name)
    }

    /// Returns what is wrong with the keys together.
    fn mistakes(&self) -> Vec<String> {
        let sources = SOURCES.iter().filter(|source| self.has(source));
        let sources: Vec<_> = sources.copied().collect();
        let [source] = sources[..] else {
            let wrong = match sources[..] {
                [] => "`[[observe]]` has no source; write `prometheus = \"http://127.0.0.1:9090\"` with a `query`, `scrape = \"http://127.0.0.1:9100/metrics\"` with `metrics`, or `process = \"cpu\"`".to_owned(),
                _ => format!("`[[observe]]` has one source, not `{}`", sources.join("` and `")),
            };
            return vec![wrong];
        };
        let (own, needs): (&[&str], _) = match source {
            "prometheus" => (
                &["name", "query", "unit", "by", "per", "limit", "interval"],
                Some((
                    "query",
                    "query = \"sum(rate(process_cpu_seconds_total[15s]))\"",
                )),
            ),
            "scrape" => (
                &["name", "metrics", "interval"],
                Some(("metrics", "metrics = [{ family = \"node_load1\" }]")),
            ),
            _ => (
                &["per", "limit"],
                Some(("limit", "limit = \"max < 3.5\"")).filter(|_| !self.figure.is_per_request),
            ),
        };
        let access = AccessConfig::KEYS.as_slice();
        let access = if source == "process" { &[] } else { access };
        let known = [&[source], own, access].concat();
        let mut mistakes = Vec::new();
        for (name, _) in &self.given {
            if !known.contains(&&**name) {
                let hint = match (source, &**name) {
                    ("scrape", "unit" | "by" | "per" | "limit") => {
                        "; write it in one of the `metrics`"
                    }
                    _ => "",
                };
                mistakes.push(format!(
                    "`[[observe]]` with `{source}` has no `{name}`{hint}"
                ));
            }
        }
        let name = Some(("name", "name = \"db cpu\"")).filter(|_| source != "process");
        for (name, example) in needs.into_iter().chain(name) {
            if !self.has(name) {
                mistakes.push(format!(
                    "`[[observe]]` with `{source}` needs `{name}`; write `{example}`"
                ));
            }
        }
        let figure = &self.figure;
        let unit = self.process.map_or(&*figure.unit, |(_, unit)| unit);
        mistakes.extend(self.mistakes_of_rates());
        let metrics = self.metrics.iter().map(|metric| &metric.figure);
        let wrong = metrics.map(|figure| figure.mistake_of_limit(&figure.unit));
        let limits = std::iter::once(figure.mistake_of_limit(unit)).chain(wrong);
        mistakes.extend(limits.flatten());
        mistakes.extend(self.access.mistakes("`[[observe]]`", self.url()));
        mistakes
    }
}

impl ObserveConfig {
    /// Returns which figures are no rates, though they are divided by the requests of a second.
    fn mistakes_of_rates(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        if let Some((name, unit)) = self.process
            && self.figure.is_per_request
            && !["cores", "/s"].contains(&unit)
        {
            mistakes.push(format!(
                "`{name}` is not a rate, so it cannot be divided by requests; write `process = \"cpu\"`"
            ));
        }
        let metrics = self.metrics.iter();
        let levels = metrics.filter(|metric| metric.figure.is_per_request && !metric.is_rate);
        mistakes.extend(levels.map(|metric| {
            format!(
                "`{}` with `per = \"request\"` is divided as a rate; write `as = \"rate\"`",
                metric.family
            )
        }));
        mistakes
    }
}

/// Returns the figures of these sources, and those that a process of this machine has without any.
pub(crate) fn list_figures(sources: &[ObserveConfig]) -> Vec<FigureConfig> {
    let mut all: Vec<_> = sources.iter().flat_map(ObserveConfig::figures).collect();
    for (_, (name, unit)) in PROCESS_FIGURES {
        if all.iter().all(|figure| figure.name != name) {
            all.push(WrittenFigure::default().named(name.to_owned(), unit, None));
        }
    }
    all
}

/// Reads the list of sources, each with its line.
pub(super) fn read(
    value: Value<'_, '_>,
    reader: &mut ConfigReader<'_>,
) -> Vec<(usize, ObserveConfig)> {
    let mut sources = Vec::new();
    for (place, table) in reader.tables("observe", value) {
        let mut source = ObserveConfig::default();
        for (name, value) in table {
            let known = keys_of(ObserveConfig::SECTION).find(|key| key.name == &**name.get_ref());
            match (&**name.get_ref(), known) {
                ("metrics", _) => {
                    let metrics = reader.entries::<MetricConfig>("observe.metrics", value);
                    source.metrics = metrics.into_iter().map(|(_, metric)| metric).collect();
                    if !source.metrics.is_empty() {
                        source.given.push(("metrics".to_owned(), None));
                    }
                }
                (_, Some(key)) => {
                    reader.key(key, value, &mut source);
                }
                _ => {
                    let names = keys_of(ObserveConfig::SECTION).map(|key| key.name);
                    let names: Vec<_> = names.chain(["metrics"]).collect();
                    reader.unknown(name, &names);
                }
            }
        }
        let line = reader.line(place.start);
        for mistake in source.mistakes() {
            reader.mistake_in(line, mistake);
        }
        sources.push((line, source));
    }
    find_common_mistakes(&sources, reader);
    sources
}

/// Notes names that occur twice, and series that are too many.
fn find_common_mistakes(sources: &[(usize, ObserveConfig)], reader: &mut ConfigReader<'_>) {
    let own = PROCESS_FIGURES
        .iter()
        .map(|(_, (name, _))| (*name).to_owned());
    let own: BTreeSet<String> = own.collect();
    let mut names = BTreeSet::new();
    let mut series = 0;
    for (line, source) in sources {
        for figure in source.figures() {
            let FigureConfig { name, by, .. } = figure;
            series += by.map_or(1, |_| MOST_GROUPS + 1);
            let is_of_process = source.process.is_some();
            if !is_of_process && own.contains(&name) {
                reader.mistake_in(
                    *line,
                    format!("`{name}` is a figure of the target's process; write another name"),
                );
            } else if !names.insert(name.clone()) {
                reader.mistake_in(
                    *line,
                    format!("there are two figures called `{name}`; write another name"),
                );
            }
        }
    }
    if let Some((line, _)) = sources.last()
        && series > MOST_SERIES
    {
        reader.mistake_in(
            *line,
            format!(
                "{series} series are too many: at most {MOST_SERIES}, where each `by` counts as {}",
                MOST_GROUPS + 1
            ),
        );
    }
}
