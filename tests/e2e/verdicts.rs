//! What a run comes to: verdict, exit code and files.

use crate::call::wait_for;
use crate::site::{Sandbox, assert_balanced, shop, step, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::record::EndReason;
use loadtest_tests::{ClosedPort, Reply, Server};
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![
        a_run_that_holds_its_thresholds_passes,
        a_threshold_that_does_not_hold_fails_the_run,
        a_target_that_is_down_is_found_out_before_the_load,
        a_scenario_that_did_not_run_stays_in_the_report,
        an_export_to_standard_output_takes_the_place_of_the_card,
        a_run_without_a_target_is_told_how_to_name_one,
        a_target_that_hangs_costs_its_timeouts_and_no_more,
        a_run_that_overruns_its_end_says_what_it_waits_for,
        a_target_that_fails_throughout_fails_the_run,
        a_step_that_panics_is_counted_with_its_place,
        one_failed_scenario_does_not_stop_the_next,
        an_export_goes_where_it_is_sent,
        an_old_run_is_graded_again,
    ];
    #[cfg(target_os = "linux")]
    trials.extend(trials![the_page_is_opened_where_it_is_asked_for,]);
    trials
}

fn a_run_that_holds_its_thresholds_passes() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    let line = "single --iterations 20 --verbose";
    let output = sandbox.run(line, &server).run();
    let output = output
        .exits(0)
        .prints(&["PASSED", "site::load::single", "errors < 1"]);
    assert!(
        !output.stdout.contains('\u{1b}'),
        "no colour off a terminal\n{output}"
    );
    assert!(
        !output.stderr.contains('\u{1b}'),
        "no colour off a terminal\n{output}"
    );
    let run = sandbox.only_run();
    run.has_page();
    let record = run.record();
    assert_eq!(
        record.schema_version,
        loadtest_model::record::SCHEMA_VERSION
    );
    assert_eq!(record.scenarios.len(), 1);
    assert_eq!(record.scenarios[0].start.executable_hash.len(), 64);
    let leftover: Vec<PathBuf> = run
        .files()
        .into_iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "part"))
        .collect();
    assert!(leftover.is_empty(), "half files: {leftover:?}");
}

fn a_threshold_that_does_not_hold_fails_the_run() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)));
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("strict --iterations 20 --verbose", &server)
        .run();
    output.exits(99).prints(&["FAILED", "p95 < 5"]);
    sandbox.only_run().has_page();
    assert_eq!(sandbox.record().end.ending, EndReason::Completed);
}

fn a_target_that_is_down_is_found_out_before_the_load() {
    let closed = ClosedPort::new();
    let address = closed.address();
    let sandbox = Sandbox::new();
    let url = format!("http://{address}");
    sandbox
        .tool("run", "single --iterations 5")
        .args(["--base-url", &url])
        .run()
        .exits(100)
        .has_one_error()
        .says(&[&address.to_string()]);
    let not_run = sandbox.only_run().not_run();
    assert_eq!(not_run.scenario, "site::load::single");
    assert_eq!(not_run.exit_code.number(), 100);
    assert!(not_run.message.contains(&address.to_string()));
    sandbox.tool("report", "").run().exits(100);
}

fn a_scenario_that_did_not_run_stays_in_the_report() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("run", "--exact site::load::own site::load::own_dies")
        .args(["--iterations", "3"])
        .run()
        .exits(100);
    let run = sandbox.only_run();
    let record = run.record();
    assert_eq!(record.scenarios.len(), 1);
    let [not_run] = record.not_run.as_slice() else {
        panic!("one did not run: {:?}", record.not_run);
    };
    assert_eq!(not_run.scenario, "site::load::own_dies");
    assert!(not_run.message.contains("no database at shop.db"));
    sandbox.tool("report", "latest").run().exits(100);
}

