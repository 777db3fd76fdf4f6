//! Turns a plan into samples and folds them as it goes. It never prints.
//!
//! A run has worker threads, each with a runtime, users and tallies of its own; nothing is shared or
//! locked while requests are on their way. Once a second each worker hands over its tally, and the
//! thread that called [`LoadRun::run`] adds them up. The engine is generic over the transport, and its clock
//! can be paused, so that tests count exactly without waiting.

mod closed;
mod collector;
pub(crate) mod control;
mod iteration;
mod open;
mod outcome;
mod pacer;
mod panics;
mod partition;
mod rendezvous;
mod request_log;
mod request_loop;
mod request_tally;
mod samples;
mod single;
pub(crate) mod smoke;
mod spans;
mod step_calls;
mod step_client;
mod step_failure;
mod step_stream;
#[cfg(test)]
mod tests;
mod trace;
mod users;
mod vu_guard;
mod watchdog;
mod worker;
mod worker_state;

pub(crate) use control::Control;
pub(crate) use control::RunPhase;
use control::StopSignals;
pub(crate) use iteration::IterationObserver;
use loadtest_model::redacted::Redacted;
pub(crate) use outcome::StepOutcome;
pub(crate) use panics::catch_panic;
pub(crate) use request_log::EndedCall;
pub(crate) use samples::SamplesFile;
pub(crate) use single::{IterationPosition, run_single_iteration};
pub(crate) use spans::{SpanWriter, unix_micros};
pub(crate) use trace::RunTracing;

use crate::chain::{Scenario, Shared};
use crate::transport::Transport;
use collector::{Collector, Controls, WorkerMessage};
use loadtest_model::definition::ScenarioDef;
use loadtest_model::metrics::Frame;
use loadtest_model::plan::Plan;
use loadtest_model::record::RunEnd;
use loadtest_model::schedule::Schedule;
use pacer::Pacer;
use panics::PanicLog;
use partition::Partition;
use rendezvous::MeetingPoints;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use tokio::runtime;
use tokio::task::LocalSet;
use tokio::time::Instant;
use worker::{WorkerSpec, run_worker};
use worker_state::ThreadOccupancy;

/// Arrivals per second that one worker is given at most, where there are more processors.
const RATE_PER_WORKER: f64 = 4_000.0;
/// Users that one worker of a closed load is given at most, where there are more processors.
const USERS_PER_WORKER: f64 = 32.0;
/// From the order to start to the start, so that every worker is ready.
const START_LEAD: Duration = Duration::from_millis(20);

/// The longest time between two looks at the workers, or of a load that waits for its start at its control.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A run that could not take place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum EngineError {
    /// The system gave no thread or runtime.
    #[error(
        "a worker could not be started: {0}; it needs a thread: see `ulimit -u` and the limits of the container"
    )]
    Worker(#[from] std::io::Error),
}

/// Returns the number of workers for a load on this machine.
pub(crate) fn worker_count(plan: &Plan) -> u32 {
    let per_worker = if plan.load.is_open() {
        RATE_PER_WORKER
    } else {
        USERS_PER_WORKER
    };
    let share = plan.shard.share();
    let wanted = (plan.load.peak() * share / per_worker)
        .ceil()
        .clamp(1.0, (f64::from(plan.max_users) * share).max(1.0));
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (wanted as u32).min(u32::try_from(processors).unwrap_or(u32::MAX))
}

/// Returns the number of workers for each of several simultaneous loads. If they want more than the machine
/// has, each gets its share, but at least one.
pub(crate) fn shared_worker_counts(plans: &[&Plan]) -> Vec<u32> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    divide_processors(
        plans.iter().map(|plan| worker_count(plan)).collect(),
        u64::try_from(processors).unwrap_or(u64::MAX),
    )
}

fn divide_processors(alone: Vec<u32>, processors: u64) -> Vec<u32> {
    let all: u64 = alone.iter().copied().map(u64::from).sum();
    if all <= processors {
        return alone;
    }
    alone
        .into_iter()
        .map(|wanted| ((u64::from(wanted) * processors / all) as u32).max(1))
        .collect()
}

