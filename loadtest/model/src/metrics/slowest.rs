//! The slowest journeys, whole, so that one can be looked at step by step.

use crate::trace::TraceId;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The slowest journeys of some time, the slowest first, and never more than [`Slowest::KEPT`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slowest(Vec<SlowJourney>);

/// A slow iteration and the times of its steps, in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowJourney {
    /// The number of the iteration: `debug --iteration` runs it again.
    pub iteration: u64,
    /// The time it was due, from the start of the load.
    pub due_us: u64,
    /// From then to its start.
    pub delay_us: u64,
    /// Journey time: from when it was to start to its end, less think time.
    pub time_us: u64,
    /// True if every step was ok and none was skipped for want of a value.
    pub ok: bool,
    /// Its trace, if it is sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The steps that were executed, in the order they ran.
    pub steps: Vec<SlowStep>,
}

/// An executed step of a slow iteration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowStep {
    /// The zero-based number of the step.
    pub step: usize,
    /// The time it began, from when the iteration was due; think time included.
    pub begin_us: u64,
    /// Its service time.
    pub time_us: u64,
    /// True if it was ok.
    pub ok: bool,
}

impl Slowest {
    /// The number of iterations that are kept.
    pub const KEPT: usize = 5;

    /// The journeys, the slowest first.
    pub fn journeys(&self) -> &[SlowJourney] {
        &self.0
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if an iteration of this time would be kept; of equal ones the earlier is.
    pub fn admits(&self, time_us: u64) -> bool {
        self.0.len() < Self::KEPT || self.0.last().is_some_and(|last| time_us >= last.time_us)
    }

    /// Keeps `journey` if it is among the slowest.
    pub fn add(&mut self, journey: SlowJourney) {
        if !self.admits(journey.time_us) {
            return;
        }
        let rank = |journey: &SlowJourney| (Reverse(journey.time_us), journey.iteration);
        let place = self.0.partition_point(|kept| rank(kept) <= rank(&journey));
        self.0.insert(place, journey);
        self.0.truncate(Self::KEPT);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for journey in &other.0 {
            self.add(journey.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn journey(time_us: u64, iteration: u64) -> SlowJourney {
        SlowJourney {
            iteration,
            time_us,
            ..SlowJourney::default()
        }
    }

    proptest! {
        #[test]
        fn the_slowest_are_kept_in_whatever_order_and_parts_they_come(
            times in prop::collection::vec(0..50_u64, 0..40),
            cut in 0..40_usize,
        ) {
            let all: Vec<_> = (0..).zip(&times).map(|(i, time)| journey(*time, i)).collect();
            let of = |part: &[SlowJourney]| {
                let mut slowest = Slowest::default();
                for journey in part {
                    slowest.add(journey.clone());
                }
                slowest
            };
            let mut expected = all.clone();
            expected.sort_by_key(|journey| (Reverse(journey.time_us), journey.iteration));
            expected.truncate(Slowest::KEPT);
            let (one, other) = all.split_at(cut.min(all.len()));
            for (first, second) in [(one, other), (other, one)] {
                let mut merged = of(first);
                merged.merge(&of(second));
                prop_assert_eq!(merged.journeys(), &expected[..]);
            }
        }
    }
}
