//! Steps before which users wait for each other, whatever worker they belong to.

use super::worker_state::WorkerState;
use loadtest_model::definition::{Rendezvous, ScenarioDef};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The meeting point of each step that has one, shared by the workers of a run.
pub(super) type MeetingPoints = Arc<[Option<MeetingPoint>]>;

/// The place where users wait before a step.
#[derive(Debug)]
pub(super) struct MeetingPoint {
    rendezvous: Rendezvous,
    group: Mutex<Group>,
    /// The number of groups that have gone.
    gone: watch::Sender<u64>,
}

/// The users that wait.
#[derive(Debug, Default)]
struct Group {
    waiting: u32,
    /// The time at which they go, however few they are.
    deadline: Option<Instant>,
}

/// Returns the meeting points of a scenario.
pub(super) fn make_meeting_points(scenario: &ScenarioDef) -> MeetingPoints {
    let point = |rendezvous| MeetingPoint {
        rendezvous,
        group: Mutex::default(),
        gone: watch::Sender::new(0),
    };
    let steps = scenario.steps.iter();
    steps.map(|step| step.rendezvous.map(point)).collect()
}

impl MeetingPoint {
    fn group(&self) -> MutexGuard<'_, Group> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, group: &mut Group) {
        *group = Group::default();
        self.gone.send_modify(|gone| *gone += 1);
    }

    /// Waits until the group is complete, its time is over, or no iteration starts any more.
    async fn wait_for_group(&self, state: &WorkerState) {
        let mut gone = self.gone.subscribe();
        let (place, deadline) = {
            let mut group = self.group();
            group.waiting += 1;
            if group.waiting >= self.rendezvous.users {
                return self.release(&mut group);
            }
            let latest = Instant::now() + self.rendezvous.within;
            let place = PlaceInGroup {
                point: self,
                number: *self.gone.borrow(),
            };
            (place, *group.deadline.get_or_insert(latest))
        };
        tokio::select! {
            biased;
            _ = gone.wait_for(|gone| *gone > place.number) => {}
            () = state.wait_for_stop() => {
                if state.is_aborting() {
                    // Nothing is sent any more: it is about to be dropped.
                    pending::<()>().await;
                }
            }
            () = tokio::time::sleep_until(deadline) => {
                let mut group = self.group();
                if place.is_kept() {
                    self.release(&mut group);
                }
            }
        }
    }
}

/// A user in a group. One that leaves before its group, since it is stopped or aborted, is missing in it.
struct PlaceInGroup<'a> {
    point: &'a MeetingPoint,
    /// The number of groups that had gone when it arrived.
    number: u64,
}

impl PlaceInGroup<'_> {
    /// Returns true if its group has not gone; call it with the group locked.
    fn is_kept(&self) -> bool {
        *self.point.gone.borrow() == self.number
    }
}

impl Drop for PlaceInGroup<'_> {
    fn drop(&mut self) {
        let mut group = self.point.group();
        if self.is_kept() {
            group.waiting -= 1;
            if group.waiting == 0 {
                group.deadline = None;
            }
        }
    }
}

impl WorkerState {
    /// Waits for the other users of the group where `step` has a rendezvous. Returns the time that took.
    pub(super) async fn wait_at_rendezvous(&self, step: usize) -> Duration {
        let Some(Some(point)) = self.meeting_points.get(step) else {
            return Duration::ZERO;
        };
        let arrived = Instant::now();
        // In a box, so that the journeys of all others stay small.
        Box::pin(point.wait_for_group(self)).await;
        arrived.elapsed()
    }
}
