//! What became of the steps of a group, taken together.

use crate::metrics::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The measurements of one group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupTally {
    /// Journeys in which at least one of its steps ran to an end.
    pub executed: u64,
    /// Of these, those in which one of its steps failed, or was skipped since an upstream value was missing.
    pub failed: u64,
    /// The response times of its steps, summed, of each journey in which it did not fail.
    pub response: Histogram,
    /// The same of each journey in which it failed.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub failed_response: Histogram,
}

/// A group in one journey.
#[derive(Debug, Clone, Copy, Default)]
pub struct GroupSample {
    /// One of its steps ran to an end.
    pub executed: bool,
    /// One of its steps failed, or was skipped since an upstream value was missing.
    pub failed: bool,
    /// The response times of its steps, summed.
    pub response: Duration,
}

impl GroupTally {
    /// Adds a journey in which the group was executed.
    pub fn record(&mut self, sample: GroupSample) {
        self.executed += 1;
        if sample.failed {
            self.failed += 1;
            self.failed_response.record(sample.response);
        } else {
            self.response.record(sample.response);
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.executed += other.executed;
        self.failed += other.failed;
        self.response.merge(&other.response);
        self.failed_response.merge(&other.failed_response);
    }
}
