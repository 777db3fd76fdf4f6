//! Saves a run in a baseline: which may be saved, and which are removed for it.

use super::run::BaselineRun;
use super::{Baseline, files, in_force, read, remove};
use loadtest_console::error::Error;
use loadtest_console::file_names;
use loadtest_model::card::{Card, Report, Trust, Verdict};
use loadtest_model::comparison::{Differs, Refusal, RunComparison, SHORTEST_STEADY_PART};
use loadtest_model::display;
use loadtest_model::record::{EndReason, RunRecord, ScenarioRecord};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The result of saving a scenario of a run.
#[derive(Debug)]
pub(crate) struct SaveResult {
    pub(crate) scenario: String,
    pub(crate) outcome: Result<SavedRun, SaveRefusal>,
}

/// A saved run.
#[derive(Debug, Default)]
pub(crate) struct SavedRun {
    /// The number of runs of the scenario that count now.
    pub(crate) runs: usize,
    /// Descriptions of the removed runs: `3 runs of an older version`.
    pub(crate) left: Vec<String>,
    /// The failed conditions of its gate, which do not prevent saving.
    pub(crate) failed: Vec<String>,
}

/// The reason why a run was not saved, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SaveRefusal {
    pub(crate) why: String,
    pub(crate) help: String,
}

impl SaveRefusal {
    fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            help: help.into(),
        }
    }
}

/// Options of saving.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SaveOptions {
    /// So many of each scenario, the newest.
    pub(crate) keep: usize,
    /// True to remove all other runs.
    pub(crate) replace: bool,
}

impl Baseline {
    /// Keeps the scenarios of a run. Each file is written before any leaves for it.
    ///
    /// # Errors
    /// What cannot be read or written; that a scenario cannot be kept is in its outcome.
    pub(crate) fn save(
        &self,
        record: &RunRecord,
        comparison: Option<&RunComparison>,
        options: SaveOptions,
    ) -> Result<Vec<SaveResult>, Error> {
        let report = Report::grade(record, comparison);
        let mut all = Vec::new();
        let mut written = Vec::new();
        for (scenario, card) in record.scenarios.iter().zip(&report.cards) {
            let outcome = match judge_scenario(record, scenario, card) {
                Err(refused) => Err(refused),
                Ok(failed) => {
                    let run = BaselineRun::from_record(record, scenario, self.folder())?;
                    let path = run.path.clone();
                    let run = self.keep(&run, options)?;
                    if run.is_ok() {
                        written.push(path);
                    }
                    run.map(|place| SavedRun { failed, ..place })
                }
            };
            all.push(SaveResult {
                scenario: card.identity.clone(),
                outcome,
            });
        }
        if options.replace && !written.is_empty() {
            self.forget_all_but(&written)?;
        }
        Ok(all)
    }

    fn keep(
        &self,
        run: &BaselineRun,
        options: SaveOptions,
    ) -> Result<Result<SavedRun, SaveRefusal>, Error> {
        if options.replace {
            run.write()?;
            return Ok(Ok(SavedRun {
                runs: 1,
                ..SavedRun::default()
            }));
        }
        let identity = run.identity();
        let folder = self.folder().join(file_names::scenario_folder(&identity));
        let mut others = read(&files(&folder)?.runs, &identity)?;
        others.retain(|other| other.path != run.path);
        let path = run.path.clone();
        others.push(run.clone());
        let leaving = runs_to_remove(others, options.keep);
        if leaving.iter().any(|(leaving, _)| leaving.path == path) {
            return Ok(Err(SaveRefusal::new(
                "the baseline has newer runs of it, which it would leave for",
                "`--replace` forgets them; `--keep N` keeps more of the same version, load and target",
            )));
        }
        run.write()?;
        let mut left: BTreeMap<Why, usize> = BTreeMap::new();
        for (leaving, why) in &leaving {
            remove(&leaving.path)?;
            *left.entry(*why).or_default() += 1;
        }
        Ok(Ok(SavedRun {
            runs: self.runs(&identity)?.len(),
            left: left
                .into_iter()
                .map(|(why, count)| {
                    format!(
                        "{}{}",
                        display::format_counted(count as u64, "run"),
                        why.describe()
                    )
                })
                .collect(),
            failed: Vec::new(),
        }))
    }

    fn forget_all_but(&self, written: &[PathBuf]) -> Result<(), Error> {
        for folder in super::folders(self.folder())? {
            for run in files(&folder)?.runs {
                if !written.contains(&run) {
                    remove(&run)?;
                }
            }
            // One that is not empty stays.
            let _ = std::fs::remove_dir(&folder);
        }
        Ok(())
    }
}

/// The reason why a run is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    Differs(Differs),
    Old,
}

impl Why {
    fn describe(self) -> String {
        match self {
            Self::Differs(differs) => format!(" of {differs}"),
            Self::Old => ", the oldest,".to_owned(),
        }
    }
}

/// Returns the runs of a scenario to remove: those that differ from the newest, and all but the newest `keep`.
fn runs_to_remove(all: Vec<BaselineRun>, keep: usize) -> Vec<(BaselineRun, Why)> {
    let (mut counting, outdated) = in_force(all);
    let more = counting.len().saturating_sub(keep);
    let old = counting.drain(..more).map(|run| (run, Why::Old));
    let outdated = outdated
        .into_iter()
        .map(|(run, differs)| (run, Why::Differs(differs)));
    outdated.chain(old).collect()
}

/// Judges if a run can serve as a baseline; returns the failed conditions of its gate.
fn judge_scenario(
    record: &RunRecord,
    scenario: &ScenarioRecord,
    card: &Card,
) -> Result<Vec<String>, SaveRefusal> {
    if record.capacity.is_some() {
        return Err(SaveRefusal::new(
            "it is a search for the capacity, whose load changes",
            "save a run of `cargo loadtest run`",
        ));
    }
    if scenario.start.validity_off {
        return Err(SaveRefusal::new(
            "its validity was not judged",
            "save a run that was made without `LOADTEST_VALIDITY`",
        ));
    }
    let is_measured = matches!(card.verdict, Verdict::Passed | Verdict::Failed);
    if !is_measured || scenario.end.ending != EndReason::Completed {
        let mut causes = card.validity.causes.iter();
        let remedy = causes.find(|cause| cause.trust == Trust::Invalid);
        let reasons: Vec<_> = card.reasons.iter().map(ToString::to_string).collect();
        return Err(SaveRefusal::new(
            format!("it is {}: {}", card.verdict, reasons.join("; ")),
            remedy.map_or(
                "save a run that finished and measured its target",
                |cause| &cause.remedy,
            ),
        ));
    }
    let steady_us = scenario.end.steady_us;
    if u128::from(steady_us) < SHORTEST_STEADY_PART.as_micros() {
        let short = Refusal::TooShort {
            run_id: record.run_id.clone(),
            steady_us,
        };
        return Err(SaveRefusal::new(short.to_string(), short.help()));
    }
    Ok(card.reasons.iter().map(ToString::to_string).collect())
}
