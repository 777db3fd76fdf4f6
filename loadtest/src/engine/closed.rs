//! The closed models: users that start their next iteration when the last one ends, and a fixed
//! number of iterations shared by users.

use super::iteration::{
    Arrival, InBox, InTask, IterationObserver, NoObserver, RequestPlacement, VirtualUser,
};
use super::outcome::StepOutcome;
use super::pacer::Pacer;
use super::users::UserTasks;
use super::worker::WorkerSpec;
use super::worker_state::WorkerState;
use crate::chain::RequestBuf;
use crate::transport::{Exchange, Transport};
use loadtest_model::definition::Reads;
use loadtest_model::schedule::{self, Model};
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The rest of a user after an iteration that sent nothing. Such an iteration is no load, and must not take
/// the thread from others.
const EMPTY_ITERATION_REST: Duration = Duration::from_millis(10);

/// The gaps that a busy worker may make up for at once.
const MOST_MISSED_GAPS: u32 = 8;

/// Lets the users of this worker in one after another, so that their connections do not fill the backlog of the
/// target: as soon as those who came before are answered, and else one after each gap.
struct StartThrottle {
    /// The users whose first request is not answered yet.
    newcomers: Rc<Newcomers>,
    /// The start of the next user if none of them is answered.
    next: Instant,
    /// True if a user has waited for those before it since the last one that came when it was due.
    is_behind: bool,
    /// From one user of this worker to the next then.
    gap: Duration,
}

impl StartThrottle {
    fn new<T>(spec: &WorkerSpec<T>, start: Instant) -> Self {
        let gap = schedule::GAP * spec.partition.all_workers();
        Self {
            newcomers: Rc::new(Newcomers {
                room: Cell::new(spec.partition.count_of(schedule::AT_ONCE)),
                answered: Notify::new(),
                are_all_in: Cell::new(false),
                all_in: Notify::new(),
            }),
            next: start + gap,
            is_behind: false,
            gap,
        }
    }

    /// Waits until a user may start who is to at `due`. Returns its intended start, so nothing is late, and `None`
    /// if the run is to stop.
    async fn admit(
        &mut self,
        due: Instant,
        state: &WorkerState,
        pacer: &mut Pacer,
    ) -> Option<(Instant, FirstAnswer)> {
        self.newcomers.set_all_in(due > Instant::now());
        if self.newcomers.are_all_in.get() {
            self.is_behind = false;
            tokio::select! {
                biased;
                () = state.wait_for_stop() => return None,
                () = pacer.wait_until(due) => {}
            }
        }
        let mut begin = if self.is_behind { Instant::now() } else { due };
        if self.newcomers.room.get() == 0 {
            self.is_behind = true;
            // After a stall of ours they do not come in a burst either.
            let now = Instant::now();
            let mut next = self.next.max(due);
            if let Some(earliest) = now.checked_sub(self.gap * MOST_MISSED_GAPS) {
                next = next.max(earliest);
            }
            begin = now.max(next);
            let is_room = next > now
                && tokio::select! {
                    biased;
                    () = state.wait_for_stop() => return None,
                    () = self.newcomers.wait_for_room() => true,
                    () = pacer.wait_until(next) => false,
                };
            if is_room {
                begin = Instant::now();
            } else {
                self.next = next + self.gap;
            }
        }
        Some((begin, self.newcomers.add()))
    }
}

impl Drop for StartThrottle {
    fn drop(&mut self) {
        self.newcomers.set_all_in(true);
    }
}

/// The users of a worker whose first request is not answered yet.
struct Newcomers {
    /// How many may come besides those of each gap.
    room: Cell<u64>,
    answered: Notify,
    /// False while a user is let in later than it is due.
    are_all_in: Cell<bool>,
    all_in: Notify,
}

impl Newcomers {
    fn add(self: &Rc<Self>) -> FirstAnswer {
        let takes_room = self.room.get() > 0;
        self.room.set(self.room.get().saturating_sub(1));
        FirstAnswer {
            newcomers: Some(Rc::clone(self)),
            takes_room,
        }
    }

    fn set_all_in(&self, are_all_in: bool) {
        self.are_all_in.set(are_all_in);
        if are_all_in {
            self.all_in.notify_waiters();
        }
    }

    async fn wait_for_room(&self) {
        while self.room.get() == 0 {
            self.answered.notified().await;
        }
    }
}

/// The first answer of a user, or the end of its first iteration: another user may start then.
struct FirstAnswer {
    /// Those it came with, until its first iteration is over.
    newcomers: Option<Rc<Newcomers>>,
    takes_room: bool,
}

impl FirstAnswer {
    fn arrived(&mut self) {
        if let (true, Some(newcomers)) = (std::mem::take(&mut self.takes_room), &self.newcomers) {
            newcomers.room.set(newcomers.room.get() + 1);
            newcomers.answered.notify_one();
        }
    }

