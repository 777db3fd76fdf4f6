//! WebSockets: how they are opened, what is measured of them, and how they fail.

use crate::paused::on_paused_clock;
use crate::python_server::PythonServer;
use loadtest::card::{Card, InnerRow, StepRow};
use loadtest::prelude::*;
use loadtest::{Run, Scenario};
use loadtest_model::definition::Load;
use loadtest_tests::{Reply, Server};
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::spawn_local;
use tokio::time::sleep;
use tungstenite::handshake::derive_accept_key;
use tungstenite::handshake::server::{Request as Opening, Response as Opened};
use tungstenite::{Message, WebSocket};

const MS: Duration = Duration::from_millis(1);

/// A server of WebSockets, and what it noted.
struct Sockets {
    url: String,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Sockets {
    /// Serves each connection by `serve`, which gets its number too, and yields what is noted of it.
    fn start(
        serve: impl Fn(WebSocket<TcpStream>, usize) -> String + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let (list, serve) = (Arc::clone(&notes), Arc::new(serve));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (list, serve) = (Arc::clone(&list), Arc::clone(&serve));
                thread::spawn(move || {
                    let socket = tungstenite::accept_hdr(stream.unwrap(), choose_protocol);
                    if let Ok(socket) = socket {
                        let note = serve(socket, number);
                        list.lock().unwrap().push(note);
                    }
                });
            }
        });
        Self { url, notes }
    }

    fn run(&self, scenario: &'static Scenario, load: Load) -> Card {
        let run = Run::new(scenario).load(load).base_url(&self.url);
        run.without_validity().run_blocking().unwrap()
    }

    /// What was noted of `count` connections, in alphabetical order.
    fn notes(&self, count: usize) -> Vec<String> {
        for _ in 0..6_000 {
            let mut notes = self.notes.lock().unwrap().clone();
            if notes.len() >= count {
                notes.sort();
                return notes;
            }
            thread::sleep(10 * MS);
        }
        panic!("{:?}", self.notes.lock().unwrap());
    }
}

/// A WebSocket of a server on the runtime of the test.
struct Peer(tokio::net::TcpStream);

impl Peer {
    /// Answers the request of a client that opens it.
    async fn accept(mut stream: tokio::net::TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head.push(stream.read_u8().await?.into());
        }
        let key = head.split("sec-websocket-key: ").nth(1);
        let key = key.and_then(|rest| rest.lines().next()).unwrap();
        let accept = derive_accept_key(key.as_bytes());
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        Ok(Self(stream))
    }

    /// Reads a short frame of the client, and returns its first byte: 0x81 is a text.
    async fn read(&mut self) -> io::Result<u8> {
        let opcode = self.0.read_u8().await?;
        let length = self.0.read_u8().await? & 0x7f;
        assert!(length < 126, "a short frame");
        // A mask comes first.
        let mut masked = vec![0; 4 + usize::from(length)];
        self.0.read_exact(&mut masked).await?;
        Ok(opcode)
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await
    }

    /// Reads until the client has closed it.
    async fn read_all(&mut self) -> io::Result<()> {
        while self.read().await.is_ok() {}
        Ok(())
    }
}

/// The card of `run` against a server that serves each WebSocket by `serve`, which gets its number too, both on one
/// paused clock.
fn run_beside<F>(run: Run, serve: impl Fn(Peer, usize) -> F + 'static) -> Card
where
    F: Future<Output = io::Result<()>> + 'static,
{
    on_paused_clock(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        spawn_local(async move {
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept().await {
                // A connection that only looks whether the target is there asks for nothing.
                if let Ok(peer) = Peer::accept(stream).await {
                    // A client may close its connection at any time.
                    let served = serve(peer, number);
                    spawn_local(async { drop(served.await) });
                    number += 1;
                }
            }
        });
        let run = run.base_url(url).without_validity();
        run.run_on_this_thread().await.unwrap()
    })
}

