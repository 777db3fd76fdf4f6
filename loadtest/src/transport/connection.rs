//! One connection to one origin: opened, and used for one request at a time.

use super::failure::ConnectError;
use super::http1::{self, Http1};
use super::http2::Http2;
#[cfg(feature = "http3")]
use super::http3::{self, Http3};
use super::meter::{MAX_BEFORE_HTTP2_HEAD, MAX_HEAD, Meter, MeteredStream, TransportStream};
use super::network::{Addresses, Network};
use super::pool::PooledRequest;
use super::progress::{CallStage, add_phase};
use super::tls::H2;
use super::{ErrorKind, Failure, Phases, error_mapping};
use crate::targets::Origin;
use loadtest_model::definition::HttpVersion;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::Instant;

/// For so long a target may leave the first packets of a QUIC handshake unanswered. They are sent four times by then.
#[cfg(feature = "http3")]
const QUIC_PATIENCE: Duration = Duration::from_secs(10);

/// A connection that rested for less than this has met no idle limit of a target.
const SHORTEST_REST: Duration = Duration::from_millis(100);
/// The end of a connection and a request meet within this time and the way to the target and back. A target that ends the
/// connection later had the request, and may have begun it.
const LONGEST_RACE: Duration = Duration::from_millis(10);
/// A connection that took longer to open says nothing of the way: a packet was lost, or the target was slow to accept.
const LONGEST_ROUND_TRIP: Duration = Duration::from_millis(300);

/// A connection; when it is dropped, it is closed.
pub(super) struct Connection {
    pub(super) protocol: Protocol,
    pub(super) meter: Rc<Meter>,
}

/// What a connection is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPurpose {
    /// Requests, by the protocol that the scenario asks for.
    Requests,
    /// Requests and calls of several users: HTTP/2 alone is spoken.
    Sharing,
    /// An upgrade: HTTP/1.1 alone is spoken.
    Upgrade,
    /// gRPC calls: HTTP/2 alone is spoken.
    Calls,
}

/// The protocol of a connection.
pub(super) enum Protocol {
    Http1(Box<Http1>),
    Http2(Box<Http2>),
    /// One request over a connection that others use too.
    Pooled(Box<PooledRequest>),
    #[cfg(feature = "http3")]
    Http3(Box<Http3>),
}

/// The state in which a connection ended without the head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// It was opened for the request.
    New,
    /// It had rested for so long, and its end met the request, which the target has not begun: at an idle limit, or at
    /// once after an answer.
    Resting(Duration),
    /// It was kept from an earlier request, and the target had this one.
    AtWork,
}

impl ConnectionEnd {
    /// Judges the end of a connection, which is noticed now, where a request was ready to be written at `begun`.
    ///
    /// A target that closes after an answer without a word sends FIN before the request comes. One that resets had the
    /// request, unless its idle limit and the request came at the same time.
    #[cold]
    pub(super) fn judge(meter: &Meter, is_reused: bool, begun: Instant, is_reset: bool) -> Self {
        if !is_reused {
            return Self::New;
        }
        let rest = meter.rests_since();
        let rest = rest.map_or(Duration::ZERO, |since| {
            begun.saturating_duration_since(since)
        });
        let race = LONGEST_RACE + meter.round_trip().min(LONGEST_ROUND_TRIP);
        let may_meet = rest >= SHORTEST_REST || rest <= race && !is_reset;
        if may_meet && begun.elapsed() <= race {
            Self::Resting(rest)
        } else {
            Self::AtWork
        }
    }
}

/// The reason why a response is missing or incomplete.
pub(super) enum Error {
    Http1(http1::Error),
    Http2(h2::Error),
    #[cfg(feature = "http3")]
    Http3(http3::Error),
}

impl Error {
    /// The error itself.
    pub(super) fn of(&self) -> &dyn std::error::Error {
        match self {
            Self::Http1(error) => error,
            Self::Http2(error) => error,
            #[cfg(feature = "http3")]
            Self::Http3(error) => error,
        }
    }
}

