//! Code of a scenario that panics, does not come to its end, or says too much.

use crate::call::{Output, wait_for};
use crate::inject::{act, count_ok, good_server, read_journal, run};
use crate::row::Count::{Any as AnyOf, Some as SomeOf};
use crate::row::{Group, Outcome, Row, ends, fails, passes};
use crate::site::Sandbox;
use loadtest_model::record::EndReason;
use loadtest_tests::{Gate, Reply, Server};
use rustix::process::Signal;
use std::time::Duration;

pub(crate) fn rows() -> Vec<Row> {
    let parts = [panics(), errors(), waits(), texts()];
    parts.into_iter().flatten().collect()
}

fn panics() -> Vec<Row> {
    vec![
        code("A setup that panics", "setup_panics", ends(100, "no database")),
        code("A teardown that panics", "teardown_panics", passes().says("no database")),
        code(
            "A check that panics",
            "check_panics",
            fails("step.assert", "a number"),
        ),
        code(
            "A panic whose payload panics when it is dropped",
            "explodes",
            fails("step.panic", "panicked: without a message"),
        ),
        act(
            Group::Code,
            "One step in 50 panics, of 2,000",
            ends(99, "told to panic")
                .ok(1_960)
                .error("step.panic", 40),
            |sandbox| {
                let server = good_server();
                let output = run(sandbox, "code::cracked", "", &server).run();
                assert_eq!(server.requests(), 1_960);
                assert_eq!(server.connections(), 4 + 1, "no user lost a connection");
                output
            },
        ),
        act(
            Group::Code,
            "One step in 10 panics",
            ends(
                99,
                "given up before its end: more than 5 % of the steps panicked, most at tests/load/code.rs",
            )
            .ok(SomeOf)
            .error("step.panic", SomeOf)
            .with("cancelled", AnyOf),
            |sandbox| {
                let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(2)));
                let output = run(sandbox, "code::crumbling", "", &server).run();
                let record = sandbox.record();
                assert_eq!(record.end.ending, EndReason::Panicked);
                assert_eq!(record.end.panics.len(), 1);
                output
            },
        )
.peers("k6: logged, counted as complete; Goose: the user is lost, 12 requests"),
        quits("A step that ends the process", "exit", "exit code 0"),
        quits("A step that aborts the process", "abort", "signal 6"),
    ]
}

fn errors() -> Vec<Row> {
    vec![code(
        "A step that returns an error",
        "errs",
        fails("step.error", "no stock"),
    )]
}

fn waits() -> Vec<Row> {
    vec![
        code(
            "A step whose future never resolves",
            "never_resolves",
            fails(
                "step.error",
                "the step waited 3s for something other than a request or a pause",
            ),
        ),
        code(
            "A step that loops for ever",
            "never_returns",
            ends(102, "step `spin` did not return its thread"),
        ),
        cut_off(
            "A step that never returns, and Ctrl-C twice",
            "stuck",
            5,
            ends(105, "INTERRUPTED"),
        ),
        cut_off(
            "A step that sends for itself and never returns, and Ctrl-C twice",
            "spins",
            1,
            ends(105, "INTERRUPTED"),
        ),
        hangs(
            "A setup that hangs, and Ctrl-C",
            Signal::INT,
            "setup_hangs",
            ends(
                105,
                "a setup or teardown did not end within 10s after the stop",
            ),
        ),
        hangs(
            "A setup that hangs, and SIGTERM",
            Signal::TERM,
            "setup_hangs",
            ends(
                105,
                "a setup or teardown did not end within 10s after the stop",
            ),
        ),
        hangs(
            "A teardown that hangs, and Ctrl-C",
            Signal::INT,
            "teardown_hangs",
            passes().says("a setup or teardown did not end within 10s after the stop"),
        ),
    ]
}