/// Chooses the last protocol that is offered.
#[expect(clippy::result_large_err, reason = "tungstenite asks so")]
#[expect(clippy::unnecessary_wraps, reason = "tungstenite asks so")]
fn choose_protocol(
    request: &Opening,
    mut response: Opened,
) -> Result<Opened, tungstenite::handshake::server::ErrorResponse> {
    let offered = request.headers().get("sec-websocket-protocol");
    let chosen = offered.and_then(|offered| offered.to_str().unwrap().rsplit(", ").next());
    if let Some(chosen) = chosen {
        let headers = response.headers_mut();
        headers.insert("sec-websocket-protocol", chosen.parse().unwrap());
    }
    Ok(response)
}

/// Answers each message after some noise, until it is closed; notes the number of messages and the close code.
fn chat(mut socket: WebSocket<TcpStream>, _: usize) -> String {
    let mut count = 0;
    loop {
        match socket.read() {
            Ok(Message::Text(text)) => {
                count += 1;
                let asked: Value = serde_json::from_str(&text).unwrap();
                let noise = json!({ "text": "noise" }).to_string();
                socket.send(noise.into()).unwrap();
                let answer = json!({ "ack": asked["id"] }).to_string();
                socket.send(answer.into()).unwrap();
            }
            Ok(Message::Close(frame)) => {
                let code = frame.map(|frame| u16::from(frame.code));
                // The answer to the close frame is written by the next read.
                let _ = socket.read();
                return format!("{count} messages, {code:?}");
            }
            Ok(_) => {}
            Err(error) => return error.to_string(),
        }
    }
}

fn errors(card: &Card) -> Vec<(&str, &str, u64, &str)> {
    let errors = card.errors.iter();
    errors
        .map(|error| {
            (
                &*error.step,
                error.kind.name(),
                error.count,
                &*error.example,
            )
        })
        .collect()
}

/// Name, operations and failures of each row.
fn rows(step: &StepRow) -> Vec<(&str, u64, u64)> {
    let rows = step.inner.iter();
    rows.map(|row: &InnerRow| (&*row.name, row.requests, row.failed))
        .collect()
}

#[response]
#[serde(rename_all = "snake_case")]
enum Heard {
    Ack(u64),
    Text(String),
}

#[scenario]
fn talks() {
    #[step(ws = "/socket?room=7", protocol = "chat.v1, chat.v2")]
    fn socket() -> Socket<Heard>;

    #[step(apdex = 10ms)]
    async fn talk(socket: &Socket<Heard>, vu: &mut Vu) -> Result<(), Error> {
        for id in 0..3 {
            let say = json!({ "id": id });
            let acknowledged = |heard: &Heard| matches!(heard, Heard::Ack(it) if *it == id);
            socket.ask(&say).name("say").until(acknowledged).await?;
        }
        let noise = socket.heard();
        let is_noise = |heard: &Heard| matches!(heard, Heard::Text(text) if text == "noise");
        if noise.len() != 3 || !noise.iter().all(|heard| is_noise(heard.data())) {
            return Err(Error::msg(format!("{} messages", noise.len())));
        }
        socket.send(&json!({ "id": 8 })).await?;
        socket.pause(50 * MS).await;
        socket.wait(|heard| matches!(heard, Heard::Ack(8))).await?;
        // That came before.
        let Heard::Text(_) = socket.next().await? else {
            return Err(Error::msg("no noise"));
        };
        socket.ping().await?;
        vu.count("left", socket.heard().len() as u64);
        if socket.protocol() != Some("chat.v2") {
            return Err(Error::msg("no protocol"));
        }
        Ok(())
    }
}

