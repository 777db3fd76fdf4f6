//! Searches the highest rate, trial after trial in one process. Setups, and a target that the scenario
//! started, live through all of them.

use super::control_pipe::listen_to_control_pipe;
use super::failures::stopped_before_start;
use super::requests::{JournalWriter, find_scenario};
use super::run::{
    PreparedRun, check_machine, given_base_url, internal_failure, prepare_run, usage_failure,
};
use super::run_identity::RunIdentity;
use super::write_json;
use crate::chain::SetupSource;
use crate::engine::{self, Control, RunPhase, Workers};
use crate::registry::Registry;
use loadtest_model::capacity::{Next, Purpose, SearchEnding, Trial, TrialOutcome, next_action};
use loadtest_model::card::{Card, Verdict, judge_trial};
use loadtest_model::definition::ScenarioDef;
use loadtest_model::failure::{FailureKind, RunFailure};
use loadtest_model::plan::Plan;
use loadtest_model::protocol::{CapacityRequest, JournalLine, SearchLine, TrialFiles};
use loadtest_model::record::{EndReason, ObservedSeries, ScenarioRecord};
use loadtest_model::redacted::Redacted;
use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;
use tokio::time::Instant;

/// The longest time for a target to come back after a trial that it failed, in rests.
const RECOVERY_RESTS: u32 = 15;
/// The longest time that the tool may take to read the last figures of the target's side.
const OBSERVED_PATIENCE: Duration = Duration::from_secs(30);
/// The interval between two looks at the target and at the control.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Searches, and writes the course of the search and the journal and the record of each trial.
pub(super) fn run_capacity_search(
    registry: &Registry,
    request: &CapacityRequest,
) -> io::Result<()> {
    let mut course = JournalWriter::create(&request.search)?;
    let control = Control::new();
    let _starts = listen_to_control_pipe(control.clone());
    let begun = prepare_search(registry, request);
    let (definition, mut ready) = match begun {
        Ok(begun) if control.phase() == RunPhase::Running => begun,
        begun => {
            let failure = match begun {
                Ok((_, ready)) => {
                    ready.tear_down_unused();
                    stopped_before_start()
                }
                Err(failure) => failure,
            };
            return course.write_line(&SearchLine::Failed(failure));
        }
    };
    let ended = try_rates(definition, &mut ready, request, &control, &mut course);
    ready.tear_down_unused();
    course.write_line(&SearchLine::End(ended?))
}

/// Sets up once for all trials, as for the highest of all rates: what it lacks, it would lack in time.
fn prepare_search(
    registry: &Registry,
    request: &CapacityRequest,
) -> Result<(&'static ScenarioDef, PreparedRun), RunFailure> {
    let scenario = find_scenario(registry, &request.scenario)?;
    let definition = &scenario.definition;
    let most = request.goal.max_per_second;
    let plan = plan_trial(definition, request, 0, most, Purpose::Search)?;
    let given = request.base_url.clone().or_else(given_base_url);
    let ready = prepare_run(
        scenario,
        plan,
        given,
        &RunIdentity::new(&*request.run_id),
        SetupSource::Run,
    )?;
    Ok((definition, ready))
}

/// The plan of the trial with the number `trial`, from zero. Each has a seed of its own, as what the scenario
/// draws to be new, such as identifiers, must be new to a target that lives on.
fn plan_trial(
    definition: &ScenarioDef,
    request: &CapacityRequest,
    trial: usize,
    per_second: f64,
    purpose: Purpose,
) -> Result<Plan, RunFailure> {
    let CapacityRequest {
        goal,
        grading,
        seed,
        ..
    } = request;
    let seed = seed.wrapping_add(trial as u64);
    let plan = goal.plan(definition, grading, seed, per_second, purpose);
    plan.map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        usage_failure(
            format!("{}: {}", definition.identity(), errors.join("; ")),
            None,
        )
    })
    .map(|plan| Plan {
        tracing: request.tracing.clone(),
        ..plan
    })
}

