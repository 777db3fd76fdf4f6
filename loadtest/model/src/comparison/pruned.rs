//! The part of a run that a baseline keeps: enough for a comparison, and safe to commit.
//!
//! It is put together from what may stay, so that nothing else can: no text that a target or a user sent, no
//! path of the machine, no place of a source.

use super::comparable::bare_url;
use crate::definition::{ScenarioDef, StepDef};
use crate::metrics::{
    Cell, CellStep, CellStream, Cells, CompactHistogram, ErrorTally, JourneyTally, StepTally,
    Tally, Windows,
};
use crate::plan::Plan;
use crate::record::{
    Environment, ObservedSeries, RunEnd, RunRecord, RunStart, SCHEMA_VERSION, ScenarioRecord,
};
use crate::redacted::Redacted;
use crate::schedule::Schedule;
use crate::trace::Tracing;

/// A cell of a baseline holds at least so many seconds.
const LEAST_SECONDS: u32 = 5;
/// And its steady part about so many cells: blocks that are drawn hold three of them, or two.
const CELLS: u64 = 30;

impl RunRecord {
    /// The record of one scenario of the run alone, with what a comparison needs of it and no more.
    #[must_use]
    pub fn pruned(&self, scenario: &ScenarioRecord) -> Self {
        let environment = &self.environment;
        Self {
            schema_version: SCHEMA_VERSION,
            run_id: self.run_id.clone(),
            tool_version: self.tool_version.clone(),
            started_at: self.started_at.clone(),
            environment: Environment {
                git_commit: environment.git_commit.clone(),
                git_dirty: environment.git_dirty,
                os: environment.os.clone(),
                arch: environment.arch.clone(),
                cpus: environment.cpus,
                started_by: None,
            },
            scenarios: vec![prune_record(scenario)],
            not_run: Vec::new(),
            capacity: None,
            telemetry: Vec::new(),
        }
    }
}

fn prune_record(record: &ScenarioRecord) -> ScenarioRecord {
    let is_own = record.start.own_target || record.start.target_in_process;
    let (start, end) = (&record.start, &record.end);
    ScenarioRecord {
        start: RunStart {
            definition: prune_definition(&start.definition),
            plan: prune_plan(&start.plan),
            base_url: start.base_url.as_deref().filter(|_| !is_own).map(bare_url),
            own_target: start.own_target,
            target_in_process: start.target_in_process,
            permits: Vec::new(),
            offline: None,
            validity_off: start.validity_off,
            executable_hash: String::new(),
            workers: start.workers,
            started_at: start.started_at.clone(),
        },
        end: RunEnd {
            ending: end.ending.clone(),
            elapsed_us: end.elapsed_us,
            planned: end.planned,
            steady_us: end.steady_us,
            complete: end.complete,
            panics: Vec::new(),
            out_of_rows: end.out_of_rows,
            target_death: None,
            samples: None,
        },
        windows: Windows {
            warm_up: prune_tally(&record.windows.warm_up),
            ramp: prune_tally(&record.windows.ramp),
            steady: prune_timed_tally(&record.windows.steady),
        },
        cells: prune_cells(&record.cells, end.steady_us),
        shards: Vec::new(),
        observed: prune_observed(record),
        regraded: None,
    }
}

/// Keeps of each figure of the target's side one point: mean, maximum and last value of the steady part.
fn prune_observed(record: &ScenarioRecord) -> Vec<ObservedSeries> {
    let schedule = Schedule::new(&record.start.plan.load);
    let until = record.end.elapsed_us.div_ceil(1_000_000) as u32;
    let series = record.observed.iter().map(|series| ObservedSeries {
        name: series.name.clone(),
        unit: series.unit.clone(),
        source: Redacted::default(),
        width: series.width,
        points: Vec::from_iter(series.sum_steady(&schedule, until)),
        limit: None,
        gap: None,
    });
    series.collect()
}