#[test]
fn round_trips_are_rows_and_what_was_not_waited_for_is_kept() {
    let server = Sockets::start(chat);
    let card = server.run(talks(), Load::iterations(4, 2));
    assert_eq!(errors(&card), []);
    let [open, talk] = &card.steps[..] else {
        panic!("two steps")
    };
    assert_eq!((open.ok, talk.ok), (4, 4));
    assert_eq!(open.response.samples, 4);
    let counted = [
        ("next", 4, 0),
        ("ping", 4, 0),
        ("say", 12, 0),
        ("wait", 4, 0),
    ];
    let mut found = rows(talk);
    found.sort_unstable();
    assert_eq!(found, counted);
    let time = |name: &str| {
        let mut rows = talk.inner.iter();
        rows.find(|row| &*row.name == name).unwrap().service.p50
    };
    assert_eq!(time("next"), Some(Duration::ZERO), "it was here already");

    // Each connection is closed when its journey is over.
    assert_eq!(server.notes(4), ["4 messages, Some(1000)"; 4]);
    let counts = &card.websockets.as_ref().expect("WebSockets").tally;
    let closed = (counts.closed_by_user, counts.closed_by_target.len());
    assert_eq!((counts.opened, counts.reopened, closed), (4, 0, (4, 0)));
    assert_eq!((counts.sent_messages, counts.sent_bytes), (16, 16 * 8));
    let received = (counts.received_messages, counts.received_bytes);
    assert_eq!(received, (32, 16 * (16 + 9)));
}

#[scenario]
fn ticks() {
    #[step(ws = "/feed", once)]
    fn feed() -> Socket<Heard>;

    #[step]
    async fn quote(feed: &Socket<Heard>) -> Result<Heard, Error> {
        feed.ask(&json!({ "id": 1 }))
            .until(|heard| matches!(heard, Heard::Ack(_)))
            .await
    }

    #[step(last)]
    async fn leave(feed: &Socket<Heard>) -> Result<(), Error> {
        feed.close(3001).await
    }
}

#[test]
fn a_connection_of_a_once_step_is_kept_over_journeys() {
    let server = Sockets::start(chat);
    let card = server.run(ticks(), Load::iterations(12, 2));
    assert_eq!(errors(&card), []);
    let ok: Vec<u64> = card.steps.iter().map(|step| step.ok).collect();
    assert_eq!(ok, [2, 12, 2]);
    assert_eq!(rows(&card.steps[2]), [("close", 2, 0)]);
    let notes = server.notes(2);
    assert!(
        notes.iter().all(|note| note.ends_with("Some(3001)")),
        "{notes:?}"
    );
    let counts = &card.websockets.as_ref().expect("WebSockets").tally;
    assert_eq!((counts.opened, counts.closed_by_user), (2, 2));
    assert!(counts.closed_by_target.is_empty(), "{counts:?}");
}

#[test]
fn a_connection_that_the_target_closed_is_opened_anew_in_the_next_journey() {
    // Each connection is closed after one answer, by the same write.
    let server = Sockets::start(|mut socket, _| {
        use std::io::Write as _;
        let _ = socket.read();
        let both = b"\x81\x0a{\"ack\": 1}\x88\x02\x03\xe9";
        socket.get_mut().write_all(both).unwrap();
        while socket.read().is_ok() {}
        String::new()
    });
    let card = server.run(reopens(), Load::iterations(5, 1));
    assert_eq!(errors(&card), []);
    let ok: Vec<u64> = card.steps.iter().map(|step| step.ok).collect();
    assert_eq!(ok, [5, 5]);
    let sockets = card.websockets.as_ref().expect("WebSockets");
    let counts = &sockets.tally;
    assert_eq!(
        (counts.opened, counts.reopened, counts.most_open),
        (5, 4, 1)
    );
    assert_eq!(sockets.describe_closed().as_deref(), Some("1001 × 5"));
    assert_eq!(counts.closed_by_user, 0);
    let remarks = card.remarks.iter();
    let reopened =
        remarks.filter(|remark| remark.starts_with("the target closed 4 WebSockets that"));
    assert_eq!(reopened.count(), 1, "{:?}", card.remarks);
}

