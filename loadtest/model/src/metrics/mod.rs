//! Samples, folded: histograms and counters that merge.
//!
//! Percentiles only ever come from merged histograms. Merging is associative and commutative, so the
//! order in which workers report does not matter.

mod abort_thresholds;
mod aggregate;
mod cells;
mod dependency;
mod encoding;
mod error_kind;
mod folded;
mod grpc_code;
mod health;
mod histogram;
mod inner;
mod number;
mod observed;
mod own;
mod slowest;
mod tally;
mod times;
mod traffic;
mod websockets;

pub use abort_thresholds::AbortThresholds;
pub use aggregate::{Aggregate, journey_error_rate, sent};
pub use cells::{Cell, CellStep, CellStream, Cells, CompactHistogram};
pub use dependency::{Cause, RootCause};
pub use error_kind::ErrorKind;
pub use folded::fold_ids;
pub use grpc_code::{grpc_code_name, is_grpc_code, status_label};
pub use health::Health;
pub use histogram::{CompactSum, FilledBucket, Histogram};
pub use inner::{MOST_ROWS, OTHERS};
pub use number::Number;
pub use observed::{ObservedFigure, ObservedLimit, ObservedPoint};
pub use own::{GaugeTally, OwnTally};
pub use slowest::{SlowJourney, SlowStep, Slowest};
pub use tally::{
    Broken, DependencyTally, DoneTimes, EndedRow, EndedStep, EndedTally, ErrorTally, Frame,
    GradedTimes, GroupSample, GroupTally, InnerTally, JourneyTally, MessageCounts, Panicked,
    PhaseTally, StepTally, StreamSample, StreamTally, TailShare, Tally, Windows,
};
pub use times::{CompactTimes, Times};
pub use traffic::{Phases, Traffic};
pub use websockets::WebSocketTally;

use std::time::Duration;

/// Lateness of the generator up to this is noise of the scheduler of the system, and shorter than what people notice. Above
/// it, a figure may show the generator instead of the target.
pub(crate) const TOO_LATE: Duration = Duration::from_millis(10);

/// Returns true for a counter that is left out of the JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Whole microseconds, as the record keeps times.
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