/// The workers of a run, ready to start.
#[derive(Debug)]
pub(crate) struct Workers {
    runtimes: Vec<runtime::Runtime>,
    /// There are more workers in this process than processors, so that no worker has one for itself.
    crowded: bool,
}

impl Workers {
    /// Takes on `workers` of the `all` in this process.
    ///
    /// # Errors
    /// [`EngineError`] when the system does not give what they need.
    pub(crate) fn new(workers: u32, all: u32) -> Result<Self, EngineError> {
        let runtimes = (0..workers)
            .map(|_| runtime::Builder::new_current_thread().enable_all().build())
            .collect::<Result<_, _>>()?;
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            runtimes,
            crowded: all as usize > processors,
        })
    }

    /// Returns no workers, for a load on the thread of the caller.
    pub(crate) fn none() -> Self {
        Self {
            runtimes: Vec::new(),
            crowded: false,
        }
    }

    /// Returns the number of workers.
    pub(crate) fn count(&self) -> u32 {
        self.runtimes.len() as u32
    }
}

/// Returns a start that `loads` can all meet.
pub(crate) fn common_start(loads: u32) -> Instant {
    Instant::now() + START_LEAD * loads.max(1)
}

/// Waits until a load with this start is to be run, or stopped before. What the machine does meanwhile is no part of it.
pub(crate) fn wait_for_start(start: Instant, control: &Control) {
    while control.phase() == RunPhase::Running {
        let left = start.saturating_duration_since(Instant::now() + START_LEAD);
        if left.is_zero() {
            break;
        }
        thread::sleep(left.min(POLL_INTERVAL));
    }
}

/// A load to run: the scenario, its plan and the workers that run it.
#[derive(Debug)]
pub(crate) struct LoadRun<'a> {
    /// The scenario.
    pub(crate) scenario: &'static Scenario,
    /// The values of its setups.
    pub(crate) shared: &'a Shared,
    /// Its plan.
    pub(crate) plan: &'a Plan,
    /// The workers, ready to start.
    pub(crate) workers: Workers,
    /// The start of the load.
    pub(crate) start: Instant,
    /// Stops or aborts the run.
    pub(crate) control: &'a Control,
    /// The traces of its journeys, if requests carry them.
    pub(crate) tracing: Option<RunTracing>,
    /// The file for raw samples, if they are kept.
    pub(crate) samples: Option<SamplesFile>,
}

