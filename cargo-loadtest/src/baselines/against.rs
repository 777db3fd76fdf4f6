//! A run beside a baseline, before its load and after it.

use super::{Baseline, BaselineRun};
use loadtest_console::error::Error;
use loadtest_model::card::Validity;
use loadtest_model::comparison::{
    BaselineComparison, Comparison, ComparisonOutcome, PlannedRun, Refusal, RunComparison, Side,
    refuse_planned_run,
};
use loadtest_model::record::{RunRecord, ScenarioRecord};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A baseline as it was when it was read: what happens to it during a run changes nothing.
#[derive(Debug)]
pub(crate) struct Against {
    name: String,
    /// The runs of each scenario, by its identity.
    runs: BTreeMap<String, Vec<BaselineRun>>,
}

impl Against {
    /// Reads the runs of the scenarios that are compared.
    ///
    /// # Errors
    /// A file that is damaged or newer than this tool.
    pub(crate) fn read(
        baseline: &Baseline,
        scenarios: impl IntoIterator<Item = String>,
    ) -> Result<Self, Error> {
        let mut runs = BTreeMap::new();
        for scenario in scenarios {
            let of_scenario = baseline.runs(&scenario)?;
            runs.insert(scenario, of_scenario);
        }
        Ok(Self {
            name: baseline.name().to_owned(),
            runs,
        })
    }

    fn sides(&self, identity: &str) -> Vec<Side<'_>> {
        let runs = self.runs.get(identity).into_iter().flatten();
        runs.map(BaselineRun::side).collect()
    }

    /// Refuses, before anything is sent, what could not be compared afterwards.
    ///
    /// # Errors
    /// Every reason.
    pub(crate) fn check(&self, planned: &[PlannedRun<'_>]) -> Result<(), Error> {
        let mut refusals = Vec::new();
        for run in planned {
            let identity = run.definition.identity();
            let base = self.sides(&identity);
            // One that the baseline does not know runs all the same.
            if !base.is_empty() {
                let found = refuse_planned_run(&base, run);
                refusals.extend(found.into_iter().map(|refusal| (identity.clone(), refusal)));
            }
        }
        if refusals.is_empty() {
            Ok(())
        } else {
            let mut message = format!(
                "nothing was sent: the run could not be compared with the baseline `{}`",
                self.name
            );
            let mut helps = Vec::new();
            for (scenario, refusal) in refusals {
                let _ = write!(message, "\n  `{scenario}`: {refusal}");
                helps.push(refusal.help());
            }
            helps.dedup();
            Err(Error::usage(message).with_help(helps.join("\n")))
        }
    }

    /// Compares each scenario of a run.
    pub(crate) fn compare(&self, record: &RunRecord) -> RunComparison {
        let compare = |scenario: &ScenarioRecord| {
            let identity = scenario.start.definition.identity();
            let new = Side {
                run_id: &record.run_id,
                environment: &record.environment,
                scenario,
                trust: Validity::so_far(scenario).trust,
            };
            let comparison = BaselineComparison {
                baseline: self.name.clone(),
                outcome: compared(&self.sides(&identity), &new),
            };
            (identity, comparison)
        };
        RunComparison {
            run_id: record.run_id.clone(),
            scenarios: record.scenarios.iter().map(compare).collect(),
        }
    }
}

/// Compares a run with others, leaving itself out.
pub(crate) fn compared(base: &[Side<'_>], new: &Side<'_>) -> ComparisonOutcome {
    if base.is_empty() {
        return ComparisonOutcome::Absent;
    }
    let others: Vec<Side<'_>> = base
        .iter()
        .filter(|side| side.run_id != new.run_id)
        .copied()
        .collect();
    if others.is_empty() {
        let run_id = new.run_id.to_owned();
        return ComparisonOutcome::Refused {
            refusals: vec![Refusal::Same { run_id }],
        };
    }
    match Comparison::compare_sides(&others, new) {
        Ok(comparison) => ComparisonOutcome::Compared(comparison),
        Err(refusals) => ComparisonOutcome::Refused { refusals },
    }
}
