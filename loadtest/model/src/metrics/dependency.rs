//! The root of a dependency failure.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason why a step's slot is empty: the root of a chain of skips, and the step it happened at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cause {
    /// The kind of root.
    pub root: RootCause,
    /// The zero-based number of the step where it happened.
    pub step: usize,
}

/// The root of a dependency failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootCause {
    /// The step ran and failed.
    Failed,
    /// Its response lacks the value.
    Missing,
    /// The row of a feed, a state or a setup lacks the value; the step is the one that needed it.
    NotInFeed,
    /// The value of a setup has expired and could not be fetched again; the step is the one that needed it.
    Expired,
    /// Its function returned `None` or `Err`.
    Declined,
    /// The values made an invalid request.
    Invalid,
    /// Its weight left it out of the iteration; no failure of anybody.
    NotDrawn,
    /// Its function left it out on purpose (`Skip`); no failure of anybody.
    LeftOut,
}

impl RootCause {
    /// Returns true if a step skipped for this reason counts as failed.
    pub const fn counts(self) -> bool {
        !matches!(self, Self::NotDrawn | Self::LeftOut)
    }
}

impl fmt::Display for RootCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed => "failed",
            Self::Missing | Self::NotInFeed => "missing",
            Self::Expired => "expired",
            Self::Declined => "declined",
            Self::Invalid => "invalid",
            Self::NotDrawn => "not drawn",
            Self::LeftOut => "left out",
        })
    }
}
