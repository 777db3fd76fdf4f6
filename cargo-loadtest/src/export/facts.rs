//! What all formats say of a card beyond its figures.

use crate::console::clean;
use crate::import;
use loadtest_model::capacity::Trial;
use loadtest_model::card::{Capacity, Card, DependencyFailure, Report, StepRow, view};
use loadtest_model::definition::Metric;
use loadtest_model::metrics::RootCause;
use serde::Serialize;
use std::collections::HashSet;
use std::time::Duration;

/// Names told apart: what has occurred before gets a number.
pub(super) fn unique(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut taken = HashSet::new();
    let told_apart = names.into_iter().map(|name| {
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let mut candidates = std::iter::once(name.clone()).chain(numbered);
        candidates
            .find(|name| taken.insert(name.clone()))
            .unwrap_or(name)
    });
    told_apart.collect()
}

/// A time as every export has it, so that a figure is the same wherever it is read.
pub(crate) fn micros(time: Duration) -> u64 {
    ((time.as_nanos() + 500) / 1_000) as u64
}

/// The identities of the scenarios that ran, cleaned and told apart; then of those that did not.
pub(super) fn identities(report: &Report) -> Vec<String> {
    let ran = report.cards.iter().map(|card| &card.identity);
    let not_run = report.not_run.iter().map(|scenario| &scenario.scenario);
    unique(ran.chain(not_run).map(|identity| clean(identity)))
}

/// The names of the steps, cleaned and told apart.
pub(super) fn step_names(card: &Card) -> Vec<String> {
    unique(card.steps.iter().map(|step| clean(&step.name)))
}

/// What stands in the place of a verdict for a scenario that was selected and did not run.
pub(crate) const NOT_RUN: &str = "DID NOT RUN";

/// The title of what the scenario's code counted and timed by itself.
pub(super) const OWN_METRICS: &str = "Metrics of the scenario";

/// The figures of a trial behind its rate, and whether each breaks the SLO: achieved, p95, errors, the
/// `further` conditions, window.
pub(super) fn trial_cells(
    capacity: &Capacity,
    trial: &Trial,
    further: &[(usize, String)],
) -> Vec<(String, bool)> {
    let none = || view::NONE.to_owned();
    let breaks = |metric: Metric| {
        let slo = capacity.goal.slo.iter().enumerate();
        let mut of_journey =
            slo.filter(|(_, scoped)| scoped.step.is_none() && scoped.threshold.metric == metric);
        of_journey.any(|(at, _)| trial.breaks(at))
    };
    let achieved = trial.achieved_per_second.map_or_else(none, view::rate);
    let p95 = trial.p95.map_or_else(none, view::duration);
    let errors = trial.error_rate.map_or_else(none, view::percent);
    let mut cells = vec![
        (achieved, false),
        (p95, breaks(Metric::P95)),
        (errors, breaks(Metric::Errors)),
    ];
    cells.extend(further.iter().map(|(at, _)| {
        let words = trial.slo.get(*at).map(|measured| measured.words.clone());
        (words.unwrap_or_else(none), trial.breaks(*at))
    }));
    cells.push((view::span(trial.window), false));
    cells
}

/// How to run an iteration of the card again, by itself.
pub(super) fn run_again(card: &Card, number: &str) -> String {
    let (scenario, seed) = (&card.identity, card.setting.seed);
    if import::is_replayed(scenario) {
        return "its requests are the same in every iteration: `cargo loadtest debug -- curl ..` shows them"
            .to_owned();
    }
    let mut words = format!("cargo loadtest debug {scenario} --seed {seed} --iteration {number}");
    for flag in &card.setting.flags {
        words.push(' ');
        words.push_str(flag);
    }
    words
}

/// What was run, and where, as label and value.
pub(super) fn facts(report: &Report, card: &Card) -> Vec<(&'static str, String)> {
    let environment = &report.environment;
    let setting = &card.setting;
    let short = |hash: &str| hash.chars().take(12).collect::<String>();
    let mut facts = Vec::new();
    if let Some(commit) = &environment.git_commit {
        let state = match environment.git_dirty {
            Some(true) => ", with uncommitted changes",
            _ => "",
        };
        facts.push(("commit", format!("{}{state}", short(commit))));
    }
    let mut load = setting.load.clone();
    if setting.default_load {
        load.push_str(", by default");
    }
    facts.push(("source", format!("{} ({})", card.source, card.identity)));
    let fingerprint = short(&setting.fingerprint);
    facts.push(match &setting.version {
        Some(version) => ("version", format!("{version} ({fingerprint})")),
        None => ("fingerprint", fingerprint),
    });
    facts.push(("load", load));
    facts.push((
        "generator",
        format!(
            "{}, at most {}",
            view::counted(u64::from(setting.workers), "worker thread"),
            view::counted(u64::from(setting.max_users), "virtual user")
        ),
    ));
    facts.push(("seed", setting.seed.to_string()));
    if let Some(base) = &setting.base_url {
        let own = if setting.own_target {
            ", started by the scenario"
        } else {
            ""
        };
        let unchecked = if setting.insecure {
            ", certificates not checked"
        } else {
            ""
        };
        facts.push(("target", format!("{base}{own}{unchecked}")));
    }
    if !setting.permits.is_empty() {
        facts.push(("permitted", setting.permits.join("; ")));
    }
    if let Some(offline) = &setting.offline {
        facts.push(("offline", format!("yes: {offline}")));
    }
    facts.push((
        "host",
        format!(
            "{} {}, {}",
            environment.os,
            environment.arch,
            view::counted(environment.cpus as u64, "processor")
        ),
    ));
    facts.push(("executable", short(&setting.executable_hash)));
    facts.push((
        "time",
        format!(
            "{}, for {}",
            setting.started_at,
            view::duration(Duration::from_micros(setting.elapsed_us))
        ),
    ));
    facts.push((
        "run",
        format!("{}, loadtest {}", report.run_id, report.tool_version),
    ));
    facts
}

