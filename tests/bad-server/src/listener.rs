//! A listening thread, which ends when the listener is dropped, and a thread for each connection, which ends with it.

use socket2::{Domain, Socket, Type};
use std::fmt;
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Connections on a free loopback port, each handled by a thread of its own.
pub(crate) struct Listener {
    address: SocketAddr,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Calls `handle` with each connection and its number, which counts from 0.
    pub(crate) fn start(handle: impl Fn(TcpStream, u64) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
        let address = listener.local_addr().expect("a bound socket");
        let stops = Arc::new(AtomicBool::new(false));
        let (is_over, handle) = (Arc::clone(&stops), Arc::new(handle));
        let thread = std::thread::spawn(move || {
            for (number, stream) in (0..).zip(listener.incoming()) {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let handle = Arc::clone(&handle);
                std::thread::spawn(move || handle(stream, number));
            }
        });
        Self {
            address,
            stops,
            thread: Some(thread),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(5));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Closes `stream` with a FIN: what the client sends is read until it closes as well, is silent for a second, or has
/// sent 64 MiB. A socket that is closed with bytes unread sends a RST.
///
/// # Errors
/// The client is gone already.
pub(crate) fn close(stream: TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    io::copy(&mut stream.take(64 << 20), &mut io::sink()).map(drop)
}

/// Closes `stream` with a RST.
///
/// # Errors
/// The socket refuses the option.
pub(crate) fn reset(stream: TcpStream) -> io::Result<()> {
    let socket = Socket::from(stream);
    socket.set_linger(Some(Duration::ZERO))
}

/// A loopback port whose connections are never accepted: it listens with a queue that is full, so the system drops
/// each attempt.
pub struct FullPort {
    _listener: Socket,
    _queued: Vec<Socket>,
    address: SocketAddr,
}

impl FullPort {
    /// Takes a free port.
    #[must_use]
    pub fn take() -> Self {
        let (listener, address) = bind();
        listener.listen(0).expect("a bound socket");
        // A queue of 0 holds one connection; the others wait for the first.
        let queued = [(); 2].map(|()| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_nonblocking(true).expect("our own socket");
            // It is under way, whatever this says.
            let _ = socket.connect(&address.into());
            socket
        });
        Self {
            address,
            _listener: listener,
            _queued: queued.into(),
        }
    }

    /// Where no connection is accepted.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl fmt::Debug for FullPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FullPort").field(&self.address).finish()
    }
}

/// A socket at a free loopback port.
fn bind() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    socket.bind(&any.into()).expect("a free loopback port");
    let address = socket.local_addr().ok();
    let address = address.and_then(|address| address.as_socket());
    (socket, address.expect("a bound socket"))
}

/// A loopback port at which nothing listens and which no other program gets meanwhile: connections are refused.
pub struct ClosedPort {
    _socket: Socket,
    address: SocketAddr,
}

impl ClosedPort {
    /// Takes a free port.
    #[must_use]
    pub fn take() -> Self {
        let (socket, address) = bind();
        Self {
            _socket: socket,
            address,
        }
    }

    /// Where nothing listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl fmt::Debug for ClosedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClosedPort").field(&self.address).finish()
    }
}
