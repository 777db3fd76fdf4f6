//! The verdict and its reasons.

use super::*;
use crate::definition::{Letter, Subject};
use crate::exit_code::ExitCode;
use crate::metrics::{SlowJourney, TailShare, Tally};
use crate::plan::with_error_limit;

#[test]
fn a_run_that_a_threshold_ended_fails_though_it_holds_at_last() {
    let mut record = record(&["login", "browse"]);
    require(&mut record, None, Metric::Errors, Bound::Ratio(0.05));
    record.end.ending = EndReason::ThresholdBroken {
        threshold: 1,
        after_us: 32_000_000,
        reason: "errors of the journey: 7.1 %, and must be < 5 %".into(),
    };
    let card = Card::grade(&record, None);
    let reason = "given up after 32 s: errors of the journey: 7.1 %, and must be < 5 %";
    assert_eq!(words(&card), [reason]);
    assert!(card.thresholds.iter().all(|row| row.passed));
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Failed, ExitCode::GateFailed)
    );
    assert!(card.grade.partial);
    // A record keeps it, beside the endings of old ones.
    let json = serde_json::to_string(&record.end.ending).unwrap();
    assert_eq!(
        serde_json::from_str::<EndReason>(&json).unwrap(),
        record.end.ending
    );
    let old: EndReason = serde_json::from_str(r#"{"how":"panicked"}"#).unwrap();
    assert_eq!(old, EndReason::Panicked);
}

#[test]
fn a_broken_threshold_fails_and_says_by_how_much() {
    let mut record = record(&["login", "browse"]);
    require(&mut record, Some(1), Metric::P95, Bound::Time(ms(5)));
    let card = Card::grade(&record, None);
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
    let card = Card::grade(&record, None);
    assert_eq!(card.verdict, Verdict::Failed);
    assert_eq!(card.reasons.len(), 2);
    assert!(words(&card)[0].contains("no samples"), "{:?}", card.reasons);
    assert_eq!(card.grade.ungraded, ["browse"]);
}

#[test]
fn the_implied_threshold_counts_dropped_iterations_as_failed() {
    let mut record = record(&["login"]);
    record.windows.steady.journey.dropped = 250;
    record.end.planned += 250;
    let card = Card::grade(&record, None);
    assert_eq!(card.headline.error_rate, Some(0.2));
    assert!(card.thresholds[0].implied);
    assert_eq!(card.verdict, Verdict::Failed);
    assert_eq!(card.validity.trust, Trust::Degraded);
    assert_eq!(
        card.headline.good_time.as_deref(),
        Some("p99 of the 80.0 % that succeeded: 10.0 ms")
    );
}

/// A run in which the only step began in the ramp and sent 30 messages in the measured part.
fn session() -> ScenarioRecord {
    let mut record = record(&["talk"]);
    let windows = &mut record.windows;
    windows.ramp = std::mem::take(&mut windows.steady);
    windows.steady = Tally::new(1);
    for _ in 0..30 {
        windows.steady.steps[0].inner("say").completed(ms(10));
    }
    record
}

#[test]
fn a_session_that_began_in_the_ramp_is_judged_by_limits_on_its_rows() {
    let mut record = session();
    let card = Card::grade(&record, None);
    assert_eq!(card.verdict, Verdict::Empty);
    let empty = card
        .reasons
        .iter()
        .find(|reason| reason.kind == ReasonKind::Empty);
    assert_eq!(
        empty.map(|reason| &*reason.words),
        Some(
            "no step started in the measured part: `talk` started in the ramp or the warm-up and continued to the end of the \
             load, so that only its operations and events are counted, and there is no grade. Judge these by limits such as \
             `row(\"say\").p95 < 100ms`; or leave out the ramp (`ramp_up = 0s`) and the warm-up, or let the step end \
             earlier, so that others start"
        )
    );

    for (bound, verdict) in [(20, Verdict::Passed), (5, Verdict::Failed)] {
        let threshold = Threshold {
            subject: Subject::Row("say".into()),
            ..Threshold::new(Metric::P95, Comparator::Less, Bound::Time(ms(bound)))
        };
        let scoped = ScopedThreshold::new(&record.start.definition, Some(0), threshold);
        record.start.plan.thresholds = with_error_limit(vec![scoped]);
        let card = Card::grade(&record, None);
        assert_eq!((card.verdict, card.grade.score), (verdict, None));
        assert_eq!(
            card.notes.last().map(String::as_str),
            Some(
                "Not graded, because each of their executions started before the measured part: talk. Their work in it \
                 is counted in their rows. A step is graded if other executions start after it ended, or if the load has \
                 neither ramp nor warm-up."
            )
        );
    }
    // A grade that is asked for cannot be had.
    record.start.plan.min_grade = Some(Letter::B);
    assert_eq!(Card::grade(&record, None).verdict, Verdict::Empty);
}

