//! What a user knows of one origin, and one request to it.

use super::compression::Encoding;
use super::connection::{Connection, Sender};
use super::cookies::Jar;
use super::hop::{Hop, HopAnswer};
use super::meter::Meter;
use super::network::{Addresses, Network};
use super::origin::Origin;
use super::progress::{Progress, Stage, add};
use super::redirect::{self, Redirect};
use super::request::{self, Surroundings};
use super::{Call, ErrorKind, Failure, Received, body, fault, http2};
use crate::chain::RequestBuf;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, LOCATION, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
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
    /// The number of the user, who shares the addresses with others.
    user: u64,
    /// The connection, while no request is under way.
    kept: Option<Connection>,
    /// The headers of the last answer; the next request uses the memory.
    headers: HeaderMap,
}

/// What a user lends to a request.
pub(super) struct Lent<'a> {
    pub(super) network: &'a Network,
    pub(super) run_id: &'a HeaderValue,
    pub(super) jar: Option<&'a RefCell<Jar>>,
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
            preferred: addresses.of(user),
            addresses,
            user,
            kept: None,
            headers: HeaderMap::new(),
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

    /// Sends `request`, over the kept connection if that is still of use. The answer is left with
    /// `progress`, unless it is to be followed.
    pub(super) async fn exchange(
        &mut self,
        lent: Lent<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Option<Redirect>, Failure> {
        if let Some(mut kept) = self.kept.take() {
            if kept.ready().await {
                match self
                    .attempt(kept, &lent, request, call, progress, true)
                    .await
                {
                    Ok(redirect) => return Ok(redirect),
                    Err(Lost { failure, again }) => match again {
                        Again::Always => {}
                        Again::IfIdempotent if is_idempotent(&request.method) => {}
                        _ => return Err(failure),
                    },
                }
                progress.settle();
            } else {
                progress.traffic.unsolicited += u32::from(kept.meter.is_spoilt());
                kept.abandon();
            }
        }
        // In a box, so that the requests of all others stay small.
        let connection = Box::pin(self.connect(lent.network, progress)).await?;
        progress.usable_at = Instant::now();
        self.attempt(connection, &lent, request, call, progress, false)
            .await
            .map_err(|lost| lost.failure)
    }

    /// Opens a connection, after a lookup where the addresses do not stay the same.
    async fn connect(
        &mut self,
        network: &Network,
        progress: &mut Progress<'_>,
    ) -> Result<Connection, Failure> {
        progress.stage = Stage::Lookup;
        let begin = Instant::now();
        if let Some(found) = network.addresses_now(&self.origin).await {
            add(&mut progress.phases.connect, begin.elapsed());
            let addresses = found?;
            if addresses != self.addresses {
                self.preferred = addresses.of(self.user);
                self.addresses = addresses;
            }
        }
        progress.stage = Stage::Connect;
        let stage = &mut progress.stage;
        Connection::open(
            network,
            &self.origin,
            &self.addresses,
            &mut self.preferred,
            &mut progress.phases,
            || *stage = Stage::Handshake,
        )
        .await
    }

    /// Makes `sent` what hyper sends, in the memory of the last answer's headers.
    fn write(
        &mut self,
        sent: &mut Request<Full<Bytes>>,
        lent: &Lent<'_>,
        buffer: &RequestBuf,
        is_http2: bool,
        reads_body: bool,
    ) -> Result<(), Failure> {
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
        self.headers.clear();
        std::mem::swap(sent.headers_mut(), &mut self.headers);
        request::write(sent, buffer, &around)
    }

    /// Writes the request, and notes that it is on its way.
    #[expect(clippy::too_many_arguments)]
    fn begin(
        &mut self,
        sent: &mut Request<Full<Bytes>>,
        lent: &Lent<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        is_http2: bool,
        progress: &mut Progress<'_>,
        meter: &Rc<Meter>,
    ) -> Result<(), Lost> {
        self.write(sent, lent, request, is_http2, call.reads.body)
            .map_err(Lost::never)?;
        if let Some(hops) = &mut progress.hops {
            hops.0
                .push(Hop::of(&self.url_of_origin(), sent, &request.body));
        }
        meter.begin();
        progress.meter = Some(Rc::clone(meter));
        progress.stage = Stage::Head;
        Ok(())
    }

    /// Sends `request` over `connection`, reads the answer and keeps the connection if it can.
    ///
    /// What is large is not kept across a wait, where it would be moved about.
    async fn attempt(
        &mut self,
        mut connection: Connection,
        lent: &Lent<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut Progress<'_>,
        reused: bool,
    ) -> Result<Option<Redirect>, Lost> {
        let meter = &connection.meter;
        let answer = match &mut connection.sender {
            Sender::Http1(sender) => {
                let answer = {
                    let mut sent = Request::new(Full::new(request.body.clone()));
                    self.begin(&mut sent, lent, request, call, false, progress, meter)?;
                    sender.send_request(sent)
                };
                answer.await
            }
            Sender::Http2(sender) => {
                let answer = {
                    let mut sent = Request::new(Full::new(request.body.clone()));
                    self.begin(&mut sent, lent, request, call, true, progress, meter)?;
                    Box::pin(sender.send_request(sent))
                };
                answer.await
            }
        };
        let (status, incoming) = match answer {
            Ok(mut response) => {
                progress.head_at = Some(Instant::now());
                progress.stage = Stage::Body;
                progress.status = Some(response.status());
                connection.meter.head_is_read();
                if let Some(hop) = progress.hops.as_mut().and_then(|hops| hops.0.last_mut()) {
                    hop.answer = Some(HopAnswer::of(&response));
                }
                std::mem::swap(response.headers_mut(), &mut self.headers);
                (response.status(), response.into_body())
            }
            Err(error) => {
                progress.traffic.unsolicited += u32::from(fault::is_unsolicited(&error));
                let lost = Lost::before_head(&error, &connection, reused);
                connection.abandon();
                return Err(lost);
            }
        };
        if self.headers.contains_key(TRANSFER_ENCODING) && self.headers.contains_key(CONTENT_LENGTH)
        {
            progress.traffic.ambiguous += 1;
        }
        if let Some(jar) = lent.jar
            && Jar::is_set_by(&self.headers)
        {
            let path = request::path(request, prefix(lent.network)).map_err(Lost::never)?;
            jar.borrow_mut()
                .store(&self.headers, &self.origin, path.path());
        }
        let is_redirect = call.redirects > 0 && redirect::is_redirect(status);
        if is_redirect || !call.expect.accepts(status.as_u16()) {
            // In a box, so that the requests of all others stay small.
            return Box::pin(self.unexpected(connection, status, incoming, call, progress)).await;
        }
        let read = if call.reads.body {
            body::keep(incoming).await
        } else if progress.hops.is_some() {
            let start = Box::pin(body::start(incoming)).await;
            start.map_err(body::Unread::Broken)
        } else {
            let discarded = body::discard(incoming).await;
            let nothing = discarded.map(|()| Bytes::new());
            nothing.map_err(body::Unread::Broken)
        };
        match read {
            Ok(body) => {
                self.keep(connection, true);
                self.answer(status, body, call, progress);
                Ok(None)
            }
            Err(unread) => {
                let lost = self.unread(&unread, status, call, &connection.meter);
                connection.abandon();
                Err(lost)
            }
        }
    }

    /// Reads the start of an answer that is to be followed, or whose status is not expected.
    #[cold]
    async fn unexpected(
        &mut self,
        connection: Connection,
        status: StatusCode,
        incoming: Incoming,
        call: &Call<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Option<Redirect>, Lost> {
        let (start, complete) = body::sample(incoming, progress.sample()).await;
        let encoding = Encoding::of(&self.headers);
        progress.show(&start, &encoding);
        self.keep(connection, complete);
        if call.redirects > 0 && redirect::is_redirect(status) {
            let location = self.headers.get(LOCATION).cloned();
            return Ok(Some(Redirect { status, location }));
        }
        Err(Lost::never(Failure {
            kind: ErrorKind::Status,
            status: Some(status),
            message: format!("expected {}, got {status}", call.expect),
            sample: body::text(start, &encoding),
            headers: self.boxed_headers(call),
        }))
    }

    /// Why a body was not read to its end.
    #[cold]
    fn unread(
        &mut self,
        unread: &body::Unread,
        status: StatusCode,
        call: &Call<'_>,
        meter: &Meter,
    ) -> Lost {
        let failure = match unread {
            body::Unread::Broken(error) => fault::in_body(error, meter),
            body::Unread::TooLarge => Failure::new(
                ErrorKind::BodyTooLarge,
                format!("the body is larger than {} MiB", body::MAX_KEPT >> 20),
            ),
        };
        Lost::never(Failure {
            status: Some(status),
            headers: self.boxed_headers(call),
            ..failure
        })
    }

    /// Leaves with `progress` what is wanted of an answer with an expected status.
    fn answer(
        &mut self,
        status: StatusCode,
        mut body: Bytes,
        call: &Call<'_>,
        progress: &mut Progress<'_>,
    ) {
        let is_watched = progress.hops.is_some();
        let mut encoding = Encoding::NONE;
        if call.reads.body || is_watched {
            encoding = Encoding::of(&self.headers);
        }
        if is_watched {
            progress.show(&body, &encoding);
            if !call.reads.body {
                body.clear();
                encoding = Encoding::NONE;
            }
        }
        let headers = if call.reads.headers {
            std::mem::take(&mut self.headers)
        } else {
            HeaderMap::new()
        };
        progress.encoding = encoding;
        progress.received = Some(Received {
            status,
            headers,
            body,
        });
    }

    /// The headers of the last answer, where the step wants them.
    fn boxed_headers(&mut self, call: &Call<'_>) -> Option<Box<HeaderMap>> {
        let headers = &mut self.headers;
        call.reads
            .headers
            .then(|| Box::new(std::mem::take(headers)))
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
    #[cold]
    fn before_head(error: &hyper::Error, connection: &Connection, reused: bool) -> Self {
        let meter = &connection.meter;
        let failure = fault::before_head(error, meter, reused);
        // On a connection for HTTP/2 there is more to write and to read than requests and answers.
        let (untouched, unanswered) = if connection.is_http2() {
            let unprocessed = http2::error(error).is_some_and(http2::is_unprocessed);
            (unprocessed || error.is_canceled(), true)
        } else {
            (meter.sent() == 0, meter.received() == 0)
        };
        let again = match failure.kind {
            _ if !reused => Again::Never,
            _ if untouched => Again::Always,
            ErrorKind::ClosedReused | ErrorKind::ResetBeforeHead
                if unanswered && !http2::is_reset(error) =>
            {
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
