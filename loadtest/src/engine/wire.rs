//! A step that sends for itself: its requests go over the transport of its user and are written down
//! here, so that the step is one sample and each name of its requests a row.

use super::desk::Desk;
use crate::chain::{Error, Fault, HttpError, Local, RawResponse, RequestBuf, RequestTarget, Wire};
use crate::definition::{Expect, Reads, StatusRange, StepDef};
use crate::metrics::StepTally;
use crate::redact;
use crate::transport::{Call, ErrorKind, Exchange, Failure, Phases, Received, Transport};
use http::StatusCode;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// No status is a failure: the step looks at it.
static ANY_STATUS: Expect = Expect(Cow::Borrowed(&[StatusRange { from: 100, to: 999 }]));

/// The most exchanges that are kept to be shown.
const MOST_SHOWN: usize = 50;

/// The longest name of a row.
const LONGEST_NAME: usize = 100;

/// What a user lends to a step that sends for itself.
pub(super) struct Line<T> {
    transport: T,
    desk: Rc<Desk>,
    timeout: Duration,
    redirects: u32,
    pub(super) log: Log,
}

/// What such a step sent.
#[derive(Default)]
pub(super) struct Log {
    /// When the first request was ready to be sent.
    first: Option<Instant>,
    /// When the last one was answered, or was not.
    last: Option<Instant>,
    /// Pauses between these two.
    paused: Duration,
    /// Pauses since the last request.
    pausing: Duration,
    /// All pauses.
    pub(super) rested: Duration,
    requests: u32,
    retries: u32,
    sent_bytes: u64,
    received_bytes: u64,
    phases: Phases,
    rows: Vec<String>,
    ended: Vec<Ended>,
    /// Why the last request was not answered.
    failure: Option<Failure>,
    /// Whether exchanges are kept to be shown; the last ones are.
    keeps: bool,
    pub(super) exchanges: VecDeque<(RequestBuf, Exchange)>,
}

/// A request that was answered, or was not.
struct Ended {
    row: usize,
    time: Duration,
    result: Result<StatusCode, (ErrorKind, String)>,
}

/// A request on its way. One that the step drops is counted as well.
struct Open<'a> {
    log: &'a mut Log,
    row: usize,
    start: Instant,
    is_closed: bool,
}

/// A pause; one that the step drops is none of its latency either.
struct Pause<'a> {
    log: &'a mut Log,
    start: Instant,
}

impl<T: Transport> Line<T> {
    pub(super) fn new(transport: T, desk: Rc<Desk>, def: &StepDef, keeps: bool) -> Self {
        Self {
            transport,
            desk,
            timeout: def.timeout,
            redirects: def.redirects,
            log: Log {
                keeps,
                ..Log::default()
            },
        }
    }

    /// The transport, and what was sent over it.
    pub(super) fn into_parts(self) -> (T, Log) {
        (self.transport, self.log)
    }
}

impl<T: Transport> Wire for Line<T> {
    fn base_url(&self) -> Option<&str> {
        self.transport.base_url()
    }

    fn send<'a>(
        &'a mut self,
        request: &'a RequestBuf,
        name: Option<&'a str>,
    ) -> Local<'a, Result<RawResponse, HttpError>> {
        Box::pin(async move {
            let open = self.log.open(request, name);
            let call = Call {
                request,
                expect: &ANY_STATUS,
                reads: Reads {
                    body: true,
                    headers: true,
                },
                timeout: request.timeout.unwrap_or(self.timeout),
                redirects: self.redirects,
            };
            let exchange = self.transport.send(call).await;
            open.close(request, exchange)
        })
    }

    fn pause(&mut self, time: Duration) -> Local<'_, ()> {
        Box::pin(async move {
            let _pause = Pause {
                log: &mut self.log,
                start: Instant::now(),
            };
            // Those that begin later last, or a step that polls would ask without end.
            if self.desk.is_running() {
                self.desk.pause(time).await;
            } else {
                tokio::time::sleep(time).await;
            }
        })
    }
}

impl Log {
    fn open(&mut self, request: &RequestBuf, name: Option<&str>) -> Open<'_> {
        let name = name.map_or_else(|| row_name(request), shown);
        let row = self.rows.iter().position(|row| *row == name);
        let row = row.unwrap_or_else(|| {
            self.rows.push(name);
            self.rows.len() - 1
        });
        let start = Instant::now();
        let pausing = std::mem::take(&mut self.pausing);
        if self.first.is_some() {
            self.paused += pausing;
        }
        self.first.get_or_insert(start);
        self.failure = None;
        Open {
            log: self,
            row,
            start,
            is_closed: false,
        }
    }

    /// From the first request to the end of the last one, less the pauses between them; `None` where
    /// the step sent nothing.
    pub(super) fn service(&self) -> Option<Duration> {
        let (first, last) = (self.first?, self.last?);
        Some((last - first).saturating_sub(self.paused))
    }

    /// Counts what was sent and received, and each request in the row of its name.
    pub(super) fn tally(&self, tally: &mut StepTally) {
        tally.requests += u64::from(self.requests);
        tally.retries += u64::from(self.retries);
        tally.sent_bytes += self.sent_bytes;
        tally.received_bytes += self.received_bytes;
        tally.phases.record(&self.phases);
        for ended in &self.ended {
            if let Ok(status) = &ended.result {
                *tally.statuses.entry(status.as_u16()).or_default() += 1;
            }
            let row = tally.inner(&self.rows[ended.row]);
            match &ended.result {
                Ok(status) => row.answered(status.as_u16(), ended.time),
                Err((kind, message)) => row.unanswered(*kind, message, ended.time),
            }
        }
    }

    /// How a step failed that returned `error`: as its last request did, if that was not answered.
    pub(super) fn failure(&mut self, error: &Error) -> Failure {
        let words = error.to_string();
        let fault = error.fault();
        if fault == Fault::Unsent {
            return Failure::new(ErrorKind::StepError, words);
        }
        if let Some(mut failure) = self.failure.take() {
            if !words.contains(&failure.message) {
                failure.message = format!("{words} ({})", failure.message);
            }
            return failure;
        }
        match fault {
            Fault::Undecodable(reason) => Failure::new(ErrorKind::BodyDecode, reason),
            Fault::Status(status) => Failure {
                status: Some(status),
                ..Failure::new(ErrorKind::Status, words)
            },
            Fault::Unsent | Fault::Other => Failure::new(ErrorKind::StepError, words),
        }
    }
}

