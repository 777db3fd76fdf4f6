//! The messages between a chain and a transport: a request to send, a response to read.

use super::events::EventLog;
use super::websocket::SocketConnection;
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;
use url::Url;

/// The URL of an answer that there was not.
pub(crate) static NO_URL: LazyLock<Url> = LazyLock::new(|| {
    Url::parse("about:blank").unwrap_or_else(|error| unreachable!("a URL: {error}"))
});

/// The request a step builds; one per virtual user, used again and again.
#[derive(Debug, Default)]
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
    /// The name of its cookie jar; without one it is that of the user.
    pub(crate) jar: Option<&'static str>,
    /// True if its answer is one of GraphQL, whose errors fail its row in an `async` step.
    pub(crate) is_graphql: bool,
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

/// The headers of an answer as far as they are kept: mostly none, so that answers stay small.
#[derive(Clone, Default)]
pub(crate) struct KeptHeaders(Option<Box<HeaderMap>>);

static NO_HEADERS: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);

/// A response with an expected status, for the chain to read.
#[derive(Debug)]
pub struct RawResponse {
    /// The status.
    pub(crate) status: http::StatusCode,
    /// The headers; empty where the step keeps none.
    pub(crate) headers: KeptHeaders,
    /// The body; empty where the step reads none.
    pub(crate) body: Bytes,
    /// The events, where the step reads a stream of them.
    pub(crate) events: Option<Box<EventLog>>,
    /// The connection, where the step opens a WebSocket.
    pub(crate) socket: Option<Arc<SocketConnection>>,
    /// What else is known of the exchange, where the step may look at it.
    pub(crate) details: Option<Box<AnswerDetails>>,
}

/// What is known of an exchange besides status, headers and body.
#[derive(Debug, Clone)]
pub(crate) struct AnswerDetails {
    target: RequestTarget,
    /// The URL that a path is joined to.
    base: Option<Arc<str>>,
    /// The URL of the last request, where it is another.
    redirected_to: Option<Box<Uri>>,
    /// The version of the protocol.
    pub(crate) version: Version,
    /// The service time.
    pub(crate) time: Duration,
    /// The body as it came, where the step reads it.
    pub(crate) body: Option<Bytes>,
    parsed_url: OnceLock<Url>,
}

impl AnswerDetails {
    /// Returns the details of the exchange of `request`, whose path is joined to `base`.
    pub(crate) fn new(
        request: &RequestBuf,
        base: Option<&Arc<str>>,
        redirected_to: Option<Box<Uri>>,
        version: Version,
        time: Duration,
    ) -> Box<Self> {
        Box::new(Self {
            target: request.target.clone(),
            base: base.cloned(),
            redirected_to,
            version,
            time,
            body: None,
            parsed_url: OnceLock::new(),
        })
    }

    /// Returns the URL of the last request, which is parsed when it is first asked for.
    pub(crate) fn parsed_url(&self) -> &Url {
        self.parsed_url.get_or_init(|| {
            let url = match (&self.redirected_to, &self.target, &self.base) {
                (Some(url), ..) => url.to_string(),
                (None, RequestTarget::Path(path), Some(base)) => format!("{base}{path}"),
                (None, target, _) => target.to_string(),
            };
            Url::parse(&url).unwrap_or_else(|_| NO_URL.clone())
        })
    }
}

impl KeptHeaders {
    /// The headers, if any are kept.
    pub(crate) fn into_boxed(self) -> Option<Box<HeaderMap>> {
        self.0
    }
}

impl Deref for KeptHeaders {
    type Target = HeaderMap;

    #[inline]
    fn deref(&self) -> &HeaderMap {
        self.0.as_deref().unwrap_or_else(|| &NO_HEADERS)
    }
}

impl From<HeaderMap> for KeptHeaders {
    fn from(headers: HeaderMap) -> Self {
        Self((!headers.is_empty()).then(|| Box::new(headers)))
    }
}

impl fmt::Debug for KeptHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
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
            headers: head.headers.into(),
            body,
            events: None,
            socket: None,
            details: None,
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
