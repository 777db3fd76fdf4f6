//! The result of a search for the capacity, in words.

use crate::capacity::{
    Condition, Finding, Goal, Limit, Purpose, Search, SearchEnding, Trial, TrialOutcome,
};
use crate::definition::{Metric, Threshold};
use crate::display;
use crate::exit_code::ExitCode;
use serde::Serialize;
use std::fmt;

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capacity {
    /// The identity of the scenario: `package::module::function`.
    pub scenario: String,
    /// The SLO.
    pub conditions: Vec<Condition>,
    /// The verdict.
    pub verdict: CapacityVerdict,
    /// The figures of it.
    pub finding: Finding,
    /// The same in sentences.
    pub remarks: Vec<Remark>,
    /// The goal of the search.
    pub goal: Goal,
    /// The trials, in their order.
    pub trials: Vec<Trial>,
}

/// The verdict of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityVerdict {
    /// A rate met the SLO, also on the longer window.
    Confirmed,
    /// The same, but below the rate that was asked for.
    TooLow,
    /// No rate that was tried met the SLO.
    NotMet,
    /// Rates met it, but none on the longer window.
    NotConfirmed,
    /// The target did not come back.
    TargetGone,
    /// The generator was the limit before anything was known.
    Invalid,
    /// It was stopped, or the process died.
    Interrupted,
    /// A run went wrong.
    Broken {
        /// The exit code that says what kind of reason it was.
        exit_code: ExitCode,
    },
}

/// A sentence about the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The tone of the sentence.
    pub tone: Tone,
    /// The sentence.
    pub words: String,
}

/// The tone of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Tone {
    Good,
    Bad,
    Note,
}

impl CapacityVerdict {
    /// The exit code of a search with this result.
    pub const fn exit_code(self) -> ExitCode {
        match self {
            Self::Confirmed => ExitCode::Passed,
            Self::TooLow | Self::NotMet | Self::NotConfirmed | Self::TargetGone => {
                ExitCode::GateFailed
            }
            Self::Invalid => ExitCode::Invalid,
            Self::Interrupted => ExitCode::Interrupted,
            Self::Broken { exit_code } => exit_code,
        }
    }

    /// Returns the printed name: `CONFIRMED`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "CONFIRMED",
            Self::TooLow => "TOO LOW",
            Self::NotMet => "NOT MET",
            Self::NotConfirmed => "NOT CONFIRMED",
            Self::TargetGone => "TARGET GONE",
            Self::Invalid => "INVALID",
            Self::Interrupted => "INTERRUPTED",
            Self::Broken { .. } => "FAILED",
        }
    }
}

impl fmt::Display for CapacityVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Capacity {
    /// Summarises a search, as far as it got.
    pub fn from_search(search: &Search) -> Self {
        let finding = search.finding();
        Self {
            scenario: search.scenario.clone(),
            conditions: search.conditions.clone(),
            verdict: judge_search(search, &finding),
            finding,
            remarks: collect_remarks(search, &finding),
            goal: search.goal.clone(),
            trials: search.trials.clone(),
        }
    }

    /// The exit code of the search.
    pub const fn exit_code(&self) -> ExitCode {
        self.verdict.exit_code()
    }

    /// The SLO in a line: ``p95 < 300 ms, errors < 1 %``.
    pub fn slo(&self) -> String {
        let all: Vec<String> = self.conditions.iter().map(ToString::to_string).collect();
        all.join(", ")
    }

    /// The conditions, by number, that are on neither p95 nor the errors of the journey, and what they are
    /// on: `p99`, `login p95`.
    pub fn further_conditions(&self) -> Vec<(usize, String)> {
        let all = self.goal.slo.iter().zip(&self.conditions).enumerate();
        all.filter(|(_, (scoped, condition))| {
            let threshold = &scoped.threshold;
            condition.step.is_some()
                || !threshold.subject.is_whole()
                || !matches!(threshold.metric, Metric::P95 | Metric::Errors)
        })
        .map(|(at, (scoped, condition))| {
            let Threshold {
                subject, metric, ..
            } = &scoped.threshold;
            let figure = format!("{subject}{metric}");
            let step = condition.step.as_ref();
            (
                at,
                step.map_or_else(|| figure.clone(), |step| format!("{step} {figure}")),
            )
        })
        .chain(self.goal.observed.iter().enumerate().map(|(at, observed)| {
            let figure = observed.limit.figure.name();
            (
                self.goal.slo.len() + at,
                format!("{} {figure}", observed.name),
            )
        }))
        .collect()
    }

