//! Which HTTP statuses a step counts as success.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// An inclusive range of HTTP statuses: `200..=299`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRange {
    /// The lowest status of the range.
    pub from: u16,
    /// The highest status of the range.
    pub to: u16,
}

/// The statuses a step expects; any other one is an error of that step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Expect(pub Cow<'static, [StatusRange]>);

impl Expect {
    /// `2xx`, the default.
    pub const SUCCESS: Self = Self(Cow::Borrowed(&[StatusRange { from: 200, to: 299 }]));

    /// Any status.
    pub const ANY: Self = Self(Cow::Borrowed(&[StatusRange { from: 100, to: 999 }]));

    /// Returns true if `status` is one of the expected ones.
    pub fn accepts(&self, status: u16) -> bool {
        self.0
            .iter()
            .any(|range| (range.from..=range.to).contains(&status))
    }
}

impl fmt::Display for StatusRange {
    /// `200`, `2xx`, `200..=204`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = *self;
        if from == to {
            write!(f, "{from}")
        } else if from % 100 == 0 && to == from + 99 {
            write!(f, "{}xx", from / 100)
        } else {
            write!(f, "{from}..={to}")
        }
    }
}

impl fmt::Display for Expect {
    /// `200`, `2xx`, `200..=204`, joined by ` | `.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(" | ")?;
            }
            range.fmt(f)?;
        }
        Ok(())
    }
}
