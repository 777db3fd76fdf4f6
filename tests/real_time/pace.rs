//! Journeys begin when they are due, and steps are as long as their server, their pause or their deadline makes them.

use crate::machine::Needs;
use crate::trial::{Judge, trials};
use libtest_mimic::Trial;
use loadtest::Run;
use loadtest::card::{Card, Trust};
use loadtest::definition::{Load, Rate};
use loadtest::prelude::*;
use loadtest_tests::{Reply, Request as Arrived, Server};
use std::time::Duration;
use tokio::time::Instant;

const MS: Duration = Duration::from_millis(1);
/// A fifth of the lateness that makes a run INVALID.
const PROMPT: Needs = Needs {
    latest: MS.saturating_mul(2),
};
/// The most that something may be late on a machine that is prompt.
const SLACK: Duration = Duration::from_millis(10);

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        arrivals_of_a_rate_are_sent_when_they_are_due needs PROMPT,
        users_at_a_pace_begin_their_journeys_when_they_are_due needs PROMPT,
        a_delay_of_the_target_is_measured_and_no_more needs PROMPT,
        a_timeout_costs_its_time_and_no_more needs PROMPT,
        a_pause_lasts_as_long_as_it_says needs PROMPT,
    ]
}

#[scenario]
fn visit() {
    #[step(get = "/page", timeout = 200ms)]
    fn page();
}

#[scenario]
fn thoughtful() {
    #[step(get = "/page", think = 50ms)]
    fn page();
}

/// Runs a scenario against `server`.
fn run(scenario: &'static loadtest::Scenario, load: Load, server: &Server) -> Card {
    let run = Run::new(scenario).load(load).base_url(server.url());
    run.run_blocking().expect("it runs")
}

/// How much later than `due` after the first of them each request arrived, and how much earlier, at most.
fn find_deviation(requests: &[&Arrived], due: impl Fn(u32) -> Duration) -> Duration {
    let first = requests[0].arrived;
    let deviations = (0..).zip(requests).map(|(number, request)| {
        let after = request.arrived - first;
        after.abs_diff(due(number))
    });
    deviations.max().unwrap_or_default()
}

fn arrivals_of_a_rate_are_sent_when_they_are_due() -> Judge {
    let server = Server::recording(|_| Reply::text("ok"));
    let load = Load::rate(Rate::per_second(50.0), 2_000 * MS);
    let card = run(visit(), load, &server);
    Box::new(move || {
        assert_eq!(card.accounts.ok, 100);
        let requests = server.recorded();
        let requests: Vec<&Arrived> = requests.iter().collect();
        // The first one opens a connection, and so do those that find no user.
        let deviation = find_deviation(&requests, |number| 20 * MS * number);
        assert!(deviation <= SLACK, "{deviation:?}");
        let generator = &card.generator;
        let late = generator.late_p99.expect("starts were measured");
        assert!(late <= SLACK, "{late:?}");
        assert_eq!(generator.stalled_seconds, 0, "{generator:?}");
        assert_ne!(card.validity.trust, Trust::Invalid, "{:?}", card.validity);
    })
}

fn users_at_a_pace_begin_their_journeys_when_they_are_due() -> Judge {
    let server = Server::recording(|_| Reply::text("ok"));
    let load = Load::users(2, 1_500 * MS).pace(100 * MS);
    let card = run(visit(), load, &server);
    Box::new(move || {
        assert_eq!(card.accounts.ok, 2 * 15);
        let requests = server.recorded();
        let connections = requests.iter().map(|request| request.connection);
        let (first, second) = (connections.clone().min(), connections.max());
        for connection in [first, second] {
            let own = requests
                .iter()
                .filter(|one| Some(one.connection) == connection);
            let own: Vec<&Arrived> = own.collect();
            assert_eq!(own.len(), 15);
            let deviation = find_deviation(&own, |number| 100 * MS * number);
            assert!(deviation <= SLACK, "{deviation:?}");
        }
    })
}

fn a_delay_of_the_target_is_measured_and_no_more() -> Judge {
    const DELAY: Duration = Duration::from_millis(50);
    let server = Server::start(|_| Reply::text("ok").delay(DELAY));
    let card = run(visit(), Load::iterations(20, 2), &server);
    Box::new(move || {
        let step = &card.steps[0];
        for (name, times) in [("response", &step.response), ("service", &step.service)] {
            assert_eq!(times.samples, 20);
            let (p50, max) = (times.p50.expect("times"), times.max.expect("times"));
            assert!(p50 >= DELAY && max <= DELAY + SLACK, "{name}: {times:?}");
        }
    })
}

fn a_timeout_costs_its_time_and_no_more() -> Judge {
    const TIMEOUT: Duration = Duration::from_millis(200);
    let server = Server::start(|_| Reply::hang());
    let begin = Instant::now();
    let card = run(visit(), Load::iterations(6, 3), &server);
    let elapsed = begin.elapsed();
    Box::new(move || {
        let step = &card.steps[0];
        assert_eq!((step.failed, step.response.samples), (6, 6));
        let max = step.response.max.expect("times");
        assert!((TIMEOUT..=TIMEOUT + SLACK).contains(&max), "{max:?}");
        // Two one after the other, and a quarter of a second to begin and to end the run.
        let most = 2 * TIMEOUT + 250 * MS;
        assert!(elapsed <= most, "{elapsed:?}");
    })
}

fn a_pause_lasts_as_long_as_it_says() -> Judge {
    let server = Server::recording(|_| Reply::text("ok"));
    let _card = run(thoughtful(), Load::iterations(10, 1), &server);
    Box::new(move || {
        let requests = server.recorded();
        let gaps = requests
            .windows(2)
            .map(|two| two[1].arrived - two[0].arrived);
        for gap in gaps {
            assert!((50 * MS..=50 * MS + SLACK).contains(&gap), "{gap:?}");
        }
    })
}
