//! A real Prometheus, which is written to and which scrapes.

use super::receivers::{Prometheus, fetch, free_address};
use super::{assert_delivered, measured, sink};
use crate::call::{Call, wait_for};
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use std::time::Duration;

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = trials![needing "prometheus":
        what_is_written_and_scraped_agrees_with_the_record,
        one_that_is_down_in_the_middle_agrees_in_the_end,
        an_earlier_run_fills_what_is_missing,
    ];
    trials.extend(trials![needing "promtool": a_page_is_as_promtool_wants_it,]);
    trials
}

/// Answers after some milliseconds, a different number each.
fn slow_shop(request: &Request) -> Reply {
    let delay = Duration::from_millis(2 + request.sequence * 7 % 40);
    shop(request).delay(delay)
}

fn what_is_written_and_scraped_agrees_with_the_record() {
    let page = free_address();
    let prometheus = Prometheus::start(Some(page));
    let sandbox = Sandbox::with(&format!(
        "{}{}",
        sink(&format!(
            "format = \"remote-write\"\nurl = \"{}\"\nhistograms = \"both\"",
            prometheus.write_url()
        )),
        sink(&format!("format = \"prometheus\"\nlisten = \"{page}\"")),
    ));
    let target = Server::start(slow_shop);
    sandbox
        .run("journey --rate 30/s --duration 5s", &target)
        .run()
        .exits(0)
        .says(&["the last with the final figures"]);
    let run = sandbox.only_run();
    assert_delivered(&run.record());
    let record = run.scenario();
    let tally = measured(&record);
    for job in ["", "scraped"] {
        let value = |series: &str, labels: &str| {
            let labels = format!("job=\"{job}\",run=\"{}\"{labels}", run.name());
            prometheus.value(&format!("last_over_time({series}{{{labels}}}[10m])"))
        };
        let journeys = value("loadtest_journeys_total", ",result=\"ok\"");
        assert_eq!(journeys as u64, tally.journey.ok, "{job}");
        for (step, counts) in record.start.definition.steps.iter().zip(&tally.steps) {
            let step = format!(",step=\"{}\"", step.name);
            let received = value("loadtest_step_received_bytes_total", &step);
            assert_eq!(received as u64, counts.received_bytes);
            let count = value("loadtest_step_response_seconds_count", &step);
            assert_eq!(count as u64, counts.response.count());
            // T is a boundary, so that the share within it is exact.
            let limit = record.start.plan.grading[0].target;
            let within = format!("{step},le=\"{}\"", limit.as_secs_f64());
            let within = value("loadtest_step_response_seconds_bucket", &within);
            assert_eq!(within as u64, counts.response.count_at_most(limit));
        }
    }
    // Over the whole run, from the zero that a new series begins with.
    for (step, counts) in record.start.definition.steps.iter().zip(&tally.steps) {
        let query = format!(
            "histogram_quantile(0.95, sum(rate(loadtest_step_response_seconds{{step=\"{}\"}}[10m])))",
            step.name
        );
        let expected = counts.response.quantile(0.95).expect("times").as_secs_f64();
        let found = prometheus.value(&query);
        assert!(
            (found / expected - 1.0).abs() < 0.05,
            "{found} and {expected}"
        );
    }
    // A series that ended is not drawn on.
    let stale = prometheus.query("loadtest_journeys_total{job=\"\"}");
    assert!(stale.is_empty(), "{stale:?}");
}

fn one_that_is_down_in_the_middle_agrees_in_the_end() {
    let mut prometheus = Prometheus::start(None);
    let sandbox = Sandbox::with(&sink(&format!(
        "format = \"remote-write\"\nurl = \"{}\"\nhistograms = \"both\"",
        prometheus.write_url()
    )));
    let target = Server::start(shop);
    let running = sandbox
        .run("single --rate 50/s --duration 8s", &target)
        .start();
    let begun = "count(loadtest_journeys_total)";
    wait_for("the first figures", || {
        (!prometheus.query(begun).is_empty()).then_some(())
    });
    prometheus.kill();
    let requests = target.requests();
    wait_for("two seconds without it", || {
        (target.requests() > requests + 100).then_some(())
    });
    prometheus.restart();
    running.output().exits(0);
    let record = sandbox.record();
    let tally = measured(&record);
    let value = |series: &str| prometheus.value(&format!("last_over_time({series}[10m])"));
    let journeys = value("loadtest_journeys_total{result=\"ok\"}");
    assert_eq!(journeys as u64, tally.journey.ok);
    let count = value("loadtest_step_response_seconds_count{step=\"ask\"}");
    assert_eq!(count as u64, tally.steps[0].response.count());
    let native = "max_over_time(histogram_count(loadtest_step_response_seconds)[10m:1s])";
    assert_eq!(
        prometheus.value(native) as u64,
        tally.steps[0].response.count()
    );
}

fn an_earlier_run_fills_what_is_missing() {
    let target = Server::start(shop);
    let sandbox = Sandbox::new();
    sandbox
        .run("single --rate 50/s --duration 3s", &target)
        .run()
        .exits(0);
    let prometheus = Prometheus::start(None);
    let to = format!("--send remote-write={}", prometheus.write_url());
    let send = || sandbox.call().arg("send").line(&to).run();
    send().exits(0).says(&["intervals delivered"]);
    let journeys = prometheus.value("last_over_time(loadtest_journeys_total{result=\"ok\"}[10m])");
    assert_eq!(journeys as u64, 150);
    // It takes nothing older than what it has, and the tool says so.
    let again = send().exits(1);
    again.says(&[
        "others may follow: 400 Bad Request",
        "dropped (400 Bad Request",
    ]);
}

fn a_page_is_as_promtool_wants_it() {
    let page = free_address();
    let sandbox = Sandbox::with(&sink(&format!(
        "format = \"prometheus\"\nlisten = \"{page}\""
    )));
    let target = Server::start(shop);
    let mut running = sandbox.run("journey --iterations 20", &target).start();
    running.wait_until_it_says("waiting for a last scrape");
    let text = fetch(page, "/metrics");
    running.output().exits(0);
    let file = sandbox.root().join("page.txt");
    std::fs::write(&file, &text).expect("our own file");
    let check =
        Call::program("sh", sandbox.root()).args(["-c", "promtool check metrics < page.txt"]);
    let output = check.run().exits(0);
    assert_eq!((&*output.stdout, &*output.stderr), ("", ""), "{text}");
}
