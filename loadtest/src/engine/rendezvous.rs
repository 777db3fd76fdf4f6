//! Steps before which users wait for each other, whatever worker they belong to.

use super::worker_state::WorkerState;
use loadtest_model::definition::{Rendezvous, ScenarioDef};
use loadtest_model::plan::Plan;
use loadtest_model::schedule::{Model, Schedule};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The meeting points of a run, shared by its workers.
#[derive(Debug, Default)]
pub(super) struct MeetingPoints {
    /// That of each step that has one.
    points: Vec<Option<MeetingPoint>>,
    waiting: Mutex<WaitingUsers>,
}

/// The place where users wait before a step.
#[derive(Debug)]
struct MeetingPoint {
    rendezvous: Rendezvous,
    /// The number of groups that have gone.
    gone: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct WaitingUsers {
    /// The group of each step.
    groups: Vec<WaitingGroup>,
    /// The users that have iterations left; `None` where further ones may always begin.
    left: Option<u64>,
}

/// The users that wait before a step.
#[derive(Debug, Clone, Default)]
struct WaitingGroup {
    waiting: u32,
    /// The time at which they go, however few they are.
    deadline: Option<Instant>,
}

impl MeetingPoints {
    /// Returns the meeting points of a scenario under a load.
    pub(super) fn new(scenario: &ScenarioDef, plan: &Plan) -> Arc<Self> {
        let point = |rendezvous| MeetingPoint {
            rendezvous,
            gone: watch::Sender::new(0),
        };
        let steps = scenario.steps.iter();
        let left = match Schedule::new(&plan.load).model() {
            Model::Iterations { users, .. } => Some(u64::from(users)),
            Model::Open | Model::Closed => None,
        };
        Arc::new(Self {
            points: steps.map(|step| step.rendezvous.map(point)).collect(),
            waiting: Mutex::new(WaitingUsers {
                groups: vec![WaitingGroup::default(); scenario.steps.len()],
                left,
            }),
        })
    }

    /// Notes that `users` of a fixed number of iterations have none left.
    pub(super) fn remove_users(&self, users: u64) {
        let mut waiting = self.waiting();
        if let Some(left) = &mut waiting.left {
            *left = left.saturating_sub(users);
        }
        self.release_if_all_wait(&mut waiting);
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingUsers> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets every group go if no user is left that could still complete one.
    fn release_if_all_wait(&self, waiting: &mut WaitingUsers) {
        let all: u64 = (waiting.groups.iter())
            .map(|group| u64::from(group.waiting))
            .sum();
        if all > 0 && waiting.left.is_some_and(|left| left <= all) {
            for (point, group) in self.points.iter().zip(&mut waiting.groups) {
                if let Some(point) = point.as_ref().filter(|_| group.waiting > 0) {
                    point.release(group);
                }
            }
        }
    }

    /// Waits until the group of `step` is complete, its time is over, nobody can join it, or no iteration starts any
    /// more.
    async fn wait_for_group(&self, step: usize, point: &MeetingPoint, state: &WorkerState) {
        let mut gone = point.gone.subscribe();
        let (place, deadline) = {
            let mut waiting = self.waiting();
            let group = &mut waiting.groups[step];
            group.waiting += 1;
            if group.waiting >= point.rendezvous.users {
                return point.release(group);
            }
            let latest = Instant::now() + point.rendezvous.within;
            let place = PlaceInGroup {
                points: self,
                point,
                step,
                number: *point.gone.borrow(),
            };
            let deadline = *group.deadline.get_or_insert(latest);
            self.release_if_all_wait(&mut waiting);
            (place, deadline)
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
                let mut waiting = self.waiting();
                if place.is_kept() {
                    point.release(&mut waiting.groups[step]);
                }
            }
        }
    }
}

impl MeetingPoint {
    fn release(&self, group: &mut WaitingGroup) {
        *group = WaitingGroup::default();
        self.gone.send_modify(|gone| *gone += 1);
    }
}

/// A user in a group. One that leaves before its group, since it is stopped or aborted, is missing in it.
struct PlaceInGroup<'a> {
    points: &'a MeetingPoints,
    point: &'a MeetingPoint,
    step: usize,
    /// The number of groups that had gone when it arrived.
    number: u64,
}

impl PlaceInGroup<'_> {
    /// Returns true if its group has not gone; call it with the groups locked.
    fn is_kept(&self) -> bool {
        *self.point.gone.borrow() == self.number
    }
}

impl Drop for PlaceInGroup<'_> {
    fn drop(&mut self) {
        let mut waiting = self.points.waiting();
        if self.is_kept() {
            let group = &mut waiting.groups[self.step];
            group.waiting -= 1;
            if group.waiting == 0 {
                group.deadline = None;
            }
        }
    }
}

impl WorkerState {
    /// Returns the wait for the other users of the group where `step` has a rendezvous. It ends with the time it took.
    #[inline]
    pub(super) fn rendezvous_at(&self, step: usize) -> Option<impl Future<Output = Duration>> {
        let point = self.meeting_points.points.get(step)?.as_ref()?;
        // In a box, so that the journeys of all others stay small.
        Some(Box::pin(async move {
            let arrived = Instant::now();
            self.meeting_points.wait_for_group(step, point, self).await;
            arrived.elapsed()
        }))
    }
}
