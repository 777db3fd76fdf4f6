//! The headers that say something of a request, and not of the browser that sent it.

use super::super::marked::{Credentials, Header};
use super::archive::Entry;
use base64::prelude::{BASE64_STANDARD, Engine as _};

/// What browsers, proxies and connections add, and what makes a request one of a trace.
const NOISE: [&str; 38] = [
    "accept-encoding",
    "accept-language",
    "alt-used",
    "baggage",
    "cache-control",
    "connection",
    "content-length",
    "cookie",
    "device-memory",
    "dnt",
    "downlink",
    "dpr",
    "ect",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "newrelic",
    "pragma",
    "priority",
    "proxy-authorization",
    "proxy-connection",
    "purpose",
    "referer",
    "rtt",
    "save-data",
    "sentry-trace",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "viewport-width",
    "width",
];
/// What a cache asks with.
const CONDITIONS: [&str; 5] = [
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
];
/// How the names of others begin.
const PREFIXES: [&str; 7] = [
    "sec-",
    "proxy-",
    "x-b3-",
    "x-client-data",
    "x-datadog-",
    "x-devtools-",
    "x-newrelic-",
];
/// The bodies that a page of anybody could send, with which others than the site's own are told by `origin`.
const FORMS: [&str; 3] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
];

/// What a browser asks for as a page, without the pictures and feeds that it would show as well.
const PAGE: &str = "text/html,*/*;q=0.8";

/// What is kept of the headers.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) headers: Vec<Header>,
    pub(super) credentials: Option<Credentials>,
    /// A name whose value no header can have.
    pub(super) refused: Option<String>,
}

/// The headers of a request that are sent again, without its cookies; `content_type` is that of its body.
pub(super) fn kept(entry: &Entry<'_>, content_type: Option<&[u8]>) -> Kept {
    let mut kept = Kept::default();
    for (name, value) in &entry.headers {
        if is_noise(entry, name, value) || name == "content-type" && content_type.is_some() {
            continue;
        }
        if value
            .bytes()
            .any(|byte| matches!(byte, 0..=8 | 10..=31 | 127))
        {
            kept.refused = Some(name.clone());
            continue;
        }
        if name == "authorization" && kept.credentials.is_none() {
            kept.credentials = basic(value);
            if kept.credentials.is_some() {
                continue;
            }
        }
        let is_page =
            name == "accept" && value.starts_with("text/html,") && value.contains("*/*;q=");
        let value = if is_page { PAGE } else { value };
        kept.headers.push(Header {
            name: name.clone(),
            value: value.as_bytes().to_vec(),
        });
    }
    if let Some(content_type) = content_type {
        kept.headers.push(Header {
            name: "content-type".to_owned(),
            value: content_type.to_vec(),
        });
    }
    let is_told = kept
        .headers
        .iter()
        .any(|header| header.name == "authorization");
    if kept.credentials.is_none() && !is_told {
        kept.credentials = of_url(entry);
    }
    kept
}

fn is_noise(entry: &Entry<'_>, name: &str, value: &str) -> bool {
    NOISE.contains(&name)
        || CONDITIONS.contains(&name) && is_read(entry)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.starts_with("access-control-request-")
        // It is sent in any case.
        || name == "accept" && value == "*/*"
        || name == "origin" && !matters(entry)
}

/// Whether nothing is changed by the request: `if-match` of a `PUT` is no matter of a cache.
fn is_read(entry: &Entry<'_>) -> bool {
    matches!(entry.method.as_str(), "GET" | "HEAD")
}

/// Whether a server may look at `origin`: where it answers with the one it was asked with, and with a form that
/// another site's page could have sent, which guards against forged requests compare.
fn matters(entry: &Entry<'_>) -> bool {
    if is_read(entry) {
        return false;
    }
    let allowed = entry.answer_header("access-control-allow-origin");
    let sent = entry
        .header("content-type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    allowed.is_some_and(|allowed| allowed != "*") || FORMS.iter().any(|form| sent.starts_with(form))
}

/// Credentials that are sent as such.
fn basic(value: &str) -> Option<Credentials> {
    let (scheme, encoded) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then_some(())?;
    let pair = BASE64_STANDARD.decode(encoded.trim()).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    let (user, password) = pair.split_once(':')?;
    Some(Credentials {
        user: user.as_bytes().to_vec(),
        password: password.as_bytes().to_vec(),
    })
}

/// Those in a URL.
fn of_url(entry: &Entry<'_>) -> Option<Credentials> {
    let (user, password) = (entry.url.username(), entry.url.password());
    (!user.is_empty() || password.is_some()).then(|| Credentials {
        user: decoded(user),
        password: decoded(password.unwrap_or_default()),
    })
}

/// Escapes as the bytes they stand for.
fn decoded(text: &str) -> Vec<u8> {
    let plus = text.replace('+', "%2B");
    let mut pairs = url::form_urlencoded::parse(plus.as_bytes());
    pairs
        .next()
        .map_or_else(Vec::new, |(name, _)| name.into_owned().into_bytes())
}
