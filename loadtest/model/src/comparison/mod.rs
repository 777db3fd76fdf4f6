//! The comparison of runs: changes beyond chance and beyond a margin.
//!
//! A change is distinguished from chance by drawing both runs anew, many times, from blocks of their own seconds
//! (a bootstrap); and it matters only beyond a margin, since two runs of the same system differ as well
//! (an equivalence test).

mod bootstrap;
mod chance;
mod comparable;
mod compared;
mod observed;
mod pruned;
mod refusal;
mod series;
#[cfg(test)]
mod tests;
mod words;

use crate::definition::{Shape, StepDef};
use crate::random::mix_bits;
use bootstrap::Drawn;
pub(crate) use bootstrap::block_length;
use comparable::find_refusals;
pub use comparable::{
    Differs, PlannedRun, SHORTEST_STEADY_PART, Side, find_difference, refuse_planned_run,
};
use compared::Common;
pub use compared::{Change, Compared, Figure, Margin};
pub use observed::ObservedCompared;
pub use refusal::Refusal;
use serde::{Deserialize, Serialize};
use series::{Measured, Series};
use std::collections::BTreeMap;

/// The comparison of a run with a baseline: a file beside the record, which holds what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunComparison {
    /// The identifier of the run.
    pub run_id: String,
    /// The comparison of each scenario, by its identity.
    pub scenarios: BTreeMap<String, BaselineComparison>,
}

/// The comparison of one scenario with a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineComparison {
    /// The name of the baseline.
    pub baseline: String,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: ComparisonOutcome,
}

/// The outcome of comparing a run with a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ComparisonOutcome {
    /// They were compared.
    Compared(Comparison),
    /// They are not comparable.
    Refused {
        /// Everything that speaks against it.
        refusals: Vec<Refusal>,
    },
    /// The baseline holds no run of the scenario.
    Absent,
}

/// A run beside a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The identity of the scenario.
    pub scenario: String,
    /// The runs of the baseline.
    pub base: Vec<String>,
    /// The run that is compared with them.
    pub new: String,
    /// The smallest change that counts.
    pub margin: Margin,
    /// True if users wait for answers, so that slower answers are fewer.
    #[serde(default)]
    pub is_closed: bool,
    /// The journey, then the steps.
    pub subjects: Vec<Subject>,
    /// Figures of the target's own side, which no verdict depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedCompared>,
}

/// The journey or a step, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The step; `None` for the journey.
    pub step: Option<String>,
    /// The reason why it is not compared, if it is not.
    pub skipped: Option<Skipped>,
    /// Its figures.
    pub figures: Vec<Compared>,
}

/// The reason why a step, or the whole iteration, is not compared though the runs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// Its source is another one; of a journey, the source of one of its steps.
    Changed,
    /// The baseline does not have it.
    Added,
    /// Only the baseline has it.
    Removed,
    /// A run of the baseline did not execute it once in its steady part, or none did.
    Idle,
}

