//! One virtual user, and the requests it sends.

use crate::chain::{RequestBuf, RequestTarget};
use crate::transport::{
    Call, Exchange, Failure, HttpTransport, Network, Received, Transport, UnfinishedCall,
};
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method};
use loadtest_model::definition::{Client, Expect, Reads};
use loadtest_model::metrics::ErrorKind;
use std::ffi::OsStr;
use std::future::Future;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::LocalSet;

/// Long enough for any answer that comes at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const NOTHING: Reads = Reads {
    body: false,
    headers: false,
};
pub(crate) const BODY: Reads = Reads {
    body: true,
    headers: false,
};
pub(crate) const EVERYTHING: Reads = Reads {
    body: true,
    headers: true,
};

/// Runs `test` as a virtual user runs: on one thread, its connections beside it.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// The same on a clock that goes on when all tasks wait. What answers is to be of the same thread, and in memory.
pub(crate) fn run_paused<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// The same on a clock that stands still but where `test` moves it, whatever waits for a socket meanwhile.
pub(crate) fn run_on_stopped_clock<T>(test: impl Future<Output = T>) -> T {
    run_paused(async {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        // A paused clock does not go on by itself while something blocks a thread of the runtime.
        let blocking = tokio::task::spawn_blocking(move || ended.recv());
        let result = test.await;
        drop(end);
        let _ended = blocking.await;
        result
    })
}

/// Gives the other tasks their turns until `holds`, without a look at the clock of the runtime.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock of the runtime may stand still"
    )]
    let begin = std::time::Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "it never came about");
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
}

/// A virtual user with number 0.
pub(crate) async fn user(base: &str) -> HttpTransport {
    let network = Network::prepare(Some(base), "run-7").await.unwrap();
    HttpTransport::new(Arc::new(network), 0)
}

/// A virtual user of a scenario that says `client`, with number 0.
pub(crate) async fn user_of(base: &str, client: &Client) -> HttpTransport {
    let mut network = Network::prepare(Some(base), "run-7").await.unwrap();
    network.configure(client, Path::new("")).unwrap();
    HttpTransport::new(Arc::new(network), 0)
}

/// A request for `target`: a path, or an absolute URL.
pub(crate) fn request(method: Method, target: &str) -> RequestBuf {
    RequestBuf {
        method,
        target: if target.starts_with('/') {
            RequestTarget::Path(PathAndQuery::try_from(target).unwrap())
        } else {
            RequestTarget::Absolute(target.parse().unwrap())
        },
        ..RequestBuf::default()
    }
}

pub(crate) fn get(target: &str) -> RequestBuf {
    request(Method::GET, target)
}

pub(crate) fn with_header(mut request: RequestBuf, name: &str, value: &str) -> RequestBuf {
    request.headers.push((
        HeaderName::try_from(name).unwrap(),
        HeaderValue::try_from(value).unwrap(),
    ));
    request
}

/// Sends `request`, expects `2xx` and reads what `reads` says.
pub(crate) async fn send(user: &mut HttpTransport, request: &RequestBuf, reads: Reads) -> Exchange {
    follow(user, request, reads, 0).await
}

/// The same, and follows so many redirects.
pub(crate) async fn follow(
    user: &mut HttpTransport,
    request: &RequestBuf,
    reads: Reads,
    redirects: u32,
) -> Exchange {
    let call = Call {
        request,
        expect: &Expect::SUCCESS,
        reads,
        timeout: PATIENCE,
        redirects,
        new_connection: false,
        unfinished: &UnfinishedCall::default(),
        trace: None,
        stream: None,
        websocket: None,
        is_graphql: false,
    };
    user.send(call).await
}

#[track_caller]
pub(crate) fn ok(exchange: Exchange) -> Received {
    match exchange.result {
        Ok(received) => received,
        Err(failure) => panic!("{}: {}", failure.kind, failure.message),
    }
}

#[track_caller]
pub(crate) fn failed(exchange: Exchange, kind: ErrorKind) -> Failure {
    match exchange.result {
        Ok(received) => panic!("{kind} was expected, got {}", received.status),
        Err(failure) => {
            assert_eq!(failure.kind, kind, "{}", failure.message);
            failure
        }
    }
}

/// Runs `test`, the body of the test called `name`, in a process of its own with `variables` set.
pub(crate) fn alone(name: &str, variables: &[(&str, &OsStr)], test: impl FnOnce()) {
    const CHILD: &str = "LOADTEST_TRANSPORT_TEST";
    if std::env::var_os(CHILD).is_some() {
        return test();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, name)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let log = String::from_utf8_lossy(&printed);
    assert!(output.status.success() && log.contains("1 passed"), "{log}");
}
