//! What the card says of whole records.

use super::sample::{executed, record};
use super::*;
use crate::chain::{Cause as Unmet, RootCause};
use crate::definition::{Bound, Comparison, Load, Metric, Threshold};
use crate::metrics::{Cell, DependencyTally, ErrorTally, Health, Panicked};
use crate::plan::ScopedThreshold;
use crate::transport::ErrorKind;
use proptest::prelude::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn error(kind: ErrorKind, count: u64) -> ErrorTally {
    ErrorTally {
        kind,
        status: None,
        count,
        example: "as an example".to_owned(),
        sample: None,
    }
}

/// `count` of the executions of a step fail instead.
fn fail(record: &mut ScenarioRecord, step: usize, kind: ErrorKind, count: u64) {
    let tally = &mut record.windows.steady;
    let step = &mut tally.steps[step];
    step.ok -= count;
    step.satisfied -= count;
    step.failed += count;
    step.errors.push(error(kind, count));
    tally.journey.ok -= count;
    tally.journey.failed += count;
}

/// `count` of the executions of a step are skipped instead, since `root` failed.
fn skip(record: &mut ScenarioRecord, step: usize, root: usize, count: u64) {
    let tally = &mut record.windows.steady;
    let counts = &mut tally.steps[step];
    counts.executed -= count;
    counts.ok -= count;
    counts.satisfied -= count;
    counts.skipped += count;
    tally.dependencies.push(DependencyTally {
        step,
        variable: Some("login.response.token".to_owned()),
        upstream: root,
        cause: Unmet {
            root: RootCause::Failed,
            step: root,
        },
        count,
        example: "`login` failed: 503".to_owned(),
    });
}

/// Why the run does not pass.
fn words(card: &Card) -> Vec<&str> {
    card.reasons.iter().map(|reason| &*reason.words).collect()
}

fn require(record: &mut ScenarioRecord, step: Option<usize>, metric: Metric, bound: Bound) {
    record.plan.thresholds.push(ScopedThreshold {
        step,
        threshold: Threshold::new(metric, Comparison::Less, bound),
        implied: false,
    });
}

#[test]
fn a_clean_run_passes_with_the_best_grade() {
    let card = Card::of(&record(&["login", "browse"]));
    assert_eq!((card.verdict, card.reasons.len()), (Verdict::Passed, 0));
    assert_eq!(card.grade.label(), "A+");
    assert_eq!(card.losses, []);
    assert_eq!(card.validity.trust, Trust::Valid);
    assert_eq!(card.accounts.balanced, Some(true));
    assert_eq!(card.headline.target_per_second, Some(100.0));
    assert_eq!(card.headline.achieved_per_second, Some(100.0));
    assert_eq!(card.headline.time.p50, Some(ms(20)));
}

#[test]
fn a_single_request_is_told_by_its_response_time() {
    let mut record = record(&["ping"]);
    record.windows.steady.steps[0] = executed(1_000, ms(7));
    let card = Card::of(&record);
    assert!(card.headline.single_request);
    assert_eq!(card.headline.time.p99, Some(ms(7)));
    assert_eq!(card.statuses[&200], 1_000);
}

#[test]
fn every_lost_point_is_explained() {
    let mut record = record(&["login", "browse", "order"]);
    fail(&mut record, 0, ErrorKind::Status, 100);
    skip(&mut record, 1, 0, 100);
    let slow = &mut record.windows.steady.steps[2];
    slow.satisfied = 600;
    slow.tolerating = 300;
    slow.response = crate::metrics::Histogram::default();
    slow.response.record_n(ms(10), 600);
    slow.response.record_n(ms(900), 300);
    slow.response.record_n(ms(3_000), 100);
    slow.service = slow.response.clone();
    let card = Card::of(&record);
    for row in &card.steps {
        let lost: f64 = row.losses.iter().map(|loss| loss.points).sum();
        let grade = row.grade.unwrap();
        assert!((lost - (1.0 - grade.score)).abs() < 1e-9, "{row:?}");
    }
    let lost: f64 = card.losses.iter().map(|loss| loss.points).sum();
    assert!((lost - (1.0 - card.grade.score.unwrap())).abs() < 1e-9);
    let words: Vec<&str> = card.losses.iter().map(|loss| &*loss.words).collect();
    assert_eq!(
        words,
        [
            "D: 10.0 % errors on `login` spent 10 × its budget of 1 %",
            "`login` failing left `browse` without `login.response.token` in 100 iterations",
            "C: 40.0 % of the answers of `order` took over 500 ms, 10.0 % over 2 s",
        ]
    );
    assert_eq!(card.steps[1].grade.unwrap().letter, Letter::D);
    assert_eq!(
        card.losses[1].step, 0,
        "the culprit is named, not the victim"
    );
}

