//! What the engine says of itself, and what it says of a target that stalls.

use super::*;
use loadtest_model::card::{Card, Trust};
use loadtest_model::record::{EndReason, RunEnd, RunStart, ScenarioRecord};
use loadtest_model::schedule::Schedule;
use proptest::prelude::*;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

/// Lets time pass in which nothing on this thread runs, as when the system stops it.
fn freeze(time: Duration) {
    // Its first poll moves the clock.
    let _moved = pin!(tokio::time::advance(time)).poll(&mut Context::from_waker(Waker::noop()));
}

/// A script that answers at once, and freezes the thread for `time` in the first request after `at`.
pub(super) fn freezing(
    at: Duration,
    time: Duration,
) -> impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync {
    let frozen = AtomicBool::new(false);
    move |now| {
        if now >= at && !frozen.swap(true, Ordering::Relaxed) {
            freeze(time);
        }
        quick(now)
    }
}

/// Grades what a run measured.
pub(super) fn grade_run(scenario: &Scenario, plan: Plan, ran: &Ran) -> Card {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap();
    let steady = Schedule::new(&plan.load).steady_part(ran.done.elapsed);
    let mut record = ScenarioRecord::new(RunStart {
        definition: scenario.definition.clone(),
        plan,
        base_url: None,
        own_target: false,
        target_in_process: false,
        permits: Vec::new(),
        offline: None,
        validity_off: false,
        executable_hash: String::new(),
        workers: 1,
        started_at: String::new(),
    });
    ran.frames.iter().for_each(|frame| record.absorb(frame));
    record.finish(RunEnd {
        ending: EndReason::Completed,
        elapsed_us: micros(ran.done.elapsed),
        planned: ran.done.planned,
        steady_us: micros(steady),
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    });
    Card::grade(&record, None)
}

fn stalled(ran: &Ran) -> Vec<u32> {
    let frames = ran.frames.iter();
    let stalled = frames.filter(|frame| frame.health.stalled_seconds > 0);
    stalled.map(|frame| frame.second).collect()
}

#[test]
fn a_thread_that_does_not_come_back_stalls_every_second_it_takes() {
    let ran = run(
        users(1, Duration::ZERO, ms(6_000)),
        vec![step("a")],
        freezing(ms(2_000), ms(1_500)),
    );
    ran.all();
    assert_eq!(stalled(&ran), [2, 3]);
    for second in [2, 3] {
        let longest = ran.frames[second].health.longest_stall_us;
        assert!((1_480_000..=1_500_000).contains(&longest), "{longest}");
    }
}

#[test]
fn a_thread_that_comes_back_in_time_does_not_stall() {
    let load = || users(1, Duration::ZERO, ms(4_000));
    for time in [0, 90] {
        let ran = run(load(), vec![step("a")], freezing(ms(1_500), ms(time)));
        assert_eq!(stalled(&ran), Vec::<u32>::new(), "{time} ms");
    }
    let ran = run(load(), vec![step("a")], freezing(ms(1_500), ms(125)));
    assert_eq!(stalled(&ran), [1]);
}

#[test]
fn a_stall_of_the_generator_makes_the_run_invalid_and_one_of_the_target_does_not() {
    let verdict = |script: Box<Script>| {
        let mut load = rate(100.0, Duration::ZERO, ms(10_000));
        load.max_users = Some(1_000);
        let (scenario, plan) = planned(load, vec![step("a")]);
        let ran = run_plan(scenario, &plan, 1, &Control::new(), None, script);
        grade_run(scenario, plan, &ran)
    };
    let ours = verdict(Box::new(freezing(ms(4_000), ms(2_000))));
    assert_eq!(ours.validity.trust, Trust::Invalid);
    let told: Vec<&str> = ours.reasons.iter().map(|reason| &*reason.words).collect();
    assert!(
        told.iter()
            .any(|told| told.contains("stalled in 2 of 11 seconds")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|told| told.contains("fell behind")),
        "{told:?}"
    );
    let theirs = verdict(Box::new(stalling));
    assert_eq!(theirs.validity.trust, Trust::Valid, "{:?}", theirs.validity);
    assert_eq!(theirs.accounts.balanced, Some(true));
}