/// A run of two users who each listen from the begin of the load until its end cuts them off.
fn endless() -> ScenarioRecord {
    let mut record = session();
    let windows = &mut record.windows;
    windows.ramp = Tally::default();
    (
        windows.steady.journey.started,
        windows.steady.journey.cancelled,
    ) = (2, 2);
    windows.steady.steps[0].cancelled = 2;
    record.end.planned = 2;
    record
}

#[test]
fn sessions_that_the_end_cuts_off_are_judged_by_limits_on_their_rows() {
    let mut record = endless();
    let card = Card::grade(&record, None);
    assert_eq!(card.verdict, Verdict::Empty);
    assert_eq!(
        words(&card),
        [
            "no execution of `talk` ended in the measured part: the end of the load cut off each, so only operations \
             and events are counted, and there is no grade. Judge these by limits such as `row(\"say\").p95 < 100ms`; \
             or let the step end earlier"
        ]
    );
    for (bound, verdict) in [(20, Verdict::Passed), (5, Verdict::Failed)] {
        let threshold = Threshold {
            subject: Subject::Row("say".into()),
            ..Threshold::new(Metric::P95, Comparator::Less, Bound::Time(ms(bound)))
        };
        let scoped = ScopedThreshold::new(&record.start.definition, Some(0), threshold);
        record.start.plan.thresholds = with_error_limit(vec![scoped]);
        let card = Card::grade(&record, None);
        assert_eq!((card.verdict, card.thresholds.len()), (verdict, 1));
        assert_eq!(
            card.notes.last().map(String::as_str),
            Some(
                "Not graded, because the end of the load cut off their executions: talk. Their work until then is \
                 counted in their rows. A step is graded if executions of it end before the load does."
            )
        );
    }
}

#[test]
fn sessions_in_which_nothing_came_measured_nothing() {
    let mut record = endless();
    record.windows.steady.steps[0].inner.clear();
    let card = Card::grade(&record, None);
    assert_eq!(
        words(&card),
        [
            "no step ended before the run did: 2 iterations cut off; run it longer, or let the steps end before the \
             load does"
        ]
    );
}

#[test]
fn the_implied_limit_asks_for_no_samples_where_the_end_cut_off_each_journey() {
    let mut record = record(&["connect", "listen"]);
    let journey = &mut record.windows.steady.journey;
    (journey.ok, journey.cancelled) = (0, 1_000);
    journey.time = Histogram::default();
    record.windows.steady.steps[1] = StepTally {
        cancelled: 1_000,
        ..StepTally::default()
    };
    let card = Card::grade(&record, None);
    assert_eq!((card.verdict, words(&card)), (Verdict::Passed, Vec::new()));
    assert_eq!(card.grade.label(), "A+");
    // A limit that was set does.
    require(&mut record, None, Metric::Errors, Bound::Ratio(0.01));
    assert_eq!(Card::grade(&record, None).verdict, Verdict::Failed);
}

#[test]
fn the_limit_that_is_advised_is_on_what_was_measured() {
    let mut record = session();
    let advice = |record: &ScenarioRecord| {
        let words = words(&Card::grade(record, None)).join("\n");
        let advice = words.split("limits such as `").nth(1).unwrap();
        advice.split('`').next().unwrap().to_owned()
    };
    let step = &mut record.windows.steady.steps[0];
    step.inner.clear();
    let stream = StreamSample {
        gaps: vec![ms(10)],
        units: 1,
        events: 1,
        is_continued: true,
        ..StreamSample::default()
    };
    (step.inner("feed").stream.get_or_insert_default()).record(&stream, true);
    (step.stream.get_or_insert_default()).record(&stream, true);
    assert_eq!(advice(&record), "gap.p95 < 100ms");
    require(
        &mut record,
        Some(0),
        "gap.p95".parse().unwrap(),
        Bound::Time(ms(20)),
    );
    assert_eq!(Card::grade(&record, None).verdict, Verdict::Passed);

    let mut record = session();
    let step = &mut record.windows.steady.steps[0];
    step.inner.clear();
    (step.inner("say")).unanswered(ErrorKind::WsClosed, Some(1006), "1006".into(), ms(1));
    assert_eq!(advice(&record), "row(\"say\").errors < 1%");
}

