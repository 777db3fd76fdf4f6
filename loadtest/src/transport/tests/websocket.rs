//! WebSockets are opened over HTTP/1.1, whatever requests use, and handed over with what came behind the head.

use super::user::{NOTHING, PATIENCE, failed, get, ok, request, run, send, user, user_of};
use crate::transport::{Call, Exchange, HttpTransport, RequestBuf, Transport, UnfinishedCall};
use http::Method;
use loadtest_model::definition::{Client, Expect, HttpVersion, StatusRange, WebSocketDef};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Authority, Front};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread::{JoinHandle, spawn};
use tungstenite::handshake::derive_accept_key;

const OPENED: Expect = Expect(std::borrow::Cow::Borrowed(&[StatusRange {
    from: 101,
    to: 101,
}]));

pub(super) async fn open(
    user: &mut HttpTransport,
    request: &RequestBuf,
    compress: bool,
) -> Exchange {
    let call = Call {
        request,
        expect: &OPENED,
        reads: NOTHING,
        timeout: PATIENCE,
        redirects: 0,
        new_connection: false,
        unfinished: &UnfinishedCall::default(),
        trace: None,
        stream: None,
        is_graphql: false,
        websocket: Some(&WebSocketDef {
            compress,
            ..WebSocketDef::default()
        }),
    };
    user.send(call).await
}

/// A target that upgrades its one connection, and writes `behind` with the head of its answer. Yields the request, and
/// what came after it.
fn target(behind: &'static [u8]) -> (SocketAddr, JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let key = head.split("sec-websocket-key: ").nth(1).unwrap();
        let accept = derive_accept_key(key.split("\r\n").next().unwrap().as_bytes());
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
             sec-websocket-accept: {accept}\r\n\r\n"
        );
        stream
            .write_all(&[answer.as_bytes(), behind].concat())
            .unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        (head, rest)
    });
    (address, served)
}

#[test]
fn what_comes_with_the_head_belongs_to_the_socket() {
    let (address, served) = target(b"\x81\x05early\x81\x02");
    let url = format!("http://{address}");
    run(async {
        let mut user = user(&url).await;
        let exchange = open(&mut user, &get("/chat?room=7"), true).await;
        assert_eq!(
            (exchange.traffic.requests, exchange.traffic.unsolicited),
            (1, 0)
        );
        let socket = exchange.socket.clone().unwrap();
        ok(exchange);
        let (data, _) = socket
            .receive(0, |message| Ok(Some(message.data.clone())))
            .await
            .unwrap();
        assert_eq!(data, "early");
        assert!(socket.is_open());
        // The user ends, and its sockets with it.
    });
    let (head, rest) = served.join().unwrap();
    let mut lines: Vec<&str> = head.trim_end().split("\r\n").collect();
    lines.retain(|line| {
        !line.starts_with("sec-websocket-key: ") && !line.starts_with("user-agent: ")
    });
    assert_eq!(
        lines,
        [
            "GET /chat?room=7 HTTP/1.1",
            &format!("host: {address}"),
            "accept: */*",
            "loadtest-run: run-7",
            "connection: upgrade",
            "upgrade: websocket",
            "sec-websocket-version: 13",
            "sec-websocket-extensions: permessage-deflate; client_no_context_takeover; server_no_context_takeover",
        ]
    );
    assert_eq!((rest.len(), rest[0]), (8, 0x88), "a close frame");
}

#[test]
fn a_socket_is_opened_over_http1_whatever_requests_use() {
    for http in [HttpVersion::Http2, HttpVersion::Negotiated] {
        for is_tls in [false, true] {
            let (address, served) = target(b"");
            let front = Front::start(Authority::new().server("127.0.0.1", 4000), address);
            let url = if is_tls {
                front.url()
            } else {
                format!("http://{address}")
            };
            let client = Client {
                http,
                insecure: true,
                ..Client::DEFAULT
            };
            run(async {
                let mut user = user_of(&url, &client).await;
                let exchange = open(&mut user, &get("/"), false).await;
                assert_eq!(exchange.phases.tls.is_some(), is_tls);
                let socket = exchange.socket.clone().unwrap();
                ok(exchange);
                assert_eq!(socket.protocol(), None);
                socket.begin_close(1000);
            });
            let (head, _) = served.join().unwrap();
            assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
        }
    }
}

#[test]
fn what_may_not_be_tested_is_not_connected_to() {
    run(async {
        let mut user = user("http://127.0.0.1:1").await;
        let exchange = open(&mut user, &get("http://192.0.2.1/socket"), false).await;
        assert_eq!(exchange.traffic.sent_bytes, 0);
        assert_eq!(exchange.phases.connect, None);
        failed(exchange, ErrorKind::GuardBlocked);
        let posted = open(&mut user, &request(Method::POST, "/"), false).await;
        let failure = failed(posted, ErrorKind::StepError);
        assert_eq!(failure.message, "a WebSocket is opened by GET, not by POST");
    });
}

#[test]
fn an_answer_101_that_nobody_asked_for_is_read_as_any() {
    let (address, served) = target(b"\x81\x05early");
    let url = format!("http://{address}");
    run(async {
        let mut user = user(&url).await;
        let asked = super::user::with_header(get("/"), "sec-websocket-key", "x");
        let exchange = send(&mut user, &asked, NOTHING).await;
        assert!(exchange.socket.is_none());
        failed(exchange, ErrorKind::Status);
    });
    served.join().unwrap();
}
