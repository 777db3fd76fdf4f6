//! HTTP/2: chosen by the target or asked for, and what its failures are called.

use super::user::{
    BODY, EVERYTHING, NOTHING, failed, follow, get, ok, request, run, run_on_stopped_clock,
    run_paused, send, user, user_of, with_header,
};
use crate::transport::memory::MemoryListener;
use crate::transport::{Call, Transport, UnfinishedCall};
use bytes::Bytes;
use h2::server::{self, SendResponse};
use http::{Method, Response};
use loadtest_model::definition::{Client, Expect, HttpVersion};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Authority, Front, Reply, Server};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::spawn_local;

/// A request as a server of HTTP/2 gets it.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrived {
    line: String,
    authority: String,
    pub(super) headers: Vec<String>,
    body: Vec<u8>,
    pub(super) connection: usize,
}

pub(super) type Log = Rc<RefCell<Vec<Arrived>>>;

/// A server that answers properly; runs as long as the test does.
pub(super) async fn serve(
    answer: impl Fn(&str) -> (Response<()>, Vec<u8>) + Clone + 'static,
) -> (SocketAddr, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let log = Log::default();
    let kept = Rc::clone(&log);
    spawn_local(async move {
        for connection in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            let (answer, log) = (answer.clone(), Rc::clone(&log));
            spawn_local(async move {
                let Ok(mut connected) = server::handshake(stream).await else {
                    return;
                };
                while let Some(Ok((request, respond))) = connected.accept().await {
                    let (answer, log) = (answer.clone(), Rc::clone(&log));
                    spawn_local(one(request, respond, answer, log, connection));
                }
            });
        }
    });
    (address, kept)
}

