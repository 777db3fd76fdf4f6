//! A histogram of durations.

use super::cells::CompactHistogram;
use super::encoding::{Buckets, decode_counts, encode_counts};
use super::is_zero;
use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// The shortest duration that differs from zero, in nanoseconds.
pub(super) const LOWEST_NS: u64 = 1_000;
/// The longest distinct duration, in nanoseconds; longer ones count as this long.
pub(super) const HIGHEST_NS: u64 = 3_600_000_000_000;
/// The longest duration that a new histogram has room for, in nanoseconds: it grows with what it holds, by
/// 8 KiB whenever that doubles, up to 190 KiB.
const ROOM_NS: u64 = 1_000_000;
/// The buckets of a [`Histogram`].
const FINE: Buckets = Buckets::with_digits(3);
/// The buckets of a [`CompactHistogram`].
const COARSE: Buckets = Buckets::with_digits(2);

/// Durations from a microsecond to an hour, to three significant digits; empty ones hold no memory.
///
/// Serialised as the V2 format of `HdrHistogram` in base64, of nanoseconds, beside the exact
/// minimum, maximum and sum, which the buckets round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram(Option<Box<Inner>>);

/// A bucket of a [`Histogram`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilledBucket {
    /// The shortest duration that it holds.
    pub lowest_ns: u64,
    /// The middle of those that it can hold, within the exact minimum and maximum.
    pub middle_ns: u64,
    /// The number of durations.
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    counts: Counts,
    /// The number of durations above [`HIGHEST_NS`].
    clipped: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

/// How many durations there are in each bucket.
#[derive(Debug, Clone)]
enum Counts {
    /// Of those that are added to.
    Full(Hdr<u64>),
    /// Of those that were read: the highest value of each bucket that holds something, and how many it holds.
    Listed(Vec<(u64, u64)>),
}

impl Histogram {
    /// Adds one duration.
    #[inline]
    pub fn record(&mut self, duration: Duration) {
        let ns = to_nanoseconds(duration);
        let inner = self.0.get_or_insert_with(|| Box::new(Inner::new()));
        inner.counts.record_n(ns.min(HIGHEST_NS), 1);
        inner.clipped += u64::from(ns > HIGHEST_NS);
        inner.min_ns = inner.min_ns.min(ns);
        inner.max_ns = inner.max_ns.max(ns);
        inner.sum_ns += u128::from(ns);
    }

    /// Adds the same duration `count` times.
    pub fn record_n(&mut self, duration: Duration, count: u64) {
        if count == 0 {
            return;
        }
        let ns = to_nanoseconds(duration);
        let inner = self.0.get_or_insert_with(|| Box::new(Inner::new()));
        inner.counts.record_n(ns.min(HIGHEST_NS), count);
        if ns > HIGHEST_NS {
            inner.clipped += count;
        }
        inner.min_ns = inner.min_ns.min(ns);
        inner.max_ns = inner.max_ns.max(ns);
        inner.sum_ns += u128::from(ns) * u128::from(count);
    }

