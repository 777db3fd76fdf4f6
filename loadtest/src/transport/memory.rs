//! Connections in memory, for tests on a paused clock.
//!
//! Both ends are tasks of one thread, so that time passes only while neither has anything to do: what happens when is
//! the same on any machine. Over sockets a paused clock may go on while bytes are still within the system.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;

/// The bytes that a connection holds in each direction.
pub(crate) const CAPACITY: usize = 64 * 1024;

thread_local! {
    /// Those who listen on this thread.
    static LISTENERS: RefCell<HashMap<SocketAddr, UnboundedSender<DuplexStream>>> = RefCell::default();
    static LAST_PORT: Cell<u16> = const { Cell::new(0) };
}

/// Takes the connections to an address of this thread.
pub(crate) struct MemoryListener {
    address: SocketAddr,
    incoming: UnboundedReceiver<DuplexStream>,
}

impl MemoryListener {
    pub(crate) fn bind() -> Self {
        let port = LAST_PORT.get() + 1;
        LAST_PORT.set(port);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let (sender, incoming) = unbounded_channel();
        LISTENERS.with_borrow_mut(|listeners| listeners.insert(address, sender));
        Self { address, incoming }
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) async fn accept(&mut self) -> DuplexStream {
        let stream = self.incoming.recv().await;
        stream.unwrap_or_else(|| unreachable!("its sender is kept until it is dropped"))
    }
}

impl Drop for MemoryListener {
    fn drop(&mut self) {
        LISTENERS.with_borrow_mut(|listeners| listeners.remove(&self.address));
    }
}

/// Connects to `address`, where something listens there on this thread.
pub(super) fn connect(address: SocketAddr) -> Option<DuplexStream> {
    let listener = LISTENERS.with_borrow(|listeners| listeners.get(&address).cloned())?;
    let (ours, theirs) = duplex(CAPACITY);
    listener.send(theirs).ok()?;
    Some(ours)
}

/// The parts of an answer, each with the time before it is written.
pub(crate) type Pieces = Box<dyn Iterator<Item = (Duration, Vec<u8>)>>;

/// A whole answer with `body`, after `wait`.
pub(crate) fn text_after(wait: Duration, body: &str) -> Pieces {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    Box::new(std::iter::once((wait, (head + body).into_bytes())))
}

/// No answer.
pub(crate) fn silence() -> Pieces {
    Box::new(std::iter::once((Duration::MAX, Vec::new())))
}

/// The start of an answer, and then `piece` again and again, each after `pace`.
pub(crate) fn endless(start: &str, pace: Duration, piece: Vec<u8>) -> Pieces {
    let start = (Duration::ZERO, start.as_bytes().to_vec());
    Box::new(std::iter::once(start).chain(std::iter::repeat((pace, piece))))
}

/// A server of HTTP/1.1 for requests without bodies.
pub(crate) struct MemoryServer {
    pub(crate) url: String,
    connections: Rc<Cell<usize>>,
}

impl MemoryServer {
    /// Answers a request for a path with what `answer` says.
    pub(crate) fn start(answer: impl Fn(&str) -> Pieces + 'static) -> Self {
        let mut listener = MemoryListener::bind();
        let connections: Rc<Cell<usize>> = Rc::default();
        let server = Self {
            url: listener.url(),
            connections: Rc::clone(&connections),
        };
        let answer = Rc::new(answer);
        spawn_local(async move {
            loop {
                let stream = listener.accept().await;
                connections.set(connections.get() + 1);
                let answer = Rc::clone(&answer);
                spawn_local(async move { serve(stream, &*answer).await });
            }
        });
        server
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.get()
    }
}

/// Serves a connection until its client is gone.
async fn serve(mut stream: DuplexStream, answer: &impl Fn(&str) -> Pieces) -> Option<()> {
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?.into());
        }
        let path = head.split(' ').nth(1)?;
        for (wait, piece) in answer(path) {
            tokio::time::sleep(wait).await;
            stream.write_all(&piece).await.ok()?;
        }
    }
}
