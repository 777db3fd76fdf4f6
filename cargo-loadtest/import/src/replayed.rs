//! Replays a recording: makes a scenario of it that runs at once, without source.

use super::naming;
use super::recording::{
    Body, Exchange, Http, Piece, Recording, Secret, Text, encode_basic, encode_multipart,
};
use super::source::Input;
use loadtest::harness;
use loadtest_model::definition::{
    BodyDef, BodyKind, Client, Cookies, DEFAULT_TIMEOUT, Expect, HeaderDef, HttpVersion,
    ScenarioDef, StatusRange, StepDef,
};
use loadtest_model::protocol::{Replay, ReplayedRequest};
use ring::digest::{Context, SHA256};
use std::fmt::Write as _;
use std::path::Path;

/// The package in the identity of such a scenario.
const PACKAGE: &str = "curl";
/// The longest body that is a part of the definition.
const LONGEST_SHOWN: usize = 16 * 1024;
/// Without a recorded answer, all but errors are a success.
const BELOW_400: &[StatusRange] = &[StatusRange { from: 200, to: 399 }];

/// A recording that can be run.
#[derive(Debug)]
pub struct Replayed {
    /// The definition, without secrets.
    pub definition: ScenarioDef,
    /// The requests as one line, which is never stored.
    pub script: String,
}

/// Makes a scenario of a recording, whose files are relative to `root`; `hidden` is the same recording without secrets.
///
/// # Errors
/// The requests are no JSON.
pub fn replay_recording(
    recording: &Recording,
    hidden: &Recording,
    input: &Input,
    root: &Path,
) -> Result<Replayed, serde_json::Error> {
    let names = naming::name_steps(hidden, &hidden.exchanges);
    let base = recording
        .exchanges
        .first()
        .map(|first| first.origin.clone());
    let mut steps = Vec::new();
    let mut requests = Vec::new();
    let pairs = recording.exchanges.iter().zip(&hidden.exchanges);
    for ((exchange, hidden_exchange), name) in pairs.zip(&names) {
        let fill = |text: &Text| fill_text(text, recording);
        let request = build_request(exchange, base.as_deref(), &fill, encode_basic);
        let show = |text: &Text| show_text(text, hidden);
        let shown = build_request(hidden_exchange, base.as_deref(), &show, show_basic);
        steps.push(define_step(exchange, &request, shown, name, input));
        requests.push(request);
    }
    let mut definition = ScenarioDef::new(naming::join_names(&names), steps);
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
    let steps = definition.steps.iter();
    let all: Vec<_> = steps.map(|step| &step.fingerprint).collect();
    definition.fingerprint =
        fingerprint(&(&definition.base, all, &definition.client), None)?.into();
    let secret = |secret: &Secret| Some((secret.name.clone(), secret.value.clone()?));
    let replay = Replay {
        definition: definition.clone(),
        root: root.to_path_buf(),
        requests,
        secrets: hidden.secrets.iter().filter_map(secret).collect(),
    };
    Ok(Replayed {
        definition,
        script: serde_json::to_string(&replay)?,
    })
}

/// Builds a request; `render` returns the bytes of a text, `encode` those of basic credentials.
fn build_request(
    exchange: &Exchange,
    base: Option<&str>,
    render: &dyn Fn(&Text) -> Vec<u8>,
    encode: fn(&[u8], &[u8]) -> Vec<u8>,
) -> ReplayedRequest {
    let target = String::from_utf8_lossy(&render(&exchange.target)).into_owned();
    let credentials = exchange.credentials.iter().map(|credentials| {
        let value = encode(&render(&credentials.user), &render(&credentials.password));
        ("authorization".to_owned(), value)
    });
    let headers = exchange.headers.iter();
    let headers = headers.map(|header| (header.name.to_ascii_lowercase(), render(&header.value)));
    ReplayedRequest {
        method: exchange.method.clone(),
        url: if base == Some(&exchange.origin) {
            target
        } else {
            format!("{}{target}", exchange.origin)
        },
        headers: credentials.chain(headers).collect(),
        omitted: exchange.omitted.clone(),
        body: match &exchange.body {
            Body::None => Vec::new(),
            Body::Text(text) => render(text),
            Body::Multipart(parts) => encode_multipart(parts, render),
        },
    }
}

