//! WebSockets that last over journeys, over connections in memory on a paused clock.

use super::{
    Control, Pacer, Plan, SetupContext, StopSignals, WorkerSpec, block_on_paused_clock, ms,
    run_worker, worker_spec,
};
use crate::Scenario;
use crate::engine::smoke::run_smoke_test;
use crate::prelude::*;
use crate::transport::memory::MemoryListener;
use crate::transport::{HttpTransport, Network};
use loadtest_model::metrics::{ErrorKind, Frame, WebSocketTally, Windows};
use loadtest_model::plan::{GradingDefaults, Overrides};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::watch;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, sleep_until};
use tungstenite::handshake::derive_accept_key;

/// The time from a message to its answer.
const ANSWER: Duration = Duration::from_millis(300);
/// The time between two ends of all connections.
const LIFE: Duration = Duration::from_secs(30);
const USERS: u64 = 10;

/// A journey of each user begins every second, those of ten users ten times a second.
#[scenario(load = users(10, ramp_up = 1s, for = 122s, pace = 1s))]
fn quotes() {
    #[step(ws = "/feed", once)]
    fn feed() -> Socket<Value>;

    /// Derived from the session, so that it ends with it.
    #[step(once)]
    async fn join(feed: &Socket<Value>) -> Result<bool, Error> {
        Ok(feed.protocol().is_none())
    }

    #[step]
    async fn quote(_join: &bool, feed: &Socket<Value>) -> Result<(), Error> {
        feed.ask("quote").await?;
        Ok(())
    }
}

/// What the server has seen.
#[derive(Default)]
struct Seen {
    opened: Cell<u64>,
    asked: Cell<u64>,
    /// Messages that were not answered, since the connection was closed.
    unanswered: Cell<u64>,
    /// Connections that it closed.
    closed: Cell<u64>,
}

fn count(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}

async fn upgrade(stream: &mut DuplexStream) -> io::Result<()> {
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
    stream.write_all(head.as_bytes()).await
}

/// Answers each message after a while, until its client or `closing` ends the connection.
async fn serve(
    mut stream: DuplexStream,
    mut closing: watch::Receiver<()>,
    seen: Rc<Seen>,
) -> io::Result<()> {
    upgrade(&mut stream).await?;
    count(&seen.opened);
    closing.mark_unchanged();
    let mut answer_at = None;
    let mut frame = [0; 64];
    loop {
        let answer = sleep_until(answer_at.unwrap_or_else(Instant::now));
        tokio::select! {
            read = stream.read(&mut frame) => match (read?, frame[0]) {
                (0, _) | (_, 0x88) => return Ok(()),
                (_, opcode) => {
                    assert_eq!(opcode, 0x81, "a text");
                    count(&seen.asked);
                    answer_at = Some(Instant::now() + ANSWER);
                }
            },
            () = answer, if answer_at.is_some() => {
                stream.write_all(b"\x81\x02{}").await?;
                answer_at = None;
            }
            changed = closing.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
                count(&seen.closed);
                seen.unanswered.set(seen.unanswered.get() + u64::from(answer_at.is_some()));
                // 1001: going away.
                stream.write_all(b"\x88\x02\x03\xe9").await?;
                // The client answers it, and the connection ends.
                while stream.read(&mut frame).await? > 0 {}
                return Ok(());
            }
        }
    }
}

