//! Pages in the format of Prometheus, good and bad.

use super::{LOAD, assert_always, assert_once_a_second, page, series, source, values};
use crate::site::{Sandbox, assert_balanced, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use serde_json::Value;
use std::fmt::Write as _;

pub(super) fn trials() -> Vec<Trial> {
    trials![
        figures_of_a_page_are_in_every_report,
        bad_pages_cost_their_own_figures_and_nothing_else,
        scenarios_that_run_at_once_have_the_same_figures,
        a_search_has_the_highest_value_of_each_trial,
    ]
}

/// Counters that grow with every request, and values that do not.
fn node() -> Server {
    Server::recording(|request| {
        let seconds = request.sequence * 2;
        Reply::text(format!(
            "# TYPE cpu_seconds_total counter\n\
             cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {}\n\
             cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {seconds}\n\
             cpu_seconds_total{{cpu=\"1\",mode=\"user\"}} {seconds}\n\
             memory_bytes{{zone=\"a\"}} 1e9\nmemory_bytes{{zone=\"b\"}} 5e8\nempty NaN\n",
            seconds * 100
        ))
    })
}

fn figures_of_a_page_are_in_every_report() {
    let node = node();
    let sandbox = Sandbox::with(&format!(
        "[[observe]]\nname = \"node\"\nscrape = \"{}/metrics\"\nmetrics = [\n\
         {{ name = \"cpu\", family = \"cpu_seconds_total\", where = {{ mode = \"!idle\" }}, as = \"rate\", unit = \"cores\" }},\n\
         {{ name = \"memory\", family = \"memory_bytes\", unit = \"bytes\" }},\n\
         {{ name = \"zone\", family = \"memory_bytes\", by = \"zone\", unit = \"bytes\" }},\n\
         {{ name = \"nothing\", family = \"empty\" }},\n]\n",
        node.url()
    ));
    let target = Server::start(shop);
    let exports = "--export json --export csv --export markdown --export openmetrics";
    let output = sandbox.run(&format!("{LOAD} {exports}"), &target).run();
    output.exits(0).says(&[
        "warning: observe `node`, http://",
        "there is no value of `empty` yet",
    ]);
    let record = sandbox.record();
    assert_always(&record, "node memory", 1.5e9);
    assert_always(&record, "node zone b", 5e8);
    // Two processors, each of which grows by two with every look, which is once a second.
    let cpu = values(&record, "node cpu");
    assert!(
        !cpu.is_empty() && cpu.iter().all(|rate| *rate > 0.0),
        "{cpu:?}"
    );
    assert!(values(&record, "node nothing").is_empty());
    assert_eq!(&*series(&record, "node cpu").source, node.url());
    let run = sandbox.only_run();
    for file in [
        "report.json",
        "report.csv",
        "report.md",
        "report.html",
        "metrics.txt",
    ] {
        let text = run.text(file);
        assert!(text.contains("node zone b"), "{file}: {text}");
    }
    assert_once_a_second(&node);
    assert!(
        node.recorded()
            .iter()
            .all(|request| request.target == "/metrics")
    );
}

fn bad_pages_cost_their_own_figures_and_nothing_else() {
    let long = |lines: usize| {
        let mut text = String::new();
        for line in 1..lines {
            let _ = writeln!(text, "other{{line=\"{line}\"}} 1");
        }
        text.push_str("jobs 7\n");
        Server::start(move |_| Reply::text(text.clone()))
    };
    let servers = [
        ("whole", long(100_000), None),
        (
            "long",
            long(100_001),
            Some("its page has more than 100000 lines"),
        ),
        ("endless", Server::start(|_| Reply::endless()), Some("")),
        (
            "failing",
            Server::start(|_| Reply::status(500)),
            Some("500 Internal Server Error"),
        ),
        (
            "hanging",
            Server::start(|_| Reply::hang()),
            Some("no answer in time"),
        ),
        ("resetting", Server::start(|_| Reply::reset()), Some("")),
        (
            "binary",
            Server::start(|_| Reply::status(200).body(vec![0xff; 100])),
            Some("its answer is not text"),
        ),
        (
            "moved",
            Server::start(|_| Reply::status(302)),
            Some("redirects are not followed"),
        ),
    ];
    let sources = servers
        .iter()
        .map(|(name, server, _)| source(name, &server.url(), "jobs", ""));
    let sandbox = Sandbox::with(&sources.collect::<String>());
    let target = Server::start(shop);
    let output = sandbox.run(LOAD, &target).run().exits(0);
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.planned, 60);
    assert_always(&record, "whole", 7.0);
    for (name, server, why) in &servers {
        let series = series(&record, name);
        let Some(why) = why else {
            assert_eq!(series.gap, None);
            continue;
        };
        assert!(series.points.is_empty(), "{name}");
        let gap = series.gap.as_deref().unwrap_or_default();
        assert!(gap.contains(why) && !gap.is_empty(), "{name}: {gap}");
        let told = format!("warning: observe `{name}`, {}: ", server.url());
        let told = output.stderr.matches(&told).count();
        assert_eq!(
            told, 2,
            "{name}: once before the run and once within\n{output}"
        );
    }
}

fn scenarios_that_run_at_once_have_the_same_figures() {
    let page = page("jobs 7\n");
    let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", ""));
    let target = Server::start(shop);
    let line = "--mix --exact site::load::single site::load::journey --rate 20/s --duration 3s";
    sandbox.run(line, &target).run().exits(0);
    let record = sandbox.only_run().record();
    assert!(record.scenarios.len() == 2);
    for scenario in &record.scenarios {
        assert_always(scenario, "queue", 7.0);
    }
    assert_once_a_second(&page);
}

fn a_search_has_the_highest_value_of_each_trial() {
    let page = page("jobs 7\n");
    let limit = ", unit = \"jobs\", limit = \"max < 5 or abort\"";
    let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", limit));
    let target = Server::start(shop);
    let line = "site::load::single --from 10/s --max 20/s --window 2s --confirm 2s --ramp-up 0s \
                --rest 0s --export json";
    let call = sandbox.tool("capacity", line);
    let call = call.args(["--slo", "p95 < 10s", "--base-url", &target.url()]);
    // The SLO alone is searched for.
    call.run().exits(0);
    let run = sandbox.only_run();
    let report: Value = serde_json::from_str(&run.text("report.json")).expect("JSON");
    let trials = report["capacity"]["trials"].as_array().expect("trials");
    assert!(trials.len() >= 2, "{trials:?}");
    for trial in trials {
        let observed = &trial["observed"][0];
        assert_eq!(observed["name"], "queue");
        assert_eq!(observed["max"], 7.0);
    }
    assert_eq!(report["cards"][0]["observed"][0]["name"], "queue");
    assert!(run.text("report.html").contains("7 jobs"));
}