async fn one(
    request: http::Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    answer: impl Fn(&str) -> (Response<()>, Vec<u8>),
    log: Log,
    connection: usize,
) {
    let (head, mut incoming) = request.into_parts();
    let mut body = Vec::new();
    while let Some(Ok(data)) = incoming.data().await {
        let _ = incoming.flow_control().release_capacity(data.len());
        body.extend(data);
    }
    let path = head.uri.path_and_query().unwrap().to_string();
    log.borrow_mut().push(Arrived {
        line: format!("{} {path}", head.method),
        authority: head.uri.authority().unwrap().to_string(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect(),
        body,
        connection,
    });
    let (response, body) = answer(&path);
    let empty = body.is_empty() || head.method == Method::HEAD;
    if let Ok(mut stream) = respond.send_response(response, empty)
        && !empty
    {
        let _ = stream.send_data(body.into(), true);
    }
}

pub(super) fn fine(path: &str) -> (Response<()>, Vec<u8>) {
    let builder = Response::builder().header("x-path", path);
    (builder.body(()).unwrap(), b"fine".to_vec())
}

pub(super) fn http2() -> Client {
    Client {
        http: HttpVersion::Http2,
        ..Client::DEFAULT
    }
}

#[test]
fn http2_is_spoken_in_the_clear_where_it_is_asked_for() {
    run(async {
        let (address, log) = serve(fine).await;
        let mut user = user_of(&format!("http://{address}/api"), &http2()).await;
        for i in 0..20 {
            let exchange = send(&mut user, &get(&format!("/a?i={i}")), EVERYTHING).await;
            assert_eq!(exchange.traffic.requests, 1);
            assert_eq!(exchange.phases.connect.is_some(), i == 0);
            assert!(exchange.phases.first_byte.is_some());
            assert!(exchange.traffic.sent_bytes > 9 && exchange.traffic.received_bytes > 9);
            let received = ok(exchange);
            assert_eq!(received.body, "fine");
            assert_eq!(received.headers["x-path"], format!("/api/a?i={i}"));
        }
        let mut post = request(Method::POST, "/b");
        post.body = vec![b'x'; 200_000].into();
        let exchange = send(&mut user, &post, NOTHING).await;
        assert!(exchange.traffic.sent_bytes > 200_000);
        ok(exchange);
        ok(send(&mut user, &request(Method::PUT, "/empty"), NOTHING).await);
        ok(send(&mut user, &request(Method::HEAD, "/head"), BODY).await);
        let log = log.borrow();
        assert!(
            log.iter().all(|request| request.connection == 0),
            "one connection"
        );
        let first = &log[0];
        assert_eq!(first.line, "GET /api/a?i=0");
        assert_eq!(first.authority, address.to_string());
        let names: Vec<&str> = first.headers.iter().map(String::as_str).collect();
        let agent = format!("user-agent: loadtest/{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            names,
            [
                agent.as_str(),
                "accept: */*",
                "accept-encoding: gzip, deflate",
                "loadtest-run: run-7"
            ]
        );
        let length = |at: usize| {
            let length = log[at]
                .headers
                .iter()
                .find(|h| h.starts_with("content-length"));
            length.map(String::as_str)
        };
        assert_eq!(log[20].body.len(), 200_000);
        assert_eq!(length(20), Some("content-length: 200000"));
        assert_eq!(length(21), Some("content-length: 0"));
    });
}

#[test]
fn headers_of_the_connection_are_left_out_and_a_host_wins() {
    run(async {
        let (address, log) = serve(fine).await;
        let mut user = user_of(&format!("http://{address}"), &http2()).await;
        let mut sent = get("/");
        for (name, value) in [
            ("host", "shop.test:81"),
            ("connection", "keep-alive"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("te", "gzip"),
            ("te", "trailers"),
            ("upgrade", "websocket"),
            ("cookie", "a=1"),
            ("x-own", "1"),
        ] {
            sent = with_header(sent, name, value);
        }
        ok(send(&mut user, &sent, NOTHING).await);
        let bad = with_header(get("/"), "host", "no host");
        failed(send(&mut user, &bad, NOTHING).await, ErrorKind::StepError);
        ok(send(&mut user, &get("/"), NOTHING).await);
        let log = log.borrow();
        assert_eq!(log[0].authority, "shop.test:81");
        assert_eq!(
            log[0].headers[3..],
            ["te: trailers", "cookie: a=1", "x-own: 1"]
        );
        assert_eq!(log[1].authority, address.to_string());
    });
}

#[test]
fn over_tls_the_target_chooses_unless_it_is_told() {
    let ours = Authority::new();
    let insecure = |http| Client {
        http,
        insecure: true,
        ..Client::DEFAULT
    };
    let old = Server::start(|_| Reply::text("old"));
    run(async {
        let (address, log) = serve(fine).await;
        let front = |protocols: &[&str], inner| {
            let mut config = ours.server("127.0.0.1", 4000);
            config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
            Front::start(config, inner)
        };
        let both = front(&["h2", "http/1.1"], address);
        for http in [HttpVersion::Negotiated, HttpVersion::Http2] {
            let mut user = user_of(&both.url(), &insecure(http)).await;
            assert_eq!(ok(send(&mut user, &get("/"), BODY).await).body, "fine");
        }
        assert_eq!(log.borrow()[0].authority, both.address().to_string());
        for protocols in [&["http/1.1"][..], &["h2", "http/1.1"], &[]] {
            let front = front(protocols, old.address());
            let mut user = user_of(&front.url(), &insecure(HttpVersion::Http1)).await;
            assert_eq!(ok(send(&mut user, &get("/"), BODY).await).body, "old");
        }
        // One that refuses, one that knows of no choice, and one that wants HTTP/2 alone.
        for (protocols, http, word) in [
            (
                &["http/1.1"][..],
                HttpVersion::Http2,
                "another version of HTTP",
            ),
            (&[], HttpVersion::Http2, "does not offer HTTP/2"),
            (&["h2"], HttpVersion::Http1, "another version of HTTP"),
        ] {
            let front = front(protocols, old.address());
            let mut user = user_of(&front.url(), &insecure(http)).await;
            let exchange = send(&mut user, &get("/"), BODY).await;
            assert_eq!(exchange.traffic.requests, 0);
            let failure = failed(exchange, ErrorKind::TlsProtocol);
            assert!(failure.message.contains(word), "{}", failure.message);
        }
        // By default nothing but TLS makes it HTTP/2.
        let mut user = user(&old.url()).await;
        assert_eq!(ok(send(&mut user, &get("/"), BODY).await).body, "old");
        let mut user = user_of(&old.url(), &http2()).await;
        failed(
            send(&mut user, &get("/"), BODY).await,
            ErrorKind::HeadMalformed,
        );
    });
}

#[test]
fn statuses_cookies_redirects_and_compression_are_the_same() {
    run(async {
        let (address, log) = serve(|path| {
            let builder = Response::builder();
            let (builder, body) = match path {
                "/hop" => (
                    builder
                        .status(303)
                        .header("location", "/end")
                        .header("set-cookie", "a=1"),
                    Vec::new(),
                ),
                "/end" => (builder.header("content-encoding", "deflate"), {
                    let mut encoder =
                        flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                    std::io::Write::write_all(&mut encoder, b"the end").unwrap();
                    encoder.finish().unwrap()
                }),
                _ => (builder.status(500), b"sorry".to_vec()),
            };
            (builder.body(()).unwrap(), body)
        })
        .await;
        let mut user = user_of(&format!("http://{address}"), &http2()).await;
        let exchange = follow(&mut user, &request(Method::POST, "/hop"), BODY, 1).await;
        assert_eq!(exchange.traffic.requests, 2);
        assert_eq!(ok(exchange).body, "the end");
        let failure = failed(send(&mut user, &get("/bad"), BODY).await, ErrorKind::Status);
        assert_eq!(failure.sample.as_deref(), Some("sorry"));
        let log = log.borrow();
        assert_eq!(log[1].line, "GET /end");
        assert!(log[1].headers.contains(&"cookie: a=1".to_owned()));
        assert!(log.iter().all(|request| request.connection == 0));
    });
}

/// A frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The head `:status: 200`; with what follows, or alone.
pub(super) fn head(stream: u32, ends: bool) -> Vec<u8> {
    frame(1, 4 | u8::from(ends), stream, &[0x88])
}

pub(super) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(3, 0, stream, &code.to_be_bytes())
}

pub(super) fn go_away(last: u32, code: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

pub(super) const NO_ERROR: u32 = 0;
const INTERNAL: u32 = 2;
pub(super) const REFUSED: u32 = 7;
const HTTP_1_1_REQUIRED: u32 = 13;

/// What a server writes for the request of this number on this connection, and whether it closes then.
pub(super) type Act = (Vec<u8>, bool);

/// A server that writes frames as told; answers with how many requests came over each connection.
pub(super) async fn raw(
    act: impl Fn(usize, u32) -> Act + Clone + 'static,
) -> (SocketAddr, Rc<RefCell<Vec<u32>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let counts = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&counts);
    spawn_local(async move {
        for connection in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            counts.borrow_mut().push(0);
            spawn_local(frames(stream, connection, act.clone(), Rc::clone(&counts)));
        }
    });
    (address, kept)
}

