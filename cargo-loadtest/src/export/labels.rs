//! Labels and units that every data format shares, so that a name or a figure is the same wherever it is read.

use loadtest_console::console::clean;
use loadtest_model::card::{Card, Report};
use loadtest_model::comparison::ComparisonOutcome;
use loadtest_model::display;
use std::collections::HashSet;
use std::time::Duration;

/// Replaces the verdict of a scenario that was selected and did not run.
pub(crate) const NOT_RUN: &str = "DID NOT RUN";
/// Replaces the name of a step where a figure belongs to the whole journey.
pub(crate) const JOURNEY: &str = "journey";

/// Numbers names that have occurred before.
pub(crate) fn unique_names(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut taken = HashSet::new();
    let unique = names.into_iter().map(|name| {
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let mut candidates = std::iter::once(name.clone()).chain(numbered);
        candidates
            .find(|name| taken.insert(name.clone()))
            .unwrap_or(name)
    });
    unique.collect()
}

/// Rounds a time to microseconds.
pub(crate) fn round_to_micros(time: Duration) -> u64 {
    ((time.as_nanos() + 500) / 1_000) as u64
}

/// Returns unique identities of the scenarios that ran, then of those that did not.
pub(super) fn label_scenarios(report: &Report) -> Vec<String> {
    let ran = report.cards.iter().map(|card| &card.identity);
    let not_run = report.not_run.iter().map(|scenario| &scenario.scenario);
    unique_names(ran.chain(not_run).map(|identity| clean(identity)))
}

/// Returns unique names of the steps.
pub(super) fn label_steps(card: &Card) -> Vec<String> {
    unique_names(card.steps.iter().map(|step| clean(&step.name)))
}

/// Returns the name of an outcome in JSON.
pub(crate) fn outcome_name(outcome: &ComparisonOutcome) -> &'static str {
    match outcome {
        ComparisonOutcome::Compared(_) => "compared",
        ComparisonOutcome::Refused { .. } => "refused",
        ComparisonOutcome::Absent => "absent",
    }
}

/// Describes the policy that a run was graded anew by, where it was: `apdex=300 ms, min_grade=A`.
pub(super) fn describe_regrading(card: &Card) -> Option<String> {
    let policy = card.regraded.as_ref()?;
    let parts = [
        policy
            .apdex
            .map(|time| format!("apdex={}", display::format_span(time))),
        policy
            .budget
            .map(|share| format!("budget={}", display::format_exact_percent(share))),
        policy
            .grade_weight
            .map(|weight| format!("grade_weight={weight}")),
        policy.min_grade.map(|least| format!("min_grade={least}")),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_is_told_apart_by_a_number() {
        let names = ["a", "b", "a", "a (2)", "a"].map(str::to_owned);
        assert_eq!(
            unique_names(names),
            ["a", "b", "a (2)", "a (2) (2)", "a (3)"]
        );
    }
}
