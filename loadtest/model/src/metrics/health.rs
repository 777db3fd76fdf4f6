//! What the generator saw of itself: whether it measured the target, or was busy with its own troubles.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The troubles of the generator in a stretch of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// CPU time that the worker threads used.
    pub worker_cpu_us: u64,
    /// The highest share of one core that any one worker used in a second, a share of one.
    pub busiest_worker: f64,
    /// Seconds in which a worker's runtime stalled: did not come back for [`STALL`](Self::STALL) or longer.
    pub stalled_seconds: u32,
    /// The length of the longest stall.
    pub longest_stall_us: u64,
    /// The zero-based number of a step whose code kept a worker's thread for so long, where it was seen to.
    pub kept_by: Option<u32>,
    /// The time for which the quota of the control group kept threads of this process from running, summed over the
    /// processors.
    pub throttled_us: u64,
    /// The share of the machine's processor time that its host gave to others, a share of one.
    pub stolen: f64,
    /// The most memory of this process that was resident; 0 where the system does not tell.
    pub memory_bytes: u64,
}

impl Health {
    /// A worker's runtime stalled when it came back so long after it was to: because the system stopped
    /// its thread, or because code of the scenario kept it.
    pub const STALL: Duration = Duration::from_millis(100);

    /// Adds what was seen elsewhere or later; both together are of `seconds`.
    pub fn merge(&mut self, other: &Self, seconds: u32) {
        self.worker_cpu_us += other.worker_cpu_us;
        self.busiest_worker = self.busiest_worker.max(other.busiest_worker);
        // Two workers that stall in the same second are one stalled second.
        self.stalled_seconds = (self.stalled_seconds + other.stalled_seconds).min(seconds);
        self.longest_stall_us = self.longest_stall_us.max(other.longest_stall_us);
        // The first step of the scenario, so that the order does not matter.
        self.kept_by = self.kept_by.into_iter().chain(other.kept_by).min();
        self.throttled_us += other.throttled_us;
        self.stolen = self.stolen.max(other.stolen);
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
    }
}
