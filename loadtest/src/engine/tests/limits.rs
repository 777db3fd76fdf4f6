//! Thresholds that end a run: when they are looked at, and what the run does then.

use super::*;
use loadtest_model::definition::{Bound, Comparator, Metric, Subject, Threshold};
use loadtest_model::metrics::{AbortThresholds, Broken};
use loadtest_model::plan::ScopedThreshold;

fn errors_below(share: f64, after: Duration) -> Threshold {
    Threshold {
        abort_after: Some(after),
        ..Threshold::new(Metric::Errors, Comparator::Less, Bound::Ratio(share))
    }
}

fn watch(plan: &mut Plan, step: Option<usize>, threshold: Threshold) {
    plan.thresholds.insert(
        0,
        ScopedThreshold {
            step,
            group: None,
            tagged: match threshold.subject {
                Subject::Tag(_) => vec![0, 1],
                _ => Vec::new(),
            },
            threshold,
            implied: false,
        },
    );
}

/// One worker whose frames are looked at as they come; when it was given up, and what came of it.
fn given_up(
    load: Load,
    limits: &[(Option<usize>, Threshold)],
    script: impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) + Send + Sync + 'static,
) -> (Option<Broken>, Tally, WorkerSummary) {
    let (scenario, mut plan) = planned(load, vec![step("a"), step("b")]);
    for (step, threshold) in limits {
        watch(&mut plan, *step, threshold.clone());
    }
    let limits = RefCell::new(AbortThresholds::new(&plan, 2));
    let (broken, windows) = (RefCell::new(None), RefCell::new(Windows::default()));
    let (control, own) = (Control::new(), Control::new());
    let done = block_on_paused_clock(async {
        let start = Instant::now() + ms(20);
        let script: Arc<Script> = Arc::new(script);
        let spec = worker_spec(scenario, &plan, move || Scripted {
            script: Arc::clone(&script),
            start,
            seen: Arc::default(),
        });
        let report = |frame: Frame| {
            windows.borrow_mut().merge(&frame.windows);
            let mut broken = broken.borrow_mut();
            if broken.is_none() {
                *broken = limits.borrow_mut().check_second(&frame);
                if broken.is_some() {
                    own.stop();
                }
            }
        };
        let orders = StopSignals::new(&control, &own);
        run_worker(spec, start, Pacer::with_runtime_timer(), orders, report).await
    });
    let mut all = Tally::default();
    for window in windows.borrow().all() {
        all.merge(window);
    }
    (broken.take(), all, done)
}

/// Answers within 5 ms until a time from the start, and refuses from then on.
fn well_until(end: Duration) -> impl Fn(Duration) -> (Duration, Result<&'static str, ErrorKind>) {
    move |at| {
        let answer = if at < end {
            Ok("")
        } else {
            Err(ErrorKind::ConnectRefused)
        };
        (ms(5), answer)
    }
}

#[test]
fn a_run_ends_with_the_second_in_which_a_limit_is_broken() {
    // Fifty a second; from 4 s on all fail: 50 of 250 after 5 s, 100 of 300 after 6 s.
    let load = rate(50.0, Duration::ZERO, ms(60_000));
    let limit = errors_below(0.25, Duration::ZERO);
    let (broken, all, done) = given_up(load, &[(None, limit)], well_until(ms(4_000)));
    let broken = broken.unwrap();
    assert_eq!((broken.threshold, broken.after), (0, ms(6_000)));
    assert!((broken.actual - 1.0 / 3.0).abs() < 1e-9, "{broken:?}");
    // What had begun by then could end: one is due with the end of the sixth second.
    let journey = &all.journey;
    assert_eq!(
        (journey.started, journey.ok, journey.failed),
        (301, 200, 101)
    );
    assert_eq!((journey.cancelled, journey.dropped), (0, 0));
    assert_eq!((done.planned, done.elapsed), (301, ms(6_005)));
    assert!(done.cut_short);
}

#[test]
fn a_run_whose_limits_hold_goes_to_its_end() {
    let load = rate(50.0, Duration::ZERO, ms(10_000));
    let limits = [
        (None, errors_below(0.25, Duration::ZERO)),
        (Some(1), errors_below(0.01, ms(1_000))),
    ];
    let (broken, all, done) = given_up(load, &limits, quick);
    assert_eq!((broken, all.journey.ok, done.cut_short), (None, 500, false));
}

#[test]
fn a_limit_that_ends_no_run_is_not_looked_at() {
    let load = rate(50.0, Duration::ZERO, ms(10_000));
    let limit = Threshold::new(Metric::Errors, Comparator::Less, Bound::Ratio(0.01));
    let (broken, all, _) = given_up(load, &[(None, limit)], well_until(Duration::ZERO));
    assert_eq!((broken, all.journey.failed), (None, 500));
}

