//! Serves a run request of `cargo-loadtest`: one scenario or several at once, from the request to the
//! records.

use super::control_pipe::listen_to_control_pipe;
use super::failures::stopped_before_start;
use super::run::{
    PreparedRun, check_machine, given_base_url, internal_failure, make_plan, prepare_run,
    usage_failure,
};
use super::run_identity::RunIdentity;
use super::setup::given_values;
use super::{print_error, write_error, write_json};
use crate::chain::{Scenario, SetupError, SetupSource, SharedFeed};
use crate::engine::{self, Control, RunPhase, Workers};
use crate::registry::Registry;
use crate::secrets;
use loadtest_model::card::Card;
use loadtest_model::failure::{FailureKind, RunFailure};
use loadtest_model::protocol::{JournalLine, RunRequest};
use loadtest_model::record::{RunEnd, ScenarioRecord};
use loadtest_model::redacted::Redacted;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// A load that waits for its start is announced this long before.
const ANNOUNCEMENT: Duration = Duration::from_millis(200);
/// The interval between two looks at whether a run with a controller was stopped before its start.
const CONTROL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs the scenarios at once, and writes the journal and the record of each. Either all begin, or none
/// does and nothing is sent.
pub(super) fn run_requests(registry: &Registry, requests: &[RunRequest]) -> io::Result<()> {
    let mut journals = requests
        .iter()
        .map(|request| JournalWriter::create(&request.journal))
        .collect::<io::Result<Vec<_>>>()?;
    let control = Control::new();
    let starts = listen_to_control_pipe(control.clone());
    let prepared = begin_all(registry, requests, &control)
        .and_then(share_feeds)
        .and_then(assign_workers);
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(StartRefusal { at, failure }) => {
            for (i, journal) in journals.iter_mut().enumerate() {
                let failure = if at.is_none_or(|at| at == i) {
                    failure.clone()
                } else {
                    blocked_by(&requests[at.unwrap_or(i)].scenario, failure.kind)
                };
                journal.write_line(&JournalLine::Failed(failure))?;
            }
            return Ok(());
        }
    };
    let has_controller = requests.iter().any(|request| request.has_controller);
    let start = if has_controller {
        for journal in &mut journals {
            journal.write_line(&JournalLine::Ready)?;
        }
        wait_for_controller(&starts, &control).map(Some)
    } else {
        Ok(requests.iter().find_map(|request| request.start_at_us))
    };
    let begun = start.and_then(|asked_us| {
        Ok((
            asked_us,
            wait_for_common_start(requests.len(), asked_us, &control)?,
        ))
    });
    let (asked_us, at) = match begun {
        Ok(begun) => begun,
        Err(failure) => {
            for scenario in prepared {
                scenario.ready.tear_down_unused();
            }
            for journal in &mut journals {
                journal.write_line(&JournalLine::Failed(failure.clone()))?;
            }
            return Ok(());
        }
    };
    let mut begun = Vec::new();
    for ((scenario, request), mut journal) in prepared.into_iter().zip(requests).zip(journals) {
        let mut start = scenario
            .ready
            .start_record(&request.executable_hash, scenario.workers.count());
        if let Some(asked_us) = asked_us {
            // It is announced before it begins.
            let begins = UNIX_EPOCH + Duration::from_micros(asked_us) + start.plan.start;
            start.started_at = humantime::format_rfc3339_seconds(begins).to_string();
        }
        let record = ScenarioRecord::new(start.clone());
        journal.write_line(&JournalLine::Start(Box::new(start)))?;
        begun.push((scenario, request, journal, record));
    }
    thread::scope(|scope| {
        let runs: Vec<_> = begun
            .into_iter()
            .map(|(scenario, request, journal, record)| {
                let control = &control;
                let run = thread::Builder::new().spawn_scoped(scope, move || {
                    measure_and_record(scenario, request, journal, record, at, control)
                });
                run.map_err(|error| no_thread(request, &error))
            })
            .collect();
        if runs.iter().any(Result::is_err) {
            control.abort();
        }
        runs.into_iter()
            .map(|run| match run {
                Ok(run) => run
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("a run panicked"))),
                Err(noted) => noted,
            })
            .fold(Ok(()), Result::and)
    })
}

/// Waits for the start that the controller of the run gives.
fn wait_for_controller(starts: &Receiver<u64>, control: &Control) -> Result<u64, RunFailure> {
    loop {
        if control.phase() > RunPhase::Running {
            return Err(stopped_before_start());
        }
        match starts.recv_timeout(CONTROL_INTERVAL) {
            Ok(asked_us) => return Ok(asked_us),
            Err(RecvTimeoutError::Timeout) => {}
            // Nobody listens to the control pipe, so nobody can give a start.
            Err(RecvTimeoutError::Disconnected) => return Err(stopped_before_start()),
        }
    }
}