proptest! {
    #[test]
    fn whatever_happens_no_lost_point_is_left_unexplained(
        zones in prop::array::uniform5(0_u64..300),
        budget in prop_oneof![Just(0.0), Just(0.01), 0.0..0.2_f64],
        weights in prop::array::uniform2(0.0..5.0_f64),
    ) {
        let [satisfied, tolerating, slow, failed, skipped] = zones;
        let mut record = record(&["login", "browse"]);
        for (grading, weight) in record.plan.grading.iter_mut().zip(weights) {
            (grading.budget, grading.weight) = (budget, weight);
        }
        let step = &mut record.windows.steady.steps[1];
        let ok = satisfied + tolerating + slow;
        *step = executed(ok, ms(10));
        (step.satisfied, step.tolerating) = (satisfied, tolerating);
        step.response = crate::metrics::Histogram::default();
        step.response.record_n(ms(10), satisfied);
        step.response.record_n(ms(900), tolerating);
        step.response.record_n(ms(3_000), slow);
        step.service = step.response.clone();
        (step.executed, step.failed, step.skipped) = (ok + failed, failed, skipped);
        step.errors = vec![error(ErrorKind::Status, failed)];
        skip(&mut record, 1, 0, 0);
        record.windows.steady.dependencies[0].count = skipped;
        let card = Card::of(&record);
        prop_assume!(!card.grade.withheld);
        let lost = |losses: &[Loss]| losses.iter().map(|loss| loss.points).sum::<f64>();
        for row in &card.steps {
            if let Some(grade) = &row.grade {
                prop_assert!((lost(&row.losses) - (1.0 - grade.score)).abs() < 1e-6, "{row:?}");
            }
        }
        if let Some(score) = card.grade.score {
            prop_assert!((lost(&card.losses) - (1.0 - score)).abs() < 1e-6, "{:?}", card.losses);
        }
        for loss in &card.losses {
            prop_assert!(loss.points >= 0.0 && !loss.words.is_empty(), "{loss:?}");
        }
    }
}

#[test]
fn a_run_whose_steps_have_no_weight_in_the_grade_measured_nothing() {
    let mut record = record(&["login", "browse"]);
    for grading in &mut record.plan.grading {
        grading.weight = 0.0;
    }
    let card = Card::of(&record);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Empty, 3)
    );
    assert_eq!(card.grade.label(), "NS");
    let reason = "no step that was executed has a weight in the grade";
    assert_eq!(words(&card), [reason]);
}

#[test]
fn a_step_that_was_only_ever_skipped_is_an_f_and_says_why() {
    let mut record = record(&["login", "browse"]);
    fail(&mut record, 0, ErrorKind::Status, 1_000);
    skip(&mut record, 1, 0, 1_000);
    let card = Card::of(&record);
    let grade = card.steps[1].grade.unwrap();
    assert_eq!((grade.score, grade.letter), (0.0, Letter::F));
    let words = &card.steps[1].losses[0].words;
    assert!(words.contains("without `login.response.token`"), "{words}");
}

#[test]
fn figures_of_a_closed_load_say_what_they_leave_out() {
    let mut record = record(&["ping"]);
    let says = |record: &ScenarioRecord| {
        let notes = Card::of(record).notes;
        notes.iter().any(|note| note.contains("closed loop"))
    };
    assert!(!says(&record));
    record.plan.load = Load::users(5, Duration::from_secs(10));
    assert!(says(&record));
}

#[test]
fn a_run_that_a_threshold_ended_fails_though_it_holds_at_last() {
    let mut record = record(&["login", "browse"]);
    require(&mut record, None, Metric::Errors, Bound::Ratio(0.05));
    record.ending = Ending::ThresholdBroken {
        threshold: 1,
        after_us: 32_000_000,
        reason: "errors of the journey: 7.1 %, and must be < 5 %".to_owned(),
    };
    let card = Card::of(&record);
    let reason = "given up after 32 s: errors of the journey: 7.1 %, and must be < 5 %";
    assert_eq!(words(&card), [reason]);
    assert!(card.thresholds.iter().all(|row| row.passed));
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Failed, 99)
    );
    assert!(card.grade.partial);
    // A record keeps it, beside the endings of old ones.
    let json = serde_json::to_string(&record.ending).unwrap();
    assert_eq!(
        serde_json::from_str::<Ending>(&json).unwrap(),
        record.ending
    );
    let old: Ending = serde_json::from_str(r#"{"how":"panicked"}"#).unwrap();
    assert_eq!(old, Ending::Panicked);
}

