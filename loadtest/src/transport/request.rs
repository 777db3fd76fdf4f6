//! Makes of a step's request the one that is sent.

use super::{ErrorKind, Failure};
use crate::chain::{RequestBuf, RequestTarget};
use crate::redact;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, HOST, HeaderName, TRANSFER_ENCODING, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::Full;

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("loadtest/", env!("CARGO_PKG_VERSION")));
const ANY: HeaderValue = HeaderValue::from_static("*/*");
const ZERO: HeaderValue = HeaderValue::from_static("0");
const RUN: HeaderName = HeaderName::from_static("loadtest-run");

/// Builds what hyper sends: the headers of the step, and those sent by default that it does not set.
///
/// `headers` is an empty map to use.
pub(super) fn build(
    buffer: &RequestBuf,
    prefix: &str,
    host: &HeaderValue,
    run_id: &HeaderValue,
    mut headers: HeaderMap,
) -> Result<Request<Full<Bytes>>, Failure> {
    let uri = match &buffer.target {
        RequestTarget::Path(path) => joined(prefix, path)?,
        RequestTarget::Absolute(uri) => uri
            .path_and_query()
            .cloned()
            .unwrap_or(PathAndQuery::from_static("/")),
    };
    let explicit = &buffer.headers;
    let is_set = |name: &HeaderName| explicit.iter().any(|(set, _)| set == name);
    let mut default = |name: HeaderName, value: &HeaderValue| {
        if !is_set(&name) {
            headers.append(name, value.clone());
        }
    };
    default(HOST, host);
    default(USER_AGENT, &AGENT);
    default(ACCEPT, &ANY);
    default(RUN, run_id);
    // hyper adds the length of a body that is there.
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
        headers.append(name.clone(), value.clone());
    }
    let mut request = Request::new(Full::new(buffer.body.clone()));
    *request.method_mut() = buffer.method.clone();
    *request.uri_mut() = Uri::from(uri);
    *request.headers_mut() = headers;
    Ok(request)
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
