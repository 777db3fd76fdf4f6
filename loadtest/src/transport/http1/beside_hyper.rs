//! Answers, well-formed and not, read by this client and by that of hyper.
//!
//! Both are to say the same. They differ on purpose where
//! - a body in chunks has a `content-length`, too: hyper drops that header, here it stays to be noted,
//! - what comes after the last chunk is no header: hyper refuses it, here it is passed over unread,
//! - such lines or what stands behind the size of a chunk go on and on: hyper stops at 16 KiB, here the
//!   deadline does, and nothing of them is kept,
//! - a coding or an option of the connection has bytes over 127: hyper takes no notice of the whole line,
//! - bytes follow the answer, which either may find out later than the other; here they always spoil it.

use super::{Error, Http1};
use crate::transport::RequestBuf;
use crate::transport::meter::{MAX_HEAD, Meter, MeteredStream, TransportStream};
use crate::transport::request::{DefaultHeaders, OutgoingRequest, RequestSurroundings};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Version};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// What a client makes of an answer.
#[derive(Debug)]
struct Read {
    head: (StatusCode, Version, HeaderMap),
    /// Nothing where it broke off, with the reason.
    body: Result<Vec<u8>, String>,
    is_kept: bool,
    /// More came than the answer.
    is_spoilt: bool,
}

/// An answer as it may be, or nearly.
fn answers() -> impl Strategy<Value = Vec<u8>> {
    let interim = select(vec![
        "",
        "",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 P\r\n\r\n",
        "\r\n\n",
    ]);
    let start = select(vec![
        "HTTP/1.1 200 OK",
        "HTTP/1.1 200",
        "HTTP/1.0 200 OK",
        "HTTP/1.1 204 No Content",
        "HTTP/1.1 205 Reset Content",
        "HTTP/1.1 304 Not Modified",
        "HTTP/1.1 413 Too Large",
        "HTTP/1.1 999 \u{e4}",
    ]);
    let line = select(vec![
        "connection: close",
        "Connection: Keep-Alive",
        "connection: x, close",
        "x: \u{e4}",
        "x:",
        "set-cookie: a=b",
        "content-length: 5",
        "content-length: 05, 5",
        "content-length: +5",
        "content-length: 18446744073709551616",
        "transfer-encoding: gzip",
    ]);
    let body = select(vec![
        "content-length: 5\r\n\r\nhello",
        "content-length: 0\r\n\r\n",
        "Content-Length: 5, 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "transfer-encoding: gzip, Chunked\r\n\r\n2 ;a=\"b\"\r\nhe\r\n003\r\nllo\r\n0\r\nx: y\r\n\r\n",
        "\r\nhello",
    ]);
    let lines = prop::collection::vec(line, 0..3);
    let ends = select(vec!["\r\n", "\r\n", "\r\n", "\n"]);
    (interim, start, lines, ends, body).prop_map(|(interim, start, lines, end, body)| {
        let lines: String = lines.iter().flat_map(|line| [&**line, end]).collect();
        format!("{interim}{start}{end}{lines}{body}").into_bytes()
    })
}

/// What is done to an answer, somewhere.
fn mutations() -> impl Strategy<Value = Vec<(Index, u8, Option<u8>)>> {
    let byte = select(b"\r\n :;,0159afx\0\t\x7f-+HhTt".to_vec());
    prop::collection::vec((any::<Index>(), 0..4_u8, prop::option::of(byte)), 0..3)
}

fn mutated(mut answer: Vec<u8>, mutations: &[(Index, u8, Option<u8>)]) -> Vec<u8> {
    for (place, what, byte) in mutations {
        if answer.is_empty() {
            break;
        }
        let place = place.index(answer.len());
        match (what, byte) {
            (0, Some(byte)) => answer[place] = *byte,
            (1, Some(byte)) => answer.insert(place, *byte),
            (2, _) => answer.truncate(place),
            _ => drop(answer.remove(place)),
        }
    }
    answer
}

/// Writes `answer` in pieces once a request has come.
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &[u8],
    piece: usize,
    stays: bool,
) {
    if stream.read(&mut [0; 4096]).await.is_err() {
        return;
    }
    for piece in answer.chunks(piece) {
        if stream.write_all(piece).await.is_err() {
            return;
        }
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
    }
    if stays {
        std::future::pending::<()>().await;
    }
}

