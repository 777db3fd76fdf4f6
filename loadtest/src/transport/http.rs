//! The HTTP transport of one virtual user.

use super::cookies::CookieJar;
use super::deadline::{DeadlinePassed, DeadlineTimer};
use super::network::{Addresses, Network};
use super::pool::ConnectionPools;
use super::progress::CallProgress;
use super::redirect::Redirect;
use super::route::{Route, RouteSurroundings, UserParts};
use super::{Call, ErrorKind, Exchange, Failure, Received, Sockets, Transport, body};
use crate::redact;
use crate::targets::Origin;
use crate::transport::{RequestBuf, RequestTarget};
use http::uri::Authority;
use http::{Method, Version};
use loadtest_model::definition::Cookies;
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The most origins besides the base that a user keeps a connection to.
const MAX_ORIGINS: usize = 16;

/// The timeout that stands in for one that no clock can hold.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Sends the requests of one virtual user over HTTP, one connection to an origin for each request that
/// is under way at the same time.
pub(crate) struct HttpTransport {
    network: Arc<Network>,
    /// The number of the virtual user.
    number: u64,
    /// A copy of the user's own: threads that count references to one value slow each other down.
    base_url: Option<Arc<str>>,
    /// `None` for no cookies but those that steps set.
    jar: Option<RefCell<CookieJar>>,
    /// The idle lanes; the last is taken first.
    lanes: RefCell<Vec<Lane>>,
    /// Nothing came of the last call, which may not have waited: who fails so again and again is to let
    /// others have the thread.
    owes_a_turn: Cell<bool>,
    /// The last answer came over HTTP/2, which takes us longer than most targets. So answers are read one after another,
    /// and then requests are written: a target that sleeps is woken once for many.
    was_http2: Cell<bool>,
    /// True if every request and response is kept to be shown.
    is_watched: bool,
    /// The connections that it shares with other users, where it does.
    pools: Option<Rc<ConnectionPools>>,
    /// Made for the first client of the scenario's own.
    sockets: OnceCell<Box<Sockets>>,
}

/// A lane sends one request at a time.
struct Lane {
    deadline: DeadlineTimer,
    routes: LaneRoutes,
}

/// The routes of a lane; the base is the first, if there is one.
struct LaneRoutes(Vec<Route>);

impl HttpTransport {
    /// Makes the transport of virtual user number `user`; nothing is connected yet.
    pub(crate) fn new(network: Arc<Network>, user: u64) -> Self {
        Self {
            base_url: network.base_url().map(Arc::from),
            jar: (network.cookies != Cookies::Off).then(RefCell::default),
            lanes: RefCell::new(vec![Lane::new(&network, None, user)]),
            pools: None,
            number: user,
            owes_a_turn: Cell::new(false),
            was_http2: Cell::new(false),
            is_watched: false,
            sockets: OnceCell::new(),
            network,
        }
    }

    /// Keeps every request and its answer in [`Exchange::hops`].
    pub(crate) fn watched(mut self) -> Self {
        self.is_watched = true;
        self
    }
}

impl Lane {
    fn new(network: &Network, pools: Option<&Rc<ConnectionPools>>, user: u64) -> Self {
        let mut routes = LaneRoutes(Vec::with_capacity(1));
        if let Some(base) = network.base() {
            // The base was permitted when the network was prepared.
            if let Ok(addresses) = network.addresses(&base.origin) {
                let around = RouteSurroundings {
                    network,
                    pools,
                    user,
                };
                routes.add_route(around, base.origin.clone(), None, addresses);
            }
        }
        Self {
            deadline: DeadlineTimer::default(),
            routes,
        }
    }
}

#[cfg(test)]
impl HttpTransport {
    /// The address at which this user tries the base first.
    pub(super) fn first_address(&self) -> std::net::SocketAddr {
        let lanes = self.lanes.borrow();
        let base = &lanes[0].routes.0[0];
        base.addresses.all[base.preferred]
    }
}

impl Transport for HttpTransport {
    fn base_url(&self) -> Option<&Arc<str>> {
        self.base_url.as_ref()
    }

    fn is_withdrawn(&self) -> bool {
        self.network.halted().is_some()
    }

    fn owes_a_turn(&self) -> bool {
        // One task writes the requests over a shared connection anyway.
        self.was_http2.get() && self.pools.is_none()
    }

    fn sockets(&self) -> Option<&Sockets> {
        let make = || {
            let (network, pools) = (Arc::clone(&self.network), self.pools.clone());
            Box::new(Sockets::new(network, self.number, pools))
        };
        Some(self.sockets.get_or_init(make))
    }

    fn used_sockets(&self) -> Option<&Sockets> {
        self.sockets.get().map(|sockets| &**sockets)
    }

