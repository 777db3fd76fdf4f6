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
    /// So many in a hundred: the fraction nearest to the decimal number that `percent` was written as. So the bound of
    /// `errors <= 0.7%` is the quotient of 7 and 1000, which a hundredth of the float 0.7 is not.
    #[expect(clippy::float_cmp, reason = "a quotient is the number or is not")]
    pub const fn percent(percent: f64) -> Self {
        let mut scale = 1.0;
        while scale <= Self::FINEST {
            // The whole numbers of a quotient are exact, so that it is rounded once.
            let whole = (percent * scale + 0.5) as u64 as f64;
            if whole / scale == percent && whole < Self::LARGEST_WHOLE {
                return Self(whole / (100.0 * scale));
            }
            scale *= 10.0;
        }
        Self(percent / 100.0)
    }

    /// The finest part of a percent that is looked for.
    const FINEST: f64 = 1e12;
    /// Up to this, `f64` has each whole number.
    const LARGEST_WHOLE: f64 = 9e15;

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
        let mut scales = (0..=12).map(|digits| 10_f64.powi(digits));
        let percent = scales.find_map(|scale| {
            let percent = (self.0 * 100.0 * scale).round() / scale;
            (Self::percent(percent) == *self).then_some(percent)
        });
        write!(f, "{}%", percent.unwrap_or(self.0 * 100.0))
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
        assert_eq!(Share::percent(0.7).to_string(), "0.7%");
    }

    #[test]
    fn a_percentage_is_the_quotient_that_is_measured() {
        // Each number with a digit or three behind the point, as limits have them.
        for (parts, scale) in [(1_000, 10.0), (100_000, 1_000.0)] {
            for part in 0..=parts {
                let percent: f64 = format!("{}", f64::from(part) / scale).parse().unwrap();
                let measured = f64::from(part) / f64::from(parts);
                let share = Share::percent(percent);
                assert_eq!(
                    share.as_fraction().to_bits(),
                    measured.to_bits(),
                    "{percent}%"
                );
                assert_eq!(share.to_string(), format!("{percent}%"));
            }
        }
        for (percent, fraction) in [(-1.0, -0.01), (1e300, 1e298)] {
            let share = Share::percent(percent).as_fraction();
            assert!((share / fraction - 1.0).abs() < 1e-12, "{percent}");
        }
        assert!(Share::percent(f64::INFINITY).as_fraction().is_infinite());
        assert!(Share::percent(f64::NAN).as_fraction().is_nan());
    }
}
