//! Rates are of what ended within the measured part, by its length: recomputed from the times at which a server answered.

use super::health::grade_run;
use super::*;
use loadtest_model::card::Card;
use std::ops::RangeInclusive;

/// Runs a scenario of one step, and returns its card and the times at which its server ended its answers.
fn graded(
    load: Load,
    script: impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static,
) -> (Card, Vec<Duration>) {
    let (scenario, plan) = planned(load, vec![step("a")]);
    let answered = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&answered);
    let logged = move |at: Duration| {
        let (time, answer) = script(at);
        log.lock().unwrap().push(at + time);
        (time, answer)
    };
    let ran = run_plan(scenario, &plan, 1, &Control::new(), None, logged);
    let answered = answered.lock().unwrap().clone();
    (grade_run(scenario, plan, &ran), answered)
}

fn count_within(log: &[Duration], part: RangeInclusive<Duration>) -> f64 {
    log.iter().filter(|at| part.contains(*at)).count() as f64
}

#[track_caller]
fn is_about(rate: Option<f64>, wanted: f64) {
    let rate = rate.expect("a rate");
    assert!((rate - wanted).abs() < 1e-6, "{rate} and not {wanted}");
}

#[test]
fn an_overloaded_target_is_not_said_to_have_kept_up() {
    // It answers one request after another, 200 in a second.
    let free_at = Mutex::new(Duration::ZERO);
    let queue = move |at: Duration| {
        let mut free_at = free_at.lock().unwrap();
        *free_at = at.max(*free_at) + ms(5);
        (free_at.saturating_sub(at), Ok(""))
    };
    let load = Load {
        max_users: Some(3_000),
        ..rate(400.0, Duration::ZERO, ms(10_000))
    };
    let (card, log) = graded(load, queue);
    assert_eq!(log.len(), 4_000, "all are answered, in 20 s");
    let wanted = count_within(&log, Duration::ZERO..=ms(10_000)) / 10.0;
    is_about(Some(wanted), 200.0);
    is_about(card.headline.achieved_per_second, wanted);
    is_about(card.headline.target_per_second, 400.0);
    is_about(card.steps[0].per_second, wanted);
    is_about(card.steps[0].received_bytes_per_second, 20.0 * wanted);
    assert_eq!(
        card.remarks,
        [
            "journeys ended at 200/s in the measured part, where 400/s were due: the rest ended after it, or never"
        ]
    );
    // What was due in the measured part is accounted for all the same.
    assert_eq!((card.headline.ok, card.steps[0].executed), (4_000, 4_000));
}

#[test]
fn what_ends_in_the_measured_part_counts_whenever_it_was_due() {
    let slow = |_| (ms(350), Ok(""));
    // Due from 0 to 3.9 s, and those of the first second are of the ramp.
    let (card, log) = graded(rate(10.0, ms(1_000), ms(4_000)), slow);
    is_about(
        card.headline.achieved_per_second,
        count_within(&log, ms(1_000)..=ms(4_000)) / 3.0,
    );
    // Users: the fourth journey ends after the load.
    let (card, _) = graded(users(1, Duration::ZERO, ms(1_000)), |_| (ms(300), Ok("")));
    assert_eq!(card.headline.ok, 4);
    is_about(card.headline.achieved_per_second, 3.0);
    let (card, _) = graded(users(5, Duration::ZERO, ms(1_000)), |_| (ms(7_000), Ok("")));
    assert_eq!(card.headline.ok, 5);
    is_about(card.headline.achieved_per_second, 0.0);
    let (card, _) = graded(users(1, ms(1_000), ms(4_000)), |_| (ms(300), Ok("")));
    is_about(card.headline.achieved_per_second, 10.0 / 3.0);
    // Fixed work has no end that comes before its own.
    let (card, _) = graded(Load::iterations(8, 2), |_| (ms(500), Ok("")));
    is_about(card.headline.achieved_per_second, 4.0);
}
