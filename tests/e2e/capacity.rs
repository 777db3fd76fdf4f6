//! The search for the highest rate that meets an SLO.

use crate::call::{Output, wait_for};
use crate::site::{RunFolder, Sandbox};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::capacity::{Limit, Purpose, Search, SearchEnding, TrialOutcome};
use loadtest_model::record::{EndReason, RunRecord};
use loadtest_tests::{Gate, Reply, Server};
use rustix::process::Signal;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        the_rate_that_a_target_still_serves_is_found_and_confirmed,
        a_search_ends_at_the_highest_rate_that_may_be_tried,
        a_target_that_never_meets_the_slo_fails_the_gate,
        a_generator_that_is_the_limit_makes_it_invalid,
        too_few_users_are_told_from_a_slow_target,
        a_target_of_its_own_lives_through_the_search,
        a_target_that_does_not_come_back_ends_the_search,
        ctrl_c_keeps_what_is_known,
        a_killed_tool_leaves_the_trials_that_were_over,
        a_target_that_is_down_is_found_out_before_the_first_trial,
        a_mistaken_slo_is_marked_where_it_stands,
        without_an_slo_the_thresholds_of_the_scenario_apply,
    ]
}

/// Longer than the SLO that no rate is to meet.
const DELAY: Duration = Duration::from_millis(300);

/// Sheds what comes on top of so many requests of a trial, in each of which the iterations begin at 0.
fn shedding(most: u64) -> Server {
    Server::start(move |request| {
        let iteration = request.header("x-iteration").map(str::parse::<u64>);
        match iteration.expect("a number").expect("a number") {
            iteration if iteration < most => Reply::text("ok"),
            _ => Reply::status(503),
        }
    })
}

/// Enough for all arrivals of a trial, so that none waits, however late the machine is.
const MANY_USERS: &str = "--max-users 500";

const QUICK: &str = "--window 1s --confirm 2s --ramp-up 200ms --rest 100ms";

/// A search whose SLO holds spaces.
fn search(sandbox: &Sandbox, line: &str, slo: &str, server: &Server) -> crate::call::Call {
    let call = sandbox.tool("capacity", &format!("{line} {QUICK}"));
    call.args(["--slo", slo, "--base-url", &server.url()])
}

fn of(run: &RunFolder) -> (RunRecord, Search) {
    run.has_page();
    let record = run.record();
    let search = record.capacity.clone().expect("a search");
    (record, search)
}

fn the_rate_that_a_target_still_serves_is_found_and_confirmed() {
    // In the ramp and the second of a trial, 31/s or fewer begin so many journeys.
    let server = shedding(34);
    let sandbox = Sandbox::new();
    let line = format!("numbered --from 10/s --max 160/s --tolerance 20% --seed 7 {MANY_USERS}");
    let quick = "--window 1s --confirm 1s --ramp-up 200ms --rest 100ms";
    let call = sandbox.tool("capacity", &format!("{line} {quick}"));
    let slo = ["--slo", "p95 < 60s, errors < 1%"];
    let output = call.args(slo).args(["--base-url", &server.url()]).run();
    let output = output
        .exits(0)
        .says(&["Searching", "At most", "Met", "Missed", "Confirmed"])
        .prints(&[
            "CONFIRMED",
            "site::load::numbered",
            "Trials",
            "limited by the target",
        ]);
    let run = sandbox.only_run();
    let (record, search) = of(&run);
    let found = search.finding();
    let rate = found.confirmed_per_second.expect("confirmed");
    let rates: Vec<f64> = search.attempts().iter().map(|one| one.per_second).collect();
    assert_eq!(
        rates,
        [10.0, 20.0, 40.0, 30.0, 35.0, 35.0, 30.0],
        "{output}"
    );
    assert_eq!(rates.last(), Some(&rate));
    assert_eq!(found.limit, Some(Limit::Target), "{output}");
    let broke = &search.trials[found.broke.expect("a rate that broke")];
    assert!(broke.attempt.per_second > rate && broke.attempt.outcome == TrialOutcome::Missed);
    assert!(
        broke.reasons[0].contains("errors of"),
        "{:?}",
        broke.reasons
    );
    // The scenario is that of the confirmation, judged by the SLO.
    let [scenario] = record.scenarios.as_slice() else {
        panic!("one scenario: {}", record.scenarios.len());
    };
    assert_eq!(scenario.end.ending, EndReason::Completed);
    assert_eq!(Some(scenario.start.plan.load.peak()), Some(rate));
    let before = search.trials.len() as u64 - 1;
    assert_eq!(
        scenario.start.plan.seed,
        7 + before,
        "each trial draws anew"
    );
    assert_eq!(scenario.start.plan.thresholds, search.goal.slo);
    assert_eq!(scenario.end.steady_us, 1_000_000);
    for number in 1..=search.trials.len() {
        let journal = run.journal(number);
        assert!(journal.contains("\"end\""), "trial {number} is journalled");
    }
    let again = sandbox.tool("report", "latest").run().exits(0);
    let shown = |output: &Output| {
        let shown = output.stdout.split_once("\nrecord ");
        shown.expect("where it is").0.to_owned()
    };
    assert_eq!(shown(&again), shown(&output));
    let json = sandbox
        .tool("report", "latest --export json=-")
        .run()
        .exits(0);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["capacity"]["finding"]["confirmed_per_second"], rate);
    assert_eq!(json["exit_code"], 0);
    let page = run.text("report.html");
    assert!(page.contains("CONFIRMED") && page.contains("Trials"));
}