#[test]
fn arrivals_that_were_given_to_users_in_a_burst_are_begun_before_an_abort() {
    let mut load = rate(400.0, Duration::ZERO, ms(4_000));
    load.max_users = Some(1_000);
    let abort = Some((ms(1_500), RunPhase::Aborting));
    // All who come before 0.9 s are free from then on, and there to be given the burst.
    let freezes = freezing(ms(1_000), ms(1_000));
    let script = move |at| {
        let slow = ms(900).saturating_sub(at);
        if slow.is_zero() {
            freezes(at)
        } else {
            (slow, Ok(""))
        }
    };
    let ran = run_workers(load, vec![step("a")], 1, &Control::new(), abort, script);
    let all = ran.all();
    assert!(all.journey.cancelled > 300, "{:?}", all.journey);
}

/// A target that answers in 1 ms, but stalls once, from second 4 to 6, and answers all at its end.
fn stalling(at: Duration) -> (Duration, Result<&'static str, ErrorKind>) {
    let stall = if (ms(4_000)..ms(6_000)).contains(&at) {
        ms(6_000).saturating_sub(at)
    } else {
        Duration::ZERO
    };
    (stall + ms(1), Ok(""))
}

#[test]
fn a_stall_of_the_target_is_in_the_percentiles_as_arithmetic_has_it() {
    // 500 arrivals a second for ten seconds: 4,000 of them take 1 ms. The 1,000 of the stall take from 2 s
    // down to next to nothing, evenly; so the 4,500th of all takes 1 s, and the 4,950th 1.9 s. The number of users
    // there are, and how many workers, must not matter: who finds none waits, and the wait counts.
    for (most, workers) in [(None, 1), (None, 3), (Some(100), 1), (Some(50), 2)] {
        let mut load = rate(500.0, Duration::ZERO, ms(10_000));
        load.max_users = most;
        let ran = run_workers(
            load,
            vec![step("a")],
            workers,
            &Control::new(),
            None,
            stalling,
        );
        let all = ran.all();
        assert_eq!((all.journey.ok, all.journey.dropped), (5_000, 0));
        for times in [&all.steps[0].response, &all.journey.time] {
            for (told, exact) in [
                (times.quantile(0.5), ms(1)),
                (times.quantile(0.9), ms(1_000)),
                (times.quantile(0.99), ms(1_900)),
                (times.max(), ms(2_000)),
            ] {
                let error = told.unwrap().as_secs_f64() / exact.as_secs_f64() - 1.0;
                assert!(
                    error.abs() < 0.03,
                    "{told:?} for {exact:?} with {most:?} users and {workers} workers"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_number_of_workers_does_the_work_of_one(
        stages in proptest::collection::vec((0.0_f64..60.0, 0.0_f64..60.0, 200_u64..2_000), 1..4),
        workers in 2_u32..9,
    ) {
        let stages: Vec<Stage> = stages
            .into_iter()
            .map(|(from, to, time)| Stage { from, to, duration: ms(time) })
            .collect();
        let load = || Load::new(Shape::RateStages { stages: stages.clone().into() });
        prop_assume!(Schedule::new(&load()).arrivals() > 0);
        let steps = || vec![step("a"), step("b")];
        let one = run(load(), steps(), quick);
        let many = run_workers(load(), steps(), workers, &Control::new(), None, quick);
        let sorted = |ran: &Ran| {
            let mut seen = ran.seen.clone();
            seen.sort();
            seen
        };
        prop_assert_eq!(sorted(&many), sorted(&one));
        prop_assert_eq!(many.done.planned, one.done.planned);
        prop_assert_eq!(many.all(), one.all());
    }

    #[test]
    fn the_accounts_balance_whenever_a_run_is_stopped_or_aborted(
        per_second in 1.0_f64..400.0,
        most in 1_u32..40,
        answer in 0_u64..150,
        at in 0_u64..2_200,
        phase in prop_oneof![Just(RunPhase::Stopping), Just(RunPhase::Aborting)],
        workers in 1_u32..4,
    ) {
        let mut load = rate(per_second, Duration::ZERO, ms(2_000));
        load.max_users = Some(most);
        let stop = Some((ms(at), phase));
        let answers = move |_| (ms(answer), Ok(""));
        let ran = run_workers(load, vec![step("a")], workers, &Control::new(), stop, answers);
        ran.all();
    }

    #[test]
    fn any_number_of_workers_does_a_fixed_number_of_iterations(
        count in 1_u64..200,
        users in 1_u32..12,
        workers in 1_u32..9,
    ) {
        let load = Load::iterations(count, users);
        let workers = workers.min(users);
        let ran = run_workers(load, vec![step("a")], workers, &Control::new(), None, quick);
        prop_assert_eq!(ran.all().journey.ok, count);
        prop_assert_eq!(ran.done.planned, count);
    }
}