#[test]
fn points_lost_to_start_delay_are_named_so() {
    let mut record = record(&["ping"]);
    let step = &mut record.windows.steady.steps[0];
    step.satisfied = 900;
    step.tolerating = 100;
    step.response = crate::metrics::Histogram::default();
    step.response.record_n(ms(10), 900);
    step.response.record_n(ms(900), 100);
    let card = Card::of(&record);
    assert_eq!(card.losses.len(), 1);
    assert_eq!(card.losses[0].kind, LossKind::StartDelay);
}

#[test]
fn skips_of_steps_not_drawn_cost_nothing() {
    let mut record = record(&["login", "browse"]);
    let step = &mut record.windows.steady.steps[1];
    *step = executed(300, ms(10));
    step.skipped_not_drawn = 700;
    record.windows.steady.dependencies.push(DependencyTally {
        step: 1,
        variable: Some("login".to_owned()),
        upstream: 0,
        cause: Unmet {
            root: RootCause::NotDrawn,
            step: 0,
        },
        count: 700,
        example: String::new(),
    });
    let card = Card::of(&record);
    assert_eq!(card.grade.label(), "A+");
    assert_eq!(card.dependency_failures, []);
    assert_eq!(card.not_drawn[0].count, 700);
    assert_eq!(card.headline.dependency_failures, 0);
}

#[test]
fn a_broken_threshold_fails_and_says_by_how_much() {
    let mut record = record(&["login", "browse"]);
    require(&mut record, Some(1), Metric::P95, Bound::Time(ms(5)));
    let card = Card::of(&record);
    assert_eq!(card.verdict, Verdict::Failed);
    assert_eq!(
        words(&card),
        ["p95 of `browse`: 10.0 ms, and must be < 5 ms"]
    );
}

#[test]
fn a_threshold_without_samples_fails() {
    let mut record = record(&["login", "browse"]);
    record.windows.steady.steps[1] = StepTally::default();
    require(&mut record, Some(1), Metric::P95, Bound::Time(ms(5)));
    require(&mut record, None, Metric::Checks, Bound::Ratio(2.0));
    let card = Card::of(&record);
    assert_eq!(card.verdict, Verdict::Failed);
    assert_eq!(card.reasons.len(), 2);
    assert!(words(&card)[0].contains("no samples"), "{:?}", card.reasons);
    assert_eq!(card.grade.ungraded, ["browse"]);
}

#[test]
fn the_implied_threshold_counts_dropped_iterations_as_failed() {
    let mut record = record(&["login"]);
    record.windows.steady.journey.dropped = 250;
    record.planned += 250;
    let card = Card::of(&record);
    assert_eq!(card.headline.error_rate, Some(0.2));
    assert!(card.thresholds[0].implied);
    assert_eq!(card.verdict, Verdict::Failed);
    assert_eq!(card.validity.trust, Trust::Degraded);
    assert_eq!(
        card.headline.time_of.as_deref(),
        Some("of the 80 % that succeeded")
    );
}

#[test]
fn nothing_executed_is_empty_whatever_the_thresholds_say() {
    let mut record = record(&["login", "browse"]);
    record.windows = Windows::default();
    record.planned = 0;
    let card = Card::of(&record);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Empty, 3)
    );
    assert_eq!(words(&card), ["no iteration started"]);
    assert_eq!(card.grade.label(), "NS");
}

#[test]
fn an_early_end_is_interrupted_and_the_grade_partial() {
    for ending in [
        Ending::Interrupted,
        Ending::Aborted,
        Ending::Died {
            reason: "signal 9".to_owned(),
        },
    ] {
        let mut record = record(&["login"]);
        let died = matches!(ending, Ending::Died { .. });
        record.ending = ending;
        let card = Card::of(&record);
        assert_eq!(card.verdict, Verdict::Interrupted);
        assert!(card.grade.partial);
        assert_eq!(words(&card)[0].contains("signal 9"), died);
    }
}

#[test]
fn what_is_odd_about_answers_is_remarked_and_changes_nothing() {
    let mut odd = record(&["login", "buy"]);
    let steps = &mut odd.windows.steady.steps;
    (steps[0].ambiguous, steps[1].unsolicited) = (2, 1);
    odd.windows.ramp.steps = vec![StepTally {
        ambiguous: 1,
        ..StepTally::default()
    }];
    let card = Card::of(&odd);
    assert_eq!(
        card.remarks,
        [
            "3 answers in `login` had both a `content-length` and a `transfer-encoding` \
             (`http.ambiguous`): the latter holds, but what stands between may read them otherwise",
            "1 connection was given up in `buy` since more came over it than was asked for \
             (`http.unsolicited`): none of it was taken for an answer",
        ]
    );
    let usual = Card::of(&record(&["login", "buy"]));
    assert_eq!((card.verdict, card.grade), (usual.verdict, usual.grade));
    assert!(usual.remarks.is_empty());
}