/// The same over connections in memory.
pub(super) fn raw_in_memory(
    act: impl Fn(usize, u32) -> Act + Clone + 'static,
) -> (String, Rc<RefCell<Vec<u32>>>) {
    let mut listener = MemoryListener::bind();
    let url = listener.url();
    let counts = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&counts);
    spawn_local(async move {
        for connection in 0.. {
            let stream = listener.accept().await;
            counts.borrow_mut().push(0);
            spawn_local(frames(stream, connection, act.clone(), Rc::clone(&counts)));
        }
    });
    (url, kept)
}

async fn frames(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    act: impl Fn(usize, u32) -> Act,
    counts: Rc<RefCell<Vec<u32>>>,
) -> Option<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.ok()?;
    assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    stream.write_all(&frame(4, 0, 0, &[])).await.ok()?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.ok()?;
        match (head[3], head[4]) {
            (4, 0) => stream.write_all(&frame(4, 1, 0, &[])).await.ok()?,
            (1, _) => {
                let number = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                counts.borrow_mut()[connection] += 1;
                let (bytes, closes) = act(connection, number);
                stream.write_all(&bytes).await.ok()?;
                if closes {
                    return Some(());
                }
            }
            _ => {}
        }
    }
}

#[test]
fn a_request_that_was_not_looked_at_is_sent_again_whatever_it_is() {
    for (fault, expected) in [
        (reset(3, REFUSED), vec![3]),
        (go_away(1, NO_ERROR), vec![2, 1]),
        (go_away(1, INTERNAL), vec![2, 1]),
    ] {
        run(async {
            let (address, counts) = raw(move |connection, stream| match (connection, stream) {
                (0, 3) => (fault.clone(), false),
                _ => (head(stream, true), false),
            })
            .await;
            let mut user = user_of(&format!("http://{address}"), &http2()).await;
            ok(send(&mut user, &get("/"), NOTHING).await);
            let exchange = send(&mut user, &request(Method::POST, "/"), NOTHING).await;
            assert_eq!(exchange.traffic.requests, 2);
            ok(exchange);
            assert_eq!(*counts.borrow(), expected);
        });
    }
}