fn texts() -> Vec<Row> {
    const MARK: &str = "… [cut: 320000";
    vec![
        code(
            "A check whose message has 32 MB",
            "shouts",
            fails("step.assert", "… [cut: 32000021 bytes in all]"),
        ),
        code(
            "A panic whose message has 32 MB",
            "cries",
            fails("step.panic", "… [cut: 32000000 bytes in all]"),
        ),
        code(
            "An error whose message has 32 MB",
            "errs_at_length",
            fails("step.error", MARK),
        ),
        act(
            Group::Code,
            "A line of 32 MB on standard output",
            passes().ok(1).says("xxxx… [cut: 32000000 bytes in all]"),
            |sandbox| {
                let output = run(sandbox, "code::rambles", "", &good_server()).run();
                assert_eq!(output.stderr.matches('x').count() / 1024, 16);
                output
            },
        ),
        act(
            Group::Code,
            "2,000 lines on standard output that look like an answer to the tool, and as many on standard error",
            passes().ok(2_000).says("{\"scenarios\": []}"),
            |sandbox| {
                let output = run(sandbox, "code::chatty", "", &good_server()).run();
                assert!(
                    !output.stdout.contains("chatter")
                        && !output.stdout.contains("scenarios\": []")
                );
                let printed = output.stderr.matches("chatter on standard error");
                assert_eq!(printed.count(), 2_000);
                output
            },
        ),
    ]
}

/// A scenario whose own code is the fault.
fn code(fault: &'static str, scenario: &'static str, expected: Outcome) -> Row {
    act(Group::Code, fault, expected, move |sandbox| {
        let scenario = format!("code::{scenario}");
        let output = run(sandbox, &scenario, "", &good_server_of_no()).run();
        assert_messages_are_short(sandbox);
        output
    })
}

/// Answers with a text of two letters.
fn good_server_of_no() -> Server {
    Server::start(|_| Reply::text("no"))
}

/// A message is kept to 4 KiB.
fn assert_messages_are_short(sandbox: &Sandbox) {
    for scenario in sandbox.only_run().record().scenarios {
        for step in crate::site::total(&scenario).steps {
            for error in step.errors {
                assert!(error.example.to_string().len() <= 4096);
            }
        }
    }
}

/// A step that keeps its thread after so many requests, and two signals to the tool.
fn cut_off(fault: &'static str, scenario: &'static str, requests: u64, expected: Outcome) -> Row {
    act(Group::Code, fault, expected, move |sandbox| {
        let server = good_server();
        let mut running = run(sandbox, &format!("code::{scenario}"), "", &server).start();
        wait_for("the last request", || {
            (server.requests() == requests).then_some(())
        });
        running.signal(Signal::INT);
        running.wait_until_it_says("stopping");
        running.signal(Signal::INT);
        let output = running.output();
        assert_ne!(sandbox.record().end.ending, EndReason::Completed);
        output
    })
}

/// A scenario that hangs once it has said so, and a signal to the tool.
fn hangs(fault: &'static str, signal: Signal, scenario: &'static str, expected: Outcome) -> Row {
    act(Group::Code, fault, expected, move |sandbox| {
        let server = good_server();
        let mut running = run(sandbox, &format!("code::{scenario}"), "", &server).start();
        running.wait_until_it_says("hanging");
        running.signal(signal);
        running.output()
    })
}

/// A process that ends in its sixth journey, once its journal holds the five before.
fn quits(fault: &'static str, how: &'static str, message: &str) -> Row {
    const JOURNEYS: u64 = 5;
    act(
        Group::Code,
        fault,
        ends(105, message).ok(SomeOf).with("cancelled", AnyOf),
        move |sandbox| {
            let gate = Gate::new();
            let held = gate.clone();
            let server = Server::start(move |request| match request.sequence {
                JOURNEYS => Reply::json(format!(r#"{{"quit":"{how}"}}"#)).hold(&held),
                _ => Reply::json("{}"),
            });
            let running = run(sandbox, "code::quits", "", &server).start();
            wait_for("the journeys in the journal", || {
                (count_ok(&read_journal(sandbox)) == JOURNEYS).then_some(())
            });
            gate.open();
            let output: Output = running.output();
            let record = sandbox.record();
            assert!(matches!(record.end.ending, EndReason::Died { .. }));
            let ok = crate::site::total(&record).journey.ok;
            assert_eq!(ok, JOURNEYS, "{output}");
            output
        },
    )
}
