//! The trust in a measurement.

use serde::{Deserialize, Serialize};

/// How far a measurement can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Nothing speaks against it.
    Valid,
    /// Graded, with causes listed.
    Degraded,
    /// Not graded.
    Invalid,
}

impl Trust {
    /// As printed: `VALID`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Degraded => "DEGRADED",
            Self::Invalid => "INVALID",
        }
    }
}