    /// Waits after the first iteration until all users are in who are due: a target that is kept busy by those who came
    /// first takes long to answer the others. Returns when that was, if it waited.
    async fn wait_for_others(&mut self, state: &WorkerState) -> Option<Instant> {
        let newcomers = self.newcomers.take()?;
        let mut waited = None;
        while state.is_running() {
            let all_in = newcomers.all_in.notified();
            if newcomers.are_all_in.get() {
                break;
            }
            tokio::select! {
                biased;
                () = state.wait_for_stop() => {}
                () = all_in => {}
            }
            waited = Some(Instant::now());
        }
        waited
    }
}

impl IterationObserver for FirstAnswer {
    const FORCES_ALL_STEPS: bool = NoObserver::FORCES_ALL_STEPS;
    const KEPT_EXCHANGES: usize = NoObserver::KEPT_EXCHANGES;

    fn extend_reads(&self, reads: Reads) -> Reads {
        reads
    }

    fn on_exchange(&mut self, _: usize, _: &RequestBuf, _: &Exchange) {
        self.arrived();
    }

    fn on_step_end(&mut self, _: usize, _: &StepOutcome) {}

    fn on_think(&mut self, _: usize, _: Duration) -> bool {
        self.arrived();
        true
    }
}

/// Keeps this worker's users iterating until the load ends or the run is to stop.
pub(super) async fn drive_users<T: Transport + 'static>(
    state: &Rc<WorkerState>,
    spec: &WorkerSpec<T>,
    users: &mut UserTasks<T>,
    pacer: &mut Pacer,
) {
    let most = u64::from(state.plan.max_users);
    let rows = state.row_limit();
    let end = state.start + state.schedule.end().unwrap_or_default();
    let has_async_steps = state.has_async_steps();
    let mut door = StartThrottle::new(spec, state.start);
    for number in (0..spec.partition.count_of(most)).map(|own| spec.partition.to_global(own)) {
        if state.feed_index(number, 0) >= rows {
            state.mark_out_of_rows();
            break;
        }
        let Some(from) = state.schedule.active_from(number, Duration::ZERO) else {
            continue;
        };
        let admitted = tokio::select! {
            biased;
            admitted = door.admit(state.start + from, state, pacer) => admitted,
            () = tokio::time::sleep_until(end) => break,
        };
        let Some((due, answer)) = admitted else {
            return;
        };
        if due >= end {
            break;
        }
        let user = spec.make_user(number);
        let state = Rc::clone(state);
        if has_async_steps {
            users.spawn_user(run_user::<InBox, T>(user, number, due, answer, state));
        } else {
            users.spawn_user(run_user::<InTask, T>(user, number, due, answer, state));
        }
    }
    drop(door);
    tokio::select! {
        () = state.wait_for_stop() => {}
        () = tokio::time::sleep_until(end) => {}
        () = users.wait_until_finished(), if state.plan.rows.is_some() => {}
    }
}

#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` has room for its arguments twice"
)]
fn run_user<P: RequestPlacement, T: Transport>(
    mut user: Box<VirtualUser<T>>,
    number: u64,
    first: Instant,
    mut answer: FirstAnswer,
    state: Rc<WorkerState>,
) -> impl Future<Output = Option<Box<VirtualUser<T>>>> {
    async move {
        let mut pace = Pace { intended: first };
        // The iteration number is that of the user and of its own count, whatever others do.
        let mut count = 0;
        let mut active_until = first;
        let mut arrival = Arrival {
            iteration: iteration_number(number, count),
            feed_index: state.feed_index(number, count),
            due: first,
            ready_at: first,
            begun_at: None,
        };
        loop {
            // A state that panicked is tallied; the next iteration tries again.
            let ran = user.run_iteration::<P, _>(&arrival, &state, &mut answer);
            let _tallied = ran.await;
            answer.arrived();
            let mut due = pace.next_due(&user, &mut answer, &state).await;
            let mut begun = Some(due);
            count += 1;
            if state.feed_index(number, count) >= state.row_limit() {
                state.mark_out_of_rows();
                break;
            }
            if due >= active_until {
                let since = due.saturating_duration_since(state.start);
                let Some(active) = state.schedule.active_span(number, since) else {
                    break;
                };
                active_until = state.start + active.end;
                if state.start + active.start > due {
                    due = state.start + active.start;
                    pace.intended = due;
                    state
                        .pause_unless_stopping(due.saturating_duration_since(Instant::now()))
                        .await;
                    begun = None;
                }
            }
            if !state.is_running() {
                break;
            }
            arrival = Arrival {
                iteration: iteration_number(number, count),
                feed_index: state.feed_index(number, count),
                due,
                ready_at: due,
                begun_at: begun,
            };
        }
        user.with_last_steps()
    }
}

/// The times at which a user of a closed load is to start its iterations.
struct Pace {
    /// The intended start of the last iteration. A timer that fires late does not move the next one.
    intended: Instant,
}

