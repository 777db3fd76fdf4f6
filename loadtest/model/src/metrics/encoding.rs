//! Histograms as text: the V2 format of `HdrHistogram`, which its tools in every language read, in
//! base64. Written here because the feature of the crate that has it brings three more crates.
//!
//! A header of 40 bytes, then the counts of all buckets up to the last used one as `ZigZag` LEB128 of at
//! most nine bytes; a negative number stands for as many empty buckets.

use super::histogram::{HIGHEST_NS, LOWEST_NS};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The first word: the format, and words of up to eight bytes.
const COOKIE: u32 = 0x1c84_9303 | 0x10;
/// Bytes before the counts.
const HEADER: usize = 40;
/// The exponent of the width of the first buckets.
const UNIT: u32 = LOWEST_NS.ilog2();

/// Where the buckets of a histogram lie. The first `2 << half` are as wide as the lowest value; then each `1 << half`
/// buckets are twice as wide as those before.
pub(super) struct Buckets {
    /// Significant decimal digits.
    pub(super) digits: u8,
    half: u32,
}

impl Buckets {
    pub(super) const fn with_digits(digits: u8) -> Self {
        let told_apart = 2 * 10_u64.pow(digits as u32);
        Self {
            digits,
            half: told_apart.next_power_of_two().ilog2() - 1,
        }
    }

    /// The exponent of the width of the bucket that holds `value`.
    fn width(&self, value: u64) -> u32 {
        let bits = u64::BITS - value.leading_zeros();
        bits.saturating_sub(self.half + 1).max(UNIT)
    }

    /// The number of the bucket that holds `value`.
    fn index(&self, value: u64) -> u64 {
        let width = self.width(value);
        (u64::from(width - UNIT) << self.half) + (value >> width)
    }

    /// The lowest value of the bucket that holds `value`, and the first beyond it.
    pub(super) fn bounds(&self, value: u64) -> (u64, u64) {
        let width = self.width(value);
        let lowest = value >> width << width;
        (lowest, lowest + (1 << width))
    }

    /// The highest value of the bucket that holds `value`, an hour at most.
    pub(super) fn highest_of(&self, value: u64) -> u64 {
        (self.bounds(value).1 - 1).min(HIGHEST_NS)
    }

    /// The highest value of a bucket, an hour at most; `None` where there is no such bucket.
    fn highest(&self, index: u64) -> Option<u64> {
        let doubled = (index >> self.half).saturating_sub(1);
        let place = index - (doubled << self.half);
        let shift = doubled + u64::from(UNIT);
        let is_told = shift + u64::from(self.half) < HIGHEST_NS.next_power_of_two().ilog2().into();
        is_told.then(|| (((place + 1) << shift) - 1).min(HIGHEST_NS))
    }
}

/// Writes a histogram: a value of each bucket that holds something, and how many it holds, in their order.
pub(super) fn encode_counts(
    buckets: &Buckets,
    filled: impl IntoIterator<Item = (u64, u64)>,
) -> String {
    let mut bytes = encode_header(buckets, 0);
    let mut next = 0;
    for (value, count) in filled {
        let index = buckets.index(value);
        match (index - next).cast_signed() {
            0 => {}
            // A single empty bucket is a count of zero.
            1 => write_number(&mut bytes, 0),
            run => write_number(&mut bytes, -run),
        }
        write_number(&mut bytes, i64::try_from(count).unwrap_or(i64::MAX));
        next = index + 1;
    }
    if next == 0 {
        bytes.push(0);
    }
    let length = (bytes.len() - HEADER) as u32;
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    STANDARD.encode(bytes)
}

