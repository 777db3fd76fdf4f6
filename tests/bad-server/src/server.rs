//! The server: it plays a script on each connection.

use crate::listener::{self, Listener};
use crate::script::{Act, Script};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A server on a free loopback port that plays a [`Script`] on each connection.
///
/// Dropped, it accepts no more; a connection that is open ends with its script.
pub struct BadServer {
    listener: Listener,
    heads: Arc<AtomicU64>,
}

/// A connection, with or without TLS.
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl BadServer {
    /// Plays `script` on every connection.
    pub fn start(script: Script) -> Self {
        Self::start_each(move |_| script.clone())
    }

    /// Plays on each connection what `script` makes of its number, which counts from 0.
    pub fn start_each(script: impl Fn(u64) -> Script + Send + Sync + 'static) -> Self {
        Self::launch(None, script)
    }

    /// Plays `script` on every connection over TLS, after the handshake.
    pub fn start_tls(config: ServerConfig, script: Script) -> Self {
        Self::launch(Some(Arc::new(config)), move |_| script.clone())
    }

    fn launch(
        tls: Option<Arc<ServerConfig>>,
        script: impl Fn(u64) -> Script + Send + Sync + 'static,
    ) -> Self {
        let heads = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&heads);
        let listener = Listener::start(move |tcp, number| {
            // The client may go away at any time; that is its business.
            let _ = Stream::open(tcp, tls.as_ref())
                .and_then(|stream| play(&script(number), stream, &counted));
        });
        Self { listener, heads }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The number of request heads that scripts have read to their end.
    pub fn heads(&self) -> u64 {
        self.heads.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for BadServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BadServer")
            .field("address", &self.address())
            .field("heads", &self.heads())
            .finish()
    }
}

fn play(script: &Script, mut stream: Stream, heads: &AtomicU64) -> io::Result<()> {
    loop {
        for act in &script.acts {
            match act {
                Act::ReadHead => {
                    stream.read_head()?;
                    heads.fetch_add(1, Ordering::SeqCst);
                }
                Act::Read(count) => drop(stream.read_bytes(*count)?),
                Act::ReadFrame(kind) => stream.read_frames(*kind)?,
                Act::Send(bytes) => stream.send(bytes)?,
                Act::Pause(pause) => thread::sleep(*pause),
                Act::HalfClose => stream.half_close()?,
                Act::Close => return listener::close(stream.into_tcp()),
                Act::Reset => return listener::reset(stream.into_tcp()),
                Act::Hold => return stream.read_to_the_end(),
            }
        }
        if !script.repeats {
            return listener::close(stream.into_tcp());
        }
    }
}

impl Stream {
    fn open(tcp: TcpStream, tls: Option<&Arc<ServerConfig>>) -> io::Result<Self> {
        tcp.set_nodelay(true)?;
        let Some(config) = tls else {
            return Ok(Self::Plain(tcp));
        };
        let session = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(session, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Self::Tls(Box::new(stream)))
    }

    /// Reads up to an empty line, and not a byte more.
    fn read_head(&mut self) -> io::Result<()> {
        let mut last = [0; 4];
        while last != *b"\r\n\r\n" {
            last.rotate_left(1);
            last[3] = self.read_bytes(1)?[0];
        }
        Ok(())
    }

    fn read_bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        match self {
            Self::Plain(tcp) => tcp.read_exact(&mut bytes)?,
            Self::Tls(tls) => tls.read_exact(&mut bytes)?,
        }
        Ok(bytes)
    }

    /// Reads frames of HTTP/2 up to the first of type `kind`.
    fn read_frames(&mut self, kind: u8) -> io::Result<()> {
        loop {
            let head = self.read_bytes(9)?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            self.read_bytes(length as usize)?;
            if head[3] == kind {
                return Ok(());
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.write_all(bytes),
            Self::Tls(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
        }
    }

    fn half_close(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.shutdown(Shutdown::Write),
            Self::Tls(tls) => {
                tls.conn.send_close_notify();
                tls.flush()?;
                tls.sock.shutdown(Shutdown::Write)
            }
        }
    }

    fn read_to_the_end(self) -> io::Result<()> {
        io::copy(&mut self.into_tcp(), &mut io::sink()).map(drop)
    }

    fn into_tcp(self) -> TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.sock,
        }
    }
}
