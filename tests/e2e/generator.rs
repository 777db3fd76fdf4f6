//! What the generator says of itself, and what it needs of the machine.

use crate::call::wait_for;
use crate::site::{Sandbox, assert_balanced, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Gate, Reply, Server};
use rustix::process::Signal;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_step_that_blocks_its_thread_makes_the_run_invalid,
        arrivals_that_waited_for_a_user_are_told,
        the_limit_of_open_files_is_raised_where_the_system_lets_it,
        the_accounts_are_printed_and_kept,
    ]
}

fn a_step_that_blocks_its_thread_makes_the_run_invalid() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    // The step keeps its thread for 400 ms each time: the last stall begins 2 s or more after the first.
    sandbox
        .run("blocking --iterations 6 --users 1", &server)
        .judged()
        .run()
        .exits(102)
        .prints(&[
            "INVALID",
            "a worker thread stalled in",
            "a step must not block",
            "generator: ",
        ]);
    let run = sandbox.only_run();
    run.has_page();
    let page = run.text("report.html");
    assert!(page.contains("a worker thread stalled in"));
    let record = run.scenario();
    assert_balanced(&record);
    let cells = &record.cells.cells;
    let stalled: u32 = cells.iter().map(|cell| cell.health.stalled_seconds).sum();
    let seconds: u32 = cells.iter().map(|cell| cell.seconds).sum();
    assert!((2..=seconds).contains(&stalled), "{stalled} of {seconds}");
    let longest = cells.iter().map(|cell| cell.health.longest_stall_us).max();
    // The runtime was to come back within 20 ms.
    assert!(longest >= Some(380_000), "{longest:?}");
}

fn arrivals_that_waited_for_a_user_are_told() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(500)));
    let sandbox = Sandbox::new();
    let running = sandbox
        .run("narrow --rate 20/s --duration 1h", &server)
        .start();
    // The second arrival was due while the first one was answered.
    wait_for("three requests", || (server.requests() >= 3).then_some(()));
    running.signal(Signal::INT);
    let output = running.output().exits(105);
    let run = sandbox.only_run();
    let record = run.scenario();
    assert_balanced(&record);
    let waits = total(&record).journey.waits.count();
    assert!(waits > 0);
    let waited: u64 = record.cells.cells.iter().map(|cell| cell.waited).sum();
    assert_eq!(
        waited, waits,
        "every wait is in the second in which it was over"
    );
    let longest = record
        .cells
        .cells
        .iter()
        .map(|cell| cell.longest_wait_us)
        .max();
    assert!(longest >= Some(400_000), "{longest:?}");
    let output = output.prints(&[
        "waited because the only virtual user was busy",
        "raise `max_users`",
    ]);
    assert!(!output.stdout.contains("Measurement VALID"), "{output}");
    let page = run.text("report.html");
    assert!(page.contains("waited because the only virtual user was busy"));
}

fn the_limit_of_open_files_is_raised_where_the_system_lets_it() {
    const USERS: u64 = 300;
    let gate = Gate::new();
    let held = gate.clone();
    let server = Server::start(move |_| Reply::text("ok").hold(&held));
    let sandbox = Sandbox::new();
    let line = format!("single --iterations {USERS} --users {USERS}");
    let running = sandbox.run_with_files("-S -n 128", &line, &server).start();
    wait_for("the requests of all users", || {
        (server.requests() == USERS).then_some(())
    });
    gate.open();
    running.output().exits(0);
    assert_eq!(total(&sandbox.record()).journey.ok, USERS);
    assert_eq!(server.connections(), USERS + 1);
}

fn the_accounts_are_printed_and_kept() {
    let server = Server::start(|request| match request.sequence {
        3 => Reply::status(503),
        _ => Reply::text("ok"),
    });
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("single --iterations 40 --users 2 --verbose", &server)
        .run()
        .exits(99);
    output.prints(&[
        "40 planned = 40 started + 0 dropped",
        "40 started = 39 ok + 1 failed + 0 cancelled",
    ]);
    let page = sandbox.only_run().text("report.html");
    assert!(page.contains("The accounts balance"));
}