#[scenario]
fn reopens() {
    #[step(ws = "/feed", once)]
    fn feed() -> Socket<Heard>;

    #[step]
    async fn quote(feed: &Socket<Heard>) -> Result<Heard, Error> {
        feed.ask(&json!({ "id": 1 })).await
    }
}

#[scenario]
fn waits() {
    #[step]
    fn socket() -> Request<Socket<Heard>> {
        Request::websocket("/socket")
    }

    #[step]
    async fn ask(socket: &Socket<Heard>) -> Result<(), Error> {
        let wait = socket
            .ask("hello")
            .until(|heard| matches!(heard, Heard::Ack(_)));
        wait.timeout(Duration::from_millis(200)).await?;
        Ok(())
    }
}

/// The failures of a journey whose server sends `bytes` when it has read a message, and then waits.
fn failures(bytes: &'static [u8]) -> (String, Option<u16>, String) {
    let run = Run::new(waits()).load(Load::iterations(2, 1));
    let card = run_beside(run, move |mut peer, _| async move {
        peer.read().await?;
        peer.write(bytes).await?;
        peer.read_all().await
    });
    assert_eq!(card.steps[0].ok, 2);
    let errors = errors(&card);
    let [("ask", kind, 2, example)] = errors[..] else {
        panic!("{errors:?}")
    };
    assert_eq!(rows(&card.steps[1]), [("ask", 2, 2)]);
    (kind.to_owned(), card.errors[0].status, example.to_owned())
}

#[test]
fn each_failure_of_a_wait_has_its_kind() {
    for (bytes, kind, code, words) in [
        (
            b"".as_slice(),
            "timeout.event",
            None,
            "the awaited message did not arrive within 200ms",
        ),
        (
            b"\x88\x06\x03\xf3oops",
            "ws.closed",
            Some(1011),
            "the target closed the WebSocket: 1011, oops",
        ),
        (
            b"\x88\x02\x03\xe8",
            "ws.closed",
            Some(1000),
            "the target closed the WebSocket: 1000 (normal closure)",
        ),
        (
            b"\x88\x02\x03\xe9",
            "ws.closed",
            Some(1001),
            "the target closed the WebSocket: 1001 (",
        ),
        (
            b"\x88\x02\x03\xf0",
            "ws.closed",
            Some(1008),
            "the target closed the WebSocket: 1008 (",
        ),
        (
            b"\x88\x04\x0f\xa0no",
            "ws.closed",
            Some(4000),
            "the target closed the WebSocket: 4000, no",
        ),
        (
            b"\xf1\x00",
            "ws.protocol",
            None,
            "a frame has a reserved bit set",
        ),
        (
            b"\x81\x82\x00\x00\x00\x00{}",
            "ws.protocol",
            None,
            "a frame of the server is masked",
        ),
        (
            b"\x82\x7f\x00\x00\x00\x00\x40\x00\x00\x00",
            "ws.too_large",
            None,
            "a message is larger than 16 MiB",
        ),
        (
            b"\x81\x0c{\"ack\": \"x\"}",
            "body.decode",
            None,
            "a message cannot be read: ",
        ),
    ] {
        let (found, status, example) = failures(bytes);
        assert_eq!((&*found, status), (kind, code), "{example}");
        let start = format!("`ask` failed: {words}");
        assert!(example.starts_with(&start), "{example}");
    }
}

#[test]
fn a_connection_that_is_cut_off_is_closed_without_a_code() {
    let run = Run::new(waits()).load(Load::iterations(2, 1));
    let card = run_beside(
        run,
        |mut peer, _| async move { peer.read().await.map(drop) },
    );
    let (_, kind, count, example) = errors(&card)[0];
    assert_eq!((kind, count), ("ws.closed", 2));
    let words = "`ask` failed: the target closed the WebSocket: 1006 (without a close frame";
    assert!(example.starts_with(words), "{example}");
    let closed = &card.websockets.as_ref().unwrap().tally.closed_by_target;
    assert_eq!(*closed, [(1006, 2)].into());
}

