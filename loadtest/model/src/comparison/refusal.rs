//! The reasons why two runs are not compared, in words.

use super::comparable::SHORTEST_STEADY_PART;
use crate::display;
use crate::shard::Shard;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The reason why two runs are not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// They are of different scenarios.
    Scenario {
        /// The scenario of the baseline.
        base: String,
        /// The other one.
        new: String,
    },
    /// A run ended early.
    Unfinished {
        /// Which.
        run_id: String,
    },
    /// A run measured the generator.
    Invalid {
        /// Which.
        run_id: String,
    },
    /// A run has too short a steady part.
    TooShort {
        /// Which.
        run_id: String,
        /// The length of its steady part, in microseconds.
        steady_us: u64,
    },
    /// The run that is to come would have too short a steady part.
    PlannedTooShort {
        /// The length of its steady part, in microseconds.
        steady_us: u64,
    },
    /// They are one and the same.
    Same {
        /// Which.
        run_id: String,
    },
    /// Their loads differ in more than how long they last.
    Load {
        /// The load of the baseline, in words.
        base: String,
        /// The other one.
        new: String,
    },
    /// A run made a part of its load.
    Shard {
        /// Which.
        run_id: String,
        /// The part.
        shard: Shard,
    },
    /// They asked different targets.
    Target {
        /// The target of the baseline, in words.
        base: String,
        /// The other one.
        new: String,
    },
    /// They ran on machines that differ, with the target on the same one.
    Machine {
        /// The machine of the baseline, in words.
        base: String,
        /// The other one.
        new: String,
    },
    /// The requests of one carry traces, or more of them are sampled than of the other.
    Traces {
        /// The tracing of the baseline, in words.
        base: String,
        /// The other one.
        new: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario { base, new } => {
                write!(
                    f,
                    "the runs are of different scenarios: `{base}` and `{new}`"
                )
            }
            Self::Unfinished { run_id } => write!(f, "the run {run_id} did not finish"),
            Self::Invalid { run_id } => {
                write!(
                    f,
                    "the run {run_id} is INVALID: the generator measured itself"
                )
            }
            Self::TooShort { run_id, steady_us } => {
                let steady = display::format_micros(*steady_us);
                let least = display::format_span(SHORTEST_STEADY_PART);
                write!(
                    f,
                    "the run {run_id} measured {steady} after its ramp; {least} is needed to distinguish changes from chance"
                )
            }
            Self::PlannedTooShort { steady_us } => {
                let steady = display::format_span(Duration::from_micros(*steady_us));
                let least = display::format_span(SHORTEST_STEADY_PART);
                write!(
                    f,
                    "its load lasts {steady} after the ramp; {least} is needed to distinguish changes from chance"
                )
            }
            Self::Same { run_id } => write!(f, "the run {run_id} belongs to the baseline itself"),
            Self::Load { base, new } => write!(f, "the loads differ: {base}, and now {new}"),
            Self::Shard { run_id, shard } => {
                write!(f, "the run {run_id} is {shard}, a part of its load")
            }
            Self::Target { base, new } => write!(f, "the targets differ: {base}, and now {new}"),
            Self::Machine { base, new } => write!(
                f,
                "the machines differ, and the target ran on them too: {base}, and now {new}"
            ),
            Self::Traces { base, new } => write!(f, "the traces differ: {base}, and now {new}"),
        }
    }
}

impl Refusal {
    /// Returns the remedy.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Scenario { .. } => "compare runs of the same scenario",
            Self::Unfinished { .. } => "compare a finished run",
            Self::Invalid { .. } => "fix the cause that its report names, and run it again",
            Self::TooShort { .. } | Self::PlannedTooShort { .. } => {
                "run it longer, such as with `--duration 2m`"
            }
            Self::Same { .. } => "compare another run with it",
            Self::Load { .. } => {
                "run it with the load of the baseline; or, if the load changed for good, save a run with \
                 the new one: `cargo loadtest baseline save NAME RUN`"
            }
            Self::Shard { .. } => "join the runs of all shards with `cargo loadtest merge`",
            Self::Target { .. } => {
                "run it against the target of the baseline, or keep a baseline for each target"
            }
            Self::Traces { .. } => {
                "run it with the `[traces]` of the baseline: recording traces is additional work for the \
                 target"
            }
            Self::Machine { .. } => {
                "run it on a machine like the one of the baseline, or keep a baseline for each kind of machine"
            }
        }
    }
}
