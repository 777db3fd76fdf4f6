//! What webhooks are told, in the shape of `docs/event.schema.json`.

use super::job;
use crate::config::Event;
use crate::export::labels::{outcome_name, round_to_micros};
use loadtest::redact;
use loadtest_model::card::{Capacity, Card, Reason, Report, Verdict};
use loadtest_model::comparison::{ComparisonOutcome, Figure};
use loadtest_model::definition::Letter;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::{Environment, NotRun, RunRecord};
use serde::Serialize;

/// The version of the shape, which grows when a field goes or means something else.
const SCHEMA_VERSION: u32 = 1;

/// The facts about a run that all of its events share.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Run {
    #[serde(rename = "run_id")]
    identifier: String,
    started_at: String,
    tool_version: String,
    environment: Environment,
    /// The page of the job on the build server that runs it.
    job_url: Option<String>,
    #[serde(skip)]
    scenarios: Vec<Planned>,
}

/// A scenario that was selected.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Planned {
    /// The identity: `package::module::function`.
    pub(super) identity: String,
    pub(super) name: String,
    pub(super) tags: Vec<String>,
    pub(super) fingerprint: String,
    /// The load in words.
    pub(super) load: String,
}

/// An event.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Payload<'a> {
    schema_version: u32,
    pub(super) event: Event,
    /// The same in every attempt to deliver it.
    pub(super) id: String,
    time: String,
    #[serde(flatten)]
    pub(super) run: &'a Run,
    pub(super) scenarios: Vec<ScenarioEvent<'a>>,
    pub(super) capacity: Option<SearchResult>,
    /// The outcome of the run, once it has ended.
    pub(super) outcome: Option<Ended>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct ScenarioEvent<'a> {
    #[serde(flatten)]
    pub(super) planned: &'a Planned,
    pub(super) result: Option<Graded>,
    pub(super) not_run: Option<NotRun>,
}

/// The result of a scenario.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Graded {
    pub(super) verdict: Verdict,
    pub(super) grade: Option<Letter>,
    score: Option<f64>,
    p50_us: Option<u64>,
    pub(super) p95_us: Option<u64>,
    p99_us: Option<u64>,
    pub(super) error_rate: Option<f64>,
    pub(super) achieved_per_second: Option<f64>,
    target_per_second: Option<f64>,
    dependency_failures: u64,
    pub(super) reasons: Vec<Reason>,
    broken_thresholds: Vec<Broken>,
    comparison: Option<ComparisonResult>,
}

/// A threshold that does not hold.
#[derive(Debug, Clone, Serialize)]
struct Broken {
    step: Option<String>,
    condition: String,
    actual: String,
}

/// The result of the comparison with a baseline.
#[derive(Debug, Clone, Serialize)]
struct ComparisonResult {
    baseline: String,
    outcome: &'static str,
    regressions: Vec<Regression>,
}

#[derive(Debug, Clone, Serialize)]
struct Regression {
    step: Option<String>,
    figure: Figure,
    change: f64,
    words: String,
}

/// The result of a search for the capacity.
#[derive(Debug, Clone, Serialize)]
pub(super) struct SearchResult {
    pub(super) verdict: String,
    pub(super) slo: String,
    confirmed_per_second: Option<f64>,
    min_per_second: Option<f64>,
    pub(super) remarks: Vec<String>,
}

/// The end of the run as a whole.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Ended {
    pub(super) verdict: &'static str,
    pub(super) exit_code: ExitCode,
    /// The page of the report, below the root of the workspace where it is there.
    pub(super) report: Option<String>,
}

impl Run {
    /// Collects the facts from the record of a run that is about to begin.
    pub(crate) fn new(record: &RunRecord, scenarios: Vec<Planned>) -> Self {
        Self {
            identifier: record.run_id.clone(),
            started_at: record.started_at.clone(),
            tool_version: record.tool_version.clone(),
            environment: record.environment.clone(),
            job_url: job::job_page_url(loadtest_console::process::variable),
            scenarios,
        }
    }

    pub(super) fn job_url(&self) -> Option<&str> {
        self.job_url.as_deref()
    }

    pub(super) fn identifier(&self) -> &str {
        &self.identifier
    }

    pub(super) fn commit(&self) -> Option<(&str, bool)> {
        let commit = self.environment.git_commit.as_deref();
        commit.map(|commit| (commit, self.environment.git_dirty == Some(true)))
    }
}

impl Planned {
    pub(crate) fn new(definition: &ScenarioDef, load: String) -> Self {
        Self {
            identity: definition.identity(),
            name: definition.name.to_string(),
            tags: definition.tags.iter().map(ToString::to_string).collect(),
            fingerprint: definition.fingerprint.to_string(),
            load,
        }
    }
}