/// Returns the start of so many loads: the one that is asked for, shortly before it, or else as soon as all can meet it.
fn wait_for_common_start(
    loads: usize,
    asked_us: Option<u64>,
    control: &Control,
) -> Result<Instant, RunFailure> {
    let loads = u32::try_from(loads).unwrap_or(u32::MAX);
    let soonest = engine::common_start(loads);
    let Some(asked_us) = asked_us else {
        return Ok(soonest);
    };
    let asked = UNIX_EPOCH + Duration::from_micros(asked_us);
    let Some(start) = (asked.duration_since(SystemTime::now()).ok())
        .map(|wait| Instant::now() + wait)
        .filter(|start| *start >= soonest)
    else {
        let shown = humantime::format_rfc3339_seconds(asked);
        return Err(usage_failure(
            format!("the load should start at {shown}, but was not ready until later"),
            Some("give a later `--start-at`, such as a minute from now".to_owned()),
        ));
    };
    engine::wait_for_start(start.checked_sub(ANNOUNCEMENT).unwrap_or(start), control);
    if control.phase() > RunPhase::Running {
        return Err(stopped_before_start());
    }
    Ok(start)
}

/// Notes in the journal, which the load without a thread was to go on with, that there is none.
fn no_thread(request: &RunRequest, error: &io::Error) -> io::Result<()> {
    let failure = internal_failure(format!(
        "no thread is left for the load ({error}): see `ulimit -u` and the limits of the container"
    ));
    let file = File::options().append(true).open(&request.journal);
    let mut journal = JournalWriter {
        path: &request.journal,
        file: file.map_err(|error| write_error(&request.journal, &error))?,
    };
    journal.write_line(&JournalLine::Failed(failure))
}

/// The reason why no scenario of an invocation begins.
struct StartRefusal {
    /// The number of the one that cannot; `None` when it is about all.
    at: Option<usize>,
    failure: RunFailure,
}

/// A scenario and the workers that will run it.
struct PreparedScenario {
    ready: PreparedRun,
    workers: Workers,
}

fn begin_all(
    registry: &Registry,
    requests: &[RunRequest],
    control: &Control,
) -> Result<Vec<PreparedRun>, StartRefusal> {
    let mut all: Vec<PreparedRun> = Vec::new();
    let first = requests.first();
    let sender = RunIdentity::new(first.map_or("", |request| &*request.run_id));
    if let Some(request) = first {
        sender.limit_to(request.overrides.shard);
    }
    for (i, request) in requests.iter().enumerate() {
        let begun = begin_one(registry, request, &sender);
        let obstacle = if control.phase() > RunPhase::Running {
            all.extend(begun.ok());
            StartRefusal {
                at: None,
                failure: stopped_before_start(),
            }
        } else {
            match begun {
                Ok(ready) => {
                    all.push(ready);
                    continue;
                }
                Err(failure) => StartRefusal {
                    at: Some(i),
                    failure,
                },
            }
        };
        for ready in all {
            ready.tear_down_unused();
        }
        return Err(obstacle);
    }
    Ok(all)
}

fn begin_one(
    registry: &Registry,
    request: &RunRequest,
    sender: &RunIdentity,
) -> Result<PreparedRun, RunFailure> {
    let scenario = find_scenario(registry, &request.scenario)?;
    let plan = make_plan(
        &scenario.definition,
        &request.overrides,
        &request.grading,
        request.seed,
    )?;
    let given = request.base_url.clone().or_else(given_base_url);
    let values = if plan.shard.is_whole() && !request.has_controller {
        SetupSource::Run
    } else {
        given_values(scenario, request.setup_values.as_deref())?
    };
    prepare_run(scenario, plan, given, sender, values)
}

/// The scenario that is asked for.
pub(super) fn find_scenario(
    registry: &Registry,
    identity: &str,
) -> Result<&'static Scenario, RunFailure> {
    if !registry.problems.is_empty() {
        return Err(usage_failure(registry.problems.join("\n"), None));
    }
    registry
        .scenarios
        .iter()
        .copied()
        .find(|scenario| scenario.definition.identity() == identity)
        .ok_or_else(|| usage_failure(format!("this binary holds no scenario `{identity}`"), None))
}

/// Gives each scenario of a mix its part of the feeds that it shares with others, in their order.
fn share_feeds(mut all: Vec<PreparedRun>) -> Result<Vec<PreparedRun>, StartRefusal> {
    if all.len() < 2 {
        return Ok(all);
    }
    match assign_parts(&mut all) {
        Ok(()) => Ok(all),
        Err((at, error)) => {
            for ready in all {
                ready.tear_down_unused();
            }
            let at = Some(at);
            // it holds no value
            let message = Redacted::assume(error.to_string());
            let (kind, help) = (FailureKind::Setup, None);
            let failure = RunFailure {
                kind,
                message,
                help,
            };
            Err(StartRefusal { at, failure })
        }
    }
}

