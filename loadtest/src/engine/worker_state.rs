//! State that the virtual users of one worker share: the plan, the phase of the run, the tally of the
//! current second. It never leaves its thread, so nothing here is locked.

use super::collector::due_before_last_row;
use super::control::RunPhase;
use super::iteration::Arrival;
use super::panics;
use super::rendezvous::MeetingPoints;
use super::samples::SampleBuffer;
use super::trace::{EndedTrace, JourneyTrace, WorkerTracing};
use crate::transport::take_socket_counts;
use loadtest_model::definition::{Draw, ScenarioDef};
use loadtest_model::metrics::{EndedTally, Frame, GroupSample, StreamSample, Tally, Windows};
use loadtest_model::plan::Plan;
use loadtest_model::redacted::Redacted;
use loadtest_model::schedule::{Schedule, Window};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Longer than any run.
const FOREVER: Duration = Duration::from_secs(1_000_000_000);

/// The step whose code has a worker's thread: its number from one on, zero for none, below the count of
/// the turns that steps had.
#[derive(Debug, Default)]
pub(crate) struct ThreadOccupancy(AtomicU64);

impl ThreadOccupancy {
    /// Bits of the step.
    const STEP_BITS: u32 = 16;

    /// The zero-based number of the step, if it is one's code at all.
    pub(crate) fn current_step(&self) -> Option<usize> {
        self.current_slice().map(ThreadSlice::step_index)
    }

    /// The turn of a step that goes on now.
    pub(crate) fn current_slice(&self) -> Option<ThreadSlice> {
        let turn = ThreadSlice(self.0.load(Ordering::Relaxed));
        let is_step = turn.0 & ((1 << Self::STEP_BITS) - 1) > 0;
        is_step.then_some(turn)
    }

    pub(crate) fn begin_step(&self, step: usize) {
        let turn = (self.0.load(Ordering::Relaxed) >> Self::STEP_BITS) + 1;
        let turn = turn << Self::STEP_BITS | (step as u64 + 1);
        self.0.store(turn, Ordering::Relaxed);
    }

    pub(crate) fn end_step(&self) {
        let turn = self.0.load(Ordering::Relaxed) >> Self::STEP_BITS << Self::STEP_BITS;
        self.0.store(turn, Ordering::Relaxed);
    }
}

/// A stretch of time in which the code of a step has the thread; no two are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadSlice(u64);

impl ThreadSlice {
    /// The zero-based number of the step.
    pub(crate) fn step_index(self) -> usize {
        (self.0 & ((1 << ThreadOccupancy::STEP_BITS) - 1)) as usize - 1
    }
}

pub(crate) struct WorkerState {
    pub(crate) definition: &'static ScenarioDef,
    pub(crate) plan: Plan,
    /// The draws that decide which steps run.
    pub(crate) draws: Vec<Draw>,
    /// The group that each step is in.
    pub(crate) groups: Vec<Option<usize>>,
    pub(crate) schedule: Schedule,
    /// The traces of journeys, if requests carry them.
    tracing: Option<WorkerTracing>,
    /// The start of the run: second 0.
    pub(crate) start: Instant,
    /// True if there is no load: a journey is tried, or shown.
    pub(crate) is_tried: bool,
    /// The begin and the end of the measured part, as far as they are known so far.
    measured: Cell<(Instant, Option<Instant>)>,
    /// The window that was asked for last, and a stretch of time that lies in it.
    cached_window: Cell<(Window, Instant, Instant)>,
    phase: Cell<RunPhase>,
    phase_changed: Notify,
    /// The time at which the load ended, or was told to.
    stopped_at: Cell<Option<Instant>>,
    /// The steps that are the last of a user, each with the number of users who are yet to run it.
    last_steps: Vec<(usize, Cell<u64>)>,
    active: Cell<u32>,
    started: Cell<u64>,
    out_of_rows: Cell<bool>,
    idle: Notify,
    windows: RefCell<Windows>,
    /// What ended within the measured part in this second: beside the windows, as each request is counted in it.
    ended: RefCell<EndedTally>,
    /// The places where users of all workers wait for each other; none where a user is alone.
    pub(super) meeting_points: Arc<MeetingPoints>,
    /// Whose code has the thread; read from outside when it does not come back.
    occupancy: Arc<ThreadOccupancy>,
    /// Takes raw samples, if they are kept.
    pub(crate) samples: Option<SampleBuffer>,
}

