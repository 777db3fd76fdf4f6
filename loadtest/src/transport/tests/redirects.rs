//! Redirects: followed as far as allowed, and never to where nothing may be sent.

use super::user::{
    BODY, NOTHING, failed, follow, get, ok, request, run, run_paused, send, user, with_header,
};
use crate::transport::memory::{MemoryServer, Pieces, silence, text_after};
use crate::transport::{Call, Transport, UnfinishedCall};
use http::Method;
use loadtest_model::definition::Expect;
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use std::time::Duration;

fn to(status: u16, location: &str) -> Reply {
    Reply::status(status)
        .header("location", location)
        .body("moved")
}

fn lines(server: &Server) -> Vec<String> {
    server
        .recorded()
        .iter()
        .map(|request| format!("{} {} {}", request.method, request.target, request.text()))
        .collect()
}

#[test]
fn a_redirect_is_an_answer_like_others_unless_it_is_to_be_followed() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/a" => to(302, "b?x=1"),
        _ => Reply::text("there"),
    });
    run(async {
        let mut user = user(&server.url()).await;
        let failure = failed(send(&mut user, &get("/a"), BODY).await, ErrorKind::Status);
        assert_eq!(failure.status.map(|status| status.as_u16()), Some(302));
        let followed = follow(&mut user, &get("/a"), BODY, 1).await;
        assert_eq!(followed.traffic.requests, 2);
        assert_eq!(followed.traffic.repeated(1), 0);
        let last = followed.redirected_to.as_ref().map(ToString::to_string);
        assert_eq!(last, Some(format!("{}/b?x=1", server.url())));
        let direct = follow(&mut user, &get("/b"), BODY, 1).await;
        assert_eq!(direct.redirected_to, None);
        assert_eq!(ok(followed).body, "there");
    });
    assert_eq!(
        lines(&server),
        ["GET /a ", "GET /a ", "GET /b?x=1 ", "GET /b "]
    );
    assert_eq!(server.connections(), 1);
}

#[test]
fn methods_and_bodies_go_on_as_in_browsers() {
    let server = Server::recording(|request| match request.path.strip_prefix("/to/") {
        Some(status) => to(status.parse().unwrap(), "/end"),
        None => Reply::status(204),
    });
    run(async {
        let mut user = user(&server.url()).await;
        for (status, method) in [
            (303, Method::PUT),
            (302, Method::POST),
            (301, Method::DELETE),
            (307, Method::POST),
            (308, Method::PATCH),
        ] {
            let mut sent = request(method, &format!("/to/{status}"));
            sent.body = "body".into();
            let sent = with_header(sent, "content-type", "text/plain");
            ok(follow(&mut user, &sent, NOTHING, 5).await);
        }
    });
    assert_eq!(
        lines(&server),
        [
            "PUT /to/303 body",
            "GET /end ",
            "POST /to/302 body",
            "GET /end ",
            "DELETE /to/301 body",
            "DELETE /end body",
            "POST /to/307 body",
            "POST /end body",
            "PATCH /to/308 body",
            "PATCH /end body",
        ]
    );
    for request in server.recorded() {
        assert_eq!(
            request.header("content-type").is_some(),
            !request.body.is_empty()
        );
    }
}

#[test]
fn more_redirects_than_allowed_are_a_loop() {
    let server = Server::start(|_| to(302, "/again"));
    run(async {
        let mut user = user(&server.url()).await;
        let exchange = follow(&mut user, &get("/"), NOTHING, 3).await;
        assert_eq!(exchange.traffic.requests, 4);
        let failure = failed(exchange, ErrorKind::RedirectLoop);
        assert!(
            failure.message.contains("redirects = 3"),
            "{}",
            failure.message
        );
    });
    assert_eq!(server.requests(), 4);
}

#[test]
fn a_redirect_elsewhere_is_blocked_before_anything_is_sent() {
    let server = Server::start(|request| match request.path.as_str() {
        "/name" => to(302, "http://shop.example/x"),
        "/address" => to(302, "http://192.0.2.1/"),
        "/user" => to(302, "http://me:secret@127.0.0.1/"),
        "/second" => to(307, "/name"),
        "/secure" => to(307, "https://shop.example/"),
        _ => Reply::status(200),
    });
    run(async {
        let mut user = user(&server.url()).await;
        for (path, requests) in [
            ("/name", 1),
            ("/address", 1),
            ("/user", 1),
            ("/second", 2),
            ("/secure", 1),
        ] {
            let exchange = follow(&mut user, &get(path), NOTHING, 9).await;
            assert_eq!(exchange.traffic.requests, requests, "{path}");
            let failure = failed(exchange, ErrorKind::RedirectBlocked);
            assert!(!failure.message.contains("secret"), "{}", failure.message);
        }
    });
}

