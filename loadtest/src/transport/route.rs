//! The route of a user to one origin, and one request over it.

use super::compression::Encoding;
use super::connection::{Connection, ConnectionEnd, ConnectionPurpose, Protocol};
use super::cookies::CookieJar;
use super::hop::{Hop, HopAnswer};
#[cfg(feature = "http3")]
use super::http3;
use super::meter::LARGE_BODY;
use super::network::{Addresses, Network};
use super::pool::{ConnectionPool, ConnectionPools, PooledRequest};
use super::progress::{CallProgress, CallStage, add_phase};
use super::redirect::{self, Redirect};
use super::request::{self, DefaultHeaders, OutgoingRequest, RequestSurroundings};
use super::stream::{self, StreamCall};
use super::{
    Call, ErrorKind, Failure, KeptHeaders, Received, STOP, body, connection, error_mapping,
    graphql, http2,
};
use crate::targets::Origin;
use crate::targets::{Allowance, RequestPass};
use crate::transport::RequestBuf;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, COOKIE, LOCATION, RETRY_AFTER, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderMap, Method, Request, StatusCode, Version};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::Instant;

/// The route of a user to one origin.
pub(super) struct Route {
    pub(super) origin: Origin,
    /// Host and port as the last absolute URL wrote them.
    pub(super) written: Option<Authority>,
    defaults: DefaultHeaders,
    /// The value of its `host` for HTTP/2.
    authority: Authority,
    pub(super) addresses: Addresses,
    /// The address to connect to.
    pub(super) preferred: usize,
    /// The number of the user, who shares the addresses with others.
    user: u64,
    /// The connection, while no request is under way.
    kept: Option<Connection>,
    /// The connections that the user shares with others, in place of its own.
    pool: Option<Rc<ConnectionPool>>,
    /// The headers of the last answer.
    headers: HeaderMap,
    /// The caps of the origin, where it has some.
    allowance: Option<Arc<Allowance>>,
}

/// The user of a route, and what it has in common with others.
#[derive(Clone, Copy)]
pub(super) struct RouteSurroundings<'a> {
    pub(super) network: &'a Network,
    pub(super) pools: Option<&'a Rc<ConnectionPools>>,
    pub(super) user: u64,
}

/// The parts of a user that a request needs.
pub(super) struct UserParts<'a> {
    pub(super) network: &'a Network,
    pub(super) jar: Option<&'a RefCell<CookieJar>>,
}

/// A request that was not answered, and whether it may be sent again.
struct UnansweredRequest {
    failure: Failure,
    again: Repeatability,
}

/// The head of an answer.
type AnswerHead = Result<(StatusCode, Version), connection::Error>;

enum Repeatability {
    /// The target cannot have begun it.
    Always,
    /// The target refused it since there are enough others on the connection, which soon are fewer.
    Refused,
    /// The connection had rested and ended as it was written, so that the target has hardly begun it.
    IfIdempotent,
    Never,
}

impl Route {
    pub(super) fn new(
        around: RouteSurroundings<'_>,
        origin: Origin,
        written: Option<Authority>,
        addresses: Addresses,
    ) -> Self {
        let RouteSurroundings {
            network,
            pools,
            user,
        } = around;
        let host = origin.host_header();
        let authority = Authority::try_from(host.as_bytes())
            .unwrap_or_else(|_| unreachable!("an origin has an authority"));
        Self {
            defaults: DefaultHeaders::new(host, &network.run_id),
            authority,
            written,
            preferred: addresses.of(user),
            pool: pools.map(|pools| pools.pool(&origin, &addresses)),
            addresses,
            user,
            kept: None,
            headers: HeaderMap::new(),
            allowance: network.allowance(&origin),
            origin,
        }
    }

    fn url_of_origin(&self) -> String {
        format!("{}://{}", self.origin.scheme, self.authority)
    }

    /// The URL that `request` goes to.
    pub(super) fn url(&self, request: &RequestBuf, network: &Network) -> Result<String, Failure> {
        let path = request::request_path(request, base_prefix(network))?;
        Ok(format!("{}{path}", self.url_of_origin()))
    }

    /// Returns whether it has a connection for its next request.
    pub(super) fn keeps_connection(&self) -> bool {
        self.kept.is_some()
    }

