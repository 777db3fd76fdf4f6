//! Connections and datagrams of clients that a scenario brings itself: put to the guard, and counted.

use super::connection::connect;
use super::error_mapping::{handshake_failure, local_error_kind};
use super::grpc::GrpcChannels;
use super::network::{Addresses, Network};
use super::pool::ConnectionPools;
use super::progress::add_phase;
use super::websocket::{OpenedSocket, SocketConnection};
use super::{ErrorKind, Failure, Phases, Traffic};
use crate::targets::{Allowance, NotPermitted, Origin, RequestPass, Scheme};
use bytes::Bytes;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The largest datagram there is.
const MAX_DATAGRAM: usize = 65_535;

/// What the clients of one virtual user connect over.
pub(crate) struct Sockets {
    network: Arc<Network>,
    /// The number of the user, who shares the addresses with others.
    user: u64,
    bytes: Arc<ByteCounts>,
    driven: RefCell<JoinSet<()>>,
    /// How the last connection that was driven failed.
    lost: Rc<RefCell<Option<String>>>,
    /// The connections for gRPC calls.
    grpc: GrpcChannels,
}

/// Where an operation goes to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OperationTarget<'a> {
    /// Only its client knows, so that it counts for every target of the clients of the scenario.
    Unknown,
    Url(&'a str),
    WebSocket(&'a SocketConnection),
}

/// Bytes since they were last taken.
#[derive(Debug, Default)]
pub(super) struct ByteCounts {
    sent: AtomicU64,
    received: AtomicU64,
}

impl ByteCounts {
    pub(super) fn add_sent(&self, count: usize) {
        self.sent.fetch_add(count as u64, Relaxed);
    }

    pub(super) fn add_received(&self, count: usize) {
        self.received.fetch_add(count as u64, Relaxed);
    }
}

impl Sockets {
    pub(super) fn new(
        network: Arc<Network>,
        user: u64,
        pools: Option<Rc<ConnectionPools>>,
    ) -> Self {
        Self {
            grpc: GrpcChannels::new(Arc::clone(&network), user, pools),
            network,
            user,
            bytes: Arc::default(),
            driven: RefCell::default(),
            lost: Rc::default(),
        }
    }

    /// Closes the connections for gRPC calls, of which the next ones open others.
    pub(super) fn close_channels(&self) {
        self.grpc.close_all();
    }

    /// Returns scheme, host and port of the base URL.
    pub(crate) fn base(&self) -> Option<&Origin> {
        self.network.base().map(|base| &base.origin)
    }

    /// Lets an operation pass, if it may happen now.
    ///
    /// # Errors
    /// `guard.blocked`: the cap it would break, or that the permission has ended.
    pub(crate) fn admit_operation(
        &self,
        target: OperationTarget<'_>,
    ) -> Result<Vec<RequestPass>, Failure> {
        let refuse = |words| Failure::new(ErrorKind::GuardBlocked, words);
        if let Some(reason) = self.network.halted() {
            return Err(refuse(format!(
                "the permission to test has ended: {reason}"
            )));
        }
        let cap = |origin: &Origin| self.network.allowance(origin);
        let caps: Vec<Arc<Allowance>> = match target {
            OperationTarget::Unknown => {
                let origins = self.network.origins().iter();
                let reached = origins.filter(|origin| !origin.scheme.is_http());
                reached.filter_map(cap).collect()
            }
            OperationTarget::Url(url) => {
                let origin = Origin::of_socket(url).ok();
                origin.as_ref().and_then(cap).into_iter().collect()
            }
            OperationTarget::WebSocket(socket) => socket.allowance().cloned().into_iter().collect(),
        };
        let passes = caps.iter().map(Allowance::admit_request);
        passes.collect::<Result<_, _>>().map_err(refuse)
    }

    /// Returns an address of `url` that may be connected to.
    ///
    /// # Errors
    /// The URL is none, or the guard refuses it.
    pub(crate) fn permitted(&self, url: &str) -> Result<SocketAddr, Failure> {
        let (_, addresses) = self.addresses(url)?;
        Ok(addresses.all[addresses.of(self.user)])
    }

    /// Opens a connection to `tcp://` or `tls://`, and adds to `phases` what it took.
    ///
    /// # Errors
    /// The URL is none, the guard refuses it, or there is no connection.
    pub(crate) async fn connect(&self, url: &str, phases: &mut Phases) -> Result<Stream, Failure> {
        let (origin, mut addresses) = self.addresses(url)?;
        if origin.scheme == Scheme::Udp {
            return Err(unusable(url, "`net.udp(..)` is for `udp://`"));
        }
        let begin = Instant::now();
        if let Some(now) = self.network.addresses_now(&origin).await {
            addresses = now?;
        }
        let mut preferred = addresses.of(self.user);
        let tcp = connect(&addresses, &mut preferred).await;
        let connected = Instant::now();
        add_phase(&mut phases.connect, connected - begin);
        let io: Box<dyn Io> = if origin.scheme.is_tls() {
            let opened = self.network.tls.connect_alone(&origin.host, tcp?).await;
            add_phase(&mut phases.tls, connected.elapsed());
            let opened = opened.map_err(|error| handshake_failure(&error))?;
            Box::new(opened.stream)
        } else {
            Box::new(tcp?)
        };
        Ok(Stream {
            io,
            bytes: Arc::clone(&self.bytes),
        })
    }

    /// Opens a socket for datagrams to and from the one target of `udp://`.
    ///
    /// # Errors
    /// The URL is none, the guard refuses it, or this machine has no socket left.
    pub(crate) async fn open_datagrams(&self, url: &str) -> Result<Datagrams, Failure> {
        let (origin, addresses) = self.addresses(url)?;
        if origin.scheme != Scheme::Udp {
            return Err(unusable(url, "`net.udp(..)` is for `udp://`"));
        }
        let address = addresses.all[addresses.of(self.user)];
        let own = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let opened = async {
            let socket = UdpSocket::bind(own).await?;
            socket.connect(address).await?;
            Ok(socket)
        };
        let socket = opened.await.map_err(|error: io::Error| {
            let kind = local_error_kind(&error).unwrap_or(ErrorKind::ConnectUnreachable);
            Failure::new(kind, format!("cannot send to {address}: {error}"))
        })?;
        Ok(Datagrams {
            socket,
            bytes: Arc::clone(&self.bytes),
        })
    }

    fn addresses(&self, url: &str) -> Result<(Origin, Addresses), Failure> {
        let origin = Origin::of_socket(url).map_err(|reason| unusable(url, &reason))?;
        let blocked =
            |refusal: NotPermitted| Failure::new(ErrorKind::GuardBlocked, refusal.to_string());
        let addresses = self.network.addresses(&origin).map_err(blocked)?;
        Ok((origin, addresses))
    }

    /// Runs `connection` on this thread, until it ends or the user does.
    /// It yields why it failed, if it did.
    pub(crate) fn drive(&self, connection: impl Future<Output = Option<String>> + 'static) {
        let lost = Rc::clone(&self.lost);
        self.spawn(async move {
            if let Some(reason) = connection.await {
                lost.replace(Some(format!("its connection ended: {reason}")));
            }
        });
    }

    /// Runs `task` on this thread, until it ends or the user does.
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let mut driven = self.driven.borrow_mut();
        // Those that have ended hold nothing any more.
        while driven.try_join_next().is_some() {}
        driven.spawn_local(task);
    }

    /// Drives a WebSocket that a target has handed over, until it ends or the user does.
    pub(super) fn adopt(&self, opened: OpenedSocket) -> Arc<SocketConnection> {
        let (connection, task) = opened.into_parts(&self.bytes);
        self.spawn(task);
        connection
    }

    /// Takes how a connection that was driven failed.
    pub(crate) fn take_lost(&self) -> Option<String> {
        self.lost.take()
    }

    /// Takes the bytes that passed since they were last taken.
    pub(crate) fn take_traffic(&self) -> Traffic {
        let mut traffic = self.grpc.take_traffic();
        traffic.sent_bytes += self.bytes.sent.swap(0, Relaxed);
        traffic.received_bytes += self.bytes.received.swap(0, Relaxed);
        traffic
    }

    /// Returns what gRPC calls go over.
    pub(crate) fn grpc(&self) -> &GrpcChannels {
        &self.grpc
    }
}