#[test]
fn a_redirect_to_nowhere_is_a_bad_location() {
    let server = Server::start(|request| match request.path.as_str() {
        "/none" => Reply::status(302),
        "/scheme" => to(302, "ftp://127.0.0.1/"),
        "/latin" => {
            Reply::raw(b"HTTP/1.1 302 Found\r\nlocation: /\xe9\r\ncontent-length: 0\r\n\r\n")
        }
        _ => to(302, "http://[::1"),
    });
    run(async {
        let mut user = user(&server.url()).await;
        for path in ["/none", "/scheme", "/latin", "/host"] {
            let exchange = follow(&mut user, &get(path), NOTHING, 1).await;
            let failure = failed(exchange, ErrorKind::RedirectBadLocation);
            assert_eq!(failure.status.map(|status| status.as_u16()), Some(302));
        }
        // Others are no redirects, whatever they say.
        let not_modified = Server::start(|_| Reply::status(304).header("location", "/"));
        let mut user = super::user::user(&not_modified.url()).await;
        failed(
            follow(&mut user, &get("/"), NOTHING, 1).await,
            ErrorKind::Status,
        );
    });
    assert_eq!(server.requests(), 4);
}

#[test]
fn credentials_are_for_the_host_that_they_were_given_to() {
    let other = Server::recording(|_| Reply::status(200));
    let url = other.url();
    let server = Server::recording(move |request| match request.path.as_str() {
        "/stay" => to(302, "/end"),
        "/leave" => to(302, &url),
        _ => Reply::status(200),
    });
    run(async {
        let mut user = user(&server.url()).await;
        for path in ["/stay", "/leave"] {
            let sent = with_header(get(path), "authorization", "Bearer t");
            let sent = with_header(with_header(sent, "cookie", "a=1"), "x-other", "kept");
            ok(follow(&mut user, &sent, NOTHING, 1).await);
        }
    });
    let stayed = &server.recorded()[1];
    assert_eq!(stayed.header("authorization"), Some("Bearer t"));
    assert_eq!(stayed.header("cookie"), Some("a=1"));
    let left = &other.recorded()[0];
    assert_eq!(
        (left.header("authorization"), left.header("cookie")),
        (None, None)
    );
    assert_eq!(left.header("x-other"), Some("kept"));
    assert_eq!(
        left.header("host"),
        Some(other.address().to_string().as_str())
    );
}

#[test]
fn a_body_is_not_sent_to_another_origin() {
    let other = Server::recording(|_| Reply::status(200));
    let url = other.url();
    let server = Server::recording(move |request| match request.path.as_str() {
        "/stay" => to(307, "/end"),
        "/leave" => to(307, &url),
        _ => Reply::status(200),
    });
    run(async {
        let mut user = user(&server.url()).await;
        for (path, expected) in [
            ("/stay", None),
            ("/leave", Some(ErrorKind::RedirectBlocked)),
        ] {
            let mut sent = get(path);
            sent.method = Method::POST;
            sent.body = "card=4111".into();
            let answer = follow(&mut user, &sent, NOTHING, 1).await;
            let failure = answer.result.err();
            assert_eq!(failure.as_ref().map(|failure| failure.kind), expected);
            if let Some(failure) = failure {
                assert!(
                    failure.message.contains(&other.url()),
                    "{}",
                    failure.message
                );
            }
        }
    });
    assert_eq!(&*server.recorded()[1].body, b"card=4111");
    assert_eq!(other.requests(), 0);
}

#[test]
fn one_deadline_and_one_service_time_cover_the_whole_way() {
    const PAUSE: Duration = Duration::from_millis(30);
    const DEADLINE: Duration = Duration::from_millis(100);
    let moved_after = |wait, to: &str| -> Pieces {
        let head = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        Box::new(std::iter::once((wait, head.into_bytes())))
    };
    run_paused(async move {
        let server = MemoryServer::start(move |path| match path {
            "/a" => moved_after(PAUSE, "/b"),
            "/b" => text_after(PAUSE, "slow"),
            "/c" => moved_after(PAUSE, "/d"),
            _ => silence(),
        });
        let mut user = user(&server.url).await;
        let exchange = follow(&mut user, &get("/a"), BODY, 1).await;
        assert_eq!(exchange.service_time, 2 * PAUSE);
        let phases = exchange.phases;
        assert_eq!(phases.first_byte, Some(2 * PAUSE));
        let sum: Duration = [phases.connect, phases.first_byte, phases.body]
            .into_iter()
            .flatten()
            .sum();
        assert_eq!(sum, exchange.service_time);
        ok(exchange);
        let request = get("/c");
        let exchange = user
            .send(Call {
                request: &request,
                expect: &Expect::SUCCESS,
                reads: NOTHING,
                timeout: DEADLINE,
                redirects: 5,
                new_connection: false,
                unfinished: &UnfinishedCall::default(),
                trace: None,
                stream: None,
                websocket: None,
                is_graphql: false,
            })
            .await;
        assert_eq!(exchange.service_time, DEADLINE);
        assert_eq!(exchange.traffic.requests, 2);
        let last = exchange.redirected_to.as_ref().map(ToString::to_string);
        assert_eq!(last, Some(format!("{}/d", server.url)));
        let failure = failed(exchange, ErrorKind::TimeoutHead);
        assert_eq!(failure.status, None, "that was another answer");
    });
}

#[test]
fn a_path_is_joined_to_the_base_once() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/api/a" => to(302, "b"),
        "/api/b" => to(302, "/c"),
        _ => Reply::status(200),
    });
    run(async {
        let mut user = user(&format!("{}/api", server.url())).await;
        ok(follow(&mut user, &get("/a"), NOTHING, 2).await);
    });
    assert_eq!(lines(&server), ["GET /api/a ", "GET /api/b ", "GET /c "]);
}