fn an_export_to_standard_output_takes_the_place_of_the_card() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("single --iterations 20 --export json=-", &server)
        .run()
        .exits(0);
    let report: serde_json::Value =
        serde_json::from_str(&output.stdout).expect("standard output is JSON alone");
    assert_eq!(report["cards"][0]["identity"], "site::load::single");
    sandbox.only_run().has_page();
}

fn a_run_without_a_target_is_told_how_to_name_one() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("run", "single")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["no target", "--base-url", "LOADTEST_BASE_URL"]);
    assert_eq!(sandbox.only_run().not_run().exit_code.number(), 2);
    sandbox.tool("report", "").run().exits(2);
}

fn a_target_that_hangs_costs_its_timeouts_and_no_more() {
    const TIMEOUT: Duration = Duration::from_millis(200);
    let server = Server::start(|_| Reply::hang());
    let sandbox = Sandbox::new();
    sandbox
        .run("impatient --users 3 --iterations 9", &server)
        .run()
        .exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    let total = total(&record);
    let step = &total.steps[0];
    assert_eq!(record.end.ending, EndReason::Completed);
    assert_eq!((step.ok, step.failed), (0, 9));
    // Whoever gave up does not wait until the server has read the request.
    wait_for("every request", || (server.requests() == 9).then_some(()));
    let [error] = step.errors.as_slice() else {
        panic!("one kind of error: {:?}", step.errors);
    };
    assert_eq!(
        (error.kind.name(), error.count),
        ("timeout.head", step.failed)
    );
    assert_eq!(
        step.response.count(),
        step.failed,
        "timeouts enter at their deadline"
    );
    assert!(
        step.response.min() >= Some(TIMEOUT),
        "{:?}",
        step.response.min()
    );
    assert_eq!(
        total.journey.cancelled, 0,
        "the last ones end by themselves"
    );
}

fn a_run_that_overruns_its_end_says_what_it_waits_for() {
    const SAID: &str = "finishing: waiting for requests in flight (at most 30 s)";
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let server = Server::start(move |_| {
        let _released = held.lock().expect("one request at a time").recv();
        Reply::text("ok")
    });
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .run("endless --rate 10/s --duration 200ms", &server)
        .start();
    running.wait_until_it_says(SAID);
    drop(release);
    let output = running.output().exits(0);
    assert_eq!(output.stderr.matches(SAID).count(), 1, "{output}");
    assert_eq!(total(&sandbox.record()).journey.ok, 2);
}

fn a_target_that_fails_throughout_fails_the_run() {
    let server = Server::start(|_| Reply::status(500).body("out of order"));
    let sandbox = Sandbox::new();
    let output = sandbox.run("single --iterations 10", &server).run();
    output.exits(99).prints(&["FAILED", "500"]);
    let record = sandbox.record();
    assert_eq!(total(&record).journey.failed, 10);
}