    /// Sends `request`, over the kept connection if that is still of use. The answer is left with
    /// `progress`, unless it is to be followed.
    pub(super) async fn exchange(
        &mut self,
        lent: UserParts<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
    ) -> Result<Option<Redirect>, Failure> {
        // Before connecting too: that sends something.
        let mut pass = self.take_pass(&lent)?;
        progress.number_request(call, &request.method, &self.origin);
        let mut is_repeated = false;
        // A WebSocket has a connection of its own.
        while call.websocket.is_none()
            && let Some(mut kept) = self.kept.take()
        {
            if !kept.ready().await {
                progress.traffic.unsolicited += u32::from(kept.is_spoilt());
                break;
            }
            let sent = self.send_over(kept, &lent, request, call, progress, true);
            match sent.await {
                Ok(redirect) => return Ok(redirect),
                Err(lost) if !is_repeated && lost.again.applies_to(&request.method) => {
                    progress.lose_request(lost.failure.kind);
                }
                Err(lost) => return Err(lost.failure),
            }
            is_repeated = true;
            drop(pass);
            pass = self.take_pass(&lent)?;
            progress.number_request(call, &request.method, &self.origin);
        }
        if let (Some(pool), None) = (&self.pool, call.websocket) {
            let pool = Rc::clone(pool);
            let exchange = self.exchange_over(&pool, &lent, request, call, progress, pass);
            // In a box, so that the requests of all others stay small.
            return Box::pin(exchange).await;
        }
        // In a box, so that the requests of all others stay small.
        let purpose = match call.websocket {
            Some(_) => ConnectionPurpose::Upgrade,
            None => ConnectionPurpose::Requests,
        };
        let connection = Box::pin(self.connect(lent.network, purpose, progress)).await?;
        progress.connected(Instant::now());
        let answered = self.send_over(connection, &lent, request, call, progress, false);
        let answered = answered.await.map_err(|lost| lost.failure);
        drop(pass);
        answered
    }

    /// Sends `request` over a connection that others use too, and again where that does no harm.
    async fn exchange_over(
        &mut self,
        pool: &ConnectionPool,
        lent: &UserParts<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
        mut pass: Option<RequestPass>,
    ) -> Result<Option<Redirect>, Failure> {
        let mut repeated = 0;
        loop {
            let lease = pool
                .lease(&mut progress.phases, &mut progress.stage)
                .await?;
            let is_reused = lease.is_reused;
            let now = Instant::now();
            if is_reused {
                progress.usable_at = now;
            } else {
                progress.connected(now);
            }
            let connection = Connection {
                meter: Rc::clone(&lease.connection.meter),
                protocol: Protocol::Pooled(Box::new(PooledRequest::new(lease))),
            };
            let answered = self.send_over(connection, lent, request, call, progress, is_reused);
            let UnansweredRequest { failure, again } = match answered.await {
                Ok(redirect) => return Ok(redirect),
                Err(unanswered) => unanswered,
            };
            if repeated >= again.most() || !again.applies_to(&request.method) {
                return Err(failure);
            }
            progress.lose_request(failure.kind);
            drop(pass);
            http2::pause_after_refusals(repeated).await;
            repeated += 1;
            pass = self.take_pass(lent)?;
            progress.number_request(call, &request.method, &self.origin);
        }
    }

    /// Lets a request pass if it may be sent now.
    fn take_pass(&self, lent: &UserParts<'_>) -> Result<Option<RequestPass>, Failure> {
        let refuse = |words| Failure::new(ErrorKind::GuardBlocked, words);
        if let Some(reason) = lent.network.halted() {
            let words = format!("the permission to test has ended: {reason}");
            return Err(refuse(words));
        }
        let pass = self.allowance.as_ref().map(Allowance::admit_request);
        pass.transpose().map_err(refuse)
    }

    /// Opens a connection, after a lookup where the addresses do not stay the same.
    async fn connect(
        &mut self,
        network: &Network,
        purpose: ConnectionPurpose,
        progress: &mut CallProgress<'_>,
    ) -> Result<Connection, Failure> {
        progress.stage = CallStage::Lookup;
        let begin = Instant::now();
        if let Some(found) = network.addresses_now(&self.origin).await {
            add_phase(&mut progress.phases.connect, begin.elapsed());
            let addresses = found?;
            if addresses != self.addresses {
                self.preferred = addresses.of(self.user);
                self.addresses = addresses;
            }
        }
        progress.stage = CallStage::Connect;
        let stage = &mut progress.stage;
        Connection::open(
            network,
            &self.origin,
            &self.addresses,
            &mut self.preferred,
            &mut progress.phases,
            purpose,
            |begun| *stage = begun,
        )
        .await
    }

