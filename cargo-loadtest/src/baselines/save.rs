//! Keeping a run in a baseline: which may be kept, and which leave for it.

use super::kept::Kept;
use super::{Baseline, files, in_force, read, remove};
use crate::error::Error;
use crate::file_names;
use loadtest_model::card::{Card, Report, Trust, Verdict};
use loadtest_model::comparison::{Differs, Refusal, RunComparison, SHORTEST_STEADY_PART};
use loadtest_model::display;
use loadtest_model::record::{EndReason, RunRecord, ScenarioRecord};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The result of saving a scenario of a run.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(crate) scenario: String,
    pub(crate) outcome: Result<Place, Refused>,
}

/// A saved run.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The number of runs of the scenario that count now.
    pub(crate) runs: usize,
    /// Descriptions of the removed runs: `3 runs of an older version`.
    pub(crate) left: Vec<String>,
    /// The failed conditions of its gate, which do not prevent saving.
    pub(crate) failed: Vec<String>,
}

/// The reason why a run was not saved, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) why: String,
    pub(crate) help: String,
}

impl Refused {
    fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            help: help.into(),
        }
    }
}

/// Options of saving.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeping {
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
        keeping: Keeping,
    ) -> Result<Vec<Saved>, Error> {
        let report = Report::grade(record, comparison);
        let mut all = Vec::new();
        let mut written = Vec::new();
        for (scenario, card) in record.scenarios.iter().zip(&report.cards) {
            let outcome = match judge_scenario(record, scenario, card) {
                Err(refused) => Err(refused),
                Ok(failed) => {
                    let kept = Kept::from_record(record, scenario, self.folder())?;
                    let path = kept.path.clone();
                    let kept = self.keep(&kept, keeping)?;
                    if kept.is_ok() {
                        written.push(path);
                    }
                    kept.map(|place| Place { failed, ..place })
                }
            };
            all.push(Saved {
                scenario: card.identity.clone(),
                outcome,
            });
        }
        if keeping.replace && !written.is_empty() {
            self.forget_all_but(&written)?;
        }
        Ok(all)
    }

    fn keep(&self, kept: &Kept, keeping: Keeping) -> Result<Result<Place, Refused>, Error> {
        if keeping.replace {
            kept.write()?;
            return Ok(Ok(Place {
                runs: 1,
                ..Place::default()
            }));
        }
        let identity = kept.identity();
        let folder = self.folder().join(file_names::scenario_folder(&identity));
        let mut others = read(&files(&folder)?.runs, &identity)?;
        others.retain(|other| other.path != kept.path);
        let path = kept.path.clone();
        others.push(kept.clone());
        let leaving = runs_to_remove(others, keeping.keep);
        if leaving.iter().any(|(leaving, _)| leaving.path == path) {
            return Ok(Err(Refused::new(
                "the baseline has newer runs of it, which it would leave for",
                "`--replace` forgets them; `--keep N` keeps more of the same version, load and target",
            )));
        }
        kept.write()?;
        let mut left: BTreeMap<Why, usize> = BTreeMap::new();
        for (leaving, why) in &leaving {
            remove(&leaving.path)?;
            *left.entry(*why).or_default() += 1;
        }
        Ok(Ok(Place {
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
fn runs_to_remove(all: Vec<Kept>, keep: usize) -> Vec<(Kept, Why)> {
    let (mut counting, outdated) = in_force(all);
    let more = counting.len().saturating_sub(keep);
    let old = counting.drain(..more).map(|kept| (kept, Why::Old));
    let outdated = outdated
        .into_iter()
        .map(|(kept, differs)| (kept, Why::Differs(differs)));
    outdated.chain(old).collect()
}

/// Judges if a run can serve as a baseline; returns the failed conditions of its gate.
fn judge_scenario(
    record: &RunRecord,
    scenario: &ScenarioRecord,
    card: &Card,
) -> Result<Vec<String>, Refused> {
    if record.capacity.is_some() {
        return Err(Refused::new(
            "it is a search for the capacity, whose load changes",
            "save a run of `cargo loadtest run`",
        ));
    }
    if scenario.start.validity_off {
        return Err(Refused::new(
            "its validity was not judged",
            "save a run that was made without `LOADTEST_VALIDITY`",
        ));
    }
    let reasons = || {
        let words: Vec<_> = card.reasons.iter().map(ToString::to_string).collect();
        words.join("; ")
    };
    match card.verdict {
        Verdict::Passed | Verdict::Failed => {}
        Verdict::Invalid | Verdict::Internal => {
            let remedy = card
                .validity
                .causes
                .iter()
                .find(|cause| cause.trust == Trust::Invalid);
            let remedy = remedy.map_or("run it again", |cause| &cause.remedy);
            return Err(Refused::new(
                format!("it is {}: {}", card.verdict, reasons()),
                remedy,
            ));
        }
        Verdict::Interrupted => {
            return Err(Refused::new(
                format!("it was interrupted: {}", reasons()),
                "save a run that came to its end",
            ));
        }
        Verdict::NotPermitted | Verdict::Empty => {
            return Err(Refused::new(
                format!("nothing of use was measured: {}", reasons()),
                "save a run that measured something",
            ));
        }
    }
    if scenario.end.ending != EndReason::Completed {
        return Err(Refused::new(
            format!("it did not come to its end: {}", reasons()),
            "save a run that came to its end",
        ));
    }
    let steady_us = scenario.end.steady_us;
    if u128::from(steady_us) < SHORTEST_STEADY_PART.as_micros() {
        let short = Refusal::TooShort {
            run_id: record.run_id.clone(),
            steady_us,
        };
        return Err(Refused::new(short.to_string(), short.help()));
    }
    Ok(card.reasons.iter().map(ToString::to_string).collect())
}