/// Reads what [`encode_counts`] wrote: the highest value of each bucket that holds something, and how many it holds;
/// `None` where `text` is something else.
pub(super) fn decode_counts(buckets: &Buckets, text: &str) -> Option<Vec<(u64, u64)>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (start, mut counts) = bytes.split_at_checked(HEADER)?;
    if start != encode_header(buckets, counts.len()) {
        return None;
    }
    let mut filled = Vec::with_capacity(counts.len() / 2);
    let mut next = 0_u64;
    while !counts.is_empty() {
        let number = read_number(&mut counts)?;
        let Ok(count) = u64::try_from(number) else {
            next = next.checked_add(number.unsigned_abs())?;
            buckets.highest(next - 1)?;
            continue;
        };
        let value = buckets.highest(next)?;
        next += 1;
        if count > 0 {
            filled.push((value, count));
        }
    }
    Some(filled)
}

fn encode_header(buckets: &Buckets, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + length.max(256));
    bytes.extend(COOKIE.to_be_bytes());
    bytes.extend((length as u32).to_be_bytes());
    // No buckets are shifted.
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend(u32::from(buckets.digits).to_be_bytes());
    bytes.extend(LOWEST_NS.to_be_bytes());
    // Whatever room it has now.
    bytes.extend(HIGHEST_NS.to_be_bytes());
    // A value is what it says.
    bytes.extend(1_f64.to_be_bytes());
    bytes
}

fn write_number(bytes: &mut Vec<u8>, number: i64) {
    let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 0..8 {
        if left < 0x80 {
            break;
        }
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        // The ninth byte is whole.
        let is_last = byte < 0x80 || place == 8;
        let bits = if is_last { byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * place);
        if is_last {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};
    use proptest::prelude::*;

    fn empty(digits: u8) -> Histogram<u64> {
        Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, digits).unwrap()
    }

    #[test]
    fn the_buckets_lie_where_the_histogram_has_them() {
        for digits in [2, 3] {
            let histogram = empty(digits);
            let buckets = Buckets::with_digits(digits);
            for (index, bucket) in (0..).zip(histogram.iter_all()) {
                let highest = bucket.value_iterated_to();
                assert_eq!(buckets.index(highest), index);
                assert_eq!(buckets.highest(index), Some(highest.min(HIGHEST_NS)));
                let (lowest, beyond) = buckets.bounds(highest);
                assert_eq!(lowest, histogram.lowest_equivalent(highest));
                assert_eq!(beyond, histogram.next_non_equivalent(highest));
                assert_eq!(buckets.highest_of(lowest), highest.min(HIGHEST_NS));
            }
            let end = histogram.distinct_values() as u64;
            for beyond in [end, end + 1, 1 << 42, u64::MAX] {
                assert_eq!(buckets.highest(beyond), None);
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_the_format_of_the_other_tools(
            digits in 2_u8..=3,
            rows in proptest::collection::vec((0_u64..3_600_000_000_000, 1_u64..1 << 57), 0..30),
        ) {
            let mut histogram = empty(digits);
            for (value, count) in rows {
                histogram.record_n(value, count).unwrap();
            }
            let filled = histogram.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()));
            let filled: Vec<_> = filled.map(|(value, count)| (value.min(HIGHEST_NS), count)).collect();
            let buckets = Buckets::with_digits(digits);
            let text = encode_counts(&buckets, filled.clone());
            let mut theirs = Vec::new();
            V2Serializer::new().serialize(&histogram, &mut theirs).unwrap();
            prop_assert_eq!(STANDARD.decode(&text).unwrap(), theirs);
            prop_assert_eq!(decode_counts(&buckets, &text), Some(filled));
        }

        #[test]
        fn other_bytes_are_refused_or_read_and_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let buckets = Buckets::with_digits(2);
            let mut text = encode_header(&buckets, bytes.len());
            text.extend(&bytes);
            decode_counts(&buckets, &STANDARD.encode(text));
            prop_assert_eq!(decode_counts(&buckets, &STANDARD.encode(bytes)), None);
        }
    }

    #[test]
    fn a_histogram_with_other_digits_is_refused() {
        let text = encode_counts(&Buckets::with_digits(2), []);
        assert_eq!(decode_counts(&Buckets::with_digits(3), &text), None);
        assert_eq!(
            decode_counts(&Buckets::with_digits(2), &text),
            Some(Vec::new())
        );
    }
}
