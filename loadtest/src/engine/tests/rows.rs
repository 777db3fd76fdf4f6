//! Feeds that end the load after their last row.

use super::*;
use loadtest_model::plan::RowLimit;

/// Runs `load` with a feed that ends it after `rows` rows.
fn run_rows(
    load: Load,
    rows: u64,
    workers: u32,
    script: impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static,
) -> Ran {
    let (scenario, mut plan) = planned(load, vec![step("a")]);
    plan.rows = Some(RowLimit {
        feed: "user".into(),
        rows,
    });
    run_plan(scenario, &plan, workers, &Control::new(), None, script)
}

#[test]
fn arrivals_end_with_the_rows() {
    let ran = run_rows(rate(50.0, Duration::ZERO, ms(10_000)), 120, 1, quick);
    let all = ran.all();
    assert_eq!((all.journey.started, all.journey.ok), (120, 120));
    assert_eq!((ran.done.planned, all.journey.dropped), (120, 0));
    assert!(ran.done.out_of_rows);
    // the last one is due at 2.38 s, and the run does not wait for the end of the load
    assert_eq!(ran.done.elapsed, ms(119 * 20 + 5));
}

#[test]
fn workers_share_the_rows_and_each_arrival_keeps_its_number() {
    let load = || rate(50.0, ms(1_000), ms(10_000));
    let one = run_rows(load(), 121, 1, quick);
    let three = run_rows(load(), 121, 3, quick);
    assert_eq!(three.all().journey.ok, 121);
    let mut seen = three.seen;
    seen.sort();
    assert_eq!(seen, one.seen);
}

#[test]
fn an_arrival_that_waits_is_served_before_rows_end_the_load() {
    let mut load = rate(10.0, Duration::ZERO, ms(10_000));
    load.max_users = Some(1);
    let ran = run_rows(load, 5, 1, |_| (ms(500), Ok("")));
    let all = ran.all();
    assert_eq!((all.journey.ok, all.journey.dropped), (5, 0));
    assert_eq!(ran.done.elapsed, ms(2_500));
}

#[test]
fn more_rows_than_arrivals_change_nothing() {
    let ran = run_rows(rate(50.0, Duration::ZERO, ms(2_000)), 100, 1, quick);
    assert_eq!(ran.all().journey.ok, 100);
    assert!(!ran.done.out_of_rows);
    assert_eq!(ran.done.elapsed, ms(2_000));
}

#[test]
fn users_stop_when_the_rows_that_are_their_turn_are_over() {
    let ran = run_rows(users(3, Duration::ZERO, ms(60_000)), 10, 1, quick);
    assert_eq!(ran.all().journey.ok, 10);
    assert!(ran.done.out_of_rows);
    assert_eq!(ran.done.elapsed, ms(20), "4, 3 and 3 iterations of 5 ms");
    let two = run_rows(users(3, Duration::ZERO, ms(60_000)), 10, 2, quick);
    assert_eq!(two.all().journey.ok, 10);
}

#[test]
fn users_for_whom_there_is_no_row_do_not_begin() {
    let ran = run_rows(users(5, Duration::ZERO, ms(60_000)), 2, 1, quick);
    assert_eq!(ran.all().journey.ok, 2);
    assert!(ran.done.out_of_rows);
    assert_eq!(ran.done.elapsed, ms(5));
}

#[test]
fn a_closed_load_that_is_over_before_its_rows_ends_by_its_time() {
    let ran = run_rows(users(2, Duration::ZERO, ms(1_000)), 1_000_000, 1, quick);
    assert_eq!(ran.done.elapsed, ms(1_000));
    assert!(!ran.done.out_of_rows);
}

#[test]
fn fixed_work_is_at_most_the_rows() {
    let load = |count| Load::iterations(count, 4);
    let ran = run_rows(load(100), 7, 2, quick);
    assert_eq!((ran.all().journey.ok, ran.done.planned), (7, 7));
    assert!(ran.done.out_of_rows);
    let ran = run_rows(load(5), 7, 1, quick);
    assert_eq!(ran.all().journey.ok, 5);
    assert!(!ran.done.out_of_rows);
}
