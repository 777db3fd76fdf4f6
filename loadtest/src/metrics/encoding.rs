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

/// Writes `histogram`.
pub(super) fn encode(histogram: &Histogram<u64>) -> String {
    let mut counts = Vec::new();
    let mut empty = 0;
    let mut left = histogram.len();
    for bucket in histogram.iter_all() {
        if left == 0 {
            break;
        }
        let count = bucket.count_at_value();
        if count == 0 {
            empty += 1;
            continue;
        }
        match std::mem::take(&mut empty) {
            0 => {}
            // A single empty bucket is a count of zero.
            1 => write(&mut counts, 0),
            run => write(&mut counts, -run),
        }
        write(&mut counts, i64::try_from(count).unwrap_or(i64::MAX));
        left = left.saturating_sub(count);
    }
    if counts.is_empty() {
        counts.push(0);
    }
    let mut bytes = header(histogram, counts.len());
    bytes.extend(counts);
    STANDARD.encode(bytes)
}

/// Reads what [`encode`] wrote of a histogram with the digits of `into`, and adds it to that one;
/// `None` where `text` is something else.
pub(super) fn decode(text: &str, into: &mut Histogram<u64>) -> Option<()> {
    let bytes = STANDARD.decode(text).ok()?;
    let (start, mut counts) = bytes.split_at_checked(HEADER)?;
    if start != header(into, counts.len()) {
        return None;
    }
    let layout = Histogram::<u64>::new_with_bounds(into.low(), HIGHEST_NS, into.sigfig()).ok()?;
    let mut buckets = layout.iter_all();
    while !counts.is_empty() {
        let number = read(&mut counts)?;
        if let Ok(count) = u64::try_from(number) {
            let value = buckets.next()?.value_iterated_to().min(HIGHEST_NS);
            // Even a count of zero would move the maximum.
            if count > 0 {
                into.record_n(value, count).ok()?;
            }
        } else {
            let skipped = usize::try_from(number.unsigned_abs()).ok()?;
            buckets.nth(skipped - 1)?;
        }
    }
    Some(())
}

fn header(histogram: &Histogram<u64>, length: usize) -> Vec<u8> {
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

fn write(bytes: &mut Vec<u8>, number: i64) {
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

fn read(bytes: &mut &[u8]) -> Option<i64> {
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
            let text = encode(&histogram);
            let mut theirs = Vec::new();
            V2Serializer::new().serialize(&histogram, &mut theirs).unwrap();
            prop_assert_eq!(STANDARD.decode(&text).unwrap(), theirs);
            let mut read = empty(digits);
            prop_assert_eq!(decode(&text, &mut read), Some(()));
            prop_assert_eq!(read, histogram);
        }

        #[test]
        fn other_bytes_are_refused_or_read_and_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut text = header(&empty(2), bytes.len());
            text.extend(&bytes);
            decode(&STANDARD.encode(text), &mut empty(2));
            prop_assert_eq!(decode(&STANDARD.encode(bytes), &mut empty(2)), None);
        }
    }

    #[test]
    fn a_histogram_with_other_digits_is_refused() {
        assert_eq!(decode(&encode(&empty(2)), &mut empty(3)), None);
    }
}
