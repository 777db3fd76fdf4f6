//! A worker: one thread, one runtime, its own users and its own tallies.

use super::control::{RunPhase, StopSignals};
use super::iteration::VirtualUser;
use super::pacer::Pacer;
use super::partition::Partition;
use super::rendezvous::MeetingPoints;
use super::samples::SampleBuffer;
use super::trace::{RunTracing, WorkerTracing};
use super::users::UserTasks;
use super::watchdog::Watchdog;
use super::worker_state::{ThreadOccupancy, WorkerState};
use super::{closed, open};
use crate::chain::{Scenario, Shared, Vu};
use crate::transport::{Transport, count_open_sockets};
use loadtest_model::metrics::Frame;
use loadtest_model::plan::Plan;
use loadtest_model::schedule::Model;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::time::Instant;

/// The turns of a thread after which nothing of gone users is left, however many there were.
const MOST_TURNS: u32 = 100_000;

/// Everything a worker needs to make its users.
pub(super) struct WorkerSpec<T> {
    pub(super) scenario: &'static Scenario,
    pub(super) shared: Shared,
    pub(super) plan: Plan,
    /// The seed of run and scenario.
    pub(super) seed: u64,
    /// The part of the load that this worker makes.
    pub(super) partition: Partition,
    /// True if workers share processors, so that all of them are full before any worker is.
    pub(super) crowded: bool,
    /// The step whose code occupies the thread, for the watchdog.
    pub(super) occupancy: Arc<ThreadOccupancy>,
    /// The places where users of all workers wait for each other.
    pub(super) meeting_points: Arc<MeetingPoints>,
    /// The traces of journeys, if requests carry them.
    pub(super) tracing: Option<RunTracing>,
    /// Makes the transport of the user with a number.
    pub(super) make_transport: Arc<dyn Fn(u64) -> T + Send + Sync>,
    /// Takes the raw samples of its users, if they are kept.
    pub(super) samples: Option<SampleBuffer>,
}

impl<T: Transport> WorkerSpec<T> {
    /// The user with a number, which no other worker makes.
    pub(super) fn make_user(&self, number: u64) -> Box<VirtualUser<T>> {
        let vu = Vu::new(number, self.seed);
        let mut transport = (self.make_transport)(number);
        transport.share_connections(&|count| self.partition.numbers_of(count));
        let shared = Arc::clone(&self.shared);
        // In a box: a task that takes a user holds room for it twice.
        Box::new(VirtualUser::new(self.scenario, shared, vu, transport))
    }
}

/// The final report of a worker.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WorkerSummary {
    /// Iterations that were to start here.
    pub(super) planned: u64,
    /// The end of its last iteration, from the start of the run. Last steps come later.
    pub(super) elapsed: Duration,
    /// True if a feed without more rows ended the load here, or for some users.
    pub(super) out_of_rows: bool,
    /// The number of frames it sent.
    pub(super) seconds: u32,
    /// True if a stop signal ended the load early.
    pub(super) cut_short: bool,
}

impl WorkerSummary {
    /// Adds what another worker did.
    pub(super) fn merge(&mut self, other: &Self) {
        self.planned += other.planned;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.out_of_rows |= other.out_of_rows;
        self.cut_short |= other.cut_short;
        self.seconds = self.seconds.max(other.seconds);
    }
}