#[test]
fn a_connection_that_is_reset_within_a_frame_is_closed_without_a_code() {
    let run = Run::new(waits()).load(Load::iterations(2, 1));
    let card = run_beside(run, |mut peer, _| async move {
        // What was not read resets the connection when it is dropped.
        peer.0.peek(&mut [0]).await?;
        peer.write(b"\x81\x0a{\"ack").await
    });
    let (_, kind, count, example) = errors(&card)[0];
    assert_eq!((kind, count), ("ws.closed", 2));
    let words = "`ask` failed: the target closed the WebSocket: 1006 (";
    assert!(example.starts_with(words), "{example}");
}

/// Its users wait for nothing while the target closes their connections.
#[scenario]
fn rests() {
    #[step(ws = "/socket")]
    fn socket() -> Socket<Value>;

    #[step]
    async fn rest(socket: &Socket<Value>, vu: &mut Vu) -> Result<(), Error> {
        socket.send("hello").await?;
        socket.pause(50 * MS).await;
        vu.count("left", socket.heard().len() as u64);
        Ok(())
    }
}

#[test]
fn a_close_that_nothing_waits_for_fails_nothing_and_is_counted_by_its_code() {
    let codes = [1000_u16, 1001, 1008, 1011, 4000];
    let run = Run::new(rests()).load(Load::iterations(5, 1));
    let card = run_beside(run, move |mut peer, number| async move {
        peer.read().await?;
        let [high, low] = codes[number].to_be_bytes();
        peer.write(&[0x88, 2, high, low]).await?;
        peer.read_all().await
    });
    assert_eq!(errors(&card), []);
    let counts = &card.websockets.as_ref().expect("WebSockets").tally;
    let closed = codes.map(|code| (code, 1));
    assert_eq!(counts.closed_by_target, closed.into());
    assert_eq!((counts.opened, counts.closed_by_user), (5, 0));
}

#[test]
fn an_upgrade_that_is_refused_fails_the_step_that_opens() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let server = Server::start(move |_| {
        let headers = |reply: Reply| {
            let reply = reply.header("upgrade", "websocket");
            reply.header("connection", "upgrade")
        };
        match counted.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::text("no WebSocket"),
            1 => Reply::status(401),
            2 => Reply::status(426).header("upgrade", "websocket"),
            3 => headers(Reply::status(101)),
            _ => headers(Reply::status(101)).header("sec-websocket-accept", "bm8="),
        }
    });
    let run = Run::new(waits()).load(Load::iterations(5, 1));
    let run = run.base_url(server.url()).without_validity();
    let card = run.run_blocking().unwrap();
    let opened: Vec<_> = errors(&card)
        .into_iter()
        .filter(|(step, ..)| *step == "socket")
        .collect();
    let [
        (_, "ws.protocol", 2, wrong),
        (_, "status", 1, first),
        (_, "status", 1, second),
        (_, "status", 1, third),
    ] = opened[..]
    else {
        panic!("{opened:?}")
    };
    assert_eq!(first, "expected 101, got 200 OK");
    assert_eq!(second, "expected 101, got 401 Unauthorized");
    assert_eq!(third, "expected 101, got 426 Upgrade Required");
    assert_eq!(wrong, "the answer 101 has no `sec-websocket-accept`");
}

#[scenario]
fn flooding() {
    #[step(ws = "/feed")]
    fn socket() -> Socket<Value>;

    #[step(timeout = 300ms)]
    async fn flood(socket: &Socket<Value>) -> Result<(), Error> {
        for _ in 0..100 {
            socket.send("x".repeat(1 << 20)).await?;
        }
        Ok(())
    }

    #[step(timeout = 200ms)]
    async fn ask(socket: &Socket<Value>) -> Result<(), Error> {
        socket.ask("last").await?;
        Ok(())
    }
}

