//! The summary of each run in the store, whatever its end.

use super::index::Index;
use crate::store::{RunFolder, Store};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::card::{Card, Report, Verdict};
use loadtest_model::comparison::RunComparison;
use loadtest_model::definition::Letter;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::metrics::CompactHistogram;
use loadtest_model::record::{Environment, NotRun, RunRecord, ScenarioRecord};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// All runs in a store.
#[derive(Debug)]
pub(crate) struct Archive {
    /// The folder of the store.
    pub(crate) directory: PathBuf,
    /// The scenarios in them, the newest run first.
    pub(crate) entries: Vec<Entry>,
    /// Runs that cannot be read, the newest first.
    pub(crate) unreadable: Vec<Unreadable>,
}

/// A run that cannot be shown.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// The name of its folder.
    pub(crate) run: String,
    /// The reason.
    pub(crate) reason: String,
}

/// A scenario in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The identity.
    pub(crate) scenario: String,
    /// The name of the folder of the run.
    pub(crate) run: String,
    /// The start of the run, RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// The commit of the source.
    pub(crate) commit: Option<String>,
    /// True if the work tree differed from the commit.
    pub(crate) dirty: Option<bool>,
    /// The version that was run, or was to run; `None` where that is not known.
    pub(crate) version: Option<Version>,
    /// The load; `None` likewise.
    pub(crate) load: Option<Setting>,
    /// The outcome.
    pub(crate) outcome: Outcome,
}

/// A version of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Version {
    /// The hash of its source.
    pub(crate) fingerprint: String,
    /// Its own words, where it has some.
    pub(crate) words: Option<String>,
}

/// A load and its target, in words: runs of which these differ are not to be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Setting {
    /// The load, or what was searched for.
    pub(crate) load: String,
    /// The base URL; `None` where the scenario started the target itself, or names it in each URL.
    pub(crate) target: Option<String>,
}

/// The outcome of a scenario in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// It was measured.
    Measured(RunFigures),
    /// It was searched for its capacity.
    Searched {
        /// The verdict: `CONFIRMED`.
        verdict: String,
        exit_code: ExitCode,
        /// The highest rate that was confirmed.
        per_second: Option<f64>,
    },
    /// It did not run.
    NotRun { exit_code: ExitCode, reason: String },
    /// It runs now.
    UnderWay,
}

/// The figures of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunFigures {
    pub(crate) verdict: Verdict,
    pub(crate) grade: Option<Letter>,
    pub(crate) score: Option<f64>,
    /// p95 of the journey, or of the only step.
    pub(crate) p95: Option<Duration>,
    pub(crate) error_rate: Option<f64>,
    /// The reason why the measurement cannot be trusted.
    pub(crate) spoilt: Option<String>,
}

impl Archive {
    /// Reads the summaries of all runs, by the index where it is up to date.
    ///
    /// # Errors
    /// When the store cannot be read, or holds no run.
    pub(crate) fn read(store: &Store) -> Result<Self, Error> {
        let tell = |done, all| {
            let [done, all] = [done, all].map(|count| display::format_count(count as u64));
            console::print_progress(format!("read {done} of {all} runs that no list had yet"));
        };
        Self::read_with(&mut Index::load(store.directory()), store, tell)
    }

    /// The same, with an index that was loaded before; `tell` hears how many runs that it lacks are read, of how many.
    ///
    /// # Errors
    /// When the store cannot be read, or holds no run.
    pub(crate) fn read_with(
        index: &mut Index,
        store: &Store,
        tell: impl FnMut(usize, usize),
    ) -> Result<Self, Error> {
        let mut runs = store.runs()?;
        index.fill(&runs, summarize, tell);
        // The newest first.
        runs.reverse();
        let mut archive = Self {
            directory: store.directory().to_path_buf(),
            entries: Vec::new(),
            unreadable: Vec::new(),
        };
        for run in &runs {
            match index.summarize(run, summarize) {
                Ok(entries) => archive.entries.extend(entries),
                // Another process removed it in between.
                Err(_) if !run.path().exists() => {}
                Err(error) => archive.unreadable.push(Unreadable {
                    run: run.identifier(),
                    reason: error.to_string(),
                }),
            }
        }
        index.retain(&runs);
        index.save();
        // A folder may be renamed.
        archive
            .entries
            .sort_by(|one, other| other.started_at.cmp(&one.started_at));
        Ok(archive)
    }

    /// The identities of the scenarios, in their order.
    pub(crate) fn scenarios(&self) -> Vec<String> {
        let mut scenarios: Vec<_> = self
            .entries
            .iter()
            .map(|entry| entry.scenario.clone())
            .collect();
        scenarios.sort();
        scenarios.dedup();
        scenarios
    }
}

/// Reads the entries of a run.
///
/// # Errors
/// When it cannot be read.
pub(super) fn summarize(run: &RunFolder) -> Result<Vec<Entry>, Error> {
    let record = run.read()?;
    let comparison = run.read_comparison(&record)?;
    Ok(of_record(&run.identifier(), record, comparison.as_ref()))
}

pub(super) fn summarize_unfinished(run: &RunFolder, header: &RunRecord) -> Vec<Entry> {
    let searched = header.capacity.iter().map(|search| &search.scenario);
    let searched = searched.map(|scenario| (scenario, None));
    let expected = header.not_run.iter();
    let expected = expected.map(|expected| (&expected.scenario, Version::expected(expected)));
    searched
        .chain(expected)
        .map(|(scenario, version)| Entry {
            version,
            ..Entry::new(&run.identifier(), header, scenario, Outcome::UnderWay)
        })
        .collect()
}

