//! Steps that send again: after a failure, or until the answer is the one they wait for; and `once` steps that run again.

use super::{Expect, StatusRange, micros};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// `retry(3, backoff = 100ms, on = 503 | timeout)`: how often a step sends again after a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The maximum number of retries, without the first request.
    pub times: u32,
    /// The pause before the first repetition; it doubles with each further one.
    #[serde(rename = "backoff_us", with = "micros")]
    pub backoff: Duration,
    /// After which failures.
    pub on: Cow<'static, [Trigger]>,
}

/// A failure after which a step sends again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// An answer with such a status, which the step does not expect.
    Status(StatusRange),
    /// `timeout`: no complete answer before the deadline.
    Timeout,
    /// `connect`: no connection (`dns.*`, `connect.*`, `tls.*`).
    Connect,
    /// `reset`: the connection was lost (`reset.*`, `closed.*`, `body.truncated`).
    Reset,
}

impl fmt::Display for Trigger {
    /// Writes the trigger as in the source: `503`, `5xx`, `timeout`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(range) => range.fmt(f),
            Self::Timeout => f.write_str("timeout"),
            Self::Connect => f.write_str("connect"),
            Self::Reset => f.write_str("reset"),
        }
    }
}

impl Retry {
    /// The pause between tries where none is declared.
    pub const BACKOFF: Duration = Duration::from_millis(100);

    /// The failures that count where none are declared: `429 | 502..=504 | timeout | connect | reset`.
    pub const ON: &'static [Trigger] = &[
        Trigger::Status(StatusRange { from: 429, to: 429 }),
        Trigger::Status(StatusRange { from: 502, to: 504 }),
        Trigger::Timeout,
        Trigger::Connect,
        Trigger::Reset,
    ];
}

/// `once(for = 50m), refresh = 401`: when the answer of a `once` step is stale, so that the step runs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// So long after it came.
    #[serde(rename = "after_us", with = "micros::option", default)]
    pub after: Option<Duration>,
    /// Where a step that uses it is answered with such a status, and fails.
    pub on: Expect,
}

/// `until = |r| r.done, every = 500ms, within = 30s`: a step that asks until the answer is the one it
/// waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Until {
    /// The condition, as it is written.
    pub condition: Cow<'static, str>,
    /// The pause between two requests.
    #[serde(rename = "every_us", with = "micros")]
    pub every: Duration,
    /// The time after which the step gives up, from its first request.
    #[serde(rename = "within_us", with = "micros")]
    pub within: Duration,
}

impl Until {
    /// The pause where none is declared.
    pub const EVERY: Duration = Duration::from_millis(500);
    /// The time after which a step gives up if it declares none.
    pub const WITHIN: Duration = Duration::from_secs(30);
}