    /// Joins `request` with what is around it.
    fn outgoing<'a>(
        &'a self,
        lent: &UserParts<'a>,
        request: &'a RequestBuf,
        call: &Call<'_>,
        progress: &CallProgress<'_>,
    ) -> Result<OutgoingRequest<'a>, Failure> {
        let prefix = base_prefix(lent.network);
        let cookie = match lent.jar.map(RefCell::borrow_mut) {
            Some(mut jar) if !jar.is_empty() => {
                let own = request.headers.iter();
                let own = own.filter_map(|(name, value)| (*name == COOKIE).then_some(value));
                jar.header(
                    request.jar,
                    &self.origin,
                    request::request_path(request, prefix)?.path(),
                    own,
                )
            }
            _ => None,
        };
        let around = RequestSurroundings {
            prefix,
            defaults: &self.defaults,
            reads_body: call.reads.body && call.stream.is_none(),
            accepts_events: call.stream.is_some_and(StreamCall::accepts_events_alone),
            cookie,
            traceparent: progress.traceparent(call),
            upgrade: (progress.upgrade.as_ref()).map_or_else(Vec::new, |upgrade| upgrade.headers()),
        };
        OutgoingRequest::new(request, around)
    }

    /// Sends `request` over `connection`, reads the answer and keeps the connection if it can.
    ///
    /// What is large is not kept across a wait, where it would be moved about.
    async fn send_over(
        &mut self,
        mut connection: Connection,
        lent: &UserParts<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
        reused: bool,
    ) -> Result<Option<Redirect>, UnansweredRequest> {
        let answer = match &mut connection.protocol {
            Protocol::Http1(http1) => {
                connection.meter.begin();
                let meter = Rc::clone(&connection.meter);
                let unsent = {
                    let outgoing = self
                        .outgoing(lent, request, call, progress)
                        .map_err(UnansweredRequest::not_repeatable)?;
                    progress.show_request(|| {
                        Hop::from_request(
                            &self.url_of_origin(),
                            &outgoing.to_http1(),
                            &request.body,
                        )
                    });
                    http1.write(&outgoing)
                };
                if request.body.len() > LARGE_BODY {
                    meter.begin_upload(unsent.length());
                }
                progress.begin(meter);
                let is_head = request.method == Method::HEAD;
                let all = progress.hops.is_some() || call.needs_all_headers();
                let answer = http1.send(unsent, is_head, all, &mut self.headers);
                let answer = within_silence(answer, call).await?;
                answer.map_err(connection::Error::Http1)
            }
            Protocol::Http2(http2) => {
                connection.meter.begin();
                let meter = Rc::clone(&connection.meter);
                let head = self.stream_head(Version::HTTP_2, lent, request, call, progress)?;
                if request.body.len() > LARGE_BODY {
                    meter.begin_upload(http2::framed_length(request.body.len()));
                }
                progress.begin(meter);
                let written = http2.write(head, request.body.clone());
                let answer = match written {
                    Ok(()) => within_silence(http2.read_head(&mut self.headers), call).await?,
                    Err(error) => Err(error),
                };
                answer.map_err(connection::Error::Http2)
            }
            #[cfg(feature = "http3")]
            Protocol::Http3(http3) => {
                // In a box, so that the requests of all others stay small.
                Box::pin(self.send_over_quic(http3, lent, request, call, progress)).await?
            }
            Protocol::Pooled(pooled) => {
                // In a box, so that the requests of all others stay small.
                Box::pin(self.send_shared(pooled, lent, request, call, progress)).await?
            }
        };
        let (status, version) = match answer {
            Ok(head) => head,
            Err(error) => return Err(self.lose_head(&error, connection, reused, progress)),
        };
        let now = Instant::now();
        progress.head(status, now);
        progress.show_answer(|| HopAnswer::new(status, &self.headers));
        connection.meter.finish_head();
        // Others go over a shared connection when the body of this answer ends.
        connection.meter.rest_from(now);
        if !self.headers.is_empty() {
            let heeded = self.heed_headers(lent, request, progress);
            heeded.map_err(UnansweredRequest::not_repeatable)?;
        }
        let is_redirect = call.redirects > 0 && redirect::is_redirect(status);
        if is_redirect || !call.expect.accepts(status.as_u16()) {
            // In a box, so that the requests of all others stay small.
            return Box::pin(self.read_unexpected(connection, status, call, progress)).await;
        }
        if call.websocket.is_some() && status == StatusCode::SWITCHING_PROTOCOLS {
            return self.hand_over(connection, (status, version), call, progress);
        }
        if let Some(stream) = call.stream {
            let head = (status, version);
            let reading = self.read_stream(connection, head, (call, stream), progress);
            // In a box, so that the requests of all others stay small.
            return Box::pin(reading).await;
        }
        let read = if call.reads.body {
            body::read_kept(&mut connection).await
        } else if progress.hops.is_some() {
            let start = Box::pin(body::read_excerpt(&mut connection)).await;
            start.map_err(body::UnreadBody::Broken)
        } else {
            let discarded = body::drain_body(&mut connection).await;
            let nothing = discarded.map(|()| Bytes::new());
            nothing.map_err(body::UnreadBody::Broken)
        };
        match read {
            Ok(body) => {
                progress.is_answered_at_once = connection.is_answered_at_once();
                self.keep_connection(connection, true, progress);
                self.store_answer(status, version, body, call, progress);
                Ok(None)
            }
            Err(unread) => Err(self.unread_failure(&unread, status, call, connection)),
        }
    }

    /// Sends a request over HTTP/3, and reads the head of its answer.
    #[cfg(feature = "http3")]
    async fn send_over_quic(
        &mut self,
        http3: &mut http3::Http3,
        lent: &UserParts<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
    ) -> Result<AnswerHead, UnansweredRequest> {
        let head = self.stream_head(Version::HTTP_3, lent, request, call, progress)?;
        progress.begin(Rc::clone(http3.meter()));
        http3.write(head, request.body.clone());
        let answer = within_silence(http3.read_head(&mut self.headers), call).await?;
        Ok(answer.map_err(connection::Error::Http3))
    }

    /// Sends `request` over a connection that others use too, and reads the head of the answer.
    async fn send_shared(
        &mut self,
        pooled: &mut PooledRequest,
        lent: &UserParts<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
    ) -> Result<AnswerHead, UnansweredRequest> {
        let head = self.stream_head(Version::HTTP_2, lent, request, call, progress)?;
        progress.begin(Rc::clone(pooled.account()));
        if let Err(error) = pooled.write(head, request.body.clone()) {
            return Ok(Err(connection::Error::Http2(error)));
        }
        let answer = within_silence(pooled.read_head(&mut self.headers), call).await?;
        Ok(answer.map_err(connection::Error::Http2))
    }

    /// Makes the head of `request` for HTTP/2 or HTTP/3, and shows it.
    fn stream_head(
        &self,
        version: Version,
        lent: &UserParts<'_>,
        request: &RequestBuf,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
    ) -> Result<Request<()>, UnansweredRequest> {
        let outgoing = self
            .outgoing(lent, request, call, progress)
            .map_err(UnansweredRequest::not_repeatable)?;
        let head = outgoing.to_http2(self.origin.scheme.is_tls(), &self.authority);
        let mut head = head.map_err(UnansweredRequest::not_repeatable)?;
        *head.version_mut() = version;
        progress.show_request(|| Hop::from_request(&self.url_of_origin(), &head, &request.body));
        Ok(head)
    }

    /// Heeds what the headers of an answer say to whoever sent `request`.
    fn heed_headers(
        &self,
        lent: &UserParts<'_>,
        request: &RequestBuf,
        progress: &mut CallProgress<'_>,
    ) -> Result<(), Failure> {
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
            && CookieJar::is_set_by(&self.headers)
        {
            let path = request::request_path(request, base_prefix(lent.network))?;
            jar.borrow_mut()
                .store_from(request.jar, &self.headers, &self.origin, path.path());
        }
        Ok(())
    }

    /// Leaves a connection with `progress` whose target speaks WebSocket from now on.
    fn hand_over(
        &mut self,
        connection: Connection,
        (status, version): (StatusCode, Version),
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
    ) -> Result<Option<Redirect>, UnansweredRequest> {
        let (Some(upgrade), Protocol::Http1(http1)) = (&mut progress.upgrade, connection.protocol)
        else {
            unreachable!("an upgrade is asked for over HTTP/1.1")
        };
        let allowance = self.allowance.clone();
        let finished = upgrade.finish(&self.headers, http1.into_parts(), allowance);
        finished.map_err(|error| {
            UnansweredRequest::not_repeatable(Failure {
                status: Some(status),
                headers: self.boxed_headers(call),
                ..error.into()
            })
        })?;
        self.store_answer(status, version, Bytes::new(), call, progress);
        // They take room as long as the WebSocket is open.
        self.headers = HeaderMap::new();
        Ok(None)
    }

    /// Reads a stream of events, and leaves it with `progress`.
    async fn read_stream(
        &mut self,
        mut connection: Connection,
        (status, version): (StatusCode, Version),
        (call, stream_call): (&Call<'_>, StreamCall<'_>),
        progress: &mut CallProgress<'_>,
    ) -> Result<Option<Redirect>, UnansweredRequest> {
        let Some(stream) = &mut progress.stream else {
            unreachable!("a call for a stream has its progress")
        };
        let head = (status, &self.headers);
        let read = stream.read(&mut connection, head, stream_call).await;
        if let Some(start) = stream.excerpt.take() {
            progress.show_body(&start, &Encoding::NONE);
        }
        match read {
            Ok(is_complete) => {
                self.keep_connection(connection, is_complete, progress);
                self.store_answer(status, version, Bytes::new(), call, progress);
                Ok(None)
            }
            Err(unread) => Err(self.unread_failure(&unread, status, call, connection)),
        }
    }

    /// Reads the start of an answer that is to be followed, or whose status is not expected.
    #[cold]
    async fn read_unexpected(
        &mut self,
        mut connection: Connection,
        status: StatusCode,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
    ) -> Result<Option<Redirect>, UnansweredRequest> {
        let limit = if call.is_graphql {
            body::MAX_DRAINED_BODY as usize
        } else {
            progress.sample_limit()
        };
        let (start, complete) = body::read_sample(&mut connection, limit).await;
        let encoding = Encoding::from_headers(&self.headers);
        progress.show_body(&start, &encoding);
        self.keep_connection(connection, complete, progress);
        if call.redirects > 0 && redirect::is_redirect(status) {
            let location = self.headers.get(LOCATION).cloned();
            return Ok(Some(Redirect { status, location }));
        }
        let errors = (call.is_graphql && complete)
            .then(|| graphql::errors_in_body(&start, &encoding))
            .flatten();
        let (kind, message) = match errors {
            Some(errors) => (ErrorKind::GraphqlErrors, errors),
            None => (ErrorKind::Status, self.describe_unexpected(status, call)),
        };
        Err(UnansweredRequest::not_repeatable(Failure {
            status: Some(status),
            sample: body::sample_text(start, &encoding),
            headers: self.boxed_headers(call),
            ..Failure::new(kind, message)
        }))
    }

    /// Describes an unexpected status.
    fn describe_unexpected(&self, status: StatusCode, call: &Call<'_>) -> String {
        let reason = status.canonical_reason();
        let got = reason.map_or_else(|| status.as_str().to_owned(), |_| status.to_string());
        let mut message = format!("expected {}, got {got}", call.expect);
        if let Some(location) = self.headers.get(LOCATION)
            && redirect::is_redirect(status)
        {
            let location = String::from_utf8_lossy(location.as_bytes());
            message = format!("{message} to `{location}`; `redirects = 5` follows redirects");
        }
        message
    }

    /// Describes why there is no head of an answer, and keeps the connection where a stream of it was reset alone.
    #[cold]
    fn lose_head(
        &mut self,
        error: &connection::Error,
        connection: Connection,
        reused: bool,
        progress: &CallProgress<'_>,
    ) -> UnansweredRequest {
        let lost = UnansweredRequest::before_head(error, &connection, reused, progress.usable_at);
        if connection.outlives(error) {
            self.kept = Some(connection);
        }
        lost
    }

    /// Describes why a body was not read to its end, and keeps the connection where a stream of it was reset alone.
    #[cold]
    fn unread_failure(
        &mut self,
        unread: &body::UnreadBody,
        status: StatusCode,
        call: &Call<'_>,
        connection: Connection,
    ) -> UnansweredRequest {
        let failure = match unread {
            body::UnreadBody::Broken(error) => {
                let failure = error_mapping::body_failure(error, &connection.meter);
                if connection.outlives(error) {
                    self.kept = Some(connection);
                }
                failure
            }
            body::UnreadBody::Stream(failure) => failure.clone(),
            body::UnreadBody::TooLarge => Failure::new(
                ErrorKind::BodyTooLarge,
                format!("the body is larger than {} MiB", body::MAX_KEPT_BODY >> 20),
            ),
        };
        UnansweredRequest::not_repeatable(Failure {
            status: Some(status),
            headers: self.boxed_headers(call),
            ..failure
        })
    }

    /// Leaves with `progress` what is wanted of an answer with an expected status.
    fn store_answer(
        &mut self,
        status: StatusCode,
        version: Version,
        mut body: Bytes,
        call: &Call<'_>,
        progress: &mut CallProgress<'_>,
    ) {
        let is_watched = progress.hops.is_some();
        let mut encoding = Encoding::NONE;
        if (call.reads.body || is_watched) && call.stream.is_none() {
            encoding = Encoding::from_headers(&self.headers);
        }
        if is_watched && call.stream.is_none() {
            progress.show_body(&body, &encoding);
            if !call.reads.body {
                body.clear();
                encoding = Encoding::NONE;
            }
        }
        let headers = if call.reads.headers {
            std::mem::take(&mut self.headers).into()
        } else {
            KeptHeaders::default()
        };
        progress.encoding = encoding;
        progress.received = Some(Received {
            status,
            version,
            headers,
            body,
        });
    }

    /// The headers of the last answer, where the step wants them, or they say when to send again.
    fn boxed_headers(&mut self, call: &Call<'_>) -> Option<Box<HeaderMap>> {
        let headers = &mut self.headers;
        (call.reads.headers || headers.contains_key(RETRY_AFTER))
            .then(|| Box::new(std::mem::take(headers)))
    }

    fn keep_connection(
        &mut self,
        connection: Connection,
        complete: bool,
        progress: &mut CallProgress<'_>,
    ) {
        progress.traffic.unsolicited += u32::from(connection.is_spoilt());
        self.kept = (complete && connection.is_kept()).then_some(connection);
    }
}

