//! The identity that the requests of a run, a smoke test or a debug iteration carry.

use crate::targets::Licence;
use crate::transport::Network;
use loadtest_model::shard::Shard;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The identity of a run: all its clients count as one to a target.
#[derive(Debug, Clone)]
pub(crate) struct RunIdentity {
    run_id: String,
    licence: Arc<Licence>,
    /// The guard kept a setup or a teardown from sending something.
    was_refused: Arc<AtomicBool>,
}

impl RunIdentity {
    /// A run that has sent nothing yet.
    pub(crate) fn new(run_id: impl Into<String>) -> Self {
        Self {
            run_id: run_id.into(),
            licence: Arc::default(),
            was_refused: Arc::default(),
        }
    }

    /// Makes the identity of a side task that is not a run, such as `debug-1c3f29a0`.
    pub(super) fn for_side_task(kind: &str) -> Self {
        let number = RandomState::new().hash_one(kind) & u64::from(u32::MAX);
        Self::new(format!("{kind}-{number:08x}"))
    }

    /// Returns the value of the header `loadtest-run`.
    pub(super) fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Gives the run only this part of the caps of its targets.
    pub(super) fn limit_to(&self, shard: Shard) {
        self.licence.limit_to(shard);
    }

    /// Lets a client send as one of the run.
    pub(super) fn share_licence(&self, network: &mut Network) {
        network.share_licence(&self.licence);
    }

    /// Remembers that the guard kept a setup or a teardown from sending something.
    pub(super) fn mark_refused(&self) {
        self.was_refused.store(true, Relaxed);
    }

    /// Returns whether the guard refused a setup or a teardown.
    pub(super) fn was_refused(&self) -> bool {
        self.was_refused.load(Relaxed)
    }

    /// Returns why nothing more may be sent, if the permission was withdrawn.
    pub(super) fn withdrawn_reason(&self) -> Option<String> {
        self.licence.withdrawn().map(str::to_owned)
    }
}
