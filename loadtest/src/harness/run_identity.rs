//! Who sends the requests of a run, a smoke test or a journey.

use crate::targets::Licence;
use crate::transport::Network;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Who sends: to its targets, all clients of a run are one.
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

    /// One that is no run, which is told from others by a number of its own: `debug-1c3f29a0`.
    pub(super) fn for_side_task(kind: &str) -> Self {
        let number = RandomState::new().hash_one(kind) & u64::from(u32::MAX);
        Self::new(format!("{kind}-{number:08x}"))
    }

    /// What each of its requests carries in the header `loadtest-run`.
    pub(super) fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Lets a client send as one of the run.
    pub(super) fn share_licence(&self, network: &mut Network) {
        network.share_licence(&self.licence);
    }

    /// Remembers that the guard kept a setup or a teardown from sending something.
    pub(super) fn mark_refused(&self) {
        self.was_refused.store(true, Relaxed);
    }

    /// Whether that happened.
    pub(super) fn was_refused(&self) -> bool {
        self.was_refused.load(Relaxed)
    }

    /// Why it may send nothing more, if that is so.
    pub(super) fn withdrawn_reason(&self) -> Option<String> {
        self.licence.withdrawn().map(str::to_owned)
    }
}
