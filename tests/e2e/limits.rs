//! Limits of every kind, and those that end a run.

use crate::site::{Sandbox, assert_balanced, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::record::EndReason;
use loadtest_tests::{Reply, Server};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_run_that_breaks_its_limit_is_given_up,
        a_run_that_keeps_limits_of_every_kind_goes_to_its_end,
        in_a_mix_only_the_scenario_that_breaks_its_limit_ends,
        what_never_came_passes_no_limit,
        limits_are_shown_before_the_run,
        a_search_goes_on_after_a_limit_that_would_end_a_run,
    ]
}

/// Answers well so many times, and refuses everything on `/given_up` after that.
fn well(times: u64) -> Server {
    let seen = AtomicU64::new(0);
    Server::start(move |request| {
        if request.path == "/given_up" && seen.fetch_add(1, Ordering::SeqCst) >= times {
            Reply::status(503)
        } else {
            Reply::json(r#"{"ok":true}"#)
        }
    })
}

fn a_run_that_breaks_its_limit_is_given_up() {
    let (server, sandbox) = (well(150), Sandbox::new());
    let line = "limits::given_up --export json";
    let output = sandbox.run(line, &server).run();
    let why = "errors of the journey: ";
    let output = output.exits(99).prints(&["FAILED", "given up after ", why]);
    // While it runs, and not only at its end.
    output.says(&["given up: errors of the journey: ", "must be < 20 %"]);
    let run = sandbox.only_run();
    let record = run.scenario();
    assert_balanced(&record);
    let EndReason::ThresholdBroken {
        threshold,
        after_us,
        reason,
    } = &record.end.ending
    else {
        panic!("{:?}", record.end.ending);
    };
    assert_eq!(*threshold, 0);
    assert!(reason.starts_with(why), "{reason}");
    assert_eq!(after_us % 1_000_000, 0, "once a second");
    // The first that fails is due after a second and a half.
    assert!(*after_us >= 2_000_000, "{after_us}");
    // What was due by then, and nothing of the rest of the hour.
    let due = record.end.elapsed_us / 10_000 + 1;
    assert!(record.end.planned <= due, "{} of {due}", record.end.planned);
    let journey = total(&record).journey;
    assert_eq!((journey.ok, journey.cancelled), (150, 0));
    assert!(5 * journey.failed >= 150 + journey.failed);
    assert_eq!(server.requests(), journey.ok + journey.failed);
    let report: Value = serde_json::from_str(&run.text("report.json")).expect("JSON");
    assert_eq!(report["cards"][0]["grade"]["partial"], true);
    assert!(run.text("report.html").contains("given up after "));
    // The same again from what was kept.
    sandbox
        .tool("report", "")
        .run()
        .exits(99)
        .prints(&["given up after "]);
}

fn a_run_that_keeps_limits_of_every_kind_goes_to_its_end() {
    let (server, sandbox) = (well(0), Sandbox::new());
    let output = sandbox.run("limits::kept --verbose", &server).run();
    output.exits(0).prints(&[
        "PASSED",
        "count(seen) > 100",
        "count(sold_out) < 5",
        "time(taken).p95 < 100 ms",
        "first_byte.p99 < 10 min",
        "throughput > 100 B/s",
    ]);
    let record = sandbox.record();
    assert_eq!(
        (record.end.planned, &record.end.ending),
        (200, &EndReason::Completed)
    );
}

fn in_a_mix_only_the_scenario_that_breaks_its_limit_ends() {
    let (server, sandbox) = (well(100), Sandbox::new());
    let line = "--mix --exact site::load::limits::given_up site::load::limits::kept";
    let output = sandbox.run(line, &server).run();
    output.exits(99);
    let record = sandbox.only_run().record();
    let [given_up, kept] = record.scenarios.as_slice() else {
        panic!("two scenarios");
    };
    let broken = matches!(given_up.end.ending, EndReason::ThresholdBroken { .. });
    assert!(broken, "{:?}", given_up.end.ending);
    assert_eq!(
        (kept.end.planned, &kept.end.ending),
        (200, &EndReason::Completed)
    );
}

fn what_never_came_passes_no_limit() {
    let (server, sandbox) = (well(0), Sandbox::new());
    let line = "limits::misspelt --export json";
    let output = sandbox.run(line, &server).run();
    output.exits(99).prints(&[
        "`count(sene) < 5` is on a name that was never recorded: the scenario counts",
        "nothing happened, write `vu.count(\"sene\", 0)`",
        "`time(tkaen).p95 < 1 s` is on a name that was never recorded: the scenario times",
        "count(sene) has no samples, and must be < 5",
        "count(never) has no samples, and must be > 0",
    ]);
    let report: Value =
        serde_json::from_str(&sandbox.only_run().text("report.json")).expect("JSON");
    let rows = report["cards"][0]["thresholds"].as_array().expect("rows");
    let passed: Vec<_> = rows.iter().map(|row| row["passed"] == true).collect();
    assert_eq!(passed, [true, false, false, false], "{rows:#?}");
}

fn limits_are_shown_before_the_run() {
    let sandbox = Sandbox::new();
    let aborts = [
        "errors < 20 % or abort",
        "p95 < 10 min or abort after 1 s",
        "count(sold_out)",
        "time(taken).p95 < 100 ms or abort after 1 s",
        "first_byte.p99 < 10 min",
        "errors < 20 % or abort after 1 s",
    ];
    for command in ["list", "plan"] {
        let line = "limits::kept --base-url http://127.0.0.1:1";
        let line = if command == "list" {
            "limits::kept"
        } else {
            line
        };
        sandbox.tool(command, line).run().exits(0).prints(&aborts);
    }
    let output = sandbox.tool("export", "limits::kept").run().exits(0);
    let document: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let limits = document["thresholds"].as_array().expect("limits");
    assert_eq!(limits[1]["metric"], "p95");
    assert_eq!(limits[1]["abort_after_ms"], 1_000.0);
    assert_eq!(limits[5]["bound_bytes_per_second"], 100.0);
    assert_eq!(limits[7]["metric"], "count(sold_out)");
    assert_eq!(limits[7]["bound_count"], 5);
}

fn a_search_goes_on_after_a_limit_that_would_end_a_run() {
    let sandbox = Sandbox::new();
    let refused = |slo: &str| {
        let call = sandbox.tool("capacity", "limits::given_up");
        let url = ["--base-url", "http://127.0.0.1:1"];
        call.args(["--slo", slo]).args(url).run().exits(2)
    };
    refused("errors < 1% or abort").says(&["`or abort` is for the thresholds of a scenario"]);
    refused("service.p95 < 1s").says(&["there is no step `service`", "`ask.service.p95`"]);
    refused("throughput > 1MB/s").says(&["the rate is what is searched for"]);
    refused("aks.first_byte.p95 < 1s").says(&["there is no step `aks`; did you mean `ask`?"]);
    refused("ask.frist_byte.p95 < 1s").says(&["unknown metric `frist_byte`"]);
}
