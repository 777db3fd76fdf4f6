//! Histograms as text: the V2 format of `HdrHistogram`, which its tools in every language read, in
//! base64. Written here because the feature of the crate that has it brings three more crates.
//!
//! A header of 40 bytes, then the counts of all buckets up to the last used one as `ZigZag` LEB128 of at
//! most nine bytes; a negative number stands for as many empty buckets.

use super::histogram::HIGHEST_NS;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;

/// The first word: the format, and words of up to eight bytes.
const COOKIE: u32 = 0x1c84_9303 | 0x10;
/// Bytes before the counts.
const HEADER: usize = 40;

/// The layout of the buckets of a histogram. The first `2 << half` are as wide as the lowest value; then each `1 <<
/// half` buckets are twice as wide as those before.
struct Buckets {
    half: u32,
    unit: u32,
}

impl Buckets {
    fn from_histogram(histogram: &Histogram<u64>) -> Self {
        let told_apart = 2 * 10_u64.pow(histogram.sigfig().into());
        Self {
            half: told_apart.next_power_of_two().ilog2() - 1,
            unit: histogram.low().ilog2(),
        }
    }

    /// The number of the bucket that holds `value`.
    fn index(&self, value: u64) -> u64 {
        let bits = u64::BITS - value.leading_zeros();
        let doubled = bits.saturating_sub(self.half + 1 + self.unit);
        (u64::from(doubled) << self.half) + (value >> (doubled + self.unit))
    }

    /// The highest value of a bucket, an hour at most; `None` where there is no such bucket.
    fn highest(&self, index: u64) -> Option<u64> {
        let doubled = (index >> self.half).saturating_sub(1);
        let place = index - (doubled << self.half);
        let shift = doubled + u64::from(self.unit);
        let is_told = shift + u64::from(self.half) < HIGHEST_NS.next_power_of_two().ilog2().into();
        is_told.then(|| (((place + 1) << shift) - 1).min(HIGHEST_NS))
    }
}

/// Writes `histogram`.
pub(super) fn encode_histogram(histogram: &Histogram<u64>) -> String {
    let buckets = Buckets::from_histogram(histogram);
    let mut counts = Vec::new();
    let mut next = 0;
    for bucket in histogram.iter_recorded() {
        let index = buckets.index(bucket.value_iterated_to());
        match (index - next).cast_signed() {
            0 => {}
            // A single empty bucket is a count of zero.
            1 => write_number(&mut counts, 0),
            run => write_number(&mut counts, -run),
        }
        let count = bucket.count_at_value();
        write_number(&mut counts, i64::try_from(count).unwrap_or(i64::MAX));
        next = index + 1;
    }
    if counts.is_empty() {
        counts.push(0);
    }
    let mut bytes = encode_header(histogram, counts.len());
    bytes.extend(counts);
    STANDARD.encode(bytes)
}

/// Reads what [`encode_histogram`] wrote of a histogram with the digits of `into`, and adds it to that one;
/// `None` where `text` is something else.
pub(super) fn decode_histogram(text: &str, into: &mut Histogram<u64>) -> Option<()> {
    let bytes = STANDARD.decode(text).ok()?;
    let (start, mut counts) = bytes.split_at_checked(HEADER)?;
    if start != encode_header(into, counts.len()) {
        return None;
    }
    let buckets = Buckets::from_histogram(into);
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
        // Even a count of zero would move the maximum.
        if count > 0 {
            into.record_n(value, count).ok()?;
        }
    }
    Some(())
}

fn encode_header(histogram: &Histogram<u64>, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + length);
    bytes.extend(COOKIE.to_be_bytes());
    bytes.extend((length as u32).to_be_bytes());
    // No buckets are shifted.
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend(u32::from(histogram.sigfig()).to_be_bytes());
    bytes.extend(histogram.low().to_be_bytes());
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
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};
    use proptest::prelude::*;

    fn empty(digits: u8) -> Histogram<u64> {
        Histogram::new_with_bounds(1_000, 3_600_000_000_000, digits).unwrap()
    }

    #[test]
    fn the_buckets_lie_where_the_histogram_has_them() {
        for digits in [2, 3] {
            let histogram = empty(digits);
            let buckets = Buckets::from_histogram(&histogram);
            for (index, bucket) in (0..).zip(histogram.iter_all()) {
                let highest = bucket.value_iterated_to();
                assert_eq!(buckets.index(highest), index);
                assert_eq!(buckets.highest(index), Some(highest.min(HIGHEST_NS)));
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
            let text = encode_histogram(&histogram);
            let mut theirs = Vec::new();
            V2Serializer::new().serialize(&histogram, &mut theirs).unwrap();
            prop_assert_eq!(STANDARD.decode(&text).unwrap(), theirs);
            let mut read = empty(digits);
            prop_assert_eq!(decode_histogram(&text, &mut read), Some(()));
            prop_assert_eq!(read, histogram);
        }

        #[test]
        fn other_bytes_are_refused_or_read_and_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut text = encode_header(&empty(2), bytes.len());
            text.extend(&bytes);
            decode_histogram(&STANDARD.encode(text), &mut empty(2));
            prop_assert_eq!(decode_histogram(&STANDARD.encode(bytes), &mut empty(2)), None);
        }
    }

    #[test]
    fn a_histogram_with_other_digits_is_refused() {
        assert_eq!(
            decode_histogram(&encode_histogram(&empty(2)), &mut empty(3)),
            None
        );
    }
}
