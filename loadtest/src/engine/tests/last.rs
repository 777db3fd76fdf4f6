//! Steps that run once for each user, after its last journey.

use super::*;
use loadtest_model::metrics::StepTally;
use loadtest_model::plan::RowLimit;

const NEVER: Duration = Duration::ZERO;

fn last(name: &'static str) -> StepDef {
    StepDef {
        last: true,
        ..step(name)
    }
}

/// A journey of one step, and one step after the last journey.
fn steps() -> Vec<StepDef> {
    vec![step("browse"), last("log_out")]
}

fn iterations(count: u64, users: u32) -> Load {
    Load::iterations(count, users)
}

/// Runs one worker that is told to stop or to abort.
fn run_until(
    load: Load,
    at: Duration,
    phase: RunPhase,
    script: impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static,
) -> Ran {
    let stop = Some((at, phase));
    run_workers(load, steps(), 1, &Control::new(), stop, script)
}

/// Executed and cancelled.
fn came_to(step: &StepTally) -> (u64, u64) {
    (step.executed, step.cancelled)
}

/// When the last `count` requests were sent, in milliseconds.
fn tail(ran: &Ran, count: usize) -> Vec<u128> {
    let seen = &ran.seen[ran.seen.len() - count..];
    seen.iter().map(Duration::as_millis).collect()
}

#[test]
fn arrivals_end_and_every_user_leaves_as_soon_as_it_is_free() {
    // 50 arrivals of 95 ms each take 5 users of the 10 that there may be
    let mut load = rate(50.0, NEVER, ms(1_000));
    load.max_users = Some(10);
    let ran = run(load, steps(), |_| (ms(95), Ok("")));
    let all = ran.all();
    assert_eq!((all.journey.started, all.journey.ok), (50, 50));
    assert_eq!(came_to(&all.steps[0]), (50, 0));
    assert_eq!(came_to(&all.steps[1]), (5, 0));
    assert_eq!((all.steps[1].ok, all.steps[1].requests), (5, 5));
    assert_eq!(tail(&ran, 5), [1_000, 1_015, 1_035, 1_055, 1_075]);
    assert_eq!(ran.done.elapsed, ms(1_075), "the journeys alone");
}

#[test]
fn it_is_part_of_no_journey_and_carries_no_start_delay() {
    let mut load = rate(100.0, NEVER, ms(1_000));
    load.max_users = Some(1);
    // the only user is always late, but never when it leaves
    let ran = run(load, steps(), |at| {
        (ms(if at < ms(1_000) { 20 } else { 300 }), Ok(""))
    });
    let all = ran.all();
    assert!(all.steps[0].response.max() > Some(ms(400)));
    assert_eq!(all.steps[1].response.max(), Some(ms(300)));
    assert_eq!(all.steps[1].service.max(), Some(ms(300)));
    assert!(all.journey.time.max() < Some(ms(1_000)));
    assert_eq!(all.journey.ok + all.journey.dropped, 100);
    for share in &all.journey.shares {
        assert_eq!(share.steps_us[1], 0);
    }
}

#[test]
fn a_failed_one_fails_no_journey() {
    let ran = run(iterations(6, 2), steps(), |at| {
        let kind = ErrorKind::ConnectRefused;
        (ms(5), if at < ms(15) { Ok("") } else { Err(kind) })
    });
    let all = ran.all();
    assert_eq!((all.journey.ok, all.journey.failed), (6, 0));
    assert_eq!((all.steps[1].executed, all.steps[1].failed), (2, 2));
    assert_eq!(ran.done.elapsed, ms(15));
}

#[test]
fn only_users_who_made_a_journey_leave() {
    for workers in [1, 3] {
        let control = Control::new();
        let ran = run_workers(iterations(2, 5), steps(), workers, &control, None, quick);
        let all = ran.all();
        assert_eq!(all.journey.ok, 2);
        assert_eq!(came_to(&all.steps[1]), (2, 0), "{workers} workers");
    }
    let ran = run(iterations(12, 4), steps(), quick);
    assert_eq!(came_to(&ran.all().steps[1]), (4, 0));
    assert_eq!(tail(&ran, 4), [15; 4]);
}

