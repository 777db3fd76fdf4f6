//! The open model: arrivals go to free users; one that finds none waits, and the wait counts.

use super::desk::Desk;
use super::iteration::{Arrival, Unobserved, VirtualUser};
use super::pacer::Pacer;
use super::users::Users;
use super::worker::Crew;
use crate::transport::Transport;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use tokio::time::Instant;

/// How often the runtime has a turn before a user is hired: to hear of answers, to read them, to end what
/// they belong to.
const LOOKS: u32 = 3;

/// Where arrivals and users of one worker meet.
struct Counter {
    /// Free users; the last freed is the first served.
    free: RefCell<Vec<Rc<Seat>>>,
    /// Arrivals of this worker that are due and wait: from the first to before the second.
    waiting: Cell<(u64, u64)>,
    /// Whether no arrival comes any more.
    is_closed: Cell<bool>,
    /// No arrival starts after this.
    end: Instant,
    slice: Slice,
}

/// Where an arrival goes.
enum Place {
    /// To a free user.
    Seat(Rc<Seat>),
    /// To a user who is yet to be made.
    Hire,
    /// Behind those that wait.
    Queue,
}

/// Which arrivals belong to a worker: every `workers`-th one.
#[derive(Debug, Clone, Copy)]
struct Slice {
    worker: u64,
    workers: u64,
}

impl Slice {
    fn global(self, local: u64) -> u64 {
        local * self.workers + self.worker
    }

    /// How many of `all` arrivals are this worker's.
    fn share(self, all: u64) -> u64 {
        (all + self.workers - 1 - self.worker) / self.workers
    }
}

/// Where a user waits for an arrival.
#[derive(Default)]
struct Seat {
    arrival: Cell<Option<Arrival>>,
    waker: RefCell<Option<Waker>>,
}

impl Seat {
    fn give(&self, arrival: Arrival) {
        self.arrival.set(Some(arrival));
        self.wake();
    }

