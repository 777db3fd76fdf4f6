//! The request a step returns.

use super::graph::{GRAPHQL_PATH, Graph};
use super::socket::Socket;
use super::write::{UNFIT_VALUE, opening_url, target, unfit_name};
use super::{Credential, RequestBuf, RequestTarget, Unmet, form};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::multipart::Form;
use serde_json::json;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// A request for the engine to send, as a step returns it.
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
    target: RequestTarget,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    /// The content type of the body, for requests that set none.
    content_type: Option<HeaderValue>,
    timeout: Option<Duration>,
    /// True if the fields of the body, an operation of GraphQL, go to the query of the URL.
    is_graphql_by_get: bool,
    mistake: Option<String>,
    response: PhantomData<fn() -> T>,
}

impl<T> Request<T> {
    /// A request to `url`: a path that starts with `/`, or an absolute URL; of any text, such as a
    /// `&String` of an earlier answer.
    pub fn new(method: Method, url: impl AsRef<str>) -> Self {
        let mut request = Self {
            method,
            target: RequestTarget::default(),
            headers: Vec::new(),
            body: Bytes::new(),
            content_type: None,
            timeout: None,
            is_graphql_by_get: false,
            mistake: None,
            response: PhantomData,
        };
        request.set_target(url.as_ref());
        request
    }

    /// A `GET` request.
    pub fn get(url: impl AsRef<str>) -> Self {
        Self::new(Method::GET, url)
    }

    /// A `POST` request.
    pub fn post(url: impl AsRef<str>) -> Self {
        Self::new(Method::POST, url)
    }

    /// A `PUT` request.
    pub fn put(url: impl AsRef<str>) -> Self {
        Self::new(Method::PUT, url)
    }

    /// A `PATCH` request.
    pub fn patch(url: impl AsRef<str>) -> Self {
        Self::new(Method::PATCH, url)
    }

    /// A `DELETE` request.
    pub fn delete(url: impl AsRef<str>) -> Self {
        Self::new(Method::DELETE, url)
    }

    /// A `HEAD` request.
    pub fn head(url: impl AsRef<str>) -> Self {
        Self::new(Method::HEAD, url)
    }

    /// An `OPTIONS` request.
    pub fn options(url: impl AsRef<str>) -> Self {
        Self::new(Method::OPTIONS, url)
    }

    /// Adds a header; one of the same name stays. The name is text or a [`HeaderName`].
    pub fn header<K, V>(mut self, name: K, value: V) -> Self
    where
        K: AsRef<[u8]>,
        HeaderValue: TryFrom<V>,
        <HeaderValue as TryFrom<V>>::Error: Into<http::Error>,
    {
        let name = name.as_ref();
        match HeaderName::from_bytes(name) {
            Ok(name) => match HeaderValue::try_from(value) {
                Ok(value) => self.headers.push((name, value)),
                Err(_) => self.note(format!("header `{name}`: {UNFIT_VALUE}")),
            },
            Err(_) => self.note(unfit_name(name)),
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

    /// Adds `query` to the query of the URL, percent-encoded: a map, a struct, or a list of pairs.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// let request: Request = Request::get("/products?page=2").query(&[("q", "bread & butter")]);
    /// # let _ = request; // GET /products?page=2&q=bread+%26+butter
    /// ```
    pub fn query<Q: serde::Serialize + ?Sized>(mut self, query: &Q) -> Self {
        match serde_urlencoded::to_string(query) {
            Ok(pairs) => {
                let mut url = self.target.to_string();
                form::append_query(&mut url, &pairs);
                self.set_target(&url);
            }
            Err(error) => self.note(format!("the query cannot be written: {error}")),
        }
        self
    }

    /// Sets the body to `body` as JSON, with a `content-type` unless another one is given.
    pub fn json<B: serde::Serialize + ?Sized>(mut self, body: &B) -> Self {
        match serde_json::to_vec(body) {
            Ok(body) => self.set_body(body, Some(form::JSON)),
            Err(error) => self.note(format!("the body cannot be written as JSON: {error}")),
        }
        self
    }

    /// Sets the body to `form` as a browser sends a form: a map, a struct, or a list of pairs. With a
    /// `content-type` unless another one is given.
    pub fn form<F: serde::Serialize + ?Sized>(mut self, form: &F) -> Self {
        match serde_urlencoded::to_string(form) {
            Ok(body) => self.set_body(body, Some(form::URL_ENCODED)),
            Err(error) => self.note(format!("the form cannot be written: {error}")),
        }
        self
    }

    /// Sets the body to the parts of `form`, with a `content-type` unless another one is given, which gets
    /// their boundary as with curl.
    ///
    /// The parts are in memory: made from text or bytes, or from a [`File`](crate::File). The line
    /// that separates them is drawn at random and is part of no plan; a step that is declared,
    /// `multipart = { .. }`, always has the same.
    pub fn multipart(mut self, form: impl Into<Form>) -> Self {
        let form = form.into();
        let content_type = form::multipart(form.boundary());
        match (form::collect(form), content_type) {
            (Ok(body), Ok(content_type)) => self.set_body(body, Some(content_type)),
            (Err(reason), _) => self.note(reason),
            (_, Err(error)) => self.note(format!("header `{CONTENT_TYPE}`: {error}")),
        }
        self
    }

    /// Sets the body to text or bytes. Bytes that are shared - [`Bytes`], a
    /// [`&File`](crate::File), a `&'static str` - are not copied.
    ///
    /// No `content-type` goes with it.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.set_body(body, None);
        self
    }

    /// Adds `authorization: Bearer <token>`.
    pub fn bearer_auth(self, token: impl Credential) -> Self {
        self.authorization(&format!("Bearer {}", token.into_text()))
    }

    /// Adds `authorization: Basic <username:password in base64>`.
    pub fn basic_auth<U: Credential, P: Credential>(
        self,
        username: U,
        password: Option<P>,
    ) -> Self {
        use base64::prelude::{BASE64_STANDARD, Engine as _};
        let password = password.map_or_else(String::new, Credential::into_text);
        let credentials = format!("{}:{password}", username.into_text());
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
            Err(_) => self.note(format!("header `{AUTHORIZATION}`: {UNFIT_VALUE}")),
        }
        self
    }

