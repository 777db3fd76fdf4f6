//! What RFC 9112 asks of a client: where an answer ends, what is none, what becomes of the connection.

use super::user::{
    BODY, EVERYTHING, NOTHING, PATIENCE, failed, get, ok, request, run, run_paused, send, user,
    user_of,
};
use crate::transport::memory::{MemoryServer, endless};
use crate::transport::{Call, Transport, UnfinishedCall};
use http::Method;
use loadtest_model::definition::{Client, Expect};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Authority, Reply, Server};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Where a test listens, with the URL for it.
fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// Reads the head of a request, and not a byte more.
fn read_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
}

#[test]
fn an_answer_ends_where_the_standard_says_and_the_connection_goes_on_if_it_may() {
    for (answer, body, is_kept) in [
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
             HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n\
             HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
            "hi",
            true,
        ),
        ("HTTP/1.1 204 None\r\ncontent-length: 2\r\n\r\n", "", true),
        (
            "HTTP/1.1 204 None\r\ntransfer-encoding: chunked\r\n\r\n",
            "",
            true,
        ),
        (
            "HTTP/1.1 205 Reset\r\ncontent-length: 2\r\n\r\nhi",
            "hi",
            true,
        ),
        ("HTTP/1.1 205 Reset\r\ncontent-length: 0\r\n\r\n", "", true),
        ("HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi", "hi", true),
        (
            "\r\n\nHTTP/1.1 200 OK\ncontent-length:\t2 \n\nhi",
            "hi",
            true,
        ),
        (
            "HTTP/1.1 200 ö\r\nx: ä\r\ncontent-length: 2, 02\r\ncontent-length: 2\r\n\r\nhi",
            "hi",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nTransfer-Encoding: x, CHUNKED\r\n\r\n\
             002 ; a=\"b\";c\r\nhi\r\n0;d\r\nx: y\r\n z: 1\r\n\r\n",
            "hi",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: x, close\r\nconnection: keep-alive\r\n\
             content-length: 2\r\n\r\nhi",
            "hi",
            false,
        ),
        (
            "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
            "hi",
            false,
        ),
        (
            "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 2\r\n\r\nhi",
            "hi",
            true,
        ),
        // More than there should be.
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhigh",
            "hi",
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n\r\n",
            "hi",
            false,
        ),
        ("HTTP/1.1 204 None\r\n\r\nhi", "", false),
    ] {
        let server = Server::start(move |request| match request.path.as_str() {
            "/" => Reply::text("fine"),
            _ => Reply::raw(answer),
        });
        run(async {
            for reads in [NOTHING, EVERYTHING] {
                let mut user = user(&server.url()).await;
                let received = ok(send(&mut user, &get("/odd"), reads).await);
                assert_eq!(
                    received.body,
                    if reads.body { body } else { "" },
                    "{answer}"
                );
                let next = send(&mut user, &get("/"), BODY).await;
                assert_eq!(next.phases.connect.is_none(), is_kept, "{answer}");
                assert_eq!(ok(next).body, "fine");
            }
        });
    }
}

#[test]
fn what_is_no_head_is_refused() {
    for head in [
        "HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 0",
        "HTTP/1.1 200 OK\r\ncontent-length: -1",
        "HTTP/1.1 200 OK\r\ncontent-length: +1",
        "HTTP/1.1 200 OK\r\ncontent-length: 1 1",
        "HTTP/1.1 200 OK\r\ncontent-length: 1,",
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616",
        "HTTP/1.1 200 OK\r\ncontent-length : 0",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked",
        "HTTP/1.1 2x0 OK\r\ncontent-length: 0",
        "HTTP/1.1 200 OK\r\nx: \0\r\ncontent-length: 0",
        "HTTP/1.2 200 OK\r\ncontent-length: 0",
        // Found out before there is a line, or more of them.
        "\x15\x03\x01",
        "HTTP/1.1 200 OK\r\nno header\r",
    ] {
        let is_whole = !head.ends_with(['\r', '\x01']);
        let end = if is_whole { "\r\n\r\n" } else { "\n" };
        let end = if head.len() == 3 { "" } else { end };
        let server = Server::start(move |_| Reply::raw(format!("{head}{end}")).hang_after());
        run(async {
            let mut user = user(&server.url()).await;
            let exchange = send(&mut user, &get("/"), BODY).await;
            assert!(exchange.service_time < PATIENCE, "{head}");
            failed(exchange, ErrorKind::HeadMalformed);
        });
    }
}

#[test]
fn what_is_no_chunk_is_refused() {
    for body in [
        "2\nhi\r\n0\r\n\r\n",
        "2;a\nhi\r\n0\r\n\r\n",
        "2\r\nhi!\r\n0\r\n\r\n",
        "2\r\nhi\n0\r\n\r\n",
        "0x2\r\nhi\r\n0\r\n\r\n",
        "10000000000000000\r\nhi",
        "\r\n",
    ] {
        let text = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{body}");
        let server = Server::start(move |_| Reply::raw(text.clone()).hang_after());
        run(async {
            for reads in [NOTHING, BODY] {
                let mut user = user(&server.url()).await;
                let exchange = send(&mut user, &get("/"), reads).await;
                failed(exchange, ErrorKind::BodyBadChunk);
            }
        });
    }
}