#[test]
fn a_run_that_gave_itself_up_fails_and_says_where_the_panics_were() {
    let mut record = record(&["login"]);
    record.ending = Ending::Panicked;
    let place = |location: &str, count| Panicked {
        location: location.to_owned(),
        message: "no such thing".to_owned(),
        count,
    };
    record.panics = vec![place("load.rs:1:1", 3), place("load.rs:9:1", 40)];
    let card = Card::of(&record);
    assert_eq!((card.verdict, card.grade.partial), (Verdict::Failed, true));
    assert_eq!(
        words(&card)[0],
        "given up before its end: more than 5 % of the steps panicked, most at load.rs:9:1: no such thing"
    );
}

#[test]
fn a_blocked_request_anywhere_is_not_permitted() {
    let mut record = record(&["login"]);
    let mut warm_up = Tally::new(1);
    (warm_up.steps[0].executed, warm_up.steps[0].failed) = (1, 1);
    warm_up.steps[0].errors = vec![error(ErrorKind::GuardBlocked, 1)];
    record.windows.warm_up = warm_up;
    let card = Card::of(&record);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::NotPermitted, 103)
    );
}

#[test]
fn unbalanced_accounts_are_an_internal_error_and_withhold_the_grade() {
    let mut record = record(&["login"]);
    record.windows.steady.journey.cancelled = 1;
    let card = Card::of(&record);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Internal, 1)
    );
    assert_eq!(
        words(&card),
        [
            "internal error: the accounts do not balance: planned 1000 = started 1000 + dropped 0; \
             started 1000 = ok 1000 + failed 0 + cancelled 1"
        ]
    );
    assert_eq!(card.validity.trust, Trust::Invalid);
    assert_eq!(
        (card.grade.label(), card.grade.score),
        ("–".to_owned(), None)
    );
    assert!(card.steps[0].grade.is_none());
}

#[test]
fn a_failure_without_a_kind_is_an_internal_error() {
    let mut record = record(&["login", "browse"]);
    fail(&mut record, 1, ErrorKind::Status, 3);
    let balanced = Card::of(&record).accounts.balanced;
    assert_eq!(balanced, Some(true));
    record.windows.steady.steps[1].errors[0].count = 2;
    let card = Card::of(&record);
    assert_eq!(card.accounts.balanced, Some(false));
    assert_eq!(card.verdict, Verdict::Internal);
    assert_eq!(
        words(&card)[0],
        "internal error: the accounts do not balance: `browse`: executed 1000 = ok 997 + failed 3; \
         failed 3 = 2 with a kind"
    );
}

/// The validity of a run of so many seconds, of which some had this much trouble.
fn troubled(seconds: u32, troubled: u32, trouble: &Health) -> Validity {
    let mut record = record(&["login"]);
    record.cells.cells = (0..seconds)
        .map(|second| Cell {
            second,
            seconds: 1,
            health: if second < troubled {
                trouble.clone()
            } else {
                Health::default()
            },
            ..Cell::default()
        })
        .collect();
    Card::of(&record).validity
}

#[test]
fn more_than_a_hundredth_of_stalled_seconds_is_invalid() {
    let stall = Health {
        stalled_seconds: 1,
        longest_stall_us: 1_200_000,
        ..Health::default()
    };
    let with = |seconds, stalled| troubled(seconds, stalled, &stall).trust;
    assert_eq!((with(200, 2), with(200, 3)), (Trust::Valid, Trust::Invalid));
    assert_eq!((with(10, 0), with(10, 2)), (Trust::Valid, Trust::Invalid));
    // A single one is chance, but told.
    assert_eq!((with(10, 1), with(100, 1)), (Trust::Degraded, Trust::Valid));
    let cause = &troubled(10, 3, &stall).causes[0];
    assert_eq!(
        cause.what,
        "a worker thread stalled in 3 of 10 seconds: it did not come back for 100 ms or longer, up to 1.2 s"
    );
    assert!(cause.remedy.contains("must not block"));
    let kept = Health {
        kept_by: Some(0),
        ..stall
    };
    let cause = &troubled(10, 3, &kept).causes[0];
    assert!(
        cause
            .what
            .ends_with("up to 1.2 s; the code of `login` kept it"),
        "{cause:?}"
    );
}

