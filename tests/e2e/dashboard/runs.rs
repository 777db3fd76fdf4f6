//! Runs that pages start, watch and stop.

use super::Dashboard;
use super::pages::wait_for_scenarios;
use crate::browser::Browser;
use crate::call::wait_for;
use crate::site::{Sandbox, assert_balanced, shop};
use crate::trials;
use jiff::Timestamp;
use libtest_mimic::Trial;
use loadtest_model::record::{EndReason, ScenarioRecord};
use loadtest_tests::{Gate, Reply, Server};
use rustix::process::Signal;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "chromium":
        a_run_is_started_watched_and_its_report_exported_and_compared,
        a_second_run_waits_for_the_first_and_can_be_taken_back,
        stop_lets_requests_in_flight_end_and_abort_does_not,
        a_button_is_clicked_however_long_it_is_held,
        what_happens_in_a_run_is_spoken,
        a_run_of_a_terminal_is_watched_and_outlives_its_page,
        each_scenario_of_a_mix_is_watched,
        a_mix_is_run_again_as_a_mix_with_its_total,
        a_scenario_that_runs_keeps_the_figures_of_its_last_run,
        the_trials_of_a_search_are_watched,
        killing_the_dashboard_stops_its_load,
        one_journey_shows_every_request_and_no_secret,
    ]
}

/// Fills in the load and runs one scenario from the list.
#[track_caller]
pub(super) fn start_run(
    browser: &mut Browser,
    scenario: &str,
    server: &Server,
    fields: &[(&str, &str)],
) {
    wait_for_scenarios(browser);
    browser.wait_until_there_is(&format!("button[name=only][value='{scenario}']"));
    browser.fill_in("input[name=base-url]", &server.url());
    for (name, value) in fields {
        browser.fill_in(&format!("input[name={name}]"), value);
    }
    browser.click_on(&format!("button[name=only][value='{scenario}']"));
}

#[track_caller]
pub(super) fn text_of(browser: &mut Browser, selector: &str) -> String {
    browser.wait_until_there_is(selector);
    let text = browser.value(&format!("document.querySelector({selector:?}).textContent"));
    text.as_str().unwrap_or_default().to_owned()
}

/// Waits until the page shows the report of this run, and not that of another one.
#[track_caller]
fn wait_for_report(browser: &mut Browser, run: &str) {
    let condition =
        format!("location.pathname === '/runs/{run}' && document.querySelector('.grade')");
    browser.wait_until(&format!("!!({condition})"));
}

fn a_run_is_started_watched_and_its_report_exported_and_compared() {
    const REQUESTS: u64 = 40;
    // The last answer of each run is held until the run was watched; the others take two seconds, so that there is a
    // chart.
    let gates = [(); 3].map(|()| Gate::new());
    let held = gates.clone();
    let server = Server::start(move |request| {
        let reply = shop(request).delay(Duration::from_millis(100));
        let (run, number) = (request.sequence / REQUESTS, request.sequence % REQUESTS);
        match held.get(usize::try_from(run).expect("a few runs")) {
            Some(gate) if number + 1 == REQUESTS => reply.hold(gate),
            _ => reply,
        }
    });
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    let load = [("users", "2"), ("iterations", &*REQUESTS.to_string())];
    for gate in &gates[..2] {
        browser.visit(&dashboard.url("/"));
        start_run(&mut browser, "site::load::single", &server, &load);
        // Live, with figures and charts, and then the report in its place.
        browser.wait_until_there_is("#live-figures .tiles");
        browser.wait_until_there_is("#live-figures figure svg");
        gate.open();
        browser.wait_until_there_is(".grade");
    }
    // The same again, with the load that the form had.
    browser.click_on("button[data-key=r]");
    wait_for("the third run", || {
        (sandbox.runs().len() == 3).then_some(())
    });
    browser.wait_until_there_is("#live-figures .tiles");
    gates[2].open();
    browser.wait_until_there_is(".grade");
    let runs = sandbox.runs();
    let setting = |at: usize| {
        let start = runs[at].scenario().start;
        (start.plan.load, start.plan.seed, start.base_url)
    };
    assert_eq!(setting(2), setting(1));
    for run in &runs {
        assert_balanced(&run.scenario());
        assert_eq!(run.scenario().end.ending, EndReason::Completed);
    }
    let name = |at: usize| runs[at].name();
    let json = browser.awaited(&format!(
        "fetch('/runs/{}/report.json').then(answer => answer.json())",
        name(1)
    ));
    assert_eq!(json["run_id"], name(1));
    browser.visit(&dashboard.url(&format!("/compare?run={}&run={}", name(1), name(0))));
    assert!(text_of(&mut browser, "main").contains(&name(0)));
    browser.visit(&dashboard.url("/scenarios/site::load::single"));
    assert!(text_of(&mut browser, "main").contains("3 runs"));
    assert_eq!(
        browser.value("document.querySelectorAll('svg.sparkline').length"),
        1
    );
    assert_eq!(browser.complaints(), [""; 0]);
    // Times are those of the reader, with UTC behind them.
    let place = json!({ "timezoneId": "Asia/Kolkata" });
    browser.call("Emulation.setTimezoneOverride", place);
    browser.visit(&dashboard.url("/runs"));
    let minutes = "(() => {
        const { textContent, title } = document.querySelector('time');
        const read = (text) => new Date(`${text.replace(' ', 'T')}:00Z`);
        return [title.slice(-4), (read(textContent) - read(title.slice(0, -4))) / 60000];
    })()";
    assert_eq!(browser.value(minutes), json!([" UTC", 330]));
    dashboard.end().exits(0);
}

