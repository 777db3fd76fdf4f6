//! The HTTP client of async steps. No I/O here: the engine provides the sender.

pub(crate) mod event_stream;
pub(crate) mod failure;
pub(crate) mod request;
pub(crate) mod returned;

pub(crate) use event_stream::EventStream;
pub(crate) use failure::HttpError;
pub(crate) use request::HttpRequest;

use super::beat::Tick;
use super::grpc::{BegunCall, CallRefusal, Grpc};
use super::{Error, Net, RawResponse, RequestBuf, RequestTarget, Unmet};
use crate::transport::events::RawEvent;
use crate::transport::grpc::CallLog;
use crate::transport::{Failure, OperationTarget, Phases, Sockets, Traffic};
use futures_util::future::join_all;
use http::{HeaderName, HeaderValue, Method, Version};
use http_body_util::BodyExt;
use loadtest_model::definition::StreamDef;
use reqwest::ResponseBuilderExt;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// The base of a relative URL if the scenario has none.
const NO_BASE: &str = "http://base.invalid";

/// A future that stays on its thread.
pub(crate) type Local<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The HTTP client of a step that sends for itself, over the connections of its virtual user.
///
/// Its methods are named as those of `reqwest`, and its answers are [`reqwest::Response`]s. A path is
/// joined to the base of the scenario; an absolute URL is put to the guard as everywhere. An answer is
/// read to its end before `send` returns, and whatever its status is, it is no error.
///
/// ```
/// use loadtest::prelude::*;
/// use std::time::Duration;
///
/// #[response]
/// struct Order { id: u64, status: String }
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn ordering() {
///     #[step(post = "/orders", expect = 201)]
///     fn buy() -> Order;
///
///     #[step]
///     async fn wait(buy: &Order, http: &mut Http) -> Result<Order, Error> {
///         for _ in 0..20 {
///             let url = format!("/orders/{}", buy.id);
///             let order: Order = http.get(url).send().await?.json().await?;
///             if order.status == "done" {
///                 return Ok(order);
///             }
///             http.pause(Duration::from_millis(500)).await;
///         }
///         Err(Error::msg("never done"))
///     }
/// }
/// ```
pub struct Http {
    sender: Rc<dyn StepSender>,
    /// The last answer; in a box, since steps may hold this for long without one.
    last: RefCell<Option<Box<RawResponse>>>,
    /// The headers that a request gets unless it sets them.
    defaults: Vec<(HeaderName, HeaderValue)>,
    /// The cookie jar of requests that name none.
    jar: Option<&'static str>,
}

/// The engine's side of [`Http`]: it sends over the transport of the user, and measures.
pub(crate) trait StepSender {
    /// Sends `request` and waits for the answer, whatever its status; `name` is that of its row in
    /// the report, where the step gives one.
    fn send<'a>(
        &'a self,
        request: &'a RequestBuf,
        name: Option<&'a str>,
    ) -> Local<'a, Result<RawResponse, HttpError>>;

    /// Begins a request whose answer is read as a stream of events, as `def` says; with `request.is_graphql` as one of
    /// answers of GraphQL.
    ///
    /// # Errors
    /// Streams cannot be read here.
    fn open_stream(
        &self,
        request: RequestBuf,
        name: Option<String>,
        def: StreamDef,
    ) -> Result<Box<dyn EventSource + '_>, HttpError>;

    /// Pauses, which is part of no latency.
    fn pause(&self, time: Duration) -> Local<'_, ()>;

    /// Waits for what is no operation, for as long as one of the step may take; the time as an error where it takes longer.
    fn bound<'a>(
        &'a self,
        wait: Local<'a, Result<(), Failure>>,
    ) -> Local<'a, Result<(), WaitError>>;

    /// Waits until `due`, the tick with this number, from which the next operation counts; false once no more is to be
    /// sent.
    fn tick(&self, tick: Tick) -> Local<'_, bool>;

    /// Never ready: drops the step, in which something is waited for that nothing is due to bring, when the load is over.
    fn end_listening(&self) -> Local<'_, ()>;

    /// Counts a check that passed or failed.
    fn count_check(&self, name: &str, holds: bool);

    /// Begins an operation over `target`, which counts in the row `name`.
    ///
    /// # Errors
    /// It may not happen now.
    fn begin_operation<'a>(
        &'a self,
        name: &'a str,
        target: OperationTarget<'a>,
    ) -> Local<'a, Result<Box<dyn Operation + 'a>, Failure>>;

    /// Returns what clients of the scenario's own connect over, where they can.
    fn sockets(&self) -> Option<&Sockets>;

    /// Begins a gRPC call to `uri`, a path or an absolute URL.
    ///
    /// # Errors
    /// It may not be sent now.
    fn begin_call(&self, uri: &http::Uri) -> Result<BegunCall, CallRefusal>;

    /// Ready when a call that is read as a stream is to end, since the load is over. One without messages does so only
    /// where a journey is tried.
    fn poll_stream_end(
        &self,
        number: u64,
        has_messages: bool,
        context: &mut Context<'_>,
    ) -> Poll<()>;

    /// Counts a call that has ended, or that was given up.
    fn end_call(&self, number: u64, log: &mut CallLog);

    /// Runs `connection` until it ends or the user does; it yields why it failed, if it did.
    fn drive(&self, connection: Local<'static, Option<String>>);
}

