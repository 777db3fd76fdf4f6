//! Streams of events over connections in memory on a paused clock: their figures beside those that the server takes by
//! the same clock.

use super::{
    Control, Load, Pacer, Plan, SetupContext, StopSignals, WorkerSpec, block_on_paused_clock, ms,
    rate, run_worker, users, worker_spec,
};
use crate::Scenario;
use crate::engine::smoke::run_smoke_test;
use crate::prelude::*;
use crate::transport::memory::{self, MemoryListener, MemoryServer};
use crate::transport::{HttpTransport, Network};
use loadtest_model::definition::ScenarioDef;
use loadtest_model::metrics::{ErrorKind, Frame, StreamTally, Tally, Windows};
use loadtest_model::plan::{GradingDefaults, Overrides};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream, DuplexStream};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

/// The time to the first output of a stream, and from each output to the next.
const THINKING: Duration = Duration::from_millis(200);
const PACE: Duration = Duration::from_millis(10);
/// The first output, and ten times three more.
const OUTPUTS: u64 = 31;
/// The time from each arrival to the next.
const ARRIVALS: Duration = Duration::from_millis(50);

#[response]
struct Chunk {
    text: Option<String>,
    tokens: Option<u64>,
}

fn tokens(answer: &Events<Chunk>) -> u64 {
    let counted = answer.last().and_then(|chunk| chunk.tokens);
    counted.unwrap_or(0)
}

#[scenario(grace = 2m)]
fn assistant() {
    #[step(first = |chunk| chunk.text.is_some(), end = "[DONE]", units = tokens)]
    fn ask(vu: &mut Vu) -> Request<Events<Chunk>> {
        Request::get(format!("/{}", vu.iteration()))
    }
}

/// How the server answers a request.
#[derive(Clone, Copy)]
struct Script {
    /// It sends an event without output at once.
    has_role: bool,
    /// So many outputs are written together, all but the first.
    together: u64,
    end: End,
}

#[derive(Clone, Copy)]
enum End {
    Whole,
    /// The connection is closed after half of the outputs.
    Dies,
    /// The body ends in order after half of the outputs.
    Stops,
}

const WHOLE: Script = Script {
    has_role: false,
    together: 1,
    end: End::Whole,
};

/// The times of the first outputs, by iteration.
type FirstOutputs = Rc<RefCell<Vec<(u64, Instant)>>>;