    /// The capacity in large type: `1 280/s`, `≥ 1 280/s` where nothing broke beyond it, or a dash.
    pub fn headline(&self) -> String {
        match (self.finding.confirmed_per_second, self.finding.limit) {
            (Some(rate), Some(Limit::Target) | None) => display::format_rate(rate),
            (Some(rate), _) => format!("≥ {}", display::format_rate(rate)),
            (None, _) => display::NO_VALUE.to_owned(),
        }
    }
}

impl Trial {
    /// Describes the outcome: `met`, `confirmed`, `missed`.
    pub const fn describe(&self) -> &'static str {
        match (self.attempt.outcome, self.attempt.purpose) {
            (TrialOutcome::Met, Purpose::Search) => "met",
            (TrialOutcome::Met, Purpose::Confirmation) => "confirmed",
            (TrialOutcome::Missed, Purpose::Search) => "missed",
            (TrialOutcome::Missed, Purpose::Confirmation) => "not confirmed",
            (TrialOutcome::GeneratorLimited, _) => "generator's limit",
        }
    }

    /// Returns true if the condition of the SLO with this number did not hold.
    pub fn breaks(&self, condition: usize) -> bool {
        self.slo
            .get(condition)
            .is_some_and(|measured| !measured.held)
    }
}

fn judge_search(search: &Search, finding: &Finding) -> CapacityVerdict {
    match &search.ending {
        Some(SearchEnding::Completed) => {}
        Some(SearchEnding::TargetGone { .. }) => return CapacityVerdict::TargetGone,
        Some(SearchEnding::Stuck { .. }) => return CapacityVerdict::Invalid,
        Some(SearchEnding::Broken { failure }) => {
            let exit_code = failure.kind.exit_code();
            return CapacityVerdict::Broken { exit_code };
        }
        Some(SearchEnding::Interrupted) | None => return CapacityVerdict::Interrupted,
    }
    let is_generator = finding.limit == Some(Limit::Generator);
    match (finding.confirmed_per_second, search.goal.min_per_second) {
        (Some(rate), Some(least)) if rate < least && is_generator => CapacityVerdict::Invalid,
        (Some(rate), Some(least)) if rate < least => CapacityVerdict::TooLow,
        (Some(_), _) => CapacityVerdict::Confirmed,
        (None, _) if is_generator => CapacityVerdict::Invalid,
        (None, _) if finding.met_per_second.is_some() => CapacityVerdict::NotConfirmed,
        (None, _) if count_confirmations(search) > 0 => CapacityVerdict::NotConfirmed,
        (None, _) => CapacityVerdict::NotMet,
    }
}

fn count_confirmations(search: &Search) -> usize {
    let trials = search.trials.iter();
    trials
        .filter(|trial| trial.attempt.purpose == Purpose::Confirmation)
        .count()
}

