//! Joins the records of shards into the record of their load.

use super::{EndReason, Environment, RunEnd, RunRecord, RunStart, ScenarioRecord, Trust};
use crate::metrics::{Cells, Panicked, is_zero};
use crate::plan::Plan;
use crate::redacted::Redacted;
use crate::shard::{Shard, UniteError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What one shard made of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardRun {
    /// The identifier of its run.
    pub run_id: String,
    /// Its part of the load.
    pub shard: Shard,
    /// The time its load began, RFC 3339 in UTC.
    pub started_at: String,
    /// The time from the start of the first shard to its own, in microseconds.
    pub began_after_us: u64,
    /// Its machine and source.
    pub environment: Environment,
    /// Worker threads.
    pub workers: u32,
    /// Iterations that were to start.
    pub planned: u64,
    /// Those that started.
    pub started: u64,
    /// Those for which no user was free.
    pub dropped: u64,
    /// What its own process saw that speaks against the measurement, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<ShardDoubt>,
    /// p99 of the delay of starts by the generator, in microseconds.
    pub late_p99_us: Option<u64>,
    /// The longest of these delays in each cell of the record, in microseconds; `None` where nothing is known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latest_us: Vec<Option<u64>>,
    /// The highest share of one core that any one worker used in a second, a share of one.
    pub busiest_worker: f64,
    /// The machine that made it for a controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRun>,
}

/// The agent that made a shard for a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRun {
    /// The name of its machine.
    pub host: String,
    /// What its clock showed more than that of the controller, in microseconds.
    pub clock_offset_us: i64,
    /// The most by which that can be wrong, in microseconds.
    pub clock_error_us: u64,
    /// What its clock gained on that of the controller by the last measurement, in microseconds; `None` of a run too
    /// short for another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_drift_us: Option<i64>,
    /// The reason why it did not make all of its part, or not all that it measured is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Redacted>,
    /// The iterations of its part that are not known to have started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_run: u64,
}

/// Something that speaks against the part of a measurement that a shard made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardDoubt {
    /// The severity.
    pub trust: Trust,
    /// The observation.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

impl ShardRun {
    /// Returns the trust in its part.
    pub fn trust(&self) -> Trust {
        let worst = self.doubts.iter().map(|doubt| doubt.trust).max();
        worst.unwrap_or(Trust::Valid)
    }

    /// Returns the word on it: `LOST`, or that of its trust.
    pub fn state(&self) -> &'static str {
        let is_lost = (self.agent.as_ref()).is_some_and(|agent| agent.lost.is_some());
        if is_lost { "LOST" } else { self.trust().name() }
    }
}

/// The reason why records are not the shards of one load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A part is missing, or there twice.
    #[error("the runs are not one load: {what}; {runs}")]
    Parts {
        /// What is wrong.
        what: UniteError,
        /// The runs and what they are: `shard 1/3 is the run a`.
        runs: String,
    },
    /// A run of a whole load.
    #[error("the run {run_id} is not a shard, but a whole load: its record has no `plan.shard`")]
    Whole {
        /// The run.
        run_id: String,
    },
    /// Two runs of which something differs that all shards have alike.
    #[error("the runs {one} and {other} differ in {what}, so they are not shards of one load")]
    Different {
        /// A run.
        one: String,
        /// The other one.
        other: String,
        /// What differs: `their seed`.
        what: String,
    },
    /// A shard without one of the scenarios.
    #[error("the run {run_id} has no measurement of `{scenario}`")]
    NotRun {
        /// The run.
        run_id: String,
        /// The scenario.
        scenario: String,
    },
    /// A search for a capacity.
    #[error("the run {run_id} is a search for a capacity, which is not divided")]
    Search {
        /// The run.
        run_id: String,
    },
}

/// Joins the records of all shards of a load into the scenarios as if one process had run them: counters are added, histograms bucket by bucket.
///
/// # Errors
/// Everything that speaks against that.
pub fn merge_shards(records: &[RunRecord]) -> Result<Vec<ScenarioRecord>, Vec<MergeError>> {
    let mut records: Vec<&RunRecord> = records.iter().collect();
    records.sort_by_key(|record| shard_of(record));
    let errors = find_obstacles(&records);
    if !errors.is_empty() {
        return Err(errors);
    }
    let scenarios = records[0].scenarios.iter().map(|first| {
        let identity = first.start.definition.identity();
        let parts = records.iter().flat_map(|record| {
            let own = record.scenarios.iter();
            own.map(move |scenario| (*record, scenario))
        });
        let own = parts.filter(|(_, part)| part.start.definition.identity() == identity);
        let parts = own.clone().map(|(_, part)| part.clone());
        let mut whole = parts.reduce(join_parts).unwrap_or_else(|| first.clone());
        let shards = own.map(|(record, part)| ShardRun {
            latest_us: find_latest(&part.cells, &whole.cells),
            ..describe_shard(record, part)
        });
        let shards = shards.collect();
        whole.start.plan.shard = Shard::WHOLE;
        whole.shards = shards;
        whole
    });
    Ok(scenarios.collect())
}