#[test]
fn users_leave_when_the_load_has_ended_and_count_in_the_headline() {
    let mut load = users(4, ms(2_000), ms(4_000));
    load.warm_up = ms(1_000);
    let ran = run_workers(load, steps(), 3, &Control::new(), None, |_| {
        (ms(70), Ok(""))
    });
    ran.all();
    let windows = &ran.windows;
    assert_eq!(came_to(&windows.steady.steps[1]), (4, 0));
    for window in [&windows.warm_up, &windows.ramp] {
        assert_eq!(came_to(&window.steps[1]), (0, 0));
    }
    let mut seen = ran.seen.clone();
    seen.sort();
    assert!(seen[seen.len() - 4..].iter().all(|at| *at >= ms(5_000)));
}

#[test]
fn a_step_that_runs_once_is_measured_in_warm_up_and_ramp_too() {
    let steps = || {
        let login = StepDef {
            once: true,
            ..step("login")
        };
        vec![login, step("browse")]
    };
    let mut load = users(50, ms(5_000), ms(10_000));
    load.warm_up = ms(1_000);
    let ran = run(load, steps(), |_| (ms(50), Ok("")));
    ran.all();
    let windows = &ran.windows;
    assert_eq!(came_to(&windows.steady.steps[0]), (50, 0));
    for window in [&windows.warm_up, &windows.ramp] {
        let (login, browse) = (&window.steps[0], &window.steps[1]);
        assert_eq!((login.executed, login.kept, login.requests), (0, 0, 0));
        assert_eq!(browse.executed, window.journey.ok);
    }
    assert_eq!(windows.steady.steps[0].response.count(), 50);

    // one that an abort cuts off in the ramp is cancelled in its own population
    let load = users(2, ms(5_000), ms(10_000));
    let stop = Some((ms(1_000), RunPhase::Aborting));
    let never = |_| (ms(60_000), Ok(""));
    let ran = run_workers(load, steps(), 1, &Control::new(), stop, never);
    assert_eq!(ran.windows.ramp.journey.cancelled, 1);
    assert_eq!(ran.windows.ramp.steps[0].cancelled, 0);
    assert_eq!(ran.windows.steady.steps[0].cancelled, 1);
}

#[test]
fn users_that_stages_send_away_wait_for_the_end_of_the_load() {
    let stage = |from: f64, to: f64, time| Stage {
        from,
        to,
        duration: ms(time),
    };
    // the second user goes after a second, comes back after two, and goes for good after three
    let stages = [(2.0, 1_000), (1.0, 1_000), (2.0, 1_000), (1.0, 3_000)];
    let stages: Vec<_> = stages.map(|(to, time)| stage(to, to, time)).into();
    let load = Load::new(Shape::UserStages {
        stages: stages.into(),
    });
    let ran = run(load, steps(), |_| (ms(100), Ok("")));
    let all = ran.all();
    assert_eq!(all.journey.ok, 60 + 20);
    assert_eq!(came_to(&all.steps[1]), (2, 0));
    assert_eq!(tail(&ran, 2), [6_000, 6_000]);

    // where it ends with a ramp down as well
    let stages = vec![stage(2.0, 2.0, 1_000), stage(2.0, 0.0, 1_000)];
    let load = Load::new(Shape::RateStages {
        stages: stages.into(),
    });
    let ran = run(load, steps(), quick);
    assert_eq!(ran.windows.ramp.journey.started, 1);
    assert_eq!(came_to(&ran.windows.ramp.steps[1]), (0, 0));
    assert_eq!(came_to(&ran.windows.steady.steps[1]), (1, 0));
}

#[test]
fn rows_that_end_the_load_let_users_leave() {
    for load in [users(3, NEVER, ms(60_000)), rate(10.0, NEVER, ms(60_000))] {
        let is_open = load.is_open();
        let (scenario, mut plan) = planned(load, steps());
        plan.rows = Some(RowLimit {
            feed: "user".into(),
            rows: 7,
        });
        let ran = run_plan(scenario, &plan, 1, &Control::new(), None, quick);
        let all = ran.all();
        assert_eq!(all.journey.ok, 7);
        let users = if is_open { 1 } else { 3 };
        assert_eq!(came_to(&all.steps[1]), (users, 0));
        let end = if is_open { 605 } else { 15 };
        assert_eq!(ran.done.elapsed, ms(end));
    }
}

#[test]
fn all_of_a_users_last_steps_run_in_order_wherever_they_stand() {
    let steps = vec![last("tidy_up"), step("browse"), last("log_out")];
    let ran = run(iterations(4, 2), steps, |at| {
        // what fails first is no step of a journey
        let kind = ErrorKind::ConnectRefused;
        (ms(10), if at < ms(20) { Ok("") } else { Err(kind) })
    });
    let all = ran.all();
    assert_eq!((all.journey.ok, all.steps[1].ok), (4, 4));
    assert_eq!((all.steps[0].failed, all.steps[2].failed), (2, 2));
    assert_eq!(tail(&ran, 4), [20, 20, 30, 30]);
}