    fn set_body(&mut self, body: impl Into<Bytes>, content_type: Option<HeaderValue>) {
        self.body = body.into();
        self.content_type = content_type;
    }

    fn set_target(&mut self, url: &str) {
        match target(url) {
            Ok(target) => self.target = target,
            Err(mistake) => self.note(mistake),
        }
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
        buffer.target = self.target;
        let typed = self.headers.iter().any(|(name, _)| name == CONTENT_TYPE);
        buffer.headers.extend(self.headers);
        if let Some(content_type) = self.content_type {
            if !typed {
                buffer.header(CONTENT_TYPE, content_type);
            } else if let Some(boundary) = form::boundary(&content_type) {
                buffer.keep_boundary(boundary)?;
            }
        }
        buffer.body = self.body;
        buffer.timeout = self.timeout;
        if self.is_graphql_by_get {
            buffer.move_graphql_to_query()?;
        }
        Ok(())
    }
}

impl<T> Request<Socket<T>> {
    /// A request that opens a WebSocket at `url`: a path that starts with `/`, or `ws://host/path` or `wss://host/path`.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// let request: Request<Socket<Value>> = Request::websocket("/rooms/7").bearer_auth("token");
    /// ```
    pub fn websocket(url: impl AsRef<str>) -> Self {
        Self::new(Method::GET, opening_url(url.as_ref()))
    }
}

impl<T> Request<Graph<T>> {
    /// A request that posts the GraphQL `document` to `/graphql`.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// let request: Request<Graph<Value>> = Request::graphql("mutation Add($id: ID!) { add(product: $id) { total } }")
    ///     .variables(&json!({ "id": 7 }))
    ///     .bearer_auth("token");
    /// ```
    pub fn graphql(document: impl AsRef<str>) -> Self {
        Self::post(GRAPHQL_PATH).json(&json!({ "query": document.as_ref() }))
    }

    /// Sets the variables of the operation: a map, a struct, or `json!({ .. })`.
    pub fn variables<V: serde::Serialize + ?Sized>(self, variables: &V) -> Self {
        self.add_field("variables", variables)
    }

    /// Names the operation to run, of a document with several.
    pub fn operation(self, name: impl AsRef<str>) -> Self {
        self.add_field("operationName", name.as_ref())
    }

    /// Sets what is added for the server, such as the hash of a persisted query.
    pub fn extensions<V: serde::Serialize + ?Sized>(self, extensions: &V) -> Self {
        self.add_field("extensions", extensions)
    }

    /// Sends it by GET, which caches may answer: document, variables and extensions are parameters of the URL. Servers
    /// refuse mutations that come so.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// let hash = json!({ "persistedQuery": { "version": 1, "sha256Hash": "ecf4edb46db40b5132295c0291d62fb6" } });
    /// let request: Request<Graph<Value>> = Request::graphql("query Menu { menu { title } }").extensions(&hash).by_get();
    /// ```
    pub fn by_get(mut self) -> Self {
        self.method = Method::GET;
        self.content_type = None;
        self.is_graphql_by_get = true;
        self
    }

    /// Sends it to `url` instead of `/graphql`.
    pub fn url(mut self, url: impl AsRef<str>) -> Self {
        self.set_target(url.as_ref());
        self
    }

    /// Adds a field to the body, which is an object.
    fn add_field<V: serde::Serialize + ?Sized>(mut self, name: &str, value: &V) -> Self {
        match (serde_json::to_string(value), self.body.strip_suffix(b"}")) {
            (Ok(value), Some(start)) => {
                let field = format!(",\"{name}\":{value}}}");
                self.body = [start, field.as_bytes()].concat().into();
            }
            (Ok(_), None) => self.note(format!("the body has no placeholder `{name}`")),
            (Err(error), _) => self.note(format!("`{name}` cannot be written as JSON: {error}")),
        }
        self
    }
}

impl<T> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &format_args!("{}", self.target))
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.len())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
