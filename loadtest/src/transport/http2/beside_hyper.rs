//! Answers of HTTP/2, well-formed and not, read by this client and by that of hyper.
//!
//! Both stand on `h2`. What is compared is what is done with it: the order of reading and writing, bodies and their
//! windows, and what ends a connection. They differ on purpose where the server resets an answer without an error before
//! its end: hyper takes what came for the whole.

use super::Http2;
use crate::transport::meter::{MAX_BEFORE_HTTP2_HEAD, Meter, MeteredStream, TransportStream};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::convert::Infallible;
use std::future::{Future as _, pending, poll_fn};
use std::ops::ControlFlow;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

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
    // More than the window of a stream. It takes most of the time, and a few of the answers have it.
    let large = frame(0, 0, 1, &[b'x'; 16_384]).repeat(140);
    let first = prop_oneof![
        10 => Just(Vec::new()),
        10 => Just(frame(0, 0, 1, b"hel")),
        1 => Just(large),
    ];
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

/// What a `PING` says whose answer the server waits for.
const SETTLED: &[u8] = b"settled?";

fn is_head(kind: u8, _: &[u8]) -> bool {
    kind == 1
}

/// A connection on which the greetings are read and written.
async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    let (mut stream, _) = listener.accept().await.ok()?;
    stream.read_exact(&mut [0; 24]).await.ok()?;
    stream.write_all(&frame(4, 0, 0, &[])).await.ok()?;
    // The settings of the client hold once they are acknowledged: without that its window is small.
    stream.write_all(&frame(4, 1, 0, &[])).await.ok()?;
    Some(stream)
}

/// Reads up to the next frame `is_it`, by its kind and its payload, and returns its stream.
async fn read_until(stream: &mut TcpStream, is_it: impl Fn(u8, &[u8]) -> bool) -> Option<u32> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, _, id @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).await.ok()?;
        if is_it(kind, &payload) {
            return Some(u32::from_be_bytes(id));
        }
    }
}

async fn write_in_pieces(stream: &mut TcpStream, bytes: &[u8], piece: usize) -> Option<()> {
    let piece = piece.max(bytes.len() / 50);
    for piece in bytes.chunks(piece) {
        stream.write_all(piece).await.ok()?;
        tokio::task::yield_now().await;
    }
    Some(())
}