fn unusable(url: &str, reason: &str) -> Failure {
    let url = crate::redact::redact(url);
    Failure::new(
        ErrorKind::StepError,
        format!(
            "`{url}` cannot be connected to: {reason}; write for example `tcp://127.0.0.1:5432`"
        ),
    )
}

/// What a connection is read from and written to.
trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A connection that [`Net::connect`](crate::Net::connect) opened, over TLS where its URL says so. It may be handed to
/// any client that takes an `AsyncRead + AsyncWrite`. What passes over it counts among the bytes of its step.
pub struct Stream {
    io: Box<dyn Io>,
    bytes: Arc<ByteCounts>,
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = ready!(Pin::new(&mut self.io).poll_read(cx, buf));
        let count = buf.filled().len() - before;
        self.bytes.received.fetch_add(count as u64, Relaxed);
        Poll::Ready(read)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf));
        let count = *written.as_ref().unwrap_or(&0);
        self.bytes.sent.fetch_add(count as u64, Relaxed);
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

/// Datagrams to and from one target, as [`Net::udp`](crate::Net::udp) opens them.
///
/// A datagram may be lost: wait within [`Vu::measure`](crate::Vu::measure), which has a deadline.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    bytes: Arc<ByteCounts>,
}

impl Datagrams {
    /// Sends one datagram.
    ///
    /// # Errors
    /// The operating system refuses it, as where an earlier one found nobody who listens.
    pub async fn send(&self, datagram: &[u8]) -> io::Result<()> {
        let count = self.socket.send(datagram).await?;
        self.bytes.sent.fetch_add(count as u64, Relaxed);
        Ok(())
    }

    /// Waits for the next datagram of the target.
    ///
    /// # Errors
    /// Nobody listens there.
    pub async fn receive(&self) -> io::Result<Bytes> {
        let mut datagram = Vec::with_capacity(MAX_DATAGRAM);
        let count = self.socket.recv_buf(&mut datagram).await?;
        self.bytes.received.fetch_add(count as u64, Relaxed);
        Ok(datagram.into())
    }

    /// Sends a datagram, and waits for the next one that `is_answer`; others are dropped.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`receive`](Self::receive).
    pub async fn ask(
        &self,
        datagram: &[u8],
        is_answer: impl Fn(&[u8]) -> bool,
    ) -> io::Result<Bytes> {
        self.send(datagram).await?;
        loop {
            let answer = self.receive().await?;
            if is_answer(&answer) {
                return Ok(answer);
            }
        }
    }
}
