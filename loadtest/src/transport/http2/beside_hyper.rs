//! Answers of HTTP/2, well-formed and not, read by this client and by that of hyper.
//!
//! Both stand on `h2`. What is compared is what is done with it: the order of reading and writing, bodies and their
//! windows, and what ends a connection. They differ on purpose where the server resets an answer without an error before
//! its end: hyper takes what came for the whole.

use super::super::meter::{MAX_BEFORE_HTTP2_HEAD, Meter, MeteredStream, TransportStream};
use super::Http2;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::ops::ControlFlow;
use std::rc::Rc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a client makes of an answer; of a body that broke off, nothing.
#[derive(Debug, PartialEq)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// What may come before, between and after the frames of an answer.
fn other_frames() -> impl Strategy<Value = Vec<u8>> {
    select(vec![
        Vec::new(),
        Vec::new(),
        frame(6, 0, 0, b"pingpong"),
        frame(8, 0, 0, &[0, 0, 1, 0]),
        frame(0x20, 0, 0, b"of no known kind"),
        frame(4, 0, 0, &[0, 4, 0, 0, 0x20, 0]),
        // An interim answer, 103.
        frame(1, 4, 1, &[0x08, 3, b'1', b'0', b'3']),
        frame(3, 0, 1, &[0, 0, 0, 0]),
        frame(3, 0, 1, &[0, 0, 0, 2]),
        frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]),
        frame(7, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 2]),
    ])
}

/// The head of an answer, whole or in two frames, with padding and priority or without.
fn heads() -> impl Strategy<Value = Vec<u8>> {
    let with_length = |digit| [0x88, 0x0f, 0x0d, 1, digit];
    let fields = select(vec![
        vec![0x88],
        vec![0x8d],
        with_length(b'5').to_vec(),
        with_length(b'9').to_vec(),
        // `x: y`, into the table and out of it.
        vec![0x88, 0x40, 1, b'x', 1, b'y', 0xbe],
        // A name in capitals.
        vec![0x88, 0x00, 1, b'X', 1, b'y'],
        vec![0x40, 1, b'x', 1, b'y'],
    ]);
    (fields, 0..4_u8, any::<bool>()).prop_map(|(fields, shape, ends)| {
        let ends = u8::from(ends);
        match shape {
            0 => {
                let padded = [&[2], &fields[..], &[0, 0]].concat();
                frame(1, 4 | 8 | ends, 1, &padded)
            }
            1 => {
                let weighed = [&[0, 0, 0, 0, 16], &fields[..]].concat();
                frame(1, 4 | 0x20 | ends, 1, &weighed)
            }
            2 => {
                let (first, second) = fields.split_at(1);
                [frame(1, ends, 1, first), frame(9, 4, 1, second)].concat()
            }
            _ => frame(1, 4 | ends, 1, &fields),
        }
    })
}

/// The body of an answer, in some frames.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let last = select(vec![
        frame(0, 1, 1, b""),
        frame(0, 1, 1, b"lo"),
        frame(0, 9, 1, b"\x01lo\0"),
        // Trailers.
        frame(1, 5, 1, &[0x00, 1, b'x', 1, b'y']),
        frame(0, 0, 1, b"lo"),
    ]);
    let large = frame(0, 0, 1, &[b'x'; 16_384]).repeat(200);
    let first = select(vec![Vec::new(), frame(0, 0, 1, b"hel"), large]);
    (first, last).prop_map(|(first, last)| [first, last].concat())
}

fn answers() -> impl Strategy<Value = Vec<u8>> {
    let parts = (
        other_frames(),
        heads(),
        other_frames(),
        bodies(),
        other_frames(),
    );
    parts.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].concat())
}

/// Writes `answer` in pieces once a request has come, and closes.
async fn serve(listener: &TcpListener, answer: &[u8], piece: usize) -> Option<()> {
    let (mut stream, _) = listener.accept().await.ok()?;
    stream.read_exact(&mut [0; 24]).await.ok()?;
    stream.write_all(&frame(4, 0, 0, &[])).await.ok()?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.ok()?;
        if head[3] == 1 {
            break;
        }
    }
    let piece = piece.max(answer.len() / 50);
    for piece in answer.chunks(piece) {
        stream.write_all(piece).await.ok()?;
        tokio::task::yield_now().await;
    }
    stream.shutdown().await.ok()?;
    // What the client still says is taken, so that nothing is reset.
    let _ = stream.read_to_end(&mut Vec::new()).await;
    Some(())
}

