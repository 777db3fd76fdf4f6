//! A source of figures: what is asked of it, one question at a time, and what its answers are worth.

use super::page::{ScrapedSample, select_samples};
use super::prometheus::{LONGEST_RANGE, parse_range, range_url};
use super::series::SeriesHead;
use crate::access::AccessHeaders;
use crate::config::{FigureConfig, MOST_GROUPS, MetricConfig};
use crate::post::{build_agent, fetch_page};
use jiff::fmt::rfc2822;
use loadtest::redact;
use loadtest_console::console;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq::Agent;
use ureq::http::header::DATE;
use url::Url;

/// The time that a source may take for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// The most bytes of an answer.
const MOST_BYTES: u64 = 8 * 1_024 * 1_024;
/// Values of Prometheus that are younger may still change.
pub(super) const SETTLING: Duration = Duration::from_secs(2);
/// The time between two values of Prometheus.
const STEP: Duration = Duration::from_secs(1);
/// The time before a run from which a value is enough to know that there is one.
const CHECKED: Duration = Duration::from_secs(60);
/// Clocks that differ by more are told and corrected.
const CLOCK_TOLERANCE: f64 = 2.0;
/// The most letters of a label that are shown.
const LABEL_LENGTH: usize = 40;
/// Names what is beyond the most groups.
const OTHERS: &str = "(others)";

/// A source of the configuration, ready to be asked.
pub(super) struct Source {
    pub(super) name: String,
    /// Scheme, host and port.
    pub(super) place: String,
    pub(super) question: Question,
    pub(super) figures: Vec<FigureConfig>,
    pub(super) interval: Duration,
    pub(super) headers: AccessHeaders,
}

/// What a source is asked.
pub(super) enum Question {
    Page(Url),
    Range { server: Url, query: String },
}

/// A value of a figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    /// The number of the figure.
    pub(super) figure: usize,
    /// The value of the label that tells its series apart.
    pub(super) group: Option<String>,
    pub(super) time: SystemTime,
    /// The time before it that a rate is about.
    pub(super) span: Duration,
    pub(super) value: f64,
}

/// A source that is being asked.
pub(super) struct Asking<'a> {
    source: &'a Source,
    agent: Agent,
    /// The groups of each figure that have a series of their own.
    groups: Vec<Vec<String>>,
    /// Counters at the last reading of each figure.
    counters: Vec<Option<Counters>>,
    /// The first second, by the clock of the source, that it was not asked about.
    next: Option<u64>,
    /// By how many seconds its clock is ahead.
    clock_offset: f64,
    news: Vec<String>,
}

/// The counters of a figure at a time.
struct Counters {
    at: SystemTime,
    values: BTreeMap<String, f64>,
}

impl Source {
    /// Asks once whether the source answers. Returns what is odd about the answer, if anything is.
    ///
    /// # Errors
    /// The reason why there is no answer that can be used.
    pub(super) fn check(&self, now: SystemTime) -> Result<Option<String>, String> {
        let mut asking = self.begin();
        let names = match &self.question {
            Question::Page(url) => {
                let (page, _) = asking.fetch(url, "text/plain")?;
                let metrics = self.metrics();
                let selected = select_samples(&page, &metrics).map_err(|why| self.hide(&why))?;
                let missing = metrics.iter().zip(&selected);
                let missing = missing.filter(|(_, samples)| samples.is_empty());
                let missing = missing.map(|(metric, _)| format!("`{}`", metric.family));
                missing.collect::<Vec<_>>()
            }
            Question::Range { .. } => {
                asking.start_from(now - CHECKED);
                // What may still change is a value, too, and so is one of the second that goes on.
                let latest = now + SETTLING + Duration::from_secs(1);
                let mut readings = asking.ask_range(latest)?;
                if asking.clock_offset != 0.0 {
                    readings = asking.ask_range(latest)?;
                }
                let missing = readings.is_empty().then(|| "its query".to_owned());
                missing.into_iter().collect()
            }
        };
        let odd =
            (!names.is_empty()).then(|| format!("there is no value of {} yet", names.join(", ")));
        Ok(odd)
    }

