//! The closed models: users that start their next iteration when the last one ends, and a fixed
//! number of iterations shared by users.

use super::desk::Desk;
use super::iteration::{Arrival, Unobserved, VirtualUser};
use super::pacer::Pacer;
use super::users::Users;
use super::worker::Crew;
use crate::transport::Transport;
use loadtest_model::schedule;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a user rests after an iteration in which it sent nothing: that is no load, and must not
/// take the thread from the others.
const REST: Duration = Duration::from_millis(10);

/// Lets users in one after another, so that their connections do not all come at once.
struct Door {
    /// When the next user of this worker may begin.
    open: Instant,
    /// Users of this worker that may still begin together.
    at_once: u64,
    /// From one user of this worker to the next.
    gap: Duration,
}

impl Door {
    fn new<T>(crew: &Crew<T>, start: Instant) -> Self {
        let (worker, workers) = (u64::from(crew.worker), u64::from(crew.workers));
        Self {
            open: start,
            at_once: (schedule::AT_ONCE + workers - 1 - worker) / workers,
            gap: schedule::GAP * crew.workers,
        }
    }

    /// When a user begins who is to begin at `due`: that is then its intended start, and nothing is late.
    fn opens(&mut self, due: Instant) -> Instant {
        let begin = if self.at_once > 0 {
            self.at_once -= 1;
            due
        } else if self.open > due {
            // After a stall of ours they do not come in a burst either.
            self.open.max(Instant::now())
        } else {
            due
        };
        self.open = begin + self.gap;
        begin
    }
}

/// Keeps this worker's users iterating until the load ends or the run is to stop.
pub(super) async fn drive<T: Transport + 'static>(
    desk: &Rc<Desk>,
    crew: &Crew<T>,
    users: &mut Users<T>,
    pacer: &mut Pacer,
) {
    let most = u64::from(desk.plan.max_users);
    let rows = desk.rows();
    let end = desk.start + desk.schedule.end().unwrap_or_default();
    let mut door = Door::new(crew, desk.start);
    for number in (u64::from(crew.worker)..most).step_by(crew.workers as usize) {
        if desk.turn(number, 0) >= rows {
            desk.run_out();
            break;
        }
        let Some(from) = desk.schedule.active_from(number, Duration::ZERO) else {
            continue;
        };
        let due = door.opens(desk.start + from);
        if due >= end {
            break;
        }
        // Those that begin together do so before any of them has gone on.
        if due > Instant::now() {
            tokio::select! {
                biased;
                () = desk.stopping() => return,
                () = pacer.until(due) => {}
            }
        }
        users.hire(live(crew.user(number), number, due, Rc::clone(desk)));
    }
    tokio::select! {
        () = desk.stopping() => {}
        () = tokio::time::sleep_until(end) => {}
        () = users.travelled(), if desk.plan.rows.is_some() => {}
    }
}

async fn live<T: Transport>(
    mut user: VirtualUser<T>,
    number: u64,
    first: Instant,
    desk: Rc<Desk>,
) -> Option<VirtualUser<T>> {
    // The iteration number is that of the user and of its own count, whatever others do.
    let mut count = 0;
    let mut arrival = Arrival {
        iteration: numbered(number, count),
        turn: desk.turn(number, count),
        due: first,
        ready: first,
        begun: None,
    };
    loop {
        // A state that panicked is tallied; the next iteration tries again.
        let _tallied = user.iterate(arrival, &desk, &mut Unobserved).await;
        let mut due = rested(&user, &desk).await;
        let mut begun = Some(due);
        count += 1;
        if desk.turn(number, count) >= desk.rows() {
            desk.run_out();
            break;
        }
        let Some(from) = desk
            .schedule
            .active_from(number, due.saturating_duration_since(desk.start))
        else {
            break;
        };
        if desk.start + from > due {
            due = desk.start + from;
            desk.pause(due.saturating_duration_since(Instant::now()))
                .await;
            begun = None;
        }
        if !desk.is_running() {
            break;
        }
        arrival = Arrival {
            iteration: numbered(number, count),
            turn: desk.turn(number, count),
            due,
            ready: due,
            begun,
        };
    }
    user.with_last_steps()
}

/// When the next iteration of `user` is due: at the end of the last one, or after a rest where that sent
/// nothing and so gave nobody else the thread.
async fn rested<T>(user: &VirtualUser<T>, desk: &Desk) -> Instant {
    if user.sent_nothing {
        desk.pause(REST).await;
        return Instant::now();
    }
    user.ended
}

/// One number for `user.count`: both keep their own half.
pub(super) fn numbered(user: u64, count: u64) -> u64 {
    user << 32 | count
}

/// Runs this worker's part of `count` iterations, shared by `users`, until they have all ended or the
/// run is to stop. Returns how many were to start by then.
pub(super) async fn drive_iterations<T: Transport + 'static>(
    desk: &Rc<Desk>,
    crew: &Crew<T>,
    count: u64,
    all_users: u64,
    users: &mut Users<T>,
    pacer: &mut Pacer,
) -> u64 {
    let wanted = count;
    let count = wanted.min(desk.rows());
    let (worker, workers) = (u64::from(crew.worker), u64::from(crew.workers));
    // Users of a worker are consecutive here, and its iterations are those users' even part.
    let (from, to) = (
        all_users * worker / workers,
        all_users * (worker + 1) / workers,
    );
    let part = |user: u64| (u128::from(count) * u128::from(user) / u128::from(all_users)) as u64;
    let next = Rc::new(Cell::new(part(from)));
    let behind = part(to);
    let mut door = Door::new(crew, desk.start);
    for user in from..to {
        let due = door.opens(desk.start);
        // Those that begin together do so before any of them has gone on.
        if due > Instant::now() {
            tokio::select! {
                biased;
                () = desk.stopping() => break,
                () = pacer.until(due) => {}
            }
        }
        // Those who came before may have done it all.
        if next.get() >= behind {
            break;
        }
        let (user, next, desk) = (crew.user(user), Rc::clone(&next), Rc::clone(desk));
        users.hire(work(user, due, next, behind, desk));
    }
    tokio::select! {
        () = desk.stopping() => {}
        () = users.travelled() => {}
    }
    if desk.is_running() {
        if count < wanted {
            desk.run_out();
        }
        behind - part(from)
    } else {
        next.get() - part(from)
    }
}

async fn work<T: Transport>(
    mut user: VirtualUser<T>,
    mut due: Instant,
    next: Rc<Cell<u64>>,
    behind: u64,
    desk: Rc<Desk>,
) -> Option<VirtualUser<T>> {
    let mut begun = None;
    while next.get() < behind && desk.is_running() {
        let iteration = next.replace(next.get() + 1);
        let arrival = Arrival {
            iteration,
            turn: iteration,
            due,
            ready: due,
            begun,
        };
        // A state that panicked is tallied; the next iteration tries again.
        let _tallied = user.iterate(arrival, &desk, &mut Unobserved).await;
        due = rested(&user, &desk).await;
        begun = Some(due);
    }
    user.with_last_steps()
}