/// Assigns the parts of shared feeds, or returns the scenario whose feed is not as the others are.
fn assign_parts(all: &mut [PreparedRun]) -> Result<(), (usize, SetupError)> {
    let feeds = all.iter().enumerate().flat_map(|(run, ready)| {
        let feeds = ready.shared_feeds().iter();
        feeds.map(move |feed| (run, feed.clone()))
    });
    let feeds: Vec<(usize, SharedFeed)> = feeds.collect();
    for (at, (run, feed)) in feeds.iter().enumerate() {
        let is_sharing = |other: &&(usize, SharedFeed)| other.1.name == feed.name;
        let mut sharing = feeds.iter().filter(is_sharing);
        if let Some((owner, first)) = sharing.next() {
            let owner = all[*owner].identity();
            feed.require_rows_of(first, &owner)
                .map_err(|error| (*run, error))?;
        }
        let count = sharing.count() as u64 + 1;
        let index = feeds[..at].iter().filter(is_sharing).count() as u64;
        let limit = feed.take_part(index, count);
        all[*run].limit_rows(limit.map_err(|error| (*run, error))?);
    }
    Ok(())
}

/// Shares the machine out among the scenarios.
fn assign_workers(all: Vec<PreparedRun>) -> Result<Vec<PreparedScenario>, StartRefusal> {
    let plans: Vec<_> = all.iter().map(PreparedRun::plan).collect();
    let workers = engine::shared_worker_counts(&plans);
    let sum = workers.iter().sum();
    let needs = all.iter().zip(&workers);
    let needs: Vec<_> = needs.map(|(ready, one)| ready.machine_need(*one)).collect();
    let workers_of_each = check_machine(&needs).and_then(|()| {
        let workers_of_each = workers.iter().map(|one| Workers::new(*one, sum));
        let workers_of_each: Result<Vec<_>, _> = workers_of_each.collect();
        workers_of_each.map_err(|error| internal_failure(error.to_string()))
    });
    match workers_of_each {
        Ok(workers_of_each) => Ok(all
            .into_iter()
            .zip(workers_of_each)
            .map(|(ready, workers)| PreparedScenario { ready, workers })
            .collect()),
        Err(failure) => {
            for ready in all {
                ready.tear_down_unused();
            }
            Err(StartRefusal { at: None, failure })
        }
    }
}

/// Returns the failure of a scenario that another one prevents from starting.
fn blocked_by(other: &str, kind: FailureKind) -> RunFailure {
    RunFailure {
        kind,
        message: Redacted::assume(format!(
            "not started, because `{other}` could not start; nothing was sent"
        )),
        help: None,
    }
}

fn measure_and_record(
    scenario: PreparedScenario,
    request: &RunRequest,
    mut journal: JournalWriter<'_>,
    mut record: ScenarioRecord,
    at: Instant,
    control: &Control,
) -> io::Result<()> {
    let at = at + scenario.ready.plan().start;
    engine::wait_for_start(at, control);
    let PreparedScenario { mut ready, workers } = scenario;
    let mut written = Ok(());
    if request.has_controller {
        ready.leave_thresholds_to_controller();
    }
    let samples = request.samples.as_ref();
    let samples = samples.map(|samples| ready.create_samples(samples, &request.run_id, at));
    let end = samples.transpose().and_then(|samples| {
        let spans = request.spans.as_deref();
        ready.run_load(workers, at, control, spans, samples, |frame| {
            record.absorb(&frame);
            if written.is_ok() {
                written = journal.write_line(&JournalLine::Frame(Box::new(frame)));
                if written.is_err() && request.has_controller {
                    // Nobody would learn what it measures.
                    control.stop();
                }
            }
        })
    });
    // First, since a teardown may never end.
    let kept = keep_result(end, request, &mut journal, record, written);
    ready.tear_down_unused();
    kept
}

/// Writes the end of a load into its journal, and its record.
fn keep_result(
    end: Result<RunEnd, RunFailure>,
    request: &RunRequest,
    journal: &mut JournalWriter<'_>,
    mut record: ScenarioRecord,
    written: io::Result<()>,
) -> io::Result<()> {
    match end {
        Ok(end) => {
            record.finish(end.clone());
            // The record first: with a full disk it says more than the journal.
            let recorded = write_json(&request.record, &record);
            if let (Err(_), Some(spare)) = (&recorded, &request.spare_record) {
                // The first error is the one to tell.
                let _ = write_json(spare, &record);
            }
            let written = written.and_then(|()| journal.write_line(&JournalLine::End(end)));
            if recorded.is_err() && written.is_err() {
                // Nothing else will show it.
                let card = Card::grade(&record, None);
                print_error(&format!(
                    "neither journal nor record can be written, so here is its card:\n{card}"
                ));
            }
            written?;
            recorded
        }
        Err(failure) => journal.write_line(&JournalLine::Failed(failure)),
    }
}

