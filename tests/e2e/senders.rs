//! Steps that send for themselves, from the scenario to the report.

use crate::guard::project;
use crate::site::{Sandbox, assert_balanced, site, step, total};
use crate::smoke::smoke;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_step_polls_and_its_requests_are_in_every_report,
        a_test_shows_all_that_a_failing_step_sent,
        requests_at_the_same_time_are_under_way_together,
        every_request_says_who_sent_it,
    ]
}

/// Every order is done when it is asked for the third time.
fn orders() -> impl Fn(&Request) -> Reply + Send + Sync {
    let turns = AtomicU64::new(0);
    move |request| match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/orders") => Reply::status(201).body(r#"{"id":99}"#),
        ("GET", "/orders/99") if turns.fetch_add(1, Ordering::SeqCst) % 3 < 2 => Reply::status(404),
        ("GET", "/orders/99") => Reply::json(r#"{"id":99}"#),
        _ => Reply::status(200),
    }
}

fn a_step_polls_and_its_requests_are_in_every_report() {
    let server = Server::start(orders());
    let sandbox = Sandbox::new();
    let output = sandbox.run("polls", &server).args(["--export", "json"]);
    let output = output.run().exits(0);
    output.prints(&["GET /orders/{}", "66.7 %"]);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let wait = step(&record, &all, "wait");
    // One check of the step, and one of each answer that it polled for.
    assert_eq!((wait.ok, wait.requests, wait.checks_passed), (3, 9, 12));
    assert_eq!((wait.response.count(), all.journey.ok), (3, 3));
    let [row] = wait.inner.as_slice() else {
        panic!("one row: {:?}", wait.inner);
    };
    assert_eq!(
        (&*row.name, row.requests, row.failed),
        ("GET /orders/{}", 9, 6)
    );
    assert_eq!(server.requests_to("/receipts/99"), 3);
    assert_eq!(server.requests(), 3 + 9 + 3);
    let folder = sandbox.only_run();
    let report: Value = serde_json::from_str(&folder.text("report.json")).expect("JSON");
    let limits = report["cards"][0]["thresholds"].as_array().expect("a list");
    let shown = limits
        .iter()
        .map(|limit| (&limit["condition"], &limit["actual"]));
    let shown: Vec<_> = shown.collect();
    assert_eq!(
        shown,
        [
            (&json!("errors < 1 %"), &json!(0.0)),
            (&json!("tag(orders).errors < 1 %"), &json!(0.0)),
            (
                &json!("row(\"GET /orders/{}\").errors < 70 %"),
                &json!(6.0 / 9.0)
            ),
        ]
    );
    assert_eq!(
        report["cards"][0]["steps"][1]["inner"][0]["grade"]["attempts"],
        9
    );
    for file in ["record.json", "report.html", "report.json"] {
        let text = folder.text(file);
        assert!(text.contains("{}"), "{file}");
        assert!(!text.contains("k-1"), "{file} holds a query");
    }
}

fn a_test_shows_all_that_a_failing_step_sent() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/orders" => Reply::status(201).body(r#"{"id":99}"#),
        "/reports" => Reply::status(500).body("no room"),
        _ => Reply::status(404).body("not yet"),
    });
    let output = smoke(site(), "--exact polls")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(101);
    let output = output.prints(&[
        "step `wait` failed (step.error): never done",
        "GET /orders/99",
        "POST /reports",
        r#"{"order":99}"#,
        "no room",
        "needs `wait.response.id`",
    ]);
    assert_eq!(
        output.stdout.matches("GET /orders/99").count(),
        5,
        "{output}"
    );
    assert_eq!(output.stdout.matches("not yet").count(), 5, "{output}");
    assert!(!output.stdout.contains("POST /orders"), "{output}");
    assert_eq!(server.requests(), 7);
}

fn requests_at_the_same_time_are_under_way_together() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/page" => Reply::status(200).header("set-cookie", "id=7; Path=/"),
        _ => Reply::text("part").delay(Duration::from_millis(20)),
    });
    let sandbox = Sandbox::new();
    sandbox.run("gathers", &server).run().exits(0);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let page = step(&record, &all, "page");
    assert_eq!((page.ok, page.requests, page.checks_passed), (3, 12, 3));
    // One connection more is that of the look whether the target can be reached.
    assert_eq!((server.requests(), server.connections()), (12, 3 + 1));
    for part in server.recorded().iter().filter(|part| part.path != "/page") {
        assert_eq!(part.header("cookie"), Some("id=7"));
    }
}

fn every_request_says_who_sent_it() {
    let server = Server::recording(|_| Reply::text("ok"));
    let sandbox = Sandbox::at(project().root(), "");
    sandbox.run("named", &server).run().exits(0);
    let run_id = sandbox.only_run().record().run_id;
    let smoke = || {
        let call = smoke(project(), "named");
        call.env("LOADTEST_BASE_URL", server.url()).run().exits(0)
    };
    smoke();
    smoke();
    let call = sandbox.tool("debug", "named");
    call.args(["--base-url", &server.url()]).run().exits(0);
    let seen = server.recorded();
    let agent = format!("loadtest/{}", env!("CARGO_PKG_VERSION"));
    assert!(
        seen.iter()
            .all(|request| request.header("user-agent") == Some(&agent))
    );
    let ids: Vec<_> = seen
        .iter()
        .map(|request| request.header("loadtest-run").unwrap_or_default())
        .collect();
    let (run, rest) = ids.split_at(1 + 2 * 2 + 1);
    assert_eq!(run, [&run_id; 6]);
    // One of each, and each test and journey another.
    let others: Vec<_> = rest.chunks(4).collect();
    for (ids, kind) in others.iter().zip(["smoke-", "smoke-", "debug-"]) {
        assert!(
            ids[0].starts_with(kind) && ids.iter().all(|id| id == &ids[0]),
            "{ids:?}"
        );
    }
    assert_eq!(others.len(), 3, "{ids:?}");
    assert_ne!(others[0], others[1]);
}
