//! Webhooks: who is told that a run started, finished, or failed its gate.
//!
//! No run waits for them but for a few seconds at its end, and none comes to anything else for them. A URL
//! may be a secret: only its scheme and host are ever shown.

mod deliveries;
mod job;
mod outbox;
mod payload;
mod slack;
#[cfg(test)]
mod tests;

use crate::config::{Event, Notify, NotifyFormat, destination};
use crate::post::PostRequest;
use crate::store::{self, MeasuredRun};
use deliveries::DeliveryOutcome;
#[cfg(any(test, feature = "ui"))]
pub(crate) use deliveries::read_deliveries;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_console::{console, process};
use loadtest_model::exit_code::ExitCode;
use outbox::Outbox;
use payload::{Ended, Payload};
pub(crate) use payload::{Planned, Run};
use ring::hmac;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::time::Duration;
use url::Url;

/// The end of a run waits so long for deliveries under way.
const WAIT: Duration = Duration::from_secs(5);

/// The webhooks of `loadtest.toml`, with their keys.
pub(crate) struct Webhooks(Vec<Webhook>);

struct Webhook {
    url: Url,
    events: Vec<Event>,
    format: NotifyFormat,
    key: Option<hmac::Key>,
}

/// The webhooks of a run, who know of its start.
pub(crate) struct Told {
    webhooks: Vec<Webhook>,
    run: Run,
    outbox: Outbox,
    /// By number of delivery: to which webhook, of what.
    posted: Vec<(usize, Event)>,
}

impl Webhooks {
    /// Reads the keys.
    ///
    /// # Errors
    /// Every variable that holds none.
    pub(crate) fn from_config(configured: &[Notify]) -> Result<Self, Error> {
        let variable = process::variable;
        let webhooks: Vec<_> = (1..)
            .zip(configured)
            .map(|(number, notify)| Webhook::new(number, notify, variable))
            .collect();
        let mistakes: Vec<_> = webhooks
            .iter()
            .filter_map(|webhook| webhook.as_ref().err())
            .flatten()
            .cloned()
            .collect();
        if mistakes.is_empty() {
            Ok(Self(webhooks.into_iter().flatten().collect()))
        } else {
            Err(Error::usage(mistakes.join("\n")).with_help(
                "put it into the environment of the run, or change `[[notify]]` in `loadtest.toml`",
            ))
        }
    }

    /// Tells that a run begins, and goes on at once.
    pub(crate) fn started(self, run: Run) -> Told {
        let mut told = Told {
            webhooks: self.0,
            run,
            outbox: Outbox::new(),
            posted: Vec::new(),
        };
        let run = told.run.clone();
        told.post(&Payload::started(&run, store::now()));
        told
    }
}

impl Webhook {
    fn new(
        number: usize,
        notify: &Notify,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<String>> {
        let key = match &notify.secret_env {
            None => Ok(None),
            Some(name) => match variable(name).filter(|key| !key.is_empty()) {
                Some(key) => Ok(Some(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()))),
                None => Err(format!(
                    "webhook {number}: its `secret_env` names the variable `{name}`, which holds no key"
                )),
            },
        };
        let url = match notify.url_variable() {
            None => destination(&notify.url),
            Some(name) => match variable(name).filter(|url| !url.is_empty()) {
                Some(url) => destination(url.trim())
                    .map_err(|mistake| format!("names the variable `{name}`, which {mistake}")),
                None => Err(format!("names the variable `{name}`, which holds nothing")),
            },
        };
        let url = url.map_err(|mistake| format!("webhook {number}: its `url` {mistake}"));
        match (url, key) {
            (Ok(url), Ok(key)) => Ok(Self {
                url,
                events: notify.events.clone(),
                format: notify.format,
                key,
            }),
            (url, key) => Err(url.err().into_iter().chain(key.err()).collect()),
        }
    }