    pub(super) fn begin(&self) -> Asking<'_> {
        let url = match &self.question {
            Question::Page(url) | Question::Range { server: url, .. } => url,
        };
        Asking {
            source: self,
            agent: build_agent(url, PATIENCE),
            groups: vec![Vec::new(); self.figures.len()],
            counters: self.figures.iter().map(|_| None).collect(),
            next: None,
            clock_offset: 0.0,
            news: Vec::new(),
        }
    }

    /// Returns what is known of the series of a figure that has this name.
    pub(super) fn head<'a>(&'a self, figure: &'a FigureConfig, name: &'a str) -> SeriesHead<'a> {
        let seconds = u32::try_from(self.interval.as_secs()).unwrap_or(1);
        SeriesHead {
            name,
            unit: &figure.unit,
            source: &self.place,
            limit: figure.limit.as_ref(),
            is_per_request: figure.is_per_request,
            // A range has a point a second, however seldom it is asked for.
            width: if self.comes_late() { 1 } else { seconds },
        }
    }

    /// Returns true if it is the source of a series.
    pub(super) fn has_series(&self, name: &str) -> bool {
        self.figures.iter().any(|figure| figure.has_series(name))
    }

    /// Returns true if a limit is about it.
    pub(super) fn has_limit(&self) -> bool {
        self.figures.iter().any(|figure| figure.limit.is_some())
    }

    /// Returns true if it is asked once more at the end, for what came late.
    pub(super) fn comes_late(&self) -> bool {
        matches!(self.question, Question::Range { .. })
    }

    fn metrics(&self) -> Vec<&MetricConfig> {
        let figures = self.figures.iter();
        figures
            .filter_map(|figure| figure.metric.as_ref())
            .collect()
    }

    fn hide(&self, why: &str) -> String {
        console::clean(&self.headers.hide(why))
    }
}

