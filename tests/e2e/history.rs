//! The store, the history of scenarios and versions, and what changed between them.

use crate::call::wait_for;
use crate::project::Files;
use crate::site::{Sandbox, wait_for_the_end_of_the_load};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        the_runs_of_a_copied_scenario_stay_with_the_old_one,
        old_runs_are_removed_when_it_is_asked_for,
        two_runs_at_once_share_a_store,
        killed_and_damaged_runs_are_listed_for_what_they_are,
    ]
}

const LOAD: &str = r#"use loadtest::prelude::*;

#[scenario(load = iterations(4, users = 1))]
fn visit() {
    #[step(get = "/first")]
    fn first();

    #[step(get = "/second", weight = 0.9)]
    fn second();
}

loadtest::main!();
"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The fingerprints of a scenario's versions, the newest first, each with the number of its runs.
fn versions(history: &Value, scenario: &str) -> Vec<(String, u64)> {
    let scenarios = history["scenarios"].as_array().expect("a list");
    let found = scenarios.iter().find(|one| one["scenario"] == scenario);
    let versions = found.expect("the scenario")["versions"].as_array();
    let version = |one: &Value| {
        let fingerprint = one["fingerprint"].as_str().expect("a fingerprint");
        (
            fingerprint.to_owned(),
            one["count"].as_u64().expect("a number"),
        )
    };
    versions.expect("a list").iter().map(version).collect()
}

fn the_runs_of_a_copied_scenario_stay_with_the_old_one() {
    let project = Files::single("versions", LOAD)
        .file("loadtest.toml", "[store]\ndirectory = \"runs\"\n")
        .create();
    let server = Server::start(|_| Reply::text("ok"));
    let run = |filter: &str| {
        let call = project
            .tool("run", filter)
            .args(["--base-url", &server.url()]);
        call.run().exits(0)
    };
    let history = |line: &str| json(&project.tool("history", line).run().exits(0).stdout);
    run("visit");
    run("visit");
    let (old, new) = ("versions::load::visit", "versions::load::visit_again");
    let first = versions(&history("--format json"), old);
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].1, 2);

    project
        .tool("duplicate", "visit visit_again")
        .run()
        .exits(0);
    let source = project.text("tests/load.rs");
    let at = source.find("fn visit_again").expect("the copy");
    let copy = source[at..].replace("weight = 0.9", "weight = 0.5, timeout = 5s");
    let copy = copy.replace("\"/first\"", "\"/other\"");
    fs::write(
        project.path("tests/load.rs"),
        format!("{}{copy}", &source[..at]),
    )
    .expect("ours");
    run("");
    let all = history("--format json");
    assert_eq!(
        versions(&all, old),
        [(first[0].0.clone(), 3)],
        "the old one is what it was"
    );
    let copied = versions(&all, new);
    assert_eq!(copied.len(), 1);
    assert_eq!(copied[0].1, 1);
    assert_ne!(copied[0].0, first[0].0);

    project.tool("history", "-n 0").run().exits(2);
    project
        .tool("history", "vizit")
        .run()
        .exits(3)
        .has_one_error()
        .says(&["did you mean"]);
}

fn old_runs_are_removed_when_it_is_asked_for() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::with("keep = 2\n");
    let line = "endless --users 1 --iterations 3";
    for expected in [1, 2] {
        let output = sandbox.run(line, &server).run().exits(0);
        assert!(!output.stderr.contains("Removed"), "{output}");
        assert_eq!(sandbox.runs().len(), expected, "{output}");
    }
    #[cfg(unix)]
    {
        let newest = sandbox.runs().pop().expect("a run").0;
        let latest = newest.with_file_name("latest");
        assert_eq!(latest.canonicalize().ok(), newest.canonicalize().ok());
    }
    let output = sandbox.run(line, &server).run().exits(0);
    output.says(&["Removed 1 old run, as `[store]` asks for: "]);
    assert_eq!(sandbox.runs().len(), 2);
}

fn two_runs_at_once_share_a_store() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let holding = Server::start(move |_| {
        let _released = held.lock().expect("one request at a time").recv();
        Reply::text("ok")
    });
    let sandbox = Sandbox::with("keep = 1\n");
    let line = "endless --users 1 --iterations 3";
    let first = sandbox.run(line, &holding).start();
    wait_for("the first run", || (holding.requests() > 0).then_some(()));
    // It ends while the other one runs, and removes what is old.
    let server = Server::start(|_| Reply::text("ok"));
    sandbox.run(line, &server).run().exits(0);
    let history = json(
        &sandbox
            .tool("history", "--format json")
            .run()
            .exits(0)
            .stdout,
    );
    assert!(history["unreadable"].as_array().expect("a list").is_empty());
    drop(release);
    first.output().exits(0);
    assert!(!sandbox.runs().is_empty());
    sandbox.tool("report", "latest").run().exits(0);
}

fn killed_and_damaged_runs_are_listed_for_what_they_are() {
    let server = Server::recording(|_| Reply::text("ok").delay(Duration::from_millis(20)));
    let sandbox = Sandbox::new();
    let line = "endless --users 1 --duration 1h";
    let mut running = sandbox.run(line, &server).start();
    running.wait_until_it_says("[0s]");
    wait_for("the load", || (server.requests() > 20).then_some(()));
    sandbox
        .tool("history", "")
        .run()
        .exits(0)
        .prints(&["IN PROGRESS"]);
    running.signal(Signal::KILL);
    running.output();
    wait_for_the_end_of_the_load(&server);
    let runs = sandbox.runs()[0]
        .0
        .parent()
        .expect("the store")
        .to_path_buf();
    let damaged = runs.join("20200101-000000-aaaa");
    fs::create_dir(&damaged).expect("a folder");
    fs::write(damaged.join("record.json"), "{").expect("a file");
    fs::create_dir(runs.join("notes")).expect("a folder");
    fs::write(runs.join("odd.txt"), "odd").expect("a file");
    let output = sandbox.tool("history", "").run().exits(0).prints(&[
        "INTERRUPTED",
        "20200101-000000-aaaa",
        "be read: EOF",
    ]);
    assert!(!output.stdout.contains("notes") && !output.stdout.contains("odd"));
    sandbox
        .tool("report", "notes")
        .run()
        .exits(3)
        .says(&["is not a run"]);
}