    fn share_connections(&mut self, numbers: &dyn Fn(u64) -> Vec<u64>) {
        if let Some(connections) = self.network.connections {
            let pools = ConnectionPools::of_thread(&self.network, || numbers(connections.into()));
            self.lanes = RefCell::new(vec![Lane::new(&self.network, Some(&pools), self.number)]);
            self.pools = Some(pools);
        }
    }

    #[inline]
    fn begin(&mut self) {
        if self.network.new_connections {
            self.lanes.get_mut().clear();
            if let Some(sockets) = self.sockets.get() {
                sockets.close_channels();
            }
        }
        if self.network.cookies == Cookies::Iteration
            && let Some(jar) = &mut self.jar
        {
            jar.get_mut().clear();
        }
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its arguments twice"
    )]
    fn send(&self, call: Call<'_>) -> impl Future<Output = Exchange> {
        async move {
            if self.owes_a_turn.take() {
                tokio::task::yield_now().await;
            }
            let start = Instant::now();
            let timeout = call
                .request
                .timeout
                .unwrap_or(call.timeout)
                .min(MAX_TIMEOUT);
            let mut progress = CallProgress::new(&call, start, self.is_watched);
            let idle = (!call.new_connection)
                .then(|| self.lanes.borrow_mut().pop())
                .flatten();
            // A call that is dropped takes its lane along: the connection is of no more use.
            let mut lane =
                idle.unwrap_or_else(|| Lane::new(&self.network, self.pools.as_ref(), self.number));
            let Lane { deadline, routes } = &mut lane;
            let outcome = {
                let exchange = pin!(self.exchange(routes, &call, &mut progress));
                deadline.run_until(start + timeout, exchange).await
            };
            let end = progress.known_end().unwrap_or_else(Instant::now);
            let opened = progress.upgrade.take().and_then(|upgrade| upgrade.opened);
            // A WebSocket has the connection now. Users that hold one need no lane until their next request.
            if !call.new_connection && (opened.is_none() || lane.routes.keep_any()) {
                self.lanes.borrow_mut().push(lane);
            }
            progress.finish_call(end);
            let result = match outcome {
                Ok(Ok(())) => decode_received(&mut progress),
                Ok(Err(failure)) => Err(progress.name_redirect(failure)),
                Err(DeadlinePassed) => {
                    Err(progress.name_redirect(progress.timeout_failure(timeout)))
                }
            };
            let socket = opened.and_then(|opened| Some(self.sockets()?.adopt(opened)));
            if let (Some(sent), Err(failure)) = (&mut progress.sent, &result) {
                sent.fail(failure.kind);
            }
            let is_http2 =
                (result.as_ref()).is_ok_and(|received| received.version == Version::HTTP_2);
            self.was_http2.set(is_http2);
            self.owes_a_turn.set(progress.traffic.requests == 0);
            Exchange {
                result,
                begun: start,
                service_time: end - start,
                phases: progress.phases,
                traffic: progress.traffic,
                redirected_to: progress.redirected_to.take(),
                socket,
                events: progress.stream.take().map(|stream| Box::new(stream.log)),
                hops: progress.hops.take(),
                requests: progress.sent.take(),
            }
        }
    }
}

/// The answer, its body decompressed, which is no part of any latency.
fn decode_received(progress: &mut CallProgress<'_>) -> Result<Received, Failure> {
    let Some(mut received) = progress.received.take() else {
        unreachable!("an exchange without a failure has an answer")
    };
    let encoding = &progress.encoding;
    match encoding.decode(&received.body) {
        Ok(None) => Ok(received),
        Ok(Some(body)) => {
            received.body = body;
            Ok(received)
        }
        Err(failure) => {
            let mut start = received.body;
            start.truncate(body::sample_read_limit());
            Err(Failure {
                status: Some(received.status),
                sample: body::sample_text(start.into(), encoding),
                headers: received.headers.into_boxed(),
                ..failure
            })
        }
    }
}

impl HttpTransport {
    /// Sends `call` and leaves the answer with `progress`.
    async fn exchange(
        &self,
        routes: &mut LaneRoutes,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
    ) -> Result<(), Failure> {
        if let (Some(jar), None) = (call.request.jar, &self.jar) {
            let words = format!("there is no cookie jar `{jar}`: the scenario has `cookies = off`");
            return Err(Failure::new(ErrorKind::StepError, words));
        }
        if call.websocket.is_some() && call.request.method != Method::GET {
            let words = format!(
                "a WebSocket is opened by GET, not by {}",
                call.request.method
            );
            return Err(Failure::new(ErrorKind::StepError, words));
        }
        let index = self.route_to(routes, &call.request.target)?;
        let route = &mut routes.0[index];
        let answer = route.exchange(self.user_parts(), call.request, call, progress);
        match answer.await? {
            None => Ok(()),
            // In a box, so that the requests of all others stay small.
            Some(redirect) => {
                Box::pin(self.follow_redirects(routes, index, redirect, call, progress)).await
            }
        }
    }

