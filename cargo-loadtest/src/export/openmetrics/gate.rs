//! The families of what keeps a run from passing, and of what changed against the baseline.

use super::Scenario;
use super::page::{Page, Sums};
use crate::console::clean;
use crate::export::labels::unique_names;
use loadtest_model::comparison::{Change, Compared, Outcome};

/// Counts the reasons of each kind.
pub(super) fn of_reasons(page: &mut Page, cards: &[Scenario<'_>]) {
    let name = "loadtest_reasons";
    page.family(
        name,
        "gauge",
        "Reasons why the scenario did not pass, by kind.",
    );
    for Scenario { card, identity, .. } in cards {
        let mut sums = Sums::default();
        for reason in &card.reasons {
            sums.add(vec![reason.kind.name().to_owned()], 1);
        }
        for (kind, count) in sums.0 {
            let labels = [("scenario", *identity), ("kind", kind[0].as_str())];
            page.sample(name, &labels, count as f64);
        }
    }
}

/// Tells for each scenario if it reached the required grade.
pub(super) fn of_grades(page: &mut Page, cards: &[Scenario<'_>]) {
    if cards
        .iter()
        .all(|scenario| scenario.card.min_grade.is_none())
    {
        return;
    }
    let name = "loadtest_min_grade_passed";
    page.family(
        name,
        "gauge",
        "1 where the grade is at least the one asked for, else 0.",
    );
    for Scenario { card, identity, .. } in cards {
        if let Some(least) = card.min_grade {
            let labels = [("scenario", *identity), ("min_grade", least.name())];
            let passed = card.grade.letter.is_some_and(|letter| letter >= least);
            page.sample(name, &labels, f64::from(u8::from(passed)));
        }
    }
}

/// Writes the changes against the baseline; the step is empty for the journey.
pub(super) fn of_comparisons(page: &mut Page, cards: &[Scenario<'_>]) {
    if cards
        .iter()
        .all(|scenario| scenario.card.comparison.is_none())
    {
        return;
    }
    let name = "loadtest_compared";
    page.family(
        name,
        "gauge",
        "1 where the run was compared with the baseline, else 0.",
    );
    for Scenario { card, identity, .. } in cards {
        if let Some(beside) = &card.comparison {
            let is = matches!(beside.outcome, Outcome::Compared(_));
            let labels = [("scenario", *identity), ("baseline", &beside.baseline)];
            page.sample(name, &labels, f64::from(u8::from(is)));
        }
    }
    for (name, help, value) in [
        (
            "loadtest_regressed",
            "1 where the figure is worse than that of the baseline, beyond margin and chance, else 0.",
            (|figure| f64::from(u8::from(figure.verdict == Change::Regressed)))
                as fn(&Compared) -> f64,
        ),
        (
            "loadtest_change_ratio",
            "The change: of times and rates a share of the baseline's, of errors the difference.",
            |figure| figure.change,
        ),
        (
            "loadtest_change_low_ratio",
            "Where the change begins to lie with a confidence of 90 %.",
            |figure| figure.interval.0,
        ),
        ("loadtest_change_high_ratio", "Where it ends.", |figure| {
            figure.interval.1
        }),
        (
            "loadtest_change_detectable_ratio",
            "The smallest worsening that these runs would have shown nine times of ten.",
            |figure| figure.detectable,
        ),
    ] {
        page.family(name, "gauge", help);
        for scenario in cards {
            of_figures(page, name, scenario, value);
        }
    }
}

fn of_figures(page: &mut Page, name: &str, scenario: &Scenario<'_>, value: fn(&Compared) -> f64) {
    let Some(beside) = &scenario.card.comparison else {
        return;
    };
    let Outcome::Compared(comparison) = &beside.outcome else {
        return;
    };
    let names = comparison.subjects.iter().map(|subject| {
        let step = subject.step.as_deref();
        step.map(clean).unwrap_or_default()
    });
    for (subject, step) in comparison.subjects.iter().zip(unique_names(names)) {
        for figure in &subject.figures {
            let labels = [
                ("scenario", scenario.identity),
                ("baseline", &*beside.baseline),
                ("step", &*step),
                ("figure", figure.figure.name()),
            ];
            page.figure(name, &labels, Some(value(figure)));
        }
    }
}
