//! Answers as they should be: what is kept, what is counted, what is sent along.

use super::user::{
    BODY, EVERYTHING, NOTHING, failed, get, ok, request, run, send, user, with_header,
};
use http::{HeaderMap, Method};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::redacted::Redacted;
use loadtest_tests::{Reply, Server};
use std::time::Duration;

#[test]
fn the_body_and_the_headers_are_kept_only_where_they_are_read() {
    let server = Server::start(|_| Reply::json(r#"{"id":1}"#).header("x-seen", "yes"));
    run(async {
        let mut user = user(&server.url()).await;
        let nothing = ok(send(&mut user, &get("/"), NOTHING).await);
        assert_eq!((nothing.body.len(), nothing.headers.len()), (0, 0));
        let body = ok(send(&mut user, &get("/"), BODY).await);
        assert_eq!(
            (body.body.as_ref(), &*body.headers),
            (br#"{"id":1}"#.as_slice(), &HeaderMap::new())
        );
        let everything = ok(send(&mut user, &get("/"), EVERYTHING).await);
        assert_eq!(everything.headers["x-seen"], "yes");
        assert_eq!(everything.headers.len(), 3);
        // The map that was given away is not missed.
        let again = ok(send(&mut user, &get("/"), EVERYTHING).await);
        assert_eq!(*again.headers, *everything.headers);
    });
}

#[test]
fn bodies_arrive_whole_however_they_are_framed() {
    let body = "0123456789".repeat(30_000);
    let expected = body.clone();
    let server = Server::start(move |request| {
        let reply = Reply::text(body.clone());
        match request.path.as_str() {
            "/length" => reply,
            "/chunked" => reply.chunked(),
            "/drip" => Reply::text("0123456789").drip(3, Duration::from_millis(1)),
            "/until-close" => Reply::raw("HTTP/1.1 200 OK\r\n\r\nuntil close").close_silently(),
            "/old" => {
                Reply::raw("HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nold").close_silently()
            }
            "/interim" => Reply::interim(20),
            _ => Reply::status(204),
        }
    });
    run(async {
        let mut user = user(&server.url()).await;
        for path in ["/length", "/chunked"] {
            let received = ok(send(&mut user, &get(path), BODY).await);
            assert!(
                received.body == expected,
                "{path}: {} bytes",
                received.body.len()
            );
        }
        for (path, body) in [
            ("/drip", "0123456789"),
            ("/until-close", "until close"),
            ("/old", "old"),
            ("/interim", ""),
            ("/none", ""),
        ] {
            assert_eq!(
                ok(send(&mut user, &get(path), BODY).await).body,
                body,
                "{path}"
            );
        }
    });
}

#[test]
fn a_head_request_has_no_body_though_a_length_is_announced() {
    let server = Server::start(|_| Reply::text("twelve bytes"));
    run(async {
        let mut user = user(&server.url()).await;
        let received = ok(send(&mut user, &request(Method::HEAD, "/"), EVERYTHING).await);
        assert_eq!(received.headers["content-length"], "12");
        assert!(received.body.is_empty());
        assert_eq!(
            ok(send(&mut user, &get("/"), BODY).await).body,
            "twelve bytes"
        );
    });
    assert_eq!(server.connections(), 1);
}

#[test]
fn what_is_sent_by_default_is_sent_once() {
    let server = Server::recording(|_| Reply::status(200));
    run(async {
        let mut user = user(&server.url()).await;
        ok(send(&mut user, &get("/"), NOTHING).await);
        ok(send(&mut user, &request(Method::POST, "/"), NOTHING).await);
        let mut filled = request(Method::PUT, "/");
        filled.body = "four".into();
        ok(send(&mut user, &filled, NOTHING).await);
    });
    let host = server.address().to_string();
    let agent = concat!("loadtest/", env!("CARGO_PKG_VERSION"));
    let expected = |length: Option<&str>| {
        let mut headers = vec![
            ("host", host.as_str()),
            ("user-agent", agent),
            ("accept", "*/*"),
            ("loadtest-run", "run-7"),
        ];
        headers.extend(length.map(|length| ("content-length", length)));
        headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect::<Vec<_>>()
    };
    let recorded = server.recorded();
    assert_eq!(recorded[0].headers, expected(None));
    assert_eq!(recorded[1].headers, expected(Some("0")));
    assert_eq!(recorded[2].headers, expected(Some("4")));
    assert_eq!(recorded[2].text(), "four");
}

#[test]
fn an_explicit_header_wins_and_may_be_given_twice() {
    let server = Server::recording(|_| Reply::status(200));
    run(async {
        let mut user = user(&server.url()).await;
        let mut explicit = request(Method::POST, "/");
        explicit.body = "text".into();
        for (name, value) in [
            ("host", "shop.example"),
            ("accept", "text/plain"),
            ("user-agent", "mine"),
            ("loadtest-run", "none"),
            ("content-type", "text/plain"),
            ("content-length", "4"),
            ("x-tag", "one"),
            ("x-tag", "two"),
        ] {
            explicit = with_header(explicit, name, value);
        }
        ok(send(&mut user, &explicit, NOTHING).await);
        // The next request is not affected.
        ok(send(&mut user, &get("/"), NOTHING).await);
    });
    let recorded = server.recorded();
    let first = &recorded[0];
    assert_eq!(first.headers.len(), 8, "{:?}", first.headers);
    assert_eq!(first.header("host"), Some("shop.example"));
    assert_eq!(first.header("accept"), Some("text/plain"));
    assert_eq!(first.header("user-agent"), Some("mine"));
    assert_eq!(first.header("loadtest-run"), Some("none"));
    assert_eq!(first.all("x-tag").collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(
        recorded[1].header("host"),
        Some(server.address().to_string().as_str())
    );
}

#[test]
fn a_length_that_does_not_fit_the_body_is_not_sent() {
    let server = Server::start(|_| Reply::status(200));
    run(async {
        let mut user = user(&server.url()).await;
        for length in ["7", "+0"] {
            let wrong = with_header(request(Method::POST, "/"), "content-length", length);
            let exchange = send(&mut user, &wrong, NOTHING).await;
            assert_eq!(exchange.traffic.requests, 0);
            let failure = failed(exchange, ErrorKind::StepError);
            assert!(
                failure.message.contains("content-length"),
                "{}",
                failure.message
            );
        }
    });
    assert_eq!(server.requests(), 0);
}

#[test]
fn bytes_are_counted_with_their_heads() {
    let server = Server::start(|_| Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"));
    run(async {
        let mut user = user(&server.url()).await;
        let host = server.address();
        let head = format!(
            "GET /a HTTP/1.1\r\nhost: {host}\r\nuser-agent: loadtest/{}\r\naccept: */*\r\n\
             loadtest-run: run-7\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        let asked = "accept-encoding: gzip, deflate\r\n";
        for (reads, head) in [(NOTHING, head.clone()), (BODY, head + asked)] {
            let exchange = send(&mut user, &get("/a"), reads).await;
            assert_eq!(exchange.traffic.sent_bytes, head.len() as u64);
            assert_eq!(exchange.traffic.received_bytes, 43);
            assert_eq!(exchange.traffic.requests, 1);
            ok(exchange);
        }
    });
}

#[test]
fn an_unexpected_status_keeps_the_connection_and_a_redacted_kib() {
    let server = Server::start(|request| match request.path.as_str() {
        "/long" => Reply::status(500).body("ä".repeat(100_000)),
        "/secret" => Reply::status(401).body(r#"{"error":"bad","token":"hunter2"}"#),
        "/empty" => Reply::status(302).header("location", "/elsewhere"),
        _ => Reply::status(200),
    });
    run(async {
        let mut user = user(&server.url()).await;
        let failure = failed(
            send(&mut user, &get("/long"), BODY).await,
            ErrorKind::Status,
        );
        assert_eq!(
            failure.message,
            "expected 2xx, got 500 Internal Server Error"
        );
        assert_eq!(failure.status.map(|status| status.as_u16()), Some(500));
        assert_eq!(failure.sample, Some(Redacted::assume("ä".repeat(512))));
        let failure = failed(
            send(&mut user, &get("/secret"), BODY).await,
            ErrorKind::Status,
        );
        assert_eq!(
            failure.sample.as_deref(),
            Some(r#"{"error":"bad","token":"[redacted]"}"#)
        );
        let failure = failed(
            send(&mut user, &get("/empty"), BODY).await,
            ErrorKind::Status,
        );
        assert_eq!(
            (failure.message.as_str(), failure.sample),
            (
                "expected 2xx, got 302 Found to `/elsewhere`; `redirects = 5` follows redirects",
                None
            )
        );
        ok(send(&mut user, &get("/"), NOTHING).await);
    });
    assert_eq!(server.connections(), 1);
}

#[test]
fn an_unexpected_body_without_end_is_not_read_to_its_end() {
    let server = Server::start(|request| match request.path.as_str() {
        "/endless" => Reply::raw(format!(
            "HTTP/1.1 500 Oh\r\ncontent-length: {}\r\n\r\n{}",
            u64::MAX / 2,
            "x".repeat(4 << 20)
        ))
        .hang_after(),
        _ => Reply::status(200),
    });
    run(async {
        let mut user = user(&server.url()).await;
        let exchange = send(&mut user, &get("/endless"), NOTHING).await;
        assert!(
            exchange.traffic.received_bytes < 2 << 20,
            "{}",
            exchange.traffic.received_bytes
        );
        failed(exchange, ErrorKind::Status);
        ok(send(&mut user, &get("/"), NOTHING).await);
    });
    assert_eq!(server.connections(), 2);
}

#[test]
fn phases_are_known_where_they_happened() {
    let wait = Duration::from_millis(50);
    let server = Server::start(move |request| match request.path.as_str() {
        "/head" => Reply::text("late").delay(wait),
        _ => Reply::text("slow").drip(2, wait / 2),
    });
    run(async {
        let mut user = user(&server.url()).await;
        let first = send(&mut user, &get("/head"), BODY).await;
        let (phases, total) = (first.phases, first.service_time);
        let (connect, first_byte) = (phases.connect.unwrap(), phases.first_byte.unwrap());
        assert!(
            first_byte >= wait && total >= wait,
            "{phases:?} of {total:?}"
        );
        assert!(
            connect + first_byte + phases.body.unwrap() <= total,
            "{phases:?} of {total:?}"
        );
        assert_eq!(phases.tls, None);
        assert_eq!(phases.body, Some(Duration::ZERO), "it came with the head");
        ok(first);
        let second = send(&mut user, &get("/body"), BODY).await;
        let (phases, total) = (second.phases, second.service_time);
        assert_eq!(phases.connect, None);
        let body = phases.body.unwrap();
        assert!(!body.is_zero() && total >= wait, "{phases:?} of {total:?}");
        assert_eq!(phases.first_byte.unwrap() + body, total);
        ok(second);
    });
}
