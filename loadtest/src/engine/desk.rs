//! What the virtual users of one worker share: the plan, the phase of the run, the current second's
//! tally. It never leaves its thread, so nothing here is locked.

use super::control::Phase;
use super::panics;
use loadtest_model::definition::{Draw, ScenarioDef};
use loadtest_model::metrics::{Frame, Tally, Windows};
use loadtest_model::plan::Plan;
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
pub(crate) struct Busy(AtomicU64);

impl Busy {
    /// Bits of the step.
    const STEP: u32 = 16;

    /// The zero-based number of the step, if it is one's code at all.
    pub(crate) fn step(&self) -> Option<usize> {
        self.turn().map(Turn::step)
    }

    /// The turn of a step that goes on now.
    pub(crate) fn turn(&self) -> Option<Turn> {
        let turn = Turn(self.0.load(Ordering::Relaxed));
        let is_step = turn.0 & ((1 << Self::STEP) - 1) > 0;
        is_step.then_some(turn)
    }

    pub(crate) fn begin(&self, step: usize) {
        let turn = (self.0.load(Ordering::Relaxed) >> Self::STEP) + 1;
        let turn = turn << Self::STEP | (step as u64 + 1);
        self.0.store(turn, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        let turn = self.0.load(Ordering::Relaxed) >> Self::STEP << Self::STEP;
        self.0.store(turn, Ordering::Relaxed);
    }
}

/// A stretch of time in which the code of a step has the thread; no two are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn(u64);

impl Turn {
    /// The zero-based number of the step.
    pub(crate) fn step(self) -> usize {
        (self.0 & ((1 << Busy::STEP) - 1)) as usize - 1
    }
}

pub(crate) struct Desk {
    pub(crate) definition: &'static ScenarioDef,
    pub(crate) plan: Plan,
    /// When chance lets each step run.
    pub(crate) draws: Vec<Draw>,
    pub(crate) schedule: Schedule,
    /// The start of the run: second 0.
    pub(crate) start: Instant,
    /// The window that was asked for last, and a stretch of time that lies in it.
    stretch: Cell<(Window, Instant, Instant)>,
    phase: Cell<Phase>,
    phase_changed: Notify,
    /// The steps that are the last of a user, each with the number of users who are yet to run it.
    last_steps: Vec<(usize, Cell<u64>)>,
    active: Cell<u32>,
    started: Cell<u64>,
    out_of_rows: Cell<bool>,
    idle: Notify,
    windows: RefCell<Windows>,
    /// Whose code has the thread; read from outside when it does not come back.
    busy: Arc<Busy>,
}

impl Desk {
    pub(crate) fn new(
        definition: &'static ScenarioDef,
        plan: Plan,
        start: Instant,
        busy: Arc<Busy>,
    ) -> Self {
        let schedule = Schedule::new(&plan.load);
        Self {
            definition,
            draws: Draw::of(&definition.steps),
            schedule,
            stretch: Cell::new((Window::Steady, start, start)),
            start,
            phase: Cell::new(Phase::Running),
            phase_changed: Notify::new(),
            last_steps: last_steps(definition),
            active: Cell::new(0),
            started: Cell::new(0),
            out_of_rows: Cell::new(false),
            idle: Notify::new(),
            windows: RefCell::new(empty(definition.steps.len())),
            plan,
            busy,
        }
    }

    /// Lends the thread to the scenario's code of `step`; a panic is counted and its message returned.
    pub(crate) fn lend<R>(&self, step: usize, code: impl FnOnce() -> R) -> Result<R, String> {
        self.busy.begin(step);
        let result = panics::catch(code);
        self.busy.end();
        result
    }

    pub(crate) fn is_running(&self) -> bool {
        self.phase.get() == Phase::Running
    }

    /// Whether what is still under way is being cut off.
    pub(crate) fn is_over(&self) -> bool {
        self.phase.get() == Phase::Aborting
    }

    pub(crate) fn advance(&self, phase: Phase) {
        if phase > self.phase.get() {
            self.phase.set(phase);
            self.phase_changed.notify_waiters();
        }
    }

    /// Waits until no iteration starts any more.
    pub(crate) async fn stopping(&self) {
        loop {
            let changed = self.phase_changed.notified();
            if !self.is_running() {
                return;
            }
            changed.await;
        }
    }

    /// Waits until everything is to end at once.
    pub(crate) async fn aborting(&self) {
        loop {
            let changed = self.phase_changed.notified();
            if self.is_over() {
                return;
            }
            changed.await;
        }
    }

