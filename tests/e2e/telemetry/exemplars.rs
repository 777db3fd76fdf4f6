//! Examples of times: each receiver gets the slowest sampled execution of each step and second, by the trace that the
//! target saw.

use super::receivers::{Prometheus, fetch_openmetrics, free_address};
use super::{needing, otlp, sink};
use crate::call::{Call, wait_for};
use crate::site::{RunFolder, Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::metrics::Frame;
use loadtest_model::protocol::JournalLine;
use loadtest_model::trace::TracePoint;
use loadtest_tests::{Reply, Request, Server};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

pub(super) fn trials() -> Vec<Trial> {
    let mut trials =
        trials![needing "prometheus": prometheus_leads_from_its_histograms_to_the_traces,];
    trials.push(needing(
        Path::new(PYTHON),
        "exemplars::a_page_has_them_as_openmetrics_wants",
        page_has_them,
    ));
    trials.push(needing(
        &otlp::python(),
        "exemplars::a_collector_gets_each_one_once_in_both_encodings",
        collector_gets_each_once,
    ));
    trials
}

/// That of the system has `prometheus_client`, by Debian's `python3-prometheus-client`.
const PYTHON: &str = "/usr/bin/python3";

const LOAD: &str = "journey --rate 30/s --duration 3s --trace 100%";

/// Answers after some milliseconds, a different number each.
fn slow_shop(request: &Request) -> Reply {
    shop(request).delay(Duration::from_millis(2 + request.sequence * 7 % 40))
}

/// Trace, span and microseconds.
type Example = (String, String, u64);

/// The slowest sampled execution of each step and second.
fn expected(run: &RunFolder) -> BTreeSet<Example> {
    let journal = run.journal(1);
    let lines = journal.lines().map(serde_json::from_str);
    let mut all = BTreeSet::new();
    for line in lines {
        if let JournalLine::Frame(frame) = line.expect("a line") {
            all.extend(examples_of(&frame));
        }
    }
    assert!(all.len() >= 3, "three steps: {all:?}");
    all
}

fn examples_of(frame: &Frame) -> Vec<Example> {
    let mut all = frame.windows.steady.clone();
    all.merge(&frame.windows.ramp);
    let slowest = all.steps.iter().map(|step| step.traced);
    let example = |point: TracePoint| {
        (
            point.trace_id.to_string(),
            point.span_id.to_string(),
            point.time_us,
        )
    };
    slowest.flatten().map(example).collect()
}

/// The traces of all requests, each of which says that it is sampled.
fn seen(target: &Server) -> BTreeSet<String> {
    let header = |request: &Request| {
        let header = request.header("traceparent").expect("a trace");
        let parts: Vec<_> = header.split('-').collect();
        assert_eq!(parts[3], "01");
        parts[1].to_owned()
    };
    target.recorded().iter().map(header).collect()
}

fn example(trace: &Value, span: &Value, seconds: f64) -> Example {
    let text = |id: &Value| id.as_str().expect("an id").to_owned();
    (text(trace), text(span), (seconds * 1e6).round() as u64)
}

fn prometheus_leads_from_its_histograms_to_the_traces() {
    let page = free_address();
    let prometheus = Prometheus::start(Some(page));
    let sandbox = Sandbox::with(&format!(
        "{}{}",
        sink(&format!(
            "format = \"remote-write\"\nurl = \"{}\"\nhistograms = \"both\"\ninterval = \"2s\"",
            prometheus.write_url()
        )),
        sink(&format!("format = \"prometheus\"\nlisten = \"{page}\"")),
    ));
    let target = Server::recording(slow_shop);
    sandbox.run(LOAD, &target).run().exits(0);
    let wanted = expected(&sandbox.only_run());
    let traces = seen(&target);
    for (series, job) in [("_bucket", ""), ("", ""), ("_bucket", "scraped")] {
        let query = format!("loadtest_step_response_seconds{series}{{job=\"{job}\"}}");
        // Prometheus keeps what it scraped after the page has sent it.
        let answer = wait_for("exemplars", || {
            Some(prometheus.exemplars(&query)).filter(|answer| !answer.is_empty())
        });
        let all = answer.iter().flat_map(|one| {
            let step = &one["seriesLabels"]["step"];
            assert!(step.is_string(), "{one}");
            one["exemplars"].as_array().into_iter().flatten()
        });
        let found: BTreeSet<Example> = all
            .map(|one| {
                let seconds = one["value"].as_str().expect("a value").parse();
                let labels = &one["labels"];
                example(
                    &labels["trace_id"],
                    &labels["span_id"],
                    seconds.expect("a number"),
                )
            })
            .collect();
        assert!(!found.is_empty(), "{query}");
        assert!(found.iter().all(|(trace, ..)| traces.contains(trace)));
        // Of a bucket a page shows the newest one only, as an interval of two seconds does.
        assert!(found.is_subset(&wanted), "{query}: {found:?}\n{wanted:?}");
    }
}

/// Prints series and examples of a page.
const READ_PAGE: &str = "
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        if sample.exemplar:
            one = sample.exemplar
            print(json.dumps([sample.name, sample.labels, one.labels, one.value, float(one.timestamp)]))
";

fn page_has_them() {
    let page = free_address();
    let sandbox = Sandbox::with(&sink(&format!(
        "format = \"prometheus\"\nlisten = \"{page}\""
    )));
    let target = Server::recording(slow_shop);
    let mut running = sandbox.run(LOAD, &target).start();
    running.wait_until_it_says("waiting for a last scrape");
    let text = fetch_openmetrics(page, "/metrics");
    running.output().exits(0);
    std::fs::write(sandbox.root().join("page.txt"), &text).expect("our own file");
    let reader = format!("{PYTHON} -c \"$0\" < page.txt");
    let output = Call::program("sh", sandbox.root())
        .args(["-c", &reader, READ_PAGE])
        .run()
        .exits(0);
    let run = sandbox.only_run();
    let record = run.scenario();
    let started: jiff::Timestamp = record.start.started_at.parse().expect("a time");
    // The start is told in whole seconds.
    let length = record.end.elapsed_us as f64 / 1e6 + 1.0;
    let (wanted, traces) = (expected(&run), seen(&target));
    let mut found = BTreeSet::new();
    for line in output.stdout.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line[0], "loadtest_step_response_seconds_bucket");
        let (seconds, at) = (line[3].as_f64(), line[4].as_f64());
        let (seconds, at) = (seconds.expect("a value"), at.expect("a time"));
        let limit = line[1]["le"].as_str().expect("a boundary");
        assert!(limit == "+Inf" || seconds <= limit.parse().expect("a number"));
        let since = at - started.as_second() as f64;
        assert!((0.0..=length).contains(&since), "{line}");
        let one = example(&line[2]["trace_id"], &line[2]["span_id"], seconds);
        assert!(traces.contains(&one.0), "{line}");
        found.insert(one);
    }
    assert!(found.len() >= 3 && found.is_subset(&wanted), "{found:?}");
}

