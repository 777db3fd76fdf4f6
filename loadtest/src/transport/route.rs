//! What a user knows of one origin, and one request to it.

use super::compression::Encoding;
use super::connection::Connection;
use super::cookies::Jar;
use super::hop::{Hop, HopAnswer};
use super::network::{Addresses, Network};
use super::origin::Origin;
use super::progress::{Progress, Stage};
use super::redirect::{self, Redirect};
use super::request::{self, Surroundings};
use super::{Call, ErrorKind, Failure, Received, body, connection, fault, http2};
use crate::chain::RequestBuf;
use bytes::Bytes;
use http::header::LOCATION;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::time::Instant;

/// What a user knows of one origin.
pub(super) struct Route {
    pub(super) origin: Origin,
    /// How the last absolute URL wrote host and port.
    pub(super) written: Option<Authority>,
    host: HeaderValue,
    /// The same for HTTP/2.
    authority: Authority,
    pub(super) addresses: Addresses,
    /// The address to connect to.
    pub(super) preferred: usize,
    /// The connection, while no request is under way.
    kept: Option<Connection>,
    /// An empty map whose memory the next request uses.
    spare: HeaderMap,
}

/// What a user lends to a request.
pub(super) struct Lent<'a> {
    pub(super) network: &'a Network,
    pub(super) run_id: &'a HeaderValue,
    pub(super) jar: Option<&'a RefCell<Jar>>,
}

/// An answer, read to its end.
pub(super) enum Answer {
    /// It has an expected status; its body is still compressed.
    Final(Received, Encoding),
    /// It is to be followed.
    Elsewhere(Redirect),
}

/// A request that was not answered, and whether it may be sent again.
struct Lost {
    failure: Failure,
    again: Again,
}

enum Again {
    /// The server has not looked at it.
    Always,
    /// It was written, and nothing of an answer was read.
    IfIdempotent,
    Never,
}

impl Route {
    pub(super) fn new(
        origin: Origin,
        written: Option<Authority>,
        addresses: Addresses,
        user: u64,
    ) -> Self {
        let host = origin.host_header();
        let authority = Authority::try_from(host.as_bytes())
            .unwrap_or_else(|_| unreachable!("an origin has an authority"));
        Self {
            host,
            authority,
            written,
            preferred: (user % addresses.spread as u64) as usize,
            addresses,
            kept: None,
            spare: HeaderMap::new(),
            origin,
        }
    }

