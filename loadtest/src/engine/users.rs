//! The tasks of a worker's users, from their first iteration to their last steps.

use super::iteration::{NoObserver, VirtualUser};
use super::worker_state::WorkerState;
use crate::transport::Transport;
use std::future::Future;
use std::rc::Rc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The users of a worker, each in a task of its own.
pub(super) struct UserTasks<T> {
    /// Users that may still start iterations.
    travelling: JoinSet<Option<Box<VirtualUser<T>>>>,
    /// Users that finished their last iteration and wait for the end of the load.
    waiting: Vec<Box<VirtualUser<T>>>,
    /// Users that run their last steps.
    in_last_steps: JoinSet<()>,
    /// The end of the last iteration of all users.
    finished_at: Option<Instant>,
}

impl<T: Transport + 'static> UserTasks<T> {
    pub(super) fn new() -> Self {
        Self {
            travelling: JoinSet::new(),
            waiting: Vec::new(),
            in_last_steps: JoinSet::new(),
            finished_at: None,
        }
    }

    /// Takes on a user; `journeys` gives it back after its last one, if it has steps to run then.
    pub(super) fn spawn_user(
        &mut self,
        journeys: impl Future<Output = Option<Box<VirtualUser<T>>>> + 'static,
    ) {
        self.travelling.spawn_local(journeys);
    }

    /// Waits until no user has journeys to come.
    pub(super) async fn wait_until_finished(&mut self) {
        while let Some(user) = self.travelling.join_next().await {
            self.waiting.extend(user.ok().flatten());
        }
    }

    /// Lets every user run its last steps, now that the load is over: at once, or when the iteration is
    /// over that it is within.
    pub(super) async fn leave(&mut self, state: &Rc<WorkerState>) {
        let mut user = self.waiting.pop();
        loop {
            if let Some(mut user) = user {
                let state = Rc::clone(state);
                self.in_last_steps.spawn_local(async move {
                    user.run_last_steps(&state, &mut NoObserver).await;
                });
            }
            user = match self.waiting.pop() {
                Some(user) => Some(user),
                None => match self.travelling.join_next().await {
                    Some(user) => user.ok().flatten(),
                    None => break,
                },
            };
        }
        self.finished_at = Some(Instant::now());
        while self.in_last_steps.join_next().await.is_some() {}
    }

    /// Aborts every remaining user and returns the end of the last iteration.
    pub(super) async fn abort_all(mut self) -> Instant {
        let over = self.finished_at.unwrap_or_else(Instant::now);
        self.travelling.shutdown().await;
        self.in_last_steps.shutdown().await;
        over
    }
}
