//! A copied curl command in the place of a scenario: planned, sent once, and searched for its capacity.

use crate::call::Call;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use std::fs;
use std::path::Path;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_copied_command_is_planned_and_not_sent,
        a_copied_command_is_sent_once_and_shown,
        the_capacity_of_a_copied_command_is_searched_for,
    ]
}

/// An empty folder, in no workspace.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder of the system")
}

fn tool(folder: &Path, line: &str) -> Call {
    Call::tool(folder).line(line)
}

fn a_copied_command_is_planned_and_not_sent() {
    let server = Server::recording(|_| Reply::text("ok"));
    let url = server.url();
    let folder = folder();
    let output = tool(folder.path(), "plan --rate 50/s --duration 3s -- curl")
        .arg(format!("{url}/orders"))
        // The command says where it goes.
        .env("LOADTEST_BASE_URL", "http://127.0.0.1:1")
        .run()
        .exits(0);
    output.prints(&[
        "curl::get_orders",
        "50/s for 3 s",
        &format!("target       {url} as declared"),
        "150 in all",
    ]);
    assert_eq!(server.recorded().len(), 0);
}

fn a_copied_command_is_sent_once_and_shown() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/login" => Reply::json(r#"{"token":"answer-canary"}"#),
        _ => Reply::status(503),
    });
    let url = server.url();
    let folder = folder();
    let script = format!(
        "curl '{url}/login' -H 'authorization: Bearer first-canary' --data-raw 'user=ada&password=second-canary'\n\
         curl '{url}/orders?page=2'\n"
    );
    fs::write(folder.path().join("requests.sh"), script).expect("a file");
    let debug = |line: &str| tool(folder.path(), line).run();
    let output = debug("debug --curl requests.sh").exits(99);
    let output = output.prints(&[
        "1 login",
        "> authorization: Bearer [redacted]",
        "> user=ada&password=[redacted]",
        "< 200 OK",
        "2 get_orders",
        "/orders?page=2",
        "expected 200..=399, got 503",
    ]);
    assert!(
        !output.stdout.contains("canary") && !output.stderr.contains("canary"),
        "{output}"
    );
    let sent = server.recorded();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].header("authorization"), Some("Bearer first-canary"));
    assert_eq!(sent[0].text(), "user=ada&password=second-canary");
    assert_eq!(sent[1].target, "/orders?page=2");
    // It is a journey and no run.
    assert!(!folder.path().join("target").exists());
    let output = debug(&format!("debug -- curl {url}/login"));
    output.exits(0).prints(&["curl::get_login", "< 200 OK"]);
}

fn the_capacity_of_a_copied_command_is_searched_for() {
    let server = Server::recording(|_| Reply::text("ok").delay(Duration::from_millis(30)));
    let folder = folder();
    // No machine answers in less than the server takes, so what the search finds is known.
    let line = "capacity --slo errors<1%,p95<10ms --from 10/s --min 10/s --max 10/s --window 1s --confirm 1s \
                --ramp-up 0s --rest 0s -- curl";
    let output = tool(folder.path(), line)
        .arg(format!("{}/orders", server.url()))
        .args(["-H", "x-api-key: canary"])
        .run();
    output
        .exits(99)
        .prints(&["curl::get_orders", "capacity at errors < 1 %", "NOT MET"]);
    let sent = server.recorded();
    assert!(sent.len() >= 10, "{} in a window", sent.len());
    assert!(
        sent.iter()
            .all(|request| request.header("x-api-key") == Some("canary"))
    );
    let mut runs = fs::read_dir(folder.path().join("target/loadtest")).expect("the runs");
    let record = runs
        .find_map(|run| fs::read_to_string(run.ok()?.path().join("record.json")).ok())
        .expect("a record");
    assert!(
        record.contains("curl::get_orders") && !record.contains("canary"),
        "{record}"
    );
}
