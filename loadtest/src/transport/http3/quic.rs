//! A QUIC connection with a socket of its own, and what drives both.

use super::failures::{self, Error};
use super::socket::QuicSocket;
use crate::targets::Host;
use crate::transport::failure::ConnectError;
use crate::transport::meter::Meter;
use crate::transport::tls::TlsConfig;
use crate::transport::{ErrorKind, Failure};
use h3::error::StreamError;
use quinn::{
    AsyncTimer, AsyncUdpSocket, ClientConfig, Endpoint, EndpointConfig, Runtime, TokioRuntime,
    TransportConfig, VarInt,
};
use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The connection is of no more use (RFC 9114, section 8.1).
const H3_NO_ERROR: VarInt = VarInt::from_u32(0x100);

/// A connection; when it is dropped, the target is told so once, and nothing is awaited.
pub(super) struct QuicConnection {
    connection: quinn::Connection,
    socket: Arc<QuicSocket>,
    driver: Driver,
    meter: Rc<Meter>,
    /// The bytes that are counted already: those sent, and those received.
    counted: Cell<(u64, u64)>,
}

/// A task that drives a connection; it ends when this is dropped.
struct Driver {
    parts: Arc<DriverParts>,
    task: JoinHandle<()>,
}

type Part = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The futures that drive a connection. quinn takes them for tasks.
#[derive(Default)]
struct DriverParts(Mutex<PartList>);

#[derive(Default)]
struct PartList {
    parts: Vec<Part>,
    waker: Option<Waker>,
}

impl QuicConnection {
    /// Opens a connection to `host` at `address`, which gets `patience` for the first word of an answer.
    pub(super) async fn open(
        tls: &TlsConfig,
        host: &Host,
        address: SocketAddr,
        meter: Rc<Meter>,
        patience: Duration,
    ) -> Result<Self, ConnectError> {
        let tls_failure = |words| ConnectError::Failed(Failure::new(ErrorKind::TlsProtocol, words));
        let tls = tls.quic_config().map_err(tls_failure)?;
        let mut config = ClientConfig::new(tls);
        let mut transport = TransportConfig::default();
        // A connection rests as long as its user, unless the target ends it.
        transport.max_idle_timeout(None);
        transport.max_concurrent_bidi_streams(VarInt::from_u32(0));
        config.transport_config(Arc::new(transport));
        let parts = Arc::<DriverParts>::default();
        let socket = QuicSocket::open(address).map_err(ConnectError::Unanswered)?;
        let endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            None,
            Arc::clone(&socket) as Arc<dyn AsyncUdpSocket>,
            Arc::clone(&parts) as Arc<dyn Runtime>,
        );
        let endpoint = endpoint.map_err(ConnectError::Unanswered)?;
        let name = match host {
            Host::Address(address) => address.to_string(),
            Host::Name(name) => name.clone(),
        };
        let connecting = endpoint.connect_with(config, address, &name);
        let connecting = connecting.map_err(|error| {
            let words = format!("there is no QUIC connection to {address}: {error}");
            tls_failure(words)
        })?;
        let driver = Driver::start(parts);
        let connection = tokio::select! {
            biased;
            connection = connecting => connection,
            error = socket.unanswered(patience) => return Err(ConnectError::Unanswered(error)),
        };
        let connection = connection
            .map_err(|error| ConnectError::Failed(failures::handshake_failure(&error, address)))?;
        let quic = Self {
            connection,
            socket,
            driver,
            meter,
            counted: Cell::default(),
        };
        quic.drive_too(quic.end_where_refused());
        Ok(quic)
    }

    /// Ends the connection once nothing listens at the address any more: a target that died does not say so.
    fn end_where_refused(&self) -> impl Future<Output = ()> + Send + 'static {
        let (connection, socket) = (self.connection.clone(), Arc::clone(&self.socket));
        async move {
            tokio::select! {
                () = socket.refused() => connection.close(H3_NO_ERROR, b""),
                _ = connection.closed() => {}
            }
        }
    }

    pub(super) fn for_h3(&self) -> h3_quinn::Connection {
        h3_quinn::Connection::new(self.connection.clone())
    }

    /// Drives another future with the connection.
    pub(super) fn drive_too(&self, part: impl Future<Output = ()> + Send + 'static) {
        let mut list = self.driver.parts.lock();
        list.parts.push(Box::pin(part));
        if let Some(waker) = &list.waker {
            waker.wake_by_ref();
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.connection.close_reason().is_none()
    }

    pub(super) fn meter(&self) -> &Rc<Meter> {
        &self.meter
    }

    /// Begins to count for another request.
    pub(super) fn begin_request(&self) {
        self.count_bytes();
        self.meter.begin();
    }

    /// Counts what has passed since it was last counted.
    pub(super) fn count_bytes(&self) {
        let stats = self.connection.stats();
        let (sent, received) = (stats.udp_tx.bytes, stats.udp_rx.bytes);
        let before = self.counted.replace((sent, received));
        self.meter.add(sent - before.0, received - before.1);
    }

    /// The connection ended before HTTP/3 was spoken over it.
    pub(super) fn lost_in_handshake(&self, address: SocketAddr) -> ConnectError {
        let reason = self.connection.close_reason();
        let reason = reason.unwrap_or(quinn::ConnectionError::LocallyClosed);
        ConnectError::Failed(failures::handshake_failure(&reason, address))
    }

    /// The error of a request that was not written.
    pub(super) fn unsent_error(&self, error: StreamError) -> Error {
        match error {
            StreamError::HeaderTooBig { .. } => Error::RequestTooLarge,
            error => self.stream_error(error),
        }
    }

    /// The error of a request that was written.
    pub(super) fn stream_error(&self, error: StreamError) -> Error {
        if self.socket.is_refused() {
            return Error::Gone;
        }
        Error::from_stream(error, self.connection.close_reason())
    }
}

impl Drop for QuicConnection {
    fn drop(&mut self) {
        self.count_bytes();
        self.connection.close(H3_NO_ERROR, b"");
        // Sends what was said just now. At the end of a run there may be no time for more.
        if Handle::try_current().is_ok() {
            let cx = &mut Context::from_waker(Waker::noop());
            let _ = self.driver.parts.lock().poll(cx);
        }
    }
}

impl Driver {
    fn start(parts: Arc<DriverParts>) -> Self {
        let driven = Arc::clone(&parts);
        let task = tokio::spawn(poll_fn(move |cx| {
            let mut list = driven.lock();
            list.waker = Some(cx.waker().clone());
            list.poll(cx)
        }));
        Self { parts, task }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.task.abort();
        // They hold the endpoint, which holds what they are part of.
        let parts = std::mem::take(&mut self.parts.lock().parts);
        drop(parts);
    }
}

impl DriverParts {
    fn lock(&self) -> MutexGuard<'_, PartList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartList {
    /// Drives all parts; whether all have ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.parts
            .retain_mut(|part| part.as_mut().poll(cx).is_pending());
        if self.parts.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Runtime for DriverParts {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.lock().parts.push(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}

impl fmt::Debug for DriverParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverParts").finish_non_exhaustive()
    }
}
