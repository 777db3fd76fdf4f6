//! Observers of an iteration.

use crate::chain::RequestBuf;
use crate::engine::outcome::StepOutcome;
use crate::engine::request_log::EndedCall;
use crate::transport::{Exchange, Failure, TranscriptLine};
use loadtest_model::definition::Reads;
use std::time::Duration;

/// Sees what happens in an iteration, step by step.
pub(crate) trait IterationObserver {
    /// True if steps run that chance would leave out.
    const FORCES_ALL_STEPS: bool;
    /// The number of exchanges that are kept of an async step: the last ones.
    const KEPT_EXCHANGES: usize;
    /// True if the messages of WebSockets are shown.
    const SHOWS_MESSAGES: bool = false;
    /// Adds to the parts of a response that the chain reads.
    fn extend_reads(&self, reads: Reads) -> Reads;
    /// The next exchange is of an async step, and counts in the row with this name.
    fn on_row(&mut self, _name: &str) {}
    /// A request was answered, or not.
    fn on_exchange(&mut self, step: usize, request: &RequestBuf, exchange: &Exchange);
    /// An operation that a step measured itself is over.
    fn on_operation(
        &mut self,
        _step: usize,
        _name: &str,
        _time: Duration,
        _failure: Option<&Failure>,
    ) {
    }
    /// Messages were sent over WebSockets, or came, in the order of time.
    fn on_messages(&mut self, _step: usize, _messages: &[TranscriptLine]) {}
    /// A gRPC call is over, or was given up.
    fn on_call(&mut self, _step: usize, _name: &str, _call: &EndedCall) {}
    /// A step is over.
    fn on_step_end(&mut self, step: usize, outcome: &StepOutcome);
    /// The user would think for `time` after a step; whether it does.
    fn on_think(&mut self, step: usize, time: Duration) -> bool;
}

/// The observer of load: none.
pub(crate) struct NoObserver;

impl IterationObserver for NoObserver {
    const FORCES_ALL_STEPS: bool = false;
    const KEPT_EXCHANGES: usize = 0;

    fn extend_reads(&self, reads: Reads) -> Reads {
        reads
    }

    fn on_exchange(&mut self, _: usize, _: &RequestBuf, _: &Exchange) {}

    fn on_step_end(&mut self, _: usize, _: &StepOutcome) {}

    fn on_think(&mut self, _: usize, _: Duration) -> bool {
        true
    }
}
