//! What all formats say of a card beyond its figures.

use loadtest::capacity::Trial;
use loadtest::card::{Capacity, Card, DependencyFailure, Report, view};
use loadtest::chain::RootCause;
use loadtest::definition::Metric;
use std::time::Duration;

/// What stands in the place of a verdict for a scenario that was selected and did not run.
pub(super) const NOT_RUN: &str = "DID NOT RUN";

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
    format!("cargo loadtest debug {scenario} --seed {seed} --iteration {number}")
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
