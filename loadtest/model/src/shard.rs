//! The part of a load that one of several processes makes.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The part of a load that one process makes: of each `period` arrivals, users or iterations the `width` from
/// `offset` on.
///
/// Shards that follow each other to the end of the period make the load, with the same numbers as one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "ShardNumbers")]
pub struct Shard {
    offset: u32,
    width: u32,
    period: u32,
}

/// The numbers of a shard, as they are read.
#[derive(Deserialize)]
struct ShardNumbers {
    offset: u32,
    width: u32,
    period: u32,
}

/// The most processes that share a load.
pub const MOST_SHARDS: u32 = 10_000;

/// A shard that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// Not of the form `2/8`.
    #[error("`{0}` is not a shard; write `2/8` for the second of eight")]
    Form(String),
    /// Zero, or behind the last.
    #[error(
        "there is no shard {number} of {count}; the first is 1/{count}, the last {count}/{count}"
    )]
    Number {
        /// The number that was given.
        number: u32,
        /// The number of shards.
        count: u32,
    },
    /// None, or more than there can be.
    #[error("a load is shared by 1 to {MOST_SHARDS} processes, not by {0}")]
    Count(u32),
    /// Numbers that do not fit together.
    #[error("of {period} there are no {width} from {offset} on")]
    Numbers {
        /// The first.
        offset: u32,
        /// How many.
        width: u32,
        /// Of how many.
        period: u32,
    },
}

impl Shard {
    /// The whole load.
    pub const WHOLE: Self = Self {
        offset: 0,
        width: 1,
        period: 1,
    };

    /// Creates the shard `number`, from 1, of `count` equal ones.
    ///
    /// # Errors
    /// There is no such shard.
    pub const fn new(number: u32, count: u32) -> Result<Self, ShardError> {
        if count == 0 || count > MOST_SHARDS {
            return Err(ShardError::Count(count));
        }
        if number == 0 || number > count {
            return Err(ShardError::Number { number, count });
        }
        Ok(Self {
            offset: number - 1,
            width: 1,
            period: count,
        })
    }

    /// Creates the shards of processes that make so many parts of the load each.
    ///
    /// # Errors
    /// There is no process, or one has no part.
    pub fn by_weight(weights: &[u32]) -> Result<Vec<Self>, ShardError> {
        let sum = weights
            .iter()
            .try_fold(0_u32, |sum, weight| sum.checked_add(*weight));
        let period = sum.filter(|sum| (1..=MOST_SHARDS).contains(sum));
        let period = period.ok_or(ShardError::Count(sum.unwrap_or(u32::MAX)))?;
        let mut offset = 0;
        weights
            .iter()
            .map(|width| {
                let shard = ShardNumbers {
                    offset,
                    width: *width,
                    period,
                };
                offset += width;
                shard.try_into()
            })
            .collect()
    }

    /// Returns true if it is the whole load.
    pub const fn is_whole(&self) -> bool {
        self.width == self.period
    }

    /// Returns its share of the load, of one.
    pub fn share(self) -> f64 {
        f64::from(self.width) / f64::from(self.period)
    }

    /// Returns the number of shards of its size that make the load, rounded up.
    pub const fn count(self) -> u32 {
        self.period.div_ceil(self.width)
    }

    /// Returns how many of the first `all` are its own.
    pub fn count_of(self, all: u64) -> u64 {
        let (offset, width, period) = self.numbers();
        all / period * width + (all % period).saturating_sub(offset).min(width)
    }

    /// Returns which of all is its own with this number, from 0.
    pub fn to_global(self, own: u64) -> u64 {
        let (offset, width, period) = self.numbers();
        own / width * period + offset + own % width
    }

    /// Returns its consecutive part of `all`: from the first to before the second.
    pub fn range_of(self, all: u64) -> (u64, u64) {
        let (offset, width, period) = self.numbers();
        let part = |of: u64| (u128::from(all) * u128::from(of) / u128::from(period)) as u64;
        (part(offset), part(offset + width))
    }

    /// Returns the whole, if these shards are all of it and none is there twice.
    ///
    /// # Errors
    /// The first gap or overlap, from and to in parts of the period; or shards of loads that were divided
    /// differently.
    pub fn unite(shards: &[Self]) -> Result<Self, UniteError> {
        let mut sorted = shards.to_vec();
        sorted.sort_unstable();
        let Some(first) = sorted.first() else {
            return Err(UniteError::Gap(Self::WHOLE));
        };
        let period = first.period;
        let mut next = 0;
        for shard in &sorted {
            if shard.period != period {
                return Err(UniteError::Division(*first, *shard));
            }
            if shard.offset < next {
                return Err(UniteError::Overlap(*shard));
            }
            if shard.offset > next {
                return Err(UniteError::Gap(Self {
                    offset: next,
                    width: shard.offset - next,
                    period,
                }));
            }
            next += shard.width;
        }
        if next < period {
            return Err(UniteError::Gap(Self {
                offset: next,
                width: period - next,
                period,
            }));
        }
        Ok(Self::WHOLE)
    }

    /// Returns the verb after its name.
    const fn verb(self) -> &'static str {
        if self.width == 1 { "is" } else { "are" }
    }

    fn numbers(self) -> (u64, u64, u64) {
        (self.offset.into(), self.width.into(), self.period.into())
    }
}

