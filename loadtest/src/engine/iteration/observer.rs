//! Who sees what happens in an iteration.

use super::super::outcome::Outcome;
use crate::chain::RequestBuf;
use crate::transport::Exchange;
use loadtest_model::definition::Reads;
use std::time::Duration;

/// Sees what happens in an iteration, step by step.
pub(crate) trait Observer {
    /// Whether steps that chance would leave out run all the same.
    const RUNS_ALL: bool;
    /// How many exchanges of a step that sends for itself it is told of, the last ones.
    const EXCHANGES: usize;
    /// What of a response is wanted besides what the chain reads.
    fn reads(&self, reads: Reads) -> Reads;
    /// A request was answered, or not.
    fn exchanged(&mut self, step: usize, request: &RequestBuf, exchange: &Exchange);
    /// A step is over.
    fn ended(&mut self, step: usize, outcome: &Outcome);
    /// The user would think for `time` after a step; whether it does.
    fn thinks(&mut self, step: usize, time: Duration) -> bool;
}

/// The observer of load: none.
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    const RUNS_ALL: bool = false;
    const EXCHANGES: usize = 0;

    fn reads(&self, reads: Reads) -> Reads {
        reads
    }

    fn exchanged(&mut self, _: usize, _: &RequestBuf, _: &Exchange) {}

    fn ended(&mut self, _: usize, _: &Outcome) {}

    fn thinks(&mut self, _: usize, _: Duration) -> bool {
        true
    }
}
