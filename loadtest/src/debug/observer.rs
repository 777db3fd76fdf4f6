//! Observes an iteration and reports it step by step.

use super::body;
use super::curl::{self, CurlTls};
use super::events;
use super::secret_names::{self, SecretNames};
use crate::chain::{RequestBuf, RequestTarget};
use crate::engine::{self, IterationObserver};
use crate::redact;
use crate::transport::{self, Failure, HopAnswer, TranscriptLine};
use http::{HeaderMap, HeaderName, HeaderValue, Version};
use loadtest_model::definition::{HttpVersion, Reads, ScenarioDef};
use loadtest_model::metrics::{ErrorKind, status_label};
use loadtest_model::protocol::{
    DebugAnswer, DebugCall, DebugEvent, DebugExchange, DebugHop, DebugOperation, DebugOutcome,
    DebugProblem, DebugStep, ShownMessage,
};
use loadtest_model::redacted::Redacted;
use std::time::Duration;
use tokio::time::Instant;

/// Observes an iteration and reports its events.
pub(crate) struct DebugObserver<'a> {
    definition: &'a ScenarioDef,
    /// The base URL that paths are joined to.
    base: String,
    tls: CurlTls,
    vault: SecretNames,
    /// The exchanges of the step that goes on. They are shown at its end: only then is it known what it took out
    /// of its answers as a secret.
    untold: Vec<DebugEvent>,
    /// The row of the next exchange.
    row: Option<String>,
    tell: Box<dyn FnMut(DebugEvent) + 'a>,
    /// The begin of the iteration.
    begin: Instant,
    /// True if a step failed, or was skipped for a missing dependency.
    pub(crate) has_failed: bool,
}

impl<'a> DebugObserver<'a> {
    pub(crate) fn new(
        definition: &'a ScenarioDef,
        base: Option<&str>,
        tls: CurlTls,
        tell: impl FnMut(DebugEvent) + 'a,
    ) -> Self {
        Self {
            definition,
            base: base.unwrap_or_default().to_owned(),
            tls,
            vault: SecretNames::default(),
            untold: Vec::new(),
            row: None,
            tell: Box::new(tell),
            begin: Instant::now(),
            has_failed: false,
        }
    }

    /// Tells what the step did so far.
    fn tell_exchanges(&mut self) {
        self.untold.drain(..).for_each(&mut self.tell);
    }

    /// A request that never was on the wire, such as one for which no connection came about.
    fn unsent(&self, step: usize, request: &RequestBuf) -> transport::Hop {
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            headers.append(name.clone(), value.clone());
        }
        transport::Hop {
            method: request.method.clone(),
            url: match &request.target {
                RequestTarget::Path(path) => format!("{}{path}", self.base),
                RequestTarget::Absolute(url) => url.to_string(),
            },
            version: match self.definition.client.http {
                _ if self.definition.steps[step].websocket.is_some() => Version::HTTP_11,
                HttpVersion::Http2 => Version::HTTP_2,
                HttpVersion::Http3 => Version::HTTP_3,
                HttpVersion::Http1 | HttpVersion::Negotiated => Version::HTTP_11,
            },
            headers,
            body: request.body.clone(),
            answer: None,
        }
    }

    fn hop(&mut self, step: usize, hop: &transport::Hop, is_sent: bool) -> DebugHop {
        let def = &self.definition.steps[step];
        let stays_open = def.stream.is_some() || def.websocket.is_some();
        let curl = curl::curl_command(hop, stays_open, &self.tls, &mut self.vault);
        let version = format!("{:?}", hop.version);
        DebugHop {
            method: hop.method.to_string(),
            url: redact::redact(&hop.url),
            version: is_sent.then(|| version.trim_end_matches(".0").to_owned()),
            headers: shown_headers(&hop.headers),
            body: body::shown_body(&hop.body, false),
            curl,
            answer: hop.answer.as_ref().map(|answer| self.answer(step, answer)),
        }
    }

    fn answer(&mut self, step: usize, answer: &HopAnswer) -> DebugAnswer {
        let name = secret_names::comment_word(&self.definition.steps[step].name);
        let place = format!("in the answer of {name}");
        for (name, value) in &answer.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            self.vault.remember_secrets(
                &secret_names::split_header(name.as_str(), &value, false),
                &place,
            );
        }
        if let Ok(text) = std::str::from_utf8(&answer.body) {
            self.vault
                .remember_secrets(&redact::split_secrets(text), &place);
        }
        DebugAnswer {
            status: answer.status.to_string(),
            headers: shown_headers(&answer.headers),
            body: body::shown_body(&answer.body, answer.is_cut),
        }
    }
}

/// Reports the exchanges of a step that was cut off.
impl Drop for DebugObserver<'_> {
    fn drop(&mut self) {
        self.tell_exchanges();
    }
}