impl WorkerState {
    pub(crate) fn new(
        definition: &'static ScenarioDef,
        plan: Plan,
        start: Instant,
        busy: Arc<ThreadOccupancy>,
        meeting_points: Arc<MeetingPoints>,
        make_tracing: impl FnOnce(&Schedule) -> Option<WorkerTracing>,
        samples: Option<SampleBuffer>,
    ) -> Self {
        let schedule = Schedule::new(&plan.load);
        Self {
            definition,
            draws: Draw::from_steps(&definition.steps),
            groups: (definition.steps.iter())
                .map(|step| definition.group_index(step))
                .collect(),
            tracing: make_tracing(&schedule),
            measured: Cell::new(measured_part(&plan, &schedule, start)),
            schedule,
            cached_window: Cell::new((Window::Steady, start, start)),
            start,
            is_tried: false,
            phase: Cell::new(RunPhase::Running),
            phase_changed: Notify::new(),
            stopped_at: Cell::new(None),
            last_steps: pending_last_steps(definition),
            active: Cell::new(0),
            started: Cell::new(0),
            out_of_rows: Cell::new(false),
            idle: Notify::new(),
            windows: RefCell::new(empty_windows(definition.steps.len())),
            ended: RefCell::new(EndedTally::with_room(definition.steps.len())),
            plan,
            meeting_points,
            occupancy: busy,
            samples,
        }
    }

    /// Lends the thread to the scenario's code of `step`; a panic is counted and its message returned.
    #[inline]
    pub(crate) fn run_user_code<R>(
        &self,
        step: usize,
        code: impl FnOnce() -> R,
    ) -> Result<R, Redacted> {
        self.occupancy.begin_step(step);
        let result = panics::catch_panic(code);
        self.occupancy.end_step();
        result
    }

    /// Returns whether users spend time in steps that send for themselves.
    pub(super) fn has_async_steps(&self) -> bool {
        self.definition.steps.iter().any(|def| def.sends_itself)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.phase.get() == RunPhase::Running
    }

    /// Returns whether everything in flight is being cut off.
    pub(crate) fn is_aborting(&self) -> bool {
        self.phase.get() == RunPhase::Aborting
    }

    pub(crate) fn advance_phase(&self, phase: RunPhase) {
        if phase > self.phase.get() {
            self.phase.set(phase);
            if self.stopped_at.get().is_none() {
                let now = Instant::now();
                self.stopped_at.set(Some(now));
                let (begin, end) = self.measured.get();
                let end = end.map_or(now, |end| end.min(now));
                self.measured.set((begin, Some(end)));
            }
            self.phase_changed.notify_waiters();
        }
    }

    /// Returns the time at which the load ended, or was told to; `None` while it goes on.
    pub(crate) fn stopped_at(&self) -> Option<Instant> {
        self.stopped_at.get()
    }

    /// Waits until no iteration starts any more.
    pub(crate) async fn wait_for_stop(&self) {
        loop {
            let changed = self.phase_changed.notified();
            if !self.is_running() {
                return;
            }
            changed.await;
        }
    }

    /// Waits until a stream that began at `begun` is to end: when the load is over, and it has had the time that journeys
    /// under way have then. Where a journey is only tried no load ends, and it has that time alone.
    pub(crate) async fn wait_for_stream_end(&self, begun: Instant) {
        if !self.is_tried {
            self.wait_for_stop().await;
        }
        // In a box, so that many streams have no room for it all the time.
        Box::pin(tokio::time::sleep_until(begun + self.plan.graceful_stop)).await;
    }

    /// Waits until everything is to end at once.
    pub(crate) async fn wait_for_abort(&self) {
        loop {
            let changed = self.phase_changed.notified();
            if self.is_aborting() {
                return;
            }
            changed.await;
        }
    }

    /// Pauses for `time`, or until no iteration starts any more.
    pub(crate) async fn pause_unless_stopping(&self, time: Duration) {
        tokio::select! {
            biased;
            () = self.wait_for_stop() => {}
            () = tokio::time::sleep(time) => {}
        }
    }