#[test]
fn what_is_said_around_chunks_may_have_no_end_but_the_deadline() {
    const DEADLINE: Duration = Duration::from_millis(200);
    for start in ["1;", "1 ", "0", "0\r\nx: "] {
        run_paused(async {
            let server = MemoryServer::start(move |_| {
                let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                let last = start.as_bytes()[start.len() - 1];
                let more = vec![last; 64 * 1024];
                endless(&format!("{head}{start}"), DEADLINE / 20, more)
            });
            let user = user(&server.url).await;
            let call = Call {
                request: &get("/"),
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
            };
            let exchange = user.send(call).await;
            assert!(exchange.traffic.received_bytes > 64 * 1024, "{start:?}");
            failed(exchange, ErrorKind::TimeoutTotal);
        });
    }
}

#[test]
fn a_head_may_come_byte_by_byte() {
    let head = format!(
        "\r\n\nHTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 2\r\n\r\nhi",
        "y".repeat(8_000)
    );
    run(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let _ = stream.read(&mut [0; 4096]).await.unwrap();
            for byte in head.as_bytes() {
                stream.write_all(&[*byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        let mut user = user(&url).await;
        let received = ok(send(&mut user, &get("/"), EVERYTHING).await);
        assert_eq!(received.headers["x"].len(), 8_000);
        assert_eq!(received.body, "hi");
    });
}

#[test]
fn a_server_may_answer_while_it_reads() {
    const LENGTH: usize = 16 << 20;
    let (listener, url) = listener();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_head(&mut stream);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LENGTH}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        // It reads no more than it can say back.
        let mut piece = vec![0; 64 * 1024];
        let mut left = LENGTH;
        while left > 0 {
            let length = stream.read(&mut piece).unwrap();
            assert!(length > 0, "{left} bytes never came");
            stream.write_all(&piece[..length]).unwrap();
            left -= length;
        }
        read_head(&mut stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
    });
    run(async {
        let mut user = user(&url).await;
        let mut upload = request(Method::POST, "/");
        upload.body = b"0123456789abcdef".repeat(LENGTH / 16).into();
        let echo = ok(send(&mut user, &upload, BODY).await);
        assert!(echo.body == upload.body, "{} bytes", echo.body.len());
        let next = send(&mut user, &get("/"), NOTHING).await;
        assert!(next.phases.connect.is_none());
        ok(next);
    });
    server.join().unwrap();
}

#[test]
fn an_answer_that_comes_before_a_close_is_read_though_the_request_was_not() {
    const TIMES: usize = 30;
    let (listener, url) = listener();
    let server = std::thread::spawn(move || {
        for _ in 0..TIMES {
            let (mut stream, _) = listener.accept().unwrap();
            read_head(&mut stream);
            stream
                .write_all(
                    b"HTTP/1.1 413 Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno",
                )
                .unwrap();
            // What it did not read makes this a reset.
        }
    });
    run(async {
        let mut user = user(&url).await;
        let mut upload = request(Method::POST, "/");
        upload.body = vec![0; 8 << 20].into();
        for _ in 0..TIMES {
            let failure = failed(send(&mut user, &upload, NOTHING).await, ErrorKind::Status);
            assert_eq!(failure.sample.as_deref(), Some("no"));
        }
    });
    server.join().unwrap();
}

/// Waits until this process has no open connection to `port`: the reset, or the end, of the only one has arrived.
#[cfg(target_os = "linux")]
pub(super) fn wait_for_end(port: u16) {
    let end = format!(":{port:04X}");
    let is_open = |line: &str| {
        let mut cells = line.split_whitespace().skip(2);
        cells.next().is_some_and(|peer| peer.ends_with(&end)) && cells.next() == Some("01")
    };
    while std::fs::read_to_string("/proc/self/net/tcp")
        .unwrap()
        .lines()
        .any(is_open)
    {
        std::thread::yield_now();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_resting_connection_that_was_reset_costs_no_failure() {
    let (listener, url) = listener();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = std::sync::mpsc::channel();
    let (closed, is_closed) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            // What is left of the request makes the close a reset.
            stream.read_exact(&mut [0; 16]).unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
            told.recv().unwrap();
            drop(stream);
            closed.send(()).unwrap();
        }
    });
    run(async {
        let mut user = user(&url).await;
        for _ in 0..2 {
            let exchange = send(&mut user, &request(Method::POST, "/"), NOTHING).await;
            assert_eq!(exchange.traffic.requests, 1);
            assert_eq!(exchange.traffic.unsolicited, 0);
            ok(exchange);
            tell.send(()).unwrap();
            is_closed.recv().unwrap();
            wait_for_end(port);
            // The runtime hears of it.
            tokio::task::yield_now().await;
        }
    });
    server.join().unwrap();
}

#[test]
fn a_body_that_ends_with_tls_is_whole_only_if_tls_ends_well() {
    let config = Arc::new(Authority::new().server("127.0.0.1", 4000));
    let insecure = Client {
        insecure: true,
        ..Client::DEFAULT
    };
    for ends_well in [true, false] {
        run(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("https://{}", listener.local_addr().unwrap());
            let acceptor = tokio_rustls::TlsAcceptor::from(Arc::clone(&config));
            tokio::task::spawn_local(async move {
                let (stream, _) = listener.accept().await.unwrap();
                let mut stream = acceptor.accept(stream).await.unwrap();
                let _ = stream.read(&mut [0; 4096]).await.unwrap();
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf")
                    .await
                    .unwrap();
                stream.flush().await.unwrap();
                if ends_well {
                    stream.shutdown().await.unwrap();
                }
            });
            let mut user = user_of(&url, &insecure).await;
            let exchange = send(&mut user, &get("/"), BODY).await;
            if ends_well {
                assert_eq!(ok(exchange).body, "half");
            } else {
                failed(exchange, ErrorKind::BodyTruncated);
            }
        });
    }
}
