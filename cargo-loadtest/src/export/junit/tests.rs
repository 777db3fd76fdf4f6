use super::*;
use crate::export::sample;
use loadtest_model::card::{CapacityVerdict, Reason, ReasonKind, Verdict};
use loadtest_model::comparison::ComparisonOutcome;
use loadtest_model::exit_code::ExitCode;
use std::sync::LazyLock;

fn read(report: &Report) -> quick_junit::Report {
    quick_junit::Report::deserialize_from_str(&render(report)).unwrap()
}

fn find<'a>(report: &'a quick_junit::Report, name: &str) -> &'a TestCase {
    let mut cases = report
        .test_suites
        .iter()
        .flat_map(|suite| &suite.test_cases);
    cases
        .find(|case| case.name == *name)
        .unwrap_or_else(|| panic!("no `{name}` in {report:#?}"))
}

fn message(case: &TestCase) -> (Option<NonSuccessKind>, &str) {
    match &case.status {
        TestCaseStatus::Success { .. } => (None, "passed"),
        TestCaseStatus::NonSuccess { kind, message, .. } => {
            (Some(*kind), message.as_ref().unwrap())
        }
        TestCaseStatus::Skipped { message, .. } => (None, message.as_ref().unwrap()),
    }
}

#[test]
fn golden_reports() {
    for (name, report) in sample::golden()
        .into_iter()
        .chain([("huge", sample::huge())])
    {
        insta::assert_snapshot!(format!("junit_{name}"), render(&report));
    }
}

/// Every report; each with every of its thresholds broken in turn, and with verdicts that no sample has.
fn many() -> impl Iterator<Item = &'static (String, Report, quick_junit::Report)> {
    static MADE: LazyLock<Vec<(String, Report, quick_junit::Report)>> = LazyLock::new(|| {
        let made = make_many().into_iter();
        let with_suites = |(name, report)| {
            let junit = read(&report);
            (name, report, junit)
        };
        made.map(with_suites).collect()
    });
    MADE.iter()
}

fn reason(kind: ReasonKind, words: &str) -> Reason {
    Reason {
        kind,
        step: None,
        words: words.to_owned(),
    }
}

fn make_many() -> Vec<(String, Report)> {
    let mut many = Vec::new();
    for (name, report) in sample::all() {
        for (at, card) in report.cards.iter().enumerate() {
            for row in 0..card.thresholds.len() {
                let mut broken = report.clone();
                let card = &mut broken.cards[at];
                card.thresholds[row].passed = false;
                let reason = card.thresholds[row].reason();
                if matches!(card.verdict, Verdict::Passed | Verdict::Failed)
                    && card.reasons.iter().all(|known| known.words != reason)
                {
                    card.verdict = Verdict::Failed;
                    card.reasons
                        .push(self::reason(ReasonKind::Threshold, &reason));
                }
                many.push((
                    format!("{name} with threshold {row} of {at} broken"),
                    broken,
                ));
            }
        }
        for (verdict, kind, words) in [
            (
                Verdict::NotPermitted,
                ReasonKind::NotPermitted,
                "1 request of `login` not sent",
            ),
            (Verdict::Internal, ReasonKind::Internal, "internal error"),
            (
                Verdict::Failed,
                ReasonKind::GivenUp,
                "given up before its end",
            ),
        ] {
            let mut other = report.clone();
            if let Some(card) = other.cards.first_mut() {
                card.verdict = verdict;
                card.reasons.insert(0, reason(kind, words));
                many.push((format!("{name} which is {verdict}"), other));
            }
        }
        many.push((name.to_owned(), report));
    }
    for verdict in [
        CapacityVerdict::TooLow,
        CapacityVerdict::NotMet,
        CapacityVerdict::TargetGone,
        CapacityVerdict::Invalid,
        CapacityVerdict::Interrupted,
        CapacityVerdict::Broken {
            exit_code: ExitCode::SetupFailed,
        },
    ] {
        let mut search = sample::search("journey");
        search.capacity.as_mut().unwrap().verdict = verdict;
        many.push((format!("a search that is {verdict}"), search));
    }
    many
}