#[test]
fn stalls_of_the_warm_up_are_discarded_with_it() {
    let mut record = record(&["login"]);
    record.plan.load.warm_up = Duration::from_secs(3);
    record.cells.cells = (0..6)
        .map(|second| Cell {
            second,
            seconds: 1,
            health: Health {
                stalled_seconds: u32::from(second < 3),
                throttled_us: if second < 3 { 7_000 } else { 0 },
                busiest_worker: if second < 3 { 1.0 } else { 0.1 },
                ..Health::default()
            },
            ..Cell::default()
        })
        .collect();
    let card = Card::of(&record);
    assert_eq!(card.validity.trust, Trust::Valid);
    assert_eq!(
        (card.generator.seconds, card.generator.stalled_seconds),
        (3, 0)
    );
}

#[test]
fn a_throttled_generator_is_degraded() {
    let throttled = Health {
        throttled_us: 206_000,
        ..Health::default()
    };
    let validity = troubled(60, 2, &throttled);
    assert_eq!(validity.trust, Trust::Degraded);
    assert_eq!(
        validity.causes[0].what,
        "the system throttled the generator for 412 ms in 60 seconds: its control group had used up its \
         quota of processor time"
    );
    assert!(validity.causes[0].remedy.contains("limit of the container"));
}

#[test]
fn time_that_the_host_gives_to_others_degrades_where_it_is_much() {
    let with = |stolen, seconds| {
        let stolen = Health {
            stolen,
            ..Health::default()
        };
        troubled(20, seconds, &stolen)
    };
    assert_eq!(with(0.09, 20).trust, Trust::Valid);
    assert_eq!(with(0.34, 1).trust, Trust::Valid);
    let validity = with(0.34, 2);
    assert_eq!(validity.trust, Trust::Degraded);
    assert!(
        validity.causes[0]
            .what
            .ends_with("in 2 of 20 seconds, up to 34 %"),
        "{validity:?}"
    );
}

#[test]
fn the_generator_is_told_in_a_line() {
    let mut record = record(&["login"]);
    assert_eq!(
        Card::of(&record).generator.words(),
        "busiest worker 0 %, no stall, not throttled"
    );
    record.windows.steady.journey.lateness.record_n(ms(2), 100);
    record.windows.steady.journey.waits.record(ms(40));
    record.cells.cells.push(Cell {
        second: 0,
        seconds: 4,
        health: Health {
            worker_cpu_us: 1,
            busiest_worker: 0.42,
            stalled_seconds: 1,
            longest_stall_us: 150_000,
            kept_by: None,
            throttled_us: 31_000,
            stolen: 0.2,
        },
        ..Cell::default()
    });
    assert_eq!(
        Card::of(&record).generator.words(),
        "p99 of start lateness 2.00 ms, busiest worker 42 %, stalled in 1 of 4 seconds, throttled for \
         31.0 ms, up to 20 % stolen by the host, 1 arrival waited"
    );
}

#[test]
fn lateness_is_invalid_only_where_it_matters_to_the_journey() {
    let with = |late: u64, journey: u64| {
        let mut record = record(&["login"]);
        let tally = &mut record.windows.steady.journey;
        tally.lateness.record_n(ms(late), 1_000);
        tally.time = crate::metrics::Histogram::default();
        tally.time.record_n(ms(journey), 1_000);
        Card::of(&record).validity
    };
    assert_eq!(with(1, 10).trust, Trust::Valid);
    assert_eq!(with(5, 10).trust, Trust::Degraded);
    assert_eq!(with(12, 1_000).trust, Trust::Degraded);
    assert_eq!(with(12, 100).trust, Trust::Invalid);
    assert!(
        with(12, 100)
            .causes
            .iter()
            .all(|cause| !cause.remedy.is_empty())
    );
}

#[test]
fn one_late_start_of_few_is_chance() {
    let with = |count: u64| {
        let mut record = record(&["login"]);
        let lateness = &mut record.windows.steady.journey.lateness;
        lateness.record_n(Duration::from_micros(90), 80 - count);
        lateness.record_n(ms(48), count);
        Card::of(&record).validity
    };
    assert_eq!(with(1).trust, Trust::Valid);
    let two = with(2);
    assert_eq!(two.trust, Trust::Invalid);
    assert_eq!(
        two.causes[0].what,
        "the generator fell behind: 2 of 80 iterations started more than 10 ms late, the latest by \
         48.0 ms, against a median journey of 10.0 ms"
    );
}

