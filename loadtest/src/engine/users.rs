//! The users of one worker, from their first journey to their last steps.

use super::desk::Desk;
use super::iteration::{Unobserved, VirtualUser};
use crate::transport::Transport;
use loadtest_model::schedule::Window;
use std::future::Future;
use std::rc::Rc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The users of a worker, each in a task of its own.
pub(super) struct Users<T> {
    /// Those who may have journeys to come.
    travelling: JoinSet<Option<VirtualUser<T>>>,
    /// Those whose last journey is over, and who wait for the end of the load.
    waiting: Vec<VirtualUser<T>>,
    /// Those who run their last steps.
    leaving: JoinSet<()>,
    /// When the last of all journeys was over.
    travelled: Option<Instant>,
}

impl<T: Transport + 'static> Users<T> {
    pub(super) fn new() -> Self {
        Self {
            travelling: JoinSet::new(),
            waiting: Vec::new(),
            leaving: JoinSet::new(),
            travelled: None,
        }
    }

    /// Takes on a user; `journeys` gives it back after its last one, if it has steps to run then.
    pub(super) fn hire(
        &mut self,
        journeys: impl Future<Output = Option<VirtualUser<T>>> + 'static,
    ) {
        self.travelling.spawn_local(journeys);
    }

    /// Waits until no user has journeys to come.
    pub(super) async fn travelled(&mut self) {
        while let Some(user) = self.travelling.join_next().await {
            self.waiting.extend(user.ok().flatten());
        }
    }

    /// Lets every user run its last steps, now that the load is over: at once, or when the journey is
    /// over that it is within.
    pub(super) async fn leave(&mut self, window: Window, desk: &Rc<Desk>) {
        let mut user = self.waiting.pop();
        loop {
            if let Some(mut user) = user {
                let desk = Rc::clone(desk);
                self.leaving.spawn_local(async move {
                    user.leave(window, &desk, &mut Unobserved).await;
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
        self.travelled = Some(Instant::now());
        while self.leaving.join_next().await.is_some() {}
    }

    /// Cuts off whoever is still there, and says when the last of all journeys was over.
    pub(super) async fn dismiss(mut self) -> Instant {
        let over = self.travelled.unwrap_or_else(Instant::now);
        self.travelling.shutdown().await;
        self.leaving.shutdown().await;
        over
    }
}