#[test]
fn all_is_green_exactly_where_the_exit_code_is_zero() {
    let mut codes = std::collections::BTreeSet::new();
    for (name, report, junit) in many() {
        let green = junit.failures + junit.errors == 0;
        assert_eq!(
            green,
            report.exit_code() == ExitCode::Passed,
            "{name}: {junit:#?}"
        );
        codes.insert(report.exit_code().number());
    }
    assert!(
        codes.is_superset(&[0, 1, 3, 99, 100, 102, 103, 105].into()),
        "{codes:?}"
    );
}

#[test]
fn a_suite_is_green_exactly_where_its_scenario_passed() {
    for (name, report, junit) in many() {
        if report.capacity.is_some() {
            continue;
        }
        assert_eq!(
            junit.test_suites.len(),
            (report.cards.len() + report.not_run.len()).max(1),
            "{name}"
        );
        for (suite, card) in junit.test_suites.iter().zip(&report.cards) {
            let passed = card.verdict == Verdict::Passed;
            assert_eq!(
                suite.failures + suite.errors == 0,
                passed,
                "{name}: {suite:#?}"
            );
        }
    }
}

#[test]
fn there_is_a_case_per_threshold_and_step_and_no_two_are_called_the_same() {
    for (name, report) in sample::all() {
        if report.capacity.is_some() {
            continue;
        }
        let junit = read(&report);
        for (suite, card) in junit.test_suites.iter().zip(&report.cards) {
            let compared = match card.comparison.as_ref().map(|beside| &beside.outcome) {
                Some(ComparisonOutcome::Compared(comparison)) => comparison.subjects.len(),
                Some(_) => 1,
                None => 0,
            };
            let graded = usize::from(card.min_grade.is_some());
            let observed = card.observed.iter().filter(|row| row.limit.is_some());
            let gates = card.thresholds.len() + observed.count() + graded + compared;
            assert_eq!(
                suite.test_cases.len(),
                1 + gates + card.steps.len(),
                "{name}"
            );
            let names: std::collections::HashSet<_> =
                suite.test_cases.iter().map(|case| &case.name).collect();
            assert_eq!(names.len(), suite.test_cases.len(), "{name}");
        }
        let names: std::collections::HashSet<_> =
            junit.test_suites.iter().map(|suite| &suite.name).collect();
        assert_eq!(names.len(), junit.test_suites.len(), "{name}");
    }
}

#[test]
fn a_broken_threshold_fails_with_the_words_of_the_card() {
    let report = sample::failed();
    let junit = read(&report);
    let row = &report.cards[0].thresholds[0];
    let case = find(
        &junit,
        &format!(
            "{}: {}",
            row.step.as_deref().unwrap_or("journey"),
            row.condition
        ),
    );
    let broken = report.cards[0]
        .thresholds
        .iter()
        .find(|row| !row.passed)
        .unwrap();
    assert_eq!(
        case.classname.as_ref().unwrap().as_str(),
        "shop::load::checkout_flow"
    );
    assert_eq!(case.extra["file"].as_str(), "tests/load.rs");
    assert_eq!(case.extra["line"].as_str(), "12");
    let name = format!(
        "{}: {}",
        broken.step.as_deref().unwrap_or("journey"),
        broken.condition
    );
    assert_eq!(
        message(find(&junit, &name)),
        (Some(NonSuccessKind::Failure), &*broken.reason())
    );
}

#[test]
fn a_step_passes_and_a_broken_threshold_on_errors_says_what_failed() {
    let junit = read(&sample::passed());
    let output = find(&junit, "create_order").system_out.as_ref().unwrap();
    let says = "status 500, first: 500 Internal";
    assert!(output.contains(says), "{output:?}");
    let report = sample::failed();
    let junit = read(&report);
    assert_eq!(message(find(&junit, "create_order")).1, "passed");
    let mut rows = report.cards[0].thresholds.iter();
    let is_broken = |row: &&ThresholdRow| !row.passed && row.metric == Metric::Errors;
    let broken = rows.find(is_broken).unwrap();
    assert_eq!(broken.step, None);
    let case = find(&junit, &format!("journey: {}", broken.condition));
    let TestCaseStatus::NonSuccess { description, .. } = &case.status else {
        panic!("{case:?}");
    };
    let words = description.as_ref().unwrap().as_str();
    assert!(
        words.contains("create_order: ") && words.contains(says),
        "{words}"
    );
}