/// The journal: a line per event, written through at once.
pub(super) struct JournalWriter<'a> {
    path: &'a Path,
    file: File,
}

impl<'a> JournalWriter<'a> {
    pub(super) fn create(path: &'a Path) -> io::Result<Self> {
        let file = File::create(path).map_err(|error| write_error(path, &error))?;
        Ok(Self { path, file })
    }

    pub(super) fn write_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = secrets::scrub_json(serde_json::to_vec(line)?);
        bytes.push(b'\n');
        self.file
            .write_all(&bytes)
            .map_err(|error| write_error(self.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use loadtest_model::exit_code::ExitCode;
    use loadtest_model::plan::{GradingDefaults, Overrides};
    use loadtest_tests::{Reply, Server};
    use std::path::PathBuf;

    fn ids(rows: u64) -> Feed<u64> {
        Feed::iter(0..rows).stop().shared("ids")
    }

    #[scenario]
    fn first() {
        #[feed]
        fn id() -> Feed<u64> {
            ids(5)
        }
        #[step(get = "/{{id}}")]
        fn ask();
    }

    #[scenario]
    fn second() {
        #[feed]
        fn own() -> Feed<u64> {
            Feed::iter(0..9).stop()
        }
        #[feed]
        fn id() -> Feed<u64> {
            ids(5)
        }
        #[step(get = "/{{own}}/{{id}}")]
        fn ask();
    }

    #[scenario]
    fn other() {
        #[feed]
        fn number() -> Feed<u64> {
            ids(6)
        }
        #[step(get = "/{{number}}")]
        fn ask();
    }

    #[test]
    fn the_scenarios_of_a_mix_have_their_parts_of_a_feed_or_the_odd_one_is_named() {
        let server = Server::start(|_| Reply::status(200));
        let prepare = |scenario: &'static Scenario| {
            let (overrides, grading) = (Overrides::default(), GradingDefaults::default());
            let plan = make_plan(&scenario.definition, &overrides, &grading, 7).unwrap();
            let sender = RunIdentity::new("run-7");
            prepare_run(
                scenario,
                plan,
                Some(server.url()),
                &sender,
                SetupSource::Run,
            )
            .unwrap()
        };
        let limits = |runs: &[PreparedRun]| {
            let limits = runs.iter().map(|run| run.plan().rows.clone().unwrap().rows);
            limits.collect::<Vec<_>>()
        };
        let mut runs = vec![prepare(first()), prepare(second())];
        assert_eq!(limits(&runs), [5, 5]);
        assign_parts(&mut runs).unwrap();
        assert_eq!(limits(&runs), [3, 2]);
        let mut runs = vec![prepare(second()), prepare(other())];
        let (at, error) = assign_parts(&mut runs).unwrap_err();
        let owner = second().definition.identity();
        assert_eq!(at, 1);
        assert_eq!(
            error.to_string(),
            format!(
                "feed `number` failed: it shares its rows as `ids` with `id` of `{owner}`, but their rows \
                 differ: it has 6 of an iterator, and the other 5 of an iterator; use the same source, \
                 or different names"
            )
        );
    }

    #[test]
    fn a_load_without_a_thread_is_a_failure_in_its_journal() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{}\n").unwrap();
        let request = RunRequest {
            scenario: "shop::load::visit".to_owned(),
            run_id: String::new(),
            overrides: Overrides::default(),
            base_url: None,
            grading: GradingDefaults::default(),
            seed: 7,
            executable_hash: String::new(),
            journal: file.path().to_owned(),
            record: PathBuf::new(),
            spare_record: None,
            spans: None,
            setup_values: None,
            start_at_us: None,
            has_controller: false,
            samples: None,
        };
        no_thread(&request, &io::Error::other("busy")).unwrap();
        let journal = std::fs::read_to_string(file.path()).unwrap();
        let last: JournalLine = serde_json::from_str(journal.lines().nth(1).unwrap()).unwrap();
        let JournalLine::Failed(failure) = last else {
            panic!("{journal}");
        };
        assert_eq!(failure.kind.exit_code(), ExitCode::Internal);
        assert_eq!(
            &*failure.message,
            "no thread is left for the load (busy): see `ulimit -u` and the limits of the container"
        );
    }
}