fn collect_remarks(search: &Search, finding: &Finding) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut say = |tone, words: String| remarks.push(Remark { tone, words });
    let goal = &search.goal;
    let rate = |per_second| display::format_rate(per_second);
    if let Some(per_second) = finding.confirmed_per_second {
        let held = search
            .decisive()
            .map(|at| format_figures(&search.trials[at]));
        say(
            Tone::Good,
            format!(
                "{} met the SLO for {}: {}",
                rate(per_second),
                display::format_span(goal.confirm),
                held.unwrap_or_default()
            ),
        );
    } else if let Some(per_second) = finding.met_per_second {
        say(
            Tone::Note,
            format!(
                "{} met the SLO for {}, and was not confirmed for {}",
                rate(per_second),
                display::format_span(goal.window),
                display::format_span(goal.confirm)
            ),
        );
    } else if finding.limit == Some(Limit::Target) {
        say(Tone::Bad, "no rate that was tried met the SLO".to_owned());
    }
    if let (Some(found), Some(least)) = (finding.confirmed_per_second, goal.min_per_second)
        && found < least
    {
        say(Tone::Bad, format!("{} was required", rate(least)));
    }
    if let Some(trial) = finding.broke.and_then(|at| search.trials.get(at)) {
        let (per_second, reasons) = (trial.attempt.per_second, trial.reasons.join("; "));
        let what = match trial.attempt.outcome {
            TrialOutcome::GeneratorLimited => "was too much for the generator",
            _ => "did not meet it",
        };
        say(Tone::Bad, format!("{} {what}: {reasons}", rate(per_second)));
        if let Some(help) = &trial.help {
            say(Tone::Note, help.clone());
        }
    }
    say_limit(search, finding, &mut say);
    match &search.ending {
        Some(SearchEnding::Completed) => {}
        Some(SearchEnding::TargetGone { reason }) => say(
            Tone::Bad,
            format!("the target did not come back after the last trial: {reason}"),
        ),
        Some(SearchEnding::Stuck { reason }) => say(
            Tone::Bad,
            format!("{reason}: there could be no further trial"),
        ),
        Some(SearchEnding::Broken { failure }) => {
            say(Tone::Bad, failure.message.to_string());
            if let Some(help) = &failure.help {
                say(Tone::Note, help.to_string());
            }
        }
        Some(SearchEnding::Interrupted) => say(
            Tone::Note,
            "the search was stopped; these are the results so far".to_owned(),
        ),
        None => say(
            Tone::Note,
            "the process died; these are the results so far".to_owned(),
        ),
    }
    remarks
}

fn say_limit(search: &Search, finding: &Finding, say: &mut impl FnMut(Tone, String)) {
    if search.ending != Some(SearchEnding::Completed) {
        return;
    }
    let known = finding.met_per_second.is_some();
    match finding.limit {
        Some(Limit::Target) if known => say(Tone::Note, "limited by the target".to_owned()),
        Some(Limit::Generator) => {
            let words = if known {
                "limited by the generator: the target may handle more"
            } else {
                "limited by the generator: nothing is known of the target"
            };
            say(Tone::Note, words.to_owned());
        }
        Some(Limit::Max) => say(
            Tone::Note,
            format!(
                "limited by `--max {}`: no higher rate was tried",
                display::format_exact_rate(search.goal.max_per_second)
            ),
        ),
        _ => {}
    }
}

