//! The interval at which users of a closed load start their journeys.

use super::*;

#[test]
fn users_start_at_the_interval_or_at_once_after_a_journey_that_took_longer() {
    // The second journey of each user takes seven seconds instead of one.
    let ran = run(
        users(2, Duration::ZERO, ms(30_000)).pace(ms(5_000)),
        vec![step("a")],
        |at| (ms(if at == ms(5_000) { 7_000 } else { 1_000 }), Ok("")),
    );
    let instants = [0, 5, 12, 17, 22, 27].map(|second| ms(second * 1_000));
    assert_eq!(ran.seen, instants.map(|at| [at; 2]).concat());
}

#[test]
fn the_wait_is_part_of_no_figure() {
    let load = users(3, Duration::ZERO, ms(20_000)).pace(ms(2_000));
    let ran = run(load, vec![step("a")], quick);
    let journey = ran.all().journey;
    assert_eq!((journey.ok, journey.lateness.count()), (30, 30));
    assert!(journey.lateness.max() <= Some(Duration::from_micros(1)));
    assert_eq!(journey.time.max(), Some(ms(5)));
    assert_eq!(journey.waits.count(), 0);
    assert_eq!(ran.all().steps[0].response.max(), Some(ms(5)));
}

#[test]
fn an_interval_that_no_timer_meets_does_not_drift() {
    // The timer of the runtime ticks in milliseconds, so a start may be one late, but no more.
    let pace = Duration::from_micros(100_500);
    let ran = run(
        users(1, Duration::ZERO, ms(60_000)).pace(pace),
        vec![step("a")],
        quick,
    );
    assert_eq!(ran.seen.len(), 598);
    for (i, at) in ran.seen.iter().enumerate() {
        let due = pace * i as u32;
        assert!(*at >= due && *at <= due + ms(1), "{i}: {at:?}, not {due:?}");
    }
}

#[test]
fn fixed_work_keeps_the_interval_too() {
    let load = Load::iterations_per_user(3, 2).pace(ms(1_000));
    let ran = run_workers(load, vec![step("a")], 2, &Control::new(), None, quick);
    let mut seen = ran.seen.clone();
    seen.sort();
    assert_eq!(seen, [0, 0, 1_000, 1_000, 2_000, 2_000].map(ms));
    assert_eq!(ran.all().journey.ok, 6);
}

#[test]
fn a_stop_ends_the_wait() {
    let stop = Some((ms(1_500), RunPhase::Stopping));
    let load = users(4, Duration::ZERO, ms(600_000)).pace(ms(60_000));
    let ran = run_workers(load, vec![step("a")], 1, &Control::new(), stop, quick);
    assert_eq!(ran.all().journey.ok, 4);
    assert_eq!(
        ran.frames.len(),
        2,
        "the second of the stop is the last one"
    );
}

#[test]
fn users_that_stages_send_away_take_up_their_pace_when_they_return() {
    let stages = [
        Stage::new(1.0, 1.0, ms(4_000)),
        Stage::new(0.0, 0.0, ms(3_500)),
        Stage::new(1.0, 1.0, ms(4_500)),
    ];
    let load = Load::user_stages(stages).pace(ms(3_000));
    let ran = run(load, vec![step("a")], quick);
    assert_eq!(ran.seen, [0, 3_000, 7_500, 10_500].map(ms));
}
