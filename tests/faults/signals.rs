//! Processes that are stopped, suspended or killed: the tool, the load test, or both.

use crate::call::{Output, Running, is_running, send, wait_at_most, wait_for};
use crate::inject::{act, count_ok, good_server, read_journal, run};
use crate::project::Files;
use crate::row::Count::{Any as AnyOf, Some as SomeOf};
use crate::row::{Group, Outcome, Row, ends, passes};
use crate::site::{Sandbox, sender, total, wait_for_the_end_of_the_load};
use loadtest_model::record::EndReason;
use loadtest_tests::{Gate, Reply, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// The files of a run whose tool did not come to its end.
const UNFINISHED: [&str; 5] = [
    "journal-1.jsonl",
    "observed-1.jsonl",
    "record-1.json",
    "request-1.json",
    "run.json",
];
const USERS: u64 = 4;
const DELAY: Duration = Duration::from_millis(20);

pub(crate) fn rows() -> Vec<Row> {
    let parts = [stopped(), suspended(), killed()];
    parts.into_iter().flatten().collect()
}

/// A server that knows the process which asks.
fn server() -> Server {
    Server::recording(|_| Reply::text("ok").delay(DELAY))
}

/// Starts a run of a minute and waits until so many requests have come.
fn long_run(sandbox: &Sandbox, scenarios: &str, server: &Server, requests: u64) -> Running {
    let line = format!("{scenarios} --users {USERS} --duration 60s");
    let mut running = run(sandbox, &line, "", server).start();
    running.wait_until_it_says("[0s]");
    wait_for("the load", || (server.requests() >= requests).then_some(()));
    running
}

/// A signal to the tool in the first of several scenarios: what is in flight finishes.
fn signalled(fault: &'static str, scenarios: &'static str, signal: Signal) -> Row {
    let expected = ends(
        105,
        "stopping: waiting for requests in flight (Ctrl-C again to abort)",
    );
    let row = act(Group::Signals, fault, expected.ok(SomeOf), move |sandbox| {
        let server = server();
        let running = long_run(sandbox, scenarios, &server, 20);
        running.signal(signal);
        let output = running.output().prints(&["INTERRUPTED"]);
        let run = sandbox.only_run();
        run.has_page();
        let record = run.record();
        let [scenario] = &record.scenarios[..] else {
            panic!("one scenario began");
        };
        assert_eq!(scenario.end.ending, EndReason::Interrupted);
        assert_eq!(total(scenario).journey.ok, server.requests());
        assert_eq!(record.not_run.len(), scenarios.matches(' ').count());
        for not_run in &record.not_run {
            assert_eq!(not_run.message, "interrupted before its load started");
        }
        sandbox.tool("report", "").run().exits(105);
        output
    });
    row.peers("k6: exit code 105 and a report; oha: a report after SIGINT, none after SIGTERM; Goose: no report after SIGTERM")
}

fn stopped() -> Vec<Row> {
    vec![
        signalled(
            "SIGINT (Ctrl-C) in the first of two scenarios",
            "steady matrix::load::hurried",
            Signal::INT,
        ),
        signalled("SIGTERM during the load", "steady", Signal::TERM),
        act(
            Group::Signals,
            "Ctrl-C twice, while three of 13 requests are never answered",
            ends(105, "aborting").ok(10).with("cancelled", 3),
            |sandbox| {
                let server = Server::start(|request| match request.sequence {
                    0..10 => Reply::text("ok"),
                    _ => Reply::hang(),
                });
                let line = "plain --users 3 --duration 60s";
                let mut running = run(sandbox, line, "", &server).start();
                wait_for("the load", || (server.requests() >= 13).then_some(()));
                running.signal(Signal::INT);
                running.wait_until_it_says("stopping");
                running.signal(Signal::INT);
                let output = running.output();
                assert_eq!(sandbox.record().end.ending, EndReason::Aborted);
                assert_eq!(server.requests(), 13, "nothing new is started");
                output.says_no("is killed")
            },
        ),
        act(
            Group::Signals,
            "Ctrl-C while the load test is compiled",
            ends(105, "interrupted").leaves(&[]),
            |_| interrupt_build(),
        ),
        act(
            Group::Signals,
            "Ctrl-C while a target starts that never listens",
            ends(105, "stopped before the load started"),
            |sandbox| {
                let file = sandbox.root().join("deaf");
                let line = "--exact matrix::load::deaf";
                let running = sandbox.tool("run", line).env("SITE_DEAF", &file).start();
                let process = wait_for("the target", || {
                    std::fs::read_to_string(&file).ok()?.parse().ok()
                });
                running.signal(Signal::INT);
                let output = running.output();
                wait_for("the end of the target", || {
                    (!is_running(process)).then_some(())
                });
                assert_eq!(sandbox.only_run().not_run().exit_code.number(), 105);
                output
            },
        ),
    ]
}

/// Interrupts a build script that ends when its file is gone: it is no child of the tool.
fn interrupt_build() -> Output {
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
    running.output()
}

fn suspended() -> Vec<Row> {
    let invalid = || ends(102, "a worker thread stalled in").ok(SomeOf);
    vec![
        act(
            Group::Signals,
            "The load test is suspended (SIGSTOP) for 2.5 s, in a closed load",
            invalid(),
            |sandbox| {
                // Both users wait for their first answer, so the load is not over before the stop.
                let gate = Gate::new();
                let held = gate.clone();
                let server = Server::recording(move |_| Reply::text("ok").delay(DELAY).hold(&held));
                let call = run(sandbox, "steady", "--users 2 --duration 5s", &server);
                let running = call.judged().start();
                wait_for("both users", || (server.requests() == 2).then_some(()));
                suspend(sender(&server), Duration::from_millis(2_500));
                gate.open();
                let output = running.output().prints(&["INVALID"]);
                let record = sandbox.record();
                let cells = record.cells.cells.iter();
                let longest = cells.map(|cell| cell.health.longest_stall_us).max();
                assert!(longest >= Some(2_400_000), "{longest:?}");
                assert_eq!(total(&record).journey.ok, server.requests());
                output
            },
        )
        .peers("k6: 36 dropped, no warning; oha: not to be seen, slowest request 4.5 ms"),
        act(
            Group::Signals,
            "The load test is suspended (SIGSTOP) for 2 s, in an open load",
            invalid().ok(300),
            |sandbox| {
                let server = server();
                // So long that all who waited are served before the end.
                let line = "--rate 50/s --duration 6s";
                let running = run(sandbox, "steady", line, &server).judged().start();
                wait_for("the load", || (server.requests() >= 1).then_some(()));
                suspend(sender(&server), Duration::from_secs(2));
                let output = running.output().prints(&["INVALID"]);
                assert_eq!(server.requests(), 300);
                // The iterations that were due meanwhile are charged from then on.
                let times = total(&sandbox.record()).journey.time;
                assert!(times.max() >= Some(Duration::from_millis(1_800)));
                let long = times.count() - times.count_at_most(Duration::from_secs(1));
                assert!(long >= 45, "{long} of those due in the first second");
                output
            },
        ),
    ]
}

/// Stops a process for a time.
fn suspend(process: u32, time: Duration) {
    send(process, Signal::STOP);
    // The stop is what is tested: its length is the stall.
    std::thread::sleep(time);
    send(process, Signal::CONT);
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Tool,
    LoadTest,
    Both,
}

fn killed() -> Vec<Row> {
    let row = |fault, victim, expected: Outcome| {
        let expected = expected.ok(SomeOf);
        act(Group::Signals, fault, expected, move |sandbox| {
            kill(victim, sandbox)
        })
    };
    vec![
        row(
            "The load test is killed (SIGKILL)",
            Victim::LoadTest,
            ends(105, "signal 9").with("cancelled", AnyOf),
        ),
        row(
            "The tool is killed (SIGKILL), and the run is reported",
            Victim::Tool,
            ends(105, "matrix::load::steady").leaves(&UNFINISHED),
        )
        .peers("k6: no summary; oha, Goose: no result"),
        row(
            "Both are killed (SIGKILL) before their second scenario, and the run is reported",
            Victim::Both,
            ends(105, "interrupted before its load started").leaves(&[
                "journal-1.jsonl",
                "observed-1.jsonl",
                "request-1.json",
                "run.json",
            ]),
        ),
        act(
            Group::Signals,
            "The tool is killed (SIGKILL) while a teardown hangs, and the run is reported",
            passes().says("teardown_hangs").leaves(&UNFINISHED),
            |sandbox| {
                let server = good_server();
                let mut running = run(sandbox, "code::teardown_hangs", "", &server).start();
                running.wait_until_it_says("hanging");
                let process = wait_for("the number of the process", || {
                    let said = running.said();
                    let (_, rest) = said.split_once("hanging in the teardown ")?;
                    rest.split_once('\n')?.0.trim().parse().ok()
                });
                // The process speaks for itself; the tool may not know yet that the load began.
                let observed = sandbox.only_run().0.join("observed-1.jsonl");
                wait_for("what is observed", || observed.exists().then_some(()));
                running.signal(Signal::KILL);
                wait_at_most(Duration::from_secs(60), "the end of the load test", || {
                    (!is_running(process)).then_some(())
                });
                sandbox.tool("report", "latest --verbose").run()
            },
        ),
    ]
}

/// Kills a run whose journal holds two seconds or more, and reports it: they are kept.
fn kill(victim: Victim, sandbox: &Sandbox) -> Output {
    let server = server();
    let scenarios = match victim {
        Victim::Both => "steady matrix::load::hurried",
        _ => "steady",
    };
    let running = long_run(sandbox, scenarios, &server, 1);
    let sure = wait_for("two seconds with journeys in the journal", || {
        let frames = read_journal(sandbox);
        let ok = count_ok(&frames);
        (frames.len() >= 2 && ok > 0).then_some(ok)
    });
    if victim != Victim::LoadTest {
        running.signal(Signal::KILL);
    }
    if victim != Victim::Tool {
        send(sender(&server), Signal::KILL);
    }
    let output = running.output();
    // The load test notices that its control pipe is closed, and stops by itself.
    wait_for_the_end_of_the_load(&server);
    let report = sandbox.tool("report", "latest --export json=-").run();
    let report: Value = serde_json::from_str(&report.exits(105).stdout).expect("JSON");
    let card = &report["cards"][0];
    assert_eq!(card["verdict"], "interrupted", "{card}");
    let accounts = &card["accounts"];
    let count = |name: &str| accounts[name].as_u64().expect("a number");
    assert_eq!(count("planned"), count("started"));
    assert_eq!(count("started"), count("ok") + count("cancelled"));
    let all = server.requests();
    assert!(
        count("ok") >= sure && count("started") <= all,
        "{sure} journeys were to be kept, of {all}: {accounts}"
    );
    if victim == Victim::Tool {
        assert_eq!(count("ok"), all, "{accounts}");
    }
    // The load test that outlives the tool ends in order.
    let is_balanced = (victim == Victim::Tool).then_some(true);
    assert_eq!(accounts["balanced"], Value::from(is_balanced), "{victim:?}");
    match victim {
        Victim::LoadTest => output,
        _ => sandbox.tool("report", "latest --verbose").run(),
    }
}
