//! What the record says is what the server saw.

use crate::call::wait_for;
use crate::site::{Sandbox, assert_balanced, number, shop, step, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::metrics::ErrorKind;
use loadtest_model::metrics::RootCause;
use loadtest_model::metrics::Tally;
use loadtest_model::record::{EndReason, ScenarioRecord};
use loadtest_tests::{Reply, Request, Server};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        fixed_work_is_done_exactly_and_every_request_counted,
        a_rate_starts_what_it_says_and_every_request_is_counted,
        users_start_again_when_they_are_done_and_every_request_is_counted,
        an_injected_delay_is_in_the_percentiles_it_belongs_to,
        an_injected_failure_is_an_error_and_skips_what_needs_it,
        every_cause_is_in_the_ledger_with_its_root,
        what_lacks_its_upstream_is_never_sent,
        what_is_not_drawn_is_no_failure,
        the_same_seed_draws_the_same_steps,
        faults_of_connections_are_counted_by_kind,
        a_run_says_where_its_record_is,
    ]
}

fn counts(total: &Tally) -> Vec<(u64, u64, u64)> {
    let count = |step: &loadtest_model::metrics::StepTally| (step.ok, step.failed, step.skipped);
    total.steps.iter().map(count).collect()
}

fn requests(total: &Tally) -> u64 {
    total.steps.iter().map(|step| step.requests).sum()
}

fn fixed_work_is_done_exactly_and_every_request_counted() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    sandbox
        .run("journey --iterations 120 --users 6", &server)
        .run()
        .exits(0);
    let record = sandbox.record();
    let total = total(&record);
    assert_balanced(&record);
    assert_eq!(record.end.ending, EndReason::Completed);
    assert_eq!((record.end.planned, total.journey.ok), (120, 120));
    assert_eq!(counts(&total), [(120, 0, 0); 4]);
    for (path, name) in [
        ("/login", "login"),
        ("/products", "browse"),
        ("/orders", "order"),
        ("/orders/99", "show"),
    ] {
        let requests = step(&record, &total, name).requests;
        assert_eq!(server.requests_to(path), requests, "{path}");
    }
    assert_eq!(server.requests(), requests(&total));
    assert_eq!(server.requests(), 480);
    assert_eq!(
        server.connections(),
        6 + 1,
        "each user keeps its connection; one more asks whether anybody is there"
    );
    assert_eq!(record.start.base_url.as_deref(), Some(&*server.url()));
}

fn a_rate_starts_what_it_says_and_every_request_is_counted() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    sandbox
        .run(
            // There may be 320 users, and there are fewer arrivals: none is dropped, however late the machine is.
            "single --rate 160/s --ramp-up 500ms --duration 1500ms",
            &server,
        )
        .run()
        .exits(0);
    let record = sandbox.record();
    let total = total(&record);
    assert_balanced(&record);
    // A quarter of a second's worth in the ramp, and a second at the full rate.
    assert_eq!(record.end.planned, 200);
    assert_eq!(record.end.steady_us, 1_000_000);
    assert_eq!(
        total.journey.started - total.journey.cancelled,
        server.requests(),
        "one request for each arrival that started"
    );
    assert_eq!(server.requests(), requests(&total));
    assert_eq!(total.steps[0].ok, server.requests());
    let (ramp, steady) = (&record.windows.ramp, &record.windows.steady);
    assert_eq!(ramp.journey.started + ramp.journey.dropped, 40);
    assert_eq!(steady.journey.started + steady.journey.dropped, 160);
}

