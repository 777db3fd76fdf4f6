//! Steps that run once, run last, send again, wait for an answer, or leave themselves out.

use crate::call::wait_for;
use crate::site::{Sandbox, assert_balanced, site, step, total};
use crate::smoke::smoke;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::card::Card;
use loadtest_model::definition::Letter;
use loadtest_model::metrics::RootCause;
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_user_logs_in_once_and_then_loops,
        logins_of_a_ramp_are_measured_and_judged,
        a_login_that_fails_is_tried_in_the_next_iteration,
        every_user_logs_out_after_its_last_journey,
        users_log_out_where_the_run_is_interrupted,
        a_failed_logout_fails_no_journey,
        a_test_logs_out_after_the_journey,
        a_busy_target_is_asked_again,
        a_connection_that_is_reset_is_opened_again,
        the_last_failure_stays_when_the_target_remains_busy,
        a_job_is_asked_for_until_it_is_done,
        a_job_that_is_never_done_fails_its_step,
        a_step_that_leaves_itself_out_fails_nothing,
        a_list_says_what_repeats,
    ]
}

fn session(status: u16) -> Reply {
    Reply::status(status).body(r#"{"token":"t-1"}"#)
}

fn a_user_logs_in_once_and_then_loops() {
    let server = Server::recording(|_| session(200));
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("repeat::session --iterations 5", &server)
        .run()
        .exits(0);
    assert_eq!(server.requests_to("/session"), 1);
    assert_eq!(server.requests_to("/page"), 5);
    for request in server.recorded().iter().filter(|one| one.path == "/page") {
        assert_eq!(request.header("authorization"), Some("Bearer t-1"));
    }
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let open = step(&record, &all, "open");
    assert_eq!((open.executed, open.kept, open.requests), (1, 4, 1));
    assert_eq!(all.journey.ok, 5);
    assert!(record.start.definition.steps[0].once && record.start.definition.keeps_state);
    assert!(output.stdout.contains("kept"), "{output}");
    assert!(
        sandbox
            .only_run()
            .text("report.html")
            .contains(">Kept</th>")
    );

    let server = Server::start(|_| session(200));
    let sandbox = Sandbox::new();
    sandbox
        .run("repeat::session --iterations 12 --users 4", &server)
        .run()
        .exits(0);
    assert_eq!(server.requests_to("/session"), 4, "one for each user");
    assert_eq!(server.requests_to("/page"), 12);
    let record = sandbox.record();
    let all = total(&record);
    let open = step(&record, &all, "open");
    assert_eq!((open.executed, open.kept), (4, 8));
}

fn logins_of_a_ramp_are_measured_and_judged() {
    let server = Server::start(|_| session(200).delay(Duration::from_millis(5)));
    // No answer is too late for that.
    let sandbox = Sandbox::with("[grading]\napdex = \"1h\"\n");
    let load = "repeat::session --users 5 --ramp-up 1s --duration 1h";
    let running = sandbox.run(load, &server).start();
    wait_for("the last user", || {
        (server.requests_to("/session") == 5).then_some(())
    });
    running.signal(Signal::INT);
    let output = running.output().exits(105);
    let record = sandbox.record();
    assert_balanced(&record);
    let open = step(&record, &record.windows.steady, "open");
    assert_eq!((open.executed, open.response.count()), (5, 5));
    assert_eq!(server.requests_to("/session"), 5);
    // the limit of the step has samples, and the step a grade
    let row = &Card::grade(&record, None).steps[0];
    let grade = row.grade.expect("a grade");
    assert_eq!(grade.letter, Letter::APlus, "{output}");
    assert_eq!((row.per_second, row.time_share), (None, None));
}

fn a_login_that_fails_is_tried_in_the_next_iteration() {
    let server = Server::start(|request| match (&*request.path, request.sequence) {
        ("/session", 0 | 1) => session(500),
        _ => session(200),
    });
    let sandbox = Sandbox::new();
    sandbox
        .run("repeat::session --iterations 5", &server)
        .run()
        .exits(99);
    assert_eq!(server.requests_to("/session"), 3);
    assert_eq!(server.requests_to("/page"), 3);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let (open, page) = (step(&record, &all, "open"), step(&record, &all, "page"));
    assert_eq!((open.failed, open.ok, open.kept), (2, 1, 2));
    assert_eq!((page.skipped, page.ok), (2, 3));
}

/// Sessions and drafts with numbers of their own; each answer comes after `delay`.
fn sessions(delay: Duration) -> Server {
    Server::recording(move |request| {
        let number = request.sequence;
        let reply = match &*request.path {
            "/session" => Reply::json(format!(r#"{{"token":"t-{number}"}}"#)),
            "/draft" => Reply::json(format!(r#"{{"id":{number},"state":"new"}}"#)),
            _ => Reply::text("ok"),
        };
        reply.delay(delay)
    })
}

/// Waits until so many users have sent the last step of a journey; each has a connection of its own.
#[track_caller]
fn wait_for_users(server: &Server, users: usize) {
    wait_for("a journey of each user", || {
        let requests = server.recorded();
        let drafts = requests.iter().filter(|one| one.path == "/draft");
        let connections: BTreeSet<_> = drafts.map(|one| one.connection).collect();
        (connections.len() == users).then_some(())
    });
}

/// That each session that was opened was ended, and each user's last steps were sent when the load was
/// over. How many users there were.
fn logged_out(sandbox: &Sandbox, server: &Server) -> u64 {
    let users = server.requests_to("/session");
    let requests = server.recorded();
    let tokens = |path: &str| {
        let ends = requests.iter().filter(|one| one.path == path);
        let mut tokens: Vec<_> = ends.filter_map(|one| one.header("authorization")).collect();
        tokens.sort_unstable();
        tokens.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut expected: Vec<_> = (0..users).map(|user| format!("Bearer t-{user}")).collect();
    expected.sort_unstable();
    assert_eq!(tokens("/session/end"), expected);
    assert_eq!(tokens("/survey"), expected);
    let deleted = requests.iter().filter(|one| one.method == "DELETE");
    assert_eq!(deleted.count() as u64, users);

    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    for name in ["close", "discard", "survey"] {
        let step = step(&record, &all, name);
        assert_eq!(
            (step.ok, step.executed, step.requests),
            (users, users, users)
        );
        assert_eq!((step.cancelled, step.response.count()), (0, users));
    }
    assert_eq!(all.journey.ok, server.requests_to("/draft"));
    assert!(record.end.elapsed_us >= record.end.steady_us);
    users
}

fn every_user_logs_out_after_its_last_journey() {
    let server = sessions(Duration::ZERO);
    let sandbox = Sandbox::new();
    sandbox
        .run("repeat::logging_out --iterations 12 --users 4", &server)
        .run()
        .exits(0);
    assert_eq!(logged_out(&sandbox, &server), 4);
    let requests = server.recorded();
    let ends = |one: &loadtest_tests::Request| one.path == "/session/end";
    let first = requests.iter().position(ends).expect("an end");
    assert!(requests[first..].iter().all(|one| one.path != "/draft"));

    // A load that ends by itself, by however many users: as many arrivals as there may be users, so none is dropped.
    let server = sessions(Duration::from_millis(60));
    let sandbox = Sandbox::new();
    let load = "repeat::logging_out --rate 40/s --ramp-up 500ms --duration 1s";
    sandbox.run(load, &server).run().exits(0);
    let users = logged_out(&sandbox, &server);
    assert_eq!(total(&sandbox.record()).journey.ok, 30);
    // what is due after the ramp
    let steady = sandbox.record().windows.steady;
    assert_eq!(steady.steps[1].executed, users);

    // The last users begin late in the ramp; they are known to be there, and the ramp to be over.
    let ramp = Duration::from_millis(500);
    let server = sessions(Duration::from_millis(20));
    let sandbox = Sandbox::new();
    let load = "repeat::logging_out --users 3 --ramp-up 500ms --duration 1h";
    let running = sandbox.run(load, &server).start();
    wait_for_users(&server, 3);
    let first = server.recorded()[0].arrived;
    wait_for("the end of the ramp", || {
        (first.elapsed() > ramp).then_some(())
    });
    running.signal(Signal::INT);
    running.output().exits(105);
    assert_eq!(logged_out(&sandbox, &server), 3);
    let steady = sandbox.record().windows.steady;
    assert_eq!(steady.steps[1].executed, 3);
}

fn users_log_out_where_the_run_is_interrupted() {
    let server = sessions(Duration::from_millis(30));
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .run("repeat::logging_out --users 4 --duration 1h", &server)
        .start();
    running.wait_until_it_says("[0s]");
    wait_for_users(&server, 4);
    running.signal(Signal::INT);
    running.output().exits(105).prints(&["INTERRUPTED"]);
    assert_eq!(logged_out(&sandbox, &server), 4);
}

fn a_failed_logout_fails_no_journey() {
    let server = Server::start(|request| match &*request.path {
        "/session" => session(200),
        "/draft" => Reply::json(r#"{"id":4,"state":"new"}"#),
        "/session/end" => Reply::status(500),
        _ => Reply::text("ok"),
    });
    let sandbox = Sandbox::new();
    sandbox
        .run("repeat::logging_out --iterations 6 --users 2", &server)
        .run()
        .exits(0);
    let record = sandbox.record();
    let all = total(&record);
    assert_eq!((all.journey.ok, all.journey.failed), (6, 0));
    assert_eq!(step(&record, &all, "close").failed, 2);
    assert_eq!(step(&record, &all, "survey").ok, 2);
}

fn a_test_logs_out_after_the_journey() {
    let server = sessions(Duration::ZERO);
    smoke(site(), "--exact repeat::logging_out")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0)
        .prints(&["1 passed"]);
    let requests = server.recorded();
    let paths: Vec<_> = requests.iter().map(|one| &*one.path).collect();
    assert_eq!(
        paths,
        ["/session", "/draft", "/session/end", "/drafts/0", "/survey"]
    );
}

fn a_busy_target_is_asked_again() {
    let server = Server::start(|request| match (&*request.path, request.sequence) {
        ("/busy", 0 | 1) => Reply::status(503),
        _ => Reply::json(r#"{"id":4}"#),
    });
    let sandbox = Sandbox::new();
    sandbox
        .run("repeat::busy --iterations 1", &server)
        .run()
        .exits(0);
    assert_eq!(server.requests_to("/busy"), 3);
    assert_eq!(server.requests_to("/after/4"), 1);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let ask = step(&record, &all, "ask");
    assert_eq!((ask.executed, ask.ok), (1, 1));
    assert_eq!((ask.requests, ask.retries), (3, 2));
    assert_eq!(ask.statuses, [(200, 1), (503, 2)].into());
    assert_eq!(ask.phases.first_byte.count(), 3);
    assert_eq!(ask.phases.connect.count(), 1, "over one connection");
    assert!(ask.errors.is_empty());
    let retry = record.start.definition.steps[0]
        .retry
        .as_ref()
        .expect("a retry");
    assert_eq!((retry.times, retry.backoff), (3, Duration::from_millis(10)));
}

fn a_connection_that_is_reset_is_opened_again() {
    let server = Server::start(|request| match (&*request.path, request.sequence) {
        ("/busy", 0) => Reply::reset(),
        _ => Reply::json(r#"{"id":4}"#),
    });
    let sandbox = Sandbox::new();
    sandbox
        .run("repeat::busy --iterations 1", &server)
        .run()
        .exits(0);
    let record = sandbox.record();
    let all = total(&record);
    let ask = step(&record, &all, "ask");
    assert_eq!((ask.ok, ask.requests, ask.retries), (1, 2, 1));
    assert_eq!(ask.phases.connect.count(), 2);
}

fn the_last_failure_stays_when_the_target_remains_busy() {
    let server = Server::start(|_| Reply::status(503).body("busy"));
    let sandbox = Sandbox::new();
    sandbox
        .run("repeat::busy --iterations 1", &server)
        .run()
        .exits(99);
    assert_eq!(server.requests_to("/busy"), 4);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let ask = step(&record, &all, "ask");
    assert_eq!((ask.failed, ask.requests, ask.retries), (1, 4, 3));
    let [error] = ask.errors.as_slice() else {
        panic!("one failure: {:?}", ask.errors);
    };
    assert_eq!((error.status, error.count), (Some(503), 1));
    assert_eq!(error.sample.as_deref(), Some("busy"));
}

/// A job that is done when it has been asked for so often.
fn jobs(asked: u64) -> Server {
    Server::start(move |request| match &*request.path {
        "/jobs" => Reply::status(202).body(r#"{"id":7,"state":"new"}"#),
        "/jobs/7" if request.sequence + 1 >= asked => Reply::json(r#"{"id":7,"state":"done"}"#),
        _ => Reply::json(r#"{"id":7,"state":"running"}"#),
    })
}

fn a_job_is_asked_for_until_it_is_done() {
    let server = jobs(3);
    let sandbox = Sandbox::new();
    sandbox
        .run("repeat::job --iterations 1", &server)
        .run()
        .exits(0);
    assert_eq!(server.requests_to("/jobs/7"), 3);
    assert_eq!(server.requests_to("/results/7"), 1);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let wait = step(&record, &all, "wait");
    assert_eq!((wait.executed, wait.ok), (1, 1));
    assert_eq!((wait.requests, wait.retries), (3, 2));
    let until = record.start.definition.steps[1]
        .until
        .as_ref()
        .expect("a wait");
    assert_eq!(until.condition, "|job| job.state == \"done\"");
}

fn a_job_that_is_never_done_fails_its_step() {
    let server = jobs(u64::MAX);
    let sandbox = Sandbox::new();
    let output = sandbox.run("repeat::stuck --iterations 1", &server).run();
    let output = output.exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let wait = step(&record, &all, "wait");
    assert_eq!(wait.requests, server.requests_to("/jobs/7"));
    assert_eq!(wait.errors[0].kind.name(), "step.assert");
    // How many they were in that time, the machine decides.
    let words = format!(
        "`until` did not hold within 200ms: {} request",
        wait.requests
    );
    let example = &*wait.errors[0].example;
    assert_eq!(example.trim_end_matches('s'), words);
    assert!(output.stdout.contains(&words), "{output}");
    assert_eq!(step(&record, &all, "result").skipped, 1);
    assert_eq!(server.requests_to("/results/7"), 0);
}

fn offers() -> Server {
    Server::start(|request| match &*request.path {
        "/offers" if request.sequence % 2 == 0 => Reply::json("[]"),
        "/offers" => Reply::json("[3]"),
        _ => Reply::json(r#"{"id":5}"#),
    })
}

fn a_step_that_leaves_itself_out_fails_nothing() {
    let server = offers();
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("repeat::choosy --iterations 6 --verbose", &server)
        .run()
        .exits(0);
    assert_eq!(server.requests_to("/offers/3"), 3);
    assert_eq!(server.requests_to("/receipts/5"), 3);
    assert_eq!(server.requests_to("/content"), 3);
    assert_eq!(server.requests_to("/empty-handed"), 3);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let (buy, receipt) = (step(&record, &all, "buy"), step(&record, &all, "receipt"));
    assert_eq!((buy.ok, buy.left_out, buy.skipped), (3, 3, 0));
    assert_eq!((receipt.ok, receipt.skipped_not_drawn), (3, 3));
    assert_eq!((all.journey.ok, all.journey.failed), (6, 0));
    let counted =
        |line: &loadtest_model::metrics::DependencyTally| line.cause.root != RootCause::LeftOut;
    assert!(!all.dependencies.iter().any(counted));
    for words in [
        "left out",
        "`buy` left itself out: nothing is on offer",
        "`receipt` needed `buy.response.id` of `buy`, which left itself out",
    ] {
        assert!(output.stdout.contains(words), "{words}\n{output}");
    }

    // the first iteration has nothing to buy, and what follows from that is on purpose too
    let server = offers();
    smoke(site(), "--exact repeat::choosy")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0)
        .prints(&["1 passed"]);
}

fn a_list_says_what_repeats() {
    let list = |scenario| Sandbox::new().tool("list", scenario).run().exits(0);
    list("repeat::session").prints(&["POST  /session  weight 1; once per user"]);
    list("repeat::logging_out")
        .prints(&["weight 1; uses open; after the last journey of each user"]);
    list("repeat::busy").prints(&["retry 3, backoff 10 ms, on 503 | reset"]);
    list("repeat::job").prints(&["until |job| job.state == \"done\", every 20 ms, within 50 s"]);
}