/// The policy that a run was graded by anew, where it was: `apdex=300 ms, min_grade=A`.
pub(super) fn regraded(card: &Card) -> Option<String> {
    let policy = card.regraded.as_ref()?;
    let parts = [
        policy
            .apdex
            .map(|time| format!("apdex={}", view::span(time))),
        policy
            .budget
            .map(|share| format!("budget={}", view::exact_percent(share))),
        policy
            .grade_weight
            .map(|weight| format!("grade_weight={weight}")),
        policy.min_grade.map(|least| format!("min_grade={least}")),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// What the percentiles in large type are of.
pub(super) fn percentiles_of(card: &Card) -> String {
    let head = &card.headline;
    let mut words = if head.single_request {
        "Percentiles are of response time".to_owned()
    } else {
        "Percentiles are of whole journeys, think time apart".to_owned()
    };
    if let Some(of) = &head.time_of {
        words.push_str(", ");
        words.push_str(of);
    }
    words.push('.');
    words
}

/// Whether a threshold on the errors of the journey is broken, so that their rate is alarming.
pub(super) fn errors_alarm(card: &Card) -> bool {
    card.thresholds
        .iter()
        .any(|row| row.metric == Metric::Errors && row.step.is_none() && !row.passed)
}

/// Where the iterations went that came by each step.
#[derive(Debug, Serialize)]
pub(super) struct Ledger<'a> {
    /// The columns in which there is anything, `planned` first: it is the sum of all others but `failed`,
    /// which is a part of `executed`.
    pub(super) columns: Vec<Column>,
    /// The names of the steps.
    pub(super) steps: Vec<&'a str>,
}

/// A column of a [`Ledger`].
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// What is counted, for those to whom the title says too little.
    pub(super) words: &'static str,
    /// Anything in it is trouble.
    pub(super) alarming: bool,
    /// A count per step.
    pub(super) counts: Vec<u64>,
}

/// The ledger of the steps; `None` where every step ran whenever an iteration came by it.
pub(super) fn ledger(card: &Card) -> Option<Ledger<'_>> {
    type Of = fn(&StepRow) -> u64;
    const COLUMNS: [(&str, &str, bool, Of); 9] = [
        ("planned", "iterations that came by it", false, |step| {
            step.planned
        }),
        ("executed", "ran to an end", false, |step| step.executed),
        ("failed", "of these, without success", true, |step| {
            step.failed
        }),
        ("skipped", "an upstream value was missing", true, |step| {
            step.skipped
        }),
        ("not drawn", "its weight left it out", false, |step| {
            step.not_drawn
        }),
        (
            "left out",
            "its function declined, which is no failure",
            false,
            |step| step.left_out,
        ),
        (
            "upstream out",
            "a step it needs was not drawn or left out",
            false,
            |step| step.skipped_not_drawn,
        ),
        (
            "kept",
            "it had run once and its answer was kept",
            false,
            |step| step.kept,
        ),
        ("cut off", "by the end of the run", false, |step| {
            step.cancelled
        }),
    ];
    if card.steps.iter().all(|step| step.planned == step.executed) {
        return None;
    }
    let columns = COLUMNS.map(|(title, words, alarming, of)| Column {
        title,
        words,
        alarming,
        counts: card.steps.iter().map(of).collect(),
    });
    let is_said = |column: &Column| column.counts.iter().any(|count| *count > 0);
    Some(Ledger {
        columns: columns.into_iter().filter(is_said).collect(),
        steps: card.steps.iter().map(|step| &*step.name).collect(),
    })
}

/// The title of the column of steps that did not run, and nobody is to blame.
pub(super) fn spared_title(card: &Card) -> &'static str {
    if card.steps.iter().any(|step| step.left_out > 0) {
        "left out"
    } else {
        "not drawn"
    }
}

/// The title of the ledger of such steps.
pub(super) fn spared_heading(card: &Card) -> &'static str {
    let by_chance = |row: &DependencyFailure| row.cause == RootCause::NotDrawn;
    if card.not_drawn.iter().all(by_chance) {
        "Left out by chance, in no grade"
    } else {
        "Left out, in no grade"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;

    #[test]
    fn the_ledger_accounts_for_every_iteration_that_came_by_a_step() {
        assert!(ledger(&sample::single().cards[0]).is_none());
        let mut card = sample::failed().cards[0].clone();
        let titles = |card: &Card| -> Vec<&str> {
            let columns = ledger(card).unwrap().columns.into_iter();
            columns.map(|column| column.title).collect()
        };
        let some = ["planned", "executed", "failed", "skipped", "not drawn"];
        assert_eq!(titles(&card), some);
        let step = &mut card.steps[1];
        (step.left_out, step.skipped_not_drawn) = (1, 2);
        (step.kept, step.cancelled) = (4, 8);
        step.planned += 15;
        assert_eq!(titles(&card).len(), 9);
        let ledger = ledger(&card).unwrap();
        for (i, name) in ledger.steps.iter().enumerate() {
            let columns = ledger
                .columns
                .iter()
                .filter(|column| column.title != "failed");
            let counts: Vec<u64> = columns.map(|column| column.counts[i]).collect();
            assert_eq!(
                counts[0],
                counts[1..].iter().sum::<u64>(),
                "{name}: {counts:?}"
            );
        }
    }

    #[test]
    fn the_same_name_is_told_apart_by_a_number() {
        let names = ["a", "b", "a", "a (2)", "a"].map(str::to_owned);
        assert_eq!(unique(names), ["a", "b", "a (2)", "a (2) (2)", "a (3)"]);
    }
}
