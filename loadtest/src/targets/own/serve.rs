//! A server inside this process: a thread with a runtime of its own, stopped with its owner.

use super::{GIVEN_UP, READY_POLL_INTERVAL, TargetError};
use crate::panic_message::take_panic_message;
use crate::redact;
use loadtest_model::redacted::Redacted;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The time limit for the server to accept connections.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of one attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(250);
/// The time limit for the thread to end; one that blocks is left behind.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// A return value of a server's future. A server that returns at all has died.
pub trait ServerEnd {
    /// The end in words.
    fn in_words(self) -> String;
}

impl ServerEnd for () {
    fn in_words(self) -> String {
        "its future ended".to_owned()
    }
}

impl ServerEnd for Infallible {
    fn in_words(self) -> String {
        match self {}
    }
}

impl<T, E: fmt::Display> ServerEnd for Result<T, E> {
    fn in_words(self) -> String {
        match self {
            Ok(_) => ().in_words(),
            Err(error) => error.to_string(),
        }
    }
}

/// The thread of a server; dropping it stops the server, also while a panic unwinds.
#[derive(Debug)]
pub(super) struct InProcess {
    state: Arc<ServerState>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct ServerState {
    /// The way the future ended, once it has.
    death: Mutex<Option<Redacted>>,
}

impl InProcess {
    /// Starts the server and waits until it takes connections.
    pub(super) fn start<F, S>(serve: F) -> Result<(Self, SocketAddr), TargetError>
    where
        F: FnOnce(tokio::net::TcpListener) -> S + Send + 'static,
        S: Future<Output: ServerEnd>,
    {
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(TargetError::NoPort)?;
        listener
            .set_nonblocking(true)
            .map_err(TargetError::InsideProcess)?;
        let address = listener.local_addr().map_err(TargetError::NoPort)?;
        let state = Arc::new(ServerState::default());
        let (stop, stopped) = oneshot::channel();
        let theirs = Arc::clone(&state);
        let thread = thread::Builder::new()
            .name("target".to_owned())
            .spawn(move || {
                let served = catch_unwind(AssertUnwindSafe(|| {
                    serve_until_stopped(listener, serve, stopped)
                }));
                let death = match served {
                    Ok(Ok(None)) => return,
                    Ok(Ok(Some(end))) => end,
                    Ok(Err(error)) => error.to_string(),
                    Err(panic) => format!("it panicked: {}", take_panic_message(panic)),
                };
                *theirs.death() = Some(redact::redact_message(&death));
            })
            .map_err(TargetError::InsideProcess)?;
        let server = Self {
            state,
            stop: Some(stop),
            thread: Some(thread),
        };
        server.wait_until_ready(address)?;
        Ok((server, address))
    }

    /// Returns an error if the future has ended.
    pub(super) fn check(&self) -> Result<(), TargetError> {
        match &*self.state.death() {
            None => Ok(()),
            Some(how) => Err(TargetError::InsideDied {
                how: how.to_string(),
            }),
        }
    }

    fn wait_until_ready(&self, address: SocketAddr) -> Result<(), TargetError> {
        let started = Instant::now();
        loop {
            let taken = accepts_connections(address);
            self.check()?;
            if taken {
                return Ok(());
            }
            if GIVEN_UP.load(Ordering::Relaxed) {
                return Err(TargetError::GivenUp {
                    program: "in this process".to_owned(),
                });
            }
            if started.elapsed() >= START_TIMEOUT {
                return Err(TargetError::InsideNotReady {
                    within: START_TIMEOUT,
                });
            }
            thread::sleep(READY_POLL_INTERVAL);
        }
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        drop(self.stop.take());
        let Some(thread) = self.thread.take() else {
            return;
        };
        let begun = Instant::now();
        while !thread.is_finished() {
            if begun.elapsed() > STOP_TIMEOUT {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        // Its panics are caught and reported.
        let _ = thread.join();
    }
}

impl ServerState {
    fn death(&self) -> MutexGuard<'_, Option<Redacted>> {
        self.death.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves until told to stop; then, or when the server ends by itself, its connections are closed.
/// Says how it ended by itself.
fn serve_until_stopped<F, S>(
    listener: std::net::TcpListener,
    serve: F,
    stopped: oneshot::Receiver<()>,
) -> io::Result<Option<String>>
where
    F: FnOnce(tokio::net::TcpListener) -> S,
    S: Future<Output: ServerEnd>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::select! {
            biased;
            // Its owner says so by dropping the other end.
            _ = stopped => Ok(None),
            end = serve(listener) => Ok(Some(end.in_words())),
        }
    });
    runtime.shutdown_background();
    ended
}

/// Returns whether the server accepts a connection, which is closed at once. The listening socket alone would
/// not tell, and no request reaches the service.
fn accepts_connections(address: SocketAddr) -> bool {
    let asked = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).and_then(|mut stream| {
        stream.shutdown(Shutdown::Write)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        stream.read(&mut [0; 64])
    });
    let answered = match asked {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    };
    // That may also have been the end of the listener; then nothing listens any more.
    answered && TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok()
}
