//! Numbers with their units.

use super::Bound;
use super::grammar::{ThresholdMistake, ThresholdParser};
use crate::quantity::Share;
use crate::threshold::Unit;
use std::ops::Range;
use std::time::Duration;

/// A century keeps the nanoseconds well inside 64 bits.
const LONGEST: Duration = Duration::from_secs(3600 * 24 * 365 * 100);
/// The highest rate that a clock in nanoseconds can resolve.
const MOST_PER_SECOND: f64 = 1e9;
/// Up to this number `f64` holds every whole number.
const MOST: f64 = 1e15;

/// A number as it was written, and the unit behind it.
pub(super) struct Quantity<'a> {
    pub(super) value: f64,
    pub(super) digits: &'a str,
    pub(super) unit: &'a str,
    pub(super) place: Range<usize>,
}

/// Describes the number that is expected.
pub(super) const fn describe_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "a time is a number with its unit: `300ms`, `2s`",
        Unit::Share => "a share is a number of percent: `1%`",
        Unit::PerSecond => RATE,
        Unit::BytesPerSecond => THROUGHPUT,
        Unit::Count => COUNT,
        Unit::Number => NUMBER,
    }
}

const RATE: &str = "a rate is per second or minute: `200/s`, `30/m`";
const THROUGHPUT: &str = "a throughput is bytes per second: `500kB/s`, `2MB/s`";
const NUMBER: &str = "the limit of a gauge is a number without a unit: `100`, `-2.5`";
const COUNT: &str = "a count is a whole number without a unit: `10`";

impl Quantity<'_> {
    pub(super) fn bound(&self, unit: Unit) -> Result<Bound, ThresholdMistake> {
        match unit {
            Unit::Time => self.time().map(Bound::Time),
            Unit::Share => self.share().map(Bound::Ratio),
            Unit::PerSecond => self.rate().map(Bound::PerSecond),
            Unit::BytesPerSecond => self.throughput().map(Bound::BytesPerSecond),
            Unit::Count => self.count().map(Bound::Count),
            Unit::Number if self.unit.is_empty() => Ok(Bound::Number(self.value)),
            Unit::Number => self.fail(NUMBER),
        }
    }

    pub(super) fn time(&self) -> Result<Duration, ThresholdMistake> {
        let digits = self.digits;
        let unit = match self.unit {
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "" => {
                return self.fail(format!(
                    "`{digits}` has no unit: write `{digits}ms`, `{digits}s` or `{digits}m`"
                ));
            }
            other => {
                return self.fail(format!(
                    "unknown unit `{other}`: use `us`, `ms`, `s`, `m` or `h`"
                ));
            }
        };
        match Duration::try_from_secs_f64(self.value * unit) {
            Ok(Duration::ZERO) => self.fail("a time must be more than 0: write `1ms` or more"),
            Ok(time) if time <= LONGEST => Ok(time),
            _ => self.fail("this time is too long"),
        }
    }

    fn share(&self) -> Result<f64, ThresholdMistake> {
        let digits = self.digits;
        match self.unit {
            "%" if self.value <= 100.0 => Ok(Share::percent(self.value).as_fraction()),
            "%" => self.fail("a share is from 0% to 100%"),
            "" if self.value > 0.0 && self.value < 1.0 => {
                // the share that it is in other tools, without what multiplying floats leaves behind
                let percent = (self.value * 1e8).round() / 1e6;
                self.fail(format!(
                    "`{digits}` has no unit: write `{percent}%`, or `{digits}%` if that is intended"
                ))
            }
            "" => self.fail(format!("`{digits}` has no unit: write `{digits}%`")),
            other => self.fail(format!("unknown unit `{other}`: write `{digits}%`")),
        }
    }

    fn rate(&self) -> Result<f64, ThresholdMistake> {
        let seconds = match self.unit {
            "/s" => 1.0,
            "/m" => 60.0,
            _ => return self.fail(RATE),
        };
        if self.value > MOST_PER_SECOND {
            return self.fail("a rate is at most 1000000000/s");
        }
        Ok(self.value / seconds)
    }

    fn throughput(&self) -> Result<f64, ThresholdMistake> {
        let size = match self.unit {
            "B/s" => 1.0,
            "kB/s" => 1e3,
            "MB/s" => 1e6,
            "GB/s" => 1e9,
            "KiB/s" => 1024.0,
            "MiB/s" => 1024.0 * 1024.0,
            "GiB/s" => 1024.0 * 1024.0 * 1024.0,
            "/s" => return self.fail(format!("{THROUGHPUT}; requests per second are `rps`")),
            _ => return self.fail(THROUGHPUT),
        };
        let bytes = (self.value * size).round();
        if bytes > MOST {
            return self.fail("this throughput is too much");
        }
        Ok(bytes)
    }

    fn count(&self) -> Result<u64, ThresholdMistake> {
        if !self.unit.is_empty() || self.value.fract() != 0.0 {
            return self.fail(COUNT);
        }
        if self.value > MOST {
            return self.fail("this count is too much");
        }
        Ok(self.value as u64)
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, ThresholdMistake> {
        ThresholdParser::fail(self.place.clone(), message)
    }
}