#[test]
fn without_a_delay_a_hundred_samples_are_waited_for() {
    // 30 a second: 90 after three seconds, 120 after four.
    let load = rate(30.0, Duration::ZERO, ms(60_000));
    let limit = errors_below(0.5, Duration::ZERO);
    let (broken, ..) = given_up(load, &[(None, limit)], well_until(Duration::ZERO));
    assert_eq!(broken.unwrap().after, ms(4_000));
}

#[test]
fn a_limit_on_a_tag_waits_for_a_hundred_samples_of_all_its_steps() {
    // Thirty a second through two steps, of which the second needs the first: 120 after four seconds for one
    // step, and 120 after two for both.
    let load = || rate(30.0, Duration::ZERO, ms(60_000));
    let slower = |subject| Threshold {
        subject,
        abort_after: Some(Duration::ZERO),
        ..Threshold::new(Metric::P50, Comparator::Less, Bound::Time(ms(1)))
    };
    let (of_step, ..) = given_up(load(), &[(Some(0), slower(Subject::Whole))], quick);
    let tag = Subject::Tag("api".into());
    let (of_tag, ..) = given_up(load(), &[(None, slower(tag))], quick);
    assert_eq!(of_step.unwrap().after, ms(4_000));
    assert_eq!(of_tag.unwrap().after, ms(2_000));
}

#[test]
fn with_a_delay_that_alone_is_waited_for_from_the_steady_part_on() {
    // Two a second after a ramp of 5 s: ten journeys, after three seconds six of them.
    let load = rate(2.0, ms(5_000), ms(60_000));
    let limit = errors_below(0.5, ms(3_000));
    let refuses = well_until(Duration::ZERO);
    let (broken, ..) = given_up(load.clone(), &[(None, limit)], refuses);
    assert_eq!(broken.unwrap().after, ms(8_000));
    // What fails within the ramp ends nothing.
    let only_ramp = |at| {
        let answer = if at < ms(4_900) {
            Err(ErrorKind::ConnectRefused)
        } else {
            Ok("")
        };
        (ms(5), answer)
    };
    let limit = errors_below(0.01, ms(1_000));
    let (broken, all, _) = given_up(load, &[(None, limit)], only_ramp);
    assert_eq!(broken, None);
    assert!(all.journey.failed > 0);
}

#[test]
fn a_limit_of_a_step_is_of_that_step_alone() {
    // Every journey fails, and not in the step that is limited: it is skipped.
    let load = rate(50.0, Duration::ZERO, ms(10_000));
    let limits = [(Some(1), errors_below(0.01, Duration::ZERO))];
    let (broken, all, _) = given_up(load.clone(), &limits, well_until(Duration::ZERO));
    assert_eq!((broken, all.steps[1].skipped), (None, 500), "no samples");
    let limits = [
        (Some(1), errors_below(0.01, Duration::ZERO)),
        (Some(0), errors_below(0.01, Duration::ZERO)),
    ];
    let (broken, ..) = given_up(load, &limits, well_until(Duration::ZERO));
    // The last one that was put in is the first of the plan.
    let broken = broken.unwrap();
    assert_eq!((broken.threshold, broken.after), (0, ms(2_000)));
}

#[test]
fn what_can_never_be_well_again_waits_for_no_samples() {
    // One a second; the third takes too long.
    let load = rate(1.0, Duration::ZERO, ms(60_000));
    let slow = |at| {
        let time = if (ms(2_000)..ms(2_900)).contains(&at) {
            ms(400)
        } else {
            ms(5)
        };
        (time, Ok(""))
    };
    let longest = Threshold {
        abort_after: Some(Duration::ZERO),
        ..Threshold::new(Metric::MAX, Comparator::Less, Bound::Time(ms(300)))
    };
    let (broken, ..) = given_up(load, &[(Some(0), longest)], slow);
    let broken = broken.unwrap();
    assert_eq!((broken.after, broken.actual), (ms(3_000), 400_000.0));
}

#[test]
fn a_rate_is_of_the_time_so_far() {
    // Ten a second for 5 s, then hardly any answers.
    let load = users(1, Duration::ZERO, ms(60_000));
    let slows = |at| {
        let time = if at < ms(5_000) { ms(50) } else { ms(1_000) };
        (time, Ok(""))
    };
    let floor = Threshold {
        abort_after: Some(ms(2_000)),
        ..Threshold::new(Metric::Rps, Comparator::Greater, Bound::PerSecond(6.0))
    };
    let (broken, ..) = given_up(load, &[(None, floor)], slows);
    // 50 journeys within 5 s, then one in two seconds: 50 in 9 s are less than six a second.
    let broken = broken.unwrap();
    assert_eq!(broken.after, ms(9_000));
    assert!(broken.actual < 6.0 && broken.actual > 5.0, "{broken:?}");
}