#[test]
fn connections_that_last_are_opened_anew_and_only_who_waits_at_their_end_fails() {
    let scenario = quotes();
    let (overrides, defaults) = (Overrides::default(), GradingDefaults::default());
    let plan = Plan::new(&scenario.definition, &overrides, &defaults, 7).unwrap();
    let shared = (scenario.prepare)(&SetupContext::default()).unwrap().shared;
    let seen: Rc<Seen> = Rc::default();
    let figures: Rc<RefCell<(Windows, WebSocketTally)>> = Rc::default();
    block_on_paused_clock(async {
        let mut listener = MemoryListener::bind();
        let url = listener.url();
        let network = Network::prepare(Some(&url), "run-7").await.unwrap();
        let network = Arc::new(network);
        let (close, closing) = watch::channel(());
        let noted = Rc::clone(&seen);
        spawn_local(async move {
            loop {
                let stream = listener.accept().await;
                let served = serve(stream, closing.clone(), Rc::clone(&noted));
                spawn_local(async { drop(served.await) });
            }
        });
        let start = Instant::now() + ms(20);
        spawn_local(async move {
            // Between two journeys.
            sleep_until(start + ms(50)).await;
            for _ in 0..4 {
                sleep(LIFE).await;
                close.send(()).unwrap();
            }
            std::future::pending::<()>().await;
        });
        let make_transport = move || HttpTransport::new(Arc::clone(&network), 0);
        let spec = WorkerSpec {
            shared,
            ..worker_spec(scenario, &plan, make_transport)
        };
        let signals = StopSignals::new(&Control::new(), &Control::new());
        let figures = Rc::clone(&figures);
        let report = move |frame: Frame| {
            let (windows, websockets) = &mut *figures.borrow_mut();
            windows.merge(&frame.windows);
            websockets.merge(&frame.websockets);
        };
        run_worker(spec, start, Pacer::with_runtime_timer(), signals, report).await;
    });
    let (windows, websockets) = figures.take();
    let [feed, join, quote] = &windows.steady.steps[..] else {
        panic!("three steps")
    };
    assert_eq!((join.executed, join.failed), (5 * USERS, 0));
    let journeys = &windows.steady.journey;
    assert_eq!((feed.failed, journeys.cancelled), (0, 0));

    // Of ten journeys a second that wait for three tenths of it, some are under way at each of the four ends.
    let unanswered = seen.unanswered.get();
    assert!((4..=20).contains(&unanswered), "{unanswered}");
    assert_eq!((quote.failed, journeys.failed), (unanswered, unanswered));
    let errors: Vec<_> = quote
        .errors
        .iter()
        .map(|error| (error.kind, error.count, &*error.example))
        .collect();
    let words = "`ask` failed: the target closed the WebSocket: 1001 (going away)";
    assert_eq!(errors, [(ErrorKind::WsClosed, unanswered, words)]);
    let asked: u64 = windows
        .all()
        .iter()
        .map(|window| window.journey.started)
        .sum();
    assert_eq!(asked, seen.asked.get());

    assert_eq!(seen.closed.get(), 4 * USERS);
    assert_eq!(websockets.closed_by_target, [(1001, 4 * USERS)].into());
    assert_eq!(websockets.reopened, 4 * USERS);
    assert_eq!(websockets.opened, 5 * USERS);
    assert_eq!(websockets.opened, seen.opened.get());
    assert_eq!(websockets.closed_by_user, USERS);
}

/// Its second step listens without an end.
#[scenario(grace = 5s)]
fn listens() {
    #[step(ws = "/feed")]
    fn socket() -> Socket<Value>;

    #[step]
    async fn listen(socket: &Socket<Value>) -> Result<(), Error> {
        loop {
            socket.next().await?;
        }
    }
}

/// Its second step waits for what never comes.
#[scenario(grace = 5s)]
fn waits_in_vain() {
    #[step(ws = "/feed")]
    fn socket() -> Socket<Value>;

    #[step(timeout = 8s)]
    async fn hear(socket: &Socket<Value>) -> Result<Value, Error> {
        socket.wait(|heard| heard["order"] == 7).await
    }
}

/// Tries a journey against a server that sends a message each second; the result, and how long it took.
fn try_once(scenario: &'static Scenario) -> (Result<Option<String>, String>, Duration) {
    let (overrides, defaults) = (Overrides::default(), GradingDefaults::default());
    let plan = Plan::new(&scenario.definition, &overrides, &defaults, 7).unwrap();
    let shared = (scenario.prepare)(&SetupContext::default()).unwrap().shared;
    block_on_paused_clock(async {
        let mut listener = MemoryListener::bind();
        let url = listener.url();
        spawn_local(async move {
            loop {
                let mut stream = listener.accept().await;
                spawn_local(async move {
                    upgrade(&mut stream).await?;
                    loop {
                        sleep(ms(1_000)).await;
                        stream.write_all(b"\x81\x02{}").await?;
                    }
                    #[expect(unreachable_code, reason = "says what the task returns")]
                    io::Result::Ok(())
                });
            }
        });
        let network = Network::prepare(Some(&url), "run-7").await.unwrap();
        let transport = HttpTransport::new(Arc::new(network), 0);
        let begun = Instant::now();
        let ran = run_smoke_test(scenario, &shared, &plan, transport).await;
        (ran, begun.elapsed())
    })
}

#[test]
fn a_journey_that_is_tried_leaves_a_step_that_listens_and_not_one_that_waits() {
    let (ran, time) = try_once(listens());
    assert_eq!(ran, Ok(None));
    // It hears six messages: after the fifth, its time is not quite over.
    assert!((ms(5_000)..=ms(6_100)).contains(&time), "{time:?}");
    let (ran, time) = try_once(waits_in_vain());
    let problem = ran.unwrap_err();
    assert!(
        problem.contains("the awaited message did not arrive within 8s"),
        "{problem}"
    );
    assert!((ms(8_000)..=ms(8_100)).contains(&time), "{time:?}");
}