fn is_reset_without_error(answer: &[u8]) -> bool {
    [0, 8].iter().any(|code| {
        // The flags of such a frame mean nothing.
        let reset = frame(3, 0, 1, &[0, 0, 0, *code]);
        answer
            .windows(reset.len())
            .any(|bytes| bytes[..4] == reset[..4] && bytes[5..] == reset[5..])
    })
}

/// The answer up to the frame that ends its stream.
fn until_its_end(answer: &[u8]) -> &[u8] {
    let (mut at, mut ends) = (0, false);
    while let Some(&[a, b, c, kind, flags, _, _, _, stream]) = answer.get(at..at + 9) {
        at += 9 + u32::from_be_bytes([0, a, b, c]) as usize;
        ends |= kind <= 1 && flags & 1 == 1 && stream == 1;
        // A head that is not over yet goes on in the next frame.
        if ends && (kind == 0 || flags & 4 == 4) {
            break;
        }
    }
    &answer[..at.min(answer.len())]
}

fn request<B>(body: B) -> Request<B> {
    let request = Request::builder().uri("http://h/");
    request.body(body).unwrap()
}

async fn ours(listener: &TcpListener, sent: Bytes) -> Option<Answer> {
    let address = listener.local_addr().unwrap();
    let stream = TransportStream::Plain(TcpStream::connect(address).await.unwrap());
    let meter = Rc::new(Meter::new(MAX_BEFORE_HTTP2_HEAD));
    let mut client = Http2::open(MeteredStream::new(stream, meter), usize::MAX)
        .await
        .ok()?;
    client.write(request(()), sent).ok()?;
    let mut headers = HeaderMap::new();
    let (status, _) = client.read_head(&mut headers).await.ok()?;
    let mut body = Vec::new();
    let read = client.read_body(|data| {
        body.extend_from_slice(data);
        ControlFlow::Continue(())
    });
    let is_whole = read.await.is_ok();
    Some(Answer {
        status,
        headers,
        body: is_whole.then_some(body),
    })
}

async fn theirs(listener: &TcpListener, sent: Bytes) -> Option<Answer> {
    let address = listener.local_addr().unwrap();
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.ok()?;
    let driver = tokio::spawn(connection);
    let answer = sender.send_request(request(Full::new(sent))).await;
    let answer = match answer {
        Ok(answer) => {
            let (head, body) = answer.into_parts();
            let body = body.collect().await.ok();
            Some(Answer {
                status: head.status,
                headers: head.headers,
                body: body.map(|body| body.to_bytes().into()),
            })
        }
        Err(_) => None,
    };
    driver.abort();
    answer
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn an_answer_of_http2_is_read_as_by_hyper(
        mut answer in answers(),
        mutation in prop::option::weighted(0.3, (any::<Index>(), any::<u8>())),
        piece in 1..40_usize,
        sent in select(vec![Bytes::new(), Bytes::from_static(b"x"), Bytes::from(vec![0; 100_000])]),
    ) {
        if let Some((place, byte)) = mutation {
            let place = place.index(answer.len().min(200));
            answer[place] = byte;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let read = |answer: &[u8]| runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let (ours, _) = tokio::join!(ours(&listener, sent.clone()), serve(&listener, answer, piece));
            let (theirs, _) = tokio::join!(theirs(&listener, sent.clone()), serve(&listener, answer, piece));
            (ours, theirs)
        });
        let (mut ours, mut theirs) = read(&answer);
        if ours != theirs {
            // What follows an answer may be read together with its end, or later and by nobody.
            answer = until_its_end(&answer).to_vec();
            (ours, theirs) = read(&answer);
        }
        let text = answer[..answer.len().min(200)].escape_ascii();
        match (ours, theirs) {
            (Some(ours @ Answer { body: None, .. }), Some(theirs)) if is_reset_without_error(&answer) => {
                prop_assert_eq!((ours.status, ours.headers), (theirs.status, theirs.headers), "{}", text);
            }
            (ours, theirs) => prop_assert_eq!(ours, theirs, "{}", text),
        }
    }
}
