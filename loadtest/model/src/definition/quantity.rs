//! Quantities whose unit code states: a rate per second, a share of one.

use std::fmt;

/// Iterations that start per second: `Rate::per_second(200.0)`.
///
/// A plan refuses one that is negative, infinite or no number.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// So many iterations a second.
    pub const fn per_second(iterations: f64) -> Self {
        Self(iterations)
    }

    /// So many iterations a minute.
    pub const fn per_minute(iterations: f64) -> Self {
        Self(iterations / 60.0)
    }

    /// Returns the iterations a second.
    pub const fn as_per_second(self) -> f64 {
        self.0
    }
}

/// Writes the rate as scenarios do: `200/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

/// A part of a whole: `Share::percent(1.0)` is one in a hundred.
///
/// A plan refuses one below 0 % or above 100 %.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// So many in a hundred.
    pub const fn percent(percent: f64) -> Self {
        Self(percent / 100.0)
    }

    /// A fraction between 0 and 1.
    pub const fn fraction(fraction: f64) -> Self {
        Self(fraction)
    }

    /// Returns the fraction: 0.01 for one percent.
    pub const fn as_fraction(self) -> f64 {
        self.0
    }
}

/// Writes the share as scenarios do: `1%`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_written_as_in_a_scenario() {
        assert_eq!(Rate::per_second(200.0).to_string(), "200/s");
        assert_eq!(Rate::per_minute(90.0).to_string(), "1.5/s");
        assert_eq!(Share::percent(1.0).to_string(), "1%");
        assert_eq!(Share::fraction(0.25).to_string(), "25%");
    }
}