impl Connection {
    /// Opens a connection to the first of `addresses` that accepts, starting at `preferred`.
    ///
    /// `preferred` becomes the one that answered. `begin_stage` is told of handshakes.
    pub(super) async fn open(
        network: &Network,
        origin: &Origin,
        addresses: &Addresses,
        preferred: &mut usize,
        phases: &mut Phases,
        purpose: ConnectionPurpose,
        mut begin_stage: impl FnMut(CallStage),
    ) -> Result<Self, Failure> {
        if purpose == ConnectionPurpose::Requests && network.http == HttpVersion::Http3 {
            return Self::open_quic(network, origin, addresses, preferred, phases, begin_stage)
                .await;
        }
        let mut is_http2 = match purpose {
            ConnectionPurpose::Requests => network.http == HttpVersion::Http2,
            ConnectionPurpose::Upgrade => false,
            ConnectionPurpose::Calls | ConnectionPurpose::Sharing => true,
        };
        let begin = Instant::now();
        #[cfg(test)]
        if let Some(stream) = super::memory::connect(addresses.all[*preferred]) {
            add_phase(&mut phases.connect, begin.elapsed());
            let meter = Self::meter(is_http2, Duration::ZERO);
            return Self::over(TransportStream::Memory(stream), is_http2, purpose, meter).await;
        }
        let tcp = connect(addresses, preferred).await;
        let connected = Instant::now();
        add_phase(&mut phases.connect, connected - begin);
        let tcp = tcp.map_err(|failure| match failure.kind {
            // A reset that follows at once may be noticed here, or by what is sent first.
            ErrorKind::ResetBeforeHead if origin.scheme.is_tls() => Failure {
                kind: ErrorKind::TlsProtocol,
                ..failure
            },
            ErrorKind::ResetBeforeHead if is_http2 => Failure {
                kind: ErrorKind::ClosedFresh,
                ..failure
            },
            _ => failure,
        })?;
        let mut wants_identity = false;
        let stream = if origin.scheme.is_tls() {
            begin_stage(CallStage::Handshake);
            let (tls, host) = (&network.tls, &origin.host);
            let tls = match purpose {
                ConnectionPurpose::Requests | ConnectionPurpose::Sharing => {
                    tls.connect(host, tcp).await
                }
                ConnectionPurpose::Upgrade => tls.connect_for_upgrade(host, tcp).await,
                ConnectionPurpose::Calls => tls.connect_for_calls(host, tcp).await,
            };
            add_phase(&mut phases.tls, connected.elapsed());
            let tls = tls.map_err(|error| match purpose {
                ConnectionPurpose::Calls if error_mapping::is_without_protocol(&error) => {
                    no_http2(purpose)
                }
                _ => error_mapping::handshake_failure(&error),
            })?;
            wants_identity = tls.wants_identity;
            let tls = tls.stream;
            let chosen = tls.get_ref().1.alpn_protocol() == Some(H2);
            if is_http2 && !chosen {
                return Err(no_http2(purpose));
            }
            is_http2 = chosen;
            TransportStream::Tls(Box::new(tls))
        } else {
            TransportStream::Plain(tcp)
        };
        let meter = Self::meter(is_http2, connected - begin);
        meter.set_wants_identity(wants_identity);
        Self::over(stream, is_http2, purpose, meter).await
    }

    /// The meter of a connection that took `round_trip` to open.
    fn meter(is_http2: bool, round_trip: Duration) -> Rc<Meter> {
        let meter = Rc::new(Meter::new(if is_http2 {
            MAX_BEFORE_HTTP2_HEAD
        } else {
            MAX_HEAD
        }));
        meter.set_round_trip(round_trip);
        meter
    }