fn shard_of(record: &RunRecord) -> Shard {
    let first = record.scenarios.first();
    first.map_or(Shard::WHOLE, |scenario| scenario.start.plan.shard)
}

fn find_obstacles(records: &[&RunRecord]) -> Vec<MergeError> {
    let mut errors = Vec::new();
    for record in records {
        let run_id = record.run_id.clone();
        if record.capacity.is_some() {
            errors.push(MergeError::Search { run_id });
        } else if record
            .scenarios
            .iter()
            .any(|one| one.start.plan.shard.is_whole())
        {
            errors.push(MergeError::Whole { run_id });
        } else {
            errors.extend(record.not_run.iter().map(|not_run| MergeError::NotRun {
                run_id: record.run_id.clone(),
                scenario: not_run.scenario.clone(),
            }));
        }
    }
    if !errors.is_empty() {
        return errors;
    }
    let shards: Vec<Shard> = records.iter().map(|record| shard_of(record)).collect();
    if let Err(what) = Shard::unite(&shards) {
        let runs = records.iter().zip(&shards);
        let runs = runs.map(|(record, shard)| format!("{shard} is the run {}", record.run_id));
        let runs = runs.collect::<Vec<_>>().join(", ");
        errors.push(MergeError::Parts { what, runs });
    }
    if let Some((first, others)) = records.split_first() {
        for other in others {
            errors.extend(compare(first, other));
        }
    }
    errors
}

/// Returns what two shards of a load do not have alike.
fn compare(one: &RunRecord, other: &RunRecord) -> Vec<MergeError> {
    let mut errors = Vec::new();
    let known = |record: &RunRecord, identity: &str| {
        let mut all = record.scenarios.iter();
        all.find(|scenario| scenario.start.definition.identity() == identity)
            .cloned()
    };
    for (with, without) in [(one, other), (other, one)] {
        for scenario in &with.scenarios {
            let identity = scenario.start.definition.identity();
            if known(without, &identity).is_none() {
                errors.push(MergeError::NotRun {
                    run_id: without.run_id.clone(),
                    scenario: identity,
                });
            }
        }
    }
    for ours in &one.scenarios {
        let Some(theirs) = known(other, &ours.start.definition.identity()) else {
            continue;
        };
        errors.extend(ours.start.find_difference(&theirs.start).map(|what| {
            MergeError::Different {
                one: one.run_id.clone(),
                other: other.run_id.clone(),
                what,
            }
        }));
    }
    errors.dedup();
    errors
}

impl RunStart {
    /// Returns what it does not have alike with the start of another shard of the same load: `their seed`.
    pub fn find_difference(&self, other: &Self) -> Option<String> {
        let plan_of = |start: &Self| {
            let mut plan = start.plan.clone();
            plan.shard = Shard::WHOLE;
            plan
        };
        let what = if self.definition.revision() != other.definition.revision() {
            "the version of their scenario"
        } else if self.executable_hash != other.executable_hash {
            "their program, which must be the same file"
        } else if self.plan.seed != other.plan.seed {
            "their seed"
        } else if plan_of(self) != plan_of(other) {
            let fields = list_different_fields(&plan_of(self), &plan_of(other));
            return Some(format!("their load or limits ({fields})"));
        } else if self.base_url != other.base_url {
            "their target"
        } else {
            return None;
        };
        Some(what.to_owned())
    }
}

/// Names the fields that two plans do not have alike, as records have them: `plan.rows`.
fn list_different_fields(one: &Plan, other: &Plan) -> String {
    let fields = |plan| match serde_json::to_value(plan) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (one, other) = (fields(one), fields(other));
    let names: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let different = names
        .into_iter()
        .filter(|name| one.get(*name) != other.get(*name));
    let listed = different.map(|name| {
        let lacks = !one.contains_key(name) || !other.contains_key(name);
        format!(
            "`plan.{name}`{}",
            if lacks {
                ", which one of them lacks"
            } else {
                ""
            }
        )
    });
    listed.collect::<Vec<_>>().join(", ")
}