    fn url_of_origin(&self) -> String {
        let scheme = if self.origin.https { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// The URL that `request` goes to.
    pub(super) fn url(&self, request: &RequestBuf, network: &Network) -> Result<String, Failure> {
        let path = request::path(request, prefix(network))?;
        Ok(format!("{}{path}", self.url_of_origin()))
    }

    /// Sends `request`, over the kept connection if that is still of use.
    pub(super) async fn exchange(
        &mut self,
        lent: Lent<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Answer, Failure> {
        if let Some(kept) = self.kept.take()
            && let Some(kept) = kept.ready().await
        {
            match self
                .attempt(kept, &lent, request, call, progress, true)
                .await
            {
                Ok(answer) => return Ok(answer),
                Err(Lost { failure, again }) => match again {
                    Again::Always => {}
                    Again::IfIdempotent if is_idempotent(&request.method) => {}
                    _ => return Err(failure),
                },
            }
            progress.settle();
        }
        progress.stage = Stage::Connect;
        let stage = &mut progress.stage;
        // In a box, so that the requests of all others stay small.
        let connection = Box::pin(Connection::open(
            lent.network,
            &self.origin,
            &self.addresses,
            &mut self.preferred,
            &mut progress.phases,
            || *stage = Stage::Handshake,
        ))
        .await?;
        progress.usable_at = Instant::now();
        self.attempt(connection, &lent, request, call, progress, false)
            .await
            .map_err(|lost| lost.failure)
    }

    /// Builds what is sent, in the memory of the last answer's headers.
    fn request(
        &mut self,
        lent: &Lent<'_>,
        buffer: &RequestBuf,
        is_http2: bool,
        reads_body: bool,
    ) -> Result<Request<Bytes>, Failure> {
        let prefix = prefix(lent.network);
        let cookie = match lent.jar.map(RefCell::borrow_mut) {
            Some(mut jar) if !jar.is_empty() => {
                jar.header(&self.origin, request::path(buffer, prefix)?.path())
            }
            _ => None,
        };
        let around = Surroundings {
            prefix,
            host: &self.host,
            run_id: lent.run_id,
            http2: is_http2.then_some((self.origin.https, &self.authority)),
            reads_body,
            cookie,
        };
        request::build(buffer, &around, std::mem::take(&mut self.spare))
    }

    /// Sends `request` over `connection`, reads the answer and keeps the connection if it can.
    async fn attempt(
        &mut self,
        mut connection: Connection,
        lent: &Lent<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut Progress<'_>,
        reused: bool,
    ) -> Result<Answer, Lost> {
        let sent = self
            .request(lent, request, connection.is_http2(), call.reads.body)
            .map_err(Lost::never)?;
        if let Some(hops) = &mut progress.hops {
            hops.0
                .push(Hop::of(&self.url_of_origin(), &sent, &request.body));
        }
        connection.meter.begin();
        progress.meter = Some(Rc::clone(&connection.meter));
        progress.stage = Stage::Head;
        let all = call.reads.headers || progress.hops.is_some();
        let head = match connection.send(sent, all).await {
            Ok(head) => head,
            Err(error) => return Err(Lost::before_head(&error, &connection, reused)),
        };
        progress.head_at = Some(Instant::now());
        progress.stage = Stage::Body;
        progress.status = Some(head.status);
        connection.meter.head_is_read();
        if let Some(hop) = progress.hops.as_mut().and_then(|hops| hops.0.last_mut()) {
            hop.answer = Some(HopAnswer::of(&head));
        }
        let (status, headers) = (head.status, head.headers);
        if let Some(jar) = lent.jar
            && Jar::is_set_by(&headers)
        {
            let path = request::path(request, prefix(lent.network)).map_err(Lost::never)?;
            jar.borrow_mut().store(&headers, &self.origin, path.path());
        }
        if call.redirects > 0 && redirect::is_redirect(status) {
            let (start, complete) = body::sample(&mut connection, progress.sample()).await;
            progress.show(&start, &Encoding::of(&headers));
            self.keep(connection, complete);
            return Ok(Answer::Elsewhere(Redirect {
                status,
                location: headers.get(LOCATION).cloned(),
            }));
        }
        if !call.expect.accepts(status.as_u16()) {
            let (start, complete) = body::sample(&mut connection, progress.sample()).await;
            progress.show(&start, &Encoding::of(&headers));
            self.keep(connection, complete);
            return Err(Lost::never(Failure {
                kind: ErrorKind::Status,
                status: Some(status),
                message: format!("expected {}, got {status}", call.expect),
                sample: body::text(start, &Encoding::of(&headers)),
                headers: call.reads.headers.then(|| Box::new(headers)),
            }));
        }
        let watched = progress.hops.is_some();
        let received = self.receive(connection, status, headers, call, watched);
        let mut answer = received.await?;
        if progress.hops.is_some()
            && let Answer::Final(received, encoding) = &mut answer
        {
            progress.show(&received.body, encoding);
            if !call.reads.body {
                received.body.clear();
                *encoding = Encoding::NONE;
            }
        }
        Ok(answer)
    }

    /// Reads the body of an answer with an expected status.
    async fn receive(
        &mut self,
        mut connection: Connection,
        status: StatusCode,
        mut headers: HeaderMap,
        call: &Call<'_>,
        is_watched: bool,
    ) -> Result<Answer, Lost> {
        let (read, encoding) = if call.reads.body {
            (body::keep(&mut connection).await, Encoding::of(&headers))
        } else if is_watched {
            let start = Box::pin(body::start(&mut connection)).await;
            let encoding = Encoding::of(&headers);
            (start.map_err(body::Unread::Broken), encoding)
        } else {
            let discarded = body::discard(&mut connection).await;
            let nothing = discarded.map(|()| Bytes::new());
            (nothing.map_err(body::Unread::Broken), Encoding::NONE)
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
                failure.headers = call.reads.headers.then(|| Box::new(headers));
                return Err(Lost::never(failure));
            }
        };
        if !call.reads.headers {
            headers.clear();
            self.spare = headers;
            headers = HeaderMap::new();
        }
        self.keep(connection, true);
        let received = Received {
            status,
            headers,
            body,
        };
        Ok(Answer::Final(received, encoding))
    }

    fn keep(&mut self, connection: Connection, complete: bool) {
        self.kept = (complete && connection.is_kept()).then_some(connection);
    }
}

impl Lost {
    fn before_head(error: &connection::Error, connection: &Connection, reused: bool) -> Self {
        let meter = &connection.meter;
        let failure = fault::before_head(error, meter, reused);
        // On a connection for HTTP/2 there is more to write and to read than requests and answers.
        let (untouched, unanswered, is_reset) = match error {
            connection::Error::Http1(_) => (meter.sent() == 0, meter.received() == 0, false),
            connection::Error::Http2(error) => {
                let unprocessed = http2::error(error).is_some_and(http2::is_unprocessed);
                let untouched = unprocessed || error.is_canceled();
                (untouched, true, http2::is_reset(error))
            }
        };
        let again = match failure.kind {
            _ if !reused => Again::Never,
            _ if untouched => Again::Always,
            ErrorKind::ClosedReused | ErrorKind::ResetBeforeHead if unanswered && !is_reset => {
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

fn prefix(network: &Network) -> &str {
    network.base().map_or("", |base| &base.prefix)
}