    /// Begins the protocol over `stream`.
    async fn over(
        stream: TransportStream,
        is_http2: bool,
        purpose: ConnectionPurpose,
        meter: Rc<Meter>,
    ) -> Result<Self, Failure> {
        let io = MeteredStream::new(stream, Rc::clone(&meter));
        let protocol = if is_http2 {
            let most = if purpose == ConnectionPurpose::Sharing {
                1
            } else {
                usize::MAX
            };
            let opened = Http2::open(io.ending_by_reading(), most).await;
            let opened = opened.map_err(|error| {
                error_mapping::head_failure(&Error::Http2(error), &meter, ConnectionEnd::New)
            })?;
            Protocol::Http2(Box::new(opened))
        } else {
            Protocol::Http1(Box::new(Http1::new(io)))
        };
        Ok(Self { protocol, meter })
    }

    /// Opens a connection for HTTP/3.
    #[cfg(feature = "http3")]
    async fn open_quic(
        network: &Network,
        origin: &Origin,
        addresses: &Addresses,
        preferred: &mut usize,
        phases: &mut Phases,
        mut begin_stage: impl FnMut(CallStage),
    ) -> Result<Self, Failure> {
        if !origin.scheme.is_tls() {
            let words = format!("HTTP/3 needs `https://`, and this is {origin}");
            return Err(Failure::new(ErrorKind::TlsProtocol, words));
        }
        let begin = Instant::now();
        let (tls, host) = (&network.tls, &origin.host);
        let opened = connect_first(addresses, preferred, async |address| {
            begin_stage(CallStage::Quic(address));
            let meter = Rc::new(Meter::new(0));
            Http3::open(tls, host, address, meter, QUIC_PATIENCE).await
        })
        .await;
        let time = begin.elapsed();
        add_phase(&mut phases.connect, time);
        let http3 = opened?;
        let meter = Rc::clone(http3.meter());
        meter.set_round_trip(time);
        let protocol = Protocol::Http3(Box::new(http3));
        Ok(Self { protocol, meter })
    }

    #[cfg(not(feature = "http3"))]
    #[expect(clippy::unused_async, reason = "it is awaited with the feature")]
    async fn open_quic(
        _: &Network,
        _: &Origin,
        _: &Addresses,
        _: &mut usize,
        _: &mut Phases,
        _: impl FnMut(CallStage),
    ) -> Result<Self, Failure> {
        let words = "`http = 3` needs the feature `http3` of `loadtest`";
        Err(Failure::new(ErrorKind::TlsProtocol, words))
    }

    /// Returns whether the connection can take another request at once.
    pub(super) async fn ready(&mut self) -> bool {
        match &mut self.protocol {
            Protocol::Http1(http1) => poll_fn(|cx| Poll::Ready(http1.is_idle(cx))).await,
            Protocol::Http2(http2) => http2.is_idle(),
            Protocol::Pooled(_) => false,
            #[cfg(feature = "http3")]
            Protocol::Http3(http3) => http3.is_idle(),
        }
    }

    /// Returns whether another request may follow the response that was read.
    pub(super) fn is_kept(&self) -> bool {
        match &self.protocol {
            Protocol::Http1(http1) => http1.is_kept(),
            Protocol::Http2(_) => true,
            Protocol::Pooled(_) => false,
            #[cfg(feature = "http3")]
            Protocol::Http3(http3) => http3.is_kept(),
        }
    }

    /// Returns whether another request may follow one that failed with `error`: its stream was reset, and nothing else.
    #[cold]
    pub(super) fn outlives(&self, error: &Error) -> bool {
        match (&self.protocol, error) {
            (Protocol::Http2(_), Error::Http2(error)) => error.is_remote() && error.is_reset(),
            #[cfg(feature = "http3")]
            (Protocol::Http3(http3), Error::Http3(error)) => {
                http3::is_reset(error) && http3.is_kept()
            }
            _ => false,
        }
    }

    /// Returns whether the server sent more than was asked for.
    pub(super) fn is_spoilt(&self) -> bool {
        matches!(&self.protocol, Protocol::Http1(http1) if http1.is_spoilt())
    }

