//! What the runs in the store say of themselves: every one of them, whatever became of it.

use crate::error::Error;
use crate::store::{RunFolder, Store};
use loadtest_model::card::{Card, Report, Verdict};
use loadtest_model::comparison::RunComparison;
use loadtest_model::definition::Letter;
use loadtest_model::metrics::CompactHistogram;
use loadtest_model::record::{Environment, NotRun, RunRecord, ScenarioRecord};
use std::path::PathBuf;
use std::time::Duration;

/// All runs in a store.
#[derive(Debug)]
pub(super) struct Archive {
    /// The folder of the store.
    pub(super) directory: PathBuf,
    /// The scenarios in them, the newest run first.
    pub(super) entries: Vec<Entry>,
    /// Runs that cannot be read, the newest first.
    pub(super) unreadable: Vec<Unreadable>,
}

/// A run that cannot be shown.
#[derive(Debug)]
pub(super) struct Unreadable {
    /// The name of its folder.
    pub(super) run: String,
    /// The reason.
    pub(super) reason: String,
}

/// A scenario in a run.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The identity.
    pub(super) scenario: String,
    /// The name of the folder of the run.
    pub(super) run: String,
    /// The start of the run, RFC 3339 in UTC.
    pub(super) started_at: String,
    /// The commit of the source.
    pub(super) commit: Option<String>,
    /// True if the work tree differed from the commit.
    pub(super) dirty: Option<bool>,
    /// The version that was run, or was to run; `None` where that is not known.
    pub(super) version: Option<Version>,
    /// The load; `None` likewise.
    pub(super) load: Option<Setting>,
    /// The outcome.
    pub(super) outcome: Outcome,
}

/// A version of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Version {
    /// The hash of its source.
    pub(super) fingerprint: String,
    /// Its own words, where it has some.
    pub(super) words: Option<String>,
}

/// A load and its target, in words: runs of which these differ are not to be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Setting {
    /// The load, or what was searched for.
    pub(super) load: String,
    /// The base URL; `None` where the scenario started the target itself, or names it in each URL.
    pub(super) target: Option<String>,
}

/// The outcome of a scenario in a run.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    /// It was measured.
    Measured(Figures),
    /// It was searched for its capacity.
    Searched {
        /// The verdict: `CONFIRMED`.
        verdict: &'static str,
        exit_code: u8,
        /// The highest rate that was confirmed.
        per_second: Option<f64>,
    },
    /// It did not run.
    NotRun { exit_code: u8, reason: String },
    /// It runs now.
    UnderWay,
}

/// The figures of a run.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub(super) verdict: Verdict,
    pub(super) grade: Option<Letter>,
    pub(super) score: Option<f64>,
    /// p95 of the journey, or of the only step.
    pub(super) p95: Option<Duration>,
    pub(super) error_rate: Option<f64>,
    /// The reason why the measurement cannot be trusted.
    pub(super) spoilt: Option<String>,
}

impl Archive {
    /// Reads all runs.
    ///
    /// # Errors
    /// When the store cannot be read, or holds no run.
    pub(super) fn read(store: &Store) -> Result<Self, Error> {
        let mut runs = store.runs()?;
        // The newest first.
        runs.reverse();
        let mut archive = Self {
            directory: store.directory().to_path_buf(),
            entries: Vec::new(),
            unreadable: Vec::new(),
        };
        for run in &runs {
            match entries(run) {
                Ok(entries) => archive.entries.extend(entries),
                // Another process removed it in between.
                Err(_) if !run.path().exists() => {}
                Err(error) => archive.unreadable.push(Unreadable {
                    run: run.identifier(),
                    reason: error.to_string(),
                }),
            }
        }
        // A folder may be renamed.
        archive
            .entries
            .sort_by(|one, other| other.started_at.cmp(&one.started_at));
        Ok(archive)
    }

    /// The identities of the scenarios, in their order.
    pub(super) fn scenarios(&self) -> Vec<String> {
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
fn entries(run: &RunFolder) -> Result<Vec<Entry>, Error> {
    if run.is_under_way() {
        return Ok(under_way(run, &run.read_header()?));
    }
    let record = run.read()?;
    let comparison = run.read_comparison(&record)?;
    Ok(of_record(&run.identifier(), record, comparison.as_ref()))
}

fn under_way(run: &RunFolder, header: &RunRecord) -> Vec<Entry> {
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
pub(super) fn of_record(
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
            verdict: search.verdict.name(),
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
                Outcome::Measured(Figures::from_card(card)),
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
    pub(super) fn verdict(&self) -> &'static str {
        match &self.outcome {
            Outcome::Measured(figures) => figures.verdict.name(),
            Outcome::Searched { verdict, .. } => verdict,
            Outcome::NotRun { .. } => "DID NOT RUN",
            Outcome::UnderWay => "UNDER WAY",
        }
    }

    /// The exit code that says the same; `None` as long as there is none.
    pub(super) fn exit_code(&self) -> Option<u8> {
        match &self.outcome {
            Outcome::Measured(figures) => Some(figures.verdict.exit_code()),
            Outcome::Searched { exit_code, .. } | Outcome::NotRun { exit_code, .. } => {
                Some(*exit_code)
            }
            Outcome::UnderWay => None,
        }
    }

    /// The figures, where it was measured.
    pub(super) fn figures(&self) -> Option<&Figures> {
        match &self.outcome {
            Outcome::Measured(figures) => Some(figures),
            _ => None,
        }
    }

    /// The p95 that a trend is made of: that of a run which came to its end and measured its target.
    pub(super) fn sound_p95(&self) -> Option<Duration> {
        let figures = self.figures()?;
        figures.p95.filter(|_| figures.spoilt.is_none())
    }

    /// Returns the reason why there is no usable measurement.
    pub(super) fn reason(&self) -> Option<&str> {
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
    pub(super) fn short(&self) -> &str {
        short(&self.fingerprint)
    }
}

impl Figures {
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
pub(super) fn short(hash: &str) -> &str {
    hash.char_indices()
        .nth(8)
        .map_or(hash, |(end, _)| &hash[..end])
}
