//! The open model: arrivals go to free users; one that finds none waits, and the wait counts.

use super::iteration::{Arrival, InBox, InTask, NoObserver, RequestPlacement, VirtualUser};
use super::pacer::Pacer;
use super::partition::Partition;
use super::users::UserTasks;
use super::worker::WorkerSpec;
use super::worker_state::WorkerState;
use crate::transport::Transport;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use tokio::time::Instant;

/// Turns of the runtime before a new user is made: to notice answers, to read them, and to end their
/// iterations.
const YIELDS_BEFORE_NEW_USER: u32 = 3;

/// The arrivals and the idle users of a worker.
struct ArrivalQueue {
    /// Free users; the last freed is the first served.
    free: RefCell<Vec<Rc<IdleUser>>>,
    /// Arrivals of this worker that are due and wait: from the first to before the second.
    waiting: Cell<(u64, u64)>,
    /// True if no more arrivals come.
    is_closed: Cell<bool>,
    /// No arrival starts after this.
    end: Instant,
    partition: Partition,
}

/// The way an arrival is handled.
enum Assignment {
    /// To a free user.
    ToIdleUser(Rc<IdleUser>),
    /// To a user who is yet to be made.
    ToNewUser,
    /// Behind those that wait.
    Wait,
}

/// A user that waits for an arrival.
#[derive(Default)]
struct IdleUser {
    arrival: Cell<Option<Arrival>>,
    waker: RefCell<Option<Waker>>,
}

impl IdleUser {
    fn assign_arrival(&self, arrival: Arrival) {
        self.arrival.set(Some(arrival));
        self.wake_user();
    }

