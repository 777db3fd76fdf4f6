//! Scenarios whose code does what it should not.

use crate::call::wait_for;
use crate::site::{Sandbox, assert_balanced, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::record::EndReason;
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        what_a_scenario_prints_disturbs_no_result,
        a_scenario_that_ends_the_process_leaves_what_was_measured,
        a_step_that_never_returns_is_cut_off,
        a_wait_for_a_target_can_be_interrupted,
        a_password_in_the_base_url_is_refused_unsaid,
    ]
}

fn what_a_scenario_prints_disturbs_no_result() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("chatty --iterations 2000 --users 4", &server)
        .run()
        .exits(0)
        .says(&["chatter on standard error", "{\"scenarios\": []}"]);
    assert!(!output.stdout.contains("chatter") && !output.stdout.contains("scenarios\": []"));
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(total(&record).journey.ok, 2000);
    // Every word of it is passed on.
    let printed = output.stderr.matches("chatter on standard error").count();
    assert_eq!(printed, 2000);
}

fn a_scenario_that_ends_the_process_leaves_what_was_measured() {
    let server = Server::start(|request| match request.path.as_str() {
        // After two seconds or so, so that the journal holds one of them.
        "/before" => {
            let quit = request.sequence == 80;
            Reply::json(format!(r#"{{"quit":{quit}}}"#)).delay(std::time::Duration::from_millis(25))
        }
        _ => Reply::text("ok"),
    });
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("quitting --iterations 200", &server)
        .run()
        .exits(105);
    let run = sandbox.only_run();
    run.has_page();
    let record = run.scenario();
    assert_balanced(&record);
    assert!(
        matches!(&record.end.ending, EndReason::Died { .. }),
        "{output}"
    );
    let ok = total(&record).journey.ok;
    assert!((1..=80).contains(&ok), "{ok} journeys\n{output}");
}

fn a_step_that_never_returns_is_cut_off() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .run("stuck --iterations 50 --users 1", &server)
        .start();
    wait_for("the last request", || {
        (server.requests() == 5).then_some(())
    });
    running.signal(Signal::INT);
    running.wait_until_it_says("stopping");
    running.signal(Signal::INT);
    let output = running.output().exits(105);
    let run = sandbox.only_run();
    run.has_page();
    let record = run.scenario();
    assert_balanced(&record);
    assert_ne!(record.end.ending, EndReason::Completed, "{output}");
    assert_eq!(server.requests(), 5);
}

fn a_wait_for_a_target_can_be_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("deaf");
    let sandbox = Sandbox::new();
    let running = sandbox
        .tool("run", "own_deaf")
        .env("SITE_DEAF", &file)
        .start();
    let process = wait_for("the target", || {
        let number = std::fs::read_to_string(&file).ok()?;
        number.parse::<i32>().ok()
    });
    running.signal(Signal::INT);
    running
        .output()
        .exits(105)
        .says(&["stopped before the load began"]);
    let process = rustix::process::Pid::from_raw(process).expect("a process");
    wait_for("the end of the target", || {
        rustix::process::test_kill_process(process)
            .is_err()
            .then_some(())
    });
    assert_eq!(sandbox.only_run().not_run().exit_code, 105);
    sandbox.tool("report", "").run().exits(105);
}

fn a_password_in_the_base_url_is_refused_unsaid() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let url = server.url().replace("http://", "http://ada:canary-7f3a@");
    let output = sandbox
        .tool("run", "single --iterations 3")
        .args(["--base-url", &url])
        .run()
        .exits(2)
        .has_one_error()
        .says(&["user name"])
        .says_no("canary-7f3a");
    assert!(!output.stdout.contains("canary-7f3a"), "{output}");
    let run = sandbox.only_run();
    assert_eq!(run.not_run().exit_code, 2);
    for file in run.files() {
        let text = run.text(&file.to_string_lossy());
        assert!(!text.contains("canary-7f3a"), "{}\n{text}", file.display());
    }
    assert_eq!(server.connections(), 0);
}
