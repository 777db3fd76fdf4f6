//! What a user knows of one origin, and one request to it.

use super::compression::Encoding;
use super::connection::{Connection, Protocol};
use super::cookies::Jar;
use super::hop::{Hop, HopAnswer};
use super::meter::Meter;
use super::network::{Addresses, Network};
use super::origin::Origin;
use super::progress::{Progress, Stage, add};
use super::redirect::{self, Redirect};
use super::request::{self, Outgoing, Surroundings};
use super::{Call, ErrorKind, Failure, Received, STOP, body, connection, fault, http2};
use crate::chain::RequestBuf;
use crate::targets::{Allowance, Pass};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, COOKIE, LOCATION, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
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
    /// The headers of the last answer.
    headers: HeaderMap,
    /// The caps of the origin, where it has some.
    allowance: Option<Arc<Allowance>>,
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
        allowance: Option<Arc<Allowance>>,
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
            allowance,
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
        // Before connecting too: that sends something.
        let mut pass = self.pass(&lent)?;
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
                drop(pass);
                pass = self.pass(&lent)?;
            } else {
                progress.traffic.unsolicited += u32::from(kept.is_spoilt());
            }
        }
        // In a box, so that the requests of all others stay small.
        let connection = Box::pin(self.connect(lent.network, progress)).await?;
        progress.usable_at = Instant::now();
        let answered = self.attempt(connection, &lent, request, call, progress, false);
        let answered = answered.await.map_err(|lost| lost.failure);
        drop(pass);
        answered
    }

    /// Lets a request pass if it may be sent now.
    fn pass(&self, lent: &Lent<'_>) -> Result<Option<Pass>, Failure> {
        let refuse = |words| Failure::new(ErrorKind::GuardBlocked, words);
        if let Some(reason) = lent.network.halted() {
            let words = format!("the permission to test has ended: {reason}");
            return Err(refuse(words));
        }
        let pass = self.allowance.as_ref().map(Allowance::pass);
        pass.transpose().map_err(refuse)
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

    /// Joins `request` with what is around it.
    fn outgoing<'a>(
        &'a self,
        lent: &Lent<'a>,
        request: &'a RequestBuf,
        call: &Call<'_>,
    ) -> Result<Outgoing<'a>, Failure> {
        let prefix = prefix(lent.network);
        let cookie = match lent.jar.map(RefCell::borrow_mut) {
            Some(mut jar) if !jar.is_empty() => {
                let own = request.headers.iter();
                let own = own.filter_map(|(name, value)| (*name == COOKIE).then_some(value));
                jar.header(&self.origin, request::path(request, prefix)?.path(), own)
            }
            _ => None,
        };
        let around = Surroundings {
            prefix,
            host: &self.host,
            run_id: lent.run_id,
            reads_body: call.reads.body,
            cookie,
        };
        Outgoing::new(request, around)
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
        connection.meter.begin();
        let meter = Rc::clone(&connection.meter);
        let answer = match &mut connection.protocol {
            Protocol::Http1(http1) => {
                let unsent = {
                    let outgoing = self.outgoing(lent, request, call).map_err(Lost::never)?;
                    progress.show_request(|| {
                        Hop::of(&self.url_of_origin(), &outgoing.http1(), &request.body)
                    });
                    http1.write(&outgoing)
                };
                progress.begin(meter);
                let is_head = request.method == Method::HEAD;
                let all = call.reads.headers || progress.hops.is_some();
                let answer = http1.send(unsent, is_head, all, &mut self.headers).await;
                answer.map_err(connection::Error::Http1)
            }
            Protocol::Http2(http2) => {
                let sent = {
                    let outgoing = self.outgoing(lent, request, call).map_err(Lost::never)?;
                    let sent = outgoing.http2(self.origin.https, &self.authority);
                    let sent = sent.map_err(Lost::never)?;
                    progress.show_request(|| Hop::of(&self.url_of_origin(), &sent, &request.body));
                    sent
                };
                progress.begin(meter);
                // In a box, so that the requests of all others stay small.
                Box::pin(http2.send(sent, &mut self.headers)).await
            }
        };
        let (status, version) = match answer {
            Ok(head) => head,
            Err(error) => return Err(Lost::before_head(&error, &connection, reused)),
        };
        progress.head(status, Instant::now());
        progress.show_answer(|| HopAnswer::new(status, version, &self.headers));
        connection.meter.head_is_read();
        if self.headers.contains_key(STOP) {
            lent.network.halt(format!(
                "{} asked for it by the header `loadtest-stop` of an answer",
                self.origin
            ));
        }
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
            return Box::pin(self.unexpected(connection, status, call, progress)).await;
        }
        let read = if call.reads.body {
            body::keep(&mut connection).await
        } else if progress.hops.is_some() {
            let start = Box::pin(body::start(&mut connection)).await;
            start.map_err(body::Unread::Broken)
        } else {
            let discarded = body::discard(&mut connection).await;
            let nothing = discarded.map(|()| Bytes::new());
            nothing.map_err(body::Unread::Broken)
        };
        match read {
            Ok(body) => {
                self.keep(connection, true, progress);
                self.answer(status, body, call, progress);
                Ok(None)
            }
            Err(unread) => Err(self.unread(&unread, status, call, &connection.meter)),
        }
    }

    /// Reads the start of an answer that is to be followed, or whose status is not expected.
    #[cold]
    async fn unexpected(
        &mut self,
        mut connection: Connection,
        status: StatusCode,
        call: &Call<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Option<Redirect>, Lost> {
        let (start, complete) = body::sample(&mut connection, progress.sample()).await;
        let encoding = Encoding::of(&self.headers);
        progress.show(&start, &encoding);
        self.keep(connection, complete, progress);
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

    fn keep(&mut self, connection: Connection, complete: bool, progress: &mut Progress<'_>) {
        progress.traffic.unsolicited += u32::from(connection.is_spoilt());
        self.kept = (complete && connection.is_kept()).then_some(connection);
    }
}

impl Lost {
    #[cold]
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