impl Asking<'_> {
    /// Asks for what is new.
    ///
    /// # Errors
    /// The reason why there is no answer that can be used.
    pub(super) fn ask(&mut self, now: SystemTime) -> Result<Vec<Reading>, String> {
        match &self.source.question {
            Question::Page(url) => {
                let (page, _) = self.fetch(url, "text/plain")?;
                let metrics = self.source.metrics();
                let selected = select_samples(&page, &metrics)?;
                let selected = selected.into_iter().enumerate();
                let readings = selected.map(|(at, samples)| self.read_figure(at, &samples, now));
                Ok(readings.collect::<Vec<_>>().concat())
            }
            Question::Range { .. } => self.ask_range(now),
        }
    }

    /// Returns what has to be told of it.
    pub(super) fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Names the first second that a range is about.
    pub(super) fn start_from(&mut self, time: SystemTime) {
        self.next = Some(seconds_of(time));
    }

    /// Reads a figure of the samples of a page.
    pub(super) fn read_figure(
        &mut self,
        at: usize,
        samples: &[ScrapedSample<'_>],
        now: SystemTime,
    ) -> Vec<Reading> {
        let figure = &self.source.figures[at];
        let by = figure.by.as_deref();
        let is_rate = figure.metric.as_ref().is_some_and(|metric| metric.is_rate);
        let before = is_rate.then(|| {
            let values = samples.iter();
            let values = values.map(|sample| (sample.series.to_owned(), sample.value));
            self.counters[at].replace(Counters {
                at: now,
                values: values.collect(),
            })
        });
        let span = match &before {
            Some(Some(before)) => now.duration_since(before.at).unwrap_or_default(),
            _ => Duration::ZERO,
        };
        let values = samples.iter().filter_map(|sample| {
            let value = match &before {
                None => sample.value,
                // A rate needs two readings.
                Some(before) => before.as_ref()?.rate_of(sample, span)?,
            };
            let group = by.map(|by| sample.label(by).to_owned());
            Some((group, now, value))
        });
        let values = values.collect();
        self.add_up(at, span, values)
    }

    fn ask_range(&mut self, now: SystemTime) -> Result<Vec<Reading>, String> {
        let Question::Range { server, query } = &self.source.question else {
            return Ok(Vec::new());
        };
        let settled = seconds_of(now - SETTLING) as f64 + self.clock_offset;
        let until = settled.max(0.0) as u64;
        let from = self
            .next
            .unwrap_or(until)
            .max(until.saturating_sub(LONGEST_RANGE));
        if from > until {
            return Ok(Vec::new());
        }
        let url = range_url(server, query, from, until);
        let (text, offset) = self.fetch(&url, "application/json")?;
        let series = parse_range(&text)?;
        let by = self
            .source
            .figures
            .first()
            .and_then(|figure| figure.by.as_deref());
        if by.is_none() && series.len() > 1 {
            return Err(format!(
                "its query has {} series; write `sum(..)` around it, or `by = \"instance\"` for a series of each",
                series.len()
            ));
        }
        self.next = Some(until + 1);
        let values = series.iter().flat_map(|series| {
            let group = by.map(|by| series.labels.get(by).cloned().unwrap_or_default());
            let times = series.values.iter().filter_map(|(time, value)| {
                let time = Duration::try_from_secs_f64(time - self.clock_offset).ok()?;
                Some((group.clone(), UNIX_EPOCH + time, *value))
            });
            times.collect::<Vec<_>>()
        });
        let mut values: Vec<_> = values.collect();
        values.sort_by_key(|(_, time, _)| *time);
        let readings = self.add_up(0, STEP, values);
        // What was asked by a wrong clock is asked again by a better one.
        if (offset - self.clock_offset).abs() > CLOCK_TOLERANCE {
            let turned = from as f64 - self.clock_offset + offset;
            self.clock_offset = offset;
            let way = if offset > 0.0 { "fast" } else { "slow" };
            self.news.push(format!(
                "its clock is {} s {way}; its times are corrected by that",
                offset.abs()
            ));
            self.next = Some(turned.max(0.0) as u64);
            return Ok(Vec::new());
        }
        Ok(readings)
    }

    /// Adds up the values of a group at a time; what is beyond the most groups is one.
    fn add_up(
        &mut self,
        figure: usize,
        span: Duration,
        values: Vec<(Option<String>, SystemTime, f64)>,
    ) -> Vec<Reading> {
        let groups = &mut self.groups[figure];
        let mut readings: Vec<Reading> = Vec::new();
        for (group, time, value) in values {
            let group = group.map(|group| {
                let group = clean_label(&group);
                if !groups.contains(&group) {
                    if groups.len() >= MOST_GROUPS {
                        return OTHERS.to_owned();
                    }
                    groups.push(group.clone());
                }
                group
            });
            // They come in the order of time.
            let start = readings.partition_point(|known| known.time < time);
            let mut at_once = readings[start..].iter_mut();
            if let Some(known) = at_once.find(|known| known.group == group) {
                known.value += value;
            } else {
                readings.push(Reading {
                    figure,
                    group,
                    time,
                    span,
                    value,
                });
            }
        }
        readings
    }

    /// Returns the text at a URL, and by how many seconds its clock is ahead.
    fn fetch(&self, url: &Url, accepted: &str) -> Result<(String, f64), String> {
        let mut headers = self.source.headers.headers.clone();
        headers.push(("accept".to_owned(), accepted.to_owned()));
        let hide = |why: String| self.source.hide(&why);
        let mut response = fetch_page(&self.agent, url, &headers).map_err(hide)?;
        let date = response
            .headers()
            .get(DATE)
            .and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| rfc2822::parse(date).ok());
        let offset = date.map_or(0.0, |date| {
            date.timestamp().as_second() as f64 - seconds_of(super::now()) as f64
        });
        let mut bytes = Vec::new();
        let reader = response.body_mut().as_reader();
        let read = reader.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        if bytes.len() as u64 > MOST_BYTES {
            return Err(format!(
                "its answer is longer than {} MiB",
                MOST_BYTES >> 20
            ));
        }
        read.map_err(|error| match error.kind() {
            std::io::ErrorKind::TimedOut => "no answer in time".to_owned(),
            kind => format!("its answer broke off: {kind}"),
        })?;
        let text = String::from_utf8(bytes).map_err(|_| "its answer is not text")?;
        Ok((text, offset))
    }
}

impl Counters {
    /// Returns by how much a counter grew a second; one that is new has no rate yet.
    fn rate_of(&self, sample: &ScrapedSample<'_>, span: Duration) -> Option<f64> {
        let before = self.values.get(sample.series)?;
        let seconds = span.as_secs_f64();
        // A counter that fell was set back to zero meanwhile.
        let growth = if sample.value < *before {
            sample.value
        } else {
            sample.value - before
        };
        (seconds > 0.0).then(|| growth / seconds)
    }
}

/// A label as it may be shown.
fn clean_label(text: &str) -> String {
    let text = console::clean(&redact::redact(text));
    text.chars().take(LABEL_LENGTH).collect()
}

fn seconds_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
