//! Sinks before a run: all mistakes at once, then their start.

use super::bounds::{Detail, SeriesBudget};
use super::hub::{Hub, HubState, Receiver, ServedSink, SinkName};
use super::open::{RUN, SinkTarget, describe_lack};
use super::queue::SinkQueue;
use super::sink::Sink;
use super::sink::prometheus::ScrapePage;
use super::tracker::TrackerSettings;
use super::{HistogramWeight, RunFacts};
use crate::access::AccessHeaders;
use crate::cli::TelemetryArgs;
use crate::config::{
    HistogramForm, OPEN_SECRET, SinkConfig, SinkFormat, TelemetryConfig, is_open_to_others,
    sink_url,
};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_console::process;
use loadtest_model::definition::ScenarioDef;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use url::Url;

/// The standard variables of OTLP.
const OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const OTLP_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// The sinks of a run that is yet to begin.
pub(crate) struct Telemetry {
    config: TelemetryConfig,
    sinks: Vec<PreparedSink>,
}

/// A sink whose secrets are read, and whose port is taken.
struct PreparedSink {
    name: SinkName,
    config: SinkConfig,
    headers: AccessHeaders,
    url: Option<Url>,
    listener: Option<TcpListener>,
}

/// A sink of the configuration or of the command line.
struct ChosenSink {
    number: usize,
    config: SinkConfig,
    is_configured: bool,
}

/// Returns the sinks of the configuration, then those of the command line.
///
/// # Errors
/// Everything that is wrong with the command line.
fn choose_sinks(config: &TelemetryConfig, args: &TelemetryArgs) -> Result<Vec<ChosenSink>, Error> {
    let configured = config.sinks.iter().filter(|_| !args.no_telemetry);
    let mut chosen: Vec<_> = configured.map(|sink| (sink.clone(), true)).collect();
    let mut mistakes = Vec::new();
    for text in &args.send {
        match text.parse() {
            Ok(sink) => chosen.push((sink, false)),
            Err(mistake) => mistakes.push(format!("`--send`: {mistake}")),
        }
    }
    if !mistakes.is_empty() {
        return Err(Error::usage(mistakes.join("\n")));
    }
    let numbered = (1..).zip(chosen);
    Ok(numbered
        .map(|(number, (config, is_configured))| ChosenSink {
            number,
            config,
            is_configured,
        })
        .collect())
}