    /// The arrival that it is given; `None` where none comes any more.
    async fn wait_for_arrival(&self, queue: &ArrivalQueue) -> Option<Arrival> {
        poll_fn(|context| {
            let arrival = self.arrival.take();
            if arrival.is_some() || queue.is_closed.get() {
                return Poll::Ready(arrival);
            }
            *self.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn wake_user(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl ArrivalQueue {
    fn make_arrival(&self, state: &WorkerState, local: u64, ready: Option<Instant>) -> Arrival {
        let iteration = self.partition.to_global(local);
        let due = state.start + state.schedule.arrival(iteration);
        Arrival {
            iteration,
            feed_index: iteration,
            due,
            ready_at: ready.unwrap_or(due),
            begun_at: None,
        }
    }

    /// Lets answers that have arrived be read before a new user is made. After a stall of the generator many
    /// users are about to be free.
    async fn let_users_return(&self) {
        for _ in 0..YIELDS_BEFORE_NEW_USER {
            if !self.free.borrow().is_empty() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Finds a place for the arrival `next`; one in the queue is taken at once.
    fn assign_next(&self, next: u64, may_add_user: bool) -> Assignment {
        let (first, behind) = self.waiting.get();
        // Nothing overtakes what waits: users that became free after the end leave a queue behind.
        if first == behind {
            if let Some(idle_user) = self.free.borrow_mut().pop() {
                return Assignment::ToIdleUser(idle_user);
            }
            if may_add_user {
                return Assignment::ToNewUser;
            }
        }
        self.waiting
            .set((if first == behind { next } else { first }, next + 1));
        Assignment::Wait
    }

    /// Returns the next arrival for a user that has just become free; `None` if there are no more.
    async fn next_arrival(&self, state: &WorkerState, idle_user: &Rc<IdleUser>) -> Option<Arrival> {
        let (first, behind) = self.waiting.get();
        let now = Instant::now();
        if first < behind && state.is_running() && now < self.end {
            self.waiting.set((first + 1, behind));
            return Some(self.make_arrival(state, first, Some(now)));
        }
        self.free.borrow_mut().push(Rc::clone(idle_user));
        idle_user.wait_for_arrival(self).await
    }

    /// Sends the users home: no arrival comes any more.
    fn close_queue(&self) {
        self.is_closed.set(true);
        for idle_user in self.free.take() {
            idle_user.wake_user();
        }
    }
}

/// Starts every arrival of this worker, until the load ends or the run is to stop; those that still
/// wait then are dropped. Returns how many were due.
pub(super) async fn drive_arrivals<T: Transport + 'static>(
    state: &Rc<WorkerState>,
    spec: &WorkerSpec<T>,
    users: &mut UserTasks<T>,
    pacer: &mut Pacer,
) -> u64 {
    let partition = spec.partition;
    let arrivals = state.schedule.arrivals();
    let all = partition.count_of(arrivals.min(state.row_limit()));
    let end = state.start + state.schedule.end().unwrap_or_default();
    let queue = Rc::new(ArrivalQueue {
        free: RefCell::default(),
        waiting: Cell::new((0, 0)),
        is_closed: Cell::new(false),
        end,
        partition,
    });
    let most = partition.count_of(state.plan.max_users.into()).max(1);
    let has_async_steps = state.has_async_steps();
    let mut user_count = 0;
    let mut next = 0;
    while next < all && state.is_running() {
        let due = state.start + state.schedule.arrival(partition.to_global(next));
        tokio::select! {
            biased;
            () = state.wait_for_stop() => break,
            () = pacer.wait_until(due) => {}
        }
        let now = Instant::now();
        while next < all && state.start + state.schedule.arrival(partition.to_global(next)) <= now {
            queue.let_users_return().await;
            if !state.is_running() {
                break;
            }
            match queue.assign_next(next, user_count < most) {
                Assignment::ToIdleUser(idle_user) => {
                    idle_user.assign_arrival(queue.make_arrival(state, next, None));
                }
                Assignment::ToNewUser => {
                    let arrival = queue.make_arrival(state, next, None);
                    let user = spec.make_user(partition.to_global(user_count));
                    let (queue, state) = (Rc::clone(&queue), Rc::clone(state));
                    if has_async_steps {
                        users.spawn_user(serve_arrivals::<InBox, T>(user, arrival, queue, state));
                    } else {
                        users.spawn_user(serve_arrivals::<InTask, T>(user, arrival, queue, state));
                    }
                    user_count += 1;
                }
                Assignment::Wait => {}
            }
            next += 1;
        }
    }
    let runs_out = state.row_limit() < arrivals && state.is_running();
    if runs_out {
        state.mark_out_of_rows();
    }
    tokio::select! {
        biased;
        () = state.wait_for_stop() => {}
        () = tokio::time::sleep_until(end) => {}
        () = wait_for_iterations(state, next), if runs_out => {}
    }
    let (first, behind) = queue.waiting.replace((0, 0));
    // A user that was given an arrival at the very end is yet to begin it, or it would be neither.
    while state.started_iterations() < next - (behind - first) {
        tokio::task::yield_now().await;
    }
    drop_arrivals(state, partition, first, behind);
    queue.close_queue();
    next
}

/// Waits until `count` iterations have begun and are over.
async fn wait_for_iterations(state: &WorkerState, count: u64) {
    loop {
        state.wait_until_idle().await;
        if state.started_iterations() >= count {
            return;
        }
        // A user has its arrival, or is about to take one that waits.
        tokio::task::yield_now().await;
    }
}

/// Counts the arrivals from `first` to before `behind` as dropped, window by window.
fn drop_arrivals(state: &WorkerState, partition: Partition, mut first: u64, behind: u64) {
    let due = |local| state.schedule.arrival(partition.to_global(local));
    let ended = state.start.elapsed();
    let ended = state.schedule.end().map_or(ended, |end| end.min(ended));
    while first < behind {
        let window = state.schedule.window(due(first));
        let end = state.schedule.window_end(due(first));
        let (mut low, mut high) = (first + 1, behind);
        while low < high {
            let middle = u64::midpoint(low, high);
            if due(middle) < end {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        state.with_tally(window, |tally| {
            tally.journey.dropped += low - first;
            for arrival in first..low {
                let time = ended.saturating_sub(due(arrival));
                tally.journey.dropped_time.record(time);
            }
        });
        first = low;
    }
}

async fn serve_arrivals<P: RequestPlacement, T: Transport>(
    mut user: Box<VirtualUser<T>>,
    first: Arrival,
    queue: Rc<ArrivalQueue>,
    state: Rc<WorkerState>,
) -> Option<Box<VirtualUser<T>>> {
    let idle_user = Rc::new(IdleUser::default());
    let mut next = Some(first);
    while let Some(arrival) = next {
        // A state that panicked is tallied; the next iteration tries again.
        let mut nobody = NoObserver;
        let ran = user.run_iteration::<P, _>(&arrival, &state, &mut nobody);
        let _tallied = ran.await;
        if user.sent_nothing || !user.has_waited {
            tokio::task::yield_now().await;
        }
        next = queue.next_arrival(&state, &idle_user).await;
    }
    user.with_last_steps()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::shard::Shard;

    fn queue() -> Rc<ArrivalQueue> {
        Rc::new(ArrivalQueue {
            free: RefCell::default(),
            waiting: Cell::new((0, 0)),
            is_closed: Cell::new(false),
            end: Instant::now(),
            partition: Partition::new(Shard::WHOLE, 0, 1),
        })
    }

    #[tokio::test]
    async fn who_is_about_to_be_free_is_waited_for_and_nobody_else() {
        let queue = queue();
        let idle_users = async |turns: u32| {
            let theirs = Rc::clone(&queue);
            let user = tokio::task::spawn_local(async move {
                for _ in 1..turns {
                    tokio::task::yield_now().await;
                }
                theirs.free.borrow_mut().push(Rc::default());
            });
            queue.let_users_return().await;
            let idle_users = queue.free.take().len();
            user.abort();
            idle_users
        };
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                assert_eq!(idle_users(1).await, 1);
                assert_eq!(idle_users(2).await, 1);
                assert_eq!(idle_users(1_000).await, 0);
            })
            .await;
    }

    #[test]
    fn nothing_overtakes_what_waits_and_nothing_is_counted_twice() {
        let queue = queue();
        assert!(matches!(queue.assign_next(0, true), Assignment::ToNewUser));
        assert!(matches!(queue.assign_next(1, false), Assignment::Wait));
        // After the end a user takes no arrival from the queue, but becomes free.
        queue.free.borrow_mut().push(Rc::default());
        assert!(matches!(queue.assign_next(2, true), Assignment::Wait));
        assert_eq!(queue.waiting.get(), (1, 3), "1 and 2 wait, and nobody else");
        queue.waiting.set((3, 3));
        assert!(matches!(
            queue.assign_next(3, true),
            Assignment::ToIdleUser(_)
        ));
        assert_eq!(queue.waiting.get(), (3, 3));
    }
}
