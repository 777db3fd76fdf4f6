//! Makes of a step's request the one that is sent.

use super::compression;
use super::{ErrorKind, Failure};
use crate::chain::{RequestBuf, RequestTarget};
use crate::redact;
use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderName, TE,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Uri, Version};

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("loadtest/", env!("CARGO_PKG_VERSION")));
const ANY: HeaderValue = HeaderValue::from_static("*/*");
const ZERO: HeaderValue = HeaderValue::from_static("0");
const RUN: HeaderName = HeaderName::from_static("loadtest-run");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// What a request is joined with.
pub(super) struct Surroundings<'a> {
    /// The path of the base URL.
    pub(super) prefix: &'a str,
    pub(super) host: &'a HeaderValue,
    pub(super) run_id: &'a HeaderValue,
    /// Where it goes, if that is told by HTTP/2.
    pub(super) http2: Option<(bool, &'a Authority)>,
    /// The body of the answer is read, and may be compressed.
    pub(super) reads_body: bool,
    /// What the jar of the user has for it.
    pub(super) cookie: Option<HeaderValue>,
}

/// Builds what is sent: the headers of the step, and those sent by default that it does not set.
///
/// `headers` is an empty map to use.
pub(super) fn build(
    buffer: &RequestBuf,
    around: &Surroundings<'_>,
    mut headers: HeaderMap,
) -> Result<Request<Bytes>, Failure> {
    let path = path(buffer, around.prefix)?;
    let mut uri = None;
    let explicit = &buffer.headers;
    let is_set = |name: &HeaderName| explicit.iter().any(|(set, _)| set == name);
    let mut default = |name: HeaderName, value: &HeaderValue| {
        if !is_set(&name) {
            headers.append(name, value.clone());
        }
    };
    match around.http2 {
        None => default(HOST, around.host),
        Some((https, authority)) => {
            uri = Some((https, authority.clone()));
        }
    }
    default(USER_AGENT, &AGENT);
    default(ACCEPT, &ANY);
    if around.reads_body {
        default(ACCEPT_ENCODING, &compression::ACCEPTED);
    }
    default(RUN, around.run_id);
    if let Some(cookie) = &around.cookie {
        default(COOKIE, cookie);
    }
    // The length of a body that is there is added when it is written.
    let says_length = matches!(buffer.method, Method::POST | Method::PUT | Method::PATCH);
    if says_length && buffer.body.is_empty() && !is_set(&TRANSFER_ENCODING) {
        default(CONTENT_LENGTH, &ZERO);
    }
    for (name, value) in explicit {
        if *name == CONTENT_LENGTH && !is_length(value, buffer.body.len()) {
            return Err(Failure::new(
                ErrorKind::StepError,
                format!(
                    "the `content-length` header does not fit the body of {} bytes; leave it out",
                    buffer.body.len()
                ),
            ));
        }
        if let Some((_, authority)) = &mut uri {
            if *name == HOST {
                *authority = as_authority(value)?;
                continue;
            }
            if is_of_connection(name, value) {
                continue;
            }
        }
        headers.append(name.clone(), value.clone());
    }
    let mut request = Request::new(buffer.body.clone());
    *request.method_mut() = buffer.method.clone();
    *request.uri_mut() = match uri {
        None => Uri::from(path),
        Some((https, authority)) => {
            *request.version_mut() = Version::HTTP_2;
            whole(https, authority, path)?
        }
    };
    *request.headers_mut() = headers;
    Ok(request)
}

/// The path and query that `buffer` goes to.
pub(super) fn path(buffer: &RequestBuf, prefix: &str) -> Result<PathAndQuery, Failure> {
    match &buffer.target {
        RequestTarget::Path(path) => joined(prefix, path),
        RequestTarget::Absolute(uri) => Ok(uri
            .path_and_query()
            .cloned()
            .unwrap_or(PathAndQuery::from_static("/"))),
    }
}

fn whole(https: bool, authority: Authority, path: PathAndQuery) -> Result<Uri, Failure> {
    let scheme = if https { Scheme::HTTPS } else { Scheme::HTTP };
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(scheme);
    parts.authority = Some(authority);
    parts.path_and_query = Some(path);
    Uri::from_parts(parts)
        .map_err(|error| Failure::new(ErrorKind::StepError, format!("no URL: {error}")))
}

/// A `host` header as HTTP/2 sends it.
fn as_authority(value: &HeaderValue) -> Result<Authority, Failure> {
    Authority::try_from(value.as_bytes()).map_err(|error| {
        Failure::new(
            ErrorKind::StepError,
            format!("the `host` header cannot be sent with HTTP/2: {error}"),
        )
    })
}

/// Whether a header speaks of the connection, which HTTP/2 forbids (RFC 9113, section 8.2.2).
fn is_of_connection(name: &HeaderName, value: &HeaderValue) -> bool {
    [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_CONNECTION,
        TRANSFER_ENCODING,
        UPGRADE,
    ]
    .contains(name)
        || *name == TE && !value.as_bytes().eq_ignore_ascii_case(b"trailers")
}

fn is_length(value: &HeaderValue, length: usize) -> bool {
    value
        .to_str()
        .is_ok_and(|text| text.trim().parse() == Ok(length))
}

/// Joins the path of the base URL and that of a step.
fn joined(prefix: &str, path: &PathAndQuery) -> Result<PathAndQuery, Failure> {
    let text = path.as_str();
    let slash = if text.starts_with('/') { "" } else { "/" };
    if prefix.is_empty() && slash.is_empty() {
        return Ok(path.clone());
    }
    PathAndQuery::from_maybe_shared(format!("{prefix}{slash}{text}")).map_err(|error| {
        Failure::new(
            ErrorKind::StepError,
            format!("`{}` is not a path: {error}", redact::text(text)),
        )
    })
}
