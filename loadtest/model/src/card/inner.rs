//! The requests of a step that sends for itself, a row per name.

use super::step::{Quantiles, share_of};
use crate::metrics::InnerTally;
use serde::Serialize;
use std::collections::BTreeMap;

/// The measurements of the requests of one name within a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InnerRow {
    /// The name that the step gave, else method and path.
    pub name: String,
    /// Requests that were answered, or were not.
    pub requests: u64,
    /// The requests without an answer, or with a status of 400 and more.
    pub failed: u64,
    /// Failed of all, a share of one.
    pub error_rate: Option<f64>,
    /// Service time of those that were answered with a status below 400, and of those that timed out.
    pub service: Quantiles,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
}

impl InnerRow {
    pub(super) fn from_tally(tally: &InnerTally) -> Self {
        Self {
            name: tally.name.clone(),
            requests: tally.requests,
            failed: tally.failed,
            error_rate: share_of(tally.failed, tally.requests),
            service: Quantiles::from_histogram(&tally.service),
            statuses: tally.statuses.clone(),
        }
    }
}
