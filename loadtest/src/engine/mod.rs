//! Turns a plan into samples and folds them as it goes. It never prints.
//!
//! A run has worker threads, each with a runtime, users and tallies of its own; nothing is shared or
//! locked while requests are on their way. Once a second each worker hands over its tally, and the
//! thread that called [`run`] adds them up. The engine is generic over the transport, and its clock
//! can be paused, so that tests count exactly without waiting.

mod alone;
mod attempt;
mod closed;
mod control;
mod desk;
mod iteration;
mod lent;
mod limits;
mod open;
mod outcome;
mod pacer;
mod panics;
pub(crate) mod smoke;
#[cfg(test)]
mod tests;
mod users;
mod watchdog;
mod wire;
mod worker;

pub(crate) use alone::{Place, journey};
use control::Orders;
pub use control::{Control, Phase};
pub(crate) use iteration::Observer;
pub(crate) use outcome::Outcome;
pub(crate) use panics::catch;

use crate::chain::{Scenario, Shared};
use crate::machine::Contention;
use crate::transport::Transport;
use desk::Busy;
use limits::Limits;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::metrics::{Broken, Frame, Panicked};
use loadtest_model::plan::Plan;
use loadtest_model::schedule::{Model, Schedule};
use pacer::Pacer;
use panics::{Panicking, Places};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use tokio::runtime;
use tokio::task::LocalSet;
use tokio::time::Instant;
use watchdog::Lookout;
use worker::{Crew, Done, work};

/// Arrivals per second that one worker is given at most, where there are more processors.
const RATE_PER_WORKER: f64 = 4_000.0;
/// Users that one worker of a closed load is given at most, where there are more processors.
const USERS_PER_WORKER: f64 = 32.0;
/// From the order to start to the start, so that every worker is ready.
const LEAD: Duration = Duration::from_millis(20);
/// How often somebody looks at the workers at least.
const LOOK: Duration = Duration::from_millis(50);
/// How long after the hard end a worker may take to say so, before it is given up as stuck in a step.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same after an abort: somebody is waiting.
const IMPATIENCE: Duration = Duration::from_secs(2);

/// What is known of a run at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// How it ended.
    pub how: How,
    /// From the start of the load to the end of the last iteration.
    pub elapsed: Duration,
    /// How long iterations were due that the headline numbers cover.
    pub steady: Duration,
    /// Iterations that were to start.
    pub planned: u64,
    /// Whether every worker said what it did; one that is stuck in a step does not.
    pub complete: bool,
    /// Where steps panicked.
    pub panics: Vec<Panicked>,
    /// Whether the load ended, or ended for some users, since a feed had no more rows.
    pub out_of_rows: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum How {
    /// As planned.
    Completed,
    /// Told to stop; what was in flight could end.
    Stopped,
    /// Told to abort.
    Aborted,
    /// Given up, since the code of the scenario panicked too often.
    Panicked,
    /// Given up, since a threshold was broken that asks for it; what was in flight could end.
    Broken(Broken),
    /// Whoever got the frames said that it must not go on; what was in flight could end.
    Halted,
    /// The scenario's code did not give a thread back, even after the hard end, and nobody had said stop.
    Stuck {
        /// The step whose code it is, as far as is known.
        step: Option<usize>,
    },
}

/// Whether a run goes on, as whoever gets its frames sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    /// It does.
    On,
    /// It must not.
    Halt,
}

impl From<()> for Going {
    fn from((): ()) -> Self {
        Self::On
    }
}

/// A run that could not take place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The system gave no thread or runtime.
    #[error("a worker could not be started: {0}")]
    Worker(#[from] std::io::Error),
}

/// How many workers a load gets on this machine.
pub fn workers(plan: &Plan) -> u32 {
    let per_worker = if plan.load.is_open() {
        RATE_PER_WORKER
    } else {
        USERS_PER_WORKER
    };
    let wanted = (plan.load.peak() / per_worker)
        .ceil()
        .clamp(1.0, f64::from(plan.max_users.max(1)));
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (wanted as u32).min(u32::try_from(processors).unwrap_or(u32::MAX))
}

/// How many workers each of several loads gets that run at once: what each would get alone, less where
/// that is more than the machine has, but one at least.
pub fn shared_workers(plans: &[&Plan]) -> Vec<u32> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    divided(
        plans.iter().map(|plan| workers(plan)).collect(),
        u64::try_from(processors).unwrap_or(u64::MAX),
    )
}

