//! Runs that are kept, and runs that are compared with them.

use crate::site::{RunFolder, Sandbox};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::comparison::{BaselineComparison, ComparisonOutcome, RunComparison};
use loadtest_tests::{Reply, Server};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_run_that_became_slower_than_its_baseline_fails,
        what_cannot_be_a_baseline_is_refused_with_the_reason,
    ]
}

/// The length of the shortest runs that are compared: a minute, and another one.
const MINUTE: &str = "single --rate 40/s --duration 61s --seed 7";

fn a_run_that_became_slower_than_its_baseline_fails() {
    let delay = Arc::new(AtomicU64::new(300));
    let now = Arc::clone(&delay);
    let server = Server::start(move |_| {
        Reply::text("ok").delay(Duration::from_millis(now.load(Ordering::Relaxed)))
    });
    let sandbox = Sandbox::new();
    sandbox.run(MINUTE, &server).run().exits(0);
    sandbox
        .tool("baseline", "save main")
        .run()
        .exits(2)
        .says(&["its validity was not judged"]);
    sandbox.only_run().make_judged();
    sandbox
        .tool("baseline", "save main")
        .run()
        .exits(0)
        .says(&["Saved `site::load::single` in the baseline `main`, which has 1 run of it"]);
    let before = server.requests();
    for (line, reason) in [
        ("single --rate 30/s --duration 61s", "the loads differ"),
        (
            "single --rate 40/s --duration 20s",
            "its load lasts 20 s after the ramp",
        ),
        ("single --users 2 --duration 61s", "the loads differ"),
    ] {
        let refused = sandbox
            .run(&format!("{line} --baseline main"), &server)
            .run();
        refused
            .exits(2)
            .says(&["nothing was sent", reason, "help:"]);
    }
    let elsewhere = Server::start(|_| Reply::text("ok"));
    let refused = sandbox.run(&format!("{MINUTE} --baseline main"), &elsewhere);
    refused.run().exits(2).says(&["the targets differ"]);
    assert_eq!((server.requests(), elsewhere.requests()), (before, 0));
    let itself = sandbox.tool("compare", "main latest").run().exits(2);
    itself.prints(&["is that of the baseline itself"]);

    delay.store(900, Ordering::Relaxed);
    // What the baseline does not know runs all the same: here with one iteration.
    let unknown = "site::load::journey --exact --iterations 1 --baseline main";
    sandbox.run(unknown, &server).run().exits(99);
    let slower = sandbox.run(&format!("{MINUTE} --baseline main"), &server);
    slower
        .run()
        .exits(99)
        .says(&["the gate of `--baseline` does not notice a generator that was too slow"])
        .prints(&["p95 of `ask` regressed against the baseline `main`"]);
    let run = sandbox.runs().pop().expect("a run");
    let beside = comparison(&run);
    let found = regressed(&beside);
    assert!(found.starts_with(&["p50", "p95"]), "{found:?}");
    // The same runs, the same words: compared once more, and graded once more.
    let compared = sandbox
        .tool("compare", "main latest --format json")
        .run()
        .exits(99);
    let value: Value = serde_json::from_str(&compared.stdout).expect("JSON");
    let kept = serde_json::to_value(&beside).expect("JSON");
    assert_eq!(value["scenarios"][0]["subjects"], kept["subjects"]);
    // The newest run was not judged, so that the one before it is kept.
    let other = sandbox.tool("baseline", "save other").run().exits(0);
    other.says(&["Skipped newer runs", "has 1 run of it"]);
    let report = sandbox.tool("report", "latest --baseline main").run();
    report.exits(99).prints(&["regressed"]);
    let people = sandbox.tool("compare", "main").run().exits(99);
    people.prints(&[
        "against the baseline main",
        "✗ ",
        " regressed",
        "would have shown",
    ]);
    sandbox
        .tool("baseline", "list")
        .run()
        .exits(0)
        .prints(&["main", "40/s"]);
    let before = server.requests();
    let slip = sandbox.run(
        "site::load::journey --exact --iterations 1 --ci --baseline mian",
        &server,
    );
    let slip = slip.run().exits(2);
    slip.says(&["there is no baseline `mian`", "did you mean `main`?"]);
    assert_eq!(server.requests(), before);
    sandbox.tool("baseline", "remove main").run().exits(0);
    let gone = sandbox.tool("compare", "main").run().exits(2);
    gone.says(&["there is no baseline `main`"]);
}

/// The comparison of the only scenario of a run.
fn comparison(run: &RunFolder) -> BaselineComparison {
    let text = std::fs::read(run.0.join("comparison.json")).expect("a comparison");
    let all: RunComparison = serde_json::from_slice(&text).expect("JSON");
    all.scenarios.into_values().next().expect("a scenario")
}

/// The figures of the only step that became worse.
fn regressed(beside: &BaselineComparison) -> Vec<&'static str> {
    match &beside.outcome {
        ComparisonOutcome::Compared(comparison) => comparison
            .regressions()
            .filter(|(subject, _)| subject.step.as_deref() == Some("ask"))
            .map(|(_, found)| found.figure.name())
            .collect(),
        other => panic!("{other:?}"),
    }
}

fn what_cannot_be_a_baseline_is_refused_with_the_reason() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let run = sandbox.run("single --iterations 20", &server);
    run.run().exits(0);
    sandbox.only_run().make_judged();
    let before = server.requests();
    sandbox
        .tool("baseline", "save main")
        .run()
        .exits(2)
        .says(&["cannot be saved as a baseline", "help:"]);
    for name in ["../main", "release/1", "nul", "latest"] {
        let refused = sandbox.tool("baseline", &format!("save {name}")).run();
        refused
            .exits(2)
            .says(&["is not a valid baseline name", "write for example"]);
    }
    for line in ["single --baseline main", "single --baseline ../main"] {
        sandbox
            .run(line, &server)
            .run()
            .exits(2)
            .says(&["baseline", "help:"]);
    }
    sandbox.tool("baseline", "remove main").run().exits(2);
    sandbox
        .tool("baseline", "save main --keep 0")
        .run()
        .exits(2);
    sandbox
        .tool("baseline", "list")
        .run()
        .exits(0)
        .prints(&["there is no baseline yet"]);
    assert_eq!(server.requests(), before, "nothing was sent");
}