async fn ours(answer: &[u8], piece: usize, method: &Method) -> Result<Read, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stream, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
    let server = accepted.unwrap().0;
    server.set_nodelay(true).unwrap();
    let meter = Rc::new(Meter::new(MAX_HEAD));
    let mut http1 = Http1::new(MeteredStream::new(
        TransportStream::Plain(stream.unwrap()),
        Rc::clone(&meter),
    ));
    let buffer = RequestBuf {
        method: method.clone(),
        ..RequestBuf::default()
    };
    let host = HeaderValue::from_static("h");
    let around = RequestSurroundings {
        prefix: "",
        defaults: &DefaultHeaders::new(host.clone(), &host),
        reads_body: false,
        accepts_events: false,
        cookie: None,
        traceparent: None,
        upgrade: Vec::new(),
    };
    let client = async {
        meter.begin();
        let unsent = http1.write(&OutgoingRequest::new(&buffer, around).unwrap());
        let mut headers = HeaderMap::new();
        let is_head = method == Method::HEAD;
        let (status, version) = http1.send(unsent, is_head, true, &mut headers).await?;
        meter.finish_head();
        let mut body = Vec::new();
        let read = http1.body(|data| {
            body.extend_from_slice(data);
            ControlFlow::Continue(())
        });
        let read = read.await.map_err(|error| error.to_string());
        Ok(Read {
            head: (status, version, headers),
            is_kept: read.is_ok() && http1.is_kept(),
            is_spoilt: false,
            body: read.map(|_| body),
        })
    };
    let (read, ()) = tokio::join!(client, serve(server, answer, piece, false));
    // The server is gone: what it wrote comes, and then the end.
    poll_fn(|cx| {
        if http1.is_idle(cx) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    let is_spoilt = http1.is_spoilt();
    read.map(|read| Read { is_spoilt, ..read })
}

/// The same of hyper; a server that `stays` shows whether the connection is kept.
async fn theirs(answer: &[u8], piece: usize, method: &Method, stays: bool) -> Option<Read> {
    let (stream, server) = tokio::io::duplex(1 << 16);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let request = Request::builder()
        .method(method)
        .uri("/")
        .header("host", "h");
    let client = async {
        let sent = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap());
        let answer = sent.await.ok()?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|error| format!("{error:?}"));
        let is_kept = body.is_ok() && sender.ready().await.is_ok();
        Some(Read {
            head: (head.status, head.version, head.headers),
            body: body.map(|body| body.to_bytes().into()),
            is_kept,
            is_spoilt: false,
        })
    };
    let others = async {
        let driver = async {
            let _ = connection.await;
            std::future::pending::<()>().await;
        };
        tokio::join!(driver, serve(server, answer, piece, stays))
    };
    tokio::select! {
        read = timeout(Duration::from_secs(60), client) => read.ok()?,
        _ = others => unreachable!("they wait for ever"),
    }
}

fn runtime(paused: bool) -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(paused).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn an_answer_is_read_as_by_hyper(
        answer in answers(),
        mutations in mutations(),
        piece in 1..40_usize,
        method in select(vec![Method::GET, Method::GET, Method::HEAD]),
    ) {
        let answer = mutated(answer, &mutations);
        let ours = runtime(false).block_on(ours(&answer, piece, &method));
        let hyper = runtime(true);
        let theirs_ended = hyper.block_on(theirs(&answer, piece, &method, false));
        let text = String::from_utf8_lossy(&answer);
        let (mut ours, mut theirs_ended) = match (ours, theirs_ended) {
            (Ok(ours), Some(theirs)) => (ours, theirs),
            (Err(_), None) => return Ok(()),
            (ours, theirs) => panic!("{text:?}: {ours:?}, of hyper {theirs:?}"),
        };
        if ours.head.2.contains_key(TRANSFER_ENCODING) {
            ours.head.2.remove(CONTENT_LENGTH);
            theirs_ended.head.2.remove(CONTENT_LENGTH);
        }
        prop_assert_eq!(&ours.head, &theirs_ended.head, "{}", text);
        match (&ours.body, &theirs_ended.body) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs, "{}", text),
            (Err(_), Err(_)) => return Ok(()),
            // Of a line after the last chunk.
            (Ok(_), Err(theirs)) if theirs.contains("InvalidInput") => return Ok(()),
            (ours, theirs) => panic!("{text:?}: {ours:?}, of hyper {theirs:?}"),
        }
        if ours.is_spoilt {
            return Ok(());
        }
        let stayed = hyper.block_on(theirs(&answer, piece, &method, true));
        let is_kept = stayed.is_some_and(|read| read.is_kept);
        prop_assert!(ours.is_kept == is_kept, "{:?}: kept {}", text, ours.is_kept);
    }
}
