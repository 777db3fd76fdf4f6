//! Answers that are streams of events: what is measured of them, what ends them, and how they fail.

use crate::paused::run_on_paused_clock;
use loadtest::card::{Card, StepRow, StreamRow};
use loadtest::prelude::*;
use loadtest::{Run, Scenario};
use loadtest_model::definition::Load;
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_tests::{Reply, Request as Got};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::ops::Range;
use std::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[response]
struct Chunk {
    text: Option<String>,
    tokens: Option<u64>,
}

fn tokens(answer: &Events<Chunk>) -> u64 {
    let counted = answer.last().and_then(|chunk| chunk.tokens);
    counted.unwrap_or(answer.len() as u64)
}

fn event(data: &str) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

fn stream_head() -> Reply {
    Reply::status(200).header("content-type", "text/event-stream; charset=utf-8")
}

fn stream(pieces: impl IntoIterator<Item = (Duration, Vec<u8>)>) -> Reply {
    stream_head().pieces(pieces)
}

/// A role at once, the first text after 200 ms, three more each 10 ms later, what was counted, and the end.
fn talk() -> Vec<(Duration, Vec<u8>)> {
    let mut pieces = vec![(Duration::ZERO, event("{}"))];
    for number in 0..4 {
        let pause = if number == 0 { 200 * MS } else { 10 * MS };
        pieces.push((pause, event(r#"{"text": "a"}"#)));
    }
    pieces.push((Duration::ZERO, event(r#"{"tokens": 31}"#)));
    pieces.push((Duration::ZERO, event("[DONE]")));
    pieces
}

fn run(scenario: &'static Scenario, reply: impl Fn(&Got) -> Reply + Send + Sync + 'static) -> Card {
    let run = Run::new(scenario).load(Load::iterations(4, 2));
    run_on_paused_clock(run, reply)
}

/// The same under the load that the scenario declares.
fn run_as_declared(
    scenario: &'static Scenario,
    reply: impl Fn(&Got) -> Reply + Send + Sync + 'static,
) -> Card {
    run_on_paused_clock(Run::new(scenario), reply)
}

/// A time in a histogram, whose figures have a width.
#[track_caller]
fn assert_about(time: Option<Duration>, expected: Duration) {
    let time = time.expect("a time");
    assert!(
        time >= expected && time <= expected + 2 * MS,
        "{time:?}, not {expected:?}"
    );
}

/// The failures of a step: kind and number.
fn errors(card: &Card) -> Vec<(String, u64)> {
    let errors = card.errors.iter();
    errors
        .map(|error| (error.kind.name().to_owned(), error.count))
        .collect()
}

fn only(card: &Card) -> (&StepRow, &StreamRow) {
    let step = &card.steps[0];
    (step, step.stream.as_ref().unwrap())
}

#[scenario(grace = 2m, load = users(1, for = 1s))]
fn chat() {
    #[step(
        first = |chunk| chunk.text.is_some(),
        end = "[DONE]",
        units = tokens,
        good(first_event < 150ms),
        first_event.p95 < 10s,
        units > 0.1/s,
        check = |answer| answer.len() == 6 && answer[1].text.as_deref() == Some("a"),
    )]
    fn ask() -> Request<Events<Chunk>> {
        Request::post("/chat").json(&json!({ "stream": true }))
    }
}

#[test]
fn the_first_event_is_the_one_that_the_step_names_and_units_are_what_it_counts() {
    for at_once in [false, true] {
        let card = run(chat(), move |_| {
            let mut pieces = talk();
            if at_once {
                // The last two events and the end come by one read.
                let rest: Vec<_> = pieces.drain(4..).flat_map(|(_, bytes)| bytes).collect();
                pieces.push((20 * MS, rest));
            }
            stream(pieces)
        });
        let (step, stream) = only(&card);
        assert_eq!((step.ok, step.checks_failed), (4, 0), "{:?}", errors(&card));
        assert_eq!((stream.events, stream.units), (24, 124));
        let samples = [&stream.first_event, &stream.gap, &stream.per_unit].map(|of| of.samples);
        assert_eq!(samples, [4, 16, 4], "the role is before the first");
        // The role came at once.
        assert_about(stream.first_event.p50, 200 * MS);
        // 30 units in 30 ms, or in the 40 ms after which the rest comes.
        let pace = stream.per_unit.p50.unwrap();
        let expected = if at_once { 40 * MS } else { 30 * MS } / 30;
        assert!(
            pace >= expected * 99 / 100 && pace <= expected * 11 / 10,
            "{pace:?}"
        );
        assert_eq!(step.good, Some(0.0), "200 ms are more than 150 ms");
        let whole = if at_once { 240 * MS } else { 230 * MS };
        assert_about(step.response.p50, whole);
        if at_once {
            assert!(stream.together >= Some(1.0 / 6.0), "{:?}", stream.together);
        }
    }
}

#[test]
fn a_stream_without_its_end_has_failed_and_has_no_pace() {
    let card = run(chat(), |_| {
        let mut pieces = talk();
        pieces.pop();
        stream(pieces)
    });
    assert_eq!(errors(&card), [("stream.unfinished".to_owned(), 4)]);
    let example = card.errors[0].example.to_string();
    assert_eq!(
        example,
        "the stream ended after 6 events without `[DONE]`; the last one: {\"tokens\": 31}"
    );
    let (step, row) = only(&card);
    assert_eq!((step.failed, row.first_event.samples), (4, 4));
    assert_eq!(
        (row.gap.samples, row.per_unit.samples, row.units),
        (0, 0, 0)
    );
    let died = run(chat(), |_| {
        let mut pieces = talk();
        pieces.truncate(3);
        stream(pieces).close_silently()
    });
    assert_eq!(errors(&died), [("body.truncated".to_owned(), 4)]);
    let (_, row) = only(&died);
    assert_eq!((row.first_event.samples, row.gap.samples), (4, 0));
}

#[response]
struct Notice {
    order: u64,
}

#[test]
fn long_streams_may_have_more_time_after_the_load() {
    let (overrides, defaults) = (Overrides::default(), GradingDefaults::default());
    let plan = |scenario: &Scenario| Plan::new(&scenario.definition, &overrides, &defaults, 1);
    assert_eq!(plan(chat()).unwrap().graceful_stop, 120_000 * MS);
    assert_eq!(plan(wait()).unwrap().graceful_stop, 30_000 * MS);
}

/// Follows a feed that has no end.
#[scenario]
fn follow() {
    #[step(get = "/feed", events = 3, idle = 10s, good(gap < 10s, response < 10s) > 99%)]
    fn notices() -> Events<Notice>;

    #[step(get = "/orders/{{notices.response[2].order}}")]
    fn order();
}

#[test]
fn a_step_ends_a_stream_after_so_many_events_and_later_steps_read_them() {
    let card = run(follow(), |request| match &*request.path {
        "/feed" => {
            let line = |order| Some((MS, format!("{{\"order\": {order}}}\n").into()));
            let reply = Reply::status(200).header("content-type", "application/x-ndjson");
            reply.pieces_by(line)
        }
        "/orders/2" => Reply::status(200),
        _ => Reply::status(404),
    });
    assert_eq!(errors(&card), []);
    let (step, row) = only(&card);
    assert_eq!(
        (step.ok, row.events, row.units, row.gap.samples),
        (4, 12, 12, 8)
    );
    assert_eq!((card.steps[1].ok, step.good), (4, Some(1.0)));
    assert_eq!(card.exit_code().number(), 0, "{card}");
}

/// Its streams end after a time.
#[scenario]
fn listen() {
    #[step(get = "/feed", lasts = 50ms, format = events)]
    fn times() -> Events<()>;
}

#[test]
fn a_step_ends_a_stream_after_so_long() {
    let card = run(listen(), |_| {
        Reply::status(200).pieces_by(|_| Some((MS, event("no JSON"))))
    });
    assert_eq!(errors(&card), []);
    let (step, _) = only(&card);
    assert_eq!(step.ok, 4);
    // The step ended it: there is no last event.
    assert_about(step.service.max, 50 * MS);
}

/// It ends at an event, and may be silent for a while.
#[scenario]
fn wait() {
    #[step(get = "/job", end = |job| job.order == 7, idle = 60ms)]
    fn job() -> Events<Notice>;
}

#[test]
fn silence_is_a_failure_and_a_condition_ends_a_stream() {
    let card = run(wait(), |_| {
        stream([
            (Duration::ZERO, event(r#"{"order": 1}"#)),
            (MS, event(r#"{"order": 7}"#)),
            (Duration::from_secs(3600), event("nobody waits for it")),
        ])
    });
    assert_eq!(errors(&card), []);
    let (_, row) = only(&card);
    assert_eq!(row.events, 8, "the event that ends it is one of them");

    let card = run(wait(), |_| {
        stream([(Duration::ZERO, event(r#"{"order": 1}"#))])
    });
    assert_eq!(errors(&card), [("stream.unfinished".to_owned(), 4)]);
    let silent = run(wait(), |_| {
        let rest = (Duration::from_secs(3600), event(r#"{"order": 7}"#));
        stream([(Duration::ZERO, event(r#"{"order": 1}"#)), rest])
    });
    assert_eq!(errors(&silent), [("timeout.event".to_owned(), 4)]);
    let no_head = run(wait(), |_| Reply::hang());
    assert_eq!(errors(&no_head), [("timeout.event".to_owned(), 4)]);
    let (_, row) = only(&no_head);
    assert_eq!(
        row.first_event.samples, 4,
        "a timeout counts at its deadline"
    );
}

/// Its server may send what is no event.
#[scenario]
fn beating() {
    #[step(get = "/feed", idle = 60ms)]
    fn notices() -> Events<Notice>;
}

/// The same, read by the step itself.
#[scenario]
fn beating_beside() {
    #[step]
    async fn follow(http: &mut Http) -> Result<(), Error> {
        let mut events = http.get("/feed").idle(60 * MS).events::<Notice>().await?;
        while events.next().await?.is_some() {}
        Ok(())
    }
}

/// There it counts.
#[scenario]
fn alive() {
    #[step(get = "/feed", idle(bytes) = 60ms, lasts = 500ms)]
    fn notices() -> Events<Notice>;
}

/// The same, read by the step itself.
#[scenario]
fn alive_beside() {
    #[step]
    async fn follow(http: &mut Http) -> Result<u64, Error> {
        let request = http.get("/feed").idle_bytes(60 * MS);
        let mut events = request.events::<Notice>().await?;
        let notice = events.next().await?.ok_or("no notice")?;
        Ok(notice.order)
    }
}

/// So many heartbeats, 20 ms apart, then an event.
fn beats(kind: &'static str, beat: &'static str, count: usize) -> impl Fn(&Got) -> Reply {
    let event = match kind {
        "text/event-stream" => event(r#"{"order": 1}"#),
        _ => b"{\"order\": 1}\n".to_vec(),
    };
    move |_| {
        let event = event.clone();
        let reply = Reply::status(200).header("content-type", kind);
        reply.pieces_by(move |number| {
            let piece = if number < count {
                beat.into()
            } else {
                event.clone()
            };
            Some((20 * MS, piece))
        })
    }
}

#[test]
fn a_heartbeat_that_is_no_event_ends_no_silence_unless_bytes_count() {
    for (kind, beat) in [
        ("text/event-stream", ": ping\n\n"),
        ("text/event-stream", "event: ping\n\n"),
        ("application/x-ndjson", "\n"),
    ] {
        for scenario in [beating(), beating_beside()] {
            let card = run(scenario, beats(kind, beat, usize::MAX));
            assert_eq!(errors(&card), [("timeout.event".to_owned(), 4)], "{beat:?}");
            let example = card.errors[0].example.to_string();
            assert_eq!(
                example,
                "no event came within 60ms, only bytes that are none, such as heartbeats, which count with \
                 `idle(bytes) = 60ms`"
            );
        }
        let card = run(alive(), beats(kind, beat, usize::MAX));
        assert_eq!((errors(&card), card.steps[0].ok), (Vec::new(), 4));
        let card = run(alive_beside(), beats(kind, beat, 10));
        assert_eq!((errors(&card), card.steps[0].ok), (Vec::new(), 4));
    }
    let silent = run(alive(), |_| {
        stream([(Duration::from_secs(3600), event(r#"{"order": 1}"#))])
    });
    assert_eq!(errors(&silent), [("timeout.event".to_owned(), 4)]);
}

#[test]
fn a_stream_that_brought_no_event_is_no_success() {
    for (kind, body) in [
        ("text/event-stream", ": bye\n\n"),
        ("application/x-ndjson", "\n"),
    ] {
        for scenario in [beating(), beating_beside()] {
            let card = run(scenario, move |_| {
                Reply::status(200).header("content-type", kind).body(body)
            });
            assert_eq!(errors(&card), [("stream.unfinished".to_owned(), 4)]);
            let example = card.errors[0].example.to_string();
            assert_eq!(example, "the stream ended after 0 events");
        }
    }
    let never = || stream([(Duration::from_secs(3600), event(r#"{"order": 1}"#))]);
    // The step ends it: a declared one has failed.
    let card = run(listen(), move |_| never());
    assert_eq!(errors(&card), [("timeout.event".to_owned(), 4)]);
    // The load ends it: that of an `async` step is cancelled.
    let card = run_as_declared(listening(), move |_| never());
    assert_eq!(errors(&card), []);
    assert_eq!((card.steps[0].ok, card.accounts.cancelled), (0, 2));
}

#[test]
fn what_is_no_stream_is_told() {
    let card = run(wait(), |_| Reply::json("{}"));
    assert_eq!(errors(&card), [("head.malformed".to_owned(), 4)]);
    let example = card.errors[0].example.to_string();
    assert!(
        example.contains("content-type application/json"),
        "{example}"
    );
    let packed = run(wait(), |_| {
        stream([(MS, event("{}"))]).header("content-encoding", "gzip")
    });
    assert_eq!(errors(&packed), [("head.malformed".to_owned(), 4)]);
    for coding in ["none", "utf-8", "identity"] {
        let plain = run(wait(), move |_| {
            stream([(MS, event(r#"{"order": 7}"#))]).header("content-encoding", coding)
        });
        assert_eq!(errors(&plain), [], "{coding}");
    }
    let wrong = run(wait(), |_| stream([(MS, event(r#"{"order": "x"}"#))]));
    assert_eq!(errors(&wrong), [("stream.unfinished".to_owned(), 4)]);
    let decoded = run(follow(), |_| stream([(MS, event(r#"{"order": "x"}"#))]));
    assert_eq!(errors(&decoded)[0], ("body.decode".to_owned(), 4));
    let example = decoded.errors[0].example.to_string();
    assert!(example.starts_with("event 1: "), "{example}");
}

/// Its step leaves the stream once it has seen enough.
#[scenario]
fn watch() {
    #[step(first_event.max < 10s, good(first_event < 10s, gap < 10s) > 99%)]
    async fn shipped(http: &mut Http) -> Result<u64, Error> {
        let mut events = http.get("/feed").name("feed").events::<Notice>().await?;
        while let Some(notice) = events.next().await? {
            if notice.order == 3 {
                return Ok(notice.into_data().order);
            }
        }
        Err("nothing was shipped".into())
    }

    #[step(get = "/orders/{{shipped.response}}")]
    fn order();
}

/// An order each millisecond.
fn feed(orders: Range<u64>) -> Reply {
    stream_head().pieces_by(move |number| {
        let order = orders.clone().nth(number)?;
        Some((MS, event(&format!("{{\"order\": {order}}}"))))
    })
}

/// The same without an end.
fn endless_feed() -> Reply {
    feed(1..u64::MAX)
}

#[test]
fn an_async_step_reads_events_as_they_come_and_may_leave_the_rest() {
    let card = run(watch(), |request| match &*request.path {
        "/feed" => endless_feed(),
        "/orders/3" => Reply::status(200),
        _ => Reply::status(404),
    });
    assert_eq!(errors(&card), []);
    let (step, row) = only(&card);
    assert_eq!((step.ok, step.good, card.steps[1].ok), (4, Some(1.0), 4));
    let samples = (row.first_event.samples, row.per_unit.samples);
    assert_eq!((samples, row.events, row.gap.samples), ((4, 4), 12, 8));
    let inner = &step.inner[0];
    assert_eq!((&*inner.name, inner.requests, inner.failed), ("feed", 4, 0));
    assert_eq!(step.statuses.get(&200), Some(&4));
    assert_eq!(card.exit_code().number(), 0, "{card}");
}

#[test]
fn what_goes_wrong_in_a_stream_reaches_an_async_step_after_what_came_before() {
    let ended = run(watch(), |_| feed(1..3));
    assert_eq!(errors(&ended), [("step.error".to_owned(), 4)]);
    let (_, row) = only(&ended);
    assert_eq!((row.events, row.gap.samples), (8, 0), "the step failed");
    let died = run(watch(), |_| feed(1..3).close_silently());
    assert_eq!(errors(&died), [("body.truncated".to_owned(), 4)]);
    let (_, row) = only(&died);
    assert_eq!((row.events, row.gap.samples), (8, 0));
    let decoded = run(watch(), |_| stream([(MS, event("[]"))]));
    assert_eq!(errors(&decoded), [("body.decode".to_owned(), 4)]);
    let refused = run(watch(), |_| Reply::status(503));
    assert_eq!(errors(&refused), [("status".to_owned(), 4)]);
    assert!(refused.steps[0].stream.is_none());
    let none = run(watch(), |_| Reply::json("{}"));
    assert_eq!(errors(&none), [("head.malformed".to_owned(), 4)]);
}

/// Its step reads until there is no more.
#[scenario(grace = 200ms, load = users(2, for = 1s))]
fn listening() {
    #[step]
    async fn listen(http: &mut Http) -> Result<u64, Error> {
        let mut events = http.get("/feed").name("feed").events::<Notice>().await?;
        let mut last = 0;
        while let Some(notice) = events.next().await? {
            last = notice.order;
        }
        Ok(last)
    }

    #[check]
    fn some_came(listen: &u64) -> bool {
        *listen > 0
    }
}

/// The same, with time for a stream to end.
#[scenario(grace = 20s, load = users(1, for = 100ms))]
fn listening_on() {
    #[step]
    async fn listen(http: &mut Http) -> Result<u64, Error> {
        let mut events = http.get("/feed").name("feed").events::<Notice>().await?;
        let mut last = 0;
        while let Some(notice) = events.next().await? {
            last = notice.order;
        }
        Ok(last)
    }

    #[check]
    fn all_came(listen: &u64) -> bool {
        *listen == 400
    }
}

#[test]
fn an_endless_stream_ends_with_the_load_and_another_one_is_read_to_its_end() {
    let card = run_as_declared(listening(), |_| endless_feed());
    assert_eq!(errors(&card), []);
    let step = &card.steps[0];
    assert_eq!((step.ok, card.accounts.cancelled), (2, 0));
    let row = &step.inner[0];
    assert_eq!((row.requests, row.failed), (2, 0));
    let stream = row.stream.as_ref().unwrap();
    assert_eq!(stream.first_event.samples, 2);
    assert_eq!(stream.gap.samples, stream.events - 2);
    // An event each millisecond of a second, for each of two users.
    let events = stream.events;
    assert!((1_990..=2_000).contains(&events), "{events}");

    let card = run_as_declared(listening_on(), |_| feed(1..401));
    assert_eq!(errors(&card), []);
    assert_eq!((card.steps[0].ok, card.accounts.cancelled), (1, 0));
    assert_eq!(
        (card.steps[0].checks_passed, card.steps[0].checks_failed),
        (1, 0)
    );
}

/// Its step fails without what it looks for.
#[scenario(grace = 200ms, load = users(2, for = 200ms))]
fn looking() {
    #[step]
    async fn find(http: &mut Http) -> Result<Notice, Error> {
        let mut events = http.get("/feed").name("feed").events::<Notice>().await?;
        while let Some(notice) = events.next().await? {
            if notice.order == 0 {
                return Ok(notice.into_data());
            }
        }
        Err("it never came".into())
    }
}

#[test]
fn a_step_that_lacks_the_rest_of_its_stream_when_the_load_ends_is_cancelled() {
    let card = run_as_declared(looking(), |_| endless_feed());
    assert_eq!(errors(&card), []);
    let accounts = &card.accounts;
    assert_eq!((accounts.started, accounts.cancelled), (2, 2));
    let step = &card.steps[0];
    let row = &step.inner[0];
    assert_eq!((row.requests, row.failed), (2, 0));
    assert_eq!(step.phases.connections, 2);
    // Where the stream itself ends, the step has failed.
    let run = Run::new(looking()).load(Load::iterations(1, 1));
    let card = run_on_paused_clock(run, |_| feed(1..3));
    assert_eq!(errors(&card), [("step.error".to_owned(), 1)]);
}

/// Its streams have no end.
#[scenario(grace = 2s, load = users(2, for = 2s))]
fn endless() {
    #[step(get = "/feed", timeout = 3900ms)]
    fn notices() -> Events<()>;
}

#[test]
fn a_declared_stream_without_an_end_is_cut_off_by_the_end_of_the_load_and_has_not_failed() {
    let card = run_as_declared(endless(), |_| endless_feed());
    assert_eq!(errors(&card), []);
    let accounts = &card.accounts;
    assert_eq!((accounts.started, accounts.cancelled), (2, 2));
    assert_eq!(accounts.balanced, Some(true));
}

/// Its step pauses within a stream.
#[scenario]
fn pausing() {
    #[step(timeout = 2s)]
    async fn listen(http: &mut Http) -> Result<(), Error> {
        let mut events = http.get("/feed").events::<Notice>().await?;
        events.next().await?;
        http.pause(2_200 * MS).await;
        events.next().await?;
        Ok(())
    }
}

#[test]
fn the_deadline_of_a_stream_is_that_of_its_request_whatever_the_step_does_meanwhile() {
    let run = Run::new(pausing()).load(Load::iterations(1, 1));
    let card = run_on_paused_clock(run, |_| {
        let second = (3_500 * MS, event(r#"{"order": 2}"#));
        stream([(Duration::ZERO, event(r#"{"order": 1}"#)), second])
    });
    assert_eq!(errors(&card), [("timeout.total".to_owned(), 1)]);
}

/// Its feed says when a user has spoken.
#[scenario]
fn heard() {
    #[step]
    async fn hear(http: &mut Http, vu: &mut Vu) -> Result<u128, Error> {
        let url = format!("/feed?said={}", vu.stamp());
        http.pause(10 * MS).await;
        let mut events = http.get(&url).events::<String>().await?;
        let event = events.next().await?.ok_or("nothing was heard")?;
        let said = Stamp::parse(event.data()).ok_or("no stamp")?;
        Ok(event.since(said).as_millis())
    }

    #[check]
    fn the_way_took_so_long(hear: &u128) -> bool {
        (60..=62).contains(hear)
    }
}

#[test]
fn an_event_tells_how_long_it_took_from_a_stamp() {
    let card = run(heard(), |request| {
        let (_, stamp) = request.target.split_once('=').unwrap();
        stream([(50 * MS, event(stamp))])
    });
    assert_eq!(errors(&card), []);
    assert_eq!(card.steps[0].checks_passed, 4);
}

/// Its user begins in the ramp, and its stream goes on to the end.
#[scenario(grace = 200ms, load = users(1, ramp_up = 200ms, for = 1s))]
fn listening_from_the_ramp_on() {
    #[step(gap.p95 < 10s, units > 1/s, per_unit.p95 < 10s)]
    async fn listen(http: &mut Http) -> Result<(), Error> {
        let mut events = http.get("/feed").name("feed").events::<Notice>().await?;
        while events.next().await?.is_some() {}
        Ok(())
    }
}

/// The same with a declared stream, which nothing ends.
#[scenario(grace = 200ms, load = users(1, for = 200ms))]
fn following_without_end() {
    #[step(get = "/feed")]
    fn notices() -> Events<Notice>;
}

#[test]
fn limits_on_the_streams_of_a_step_are_of_all_that_came_in_the_measured_part() {
    let card = run_as_declared(listening_from_the_ramp_on(), |_| endless_feed());
    let (step, stream) = only(&card);
    let row = step.inner[0].stream.as_ref().unwrap();
    assert_eq!((step.executed, stream), (0, row));
    // Its first event came in the ramp, and one in each of the 800 ms after it.
    assert_eq!(stream.first_event.samples, 0);
    let events = stream.gap.samples;
    assert_eq!((stream.events, stream.units), (events, events));
    assert!((795..=800).contains(&events), "{events}");
    let held = card
        .thresholds
        .iter()
        .map(|row| (&*row.condition, row.passed));
    assert_eq!(
        held.collect::<Vec<_>>(),
        [
            ("gap.p95 < 10 s", true),
            ("units > 1/s", true),
            ("per_unit.p95 < 10 s", true)
        ]
    );
    assert_eq!(
        (card.exit_code().number(), &*card.reasons),
        (0, &[][..]),
        "{card}"
    );
}

#[test]
fn a_declared_stream_without_end_is_told_what_ends_it() {
    let card = run_as_declared(following_without_end(), |_| endless_feed());
    let words: Vec<_> = card.reasons.iter().map(|reason| &*reason.words).collect();
    assert_eq!(
        words[0],
        "no step ended before the run did: 1 iteration cut off; let the streams of `notices` end by `events = 100` or \
         `lasts = 10s`, give them more time than the load has by `grace = 2m`, or read them in an `async` step, where a \
         stream ends with the load"
    );
}

/// Its step reads a stream that is always ahead of it.
#[scenario]
fn flooded() {
    #[step(get = "/flood", timeout = 100ms, idle = 1m)]
    fn read() -> Events<()>;
}

/// Sends events for as long as they are taken, from threads of its own.
fn serve_flood() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || -> std::io::Result<()> {
                let length = stream.read(&mut [0; 4096])?;
                if length > 0 {
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                    stream.write_all(head.as_bytes())?;
                    let events = event("x").repeat(10_000);
                    loop {
                        stream.write_all(&events)?;
                    }
                }
                Ok(())
            });
        }
    });
    url
}

#[test]
fn a_stream_that_comes_as_fast_as_it_is_read_ends_at_its_deadline() {
    let run = Run::new(flooded()).load(Load::iterations(4, 2));
    let run = run.base_url(serve_flood()).without_validity();
    let card = run.run_blocking().unwrap();
    // Read on without end, a turn alone would come to more events than are kept.
    // On a busy machine the deadline may be past before the head.
    let (kinds, counts): (Vec<_>, Vec<_>) = errors(&card).into_iter().unzip();
    assert!(
        kinds.iter().all(|kind| kind.starts_with("timeout.")),
        "{kinds:?}"
    );
    assert_eq!(counts.iter().sum::<u64>(), 4);
}
