//! The messages between a chain and a transport: a request to send, a response to read.

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use std::fmt;
use std::time::Duration;

/// The request a step builds; one per virtual user, used again and again.
#[derive(Debug)]
pub struct RequestBuf {
    /// The method.
    pub(crate) method: Method,
    /// The target.
    pub(crate) target: RequestTarget,
    /// The headers that the step sets; an explicit one wins over what is sent by default.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The body; empty for none.
    pub(crate) body: Bytes,
    /// The request's own timeout, over that of the step.
    pub(crate) timeout: Option<Duration>,
    /// The headers sent by default that this request goes without.
    pub(crate) omitted: Vec<HeaderName>,
    /// Reused text storage of the generated code.
    pub(crate) scratch: String,
}

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestTarget {
    /// A path that is joined to the base URL.
    Path(PathAndQuery),
    /// An absolute URL with scheme and host.
    Absolute(Uri),
}

/// A response with an expected status, for the chain to read.
#[derive(Debug)]
pub struct RawResponse {
    /// The status.
    pub(crate) status: http::StatusCode,
    /// The headers; empty where the step keeps none.
    pub(crate) headers: HeaderMap,
    /// The body; empty where the step reads none.
    pub(crate) body: Bytes,
    /// The final URL, if a redirect was followed; only an async step asks for it.
    pub(crate) redirected_to: Option<Box<Uri>>,
}

impl Default for RequestBuf {
    fn default() -> Self {
        Self {
            method: Method::GET,
            target: RequestTarget::default(),
            headers: Vec::with_capacity(8),
            body: Bytes::new(),
            timeout: None,
            omitted: Vec::new(),
            scratch: String::new(),
        }
    }
}

/// The request as it would be sent, its target as it is written: a path, or an absolute URL.
impl From<&RequestBuf> for http::Request<Bytes> {
    fn from(buffer: &RequestBuf) -> Self {
        let mut request = Self::new(buffer.body.clone());
        *request.method_mut() = buffer.method.clone();
        *request.uri_mut() = match &buffer.target {
            RequestTarget::Path(path) => path.clone().into(),
            RequestTarget::Absolute(url) => url.clone(),
        };
        for (name, value) in &buffer.headers {
            request.headers_mut().append(name, value.clone());
        }
        request
    }
}

impl From<http::Response<Bytes>> for RawResponse {
    fn from(response: http::Response<Bytes>) -> Self {
        let (head, body) = response.into_parts();
        Self {
            status: head.status,
            headers: head.headers,
            body,
            redirected_to: None,
        }
    }
}

impl Default for RequestTarget {
    fn default() -> Self {
        Self::Path(PathAndQuery::from_static("/"))
    }
}

impl fmt::Display for RequestTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.fmt(f),
            Self::Absolute(url) => url.fmt(f),
        }
    }
}