#[test]
fn a_blocked_worker_is_invalid_and_says_which_step() {
    let mut record = record(&["login"]);
    record.windows = Windows::default();
    record.ending = Ending::Stuck {
        reason: "`login` blocked a worker thread".to_owned(),
    };
    let card = Card::of(&record);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Invalid, 102)
    );
    assert_eq!(words(&card), ["`login` blocked a worker thread"]);
    assert_eq!(card.validity.trust, Trust::Invalid);
    let told = card.to_string();
    let times = told.matches("`login` blocked a worker thread").count();
    assert_eq!(times, 1, "{told}");
    assert!(card.validity.causes[0].remedy.contains("must not block"));
    assert_eq!(card.accounts.balanced, None);
}

#[test]
fn a_dead_target_degrades_and_leaves_the_verdict() {
    let mut record = record(&["login"]);
    record.target_death = Some("signal 11".to_owned());
    let card = Card::of(&record);
    assert_eq!(card.verdict, Verdict::Passed);
    assert_eq!(card.validity.trust, Trust::Degraded);
    assert_eq!(
        card.remarks,
        ["the target did not survive the run: signal 11"]
    );
}

#[test]
fn panics_are_named_where_they_kept_everything_from_running() {
    let mut record = record(&["login"]);
    let windows = &mut record.windows;
    windows.steady.steps.clear();
    windows.steady.journey = crate::metrics::JourneyTally {
        started: 1_000,
        failed: 1_000,
        ..Default::default()
    };
    record.panics.push(Panicked {
        location: "tests/load.rs:9:5".to_owned(),
        message: "no".to_owned(),
        count: 1_000,
    });
    let card = Card::of(&record);
    assert_eq!(card.verdict, Verdict::Empty);
    assert_eq!(
        words(&card),
        [
            "no step was executed, since the scenario panicked: 1\u{202f}000 panics, most at \
             tests/load.rs:9:5: no"
        ]
    );
}

#[test]
fn time_without_an_answer_is_not_blamed_on_connecting() {
    let mut record = record(&["ping"]);
    let step = &mut record.windows.steady.steps[0];
    *step = StepTally {
        executed: 10,
        failed: 10,
        requests: 10,
        ..StepTally::default()
    };
    step.service.record_n(ms(30_000), 10);
    step.phases.connect.record_n(ms(1), 10);
    step.errors = vec![error(ErrorKind::TimeoutHead, 10)];
    let why = |record: &ScenarioRecord| Card::of(record).bottleneck.unwrap().why;
    assert_eq!(
        why(&record),
        "> 99.9 % of its time is waiting for an answer that did not come in time: 10 of 10 executions \
         timed out."
    );
    record.windows.steady.steps[0]
        .phases
        .connect
        .record_n(ms(20_000), 10);
    assert!(why(&record).starts_with("67 % of its time is opening TCP connections"));
}

#[test]
fn the_time_of_requests_that_were_lost_and_sent_again_is_told_as_such() {
    let mut record = record(&["ping"]);
    let step = &mut record.windows.steady.steps[0];
    *step = StepTally {
        executed: 10,
        ok: 10,
        requests: 20,
        retries: 10,
        ..StepTally::default()
    };
    step.service.record_n(ms(210), 10);
    step.phases.first_byte.record_n(ms(10), 10);
    assert_eq!(
        Card::of(&record).bottleneck.unwrap().why,
        "95 % of its time is in requests that had no answer and were sent again."
    );
}

#[test]
fn a_threshold_on_the_journey_of_one_step_is_on_its_response_time() {
    let mut record = record(&["ping"]);
    require(&mut record, None, Metric::P99, Bound::Time(ms(11)));
    let journey = &mut record.windows.steady.journey;
    journey.time = crate::metrics::Histogram::default();
    journey.time.record_n(ms(12), 1_000);
    let card = Card::of(&record);
    let threshold = card.thresholds.last().unwrap();
    assert_eq!(
        (
            threshold.passed,
            threshold.actual_words.as_str(),
            threshold.step.as_deref()
        ),
        (true, "10.0 ms", Some("ping"))
    );
    assert_eq!(card.headline.time.p99, Some(ms(10)));
}

#[test]
fn an_excellent_grade_beside_a_failure_is_explained() {
    let mut record = record(&["login", "browse"]);
    require(&mut record, Some(1), Metric::P50, Bound::Time(ms(5)));
    assert_eq!(
        Card::of(&record).remarks,
        ["the grade is by T = 500 ms; the threshold `p50 < 5 ms` is stricter"]
    );
}

