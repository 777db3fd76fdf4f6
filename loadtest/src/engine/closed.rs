//! The closed models: users that start their next iteration when the last one ends, and a fixed
//! number of iterations shared by users.

use super::iteration::{Arrival, NoObserver, VirtualUser};
use super::pacer::Pacer;
use super::users::UserTasks;
use super::worker::WorkerSpec;
use super::worker_state::WorkerState;
use crate::transport::Transport;
use loadtest_model::schedule::{self, Model};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The rest of a user after an iteration that sent nothing. Such an iteration is no load, and must not take
/// the thread from others.
const EMPTY_ITERATION_REST: Duration = Duration::from_millis(10);

/// Lets users in one after another, so that their connections do not all come at once.
struct StartThrottle {
    /// The earliest start of the next user of this worker.
    earliest: Instant,
    /// Users of this worker that may still begin together.
    at_once: u64,
    /// From one user of this worker to the next.
    gap: Duration,
}

impl StartThrottle {
    fn new<T>(spec: &WorkerSpec<T>, start: Instant) -> Self {
        Self {
            earliest: start,
            at_once: spec.partition.count_of(schedule::AT_ONCE),
            gap: schedule::GAP * spec.partition.all_workers(),
        }
    }

    /// Returns the start of a user that is to begin at `due`. The result is its intended start, so nothing is
    /// late.
    fn next_start(&mut self, due: Instant) -> Instant {
        let begin = if self.at_once > 0 {
            self.at_once -= 1;
            due
        } else if self.earliest > due {
            // After a stall of ours they do not come in a burst either.
            self.earliest.max(Instant::now())
        } else {
            due
        };
        self.earliest = begin + self.gap;
        begin
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
    let mut door = StartThrottle::new(spec, state.start);
    for number in (0..spec.partition.count_of(most)).map(|own| spec.partition.to_global(own)) {
        if state.feed_index(number, 0) >= rows {
            state.mark_out_of_rows();
            break;
        }
        let Some(from) = state.schedule.active_from(number, Duration::ZERO) else {
            continue;
        };
        let due = door.next_start(state.start + from);
        if due >= end {
            break;
        }
        // Those that begin together do so before any of them has gone on.
        if due > Instant::now() {
            tokio::select! {
                biased;
                () = state.wait_for_stop() => return,
                () = pacer.wait_until(due) => {}
            }
        }
        users.spawn_user(run_user(
            spec.make_user(number),
            number,
            due,
            Rc::clone(state),
        ));
    }
    tokio::select! {
        () = state.wait_for_stop() => {}
        () = tokio::time::sleep_until(end) => {}
        () = users.wait_until_finished(), if state.plan.rows.is_some() => {}
    }
}

async fn run_user<T: Transport>(
    mut user: VirtualUser<T>,
    number: u64,
    first: Instant,
    state: Rc<WorkerState>,
) -> Option<VirtualUser<T>> {
    let mut pace = Pace { intended: first };
    // The iteration number is that of the user and of its own count, whatever others do.
    let mut count = 0;
    let mut arrival = Arrival {
        iteration: iteration_number(number, count),
        feed_index: state.feed_index(number, count),
        due: first,
        ready_at: first,
        begun_at: None,
    };
    loop {
        // A state that panicked is tallied; the next iteration tries again.
        let _tallied = user.run_iteration(arrival, &state, &mut NoObserver).await;
        let mut due = pace.next_due(&user, &state).await;
        let mut begun = Some(due);
        count += 1;
        if state.feed_index(number, count) >= state.row_limit() {
            state.mark_out_of_rows();
            break;
        }
        let Some(from) = state
            .schedule
            .active_from(number, due.saturating_duration_since(state.start))
        else {
            break;
        };
        if state.start + from > due {
            due = state.start + from;
            pace.intended = due;
            state
                .pause_unless_stopping(due.saturating_duration_since(Instant::now()))
                .await;
            begun = None;
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

/// The times at which a user of a closed load is to start its iterations.
struct Pace {
    /// The intended start of the last iteration. A timer that fires late does not move the next one.
    intended: Instant,
}

impl Pace {
    /// Waits until the next iteration of `user` is due, and returns that time: the end of the last one, or after a
    /// rest if that sent nothing; but not before the interval of the load is over. Like thinking, the wait delays
    /// nothing that was due.
    async fn next_due<T>(&mut self, user: &VirtualUser<T>, state: &WorkerState) -> Instant {
        let mut ended = user.ended_at;
        if user.sent_nothing {
            state.pause_unless_stopping(EMPTY_ITERATION_REST).await;
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
    let mut door = StartThrottle::new(spec, state.start);
    let mut begun = from;
    for user in from..to {
        let due = door.next_start(state.start);
        // Those that begin together do so before any of them has gone on.
        if due > Instant::now() {
            tokio::select! {
                biased;
                () = state.wait_for_stop() => break,
                () = pacer.wait_until(due) => {}
            }
        }
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
        users.spawn_user(run_fixed_iterations(user, due, numbers, state));
    }
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

async fn run_fixed_iterations<T: Transport>(
    mut user: VirtualUser<T>,
    mut due: Instant,
    numbers: IterationNumbers,
    state: Rc<WorkerState>,
) -> Option<VirtualUser<T>> {
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
        let _tallied = user.run_iteration(arrival, &state, &mut NoObserver).await;
        due = pace.next_due(&user, &state).await;
        begun = Some(due);
    }
    state.meeting_points.remove_users(1);
    user.with_last_steps()
}