fn prune_definition(scenario: &ScenarioDef) -> ScenarioDef {
    let step = |step: &StepDef| StepDef {
        weight: step.weight,
        fingerprint: step.fingerprint.clone(),
        good: step.good.clone(),
        ..StepDef::new(step.name.clone())
    };
    ScenarioDef {
        module: scenario.module.clone(),
        package: scenario.package.clone(),
        fingerprint: scenario.fingerprint.clone(),
        version: scenario.version.clone(),
        starts_target: scenario.starts_target,
        ..ScenarioDef::new(
            scenario.function.clone(),
            scenario.steps.iter().map(step).collect(),
        )
    }
}

fn prune_plan(plan: &Plan) -> Plan {
    Plan {
        load: plan.load.clone(),
        start: plan.start,
        default_load: plan.default_load,
        seed: plan.seed,
        max_users: plan.max_users,
        graceful_stop: plan.graceful_stop,
        grading: plan.grading.clone(),
        thresholds: Vec::new(),
        min_grade: None,
        rows: None,
        shard: plan.shard,
        tracing: plan.tracing.as_ref().map(|tracing| Tracing {
            link: None,
            ..*tracing
        }),
    }
}

/// Keeps the counts of a tally, so that the accounts balance.
fn prune_tally(tally: &Tally) -> Tally {
    let (journey, steps) = (&tally.journey, &tally.steps);
    Tally {
        journey: JourneyTally {
            started: journey.started,
            ok: journey.ok,
            failed: journey.failed,
            cancelled: journey.cancelled,
            dropped: journey.dropped,
            ..JourneyTally::default()
        },
        steps: steps.iter().map(counted_step).collect(),
        ..Tally::default()
    }
}

fn counted_step(step: &StepTally) -> StepTally {
    let error = |error: &ErrorTally| ErrorTally {
        example: Redacted::default(),
        sample: None,
        traced: None,
        ..error.clone()
    };
    StepTally {
        executed: step.executed,
        ok: step.ok,
        failed: step.failed,
        cancelled: step.cancelled,
        not_drawn: step.not_drawn,
        left_out: step.left_out,
        kept: step.kept,
        skipped: step.skipped,
        skipped_not_drawn: step.skipped_not_drawn,
        requests: step.requests,
        satisfied: step.satisfied,
        tolerating: step.tolerating,
        errors: step.errors.iter().map(error).collect(),
        ..StepTally::default()
    }
}

/// The same, and how long it took.
fn prune_timed_tally(tally: &Tally) -> Tally {
    let mut kept = prune_tally(tally);
    kept.journey.time = tally.journey.time.clone();
    kept.journey.failed_time = tally.journey.failed_time.clone();
    kept.journey.dropped_time = tally.journey.dropped_time.clone();
    for (kept, step) in kept.steps.iter_mut().zip(&tally.steps) {
        kept.response = step.response.clone();
        kept.failed_response = step.failed_response.clone();
    }
    kept
}

fn prune_cells(cells: &Cells, steady_us: u64) -> Cells {
    let wanted = u32::try_from(steady_us / 1_000_000 / CELLS).unwrap_or(u32::MAX);
    let width = cells.width.max(1);
    let wide = wanted.max(LEAST_SECONDS).div_ceil(width) * width;
    // Encoded again, since what is none could be any text.
    let again = |times: &CompactHistogram| CompactHistogram::from_histogram(&times.decode());
    let step = |step: &CellStep| CellStep {
        executed: step.executed,
        failed: step.failed,
        skipped: step.skipped,
        response: again(&step.response),
        failed_response: again(&step.failed_response),
        good: step.good,
        stream: step.stream.as_ref().map(|stream| {
            Box::new(CellStream {
                first_event: again(&stream.first_event),
                per_unit: again(&stream.per_unit),
            })
        }),
    };
    let cell = |cell: &Cell| Cell {
        second: cell.second,
        seconds: cell.seconds,
        started: cell.started,
        ok: cell.ok,
        failed: cell.failed,
        dropped: cell.dropped,
        time: again(&cell.time),
        failed_time: again(&cell.failed_time),
        steps: cell.steps.iter().map(step).collect(),
        ..Cell::default()
    };
    let mut kept = Cells {
        width,
        cells: cells.cells.iter().map(cell).collect(),
    };
    kept.widen(wide);
    kept
}
