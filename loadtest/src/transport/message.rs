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
    pub method: Method,
    /// The target.
    pub target: RequestTarget,
    /// The headers that the step sets; an explicit one wins over what is sent by default.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body; empty for none.
    pub body: Bytes,
    /// The request's own timeout, over that of the step.
    pub timeout: Option<Duration>,
    /// The headers sent by default that this request goes without.
    pub(crate) omitted: Vec<HeaderName>,
    /// Reused text storage of the generated code.
    pub(crate) scratch: String,
}

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestTarget {
    /// A path that is joined to the base URL.
    Path(PathAndQuery),
    /// An absolute URL with scheme and host.
    Absolute(Uri),
}

/// A response with an expected status, for the chain to read.
#[derive(Debug)]
pub struct RawResponse {
    /// The status.
    pub status: http::StatusCode,
    /// The headers; empty where the step keeps none.
    pub headers: HeaderMap,
    /// The body; empty where the step reads none.
    pub body: Bytes,
    /// The final URL, if a redirect was followed; only an async step asks for it.
    pub redirected_to: Option<Box<Uri>>,
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
