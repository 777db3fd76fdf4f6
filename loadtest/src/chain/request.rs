//! The request a step returns.

use super::{RequestBuf, Unmet};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};
use std::marker::PhantomData;
use std::time::Duration;

/// What a step returns: a request for the engine to send.
///
/// `T` is the type its JSON response is read into; `Request` alone is `Request<()>`, whose response
/// body is not read. The methods are named as those of `reqwest::RequestBuilder`. A mistake in the
/// values, such as a line break in a header, is kept until the request is to be sent; the step then
/// fails as invalid.
///
/// ```
/// use loadtest::prelude::*;
///
/// let request: Request<Value> = Request::post("/orders")
///     .bearer_auth("token")
///     .json(&json!({ "product": 7 }));
/// ```
#[must_use = "a request is sent when a step returns it"]
pub struct Request<T = ()> {
    method: Method,
    url: Cow<'static, str>,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    is_json: bool,
    timeout: Option<Duration>,
    mistake: Option<String>,
    response: PhantomData<fn() -> T>,
}

impl<T> Request<T> {
    /// A request to `url`: a path that starts with `/`, or an absolute URL.
    pub fn new(method: Method, url: impl Into<Cow<'static, str>>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Bytes::new(),
            is_json: false,
            timeout: None,
            mistake: None,
            response: PhantomData,
        }
    }

    /// A `GET` request.
    pub fn get(url: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Method::GET, url)
    }

    /// A `POST` request.
    pub fn post(url: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Method::POST, url)
    }

    /// A `PUT` request.
    pub fn put(url: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Method::PUT, url)
    }

    /// A `PATCH` request.
    pub fn patch(url: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Method::PATCH, url)
    }

    /// A `DELETE` request.
    pub fn delete(url: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Method::DELETE, url)
    }

    /// A `HEAD` request.
    pub fn head(url: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Method::HEAD, url)
    }

    /// An `OPTIONS` request.
    pub fn options(url: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Method::OPTIONS, url)
    }

    /// Adds a header; one of the same name stays.
    pub fn header<K, V>(mut self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K>,
        <HeaderName as TryFrom<K>>::Error: Into<http::Error>,
        HeaderValue: TryFrom<V>,
        <HeaderValue as TryFrom<V>>::Error: Into<http::Error>,
    {
        match HeaderName::try_from(name) {
            Ok(name) => match HeaderValue::try_from(value) {
                Ok(value) => self.headers.push((name, value)),
                Err(error) => self.note(format!("header `{name}`: {}", error.into())),
            },
            Err(error) => self.note(error.into().to_string()),
        }
        self
    }

    /// Adds `headers`; those of the same names are replaced.
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers.retain(|(name, _)| !headers.contains_key(name));
        let mut last = None;
        for (name, value) in headers {
            // a name that comes again comes without itself
            last = name.or(last);
            self.headers.extend(last.clone().map(|name| (name, value)));
        }
        self
    }

    /// Sets the body to `body` as JSON, with a `content-type` unless another one is given.
    pub fn json<B: serde::Serialize + ?Sized>(mut self, body: &B) -> Self {
        match serde_json::to_vec(body) {
            Ok(body) => {
                self.body = body.into();
                self.is_json = true;
            }
            Err(error) => self.note(format!("the body cannot be written as JSON: {error}")),
        }
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.is_json = false;
        self
    }

    /// Adds `authorization: Bearer <token>`.
    pub fn bearer_auth(self, token: impl Display) -> Self {
        self.authorization(&format!("Bearer {token}"))
    }

    /// Adds `authorization: Basic <username:password in base64>`.
    pub fn basic_auth<U: Display, P: Display>(self, username: U, password: Option<P>) -> Self {
        use base64::prelude::{BASE64_STANDARD, Engine as _};
        let mut credentials = format!("{username}:");
        if let Some(password) = password {
            let _ = write!(credentials, "{password}");
        }
        self.authorization(&format!("Basic {}", BASE64_STANDARD.encode(credentials)))
    }

    /// Sets the time the request may take, over that of its step.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    fn authorization(mut self, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(mut value) => {
                value.set_sensitive(true);
                self.headers.push((AUTHORIZATION, value));
            }
            Err(error) => self.note(format!("header `{AUTHORIZATION}`: {error}")),
        }
        self
    }

    /// Keeps the first mistake.
    fn note(&mut self, mistake: String) {
        self.mistake.get_or_insert(mistake);
    }

    /// Moves the request into `buffer`.
    #[doc(hidden)]
    pub fn write(self, buffer: &mut RequestBuf) -> Result<(), Unmet> {
        if let Some(reason) = self.mistake {
            return Err(Unmet::Invalid { reason });
        }
        buffer.start(self.method);
        match self.url {
            Cow::Borrowed(url) => buffer.url_static(url)?,
            Cow::Owned(url) => buffer.url(&url)?,
        }
        let typed = self.headers.iter().any(|(name, _)| name == CONTENT_TYPE);
        buffer.headers.extend(self.headers);
        if self.is_json && !typed {
            buffer.content_type_json();
        }
        buffer.body = self.body;
        buffer.timeout = self.timeout;
        Ok(())
    }
}

impl<T> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.len())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