impl Telemetry {
    /// Prepares the sinks of the configuration and of the command line. Without a network, those on this machine are
    /// served.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub(crate) fn prepare(
        config: &TelemetryConfig,
        args: &TelemetryArgs,
        offline: bool,
    ) -> Result<Self, Error> {
        let mut chosen = choose_sinks(config, args)?;
        chosen.retain(|sink| {
            let is_served = !offline || sink.config.is_local();
            if !is_served {
                console::print_warning(format!(
                    "telemetry {}, {}: an offline run sends nothing to another machine",
                    sink.number,
                    sink.config.format.word()
                ));
            }
            is_served
        });
        Self::prepare_sinks(config, chosen)
    }

    /// Prepares the sinks that an earlier run is sent to: all that are no page, or that with the number `to`.
    ///
    /// # Errors
    /// Everything that is wrong with them; when there is none.
    pub(crate) fn prepare_replay(
        config: &TelemetryConfig,
        args: &TelemetryArgs,
        to: Option<usize>,
    ) -> Result<Self, Error> {
        let args = TelemetryArgs {
            no_telemetry: args.no_telemetry || !args.send.is_empty(),
            ..args.clone()
        };
        let mut chosen = choose_sinks(config, &args)?;
        if let Some(to) = to {
            let all = chosen.len();
            chosen.retain(|sink| sink.number == to);
            if chosen.is_empty() {
                return Err(Error::usage(format!(
                    "there is no sink {to}; `[[telemetry.to]]` names {all}"
                )));
            }
        }
        chosen.retain(|sink| sink.config.format != SinkFormat::Prometheus);
        if chosen.is_empty() {
            return Err(Error::usage("there is no sink to send to").with_help(
                "name one with `--send`, such as `--send otlp=http://127.0.0.1:4318`, or with `[[telemetry.to]]` \
                 in `loadtest.toml`; a page to be scraped gets no earlier run",
            ));
        }
        Self::prepare_sinks(config, chosen)
    }

    fn prepare_sinks(config: &TelemetryConfig, chosen: Vec<ChosenSink>) -> Result<Self, Error> {
        let mut mistakes = Vec::new();
        let mut sinks = Vec::new();
        for sink in chosen {
            let named = format!("telemetry {}, {}", sink.number, sink.config.format.word());
            match PreparedSink::new(sink) {
                Ok(sink) => sinks.push(sink),
                Err(wrong) => {
                    let wrong = wrong.into_iter();
                    mistakes.extend(wrong.map(|mistake| format!("{named}: {mistake}")));
                }
            }
        }
        if mistakes.is_empty() {
            Ok(Self {
                config: config.clone(),
                sinks,
            })
        } else {
            Err(Error::usage(mistakes.join("\n")))
        }
    }

    /// Returns true if there is no sink.
    pub(crate) fn is_empty(&self) -> bool {
        self.sinks.is_empty()
    }

    /// Returns true if lines go to standard output.
    pub(crate) fn takes_output(&self) -> bool {
        let mut sinks = self.sinks.iter();
        sinks.any(|sink| sink.config.path.as_deref() == Some(Path::new("-")))
    }

    /// Starts the sinks of a run of these scenarios. An earlier run waits for its sinks, until `replay` stops it.
    pub(crate) fn start(
        self,
        facts: RunFacts,
        scenarios: &[&ScenarioDef],
        replay: Option<&Interrupts>,
    ) -> Hub {
        let weight = self.weight();
        let most = self.config.max_series;
        let detail = Detail::for_room(most, weight, scenarios);
        let boundaries = detail.count_boundaries(most, weight, scenarios);
        let losses = detail.describe_losses(boundaries);
        for loss in losses.filter(|_| !self.is_empty()) {
            console::print_warning(format!(
                "telemetry: {loss}, so that there are at most {most} series"
            ));
        }
        let run = facts.run.clone();
        let sinks = self.sinks.into_iter();
        let sinks = sinks.map(|sink| sink.serve(&run, replay)).collect();
        let settings = TrackerSettings {
            facts,
            labels: self.config.labels.into_iter().collect(),
            run_label: self.config.run_label,
            weight,
            detail,
            boundaries,
            budget: Arc::new(SeriesBudget::new(most)),
        };
        let state = HubState {
            settings,
            trackers: BTreeMap::new(),
            spans: BTreeMap::new(),
            sinks,
        };
        Hub {
            state: Arc::new(Mutex::new(state)),
            run,
            is_replay: replay.is_some(),
        }
    }

    /// The weight of a histogram at the sink that makes most of it.
    fn weight(&self) -> HistogramWeight {
        let weights = self.sinks.iter().map(|sink| {
            let SinkConfig {
                format, histograms, ..
            } = &sink.config;
            let is_written = *format == SinkFormat::RemoteWrite;
            HistogramWeight {
                is_classic: *format == SinkFormat::Prometheus
                    || is_written && *histograms != HistogramForm::Native,
                is_native: is_written && *histograms != HistogramForm::Classic,
            }
        });
        let weight = weights.max_by_key(|weight| weight.series(1));
        weight.unwrap_or_default()
    }
}

impl PreparedSink {
    fn new(chosen: ChosenSink) -> Result<Self, Vec<String>> {
        let ChosenSink {
            number,
            config: sink,
            is_configured,
        } = chosen;
        let needs_protobuf = matches!(sink.format, SinkFormat::RemoteWrite | SinkFormat::Otlp);
        if needs_protobuf && !cfg!(feature = "telemetry") {
            return Err(vec![describe_lack()]);
        }
        // InfluxDB has a word of its own.
        let scheme = match sink.format {
            SinkFormat::Influx => "Token",
            _ => "Bearer",
        };
        let headers = AccessHeaders::read(&sink.access, scheme);
        let mut mistakes = headers.as_ref().err().cloned().unwrap_or_default();
        let mut headers = headers.unwrap_or_default();
        let url = match sink.format {
            SinkFormat::Otlp => find_otlp_url(&sink, &mut headers),
            _ => Ok(sink.url.clone()),
        };
        let listener = sink.listen.map(|address| {
            TcpListener::bind(address)
                .map_err(|error| format!("`{address}` cannot be listened at: {}", error.kind()))
        });
        let listener = listener.transpose();
        mistakes.extend(url.as_ref().err().cloned());
        mistakes.extend(listener.as_ref().err().cloned());
        let is_open =
            |url: &Url| is_open_to_others(url) && headers.has_secrets() && !sink.access.insecure;
        if let Ok(Some(url)) = &url
            && is_open(url)
        {
            mistakes.push(OPEN_SECRET.to_owned());
        }
        match (url, listener) {
            (Ok(url), Ok(listener)) if mistakes.is_empty() => Ok(Self {
                name: SinkName {
                    number,
                    format: sink.format.word(),
                    place: describe_place(&sink, url.as_ref(), listener.as_ref()),
                    is_configured,
                },
                config: sink,
                headers,
                url,
                listener,
            }),
            _ => Err(mistakes),
        }
    }