/// Returns the entries of a record; `run` is the name of its folder.
pub(crate) fn of_record(
    run: &str,
    mut record: RunRecord,
    comparison: Option<&RunComparison>,
) -> Vec<Entry> {
    for scenario in &mut record.scenarios {
        drop_details(scenario);
    }
    let report = Report::grade(&record, comparison);
    let mut all: Vec<Entry> = report
        .not_run
        .iter()
        .map(|missing| {
            let outcome = Outcome::NotRun {
                exit_code: missing.exit_code,
                reason: missing.message.to_string(),
            };
            Entry {
                version: Version::expected(missing),
                ..Entry::new(run, &record, &missing.scenario, outcome)
            }
        })
        .collect();
    let versions = record.scenarios.iter().zip(&report.cards);
    if let Some(search) = &report.capacity {
        let outcome = Outcome::Searched {
            verdict: search.verdict.name().to_owned(),
            exit_code: search.verdict.exit_code(),
            per_second: search.finding.confirmed_per_second,
        };
        // Its card is of one trial.
        let version = versions
            .map(|(scenario, _)| Version::from_scenario(scenario))
            .next();
        all.push(Entry {
            load: Some(Setting {
                load: format!("search for {}", search.slo()),
                target: record.scenarios.first().and_then(target),
            }),
            version,
            ..Entry::new(run, &record, &search.scenario, outcome)
        });
    } else {
        all.extend(versions.map(|(scenario, card)| Entry {
            version: Some(Version::from_scenario(scenario)),
            load: Some(Setting {
                load: card.setting.load.clone(),
                target: target(scenario),
            }),
            ..Entry::new(
                run,
                &record,
                &card.identity,
                Outcome::Measured(RunFigures::from_card(card)),
            )
        }));
    }
    all
}

/// Takes from a record what neither grade nor verdict come from, and which is most of it: percentiles over
/// time.
fn drop_details(scenario: &mut ScenarioRecord) {
    for cell in &mut scenario.cells.cells {
        cell.time = CompactHistogram::default();
        cell.steps = Vec::new();
    }
}

fn target(scenario: &ScenarioRecord) -> Option<String> {
    let base = scenario.start.base_url.as_ref();
    base.filter(|_| !scenario.start.own_target && !scenario.start.target_in_process)
        .map(|base| base.trim_end_matches('/').to_owned())
}

impl Entry {
    fn new(run: &str, record: &RunRecord, scenario: &str, outcome: Outcome) -> Self {
        let Environment {
            git_commit,
            git_dirty,
            ..
        } = &record.environment;
        Self {
            scenario: scenario.to_owned(),
            run: run.to_owned(),
            started_at: record.started_at.clone(),
            commit: git_commit.clone(),
            dirty: *git_dirty,
            version: None,
            load: None,
            outcome,
        }
    }

    /// Returns the verdict in capitals.
    pub(crate) fn verdict(&self) -> &str {
        match &self.outcome {
            Outcome::Measured(figures) => figures.verdict.name(),
            Outcome::Searched { verdict, .. } => verdict,
            Outcome::NotRun { .. } => "DID NOT RUN",
            Outcome::UnderWay => "IN PROGRESS",
        }
    }

    /// The exit code that says the same; `None` as long as there is none.
    pub(crate) fn exit_code(&self) -> Option<ExitCode> {
        match &self.outcome {
            Outcome::Measured(figures) => Some(figures.verdict.exit_code()),
            Outcome::Searched { exit_code, .. } | Outcome::NotRun { exit_code, .. } => {
                Some(*exit_code)
            }
            Outcome::UnderWay => None,
        }
    }

    /// The figures, where it was measured.
    pub(crate) fn figures(&self) -> Option<&RunFigures> {
        match &self.outcome {
            Outcome::Measured(figures) => Some(figures),
            _ => None,
        }
    }

    /// The p95 that a trend is made of: that of a run which came to its end and measured its target.
    pub(crate) fn sound_p95(&self) -> Option<Duration> {
        let figures = self.figures()?;
        figures.p95.filter(|_| figures.spoilt.is_none())
    }

    /// Returns the reason why there is no usable measurement.
    pub(crate) fn reason(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Measured(figures) => figures.spoilt.as_deref(),
            Outcome::NotRun { reason, .. } => Some(reason),
            Outcome::Searched { .. } | Outcome::UnderWay => None,
        }
    }
}

impl Version {
    fn from_scenario(scenario: &ScenarioRecord) -> Self {
        let definition = &scenario.start.definition;
        Self {
            fingerprint: definition.fingerprint.to_string(),
            words: definition.version.as_deref().map(str::to_owned),
        }
    }

    /// Returns the version of a scenario that did not run.
    fn expected(missing: &NotRun) -> Option<Self> {
        Some(Self {
            fingerprint: missing.fingerprint.clone()?,
            words: missing.version.clone(),
        })
    }

    /// Returns the beginning of the fingerprint.
    pub(crate) fn short(&self) -> &str {
        short(&self.fingerprint)
    }
}

impl RunFigures {
    fn from_card(card: &Card) -> Self {
        let counts =
            matches!(card.verdict, Verdict::Passed | Verdict::Failed) && !card.grade.partial;
        let spoilt = (!counts).then(|| {
            let reason = card.reasons.first().map(|reason| reason.words.clone());
            reason.unwrap_or_default()
        });
        Self {
            verdict: card.verdict,
            grade: card.grade.letter,
            score: card.grade.score,
            p95: card.headline.time.p95,
            error_rate: card.headline.error_rate,
            spoilt,
        }
    }
}

/// The beginning of a hash, by which people know it.
pub(crate) fn short(hash: &str) -> &str {
    hash.char_indices()
        .nth(8)
        .map_or(hash, |(end, _)| &hash[..end])
}
