//! Steps that are measured together, too.

use super::*;
use loadtest_model::definition::sample::grouped;
use std::sync::atomic::{AtomicUsize, Ordering};

fn iterations(count: u64) -> Load {
    Load::new(Shape::Iterations {
        count,
        users: 1,
        per_user: false,
    })
}

/// `a` and `b` are a group, and `c` needs `b`.
fn steps() -> Vec<StepDef> {
    let [a, b] = grouped("g", [step("a"), step("b")]);
    vec![a, b, step("c")]
}

/// Each request takes 10 ms, and those with these numbers fail.
fn failing(
    numbers: &'static [usize],
) -> impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static {
    let requests = AtomicUsize::new(0);
    move |_| {
        let fails = numbers.contains(&requests.fetch_add(1, Ordering::Relaxed));
        (
            ms(10),
            if fails {
                Err(ErrorKind::ConnectRefused)
            } else {
                Ok("")
            },
        )
    }
}

#[test]
fn the_time_of_a_group_is_that_of_its_steps_without_the_pauses() {
    let mut steps = steps();
    steps[0].think = Some(Think::Uniform {
        min: ms(500),
        max: ms(900),
    });
    let tally = run(iterations(4), steps, failing(&[])).all();
    let [group] = &tally.groups[..] else {
        panic!("{:?}", tally.groups);
    };
    assert_eq!((group.executed, group.failed), (4, 0));
    assert_eq!(group.response.count(), 4);
    assert_eq!(
        (group.response.mean(), group.response.max()),
        (Some(ms(20)), Some(ms(20)))
    );
}

#[test]
fn a_failed_step_and_a_skipped_one_fail_their_group_which_has_no_time_then() {
    // a b c, a b, a: what follows a failure is skipped
    let tally = run(iterations(3), steps(), failing(&[4, 5])).all();
    let group = &tally.groups[0];
    assert_eq!((group.executed, group.failed), (3, 2));
    assert_eq!(
        (group.response.count(), group.response.max()),
        (1, Some(ms(20)))
    );
    assert_eq!(tally.steps[1].skipped, 1);
}

#[test]
fn a_failure_after_a_group_is_none_of_it() {
    let tally = run(iterations(2), steps(), failing(&[2, 5])).all();
    let group = &tally.groups[0];
    assert_eq!(
        (group.executed, group.failed, tally.journey.failed),
        (2, 0, 2)
    );
}

#[test]
fn a_group_that_is_not_drawn_or_whose_steps_all_lack_a_value_did_not_run() {
    let mut branch = steps();
    branch[0].weight = 0.5;
    let tally = run(iterations(100), branch, failing(&[])).all();
    let (group, first) = (&tally.groups[0], &tally.steps[0]);
    assert!((20..80).contains(&first.executed), "{}", first.executed);
    assert_eq!((group.executed, group.failed), (first.executed, 0));

    let [b, c] = grouped("g", [step("b"), step("c")]);
    let tally = run(iterations(2), vec![step("a"), b, c], failing(&[0])).all();
    assert_eq!((tally.groups[0].executed, tally.groups[0].failed), (1, 0));
}

#[test]
fn a_group_of_steps_that_run_once_is_measured_over_the_whole_run() {
    let load = || users(1, ms(1_000), ms(3_000));
    let mut steps = steps();
    let ran = run(load(), steps.clone(), failing(&[]));
    assert!(ran.windows.ramp.groups[0].executed > 1);
    steps[0].once = true;
    steps[1].once = true;
    let ran = run(load(), steps, failing(&[]));
    assert!(ran.windows.ramp.groups.is_empty());
    assert_eq!(ran.windows.steady.groups[0].executed, 1);
}

#[test]
fn a_step_that_runs_last_has_no_part_in_its_group() {
    let mut steps = steps();
    steps.swap(1, 2);
    steps[2].last = true;
    let tally = run(iterations(3), steps, failing(&[6])).all();
    let group = &tally.groups[0];
    assert_eq!((group.executed, group.failed), (3, 0));
    assert_eq!(group.response.max(), Some(ms(10)));
    assert_eq!(tally.steps[2].failed, 1);
}