    fn serve(self, run: &str, replay: Option<&Interrupts>) -> ServedSink {
        let mut name = self.name;
        name.place = name.place.replace(RUN, run);
        let mut spans = None;
        let receiver = if let Some(listener) = self.listener {
            ScrapePage::serve(listener, self.config.linger)
                .map(Receiver::Page)
                .map_err(|error| error.to_string())
        } else {
            let every = self.config.interval.map_or(1, |every| every.as_secs());
            let every = u32::try_from(every).unwrap_or(1).max(1);
            let queue = SinkQueue::new(every, self.headers.clone(), replay.cloned());
            let queue = Arc::new(queue);
            let target = SinkTarget {
                config: self.config,
                headers: self.headers.headers.clone(),
                url: self.url,
            };
            if target.config.format == SinkFormat::Otlp {
                let own = SinkQueue::new(1, self.headers, replay.cloned());
                let own = Arc::new(own);
                serve_sink(&own, target.clone(), run);
                spans = Some(own);
            }
            serve_sink(&queue, target, run);
            Ok(Receiver::Queue(queue))
        };
        let receiver = receiver.unwrap_or_else(|why| {
            let queue = SinkQueue::new(1, AccessHeaders::default(), None);
            queue.refuse(&why);
            Receiver::Queue(Arc::new(queue))
        });
        ServedSink {
            name,
            receiver,
            spans,
            counted_losses: 0,
        }
    }
}

/// Opens a sink and serves it; a queue without a sink is refused.
fn serve_sink(queue: &Arc<SinkQueue>, target: SinkTarget, run: &str) {
    let opened = target.open(run);
    if let Err(why) = opened.and_then(|sink| start_thread(queue, sink)) {
        queue.refuse(&why);
    }
}

fn start_thread(queue: &Arc<SinkQueue>, sink: Box<dyn Sink>) -> Result<(), String> {
    let served = Arc::clone(queue);
    let thread = std::thread::Builder::new().name("telemetry".to_owned());
    let started = thread.spawn(move || served.serve(sink));
    started
        .map(|_| ())
        .map_err(|error| format!("no thread could be started: {error}"))
}

fn describe_place(sink: &SinkConfig, url: Option<&Url>, listener: Option<&TcpListener>) -> String {
    let listens = listener.and_then(|listener| listener.local_addr().ok());
    match (url, listens) {
        (Some(url), _) => url.origin().ascii_serialization(),
        (_, Some(address)) => address.to_string(),
        _ => {
            let place = sink.place();
            let here = process::directory().unwrap_or_default();
            let below = Path::new(&place).strip_prefix(&here);
            below.map_or(place.clone(), |below| below.display().to_string())
        }
    }
}

/// Returns the URL of a collector's metrics; the standard variables hold what the configuration does not say.
fn find_otlp_url(sink: &SinkConfig, headers: &mut AccessHeaders) -> Result<Option<Url>, String> {
    let held = |name: &str| process::variable(name).filter(|value| !value.trim().is_empty());
    let has_headers = sink.access.has_secrets() || !sink.access.headers.is_empty();
    if let Some(given) = held(OTLP_HEADERS).filter(|_| !has_headers && sink.url.is_none()) {
        for pair in given.split(',') {
            let (name, value) = pair
                .split_once('=')
                .ok_or(format!("`{OTLP_HEADERS}` is not a list of `name=value`"))?;
            let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
            headers.add_secret(name.trim(), &value, value.clone().into_owned());
        }
    }
    let mut url = match (&sink.url, held(OTLP_ENDPOINT)) {
        (Some(url), _) => url.clone(),
        (None, Some(text)) => sink_url(text.trim())
            .map_err(|mistake| format!("the variable `{OTLP_ENDPOINT}` {mistake}"))?,
        (None, None) => {
            return Err(format!(
                "it has no `url`, and the variable `{OTLP_ENDPOINT}` holds none; write \
                 `url = \"http://127.0.0.1:4318\"`"
            ));
        }
    };
    let path = format!("{}/v1/metrics", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(Some(url))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;

    #[test]
    fn a_path_is_shown_with_the_name_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("{run}/intervals.jsonl");
        let args = TelemetryArgs {
            send: vec![format!("json={}", path.display())],
            ..TelemetryArgs::default()
        };
        let prepared = Telemetry::prepare(&TelemetryConfig::default(), &args, false).unwrap();
        let facts = RunFacts {
            run: "20261121-143005-k3f9".to_owned(),
            tool_version: "0.1.0".to_owned(),
            commit: None,
        };
        let definition = sample::definition("checkout", &[]);
        let hub = prepared.start(facts, &[&definition], None);
        let place = folder.path().join("20261121-143005-k3f9/intervals.jsonl");
        assert!(place.is_file());
        let state = hub.state.lock().unwrap();
        assert_eq!(state.sinks[0].name.place, place.display().to_string());
    }
}
