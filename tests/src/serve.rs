//! The server itself: a thread of its own, a task for each connection.

use crate::parse::{self, Request};
use crate::reply::{Act, End, Reply};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;

type Script = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server on a free loopback port; it stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    script: Box<Script>,
    requests: AtomicU64,
    connections: AtomicU64,
    closed: AtomicU64,
    records: bool,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    by_path: HashMap<String, u64>,
    recorded: Vec<Request>,
}

impl Server {
    /// Starts a server that does with each request what `script` says.
    pub fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::launch(any_port(), Box::new(script), false)
    }

    /// The same at a certain address, such as that of a server that was stopped.
    pub fn start_at(
        address: SocketAddr,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::launch(address, Box::new(script), false)
    }

    /// The same, and keeps every request for [`recorded`](Self::recorded).
    pub fn recording(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::launch(any_port(), Box::new(script), true)
    }

    /// Starts a server on the runtime of the caller: both have one clock then, which a test may pause. Its connections
    /// end with the runtime.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn start_here(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let (listener, state) = bind(any_port(), Box::new(script), false);
        let address = listener.local_addr().expect("a bound socket");
        let (stop, stopped) = oneshot::channel();
        let listener = TcpListener::from_std(listener).expect("a listener within a runtime");
        tokio::spawn(accept_until_stopped(listener, Arc::clone(&state), stopped));
        Self {
            address,
            state,
            stop: Some(stop),
            thread: None,
        }
    }

    fn launch(address: SocketAddr, script: Box<Script>, records: bool) -> Self {
        let (listener, state) = bind(address, script, records);
        let address = listener.local_addr().expect("a bound socket");
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&state);
        // Before the test goes on: it may use up what the server needs.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = {
            let _within = runtime.enter();
            TcpListener::from_std(listener).expect("a listener within a runtime")
        };
        let thread = std::thread::spawn(move || {
            runtime.block_on(accept_until_stopped(listener, shared, stopped));
            // Dropping the runtime closes every connection.
        });
        Self {
            address,
            state,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests have arrived whole.
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// How many of them had this path.
    pub fn requests_to(&self, path: &str) -> u64 {
        let log = self.state.log();
        log.by_path.get(path).copied().unwrap_or_default()
    }

    /// How many connections have been accepted.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// How many of them are over, whoever closed them.
    pub fn closed(&self) -> u64 {
        self.state.closed.load(Ordering::SeqCst)
    }

    /// The requests so far, in the order of their arrival; only with [`recording`](Self::recording).
    pub fn recorded(&self) -> Vec<Request> {
        self.state.log().recorded.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl State {
    fn log(&self) -> MutexGuard<'_, Log> {
        // A script that panicked has been reported; the counts are still right.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the request and gives it its number among those of its path.
    fn count(&self, request: &mut Request) {
        let mut log = self.log();
        let seen = log.by_path.entry(request.path.clone()).or_default();
        request.sequence = *seen;
        *seen += 1;
        if self.records {
            log.recorded.push(request.clone());
        }
        self.requests.fetch_add(1, Ordering::SeqCst);
    }
}

fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn bind(
    address: SocketAddr,
    script: Box<Script>,
    records: bool,
) -> (std::net::TcpListener, Arc<State>) {
    let listener = std::net::TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .expect("a free loopback address");
    let state = Arc::new(State {
        script,
        requests: AtomicU64::new(0),
        connections: AtomicU64::new(0),
        closed: AtomicU64::new(0),
        records,
        log: Mutex::default(),
    });
    (listener, state)
}

async fn accept_until_stopped(
    listener: TcpListener,
    state: Arc<State>,
    stopped: oneshot::Receiver<()>,
) {
    tokio::select! {
        () = accept(listener, state) => {}
        _ = stopped => {}
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let number = state.connections.fetch_add(1, Ordering::SeqCst);
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    // The client may go away at any time; that is its business.
                    let _ = serve(stream, &state, number).await;
                    state.closed.fetch_add(1, Ordering::SeqCst);
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

async fn serve(mut stream: TcpStream, state: &State, number: u64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = VecDeque::new();
    while let Some(mut request) = parse::read(&mut stream, &mut buffer, number).await? {
        state.count(&mut request);
        let reply = (state.script)(&request);
        for act in reply.acts(request.method == "HEAD") {
            match act {
                Act::WaitFor(gate) => gate.pass().await,
                Act::Pause(pause) => tokio::time::sleep(pause).await,
                Act::Write(bytes) => stream.write_all(&bytes).await?,
                Act::WriteTimes(bytes, times) => {
                    for _ in 0..times {
                        stream.write_all(&bytes).await?;
                    }
                }
                Act::WriteForever(bytes) => loop {
                    stream.write_all(&bytes).await?;
                },
                Act::WritePieces(maker) => {
                    let made = (0..).map_while(|number| maker.make(number));
                    for (pause, piece) in made {
                        tokio::time::sleep(pause).await;
                        stream.write_all(&piece).await?;
                    }
                }
            }
        }
        match reply.end() {
            End::Keep => {}
            End::Close => {
                stream.shutdown().await?;
                return Ok(());
            }
            End::Reset => {
                stream.set_zero_linger()?;
                return Ok(());
            }
            End::Hang => pending().await,
        }
    }
    Ok(())
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .field("requests", &self.requests())
            .finish_non_exhaustive()
    }
}

/// A port of loopback where nothing listens, nor can while this lives: what connects is refused.
#[derive(Debug)]
pub struct ClosedPort(TcpSocket);

impl ClosedPort {
    /// Takes a port.
    ///
    /// # Panics
    /// If there is none.
    #[expect(clippy::new_without_default, reason = "it takes a port of the system")]
    pub fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        socket.bind(any_port).expect("a port");
        Self(socket)
    }

    /// Returns its address.
    ///
    /// # Panics
    /// Never: the port is taken.
    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("a bound socket")
    }
}
