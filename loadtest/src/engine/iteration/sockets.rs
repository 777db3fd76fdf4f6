//! The WebSockets that the steps of a user have opened.

use crate::transport::{SocketConnection, TranscriptLine, count_reopened_socket};
use loadtest_model::definition::StepDef;
use std::sync::Arc;

/// The code of a connection that is no longer needed.
const NORMAL_CLOSURE: u16 = 1000;

/// The WebSockets of a user.
#[derive(Default)]
pub(crate) struct OpenSockets {
    /// Each with the zero-based number of the step that opened it.
    open: Vec<(usize, Arc<SocketConnection>)>,
    /// The steps whose lasting connection the target closed.
    lost: Vec<usize>,
}

impl OpenSockets {
    /// Takes the WebSocket that `step` has opened; one that it opened before is closed.
    pub(crate) fn add(&mut self, step: usize, socket: &Arc<SocketConnection>) {
        self.close_where(|opener| opener == step);
        self.open.push((step, Arc::clone(socket)));
        if let Some(at) = self.lost.iter().position(|lost| *lost == step) {
            self.lost.swap_remove(at);
            count_reopened_socket();
        }
    }

    /// Takes what was sent and what came over those that are open, in the order of time.
    pub(super) fn take_transcript(&self) -> Vec<TranscriptLine> {
        let all = self.open.iter();
        let mut lines: Vec<_> = all
            .flat_map(|(_, socket)| socket.take_transcript())
            .collect();
        lines.sort_by_key(|line| line.at);
        lines
    }

    /// Closes those of an iteration that is over. Those of steps that run `once` stay open.
    pub(super) fn end_iteration(&mut self, steps: &[StepDef]) {
        self.close_where(|opener| !steps[opener].once);
    }

    /// Takes out those that are closed, and returns their steps.
    pub(super) fn take_closed(&mut self) -> impl Iterator<Item = usize> {
        let Self { open, lost } = self;
        let closed = open.extract_if(.., |(_, socket)| !socket.is_open());
        closed.map(|(step, socket)| {
            if socket.is_closed_by_target() {
                lost.push(step);
            }
            step
        })
    }

    /// Closes those of some steps, in the background.
    fn close_where(&mut self, is_closed: impl Fn(usize) -> bool) {
        self.open.retain(|(step, socket)| {
            let is_closed = is_closed(*step);
            if is_closed {
                socket.begin_close(NORMAL_CLOSURE);
            }
            !is_closed
        });
    }
}
