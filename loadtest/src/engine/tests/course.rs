//! Stages and ramps: what starts when, and how often, to the last iteration.

use super::*;

fn stages(stages: &[(f64, f64, u64)]) -> Vec<Stage> {
    let stages = stages.iter().map(|&(from, to, time)| Stage {
        from,
        to,
        duration: ms(time),
    });
    stages.collect()
}

fn rates(of: &[(f64, f64, u64)]) -> Load {
    let stages = stages(of).into();
    Load::new(Shape::RateStages { stages })
}

/// The number of requests sent in each second.
fn by_second(ran: &Ran, seconds: u64) -> Vec<usize> {
    let of = |second: u64| {
        let second = ms(second * 1_000)..ms((second + 1) * 1_000);
        ran.seen.iter().filter(|at| second.contains(*at)).count()
    };
    (0..seconds).map(of).collect()
}

#[test]
fn a_rate_that_rises_stays_and_falls_starts_its_integral_in_each_second() {
    // n(t) = 5 t^2, then 100 t, then 100 t - 5 t^2.
    let load = || {
        rates(&[
            (0.0, 100.0, 10_000),
            (100.0, 100.0, 3_000),
            (100.0, 0.0, 10_000),
        ])
    };
    let mut wanted: Vec<usize> = (0..10).map(|second| 5 * (2 * second + 1)).collect();
    wanted.extend([100; 3]);
    wanted.extend((0..10).map(|second| 100 - 5 * (2 * second + 1)));
    for workers in [1, 2, 3] {
        let ran = run_workers(
            load(),
            vec![step("a")],
            workers,
            &Control::new(),
            None,
            quick,
        );
        assert_eq!(by_second(&ran, 23), wanted, "{workers} workers");
        assert_eq!(ran.all().journey.ok, 500 + 300 + 500);
        assert_eq!(ran.windows.steady.journey.started, 300);
    }
}

#[test]
fn no_iteration_starts_in_a_stage_without_a_rate() {
    let ran = run(
        rates(&[
            (20.0, 20.0, 2_000),
            (0.0, 0.0, 5_000),
            (0.0, 20.0, 2_000),
            (50.0, 50.0, 1_000),
        ]),
        vec![step("a")],
        quick,
    );
    // n(t) = 10 t^2 / 2 in the third stage.
    assert_eq!(by_second(&ran, 10), [20, 20, 0, 0, 0, 0, 0, 5, 15, 50]);
    assert_eq!(ran.all().journey.ok, 110);
}

#[test]
fn a_stage_that_is_shorter_than_a_gap_still_counts() {
    // A hundredth of an arrival in each: the first of all is at the start, the second after 100 of them.
    let ran = run(rates(&[(1.0, 1.0, 10); 150]), vec![step("a")], quick);
    assert_eq!(ran.seen, [Duration::ZERO, ms(1_000)]);
    assert_eq!(ran.all().journey.ok, 2);
    assert_eq!(ran.done.elapsed, ms(1_500));
}

#[test]
fn users_of_a_ramp_begin_when_it_reaches_them() {
    // User n of ten begins at n / 10 of 5 s, and each journey takes 100 ms.
    let slow = |_| (ms(100), Ok(""));
    for workers in [1, 3] {
        let load = users(10, ms(5_000), ms(10_000));
        let ran = run_workers(load, vec![step("a")], workers, &Control::new(), None, slow);
        let first: Vec<usize> = by_second(&ran, 5);
        // 10 + 5, 30 + 5, ..: who begins within a second begins at its start or in its middle.
        assert_eq!(first, [15, 35, 55, 75, 95], "{workers} workers");
        assert_eq!(ran.all().journey.ok, 275 + 500);
    }
}

#[test]
fn users_who_are_not_wanted_any_more_end_their_journey_and_begin_no_other() {
    let slow = |_| (ms(300), Ok(""));
    let stages = stages(&[(4.0, 4.0, 1_000), (4.0, 0.0, 2_000)]).into();
    let ran = run(
        Load::new(Shape::UserStages { stages }),
        vec![step("a")],
        slow,
    );
    // User 3 is wanted until 1.5 s and so begins at 0, 0.3, .. 1.2; then 2.0, 2.5 and 3.0 s.
    let all = ran.all();
    assert_eq!(all.journey.started, 5 + 7 + 9 + 10);
    assert_eq!(all.journey.cancelled, 0);
    assert_eq!(ran.done.elapsed, ms(3_000));
}