impl Pace {
    /// Waits until the next iteration of `user` is due, and returns that time: the end of the last one, or after a
    /// rest if that sent nothing; but not before all users are in, and the interval of the load is over. Like thinking,
    /// the wait delays nothing that was due.
    async fn next_due<T: Transport>(
        &mut self,
        user: &VirtualUser<T>,
        answer: &mut FirstAnswer,
        state: &WorkerState,
    ) -> Instant {
        let waited = answer.wait_for_others(state).await;
        let mut ended = waited.unwrap_or(user.ended_at);
        if user.sent_nothing {
            state.pause_unless_stopping(EMPTY_ITERATION_REST).await;
            ended = Instant::now();
        } else if user.owes_a_turn() {
            tokio::task::yield_now().await;
            ended = Instant::now();
        }
        let Some(pace) = state.plan.load.pace else {
            return ended;
        };
        self.intended = ended.max(self.intended + pace);
        if self.intended <= ended {
            return ended;
        }
        let wait = self.intended.saturating_duration_since(Instant::now());
        state.pause_unless_stopping(wait).await;
        Instant::now()
    }
}

/// Combines `user` and `count` into one number, each in its own half.
pub(super) fn iteration_number(user: u64, count: u64) -> u64 {
    user << 32 | count
}

/// Runs this worker's part of a fixed number of iterations, until they have all ended or the run is to stop.
/// Returns how many were to start by then.
pub(super) async fn drive_iterations<T: Transport + 'static>(
    state: &Rc<WorkerState>,
    spec: &WorkerSpec<T>,
    users: &mut UserTasks<T>,
    pacer: &mut Pacer,
) -> u64 {
    let Model::Iterations {
        count: wanted,
        users: all_users,
        per_user,
    } = state.schedule.model()
    else {
        return 0;
    };
    let all_users = u64::from(all_users);
    let count = wanted.min(state.row_limit());
    // Users of a worker are consecutive here, and its iterations are those users' even part.
    let (from, to) = spec.partition.range_of(all_users);
    let part = |user: u64| (u128::from(count) * u128::from(user) / u128::from(all_users)) as u64;
    let shared = IterationNumbers {
        next: Rc::new(Cell::new(part(from))),
        step: 1,
        end: part(to),
    };
    let has_async_steps = state.has_async_steps();
    let mut door = StartThrottle::new(spec, state.start);
    let mut begun = from;
    for user in from..to {
        let Some((due, answer)) = door.admit(state.start, state, pacer).await else {
            break;
        };
        // Users with iterations of their own take the numbers, and so the rows of feeds, in turn.
        let numbers = if per_user {
            IterationNumbers {
                next: Rc::new(Cell::new(user)),
                step: all_users,
                end: count,
            }
        } else {
            shared.clone()
        };
        // Those who came before may have done it all.
        if numbers.next.get() >= numbers.end {
            break;
        }
        begun += 1;
        let (user, state) = (spec.make_user(user), Rc::clone(state));
        if has_async_steps {
            users.spawn_user(run_fixed_iterations::<InBox, T>(
                user, due, answer, numbers, state,
            ));
        } else {
            users.spawn_user(run_fixed_iterations::<InTask, T>(
                user, due, answer, numbers, state,
            ));
        }
    }
    drop(door);
    state.meeting_points.remove_users(to - begun);
    tokio::select! {
        () = state.wait_for_stop() => {}
        () = users.wait_until_finished() => {}
    }
    if state.is_running() {
        if count < wanted {
            state.mark_out_of_rows();
        }
        if per_user {
            let in_last_round = (count % all_users).clamp(from, to) - from;
            count / all_users * (to - from) + in_last_round
        } else {
            part(to) - part(from)
        }
    } else {
        state.started_iterations()
    }
}

/// The numbers of iterations that are left for one user, or for several.
#[derive(Debug, Clone)]
struct IterationNumbers {
    next: Rc<Cell<u64>>,
    step: u64,
    end: u64,
}

async fn run_fixed_iterations<P: RequestPlacement, T: Transport>(
    mut user: Box<VirtualUser<T>>,
    mut due: Instant,
    mut answer: FirstAnswer,
    numbers: IterationNumbers,
    state: Rc<WorkerState>,
) -> Option<Box<VirtualUser<T>>> {
    let IterationNumbers { next, step, end } = numbers;
    let mut pace = Pace { intended: due };
    let mut begun = None;
    while next.get() < end && state.is_running() {
        let iteration = next.replace(next.get() + step);
        let arrival = Arrival {
            iteration,
            feed_index: iteration,
            due,
            ready_at: due,
            begun_at: begun,
        };
        // A state that panicked is tallied; the next iteration tries again.
        let ran = user.run_iteration::<P, _>(&arrival, &state, &mut answer);
        let _tallied = ran.await;
        answer.arrived();
        due = pace.next_due(&user, &mut answer, &state).await;
        begun = Some(due);
    }
    state.meeting_points.remove_users(1);
    user.with_last_steps()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::HttpTransport;

    fn size_of_task<A, B, C, D, E, F>(_task: impl FnOnce(A, B, C, D, E) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_task_of_a_user_is_small_and_smaller_where_its_steps_are_async() {
        let in_task = size_of_task(run_user::<InTask, HttpTransport>);
        let in_box = size_of_task(run_user::<InBox, HttpTransport>);
        // An answer of HTTP/3 has more to keep.
        let more = if cfg!(feature = "http3") { 32 } else { 0 };
        assert!(in_task <= 2_672 + more, "{in_task} bytes");
        assert!(in_box <= 1_168, "{in_box} bytes");
    }
}