    /// Waits until no user is within an iteration.
    pub(crate) async fn wait_until_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.active.get() == 0 {
                return;
            }
            idle.await;
        }
    }

    pub(crate) fn window_at(&self, due: Instant) -> Window {
        let (window, from, to) = self.cached_window.get();
        if from <= due && due < to {
            return window;
        }
        let since = due.saturating_duration_since(self.start);
        let window = self.schedule.window(since);
        let end = self.start + self.schedule.window_end(since).min(FOREVER);
        self.cached_window.set((window, due.max(self.start), end));
        window
    }

    /// Returns the window in which something counts that happens at `at`, in a journey or step that counts in `window`:
    /// what a session does that began in the ramp belongs to the part of the load in which it does it. What began in
    /// the steady part counts there to its end.
    pub(crate) fn sample_window(&self, window: Window, at: Instant) -> Window {
        if window == Window::Steady {
            return window;
        }
        window.max(self.window_at(at))
    }

    /// Returns the window of a figure that the scenario's code gave at `at`: that of the time, and none after the load.
    /// Those of a step that `runs_once` per user are of the whole run.
    pub(super) fn given_window(&self, at: Instant, runs_once: bool) -> Option<Window> {
        if runs_once {
            return Some(Window::Steady);
        }
        let window = self.window_at(at);
        (window != Window::Steady || self.is_measured_at(at)).then_some(window)
    }

    /// Returns whether `at` lies in the measured part, its end included.
    pub(super) fn is_measured_at(&self, at: Instant) -> bool {
        let (begin, end) = self.measured.get();
        begin <= at && end.is_none_or(|end| at <= end)
    }

    /// Returns the begin and the end of the measured part; no later end than `latest`, where none is known yet.
    pub(super) fn measured_span(&self, latest: Instant) -> (Instant, Instant) {
        let (begin, end) = self.measured.get();
        (begin, end.unwrap_or(latest))
    }

    /// Returns the share of the time from `from` to `to` that lies in the measured part.
    pub(super) fn measured_share(&self, from: Instant, to: Instant) -> f64 {
        let (begin, end) = self.measured_span(to);
        let whole = to.saturating_duration_since(from);
        if whole.is_zero() {
            return if self.is_measured_at(to) { 1.0 } else { 0.0 };
        }
        let part = to.min(end).saturating_duration_since(from.max(begin));
        part.as_secs_f64() / whole.as_secs_f64()
    }

    /// Returns the units of work that came within the measured part, of a stream whose request began at `begun`.
    pub(super) fn measured_units(&self, stream: &StreamSample, begun: Instant) -> u64 {
        let (from, to) = self.measured_span(begun + FOREVER);
        let since = |at: Instant| at.saturating_duration_since(begun);
        if to < begun {
            return 0;
        }
        stream.units_between(since(from), since(to))
    }

    /// Lends the counts of what ended within the measured part, if it ended so.
    #[inline]
    pub(super) fn count_ended(&self, at: Instant, count: impl FnOnce(&mut EndedTally)) {
        if self.is_measured_at(at) {
            self.with_ended(count);
        }
    }

    /// Lends the counts of what ended within the measured part.
    #[inline]
    pub(super) fn with_ended(&self, count: impl FnOnce(&mut EndedTally)) {
        count(&mut self.ended.borrow_mut());
    }

    /// Returns the end of the window that `at` is in; none of the last one.
    pub(crate) fn window_end(&self, at: Instant) -> Option<Instant> {
        let since = at.saturating_duration_since(self.start);
        let end = self.schedule.window_end(since);
        (end < FOREVER).then(|| self.start + end)
    }

    /// Returns the window that a step counts in, in an iteration that counts in `window`.
    pub(crate) fn step_window(&self, step: usize, window: Window) -> Window {
        if self.definition.steps[step].runs_once_per_user() {
            Window::Steady
        } else {
            window
        }
    }

    /// Records the groups of an iteration that ended at `ended_at`.
    #[inline]
    pub(crate) fn record_groups(&self, window: Window, groups: &[GroupSample], ended_at: Instant) {
        for (at, group) in groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.executed)
        {
            let window = self.group_window(at, window);
            self.with_tally(window, |tally| tally.group(at).record(*group));
            self.count_ended(ended_at, |ended| *ended.group(at) += 1);
        }
    }

    /// Returns the window that a group counts in: that of its steps, if all count alike.
    fn group_window(&self, group: usize, window: Window) -> Window {
        let mut steps = (0..self.groups.len()).filter(|step| self.groups[*step] == Some(group));
        if steps.all(|step| self.definition.steps[step].runs_once_per_user()) {
            Window::Steady
        } else {
            window
        }
    }

    /// Lends the current second's tally of `window`.
    pub(crate) fn with_tally<R>(&self, window: Window, write: impl FnOnce(&mut Tally) -> R) -> R {
        let mut windows = self.windows.borrow_mut();
        write(match window {
            Window::WarmUp => &mut windows.warm_up,
            Window::Ramp => &mut windows.ramp,
            Window::Steady => &mut windows.steady,
        })
    }

    /// Begins the trace of an iteration, if requests carry one.
    pub(super) fn begin_trace(&self, arrival: &Arrival, started: Instant) -> Option<JourneyTrace> {
        let tracing = self.tracing.as_ref()?;
        Some(tracing.begin(&self.schedule, arrival.iteration, arrival.due, started))
    }

    /// Goes on with the trace of a user's last iteration.
    pub(super) fn resume_trace(&self, ended: Option<EndedTrace>) -> Option<JourneyTrace> {
        Some(self.tracing.as_ref()?.resume(ended?))
    }

    /// A user begins an iteration.
    pub(crate) fn begin_iteration(&self) {
        self.active.set(self.active.get() + 1);
        self.started.set(self.started.get() + 1);
    }

    /// The place of a user's `count`-th iteration among those of all users of a closed load.
    pub(crate) fn feed_index(&self, user: u64, count: u64) -> u64 {
        closed_feed_index(&self.plan, user, count)
    }

    /// After how many iterations of all users there are no rows any more.
    pub(crate) fn row_limit(&self) -> u64 {
        let rows = self.plan.rows.as_ref();
        rows.map_or(u64::MAX, |limit| limit.rows)
    }

    /// The load ends, or ends for some users, since there are no rows any more.
    pub(crate) fn mark_out_of_rows(&self) {
        self.out_of_rows.set(true);
    }

    /// Returns whether a feed without more rows ended the load, or ended it for some users.
    pub(crate) fn is_out_of_rows(&self) -> bool {
        self.out_of_rows.get()
    }

    /// Returns the number of iterations that have begun.
    pub(crate) fn started_iterations(&self) -> u64 {
        self.started.get()
    }

    /// A user's iteration is over.
    pub(crate) fn end_iteration(&self) {
        self.active.set(self.active.get() - 1);
        if self.active.get() == 0 {
            self.idle.notify_waiters();
        }
    }

    /// A user makes its first iteration, and so has last steps to run after all of its own.
    pub(crate) fn expect_last_steps(&self) {
        for (_, users) in &self.last_steps {
            users.set(users.get() + 1);
        }
    }

    /// The steps that are the last of a user, in order.
    pub(crate) fn last_step_indices(&self) -> impl Iterator<Item = usize> {
        self.last_steps.iter().map(|(step, _)| *step)
    }

    /// A user has run `step`, which is one of its last.
    pub(crate) fn mark_last_step_run(&self, step: usize) {
        let mut all = self.last_steps.iter();
        if let Some((_, users)) = all.find(|(last, _)| *last == step) {
            users.set(users.get() - 1);
        }
    }

    /// Counts the last steps as cancelled that users were yet to run.
    pub(crate) fn cancel_last_steps(&self) {
        for (step, users) in &self.last_steps {
            self.with_tally(Window::Steady, |tally| {
                tally.steps[*step].cancelled += users.take();
            });
        }
    }

    /// Takes the current second's tally and begins the next one's.
    pub(crate) fn take_frame(&self, second: u32) -> Frame {
        let steps = self.definition.steps.len();
        let mut windows = self.windows.replace(empty_windows(steps));
        let mut ended = self.ended.replace(EndedTally::with_room(steps));
        ended.settle();
        // There also where nothing ended in time: without it, rates are of what was due.
        windows.steady.ended = Some(Box::new(ended));
        windows.settle();
        Frame {
            second,
            windows,
            active_users: self.active.get(),
            websockets: take_socket_counts(),
            ..Frame::default()
        }
    }
}

fn measured_part(plan: &Plan, schedule: &Schedule, start: Instant) -> (Instant, Option<Instant>) {
    let (begin, end) = schedule.steady_span();
    let end = due_before_last_row(plan, schedule, end.unwrap_or(FOREVER));
    (start + begin, (end < FOREVER).then(|| start + end))
}

fn pending_last_steps(definition: &ScenarioDef) -> Vec<(usize, Cell<u64>)> {
    let steps = definition.steps.iter().enumerate();
    steps
        .filter(|(_, def)| def.last)
        .map(|(step, _)| (step, Cell::new(0)))
        .collect()
}

/// The place of a user's `count`-th iteration among those of all users of a closed load.
pub(super) fn closed_feed_index(plan: &Plan, user: u64, count: u64) -> u64 {
    count * u64::from(plan.max_users) + user
}

fn empty_windows(steps: usize) -> Windows {
    Windows {
        warm_up: Tally::new(steps),
        ramp: Tally::new(steps),
        steady: Tally::new(steps),
    }
}
