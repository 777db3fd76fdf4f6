//! Waits that the code of a scenario would make endless, and texts that it would make as long.

use crate::call::{is_running, wait_at_most, wait_for};
use crate::site::{Sandbox, assert_balanced, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::metrics::ErrorKind;
use loadtest_model::record::{EndReason, ScenarioRecord};
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_setup_that_hangs_ends_with_one_ctrl_c,
        a_teardown_that_hangs_costs_no_measurement,
        a_teardown_that_hangs_ends_after_the_death_of_the_tool,
        a_future_that_never_resolves_fails_its_step,
        fixed_work_whose_step_never_returns_is_given_up,
        a_panic_with_a_payload_that_panics_is_a_failure_of_the_step,
        the_message_of_a_check_is_kept_to_four_kilobytes,
        a_line_without_an_end_is_cut,
        a_store_that_vanishes_is_made_again,
    ]
}

/// The error of the only step: its kind, its count and an example.
fn only_error(record: &ScenarioRecord) -> (ErrorKind, u64, String) {
    let total = total(record);
    let [error] = &total.steps[0].errors[..] else {
        panic!("{:?}", total.steps[0].errors);
    };
    (error.kind, error.count, error.example.to_string())
}

fn a_setup_that_hangs_ends_with_one_ctrl_c() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let mut running = sandbox.run("setup_hangs", &server).start();
    running.wait_until_it_says("setting up");
    running.signal(Signal::INT);
    running
        .output()
        .exits(105)
        .says(&["a setup or teardown did not end within 10s after the stop"]);
    assert_eq!(sandbox.only_run().not_run().exit_code, 105);
    assert_eq!(server.requests(), 0);
}

fn a_teardown_that_hangs_costs_no_measurement() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let mut running = sandbox.run("teardown_hangs", &server).start();
    running.wait_until_it_says("tearing down");
    running.signal(Signal::INT);
    running
        .output()
        .exits(0)
        .says(&["a setup or teardown did not end within 10s after the stop"]);
    let run = sandbox.only_run();
    run.has_page();
    let record = run.scenario();
    assert_balanced(&record);
    assert_eq!(record.end.ending, EndReason::Completed);
    assert_eq!(total(&record).journey.ok, 3);
}

fn a_teardown_that_hangs_ends_after_the_death_of_the_tool() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let mut running = sandbox.run("teardown_hangs", &server).start();
    running.wait_until_it_says("tearing down");
    let process = wait_for("the number of the process", || {
        let said = running.said();
        let (_, rest) = said.split_once("tearing down ")?;
        rest.split_once('\n')?.0.trim().parse::<u32>().ok()
    });
    running.signal(Signal::KILL);
    wait_at_most(Duration::from_secs(60), "the end of the load test", || {
        (!is_running(process)).then_some(())
    });
    let report = sandbox.tool("report", "").run();
    report.exits(0).prints(&["teardown_hangs"]);
}

fn a_future_that_never_resolves_fails_its_step() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    sandbox.run("never_resolves", &server).run().exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.ending, EndReason::Completed);
    let waited = "the step waited 100ms for something else than a request or a pause";
    let expected = (ErrorKind::StepError, 3, waited.to_owned());
    assert_eq!(only_error(&record), expected);
}

fn fixed_work_whose_step_never_returns_is_given_up() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let output = sandbox.run("never_returns", &server).run().exits(102);
    let record = sandbox.record();
    let reason = "step `spin` did not give its thread back";
    let stuck = EndReason::Stuck {
        reason: reason.into(),
    };
    assert_eq!(record.end.ending, stuck, "{output}");
}

fn a_panic_with_a_payload_that_panics_is_a_failure_of_the_step() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    sandbox.run("explodes", &server).run().exits(99);
    let panicked = "panicked: without a message".to_owned();
    let record = sandbox.record();
    assert_eq!(only_error(&record), (ErrorKind::StepPanic, 3, panicked));
}

fn the_message_of_a_check_is_kept_to_four_kilobytes() {
    let server = Server::start(|_| Reply::text("no"));
    let sandbox = Sandbox::new();
    sandbox.run("shouts", &server).run().exits(99);
    let record = sandbox.record();
    let (kind, count, message) = only_error(&record);
    assert_eq!((kind, count), (ErrorKind::StepAssert, 3));
    let begin = "check `loud` failed: nononono";
    assert!(message.starts_with(begin), "{}", &message[..100]);
    let mark = "… [cut: 32000021 bytes in all]";
    assert!(message.ends_with(mark), "{}", &message[4000..]);
    assert_eq!(message.len(), 4096);
}

fn a_line_without_an_end_is_cut() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("rambles", &server)
        .run()
        .exits(0)
        .says(&["xxxx… [cut: 20000000 bytes in all]"]);
    assert_eq!(output.stderr.matches('x').count() / 1024, 16);
}

fn a_store_that_vanishes_is_made_again() {
    let sandbox = Sandbox::new();
    let store = sandbox.root().join("runs");
    let server = Server::start(move |request| {
        if request.sequence == 2 {
            std::fs::remove_dir_all(&store).expect("the store");
        }
        Reply::text("ok")
    });
    let output = sandbox
        .run("single --iterations 5 --users 1", &server)
        .run()
        .exits(0);
    let run = sandbox.only_run();
    run.has_page();
    assert_eq!(total(&run.scenario()).journey.ok, 5, "{output}");
}
