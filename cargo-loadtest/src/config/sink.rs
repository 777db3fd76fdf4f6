//! `[[telemetry.to]]`: one sink, from the file or from `--send`.

use super::access::{AccessConfig, join_header_names};
use super::key::{ConfigTable, Given};
use super::place::{is_loopback, is_loopback_host, parse_address, parse_listen, sink_url};
use super::telemetry::parse_word;
use loadtest_console::units;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use url::Url;

/// A place to send figures to, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SinkConfig {
    /// `format`
    pub(crate) format: SinkFormat,
    /// `listen`: the address of the page to be scraped.
    pub(crate) listen: Option<SocketAddr>,
    /// `linger`: the longest wait for a last scrape.
    pub(crate) linger: Option<Duration>,
    /// `path` of the lines; `-` is standard output.
    pub(crate) path: Option<PathBuf>,
    /// `address` of datagrams: host and port.
    pub(crate) address: Option<String>,
    /// `dialect` of datagrams.
    pub(crate) dialect: StatsdDialect,
    /// `url`
    pub(crate) url: Option<Url>,
    /// Its headers, and the variables of its secrets.
    pub(crate) access: AccessConfig,
    /// `interval` between messages.
    pub(crate) interval: Option<Duration>,
    /// `histograms` of remote write.
    pub(crate) histograms: HistogramForm,
    /// `temporality` of OTLP.
    pub(crate) temporality: Temporality,
    /// `encoding` of OTLP.
    pub(crate) encoding: OtlpEncoding,
    /// The keys that were given, and those values that may be shown.
    given: Vec<(String, Option<String>)>,
}

/// The format of a sink.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SinkFormat {
    /// `prometheus`: a page to be scraped.
    #[default]
    Prometheus,
    /// `remote-write` of Prometheus.
    RemoteWrite,
    /// `otlp` over HTTP.
    Otlp,
    /// `influx`: line protocol over HTTP.
    Influx,
    /// `statsd`: datagrams.
    Statsd,
    /// `json`: lines in a file.
    Json,
}

const FORMATS: [(&str, SinkFormat); 6] = [
    ("prometheus", SinkFormat::Prometheus),
    ("remote-write", SinkFormat::RemoteWrite),
    ("otlp", SinkFormat::Otlp),
    ("influx", SinkFormat::Influx),
    ("statsd", SinkFormat::Statsd),
    ("json", SinkFormat::Json),
];

/// The form of histograms in remote write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HistogramForm {
    #[default]
    Classic,
    Native,
    Both,
}

/// The reference of counts in OTLP: the start of the run, or the message before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Temporality {
    #[default]
    Cumulative,
    Delta,
}

/// The encoding of OTLP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OtlpEncoding {
    #[default]
    Protobuf,
    Json,
}

/// The dialect of datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StatsdDialect {
    /// Labels are parts of names.
    #[default]
    Statsd,
    /// Labels are tags behind `|#`.
    Dogstatsd,
    /// Graphite's lines with tags and times.
    Graphite,
}

impl SinkFormat {
    /// The word in the file.
    pub(crate) fn word(self) -> &'static str {
        let found = FORMATS.iter().find(|(_, format)| *format == self);
        found.map_or("", |(word, _)| word)
    }

    /// The keys of this format, besides `format`; the first one is required.
    fn keys(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::Prometheus => &["listen", "linger"],
            Self::Json => &["path"],
            Self::Statsd => &["address", "dialect"],
            Self::Influx => &[],
            Self::RemoteWrite => &["interval", "histograms"],
            Self::Otlp => &["interval", "temporality", "encoding"],
        };
        match self {
            Self::Influx | Self::RemoteWrite | Self::Otlp => {
                [&["url"], AccessConfig::KEYS.as_slice(), own].concat()
            }
            _ => own.to_vec(),
        }
    }
}

impl ConfigTable for SinkConfig {
    const SECTION: &'static str = "telemetry.to";

    fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        let text = given.text();
        let shown = match name {
            "linger" | "dialect" | "interval" | "histograms" | "temporality" | "encoding"
            | "insecure" => Some(text.to_owned()),
            "headers" => Some(join_header_names(given)),
            _ => None,
        };
        self.given.push((name.to_owned(), shown));
        match name {
            "format" => self.format = parse_word(text, "format", &FORMATS)?,
            "listen" => self.listen = Some(parse_listen(text)?),
            "linger" => self.linger = Some(units::duration(text)?),
            "path" => {
                let name = given.name()?;
                self.path = Some(if name == "-" {
                    name.into()
                } else {
                    given.path(&name)
                });
            }
            "address" => self.address = Some(parse_address(text)?),
            "dialect" => {
                let known = [
                    ("statsd", StatsdDialect::Statsd),
                    ("dogstatsd", StatsdDialect::Dogstatsd),
                    ("graphite", StatsdDialect::Graphite),
                ];
                self.dialect = parse_word(text, "dialect", &known)?;
            }
            "url" => self.url = Some(sink_url(text)?),
            "interval" => match units::duration(text)? {
                time if time.is_zero() || time.subsec_nanos() > 0 || time.as_secs() > 300 => {
                    return Err("is not a number of whole seconds; write `1s` to `5m`".to_owned());
                }
                time => self.interval = Some(time),
            },
            "histograms" => {
                let known = [
                    ("classic", HistogramForm::Classic),
                    ("native", HistogramForm::Native),
                    ("both", HistogramForm::Both),
                ];
                self.histograms = parse_word(text, "form of histograms", &known)?;
            }
            "temporality" => {
                let known = [
                    ("cumulative", Temporality::Cumulative),
                    ("delta", Temporality::Delta),
                ];
                self.temporality = parse_word(text, "temporality", &known)?;
            }
            "encoding" => {
                let known = [
                    ("protobuf", OtlpEncoding::Protobuf),
                    ("json", OtlpEncoding::Json),
                ];
                self.encoding = parse_word(text, "encoding", &known)?;
            }
            _ => self.access.set_key(name, given)?,
        }
        Ok(())
    }
}

impl SinkConfig {
    /// Returns what is wrong with the keys together.
    pub(crate) fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        // An unreadable format was a mistake already.
        if !self.has("format") {
            return mistakes;
        }
        let (word, keys) = (self.format.word(), self.format.keys());
        for (name, _) in self.given.iter().filter(|(name, _)| name != "format") {
            if !keys.contains(&&**name) {
                mistakes.push(format!(
                    "a sink with `format = \"{word}\"` has no `{name}`; it has {}",
                    loadtest_console::suggestion::join_names(&keys)
                ));
            }
        }
        let needs = |name: &str, example: &str| {
            (!self.has(name)).then(|| {
                format!("a sink with `format = \"{word}\"` needs `{name}`; write `{name} = \"{example}\"`")
            })
        };
        mistakes.extend(match self.format {
            SinkFormat::Prometheus => needs("listen", "127.0.0.1:9646"),
            SinkFormat::RemoteWrite => needs("url", "https://mimir.example.com/api/v1/push"),
            SinkFormat::Influx => needs("url", "http://127.0.0.1:8086/write?db=load"),
            SinkFormat::Statsd => needs("address", "127.0.0.1:8125"),
            SinkFormat::Json => needs("path", "target/loadtest/{run}/intervals.jsonl"),
            // The standard variable holds it.
            SinkFormat::Otlp => None,
        });
        mistakes.extend(self.access.mistakes("a sink", self.url.as_ref()));
        mistakes
    }

    fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| given == name)
    }

    /// Returns the options that were given and may be shown, with their values.
    pub(crate) fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = self.given.iter();
        given.filter_map(|(name, value)| Some((&**name, value.as_deref()?)))
    }

    /// The part that may be shown: scheme, host and port of a URL, an address, a path.
    pub(crate) fn place(&self) -> String {
        if let Some(url) = &self.url {
            return url.origin().ascii_serialization();
        }
        let path = self.path.as_ref().map(|path| path.display().to_string());
        let listen = self.listen.map(|address| address.to_string());
        let place = path.or(listen).or_else(|| self.address.clone());
        place.unwrap_or_default()
    }

    /// Returns true if it is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match (&self.url, &self.address) {
            (Some(url), _) => is_loopback(url),
            (None, Some(address)) => {
                is_loopback_host(address.rsplit_once(':').map_or("", |(host, _)| host))
            }
            (None, None) => true,
        }
    }
}

/// `FORMAT=WHERE` of `--send`.
impl FromStr for SinkConfig {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, place) = text.split_once('=').unwrap_or((text, ""));
        let base = loadtest_console::process::directory().unwrap_or_default();
        let mut sink = Self::default();
        let mut set = |name: &str, value: &str| {
            let words = [value.to_owned()];
            let given = Given {
                words: &words,
                base: &base,
            };
            sink.set_key(name, &given)
        };
        set("format", word).map_err(|mistake| format!("`{word}` {mistake}"))?;
        let format = parse_word(word, "format", &FORMATS)?;
        let key = format.keys()[0];
        if !place.is_empty() {
            // A URL may be a secret.
            set(key, place).map_err(|mistake| format!("its {key} {mistake}"))?;
        }
        match sink.mistakes().into_iter().next() {
            None => Ok(sink),
            Some(mistake) if place.is_empty() => {
                let example = mistake.split('"').rev().nth(1).unwrap_or_default();
                Err(format!("`{word}` needs a place; write `{word}={example}`"))
            }
            Some(mistake) => Err(mistake),
        }
    }
}