#[test]
fn a_stream_that_is_reset_costs_its_request_and_no_connection() {
    for (in_body, kind) in [
        (false, ErrorKind::ResetBeforeHead),
        (true, ErrorKind::ResetInBody),
    ] {
        run(async {
            let (address, counts) = raw(move |_, stream| {
                // Streams have odd numbers: the second request, and each other one after it.
                let bytes = match (stream % 4 == 3, in_body) {
                    (false, _) => head(stream, true),
                    (true, false) => reset(stream, INTERNAL),
                    (true, true) => [head(stream, false), reset(stream, INTERNAL)].concat(),
                };
                (bytes, false)
            })
            .await;
            let mut user = user_of(&format!("http://{address}"), &http2()).await;
            for _ in 0..5 {
                ok(send(&mut user, &get("/"), BODY).await);
                let lost = send(&mut user, &get("/"), BODY).await;
                assert_eq!(lost.traffic.requests, 1);
                failed(lost, kind);
            }
            assert_eq!(*counts.borrow(), [10]);
        });
    }
}

#[test]
fn a_request_that_is_refused_twice_fails() {
    run(async {
        let (address, counts) = raw(|_, stream| match stream {
            1 | 7 => (head(stream, true), false),
            _ => (reset(stream, REFUSED), false),
        })
        .await;
        let mut user = user_of(&format!("http://{address}"), &http2()).await;
        ok(send(&mut user, &get("/"), BODY).await);
        let refused = send(&mut user, &get("/"), BODY).await;
        assert_eq!(refused.traffic.requests, 2);
        failed(refused, ErrorKind::ResetBeforeHead);
        ok(send(&mut user, &get("/"), BODY).await);
        assert_eq!(*counts.borrow(), [4]);
    });
}

#[test]
fn a_lost_kept_connection_repeats_only_what_may_be_repeated() {
    for (method, rest, kind) in [
        (Method::GET, 100, None),
        (Method::GET, 99, Some(ErrorKind::ClosedBeforeHead)),
        (Method::POST, 100, Some(ErrorKind::ClosedReused)),
        (Method::POST, 99, Some(ErrorKind::ClosedBeforeHead)),
    ] {
        run_on_stopped_clock(async {
            let (address, counts) = raw(|connection, stream| match (connection, stream) {
                (0, 3) => (Vec::new(), true),
                _ => (head(stream, true), false),
            })
            .await;
            let mut user = user_of(&format!("http://{address}"), &http2()).await;
            ok(send(&mut user, &get("/"), NOTHING).await);
            tokio::time::advance(Duration::from_millis(rest)).await;
            let exchange = send(&mut user, &request(method, "/"), NOTHING).await;
            match kind {
                None => drop(ok(exchange)),
                Some(kind) => drop(failed(exchange, kind)),
            }
            assert_eq!(counts.borrow().len(), if kind.is_none() { 2 } else { 1 });
        });
    }
}

#[test]
fn an_answer_that_came_before_the_end_is_read_though_nothing_can_be_written() {
    run_paused(async {
        // Its settings are not acknowledged yet when the server is gone. The answers to so many pings fill the buffer of
        // `h2`, which has to write then before it reads on.
        let (url, counts) = raw_in_memory(|_, stream| {
            let pings = frame(6, 0, 0, b"pingpong").repeat(2_000);
            ([pings, head(stream, true)].concat(), true)
        });
        let mut user = user_of(&url, &http2()).await;
        for _ in 0..3 {
            ok(send(&mut user, &request(Method::POST, "/"), NOTHING).await);
        }
        assert_eq!(*counts.borrow(), [1; 3]);
    });
}

#[test]
fn a_connection_that_is_reset_has_the_name_of_one_that_is_closed() {
    let begun = [frame(4, 0, 0, &[]), head(1, false), frame(0, 0, 1, b"part")];
    for (start, kind, message) in [
        (
            Vec::new(),
            ErrorKind::ClosedFresh,
            "the server closed the new connection before the head of the answer",
        ),
        (
            begun.concat(),
            ErrorKind::BodyTruncated,
            "the body ended early: the connection was closed before the end",
        ),
    ] {
        for is_reset in [false, true] {
            let start = start.clone();
            run(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let url = format!("http://{}", listener.local_addr().unwrap());
                spawn_local(async move {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let _ = stream.read(&mut [0; 4096]).await.unwrap();
                    if !start.is_empty() {
                        stream.write_all(&start).await.unwrap();
                        // The settings are acknowledged, and what came with them is read.
                        let _ = stream.read(&mut [0; 4096]).await.unwrap();
                    }
                    if is_reset {
                        stream.set_zero_linger().unwrap();
                    }
                });
                let mut user = user_of(&url, &http2()).await;
                let failure = failed(send(&mut user, &get("/"), BODY).await, kind);
                assert_eq!(failure.message, message);
            });
        }
    }
}

