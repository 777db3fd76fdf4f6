//! A page to be scraped: `GET /metrics` in the text format of OpenMetrics or Prometheus, and `GET /-/healthy`.
//!
//! A scrape sees the last whole second. Nothing that a client sends is used but the path and the format it accepts.

use crate::export::openmetrics::{MetricsText, TextFormat};
use crate::telemetry::family::{FAMILIES, Family, FamilyKind};
use crate::telemetry::interval::{Interval, SeriesValue, Times};
use crate::telemetry::queue::DeliveryCounts;
use loadtest_model::display::format_counted;
use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest wait for a last scrape, unless the file says otherwise.
const LINGER: Duration = Duration::from_secs(10);
/// The most connections at a time.
const MOST_CONNECTIONS: usize = 8;
/// The longest wait for a client.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest head of a request.
const MOST_HEAD: u64 = 8 * 1_024;
const HEALTHY: &str = "healthy\n";

/// The page that scrapes see.
pub(in crate::telemetry) struct ScrapePage {
    address: SocketAddr,
    linger: Duration,
    state: Mutex<PageState>,
    connections: AtomicUsize,
}

#[derive(Debug, Default)]
struct PageState {
    /// The newest interval of each scenario.
    newest: BTreeMap<usize, Arc<Interval>>,
    scrapes: u64,
    /// Nothing more comes.
    is_closed: bool,
    /// The last figures were scraped.
    is_scraped: bool,
    /// No more connections are taken.
    is_over: bool,
}