/// The reason why a wait that is no operation failed.
#[derive(Debug)]
pub(crate) enum WaitError {
    Failed(Failure),
    /// It took longer than this.
    TimedOut(Duration),
}

/// The engine's side of an operation under way. One that is dropped was given up.
pub(crate) trait Operation {
    /// The time it has, unless it says otherwise.
    fn timeout(&self) -> Duration;

    /// Counts it, and returns how a connection failed that was driven meanwhile, if the operation has failed too.
    fn finish(self: Box<Self>, end: OperationEnd) -> Option<String>;
}

/// How an operation ended.
#[derive(Debug, Default)]
pub(crate) struct OperationEnd {
    pub(crate) failure: Option<Failure>,
    pub(crate) phases: Phases,
    /// What passed besides what went over connections of `net`.
    pub(crate) traffic: Traffic,
    /// The time at which it ended, where that is known better than by when it is counted.
    pub(crate) at: Option<Instant>,
}

/// The engine's side of an [`EventStream`]: a request under way, which ends when this is dropped.
pub(crate) trait EventSource {
    /// Waits until the answer is known to be a stream.
    fn poll_opened(&mut self, context: &mut Context<'_>) -> Poll<Result<(), HttpError>>;

    /// Waits for the next event; `None` after the last.
    fn poll_event(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<RawEvent>, HttpError>>;

    /// Ends the stream, which has failed since an event cannot be read.
    fn fail(&mut self, failure: Failure);
}

/// The reason why an async step has no response.
#[derive(Debug)]
pub enum Halt {
    /// It did not run.
    Unmet(Unmet),
    /// It failed.
    Failed(Error),
}

impl From<Unmet> for Halt {
    fn from(unmet: Unmet) -> Self {
        Self::Unmet(unmet)
    }
}

impl Http {
    /// Creates a client that sends over `sender`.
    #[doc(hidden)]
    pub(crate) fn new(sender: Rc<dyn StepSender>) -> Self {
        Self {
            sender,
            last: RefCell::default(),
            defaults: Vec::new(),
            jar: None,
        }
    }

    /// Returns what it sends with.
    pub(super) fn sender(&self) -> Rc<dyn StepSender> {
        Rc::clone(&self.sender)
    }

    /// Sets the cookie jar of requests that name none.
    #[doc(hidden)]
    pub fn set_jar(&mut self, jar: &'static str) {
        self.jar = Some(jar);
    }

    /// Sets the headers that every request gets which does not set them itself.
    #[doc(hidden)]
    pub fn set_defaults(&mut self, request: RequestBuf) {
        self.defaults = request.headers;
    }

    /// Returns what clients of the scenario's own connect with.
    #[doc(hidden)]
    pub fn net(&self) -> Net {
        Net::new(Rc::clone(&self.sender))
    }

    /// Begins a `GET` request to `url`: a path that starts with `/`, or an absolute URL.
    pub fn get(&self, url: impl AsRef<str>) -> HttpRequest<'_> {
        self.request(Method::GET, url)
    }

    /// Begins a `POST` request.
    pub fn post(&self, url: impl AsRef<str>) -> HttpRequest<'_> {
        self.request(Method::POST, url)
    }