#[test]
fn a_target_that_reads_nothing_fails_what_is_sent_to_it_and_is_named_as_the_cause() {
    let run = Run::new(flooding()).load(Load::iterations(1, 1));
    let card = run_beside(run, |peer, _| async move {
        // It reads nothing, and keeps the connection.
        pending::<()>().await;
        drop(peer);
        Ok(())
    });
    let found: Vec<_> = card
        .errors
        .iter()
        .map(|error| (&*error.step, error.kind.name(), error.example.to_string()))
        .collect();
    let [
        ("flood", "timeout.total", flood),
        ("ask", "timeout.event", ask),
    ] = &found[..]
    else {
        panic!("{found:?}")
    };
    assert!(
        flood.starts_with("`send` failed: it did not end within 300ms; "),
        "{flood}"
    );
    for words in [flood, ask] {
        assert!(
            words.contains("of the sent data: it is overloaded"),
            "{words}"
        );
    }
}

/// Its steps listen without an end.
#[scenario(grace = 2s, load = users(2, for = 2s))]
fn listens() {
    #[step(ws = "/feed")]
    fn socket() -> Socket<Value>;

    #[step(timeout = 3s)]
    async fn listen(socket: &Socket<Value>) -> Result<(), Error> {
        loop {
            socket.next().await?;
        }
    }
}

#[test]
fn a_step_that_listens_is_cut_off_by_the_end_of_the_load_and_has_not_failed() {
    // The first is silent, the other one is not.
    let card = run_beside(Run::new(listens()), |mut peer, number| async move {
        if number == 0 {
            return peer.read_all().await;
        }
        loop {
            peer.write(b"\x81\x0c{\"order\": 1}").await?;
            sleep(20 * MS).await;
        }
    });
    assert_eq!(errors(&card), []);
    let accounts = &card.accounts;
    assert_eq!((accounts.started, accounts.cancelled), (2, 2));
    assert_eq!(card.steps[0].ok, 2);
    assert_eq!(rows(&card.steps[1])[0].2, 0, "no wait has failed");
}

/// Its steps take what comes for what they send, until a beat ends.
#[scenario(grace = 2s, load = users(1, for = 2s))]
fn reports() {
    #[step(ws = "/feed")]
    fn socket() -> Socket<Heard>;

    #[step]
    async fn report(socket: &Socket<Heard>, vu: &mut Vu) -> Result<(), Error> {
        let mut beat = vu.beat(MS);
        while beat.next().await.is_some() {
            socket.send(&json!({ "id": 1 })).await?;
            socket.wait(|heard| matches!(heard, Heard::Ack(1))).await?;
            socket.heard();
        }
        Ok(())
    }
}

#[test]
fn a_step_with_a_beat_has_what_it_waits_for_when_the_load_ends() {
    let card = run_beside(Run::new(reports()), |mut peer, _| async move {
        while peer.read().await? == 0x81 {
            sleep(50 * MS).await;
            peer.write(b"\x81\x0a{\"ack\": 1}").await?;
        }
        Ok(())
    });
    assert_eq!(errors(&card), []);
    assert_eq!((card.steps[1].ok, card.accounts.cancelled), (1, 0));
}

/// A session that rests longer than its target waits for a sign of life.
#[scenario(load = iterations(1, users = 1))]
fn lives() {
    #[step(ws = "/feed", heartbeat("ping", every = 25s, answer = "pong"), reply("2", "3"))]
    fn socket() -> Socket<Heard>;

    #[step]
    async fn rest(socket: &Socket<Heard>) -> Result<usize, Error> {
        socket.pause(Duration::from_secs(60)).await;
        socket.wait(|heard| matches!(heard, Heard::Ack(1))).await?;
        match socket.heard().len() {
            0 => Ok(0),
            more => Err(Error::msg(format!("{more} more"))),
        }
    }
}

