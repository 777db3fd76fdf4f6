//! Opens the sinks that get intervals.

use super::sink::influx::InfluxSink;
use super::sink::json::JsonSink;
#[cfg(feature = "telemetry")]
use super::sink::otlp::OtlpSink;
#[cfg(feature = "telemetry")]
use super::sink::remote_write::RemoteWriteSink;
use super::sink::statsd::StatsdSink;
use super::sink::{HttpTarget, Sink};
use crate::cli::INSTALL_ALL;
use crate::config::{SinkConfig, SinkFormat};
use crate::protected::describe_protected;
use std::fs::File;
use std::path::{Path, PathBuf};
use url::Url;

/// Stands for the identifier of the run in a path.
pub(super) const RUN: &str = "{run}";

/// Describes what a build without protobuf lacks.
pub(super) fn describe_lack() -> String {
    format!("this build of the tool lacks the format, so that it compiles sooner; {INSTALL_ALL}")
}

/// A sink that gets intervals, and is yet to be opened.
#[derive(Clone)]
pub(super) struct SinkTarget {
    pub(super) config: SinkConfig,
    pub(super) headers: Vec<(String, String)>,
    pub(super) url: Option<Url>,
}

impl SinkTarget {
    /// Opens it for a run.
    ///
    /// # Errors
    /// The reason why it cannot be opened.
    pub(super) fn open(self, run: &str) -> Result<Box<dyn Sink>, String> {
        #[cfg(feature = "telemetry")]
        let traces = self.url.as_ref().map(|url| {
            let mut url = url.clone();
            let path = url.path().trim_end_matches("metrics").to_owned() + "traces";
            url.set_path(&path);
            HttpTarget::new(url, self.headers.clone())
        });
        let http = self.url.map(|url| HttpTarget::new(url, self.headers));
        let http = http.ok_or("it has no URL".to_owned());
        let config = self.config;
        Ok(match config.format {
            SinkFormat::Influx => Box::new(InfluxSink::new(http?)),
            SinkFormat::Statsd => {
                let address = config.address.unwrap_or_default();
                Box::new(StatsdSink::new(address, config.dialect))
            }
            SinkFormat::Json => Box::new(JsonSink::new(open_file(config.path, run)?)),
            #[cfg(feature = "telemetry")]
            SinkFormat::RemoteWrite => Box::new(RemoteWriteSink::new(http?, config.histograms)),
            #[cfg(feature = "telemetry")]
            SinkFormat::Otlp => {
                let targets = http?;
                let targets = traces.map(|traces| (targets, traces));
                let targets = targets.ok_or("it has no URL".to_owned())?;
                let sink = OtlpSink::new(targets, config.temporality, config.encoding);
                Box::new(sink)
            }
            #[cfg(not(feature = "telemetry"))]
            SinkFormat::RemoteWrite | SinkFormat::Otlp => return Err(describe_lack()),
            SinkFormat::Prometheus => return Err("it is a page to be scraped".to_owned()),
        })
    }
}

/// Creates the file of the lines; `None` for standard output.
fn open_file(path: Option<PathBuf>, run: &str) -> Result<Option<File>, String> {
    let path = path.unwrap_or_default();
    if path == Path::new("-") {
        return Ok(None);
    }
    let path = PathBuf::from(path.to_string_lossy().replace(RUN, run));
    if let Some(what) = describe_protected(&path) {
        return Err(format!("its `path` is {what}, which nothing may overwrite"));
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("its folder: {}", error.kind()))?;
    }
    let file = File::create(&path);
    file.map(Some)
        .map_err(|error| format!("its file cannot be written: {}", error.kind()))
}
