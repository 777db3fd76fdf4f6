//! Answers as they should not be: each fault has a kind of its own, and the next request is fine.

use super::user::{BODY, NOTHING, failed, get, ok, run, send, user};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use std::cell::Cell;
use std::rc::Rc;

/// Sends to a server that answers `/` well and everything else with `fault`.
fn fails(fault: impl Fn() -> Reply + Send + Sync + 'static, kind: ErrorKind) -> String {
    let came_in_part = kind.name().starts_with("body.") || kind == ErrorKind::ResetInBody;
    let server = Server::start(move |request| match request.path.as_str() {
        "/" => Reply::text("fine"),
        _ => fault(),
    });
    run(async {
        let mut user = user(&server.url()).await;
        let mut message = String::new();
        for reads in [BODY, NOTHING] {
            let exchange = send(&mut user, &get("/fault"), reads).await;
            assert_eq!(exchange.traffic.requests, 1);
            assert!(exchange.traffic.sent_bytes > 0);
            let came = exchange.traffic.received_bytes;
            assert!(came > 0 || !came_in_part, "{came} bytes");
            assert!(came < 4 << 20, "{came} bytes");
            message = failed(exchange, kind).message;
            assert_eq!(ok(send(&mut user, &get("/?"), BODY).await).body, "fine");
            // The next fault is to meet a new connection.
            user = super::user::user(&server.url()).await;
        }
        assert_eq!(server.requests_to("/fault"), 2);
        message
    })
}

#[test]
fn a_reset_before_the_head() {
    fails(Reply::reset, ErrorKind::ResetBeforeHead);
}

#[test]
fn a_reset_within_the_body() {
    fails(
        || Reply::text("half").reset_in_body(100),
        ErrorKind::ResetInBody,
    );
}

#[test]
fn a_close_before_the_head() {
    fails(Reply::close_before_head, ErrorKind::ClosedFresh);
}

#[test]
fn a_close_within_the_head() {
    fails(
        || Reply::raw("HTTP/1.1 200 OK\r\nx-").close_silently(),
        ErrorKind::ClosedFresh,
    );
}

#[test]
fn a_body_that_ends_early() {
    fails(|| Reply::text("half").short(5), ErrorKind::BodyTruncated);
}

#[test]
fn a_chunk_that_ends_early() {
    fails(Reply::cut_chunk, ErrorKind::BodyTruncated);
}

#[test]
fn a_chunk_without_a_size() {
    fails(Reply::bad_chunk, ErrorKind::BodyBadChunk);
}

#[test]
fn garbage_is_not_http() {
    let message = fails(Reply::garbage, ErrorKind::HeadMalformed);
    assert!(message.contains("needs `http = 2`"), "{message}");
}

#[test]
fn two_lengths_are_not_http() {
    let message = fails(Reply::two_content_lengths, ErrorKind::HeadMalformed);
    assert!(!message.contains("http = 2"), "{message}");
}

#[test]
fn a_huge_header() {
    let message = fails(
        || Reply::status(200).huge_header(2 << 20),
        ErrorKind::HeadTooLarge,
    );
    assert!(message.contains("64 KiB"), "{message}");
}

#[test]
fn too_many_headers() {
    fails(
        || Reply::status(200).many_headers(5_000),
        ErrorKind::HeadTooLarge,
    );
}

#[test]
fn a_head_without_end() {
    fails(Reply::endless_head, ErrorKind::HeadTooLarge);
}

#[test]
fn interim_answers_without_end() {
    fails(|| Reply::interim(40_000), ErrorKind::HeadTooLarge);
}

#[test]
fn a_body_too_large_to_keep() {
    let server = Server::start(|request| match request.path.as_str() {
        "/announced" => Reply::text("x").hang_in_body(16 << 20),
        "/endless" => Reply::endless(),
        "/just" => Reply::text("x".repeat(16 << 20)),
        _ => Reply::text("y".repeat((16 << 20) + 1)),
    });
    run(async {
        let mut user = user(&server.url()).await;
        for path in ["/announced", "/endless"] {
            let exchange = send(&mut user, &get(path), BODY).await;
            assert!(exchange.traffic.received_bytes < 17 << 20, "{path}");
            let failure = failed(exchange, ErrorKind::BodyTooLarge);
            assert_eq!(failure.status.map(|status| status.as_u16()), Some(200));
        }
        let just = ok(send(&mut user, &get("/just"), BODY).await);
        assert_eq!(just.body.len(), 16 << 20);
        // A body that is not kept may have any size.
        let streamed = send(&mut user, &get("/more"), NOTHING).await;
        assert!(streamed.traffic.received_bytes > 16 << 20);
        ok(streamed);
    });
}

#[test]
fn two_ways_to_tell_a_length_are_noted_and_the_chunks_hold() {
    let server = Server::start(|request| match request.path.as_str() {
        "/both" => Reply::raw(
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        ),
        _ => Reply::text("fine").chunked(),
    });
    run(async {
        let mut user = user(&server.url()).await;
        for (path, body, ambiguous) in [("/both", "hello", 1), ("/", "fine", 0)] {
            let exchange = send(&mut user, &get(path), BODY).await;
            assert_eq!(exchange.traffic.ambiguous, ambiguous, "{path}");
            assert_eq!(ok(exchange).body, body);
        }
    });
}

#[test]
fn what_fails_without_a_wait_leaves_the_thread_to_others() {
    run(async {
        let mut user = user("http://127.0.0.1:1").await;
        let turn = Rc::new(Cell::new(false));
        let others = Rc::clone(&turn);
        tokio::task::spawn_local(async move { others.set(true) });
        // At the second one, if not at the first.
        for _ in 0..2 {
            let elsewhere = send(&mut user, &get("http://192.0.2.1/"), NOTHING).await;
            failed(elsewhere, ErrorKind::GuardBlocked);
        }
        assert!(turn.get());
    });
}

#[test]
fn nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    run(async {
        let mut user = user(&url).await;
        let exchange = send(&mut user, &get("/"), NOTHING).await;
        assert_eq!(
            (exchange.traffic.connections, exchange.traffic.sent_bytes),
            (0, 0)
        );
        failed(exchange, ErrorKind::ConnectRefused);
    });
}