    /// Adds all durations of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Some(theirs) = &other.0 else { return };
        match &mut self.0 {
            None => self.0 = Some(theirs.clone()),
            Some(ours) => {
                ours.counts.merge(&theirs.counts);
                ours.clipped += theirs.clipped;
                ours.min_ns = ours.min_ns.min(theirs.min_ns);
                ours.max_ns = ours.max_ns.max(theirs.max_ns);
                ours.sum_ns += theirs.sum_ns;
            }
        }
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |inner| inner.counts.len())
    }

    /// Returns the number of durations longer than an hour, which percentiles cannot tell apart.
    pub fn clipped(&self) -> u64 {
        self.0.as_ref().map_or(0, |inner| inner.clipped)
    }

    /// The duration that `quantile` (a share of one) of all durations do not exceed; `None` when
    /// there are none. Never above the exact maximum.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        let inner = self.0.as_ref()?;
        let ns = inner.counts.value_at(quantile);
        Some(Duration::from_nanos(ns.clamp(inner.min_ns, inner.max_ns)))
    }

    /// The exact shortest duration.
    pub fn min(&self) -> Option<Duration> {
        self.0
            .as_ref()
            .map(|inner| Duration::from_nanos(inner.min_ns))
    }

    /// The exact longest duration.
    pub fn max(&self) -> Option<Duration> {
        self.0
            .as_ref()
            .map(|inner| Duration::from_nanos(inner.max_ns))
    }

    /// The exact sum of all durations.
    pub fn sum(&self) -> Duration {
        let ns = self.0.as_ref().map_or(0, |inner| inner.sum_ns);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The exact mean.
    pub fn mean(&self) -> Option<Duration> {
        let inner = self.0.as_ref()?;
        let ns = inner.sum_ns / u128::from(inner.counts.len());
        Some(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }

    /// Returns the number of durations up to `limit`, exact to the width of a bucket.
    pub fn count_at_most(&self, limit: Duration) -> u64 {
        let ns = u64::try_from(limit.as_nanos())
            .unwrap_or(u64::MAX)
            .min(HIGHEST_NS);
        self.0
            .as_ref()
            .map_or(0, |inner| inner.counts.count_at_most(ns))
    }

    /// The buckets that hold something: the longest duration of each in nanoseconds, and how many it holds.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().flat_map(|inner| inner.counts.filled())
    }

    /// The buckets that hold something, in the order of their durations.
    pub fn filled_buckets(&self) -> impl Iterator<Item = FilledBucket> + '_ {
        self.0.iter().flat_map(|inner| {
            inner.counts.filled().map(|(value, count)| {
                let (lowest_ns, beyond) = FINE.bounds(value);
                FilledBucket {
                    lowest_ns,
                    middle_ns: lowest_ns.midpoint(beyond).clamp(inner.min_ns, inner.max_ns),
                    count,
                }
            })
        })
    }

    /// Returns true if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// Converts to whole nanoseconds, up to the largest `u64`.
fn to_nanoseconds(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(duration.subsec_nanos().into())
}

impl Inner {
    fn new() -> Self {
        Self {
            counts: Counts::Full(new_growing_histogram(&FINE, ROOM_NS)),
            clipped: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
        }
    }
}

impl Counts {
    #[inline]
    fn record_n(&mut self, ns: u64, count: u64) {
        self.full_mut().record_n(ns, count).expect(GROWS);
    }

    fn merge(&mut self, other: &Self) {
        let ours = self.full_mut();
        match other {
            Self::Full(theirs) => ours.add(theirs).expect(GROWS),
            Self::Listed(filled) => add_filled(ours, filled),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Full(counts) => counts.len(),
            Self::Listed(filled) => filled.iter().map(|(_, count)| count).sum(),
        }
    }

    /// The highest value of each bucket that holds something, an hour at most, and how many it holds.
    fn filled(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (full, listed) = match self {
            Self::Full(counts) => (Some(counts.iter_recorded()), &[][..]),
            Self::Listed(filled) => (None, &filled[..]),
        };
        let full = full.into_iter().flatten().map(|bucket| {
            let value = bucket.value_iterated_to().min(HIGHEST_NS);
            (value, bucket.count_since_last_iteration())
        });
        full.chain(listed.iter().copied())
    }

    /// The highest value of the first bucket with which `quantile` (a share of one) of all is reached.
    fn value_at(&self, quantile: f64) -> u64 {
        // A list of runs asks for a few figures of each run that it reads: to make all buckets of each histogram for that
        // would take longer than to read it. It is counted as `value_at_quantile` does.
        let filled = match self {
            Self::Full(counts) => return counts.value_at_quantile(quantile),
            Self::Listed(filled) => filled,
        };
        let wanted = (quantile.min(1.0) * self.len() as f64).ceil() as u64;
        let mut reached = 0;
        let bucket = filled.iter().find(|(_, count)| {
            reached += count;
            reached >= wanted.max(1)
        });
        let (lowest, beyond) = bucket.map_or((0, 1), |(value, _)| FINE.bounds(*value));
        if quantile == 0.0 { lowest } else { beyond - 1 }
    }