impl LoadRun<'_> {
    /// Runs the load and returns when it is over.
    ///
    /// `make_transport` makes the transport of the user with a number. `report` gets a frame per second;
    /// `Break` halts the run for a reason.
    ///
    /// # Errors
    /// [`EngineError`] when no worker can be started; nothing was sent then.
    pub(crate) fn run<T: Transport + 'static>(
        self,
        make_transport: impl Fn(u64) -> T + Send + Sync + 'static,
        report: impl FnMut(Frame) -> ControlFlow<Redacted>,
    ) -> Result<RunEnd, EngineError> {
        let Self {
            scenario,
            shared,
            plan,
            workers,
            start,
            control,
            tracing,
            samples,
        } = self;
        let seed = scenario_seed(plan, &scenario.definition);
        let make_transport: Arc<dyn Fn(u64) -> T + Send + Sync> = Arc::new(make_transport);
        let (sender, receiver) = channel();
        let count = workers.count();
        let occupancies: Vec<Arc<ThreadOccupancy>> = (0..count).map(|_| Arc::default()).collect();
        let panics = PanicLog::default();
        let internal = Control::new();
        let meeting_points = MeetingPoints::new(&scenario.definition, plan);
        for (number, runtime) in (0..count).zip(workers.runtimes) {
            let spec = WorkerSpec {
                scenario,
                shared: Arc::clone(shared),
                plan: plan.clone(),
                seed,
                partition: Partition::new(plan.shard, number, count),
                crowded: workers.crowded,
                occupancy: Arc::clone(&occupancies[number as usize]),
                meeting_points: Arc::clone(&meeting_points),
                tracing: tracing.clone(),
                make_transport: Arc::clone(&make_transport),
                samples: samples
                    .as_ref()
                    .map(|file| file.buffer(number, start, seed)),
            };
            let (sender, panics) = (sender.clone(), panics.clone());
            let signals = StopSignals::new(control, &internal);
            thread::Builder::new()
                .name(format!("loadtest-{number}"))
                .spawn(move || {
                    panics.record_this_thread();
                    let summary = LocalSet::new().block_on(&runtime, async {
                        let frames = sender.clone();
                        let report =
                            move |frame| _ = frames.send(WorkerMessage::Frame(Box::new(frame)));
                        run_worker(spec, start, Pacer::with_kernel_timer(), signals, report).await
                    });
                    // The collector may have given up on this worker.
                    let _collected = sender.send(WorkerMessage::Done(summary));
                })?;
        }
        drop((sender, tracing));
        let schedule = Schedule::new(&plan.load);
        let controls = Controls {
            requested: control,
            internal: &internal,
        };
        let definition = &scenario.definition;
        let collector = Collector::new(definition, plan, &schedule, &occupancies, start, controls);
        let end = collector.collect(&receiver, report);
        Ok(RunEnd {
            panics: panics.take_all(),
            samples: samples.map(SamplesFile::end),
            ..end
        })
    }

    /// Runs the load with one worker on the thread and by the clock of the caller, who is within a `LocalSet`. There are
    /// no samples, and no thread that notices a step that keeps this one.
    pub(crate) async fn run_on_this_thread<T: Transport + 'static>(
        self,
        make_transport: impl Fn(u64) -> T + Send + Sync + 'static,
        report: impl FnMut(Frame) -> ControlFlow<Redacted>,
    ) -> RunEnd {
        let (plan, definition) = (self.plan, &self.scenario.definition);
        let occupancy: Arc<ThreadOccupancy> = Arc::default();
        let spec = WorkerSpec {
            scenario: self.scenario,
            shared: Arc::clone(self.shared),
            plan: plan.clone(),
            seed: scenario_seed(plan, definition),
            partition: Partition::new(plan.shard, 0, 1),
            crowded: false,
            occupancy: Arc::clone(&occupancy),
            meeting_points: MeetingPoints::new(definition, plan),
            tracing: self.tracing,
            make_transport: Arc::new(make_transport),
            samples: None,
        };
        let panics = PanicLog::default();
        panics.record_this_thread();
        let internal = Control::new();
        let schedule = Schedule::new(&plan.load);
        let controls = Controls {
            requested: self.control,
            internal: &internal,
        };
        let occupancies = [occupancy];
        let collector = Collector::new(
            definition,
            plan,
            &schedule,
            &occupancies,
            self.start,
            controls,
        );
        let collected = RefCell::new((collector, report));
        let add = |message| {
            let (collector, report) = &mut *collected.borrow_mut();
            collector.add(message, report);
            collector.note_end();
        };
        let signals = StopSignals::new(self.control, &internal);
        let timer = Pacer::with_runtime_timer();
        let add_frame = |frame| add(WorkerMessage::Frame(Box::new(frame)));
        let summary = run_worker(spec, self.start, timer, signals, add_frame).await;
        add(WorkerMessage::Done(summary));
        let (collector, report) = collected.into_inner();
        RunEnd {
            panics: panics.take_all(),
            ..collector.finish(report)
        }
    }
}

/// The seed of the run and of the scenario: two scenarios of a run draw other numbers.
pub(crate) fn scenario_seed(plan: &Plan, scenario: &ScenarioDef) -> u64 {
    plan.seed ^ fnv1a(scenario.identity().as_bytes())
}

/// FNV-1a, which does not change from release to release.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod worker_shares {
    use super::divide_processors;

    #[test]
    fn loads_that_fit_get_what_they_would_get_alone() {
        assert_eq!(divide_processors(vec![1, 2, 1], 4), [1, 2, 1]);
    }

    #[test]
    fn loads_that_do_not_fit_share_the_processors_and_have_one_worker_at_least() {
        assert_eq!(divide_processors(vec![4, 4], 4), [2, 2]);
        assert_eq!(divide_processors(vec![8, 1, 1], 8), [6, 1, 1]);
        assert_eq!(divide_processors(vec![1; 5], 2), [1; 5]);
    }
}
