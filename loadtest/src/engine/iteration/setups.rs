//! Values of setups that are fetched again during the load: once for all users, and outside of their journeys.

use super::VirtualUser;
use super::progress::IterationProgress;
use crate::chain::{Local, SetupFetch, UsedSetup};
use crate::transport::Transport;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

impl<T: Transport> VirtualUser<T> {
    /// Returns the setups that a step uses and whose values are fetched again.
    #[inline]
    fn used_setups(&self, step: usize) -> Vec<UsedSetup> {
        let chain = self.chain.as_ref();
        chain
            .map(|chain| chain.used_setups(step))
            .unwrap_or_default()
    }

    /// Begins to fetch the values that a step uses and that expire soon. Returns the wait for those that have expired,
    /// which is no part of the time of a journey.
    #[inline]
    pub(super) fn await_setups<'a>(
        &'a mut self,
        step: usize,
        progress: &'a mut IterationProgress,
    ) -> Option<Local<'a, ()>> {
        let used = self.used_setups(step);
        if used.is_empty() {
            return None;
        }
        self.await_expired(used, progress)
    }

    fn await_expired<'a>(
        &'a mut self,
        mut used: Vec<UsedSetup>,
        progress: &'a mut IterationProgress,
    ) -> Option<Local<'a, ()>> {
        for setup in &used {
            begin_fetch(setup.claim_if_due());
        }
        used.retain(UsedSetup::has_expired);
        if used.is_empty() {
            return None;
        }
        // In a box, since most steps never wait here.
        Some(Box::pin(async move {
            self.wait_for_setups(&used, progress).await;
        }))
    }

    /// Has the values fetched again that a step uses and that are of no use to it any more: after an answer with
    /// `status`, or as its own code says. Returns whether there are new ones.
    pub(super) async fn renew_setups(
        &mut self,
        step: usize,
        status: Option<u16>,
        progress: &mut IterationProgress,
    ) -> bool {
        let mut used = self.used_setups(step);
        used.retain(|setup| status.is_none_or(|status| setup.refreshes_on(status)));
        for setup in &used {
            begin_fetch(setup.claim_refused());
        }
        self.wait_for_setups(&used, progress).await;
        used.iter().any(UsedSetup::is_outdated)
    }

    async fn wait_for_setups(&mut self, used: &[UsedSetup], progress: &mut IterationProgress) {
        let begun = Instant::now();
        for setup in used {
            setup.wait_for_fetch().await;
        }
        self.has_waited |= !used.is_empty();
        progress.paused += begun.elapsed();
    }
}

/// Runs a fetch on a thread of its own: setups block theirs.
fn begin_fetch(fetch: Option<SetupFetch>) {
    if let Some(fetch) = fetch {
        spawn_blocking(|| fetch.run());
    }
}
