//! The slowest journeys, step by step.

use super::*;
use loadtest_model::metrics::{SlowJourney, SlowStep, Slowest};

fn ran(step: usize, begin_ms: u64, time_ms: u64, ok: bool) -> SlowStep {
    SlowStep {
        step,
        begin_us: begin_ms * 1_000,
        time_us: time_ms * 1_000,
        ok,
    }
}

fn journey(iteration: u64, due_ms: u64, time_ms: u64, steps: Vec<SlowStep>) -> SlowJourney {
    SlowJourney {
        iteration,
        due_us: due_ms * 1_000,
        delay_us: 0,
        time_us: time_ms * 1_000,
        ok: true,
        trace_id: None,
        steps,
    }
}

#[test]
fn a_slow_journey_tells_when_each_step_ran_after_a_late_start_a_pause_and_a_failure() {
    let mut load = rate(1.0, Duration::ZERO, ms(4_000));
    load.max_users = Some(1);
    let mut thinking = step("a");
    thinking.think = Some(Think::Uniform {
        min: ms(300),
        max: ms(300),
    });
    let steps = vec![thinking, step("b"), step("c")];
    let load_ran = run(load, steps, |at| match at.as_millis() {
        0 => (ms(200), Ok("")),
        500 => (ms(900), Ok("")),
        1_450 => (ms(100), Ok("")),
        1_850 => (ms(50), Ok("broken")),
        _ => (ms(50), Ok("")),
    });
    let slow = vec![
        ran(0, 0, 200, true),
        ran(1, 500, 900, true),
        ran(2, 1_400, 50, true),
    ];
    // The only user is busy until 1.45 s; what needs the failed step is not executed.
    let late = SlowJourney {
        delay_us: 450_000,
        ok: false,
        ..journey(
            1,
            1_000,
            600,
            vec![ran(0, 450, 100, true), ran(1, 850, 50, false)],
        )
    };
    let quick = vec![
        ran(0, 0, 50, true),
        ran(1, 350, 50, true),
        ran(2, 400, 50, true),
    ];
    assert_eq!(
        load_ran.all().journey.slowest.journeys(),
        [
            journey(0, 0, 1_150, slow),
            late,
            journey(2, 2_000, 150, quick.clone()),
            journey(3, 3_000, 150, quick),
        ]
    );
}

#[test]
fn the_slowest_of_a_run_are_those_of_all_its_seconds_and_workers() {
    // Ten a second for ten seconds after a ramp; each takes a little longer than the one before, but
    // one in the first second and one in the fifth.
    let load = || rate(10.0, ms(2_000), ms(12_000));
    let script = |at: Duration| match at.as_millis() {
        0..2_000 => (ms(900), Ok("")),
        2_300 => (ms(500), Ok("")),
        6_400 => (ms(400), Ok("")),
        at => (ms(at as u64 / 1_000), Ok("")),
    };
    for workers in [1, 2] {
        let load_ran = run_workers(
            load(),
            vec![step("a")],
            workers,
            &Control::new(),
            None,
            script,
        );
        let all = load_ran.all();
        let slowest = all.journey.slowest.journeys();
        let times: Vec<u64> = slowest.iter().map(|slow| slow.time_us / 1_000).collect();
        let due: Vec<u64> = slowest.iter().map(|slow| slow.due_us / 1_000).collect();
        assert_eq!(times, [500, 400, 11, 11, 11], "{workers} workers");
        assert_eq!(due, [2_300, 6_400, 11_000, 11_100, 11_200]);
        // Ten arrivals come within the ramp.
        let numbers: Vec<u64> = slowest.iter().map(|slow| slow.iteration).collect();
        assert_eq!(numbers, [13, 54, 100, 101, 102]);
        assert_eq!(slowest[0].steps, [ran(0, 0, 500, true)]);
        assert!(load_ran.windows.ramp.journey.slowest.is_empty());
        for frame in &load_ran.frames {
            let kept = frame.windows.steady.journey.slowest.journeys().len();
            assert!(kept <= Slowest::KEPT, "{kept}");
        }
    }
}

#[test]
fn a_journey_that_is_cut_off_is_not_among_the_slowest() {
    let stop = Some((ms(500), RunPhase::Aborting));
    let load = rate(1.0, Duration::ZERO, ms(4_000));
    let load_ran = run_workers(load, vec![step("a")], 1, &Control::new(), stop, |_| {
        (ms(2_000), Ok(""))
    });
    let all = load_ran.all();
    assert_eq!((all.journey.started, all.journey.cancelled), (1, 1));
    assert!(all.journey.slowest.is_empty());
}
