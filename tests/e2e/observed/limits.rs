//! Limits of the target's side: broken, unknown, and those that end a run.

use super::{LOAD, page, series, source};
use crate::cluster::run::Cluster;
use crate::site::{Sandbox, assert_balanced, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::record::EndReason;
use loadtest_tests::{Reply, Server};
use serde_json::Value;

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = trials![
        a_broken_limit_fails_the_run,
        a_limit_that_holds_passes,
        a_figure_per_request_is_divided_by_what_was_sent,
        the_slo_of_a_search_has_conditions_on_what_is_observed,
        a_condition_of_a_search_has_to_be_on_what_is_observed,
        a_source_that_falls_silent_holds_no_limit,
        a_source_with_a_limit_has_to_answer_before_the_run,
        a_limit_with_abort_ends_the_run,
    ];
    trials.extend(trials![needing "nats-server": a_limit_ends_the_run_of_a_cluster,]);
    trials
}

/// A page whose figure grows by one with every request.
fn growing() -> Server {
    Server::recording(|request| Reply::text(format!("jobs {}\n", request.sequence)))
}

fn a_broken_limit_fails_the_run() {
    let page = page("jobs 7\n");
    let limit = ", unit = \"jobs\", limit = \"max < 5\"";
    let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", limit));
    let target = Server::start(shop);
    let exports = "--export json --export junit --export openmetrics";
    let output = sandbox.run(&format!("{LOAD} {exports}"), &target).run();
    let why = "max of `queue`: 7 jobs, and must be < 5 jobs";
    output.exits(99).prints(&["FAILED", why]);
    let run = sandbox.only_run();
    assert_eq!(run.scenario().end.ending, EndReason::Completed);
    let report: Value = serde_json::from_str(&run.text("report.json")).expect("JSON");
    let reasons = &report["cards"][0]["reasons"];
    assert_eq!(reasons[0]["kind"], "observed", "{reasons}");
    assert_eq!(reasons[0]["words"], why);
    let row = &report["cards"][0]["observed"][0];
    assert_eq!(row["limit"], "max < 5 jobs");
    assert_eq!(row["holds"], false);
    let junit = run.text("junit.xml");
    assert!(junit.contains("observed: queue max &lt; 5 jobs"), "{junit}");
    assert!(junit.contains("type=\"observed\""), "{junit}");
    assert!(run.text("report.html").contains("max &lt; 5 jobs"));
    // The record has all that is needed to judge it again.
    let again = sandbox.call().line("report latest").run();
    again.exits(99).prints(&[why]);
}

fn a_limit_that_holds_passes() {
    let page = page("jobs 7\n");
    let limit = ", limit = \"mean <= 7\"";
    let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", limit));
    let target = Server::start(shop);
    sandbox.run(LOAD, &target).run().exits(0);
}

fn a_figure_per_request_is_divided_by_what_was_sent() {
    let page = growing();
    let more = ", name = \"cpu\", as = \"rate\", per = \"request\", unit = \"cores\", limit = \"mean < 1us\"";
    let sandbox = Sandbox::with(&source("db", &page.url(), "jobs", more));
    let target = Server::start(shop);
    let output = sandbox.run(&format!("{LOAD} --export json"), &target).run();
    let limit = "/request, and must be < 1 µs/request";
    output.exits(99).prints(&["mean of `db cpu`: ", limit]);
    let run = sandbox.only_run();
    let record = run.scenario();
    let divided = series(&record, "db cpu");
    assert_eq!(divided.unit, "s/request");
    assert!(!divided.points.is_empty());
    for point in &divided.points {
        // The figure grows by one with every reading, and so is what was used between two.
        let used = point.mean * f64::from(point.count);
        assert!((used - 1.0).abs() < 1e-5, "{point:?}");
    }
    let counts = divided.points.iter().map(|point| u64::from(point.count));
    assert!(counts.sum::<u64>() <= target.requests());
    let report: Value = serde_json::from_str(&run.text("report.json")).expect("JSON");
    let row = &report["cards"][0]["observed"][0];
    assert_eq!(row["limit"], "mean < 1 µs/request");
    let sum = divided.points.iter().copied().reduce(|mut sum, point| {
        sum.merge(point);
        sum
    });
    assert_eq!(row["mean"].as_f64(), sum.map(|sum| sum.mean));
}

