//! Builds the request on the wire from that of a step.

use super::compression;
use super::trace::TRACEPARENT_HEADER;
use super::{ErrorKind, Failure, cookies};
use crate::redact;
use crate::transport::{RequestBuf, RequestTarget};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderName, TE,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Uri, Version};
use loadtest_model::trace::TraceParent;
use std::ops::Range;

pub(super) const USER_AGENT_VALUE: HeaderValue =
    HeaderValue::from_static(concat!("loadtest/", env!("CARGO_PKG_VERSION")));
const ANY_MEDIA: HeaderValue = HeaderValue::from_static("*/*");
/// As browsers ask for server-sent events. Some servers, such as `graphql-sse`, answer to this alone.
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const ZERO_LENGTH: HeaderValue = HeaderValue::from_static("0");
pub(super) const RUN_HEADER: HeaderName = HeaderName::from_static("loadtest-run");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// A request on the point of being sent: what the step says, and what is around it.
pub(super) struct OutgoingRequest<'a> {
    pub(super) buffer: &'a RequestBuf,
    pub(super) path: PathAndQuery,
    around: RequestSurroundings<'a>,
}

/// Everything that a step's request is joined with.
pub(super) struct RequestSurroundings<'a> {
    /// The path of the base URL.
    pub(super) prefix: &'a str,
    pub(super) defaults: &'a DefaultHeaders,
    /// The body of the answer is read, and may be compressed.
    pub(super) reads_body: bool,
    /// The answer can be nothing but server-sent events.
    pub(super) accepts_events: bool,
    /// The cookies of the user's jar, without those that the step sets.
    pub(super) cookie: Option<HeaderValue>,
    /// The trace of the journey, where requests carry one.
    pub(super) traceparent: Option<TraceParent>,
    /// The headers that ask for another protocol, where the request does.
    pub(super) upgrade: Vec<(HeaderName, HeaderValue)>,
}

/// The headers that all requests to an origin have, unless a step says otherwise.
pub(super) struct DefaultHeaders {
    host: HeaderValue,
    run_id: HeaderValue,
    /// All of them as HTTP/1.1 writes them.
    lines: Box<[u8]>,
    /// The line within them that only requests have whose answer is read.
    accept_encoding: Range<usize>,
}

/// The names of the default headers.
static DEFAULT_NAMES: [HeaderName; 5] = [HOST, USER_AGENT, ACCEPT, ACCEPT_ENCODING, RUN_HEADER];

impl DefaultHeaders {
    pub(super) fn new(host: HeaderValue, run_id: &HeaderValue) -> Self {
        let mut headers = Self {
            host,
            run_id: copy_header_value(run_id),
            lines: Box::default(),
            accept_encoding: 0..0,
        };
        let (mut lines, mut accept_encoding) = (Vec::new(), 0..0);
        headers.for_each((true, false), |name, value| {
            let begin = lines.len();
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                lines.extend_from_slice(part);
            }
            if name == ACCEPT_ENCODING {
                accept_encoding = begin..lines.len();
            }
        });
        headers.lines = lines.into();
        headers.accept_encoding = accept_encoding;
        headers
    }

    fn for_each(
        &self,
        (reads_body, accepts_events): (bool, bool),
        mut each: impl FnMut(&HeaderName, &HeaderValue),
    ) {
        each(&HOST, &self.host);
        each(&USER_AGENT, &USER_AGENT_VALUE);
        let media = if accepts_events {
            &EVENT_STREAM
        } else {
            &ANY_MEDIA
        };
        each(&ACCEPT, media);
        if reads_body {
            each(&ACCEPT_ENCODING, &compression::ACCEPTED_ENCODINGS);
        }
        each(&RUN_HEADER, &self.run_id);
    }

    /// Returns the lines of all of them as HTTP/1.1 writes them, in two parts.
    fn lines(&self, reads_body: bool) -> [&[u8]; 2] {
        let Range { start, end } = self.accept_encoding;
        let first = if reads_body { end } else { start };
        [&self.lines[..first], &self.lines[end..]]
    }
}