#[test]
fn heartbeats_and_replies_are_no_messages_for_steps() {
    let card = run_beside(Run::new(lives()), |mut peer, _| async move {
        for _ in 0..2 {
            assert_eq!(peer.read().await?, 0x81, "a heartbeat");
            peer.write(b"\x81\x04pong\x81\x012").await?;
            assert_eq!(peer.read().await?, 0x81, "a reply");
        }
        peer.write(b"\x81\x0a{\"ack\": 1}").await?;
        peer.read_all().await
    });
    assert_eq!(errors(&card), []);
    assert_eq!(rows(&card.steps[1]), [("wait", 1, 0)]);
    let counts = &card.websockets.as_ref().expect("WebSockets").tally;
    assert_eq!((counts.sent_messages, counts.received_messages), (4, 5));
}

/// Talks with a server of another author, with compression and without.
#[scenario]
fn peer() {
    #[step(ws = "/", compress = true)]
    fn packed() -> Socket<Bytes>;

    #[step(ws = "/")]
    fn plain() -> Socket<Bytes>;

    #[step]
    async fn talk(packed: &Socket<Bytes>, plain: &Socket<Bytes>) -> Result<(), Error> {
        let extensions = json!({ "do": "extensions" });
        for (socket, agreed) in [(packed, "permessage-deflate"), (plain, "")] {
            let found = socket.ask(&extensions).await?;
            if found != agreed {
                return Err(Error::msg(format!("{found:?}, not {agreed}")));
            }
            let text = "lädt — 🌈 ".repeat(2_000);
            let said = json!({ "do": "echo", "text": &text }).to_string();
            let cut = json!({ "do": "fragments", "text": &text }).to_string();
            for text in [said, cut] {
                if socket.ask(&*text).name("text").await? != text {
                    return Err(Error::msg("another text"));
                }
            }
            let bytes: Bytes = (0..100_000_u64).map(|n| ((n * n) >> 7) as u8).collect();
            if socket.ask(bytes.clone()).name("bytes").await? != bytes {
                return Err(Error::msg("other bytes"));
            }
            socket
                .ask(&json!({ "do": "ping" }))
                .name("their ping")
                .await?;
            socket.ping().await?;
        }
        Ok(())
    }

    #[step]
    async fn left(packed: &Socket<Bytes>) -> Result<(), Error> {
        packed.ask(&json!({ "do": "close", "code": 4000 })).await?;
        Ok(())
    }

    #[step]
    async fn leave(plain: &Socket<Bytes>) -> Result<(), Error> {
        plain.close(1000).await
    }
}

#[test]
fn a_server_of_another_author_understands_and_is_understood() {
    let Some(server) = PythonServer::start("websockets_server.py", "websockets") else {
        println!("skipped: the Python module `websockets` is not installed");
        return;
    };
    let run = Run::new(peer()).load(Load::iterations(4, 2));
    let run = run.base_url(&server.url).without_validity();
    let card = run.run_blocking().unwrap();
    let left = "`ask` failed: the target closed the WebSocket: 4000, as asked";
    assert_eq!(errors(&card), [("left", "ws.closed", 4, left)]);
    let mut found = rows(&card.steps[2]);
    found.sort_unstable();
    let each = ["ask", "bytes", "ping", "text", "their ping"];
    let counted = each.map(|name| (name, if name == "text" { 16 } else { 8 }, 0));
    assert_eq!(found, counted);
    assert_eq!(rows(&card.steps[4]), [("close", 4, 0)]);
    let counts = &card.websockets.as_ref().expect("WebSockets").tally;
    assert_eq!((counts.opened, counts.closed_by_user), (8, 4));
    assert_eq!(counts.closed_by_target, [(4000, 4)].into());
}