fn try_rates(
    definition: &ScenarioDef,
    ready: &mut PreparedRun,
    request: &CapacityRequest,
    control: &Control,
    course: &mut JournalWriter<'_>,
) -> io::Result<SearchEnding> {
    let mut attempts = Vec::new();
    let mut files = request.trials.iter();
    while let Next::Try {
        per_second,
        purpose,
    } = next_action(&request.goal, &attempts)
    {
        // There are as many as trials can be; a search without end would be worse than a short one.
        let Some(files) = files.next() else { break };
        let plan = plan_trial(definition, request, attempts.len(), per_second, purpose);
        course.write_line(&SearchLine::Begin {
            per_second,
            purpose,
        })?;
        let ran = plan.and_then(|plan| {
            ready.replace_plan(plan);
            trial_workers(ready)
        });
        let ran = match ran {
            Ok(workers) => run_trial(ready, workers, request, files, control)?,
            Err(failure) => Err(failure),
        };
        let mut record = match ran {
            Ok(record) => record,
            Err(failure) => return Ok(SearchEnding::Broken { failure }),
        };
        if !request.goal.observed.is_empty() {
            record.observed = wait_for_observed(&files.observed, control);
        }
        let card = Card::grade(&record, None);
        if let Some(failure) = fatal_failure(&card) {
            return Ok(SearchEnding::Broken { failure });
        }
        if let EndReason::Interrupted | EndReason::Aborted | EndReason::Died { .. } =
            record.end.ending
        {
            return Ok(SearchEnding::Interrupted);
        }
        let conditions = &request.goal.observed;
        let trial = judge_trial(&record, &card, per_second, purpose, conditions);
        attempts.push(trial.attempt);
        course.write_line(&SearchLine::Trial(Box::new(trial.clone())))?;
        if let EndReason::Stuck { reason } = record.end.ending {
            return Ok(SearchEnding::Stuck { reason });
        }
        let is_over = next_action(&request.goal, &attempts) == Next::Done;
        if !is_over
            && let Some(ending) = wait_for_recovery(ready, request.goal.rest, &trial, control)
        {
            return Ok(ending);
        }
    }
    Ok(SearchEnding::Completed)
}

/// The workers of a trial.
fn trial_workers(ready: &PreparedRun) -> Result<Workers, RunFailure> {
    let workers = engine::worker_count(ready.plan());
    check_machine(&[ready.machine_need(workers)])?;
    Workers::new(workers, workers).map_err(|error| internal_failure(error.to_string()))
}

/// Runs a trial.
fn run_trial(
    ready: &PreparedRun,
    workers: Workers,
    request: &CapacityRequest,
    files: &TrialFiles,
    control: &Control,
) -> io::Result<Result<ScenarioRecord, RunFailure>> {
    let mut journal = JournalWriter::create(&files.journal)?;
    let start = ready.start_record(&request.executable_hash, workers.count());
    let mut record = ScenarioRecord::new(start.clone());
    journal.write_line(&JournalLine::Start(Box::new(start)))?;
    let mut written = Ok(());
    let end = ready.run_load(
        workers,
        engine::common_start(1),
        control,
        files.spans.as_deref(),
        None,
        |frame| {
            record.absorb(&frame);
            if written.is_ok() {
                written = journal.write_line(&JournalLine::Frame(Box::new(frame)));
            }
        },
    );
    written?;
    Ok(match end {
        Ok(end) => {
            record.finish(end.clone());
            write_json(&files.record, &record)?;
            journal.write_line(&JournalLine::End(end))?;
            Ok(record)
        }
        Err(failure) => {
            journal.write_line(&JournalLine::Failed(failure.clone()))?;
            Err(failure)
        }
    })
}

/// Waits for what the tool observed of the target's side; nothing comes of a tool that has died or was stopped.
fn wait_for_observed(file: &Path, control: &Control) -> Vec<ObservedSeries> {
    let begin = Instant::now();
    while begin.elapsed() < OBSERVED_PATIENCE && control.phase() == RunPhase::Running {
        if let Ok(bytes) = fs::read(file) {
            // It was for this only.
            let _ = fs::remove_file(file);
            return serde_json::from_slice(&bytes).unwrap_or_default();
        }
        thread::sleep(POLL_INTERVAL);
    }
    Vec::new()
}

/// Returns the failure that no other rate would avoid.
fn fatal_failure(card: &Card) -> Option<RunFailure> {
    let kind = match card.verdict {
        Verdict::NotPermitted => FailureKind::NotPermitted,
        Verdict::Internal => FailureKind::Internal,
        _ => return None,
    };
    Some(RunFailure {
        kind,
        message: card
            .reasons
            .first()
            .map(|reason| Redacted::assume(reason.to_string()))
            .unwrap_or_default(),
        help: None,
    })
}

/// Lets the target rest, and waits for it if it is away.
fn wait_for_recovery(
    ready: &PreparedRun,
    rest: Duration,
    trial: &Trial,
    control: &Control,
) -> Option<SearchEnding> {
    let begin = Instant::now();
    while begin.elapsed() < rest {
        if control.phase() > RunPhase::Running {
            return Some(SearchEnding::Interrupted);
        }
        thread::sleep(POLL_INTERVAL.min(rest.saturating_sub(begin.elapsed())));
    }
    if control.phase() > RunPhase::Running {
        return Some(SearchEnding::Interrupted);
    }
    if trial.attempt.outcome == TrialOutcome::Met {
        return None;
    }
    let begin = Instant::now();
    let patience = (rest * RECOVERY_RESTS).max(Duration::from_secs(1));
    loop {
        let reason = ready.reach_target().err()?;
        // What the scenario started does not come back by itself.
        if begin.elapsed() > patience || ready.has_lost_target() {
            return Some(SearchEnding::TargetGone { reason });
        }
        thread::sleep(POLL_INTERVAL);
        if control.phase() > RunPhase::Running {
            return Some(SearchEnding::Interrupted);
        }
    }
}