fn the_slo_of_a_search_has_conditions_on_what_is_observed() {
    let page = page("jobs 7\n");
    let target = Server::start(shop);
    let search = |slo: &str| {
        let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", ", unit = \"jobs\""));
        let line = "site::load::single --from 10/s --max 20/s --window 3s --confirm 3s --ramp-up 0s \
                    --rest 0s --export json";
        let call = sandbox.tool("capacity", line);
        let output = call.args(["--slo", slo, "--base-url", &target.url()]).run();
        (sandbox, output)
    };
    let (sandbox, output) = search("p95 < 10s, observed(queue).max < 8");
    output
        .exits(0)
        .prints(&["observed(queue).max < 8 jobs", "queue max"]);
    let run = sandbox.only_run();
    let report: Value = serde_json::from_str(&run.text("report.json")).expect("JSON");
    let trials = report["capacity"]["trials"].as_array().expect("trials");
    for trial in trials {
        let last = trial["slo"].as_array().expect("conditions").last();
        let last = last.expect("a condition");
        assert_eq!(last["words"], "7 jobs");
        assert_eq!(last["held"], true);
    }
    let (sandbox, output) = search("observed(queue).mean < 7, p95 < 10s");
    let why = "mean of `queue`: 7 jobs, and must be < 7 jobs";
    output.exits(99).says(&[why]).prints(&["NOT MET"]);
    let files = std::fs::read_dir(sandbox.only_run().0)
        .expect("a folder")
        .flatten();
    let left = files.filter(|file| file.file_name().to_string_lossy().starts_with("observed"));
    assert_eq!(left.count(), 0);
}

fn a_condition_of_a_search_has_to_be_on_what_is_observed() {
    let page = Server::start(|_| Reply::status(503));
    let target = Server::start(shop);
    let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", ""));
    let search = |slo: &str| {
        let call = sandbox.tool("capacity", "site::load::single");
        call.args(["--slo", slo, "--base-url", &target.url()]).run()
    };
    search("observed(quue).max < 8, observed(db).max < 1, observed(queue).p95 < 1")
        .exits(2)
        .says(&[
            "no observed figure has the name `quue`; did you mean `queue`?",
            "there is `queue`, `target cpu`, `target memory`",
            "`p95 < 1` is a limit of `p95`, which is not a statistic",
        ]);
    let unanswered = format!("observe `queue`, {}: 503 Service Unavailable", page.url());
    search("observed(queue).max < 8")
        .exits(2)
        .says(&[&unanswered]);
    assert_eq!(target.requests(), 0);
    assert!(sandbox.runs().is_empty());
}

fn a_source_that_falls_silent_holds_no_limit() {
    let page = Server::start(|request| match request.sequence {
        0 => Reply::text("jobs 1\n"),
        _ => Reply::status(503),
    });
    let limit = ", limit = \"max < 5\"";
    let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", limit));
    let target = Server::start(shop);
    let output = sandbox.run(LOAD, &target).run();
    output.exits(99).prints(&[
        "max of `queue` is not known, and must be < 5: values cover only 0 of ",
        "503 Service Unavailable",
    ]);
}

fn a_source_with_a_limit_has_to_answer_before_the_run() {
    let page = Server::start(|_| Reply::status(503));
    let limit = ", limit = \"max < 5\"";
    let sources = [
        source("queue", &page.url(), "jobs", limit),
        source("other", &page.url(), "jobs", limit),
        source("free", &page.url(), "jobs", ""),
    ];
    let sandbox = Sandbox::with(&sources.concat());
    let target = Server::start(shop);
    let output = sandbox.run(LOAD, &target).run();
    output.exits(2).has_one_error().says(&[
        &format!("observe `queue`, {}: 503 Service Unavailable", page.url()),
        &format!("observe `other`, {}: 503 Service Unavailable", page.url()),
        "warning: observe `free`",
        "leave its `limit` out",
    ]);
    assert!(sandbox.runs().is_empty());
    assert_eq!(target.requests(), 0);
}

fn a_limit_with_abort_ends_the_run() {
    let page = growing();
    let limit = ", unit = \"jobs\", limit = \"max < 3 or abort\"";
    let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", limit));
    let target = Server::start(shop);
    let output = sandbox
        .run("single --rate 20/s --duration 600s", &target)
        .run();
    let why = "max of `queue`: 3 jobs, and must be < 3 jobs";
    output
        .exits(99)
        .prints(&["FAILED", "given up after ", why])
        .says(&[&format!("given up: {why}")]);
    let record = sandbox.record();
    assert_balanced(&record);
    let EndReason::ObservedBroken { after_us, reason } = &record.end.ending else {
        panic!("{:?}", record.end.ending);
    };
    assert_eq!(&**reason, why);
    assert_eq!(after_us % 1_000_000, 0, "once a second");
    assert!(record.end.planned < 12_000, "{}", record.end.planned);
}

fn a_limit_ends_the_run_of_a_cluster() {
    let cluster = Cluster::<2>::start();
    let page = growing();
    let limit = ", limit = \"max < 3 or abort\"";
    let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", limit));
    let run = cluster.run_in(sandbox, "single --rate 40/s --duration 600s");
    run.running.output().exits(99);
    let record = run.sandbox.record();
    assert!(
        matches!(record.end.ending, EndReason::ObservedBroken { .. }),
        "{:?}",
        record.end.ending
    );
    assert!(!series(&record, "queue").points.is_empty());
    cluster.assert_is_sum(&record);
}
