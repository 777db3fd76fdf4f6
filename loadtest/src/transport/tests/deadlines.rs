//! Deadlines: the kind says how far the request came.

use super::user::{BODY, NOTHING, failed, get, ok, request, run, send, user};
use crate::chain::RequestBuf;
use crate::transport::{Call, Exchange, HttpTransport, Transport};
use http::Method;
use loadtest_model::definition::{Expect, Reads};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use std::cell::Cell;
use std::time::Duration;

/// Shorter than a server that hangs.
const SHORT: Duration = Duration::from_millis(60);
/// Long enough for the head of an answer to arrive on a busy machine.
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
        unfinished: &Cell::default(),
        trace: None,
        stream: None,
        websocket: None,
        is_graphql: false,
    };
    user.send(call).await
}

#[test]
fn no_head_before_the_deadline() {
    let server = Server::start(|request| match request.path.as_str() {
        "/hang" => Reply::hang(),
        _ => Reply::text("fine"),
    });
    run(async {
        let mut user = user(&server.url()).await;
        let exchange = send_within(&mut user, &get("/hang"), BODY, SHORT).await;
        assert!(
            exchange.service_time >= SHORT,
            "{:?}",
            exchange.service_time
        );
        assert_eq!(
            (exchange.traffic.requests, exchange.traffic.received_bytes),
            (1, 0)
        );
        assert!(exchange.traffic.sent_bytes > 0);
        assert_eq!(exchange.phases.first_byte, None);
        let failure = failed(exchange, ErrorKind::TimeoutHead);
        assert_eq!(failure.message, "no head of an answer within 60ms");
        // The next request is not answered late: it has a connection of its own.
        assert_eq!(ok(send(&mut user, &get("/"), BODY).await).body, "fine");
    });
    assert_eq!(server.connections(), 2);
}

#[test]
fn no_complete_answer_before_the_deadline() {
    let server = Server::start(|request| match request.path.as_str() {
        "/endless" => Reply::endless(),
        "/drip" => Reply::text("d".repeat(1_000)).drip(1, Duration::from_millis(5)),
        "/error" => Reply::status(503).body("half").hang_in_body(9),
        _ => Reply::text("half").hang_in_body(9),
    });
    run(async {
        let mut user = user(&server.url()).await;
        for (path, reads, status) in [
            ("/endless", NOTHING, 200),
            ("/drip", BODY, 200),
            ("/error", BODY, 503),
            ("/half", BODY, 200),
        ] {
            let exchange = send_within(&mut user, &get(path), reads, LONGER).await;
            assert!(exchange.service_time >= LONGER, "{path}");
            assert!(exchange.traffic.received_bytes > 0, "{path}");
            assert!(exchange.phases.first_byte.is_some(), "{path}");
            let failure = failed(exchange, ErrorKind::TimeoutTotal);
            assert_eq!(failure.status.map(|s| s.as_u16()), Some(status), "{path}");
        }
    });
}

#[test]
fn the_request_says_its_own_timeout() {
    let server = Server::start(|_| Reply::hang());
    run(async {
        let mut user = user(&server.url()).await;
        let mut hurried = get("/");
        hurried.timeout = Some(SHORT);
        let failure = failed(
            send(&mut user, &hurried, BODY).await,
            ErrorKind::TimeoutHead,
        );
        assert_eq!(failure.message, "no head of an answer within 60ms");
    });
}

#[test]
fn a_short_deadline_holds_after_a_long_one() {
    let server = Server::start(|request| match request.path.as_str() {
        "/hang" => Reply::hang(),
        // Long enough for the timer to be armed.
        _ => Reply::text("late").delay(SHORT / 2),
    });
    run(async {
        let mut user = user(&server.url()).await;
        ok(send(&mut user, &get("/"), BODY).await);
        let short = send_within(&mut user, &get("/hang"), BODY, SHORT).await;
        let failure = failed(short, ErrorKind::TimeoutHead);
        assert_eq!(failure.message, "no head of an answer within 60ms");
        ok(send(&mut user, &get("/"), BODY).await);
    });
}

#[test]
fn a_target_that_reads_no_more_of_the_request() {
    // What it does not read soon fills what the system keeps for it.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    run(async {
        let mut user = user(&url).await;
        let mut upload = request(Method::POST, "/");
        upload.body = vec![0; 64 << 20].into();
        let exchange = send_within(&mut user, &upload, BODY, LONGER).await;
        assert_eq!(exchange.traffic.requests, 1);
        assert!(exchange.traffic.sent_bytes < 64 << 20);
        let failure = failed(exchange, ErrorKind::TimeoutIdle);
        let words = "the target stopped reading the request, and took no more of it within 500ms";
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
    run(async {
        let mut user = user(&url).await;
        let exchange = send_within(&mut user, &get("/"), BODY, SHORT).await;
        assert_eq!(
            (exchange.traffic.requests, exchange.traffic.sent_bytes),
            (0, 0)
        );
        let failure = failed(exchange, ErrorKind::TimeoutConnect);
        assert!(failure.message.contains("TLS"), "{}", failure.message);
    });
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
