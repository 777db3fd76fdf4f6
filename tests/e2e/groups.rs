//! Groups of steps, and what the scenarios of a module share.

use crate::site::{Sandbox, assert_balanced, site, total};
use crate::smoke::smoke;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_group_has_figures_and_limits_of_its_own,
        a_group_is_listed_planned_and_exported,
        a_test_runs_the_steps_of_a_group,
    ]
}

/// Refuses the login of one user, and whoever does not say which kind of visitor it is.
fn server(client: &'static str) -> Server {
    Server::start(move |request: &Request| {
        let body = String::from_utf8_lossy(&request.body);
        if request.header("x-client") != Some(client) {
            Reply::status(400)
        } else if body.contains("\"user3\"") {
            Reply::status(503)
        } else if request.method == "POST" {
            Reply::json(r#"{"token":"t"}"#)
        } else {
            Reply::text("page")
        }
    })
}

fn a_group_has_figures_and_limits_of_its_own() {
    let server = server("visitor");
    let sandbox = Sandbox::new();
    let line = "groups::visitors::buyers --iterations 20 --users 2 --export json --export csv";
    let output = sandbox.run(line, &server).run().exits(99);
    output.prints(&["errors of `sign in`: 5.0 %, and must be < 1 %"]);
    let record = sandbox.record();
    assert_balanced(&record);
    let group = &total(&record).groups[0];
    assert_eq!((group.executed, group.failed), (20, 1));
    assert_eq!(group.response.count(), 19);
    let run = sandbox.only_run();
    let json: Value = serde_json::from_str(&run.text("report.json")).expect("JSON");
    let card = &json["cards"][0];
    assert_eq!(card["groups"][0]["name"], "sign in");
    assert_eq!(card["groups"][0]["error_rate"], 0.05);
    assert_eq!(card["steps"][1]["group"], "sign in");
    assert_eq!(card["steps"][2].get("group"), None);
    let csv = run.text("report.csv");
    let rows = csv.lines().filter(|row| row.contains(",group,sign in,"));
    assert_eq!(rows.count(), 1, "{csv}");
}

fn a_group_is_listed_planned_and_exported() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("list", "groups::visitors::sellers")
        .run()
        .exits(0)
        .prints(&[
            "group      sign in: p95 < 20 s, errors < 1 %",
            "in the group `sign in`",
        ]);
    sandbox
        .tool("plan", "groups::visitors::sellers --iterations 10")
        .args(["--base-url", "http://127.0.0.1:1"])
        .run()
        .exits(0)
        .prints(&["sign in: errors < 1 %", "in the group `sign in`"]);
    let export = sandbox.tool("export", "groups::visitors::sellers");
    let export: Value = serde_json::from_str(&export.run().exits(0).stdout).expect("JSON");
    assert_eq!(
        export["groups"][0]["description"],
        "Everybody comes in this way."
    );
    assert_eq!(export["steps"][0]["group"], Value::Null);
    assert_eq!(export["steps"][2]["group"], "sign in");
    assert_eq!(export["steps"][2]["headers"][0]["value"], "seller");
}

fn a_test_runs_the_steps_of_a_group() {
    let server = server("seller");
    smoke(site(), "--exact groups::visitors::sellers")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0)
        .prints(&["1 passed"]);
    assert_eq!(server.requests(), 3);
}
