//! Spans of a load that agents make, and of the trials of a search: every sampled journey is whole, and none comes twice.

use super::sink;
use super::traces::{attribute, failing_shop, sampled, text, traceparent};
use crate::cluster::Cluster;
use crate::site::{Sandbox, shop};
use crate::trial::trials;
use jiff::Timestamp;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = trials![needing "nats-server":
        the_spans_of_agents_are_those_that_the_target_saw,
        spans_of_agents_outlive_their_server,
        a_lost_agent_is_said_to_owe_spans,
    ];
    trials.extend(trials![every_trial_of_a_search_has_its_spans,]);
    trials
}

fn collector() -> Server {
    Server::recording(|_| Reply::status(200))
}

/// A folder whose runs are traced, and send JSON to a collector.
fn traced(collector: &Server, sample: &str) -> Sandbox {
    let url = collector.url();
    let sink = sink(&format!(
        "format = \"otlp\"\nurl = \"{url}\"\nencoding = \"json\""
    ));
    let traces = format!("propagate = true\nsample = \"{sample}\"\nat_most = \"1000/s\"");
    Sandbox::with(&format!("{sink}[traces]\n{traces}\n"))
}

/// The spans that a collector got, by trace and span; none came twice.
#[track_caller]
fn collected(collector: &Server) -> BTreeMap<(String, String), Value> {
    let mut by_id = BTreeMap::new();
    for request in collector.recorded() {
        if request.path != "/v1/traces" {
            continue;
        }
        let message: Value = serde_json::from_slice(&request.body).expect("JSON");
        let spans = message["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
        for span in spans.expect("spans") {
            let id = (text(&span["traceId"]), text(&span["spanId"]));
            assert_eq!(by_id.insert(id, span.clone()), None, "it came before");
        }
    }
    by_id
}

/// The traces and spans of the sampled requests that a target got.
fn seen(target: &Server) -> BTreeSet<(String, String)> {
    let requests = target.recorded();
    let parents = requests.iter().map(traceparent);
    let sampled = parents.filter(|(.., is_sampled)| *is_sampled);
    sampled
        .map(|(trace, span, _)| (trace.to_owned(), span.to_owned()))
        .collect()
}

fn is_root(span: &Value) -> bool {
    text(&span["parentSpanId"]).is_empty()
}

fn is_request(span: &Value) -> bool {
    span["kind"] == 3
}

/// The spans of a collector are those of all sampled requests of a target, of their steps and of their journeys.
#[track_caller]
fn assert_whole(collector: &Server, target: &Server) -> BTreeMap<(String, String), Value> {
    let spans = collected(collector);
    let requests = spans.iter().filter(|(_, span)| is_request(span));
    let requests: BTreeSet<_> = requests.map(|(id, _)| id.clone()).collect();
    let seen = seen(target);
    assert!(!seen.is_empty());
    assert_eq!(requests, seen);
    for ((trace, _), span) in &spans {
        let parent = (trace.clone(), text(&span["parentSpanId"]));
        assert!(is_root(span) || spans.contains_key(&parent), "{span}");
    }
    let roots = spans.iter().filter(|(_, span)| is_root(span));
    let traces = seen.iter().map(|(trace, _)| trace.clone());
    assert_eq!(roots.count(), traces.collect::<BTreeSet<_>>().len());
    spans
}

/// The report names traces that a collector has.
#[track_caller]
fn assert_linked(sandbox: &Sandbox, spans: &BTreeMap<(String, String), Value>, kinds: &[&str]) {
    let report = std::fs::read_to_string(sandbox.root().join("report.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let traces = report["cards"][0]["traces"].as_array().expect("traces");
    for row in traces {
        let id = (text(&row["trace_id"]), text(&row["span_id"]));
        assert!(spans.contains_key(&id), "{row}");
    }
    let found: BTreeSet<_> = traces.iter().map(|row| text(&row["what"])).collect();
    assert!(kinds.iter().all(|kind| found.contains(*kind)), "{found:?}");
}

/// Sends the last run again, all of whose spans are kept.
#[track_caller]
fn send_again(sandbox: &Sandbox, spans: usize) {
    let sent = sandbox.call().arg("send").run().exits(0);
    sent.says(&[&format!("{spans} of {spans} spans delivered")]);
}

fn the_spans_of_agents_are_those_that_the_target_saw() {
    let load = "journey --iterations 60 --users 4 --seed 7 --export json=report.json";
    let alone = traced(&collector(), "50%");
    let target = Server::start(failing_shop);
    alone.run(load, &target).run().exits(99);

    let (mut cluster, collector) = (Cluster::<2>::start(), collector());
    cluster.target = Server::recording(failing_shop);
    let run = cluster.run_in(traced(&collector, "50%"), load);
    let output = run.running.output().exits(99);
    let spans = assert_whole(&collector, &cluster.target);
    let told = format!("{0} of {0} spans delivered", spans.len());
    assert!(output.stderr.contains(&told), "{told}\n{output}");
    assert!(!output.stderr.contains("did not deliver"), "{output}");

    // They are the journeys of one process, of which each agent made some.
    let sampled_alone = sampled(&alone);
    assert_eq!(sampled(&run.sandbox), sampled_alone);
    for agent in &cluster.agents {
        let own = sampled(&agent.sandbox);
        assert!(!own.is_empty() && own.is_subset(&sampled_alone), "{own:?}");
    }

    assert_linked(&run.sandbox, &spans, &["first_failure", "slow_step"]);

    // Their times are those of the run.
    let record = run.sandbox.record();
    let began: Timestamp = record.start.started_at.parse().expect("a time");
    let ended = began.as_nanosecond() + i128::from(record.end.elapsed_us) * 1_000;
    for span in spans.values() {
        let time = |name: &str| text(&span[name]).parse::<i128>().expect("a time");
        assert!(began.as_nanosecond() <= time("startTimeUnixNano"), "{span}");
        // The start is told in whole seconds.
        assert!(time("endTimeUnixNano") <= ended + 1_000_000_000, "{span}");
    }

    // All of it is one file, which can be sent again.
    let files = run.sandbox.only_run().files();
    let is_of_agent = |file: &&PathBuf| file.to_string_lossy().contains("agent-");
    assert_eq!(files.iter().find(is_of_agent), None);
    send_again(&run.sandbox, spans.len());
}

fn spans_of_agents_outlive_their_server() {
    let (mut cluster, collector) = (Cluster::<2>::start(), collector());
    let load = "--mix single journey --rate 40/s --duration 6s --seed 7";
    let run = cluster.run_in(traced(&collector, "50%"), load);
    cluster.wait_for_load(100);
    cluster.broker.kill();
    cluster.wait_for_load(300);
    cluster.broker.restart();
    run.running.output().exits(0);
    let spans = assert_whole(&collector, &cluster.target);
    for name in ["single", "journey"] {
        let scenario = format!("site::load::{name}");
        let roots = spans.values().filter(|span| is_root(span));
        let own = roots.filter(|span| attribute(span, "loadtest.scenario") == scenario.as_str());
        assert_eq!(own.count(), 60, "{name}");
    }
}

fn a_lost_agent_is_said_to_owe_spans() {
    let (cluster, collector) = (Cluster::<2>::start(), collector());
    let load = "single --rate 40/s --duration 600s";
    let run = cluster.run_in(traced(&collector, "100%"), load);
    cluster.wait_for_load(80);
    let [first, second] = &cluster.agents;
    second.running.signal(Signal::KILL);
    let output = run.running.output().exits(102);
    let owes = |name: &str| {
        let words = format!("warning: agent {name} (");
        let mut lines = output.stderr.lines();
        lines.any(|line| {
            line.starts_with(&words) && line.ends_with("did not deliver all of its spans")
        })
    };
    assert!(owes(&second.name()) && !owes(&first.name()), "{output}");
    // What came is whole all the same.
    let (spans, seen) = (collected(&collector), seen(&cluster.target));
    for ((trace, id), span) in &spans {
        let parent = (trace.clone(), text(&span["parentSpanId"]));
        assert!(is_root(span) || spans.contains_key(&parent), "{span}");
        assert!(
            !is_request(span) || seen.contains(&(trace.clone(), id.clone())),
            "{span}"
        );
    }
    let roots = spans.values().filter(|span| is_root(span));
    let got: BTreeSet<_> = roots
        .map(|span| text(attribute(span, "loadtest.iteration")))
        .collect();
    let made = sampled(&first.sandbox);
    assert!(
        made.iter()
            .all(|iteration| got.contains(&iteration.to_string()))
    );
}

fn every_trial_of_a_search_has_its_spans() {
    let (target, collector) = (Server::recording(shop), collector());
    let sandbox = traced(&collector, "50%");
    let line = "journey --profile test --slo p95<9s --from 10/s --max 20/s --window 1s --confirm 1s --seed 7";
    let call = sandbox.call().arg("capacity").line(line);
    let call = call.args(["--export", "json=report.json"]);
    let output = call.args(["--base-url", &target.url()]).run().exits(0);
    let spans = assert_whole(&collector, &target);
    let told = format!("{0} of {0} spans delivered", spans.len());
    assert!(output.stderr.contains(&told), "{told}\n{output}");

    // Each trial has a seed of its own, by which its traces differ from those of the others.
    let record = sandbox.only_run().record();
    let trials = record.capacity.expect("a search").trials.len();
    assert!(trials >= 2, "{output}");
    let roots = spans.values().filter(|span| is_root(span));
    let seeds: BTreeSet<_> = roots
        .map(|span| text(attribute(span, "loadtest.seed")))
        .collect();
    let expected = (7..).take(trials).map(|seed: usize| seed.to_string());
    assert_eq!(seeds, expected.collect());
    assert_linked(&sandbox, &spans, &["slow_step"]);
    send_again(&sandbox, spans.len());
}