impl<'a> Payload<'a> {
    /// Announces that the run begins.
    pub(super) fn started(run: &'a Run, time: String) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            event: Event::RunStarted,
            id: String::new(),
            time,
            run,
            scenarios: run.scenarios.iter().map(ScenarioEvent::planned).collect(),
            capacity: None,
            outcome: None,
        }
    }

    /// Reports the result of a run.
    pub(super) fn ended(run: &'a Run, time: String, report: &Report, ended: Ended) -> Self {
        let mut payload = Self::started(run, time);
        payload.event = Event::RunFinished;
        for scenario in &mut payload.scenarios {
            scenario.end(report);
        }
        payload.capacity = report.capacity.as_ref().map(SearchResult::from_capacity);
        payload.outcome = Some(ended);
        payload
    }
}

impl<'a> ScenarioEvent<'a> {
    fn planned(planned: &'a Planned) -> Self {
        Self {
            planned,
            result: None,
            not_run: None,
        }
    }

    fn end(&mut self, report: &Report) {
        let identity = &self.planned.identity;
        // The card of a search is that of one of its trials.
        let mut cards = report.cards.iter().filter(|_| report.capacity.is_none());
        let card = cards.find(|card| card.identity == *identity);
        self.result = card.map(Graded::from_card);
        let mut not_run = report.not_run.iter();
        self.not_run = not_run
            .find(|not_run| not_run.scenario == *identity)
            .map(|not_run| NotRun {
                message: redact::redact(&not_run.message),
                help: not_run.help.as_deref().map(redact::redact),
                ..not_run.clone()
            });
    }
}

impl Graded {
    fn from_card(card: &Card) -> Self {
        let headline = &card.headline;
        let broken = card.thresholds.iter().filter(|threshold| !threshold.passed);
        Self {
            verdict: card.verdict,
            grade: card.grade.letter,
            score: card.grade.score,
            p50_us: headline.time.p50.map(round_to_micros),
            p95_us: headline.time.p95.map(round_to_micros),
            p99_us: headline.time.p99.map(round_to_micros),
            error_rate: headline.error_rate,
            achieved_per_second: headline.achieved_per_second,
            target_per_second: headline.target_per_second,
            dependency_failures: headline.dependency_failures,
            reasons: card
                .reasons
                .iter()
                .map(|reason| Reason {
                    words: redact_words(&reason.words),
                    ..reason.clone()
                })
                .collect(),
            broken_thresholds: broken
                .map(|threshold| Broken {
                    step: threshold.step.clone(),
                    condition: threshold.condition.clone(),
                    actual: threshold.actual_words.clone(),
                })
                .collect(),
            comparison: card.comparison.as_ref().map(|beside| ComparisonResult {
                baseline: beside.baseline.clone(),
                outcome: outcome_name(&beside.outcome),
                regressions: list_regressions(&beside.outcome),
            }),
        }
    }
}

fn list_regressions(outcome: &ComparisonOutcome) -> Vec<Regression> {
    let ComparisonOutcome::Compared(comparison) = outcome else {
        return Vec::new();
    };
    comparison
        .regressions()
        .map(|(subject, compared)| Regression {
            step: subject.step.clone(),
            figure: compared.figure,
            change: compared.change,
            words: compared.describe(),
        })
        .collect()
}

impl SearchResult {
    fn from_capacity(capacity: &Capacity) -> Self {
        let remarks = capacity.remarks.iter();
        Self {
            verdict: capacity.verdict.name().to_lowercase().replace(' ', "_"),
            slo: capacity.slo(),
            confirmed_per_second: capacity.finding.confirmed_per_second,
            min_per_second: capacity.goal.min_per_second,
            remarks: remarks.map(|remark| redact_words(&remark.words)).collect(),
        }
    }
}

impl Ended {
    pub(super) fn new(exit_code: ExitCode, report: Option<String>) -> Self {
        Self {
            verdict: verdict_of_code(exit_code),
            exit_code,
            report,
        }
    }
}

/// Returns the verdict that an exit code stands for.
fn verdict_of_code(exit_code: ExitCode) -> &'static str {
    match exit_code {
        ExitCode::Passed => "passed",
        ExitCode::NothingFound => "empty",
        ExitCode::GateFailed => "failed",
        ExitCode::SetupFailed => "setup_failed",
        ExitCode::Invalid => "invalid",
        ExitCode::NotPermitted => "not_permitted",
        ExitCode::Interrupted => "interrupted",
        ExitCode::Usage | ExitCode::BuildFailed | ExitCode::Internal => "error",
    }
}

/// Returns true where the gate of the run failed: of a scenario, or of a search.
pub(super) fn gate_failed(report: &Report) -> bool {
    match &report.capacity {
        Some(capacity) => capacity.exit_code() == ExitCode::GateFailed,
        None => report
            .cards
            .iter()
            .any(|card| card.verdict == Verdict::Failed),
    }
}

/// Redacts a text. Records are redacted already; texts put together from them may not be.
fn redact_words(text: &str) -> String {
    redact::redact(text).into_string()
}