    /// The arrival that it is given; `None` where none comes any more.
    async fn take(&self, counter: &Counter) -> Option<Arrival> {
        poll_fn(|context| {
            let arrival = self.arrival.take();
            if arrival.is_some() || counter.is_closed.get() {
                return Poll::Ready(arrival);
            }
            *self.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Counter {
    fn arrival(&self, desk: &Desk, local: u64, ready: Option<Instant>) -> Arrival {
        let iteration = self.slice.global(local);
        let due = desk.start + desk.schedule.arrival(iteration);
        Arrival {
            iteration,
            turn: iteration,
            due,
            ready: ready.unwrap_or(due),
            begun: None,
        }
    }

    /// Lets answers that are there be read before anybody is hired: after a pause of ours, many users are
    /// about to be free, and to hire as many more would take longer than the pause did.
    async fn look(&self) {
        for _ in 0..LOOKS {
            if !self.free.borrow().is_empty() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Finds a place for the arrival `next`; one in the queue is taken at once.
    fn place(&self, next: u64, may_hire: bool) -> Place {
        let (first, behind) = self.waiting.get();
        // Nothing overtakes what waits: users that became free after the end leave a queue behind.
        if first == behind {
            if let Some(seat) = self.free.borrow_mut().pop() {
                return Place::Seat(seat);
            }
            if may_hire {
                return Place::Hire;
            }
        }
        self.waiting
            .set((if first == behind { next } else { first }, next + 1));
        Place::Queue
    }

    /// What a user does next that has just become free; `None` if nothing any more.
    async fn next(&self, desk: &Desk, seat: &Rc<Seat>) -> Option<Arrival> {
        let (first, behind) = self.waiting.get();
        let now = Instant::now();
        if first < behind && desk.is_running() && now < self.end {
            self.waiting.set((first + 1, behind));
            return Some(self.arrival(desk, first, Some(now)));
        }
        self.free.borrow_mut().push(Rc::clone(seat));
        seat.take(self).await
    }

    /// Sends the users home: no arrival comes any more.
    fn close(&self) {
        self.is_closed.set(true);
        for seat in self.free.take() {
            seat.wake();
        }
    }
}

/// Starts every arrival of this worker, until the load ends or the run is to stop; those that still
/// wait then are dropped. Returns how many were due.
pub(super) async fn drive<T: Transport + 'static>(
    desk: &Rc<Desk>,
    crew: &Crew<T>,
    users: &mut Users<T>,
    pacer: &mut Pacer,
) -> u64 {
    let slice = Slice {
        worker: crew.worker.into(),
        workers: crew.workers.into(),
    };
    let arrivals = desk.schedule.arrivals();
    let all = slice.share(arrivals.min(desk.rows()));
    let end = desk.start + desk.schedule.end().unwrap_or_default();
    let counter = Rc::new(Counter {
        free: RefCell::default(),
        waiting: Cell::new((0, 0)),
        is_closed: Cell::new(false),
        end,
        slice,
    });
    let most = slice.share(desk.plan.max_users.into()).max(1);
    let mut hired = 0;
    let mut next = 0;
    while next < all && desk.is_running() {
        let due = desk.start + desk.schedule.arrival(slice.global(next));
        tokio::select! {
            biased;
            () = desk.stopping() => break,
            () = pacer.until(due) => {}
        }
        let now = Instant::now();
        while next < all && desk.start + desk.schedule.arrival(slice.global(next)) <= now {
            counter.look().await;
            if !desk.is_running() {
                break;
            }
            match counter.place(next, hired < most) {
                Place::Seat(seat) => seat.give(counter.arrival(desk, next, None)),
                Place::Hire => {
                    let arrival = counter.arrival(desk, next, None);
                    let user = crew.user(slice.global(hired));
                    users.hire(serve(user, arrival, Rc::clone(&counter), Rc::clone(desk)));
                    hired += 1;
                }
                Place::Queue => {}
            }
            next += 1;
        }
    }
    let runs_out = desk.rows() < arrivals && desk.is_running();
    if runs_out {
        desk.run_out();
    }
    tokio::select! {
        biased;
        () = desk.stopping() => {}
        () = tokio::time::sleep_until(end) => {}
        () = served(desk, next), if runs_out => {}
    }
    let (first, behind) = counter.waiting.replace((0, 0));
    // A user that was given an arrival at the very end is yet to begin it, or it would be neither.
    while desk.started() < next - (behind - first) {
        tokio::task::yield_now().await;
    }
    drop_arrivals(desk, slice, first, behind);
    counter.close();
    next
}

/// Waits until `count` iterations have begun and are over.
async fn served(desk: &Desk, count: u64) {
    loop {
        desk.idle().await;
        if desk.started() >= count {
            return;
        }
        // A user has its arrival, or is about to take one that waits.
        tokio::task::yield_now().await;
    }
}

/// Counts the arrivals from `first` to before `behind` as dropped, window by window.
fn drop_arrivals(desk: &Desk, slice: Slice, mut first: u64, behind: u64) {
    let due = |local| desk.schedule.arrival(slice.global(local));
    while first < behind {
        let window = desk.schedule.window(due(first));
        let end = desk.schedule.window_end(due(first));
        let (mut low, mut high) = (first + 1, behind);
        while low < high {
            let middle = u64::midpoint(low, high);
            if due(middle) < end {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        desk.tally(window, |tally| tally.journey.dropped += low - first);
        first = low;
    }
}

async fn serve<T: Transport>(
    mut user: VirtualUser<T>,
    first: Arrival,
    counter: Rc<Counter>,
    desk: Rc<Desk>,
) -> Option<VirtualUser<T>> {
    let seat = Rc::new(Seat::default());
    let mut next = Some(first);
    while let Some(arrival) = next {
        // A state that panicked is tallied; the next iteration tries again.
        let _tallied = user.iterate(arrival, &desk, &mut Unobserved).await;
        if user.sent_nothing {
            tokio::task::yield_now().await;
        }
        next = counter.next(&desk, &seat).await;
    }
    user.with_last_steps()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_slices_of_the_workers_are_the_whole_and_do_not_overlap(all in 0_u64..2_000, workers in 1_u64..40) {
            let mut arrivals: Vec<u64> = (0..workers)
                .map(|worker| Slice { worker, workers })
                .flat_map(|slice| (0..slice.share(all)).map(move |local| slice.global(local)))
                .collect();
            arrivals.sort_unstable();
            prop_assert_eq!(arrivals, (0..all).collect::<Vec<_>>());
        }
    }

    fn counter() -> Rc<Counter> {
        Rc::new(Counter {
            free: RefCell::default(),
            waiting: Cell::new((0, 0)),
            is_closed: Cell::new(false),
            end: Instant::now(),
            slice: Slice {
                worker: 0,
                workers: 1,
            },
        })
    }

    #[tokio::test]
    async fn who_is_about_to_be_free_is_waited_for_and_nobody_else() {
        let counter = counter();
        let seats = async |turns: u32| {
            let theirs = Rc::clone(&counter);
            let user = tokio::task::spawn_local(async move {
                for _ in 1..turns {
                    tokio::task::yield_now().await;
                }
                theirs.free.borrow_mut().push(Rc::default());
            });
            counter.look().await;
            let seats = counter.free.take().len();
            user.abort();
            seats
        };
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                assert_eq!(seats(1).await, 1);
                assert_eq!(seats(2).await, 1);
                assert_eq!(seats(1_000).await, 0);
            })
            .await;
    }

    #[test]
    fn nothing_overtakes_what_waits_and_nothing_is_counted_twice() {
        let counter = counter();
        assert!(matches!(counter.place(0, true), Place::Hire));
        assert!(matches!(counter.place(1, false), Place::Queue));
        // After the end a user takes no arrival from the queue, but becomes free.
        counter.free.borrow_mut().push(Rc::default());
        assert!(matches!(counter.place(2, true), Place::Queue));
        assert_eq!(
            counter.waiting.get(),
            (1, 3),
            "1 and 2 wait, and nobody else"
        );
        counter.waiting.set((3, 3));
        assert!(matches!(counter.place(3, true), Place::Seat(_)));
        assert_eq!(counter.waiting.get(), (3, 3));
    }
}