#[test]
fn a_large_body_may_come_together_with_its_head() {
    run(async {
        let (address, _) = raw(|_, stream| {
            let pieces = (1..=64).map(|number| {
                let is_last = u8::from(number == 64);
                frame(0, is_last, stream, &[b'x'; 16_384])
            });
            let body: Vec<u8> = pieces.flatten().collect();
            ([head(stream, false), body].concat(), false)
        })
        .await;
        let mut user = user_of(&format!("http://{address}"), &http2()).await;
        for _ in 0..3 {
            let received = ok(send(&mut user, &get("/"), EVERYTHING).await);
            assert_eq!(received.body.len(), 64 * 16_384);
        }
    });
}

#[test]
fn frames_without_an_answer_do_not_go_on_forever() {
    run(async {
        // Of an unknown kind, which is to be ignored.
        let (address, _) = raw(|_, _| (frame(0x20, 0, 0, &[0; 16_384]).repeat(600), false)).await;
        let mut user = user_of(&format!("http://{address}"), &http2()).await;
        let failure = send(&mut user, &get("/"), NOTHING)
            .await
            .result
            .unwrap_err();
        assert_eq!(failure.kind, ErrorKind::HeadTooLarge);
        assert_eq!(
            failure.message.as_str(),
            "the target sent 8 MiB of frames without the head of an answer"
        );
    });
}

#[test]
fn an_announced_end_of_a_connection_costs_no_request() {
    run(async {
        let (address, counts) = raw(|_, stream| {
            (
                [head(stream, true), go_away(stream, NO_ERROR)].concat(),
                true,
            )
        })
        .await;
        let mut user = user_of(&format!("http://{address}"), &http2()).await;
        for _ in 0..10 {
            ok(send(&mut user, &request(Method::POST, "/"), NOTHING).await);
        }
        assert_eq!(*counts.borrow(), [1; 10]);
    });
}

#[test]
fn failures_have_the_names_of_the_closed_list() {
    let large = {
        // `:status: 200`, and one header whose value is larger than what is taken.
        let mut block = vec![0x88, 0x00, 1, b'x', 0x7f];
        let mut left = 70_000_u32 - 127;
        while left >= 128 {
            block.push((left % 128 + 128) as u8);
            left /= 128;
        }
        block.push(left as u8);
        block.extend(vec![b'h'; 70_000]);
        let mut bytes = Vec::new();
        let pieces: Vec<&[u8]> = block.chunks(16_384).collect();
        for (i, piece) in pieces.iter().enumerate() {
            let ends = if i + 1 == pieces.len() { 4 } else { 0 };
            bytes.extend(frame(if i == 0 { 1 } else { 9 }, ends, 1, piece));
        }
        bytes
    };
    let with_length = frame(1, 4, 1, &[0x88, 0x0f, 0x0d, 1, b'9']);
    let cases: Vec<(Vec<u8>, bool, ErrorKind)> = vec![
        (reset(1, REFUSED), false, ErrorKind::ResetBeforeHead),
        (
            reset(1, HTTP_1_1_REQUIRED),
            false,
            ErrorKind::ResetBeforeHead,
        ),
        (go_away(0, INTERNAL), false, ErrorKind::ClosedFresh),
        (Vec::new(), true, ErrorKind::ClosedFresh),
        (frame(1, 4, 1, &[0xff; 4]), false, ErrorKind::HeadMalformed),
        (
            frame(0, 0, 1, b"body before head"),
            false,
            ErrorKind::HeadMalformed,
        ),
        (large, false, ErrorKind::HeadTooLarge),
        (
            [head(1, false), reset(1, INTERNAL)].concat(),
            false,
            ErrorKind::ResetInBody,
        ),
        (
            [head(1, false), frame(0, 0, 1, b"x")].concat(),
            true,
            ErrorKind::BodyTruncated,
        ),
        (
            [with_length, frame(0, 1, 1, b"x")].concat(),
            false,
            ErrorKind::BodyTruncated,
        ),
        (
            [head(1, false), frame(0, 8, 1, &[9])].concat(),
            false,
            ErrorKind::BodyBadChunk,
        ),
    ];
    for (bytes, closes, kind) in cases {
        let shown = format!("{kind}: {:?}", &bytes[..bytes.len().min(20)]);
        let wants_http_1 = bytes == reset(1, HTTP_1_1_REQUIRED);
        run(async {
            let (address, counts) = raw(move |_, _| (bytes.clone(), closes)).await;
            let mut user = user_of(&format!("http://{address}"), &http2()).await;
            let exchange = send(&mut user, &get("/"), BODY).await;
            assert_eq!(exchange.traffic.requests, 1, "{shown}");
            let failure = exchange.result.unwrap_err();
            assert_eq!(failure.kind, kind, "{shown}: {}", failure.message);
            let has_hint = failure
                .message
                .ends_with("; it wants HTTP/1.1: write `http = 1`");
            assert_eq!(has_hint, wants_http_1, "{shown}: {}", failure.message);
            assert_eq!(*counts.borrow(), [1], "{shown}");
            if matches!(kind, ErrorKind::ResetBeforeHead | ErrorKind::ResetInBody) {
                return;
            }
            // The user is not lost, and has a connection of its own again.
            assert!(send(&mut user, &get("/"), BODY).await.result.is_err());
            assert_eq!(counts.borrow().len(), 2, "{shown}");
        });
    }
}

