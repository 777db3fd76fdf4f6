//! OTLP as the official messages of OpenTelemetry decode it.

use super::{measured, needing, sink};
use crate::call::Call;
use crate::project::ours;
use crate::site::{Sandbox, shop};
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use serde_json::Value;
use std::path::PathBuf;

pub(super) fn trials() -> Vec<Trial> {
    let python = python();
    vec![
        needing(
            &python,
            "otlp::both_encodings_are_what_the_official_messages_say",
            both_encodings,
        ),
        needing(&python, "otlp::deltas_add_up_to_the_record", deltas_add_up),
        needing(
            &python,
            "otlp::what_is_taken_in_part_is_told",
            taken_in_part,
        ),
    ]
}

/// The Python with `opentelemetry-proto`, which `.ci/run` installs.
pub(super) fn python() -> PathBuf {
    ours().join("otlp/bin/python")
}

/// Prints each message as canonical JSON, a line each; a field that is not of the schema is a failure.
const DECODE: &str = "
import json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service
for path in sys.argv[2:]:
    message = service.ExportMetricsServiceRequest()
    data = open(path, 'rb').read()
    if sys.argv[1] == 'json':
        json_format.Parse(data, message)
    else:
        message.ParseFromString(data)
        assert message.SerializeToString() == data, 'a field that the schema lacks'
    print(json.dumps(json_format.MessageToDict(message)))
";

/// The messages that a receiver got, decoded.
fn decode(sandbox: &Sandbox, receiver: &Server, encoding: &str) -> Vec<Value> {
    let mut call = Call::program(python(), sandbox.root()).args(["-c", DECODE, encoding]);
    for (number, request) in receiver.recorded().iter().enumerate() {
        assert_eq!(request.path, "/v1/metrics");
        let file = sandbox.root().join(format!("message-{number}"));
        std::fs::write(&file, &request.body).expect("our own file");
        call = call.arg(file);
    }
    let output = call.run().exits(0);
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The points of a metric.
fn points<'a>(message: &'a Value, name: &str, kind: &str) -> Vec<&'a Value> {
    let metrics = &message["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let metrics = metrics.as_array().into_iter().flatten();
    let found = metrics.filter(|metric| metric["name"] == name);
    let points = found.filter_map(|metric| metric[kind]["dataPoints"].as_array());
    points.flatten().collect()
}

fn run(sandbox: &Sandbox) {
    let target = Server::start(shop);
    sandbox
        .run("single --rate 20/s --duration 3s", &target)
        .run()
        .exits(0);
}

fn configured(receiver: &Server, more: &str) -> Sandbox {
    Sandbox::with(&sink(&format!(
        "format = \"otlp\"\nurl = \"{}\"\n{more}",
        receiver.url()
    )))
}

fn number(value: &Value) -> f64 {
    // A 0 is left out, and a whole number of 64 bits is a text.
    let text = value.as_str().and_then(|text| text.parse().ok());
    value.as_f64().or(text).unwrap_or(0.0)
}

fn both_encodings() {
    for encoding in ["protobuf", "json"] {
        let receiver = Server::recording(|_| Reply::status(200));
        let sandbox = configured(&receiver, &format!("encoding = \"{encoding}\""));
        run(&sandbox);
        let messages = decode(&sandbox, &receiver, encoding);
        let record = sandbox.record();
        let tally = measured(&record);
        let last = messages.last().expect("messages");
        let journeys = points(last, "loadtest.journeys", "sum");
        let sum: f64 = journeys
            .iter()
            .map(|point| number(&point["asDouble"]))
            .sum();
        assert_eq!(sum as u64, tally.journey.ok, "{encoding}");
        let response = points(last, "loadtest.step.response", "exponentialHistogram")[0];
        assert_eq!(
            number(&response["count"]) as u64,
            tally.steps[0].response.count()
        );
        let buckets = response["positive"]["bucketCounts"]
            .as_array()
            .expect("buckets");
        let counted: f64 = buckets.iter().map(number).sum();
        let all = counted + number(&response["zeroCount"]);
        assert_eq!(all as u64, tally.steps[0].response.count());
        let resource = last["resourceMetrics"][0]["resource"]["attributes"].to_string();
        assert!(resource.contains("service.name") && resource.contains(&sandbox.only_run().name()));
    }
}

fn deltas_add_up() {
    // One message fails for good: what it held comes with the next one.
    let receiver = Server::recording(|request| match request.sequence {
        1..6 => Reply::status(503),
        _ => Reply::status(200),
    });
    let sandbox = configured(&receiver, "temporality = \"delta\"");
    run(&sandbox);
    let taken = receiver.recorded();
    assert!(taken.len() > 6, "{}", taken.len());
    let messages = decode(&sandbox, &receiver, "protobuf");
    let messages = messages
        .iter()
        .enumerate()
        .filter(|(at, _)| !(1..6).contains(at));
    let (mut journeys, mut times) = (0.0, 0.0);
    for (_, message) in messages {
        let points_of_sum = points(message, "loadtest.journeys", "sum");
        journeys += points_of_sum
            .iter()
            .map(|point| number(&point["asDouble"]))
            .sum::<f64>();
        let histogram = points(message, "loadtest.step.response", "exponentialHistogram")[0];
        times += number(&histogram["count"]);
    }
    let record = sandbox.record();
    let tally = measured(&record);
    assert_eq!(
        (journeys as u64, times as u64),
        (tally.journey.ok, tally.steps[0].response.count())
    );
}

/// `ExportMetricsServiceResponse` with two points refused, and why.
const PARTIAL: &[u8] = b"\x0a\x0d\x08\x02\x12\x09too manyX";

fn taken_in_part() {
    let receiver = Server::recording(|_| Reply::status(200).body(PARTIAL));
    let sandbox = configured(&receiver, "");
    let target = Server::start(shop);
    let output = sandbox
        .run("single --rate 20/s --duration 3s", &target)
        .run()
        .exits(0);
    output.says(&["taken in part in second 0: 2 points refused: too manyX"]);
    super::assert_delivered(&sandbox.only_run().record());
}