/// `p95 212 ms, errors 0 %`.
fn format_figures(trial: &Trial) -> String {
    let p95 = trial
        .p95
        .map(|time| format!("p95 {}", display::format_duration(time)));
    let errors = trial.error_rate;
    let errors = errors.map(|rate| format!("errors {}", display::format_percent(rate)));
    let all: Vec<String> = p95.into_iter().chain(errors).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Attempt;
    use crate::definition::ScenarioDef;
    use crate::failure::{FailureKind, RunFailure};
    use std::time::Duration;

    fn search(attempts: &[(f64, Purpose, TrialOutcome)]) -> Search {
        let goal = Goal {
            slo: Vec::new(),
            observed: Vec::new(),
            from_per_second: 10.0,
            max_per_second: 1_000.0,
            min_per_second: None,
            tolerance: 0.05,
            window: Duration::from_secs(10),
            confirm: Duration::from_secs(60),
            ramp_up: Duration::from_secs(2),
            rest: Duration::from_secs(2),
            max_users: None,
        };
        let mut search = Search::new(&ScenarioDef::new("visit", Vec::new()), goal);
        search.ending = Some(SearchEnding::Completed);
        for &(per_second, purpose, outcome) in attempts {
            search.trials.push(Trial {
                attempt: Attempt {
                    per_second,
                    purpose,
                    outcome,
                },
                window: search.goal.window_of(purpose),
                achieved_per_second: Some(per_second),
                p95: Some(Duration::from_millis(40)),
                error_rate: Some(0.0),
                slo: Vec::new(),
                reasons: match outcome {
                    TrialOutcome::Met => Vec::new(),
                    _ => vec!["because".to_owned()],
                },
                help: None,
                observed: Vec::new(),
            });
        }
        search
    }

    const SEARCH: Purpose = Purpose::Search;
    const LONG: Purpose = Purpose::Confirmation;

    fn words(capacity: &Capacity) -> String {
        let all: Vec<_> = capacity.remarks.iter().map(|one| &*one.words).collect();
        all.join(" | ")
    }

    #[test]
    fn a_confirmed_rate_passes_unless_more_was_asked_for() {
        let mut search = search(&[
            (10.0, SEARCH, TrialOutcome::Met),
            (10.5, SEARCH, TrialOutcome::Missed),
            (10.0, LONG, TrialOutcome::Met),
        ]);
        let capacity = Capacity::from_search(&search);
        assert_eq!(
            (capacity.exit_code(), &*capacity.headline()),
            (ExitCode::Passed, "10/s")
        );
        assert_eq!(
            words(&capacity),
            "10/s met the SLO for 1 min: p95 40.0 ms, errors 0 % | 10.5/s did not meet it: because | \
             limited by the target"
        );
        search.goal.min_per_second = Some(10.0);
        assert_eq!(Capacity::from_search(&search).exit_code(), ExitCode::Passed);
        search.goal.min_per_second = Some(11.0);
        let capacity = Capacity::from_search(&search);
        assert_eq!(capacity.verdict, CapacityVerdict::TooLow);
        assert_eq!(capacity.exit_code(), ExitCode::GateFailed);
        assert!(words(&capacity).contains("11/s was required"));
    }

    #[test]
    fn the_generators_limit_is_no_failure_of_the_target() {
        let mut known = search(&[
            (10.0, SEARCH, TrialOutcome::Met),
            (10.5, SEARCH, TrialOutcome::GeneratorLimited),
            (10.0, LONG, TrialOutcome::Met),
        ]);
        let capacity = Capacity::from_search(&known);
        assert_eq!(
            (capacity.exit_code(), &*capacity.headline()),
            (ExitCode::Passed, "≥ 10/s")
        );
        assert!(words(&capacity).contains("limited by the generator: the target may"));
        known.goal.min_per_second = Some(11.0);
        assert_eq!(Capacity::from_search(&known).exit_code(), ExitCode::Invalid);
        let unknown = search(&[(10.0, SEARCH, TrialOutcome::GeneratorLimited)]);
        let capacity = Capacity::from_search(&unknown);
        assert_eq!(
            (capacity.exit_code(), &*capacity.headline()),
            (ExitCode::Invalid, display::NO_VALUE)
        );
    }

    #[test]
    fn what_was_not_confirmed_is_no_capacity() {
        let missed = [
            (10.0, SEARCH, TrialOutcome::Missed),
            (5.0, SEARCH, TrialOutcome::Missed),
        ];
        let capacity = Capacity::from_search(&search(&missed));
        assert_eq!(capacity.verdict, CapacityVerdict::NotMet);
        assert_eq!(capacity.exit_code(), ExitCode::GateFailed);
        let refuted = [
            (10.0, SEARCH, TrialOutcome::Met),
            (10.0, LONG, TrialOutcome::Missed),
        ];
        let capacity = Capacity::from_search(&search(&refuted));
        assert_eq!(capacity.verdict, CapacityVerdict::NotConfirmed);
        assert_eq!(capacity.exit_code(), ExitCode::GateFailed);
    }

    #[test]
    fn a_search_that_did_not_end_says_what_was_known() {
        let mut search = search(&[(10.0, SEARCH, TrialOutcome::Met)]);
        let code = |search: &Search| Capacity::from_search(search).exit_code();
        search.ending = Some(SearchEnding::Interrupted);
        assert_eq!(code(&search), ExitCode::Interrupted);
        assert!(
            words(&Capacity::from_search(&search))
                .contains("10/s met the SLO for 10 s, and was not")
        );
        search.ending = None;
        assert_eq!(code(&search), ExitCode::Interrupted);
        let reason = "no longer there".into();
        search.ending = Some(SearchEnding::TargetGone { reason });
        assert_eq!(code(&search), ExitCode::GateFailed);
        let failure = RunFailure {
            kind: FailureKind::NotPermitted,
            message: "elsewhere".into(),
            help: None,
        };
        search.ending = Some(SearchEnding::Broken { failure });
        assert_eq!(code(&search), ExitCode::NotPermitted);
    }
}
