//! Writes a request into the buffer of a virtual user, for generated code.

use super::graph::graphql_parameters;
use super::{RequestBuf, RequestTarget, Unmet, form};
use crate::redact;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method, Uri};
use std::borrow::Cow;

/// The mistake in a value that no header can have.
pub(super) const UNFIT_VALUE: &str =
    "its value has a character that no header can hold, such as a line break";

/// Describes the mistake in a header name (<https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2>).
pub(super) fn unfit_name(name: &[u8]) -> String {
    const MOST: usize = 60;
    let name = String::from_utf8_lossy(name);
    let mut shown: String = name.chars().take(MOST).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    format!(
        "header `{}`: a name consists of letters, digits and signs such as `-` and `_`, without spaces",
        shown.escape_debug()
    )
}

/// The mistake in a URL without scheme or leading slash.
pub(super) const NO_URL: &str = "it starts neither with `/` nor with `http://` or `https://`";

#[doc(hidden)]
impl RequestBuf {
    /// Begins a request; nothing of the one before stays.
    pub fn start(&mut self, method: Method) {
        self.method = method;
        self.headers.clear();
        self.body = Bytes::new();
        self.timeout = None;
        self.omitted.clear();
        self.jar = None;
    }

    /// Sets the cookie jar.
    pub fn set_jar(&mut self, jar: &'static str) {
        self.jar = Some(jar);
    }

    /// Sets a path that the compiler has parsed.
    pub fn path(&mut self, path: PathAndQuery) {
        self.target = RequestTarget::Path(path);
    }

    /// Sets a URL that is known at compile time.
    pub fn url_static(&mut self, url: &'static str) -> Result<(), Unmet> {
        let target = parse(url, || Bytes::from_static(url.as_bytes()));
        self.target = target.map_err(|reason| Unmet::Invalid { reason })?;
        Ok(())
    }

    /// Sets a URL: a path that starts with `/`, or an absolute one.
    pub(crate) fn url(&mut self, url: &str) -> Result<(), Unmet> {
        self.target = target(url).map_err(|reason| Unmet::Invalid { reason })?;
        Ok(())
    }

    /// An empty text whose storage is used again; hand it back to one of the methods below.
    pub fn text(&mut self) -> String {
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        text
    }

    /// Sets the URL to `text`.
    pub fn url_text(&mut self, text: String) -> Result<(), Unmet> {
        let set = self.url(&text);
        self.scratch = text;
        set
    }

    /// Sets the URL to `text`, by which a WebSocket is opened.
    pub fn websocket_text(&mut self, text: String) -> Result<(), Unmet> {
        let set = self.url(&opening_url(&text));
        self.scratch = text;
        set
    }

    /// Returns whether no header has the lower-case name `name`.
    pub fn lacks(&self, name: &str) -> bool {
        self.headers.iter().all(|(own, _)| own.as_str() != name)
    }

    /// Adds a header.
    pub fn header(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.push((name, value));
    }

    /// Adds a header whose value is `text`.
    pub fn header_text(&mut self, name: HeaderName, text: String) -> Result<(), Unmet> {
        let value = HeaderValue::from_str(&text);
        self.scratch = text;
        match value {
            Ok(value) => self.headers.push((name, value)),
            Err(_) => {
                return Err(Unmet::Invalid {
                    reason: format!("header `{name}`: {UNFIT_VALUE}"),
                });
            }
        }
        Ok(())
    }

    /// Keeps the header that was added last out of logs.
    pub fn sensitive(&mut self) {
        if let Some((_, value)) = self.headers.last_mut() {
            value.set_sensitive(true);
        }
    }

    /// Adds `authorization: Basic <text in base64>`.
    pub fn basic_text(&mut self, text: String) -> Result<(), Unmet> {
        use base64::prelude::{BASE64_STANDARD, Engine as _};
        let mut credentials = "Basic ".to_owned();
        BASE64_STANDARD.encode_string(&text, &mut credentials);
        self.scratch = text;
        self.header_text(AUTHORIZATION, credentials)
    }