fn a_second_run_waits_for_the_first_and_can_be_taken_back() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    let load = [("users", "2"), ("duration", "1h")];
    start_run(&mut browser, "site::load::single", &server, &load);
    browser.wait_until_there_is("#live-figures .tiles");
    browser.visit(&dashboard.url("/"));
    start_run(&mut browser, "site::load::strict", &server, &load);
    browser.wait_until_there_is("form[action='/runs/unqueue'] button");
    assert!(text_of(&mut browser, "#progress").contains("It starts when the current run ends."));
    browser.click_on("form[action='/runs/unqueue'] button");
    browser.wait_until_there_is(".notice.t-good");
    assert_eq!(sandbox.runs().len(), 1);
    // A page of an earlier run stops no other one. (The list loads itself again once it is built.)
    browser.visit(&dashboard.url("/settings"));
    let stale = "fetch('/runs/abort', { method: 'POST', body: new URLSearchParams({ number: 99 }) }).then(answer => answer.status)";
    assert_eq!(browser.awaited(stale), 200);
    let before = server.requests();
    wait_for("requests of the run that goes on", || {
        (server.requests() > before + 10).then_some(())
    });
    let output = dashboard.end().exits(0);
    assert!(
        output.stderr.contains("Stopping the current run"),
        "{output}"
    );
    assert_eq!(sandbox.record().end.ending, EndReason::Interrupted);
}

fn stop_lets_requests_in_flight_end_and_abort_does_not() {
    for (is_aborted, ending) in [(false, EndReason::Interrupted), (true, EndReason::Aborted)] {
        let gate = Gate::new();
        let held = gate.clone();
        // Once it is asked to stop, each request takes so long that it is in flight whenever the load test is told.
        let delay = Duration::from_millis(200);
        let server = Server::start(move |_| Reply::text("late").hold(&held).delay(delay));
        let sandbox = Sandbox::new();
        let dashboard = Dashboard::start(&sandbox, "");
        let mut browser = dashboard.browse();
        let load = [("users", "2"), ("duration", "1h")];
        start_run(&mut browser, "site::load::single", &server, &load);
        wait_for("both requests", || (gate.held() == 2).then_some(()));
        browser.click_on("form[action='/runs/stop'] button");
        browser.wait_until_there_is(".notice.t-good");
        if is_aborted {
            browser.click_on("form[action='/runs/abort'] button");
        } else {
            gate.open();
        }
        browser.wait_until_there_is(".verdict");
        let record = sandbox.record();
        assert_eq!(record.end.ending, ending);
        let journey = &crate::site::total(&record).journey;
        let expected = if is_aborted { 2 } else { 0 };
        assert_eq!(journey.cancelled, expected, "{journey:?}");
        assert_eq!(journey.ok >= 2, !is_aborted, "{journey:?}");
        dashboard.end().exits(0);
    }
}

