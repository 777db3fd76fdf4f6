//! Traces: the header that a service gets, the spans that a collector gets, and the link of the report tell the same ids.

use super::{needing, otlp, sink};
use crate::call::Call;
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::protocol::SpanLine;
use loadtest_tests::{Reply, Request, Server};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = trials![
        a_second_run_with_the_seed_samples_the_same_journeys,
        a_collector_that_fails_for_spans_costs_its_line_and_gets_them_later,
        what_is_wrong_with_traces_is_told_before_the_run,
    ];
    trials.push(needing(
        &otlp::python(),
        "traces::header_spans_and_link_have_one_id_in_both_encodings",
        one_id_in_both_encodings,
    ));
    trials
}

/// Prints each message as JSON, a line each; ids are hexadecimal.
const DECODE: &str = "
import base64, json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service
def walk(value, change):
    if isinstance(value, list):
        return [walk(one, change) for one in value]
    if isinstance(value, dict):
        return {key: change(one) if key in ('traceId', 'spanId', 'parentSpanId') else walk(one, change)
                for key, one in value.items()}
    return value
to_base64 = lambda text: base64.b64encode(bytes.fromhex(text)).decode()
to_hex = lambda text: base64.b64decode(text).hex()
for path in sys.argv[2:]:
    message = service.ExportTraceServiceRequest()
    data = open(path, 'rb').read()
    if sys.argv[1] == 'json':
        json_format.ParseDict(walk(json.loads(data), to_base64), message)
    else:
        message.ParseFromString(data)
        assert message.SerializeToString() == data, 'a field that the schema lacks'
    print(json.dumps(walk(json_format.MessageToDict(message), to_hex)))
";

/// The spans that a collector got.
fn decode(sandbox: &Sandbox, collector: &Server, encoding: &str) -> Vec<Value> {
    let mut call = Call::program(otlp::python(), sandbox.root()).args(["-c", DECODE, encoding]);
    let recorded = collector.recorded();
    let messages = recorded
        .iter()
        .filter(|request| request.path == "/v1/traces");
    for (number, request) in messages.enumerate() {
        let file = sandbox.root().join(format!("spans-{number}"));
        std::fs::write(&file, &request.body).expect("our own file");
        call = call.arg(file);
    }
    let output = call.run().exits(0);
    let messages = output.stdout.lines();
    let messages = messages.map(|line| serde_json::from_str(line).expect("JSON"));
    let spans = |message: Value| {
        let scope = &message["resourceSpans"][0]["scopeSpans"][0];
        scope["spans"].as_array().cloned().unwrap_or_default()
    };
    messages.flat_map(spans).collect()
}

pub(super) fn traceparent(request: &Request) -> (&str, &str, bool) {
    let header = request.header("traceparent").expect("a trace");
    let parts: Vec<_> = header.split('-').collect();
    (parts[1], parts[2], parts[3] == "01")
}

/// The value of an attribute.
pub(super) fn attribute<'a>(span: &'a Value, name: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().into_iter().flatten();
    let mut found = attributes.filter(|one| one["key"] == name);
    found.next().map_or(&Value::Null, |one| {
        let value = &one["value"];
        if value["stringValue"].is_null() {
            &value["intValue"]
        } else {
            &value["stringValue"]
        }
    })
}

/// Answers as the shop does, but for every third order.
pub(super) fn failing_shop(request: &Request) -> Reply {
    if request.path == "/orders" && request.sequence.is_multiple_of(3) {
        return Reply::status(500).body("canary-answer");
    }
    shop(request)
}

const LOAD: &str = "journey --iterations 40 --users 2 --seed 7 --trace 50% --export json=report.json --export markdown=report.md";