fn describe_shard(record: &RunRecord, scenario: &ScenarioRecord) -> ShardRun {
    let windows = scenario.windows.all();
    let journeys = windows.iter().map(|tally| &tally.journey);
    let lateness = scenario.windows.steady.journey.lateness.quantile(0.99);
    let busiest = scenario.cells.cells.iter();
    ShardRun {
        run_id: record.run_id.clone(),
        shard: scenario.start.plan.shard,
        started_at: scenario.start.started_at.clone(),
        began_after_us: 0,
        environment: record.environment.clone(),
        workers: scenario.start.workers,
        planned: scenario.end.planned,
        started: journeys.clone().map(|journey| journey.started).sum(),
        dropped: journeys.map(|journey| journey.dropped).sum(),
        doubts: Vec::new(),
        late_p99_us: lateness.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX)),
        latest_us: Vec::new(),
        busiest_worker: busiest
            .map(|cell| cell.health.busiest_worker)
            .fold(0.0, f64::max),
        agent: None,
    }
}

/// Returns the longest delay of starts of a part in each cell of the whole.
fn find_latest(part: &Cells, whole: &Cells) -> Vec<Option<u64>> {
    let mut latest = vec![None; whole.cells.len()];
    for cell in &part.cells {
        let place = whole
            .cells
            .partition_point(|wide| wide.second <= cell.second);
        if let Some(wide) = latest.get_mut(place.saturating_sub(1)) {
            *wide = Some(cell.latest_us).max(*wide);
        }
    }
    latest
}

/// Adds what another shard measured of a scenario.
fn join_parts(mut sum: ScenarioRecord, part: ScenarioRecord) -> ScenarioRecord {
    sum.windows.merge(&part.windows);
    sum.cells.add_simultaneous(&part.cells);
    let (start, other) = (&mut sum.start, part.start);
    start.workers += other.workers;
    start.validity_off |= other.validity_off;
    start.target_in_process |= other.target_in_process;
    start.started_at = start.started_at.clone().min(other.started_at);
    for permit in other.permits {
        if !start.permits.contains(&permit) {
            start.permits.push(permit);
        }
    }
    sum.end = join_ends(sum.end, part.end);
    sum
}

fn join_ends(mut sum: RunEnd, part: RunEnd) -> RunEnd {
    if severity(&part.ending) > severity(&sum.ending) {
        sum.ending = part.ending;
    }
    sum.elapsed_us = sum.elapsed_us.max(part.elapsed_us);
    sum.planned += part.planned;
    sum.steady_us = sum.steady_us.max(part.steady_us);
    sum.complete &= part.complete;
    sum.out_of_rows |= part.out_of_rows;
    sum.target_death = sum.target_death.or(part.target_death);
    if let Some(samples) = part.samples {
        sum.samples.get_or_insert_default().merge(samples);
    }
    for panic in part.panics {
        add_panic(&mut sum.panics, panic);
    }
    sum
}

fn add_panic(all: &mut Vec<Panicked>, panic: Panicked) {
    match all
        .iter_mut()
        .find(|known| known.location == panic.location)
    {
        Some(known) => known.count += panic.count,
        None => all.push(panic),
    }
}

/// How much less than the plan an ending leaves.
const fn severity(ending: &EndReason) -> u8 {
    match ending {
        EndReason::Completed => 0,
        EndReason::Interrupted => 1,
        EndReason::Halted { .. } => 2,
        EndReason::ThresholdBroken { .. } | EndReason::ObservedBroken { .. } => 3,
        EndReason::Panicked => 4,
        EndReason::Aborted => 5,
        EndReason::Stuck { .. } => 6,
        EndReason::Died { .. } => 7,
        EndReason::AgentLost { .. } => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::sample;
    use crate::definition::Letter;
    use crate::metrics::Cell;
    use std::time::Duration;

    fn cells(width: u32, latest: &[u64]) -> Cells {
        let cells = latest.iter().zip(0..).map(|(latest_us, at)| Cell {
            second: at * width,
            seconds: width,
            latest_us: *latest_us,
            ..Cell::default()
        });
        Cells {
            width,
            cells: cells.collect(),
        }
    }

    #[test]
    fn the_delays_of_a_part_are_those_of_its_seconds_in_each_cell_of_the_whole() {
        let whole = cells(2, &[0, 0, 0]);
        let part = cells(1, &[5, 9, 1, 0]);
        assert_eq!(find_latest(&part, &whole), [Some(9), Some(1), None]);
    }

    #[test]
    fn what_the_record_of_one_shard_lacks_is_named() {
        let start = sample::record(&["login"]).start;
        let mut other = start.clone();
        assert_eq!(start.find_difference(&other), None);
        other.plan.min_grade = Some(Letter::A);
        other.plan.graceful_stop += Duration::from_secs(1);
        let what = start.find_difference(&other).unwrap();
        assert_eq!(
            what,
            "their load or limits (`plan.graceful_stop_us`, `plan.min_grade`, which one of them lacks)"
        );
    }
}