fn a_button_is_clicked_however_long_it_is_held() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    let load = [("users", "2"), ("duration", "1h")];
    start_run(&mut browser, "site::load::single", &server, &load);
    browser.wait_until_there_is("#live-figures .tiles");
    let place = browser.hold_down("form[action='/runs/stop'] button");
    // The figures are new each second, and so is the line of the run with its button.
    for _ in 0..2 {
        browser.value("document.querySelector('#live-figures').isOld = true");
        browser.wait_until("!document.querySelector('#live-figures').isOld");
    }
    browser.let_go(place);
    browser.wait_until_there_is(".verdict");
    assert_eq!(sandbox.record().end.ending, EndReason::Interrupted);
    dashboard.end().exits(0);
}

fn what_happens_in_a_run_is_spoken() {
    static FAILS: AtomicBool = AtomicBool::new(false);
    let server = Server::start(|_| {
        if FAILS.load(Ordering::SeqCst) {
            Reply::status(500)
        } else {
            Reply::text("ok")
        }
    });
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    browser.visit(&dashboard.url("/"));
    let load = [("rate", "20/s"), ("duration", "1h")];
    start_run(&mut browser, "site::load::single", &server, &load);
    browser.wait_until_there_is("#live-figures .tiles");
    browser.value(
        "globalThis.spoken = [], new MutationObserver(() => spoken.push(document.getElementById('status').textContent))\
         .observe(document.querySelector('#status[role=status]'), { childList: true })",
    );
    FAILS.store(true, Ordering::SeqCst);
    browser.wait_until("spoken.join('; ').includes('got 500')");
    // A second later there are more, which only the figures tell.
    browser.value("document.querySelector('#live-figures').isOld = true");
    browser.wait_until("!document.querySelector('#live-figures').isOld");
    let spoken = browser.value("spoken.join('; ')");
    let spoken = spoken.as_str().expect("a text");
    let told = spoken.matches("got 500").count();
    assert_eq!(told, 1, "once, and no figures: {spoken}");
    dashboard.end();
}

fn a_run_of_a_terminal_is_watched_and_outlives_its_page() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    let terminal = sandbox
        .run("single --users 2 --duration 1h", &server)
        .start();
    browser.click_on("#bar a.button");
    browser.wait_until_there_is("#live-figures .tiles");
    assert_eq!(
        browser.value("document.querySelectorAll('form[action=\"/runs/stop\"]').length"),
        0
    );
    drop(browser);
    let before = server.requests();
    wait_for("requests after the page was closed", || {
        (server.requests() > before + 50).then_some(())
    });
    terminal.signal(Signal::INT);
    terminal.output().exits(105);
    dashboard.end().exits(0);
}

fn each_scenario_of_a_mix_is_watched() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    let terminal = sandbox
        .run("single strict --mix --users 2 --duration 1h", &server)
        .start();
    browser.click_on("#bar a.button");
    browser.wait_until_there_is("#live-figures .tiles");
    browser.wait_until(
        "document.querySelector('#live-head nav')?.textContent.split(' it/s, p95 ').length === 3",
    );
    assert_eq!(text_of(&mut browser, "#live-figures h2"), "strict");
    for (key, scenario) in [("]", "single"), ("]", "strict"), ("[", "single")] {
        browser.press(key);
        browser.wait_until(&format!(
            "document.querySelector('#live-figures h2')?.textContent === '{scenario}'"
        ));
        let current = text_of(&mut browser, "#live-head [aria-current]");
        assert_eq!(current, format!("site::load::{scenario}"));
    }
    assert_eq!(browser.complaints(), [""; 0]);
    terminal.signal(Signal::INT);
    terminal.output().exits(105);
    dashboard.end().exits(0);
}

fn a_mix_is_run_again_as_a_mix_with_its_total() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    let line = "single journey --mix --rate 30/s --ramp-up 0s --duration 1s --seed 7";
    sandbox.run(line, &server).run().exits(0);
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    let page = format!("/runs/{}", sandbox.runs()[0].name());
    browser.visit(&dashboard.url(&page));
    browser.click_on("button[data-key=r]");
    wait_for("the second run", || {
        (sandbox.runs().len() == 2).then_some(())
    });
    wait_for_report(&mut browser, &sandbox.runs()[1].name());
    let runs = sandbox.runs();
    let settings = |at: usize| {
        let scenarios = runs[at].record().scenarios.into_iter();
        let settings = scenarios.map(|one| (one.start.plan.load, one.start.plan.seed));
        settings.collect::<Vec<_>>()
    };
    assert_eq!(settings(1), settings(0));
    // At once: the second begins before the first has ended.
    let start = |one: &ScenarioRecord| one.start.started_at.parse::<Timestamp>().expect("a time");
    for run in &runs {
        let scenarios = run.record().scenarios;
        let length = Duration::from_micros(scenarios[0].end.elapsed_us);
        assert!(start(&scenarios[1]) < start(&scenarios[0]) + length);
    }
    dashboard.end().exits(0);
}