/// Shards that are no whole load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UniteError {
    /// This part is missing.
    #[error("{0} {verb} missing", verb = .0.verb())]
    Gap(Shard),
    /// This part is there twice.
    #[error("{0} {verb} there twice", verb = .0.verb())]
    Overlap(Shard),
    /// The loads were divided differently.
    #[error("{0} and {1} are parts of different divisions")]
    Division(Shard, Shard),
}

impl Default for Shard {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl TryFrom<ShardNumbers> for Shard {
    type Error = ShardError;

    fn try_from(numbers: ShardNumbers) -> Result<Self, ShardError> {
        let ShardNumbers {
            offset,
            width,
            period,
        } = numbers;
        let end = offset.checked_add(width);
        if width == 0 || period > MOST_SHARDS || end.is_none_or(|end| end > period) {
            return Err(ShardError::Numbers {
                offset,
                width,
                period,
            });
        }
        Ok(Self {
            offset,
            width,
            period,
        })
    }
}

/// `shard 2/8`, or `shards 2 to 4 of 8`.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            width,
            period,
        } = self;
        if *width == 1 {
            write!(f, "shard {}/{period}", offset + 1)
        } else {
            write!(f, "shards {} to {} of {period}", offset + 1, offset + width)
        }
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let numbers = text.split_once('/').and_then(|(number, count)| {
            Some((number.trim().parse().ok()?, count.trim().parse().ok()?))
        });
        let (number, count) = numbers.ok_or_else(|| ShardError::Form(text.to_owned()))?;
        Self::new(number, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_shards_are_the_whole_and_none_has_what_another_has(
            weights in prop::collection::vec(1_u32..9, 1..12),
            all in 0_u64..3_000,
        ) {
            let shards = Shard::by_weight(&weights).unwrap();
            let mut own: Vec<u64> = Vec::new();
            let mut ranges = Vec::new();
            for shard in &shards {
                let count = shard.count_of(all);
                own.extend((0..count).map(|number| shard.to_global(number)));
                prop_assert!(shard.to_global(count) >= all);
                ranges.push(shard.range_of(all));
            }
            own.sort_unstable();
            prop_assert_eq!(own, (0..all).collect::<Vec<_>>());
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0));
            prop_assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, all));
            prop_assert_eq!(Shard::unite(&shards), Ok(Shard::WHOLE));
            let share: f64 = shards.iter().map(|shard| shard.share()).sum();
            prop_assert!((share - 1.0).abs() < 1e-9);
        }

        #[test]
        fn a_shard_is_read_as_it_was_written(count in 1_u32..200, number in 1_u32..200) {
            let shard = format!("{number}/{count}").parse::<Shard>();
            prop_assert_eq!(shard.is_ok(), number <= count);
            if let Ok(shard) = shard {
                let json = serde_json::to_string(&shard).unwrap();
                prop_assert_eq!(serde_json::from_str::<Shard>(&json).unwrap(), shard);
                prop_assert_eq!(shard.to_string(), format!("shard {number}/{count}"));
            }
        }
    }

    #[test]
    fn gaps_overlaps_and_other_divisions_are_named() {
        let of = |number, count| Shard::new(number, count).unwrap();
        let error = |shards: &[Shard]| Shard::unite(shards).unwrap_err().to_string();
        assert_eq!(error(&[of(1, 3), of(3, 3)]), "shard 2/3 is missing");
        assert_eq!(error(&[of(2, 4)]), "shard 1/4 is missing");
        assert_eq!(error(&[of(1, 4)]), "shards 2 to 4 of 4 are missing");
        assert_eq!(
            error(&[of(1, 2), of(1, 2), of(2, 2)]),
            "shard 1/2 is there twice"
        );
        assert_eq!(
            error(&[of(1, 2), of(2, 3)]),
            "shard 1/2 and shard 2/3 are parts of different divisions"
        );
        assert_eq!(Shard::unite(&[of(2, 2), of(1, 2)]), Ok(Shard::WHOLE));
    }

    #[test]
    fn what_is_no_shard_is_refused_with_what_is() {
        for (text, words) in [
            ("2", "write `2/8` for the second of eight"),
            ("a/b", "write `2/8` for the second of eight"),
            ("-1/8", "write `2/8` for the second of eight"),
            (
                "0/8",
                "there is no shard 0 of 8; the first is 1/8, the last 8/8",
            ),
            (
                "9/8",
                "there is no shard 9 of 8; the first is 1/8, the last 8/8",
            ),
            ("1/0", "a load is shared by 1 to 10000 processes, not by 0"),
            (
                "1/10001",
                "a load is shared by 1 to 10000 processes, not by 10001",
            ),
        ] {
            let error = text.parse::<Shard>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        for json in [
            r#"{"offset":0,"width":0,"period":1}"#,
            r#"{"offset":1,"width":1,"period":1}"#,
            r#"{"offset":4294967295,"width":1,"period":1}"#,
            r#"{"offset":0,"width":1,"period":4294967295}"#,
        ] {
            assert!(serde_json::from_str::<Shard>(json).is_err(), "{json}");
        }
    }
}
