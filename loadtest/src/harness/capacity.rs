//! A search for the highest rate, trial after trial in one program: what was set up, and a target that the
//! scenario started, live through all of them.

use super::asked::{Journal, find, listen};
use super::run::{Ready, begin, fit, given_base_url, internal, usage};
use super::sender::Sender;
use super::write_json;
use crate::engine::{self, Control, Phase, Staff};
use crate::registry::Registry;
use loadtest_model::capacity::{Next, Outcome, Purpose, SearchEnding, Trial, next_action};
use loadtest_model::card::{Card, Verdict, judge_trial};
use loadtest_model::definition::ScenarioDef;
use loadtest_model::failure::{FailureKind, RunFailure};
use loadtest_model::plan::Plan;
use loadtest_model::protocol::{CapacityRequest, JournalLine, SearchLine, TrialFiles};
use loadtest_model::record::{Ending, ScenarioRecord};
use std::io;
use std::thread;
use std::time::Duration;
use tokio::time::Instant;

/// How long a target may take to come back after a trial that it did not stand.
const RECOVERY: Duration = Duration::from_secs(30);
/// How often somebody looks whether it is back, or whether the search is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Searches, and writes the course of the search and the journal and the record of each trial.
pub(super) fn search(registry: &Registry, request: &CapacityRequest) -> io::Result<()> {
    let mut course = Journal::create(&request.search)?;
    let control = Control::new();
    listen(control.clone());
    let begun = prepare(registry, request);
    let (definition, mut ready) = match begun {
        Ok(begun) if control.phase() == Phase::Running => begun,
        begun => {
            let failure = match begun {
                Ok((_, ready)) => {
                    ready.abandon();
                    stopped()
                }
                Err(failure) => failure,
            };
            return course.write(&SearchLine::Failed(failure));
        }
    };
    let ended = try_rates(definition, &mut ready, request, &control, &mut course);
    ready.abandon();
    course.write(&SearchLine::End(ended?))
}

/// Sets up once for all trials, as for the highest of all rates: what it lacks, it would lack in time.
fn prepare(
    registry: &Registry,
    request: &CapacityRequest,
) -> Result<(&'static ScenarioDef, Ready), RunFailure> {
    let scenario = find(registry, &request.scenario)?;
    let definition = &scenario.definition;
    let most = request.goal.max_per_second;
    let plan = plan(definition, request, 0, most, Purpose::Search)?;
    let given = request.base_url.clone().or_else(given_base_url);
    let ready = begin(scenario, plan, given, &Sender::new(&*request.run_id))?;
    Ok((definition, ready))
}

/// The plan of the trial with the number `trial`, from zero. Each has a seed of its own, as what the scenario
/// draws to be new, such as identifiers, must be new to a target that lives on.
fn plan(
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
        usage(
            format!("{}: {}", definition.identity(), errors.join("; ")),
            None,
        )
    })
}

fn try_rates(
    definition: &ScenarioDef,
    ready: &mut Ready,
    request: &CapacityRequest,
    control: &Control,
    course: &mut Journal<'_>,
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
        let plan = plan(definition, request, attempts.len(), per_second, purpose);
        course.write(&SearchLine::Begin {
            per_second,
            purpose,
        })?;
        let ran = plan.and_then(|plan| {
            ready.under(plan);
            hire(ready)
        });
        let ran = match ran {
            Ok(staff) => run(ready, staff, request, files, control)?,
            Err(failure) => Err(failure),
        };
        let record = match ran {
            Ok(record) => record,
            Err(failure) => return Ok(SearchEnding::Broken { failure }),
        };
        let card = Card::of(&record);
        if let Some(failure) = fatal(&card) {
            return Ok(SearchEnding::Broken { failure });
        }
        if let Ending::Interrupted | Ending::Aborted | Ending::Died { .. } = record.ending {
            return Ok(SearchEnding::Interrupted);
        }
        let trial = judge_trial(&record, &card, per_second, purpose);
        attempts.push(trial.attempt);
        course.write(&SearchLine::Trial(Box::new(trial.clone())))?;
        if let Ending::Stuck { reason } = record.ending {
            return Ok(SearchEnding::Stuck { reason });
        }
        let is_over = next_action(&request.goal, &attempts) == Next::Done;
        if !is_over && let Some(ending) = recover(ready, request.goal.rest, &trial, control) {
            return Ok(ending);
        }
    }
    Ok(SearchEnding::Completed)
}

/// The workers of a trial.
fn hire(ready: &Ready) -> Result<Staff, RunFailure> {
    let workers = engine::workers(ready.plan());
    fit(&[ready.need(workers)])?;
    Staff::new(workers, workers).map_err(|error| internal(error.to_string()))
}

/// Runs a trial.
fn run(
    ready: &Ready,
    staff: Staff,
    request: &CapacityRequest,
    files: &TrialFiles,
    control: &Control,
) -> io::Result<Result<ScenarioRecord, RunFailure>> {
    let mut journal = Journal::create(&files.journal)?;
    let start = ready.start(&request.executable_hash, staff.workers());
    let mut record = ScenarioRecord::new(start.clone());
    journal.write(&JournalLine::Start(Box::new(start)))?;
    let mut written = Ok(());
    let end = ready.load(staff, engine::start_of(1), control, |frame| {
        record.absorb(&frame);
        if written.is_ok() {
            written = journal.write(&JournalLine::Frame(Box::new(frame)));
        }
    });
    written?;
    Ok(match end {
        Ok(end) => {
            record.end(end.clone());
            write_json(&files.record, &record)?;
            journal.write(&JournalLine::End(end))?;
            Ok(record)
        }
        Err(failure) => {
            journal.write(&JournalLine::Failed(failure.clone()))?;
            Err(failure)
        }
    })
}

/// What no other rate would mend.
fn fatal(card: &Card) -> Option<RunFailure> {
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
            .map(ToString::to_string)
            .unwrap_or_default(),
        help: None,
    })
}

/// Lets the target rest, and waits for it if it is away.
fn recover(
    ready: &Ready,
    rest: Duration,
    trial: &Trial,
    control: &Control,
) -> Option<SearchEnding> {
    let begin = Instant::now();
    while begin.elapsed() < rest {
        if control.phase() > Phase::Running {
            return Some(SearchEnding::Interrupted);
        }
        thread::sleep(LOOK.min(rest.saturating_sub(begin.elapsed())));
    }
    if control.phase() > Phase::Running {
        return Some(SearchEnding::Interrupted);
    }
    if trial.attempt.outcome == Outcome::Met {
        return None;
    }
    let begin = Instant::now();
    loop {
        let reason = ready.reach_target().err()?;
        // What the scenario started does not come back by itself.
        if begin.elapsed() > RECOVERY || ready.has_lost_target() {
            return Some(SearchEnding::TargetGone { reason });
        }
        thread::sleep(LOOK);
        if control.phase() > Phase::Running {
            return Some(SearchEnding::Interrupted);
        }
    }
}

fn stopped() -> RunFailure {
    RunFailure {
        kind: FailureKind::Interrupted,
        message: "stopped before the load began".to_owned(),
        help: None,
    }
}
