//! The request builder of async steps, modelled on `reqwest`.

use super::{EventStream, Http, HttpError, NO_BASE};
use crate::chain::graph::{Graph, graphql_parameters};
use crate::chain::response::FromBody;
use crate::chain::write::{NO_URL, is_absolute};
use crate::chain::{Credential, Error};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use loadtest_model::definition::StreamDef;
use loadtest_model::graphql::Document;
use reqwest::{Body, RequestBuilder};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};
use std::time::Duration;

/// It builds requests, and never sends one. Proxies would be looked up where it is made.
static CLIENT: LazyLock<Result<reqwest::Client, HttpError>> = LazyLock::new(|| {
    reqwest::Client::builder()
        .no_proxy()
        .build()
        .map_err(|error| HttpError::unsent(&error))
});

/// A request on its way to be sent; its methods are those of `reqwest::RequestBuilder`.
///
/// A mistake in the values is kept until it is to be sent.
#[must_use = "nothing is sent before `send().await`"]
pub struct HttpRequest<'a> {
    http: &'a Http,
    request: Result<RequestBuilder, HttpError>,
    is_relative: bool,
    is_get: bool,
    name: Option<String>,
    jar: Option<&'static str>,
    is_graphql: bool,
    stream: StreamDef,
}

impl<'a> HttpRequest<'a> {
    pub(super) fn new(http: &'a Http, method: Method, url: &str) -> Self {
        let is_relative = url.starts_with('/');
        let is_get = method == Method::GET;
        let request = match &*CLIENT {
            Err(error) => Err(error.clone()),
            Ok(client) if is_relative => Ok(client.request(method, format!("{NO_BASE}{url}"))),
            Ok(client) if is_absolute(url) => Ok(client.request(method, url)),
            Ok(_) => {
                let path = url.split('?').next().unwrap_or_default();
                let path = path.escape_debug();
                Err(HttpError::invalid(format!("URL `{path}`: {NO_URL}")))
            }
        };
        Self {
            http,
            request,
            is_relative,
            is_get,
            name: None,
            jar: None,
            is_graphql: false,
            stream: StreamDef::UNDECLARED,
        }
    }

    fn with(mut self, change: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        self.request = self.request.map(change);
        self
    }

    /// Names the row of the report that the request is counted in; without one that is the method and
    /// the path, in which `{}` stands for what looks like an id.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Reads and keeps cookies in the jar `jar` of the virtual user, instead of in its own. It is that of steps with
    /// `jar = admin`.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn approval() {
    ///     #[step]
    ///     async fn approve(http: &mut Http) -> Result<(), Error> {
    ///         http.post("/login").json(&json!({ "user": "boss" })).jar("admin").send().await?;
    ///         http.post("/orders/7/approval").jar("admin").send().await?.error_for_status()?;
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn jar(mut self, jar: &'static str) -> Self {
        self.jar = Some(jar);
        self
    }

    /// Adds a header; one of the same name stays.
    pub fn header<K, V>(self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K>,
        <HeaderName as TryFrom<K>>::Error: Into<http::Error>,
        HeaderValue: TryFrom<V>,
        <HeaderValue as TryFrom<V>>::Error: Into<http::Error>,
    {
        self.with(|request| request.header(name, value))
    }

    /// Adds `headers`; those of the same names are replaced.
    pub fn headers(self, headers: HeaderMap) -> Self {
        self.with(|request| request.headers(headers))
    }

    /// Adds to the query of the URL.
    pub fn query<T: Serialize + ?Sized>(self, query: &T) -> Self {
        self.with(|request| request.query(query))
    }

    /// Sets the body to `body` as JSON.
    pub fn json<T: Serialize + ?Sized>(self, body: &T) -> Self {
        self.with(|request| request.json(body))
    }

    /// Sets the body to `form` as the fields of a form.
    pub fn form<T: Serialize + ?Sized>(self, form: &T) -> Self {
        self.with(|request| request.form(form))
    }

    /// Sets the body.
    pub fn body(self, body: impl Into<Body>) -> Self {
        self.with(|request| request.body(body))
    }

    /// Sets the body to the parts of a form.
    pub fn multipart(self, form: impl Into<reqwest::multipart::Form>) -> Self {
        self.with(|request| request.multipart(form.into()))
    }

    /// Adds `authorization: Bearer <token>`.
    pub fn bearer_auth(self, token: impl Credential) -> Self {
        self.with(|request| request.bearer_auth(token.into_text()))
    }

    /// Adds `authorization: Basic <username:password in base64>`.
    pub fn basic_auth<U: Credential, P: Credential>(
        self,
        username: U,
        password: Option<P>,
    ) -> Self {
        let password = password.map(Credential::into_text);
        self.with(|request| request.basic_auth(username.into_text(), password))
    }

    /// Sets the time the request may take, over that of its step.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|request| request.timeout(timeout))
    }

    /// Sets the longest time without an event of a stream that is read by [`events`](Self::events); without it, 30 s.
    pub fn idle(mut self, idle: Duration) -> Self {
        self.stream.idle = idle;
        self
    }

    /// Sets the longest time in which nothing comes of such a stream: a heartbeat that is no event, such as a comment,
    /// counts too.
    pub fn idle_bytes(mut self, idle: Duration) -> Self {
        self.stream.idle_counts_bytes = true;
        self.idle(idle)
    }