#[test]
fn a_step_that_ran_during_the_ramp_only_is_not_called_never_attempted() {
    let mut record = record(&["login", "token", "browse", "order"]);
    let windows = &mut record.windows;
    windows.ramp = Tally::new(4);
    windows.warm_up = Tally::new(4);
    windows.ramp.steps[0] = std::mem::take(&mut windows.steady.steps[0]);
    windows.warm_up.steps[1] = std::mem::take(&mut windows.steady.steps[1]);
    windows.steady.steps[3] = StepTally::default();
    let card = Card::of(&record);
    assert_eq!(card.grade.ungraded, ["login", "token", "order"]);
    assert_eq!(
        card.notes,
        [
            "Not graded, since attempted in the warm-up only: token. What happens there is \
             discarded.",
            "Not graded, since attempted during the ramp only: login. The accounts cover the ramp; \
             figures and grades do not.",
            "Not graded, since never attempted: order.",
        ]
    );
}

#[test]
fn without_a_request_there_is_no_rate_of_requests() {
    let mut record = record(&["ping"]);
    record.windows.steady.steps[0].requests = 0;
    let card = Card::of(&record);
    assert_eq!(card.headline.achieved_per_second, None);
    assert_eq!(card.steps[0].per_second, None);
    assert_eq!(card.steps[0].received_bytes_per_second, None);
}

#[test]
fn the_rate_of_requests_is_of_those_that_were_sent() {
    let mut record = record(&["ping"]);
    let step = &mut record.windows.steady.steps[0];
    // as many again fail for an invalid value before anything is sent, and some get no connection
    *step = executed(600, ms(10));
    step.failed_response.record_n(ms(1), 50);
    (step.executed, step.failed) = (1_000, 400);
    for scope in [None, Some(0)] {
        require(&mut record, scope, Metric::Rps, Bound::PerSecond(59.0));
    }
    let card = Card::of(&record);
    assert_eq!(card.steps[0].executed, 1_000);
    assert_eq!(card.steps[0].per_second, Some(60.0));
    assert_eq!(card.headline.achieved_per_second, Some(60.0));
    let rates = card
        .thresholds
        .iter()
        .filter(|row| row.metric == Metric::Rps);
    let rates: Vec<_> = rates.map(|row| row.actual).collect();
    assert_eq!(rates, [Some(60.0); 2]);
}

#[test]
fn own_errors_are_invalid_from_a_thousandth() {
    let with = |count| {
        let mut record = record(&["login"]);
        fail(&mut record, 0, ErrorKind::LocalFds, count);
        Card::of(&record).validity.trust
    };
    assert_eq!((with(1), with(2)), (Trust::Valid, Trust::Invalid));
}

#[test]
fn waits_and_busy_workers_degrade() {
    let mut record = record(&["login"]);
    record.windows.steady.journey.waits.record_n(ms(40), 3);
    for second in 0..10 {
        record.cells.cells.push(Cell {
            second,
            seconds: 1,
            health: Health {
                busiest_worker: if second < 6 { 0.97 } else { 0.2 },
                ..Health::default()
            },
            ..Cell::default()
        });
    }
    let validity = Card::of(&record).validity;
    assert_eq!(
        (validity.trust, validity.causes.len()),
        (Trust::Degraded, 2)
    );
    assert!(validity.causes[0].what.starts_with("3 arrivals waited"));
    assert!(validity.causes[1].what.contains("6 of 10 seconds"));
    record.plan.max_users = 1;
    let validity = Card::of(&record).validity;
    assert!(
        validity.causes[0]
            .what
            .starts_with("3 arrivals waited since the only virtual user was busy")
    );
}

#[test]
fn the_bottleneck_and_the_slow_tail_may_be_different_steps() {
    let mut record = record(&["login", "browse"]);
    record.windows.steady.steps[0] = executed(1_000, ms(30));
    let journey = &mut record.windows.steady.journey;
    for i in 0..100 {
        let tail = if i < 5 { 500 } else { 5 };
        journey.record_shares(ms(30 + tail), 2, [(0, ms(30)), (1, ms(tail))]);
    }
    let card = Card::of(&record);
    let bottleneck = card.bottleneck.unwrap();
    assert_eq!(
        (bottleneck.name.as_str(), bottleneck.share),
        ("login", 0.75)
    );
    assert!(
        bottleneck
            .why
            .starts_with("100 % of its time is waiting for the first byte")
    );
    let tail = card.tail.unwrap();
    assert_eq!((tail.name.as_str(), tail.journeys), ("browse", 5));
}

