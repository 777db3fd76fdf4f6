//! Steps that users send together.

use super::micros;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// `rendezvous(50, within = 10s)`: before a step, users wait until so many of them have arrived, and go at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rendezvous {
    /// The users of a group.
    pub users: u32,
    /// The longest wait of the first of a group: then those go who have arrived.
    #[serde(rename = "within_us", with = "micros")]
    pub within: Duration,
}

impl Rendezvous {
    /// The longest wait where none is declared.
    pub const WITHIN: Duration = Duration::from_secs(30);
}