#[test]
fn sessions_of_the_ramp_that_fail_later_return_their_failures() {
    let mut record = session();
    let windows = &mut record.windows;
    let step = &mut windows.ramp.steps[0];
    (step.executed, step.ok, step.failed, step.satisfied) = (2, 0, 2, 0);
    step.errors = vec![error(ErrorKind::WsClosed, 2)];
    for _ in 0..2 {
        let row = windows.steady.steps[0].inner("say");
        row.unanswered(ErrorKind::WsClosed, Some(1006), "1006".into(), ms(1));
    }
    let card = Card::grade(&record, None);
    let notes = card.notes.join("\n");
    assert!(!notes.contains("did not return"), "{notes}");
    assert_eq!(
        words(&card)[0].split(". ").next(),
        Some(
            "no step started in the measured part: `talk` started in the ramp or the warm-up and failed 2 times, most by \
             `ws.closed`: as an example, so that only its operations and events are counted, and there is no grade"
        )
    );
}

#[test]
fn a_step_that_the_end_cut_off_each_time_is_not_said_to_be_never_attempted() {
    let mut record = record(&["login", "follow"]);
    record.windows.steady.steps[1] = StepTally {
        cancelled: 3,
        ..StepTally::default()
    };
    let note = |record: &ScenarioRecord| Card::grade(record, None).notes.pop();
    assert_eq!(
        note(&record).as_deref(),
        Some("Not graded, because the end of the run cut off each of their executions: follow.")
    );
    record.start.definition.steps.to_mut()[1].stream = Some(StreamDef::UNDECLARED);
    assert_eq!(
        note(&record).as_deref(),
        Some(
            "Not graded, because the end of the run cut off each of their executions: follow. To change that, let the \
             streams of `follow` end by `events = 100` or `lasts = 10s`, give them more time than the load has by \
             `grace = 2m`, or read them in an `async` step, where a stream ends with the load."
        )
    );
}

#[test]
fn ticks_that_were_overdue_at_the_end_are_remarked() {
    let mut record = record(&["talk"]);
    record.windows.ramp.steps.push(StepTally {
        unsent_ticks: 2,
        ..StepTally::default()
    });
    record.windows.steady.steps[0].unsent_ticks = 1;
    assert_eq!(
        Card::grade(&record, None).remarks,
        [
            "3 ticks of `vu.beat(..)` in `talk` were overdue when the load ended: the target was too slow for them, nothing \
          was sent for them, and they are in no figure"
        ]
    );
}

#[test]
fn nothing_executed_is_empty_whatever_the_thresholds_say() {
    let mut record = record(&["login", "browse"]);
    record.windows = Windows::default();
    record.end.planned = 0;
    let card = Card::grade(&record, None);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Empty, ExitCode::NothingFound)
    );
    assert_eq!(words(&card), ["no iteration started"]);
    assert_eq!(card.grade.label(), "NS");
}

#[test]
fn an_early_end_is_interrupted_and_the_grade_partial() {
    for ending in [
        EndReason::Interrupted,
        EndReason::Aborted,
        EndReason::Died {
            reason: "signal 9".into(),
        },
    ] {
        let mut record = record(&["login"]);
        let died = matches!(ending, EndReason::Died { .. });
        record.end.ending = ending;
        let card = Card::grade(&record, None);
        assert_eq!(card.verdict, Verdict::Interrupted);
        assert!(card.grade.partial);
        assert_eq!(words(&card)[0].contains("signal 9"), died);
    }
}

#[test]
fn a_run_that_gave_itself_up_fails_and_says_where_the_panics_were() {
    let mut record = record(&["login"]);
    record.end.ending = EndReason::Panicked;
    let place = |location: &str, count| Panicked {
        location: location.to_owned(),
        message: "no such thing".into(),
        count,
    };
    record.end.panics = vec![place("load.rs:1:1", 3), place("load.rs:9:1", 40)];
    let card = Card::grade(&record, None);
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
    let card = Card::grade(&record, None);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::NotPermitted, ExitCode::NotPermitted)
    );
}