impl<'a> OutgoingRequest<'a> {
    /// Joins a request with what is around it.
    pub(super) fn new(
        buffer: &'a RequestBuf,
        around: RequestSurroundings<'a>,
    ) -> Result<Self, Failure> {
        for (name, value) in &buffer.headers {
            if *name == CONTENT_LENGTH && !equals_length(value, buffer.body.len()) {
                return Err(Failure::new(
                    ErrorKind::StepError,
                    format!(
                        "the `content-length` header does not fit the body of {} bytes; leave it out",
                        buffer.body.len()
                    ),
                ));
            }
        }
        let path = request_path(buffer, around.prefix)?;
        Ok(Self {
            buffer,
            path,
            around,
        })
    }

    /// Returns what `traceparent` says, unless the step sets the header or leaves it out.
    #[inline]
    pub(super) fn traceparent(&self) -> Option<TraceParent> {
        let parent = self.around.traceparent?;
        (!self.says(&TRACEPARENT_HEADER)).then_some(parent)
    }

    /// Hands over the headers: those sent by default that the step does not set, and those of the step. Cookies of
    /// both kinds go in one.
    ///
    /// The length of a body that is there is not among them, unless the step says it, nor is
    /// [`traceparent`](Self::traceparent).
    pub(super) fn write_headers(&self, mut write: impl FnMut(&HeaderName, &HeaderValue)) {
        let around = &self.around;
        let kinds = (around.reads_body, around.accepts_events);
        around.defaults.for_each(kinds, |name, value| {
            if !self.says(name) {
                write(name, value);
            }
        });
        self.write_further_headers(write);
    }

    /// Returns the lines of the default headers as HTTP/1.1 writes them; `None` if the request has others.
    pub(super) fn default_lines(&self) -> Option<[&[u8]; 2]> {
        let mut said = self.buffer.headers.iter().map(|(name, _)| name);
        let is_own = self.around.accepts_events
            || !self.buffer.omitted.is_empty()
            || said.any(|name| DEFAULT_NAMES.contains(name));
        (!is_own).then(|| self.around.defaults.lines(self.around.reads_body))
    }

    /// Returns whether the step sets the header or leaves it out.
    fn says(&self, name: &HeaderName) -> bool {
        let mut explicit = self.buffer.headers.iter();
        explicit.any(|(set, _)| set == name) || self.buffer.omitted.contains(name)
    }

    /// Hands over the headers that not all requests have: cookies, the length of no body, and those of the step.
    pub(super) fn write_further_headers(&self, mut write: impl FnMut(&HeaderName, &HeaderValue)) {
        let Self { buffer, around, .. } = self;
        let explicit = &buffer.headers;
        let mut cookie = around.cookie.as_ref();
        if let Some(cookie) = cookie
            && !self.says(&COOKIE)
        {
            write(&COOKIE, cookie);
        }
        let says_length = matches!(buffer.method, Method::POST | Method::PUT | Method::PATCH);
        if says_length
            && buffer.body.is_empty()
            && !explicit.iter().any(|(set, _)| *set == TRANSFER_ENCODING)
            && !self.says(&CONTENT_LENGTH)
        {
            write(&CONTENT_LENGTH, &ZERO_LENGTH);
        }
        for (name, value) in explicit {
            match cookie.take_if(|_| *name == COOKIE) {
                Some(cookie) => write(name, &cookies::join_cookies(cookie, value)),
                None => write(name, value),
            }
        }
        for (name, value) in &around.upgrade {
            if !self.says(name) {
                write(name, value);
            }
        }
    }

    fn append_traceparent(&self, headers: &mut HeaderMap) {
        let value = self
            .traceparent()
            .and_then(|parent| HeaderValue::from_bytes(&parent.to_header()).ok());
        if let Some(value) = value {
            headers.append(&TRACEPARENT_HEADER, value);
        }
    }

