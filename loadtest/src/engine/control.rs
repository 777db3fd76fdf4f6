//! How a run is told to end early, from any thread.

use std::future::pending;
use tokio::sync::watch;

/// How a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Iterations start.
    Running,
    /// No iteration starts; those in flight may end, without think times.
    Stopping,
    /// Everything ends at once.
    Aborting,
}

/// Tells a run to stop or to abort; clones speak to the same run.
#[derive(Debug, Clone)]
pub struct Control(watch::Sender<Phase>);

impl Control {
    /// The control of a run that goes on.
    pub fn new() -> Self {
        Self(watch::Sender::new(Phase::Running))
    }

    /// No iteration starts any more.
    pub fn stop(&self) {
        self.advance(Phase::Stopping);
    }

    /// Everything ends at once.
    pub fn abort(&self) {
        self.advance(Phase::Aborting);
    }

    /// How the run goes on.
    pub fn phase(&self) -> Phase {
        *self.0.borrow()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Phase> {
        self.0.subscribe()
    }

    fn advance(&self, phase: Phase) {
        self.0.send_if_modified(|current| {
            let advances = phase > *current;
            *current = phase.max(*current);
            advances
        });
    }
}

/// What the workers of a run hear: whoever controls it, and the run that gives itself up.
#[derive(Debug)]
pub(super) struct Orders {
    given: watch::Receiver<Phase>,
    own: watch::Receiver<Phase>,
}

impl Orders {
    pub(super) fn of(given: &Control, own: &Control) -> Self {
        Self {
            given: given.subscribe(),
            own: own.subscribe(),
        }
    }

    /// How the run goes on now.
    pub(super) fn phase(&mut self) -> Phase {
        let given = *self.given.borrow_and_update();
        given.max(*self.own.borrow_and_update())
    }

    /// Waits for another order.
    pub(super) async fn changed(&mut self) {
        tokio::select! {
            Ok(()) = self.given.changed() => {}
            Ok(()) = self.own.changed() => {}
            else => pending().await,
        }
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}