#[test]
fn weights_are_shown_as_configured_and_observed() {
    let mut record = record(&["login", "browse"]);
    record.definition.steps.to_mut()[1].weight = 0.5;
    let step = &mut record.windows.steady.steps[1];
    *step = executed(480, ms(10));
    step.cancelled = 1;
    step.skipped = 9;
    step.not_drawn = 510;
    let card = Card::of(&record);
    let [row] = &card.weights[..] else {
        panic!("one step has a weight")
    };
    assert_eq!(
        (row.observed, row.draws, row.plausible),
        (Some(0.49), 1_000, true)
    );
}

#[test]
fn the_report_takes_the_worst_card() {
    let (passed, mut failed) = (record(&["a"]), record(&["a"]));
    fail(&mut failed, 0, ErrorKind::Status, 500);
    let mut run = RunRecord {
        schema_version: crate::record::SCHEMA_VERSION,
        run_id: "r".to_owned(),
        tool_version: "0.1.0".to_owned(),
        started_at: "2026-11-05T10:00:00Z".to_owned(),
        environment: Environment::default(),
        scenarios: vec![passed, failed],
        not_run: Vec::new(),
        capacity: None,
    };
    assert_eq!(Report::grade(&run).exit_code(), 99);
    run.not_run.push(NotRun {
        scenario: "shop::load::pay".to_owned(),
        exit_code: 100,
        message: "setup failed".to_owned(),
        ..NotRun::default()
    });
    assert_eq!(Report::grade(&run).exit_code(), 100);
    run.scenarios.clear();
    assert_eq!(Report::grade(&run).exit_code(), 100);
    run.not_run.clear();
    assert_eq!(Report::grade(&run).exit_code(), 3);
}

#[test]
fn a_long_course_is_thinned() {
    let mut record = record(&["login"]);
    for second in 0..600 {
        record.cells.cells.push(Cell {
            second,
            seconds: 1,
            ok: 100,
            ..Cell::default()
        });
    }
    record.elapsed_us = 600_000_000;
    let course = Card::of(&record).course;
    assert_eq!((course.width, course.points.len()), (2, 300));
    assert!((course.points[7].finished_per_second - 100.0).abs() < 1e-9);
    assert_eq!(course.points[0].target_per_second, Some(100.0));
    assert_eq!(course.points[299].target_per_second, None);
}

#[test]
fn a_last_point_that_is_not_over_is_left_out() {
    let mut record = record(&["login"]);
    for second in 0..11 {
        record.cells.cells.push(Cell {
            second,
            seconds: 1,
            ok: 100,
            ..Cell::default()
        });
    }
    record.elapsed_us = 10_020_000;
    assert_eq!(Card::of(&record).course.points.len(), 10);
    record.elapsed_us = 11_000_000;
    assert_eq!(Card::of(&record).course.points.len(), 11);
    // users leave for four seconds
    record.elapsed_us = 7_000_000;
    assert_eq!(Card::of(&record).course.points.len(), 7);
}

#[test]
fn a_step_that_runs_last_is_graded_and_has_no_rate() {
    let mut record = record(&["browse", "log_out"]);
    record.definition.steps.to_mut()[1].last = true;
    let log_out = &mut record.windows.steady.steps[1];
    *log_out = executed(20, ms(10));
    log_out.received_bytes = 4_000;
    let card = Card::of(&record);
    let [browse, log_out] = &card.steps[..] else {
        panic!("two steps")
    };
    assert_eq!((browse.per_second, log_out.per_second), (Some(100.0), None));
    assert_eq!(log_out.received_bytes_per_second, None);
    assert_eq!((log_out.executed, log_out.requests), (20, 20));
    assert_eq!(log_out.grade.map(|grade| grade.attempts), Some(20));
    assert_eq!(card.headline.achieved_per_second, Some(100.0));
}

#[test]
fn dependency_failures_read_as_sentences() {
    let row = |variable: Option<&str>, upstream: &str, cause, root: &str| {
        DependencyFailure {
            step: "order".to_owned(),
            variable: variable.map(str::to_owned),
            upstream: upstream.to_owned(),
            cause,
            root_step: root.to_owned(),
            count: 1,
            elsewhere: 0,
            example: "out of stock".to_owned(),
        }
        .words()
    };
    assert_eq!(
        row(Some("buy"), "buy", RootCause::NotDrawn, "buy"),
        "`order` needed the response of `buy`, which was not drawn"
    );
    assert_eq!(
        row(Some("buy.response.id"), "buy", RootCause::Failed, "login"),
        "`order` needed `buy.response.id` of `buy`: `login` failed"
    );
    assert_eq!(
        row(None, "order", RootCause::Declined, "order"),
        "`order` declined: out of stock"
    );
}
