use super::*;
use crate::metrics::ErrorKind;
use proptest::prelude::*;

/// Something that happened, and a time that it took.
type Event = (u8, u8, u64);

/// A second of one worker in which all of it happened.
fn frame(events: &[Event]) -> Frame {
    let mut frame = Frame::default();
    for (window, what, us) in events {
        let windows = &mut frame.windows;
        let tally = [&mut windows.warm_up, &mut windows.ramp, &mut windows.steady]
            .into_iter()
            .nth(usize::from(*window))
            .unwrap();
        happen(tally, *what, *us);
        frame.health.merge(
            &Health {
                worker_cpu_us: *us,
                busiest_worker: *us as f64 / 1e7,
                stalled_seconds: u32::from(*what == 0),
                longest_stall_us: us / 2,
                kept_by: us.is_multiple_of(3).then_some((us % 5) as u32),
                throttled_us: us % 7,
                stolen: 0.0,
                memory_bytes: 0,
            },
            1,
        );
    }
    frame
}

fn happen(tally: &mut Tally, what: u8, us: u64) {
    let time = Duration::from_micros(us);
    tally.merge(&Tally::new(2));
    let step = &mut tally.steps[usize::from(what) % 2];
    let error = |kind| ErrorTally {
        kind,
        status: None,
        count: 1,
        example: "as an example".into(),
        sample: None,
        traced: None,
    };
    match what {
        0 => {
            (tally.journey.started, tally.journey.ok) =
                (tally.journey.started + 1, tally.journey.ok + 1);
            tally.journey.time.record(time);
            tally.journey.lateness.record(time);
            tally.journey.record_shares(time, 2, [(0, time), (1, time)]);
            tally.own.count("items", us);
            let sample = GroupSample {
                executed: true,
                failed: us.is_multiple_of(3),
                response: time,
            };
            tally.group(us as usize % 2).record(sample);
            tally.own.time("parsing", time);
            tally.own.gauge("queue", us as f64, time);
        }
        1 => {
            tally.journey.dropped += 1;
            tally.journey.waits.record(time);
            tally.journey.failed_time.record(time);
        }
        2 | 3 => {
            step.executed += 1;
            step.response.record(time);
            step.service.record(time);
            step.phases.first_byte.record(time);
            *step.statuses.entry(200 + us as u16 % 3).or_default() += 1;
            step.inner("GET /a").requests += 1;
        }
        4 | 5 => {
            step.failed += 1;
            step.failed_response.record(time);
            step.count_error(error(if us.is_multiple_of(2) {
                ErrorKind::Status
            } else {
                ErrorKind::TimeoutHead
            }));
            step.inner("GET /b").answered(500, time, || "500".into());
        }
        _ => tally.count_dependency(DependencyTally {
            step: 1,
            variable: us.is_multiple_of(2).then(|| "a.response".to_owned()),
            upstream: 0,
            cause: Cause {
                root: RootCause::Failed,
                step: 0,
            },
            count: 1,
            example: "as an example".into(),
        }),
    }
}

/// Lists of things that have no order of their own, in one order.
fn ordered(mut frame: Frame) -> Frame {
    let windows = &mut frame.windows;
    for tally in [&mut windows.warm_up, &mut windows.ramp, &mut windows.steady] {
        tally
            .dependencies
            .sort_by(|a, b| a.variable.cmp(&b.variable));
        for step in &mut tally.steps {
            step.errors.sort_by_key(|error| error.kind);
            step.inner.sort_by(|a, b| a.name.cmp(&b.name));
        }
    }
    frame
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec((0_u8..3, 0_u8..7, 1_u64..5_000_000), 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merging_frames_is_associative_and_commutative(a in events(), b in events(), c in events()) {
        let sum = |parts: &[&Frame]| {
            let mut sum = Frame::default();
            for part in parts {
                sum.merge(part);
            }
            sum
        };
        let [x, y, z] = [&a, &b, &c].map(|events| frame(events));
        let all = ordered(sum(&[&x, &y, &z]));
        prop_assert_eq!(&ordered(sum(&[&z, &x, &y])), &all);
        prop_assert_eq!(&ordered(sum(&[&y, &x, &z])), &all);
        prop_assert_eq!(&ordered(sum(&[&x, &sum(&[&y, &z])])), &all);
        // And it loses nothing: one worker that saw it all says the same.
        prop_assert_eq!(&ordered(frame(&[a, b, c].concat())), &all);
    }
}

#[test]
fn shares_of_journeys_of_about_one_length_add_up() {
    let mut journeys = JourneyTally::default();
    let ms = Duration::from_millis;
    journeys.record_shares(ms(100), 2, [(0, ms(60)), (1, ms(40))]);
    journeys.record_shares(ms(101), 2, [(0, ms(61)), (1, ms(40))]);
    journeys.record_shares(ms(900), 2, [(0, ms(10)), (1, ms(890))]);
    assert_eq!(journeys.shares.len(), 2);
    assert_eq!(journeys.shares[0].journeys, 2);
    assert_eq!(journeys.shares[0].steps_us, [121_000, 80_000]);
    assert!((94_000..=100_000).contains(&journeys.shares[0].at_least_us));
    let mut sum = JourneyTally::default();
    sum.merge(&journeys);
    sum.merge(&journeys);
    assert_eq!(sum.shares[1].steps_us, [20_000, 1_780_000]);
}

#[test]
fn errors_and_dependency_failures_of_one_kind_are_one_line() {
    let error = |kind, count| ErrorTally {
        kind,
        status: None,
        count,
        example: Redacted::assume(count.to_string()),
        sample: None,
        traced: None,
    };
    let mut step = StepTally::default();
    step.count_error(error(ErrorKind::TimeoutHead, 2));
    step.count_error(error(ErrorKind::ConnectRefused, 1));
    step.count_error(error(ErrorKind::TimeoutHead, 3));
    assert_eq!(step.errors.len(), 2);
    assert_eq!(
        (step.errors[0].count, &*step.errors[0].example),
        (5, "2"),
        "the first example stays"
    );
}