/// Writes `answer` in pieces once a request has come, and closes.
async fn serve(listener: &TcpListener, answer: &[u8], piece: usize) -> Option<()> {
    let mut stream = accept(listener).await?;
    read_until(&mut stream, is_head).await?;
    write_in_pieces(&mut stream, answer, piece).await?;
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

async fn open_ours(listener: &TcpListener) -> Option<Http2> {
    let address = listener.local_addr().unwrap();
    let stream = TransportStream::Plain(TcpStream::connect(address).await.unwrap());
    let meter = Rc::new(Meter::new(MAX_BEFORE_HTTP2_HEAD));
    let stream = MeteredStream::new(stream, meter).ending_by_reading();
    let opened = Http2::open(stream, usize::MAX);
    opened.await.ok()
}

async fn ours(listener: &TcpListener, sent: Bytes) -> Option<Answer> {
    let mut client = open_ours(listener).await?;
    send_ours(&mut client, sent).await
}

async fn send_ours(client: &mut Http2, sent: Bytes) -> Option<Answer> {
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

type Theirs = (http2::SendRequest<Full<Bytes>>, AbortOnDropHandle);

/// Drives a connection until it is dropped.
struct AbortOnDropHandle(JoinHandle<hyper::Result<()>>);

impl Drop for AbortOnDropHandle {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn open_theirs(listener: &TcpListener) -> Option<Theirs> {
    let address = listener.local_addr().unwrap();
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.ok()?;
    Some((sender, AbortOnDropHandle(tokio::spawn(connection))))
}

async fn theirs(listener: &TcpListener, sent: Bytes) -> Option<Answer> {
    let (mut sender, _driver) = open_theirs(listener).await?;
    send_theirs(&mut sender, sent).await
}

async fn send_theirs(sender: &mut http2::SendRequest<Full<Bytes>>, sent: Bytes) -> Option<Answer> {
    let answer = sender.send_request(request(Full::new(sent))).await.ok()?;
    let (head, body) = answer.into_parts();
    let body = body.collect().await.ok();
    Some(Answer {
        status: head.status,
        headers: head.headers,
        body: body.map(|body| body.to_bytes().into()),
    })
}

/// What a client makes of several answers over one connection, as far as all of each came, and whether the connection
/// takes another request then.
#[derive(Debug, Default, PartialEq)]
struct Course {
    answers: Vec<Option<Answer>>,
    is_kept: bool,
}

/// What server and client tell each other, so that neither goes ahead of the other.
#[derive(Default)]
struct Turns {
    /// The client has read an answer.
    read: Notify,
    /// The client has taken notice of what came after it, or is gone.
    settled: Notify,
}

/// Makes frames of stream 1 those of another stream.
fn for_stream(frames: &[u8], stream: u32) -> Vec<u8> {
    let (mut bytes, mut at) = (frames.to_vec(), 0);
    while let Some(&[a, b, c, _, _, _, _, _, id]) = bytes.get(at..at + 9) {
        if id == 1 {
            bytes[at + 5..at + 9].copy_from_slice(&stream.to_be_bytes());
        }
        at += 9 + u32::from_be_bytes([0, a, b, c]) as usize;
    }
    bytes
}

/// Answers one request after another until it is dropped; once an answer is read, what comes after it follows.
async fn serve_in_turn(
    listener: &TcpListener,
    script: &[(Vec<u8>, Vec<u8>)],
    piece: usize,
    turns: &Turns,
) -> Infallible {
    let serve = async {
        let mut stream = accept(listener).await?;
        for (answer, after) in script {
            let id = read_until(&mut stream, is_head).await?;
            write_in_pieces(&mut stream, &for_stream(answer, id), piece).await?;
            turns.read.notified().await;
            let ping = frame(6, 0, 0, SETTLED);
            let after = [for_stream(after, id), ping].concat();
            write_in_pieces(&mut stream, &after, piece).await?;
            // Its answer: all before it was read.
            read_until(&mut stream, |kind, payload| kind == 6 && payload == SETTLED).await?;
            turns.settled.notify_one();
        }
        let _ = stream.read_to_end(&mut Vec::new()).await;
        Some(())
    };
    serve.await;
    turns.settled.notify_one();
    pending().await
}

#[test]
fn a_body_of_more_than_a_window_is_read_whole() {
    let large = frame(0, 0, 1, &[b'x'; 16_384]).repeat(140);
    let answer = [frame(1, 4, 1, &[0x88]), large, frame(0, 1, 1, b"lo")].concat();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (ours, _) = tokio::join!(ours(&listener, Bytes::new()), serve(&listener, &answer, 10));
        let length = ours.unwrap().body.map(|body| body.len());
        assert_eq!(length, Some(140 * 16_384 + 2));
    });
}

async fn ours_in_turn(listener: &TcpListener, count: usize, turns: &Turns) -> Course {
    let mut course = Course::default();
    let mut client = open_ours(listener).await.unwrap();
    for _ in 0..count {
        let answer = send_ours(&mut client, Bytes::new()).await;
        let is_whole = answer.as_ref().is_some_and(|answer| answer.body.is_some());
        course.answers.push(answer);
        if !is_whole {
            return course;
        }
        turns.read.notify_one();
        let mut settled = pin!(turns.settled.notified());
        while poll_fn(|cx| Poll::Ready(settled.as_mut().poll(cx).is_pending())).await {
            client.is_idle();
            tokio::task::yield_now().await;
        }
        if !client.is_idle() {
            return course;
        }
    }
    course.is_kept = true;
    course
}

async fn theirs_in_turn(listener: &TcpListener, count: usize, turns: &Turns) -> Course {
    let mut course = Course::default();
    let (mut sender, _driver) = open_theirs(listener).await.unwrap();
    for _ in 0..count {
        let answer = send_theirs(&mut sender, Bytes::new()).await;
        let is_whole = answer.as_ref().is_some_and(|answer| answer.body.is_some());
        course.answers.push(answer);
        if !is_whole {
            return course;
        }
        turns.read.notify_one();
        turns.settled.notified().await;
        // The task of the connection may have to end yet.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        if sender.ready().await.is_err() {
            return course;
        }
    }
    course.is_kept = true;
    course
}

/// Answers that come to their end, each with what follows it.
fn whole_answers() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let quiet = select(vec![
        Vec::new(),
        frame(6, 0, 0, b"pingpong"),
        frame(8, 0, 0, &[0, 0, 1, 0]),
        frame(1, 4, 1, &[0x08, 3, b'1', b'0', b'3']),
    ]);
    (quiet, heads(), bodies(), other_frames()).prop_map(|(before, head, body, after)| {
        let answer = [before, head, body, frame(0, 1, 1, b"")].concat();
        (until_its_end(&answer).to_vec(), after)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn answers_over_one_connection_are_read_as_by_hyper_and_it_is_kept_as_long(
        script in prop::collection::vec(whole_answers(), 1..5),
        piece in 1..40_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (ours, theirs) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let turns = Turns::default();
            let ours = tokio::select! {
                ours = ours_in_turn(&listener, script.len(), &turns) => ours,
                never = serve_in_turn(&listener, &script, piece, &turns) => match never {},
            };
            let turns = Turns::default();
            let theirs = tokio::select! {
                theirs = theirs_in_turn(&listener, script.len(), &turns) => theirs,
                never = serve_in_turn(&listener, &script, piece, &turns) => match never {},
            };
            (ours, theirs)
        });
        let text: Vec<_> = (script.iter())
            .flat_map(|(answer, after)| [&answer[..answer.len().min(100)], after])
            .map(|frames| frames.escape_ascii().to_string())
            .collect();
        prop_assert_eq!(ours, theirs, "{:?}", text);
    }
}