impl Open<'_> {
    fn close(mut self, request: &RequestBuf, exchange: Exchange) -> Result<RawResponse, HttpError> {
        self.is_closed = true;
        let log = &mut *self.log;
        log.last = Some(Instant::now());
        log.requests += exchange.requests;
        log.retries += exchange.requests.saturating_sub(1);
        log.sent_bytes += exchange.sent_bytes;
        log.received_bytes += exchange.received_bytes;
        let (sum, more) = (&mut log.phases, exchange.phases);
        for (sum, more) in [
            (&mut sum.connect, more.connect),
            (&mut sum.tls, more.tls),
            (&mut sum.first_byte, more.first_byte),
            (&mut sum.body, more.body),
        ] {
            if let Some(more) = more {
                *sum.get_or_insert_default() += more;
            }
        }
        log.ended.push(Ended {
            row: self.row,
            time: exchange.service_time,
            result: match &exchange.result {
                Ok(received) => Ok(received.status),
                Err(failure) => Err((failure.kind, failure.message.clone())),
            },
        });
        let answer = match &exchange.result {
            Ok(Received {
                status,
                headers,
                body,
            }) => Ok(RawResponse {
                status: *status,
                headers: headers.clone(),
                body: body.clone(),
            }),
            Err(failure) => Err(HttpError::new(failure.kind.name(), failure.message.clone())),
        };
        log.failure = exchange.result.as_ref().err().cloned();
        if log.keeps {
            if log.exchanges.len() == MOST_SHOWN {
                log.exchanges.pop_front();
            }
            let request = RequestBuf {
                method: request.method.clone(),
                target: request.target.clone(),
                headers: request.headers.clone(),
                body: request.body.clone(),
                timeout: request.timeout,
                ..RequestBuf::default()
            };
            log.exchanges.push_back((request, exchange));
        }
        answer
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        let now = Instant::now();
        self.log.last = Some(now);
        self.log.requests += 1;
        self.log.ended.push(Ended {
            row: self.row,
            time: now - self.start,
            result: Err((
                ErrorKind::StepError,
                "the step gave it up before it was answered".to_owned(),
            )),
        });
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let time = self.start.elapsed();
        self.log.pausing += time;
        self.log.rested += time;
    }
}

/// Method and path; `{}` stands for a segment that looks like an id. The query is left out: it may
/// hold anything.
fn row_name(request: &RequestBuf) -> String {
    let (origin, path) = match &request.target {
        RequestTarget::Path(path) => (String::new(), path.path()),
        RequestTarget::Absolute(url) => {
            let host = url.host().unwrap_or_default();
            let port = url.port().map(|port| format!(":{port}"));
            (format!("{host}{}", port.unwrap_or_default()), url.path())
        }
    };
    let path: Vec<&str> = path
        .split('/')
        .map(|segment| if is_id(segment) { "{}" } else { segment })
        .collect();
    shown(&format!("{} {origin}{}", request.method, path.join("/")))
}

/// Whether a segment holds a digit and is no version, like `v1`.
fn is_id(segment: &str) -> bool {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = segment
        .strip_prefix('v')
        .is_some_and(|number| number.len() <= 2 && is_digits(number));
    !is_version && segment.bytes().any(|byte| byte.is_ascii_digit())
}

/// A name as it may be shown.
fn shown(name: &str) -> String {
    let name = redact::text(name);
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(url: &str) -> String {
        let mut request = RequestBuf::default();
        request.url(url).unwrap();
        row_name(&request)
    }

    #[test]
    fn ids_and_queries_are_no_part_of_a_name() {
        for (url, name) in [
            ("/orders/17", "GET /orders/{}"),
            ("/v1/orders/a7f3/lines?token=x", "GET /v1/orders/{}/lines"),
            ("/", "GET /"),
            ("/value1/v/v123", "GET /{}/v/{}"),
            ("http://127.0.0.1:81/a/1?b", "GET 127.0.0.1:81/a/{}"),
            ("http://user:pass@127.0.0.1/a", "GET 127.0.0.1/a"),
        ] {
            assert_eq!(named(url), name);
        }
        assert_eq!(named(&format!("/{}", "a".repeat(200))).chars().count(), 101);
    }
}
