//! A sender that answers from a script: the engine's loop over a chain, without an engine.

use bytes::Bytes;
use loadtest::__private::{Chain, RequestBuf, SetupContext, Unmet};
use loadtest::{Scenario, Vu};
use loadtest_model::metrics::{Cause, RootCause};

/// What became of a step, or of a check.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// The step ran.
    Ok(&'static str),
    /// Its weight left it out.
    NotDrawn(&'static str),
    /// It could not run.
    Unmet(&'static str, Unmet),
    /// It ran and failed.
    Failed(&'static str, String),
    /// A check gave its verdict.
    Check(&'static str, Result<(), String>),
}

/// A request as it would be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Method and target.
    pub(crate) line: String,
    /// `name: value` in order.
    pub(crate) headers: Vec<String>,
    /// The body as text.
    pub(crate) body: String,
}

/// One virtual user of a scenario.
pub(crate) struct User {
    scenario: &'static Scenario,
    chain: Box<dyn Chain>,
    vu: Vu,
    buffer: RequestBuf,
    /// Everything that was sent.
    pub(crate) sent: Vec<Sent>,
}

impl User {
    /// A user of `scenario`, with its setups run.
    pub(crate) fn new(scenario: &'static Scenario) -> Self {
        let prepared = (scenario.prepare)(&SetupContext::default()).expect("the setups work");
        let mut vu = Vu::new(3, 1);
        Self {
            scenario,
            chain: (scenario.chain)(&prepared.shared, &mut vu),
            vu,
            buffer: RequestBuf::default(),
            sent: Vec::new(),
        }
    }

    /// One iteration; `None` from `send` is a failed request.
    pub(crate) fn iterate(
        &mut self,
        not_drawn: &[&str],
        mut send: impl FnMut(&str) -> Option<http::Response<Bytes>>,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        self.chain.begin(&mut self.vu);
        for (at, step) in self.scenario.definition.steps.iter().enumerate() {
            let name: &'static str = match &step.name {
                std::borrow::Cow::Borrowed(name) => name,
                std::borrow::Cow::Owned(_) => unreachable!("definitions are constants"),
            };
            if not_drawn.contains(&name) {
                let root = RootCause::NotDrawn;
                self.chain.skip(at, Cause { root, step: at });
                events.push(Event::NotDrawn(name));
                continue;
            }
            if let Err(unmet) = self.chain.build(at, &mut self.vu, &mut self.buffer) {
                self.chain.skip(at, cause(&unmet, at));
                events.push(Event::Unmet(name, unmet));
                continue;
            }
            let request = describe(&self.buffer);
            let answer = send(&request.line).ok_or("no answer".to_owned());
            self.sent.push(request);
            let finished = answer.and_then(|answer| {
                let finished = self.chain.finish(at, answer.into());
                finished.map_err(|error| error.to_string())
            });
            match finished {
                Ok(()) => events.push(Event::Ok(name)),
                Err(reason) => {
                    let root = RootCause::Failed;
                    self.chain.skip(at, Cause { root, step: at });
                    events.push(Event::Failed(name, reason));
                }
            }
            self.chain.check(at, &mut self.vu, &mut |name, verdict| {
                events.push(Event::Check(name, verdict));
            });
        }
        events
    }
}

fn cause(unmet: &Unmet, at: usize) -> Cause {
    let at_root = |root, step| Cause { root, step };
    match *unmet {
        Unmet::Upstream { cause, .. } | Unmet::Stopped { cause } => cause,
        Unmet::Missing { step, .. } => at_root(RootCause::Missing, step),
        Unmet::NotInFeed { .. } => at_root(RootCause::NotInFeed, at),
        Unmet::Expired { .. } => at_root(RootCause::Expired, at),
        Unmet::Declined { .. } => at_root(RootCause::Declined, at),
        Unmet::Invalid { .. } => at_root(RootCause::Invalid, at),
        Unmet::LeftOut { .. } => at_root(RootCause::LeftOut, at),
    }
}

pub(crate) fn describe(request: &RequestBuf) -> Sent {
    let request = http::Request::from(request);
    let headers = request.headers().iter();
    Sent {
        line: format!("{} {}", request.method(), request.uri()),
        headers: headers
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect(),
        body: String::from_utf8(request.body().to_vec()).expect("text"),
    }
}

/// A response of status 200.
#[expect(clippy::unnecessary_wraps, reason = "it is what a script returns")]
pub(crate) fn ok(body: &'static str) -> Option<http::Response<Bytes>> {
    Some(http::Response::new(body.into()))
}