fn a_search_ends_at_the_highest_rate_that_may_be_tried() {
    let server = Server::start(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let output = search(
        &sandbox,
        &format!("single --from 10/s --max 16/s --min 16/s {MANY_USERS}"),
        "p95 < 60s",
        &server,
    );
    let output = output.run();
    output
        .exits(0)
        .prints(&["≥ 16/s", "limited by `--max 16/s`"]);
    let (record, search) = of(&sandbox.only_run());
    let rates: Vec<f64> = search.attempts().iter().map(|one| one.per_second).collect();
    assert_eq!(rates, [10.0, 16.0, 16.0]);
    // Twice as long as the other trials.
    assert_eq!(record.scenarios[0].end.steady_us, 2_000_000);
    assert_eq!(search.trials[2].attempt.purpose, Purpose::Confirmation);
    assert_eq!(search.finding().limit, Some(Limit::Max));
}

fn a_target_that_never_meets_the_slo_fails_the_gate() {
    let server = Server::start(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let output = search(&sandbox, "single --from 32/s", "p95 < 100ms", &server).run();
    output.exits(99).prints(&[
        "NOT MET",
        "no rate that was tried met the SLO",
        "must be < 100 ms",
    ]);
    let (_, search) = of(&sandbox.only_run());
    let rates: Vec<f64> = search.attempts().iter().map(|one| one.per_second).collect();
    assert_eq!(
        rates,
        [32.0, 16.0],
        "as long as a window holds ten iterations"
    );
}

fn a_generator_that_is_the_limit_makes_it_invalid() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    search(&sandbox, "blocking --from 10/s", "p95 < 300ms", &server)
        .judged()
        .run()
        .exits(102)
        .prints(&["INVALID", "limited by the generator"]);
    let (_, search) = of(&sandbox.only_run());
    assert_eq!(
        search.trials[0].attempt.outcome,
        TrialOutcome::GeneratorLimited
    );
}

fn too_few_users_are_told_from_a_slow_target() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(500)));
    let sandbox = Sandbox::new();
    search(&sandbox, "narrow --from 18/s", "p95 < 60s", &server)
        .run()
        .exits(102)
        .prints(&["arrivals waited because", "raise `max_users`"]);
    let (record, search) = of(&sandbox.only_run());
    assert_eq!(
        record.scenarios[0].start.plan.max_users, 1,
        "as it is declared"
    );
    assert!(search.trials[0].error_rate.is_some());
}

fn a_target_of_its_own_lives_through_the_search() {
    let sandbox = Sandbox::new();
    let line = format!("site::load::own --from 20/s --max 21/s {MANY_USERS} {QUICK}");
    let call = sandbox.tool("capacity", &line).args(["--slo", "p95 < 60s"]);
    call.run().exits(0);
    let run = sandbox.only_run();
    let target = |number: usize| {
        let journal = run.journal(number);
        let first = journal.lines().next().expect("a line").to_owned();
        let line: serde_json::Value = serde_json::from_str(&first).expect("JSON");
        line["start"]["base_url"]
            .as_str()
            .expect("a URL")
            .to_owned()
    };
    assert_eq!(target(1), target(2), "it was started once");
}

fn a_target_that_does_not_come_back_ends_the_search() {
    let sandbox = Sandbox::new();
    let server = Server::start(|_| Reply::text("ok"));
    // Whether the first trial is met or not, there is another rate to try: twice this, or half of it.
    let line = format!("single --from 40/s {MANY_USERS} {QUICK}");
    let call = sandbox.tool("capacity", &line);
    let call = call.args(["--slo", "p95 < 60s", "--base-url", &server.url()]);
    let mut running = call.start();
    running.wait_until_it_says("40/s");
    drop(server);
    running
        .output()
        .exits(99)
        .prints(&["TARGET GONE", "did not come back"]);
    let (_, search) = of(&sandbox.only_run());
    let gone = matches!(search.ending, Some(SearchEnding::TargetGone { .. }));
    assert!(gone, "{:?}", search.ending);
}

