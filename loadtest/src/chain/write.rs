//! How generated code writes a request into the buffer of its virtual user.

use super::{RequestBuf, RequestTarget, Unmet};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method, Uri};

#[doc(hidden)]
impl RequestBuf {
    /// Begins a request; nothing of the one before stays.
    pub fn start(&mut self, method: Method) {
        self.method = method;
        self.headers.clear();
        self.body = Bytes::new();
        self.timeout = None;
    }

    /// Sets a path that the compiler has parsed.
    pub fn path(&mut self, path: PathAndQuery) {
        self.target = RequestTarget::Path(path);
    }

    /// Sets a URL that is known at compile time.
    pub fn url_static(&mut self, url: &'static str) -> Result<(), Unmet> {
        self.url(Bytes::from_static(url.as_bytes()))
    }

    /// Sets a URL: a path that starts with `/`, or an absolute one.
    pub fn url(&mut self, url: Bytes) -> Result<(), Unmet> {
        self.target = match url.first() {
            Some(b'/') => PathAndQuery::from_maybe_shared(url.clone()).map(RequestTarget::Path),
            _ if is_absolute(&url) => {
                Uri::from_maybe_shared(url.clone()).map(RequestTarget::Absolute)
            }
            _ => {
                return Err(invalid_url(
                    &url,
                    "it starts neither with `/` nor with `http://` or `https://`",
                ));
            }
        }
        .map_err(|error| invalid_url(&url, &error.to_string()))?;
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
        let url = Bytes::copy_from_slice(text.as_bytes());
        self.scratch = text;
        self.url(url)
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
            Err(error) => {
                return Err(Unmet::Invalid {
                    reason: format!("header `{name}`: {error}"),
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

    /// Adds `content-type: application/json`.
    pub fn content_type_json(&mut self) {
        self.headers.push((
            CONTENT_TYPE,
            const { HeaderValue::from_static("application/json") },
        ));
    }

    /// Sets a body that is known at compile time.
    pub fn body_static(&mut self, body: &'static str) {
        self.body = Bytes::from_static(body.as_bytes());
    }

    /// Sets the body to `text`.
    pub fn body_text(&mut self, text: String) {
        self.body = Bytes::copy_from_slice(text.as_bytes());
        self.scratch = text;
    }
}

fn is_absolute(url: &[u8]) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    })
}

/// The query stays out of the message: it may hold secrets.
fn invalid_url(url: &[u8], reason: &str) -> Unmet {
    let path = url.split(|&byte| byte == b'?').next().unwrap_or_default();
    Unmet::Invalid {
        reason: format!("URL `{}`: {reason}", String::from_utf8_lossy(path)),
    }
}