#[test]
fn a_server_that_speaks_http1_alone_is_told_from_a_broken_one() {
    for (answer, is_http1) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), true),
        (frame(1, 4, 1, &[0xff; 4]), false),
    ] {
        run(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            spawn_local(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let settings = frame(4, 0, 0, &[]);
                let start = if is_http1 { &[][..] } else { &settings[..] };
                stream.write_all(&[start, &answer].concat()).await.unwrap();
                let _ = stream.read_to_end(&mut Vec::new()).await;
            });
            let mut user = user_of(&format!("http://{address}"), &http2()).await;
            let failure = failed(
                send(&mut user, &get("/"), BODY).await,
                ErrorKind::HeadMalformed,
            );
            let message = failure.message;
            assert_eq!(message.contains("write `http = 1`"), is_http1, "{message}");
        });
    }
}

#[test]
fn a_deadline_ends_a_request_and_its_connection() {
    const DEADLINE: Duration = Duration::from_millis(100);
    run_paused(async {
        let (url, counts) = raw_in_memory(|connection, stream| match connection {
            0 => (Vec::new(), false),
            1 => (head(stream, false), false),
            _ => (head(stream, true), false),
        });
        let mut user = user_of(&url, &http2()).await;
        let request = get("/");
        for kind in [ErrorKind::TimeoutHead, ErrorKind::TimeoutTotal] {
            let exchange = user
                .send(Call {
                    request: &request,
                    expect: &Expect::SUCCESS,
                    reads: BODY,
                    timeout: DEADLINE,
                    redirects: 0,
                    new_connection: false,
                    unfinished: &UnfinishedCall::default(),
                    trace: None,
                    stream: None,
                    websocket: None,
                    is_graphql: false,
                })
                .await;
            assert_eq!(exchange.service_time, DEADLINE);
            failed(exchange, kind);
        }
        ok(send(&mut user, &request, NOTHING).await);
        assert_eq!(*counts.borrow(), [1, 1, 1]);
    });
}

#[test]
fn who_has_read_an_answer_over_http2_of_its_own_connection_owes_a_turn() {
    run(async {
        let (address, _) = serve(fine).await;
        let url = format!("http://{address}");
        let mut user = user_of(&url, &http2()).await;
        assert!(!user.owes_a_turn());
        ok(send(&mut user, &get("/"), BODY).await);
        assert!(user.owes_a_turn());
        failed(
            send(&mut user, &get("http://127.0.0.2:1/"), BODY).await,
            ErrorKind::ConnectRefused,
        );
        assert!(!user.owes_a_turn());

        let shared = Client {
            connections: Some(1),
            ..http2()
        };
        let mut user = user_of(&url, &shared).await;
        user.share_connections(&|count| (0..count).collect());
        ok(send(&mut user, &get("/"), BODY).await);
        assert!(!user.owes_a_turn(), "one task writes for all");
    });
}