impl IterationObserver for DebugObserver<'_> {
    const FORCES_ALL_STEPS: bool = false;
    const KEPT_EXCHANGES: usize = usize::MAX;
    const SHOWS_MESSAGES: bool = true;

    fn extend_reads(&self, reads: Reads) -> Reads {
        // What is shown besides comes with the hops: the request is to be that of a run.
        reads
    }

    fn on_row(&mut self, name: &str) {
        self.row = Some(name.to_owned());
    }

    fn on_exchange(&mut self, step: usize, request: &RequestBuf, exchange: &transport::Exchange) {
        let sent = exchange.hops.as_ref().map_or(&[][..], |hops| &hops.0);
        let unsent = sent.is_empty().then(|| self.unsent(step, request));
        let hops = sent.iter().map(|hop| (hop, true));
        let hops = hops.chain(unsent.iter().map(|hop| (hop, false)));
        let mut hops: Vec<_> = hops
            .map(|(hop, is_sent)| self.hop(step, hop, is_sent))
            .collect();
        let keeps_data = self.definition.steps[step].reads.body;
        let log = exchange.events.as_deref();
        let log = log.filter(|log| !log.events.is_empty());
        let stream = log.map(|log| events::shown_stream(log, keeps_data));
        // The body is shown event by event.
        let answer = hops.last_mut().and_then(|hop| hop.answer.as_mut());
        if let Some(answer) = answer.filter(|_| stream.is_some() && keeps_data) {
            answer.body = None;
        }
        let exchange = DebugExchange {
            step,
            row: self.row.take(),
            hops,
            stream,
            service_time: exchange.service_time,
            phases: exchange.phases,
            problem: exchange.result.as_ref().err().map(to_problem),
        };
        self.untold.push(DebugEvent::Exchange(Box::new(exchange)));
    }

    fn on_operation(&mut self, step: usize, name: &str, time: Duration, failure: Option<&Failure>) {
        let operation = DebugOperation {
            step,
            row: name.to_owned(),
            time,
            problem: failure.map(to_problem),
        };
        self.untold.push(DebugEvent::Operation(Box::new(operation)));
    }

    fn on_messages(&mut self, step: usize, messages: &[TranscriptLine]) {
        if !messages.is_empty() {
            let messages = events::shown_messages(step, self.begin, messages);
            self.untold.push(DebugEvent::Messages(messages));
        }
    }

    fn on_call(&mut self, step: usize, name: &str, call: &engine::EndedCall) {
        let shown = &call.shown;
        let received = shown.received.iter();
        let problem = call.failure.as_ref();
        let status = match (call.code, problem) {
            (Some(code), _) => Some(Redacted::assume(status_label(code))),
            (None, Some(failure)) if failure.kind == ErrorKind::GrpcStatus => {
                Some(redact::redact_message(&failure.message))
            }
            (None, _) => None,
        };
        let call = DebugCall {
            step,
            row: name.to_owned(),
            url: redact::redact(&call.url),
            metadata: shown_metadata(&shown.metadata),
            sent: shown.sent.clone(),
            answer: (shown.head.as_ref()).map(|(_, headers)| shown_metadata(headers)),
            received: received
                .map(|&(at, bytes)| ShownMessage { at, bytes })
                .collect(),
            messages: call.messages,
            trailers: (shown.trailers.as_ref()).map_or_else(Vec::new, shown_metadata),
            status,
            time: call.time,
            phases: call.phases,
            problem: problem.map(to_problem),
        };
        self.untold.push(DebugEvent::Call(Box::new(call)));
    }

    fn on_step_end(&mut self, step: usize, outcome: &engine::StepOutcome) {
        self.has_failed |= outcome.is_failure();
        self.tell_exchanges();
        let outcome = match outcome {
            engine::StepOutcome::Ok => DebugOutcome::Ok,
            engine::StepOutcome::Failed(failure) => DebugOutcome::Failed(to_problem(failure)),
            engine::StepOutcome::NotDrawn => DebugOutcome::NotDrawn,
            engine::StepOutcome::LeftOut(skip) => DebugOutcome::LeftOut(skip.example.clone()),
            engine::StepOutcome::AlreadyRun => DebugOutcome::Kept,
            engine::StepOutcome::Skipped(skip) => DebugOutcome::Skipped {
                reason: skip.describe(),
                root: skip.cause.root,
                root_step: skip.cause.step,
            },
        };
        (self.tell)(DebugEvent::Step(DebugStep { step, outcome }));
    }

    fn on_think(&mut self, step: usize, time: Duration) -> bool {
        (self.tell)(DebugEvent::Think { step, time });
        false
    }
}

fn to_problem(failure: &Failure) -> DebugProblem {
    DebugProblem {
        kind: failure.kind,
        message: redact::redact_message(&failure.message),
    }
}

fn shown_headers(all: &HeaderMap) -> Vec<(String, String)> {
    all.iter()
        .map(|(name, value)| shown_header(name, value, value.is_sensitive()))
        .collect()
}

/// The same of gRPC metadata, of which binary values are never shown.
fn shown_metadata(all: &HeaderMap) -> Vec<(String, String)> {
    all.iter()
        .map(|(name, value)| {
            let is_binary = name.as_str().ends_with("-bin");
            shown_header(name, value, is_binary || value.is_sensitive())
        })
        .collect()
}

fn shown_header(name: &HeaderName, value: &HeaderValue, is_sensitive: bool) -> (String, String) {
    let text = String::from_utf8_lossy(value.as_bytes());
    let parts = secret_names::split_header(name.as_str(), &text, is_sensitive);
    (name.to_string(), secret_names::join_shown(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_credentials_nor_binary_values_of_metadata_are_shown() {
        let mut all = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer hunter2"),
            ("x-api-key", "hunter2"),
            ("trace-bin", "aHVudGVyMg"),
            ("x-region", "eu"),
        ] {
            all.insert(name, HeaderValue::from_static(value));
        }
        let mut marked = HeaderValue::from_static("hunter2");
        marked.set_sensitive(true);
        all.insert("x-note", marked);
        let shown = shown_metadata(&all);
        let shown: Vec<_> = shown
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        assert_eq!(
            shown,
            [
                ("authorization", "Bearer [redacted]"),
                ("x-api-key", "[redacted]"),
                ("trace-bin", "[redacted]"),
                ("x-region", "eu"),
                ("x-note", "[redacted]"),
            ]
        );
    }
}