fn users_start_again_when_they_are_done_and_every_request_is_counted() {
    const DELAY: Duration = Duration::from_millis(20);
    let server = Server::start(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let running = sandbox
        .run("single --users 5 --duration 60s", &server)
        .start();
    wait_for("all users, and journeys after their first", || {
        (server.connections() == 5 + 1 && server.requests() >= 25).then_some(())
    });
    running.signal(Signal::INT);
    running.output().exits(105);
    let record = sandbox.record();
    let total = total(&record);
    assert_balanced(&record);
    assert_eq!(total.journey.ok, server.requests());
    assert_eq!(requests(&total), server.requests());
    assert_eq!(server.connections(), 5 + 1, "each keeps its connection");
    // Five users at 20 ms each cannot start more than this.
    let most = 5 * (record.end.elapsed_us / 20_000 + 1);
    assert!(server.requests() <= most, "{} of {most}", server.requests());
    assert!(total.steps[0].service.min() >= Some(DELAY));
}

/// The least and the most that each request can have taken, by what the server saw: it answered after a delay, and the
/// user sent the next request of the connection after the answer. Both in order.
///
/// The journey of a user begins after the answer to the one before. Of the first and the last request of a connection it is
/// only known that they are of the run, which took `longest`.
fn bounds(
    requests: &[Request],
    longest: Duration,
    delay: impl Fn(&Request) -> Duration,
) -> (Vec<Duration>, Vec<Duration>) {
    let mut connections: BTreeMap<u64, Vec<&Request>> = BTreeMap::new();
    for request in requests {
        connections
            .entry(request.connection)
            .or_default()
            .push(request);
    }
    let (mut least, mut most) = (Vec::new(), Vec::new());
    for requests in connections.values() {
        least.extend(requests.iter().map(|request| delay(request)));
        let known = requests.windows(3);
        most.extend(known.map(|three| three[2].arrived - (three[0].arrived + delay(three[0]))));
        most.resize(least.len(), longest);
    }
    least.sort();
    most.sort();
    (least, most)
}

fn an_injected_delay_is_in_the_percentiles_it_belongs_to() {
    const SLOW: Duration = Duration::from_millis(300);
    const FAST: Duration = Duration::from_millis(20);
    let delay = |request: &Request| {
        let is_slow = request.sequence.is_multiple_of(50);
        if is_slow { SLOW } else { FAST }
    };
    let server = Server::recording(move |request| Reply::text("ok").delay(delay(request)));
    let sandbox = Sandbox::new();
    let begin = Instant::now();
    sandbox
        .run("single --iterations 1000 --users 20", &server)
        .run()
        .exits(0);
    let (least, most) = bounds(&server.recorded(), begin.elapsed(), delay);
    let record = sandbox.record();
    let total = total(&record);
    assert_balanced(&record);
    for (name, times) in [
        ("response time", &total.steps[0].response),
        ("service time", &total.steps[0].service),
        ("journey time", &total.journey.time),
    ] {
        assert_eq!(times.count(), 1000, "{name}");
        for share in [0.1, 0.5, 0.9, 0.95, 0.99] {
            let rank = (share * 1000.0) as usize - 1;
            let quantile = times.quantile(share).expect("there are times");
            // A histogram keeps times to less than a hundredth.
            let (from, to) = (least[rank].mul_f64(0.99), most[rank].mul_f64(1.01));
            assert!(
                (from..=to).contains(&quantile),
                "{name}: {quantile:?} at {share}, not {from:?} to {to:?}"
            );
        }
        assert!(times.min() >= Some(FAST), "{name}: {:?}", times.min());
        assert!(times.max() >= Some(SLOW), "{name}");
        let under = times.count_at_most(Duration::from_millis(299));
        assert!(
            under <= 980,
            "{name}: 20 of 1000 took 300 ms, {under} took less"
        );
        let sum = SLOW * 20 + FAST * 980;
        assert!(times.sum() >= sum, "{name}: {:?} in all", times.sum());
        // Each user does one journey after another.
        let sum = Duration::from_micros(record.end.elapsed_us) * 20;
        assert!(times.sum() <= sum, "{name}: {:?} in all", times.sum());
    }
    let first_byte = &total.steps[0].phases.first_byte;
    assert!(first_byte.quantile(0.99) >= Some(SLOW), "{first_byte:?}");
}

fn an_injected_failure_is_an_error_and_skips_what_needs_it() {
    let server = Server::start(|request| match request.path.as_str() {
        "/login" if request.sequence % 10 == 9 => Reply::status(503).body("try later"),
        _ => shop(request),
    });
    let sandbox = Sandbox::new();
    sandbox
        .run("journey --iterations 200 --users 4", &server)
        .run()
        .exits(99);
    let record = sandbox.record();
    let total = total(&record);
    assert_balanced(&record);
    assert_eq!(
        counts(&total),
        [(180, 20, 0), (180, 0, 20), (180, 0, 20), (180, 0, 20)]
    );
    assert_eq!((total.journey.ok, total.journey.failed), (180, 20));
    assert_eq!(
        server.requests(),
        200 + 3 * 180,
        "nothing is sent without its upstream"
    );
    assert_eq!(server.requests(), requests(&total));
    let login = step(&record, &total, "login");
    assert_eq!(login.statuses.get(&503), Some(&20));
    assert_eq!(login.statuses.get(&200), Some(&180));
    let [error] = login.errors.as_slice() else {
        panic!("one kind of error: {:?}", login.errors);
    };
    assert_eq!(
        (error.kind, error.status, error.count),
        (ErrorKind::Status, Some(503), 20)
    );
    assert_eq!(error.sample.as_deref(), Some("try later"));
    assert_eq!(
        login.response.count(),
        180,
        "failures have a histogram of their own"
    );
    assert_eq!(login.failed_response.count(), 20);
    for name in ["browse", "order", "show"] {
        let at = number(&record, name);
        let ledger: Vec<_> = total
            .dependencies
            .iter()
            .filter(|line| line.step == at)
            .collect();
        let [line] = ledger.as_slice() else {
            panic!("one line for {name}: {ledger:?}");
        };
        assert_eq!(
            (line.cause.root, line.cause.step),
            (RootCause::Failed, 0),
            "{name}"
        );
        assert_eq!((line.upstream, line.count), (at - 1, 20), "{name}");
    }
}

/// Answers the scenario `causes`, each kind of trouble at its own interval.
fn troubles(request: &Request) -> Reply {
    let nth = request.sequence;
    match request.path.as_str() {
        "/source" => {
            let items = if nth.is_multiple_of(4) {
                r#"[{"id":1}]"#
            } else {
                r#"[{"id":1},{"id":2}]"#
            };
            let go = !nth.is_multiple_of(5);
            let value = if nth.is_multiple_of(8) {
                r"a\nb"
            } else {
                "plain"
            };
            Reply::json(format!(
                r#"{{"items":{items},"go":{go},"value":"{value}"}}"#
            ))
        }
        "/flaky" if nth.is_multiple_of(10) => Reply::status(503),
        _ => Reply::json(r#"{"id":5}"#),
    }
}

fn run_troubles(line: &str) -> (Server, ScenarioRecord) {
    let server = Server::recording(troubles);
    let sandbox = Sandbox::new();
    sandbox
        .run(&format!("causes --iterations 40 {line}"), &server)
        .run()
        .exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    (server, record)
}

fn every_cause_is_in_the_ledger_with_its_root() {
    let (_, record) = run_troubles("--seed 11");
    let total = total(&record);
    let name = |at: usize| &record.start.definition.steps[at].name;
    let mut ledger: Vec<String> = total
        .dependencies
        .iter()
        .filter(|line| line.cause.root != RootCause::NotDrawn)
        .map(|line| {
            let variable = line.variable.as_deref().unwrap_or("nothing");
            format!(
                "{} x {} lacks {variable} of {}: {} {}",
                line.count,
                name(line.step),
                name(line.upstream),
                name(line.cause.step),
                line.cause.root
            )
        })
        .collect();
    ledger.sort();
    assert_eq!(
        ledger,
        [
            "10 x after_second lacks second.response.id of second: source missing",
            "10 x second lacks source.response.items[1].id of source: source missing",
            "4 x after_flaky lacks flaky.response.id of flaky: flaky failed",
            "4 x after_skip lacks after_flaky.response.id of after_flaky: flaky failed",
            "5 x after_odd lacks odd.response.id of odd: odd invalid",
            "8 x after_choice lacks choice.response.id of choice: choice declined",
            "8 x choice lacks nothing of choice: choice declined",
        ]
    );
    // Iterations 0, 4, 5, 8, 10, .. have trouble; not being drawn is none.
    let troubled = (0_u64..40).filter(|i| i.is_multiple_of(4) || i.is_multiple_of(5));
    assert_eq!(total.journey.failed, troubled.count() as u64);
}

fn what_lacks_its_upstream_is_never_sent() {
    let (server, record) = run_troubles("--users 3");
    let total = total(&record);
    assert_eq!(server.requests(), requests(&total));
    for (name, path) in [
        ("source", "/source"),
        ("flaky", "/flaky"),
        ("after_flaky", "/after-flaky/5"),
        ("after_skip", "/after-skip/5"),
        ("second", "/second/2"),
        ("after_second", "/after-second/5"),
        ("choice", "/choice"),
        ("after_choice", "/after-choice/5"),
        ("odd", "/odd"),
        ("after_odd", "/after-odd/5"),
        ("rare", "/rare"),
        ("after_rare", "/after-rare/5"),
    ] {
        let step = step(&record, &total, name);
        assert_eq!(step.requests, server.requests_to(path), "{name}");
    }
    let executed = |name| step(&record, &total, name).executed;
    assert_eq!((executed("after_flaky"), executed("after_skip")), (36, 36));
    assert_eq!((executed("second"), executed("choice")), (30, 32));
    assert_eq!(
        server.requests_to("/without"),
        4,
        "an optional one may lack"
    );
    assert_eq!(server.requests_to("/with"), 36);
    // An invalid request is the failure of its own step, and not sent either.
    let odd = step(&record, &total, "odd");
    assert_eq!((odd.executed, odd.failed, odd.requests), (40, 5, 35));
    assert_eq!(odd.errors[0].kind, ErrorKind::StepError);
}

fn what_is_not_drawn_is_no_failure() {
    let (_, record) = run_troubles("--seed 11");
    let total = total(&record);
    let rare = step(&record, &total, "rare");
    let after = step(&record, &total, "after_rare");
    assert!(rare.not_drawn > 0 && rare.executed > 0, "{rare:?}");
    assert_eq!(rare.not_drawn + rare.executed, 40);
    assert_eq!(after.skipped_not_drawn, rare.not_drawn);
    assert_eq!((after.executed, after.skipped), (rare.executed, 0));
    let mut roots = total
        .dependencies
        .iter()
        .filter(|line| line.step == number(&record, "after_rare"));
    let line = roots.next().expect("a line of the ledger");
    assert_eq!(
        (line.cause.root, line.count),
        (RootCause::NotDrawn, rare.not_drawn)
    );
    assert!(roots.next().is_none());
}

fn the_same_seed_draws_the_same_steps() {
    let sent = |seed: &str| {
        let (server, record) = run_troubles(&format!("--users 1 --seed {seed}"));
        assert_eq!(record.start.plan.seed.to_string(), seed);
        let requests = server.recorded().into_iter();
        requests.map(|request| request.path).collect::<Vec<_>>()
    };
    let first = sent("11");
    assert_eq!(sent("11"), first);
    assert_ne!(sent("12"), first);
    // Whoever does the work.
    let (server, _) = run_troubles("--users 4 --seed 11");
    let rare = first.iter().filter(|path| *path == "/rare").count();
    assert_eq!(server.requests_to("/rare"), rare as u64);
}

/// Longer than the end of a connection and a request may meet, however long connecting took.
const LONG_AFTER: Duration = Duration::from_millis(400);

fn faults_of_connections_are_counted_by_kind() {
    let server = Server::start(|request| match request.sequence % 10 {
        2 => Reply::text("ok").close(),
        // On a new connection, since the last one was closed.
        3 => Reply::reset(),
        // On a kept one, long after the request came.
        5 => Reply::close_before_head().delay(LONG_AFTER),
        7 => Reply::status(503),
        9 => Reply::text("short").short(100),
        _ => Reply::text("ok"),
    });
    let sandbox = Sandbox::new();
    sandbox
        .run("single --iterations 90 --users 1", &server)
        .run()
        .exits(99);
    let record = sandbox.record();
    let total = total(&record);
    assert_balanced(&record);
    let step = &total.steps[0];
    assert_eq!(server.requests(), 90, "nothing is sent twice");
    assert_eq!((step.requests, step.retries), (90, 0));
    assert_eq!((step.executed, step.ok), (90, 54));
    let mut errors: Vec<_> = step
        .errors
        .iter()
        .map(|error| (error.kind, error.status, error.count))
        .collect();
    errors.sort();
    let expected = [
        (ErrorKind::Status, Some(503), 9),
        (ErrorKind::ResetBeforeHead, None, 9),
        (ErrorKind::ClosedBeforeHead, None, 9),
        (ErrorKind::BodyTruncated, Some(200), 9),
    ];
    assert_eq!(errors, expected);
}

fn a_run_says_where_its_record_is() {
    let server = Server::start(shop);
    let project = crate::site::site();
    let output = project
        .tool("run", "single --iterations 3")
        .args(["--base-url", &server.url()])
        .run()
        .exits(0);
    let path = output
        .stdout
        .split_whitespace()
        .find(|word| word.ends_with("record.json"))
        .unwrap_or_else(|| panic!("the path of the record\n{output}"));
    let folder = crate::site::RunFolder(project.path(path).with_file_name(""));
    assert!(
        folder
            .0
            .starts_with(crate::project::kept("target").join("loadtest")),
        "{path}"
    );
    let record: ScenarioRecord = folder.scenario();
    assert_eq!(total(&record).journey.ok, 3);
    let id = folder
        .0
        .file_name()
        .expect("a folder")
        .to_string_lossy()
        .into_owned();
    assert_eq!(folder.record().run_id, id);
    folder.has_page();
}