fn divided(alone: Vec<u32>, processors: u64) -> Vec<u32> {
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
pub struct Staff {
    runtimes: Vec<runtime::Runtime>,
    /// There are more workers in this process than processors, so that no worker has one for itself.
    crowded: bool,
}

impl Staff {
    /// Takes on `workers` of the `all` in this process.
    ///
    /// # Errors
    /// [`EngineError`] when the system does not give what they need.
    pub fn new(workers: u32, all: u32) -> Result<Self, EngineError> {
        let runtimes = (0..workers)
            .map(|_| runtime::Builder::new_current_thread().enable_all().build())
            .collect::<Result<_, _>>()?;
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            runtimes,
            crowded: all as usize > processors,
        })
    }

    /// How many they are.
    pub fn workers(&self) -> u32 {
        self.runtimes.len() as u32
    }
}

/// When `loads` that are told to start now can all start.
pub fn start_of(loads: u32) -> Instant {
    Instant::now() + LEAD * loads.max(1)
}

/// Runs `scenario` by `plan` with `staff` from `start` on.
///
/// `transport` makes the transport of the user with a number, `report` gets the frames of the run, and may
/// halt it.
///
/// # Errors
/// [`EngineError`] when no worker can be started; nothing was sent then.
#[expect(
    clippy::too_many_arguments,
    reason = "what is run, by whom and when, and where it goes: there is no whole they are part of"
)]
pub fn run<T: Transport + 'static, G: Into<Going>>(
    scenario: &'static Scenario,
    shared: &Shared,
    plan: &Plan,
    staff: Staff,
    start: Instant,
    control: &Control,
    transport: impl Fn(u64) -> T + Send + Sync + 'static,
    report: impl FnMut(Frame) -> G,
) -> Result<Ended, EngineError> {
    let transport: Arc<dyn Fn(u64) -> T + Send + Sync> = Arc::new(transport);
    let (sender, receiver) = channel();
    let workers = staff.workers();
    let busy: Vec<Arc<Busy>> = (0..workers).map(|_| Arc::default()).collect();
    let panics = Places::default();
    let own = Control::new();
    for (number, runtime) in (0..workers).zip(staff.runtimes) {
        let crew = Crew {
            scenario,
            shared: Arc::clone(shared),
            plan: plan.clone(),
            seed: seed(plan, &scenario.definition),
            worker: number,
            workers,
            crowded: staff.crowded,
            busy: Arc::clone(&busy[number as usize]),
            transport: Arc::clone(&transport),
        };
        let (sender, panics) = (sender.clone(), panics.clone());
        let orders = Orders::of(control, &own);
        thread::Builder::new()
            .name(format!("loadtest-{number}"))
            .spawn(move || {
                panics.watch();
                let done = LocalSet::new().block_on(&runtime, async {
                    let frames = sender.clone();
                    let report = move |frame| _ = frames.send(Message::Frame(Box::new(frame)));
                    work(crew, start, Pacer::precise(), orders, report).await
                });
                // Whoever listened may have given up on us.
                let _listened = sender.send(Message::Done(done));
            })?;
    }
    drop(sender);
    let steps = scenario.definition.steps.len();
    let ended = collect(&receiver, plan, steps, &busy, start, control, &own, report);
    Ok(Ended {
        panics: panics.take(),
        ..ended
    })
}

enum Message {
    Frame(Box<Frame>),
    Done(Done),
}