    fn count_at_most(&self, ns: u64) -> u64 {
        match self {
            Self::Full(counts) => counts.count_between(0, ns),
            Self::Listed(filled) => filled
                .iter()
                .take_while(|(value, _)| FINE.bounds(*value).0 <= ns)
                .map(|(_, count)| count)
                .sum(),
        }
    }

    #[inline]
    fn full_mut(&mut self) -> &mut Hdr<u64> {
        if let Self::Listed(filled) = self {
            *self = Self::Full(sum_filled(filled));
        }
        match self {
            Self::Full(counts) => counts,
            Self::Listed(_) => unreachable!("it was just changed"),
        }
    }
}

impl PartialEq for Counts {
    fn eq(&self, other: &Self) -> bool {
        self.filled().eq(other.filled())
    }
}

/// All that is recorded is at most [`HIGHEST_NS`].
const GROWS: &str = "a histogram grows up to an hour";

/// Makes an empty one that takes durations of so many nanoseconds without growing.
fn new_growing_histogram(buckets: &Buckets, room_ns: u64) -> Hdr<u64> {
    let room_ns = room_ns.clamp(ROOM_NS, HIGHEST_NS);
    let mut counts =
        Hdr::new_with_bounds(LOWEST_NS, room_ns, buckets.digits).expect("the bounds are valid");
    counts.auto(true);
    counts
}

fn sum_filled(filled: &[(u64, u64)]) -> Hdr<u64> {
    let longest = filled.last().map_or(0, |(value, _)| *value);
    let mut sum = new_growing_histogram(&FINE, longest);
    add_filled(&mut sum, filled);
    sum
}

fn add_filled(sum: &mut Hdr<u64>, filled: &[(u64, u64)]) {
    for (value, count) in filled {
        sum.record_n(*value, *count).expect(GROWS);
    }
}

#[derive(Serialize, Deserialize)]
struct Encoded<'a> {
    count: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    clipped: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    #[serde(borrow)]
    hdr_v2: Cow<'a, str>,
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let encoded = self.0.as_ref().map(|inner| Encoded {
            count: inner.counts.len(),
            clipped: inner.clipped,
            min_ns: inner.min_ns,
            max_ns: inner.max_ns,
            sum_ns: inner.sum_ns,
            hdr_v2: encode_counts(&FINE, inner.counts.filled()).into(),
        });
        encoded.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let Some(encoded) = Option::<Encoded<'_>>::deserialize(deserializer)? else {
            return Ok(Self(None));
        };
        let filled = decode_counts(&FINE, &encoded.hdr_v2)
            .ok_or_else(|| D::Error::custom("not an HdrHistogram of durations"))?;
        let counts = Counts::Listed(filled);
        if counts.len() != encoded.count || encoded.count == 0 || encoded.min_ns > encoded.max_ns {
            return Err(D::Error::custom(
                "the histogram does not hold as many values as it says",
            ));
        }
        Ok(Self(Some(Box::new(Inner {
            counts,
            clipped: encoded.clipped,
            min_ns: encoded.min_ns,
            max_ns: encoded.max_ns,
            sum_ns: encoded.sum_ns,
        }))))
    }
}

/// A histogram of two significant digits in the V2 format, in base64; empty for none.
pub(super) type Encoding = String;

impl Histogram {
    /// Encodes to two significant digits.
    pub(super) fn compact(&self) -> Encoding {
        let mut coarse: Vec<(u64, u64)> = Vec::new();
        for (value, count) in self.buckets() {
            let value = COARSE.highest_of(value);
            match coarse.last_mut() {
                Some((last, sum)) if *last == value => *sum += count,
                _ => coarse.push((value, count)),
            }
        }
        if coarse.is_empty() {
            return Encoding::new();
        }
        encode_counts(&COARSE, coarse)
    }

    /// Decodes what [`compact`](Self::compact) made; a damaged encoding is an empty histogram.
    pub(super) fn expand(encoding: &Encoding) -> Self {
        let mut histogram = Self::default();
        for (value, count) in decode_counts(&COARSE, encoding).unwrap_or_default() {
            histogram.record_n(Duration::from_nanos(value), count);
        }
        histogram
    }
}

