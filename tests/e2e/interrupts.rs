//! Runs that end before their time: what was measured until then is kept.

use crate::call::{Running, send, wait_for};
use crate::project::Files;
use crate::site::{Sandbox, assert_balanced, total, wait_for_the_end_of_the_load};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::record::EndReason;
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        ctrl_c_lets_what_is_in_flight_finish,
        sigterm_is_as_ctrl_c,
        ctrl_c_twice_cancels_what_is_in_flight,
        ctrl_c_while_building_ends_at_once,
        a_run_that_overruns_its_end_says_what_it_waits_for,
        a_killed_scenario_leaves_what_its_journal_holds,
        a_killed_tool_leaves_what_its_journal_holds,
        a_closed_standard_output_loses_no_file,
        an_interrupt_ends_the_scenarios_that_follow,
    ]
}

const DELAY: Duration = Duration::from_millis(30);

/// Starts a run of a minute and waits until `requests` requests have come.
fn long_run(sandbox: &Sandbox, line: &str, server: &Server, requests: u64) -> Running {
    let mut running = sandbox
        .run(&format!("{line} --duration 60s"), server)
        .start();
    running.wait_until_it_says("[0s]");
    wait_for("the load", || (server.requests() >= requests).then_some(()));
    running
}

fn stopped_by(signal: Signal) {
    let server = Server::start(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let running = long_run(&sandbox, "single --users 4", &server, 20);
    running.signal(signal);
    let output = running.output().exits(105).says(&["stopping"]);
    let output = output.prints(&["INTERRUPTED"]);
    let run = sandbox.only_run();
    run.has_page();
    let record = run.scenario();
    assert_balanced(&record);
    assert_eq!(record.end.ending, EndReason::Interrupted);
    let total = total(&record);
    assert_eq!(
        total.journey.cancelled, 0,
        "what is in flight finishes\n{output}"
    );
    assert_eq!(total.journey.ok, server.requests());
    assert_eq!(total.steps[0].failed, 0);
    assert!(
        record.end.elapsed_us < 60_000_000,
        "{} us",
        record.end.elapsed_us
    );
}

fn ctrl_c_lets_what_is_in_flight_finish() {
    stopped_by(Signal::INT);
}

fn sigterm_is_as_ctrl_c() {
    stopped_by(Signal::TERM);
}

fn ctrl_c_twice_cancels_what_is_in_flight() {
    // The first ten are answered, the others never; each step would wait for 30 s.
    let server = Server::start(|request| match request.sequence {
        0..10 => Reply::text("ok"),
        _ => Reply::hang(),
    });
    let sandbox = Sandbox::new();
    let mut running = long_run(&sandbox, "endless --users 3", &server, 13);
    running.signal(Signal::INT);
    running.wait_until_it_says("stopping");
    running.signal(Signal::INT);
    running.output().exits(105).says(&["aborting"]);
    let run = sandbox.only_run();
    run.has_page();
    let record = run.scenario();
    assert_balanced(&record);
    assert_eq!(record.end.ending, EndReason::Aborted);
    let total = total(&record);
    // Nobody waited for the deadline: then these would be timeouts.
    assert_eq!((total.journey.ok, total.journey.cancelled), (10, 3));
    assert_eq!((total.steps[0].cancelled, total.steps[0].failed), (3, 0));
    assert_eq!(server.requests(), 13, "nothing new is started");
}

fn a_run_that_overruns_its_end_says_what_it_waits_for() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_secs(5)));
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("endless --users 1 --duration 1s", &server)
        .run()
        .exits(0);
    let said = output
        .stderr
        .matches("finishing: waiting for requests in flight (at most 30 s)");
    assert_eq!(said.count(), 1, "{output}");
}

fn ctrl_c_while_building_ends_at_once() {
    // A build script that ends when its file is gone: it is no child of the tool.
    let folder = tempfile::tempdir().expect("a folder");
    let begun = folder.path().join("begun");
    let path = begun.display();
    let script = format!(
        "fn main() {{\n    let begun = std::path::Path::new(\"{path}\");\n    \
         std::fs::write(begun, \"\").unwrap();\n    \
         while begun.exists() {{\n        \
         std::thread::sleep(std::time::Duration::from_millis(20));\n    }}\n}}\n"
    );
    let project = Files::single("building", "loadtest::main!();\n")
        .file("build.rs", script)
        .create();
    let running = project.tool("run", "").start();
    wait_for("the build script", || begun.exists().then_some(()));
    running.signal(Signal::INT);
    running.output().exits(105).says(&["interrupted"]);
    drop(folder);
}

fn a_killed_scenario_leaves_what_its_journal_holds() {
    let server = Server::recording(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let running = long_run(&sandbox, "endless --users 4", &server, 4);
    wait_for("the load of some seconds", || {
        (server.requests() >= 300).then_some(())
    });
    let process = server.recorded()[0].header("x-process").map(str::parse);
    let process = process.expect("the process is named").expect("a number");
    send(process, Signal::KILL);
    let output = running.output().exits(105).prints(&["signal 9"]);
    let run = sandbox.only_run();
    run.has_page();
    let record = run.scenario();
    assert_balanced(&record);
    assert!(
        matches!(&record.end.ending, EndReason::Died { reason } if reason.contains("signal 9")),
        "{output}"
    );
    let total = total(&record);
    // Four users at 30 ms are at most 133 requests a second, and one second may be lost.
    assert!(
        total.journey.ok >= 300 - 2 * 134,
        "{} journeys are left",
        total.journey.ok
    );
    assert!(total.journey.ok <= server.requests());
}

fn a_killed_tool_leaves_what_its_journal_holds() {
    let server = Server::recording(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let running = long_run(&sandbox, "endless --users 4", &server, 300);
    running.signal(Signal::KILL);
    drop(running.output());
    // The scenario notices that its control pipe is closed, and stops by itself.
    wait_for_the_end_of_the_load(&server);
    let report = sandbox.tool("report", "latest").run().exits(105);
    let report = report.prints(&["site::load::endless"]);
    let run = sandbox.only_run();
    assert!(
        !run.0.join("record.json").exists(),
        "nobody wrote a record\n{report}"
    );
    assert!(
        server.requests() < 4 * 60_000 / 30,
        "the load did not go on"
    );
}

fn a_closed_standard_output_loses_no_file() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("single --iterations 20", &server)
        .start_without_stdout()
        .output();
    let output = output.exits(0);
    output.says_no("panicked").says_no("error");
    let run = sandbox.only_run();
    run.has_page();
    assert_eq!(total(&run.scenario()).journey.ok, 20);
}

fn an_interrupt_ends_the_scenarios_that_follow() {
    let server = Server::start(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let running = long_run(&sandbox, "single strict impatient --users 2", &server, 5);
    running.signal(Signal::INT);
    running.output().exits(105);
    let record = sandbox.only_run().record();
    let names: Vec<&str> = record
        .scenarios
        .iter()
        .map(|scenario| &*scenario.start.definition.name)
        .collect();
    assert_eq!(names, ["single"]);
    assert_eq!(record.not_run.len(), 2);
    for not_run in &record.not_run {
        assert_eq!(not_run.exit_code, 105);
        assert_eq!(not_run.message, "interrupted before its load began");
    }
    sandbox.tool("report", "").run().exits(105);
    assert_eq!(server.requests_to("/hang"), 0);
}