fn one_id_in_both_encodings() {
    for encoding in ["protobuf", "json"] {
        let collector = Server::recording(|_| Reply::status(200));
        let target = Server::recording(failing_shop);
        let mut config = sink(&format!(
            "format = \"otlp\"\nurl = \"{}\"\nencoding = \"{encoding}\"",
            collector.url()
        ));
        let _ = writeln!(
            config,
            "[traces]\nlink = \"http://127.0.0.1:16686/trace/{{trace_id}}\""
        );
        let sandbox = Sandbox::with(&config);
        let output = sandbox.run(LOAD, &target).run().exits(99);
        let spans = decode(&sandbox, &collector, encoding);
        let told = format!("{0} of {0} spans delivered", spans.len());
        assert!(output.stderr.contains(&told), "{told}\n{output}");

        // Every request of a sampled journey has its span, and no other has one.
        let requests = target.recorded();
        let seen: BTreeSet<_> = (requests.iter().map(traceparent))
            .filter(|(.., is_sampled)| *is_sampled)
            .map(|(trace, span, _)| (trace.to_owned(), span.to_owned()))
            .collect();
        let by_id: BTreeMap<_, _> = (spans.iter())
            .map(|span| ((text(&span["traceId"]), text(&span["spanId"])), span))
            .collect();
        let clients = by_id
            .iter()
            .filter(|(_, span)| span["kind"] == "SPAN_KIND_CLIENT");
        let clients: BTreeSet<_> = clients.map(|(id, _)| id.clone()).collect();
        assert!(
            seen.len() > 20 && seen.len() < requests.len(),
            "{}",
            seen.len()
        );
        assert_eq!(clients, seen, "{encoding}");

        // Each has a parent in its own trace, up to the journey, and is no longer than that.
        let time = |span: &Value, name: &str| text(&span[name]).parse::<u64>().expect("a time");
        for ((trace, _), span) in &by_id {
            let parent = (trace.clone(), text(&span["parentSpanId"]));
            if parent.1.is_empty() {
                assert_eq!(attribute(span, "loadtest.seed"), "7");
                continue;
            }
            let parent = by_id[&parent];
            assert!(time(parent, "startTimeUnixNano") <= time(span, "startTimeUnixNano"));
            assert!(time(span, "endTimeUnixNano") <= time(parent, "endTimeUnixNano"));
        }
        let failed = spans
            .iter()
            .find(|span| attribute(span, "error.type") == "status");
        assert_eq!(
            failed.expect("a failed step")["status"]["code"],
            "STATUS_CODE_ERROR"
        );
        let show = spans
            .iter()
            .find(|span| text(&span["name"]).starts_with("GET /orders/"));
        let show = show.expect("a request of `show`");
        assert_eq!(
            attribute(show, "url.template"),
            "/orders/{{order.response.id}}"
        );
        assert_eq!(attribute(show, "http.response.status_code"), "200");

        // The report leads to traces that the collector has.
        let report = std::fs::read_to_string(sandbox.root().join("report.json")).expect("a report");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        let traces = report["cards"][0]["traces"].as_array().expect("traces");
        let kinds: BTreeSet<_> = traces.iter().map(|row| text(&row["what"])).collect();
        // Which of the slowest journeys are sampled is chance.
        for kind in ["first_failure", "slow_step"] {
            assert!(kinds.contains(kind), "{kinds:?}");
        }
        let page = std::fs::read_to_string(sandbox.root().join("report.md")).expect("a page");
        for row in traces {
            let id = (text(&row["trace_id"]), text(&row["span_id"]));
            assert!(by_id.contains_key(&id), "{row}");
            let link = format!("http://127.0.0.1:16686/trace/{}", id.0);
            assert_eq!(row["link"], *link);
            assert!(page.contains(&format!("(<{link}>)")), "{page}");
        }
        let remark = "traced: ";
        assert!(page.contains(remark), "{page}");

        // Neither a secret nor what was sent or answered is told.
        for request in collector.recorded() {
            let body = String::from_utf8_lossy(&request.body);
            let url = target.url();
            // As it is, and within a text of JSON. No id has such letters.
            let canaries = ["canary", "Bearer", "user\"", "user\\\"", &url, "/orders/1"];
            for canary in canaries {
                assert!(!body.contains(canary), "{canary}: {body}");
            }
        }
    }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The iterations whose spans a run kept.
pub(super) fn sampled(sandbox: &Sandbox) -> BTreeSet<u64> {
    let file = sandbox.only_run().0.join("spans-1.jsonl");
    let lines = std::fs::read_to_string(file).expect("spans");
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line"));
    lines
        .filter_map(|line| match line {
            SpanLine::Journey(journey) => Some(journey.iteration),
            _ => None,
        })
        .collect()
}

fn a_second_run_with_the_seed_samples_the_same_journeys() {
    let target = Server::start(shop);
    let of_run = |seed: u64| {
        let sandbox =
            Sandbox::with("[traces]\npropagate = true\nsample = \"10%\"\nat_most = \"5/s\"\n");
        let load = format!("single --rate 100/s --duration 2s --seed {seed}");
        sandbox.run(&load, &target).run().exits(0);
        sampled(&sandbox)
    };
    let one = of_run(7);
    assert_eq!(one.len(), 10, "{one:?}");
    assert_eq!(one.iter().filter(|iteration| **iteration < 100).count(), 5);
    assert_eq!(of_run(7), one);
    assert_ne!(of_run(8), one);
}

fn a_collector_that_fails_for_spans_costs_its_line_and_gets_them_later() {
    let failing = Server::start(|request| match &*request.path {
        "/v1/traces" => Reply::status(500),
        _ => Reply::status(200),
    });
    let hanging = Server::start(|request| match &*request.path {
        "/v1/traces" => Reply::hang(),
        _ => Reply::status(200),
    });
    let target = Server::start(shop);
    let sandbox = Sandbox::new();
    let places = [
        format!("otlp={}", failing.url()),
        format!("otlp={}", hanging.url()),
    ];
    let output = sandbox
        .run("single --iterations 30 --users 1 --trace 100%", &target)
        .args(["--send", &places[0], "--send", &places[1]])
        .run()
        .exits(0);
    super::assert_measured(&sandbox, 30);
    for (number, reason) in [(1, "500 Internal Server Error"), (2, "no answer in time")] {
        let line = format!("telemetry {number}, otlp ");
        let mut lines = output.stderr.lines();
        let line = lines.find(|said| {
            said.contains(&line) && said.contains("0 of 90 spans delivered, 90 dropped")
        });
        assert!(line.is_some_and(|line| line.contains(reason)), "{output}");
    }
    let record = sandbox.only_run().record();
    for sink in &record.telemetry {
        assert_eq!(
            sink.delivered, sink.intervals,
            "figures are not held up: {sink:?}"
        );
        assert_eq!((sink.spans, sink.spans_delivered), (90, 0));
    }
    let collector = Server::recording(|_| Reply::status(200));
    let place = format!("otlp={}", collector.url());
    let sent = Call::tool(sandbox.root())
        .args(["send", "latest", "--send", &place])
        .run();
    sent.exits(0).says(&["; 90 of 90 spans delivered"]);
    assert!(collector.requests_to("/v1/traces") > 0);
}

fn what_is_wrong_with_traces_is_told_before_the_run() {
    let target = Server::start(shop);
    let sandbox = Sandbox::with("[traces]\nsample = \"200%\"\nlink = \"http://h/{id}\"\n");
    let output = sandbox.run("single", &target).run().exits(2);
    output.says(&[
        "line 4: ",
        "use at most `100%`",
        "line 5: ",
        "unknown placeholder `{id}`",
    ]);
    let output = Sandbox::new().run("single --trace 1", &target).run();
    output.exits(2).says(&["write `1%`"]);
    assert_eq!(target.requests(), 0);
}