/// Returns the bytes of a text with the values of its variables.
fn fill_text(text: &Text, recording: &Recording) -> Vec<u8> {
    let pieces = text.pieces().iter().flat_map(|piece| match piece {
        Piece::Literal(text) => text.clone().into_bytes(),
        Piece::Bytes(bytes) => bytes.clone(),
        Piece::Secret(number) => {
            let value = recording.secrets[*number].value.clone();
            value.unwrap_or_default().into_bytes()
        }
        Piece::Constant(number) => recording.constants[*number].value.clone().into_bytes(),
        // No copied command has one.
        Piece::Reference(_) | Piece::Run(_) => Vec::new(),
    });
    pieces.collect()
}

/// Returns a text with the names of variables in the place of their values.
fn show_text(text: &Text, recording: &Recording) -> Vec<u8> {
    let shown = text.shown(|piece| match piece {
        Piece::Secret(number) => format!("{{{{secret.{}}}}}", recording.secrets[*number].name),
        _ => String::new(),
    });
    text.as_bytes().map_or(shown.into_bytes(), <[u8]>::to_vec)
}

/// Shows basic credentials: encoded, unless they have a secret in them.
fn show_basic(user: &[u8], password: &[u8]) -> Vec<u8> {
    let has_secret = |shown: &[u8]| shown.starts_with(b"{{secret.");
    match (has_secret(user), has_secret(password)) {
        (false, false) => encode_basic(user, password),
        (true, false) => [b"Basic ", user].concat(),
        _ => [b"Basic ", password].concat(),
    }
}

/// Defines the step of a request, as it is shown.
fn define_step(
    exchange: &Exchange,
    request: &ReplayedRequest,
    shown: ReplayedRequest,
    name: &str,
    input: &Input,
) -> StepDef {
    let mut step = StepDef::new(name.to_owned());
    let (line, _) = input.place(exchange.span.start);
    step.line = u32::try_from(line).unwrap_or(u32::MAX);
    step.method = Some(request.method.clone().into());
    step.url = Some(shown.url.into());
    let headers = shown.headers.into_iter().map(|(name, value)| HeaderDef {
        name: name.into(),
        value: String::from_utf8_lossy(&value).into_owned().into(),
    });
    step.headers = headers.collect();
    let is_shown = exchange.body != Body::None && request.body.len() <= LONGEST_SHOWN;
    let text = String::from_utf8(shown.body).ok().filter(|_| is_shown);
    step.body = text.map(|text| BodyDef {
        kind: BodyKind::Text,
        template: text.into(),
    });
    step.redirects = exchange.redirects;
    step.expect = Expect(BELOW_400.into());
    step.timeout = exchange.timeout.unwrap_or(DEFAULT_TIMEOUT);
    step
}

fn client(recording: &Recording) -> Client {
    let client = &recording.client;
    Client {
        http: match client.http {
            // The tool itself does not speak HTTP/3.
            None | Some(Http::Three) => HttpVersion::Negotiated,
            Some(Http::One) => HttpVersion::Http1,
            Some(Http::Two) => HttpVersion::Http2,
        },
        connections: None,
        new_connections: false,
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

/// Hashes the shown request and `plain` bytes: another value of a secret is no other version.
fn fingerprint(
    shown: &impl serde::Serialize,
    plain: Option<&[u8]>,
) -> Result<String, serde_json::Error> {
    let mut hasher = Context::new(&SHA256);
    hasher.update(&serde_json::to_vec(shown)?);
    hasher.update(plain.unwrap_or_default());
    let mut text = String::new();
    for byte in &hasher.finish().as_ref()[..16] {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
