//! Sees what happens in a journey and tells it, step by step.

use super::curl::{self, Tls};
use super::secrets::{self, Vault};
use super::{Answer, Event, Exchange, Hop, Outcome, Problem, Step, body};
use crate::chain::{RequestBuf, RequestTarget};
use crate::engine::{self, Observer};
use crate::redact;
use crate::transport::{self, Failure, HopAnswer};
use http::{HeaderMap, Version};
use loadtest_model::definition::{Reads, ScenarioDef};
use std::time::Duration;

/// Sees what happens in a journey and tells it.
pub(crate) struct Watcher<'a> {
    definition: &'a ScenarioDef,
    /// What paths are joined to.
    base: String,
    tls: Tls,
    vault: Vault,
    /// The exchanges of the step that goes on. They are told at its end: only then is known what it took out
    /// of its answers as a secret.
    untold: Vec<Event>,
    tell: Box<dyn FnMut(Event) + 'a>,
    /// Whether a step failed, or was skipped for want of something.
    pub(crate) has_failed: bool,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(
        definition: &'a ScenarioDef,
        base: Option<&str>,
        tls: Tls,
        tell: impl FnMut(Event) + 'a,
    ) -> Self {
        Self {
            definition,
            base: base.unwrap_or_default().to_owned(),
            tls,
            vault: Vault::default(),
            untold: Vec::new(),
            tell: Box::new(tell),
            has_failed: false,
        }
    }

    /// Tells what the step did so far.
    fn tell_exchanges(&mut self) {
        self.untold.drain(..).for_each(&mut self.tell);
    }

    /// A request that never was on the wire, such as one for which no connection came about.
    fn unsent(&self, request: &RequestBuf) -> transport::Hop {
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
            version: Version::HTTP_11,
            headers,
            body: request.body.clone(),
            answer: None,
        }
    }

    fn hop(&mut self, step: usize, hop: &transport::Hop, is_sent: bool) -> Hop {
        let curl = curl::command(hop, &self.tls, &mut self.vault);
        let version = format!("{:?}", hop.version);
        Hop {
            method: hop.method.to_string(),
            url: redact::text(&hop.url).into_owned(),
            version: is_sent.then(|| version.trim_end_matches(".0").to_owned()),
            headers: headers(&hop.headers),
            body: body::shown(&hop.body, false),
            curl,
            answer: hop.answer.as_ref().map(|answer| self.answer(step, answer)),
        }
    }

    fn answer(&mut self, step: usize, answer: &HopAnswer) -> Answer {
        let name = secrets::word(&self.definition.steps[step].name);
        let place = format!("in the answer of {name}");
        for (name, value) in &answer.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            self.vault
                .remember(&secrets::header(name.as_str(), &value, false), &place);
        }
        if let Ok(text) = std::str::from_utf8(&answer.body) {
            self.vault.remember(&redact::parts(text), &place);
        }
        Answer {
            status: answer.status.to_string(),
            headers: headers(&answer.headers),
            body: body::shown(&answer.body, answer.is_cut),
        }
    }
}

/// What a step did that came to no end is told as well.
impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.tell_exchanges();
    }
}

impl Observer for Watcher<'_> {
    const RUNS_ALL: bool = false;
    const EXCHANGES: usize = usize::MAX;

    fn reads(&self, reads: Reads) -> Reads {
        // What is shown besides comes with the hops: the request is to be that of a run.
        reads
    }

    fn exchanged(&mut self, step: usize, request: &RequestBuf, exchange: &transport::Exchange) {
        let unsent = exchange.hops.is_empty().then(|| self.unsent(request));
        let hops = exchange.hops.iter().map(|hop| (hop, true));
        let hops = hops.chain(unsent.iter().map(|hop| (hop, false)));
        let exchange = Exchange {
            step,
            hops: hops
                .map(|(hop, is_sent)| self.hop(step, hop, is_sent))
                .collect(),
            service_time: exchange.service_time,
            phases: exchange.phases,
            problem: exchange.result.as_ref().err().map(problem),
        };
        self.untold.push(Event::Exchange(Box::new(exchange)));
    }

    fn ended(&mut self, step: usize, outcome: &engine::Outcome) {
        self.has_failed |= outcome.is_failure();
        self.tell_exchanges();
        let outcome = match outcome {
            engine::Outcome::Ok => Outcome::Ok,
            engine::Outcome::Failed(failure) => Outcome::Failed(problem(failure)),
            engine::Outcome::NotDrawn => Outcome::NotDrawn,
            engine::Outcome::LeftOut(skip) => Outcome::LeftOut(skip.example.clone()),
            engine::Outcome::Kept => Outcome::Kept,
            engine::Outcome::Skipped(skip) => Outcome::Skipped {
                reason: skip.words(),
                root: skip.cause.root,
                root_step: skip.cause.step,
            },
        };
        (self.tell)(Event::Step(Step { step, outcome }));
    }

    fn thinks(&mut self, step: usize, time: Duration) -> bool {
        (self.tell)(Event::Think { step, time });
        false
    }
}

fn problem(failure: &Failure) -> Problem {
    Problem {
        kind: failure.kind,
        message: redact::text(&failure.message).into_owned(),
    }
}

fn headers(all: &HeaderMap) -> Vec<(String, String)> {
    all.iter()
        .map(|(name, value)| {
            let text = String::from_utf8_lossy(value.as_bytes());
            let parts = secrets::header(name.as_str(), &text, value.is_sensitive());
            (name.to_string(), secrets::shown(&parts))
        })
        .collect()
}