    /// Adds the boundary between the parts of a form to the `content-type` that a header gave it.
    pub fn keep_boundary(&mut self, boundary: &str) -> Result<(), Unmet> {
        for (name, value) in &mut self.headers {
            if *name == CONTENT_TYPE {
                *value = form::with_boundary(value, boundary)?;
            }
        }
        Ok(())
    }

    /// Sets a body that is constant, or that all users share.
    pub fn body(&mut self, body: Bytes) {
        self.body = body;
    }

    /// Sets the body to `before` and `text`.
    pub fn body_parts(&mut self, mut before: Vec<u8>, text: String) {
        before.extend_from_slice(text.as_bytes());
        self.body = before.into();
        self.scratch = text;
    }

    /// Moves the GraphQL operation in the body into parameters of the URL: a request by GET has no body.
    pub fn move_graphql_to_query(&mut self) -> Result<(), Unmet> {
        let parameters = serde_json::from_slice(&self.body)
            .map_err(|error| format!("the body is no operation of GraphQL: {error}"))
            .and_then(|operation| {
                serde_urlencoded::to_string(graphql_parameters(&operation))
                    .map_err(|error| format!("the query cannot be written: {error}"))
            })
            .map_err(|reason| Unmet::Invalid { reason })?;
        self.body = Bytes::new();
        let mut url = self.target.to_string();
        form::append_query(&mut url, &parameters);
        self.url(&url)
    }

    /// Sets the body to `text`.
    pub fn body_text(&mut self, text: String) {
        self.body = Bytes::copy_from_slice(text.as_bytes());
        self.scratch = text;
    }
}

/// The URL by which a WebSocket is opened: `ws://` and `wss://` are HTTP on the way to `101`.
pub(super) fn opening_url(url: &str) -> Cow<'_, str> {
    for (scheme, http) in [("ws://", "http://"), ("wss://", "https://")] {
        let start = url.get(..scheme.len());
        if start.is_some_and(|start| start.eq_ignore_ascii_case(scheme)) {
            return format!("{http}{}", &url[scheme.len()..]).into();
        }
    }
    url.into()
}

/// Parses `url` into a target.
pub(super) fn target(url: &str) -> Result<RequestTarget, String> {
    parse(url, || Bytes::copy_from_slice(url.as_bytes()))
}

/// `bytes` are those of `url`; they are made once, since the first clone of owned bytes allocates.
fn parse(url: &str, bytes: impl FnOnce() -> Bytes) -> Result<RequestTarget, String> {
    let parsed = if url.starts_with('/') {
        PathAndQuery::from_maybe_shared(bytes()).map(RequestTarget::Path)
    } else if is_absolute(url) {
        Uri::from_maybe_shared(bytes()).map(RequestTarget::Absolute)
    } else {
        return Err(invalid_url(url, NO_URL));
    };
    parsed.map_err(|error| invalid_url(url, &error.to_string()))
}

pub(super) fn is_absolute(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// Replaces the URL in the error by `url` as the source has it, since the real one holds a value of a row.
///
/// # Errors
/// That of `written`.
pub fn without_row(written: Result<(), Unmet>, url: &str) -> Result<(), Unmet> {
    written.map_err(|unmet| match unmet {
        Unmet::Invalid { reason } if reason.starts_with(URL) => {
            let why = reason.rsplit_once("`: ").map_or("", |(_, why)| why);
            Unmet::Invalid {
                reason: format!("{URL}{url}`: {why}"),
            }
        }
        other => other,
    })
}

/// The start of the message about an invalid URL; the URL, a closing mark and the reason follow.
pub(super) const URL: &str = "URL `";

/// The query stays out of the message: it may hold secrets. What would break its line is escaped.
fn invalid_url(url: &str, reason: &str) -> String {
    // Before it is cut: of a secret with a question mark, a part would be left.
    let url = redact::redact(url);
    let path = url.split('?').next().unwrap_or_default();
    let mut shown = String::new();
    for c in path.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    format!("{URL}{shown}`: {reason}")
}
