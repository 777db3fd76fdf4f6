//! Many users at once.

use super::*;

#[test]
fn users_of_a_closed_load_begin_one_after_another_and_none_of_them_late() {
    let ran = run_workers(
        users(1_032, ms(0), ms(10_000)),
        vec![step("a")],
        2,
        &Control::new(),
        None,
        |_| (ms(60_000), Ok("")),
    );
    let mut begun = ran.seen.clone();
    begun.sort_unstable();
    assert_eq!(begun.len(), 1_032);
    for (i, begun) in begun.iter().enumerate() {
        // The timer of the runtime ticks in milliseconds.
        let due = Duration::from_micros(500) * i.saturating_sub(32) as u32;
        assert!(
            *begun + ms(2) >= due && *begun <= due + ms(3),
            "{i}: {begun:?}, not {due:?}"
        );
    }
    let late = ran.all().journey.lateness.max();
    assert!(late <= Some(ms(1)), "{late:?}");
}

#[test]
fn users_begin_as_soon_as_those_before_them_are_answered() {
    let rest = ms(60_000);
    let mut thinking = step("a");
    thinking.think = Some(Think::Uniform {
        min: rest,
        max: rest,
    });
    for load in [
        users(3_200, ms(0), ms(10_000)),
        Load::iterations(3_200, 3_200),
    ] {
        let ran = run(load, vec![thinking.clone()], |_| (ms(2), Ok("")));
        // In the two milliseconds of an answer 32 begin at once, and four more, one each half a millisecond.
        assert_eq!(ran.seen.len(), 3_200);
        let last = ran.seen.iter().max().unwrap();
        assert!((ms(170)..=ms(200)).contains(last), "{last:?}");
    }
}

#[test]
fn no_user_begins_again_before_all_of_them_are_in() {
    for load in [users(3_200, ms(0), ms(210)), Load::iterations(6_400, 3_200)] {
        let ran = run(load, vec![step("a")], |_| (ms(2), Ok("")));
        let mut seen = ran.seen.clone();
        seen.sort_unstable();
        assert!(
            (ms(170)..=ms(200)).contains(&seen[3_199]),
            "{:?}",
            seen[3_199]
        );
        assert!(seen.len() >= 6_400);
        let journeys = ran.all().journey;
        let late = journeys.lateness.max();
        assert!(late <= Some(ms(1)), "{late:?}");
    }
}

#[test]
fn a_ramp_that_is_slow_enough_stays_as_it_is() {
    let ran = run(users(100, ms(1_000), ms(2_000)), vec![step("a")], |_| {
        (ms(60_000), Ok(""))
    });
    let expected: Vec<_> = (0..100).map(|user| ms(10) * user).collect();
    assert_eq!(ran.seen, expected);
}

#[test]
fn a_fixed_number_of_iterations_is_begun_by_users_one_after_another() {
    let ran = run(Load::iterations(200, 116), vec![step("a")], |_| {
        (ms(10), Ok(""))
    });
    assert_eq!(ran.all().journey.ok, 200);
    let together = |time| ran.seen.iter().filter(|begun| **begun == time).count();
    assert_eq!(together(ms(0)), 32);
    assert!((1..10).all(|at| together(ms(at)) <= 2), "{:?}", ran.seen);
}