impl Comparison {
    /// Compares a run with those of a baseline.
    ///
    /// # Errors
    /// Everything that speaks against it, of any of the runs.
    ///
    /// # Panics
    /// Without a run in the baseline.
    pub fn compare_sides(base: &[Side<'_>], new: &Side<'_>) -> Result<Self, Vec<Refusal>> {
        assert!(!base.is_empty(), "a baseline has a run");
        let mut against = Vec::new();
        for refusal in base.iter().flat_map(|base| find_refusals(base, new)) {
            if !against.contains(&refusal) {
                against.push(refusal);
            }
        }
        if !against.is_empty() {
            return Err(against);
        }
        let steps = pair_steps(base, new);
        // A journey with another step takes another time, from any target.
        let is_same = steps.iter().all(|(_, at)| at.is_ok());
        let journey = if is_same {
            Ok(None)
        } else {
            Err(Skipped::Changed)
        };
        let all: Vec<_> = std::iter::once((None, journey))
            .chain(steps.into_iter().map(|(name, at)| (Some(name), at)))
            .collect();
        let is_closed = matches!(
            new.scenario.start.plan.load.shape,
            Shape::Users { .. } | Shape::Iterations { .. } | Shape::UserStages { .. }
        );
        let common = Common {
            margin: Margin::for_runs(base.len()),
            steps: all
                .iter()
                .filter(|(step, at)| step.is_some() && at.is_ok())
                .count(),
            further: all
                .iter()
                .filter_map(|(_, at)| at.as_ref().ok()?.as_ref())
                .map(|places| list_measured(base, new, places).len() - 1)
                .sum(),
            is_closed,
        };
        let seed = base
            .iter()
            .chain([new])
            .fold(0, |seed, side| hash_run(seed, side.run_id));
        Ok(Self {
            scenario: new.scenario.start.definition.identity(),
            base: base.iter().map(|side| side.run_id.to_owned()).collect(),
            new: new.run_id.to_owned(),
            margin: common.margin,
            is_closed,
            subjects: all
                .into_iter()
                .map(|(step, at)| Subject::from_places(step, at, base, new, &common, seed))
                .collect(),
            observed: ObservedCompared::all(base, new),
        })
    }

    /// Returns the figures that became worse beyond margin and chance, each finding once. Fewer executions of all
    /// steps are no finding beside fewer iterations; fewer iterations are none where users wait longer for answers.
    pub fn regressions(&self) -> impl Iterator<Item = (&Subject, &Compared)> {
        let worse = |found: &&Compared| found.verdict == Change::Regressed;
        let all = || {
            self.subjects.iter().flat_map(move |subject| {
                let figures = subject.figures.iter().filter(worse);
                figures.map(move |found| (subject, found))
            })
        };
        let is_rate = |found: &Compared| found.figure == Figure::Rps;
        let fewer_journeys = all().any(|(subject, found)| subject.step.is_none() && is_rate(found));
        let slower = all().any(|(_, found)| found.figure.is_time());
        all().filter(move |(subject, found)| {
            let follows = if subject.step.is_some() {
                fewer_journeys || (self.is_closed && slower)
            } else {
                self.is_closed && slower
            };
            !(is_rate(found) && follows)
        })
    }
}

impl Subject {
    fn from_places(
        step: Option<String>,
        at: Result<Option<Places>, Skipped>,
        base: &[Side<'_>],
        new: &Side<'_>,
        common: &Common,
        seed: u64,
    ) -> Self {
        let figures = at.as_ref().map_or_else(
            |_| Vec::new(),
            |places| {
                let measured = places.as_ref().map_or_else(
                    || vec![Measured::Whole],
                    |places| list_measured(base, new, places),
                );
                let place = |run: usize| places.as_ref().map(|places| places[run]);
                let compare = |measured: Measured| {
                    let drawn = |(i, side): (usize, &Side<'_>)| {
                        let series = Series::from_record(side.scenario, place(i), measured);
                        Drawn::from_series(&series, hash_run(seed, side.run_id))
                    };
                    let all: Vec<Drawn> = base.iter().chain([new]).enumerate().map(drawn).collect();
                    let (new, base) = all.split_last().expect("there is the new run");
                    compared::compare_figures(measured, base, new, common)
                };
                measured.into_iter().flat_map(compare).collect()
            },
        );
        let idle = (at.is_ok() && figures.is_empty()).then_some(Skipped::Idle);
        Self {
            step,
            skipped: at.err().or(idle),
            figures,
        }
    }
}

/// The number of a step in each run of the baseline, and in the new one.
type Places = Vec<usize>;

/// What all runs have of a step: its executions, its streams, and what is good of it.
fn list_measured(base: &[Side<'_>], new: &Side<'_>, places: &Places) -> Vec<Measured> {
    let has = |measured: &Measured| {
        base.iter().chain([new]).zip(places).all(|(side, at)| {
            let mut cells = side.scenario.cells.cells.iter();
            let definition = &side.scenario.start.definition;
            match measured {
                Measured::Whole => true,
                Measured::FirstEvent | Measured::PerUnit => cells.any(|cell| {
                    cell.steps
                        .get(*at)
                        .is_some_and(|step| step.stream.is_some())
                }),
                Measured::Good => !definition.steps[*at].good.is_empty(),
            }
        })
    };
    Measured::ALL.into_iter().filter(has).collect()
}

/// The steps of the new run, in their order, and where they are; then those that only a baseline has.
fn pair_steps(base: &[Side<'_>], new: &Side<'_>) -> Vec<(String, Result<Option<Places>, Skipped>)> {
    let place = |side: &Side<'_>, wanted: &StepDef| {
        let mut steps = side.scenario.start.definition.steps.iter();
        steps.position(|step| step.name == wanted.name)
    };
    let mut all = Vec::new();
    for (at, step) in new.scenario.start.definition.steps.iter().enumerate() {
        let found: Option<Places> = base.iter().map(|side| place(side, step)).collect();
        let result = found.ok_or(Skipped::Added).and_then(|mut places| {
            let is_same = |(side, at): (&Side<'_>, &usize)| {
                side.scenario.start.definition.steps[*at].fingerprint == step.fingerprint
            };
            if base.iter().zip(&places).all(is_same) {
                places.push(at);
                Ok(Some(places))
            } else {
                Err(Skipped::Changed)
            }
        });
        all.push((step.name.to_string(), result));
    }
    for step in base
        .iter()
        .flat_map(|side| &*side.scenario.start.definition.steps)
    {
        if all.iter().all(|(name, _)| **name != *step.name) {
            all.push((step.name.to_string(), Err(Skipped::Removed)));
        }
    }
    all
}

/// Numbers that depend on the runs alone, so that the same runs are drawn in the same way.
fn hash_run(seed: u64, run_id: &str) -> u64 {
    run_id
        .bytes()
        .fold(seed, |sum, byte| mix_bits(sum ^ u64::from(byte)))
}
