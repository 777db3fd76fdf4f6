//! Runs that are kept, and runs that are compared with them.

use crate::site::{RunFolder, Sandbox};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::comparison::{BaselineComparison, ComparisonOutcome, RunComparison};
use loadtest_model::metrics::{Cell, CellStep, Cells, CompactHistogram, Histogram};
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

/// Work of which four users do as much in each second of a minute, where each answer takes a second; a shorter run is
/// not compared.
const WORK: &str = "single --iterations 244 --users 4 --seed 7";
/// The seconds that it takes then.
const SECONDS: u32 = 61;

/// Gives a run of fixed work the record that it would have from an idle machine, had it taken a minute and each step
/// a millisecond: only such a run becomes a baseline.
#[track_caller]
pub(crate) fn stretch_to_a_minute(run: &RunFolder) {
    run.make_judged();
    let mut record = run.record();
    for scenario in &mut record.scenarios {
        let mut whole = scenario.cells.clone();
        whole.widen(3_600);
        let [sum] = whole.cells.as_slice() else {
            panic!("one cell: {whole:?}");
        };
        let each_second = |count: u64| count / u64::from(SECONDS);
        let times = |count: u64| {
            let mut times = Histogram::default();
            times.record_n(Duration::from_millis(1), each_second(count));
            CompactHistogram::from_histogram(&times)
        };
        let steps = sum.steps.iter().map(|step| CellStep {
            executed: each_second(step.executed),
            failed: each_second(step.failed),
            response: times(step.executed - step.failed),
            ..CellStep::default()
        });
        let cell = Cell {
            seconds: 1,
            started: each_second(sum.started),
            ok: each_second(sum.ok),
            failed: each_second(sum.failed),
            active_users: sum.active_users,
            time: times(sum.ok),
            steps: steps.collect(),
            ..Cell::default()
        };
        let cells = (0..SECONDS).map(|second| Cell {
            second,
            ..cell.clone()
        });
        scenario.cells = Cells {
            width: 1,
            cells: cells.collect(),
        };
        scenario.end.steady_us = u64::from(SECONDS) * 1_000_000;
        scenario.end.elapsed_us = scenario.end.steady_us;
    }
    let text = serde_json::to_vec(&record).expect("a record is JSON");
    std::fs::write(run.0.join("record.json"), text).expect("our own file");
}

fn a_run_that_became_slower_than_its_baseline_fails() {
    let delay = Arc::new(AtomicU64::new(0));
    let now = Arc::clone(&delay);
    let server = Server::start(move |_| {
        Reply::text("ok").delay(Duration::from_millis(now.load(Ordering::Relaxed)))
    });
    let sandbox = Sandbox::new();
    sandbox.run(WORK, &server).run().exits(0);
    sandbox
        .tool("baseline", "save main")
        .run()
        .exits(2)
        .says(&["its validity was not judged"]);
    stretch_to_a_minute(&sandbox.only_run());
    sandbox
        .tool("baseline", "save main")
        .run()
        .exits(0)
        .says(&["Saved `site::load::single` in the baseline `main`, which has 1 run of it"]);
    let before = server.requests();
    for (line, reason) in [
        ("single --iterations 244 --users 2", "the loads differ"),
        (
            "single --users 4 --duration 20s",
            "its load lasts 20 s after the ramp",
        ),
        ("single --users 4 --duration 61s", "the loads differ"),
    ] {
        let refused = sandbox
            .run(&format!("{line} --baseline main"), &server)
            .run();
        refused
            .exits(2)
            .says(&["nothing was sent", reason, "help:"]);
    }
    let elsewhere = Server::start(|_| Reply::text("ok"));
    let refused = sandbox.run(&format!("{WORK} --baseline main"), &elsewhere);
    refused.run().exits(2).says(&["the targets differ"]);
    assert_eq!((server.requests(), elsewhere.requests()), (before, 0));
    let itself = sandbox.tool("compare", "main latest").run().exits(2);
    itself.prints(&["belongs to the baseline itself"]);

    // A minute by the server's own time, however fast the machine is, and times that no machine makes shorter.
    delay.store(1_000, Ordering::Relaxed);
    // What the baseline does not know runs all the same: here with one iteration.
    let unknown = "site::load::journey --exact --iterations 1 --baseline main";
    sandbox.run(unknown, &server).run().exits(99);
    let slower = sandbox.run(&format!("{WORK} --baseline main"), &server);
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
        "would be detected",
    ]);
    sandbox
        .tool("baseline", "list")
        .run()
        .exits(0)
        .prints(&["main", "244 iterations"]);
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