    /// Pauses for `time`, or until no iteration starts any more.
    pub(crate) async fn pause(&self, time: Duration) {
        tokio::select! {
            biased;
            () = self.stopping() => {}
            () = tokio::time::sleep(time) => {}
        }
    }

    /// Waits until no user is within an iteration.
    pub(crate) async fn idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.active.get() == 0 {
                return;
            }
            idle.await;
        }
    }

    pub(crate) fn window(&self, due: Instant) -> Window {
        let (window, from, to) = self.stretch.get();
        if from <= due && due < to {
            return window;
        }
        let since = due.saturating_duration_since(self.start);
        let window = self.schedule.window(since);
        let end = self.start + self.schedule.window_end(since).min(FOREVER);
        self.stretch.set((window, due.max(self.start), end));
        window
    }

    /// Lends the current second's tally of `window`.
    pub(crate) fn tally<R>(&self, window: Window, write: impl FnOnce(&mut Tally) -> R) -> R {
        let mut windows = self.windows.borrow_mut();
        write(match window {
            Window::WarmUp => &mut windows.warm_up,
            Window::Ramp => &mut windows.ramp,
            Window::Steady => &mut windows.steady,
        })
    }

    /// A user begins an iteration.
    pub(crate) fn enter(&self) {
        self.active.set(self.active.get() + 1);
        self.started.set(self.started.get() + 1);
    }

    /// The place of a user's `count`-th iteration among those of all users of a closed load.
    pub(crate) fn turn(&self, user: u64, count: u64) -> u64 {
        turn(&self.plan, user, count)
    }

    /// After how many iterations of all users there are no rows any more.
    pub(crate) fn rows(&self) -> u64 {
        let rows = self.plan.rows.as_ref();
        rows.map_or(u64::MAX, |limit| limit.rows)
    }

    /// The load ends, or ends for some users, since there are no rows any more.
    pub(crate) fn run_out(&self) {
        self.out_of_rows.set(true);
    }

    /// Whether rows ended the load, or did so for some users.
    pub(crate) fn is_out_of_rows(&self) -> bool {
        self.out_of_rows.get()
    }

    /// How many iterations have begun.
    pub(crate) fn started(&self) -> u64 {
        self.started.get()
    }

    /// A user's iteration is over.
    pub(crate) fn leave(&self) {
        self.active.set(self.active.get() - 1);
        if self.active.get() == 0 {
            self.idle.notify_waiters();
        }
    }

    /// A user makes its first journey, and so has last steps to run after all of its own.
    pub(crate) fn meet(&self) {
        for (_, users) in &self.last_steps {
            users.set(users.get() + 1);
        }
    }

    /// The steps that are the last of a user, in order.
    pub(crate) fn last_steps(&self) -> impl Iterator<Item = usize> {
        self.last_steps.iter().map(|(step, _)| *step)
    }

    /// A user has run `step`, which is one of its last.
    pub(crate) fn ran_last(&self, step: usize) {
        let mut all = self.last_steps.iter();
        if let Some((_, users)) = all.find(|(last, _)| *last == step) {
            users.set(users.get() - 1);
        }
    }

    /// Counts the last steps as cancelled that users were yet to run.
    pub(crate) fn cancel_last_steps(&self, window: Window) {
        for (step, users) in &self.last_steps {
            self.tally(window, |tally| {
                tally.steps[*step].cancelled += users.take();
            });
        }
    }

    /// Where last steps count if the load ends now: among the headline numbers, unless those are yet to
    /// begin.
    pub(crate) fn window_of_last_steps(&self) -> Window {
        self.schedule.window_after(self.start.elapsed())
    }

    /// Takes the current second's tally and begins the next one's.
    pub(crate) fn take(&self, second: u32) -> Frame {
        let mut windows = self.windows.replace(empty(self.definition.steps.len()));
        windows.settle();
        Frame {
            second,
            windows,
            active_users: self.active.get(),
            ..Frame::default()
        }
    }
}

fn last_steps(definition: &ScenarioDef) -> Vec<(usize, Cell<u64>)> {
    let steps = definition.steps.iter().enumerate();
    steps
        .filter(|(_, def)| def.last)
        .map(|(step, _)| (step, Cell::new(0)))
        .collect()
}

/// The place of a user's `count`-th iteration among those of all users of a closed load.
pub(super) fn turn(plan: &Plan, user: u64, count: u64) -> u64 {
    count * u64::from(plan.max_users) + user
}

fn empty(steps: usize) -> Windows {
    Windows {
        warm_up: Tally::new(steps),
        ramp: Tally::new(steps),
        steady: Tally::new(steps),
    }
}