#[test]
fn a_step_of_which_every_execution_failed_is_no_success() {
    let mut report = sample::passed();
    let mut end = |verdict, failed: bool| {
        let card = &mut report.cards[0];
        let step = &mut card.steps[2];
        (card.verdict, step.failed) = (verdict, step.executed - u64::from(!failed));
        let junit = read(&report);
        let case = find(&junit, "add_to_cart");
        assert!(case.system_out.is_some());
        (
            message(case).0,
            message(case).1.to_owned(),
            is_skipped(case),
        )
    };
    let all = || "every execution failed".to_owned();
    // Its run passed, so that all is to be green.
    assert_eq!(end(Verdict::Passed, true), (None, all(), true));
    let failure = Some(NonSuccessKind::Failure);
    assert_eq!(end(Verdict::Failed, true), (failure, all(), false));
    assert_eq!(
        end(Verdict::Failed, false),
        (None, "passed".to_owned(), false)
    );
}

#[test]
fn what_never_ran_is_skipped_with_the_reason() {
    let mut report = sample::passed();
    let step = &mut report.cards[0].steps[2];
    (step.executed, step.failed, step.not_drawn) = (0, 0, 7);
    assert_eq!(
        message(find(&read(&report), "add_to_cart")).1,
        "its weight left it out"
    );
    let junit = read(&sample::empty());
    assert_eq!(
        message(find(&junit, "login")).1,
        "never attempted in the measured part"
    );
    // A threshold that had nothing to be measured on is neither kept nor broken.
    let case = find(&junit, "journey: p95 < 1.5 s");
    assert!(
        matches!(case.status, TestCaseStatus::Skipped { .. }),
        "{case:?}"
    );
}

#[test]
fn a_verdict_that_is_no_threshold_is_an_error() {
    for (report, says) in [
        (sample::interrupted(), "stopped early"),
        (sample::empty(), "no iteration started"),
        (sample::stuck(), "did not return its thread"),
        (sample::nothing_run(), "`SHOP_TOKEN` is not set"),
    ] {
        let junit = read(&report);
        let (kind, message) = message(find(&junit, RUN));
        assert_eq!(kind, Some(NonSuccessKind::Error));
        assert!(message.contains(says), "{message}");
    }
    assert_eq!(message(find(&read(&sample::failed()), RUN)).1, "passed");
    // That it gave itself up is no condition either, but the gate has failed.
    let mut report = sample::failed();
    let words = "given up after 3 s: errors of the journey: 7.1 %, and must be < 5 %";
    report.cards[0]
        .reasons
        .insert(0, reason(ReasonKind::GivenUp, words));
    let given_up = (Some(NonSuccessKind::Failure), words);
    assert_eq!(message(find(&read(&report), RUN)), given_up);
}

fn is_skipped(case: &TestCase) -> bool {
    matches!(case.status, TestCaseStatus::Skipped { .. })
}

