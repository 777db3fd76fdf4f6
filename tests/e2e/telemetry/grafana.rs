//! The dashboard for Grafana: every query of it gives series, whatever the form of the histograms.

use super::receivers::Prometheus;
use super::{last_line, read_lines, sink};
use crate::project::workspace;
use crate::site::{Sandbox, shop};
use crate::trials;
use jiff::Timestamp;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use serde_json::Value;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "prometheus": every_query_of_the_dashboard_gives_series,]
}

fn dashboard() -> Value {
    let text = std::fs::read_to_string(workspace().join("docs/grafana/loadtest.json"));
    serde_json::from_str(&text.expect("the dashboard")).expect("JSON")
}

/// The row of panels for scenarios with what the shop has not.
const OTHER_PROTOCOLS: &str = "Streams, WebSockets and calls";

/// The queries of all panels, without those of the row for other protocols, or these alone.
fn queries(dashboard: &Value, of_other_protocols: bool) -> Vec<&str> {
    let mut is_other = false;
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let panels = panels.filter(|panel| {
        if panel["type"] == "row" {
            is_other = panel["title"] == OTHER_PROTOCOLS;
        }
        is_other == of_other_protocols
    });
    let targets = panels
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    targets
        .map(|target| target["expr"].as_str().expect("a query"))
        .collect()
}

/// The values of the variable that chooses the form of histograms.
fn forms(dashboard: &Value) -> Vec<&str> {
    let variables = dashboard["templating"]["list"]
        .as_array()
        .expect("variables");
    let form = variables
        .iter()
        .find(|variable| variable["name"] == "form")
        .expect("the form");
    let query = form["query"].as_str().expect("its values");
    query
        .split(", ")
        .map(|value| value.split(" : ").nth(1).expect("a value"))
        .collect()
}

fn every_query_of_the_dashboard_gives_series() {
    let prometheus = Prometheus::start(None);
    let sandbox = Sandbox::with(&format!(
        "{}{}",
        sink(&format!(
            "format = \"remote-write\"\nurl = \"{}\"\nhistograms = \"both\"",
            prometheus.write_url()
        )),
        sink("format = \"json\"\npath = \"lines.jsonl\""),
    ));
    // Some logins fail, so that there are errors and steps without what they need.
    let target = Server::start(|request| match request.sequence % 5 {
        2 if request.path == "/login" => Reply::status(503),
        _ => shop(request),
    });
    let run = sandbox
        .run("journey strict --mix --rate 40/s --duration 4s", &target)
        .run();
    run.exits(99);
    let run = sandbox.only_run().name();
    let lines = read_lines(&sandbox.root().join("lines.jsonl"));
    let time = last_line(&lines, "journey", None)["time"]
        .as_str()
        .expect("a time");
    let time: Timestamp = time.parse().expect("a time");
    let dashboard = dashboard();
    let all = queries(&dashboard, false);
    assert!(all.len() > 20, "{}", all.len());
    let others = queries(&dashboard, true);
    assert_eq!(others.len(), 9);
    let forms = forms(&dashboard);
    assert_eq!(forms, ["_bucket", "()"]);
    for form in forms {
        let fill_in = |query: &str| {
            let asked = query
                .replace("$__rate_interval", "10m")
                .replace("$run", &run)
                .replace("$scenario", ".*")
                .replace("$form", form);
            assert!(!asked.contains('$'), "{asked}");
            asked
        };
        for query in &others {
            // It is well-formed.
            prometheus.query_at(&fill_in(query), time);
        }
        for query in &all {
            let asked = fill_in(query);
            let series = prometheus.query_at(&asked, time);
            assert!(!series.is_empty(), "{asked}");
            let is_number = |(_, value): &(Value, f64)| value.is_finite();
            assert!(series.iter().any(is_number), "{asked}: {series:?}");
        }
    }
    for (metric, label) in [
        ("loadtest_run_info", "run"),
        ("loadtest_journeys_total", "scenario"),
    ] {
        let series = prometheus.query_at(&format!("{metric}{{run=~\"{run}|\"}}"), time);
        assert!(
            series.iter().all(|(labels, _)| labels[label].is_string()),
            "{series:?}"
        );
        assert!(!series.is_empty(), "{metric}");
    }
}