#[test]
fn it_is_skipped_where_the_last_journey_left_nothing_to_use() {
    // of three journeys the last one fails
    let ran = run(iterations(3, 1), steps(), |at| {
        let kind = ErrorKind::ConnectRefused;
        (ms(10), if at < ms(20) { Ok("") } else { Err(kind) })
    });
    let all = ran.all();
    assert_eq!((all.journey.ok, all.journey.failed), (2, 1));
    let log_out = &all.steps[1];
    assert_eq!((log_out.executed, log_out.skipped), (0, 1));
    let cause = Cause {
        root: RootCause::Failed,
        step: 0,
    };
    let [failure] = all.dependencies.as_slice() else {
        unreachable!("one failure");
    };
    assert_eq!((failure.step, failure.cause, failure.count), (1, cause, 1));
}

#[test]
fn a_run_that_is_stopped_lets_users_leave() {
    let load = || users(4, NEVER, ms(600_000));
    let ran = run_until(load(), ms(2_500), RunPhase::Stopping, |_| (ms(200), Ok("")));
    let all = ran.all();
    assert_eq!((all.journey.ok, all.journey.cancelled), (52, 0));
    assert_eq!(came_to(&all.steps[1]), (4, 0));
    assert_eq!(tail(&ran, 4), [2_600; 4]);

    // they are measured over the whole run, also if it has no steady part yet
    let load = users(4, ms(10_000), ms(600_000));
    let ran = run_until(load, ms(6_000), RunPhase::Stopping, quick);
    ran.all();
    assert_eq!(came_to(&ran.windows.ramp.steps[1]), (0, 0));
    assert_eq!(came_to(&ran.windows.steady.steps[1]), (3, 0));
}

#[test]
fn what_an_abort_cuts_off_is_cancelled() {
    let load = || users(4, NEVER, ms(5_000));
    // within their journeys
    let ran = run_until(load(), ms(2_500), RunPhase::Aborting, |_| {
        (ms(20_000), Ok(""))
    });
    let all = ran.all();
    assert_eq!((all.journey.started, all.journey.cancelled), (4, 4));
    assert_eq!(came_to(&all.steps[1]), (0, 4));

    // as they leave
    let ran = run_until(load(), ms(7_000), RunPhase::Aborting, |at| {
        (ms(if at < ms(5_000) { 500 } else { 20_000 }), Ok(""))
    });
    let all = ran.all();
    assert_eq!((all.journey.ok, all.journey.cancelled), (40, 0));
    assert_eq!(came_to(&all.steps[1]), (0, 4));
    assert_eq!(all.steps[1].requests, 4, "they were sent");
    assert_eq!(ran.done.elapsed, ms(5_000));
}

#[test]
fn the_hard_end_cuts_off_what_takes_longer_than_the_graceful_time() {
    // one of three users is within a journey till the end, and the others do not wait for it
    let mut hanging = steps();
    for step in &mut hanging {
        step.timeout = ms(600_000);
    }
    let ran = run(users(3, NEVER, ms(1_000)), hanging, |at| {
        if at < ms(1_000) {
            // the requests of the first round take 400, 800 and 1,200 ms
            return (ms(400 + at.as_millis() as u64), Ok(""));
        }
        (ms(40_000), Ok(""))
    });
    let all = ran.all();
    assert_eq!(all.journey.cancelled, 0);
    assert_eq!(came_to(&all.steps[1]), (0, 3));
    assert_eq!(all.steps[1].response.count(), 0);
    let last = ran.frames.last().unwrap();
    assert_eq!(last.second, 31, "30 s after the end of the load");
}

#[test]
fn who_is_within_a_journey_does_not_keep_the_others() {
    let mut hanging = steps();
    hanging[0].timeout = ms(600_000);
    let load = || users(2, ms(1_000), ms(2_000));
    // the second user begins half a second later, and hangs
    let ran = run(load(), hanging, |at| {
        let hangs = at == ms(500);
        (ms(if hangs { 600_000 } else { 300 }), Ok(""))
    });
    let all = ran.all();
    assert_eq!((all.journey.ok, all.journey.cancelled), (7, 1));
    assert_eq!(came_to(&all.steps[1]), (1, 1));
    assert_eq!(tail(&ran, 1), [2_100]);
}
