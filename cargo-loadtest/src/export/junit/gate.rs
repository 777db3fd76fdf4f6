//! The cases of what must hold beyond the thresholds: the least grade, and nothing worse than the baseline.

use super::{NOT_DECIDED, named_case, plain_lines};
use crate::export::labels::JOURNEY;
use loadtest_console::console::clean;
use loadtest_model::card::{Card, ReasonKind};
use loadtest_model::comparison::{
    Change, Compared, Comparison, ComparisonOutcome, ObservedCompared, Skipped, Subject,
};
use loadtest_model::display;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus};

/// Returns true where reasons of this kind have a case of their own.
pub(super) fn has_case(card: &Card, kind: ReasonKind) -> bool {
    match kind {
        ReasonKind::Threshold | ReasonKind::Observed => true,
        ReasonKind::MinGrade => card.min_grade.is_some(),
        ReasonKind::Regression | ReasonKind::NotCompared => card.comparison.is_some(),
        _ => false,
    }
}

/// The least grade, where one was asked for.
pub(super) fn build_grade_case(card: &Card, identity: &str) -> Option<TestCase> {
    let least = card.min_grade?;
    let status = match card.grade.letter {
        Some(letter) if letter >= least => TestCaseStatus::success(),
        Some(_) => decided_status(card, ReasonKind::MinGrade, None),
        None => skipped_status("not decided: the run has no grade"),
    };
    let mut case = named_case(identity, &format!("grade: at least {least}"), status);
    case.set_system_out(clean(&format!("the grade is {}", card.grade.label())));
    Some(case)
}

/// Builds a case for each limit of the target's side.
pub(super) fn build_observed_cases(card: &Card, identity: &str) -> Vec<TestCase> {
    let limited = card.observed.iter().filter_map(|row| {
        let name = format!("observed: {} {}", row.name, row.limit.as_ref()?);
        let status = match &row.failure {
            None => TestCaseStatus::success(),
            Some(words) if card.reasons.iter().any(|reason| reason.words == *words) => {
                failed_status(ReasonKind::Observed, &[words])
            }
            Some(_) => skipped_status(NOT_DECIDED),
        };
        let mut case = named_case(identity, &name, status);
        let figure = |value: Option<f64>| {
            value.map_or_else(
                || display::NO_VALUE.to_owned(),
                |value| display::format_observed(value, &row.unit),
            )
        };
        case.set_system_out(clean(&format!(
            "mean {}, max {}, last {}",
            figure(row.mean),
            figure(row.max),
            figure(row.last)
        )));
        Some(case)
    });
    limited.collect()
}

/// Builds the cases of a comparison, each with its step; none without a comparison.
pub(super) fn build_comparison_cases<'a>(
    card: &'a Card,
    identity: &str,
) -> Vec<(TestCase, Option<&'a str>)> {
    let Some(beside) = &card.comparison else {
        return Vec::new();
    };
    let name = |of: &str| format!("{of}: against the baseline {}", beside.baseline);
    let whole = |status| vec![(named_case(identity, &name(JOURNEY), status), None)];
    match &beside.outcome {
        ComparisonOutcome::Compared(comparison) => comparison
            .subjects
            .iter()
            .map(|subject| {
                let step = subject.step.as_deref();
                let name = name(step.unwrap_or(JOURNEY));
                let mut case =
                    named_case(identity, &name, subject_status(card, comparison, subject));
                let mut lines = describe_figures(subject);
                if step.is_none() {
                    lines.extend(comparison.observed.iter().flat_map(describe_observed));
                }
                if !lines.is_empty() {
                    case.set_system_out(lines.join("\n"));
                }
                (case, step)
            })
            .collect(),
        ComparisonOutcome::Refused { .. } => {
            whole(decided_status(card, ReasonKind::NotCompared, None))
        }
        ComparisonOutcome::Absent => whole(skipped_status(
            "not compared: the baseline has no run of this scenario",
        )),
    }
}

fn subject_status(card: &Card, comparison: &Comparison, subject: &Subject) -> TestCaseStatus {
    let is = |verdict| move |figure: &Compared| figure.verdict == verdict;
    let figures = &subject.figures;
    // What only follows from something else that is worse is no finding of its own.
    let is_worse = comparison
        .regressions()
        .any(|(worse, _)| worse.step == subject.step);
    match (subject.skipped, subject.step.is_some()) {
        (Some(Skipped::Changed), true) => {
            skipped_status("not compared: its source differs from the baseline")
        }
        (Some(Skipped::Added), _) => skipped_status("not compared: the baseline does not have it"),
        (Some(Skipped::Removed), _) => skipped_status("not compared: only the baseline has it"),
        (Some(Skipped::Changed), false) => {
            skipped_status("not compared: its steps differ from the baseline")
        }
        (Some(Skipped::Idle), _) => {
            skipped_status("not compared: one of the runs did not execute it")
        }
        (None, _) if is_worse => {
            decided_status(card, ReasonKind::Regression, subject.step.as_deref())
        }
        (None, _) if figures.iter().all(is(Change::Inconclusive)) => {
            skipped_status("inconclusive: these runs are too short or too noisy to decide")
        }
        (None, _) => TestCaseStatus::success(),
    }
}

/// A line per figure.
fn describe_figures(subject: &Subject) -> Vec<String> {
    let lines = subject.figures.iter().map(|figure| {
        let words = figure.describe();
        format!("{}: {words}", figure.verdict)
    });
    lines.collect()
}

/// A line per figure of the target's side, which changes no verdict.
fn describe_observed(row: &ObservedCompared) -> [String; 2] {
    row.figures().map(|(figure, base, new)| {
        format!(
            "observed: {figure} of {} {} → {}, {}",
            display::quote_name(&clean(&row.name)),
            row.format_value(base),
            row.format_value(new),
            ObservedCompared::format_change(base, new)
        )
    })
}

/// Failed with the words of the card; skipped where what does not hold is no reason of its verdict.
fn decided_status(card: &Card, kind: ReasonKind, step: Option<&str>) -> TestCaseStatus {
    let reasons = card.reasons.iter();
    let reasons = reasons.filter(|reason| reason.kind == kind && reason.step.as_deref() == step);
    let words: Vec<&str> = reasons.map(|reason| &*reason.words).collect();
    if words.is_empty() {
        return skipped_status(NOT_DECIDED);
    }
    failed_status(kind, &words)
}

fn failed_status(kind: ReasonKind, words: &[&str]) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status
        .set_message(clean(&words.join("; ")))
        .set_type(kind.name())
        .set_description(plain_lines(&words.join("\n")));
    status
}

fn skipped_status(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(message);
    status
}