/// Runs this worker's part of a load, from `start` on. `report` gets a frame per second, the last one
/// before this returns. Runs within a `LocalSet`.
pub(super) async fn run_worker<T: Transport + 'static>(
    mut spec: WorkerSpec<T>,
    start: Instant,
    mut pacer: Pacer,
    mut orders: StopSignals,
    report: impl Fn(Frame),
) -> WorkerSummary {
    let state = Rc::new(WorkerState::new(
        &spec.scenario.definition,
        spec.plan.clone(),
        start,
        Arc::clone(&spec.occupancy),
        Arc::clone(&spec.meeting_points),
        |schedule| {
            let (plan, workers) = (&spec.plan, spec.partition.all_workers());
            let run = spec.tracing.clone()?;
            WorkerTracing::new(run, plan, schedule, spec.seed, start, workers)
        },
        spec.samples.take(),
    ));
    let mut users = UserTasks::new();
    let mut clock = FrameClock {
        state: &state,
        second: 0,
        watchdog: Watchdog::new(start),
        cpu: thread_cpu_time(),
        all_cpu: spec.crowded.then(process_cpu_time),
        since: Instant::now(),
    };
    let load = async {
        let planned = match state.schedule.model() {
            Model::Open => Some(open::drive_arrivals(&state, &spec, &mut users, &mut pacer).await),
            Model::Closed => {
                closed::drive_users(&state, &spec, &mut users, &mut pacer).await;
                None
            }
            Model::Iterations { .. } => {
                Some(closed::drive_iterations(&state, &spec, &mut users, &mut pacer).await)
            }
        };
        let cut_short = !state.is_running();
        state.advance_phase(RunPhase::Stopping);
        // Code of the scenario that kept the thread beyond the end of the load gains no time by that.
        let now = Instant::now();
        let end = state.schedule.end().map_or(now, |end| now.min(start + end));
        tokio::select! {
            () = users.leave(&state) => {}
            () = state.wait_for_abort() => {}
            () = tokio::time::sleep_until(end + spec.plan.graceful_stop) => {}
        }
        state.advance_phase(RunPhase::Aborting);
        // What is still in flight is dropped here, and counted as cancelled by that.
        let over = users.abort_all().await;
        let_sockets_end().await;
        state.cancel_last_steps();
        (
            planned.unwrap_or(state.started_iterations()),
            over,
            cut_short,
        )
    };
    let listen = async {
        loop {
            state.advance_phase(orders.phase());
            orders.changed().await;
        }
    };
    let tick = async {
        loop {
            clock.wait_for_second().await;
            report(clock.next_frame());
            if let Some(samples) = &state.samples {
                samples.flush();
            }
        }
    };
    let (planned, over, cut_short) = tokio::select! {
        biased;
        ended = load => ended,
        () = listen => unreachable!("listens for ever"),
        () = tick => unreachable!("ticks for ever"),
    };
    report(clock.next_frame());
    WorkerSummary {
        planned,
        elapsed: over.saturating_duration_since(start),
        out_of_rows: state.is_out_of_rows(),
        seconds: clock.second,
        cut_short,
    }
}

/// Lets the WebSockets end whose users are gone, so that they are counted: their tasks are dropped in the next turns of
/// this thread.
async fn let_sockets_end() {
    for _ in 0..MOST_TURNS {
        if count_open_sockets() == 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Cuts the run into seconds.
struct FrameClock<'a> {
    state: &'a WorkerState,
    second: u32,
    watchdog: Watchdog,
    cpu: Duration,
    /// The CPU time of the whole process, where that matters.
    all_cpu: Option<Duration>,
    since: Instant,
}

impl FrameClock<'_> {
    /// Waits until the second is over, and notices meanwhile whether the runtime comes back.
    async fn wait_for_second(&mut self) {
        let end = self.state.start + Duration::from_secs(u64::from(self.second) + 1);
        while Instant::now() < end {
            tokio::time::sleep_until(end.min(self.watchdog.next_tick())).await;
            self.watchdog.observe_tick(Instant::now());
        }
    }

    /// Returns the frame of the time since the last frame.
    fn next_frame(&mut self) -> Frame {
        let mut frame = self.state.take_frame(self.second);
        let (cpu, now) = (thread_cpu_time(), Instant::now());
        self.watchdog.observe_tick(now);
        if let Some(stall) = self.watchdog.longest_stall(self.second) {
            frame.health.stalled_seconds = 1;
            frame.health.longest_stall_us = u64::try_from(stall.as_micros()).unwrap_or(u64::MAX);
        }
        self.second += 1;
        let used = cpu.saturating_sub(self.cpu);
        let time = now.saturating_duration_since(self.since);
        let all_used = self.all_cpu.as_mut().map(|before| {
            let all = process_cpu_time();
            let used = all.saturating_sub(*before);
            *before = all;
            used
        });
        frame.health.worker_cpu_us = u64::try_from(used.as_micros()).unwrap_or(u64::MAX);
        // The last frame is short; a share of a few milliseconds would say nothing.
        if time >= Duration::from_millis(500) {
            frame.health.busiest_worker = used.as_secs_f64() / time.as_secs_f64();
            if let Some(used) = all_used {
                let processors = thread::available_parallelism().map_or(1, usize::from);
                let share = used.as_secs_f64() / (time.as_secs_f64() * processors as f64);
                frame.health.busiest_worker = frame.health.busiest_worker.max(share);
            }
        }
        (self.cpu, self.since) = (cpu, now);
        frame
    }
}

/// CPU time that this thread has used; zero where the system does not tell.
fn thread_cpu_time() -> Duration {
    #[cfg(target_os = "linux")]
    return clock_time(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

/// CPU time that all threads of this process have used; zero where the system does not tell.
fn process_cpu_time() -> Duration {
    #[cfg(target_os = "linux")]
    return clock_time(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID);
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

#[cfg(target_os = "linux")]
fn clock_time(clock: nix::time::ClockId) -> Duration {
    nix::time::clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}
