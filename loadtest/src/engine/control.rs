//! Stops or aborts a run early, from any thread.

use std::future::pending;
use tokio::sync::watch;

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RunPhase {
    /// Iterations start.
    Running,
    /// No iteration starts; those in flight may end, without think times.
    Stopping,
    /// Everything ends at once.
    Aborting,
}

/// Stops a run early, from any thread. Clones control the same run.
#[derive(Debug, Clone)]
pub struct Control(watch::Sender<RunPhase>);

impl Control {
    /// Creates the control of a run, for [`Run::control`](crate::Run::control).
    pub fn new() -> Self {
        Self(watch::Sender::new(RunPhase::Running))
    }

    /// Starts no further iteration. Those in flight may end, without think times.
    pub fn stop(&self) {
        self.advance_phase(RunPhase::Stopping);
    }

    /// Ends everything at once, requests in flight too.
    pub fn abort(&self) {
        self.advance_phase(RunPhase::Aborting);
    }

    /// Returns the phase of the run.
    pub(crate) fn phase(&self) -> RunPhase {
        *self.0.borrow()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<RunPhase> {
        self.0.subscribe()
    }

    fn advance_phase(&self, phase: RunPhase) {
        self.0.send_if_modified(|current| {
            let advances = phase > *current;
            *current = phase.max(*current);
            advances
        });
    }
}

/// The stop signals of a worker: from the caller of the engine, and from the engine itself.
#[derive(Debug)]
pub(super) struct StopSignals {
    requested: watch::Receiver<RunPhase>,
    internal: watch::Receiver<RunPhase>,
}

impl StopSignals {
    pub(super) fn new(given: &Control, own: &Control) -> Self {
        Self {
            requested: given.subscribe(),
            internal: own.subscribe(),
        }
    }

    /// Returns the current phase of the run.
    pub(super) fn phase(&mut self) -> RunPhase {
        let given = *self.requested.borrow_and_update();
        given.max(*self.internal.borrow_and_update())
    }

    /// Waits for another order.
    pub(super) async fn changed(&mut self) {
        tokio::select! {
            Ok(()) = self.requested.changed() => {}
            Ok(()) = self.internal.changed() => {}
            else => pending().await,
        }
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}