    /// Returns whether the last byte of the answer is known to have come with its head.
    pub(super) fn is_answered_at_once(&self) -> bool {
        matches!(&self.protocol, Protocol::Http1(http1) if http1.is_answered_at_once())
    }

    /// Returns the number of body bytes that are announced.
    pub(super) fn announced(&self) -> u64 {
        match &self.protocol {
            Protocol::Http1(http1) => http1.announced(),
            Protocol::Http2(http2) => http2.announced(),
            Protocol::Pooled(pooled) => pooled.announced(),
            #[cfg(feature = "http3")]
            Protocol::Http3(http3) => http3.announced(),
        }
    }

    /// Reads the body of the answer, and hands it over piece by piece; whether it came to its end.
    pub(super) async fn body(
        &mut self,
        take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<bool, Error> {
        match &mut self.protocol {
            Protocol::Http1(http1) => http1.body(take).await.map_err(Error::Http1),
            Protocol::Http2(http2) => http2.read_body(take).await.map_err(Error::Http2),
            Protocol::Pooled(pooled) => pooled.read_body(take).await.map_err(Error::Http2),
            #[cfg(feature = "http3")]
            Protocol::Http3(http3) => http3.read_body(take).await.map_err(Error::Http3),
        }
    }
}

/// The failure of a target that speaks no HTTP/2.
fn no_http2(purpose: ConnectionPurpose) -> Failure {
    let words = match purpose {
        ConnectionPurpose::Calls => "the target does not offer HTTP/2, which gRPC needs",
        ConnectionPurpose::Requests | ConnectionPurpose::Sharing | ConnectionPurpose::Upgrade => {
            "the target does not offer HTTP/2, which `http = 2` requires"
        }
    };
    Failure::new(ErrorKind::TlsProtocol, words)
}

/// Opens a TCP connection to the first of `addresses` that accepts, starting at `preferred`.
pub(super) async fn connect(
    addresses: &Addresses,
    preferred: &mut usize,
) -> Result<TcpStream, Failure> {
    connect_first(addresses, preferred, async |address| {
        let connected = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        connected.await.map_err(ConnectError::Unanswered)
    })
    .await
}

/// Returns the connection that `connect` opens to the first of `addresses` that answers, starting at `preferred`, which
/// becomes that one.
async fn connect_first<T>(
    addresses: &Addresses,
    preferred: &mut usize,
    mut connect: impl AsyncFnMut(SocketAddr) -> Result<T, ConnectError>,
) -> Result<T, Failure> {
    let count = addresses.all.len();
    let mut first_failure = None;
    for i in 0..count {
        let index = (*preferred + i) % count;
        let address = addresses.all[index];
        match connect(address).await {
            Ok(connection) => {
                *preferred = index;
                return Ok(connection);
            }
            Err(ConnectError::Unanswered(error)) => {
                let failure = error_mapping::connect_failure(address, &error);
                if failure.kind.is_ours() {
                    return Err(failure);
                }
                first_failure.get_or_insert(failure);
            }
            #[cfg(feature = "http3")]
            Err(ConnectError::Failed(failure)) => return Err(failure),
        }
    }
    Err(first_failure.unwrap_or_else(|| unreachable!("an origin has an address")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::metrics::ErrorKind;
    use std::net::{Ipv4Addr, TcpListener};

    #[tokio::test]
    async fn an_address_where_nobody_listens_is_passed_over_once() {
        let [closed, open] = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let all = [&closed, &open].map(|listener| listener.local_addr().unwrap());
        drop(closed);
        let addresses = |all: &[SocketAddr]| Addresses {
            spread: all.len(),
            all: all.into(),
        };
        let mut preferred = 0;
        let stream = connect(&addresses(&all), &mut preferred).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), all[1]);
        assert_eq!(preferred, 1);

        let failure = connect(&addresses(&all[..1]), &mut 0).await.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::ConnectRefused);
    }
}