#[test]
fn unbalanced_accounts_are_an_internal_error_and_withhold_the_grade() {
    let mut record = record(&["login"]);
    record.windows.steady.journey.cancelled = 1;
    let card = Card::grade(&record, None);
    assert_eq!(
        (card.verdict, card.verdict.exit_code()),
        (Verdict::Internal, ExitCode::Internal)
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
    let balanced = Card::grade(&record, None).accounts.balanced;
    assert_eq!(balanced, Some(true));
    record.windows.steady.steps[1].errors[0].count = 2;
    let card = Card::grade(&record, None);
    assert_eq!(card.accounts.balanced, Some(false));
    assert_eq!(card.verdict, Verdict::Internal);
    assert_eq!(
        words(&card)[0],
        "internal error: the accounts do not balance: `browse`: executed 1000 = ok 997 + failed 3; \
         failed 3 = 2 with a kind"
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
    record.end.panics.push(Panicked {
        location: "tests/load.rs:9:5".to_owned(),
        message: "no".into(),
        count: 1_000,
    });
    let card = Card::grade(&record, None);
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
fn a_step_that_left_itself_out_is_named_where_nothing_else_could_run() {
    let mut record = record(&["redis", "look"]);
    let mut times = Histogram::default();
    times.record(ms(10));
    let times = CompactHistogram::from_histogram(&times);
    record.cells.cells = (0..2)
        .map(|second| Cell {
            second,
            seconds: 1,
            ok: 100,
            time: times.clone(),
            ..Cell::default()
        })
        .collect();
    let journey = &mut record.windows.steady.journey;
    journey.slowest.add(SlowJourney::default());
    journey.shares.push(TailShare {
        journeys: 1_000,
        steps_us: vec![3, 0],
        ..TailShare::default()
    });
    for step in &mut record.windows.steady.steps {
        *step = executed(0, ms(10));
    }
    record.windows.steady.steps[0].left_out = 1_000;
    record.windows.steady.steps[1].skipped_not_drawn = 1_000;
    let cause = Unmet {
        root: RootCause::LeftOut,
        step: 0,
    };
    for (step, variable, example) in [
        (1, Some("redis".to_owned()), ""),
        (0, None, "`redis-server` is not installed"),
    ] {
        record.windows.steady.dependencies.push(DependencyTally {
            step,
            variable,
            upstream: 0,
            cause,
            count: 1_000,
            example: example.into(),
        });
    }
    let card = Card::grade(&record, None);
    assert_eq!(card.verdict, Verdict::Empty);
    assert_eq!(
        words(&card),
        ["no step was executed: `redis` left itself out: `redis-server` is not installed"]
    );
    // Journeys that did nothing have no figures, and are counted.
    let headline = &card.headline;
    assert_eq!((headline.ok, card.accounts.ok), (1_000, 1_000));
    assert_eq!(
        (
            headline.time.samples,
            headline.achieved_per_second,
            headline.error_rate
        ),
        (0, None, None)
    );
    assert!(card.thresholds.is_empty(), "{:?}", card.thresholds);
    assert!(card.slowest.is_empty() && card.spectrum.is_empty());
    assert!(card.tail.is_none());
    let course = &card.course.points;
    assert!(!course.is_empty());
    assert!((course.iter()).all(|point| point.p95.is_none() && point.finished_per_second == 0.0));

    // Once anything was executed, in whatever window, they have.
    record.windows.warm_up = Tally::new(2);
    record.windows.warm_up.steps[1] = executed(1, ms(10));
    let card = Card::grade(&record, None);
    assert_eq!(card.headline.time.samples, 1_000);
    assert_eq!(card.slowest.len(), 1);
    assert!(card.course.points[0].p95.is_some());
}

#[test]
fn a_threshold_on_the_journey_of_one_step_is_on_its_response_time() {
    let mut record = record(&["ping"]);
    require(&mut record, None, Metric::P99, Bound::Time(ms(11)));
    let journey = &mut record.windows.steady.journey;
    journey.time = Histogram::default();
    journey.time.record_n(ms(12), 1_000);
    let card = Card::grade(&record, None);
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
        telemetry: Vec::new(),
    };
    assert_eq!(Report::grade(&run, None).exit_code(), ExitCode::GateFailed);
    run.not_run.push(NotRun {
        scenario: "shop::load::pay".to_owned(),
        exit_code: ExitCode::SetupFailed,
        message: "setup failed".into(),
        ..NotRun::default()
    });
    assert_eq!(Report::grade(&run, None).exit_code(), ExitCode::SetupFailed);
    run.scenarios.clear();
    assert_eq!(Report::grade(&run, None).exit_code(), ExitCode::SetupFailed);
    run.not_run.clear();
    assert_eq!(
        Report::grade(&run, None).exit_code(),
        ExitCode::NothingFound
    );
}
