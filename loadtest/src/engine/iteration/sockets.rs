//! The WebSockets that the steps of a user have opened.

use crate::transport::SocketConnection;
use loadtest_model::definition::StepDef;
use std::sync::Arc;

/// The code of a connection that is no longer needed.
const NORMAL_CLOSURE: u16 = 1000;

/// The WebSockets of a user, each with the zero-based number of the step that opened it.
#[derive(Default)]
pub(crate) struct OpenSockets(Vec<(usize, Arc<SocketConnection>)>);

impl OpenSockets {
    /// Takes the WebSocket that `step` has opened; one that it opened before is closed.
    pub(crate) fn add(&mut self, step: usize, socket: &Arc<SocketConnection>) {
        self.close_where(|opener| opener == step);
        self.0.push((step, Arc::clone(socket)));
    }

    /// Closes those of an iteration that is over. Those of steps that run `once` stay open.
    pub(super) fn end_iteration(&mut self, steps: &[StepDef]) {
        self.close_where(|opener| !steps[opener].once);
    }

    /// Takes out those that are closed, and returns their steps.
    pub(super) fn take_closed(&mut self) -> impl Iterator<Item = usize> {
        let closed = self.0.extract_if(.., |(_, socket)| !socket.is_open());
        closed.map(|(step, _)| step)
    }

    /// Closes those of some steps, in the background.
    fn close_where(&mut self, is_closed: impl Fn(usize) -> bool) {
        self.0.retain(|(step, socket)| {
            let is_closed = is_closed(*step);
            if is_closed {
                socket.begin_close(NORMAL_CLOSURE);
            }
            !is_closed
        });
    }
}