impl ScrapePage {
    /// Creates the page of a listener, and serves it from a thread.
    ///
    /// # Errors
    /// When there is no thread.
    pub(in crate::telemetry) fn serve(
        listener: TcpListener,
        linger: Option<Duration>,
    ) -> io::Result<Arc<Self>> {
        let page = Arc::new(Self {
            address: listener.local_addr()?,
            linger: linger.unwrap_or(LINGER),
            state: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let served = Arc::clone(&page);
        let thread = std::thread::Builder::new().name("scrape".to_owned());
        thread.spawn(move || served.accept(&listener))?;
        Ok(page)
    }

    fn lock(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows an interval from now on.
    pub(in crate::telemetry) fn show(&self, interval: &Arc<Interval>) {
        let mut state = self.lock();
        state.newest.insert(interval.scenario, Arc::clone(interval));
    }

    /// Says that nothing more comes. Returns what is waited for.
    pub(in crate::telemetry) fn close(&self) -> Option<String> {
        let mut state = self.lock();
        state.is_closed = true;
        let waits = !self.linger.is_zero() && !state.newest.is_empty();
        waits.then(|| {
            format!(
                "waiting for a last scrape (at most {}; Ctrl-C ends it)",
                loadtest_console::units::show(self.linger)
            )
        })
    }

    /// Returns true once the last figures were scraped, or nobody wants them for so long.
    pub(in crate::telemetry) fn is_over(&self, waited: Duration) -> bool {
        let state = self.lock();
        state.newest.is_empty() || state.is_scraped || waited >= self.linger
    }

    /// Takes no more connections.
    pub(in crate::telemetry) fn stop(&self) {
        self.lock().is_over = true;
        // The listener waits for a connection.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }

    /// Returns what became of it, also in words.
    pub(in crate::telemetry) fn outcome(&self) -> (DeliveryCounts, String) {
        let state = self.lock();
        let counts = DeliveryCounts {
            offered: state.scrapes,
            delivered: state.scrapes,
            ..DeliveryCounts::default()
        };
        let scrapes = format_counted(state.scrapes, "scrape");
        let last = match (state.scrapes, state.is_scraped) {
            (0, _) => "",
            (_, true) => ", the last with the final figures",
            (_, false) => ", none with the final figures",
        };
        (counts, format!("{scrapes} answered{last}"))
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let connection = listener.accept();
            if self.lock().is_over {
                return;
            }
            let Ok((stream, _)) = connection else {
                continue;
            };
            if self.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
                self.connections.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let page = Arc::clone(self);
            let answer = move || {
                // A client that went away misses its answer.
                let _ = page.answer(stream);
                page.connections.fetch_sub(1, Ordering::SeqCst);
            };
            let thread = std::thread::Builder::new().name("scrape".to_owned());
            if thread.spawn(answer).is_err() {
                self.connections.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = read_head(&mut stream)?;
        let (status, content_type, body) = match parse_request(&head) {
            Some(("GET", "/metrics")) => {
                let (format, content_type) = choose_format(&head);
                let (intervals, is_last) = {
                    let state = self.lock();
                    let newest = state.newest.values();
                    (newest.cloned().collect::<Vec<_>>(), state.is_closed)
                };
                let text = encode_intervals(&intervals, format);
                write_answer(&mut stream, "200 OK", content_type, &text)?;
                let mut state = self.lock();
                state.scrapes += 1;
                state.is_scraped |= is_last;
                return Ok(());
            }
            Some(("GET", "/-/healthy")) => ("200 OK", "text/plain", HEALTHY),
            Some(("GET", _)) => (
                "404 Not Found",
                "text/plain",
                "the only page is `/metrics`\n",
            ),
            Some(_) => ("405 Method Not Allowed", "text/plain", "only GET\n"),
            None => ("400 Bad Request", "text/plain", "no HTTP\n"),
        };
        write_answer(&mut stream, status, content_type, body)
    }
}

fn write_answer(
    stream: &mut TcpStream,
    status: &str,
    content_type: &str,
    body: &str,
) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

/// Reads up to the empty line after the head.
fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut part = [0; 1_024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && (head.len() as u64) < MOST_HEAD {
        match stream.read(&mut part)? {
            0 => break,
            length => head.extend_from_slice(&part[..length]),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Returns method and path of a request.
fn parse_request(head: &str) -> Option<(&str, &str)> {
    let mut words = head.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let is_http = words.next()?.starts_with("HTTP/1.");
    let path = target.split('?').next().unwrap_or(target);
    (is_http && path.starts_with('/')).then_some((method, path))
}

/// Chooses the format by what a request accepts.
fn choose_format(head: &str) -> (TextFormat, &'static str) {
    let mut lines = head.lines().map(str::to_ascii_lowercase);
    let accepts =
        |line: String| line.starts_with("accept:") && line.contains("application/openmetrics-text");
    if lines.any(accepts) {
        let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        (TextFormat::OpenMetrics, content_type)
    } else {
        (
            TextFormat::Prometheus,
            "text/plain; version=0.0.4; charset=utf-8",
        )
    }
}

/// Returns the page of several scenarios.
pub(in crate::telemetry) fn encode_intervals(
    intervals: &[Arc<Interval>],
    format: TextFormat,
) -> String {
    let mut text = MetricsText::new(FAMILIES, format);
    for family in Family::all() {
        let found: Vec<_> = intervals
            .iter()
            .flat_map(|interval| {
                let families = interval.families.iter();
                let found = families.filter(|one| one.family == family);
                found.flat_map(move |one| one.series.iter().map(move |series| (interval, series)))
            })
            .collect();
        if found.is_empty() {
            continue;
        }
        let (name, _) = text.head(family.short_name());
        let series_name = family.series_name();
        for (interval, series) in found {
            match &series.value {
                SeriesValue::Counter { total, .. } => {
                    text.sample(&series_name, interval.labels(series), Some(*total));
                }
                SeriesValue::Gauge(value) => {
                    text.sample(&series_name, interval.labels(series), Some(*value));
                }
                SeriesValue::Histogram(times) => {
                    debug_assert_eq!(family.kind, FamilyKind::Histogram);
                    let bucket = format!("{name}_bucket");
                    for (number, (limit, count)) in times.all_buckets().enumerate() {
                        let labels = interval.labels(series).chain([("le", &*limit)]);
                        text.sample(&bucket, labels, Some(count as f64));
                        if let Some(exemplar) = times.exemplar(number) {
                            let (trace, span) =
                                (exemplar.trace.to_string(), exemplar.span.to_string());
                            let labels = [("trace_id", &*trace), ("span_id", &*span)];
                            let at = exemplar.at.as_microsecond() as f64 / 1e6;
                            text.exemplar(labels, exemplar.value, at);
                        }
                    }
                    text.sample(
                        &format!("{name}_count"),
                        interval.labels(series),
                        Some(times.count as f64),
                    );
                    text.sample(
                        &format!("{name}_sum"),
                        interval.labels(series),
                        Some(times.sum),
                    );
                }
            }
        }
    }
    text.finish()
}

impl Times {
    /// The classic buckets with their labels, that of all at the end.
    pub(in crate::telemetry) fn all_buckets(&self) -> impl Iterator<Item = (String, u64)> {
        let classic = self.classic.iter();
        let classic = classic.map(|(limit, count)| (format_boundary(*limit), *count));
        classic.chain([("+Inf".to_owned(), self.count)])
    }
}

/// A boundary as its label has it: `0.25`, `1.0`, `5e-05`.
fn format_boundary(limit: f64) -> String {
    let text = format!("{limit:?}");
    match text.split_once("e-") {
        Some((number, exponent)) if exponent.len() == 1 => format!("{number}e-0{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_or_refused() {
        assert_eq!(
            parse_request("GET /metrics?x=1 HTTP/1.1\r\n"),
            Some(("GET", "/metrics"))
        );
        assert_eq!(parse_request("POST / HTTP/1.0\r\n"), Some(("POST", "/")));
        for odd in [
            "",
            "GET",
            "GET /",
            "GET x HTTP/1.1",
            "\0\0\0",
            "GET / HTTP/2",
        ] {
            assert_eq!(parse_request(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_older_format_is_for_those_who_accept_nothing_else() {
        let format = |accept: &str| choose_format(&format!("GET / HTTP/1.1\r\n{accept}\r\n")).0;
        assert_eq!(format("Accept: */*"), TextFormat::Prometheus);
        let both = "accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
        assert_eq!(format(both), TextFormat::OpenMetrics);
    }

    #[test]
    fn boundaries_are_written_as_openmetrics_wants_them() {
        let written = [1.0, 0.0025, 50.0, 0.00005].map(format_boundary);
        assert_eq!(written, ["1.0", "0.0025", "50.0", "5e-05"]);
    }
}
