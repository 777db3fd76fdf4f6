//! Why a step could not run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a step's slot is empty: the cause at the root of a chain of skips, and the step it happened at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cause {
    /// What happened.
    pub root: RootCause,
    /// The zero-based number of the step where it happened.
    pub step: usize,
}

/// What is at the root of a dependency failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootCause {
    /// The step ran and failed.
    Failed,
    /// Its response lacks the value.
    Missing,
    /// The row of a feed lacks the value; the step is the one that needed it.
    NotInFeed,
    /// Its function returned `None` or `Err`.
    Declined,
    /// The values made an invalid request.
    Invalid,
    /// Its weight left it out of the iteration; no failure of anybody.
    NotDrawn,
    /// Its function left it out on purpose (`Skip`); no failure of anybody.
    LeftOut,
}

/// Why [`Chain::build`](super::Chain::build) wrote no request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// An earlier step has no response.
    Upstream {
        /// The earlier step.
        step: usize,
        /// The expression or parameter that names it: `login.response.token`, `login`.
        variable: &'static str,
        /// Why it has none.
        cause: Cause,
    },
    /// An earlier step's response lacks a value.
    Missing {
        /// The earlier step.
        step: usize,
        /// The expression that names the value: `browse.response.items[0].id`.
        variable: &'static str,
    },
    /// The row of a feed lacks a value.
    NotInFeed {
        /// The expression that names the value, after the name of the feed: `user.address.city`.
        variable: &'static str,
    },
    /// The step's function returned `None` or `Err`.
    Declined {
        /// What it said.
        reason: String,
    },
    /// The step's function left the step out on purpose.
    LeftOut {
        /// What it said.
        reason: String,
    },
    /// The values make an invalid URL, header or body.
    Invalid {
        /// What is wrong with them.
        reason: String,
    },
}

impl RootCause {
    /// Whether it counts as a failure where a step is skipped for it.
    pub const fn counts(self) -> bool {
        !matches!(self, Self::NotDrawn | Self::LeftOut)
    }
}

impl fmt::Display for RootCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed => "failed",
            Self::Missing | Self::NotInFeed => "missing",
            Self::Declined => "declined",
            Self::Invalid => "invalid",
            Self::NotDrawn => "not drawn",
            Self::LeftOut => "left out",
        })
    }
}