    /// Sends it and reads the answer as a stream of events, each of them as it comes; a status other than 2xx is an error.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[response]
    /// struct Notice { state: String }
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn follow() {
    ///     #[step(first_event.p99 < 1s)]
    ///     async fn watch(http: &mut Http) -> Result<Notice, Error> {
    ///         let mut events = http.get("/orders/7/events").events::<Notice>().await?;
    ///         while let Some(notice) = events.next().await? {
    ///             if notice.state == "shipped" {
    ///                 return Ok(notice.into_data());
    ///             }
    ///         }
    ///         Err("the stream ended before the order was shipped".into())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// It could not be made, was not answered, or the answer is no stream of events.
    pub async fn events<T: FromBody>(self) -> Result<EventStream<'a, T>, HttpError> {
        let request = self.request?;
        let request = request
            .build()
            .map_err(|error| HttpError::unsent(&error.without_url()))?;
        let mut buffer = (self.http)
            .to_buffer(request, self.is_relative, self.jar)
            .await?;
        buffer.is_graphql = T::IS_GRAPHQL;
        let sender = &self.http.sender;
        EventStream::open(sender.open_stream(buffer, self.name, self.stream)?).await
    }

    /// Sends the GraphQL `document` with its `variables`, by GET as parameters of the URL, and reads the answer from its `data`; an answer with `errors`
    /// is an error, as is a status other than 2xx. Without a [`name`](Self::name), the operation names the row:
    /// `query Cart`.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[response]
    /// struct Page { orders: Vec<Value>, next: Option<u64> }
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn orders() {
    ///     #[step]
    ///     async fn all(http: &mut Http) -> Result<usize, Error> {
    ///         let (mut count, mut next) = (0, Some(0));
    ///         while let Some(from) = next {
    ///             let document = "query Orders($from: Int!) { orders(from: $from) { id } next(from: $from) }";
    ///             let page: Graph<Page> = http.post("/graphql").graphql(document, &json!({ "from": from })).await?;
    ///             count += page.orders.len();
    ///             next = page.next;
    ///         }
    ///         Ok(count)
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// It could not be made, was not answered, has errors, or its data is no `T`.
    pub async fn graphql<T: FromBody>(
        mut self,
        document: impl AsRef<str>,
        variables: &(impl Serialize + ?Sized),
    ) -> Result<Graph<T>, Error> {
        let document = document.as_ref();
        if self.name.is_none() {
            let parsed = Document::parse(document).ok();
            self.name = parsed.map(|parsed| parsed.operations[0].label());
        }
        let body = json!({ "query": document, "variables": variables });
        self.is_graphql = true;
        let request = if self.is_get {
            self.query(&graphql_parameters(&body))
        } else {
            self.json(&body)
        };
        let (body, refused) = request.send_graphql().await?;
        Graph::from_answer(&body, refused)
    }

    /// Sends several operations of GraphQL as one request, each a document with its variables, and reads their answers,
    /// in their order, as [`graphql`](Self::graphql) does; the errors of any are an error.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn shop() {
    ///     #[step]
    ///     async fn start(http: &mut Http) -> Result<(), Error> {
    ///         let operations = [
    ///             ("query Cart($id: ID!) { cart(id: $id) { total } }", json!({ "id": 7 })),
    ///             ("query Menu { menu { title } }", json!({})),
    ///         ];
    ///         let request = http.post("/graphql").name("start page");
    ///         let answers: Vec<Graph<Value>> = request.graphql_batch(operations).await?;
    ///         match answers[0]["cart"]["total"].as_f64() {
    ///             Some(_) => Ok(()),
    ///             None => Err("the cart has no total".into()),
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// It could not be made, was not answered, an answer is missing or has errors, or its data is no `T`.
    pub async fn graphql_batch<T: FromBody>(
        mut self,
        operations: impl IntoIterator<Item = (impl AsRef<str>, Value)>,
    ) -> Result<Vec<Graph<T>>, Error> {
        let operations = operations.into_iter().map(
            |(document, variables)| json!({ "query": document.as_ref(), "variables": variables }),
        );
        let operations: Vec<Value> = operations.collect();
        self.is_graphql = true;
        let (body, refused) = self.json(&operations).send_graphql().await?;
        Graph::from_batch(&body, operations.len(), refused)
    }

    /// Sends it, and returns the body with the error of its status.
    async fn send_graphql(self) -> Result<(Bytes, Option<Error>), Error> {
        let answer = self.send().await?;
        let refused = answer.error_for_status_ref().err();
        Ok((answer.bytes().await?, refused.map(Error::from)))
    }

    /// Sends it and waits for the last byte of the answer, whatever its status.
    ///
    /// # Errors
    /// It could not be made, or was not answered in full.
    pub async fn send(self) -> Result<reqwest::Response, HttpError> {
        let request = self.request?;
        let request = request
            .build()
            .map_err(|error| HttpError::unsent(&error.without_url()))?;
        self.http
            .exchange(
                request,
                self.is_relative,
                self.name.as_deref(),
                (self.jar, self.is_graphql),
            )
            .await
    }
}

/// Says what to write where a request is awaited that was not sent. No type implements it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a request is sent by `send()`: write `.send().await`",
    label = "nothing is sent yet: write `.send().await`"
)]
pub trait SentFirst<'a> {}

/// A request that is awaited before it is sent.
#[doc(hidden)]
#[derive(Debug)]
pub struct Unsent;

/// The bound never holds, so this is not a future: it is here so that the compiler prints the message of [`SentFirst`].
/// Without `for<'a>` it refuses a bound that is always false, and for one on `Self` it prints the message of `Future`.
#[doc(hidden)]
impl Future for HttpRequest<'_>
where
    for<'a> Unsent: SentFirst<'a>,
{
    type Output = Result<reqwest::Response, HttpError>;

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Pending
    }
}

impl fmt::Debug for HttpRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("request", &self.request)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