    /// Goes on where the route `index` said that the answer is elsewhere.
    async fn follow_redirects(
        &self,
        routes: &mut LaneRoutes,
        mut index: usize,
        mut redirect: Redirect,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
    ) -> Result<(), Failure> {
        let mut before: Option<RequestBuf> = None;
        for _ in 0..call.redirects {
            let before_it = before.as_ref().unwrap_or(call.request);
            let url = routes.0[index].url(before_it, &self.network)?;
            let request = redirect.next_request(before_it, &url)?;
            index = self
                .route_to(routes, &request.target)
                .map_err(|refusal| redirect.blocked_failure(&refusal))?;
            redirect.check_body(&request, &url)?;
            progress.begin_hop(Instant::now(), &request.target);
            let route = &mut routes.0[index];
            let answer = route.exchange(self.user_parts(), &request, call, progress);
            redirect = match answer.await? {
                None => return Ok(()),
                Some(redirect) => redirect,
            };
            before = Some(request);
        }
        Err(redirect.too_many_failure(call.redirects))
    }

    fn user_parts(&self) -> UserParts<'_> {
        UserParts {
            network: &self.network,
            jar: self.jar.as_ref(),
        }
    }

    /// Finds the route to `target`, or makes one if the guard permits it.
    fn route_to(&self, routes: &mut LaneRoutes, target: &RequestTarget) -> Result<usize, Failure> {
        let uri = match target {
            RequestTarget::Path(_) if self.network.base().is_some() => return Ok(0),
            RequestTarget::Path(path) => {
                return Err(Failure::new(
                    ErrorKind::StepError,
                    format!(
                        "`{}` needs a base URL; give one with `base = \"http://127.0.0.1:8080\"`, \
                         `LOADTEST_BASE_URL` or `--base-url`",
                        redact::redact(path.as_str())
                    ),
                ));
            }
            RequestTarget::Absolute(uri) => uri,
        };
        let known = |route: &Route| {
            uri.scheme_str() == Some(route.origin.scheme.name())
                && route.written.is_some()
                && route.written.as_ref() == uri.authority()
        };
        if let Some(index) = routes.0.iter().position(known) {
            return Ok(index);
        }
        let origin = Origin::from_uri(uri).map_err(|reason| {
            Failure::new(
                ErrorKind::GuardBlocked,
                format!(
                    "`{}` is not a permitted target: {reason}; nothing was sent",
                    redact::redact(&uri.to_string())
                ),
            )
        })?;
        let written = uri.authority().cloned();
        if let Some(index) = routes.0.iter().position(|route| route.origin == origin) {
            routes.0[index].written = written;
            return Ok(index);
        }
        let addresses = self
            .network
            .addresses(&origin)
            .map_err(|refusal| Failure::new(ErrorKind::GuardBlocked, refusal.to_string()))?;
        let around = RouteSurroundings {
            network: &self.network,
            pools: self.pools.as_ref(),
            user: self.number,
        };
        Ok(routes.add_route(around, origin, written, addresses))
    }
}

impl LaneRoutes {
    /// The number of a new route, for which the oldest but the base may have to go.
    fn add_route(
        &mut self,
        around: RouteSurroundings<'_>,
        origin: Origin,
        written: Option<Authority>,
        addresses: Addresses,
    ) -> usize {
        if self.0.len() > MAX_ORIGINS {
            self.0.remove(1);
        }
        self.0.push(Route::new(around, origin, written, addresses));
        self.0.len() - 1
    }

    /// Returns whether there is a connection for a later request.
    fn keep_any(&self) -> bool {
        self.0.iter().any(Route::keeps_connection)
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport")
            .field("user", &self.number)
            .finish_non_exhaustive()
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::definition::{Expect, Reads};

    #[tokio::test]
    async fn a_request_on_its_way_is_small() {
        let network = Network::prepare(Some("http://127.0.0.1:1"), "r").await;
        let user = HttpTransport::new(Arc::new(network.unwrap()), 0);
        let call = Call {
            request: &RequestBuf::default(),
            expect: &Expect::SUCCESS,
            reads: Reads {
                body: false,
                headers: false,
            },
            timeout: Duration::ZERO,
            redirects: 0,
            new_connection: false,
            unfinished: &crate::transport::UnfinishedCall::default(),
            trace: None,
            stream: None,
            websocket: None,
            is_graphql: false,
        };
        // Every user has one, and what is large is moved about.
        let size = size_of_val(&user.send(call));
        assert!(size < 2_048, "{size} bytes");
    }
}
