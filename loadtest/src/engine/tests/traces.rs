//! Traces: the same journeys are sampled whatever makes the load, none of them half, and their spans are told.

use crate::chain::{Scenario, SetupContext};
use crate::engine::{self, Control, RunTracing, SpanWriter, Workers};
use crate::prelude::*;
use crate::transport::{HttpTransport, Network};
use loadtest_model::definition::{Load, Rate};
use loadtest_model::metrics::{ErrorKind, Tally};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::protocol::{SpanLine, TracedJourney, TracedOutcome, TracedStep};
use loadtest_model::shard::Shard;
use loadtest_model::trace::{RunIds, TraceId, Tracing};
use loadtest_tests::{Reply, Request as Received, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

#[scenario]
fn traced() {
    #[step(get = "/moved", redirects = 1)]
    fn moved();

    #[step(get = "/lacks/17")]
    fn lacks();

    #[step]
    async fn several(vu: &mut Vu, http: &mut Http) -> Result<(), Error> {
        for _ in 0..2 {
            http.get("/orders/17").send().await?;
        }
        let own = vu.traceparent().unwrap_or_default();
        http.get("/own").header("x-own", &own).send().await?;
        Ok(())
    }
}

fn answer(request: &Received) -> Reply {
    match &*request.path {
        "/moved" => Reply::status(302).header("location", "/there"),
        "/lacks/17" => Reply::status(404),
        _ => Reply::status(204),
    }
}

/// What a run sent, and the spans that it told.
struct Sent {
    requests: Vec<Received>,
    journeys: Vec<TracedJourney>,
    tally: Tally,
}

impl Sent {
    /// The requests by their trace: path, span and flag.
    fn by_trace(&self) -> BTreeMap<String, Vec<(String, String, String)>> {
        let mut traces = BTreeMap::<String, Vec<_>>::new();
        for request in &self.requests {
            let header = request.header("traceparent").unwrap();
            let [version, trace, span, flag] = header.split('-').collect::<Vec<_>>()[..] else {
                panic!("{header}");
            };
            assert_eq!((version, trace.len(), span.len()), ("00", 32, 16));
            let request = (request.path.clone(), span.to_owned(), flag.to_owned());
            traces.entry(trace.to_owned()).or_default().push(request);
        }
        traces
    }

    /// The traces that are sampled; those that are so in part are a mistake.
    fn sampled(&self) -> BTreeSet<String> {
        let mut sampled = BTreeSet::new();
        for (trace, requests) in self.by_trace() {
            let flags: BTreeSet<_> = requests.iter().map(|(.., flag)| &**flag).collect();
            assert_eq!(flags.len(), 1, "{trace} is half sampled");
            assert_eq!(requests.len(), 6, "{requests:?}");
            if flags.contains("01") {
                sampled.insert(trace);
            }
        }
        sampled
    }
}

fn tracing(sample: f64, at_most_per_second: Option<f64>) -> Tracing {
    Tracing {
        sample,
        at_most_per_second,
        link: None,
    }
}

fn send(load: &Load, tracing: Option<Tracing>, seed: u64, workers: u32, shard: Shard) -> Sent {
    send_to(
        &Server::recording(answer),
        load,
        tracing,
        seed,
        (workers, shard),
        &Control::new(),
    )
}

fn send_to(
    server: &Server,
    load: &Load,
    tracing: Option<Tracing>,
    seed: u64,
    (workers, shard): (u32, Shard),
    control: &Control,
) -> Sent {
    let scenario: &'static Scenario = traced();
    let mut definition = scenario.definition.clone();
    definition.load = Some(load.clone());
    let overrides = Overrides {
        shard,
        tracing,
        ..Overrides::default()
    };
    let plan = Plan::new(&definition, &overrides, &GradingDefaults::default(), seed).unwrap();
    let prepared = (scenario.prepare)(&SetupContext::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let network = runtime.block_on(Network::prepare(Some(&server.url()), "run"));
    let network = Arc::new(network.unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spans.jsonl");
    let start = engine::common_start(1);
    let writer = SpanWriter::start(&path, start).unwrap();
    let mut tally = Tally::default();
    let ended = engine::LoadRun {
        scenario,
        shared: &prepared.shared,
        plan: &plan,
        workers: Workers::new(workers, workers).unwrap(),
        start,
        control,
        tracing: plan.tracing.as_ref().map(|_| RunTracing {
            ids: RunIds::new("run", &scenario.definition.identity(), seed),
            spans: Some(writer.outlet()),
        }),
        samples: None,
    }
    .run(
        move |user| HttpTransport::new(Arc::clone(&network), user),
        |frame| {
            for window in frame.windows.all() {
                tally.merge(window);
            }
            ControlFlow::Continue(())
        },
    );
    writer.finish();
    assert!(ended.unwrap().complete);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    assert!(matches!(lines.next(), Some(SpanLine::Start { unix_us }) if unix_us > 0));
    let journeys = lines.map(|line| match line {
        SpanLine::Journey(journey) => *journey,
        other => panic!("{other:?}"),
    });
    Sent {
        requests: server.recorded(),
        journeys: journeys.collect(),
        tally,
    }
}

fn rate(per_second: f64) -> Load {
    // As many users as there are arrivals, so that none is dropped.
    Load::rate(Rate::per_second(per_second), Duration::from_millis(250)).max_users(100)
}

#[test]
fn the_same_journeys_are_sampled_whatever_makes_the_load() {
    let (load, tracing) = (rate(400.0), Some(tracing(0.5, Some(10.0))));
    let one = send(&load, tracing.clone(), 7, 1, Shard::WHOLE).sampled();
    assert_eq!(one.len(), 10);
    assert_eq!(
        send(&load, tracing.clone(), 7, 3, Shard::WHOLE).sampled(),
        one
    );
    let shards = Shard::by_weight(&[2, 1]).unwrap();
    let parts = shards.into_iter();
    let parts = parts.flat_map(|shard| send(&load, tracing.clone(), 7, 2, shard).sampled());
    assert_eq!(parts.collect::<BTreeSet<_>>(), one);
}

#[test]
fn journeys_of_users_are_sampled_by_their_numbers() {
    let load = Load::iterations(60, 6);
    let one = send(&load, Some(tracing(0.3, None)), 7, 1, Shard::WHOLE).sampled();
    assert!((8..30).contains(&one.len()), "{}", one.len());
    let again = send(&load, Some(tracing(0.3, None)), 7, 2, Shard::WHOLE).sampled();
    assert_eq!(again, one);
}

#[test]
fn a_load_without_traces_sends_no_header() {
    let sent = send(&Load::iterations(2, 1), None, 7, 1, Shard::WHOLE);
    assert_eq!(sent.requests.len(), 12);
    let mut requests = sent.requests.iter();
    assert!(requests.all(|request| request.header("traceparent").is_none()));
    assert_eq!(sent.requests[5].header("x-own"), Some(""));
    assert_eq!((sent.journeys.len(), sent.tally.journey.sampled), (0, 0));
}

#[test]
fn the_spans_of_a_sampled_journey_are_those_that_the_target_was_told_of() {
    let sent = send(
        &Load::iterations(4, 2),
        Some(tracing(1.0, None)),
        7,
        1,
        Shard::WHOLE,
    );
    let mut traces = sent.by_trace();
    assert_eq!(sent.journeys.len(), 4);
    for journey in &sent.journeys {
        let trace: TraceId = journey.trace_id;
        let requests = traces.remove(&trace.to_string()).unwrap();
        let told: Vec<String> = (journey.steps.iter())
            .flat_map(|step| {
                let spans = step.requests.iter().map(|request| request.number);
                spans.map(|number| trace.request(step.step, number).to_string())
            })
            .collect();
        let seen: Vec<_> = requests.iter().map(|(_, span, _)| span.clone()).collect();
        assert_eq!(told, seen);
        assert_eq!(journey.spans(), 1 + 3 + 6);
        let root = journey.root.unwrap();
        assert_eq!(root.outcome, TracedOutcome::Failed);
        let mut before = root.begin_us;
        for step in &journey.steps {
            assert!(
                before <= step.begin_us && step.end_us <= root.end_us,
                "{journey:?}"
            );
            before = step.end_us;
            let mut begin = step.begin_us;
            for request in &step.requests {
                assert!(begin <= request.begin_us && request.end_us <= step.end_us);
                begin = request.end_us;
            }
        }
        let errors: Vec<_> = journey.steps.iter().map(|step| step.error).collect();
        assert_eq!(errors, [None, Some(ErrorKind::Status), None]);
        let rows = |step: &TracedStep| -> Vec<_> {
            let rows = step.requests.iter().map(|request| request.row.clone());
            rows.flatten().collect()
        };
        assert_eq!(rows(&journey.steps[0]), [""; 0]);
        assert_eq!(
            rows(&journey.steps[2]),
            ["GET /orders/{}", "GET /orders/{}", "GET /own"]
        );
    }
    for request in sent
        .requests
        .iter()
        .filter(|request| request.path == "/own")
    {
        let trace: Vec<_> = request.header("traceparent").unwrap().split('-').collect();
        let id: TraceId = trace[1].parse().unwrap();
        let own = format!("00-{id}-{}-01", id.step(2));
        assert_eq!(request.header("x-own"), Some(&*own));
    }
    // What the figures tell is found in the same traces.
    assert_eq!(sent.tally.journey.sampled, 4);
    let ids: BTreeSet<_> = sent
        .journeys
        .iter()
        .map(|journey| journey.trace_id)
        .collect();
    let failed = sent.tally.steps[1].errors[0].traced.unwrap();
    assert!(ids.contains(&failed.trace_id));
    assert_eq!(failed.span_id, failed.trace_id.step(1));
    let slowest = sent.tally.steps[0].traced.unwrap();
    assert!(ids.contains(&slowest.trace_id) && slowest.time_us > 0);
    let slow = sent.tally.journey.slowest.journeys();
    assert!(
        slow.iter()
            .all(|slow| ids.contains(&slow.trace_id.unwrap()))
    );
}

#[test]
fn a_journey_that_the_end_of_the_run_cuts_off_tells_so() {
    let control = Control::new();
    let abort = control.clone();
    let server = Server::recording(move |request| {
        if request.path == "/lacks/17" {
            abort.abort();
            return Reply::hang();
        }
        answer(request)
    });
    let load = Load::iterations(1, 1);
    let whole = (1, Shard::WHOLE);
    let sent = send_to(&server, &load, Some(tracing(1.0, None)), 7, whole, &control);
    let [journey] = &sent.journeys[..] else {
        panic!("{:?}", sent.journeys);
    };
    assert_eq!(journey.root.unwrap().outcome, TracedOutcome::Cancelled);
    assert_eq!(journey.steps.len(), 1);
}