    /// The request as HTTP/1.1 tells it, but for its body.
    pub(super) fn to_http1(&self) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = self.buffer.method.clone();
        *request.uri_mut() = Uri::from(self.path.clone());
        let headers = request.headers_mut();
        self.write_headers(|name, value| {
            headers.append(name, value.clone());
        });
        self.append_traceparent(headers);
        request
    }

    /// The request as HTTP/2 tells it, but for its body, where `authority` is that of the default `host`.
    pub(super) fn to_http2(
        &self,
        https: bool,
        authority: &Authority,
    ) -> Result<Request<()>, Failure> {
        let mut request = Request::new(());
        let headers = request.headers_mut();
        let mut host = None;
        self.write_headers(|name, value| {
            if *name == HOST {
                host = (value != self.around.defaults.host).then(|| value.clone());
            } else if !is_connection_header(name, value) {
                headers.append(name, value.clone());
            }
        });
        if !self.buffer.body.is_empty() && !headers.contains_key(CONTENT_LENGTH) {
            headers.insert(CONTENT_LENGTH, self.buffer.body.len().into());
        }
        self.append_traceparent(headers);
        let authority = match host {
            Some(host) => parse_authority(&host)?,
            None => authority.clone(),
        };
        *request.method_mut() = self.buffer.method.clone();
        *request.version_mut() = Version::HTTP_2;
        *request.uri_mut() = absolute_uri(https, authority, self.path.clone())?;
        Ok(request)
    }
}

/// A copy of one's own: threads that count references to one value slow each other down.
fn copy_header_value(value: &HeaderValue) -> HeaderValue {
    HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| value.clone())
}

/// The path and query that `buffer` goes to.
pub(super) fn request_path(buffer: &RequestBuf, prefix: &str) -> Result<PathAndQuery, Failure> {
    match &buffer.target {
        RequestTarget::Path(path) => join_paths(prefix, path),
        RequestTarget::Absolute(uri) => Ok(uri
            .path_and_query()
            .cloned()
            .unwrap_or(PathAndQuery::from_static("/"))),
    }
}

pub(super) fn absolute_uri(
    https: bool,
    authority: Authority,
    path: PathAndQuery,
) -> Result<Uri, Failure> {
    let scheme = if https { Scheme::HTTPS } else { Scheme::HTTP };
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(scheme);
    parts.authority = Some(authority);
    parts.path_and_query = Some(path);
    Uri::from_parts(parts)
        .map_err(|error| Failure::new(ErrorKind::StepError, format!("no URL: {error}")))
}

/// A `host` header as HTTP/2 sends it.
pub(super) fn parse_authority(value: &HeaderValue) -> Result<Authority, Failure> {
    Authority::try_from(value.as_bytes()).map_err(|error| {
        Failure::new(
            ErrorKind::StepError,
            format!("the `host` header cannot be sent with HTTP/2: {error}"),
        )
    })
}

/// Returns whether a header concerns the connection, which HTTP/2 forbids (RFC 9113, section 8.2.2).
fn is_connection_header(name: &HeaderName, value: &HeaderValue) -> bool {
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

fn equals_length(value: &HeaderValue, length: usize) -> bool {
    value.to_str().is_ok_and(|text| {
        let digits = text.trim();
        // Not even a sign.
        digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse() == Ok(length)
    })
}

/// Joins the path of the base URL and that of a step.
pub(super) fn join_paths(prefix: &str, path: &PathAndQuery) -> Result<PathAndQuery, Failure> {
    let text = path.as_str();
    let slash = if text.starts_with('/') { "" } else { "/" };
    if prefix.is_empty() && slash.is_empty() {
        return Ok(path.clone());
    }
    PathAndQuery::from_maybe_shared(format!("{prefix}{slash}{text}")).map_err(|error| {
        Failure::new(
            ErrorKind::StepError,
            format!("`{}` is not a path: {error}", redact::redact(text)),
        )
    })
}
