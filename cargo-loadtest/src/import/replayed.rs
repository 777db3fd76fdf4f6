//! A recording as a scenario that can be run at once, without any code.

use super::marked::{Body, Exchange, Http, Recording, Secret};
use super::naming;
use super::secrecy::{forms, texts_in_base64};
use super::source::Input;
use loadtest::harness;
use loadtest::replay::{Replay, ReplayedRequest};
use loadtest_model::definition::{
    BodyDef, BodyKind, Client, Cookies, DEFAULT_TIMEOUT, Expect, HeaderDef, HttpVersion,
    ScenarioDef, StatusRange, StepDef,
};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::path::Path;

/// What stands for the package in the identity of such a scenario.
const PACKAGE: &str = "curl";
/// The longest body that is a part of the definition.
const LONGEST_SHOWN: usize = 16 * 1024;
/// The shortest value that is looked for: a shorter one is a part of anything.
const SHORTEST_SECRET: usize = 4;
/// Without a recorded answer, all but errors are a success.
const BELOW_400: &[StatusRange] = &[StatusRange { from: 200, to: 399 }];

/// A recording that can be run.
#[derive(Debug)]
pub(crate) struct Replayed {
    /// What may be shown of it, kept and sent on: nothing in it is secret.
    pub(crate) definition: ScenarioDef,
    /// What is sent, as one line, which nobody keeps.
    pub(crate) script: String,
}

/// Makes a scenario of a recording, whose files are relative to `root`.
///
/// The names of its steps are those of `silent`, the same recording without secrets; `found` are these.
pub(crate) fn replayed(
    recording: &Recording,
    (silent, found): (&Recording, &[Secret]),
    input: &Input,
    root: &Path,
) -> Result<Replayed, serde_json::Error> {
    let exchanges = silent.exchanges.iter().map(|exchange| {
        let target = exchange.pattern.as_ref().unwrap_or(&exchange.target);
        (exchange, target.as_str())
    });
    let names = naming::steps(exchanges, &[]);
    let secrets: Vec<Secret> = recording.secrets.iter().chain(found).cloned().collect();
    let base = recording
        .exchanges
        .first()
        .map(|first| first.origin.clone());
    let mut steps = Vec::new();
    let mut requests = Vec::new();
    for (exchange, name) in recording.exchanges.iter().zip(&names) {
        let url = if base.as_ref() == Some(&exchange.origin) {
            exchange.target.clone()
        } else {
            format!("{}{}", exchange.origin, exchange.target)
        };
        let request = request(exchange, url);
        steps.push(step(exchange, &request, name, input, &secrets));
        requests.push(request);
    }
    let mut definition = ScenarioDef::new(naming::scenario(&names), steps);
    definition.module = "".into();
    definition.package = PACKAGE.into();
    definition.file = input.name.clone().into();
    definition.line = definition.steps.first().map_or(1, |step| step.line);
    definition.base = base.map(Into::into);
    definition.client = client(recording);
    let mut definition = harness::redact_definition(&definition);
    for (step, request) in definition.steps.to_mut().iter_mut().zip(&requests) {
        let plain = step.body.is_none().then_some(request.body.as_slice());
        step.fingerprint =
            fingerprint(&(&step.method, &step.url, &step.headers, &step.body), plain)?.into();
    }
    let all: Vec<_> = definition
        .steps
        .iter()
        .map(|step| &step.fingerprint)
        .collect();
    definition.fingerprint =
        fingerprint(&(&definition.base, all, &definition.client), None)?.into();
    let replay = Replay {
        definition: definition.clone(),
        root: root.to_path_buf(),
        requests,
        secrets: secrets
            .into_iter()
            .map(|secret| (secret.name, secret.value))
            .collect(),
    };
    Ok(Replayed {
        definition,
        script: serde_json::to_string(&replay)?,
    })
}

/// What is sent.
fn request(exchange: &Exchange, url: String) -> ReplayedRequest {
    let credentials = exchange.credentials.iter();
    let credentials =
        credentials.map(|credentials| ("authorization".to_owned(), credentials.basic()));
    let headers = exchange.headers.iter();
    let headers = headers.map(|header| (header.name.to_ascii_lowercase(), header.value.clone()));
    ReplayedRequest {
        method: exchange.method.clone(),
        url,
        headers: credentials.chain(headers).collect(),
        omitted: exchange.omitted.clone(),
        body: exchange.body.bytes(),
    }
}

/// What is told of it.
fn step(
    exchange: &Exchange,
    request: &ReplayedRequest,
    name: &str,
    input: &Input,
    secrets: &[Secret],
) -> StepDef {
    let mut step = StepDef::new(name.to_owned());
    let (line, _) = input.place(exchange.span.start);
    step.line = u32::try_from(line).unwrap_or(u32::MAX);
    step.method = Some(request.method.clone().into());
    step.url = Some(without(&request.url, secrets).into());
    let headers = request.headers.iter().map(|(name, value)| HeaderDef {
        name: name.clone().into(),
        value: without(&String::from_utf8_lossy(value), secrets).into(),
    });
    step.headers = headers.collect();
    let is_shown = exchange.body != Body::None && request.body.len() <= LONGEST_SHOWN;
    let text = std::str::from_utf8(&request.body).ok().filter(|_| is_shown);
    step.body = text.map(|text| BodyDef {
        kind: BodyKind::Text,
        template: without(text, secrets).into(),
    });
    step.redirects = exchange.redirects;
    step.expect = Expect(BELOW_400.into());
    step.timeout = exchange.timeout.unwrap_or(DEFAULT_TIMEOUT);
    step
}

/// A text with the names of variables in the place of their values.
fn without(text: &str, secrets: &[Secret]) -> String {
    let mut text = text.to_owned();
    for Secret { name, value, .. } in secrets {
        for form in forms(value) {
            if value.len() >= SHORTEST_SECRET && text.contains(&form) {
                text = text.replace(&form, &format!("{{{{secret.{name}}}}}"));
            }
        }
    }
    let encoded = texts_in_base64(&text).filter_map(|(_, word, decoded)| {
        let is_in = |secret: &&Secret| {
            secret.value.len() >= SHORTEST_SECRET && decoded.contains(&secret.value)
        };
        let secret = secrets.iter().find(is_in)?;
        Some((word.to_owned(), format!("{{{{secret.{}}}}}", secret.name)))
    });
    for (word, place) in encoded.collect::<Vec<_>>() {
        text = text.replace(&word, &place);
    }
    text
}

fn client(recording: &Recording) -> Client {
    let client = &recording.client;
    Client {
        http: match client.http {
            None => HttpVersion::Negotiated,
            Some(Http::One) => HttpVersion::Http1,
            Some(Http::Two) => HttpVersion::Http2,
        },
        cookies: if client.keeps_cookies {
            Cookies::Iteration
        } else {
            Cookies::Off
        },
        insecure: client.insecure,
        ca: client.ca.clone().map(Into::into),
        identity: client.identity.clone().map(Into::into),
        ..Client::DEFAULT
    }
}

/// A hash of what may be shown, and of `plain` bytes; a secret that changes makes no other version.
fn fingerprint(
    shown: &impl serde::Serialize,
    plain: Option<&[u8]>,
) -> Result<String, serde_json::Error> {
    let mut hasher = Sha256::new();
    hasher.update(serde_json::to_vec(shown)?);
    hasher.update(plain.unwrap_or_default());
    let mut text = String::new();
    for byte in &hasher.finalize()[..16] {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
