//! Answers that a test holds back until something has happened.

use std::sync::Arc;
use tokio::sync::watch;

/// Holds every [`Reply::held`](crate::Reply::held) answer until it is opened. So a test knows which answers came before
/// something else, however slow the machine is.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    /// A gate that is closed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets all answers go, those to come too.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn wait(&self) {
        // The sender lives as long as this gate.
        let _ = self.0.subscribe().wait_for(|is_open| *is_open).await;
    }
}
