//! What became of journeys, and how the time of the slow ones divides among their steps.

use crate::metrics::{Histogram, Slowest, is_zero, micros};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Iterations: `planned = started + dropped`, `started = ok + failed + cancelled`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JourneyTally {
    /// Iterations that began.
    pub started: u64,
    /// Iterations in which every drawn step was ok and no counted skip happened.
    pub ok: u64,
    /// Iterations that ended otherwise.
    pub failed: u64,
    /// Iterations that the end of the run cut off.
    pub cancelled: u64,
    /// Arrivals that never began: none was free before the end.
    pub dropped: u64,
    /// Iterations that began and are sampled: their requests say so to the target.
    #[serde(skip_serializing_if = "is_zero")]
    pub sampled: u64,
    /// Journey time of ok journeys: intended start to end, less think time.
    pub time: Histogram,
    /// Journey time of failed journeys.
    pub failed_time: Histogram,
    /// The time of each arrival that never began, from when it was due to the end of the load.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub dropped_time: Histogram,
    /// Start lateness that is the generator's fault, of every iteration: from due, or from a user being
    /// free, to started.
    pub lateness: Histogram,
    /// Time that arrivals waited for a free user, where they did.
    pub waits: Histogram,
    /// Time per step by journey time, for the share of each step in the slowest journeys.
    pub shares: Vec<TailShare>,
    /// The slowest journeys, ok or not, step by step.
    #[serde(skip_serializing_if = "Slowest::is_empty")]
    pub slowest: Slowest,
    /// The number of punctual iterations that are not in `lateness` yet.
    #[serde(skip)]
    pub on_time: u64,
}

/// The journeys of about one length, and how their time divides among the steps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TailShare {
    /// Their journey time is at least this long.
    pub at_least_us: u64,
    /// The number of iterations.
    pub journeys: u64,
    /// The service time of each step in them, summed.
    pub steps_us: Vec<u64>,
}

impl JourneyTally {
    /// Leaves out what was measured of ok journeys, where none of them did anything.
    pub(crate) fn forget_measurements(&mut self) {
        *self = Self {
            started: self.started,
            failed: self.failed,
            cancelled: self.cancelled,
            dropped: self.dropped,
            dropped_time: std::mem::take(&mut self.dropped_time),
            lateness: std::mem::take(&mut self.lateness),
            waits: std::mem::take(&mut self.waits),
            ..Self::default()
        };
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.ok += other.ok;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.dropped += other.dropped;
        self.sampled += other.sampled;
        self.time.merge(&other.time);
        self.failed_time.merge(&other.failed_time);
        self.dropped_time.merge(&other.dropped_time);
        self.lateness.merge(&other.lateness);
        self.waits.merge(&other.waits);
        for share in &other.shares {
            self.add_share(share);
        }
        self.slowest.merge(&other.slowest);
    }

    /// Adds one ended journey of `time` through a scenario with so many `steps`, and the service time of
    /// those that were `executed`, by their number.
    pub fn record_shares(
        &mut self,
        time: Duration,
        steps: usize,
        executed: impl IntoIterator<Item = (usize, Duration)>,
    ) {
        let share = self.share(round_to_bucket(micros(time)), steps);
        share.journeys += 1;
        for (step, time) in executed {
            share.steps_us[step] += micros(time);
        }
    }

    fn add_share(&mut self, theirs: &TailShare) {
        let ours = self.share(theirs.at_least_us, theirs.steps_us.len());
        ours.journeys += theirs.journeys;
        for (ours, theirs) in ours.steps_us.iter_mut().zip(&theirs.steps_us) {
            *ours += theirs;
        }
    }

    /// The share of the journeys that take at least `at_least_us`.
    fn share(&mut self, at_least_us: u64, steps: usize) -> &mut TailShare {
        let found = self
            .shares
            .binary_search_by_key(&at_least_us, |share| share.at_least_us);
        let place = found.unwrap_or_else(|place| {
            let share = TailShare {
                at_least_us,
                journeys: 0,
                steps_us: vec![0; steps],
            };
            self.shares.insert(place, share);
            place
        });
        &mut self.shares[place]
    }
}

/// Rounds down to a sixteenth of a power of two, so that a bucket is at most 6.25 % wide.
fn round_to_bucket(us: u64) -> u64 {
    let shift = us.checked_ilog2().unwrap_or(0).saturating_sub(4);
    us >> shift << shift
}