fn chunk(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// Answers a request with a stream of events; false if that ends the connection.
async fn answer(
    stream: &mut BufStream<DuplexStream>,
    script: Script,
    mut note_first: impl FnMut(),
) -> io::Result<bool> {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let role = if script.has_role {
        chunk("{}")
    } else {
        String::new()
    };
    let mut text = [HEAD, &role].concat();
    let mut written = 0;
    loop {
        stream.write_all(text.as_bytes()).await?;
        stream.flush().await?;
        match (script.end, written) {
            (End::Whole, OUTPUTS) => return Ok(true),
            (End::Dies, 16) => return Ok(false),
            (End::Stops, 16) => break,
            _ => {}
        }
        let count = if written == 0 { 1 } else { script.together };
        sleep(if written == 0 {
            THINKING
        } else {
            PACE * u32::try_from(count).unwrap()
        })
        .await;
        if written == 0 {
            note_first();
        }
        text = chunk(r#"{"text": "word "}"#).repeat(usize::try_from(count).unwrap());
        written += count;
        if written == OUTPUTS {
            text += &chunk(&format!(r#"{{"tokens": {OUTPUTS}}}"#));
            text += &(chunk("[DONE]") + "0\r\n\r\n");
        }
    }
    stream.write_all(b"0\r\n\r\n").await?;
    stream.flush().await?;
    Ok(true)
}

/// Serves a connection until one of both sides ends it.
async fn serve(
    stream: DuplexStream,
    script: Rc<dyn Fn(u64) -> Script>,
    first_outputs: FirstOutputs,
) -> io::Result<()> {
    let mut stream = BufStream::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await? == 0 {
                return Ok(());
            }
        }
        let iteration = head.split(['/', ' ']).nth(2).unwrap().parse().unwrap();
        let note_first = || {
            let first = (iteration, Instant::now());
            first_outputs.borrow_mut().push(first);
        };
        if !answer(&mut stream, script(iteration), note_first).await? {
            return Ok(());
        }
    }
}

/// The figures of the only step, and of each stream the time from its arrival, at 20 a second, to its first output.
fn run(load: Load, script: impl Fn(u64) -> Script + 'static) -> (Tally, Vec<Duration>) {
    let scenario = assistant();
    let definition = ScenarioDef {
        load: Some(load),
        ..scenario.definition.clone()
    };
    let defaults = GradingDefaults::default();
    let plan = Plan::new(&definition, &Overrides::default(), &defaults, 7).unwrap();
    let shared = (scenario.prepare)(&SetupContext::default()).unwrap().shared;
    let first_outputs = FirstOutputs::default();
    let windows = Rc::new(RefCell::new(Windows::default()));
    let start = block_on_paused_clock(async {
        let mut listener = MemoryListener::bind();
        let url = listener.url();
        let network = Network::prepare(Some(&url), "run-7").await.unwrap();
        let (network, script) = (Arc::new(network), Rc::new(script));
        let noted = Rc::clone(&first_outputs);
        spawn_local(async move {
            loop {
                let stream = listener.accept().await;
                // A client may close its connection at any time.
                let served = serve(stream, script.clone(), Rc::clone(&noted));
                spawn_local(async { drop(served.await) });
            }
        });
        let start = Instant::now() + ms(20);
        let make_transport = move || HttpTransport::new(Arc::clone(&network), 0);
        let spec = WorkerSpec {
            shared,
            ..worker_spec(scenario, &plan, make_transport)
        };
        let signals = StopSignals::new(&Control::new(), &Control::new());
        let windows = Rc::clone(&windows);
        let report = move |frame: Frame| windows.borrow_mut().merge(&frame.windows);
        run_worker(spec, start, Pacer::with_runtime_timer(), signals, report).await;
        start
    });
    let mut windows = windows.take();
    windows.settle();
    let waits = first_outputs.take().into_iter();
    let waits =
        waits.map(|(iteration, at)| at - (start + ARRIVALS * u32::try_from(iteration).unwrap()));
    (windows.steady, waits.collect())
}

fn stream(tally: &Tally) -> &StreamTally {
    tally.steps[0].stream.as_ref().unwrap()
}

fn open(max_users: u32) -> Load {
    Load {
        max_users: Some(max_users),
        ..rate(20.0, Duration::ZERO, ms(20_000))
    }
}

/// Its stream has no end.
#[scenario(grace = 5s)]
fn endless() {
    #[step(get = "/feed", timeout = 1h)]
    fn follow() -> Events<u64>;

    #[step(get = "/feed", end = "[DONE]", timeout = 1h)]
    fn unfinished(follow: &Events<u64>) -> Events<u64>;
}

/// The same, read by the step itself.
#[scenario(grace = 5s)]
fn endless_beside() {
    #[step(timeout = 1h)]
    async fn follow(http: &mut Http) -> Result<u64, Error> {
        let mut events = http.get("/feed").events::<u64>().await?;
        let mut last = 0;
        while let Some(event) = events.next().await? {
            last = *event;
        }
        Ok(last)
    }
}

/// It waits for what never comes.
#[scenario(grace = 5s)]
fn endless_in_vain() {
    #[step(timeout = 1h)]
    async fn follow(http: &mut Http) -> Result<u64, Error> {
        let mut events = http.get("/feed").events::<u64>().await?;
        while let Some(event) = events.next().await? {
            if *event == u64::MAX {
                return Ok(*event);
            }
        }
        Err("it never came".into())
    }
}

/// Tries a journey against a server that sends `piece` each second; the result, and how long it took.
fn try_once(
    scenario: &'static Scenario,
    piece: &'static str,
) -> (Result<Option<String>, String>, Duration) {
    let (overrides, defaults) = (Overrides::default(), GradingDefaults::default());
    let plan = Plan::new(&scenario.definition, &overrides, &defaults, 7).unwrap();
    let shared = (scenario.prepare)(&SetupContext::default()).unwrap().shared;
    block_on_paused_clock(async {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let server = MemoryServer::start(move |_| memory::endless(head, ms(1_000), piece.into()));
        let network = Network::prepare(Some(&server.url), "run-7").await.unwrap();
        let transport = HttpTransport::new(Arc::new(network), 0);
        let begun = Instant::now();
        let ran = run_smoke_test(scenario, &shared, &plan, transport).await;
        (ran, begun.elapsed())
    })
}

#[test]
fn a_journey_that_is_tried_leaves_endless_streams_after_the_grace_and_fails_without_an_event() {
    let (ran, time) = try_once(endless(), "data: 7\n\n");
    assert_eq!(ran, Ok(None));
    assert_within(Some(time), ms(10_000), ms(10_010));
    let (ran, time) = try_once(endless_beside(), "data: 7\n\n");
    assert_eq!(ran, Ok(None));
    assert_within(Some(time), ms(5_000), ms(5_010));
    let (ran, _) = try_once(endless_in_vain(), "data: 7\n\n");
    assert!(ran.unwrap_err().contains("it never came"));
    for scenario in [endless(), endless_beside()] {
        let (ran, _) = try_once(scenario, ": ping\n\n");
        let problem = ran.unwrap_err();
        assert!(problem.contains("no event came within 5"), "{problem}");
    }
}

#[track_caller]
fn assert_within(time: Option<Duration>, least: Duration, most: Duration) {
    let time = time.expect("a time");
    assert!((least..=most).contains(&time), "{time:?}");
}

#[test]
fn first_event_and_pace_are_those_of_the_server_however_it_writes() {
    for (has_role, together) in [(false, 1), (true, 1), (false, 3), (true, 3)] {
        let script = Script {
            has_role,
            together,
            ..WHOLE
        };
        let load = Load {
            max_users: Some(100),
            ..rate(20.0, Duration::ZERO, ms(10_000))
        };
        let (tally, _) = run(load, move |_| script);
        assert_eq!((tally.steps[0].ok, tally.journey.dropped), (200, 0));
        let stream = stream(&tally);
        assert_within(stream.first_event.quantile(0.5), THINKING, ms(202));
        let per_unit = stream.per_unit.quantile(0.5);
        assert_within(per_unit, PACE * 98 / 100, PACE * 102 / 100);
        assert_eq!(
            (stream.per_unit.count(), stream.units),
            (200, 200 * OUTPUTS)
        );
        // The count of tokens comes after the last output, and the role does not begin it.
        assert_eq!(stream.gap.count(), 200 * OUTPUTS);
        let events = OUTPUTS + 1 + u64::from(has_role);
        assert_eq!(stream.events, 200 * events);
        let gap = stream.gap.quantile(0.5);
        match together {
            1 => assert_within(gap, PACE * 98 / 100, PACE * 102 / 100),
            // Two of three come with another one.
            _ => assert_within(gap, Duration::ZERO, Duration::from_micros(1)),
        }
    }
}

#[test]
fn the_first_event_of_an_open_load_counts_from_the_arrival_and_of_a_closed_one_from_the_request() {
    let (tally, mut waits) = run(open(5), |_| WHOLE);
    waits.sort_unstable();
    // Five users serve half of the arrivals, so that the last of them have waited half of the time.
    let (count, longest) = (waits.len() as u64, waits[waits.len() - 1]);
    assert!((190..=210).contains(&count), "{count}");
    assert!(longest > ms(9_000), "{longest:?}");
    let times = &stream(&tally).first_event;
    assert_eq!((times.count(), tally.journey.dropped), (count, 400 - count));
    for share in [0.5, 0.95, 0.99] {
        let rank = (share * count as f64).ceil() as usize;
        let truth = waits[rank - 1];
        assert_within(times.quantile(share), truth * 99 / 100, truth * 101 / 100);
    }

    let (tally, _) = run(users(5, Duration::ZERO, ms(20_000)), |_| WHOLE);
    let times = &stream(&tally).first_event;
    assert_eq!(times.count(), tally.steps[0].ok);
    assert_within(times.quantile(0.99), THINKING, ms(202));
}

#[test]
fn streams_that_a_server_breaks_off_are_failures_and_have_no_gaps() {
    let script = |iteration: u64| Script {
        end: match iteration % 20 {
            9 => End::Dies,
            19 => End::Stops,
            _ => End::Whole,
        },
        ..WHOLE
    };
    let (tally, _) = run(open(100), script);
    let step = &tally.steps[0];
    assert_eq!((step.executed, step.ok, step.failed), (400, 360, 40));
    let mut errors: Vec<_> = step
        .errors
        .iter()
        .map(|error| (error.kind, error.count))
        .collect();
    errors.sort_unstable();
    let mut expected = [
        (ErrorKind::BodyTruncated, 20),
        (ErrorKind::StreamUnfinished, 20),
    ];
    expected.sort_unstable();
    assert_eq!(errors, expected);
    let stream = stream(&tally);
    assert_eq!(stream.first_event.count(), 400, "all of them began");
    assert_eq!(
        (stream.per_unit.count(), stream.units),
        (360, 360 * OUTPUTS)
    );
    assert_eq!(stream.gap.count(), 360 * OUTPUTS);
    assert_eq!(stream.events, 360 * (OUTPUTS + 1) + 40 * 16);
}
