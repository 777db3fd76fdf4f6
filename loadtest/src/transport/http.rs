//! The transport of one virtual user over HTTP/1.1: its connections, and what it does when one is lost.

use super::connection::Connection;
use super::deadline::{Deadline, Elapsed};
use super::meter::Meter;
use super::network::{Addresses, Network};
use super::origin::Origin;
use super::progress::{Progress, Stage};
use super::{Call, ErrorKind, Exchange, Failure, Received, Transport, body, fault, request};
use crate::chain::{RequestBuf, RequestTarget};
use crate::redact;
use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body_util::Full;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How many origins beside the base a user keeps a connection to.
const MAX_ORIGINS: usize = 16;

/// In place of a timeout that no clock can hold.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Sends the requests of one virtual user over HTTP/1.1, one connection to an origin.
///
/// It has to live in a [`LocalSet`](tokio::task::LocalSet): its connections are tasks there.
pub struct HttpTransport {
    deadline: Deadline,
    user: User,
}

struct User {
    network: Arc<Network>,
    number: u64,
    /// A copy of the user's own: threads that count references to one value slow each other down.
    run_id: HeaderValue,
    /// Where this user sends; the base is the first, if there is one.
    routes: Vec<Route>,
}

/// What a user knows of one origin.
struct Route {
    origin: Origin,
    /// How the last absolute URL wrote host and port.
    written: Option<Authority>,
    host: HeaderValue,
    addresses: Addresses,
    /// The address to connect to.
    preferred: usize,
    /// The connection, while no request is under way.
    kept: Option<Connection>,
    /// An empty map whose memory the next request uses.
    spare: HeaderMap,
}

/// A request that was not answered, and whether it may be sent again.
struct Lost {
    failure: Failure,
    again: Again,
}

enum Again {
    /// Nothing was written.
    Always,
    /// It was written, and nothing of an answer was read.
    IfIdempotent,
    Never,
}

impl HttpTransport {
    /// Makes the transport of virtual user number `user`; nothing is connected yet.
    pub fn new(network: Arc<Network>, user: u64) -> Self {
        let run_id = own_copy(&network.run_id);
        let mut user = User {
            network,
            number: user,
            run_id,
            routes: Vec::with_capacity(1),
        };
        let network = Arc::clone(&user.network);
        if let Some(base) = network.base() {
            // The base was permitted when the network was prepared.
            if let Ok(addresses) = network.addresses(&base.origin) {
                user.add_route(base.origin.clone(), None, addresses);
            }
        }
        Self {
            deadline: Deadline::default(),
            user,
        }
    }
}

#[cfg(test)]
impl HttpTransport {
    /// The address at which this user tries the base first.
    pub(super) fn first_address(&self) -> std::net::SocketAddr {
        let base = &self.user.routes[0];
        base.addresses.all[base.preferred]
    }
}

impl Transport for HttpTransport {
    fn base_url(&self) -> Option<&str> {
        self.user.network.base_url()
    }

    async fn send(&mut self, call: Call<'_>) -> Exchange {
        let start = Instant::now();
        let timeout = call.request.timeout.unwrap_or(call.timeout).min(LONGEST);
        let mut progress = Progress::new(start);
        let outcome = self
            .deadline
            .bound(start + timeout, self.user.exchange(&call, &mut progress))
            .await;
        let end = Instant::now();
        progress.settle();
        let result = match outcome {
            Ok(result) => result,
            Err(Elapsed) => Err(progress.timed_out(timeout)),
        };
        if let Some(head_at) = progress.head_at {
            progress.phases.first_byte = Some(head_at - progress.usable_at);
            progress.phases.body = Some(end - head_at);
        }
        Exchange {
            result,
            service_time: end - start,
            phases: progress.phases,
            sent_bytes: progress.sent,
            received_bytes: progress.received,
            requests: progress.requests,
        }
    }
}

impl User {
    async fn exchange(
        &mut self,
        call: &Call<'_>,
        progress: &mut Progress,
    ) -> Result<Received, Failure> {
        let index = self.route(&call.request.target)?;
        let network = &*self.network;
        let route = &mut self.routes[index];
        if let Some(kept) = route.kept.take()
            && let Some(kept) = kept.ready().await
        {
            let request = route.request(network, &self.run_id, call.request)?;
            match route.attempt(kept, request, call, progress, true).await {
                Ok(received) => return Ok(received),
                Err(Lost { failure, again }) => match again {
                    Again::Always => {}
                    Again::IfIdempotent if is_idempotent(&call.request.method) => {}
                    _ => return Err(failure),
                },
            }
            progress.settle();
        }
        progress.stage = Stage::Connect;
        let stage = &mut progress.stage;
        let connection = Connection::open(
            network,
            &route.origin,
            &route.addresses,
            &mut route.preferred,
            &mut progress.phases,
            || *stage = Stage::Handshake,
        )
        .await?;
        progress.usable_at = Instant::now();
        let request = route.request(network, &self.run_id, call.request)?;
        route
            .attempt(connection, request, call, progress, false)
            .await
            .map_err(|lost| lost.failure)
    }