/// A search whose first trial is over, and whose second is not until the gate is opened.
fn long_search(sandbox: &Sandbox) -> (crate::call::Running, Server, Gate) {
    let (gate, trials) = (Gate::new(), Arc::new(AtomicU64::new(0)));
    let (held, begun) = (gate.clone(), Arc::clone(&trials));
    let server = Server::start(move |request| {
        // Each trial begins at 0.
        let is_first = request.header("x-iteration") == Some("0");
        begun.fetch_add(u64::from(is_first), Ordering::SeqCst);
        match begun.load(Ordering::SeqCst) {
            0 | 1 => Reply::text("ok"),
            _ => Reply::text("ok").hold(&held),
        }
    });
    let line = "numbered --from 10/s --window 1s --ramp-up 100ms --rest 100ms";
    let call = sandbox.tool("capacity", &format!("{line} {MANY_USERS}"));
    let mut running = call
        .args(["--slo", "p95 < 60s", "--base-url", &server.url()])
        .start();
    running.wait_until_it_says("  10/s");
    wait_for("the second trial", || {
        (trials.load(Ordering::SeqCst) == 2).then_some(())
    });
    (running, server, gate)
}

fn known(sandbox: &Sandbox, output: Output) {
    output.exits(105).prints(&["INTERRUPTED", "10/s"]);
    let report = sandbox.tool("report", "latest").run();
    report.exits(105).prints(&["INTERRUPTED", "Trials"]);
}

fn ctrl_c_keeps_what_is_known() {
    let sandbox = Sandbox::new();
    let (mut running, _server, gate) = long_search(&sandbox);
    running.signal(Signal::INT);
    running.wait_until_it_says("stopping");
    gate.open();
    known(&sandbox, running.output());
    let (record, search) = of(&sandbox.only_run());
    assert_eq!(search.ending, Some(SearchEnding::Interrupted));
    assert_eq!((search.trials.len(), record.scenarios.len()), (1, 1));
}

fn a_killed_tool_leaves_the_trials_that_were_over() {
    let sandbox = Sandbox::new();
    let (running, _server, gate) = long_search(&sandbox);
    running.signal(Signal::KILL);
    gate.open();
    drop(running.output());
    let report = sandbox.tool("report", "latest").run().exits(105);
    report.prints(&["INTERRUPTED", "10/s"]);
}

fn a_target_that_is_down_is_found_out_before_the_first_trial() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", free.local_addr().expect("bound"));
    drop(free);
    let sandbox = Sandbox::new();
    let call = sandbox.tool("capacity", "single --slo errors<1%");
    call.args(["--base-url", &url])
        .run()
        .exits(100)
        .prints(&["DID NOT RUN"]);
    assert_eq!(sandbox.only_run().not_run().exit_code.number(), 100);
    sandbox.tool("report", "").run().exits(100);
}

fn a_mistaken_slo_is_marked_where_it_stands() {
    let sandbox = Sandbox::new();
    let refused = |slo: &str, says: &[&str]| {
        let call = sandbox.tool("capacity", "journey").args(["--slo", slo]);
        call.run().exits(2).has_one_error().says(says);
    };
    refused(
        "p95 < 300, errors < 1%",
        &[
            "p95 < 300, errors < 1%\n",
            "        ^^^ `300` has no unit: write `300ms`",
        ],
    );
    refused(
        "errors < 1%, logn.p95 < 1s",
        &["             ^^^^ there is no step `logn`; did you mean `login`?"],
    );
    refused(
        "rps > 100/s",
        &["^^^ the rate is what is searched for: `--min 500/s`"],
    );
    assert!(sandbox.runs().is_empty(), "nothing was run");
}

fn without_an_slo_the_thresholds_of_the_scenario_apply() {
    let sandbox = Sandbox::new();
    let call = sandbox.tool("capacity", "single");
    call.run()
        .exits(2)
        .has_one_error()
        .says(&["--slo 'p95 < 300ms"]);
    let call = sandbox.tool("capacity", "strict --from 9/s --max 8/s");
    call.run()
        .exits(2)
        .has_one_error()
        .says(&["`--from 9/s`", "8/s"]);
    let server = Server::start(|_| Reply::text("ok").delay(DELAY));
    let sandbox = Sandbox::new();
    let call = sandbox.tool("capacity", &format!("strict --from 10/s {QUICK}"));
    let output = call.args(["--base-url", &server.url()]).run();
    output.exits(99).prints(&["p95 < 5 ms, errors < 1 %"]);
    assert_eq!(
        sandbox
            .only_run()
            .record()
            .capacity
            .expect("a search")
            .trials
            .len(),
        1
    );
}
