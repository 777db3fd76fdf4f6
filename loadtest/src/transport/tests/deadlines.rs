//! Deadlines: the kind says how far the request came.

use super::user::{
    BODY, NOTHING, failed, get, ok, request, run, run_on_stopped_clock, run_paused, send, until,
    user,
};
use crate::chain::RequestBuf;
use crate::transport::memory::{
    CAPACITY, MemoryListener, MemoryServer, endless, silence, text_after,
};
use crate::transport::{Call, Exchange, HttpTransport, Transport, UnfinishedCall};
use http::Method;
use loadtest_model::definition::{Expect, Reads};
use loadtest_model::metrics::ErrorKind;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(60);
const LONGER: Duration = Duration::from_millis(500);

async fn send_within(
    user: &mut HttpTransport,
    request: &RequestBuf,
    reads: Reads,
    timeout: Duration,
) -> Exchange {
    let call = Call {
        request,
        expect: &Expect::SUCCESS,
        reads,
        timeout,
        redirects: 0,
        new_connection: false,
        unfinished: &UnfinishedCall::default(),
        trace: None,
        stream: None,
        websocket: None,
        is_graphql: false,
    };
    user.send(call).await
}

#[test]
fn no_head_before_the_deadline() {
    run_paused(async {
        let server = MemoryServer::start(|path| match path {
            "/hang" => silence(),
            _ => text_after(Duration::ZERO, "fine"),
        });
        let mut user = user(&server.url).await;
        let exchange = send_within(&mut user, &get("/hang"), BODY, SHORT).await;
        assert_eq!(exchange.service_time, SHORT);
        assert_eq!(
            (exchange.traffic.requests, exchange.traffic.received_bytes),
            (1, 0)
        );
        assert!(exchange.traffic.sent_bytes > 0);
        assert_eq!(exchange.phases.first_byte, None);
        let failure = failed(exchange, ErrorKind::TimeoutHead);
        assert_eq!(failure.message, "no head of the answer within 60ms");
        // The next request is not answered late: it has a connection of its own.
        assert_eq!(ok(send(&mut user, &get("/"), BODY).await).body, "fine");
        assert_eq!(server.connections(), 2);
    });
}

#[test]
fn no_complete_answer_before_the_deadline() {
    const STEP: Duration = Duration::from_millis(1);
    let start = |status: u16, length: usize| {
        format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n")
    };
    run_paused(async move {
        let server = MemoryServer::start(move |path| match path {
            "/endless" => endless(&start(200, usize::MAX / 2), STEP, vec![b'e'; 64 * 1024]),
            "/drip" => endless(&start(200, 1_000), STEP, b"d".into()),
            "/error" => endless(&(start(503, 9) + "half"), Duration::MAX, Vec::new()),
            _ => endless(&(start(200, 9) + "half"), Duration::MAX, Vec::new()),
        });
        let mut user = user(&server.url).await;
        for (path, reads, status) in [
            ("/endless", NOTHING, 200),
            ("/drip", BODY, 200),
            ("/error", BODY, 503),
            ("/half", BODY, 200),
        ] {
            let exchange = send_within(&mut user, &get(path), reads, LONGER).await;
            assert_eq!(exchange.service_time, LONGER, "{path}");
            assert!(exchange.traffic.received_bytes > 0, "{path}");
            assert_eq!(exchange.phases.first_byte, Some(Duration::ZERO), "{path}");
            let failure = failed(exchange, ErrorKind::TimeoutTotal);
            assert_eq!(failure.status.map(|s| s.as_u16()), Some(status), "{path}");
        }
    });
}

#[test]
fn the_request_says_its_own_timeout() {
    run_paused(async {
        let server = MemoryServer::start(|_| silence());
        let mut user = user(&server.url).await;
        let mut hurried = get("/");
        hurried.timeout = Some(SHORT);
        let failure = failed(
            send(&mut user, &hurried, BODY).await,
            ErrorKind::TimeoutHead,
        );
        assert_eq!(failure.message, "no head of the answer within 60ms");
    });
}

#[test]
fn a_short_deadline_holds_after_a_long_one() {
    run_paused(async {
        let server = MemoryServer::start(|path| match path {
            "/hang" => silence(),
            // Long enough for the timer to be armed.
            _ => text_after(SHORT / 2, "late"),
        });
        let mut user = user(&server.url).await;
        ok(send(&mut user, &get("/"), BODY).await);
        let short = send_within(&mut user, &get("/hang"), BODY, SHORT).await;
        assert_eq!(short.service_time, SHORT);
        let failure = failed(short, ErrorKind::TimeoutHead);
        assert_eq!(failure.message, "no head of the answer within 60ms");
        ok(send(&mut user, &get("/"), BODY).await);
    });
}

#[test]
fn a_target_that_reads_no_more_of_the_request() {
    run_paused(async {
        let mut listener = MemoryListener::bind();
        let mut user = user(&listener.url()).await;
        tokio::task::spawn_local(async move {
            let mut unread = Vec::new();
            loop {
                unread.push(listener.accept().await);
            }
        });
        let mut upload = request(Method::POST, "/");
        upload.body = vec![0; 4 * CAPACITY].into();
        let exchange = send_within(&mut user, &upload, BODY, LONGER).await;
        assert_eq!(exchange.traffic.requests, 1);
        assert_eq!(exchange.traffic.sent_bytes, CAPACITY as u64);
        let failure = failed(exchange, ErrorKind::TimeoutIdle);
        let words = "the target stopped reading the request within 500ms";
        assert_eq!(failure.message, words);
        // One that it had room for is another matter.
        let small = send_within(&mut user, &get("/"), BODY, SHORT).await;
        failed(small, ErrorKind::TimeoutHead);
    });
}

#[test]
fn a_handshake_that_never_ends() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let has_begun = Arc::new(AtomicBool::new(false));
    let begun = Arc::clone(&has_begun);
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0]).unwrap();
        begun.store(true, Ordering::SeqCst);
        // Until the client gives up.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    run_on_stopped_clock(async {
        let mut user = user(&url).await;
        let hello = get("/");
        let exchange = send_within(&mut user, &hello, BODY, SHORT);
        let deadline = async {
            until(|| has_begun.load(Ordering::SeqCst)).await;
            tokio::time::advance(SHORT).await;
        };
        let (exchange, ()) = tokio::join!(exchange, deadline);
        assert_eq!(
            (exchange.traffic.requests, exchange.traffic.sent_bytes),
            (0, 0)
        );
        let failure = failed(exchange, ErrorKind::TimeoutConnect);
        assert!(failure.message.contains("TLS"), "{}", failure.message);
    });
    server.join().unwrap();
}

#[test]
fn no_connection_before_the_deadline() {
    // Connections wait in the queue of a listener that accepts none, until it is full.
    run(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut users = Vec::new();
        let timed_out = loop {
            assert!(users.len() < 20, "the queue has no end");
            let mut user = user(&url).await;
            let exchange = send_within(&mut user, &get("/"), BODY, SHORT).await;
            users.push(user);
            if exchange.traffic.requests == 0 {
                break exchange;
            }
        };
        assert_eq!(timed_out.phases.connect, None);
        let failure = failed(timed_out, ErrorKind::TimeoutConnect);
        assert_eq!(failure.message, "no connection within 60ms");
    });
}