/// Adds up what the workers hand over.
#[expect(
    clippy::too_many_arguments,
    reason = "what is heard, what is done about it, and who is told"
)]
fn collect<G: Into<Going>>(
    receiver: &Receiver<Message>,
    plan: &Plan,
    steps: usize,
    busy: &[Arc<Busy>],
    start: Instant,
    control: &Control,
    own: &Control,
    mut report: impl FnMut(Frame) -> G,
) -> Ended {
    let schedule = Schedule::new(&plan.load);
    let mut limits = Limits::new(plan, &schedule, steps);
    let mut pending: BTreeMap<u32, (u32, Frame)> = BTreeMap::new();
    let mut newest = 0;
    let mut contention = Contention::begin();
    let mut lookout = Lookout::default();
    let mut stopped_at = None;
    let mut given_up = None;
    let mut panicking = Panicking::default();
    let mut all = Done::default();
    // How many frames those made who are done.
    let mut made: Vec<u32> = Vec::new();
    while made.len() < busy.len() {
        lookout.look(Instant::now(), busy.iter().map(AsRef::as_ref));
        match receiver.recv_timeout(LOOK) {
            Ok(Message::Frame(frame)) => {
                let second = frame.second;
                panicking.see(&frame);
                if stopped_at.is_none() && panicking.is_too_often() {
                    own.abort();
                }
                let (reports, sum) = pending.entry(second).or_insert_with(|| {
                    let mut sum = Frame {
                        second,
                        health: contention.take(),
                        ..Frame::default()
                    };
                    sum.health.kept_by = lookout.take();
                    (0, sum)
                });
                *reports += 1;
                sum.merge(&frame);
                newest = newest.max(second);
            }
            Ok(Message::Done(theirs)) => {
                made.push(theirs.seconds);
                all.merge(&theirs);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        while let Some(first) = pending.first_entry() {
            let second = *first.key();
            let gone = made.iter().filter(|made| **made <= second).count();
            if first.get().0 as usize + gone < busy.len() && second + 2 > newest {
                break;
            }
            let mut frame = first.remove().1;
            if stopped_at.is_none() && own.phase() == Phase::Running {
                frame.broken = limits.see(&frame);
                if let Some(broken) = frame.broken {
                    given_up = Some(How::Broken(broken));
                    own.stop();
                }
            }
            let is_running = stopped_at.is_none() && own.phase() == Phase::Running;
            if report(frame).into() == Going::Halt && is_running {
                given_up = Some(How::Halted);
                own.stop();
            }
        }
        let over = schedule.end().is_some_and(|end| start.elapsed() > end);
        let phase = control.phase().max(own.phase());
        if stopped_at.is_none() && (over || phase > Phase::Running) {
            stopped_at = Some(Instant::now());
        }
        let patience = if phase == Phase::Aborting {
            IMPATIENCE
        } else {
            plan.graceful_stop + PATIENCE
        };
        if stopped_at.is_some_and(|stopped| stopped.elapsed() > patience) {
            break;
        }
    }
    for (_, frame) in std::mem::take(&mut pending).into_values() {
        let _over_anyway = report(frame);
    }
    let is_complete = made.len() == busy.len();
    let (ours, theirs) = (start.elapsed(), all.elapsed);
    let elapsed = if is_complete { theirs } else { ours };
    // Nothing was due after an early stop.
    let due = stopped_at.map_or(elapsed, |stopped: Instant| {
        elapsed.min(stopped.saturating_duration_since(start))
    });
    Ended {
        how: match (control.phase(), given_up) {
            (Phase::Stopping, _) => How::Stopped,
            (Phase::Aborting, _) => How::Aborted,
            (Phase::Running, given_up) if all.cut_short => given_up.unwrap_or(How::Panicked),
            (Phase::Running, _) if is_complete => How::Completed,
            (Phase::Running, _) => How::Stuck {
                step: busy.iter().find_map(|busy| busy.step()),
            },
        },
        elapsed,
        steady: schedule.steady_part(before_last_row(plan, &schedule, due)),
        planned: all.planned,
        complete: is_complete,
        panics: Vec::new(),
        out_of_rows: all.out_of_rows,
    }
}

/// How much of `due` iterations were due in; nothing was after the last row, whose iteration may take its
/// time.
fn before_last_row(plan: &Plan, schedule: &Schedule, due: Duration) -> Duration {
    match &plan.rows {
        Some(limit) if schedule.model() == Model::Open && limit.rows < schedule.arrivals() => {
            due.min(schedule.arrival(limit.rows))
        }
        _ => due,
    }
}

/// The seed of the run and of the scenario: two scenarios of a run draw other numbers.
pub(crate) fn seed(plan: &Plan, scenario: &ScenarioDef) -> u64 {
    plan.seed ^ fnv(scenario.identity().as_bytes())
}

/// FNV-1a, which does not change from release to release.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod staff {
    use super::worker::Done;
    use super::*;
    use loadtest_model::definition::{Bound, Comparator, Load, Metric, Threshold};
    use loadtest_model::plan::{GradingDefaults, Overrides};

    #[test]
    fn a_second_is_told_when_all_who_still_work_have_told_it() {
        let definition = ScenarioDef {
            load: Some(Load::users(2, Duration::from_secs(60))),
            ..ScenarioDef::new("visit".to_owned(), Vec::new())
        };
        let (overrides, grading) = (Overrides::default(), GradingDefaults::default());
        let plan = Plan::new(&definition, &overrides, &grading, 1).unwrap();
        let (sender, receiver) = channel();
        let frame = |second| {
            let frame = Frame {
                second,
                ..Frame::default()
            };
            sender.send(Message::Frame(Box::new(frame))).unwrap();
        };
        let done = |seconds| {
            let done = Done {
                seconds,
                ..Done::default()
            };
            sender.send(Message::Done(done)).unwrap();
        };
        // One ends within its first second; the other is about to say what it did in its second one.
        frame(0);
        done(1);
        frame(0);
        frame(1);
        let control = Control::new();
        // So nobody waits for long where something is missing.
        control.abort();
        let busy = [Arc::default(), Arc::default()];
        let mut told = Vec::new();
        let ended = collect(
            &receiver,
            &plan,
            0,
            &busy,
            Instant::now(),
            &control,
            &Control::new(),
            |frame| {
                told.push(frame.second);
                if frame.second == 1 {
                    done(2);
                }
            },
        );
        assert_eq!(told, [0, 1]);
        assert!(ended.complete);
    }

    /// A frame of a worker whose journeys ended so.
    fn journeys(second: u32, ok: u64, failed: u64) -> Message {
        let mut frame = Frame {
            second,
            ..Frame::default()
        };
        let journey = &mut frame.windows.steady.journey;
        (journey.started, journey.ok, journey.failed) = (ok + failed, ok, failed);
        Message::Frame(Box::new(frame))
    }

    /// What comes of messages of two workers, and what became of their orders; `errors < 10% or abort`.
    fn watched(messages: Vec<Message>) -> (Ended, Phase, Vec<Frame>) {
        let definition = ScenarioDef {
            load: Some(Load::users(2, Duration::from_secs(60))),
            thresholds: vec![Threshold {
                abort_after: Some(Duration::ZERO),
                ..Threshold::new(Metric::Errors, Comparator::Less, Bound::Ratio(0.1))
            }]
            .into(),
            ..ScenarioDef::new("visit".to_owned(), Vec::new())
        };
        let (overrides, grading) = (Overrides::default(), GradingDefaults::default());
        let plan = Plan::new(&definition, &overrides, &grading, 1).unwrap();
        let (sender, receiver) = channel();
        for message in messages {
            sender.send(message).unwrap();
        }
        for _ in 0..2 {
            let done = Done {
                seconds: 9,
                cut_short: true,
                ..Done::default()
            };
            sender.send(Message::Done(done)).unwrap();
        }
        let (control, own) = (Control::new(), Control::new());
        let mut frames = Vec::new();
        let busy = [Arc::default(), Arc::default()];
        let ended = collect(
            &receiver,
            &plan,
            0,
            &busy,
            Instant::now(),
            &control,
            &own,
            |frame| frames.push(frame),
        );
        (ended, own.phase(), frames)
    }

    #[test]
    fn a_limit_is_looked_at_over_what_all_workers_did() {
        // Each of them alone has too few samples, and the second one too many errors in any case.
        let both = |second, failed| [journeys(second, 60, 0), journeys(second, 60, failed)];
        let (ended, orders, frames) = watched(both(0, 12).into_iter().chain(both(1, 12)).collect());
        assert_eq!(orders, Phase::Running);
        assert_eq!(ended.how, How::Panicked, "whoever said so");
        assert!(frames.iter().all(|frame| frame.broken.is_none()));

        let (ended, orders, frames) = watched(both(0, 12).into_iter().chain(both(1, 20)).collect());
        assert_eq!(orders, Phase::Stopping, "what is in flight may end");
        let broken = Broken {
            threshold: 0,
            actual: 32.0 / 272.0,
            after: Duration::from_secs(2),
        };
        assert_eq!(ended.how, How::Broken(broken));
        let told: Vec<_> = frames.iter().map(|frame| frame.broken).collect();
        assert_eq!(told, [None, Some(broken)]);
    }

    #[test]
    fn a_limit_is_not_looked_at_before_all_workers_told_their_second() {
        // 30 of the first worker's 100 failed, and none of the other's 400.
        let (_, orders, _) = watched(vec![journeys(0, 70, 30), journeys(0, 400, 0)]);
        assert_eq!(orders, Phase::Running);
        let (_, orders, _) = watched(vec![journeys(0, 70, 30), journeys(0, 100, 0)]);
        assert_eq!(orders, Phase::Stopping);
    }

    #[test]
    fn loads_that_fit_get_what_they_would_get_alone() {
        assert_eq!(divided(vec![1, 2, 1], 4), [1, 2, 1]);
    }

    #[test]
    fn loads_that_do_not_fit_share_the_processors_and_have_one_worker_at_least() {
        assert_eq!(divided(vec![4, 4], 4), [2, 2]);
        assert_eq!(divided(vec![8, 1, 1], 8), [6, 1, 1]);
        assert_eq!(divided(vec![1; 5], 2), [1; 5]);
    }
}