/// Prints the examples of each message, a line each.
const DECODE: &str = "
import base64, json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service
def walk(value):
    if isinstance(value, list):
        return [walk(one) for one in value]
    if isinstance(value, dict):
        to_base64 = lambda text: base64.b64encode(bytes.fromhex(text)).decode()
        return {key: to_base64(one) if key in ('traceId', 'spanId') else walk(one) for key, one in value.items()}
    return value
for path in sys.argv[2:]:
    message = service.ExportMetricsServiceRequest()
    data = open(path, 'rb').read()
    if sys.argv[1] == 'json':
        json_format.ParseDict(walk(json.loads(data)), message)
    else:
        message.ParseFromString(data)
        assert message.SerializeToString() == data, 'a field that the schema lacks'
    for metric in message.resource_metrics[0].scope_metrics[0].metrics:
        for point in metric.exponential_histogram.data_points:
            for one in point.exemplars:
                assert point.start_time_unix_nano <= one.time_unix_nano <= point.time_unix_nano
                print(json.dumps([metric.name, one.trace_id.hex(), one.span_id.hex(), one.as_double]))
";

fn collector_gets_each_once() {
    for (encoding, temporality) in [("protobuf", "delta"), ("json", "cumulative")] {
        let collector = Server::recording(|_| Reply::status(200));
        let sandbox = Sandbox::with(&sink(&format!(
            "format = \"otlp\"\nurl = \"{}\"\nencoding = \"{encoding}\"\ntemporality = \"{temporality}\"",
            collector.url()
        )));
        let target = Server::recording(slow_shop);
        sandbox.run(LOAD, &target).run().exits(0);
        let mut call = Call::program(otlp::python(), sandbox.root()).args(["-c", DECODE, encoding]);
        let recorded = collector.recorded();
        let figures = recorded.iter().filter(|one| one.path == "/v1/metrics");
        for (number, request) in figures.enumerate() {
            let file = sandbox.root().join(format!("message-{number}"));
            std::fs::write(&file, &request.body).expect("our own file");
            call = call.arg(file);
        }
        let output = call.run().exits(0);
        let mut found = Vec::new();
        for line in output.stdout.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(line[0], "loadtest.step.response");
            found.push(example(
                &line[1],
                &line[2],
                line[3].as_f64().expect("seconds"),
            ));
        }
        found.sort();
        let wanted: Vec<_> = expected(&sandbox.only_run()).into_iter().collect();
        assert_eq!(found, wanted, "{encoding}");
        let traces = seen(&target);
        assert!(found.iter().all(|(trace, ..)| traces.contains(trace)));
    }
}
