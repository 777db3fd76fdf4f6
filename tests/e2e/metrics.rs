//! Metrics of a scenario's own, from its code to the report.

use crate::site::{Sandbox, assert_balanced, site, total};
use crate::smoke::smoke;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        what_a_scenario_counts_and_times_is_in_every_report,
        a_test_accepts_what_is_counted_and_timed,
    ]
}

/// The n-th order takes n x 10 ms by its own account, and every third one is sold out.
fn orders() -> impl Fn(&Request) -> Reply + Send + Sync {
    let orders = AtomicU64::new(0);
    move |request| match request.path.as_str() {
        "/orders" => {
            let number = orders.fetch_add(1, Ordering::SeqCst) + 1;
            let status = if number.is_multiple_of(3) { 409 } else { 201 };
            Reply::status(status).body(format!(r#"{{"took_ms":{}}}"#, number * 10))
        }
        _ => Reply::status(204),
    }
}

fn what_a_scenario_counts_and_times_is_in_every_report() {
    let server = Server::start(orders());
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("metrics::measures --iterations 9 --users 3", &server)
        .args(["--export", "json", "--verbose"])
        .run()
        .exits(0);
    output.prints(&["Metrics of the scenario", "sold_out", "took", "90.0 ms"]);

    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let expected = [
        ("ordered", 18),
        ("ready 204 token=[redacted]", 27),
        ("sold_out", 3),
    ];
    let expected: BTreeMap<_, _> = expected.map(|(name, sum)| (name.to_owned(), sum)).into();
    assert_eq!(all.own.counters, expected);
    let took = &all.own.timings["took"];
    let ms = Duration::from_millis;
    assert_eq!((took.count(), took.sum()), (9, ms(450)));
    assert_eq!((took.min(), took.max()), (Some(ms(10)), Some(ms(90))));

    let folder = sandbox.only_run();
    let report: Value = serde_json::from_str(&folder.text("report.json")).expect("JSON");
    let card = &report["cards"][0];
    let sums: Vec<_> = (0..3).map(|at| &card["counters"][at]["count"]).collect();
    assert_eq!(sums, [&json!(18), &json!(27), &json!(3)]);
    assert_eq!(card["timings"][0]["time"]["max_us"], 90_000);
    let gauge = &card["gauges"][0];
    assert_eq!(
        (&gauge["name"], &gauge["count"]),
        (&json!("took, ms"), &json!(9))
    );
    assert_eq!(
        [&gauge["min"], &gauge["mean"], &gauge["max"]],
        [&json!(10.0), &json!(50.0), &json!(90.0)]
    );
    let page = folder.text("report.html");
    assert!(page.contains("Metrics of the scenario") && page.contains("sold_out"));
    for file in ["record.json", "report.html", "report.json"] {
        assert!(!folder.text(file).contains("k-1"), "{file} holds a secret");
    }
}

fn a_test_accepts_what_is_counted_and_timed() {
    let server = Server::start(orders());
    smoke(site(), "--exact metrics::measures")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0)
        .prints(&["1 passed"]);
    assert_eq!(server.requests(), 1 + 3);
}
