//! The families of conditions and reasons, and of changes against the baseline.

use super::LabelledCard;
use super::page::{Labels, MetricsText, Sample, add_up, flag_value};
use crate::export::labels::unique_names;
use loadtest_console::console::clean;
use loadtest_model::comparison::{Change, Compared, Comparison, ComparisonOutcome};

/// A family with a sample per compared figure: its name and the value.
type ChangeFamily = (&'static str, fn(&Compared) -> f64);

const CHANGES: [ChangeFamily; 5] = [
    ("regressed", |figure| {
        flag_value(figure.verdict == Change::Regressed)
    }),
    ("change_ratio", |figure| figure.change),
    ("change_low_ratio", |figure| figure.interval.0),
    ("change_high_ratio", |figure| figure.interval.1),
    ("change_detectable_ratio", |figure| figure.detectable),
];

pub(super) fn write_thresholds(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let samples = cards.iter().flat_map(|scenario| {
        let mut told: Vec<(Labels, bool)> = Vec::new();
        for row in &scenario.card.thresholds {
            let step = row.step.as_deref().unwrap_or_default();
            let labels = scenario.labels(&[("step", step), ("condition", &row.condition)]);
            match told.iter_mut().find(|(there, _)| *there == labels) {
                Some((_, passed)) => *passed &= row.passed,
                None => told.push((labels, row.passed)),
            }
        }
        told
    });
    text.family(
        "threshold_passed",
        samples.map(|(labels, passed)| (labels, Some(flag_value(passed)))),
    );
}

/// Writes the target's side and its limits.
pub(super) fn write_observed(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let rows = || {
        cards.iter().flat_map(|scenario| {
            let rows = &scenario.card.observed;
            let names = unique_names(rows.iter().map(|row| clean(&row.name)));
            rows.iter()
                .zip(names)
                .map(move |(row, name)| (scenario, row, name))
        })
    };
    let figures = rows().flat_map(|(scenario, row, name)| {
        let figures = [("last", row.last), ("max", row.max), ("mean", row.mean)];
        figures.map(|(figure, value)| {
            let labels = [("name", &*name), ("unit", &*row.unit), ("figure", figure)];
            (scenario.labels(&labels), value)
        })
    });
    text.optional_family("observed", figures.collect());
    let limits = rows().filter_map(|(scenario, row, name)| {
        let condition = row.limit.as_deref()?;
        let labels = scenario.labels(&[("name", &name), ("condition", condition)]);
        Some((labels, row.holds.map(flag_value)))
    });
    text.optional_family("observed_limit_passed", limits.collect());
}

/// Counts the reasons of each kind.
pub(super) fn write_reasons(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let samples = cards.iter().flat_map(|scenario| {
        let reasons = scenario.card.reasons.iter();
        add_up(reasons.map(|reason| (scenario.labels(&[("kind", reason.kind.name())]), 1)))
    });
    text.family("reasons", samples);
}

/// Tells for each scenario if it reached the required grade.
pub(super) fn write_grades(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let samples = cards.iter().filter_map(|scenario| {
        let least = scenario.card.min_grade?;
        let grade = scenario.card.grade.letter;
        let passed = grade.is_some_and(|letter| letter >= least);
        let labels = scenario.labels(&[("min_grade", least.name())]);
        Some((labels, Some(flag_value(passed))))
    });
    text.optional_family("min_grade_passed", samples.collect());
}

/// Writes the changes against the baseline; the step is empty for the journey.
pub(super) fn write_comparisons(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let compared: Vec<Sample> = cards
        .iter()
        .filter_map(|scenario| {
            let beside = scenario.card.comparison.as_ref()?;
            let is = matches!(beside.outcome, ComparisonOutcome::Compared(_));
            let labels = scenario.labels(&[("baseline", &beside.baseline)]);
            Some((labels, Some(flag_value(is))))
        })
        .collect();
    if compared.is_empty() {
        return;
    }
    text.family("compared", compared);
    for (name, value) in CHANGES {
        let figures = cards.iter().flat_map(list_figures);
        let samples = figures.map(|(labels, figure)| (labels, Some(value(figure))));
        text.family(name, samples);
    }
    let observed = cards.iter().flat_map(list_observed);
    text.optional_family("observed_baseline", observed.collect());
}

/// Lists the values that figures of the target's side have in the baseline.
fn list_observed(scenario: &LabelledCard<'_>) -> Vec<Sample> {
    let Some((baseline, comparison)) = find_comparison(scenario) else {
        return Vec::new();
    };
    let rows = &comparison.observed;
    let names = unique_names(rows.iter().map(|row| clean(&row.name)));
    let samples = rows.iter().zip(names).flat_map(|(row, name)| {
        row.figures().map(|(figure, base, _)| {
            let labels = scenario.labels(&[
                ("baseline", baseline),
                ("name", &name),
                ("unit", &row.unit),
                ("figure", figure),
            ]);
            (labels, base)
        })
    });
    samples.collect()
}

fn find_comparison<'a>(scenario: &LabelledCard<'a>) -> Option<(&'a str, &'a Comparison)> {
    let beside = scenario.card.comparison.as_ref()?;
    match &beside.outcome {
        ComparisonOutcome::Compared(comparison) => Some((&beside.baseline, comparison)),
        _ => None,
    }
}

fn list_figures<'a>(scenario: &LabelledCard<'a>) -> Vec<(Labels, &'a Compared)> {
    let Some((baseline, comparison)) = find_comparison(scenario) else {
        return Vec::new();
    };
    let names = comparison
        .subjects
        .iter()
        .map(|subject| subject.step.clone().unwrap_or_default());
    let mut figures = Vec::new();
    for (subject, step) in comparison.subjects.iter().zip(unique_names(names)) {
        figures.extend(subject.figures.iter().map(|figure| {
            let labels = scenario.labels(&[
                ("baseline", baseline),
                ("step", &step),
                ("figure", figure.figure.name()),
            ]);
            (labels, figure)
        }));
    }
    figures
}