    /// Returns the part of the URL that may be shown: scheme, host and port.
    fn place(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    fn letter(&self, payload: &Payload<'_>) -> PostRequest {
        let body = match self.format {
            NotifyFormat::Json => serde_json::to_vec(payload),
            NotifyFormat::Slack => serde_json::to_vec(&slack::slack_message(payload)),
        };
        let body = body.expect("an event has no maps with odd keys");
        let mut headers = vec![
            ("loadtest-event".to_owned(), payload.event.word().to_owned()),
            ("loadtest-delivery".to_owned(), payload.id.clone()),
        ];
        if let Some(key) = &self.key {
            headers.push(("x-hub-signature-256".to_owned(), signature(key, &body)));
        }
        PostRequest {
            url: self.url.clone(),
            content_type: "application/json",
            headers,
            body,
        }
    }
}

/// The signature of a body, as GitHub writes those of its own webhooks.
fn signature(key: &hmac::Key, body: &[u8]) -> String {
    let mut text = "sha256=".to_owned();
    for byte in hmac::sign(key, body).as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

impl Told {
    /// Tells what the run came to, waits for a few seconds at most, and says what was not delivered. The page
    /// of its report is at `page` in the folder of the run, the source of the workspace in `root`.
    pub(crate) fn ended(
        mut self,
        result: MeasuredRun<'_>,
        concluded: &Result<ExitCode, Error>,
        page: &Path,
        root: &Path,
        interrupts: &Interrupts,
    ) {
        if self.webhooks.is_empty() {
            return;
        }
        let exit_code = match concluded {
            Ok(code) => *code,
            Err(error) => error.exit_code(),
        };
        let report = result.grade();
        let folder = page.parent().unwrap_or(root);
        let page = page.exists().then(|| {
            let below = page.strip_prefix(root).unwrap_or(page);
            below.display().to_string()
        });
        let run = self.run.clone();
        let ended = Ended::new(exit_code, page);
        let mut payload = Payload::ended(&run, store::now(), &report, ended);
        self.post(&payload);
        if payload::gate_failed(&report) {
            payload.event = Event::GateFailed;
            self.post(&payload);
        }
        self.outbox.wait(WAIT, interrupts);
        if folder.is_dir() {
            deliveries::write(folder, &self.describe_deliveries());
        }
        for line in self.undelivered() {
            console::print_warning(line);
        }
    }

    fn post(&mut self, payload: &Payload<'_>) {
        for (number, webhook) in self.webhooks.iter().enumerate() {
            if webhook.events.contains(&payload.event) {
                let mut payload = payload.clone();
                payload.id = identifier();
                self.outbox.post(webhook.letter(&payload));
                self.posted.push((number, payload.event));
            }
        }
    }

    /// Returns the outcome of every message, in the order they were sent.
    fn describe_deliveries(&self) -> Vec<DeliveryOutcome> {
        let undelivered: BTreeMap<usize, String> = self
            .outbox
            .undelivered()
            .map(|(delivery, reason, _)| (delivery, reason))
            .collect();
        let at = store::now();
        let outcome = |(delivery, (webhook, event)): (usize, &(usize, Event))| DeliveryOutcome {
            at: at.clone(),
            event: event.word().to_owned(),
            webhook: self.webhooks[*webhook].place(),
            is_delivered: !undelivered.contains_key(&delivery),
            reason: undelivered.get(&delivery).cloned(),
        };
        self.posted.iter().enumerate().map(outcome).collect()
    }

    /// A line for each webhook and reason, in the order of the webhooks.
    fn undelivered(&self) -> Vec<String> {
        let mut lines: BTreeMap<(usize, String), (Vec<&str>, u32)> = BTreeMap::new();
        for (delivery, why, tried) in self.outbox.undelivered() {
            let (webhook, event) = self.posted[delivery];
            let (events, attempts) = lines.entry((webhook, why)).or_default();
            events.push(event.word());
            *attempts += tried;
        }
        lines
            .into_iter()
            .map(|((webhook, why), (events, attempts))| {
                let (place, events) = (self.webhooks[webhook].place(), events.join(", "));
                let attempts = match attempts {
                    0 | 1 => String::new(),
                    attempts => format!(" ({attempts} attempts)"),
                };
                let number = webhook + 1;
                format!("webhook {number}, {place}: {events} not delivered: {why}{attempts}")
            })
            .collect()
    }
}

/// 128 random bits, which no other delivery has.
fn identifier() -> String {
    let half = || RandomState::new().hash_one("delivery");
    format!("{:016x}{:016x}", half(), half())
}
