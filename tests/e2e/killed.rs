//! Runs that are killed outright, or stopped for a while: nothing that was measured is lost, and
//! nothing passes for what it is not.

use crate::call::{Running, send, wait_for};
use crate::site::{Sandbox, assert_balanced, total, wait_for_the_end_of_the_load};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_killed_run_keeps_all_but_its_last_second,
        a_killed_run_tells_of_the_scenarios_that_never_began,
        a_scenario_that_was_stopped_for_a_while_is_invalid,
    ]
}

const USERS: u64 = 4;
const DELAY: Duration = Duration::from_millis(20);
/// The last second, and what a busy machine may be late with its frame.
const LOST: Duration = Duration::from_millis(1_400);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Tool,
    Scenario,
    Both,
}

fn a_killed_run_keeps_all_but_its_last_second() {
    // Spread over a second, and the same in every run of the suite.
    let instants = [
        (Victim::Scenario, 370),
        (Victim::Tool, 610),
        (Victim::Both, 930),
    ];
    for (victim, millis) in instants {
        let server = Server::recording(|_| Reply::text("ok").delay(DELAY));
        let sandbox = Sandbox::new();
        let line = format!("endless --users {USERS} --duration 60s");
        let mut running = sandbox.run(&line, &server).start();
        running.wait_until_it_says("[0s]");
        wait_for("the load", || (server.requests() > 0).then_some(()));
        let end = Instant::now() + Duration::from_millis(1_500 + millis);
        let mut sure = 0;
        wait_for("the end", || {
            if Instant::now() + LOST < end {
                sure = server.requests();
            }
            (Instant::now() >= end).then_some(())
        });
        kill(victim, running, &server);
        let card = report(&sandbox);
        assert_eq!(card["verdict"], "interrupted", "{victim:?}: {card}");
        let accounts = &card["accounts"];
        let count = |name: &str| accounts[name].as_u64().expect("a number");
        assert_eq!(count("planned"), count("started"));
        assert_eq!(count("started"), count("ok") + count("cancelled"));
        let all = server.requests();
        assert!(
            count("ok") + USERS >= sure && count("started") <= all,
            "{victim:?}: {sure} requests were to be kept, of {all}: {accounts}"
        );
        if victim == Victim::Tool {
            // The scenario ended in order, and left a record of its own.
            assert_eq!(count("ok"), all, "{accounts}");
            assert_eq!(accounts["balanced"], true);
        } else {
            assert_eq!(accounts["balanced"], Value::Null, "{victim:?}");
        }
    }
}

fn kill(victim: Victim, running: Running, server: &Server) {
    let process = server.recorded()[0].header("x-process").map(str::parse);
    let process = process.expect("the process is named").expect("a number");
    if victim != Victim::Scenario {
        running.signal(Signal::KILL);
    }
    if victim != Victim::Tool {
        send(process, Signal::KILL);
    }
    let output = running.output();
    if victim == Victim::Scenario {
        output.exits(105);
    }
    wait_for_the_end_of_the_load(server);
}

/// The card of the only scenario of the latest run.
fn report(sandbox: &Sandbox) -> Value {
    let output = sandbox.tool("report", "latest --export json=-").run();
    let output = output.exits(105);
    let report: Value = serde_json::from_str(&output.stdout).expect("the report as JSON");
    assert_eq!(report["exit_code"], 105);
    report["cards"][0].clone()
}

fn a_killed_run_tells_of_the_scenarios_that_never_began() {
    let server = Server::recording(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let line = format!("endless elsewhere --users {USERS} --duration 60s");
    let mut running = sandbox.run(&line, &server).start();
    running.wait_until_it_says("[0s]");
    wait_for("the load", || (server.requests() > 0).then_some(()));
    kill(Victim::Both, running, &server);
    let output = sandbox.tool("report", "latest --export json=-").run();
    let report: Value = serde_json::from_str(&output.exits(105).stdout).expect("JSON");
    let not_run = report["not_run"].as_array().expect("a list");
    assert_eq!(not_run.len(), 1, "{report}");
    assert_eq!(not_run[0]["message"], "interrupted before its load began");
    assert_eq!(server.requests_to("/where"), 0);
}

fn a_scenario_that_was_stopped_for_a_while_is_invalid() {
    let server = Server::recording(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let run = sandbox.run("endless --rate 50/s --duration 4s", &server);
    let running = run.judged().start();
    wait_for("the load", || (server.requests() >= 50).then_some(()));
    let process = server.recorded()[0].header("x-process").map(str::parse);
    let process = process.expect("the process is named").expect("a number");
    send(process, Signal::STOP);
    // The stop is what is tested: its length is the stall.
    std::thread::sleep(Duration::from_secs(2));
    send(process, Signal::CONT);
    running.output().exits(102).prints(&[
        "INVALID",
        "a worker thread stalled in",
        "the generator fell behind",
    ]);
    let record = sandbox.record();
    assert_balanced(&record);
    let total = total(&record);
    assert_eq!((record.end.planned, server.requests()), (200, 200));
    // What was due when it was stopped is charged from then on.
    let longest = total.journey.time.max().expect("journeys");
    assert!(longest >= Duration::from_millis(1_800), "{longest:?}");
}