/// Adds two encodings of [`Histogram::compact`]; what is damaged counts for nothing.
pub(super) fn add_compact(one: &Encoding, other: &Encoding) -> Encoding {
    let [one, other] = [one, other].map(|encoding| decode_counts(&COARSE, encoding));
    let mut sum = one.unwrap_or_default();
    sum.extend(other.unwrap_or_default());
    sum.sort_unstable_by_key(|(value, _)| *value);
    sum.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        sum.1 += if is_same { next.1 } else { 0 };
        is_same
    });
    encode_counts(&COARSE, sum)
}

/// A sum of [`CompactHistogram`](super::cells::CompactHistogram)s, which costs less than decoding each.
#[derive(Debug)]
pub struct CompactSum(Hdr<u64>);

impl CompactSum {
    /// The sum of these histograms; what is damaged counts for nothing.
    pub fn of<'a>(histograms: impl IntoIterator<Item = &'a CompactHistogram>) -> Self {
        let mut sum = new_growing_histogram(&COARSE, ROOM_NS);
        for histogram in histograms {
            let filled = decode_counts(&COARSE, &histogram.0).unwrap_or_default();
            add_filled(&mut sum, &filled);
        }
        Self(sum)
    }

    /// The same as [`Histogram::quantile`], to two digits.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        let ns = self.0.value_at_quantile(quantile).min(HIGHEST_NS);
        (!self.0.is_empty()).then(|| Duration::from_nanos(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn filled_buckets_hold_all_and_say_how_many_are_within_a_limit(
            us in proptest::collection::vec(0..4_000_000_000_u64, 0..50), limit in 0..4_000_000_u64,
        ) {
            let mut histogram = Histogram::default();
            for us in &us {
                histogram.record(Duration::from_micros(*us));
            }
            let buckets: Vec<FilledBucket> = histogram.filled_buckets().collect();
            let all: u64 = buckets.iter().map(|bucket| bucket.count).sum();
            prop_assert_eq!(all, us.len() as u64);
            let limit = Duration::from_micros(limit);
            let within = buckets.iter().filter(|bucket| u128::from(bucket.lowest_ns) <= limit.as_nanos());
            let within: u64 = within.map(|bucket| bucket.count).sum();
            prop_assert_eq!(within, histogram.count_at_most(limit));
            for bucket in buckets {
                prop_assert!(bucket.middle_ns <= bucket.lowest_ns.max(histogram.max().unwrap().as_nanos() as u64));
            }
        }

        #[test]
        fn what_is_read_has_the_figures_of_what_was_recorded(
            us in proptest::collection::vec(0..4_000_000_000_u64, 1..60), quantile in 0.0_f64..=1.0, limit in 0..4_000_000_000_u64,
        ) {
            let recorded = of(&us);
            let read: Histogram = serde_json::from_str(&serde_json::to_string(&recorded).unwrap()).unwrap();
            for quantile in [quantile, 0.0, 0.5, 0.95, 0.99, 1.0] {
                prop_assert_eq!(read.quantile(quantile), recorded.quantile(quantile), "{}", quantile);
            }
            for limit in us.iter().copied().chain([limit]).map(Duration::from_micros) {
                prop_assert_eq!(read.count_at_most(limit), recorded.count_at_most(limit), "{:?}", limit);
            }
        }

        #[test]
        fn a_sum_of_compact_histograms_has_the_quantiles_of_the_decoded_ones(
            all in proptest::collection::vec(proptest::collection::vec(0_u64..3_500_000_000, 0..40), 0..4),
            quantile in 0.001_f64..=1.0,
        ) {
            let compact: Vec<_> = all.iter().map(|micros| CompactHistogram::from_histogram(&of(micros))).collect();
            let mut decoded = Histogram::default();
            for histogram in &compact {
                decoded.merge(&histogram.decode());
            }
            let sum = CompactSum::of(&compact);
            for quantile in [quantile, 0.5, 0.95, 0.99, 1.0] {
                prop_assert_eq!(sum.quantile(quantile), decoded.quantile(quantile));
            }
        }
    }

    fn of(micros: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for &us in micros {
            histogram.record(Duration::from_micros(us));
        }
        histogram
    }

    #[test]
    fn an_empty_histogram_has_no_percentiles() {
        let empty = Histogram::default();
        assert_eq!(
            (empty.quantile(0.5), empty.mean(), empty.max()),
            (None, None, None)
        );
        assert_eq!(serde_json::to_string(&empty).unwrap(), "null");
    }

    #[test]
    fn what_is_longer_than_an_hour_is_clipped_and_counted() {
        let hour = Duration::from_secs(3_600);
        let mut histogram = Histogram::default();
        histogram.record(hour);
        assert_eq!(histogram.clipped(), 0);
        histogram.record(2 * hour);
        histogram.record_n(5 * hour, 3);
        let mut sum = histogram.clone();
        sum.merge(&histogram);
        assert_eq!((sum.count(), sum.clipped()), (10, 8));
        assert_eq!(sum.max(), Some(5 * hour), "the longest is known exactly");
        assert!(sum.quantile(0.9).unwrap() < hour + Duration::from_secs(4));
        let json = serde_json::to_string(&sum).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), sum);
        assert!(
            !serde_json::to_string(&of(&[1]))
                .unwrap()
                .contains("clipped")
        );
    }

    #[test]
    fn a_damaged_encoding_is_an_error() {
        let mut json = serde_json::to_value(of(&[1, 2, 3])).unwrap();
        json["count"] = 4.into();
        let error = serde_json::from_value::<Histogram>(json).unwrap_err();
        assert!(
            error.to_string().contains("does not hold as many values"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn percentiles_are_within_three_digits(mut micros in proptest::collection::vec(1_u64..100_000_000, 1..300)) {
            let histogram = of(&micros);
            micros.sort_unstable();
            for quantile in [0.0, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let rank = ((quantile * micros.len() as f64).ceil() as usize).max(1);
                let exact = micros[rank - 1] as f64;
                let told = histogram.quantile(quantile).unwrap().as_secs_f64() * 1e6;
                prop_assert!((told - exact).abs() <= exact / 1_000.0 + 0.6, "{told} for {exact}");
            }
            prop_assert_eq!(histogram.max(), micros.last().map(|&us| Duration::from_micros(us)));
            prop_assert_eq!(histogram.sum(), Duration::from_micros(micros.iter().sum()));
        }

        #[test]
        fn merging_is_associative_and_commutative(
            a in proptest::collection::vec(1_u64..10_000_000, 0..50),
            b in proptest::collection::vec(1_u64..10_000_000, 0..50),
            c in proptest::collection::vec(1_u64..10_000_000, 0..50),
        ) {
            let merged = |parts: [&[u64]; 3]| {
                let mut sum = Histogram::default();
                for part in parts {
                    sum.merge(&of(part));
                }
                sum
            };
            let all: Vec<u64> = [a.clone(), b.clone(), c.clone()].concat();
            prop_assert_eq!(merged([&a, &b, &c]), of(&all));
            prop_assert_eq!(merged([&c, &a, &b]), of(&all));
            let mut right = of(&b);
            right.merge(&of(&c));
            let mut left = of(&a);
            left.merge(&right);
            prop_assert_eq!(left, of(&all));
        }

        #[test]
        fn what_is_written_is_read(micros in proptest::collection::vec(0_u64..3_000_000_000, 0..50)) {
            let histogram = of(&micros);
            let json = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), histogram.clone());
            let coarse = Histogram::expand(&histogram.compact());
            prop_assert_eq!(coarse.count(), histogram.count());
            if let (Some(coarse), Some(fine)) = (coarse.quantile(0.95), histogram.quantile(0.95)) {
                let (coarse, fine) = (coarse.as_secs_f64(), fine.as_secs_f64());
                prop_assert!((coarse - fine).abs() <= fine / 50.0 + 2e-6, "{coarse} for {fine}");
            }
        }
    }
}