#[test]
fn a_regression_fails_where_it_is_and_what_cannot_be_told_is_skipped() {
    let report = sample::compared();
    let junit = read(&report);
    let case = |name: &str| find(&junit, &format!("{name}: against the baseline main")).clone();
    for (name, says) in [
        ("journey", "its steps differ from the baseline"),
        ("add_to_cart", "its source differs from the baseline"),
        ("get_order", "the baseline does not have it"),
        ("apply_voucher", "only the baseline has it"),
    ] {
        assert!(is_skipped(&case(name)), "{name}");
        assert_eq!(message(&case(name)).1, format!("not compared: {says}"));
    }
    assert_eq!(message(&case("login")).1, "passed");
    // Of what can be told nothing is worse.
    let list = case("list_products");
    assert_eq!(message(&list).1, "passed");
    let output = list.system_out.unwrap();
    assert!(output.contains("improved: p95") && output.contains("inconclusive: p99"));
    let order = case("create_order");
    let (kind, words) = message(&order);
    assert_eq!(kind, Some(NonSuccessKind::Failure));
    for says in [
        "p95 of `create_order` regressed",
        "; errors of `create_order`",
    ] {
        assert!(words.contains(says), "{words}");
    }
    let TestCaseStatus::NonSuccess { ty, .. } = &order.status else {
        panic!("{order:?}");
    };
    assert_eq!(ty.as_ref().unwrap().as_str(), "regression");
    assert_eq!(message(find(&junit, RUN)).1, "passed");
    let junit = read(&sample::kept());
    let unsure = find(&junit, "get_order: against the baseline main");
    assert!(is_skipped(unsure) && message(unsure).1.starts_with("inconclusive"));
    assert_eq!(junit.failures + junit.errors, 0);
}

#[test]
fn a_refused_comparison_fails_and_a_scenario_that_is_new_is_skipped() {
    let name = "journey: against the baseline main";
    let junit = read(&sample::refused());
    let (kind, words) = message(find(&junit, name));
    assert_eq!(kind, Some(NonSuccessKind::Failure));
    assert!(
        words.contains("measured 50.0 s") && words.contains("the loads differ"),
        "{words}"
    );
    let junit = read(&sample::absent());
    assert!(is_skipped(find(&junit, name)));
    assert_eq!(junit.failures + junit.errors, 0);
}

#[test]
fn the_least_grade_is_a_case() {
    let mut report = sample::graded_too_low();
    let grade = |report: &Report| {
        let junit = read(report);
        let (kind, words) = message(find(&junit, "grade: at least A"));
        (kind, words.to_owned())
    };
    let low = "the grade is B; A or better is required".to_owned();
    assert_eq!(grade(&report), (Some(NonSuccessKind::Failure), low));
    report.cards[0].reasons.clear();
    assert_eq!(grade(&report), (None, NOT_DECIDED.to_owned()));
    report.cards[0].grade.letter = report.cards[0].min_grade;
    assert_eq!(grade(&report), (None, "passed".to_owned()));
}

#[test]
fn a_case_is_where_its_step_stands() {
    let report = sample::regressed();
    let junit = read(&report);
    let line = |name: &str| find(&junit, name).extra["line"].as_str().to_owned();
    let order = report.cards[0].steps[3].line;
    assert!(order > 12, "{order}");
    for name in [
        "create_order",
        "create_order: p95 < 300 ms",
        "create_order: against the baseline main",
    ] {
        assert_eq!(line(name), order.to_string(), "{name}");
    }
    for name in [
        RUN,
        "journey: p95 < 1.5 s",
        "journey: against the baseline main",
    ] {
        assert_eq!(line(name), "12", "{name}");
    }
}

#[test]
fn a_suite_says_that_it_was_graded_anew() {
    let mut report = sample::graded_too_low();
    assert!(!render(&report).contains("regraded"));
    report.cards[0].regraded = Some(loadtest_model::plan::GradingDefaults {
        budget: Some(0.005),
        ..Default::default()
    });
    let xml = render(&report);
    assert!(
        xml.contains(r#"<property name="regraded" value="budget=0.5 %"/>"#),
        "{xml}"
    );
    let metrics = crate::export::openmetrics::render(&report);
    assert!(
        metrics.contains(r#"min_grade="A",regraded="budget=0.5 %"} 1"#),
        "{metrics}"
    );
}

#[test]
fn times_are_seconds_to_the_microsecond() {
    let report = sample::single();
    let junit = read(&report);
    let time = find(&junit, "ping").time.unwrap();
    assert!(time.as_micros() > 0 && time.as_millis() == 0, "{time:?}");
}
