//! The figures of the streams of a step.

use super::step::{Quantiles, share_of};
use crate::metrics::StreamTally;
use serde::Serialize;

/// The measurements of the streams of events that a step reads, or the requests of one name within it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StreamRow {
    /// From a request that was due to the first event that counts.
    pub first_event: Quantiles,
    /// From each of these events to the next, of streams that ended well.
    pub gap: Quantiles,
    /// The time for each unit after the first, of streams that ended well.
    pub per_unit: Quantiles,
    /// The units of work, such as tokens.
    pub units: u64,
    /// Those of the measured part, per second; `None` of a step that runs once per user.
    pub units_per_second: Option<f64>,
    /// The events.
    pub events: u64,
    /// Events that came by the same read as the one before, a share of one.
    pub together: Option<f64>,
    /// True if step or requests are graded by the time to its first event, false if by that to its last.
    pub graded_by_first_event: bool,
}

impl StreamRow {
    pub(super) fn new(
        graded_by_first_event: bool,
        tally: &StreamTally,
        (units, seconds): (u64, Option<f64>),
    ) -> Self {
        Self {
            first_event: Quantiles::from_histogram(&tally.first_event),
            gap: Quantiles::from_histogram(&tally.gap),
            per_unit: Quantiles::from_histogram(&tally.per_unit),
            units: tally.units,
            units_per_second: seconds.map(|seconds| units as f64 / seconds),
            events: tally.events,
            together: share_of(tally.together, tally.events),
            graded_by_first_event,
        }
    }
}
