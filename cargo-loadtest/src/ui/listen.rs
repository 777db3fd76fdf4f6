//! The sockets of the server: on loopback, or at a path.

use loadtest_console::error::Error;
use ring::digest::{SHA256, digest};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::Path;
use tokio::io::{AsyncRead, AsyncWrite};

/// A workspace has one of these ports, so that its pages find its dashboard again.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 20_000;

/// A socket that waits for connections.
#[derive(Debug)]
pub(super) enum Listener {
    Port(TcpListener),
    #[cfg(unix)]
    Path(std::os::unix::net::UnixListener),
}

/// The same, within the event loop.
#[derive(Debug)]
pub(super) enum Acceptor {
    Port(tokio::net::TcpListener),
    #[cfg(unix)]
    Path(tokio::net::UnixListener),
}

/// A connection of either kind.
pub(super) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

impl Listener {
    /// Enters the event loop that calls it.
    ///
    /// # Errors
    /// When the system refuses it.
    pub(super) fn into_acceptor(self) -> io::Result<Acceptor> {
        Ok(match self {
            Self::Port(listener) => {
                listener.set_nonblocking(true)?;
                Acceptor::Port(tokio::net::TcpListener::from_std(listener)?)
            }
            #[cfg(unix)]
            Self::Path(listener) => {
                listener.set_nonblocking(true)?;
                Acceptor::Path(tokio::net::UnixListener::from_std(listener)?)
            }
        })
    }
}

impl Acceptor {
    /// Waits for a connection.
    ///
    /// # Errors
    /// When the process has no room for it.
    pub(super) async fn accept(&self) -> io::Result<Box<dyn Connection>> {
        Ok(match self {
            Self::Port(listener) => Box::new(listener.accept().await?.0),
            #[cfg(unix)]
            Self::Path(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

/// Listens on the loopback addresses, at the port `wanted` or that of the workspace in `root`. Returns the port, too.
///
/// # Errors
/// When the port is taken.
pub(super) fn listen_on_loopback(
    wanted: Option<u16>,
    root: &Path,
) -> Result<(u16, Vec<Listener>), Error> {
    let hash = digest(&SHA256, root.as_os_str().as_encoded_bytes());
    let number = u16::from_be_bytes([hash.as_ref()[0], hash.as_ref()[1]]);
    let own = FIRST_PORT + number % PORTS;
    let listen_at = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let failed = |port: u16| {
        move |error| Error::failure(format!("cannot listen on 127.0.0.1:{port}: {error}"))
    };
    let socket = match wanted {
        Some(port) => listen_at(port).map_err(failed(port))?,
        None => listen_at(own)
            .or_else(|_| listen_at(0))
            .map_err(failed(0))?,
    };
    let port = socket.local_addr().map_err(failed(0))?.port();
    let mut sockets = vec![Listener::Port(socket)];
    // A machine may have no IPv6.
    sockets.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).map(Listener::Port));
    Ok((port, sockets))
}

/// Listens at `path`, for this user alone. A socket that nobody serves any more is replaced.
///
/// # Errors
/// When there is something else at the path, or another server.
#[cfg(unix)]
pub(super) fn listen_at_path(path: &Path) -> Result<Listener, Error> {
    use rustix::fs::Mode;
    use rustix::process::umask;
    use std::os::unix::fs::FileTypeExt as _;
    use std::os::unix::net::{UnixListener, UnixStream};

    let failed = Error::io("listen on the socket", path);
    let is_left_over = path
        .symlink_metadata()
        .is_ok_and(|found| found.file_type().is_socket())
        && UnixStream::connect(path).is_err();
    if is_left_over {
        std::fs::remove_file(path).map_err(Error::io("replace the socket", path))?;
    }
    // No other thread makes files yet.
    let before = umask(Mode::XUSR | Mode::RWXG | Mode::RWXO);
    let listener = UnixListener::bind(path);
    umask(before);
    listener.map(Listener::Path).map_err(failed)
}