fn a_step_that_panics_is_counted_with_its_place() {
    let server = Server::start(|request| match request.path.as_str() {
        "/list" if request.sequence % 5 == 0 => Reply::json(r#"{"items":[]}"#),
        "/list" => Reply::json(r#"{"items":[4]}"#),
        _ => Reply::json(r#"{"id":4}"#),
    });
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("panicking --iterations 50 --users 2", &server)
        .run()
        .exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    let total = total(&record);
    let first = step(&record, &total, "first");
    assert_eq!((first.ok, first.failed, first.requests), (40, 10, 40));
    assert_eq!(first.errors[0].kind.name(), "step.panic");
    assert_eq!(step(&record, &total, "details").skipped, 10);
    assert_eq!(
        step(&record, &total, "unmoved").ok,
        50,
        "the ones beside it go on"
    );
    assert_eq!(server.requests_to("/unmoved"), 50);
    let [panicked] = record.end.panics.as_slice() else {
        panic!("one place: {:?}", record.end.panics);
    };
    assert_eq!(panicked.count, 10);
    let line = include_str!("../fixtures/site/load.rs")
        .lines()
        .position(|line| line.contains("items[0])"))
        .expect("the line that panics")
        + 1;
    let place = format!("tests/load.rs:{line}:");
    assert!(
        panicked.location.starts_with(&place),
        "{place} in {panicked:?}"
    );
    assert!(
        panicked.message.contains("index out of bounds"),
        "{panicked:?}"
    );
    let shown = output.stdout.contains(&place) || output.stderr.contains(&place);
    assert!(shown, "the place is shown\n{output}");
    let floods = output.stderr.matches("panicked at").count();
    assert!(
        floods <= 1,
        "a panic is told once, not {floods} times\n{output}"
    );
}

fn one_failed_scenario_does_not_stop_the_next() {
    let server = Server::start(|request| match request.path.as_str() {
        "/stock" => Reply::json(r#"{"items":[]}"#),
        _ => shop(request),
    });
    let sandbox = Sandbox::new();
    sandbox
        .run("single checked journey --iterations 4", &server)
        .run()
        .exits(99)
        .prints(&[
            "site::load::single",
            "site::load::journey",
            "site::load::checked",
        ])
        .says(&[
            "Finished site::load::single: p95 ",
            "FAILED site::load::checked: errors of the journey: 100 %, and must be < 1 %",
        ]);
    let record = sandbox.only_run().record();
    let names: Vec<&str> = record
        .scenarios
        .iter()
        .map(|scenario| &*scenario.start.definition.name)
        .collect();
    assert_eq!(
        names,
        ["single", "journey", "checked"],
        "in the order of the source"
    );
    for scenario in &record.scenarios {
        assert_balanced(scenario);
        assert_eq!(total(scenario).journey.started, 4);
    }
}

fn an_export_goes_where_it_is_sent() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    let folder = tempfile::tempdir().expect("a folder");
    let (json, html) = (
        folder.path().join("card.json"),
        folder.path().join("card.html"),
    );
    sandbox
        .run("single --iterations 7", &server)
        .arg("--export")
        .arg(format!("json={}", json.display()))
        .arg("--export")
        .arg(format!("html={}", html.display()))
        .run()
        .exits(0);
    let card = std::fs::read_to_string(&json).expect("the card");
    let card: serde_json::Value = serde_json::from_str(&card).expect("JSON");
    assert_eq!(card["run_id"], *sandbox.only_run().record().run_id);
    let page = std::fs::read_to_string(&html).expect("the page");
    assert!(page.contains("site::load::single") && page.trim_end().ends_with("</html>"));
}

fn an_old_run_is_graded_again() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)));
    let sandbox = Sandbox::new();
    let first = sandbox.run("strict --iterations 10", &server).run();
    let first = first.exits(99);
    let run = sandbox.only_run();
    let id = run.record().run_id;
    let before = run.text("record.json");
    for which in ["latest", &id, &run.0.display().to_string()] {
        let again = sandbox.tool("report", which).run().exits(99);
        for line in first.stdout.lines().filter(|line| line.contains("p95")) {
            assert!(again.stdout.contains(line), "{line}\n{again}");
        }
    }
    assert_eq!(
        run.text("record.json"),
        before,
        "a record is never written again"
    );
    sandbox
        .tool("report", "no-such-run")
        .run()
        .exits(3)
        .has_one_error();
}

#[cfg(target_os = "linux")]
fn the_page_is_opened_where_it_is_asked_for() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let opened = folder.path().join("opened");
    let browser = folder.path().join("xdg-open");
    let script = format!("#!/bin/sh\nprintf %s. \"$1\" > {}\n", opened.display());
    std::fs::write(&browser, script).expect("our own folder");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&browser, mode).expect("our own file");
    let others = std::env::var("PATH").expect("a path");
    let path = format!("{}:{others}", folder.path().display());
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let run = sandbox.run("single --iterations 2 --open", &server);
    run.env("PATH", path).run().exits(0);
    let page = wait_for("the browser", || {
        let page = std::fs::read_to_string(&opened).ok()?;
        page.strip_suffix('.').map(PathBuf::from)
    });
    assert_eq!(page, sandbox.only_run().0.join("report.html"));
}