impl UnansweredRequest {
    fn before_head(
        error: &connection::Error,
        connection: &Connection,
        reused: bool,
        begun: Instant,
    ) -> Self {
        let meter = &connection.meter;
        // Over HTTP/1.1 the first byte of an answer says that there is one. On a connection for HTTP/2 and HTTP/3 there is
        // more to write and to read than requests and answers.
        let (is_unprocessed, is_answered) = match error {
            connection::Error::Http1(_) => (meter.sent_bytes() == 0, meter.received_bytes() > 0),
            connection::Error::Http2(error) => (http2::is_unprocessed(error), false),
            #[cfg(feature = "http3")]
            connection::Error::Http3(error) => (http3::is_unprocessed(error), false),
        };
        // Over HTTP/2 a reset may be of something else that was left unread.
        let is_reset = matches!(error, connection::Error::Http1(_)) && meter.is_reset();
        let end = match ConnectionEnd::judge(meter, reused, begun, is_reset) {
            ConnectionEnd::Resting(_) if is_answered => ConnectionEnd::AtWork,
            end => end,
        };
        let unclear = match (error, &connection.protocol) {
            (connection::Error::Http2(error), Protocol::Pooled(_)) => {
                http2::unclear_head_failure(error)
            }
            _ => None,
        };
        let failure = unclear.unwrap_or_else(|| error_mapping::head_failure(error, meter, end));
        let is_refused = match (error, &connection.protocol) {
            (connection::Error::Http2(error), Protocol::Pooled(_)) => http2::is_refused(error),
            _ => false,
        };
        let again = match failure.kind {
            _ if is_refused => Repeatability::Refused,
            _ if !reused => Repeatability::Never,
            _ if is_unprocessed => Repeatability::Always,
            ErrorKind::ClosedReused => Repeatability::IfIdempotent,
            _ => Repeatability::Never,
        };
        Self { failure, again }
    }

    fn not_repeatable(failure: Failure) -> Self {
        Self {
            failure,
            again: Repeatability::Never,
        }
    }
}

impl Repeatability {
    /// Returns how often a request is sent again.
    fn most(&self) -> u32 {
        match self {
            Self::Refused => http2::MAX_REFUSALS,
            _ => 1,
        }
    }

    /// Returns whether a request with `method` is sent again.
    fn applies_to(&self, method: &Method) -> bool {
        match self {
            Self::Always | Self::Refused => true,
            Self::IfIdempotent => is_idempotent(method),
            Self::Never => false,
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

/// Waits for the head of an answer, of a stream no longer than it may be silent.
async fn within_silence<F: Future>(
    head: F,
    call: &Call<'_>,
) -> Result<F::Output, UnansweredRequest> {
    let Some(stream) = call.stream else {
        return Ok(head.await);
    };
    // In a box, so that the requests of all others stay small.
    let head = Box::pin(tokio::time::timeout(stream.def.idle, head));
    head.await
        .map_err(|_| UnansweredRequest::not_repeatable(stream::silence(stream.def.idle)))
}

fn base_prefix(network: &Network) -> &str {
    network.base().map_or("", |base| &base.prefix)
}