    /// Finds the route to `target`, or makes one if the guard permits it.
    fn route(&mut self, target: &RequestTarget) -> Result<usize, Failure> {
        let uri = match target {
            RequestTarget::Path(_) if self.network.base().is_some() => return Ok(0),
            RequestTarget::Path(path) => {
                return Err(Failure::new(
                    ErrorKind::StepError,
                    format!(
                        "`{}` needs a base URL; give one with `base = \"http://127.0.0.1:8080\"`, \
                         `LOADTEST_BASE_URL` or `--base-url`",
                        redact::text(path.as_str())
                    ),
                ));
            }
            RequestTarget::Absolute(uri) => uri,
        };
        let known = |route: &Route| {
            uri.scheme_str() == Some(if route.origin.https { "https" } else { "http" })
                && route.written.is_some()
                && route.written.as_ref() == uri.authority()
        };
        if let Some(index) = self.routes.iter().position(known) {
            return Ok(index);
        }
        let origin = Origin::of(uri).map_err(|reason| {
            Failure::new(
                ErrorKind::GuardBlocked,
                format!(
                    "`{}` may not be tested: {reason}; nothing was sent",
                    redact::text(&uri.to_string())
                ),
            )
        })?;
        let written = uri.authority().cloned();
        if let Some(index) = self.routes.iter().position(|route| route.origin == origin) {
            self.routes[index].written = written;
            return Ok(index);
        }
        let addresses = self
            .network
            .addresses(&origin)
            .map_err(|refusal| Failure::new(ErrorKind::GuardBlocked, refusal.to_string()))?;
        if self.routes.len() > MAX_ORIGINS {
            self.routes.remove(1);
        }
        self.add_route(origin, written, addresses);
        Ok(self.routes.len() - 1)
    }

    fn add_route(&mut self, origin: Origin, written: Option<Authority>, addresses: Addresses) {
        self.routes.push(Route {
            host: origin.host_header(),
            written,
            preferred: (self.number % addresses.spread as u64) as usize,
            addresses,
            kept: None,
            spare: HeaderMap::new(),
            origin,
        });
    }
}

impl Route {
    /// Builds what hyper sends, in the memory of the last answer's headers.
    fn request(
        &mut self,
        network: &Network,
        run_id: &HeaderValue,
        buffer: &RequestBuf,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let prefix = network.base().map_or("", |base| &base.prefix);
        let spare = std::mem::take(&mut self.spare);
        request::build(buffer, prefix, &self.host, run_id, spare)
    }

    /// Sends `request` over `connection`, reads the answer and keeps the connection if it can.
    async fn attempt(
        &mut self,
        mut connection: Connection,
        request: Request<Full<Bytes>>,
        call: &Call<'_>,
        progress: &mut Progress,
        reused: bool,
    ) -> Result<Received, Lost> {
        connection.meter.begin();
        progress.meter = Some(Rc::clone(&connection.meter));
        progress.stage = Stage::Head;
        let response = match connection.sender.send_request(request).await {
            Ok(response) => response,
            Err(error) => {
                let lost = Lost::before_head(&error, &connection.meter, reused);
                connection.abandon();
                return Err(lost);
            }
        };
        progress.head_at = Some(Instant::now());
        progress.stage = Stage::Body;
        progress.status = Some(response.status());
        connection.meter.head_is_read();
        let (head, incoming) = response.into_parts();
        let status = head.status;
        let mut headers = head.headers;
        if !call.expect.accepts(status.as_u16()) {
            let (sample, complete) = body::sample(incoming).await;
            self.keep(connection, complete);
            return Err(Lost::never(Failure {
                kind: ErrorKind::Status,
                status: Some(status),
                message: format!("expected {}, got {status}", call.expect),
                sample,
                headers: call.reads.headers.then(|| Box::new(headers)),
            }));
        }
        let read = if call.reads.body {
            body::keep(incoming).await
        } else {
            let discarded = body::discard(incoming).await;
            discarded
                .map(|()| Bytes::new())
                .map_err(body::Unread::Broken)
        };
        let body = match read {
            Ok(body) => body,
            Err(unread) => {
                let mut failure = match unread {
                    body::Unread::Broken(error) => fault::in_body(&error, &connection.meter),
                    body::Unread::TooLarge => Failure::new(
                        ErrorKind::BodyTooLarge,
                        format!("the body is larger than {} MiB", body::MAX_KEPT >> 20),
                    ),
                };
                failure.status = Some(status);
                connection.abandon();
                return Err(Lost::never(failure));
            }
        };
        if !call.reads.headers {
            headers.clear();
            self.spare = headers;
            headers = HeaderMap::new();
        }
        self.keep(connection, true);
        Ok(Received {
            status,
            headers,
            body,
        })
    }

    fn keep(&mut self, connection: Connection, complete: bool) {
        if complete {
            self.kept = Some(connection);
        } else {
            connection.abandon();
        }
    }
}

impl Lost {
    fn before_head(error: &hyper::Error, meter: &Meter, reused: bool) -> Self {
        let failure = fault::before_head(error, meter, reused);
        let again = match failure.kind {
            _ if !reused => Again::Never,
            _ if meter.sent() == 0 => Again::Always,
            ErrorKind::ClosedReused | ErrorKind::ResetBeforeHead if meter.received() == 0 => {
                Again::IfIdempotent
            }
            _ => Again::Never,
        };
        Self { failure, again }
    }

    fn never(failure: Failure) -> Self {
        Self {
            failure,
            again: Again::Never,
        }
    }
}

/// The methods of which a repeated request does no more than one (RFC 9110, section 9.2.2).
fn is_idempotent(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::PUT | Method::DELETE | Method::OPTIONS
    )
}

fn own_copy(value: &HeaderValue) -> HeaderValue {
    HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| value.clone())
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport")
            .field("user", &self.user.number)
            .finish_non_exhaustive()
    }
}