fn a_scenario_that_runs_keeps_the_figures_of_its_last_run() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let line = "single --users 2 --iterations 40";
    sandbox.run(line, &server).run().exits(0);
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    start_run(
        &mut browser,
        "site::load::single",
        &server,
        &[("users", "2"), ("duration", "1h")],
    );
    browser.wait_until_there_is("#live-figures .tiles");
    browser.visit(&dashboard.url("/"));
    let row = text_of(
        &mut browser,
        "tr:has(a[href='/scenarios/site::load::single'])",
    );
    let (earlier, now) = (sandbox.runs()[0].name(), sandbox.runs()[1].name());
    assert!(row.contains(&format!("runs now: {now}")), "{row}");
    assert!(row.contains(&earlier) && row.contains("PASSED"), "{row}");
    dashboard.end().exits(0);
}

fn the_trials_of_a_search_are_watched() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    let line = format!(
        "single --base-url {} --slo p95<10s,errors<1% --from 10/s --max 20/s --window 1s --confirm 1h \
         --ramp-up 0s --rest 0s",
        server.url()
    );
    let terminal = sandbox.tool("capacity", &line).start();
    browser.click_on("#bar a.button");
    browser.wait_until(
        "document.querySelector('#live-figures:has(.tiles)')?.textContent.split('✓ met').length === 3",
    );
    let trials = text_of(&mut browser, "#live-figures");
    assert!(
        trials.contains("Trials") && trials.contains("20/s"),
        "{trials}"
    );
    assert!(text_of(&mut browser, "#live-log").contains("trial at 10/s: met"));
    browser.wait_until("document.querySelector('#live-head')?.textContent.includes('/1h')");
    assert_eq!(browser.complaints(), [""; 0]);
    terminal.signal(Signal::INT);
    terminal.output().exits(105);
    dashboard.end().exits(0);
}

fn killing_the_dashboard_stops_its_load() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    start_run(
        &mut browser,
        "site::load::single",
        &server,
        &[("users", "2"), ("duration", "1h")],
    );
    browser.wait_until_there_is("#live-figures .tiles");
    dashboard.running.signal(Signal::KILL);
    wait_for("the record of the run", || {
        sandbox.runs()[0]
            .0
            .join("record.json")
            .exists()
            .then_some(())
    });
    assert_eq!(sandbox.record().end.ending, EndReason::Interrupted);
    browser.wait_until_there_is("#offline");
    // Another one takes its place, and the page comes back.
    let again = Dashboard::start(&sandbox, "");
    let mut browser = again.browse();
    browser.visit(&again.url("/runs"));
    assert!(text_of(&mut browser, "table").contains("INTERRUPTED"));
    again.end().exits(0);
}

fn one_journey_shows_every_request_and_no_secret() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    browser.visit(&dashboard.url("/scenarios/site::load::journey/try"));
    browser.fill_in("input[name=base-url]", &server.url());
    browser.fill_in("input[name=seed]", "7");
    browser.click_on("form[action='/try/start'] button");
    browser.wait_until_there_is(".exchange");
    let text = text_of(&mut browser, "main");
    assert!(
        text.contains("POST") && text.contains("/login") && text.contains("seed 7"),
        "{text}"
    );
    assert!(!text.contains("t0ken"), "{text}");
    browser.fill_in("#search", "/login");
    let shown = browser
        .value("[...document.querySelectorAll('.exchange')].filter(one => !one.hidden).length");
    assert_eq!(shown, 1);
    assert_eq!(server.requests_to("/login"), 1);
    let entered = browser.value("document.querySelector('input[name=seed]').value");
    assert_eq!(entered, "7");
    dashboard.end().exits(0);
}