    /// Begins a `PUT` request.
    pub fn put(&self, url: impl AsRef<str>) -> HttpRequest<'_> {
        self.request(Method::PUT, url)
    }

    /// Begins a `PATCH` request.
    pub fn patch(&self, url: impl AsRef<str>) -> HttpRequest<'_> {
        self.request(Method::PATCH, url)
    }

    /// Begins a `DELETE` request.
    pub fn delete(&self, url: impl AsRef<str>) -> HttpRequest<'_> {
        self.request(Method::DELETE, url)
    }

    /// Begins a `HEAD` request.
    pub fn head(&self, url: impl AsRef<str>) -> HttpRequest<'_> {
        self.request(Method::HEAD, url)
    }

    /// Begins a request to `url`: a path that starts with `/`, or an absolute URL.
    pub fn request(&self, method: Method, url: impl AsRef<str>) -> HttpRequest<'_> {
        HttpRequest::new(self, method, url.as_ref())
    }

    /// Sends a request that was built elsewhere, with an absolute URL.
    ///
    /// # Errors
    /// It was not answered; an answer with any status is none.
    pub async fn execute(&self, request: reqwest::Request) -> Result<reqwest::Response, HttpError> {
        self.exchange(request, false, None, (None, false)).await
    }

    /// Sends `requests` at the same time, and waits for all; the answers come in their order.
    ///
    /// As with `tokio::join!` over several `send()`, each has a connection of its own, which the
    /// virtual user keeps.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn home() {
    ///     #[step]
    ///     async fn page(http: &mut Http) -> Result<(), Error> {
    ///         let parts = ["/menu", "/news", "/cart"];
    ///         for answer in http.batch(parts.map(|part| http.get(part))).await {
    ///             answer?.error_for_status()?;
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub async fn batch<'a>(
        &self,
        requests: impl IntoIterator<Item = HttpRequest<'a>>,
    ) -> Vec<Result<reqwest::Response, HttpError>> {
        join_all(requests.into_iter().map(HttpRequest::send)).await
    }

    /// Returns what gRPC clients send their calls over, as `tonic` generates them: `CartClient::new(http.grpc())`.
    ///
    /// Each call is an operation of the step, and counts in the row of its path: `shop.Cart/Add`. See [`Grpc`].
    pub fn grpc(&self) -> Grpc {
        Grpc::new(&self.defaults)
    }

    /// Pauses, which is part of no latency while no request is under way. The end of the load does not cut it short, nor does
    /// Ctrl-C; the end of the `grace` after them does, and the step is cancelled.
    pub async fn pause(&self, time: Duration) {
        self.sender.pause(time).await;
    }

    /// Counts a check of this step, and returns `holds`. A step with a failed check fails, as with `#[check]`; it goes on
    /// nevertheless, and the first check that failed is named.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[scenario(base = "http://127.0.0.1:3000", thresholds(checks > 99%))]
    /// fn shop() {
    ///     #[step]
    ///     async fn browse(http: &mut Http) -> Result<(), Error> {
    ///         let items: Vec<u64> = http.get("/items").send().await?.json().await?;
    ///         if http.check("has items", !items.is_empty()) {
    ///             http.get(format!("/items/{}", items[0])).send().await?;
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn check(&self, name: impl AsRef<str>, holds: bool) -> bool {
        self.sender.count_check(name.as_ref(), holds);
        holds
    }

    /// Sends `request`, of which only path and query count where it `is_relative`.
    async fn exchange(
        &self,
        request: reqwest::Request,
        is_relative: bool,
        name: Option<&str>,
        (jar, is_graphql): (Option<&'static str>, bool),
    ) -> Result<reqwest::Response, HttpError> {
        let url = request.url().clone();
        let mut buffer = self.to_buffer(request, is_relative, jar).await?;
        buffer.is_graphql = is_graphql;
        let answer = self.sender.send(&buffer, name).await?;
        let details = answer.details.as_deref();
        let mut response = http::Response::builder()
            .status(answer.status)
            .version(details.map_or_else(Version::default, |details| details.version))
            .url(details.map_or(url, |details| details.parsed_url().clone()))
            .body(answer.body.clone())
            .map_err(|error| HttpError::unsent(&error))?;
        response.headers_mut().clone_from(&answer.headers);
        self.last.replace(Some(Box::new(answer)));
        Ok(response.into())
    }

    /// The request as the engine takes it.
    async fn to_buffer(
        &self,
        request: reqwest::Request,
        is_relative: bool,
        jar: Option<&'static str>,
    ) -> Result<RequestBuf, HttpError> {
        let timeout = request.timeout().copied();
        let (head, body) = http::Request::<reqwest::Body>::try_from(request)
            .map_err(|error| HttpError::unsent(&error))?
            .into_parts();
        // What streams is sent in one piece, as every request is.
        let body = body
            .collect()
            .await
            .map_err(|error| HttpError::unsent(&error))?
            .to_bytes();
        let target = if is_relative {
            let path = head.uri.path_and_query().cloned();
            RequestTarget::Path(path.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/")))
        } else {
            RequestTarget::Absolute(head.uri)
        };
        let mut buffer = RequestBuf {
            method: head.method,
            target,
            body,
            timeout,
            jar: jar.or(self.jar),
            ..RequestBuf::default()
        };
        let mut last = None;
        for (name, value) in head.headers {
            // a name that comes again comes without itself
            last = name.or(last);
            buffer
                .headers
                .extend(last.clone().map(|name| (name, value)));
        }
        for (name, value) in &self.defaults {
            if buffer.lacks(name.as_str()) {
                buffer.header(name.clone(), value.clone());
            }
        }
        Ok(buffer)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}
