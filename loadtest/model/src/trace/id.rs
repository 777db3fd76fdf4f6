//! The ids of traces and spans: W3C Trace Context, level 1.

use crate::random::{GOLDEN, mix_bits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Makes the ids of one scenario of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunIds {
    key: (u64, u64),
}

/// The id of a trace, which is one journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceId(u128);

/// The id of a span: a journey, a step of it, or a request of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SpanId(u64);

/// The value of a `traceparent` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: TraceId,
    /// The span that the receiver's own is a child of.
    pub span: SpanId,
    /// True if the spans of the trace are kept.
    pub is_sampled: bool,
}

/// A text that is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not an id: {digits} lower-case hexadecimal digits that are not all zero")]
pub struct ParseIdError {
    digits: usize,
}

impl RunIds {
    /// The ids of `scenario`, by its identity. The seed keeps the trials of one search apart.
    pub fn new(run_id: &str, scenario: &str, seed: u64) -> Self {
        let bytes = || run_id.bytes().chain([0]).chain(scenario.bytes());
        let half = |start| bytes().fold(start, |key, byte| mix_bits(key ^ u64::from(byte)));
        Self {
            key: (half(mix_bits(seed)), half(mix_bits(!seed))),
        }
    }

    /// Returns the trace of an iteration.
    #[inline]
    pub fn trace(&self, iteration: u64) -> TraceId {
        let high = mix_bits(self.key.0 ^ mix_bits(iteration));
        let low = mix_bits(self.key.1 ^ mix_bits(iteration ^ GOLDEN));
        let id = u128::from(high) << 64 | u128::from(low);
        TraceId(id.max(1))
    }
}

impl TraceId {
    /// Returns the span of the journey.
    pub fn journey(self) -> SpanId {
        self.span(0)
    }

    /// Returns the span of the step with this zero-based number.
    pub fn step(self, step: usize) -> SpanId {
        self.request(step, 0)
    }

    /// Returns the span of the `number`th request of a step, counted from 1 with redirects and repeats.
    #[inline]
    pub fn request(self, step: usize, number: u32) -> SpanId {
        self.span((step as u64 + 1) << 32 | u64::from(number))
    }

    #[inline]
    fn span(self, place: u64) -> SpanId {
        let (high, low) = ((self.0 >> 64) as u64, self.0 as u64);
        SpanId(mix_bits(low ^ mix_bits(high ^ place)).max(1))
    }

    /// Returns the bytes, the first digits first.
    #[inline]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl SpanId {
    /// Returns the bytes, the first digits first.
    #[inline]
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

impl TraceParent {
    /// The number of bytes of the header's value.
    pub const LENGTH: usize = 55;

    /// Returns the value of the header, in ASCII.
    pub fn to_header(self) -> [u8; Self::LENGTH] {
        let mut text = [0; Self::LENGTH];
        self.write_header(&mut text);
        text
    }

    /// Writes the value of the header, in ASCII.
    #[inline]
    pub fn write_header(self, text: &mut [u8; Self::LENGTH]) {
        *text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        text[3..35].copy_from_slice(to_hex(self.trace.to_bytes()).as_flattened());
        text[36..52].copy_from_slice(to_hex(self.span.to_bytes()).as_flattened());
        text[54] = b'0' + u8::from(self.is_sampled);
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_header()).unwrap_or_default())
    }
}

/// The digits of every byte.
static HEX: [[u8; 2]; 256] = {
    let digits = *b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < pairs.len() {
        pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    pairs
};

#[inline]
fn to_hex<const BYTES: usize>(bytes: [u8; BYTES]) -> [[u8; 2]; BYTES] {
    bytes.map(|byte| HEX[usize::from(byte)])
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

fn parse_hex(text: &str, digits: usize) -> Result<u128, ParseIdError> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let number = (text.len() == digits && text.bytes().all(is_hex))
        .then(|| u128::from_str_radix(text, 16).ok())
        .flatten();
    number
        .filter(|number| *number > 0)
        .ok_or(ParseIdError { digits })
}

impl FromStr for TraceId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        parse_hex(text, 32).map(Self)
    }
}

impl FromStr for SpanId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let number = parse_hex(text, 16)?;
        u64::try_from(number)
            .map(Self)
            .map_err(|_| ParseIdError { digits: 16 })
    }
}

impl TryFrom<String> for TraceId {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl TryFrom<String> for SpanId {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl From<TraceId> for String {
    fn from(id: TraceId) -> Self {
        id.to_string()
    }
}

impl From<SpanId> for String {
    fn from(id: SpanId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn ids_stay_the_same_from_release_to_release() {
        let ids = RunIds::new("20261121-143005-k3f9", "shop::load::buy", 7);
        let parent = |is_sampled| TraceParent {
            trace: ids.trace(1207),
            span: ids.trace(1207).request(2, 1),
            is_sampled,
        };
        assert_eq!(
            parent(true).to_string(),
            "00-6a025d39fe58cf6316947f537a6f89a0-060bde966364c19e-01"
        );
        assert!(parent(false).to_string().ends_with("-00"));
    }

    #[test]
    fn runs_scenarios_seeds_iterations_steps_and_requests_are_told_apart() {
        let mut traces = HashSet::new();
        for run in ["a", "b"] {
            for scenario in ["x", "y"] {
                for seed in 0..4 {
                    let ids = RunIds::new(run, scenario, seed);
                    traces.extend((0..200).map(|i| ids.trace(i)));
                    traces.extend((0..200).map(|i| ids.trace(3 << 32 | i)));
                }
            }
        }
        assert_eq!(traces.len(), 2 * 2 * 4 * 400);
        assert_ne!(RunIds::new("ab", "c", 1), RunIds::new("a", "bc", 1));
        let trace = RunIds::new("a", "x", 1).trace(0);
        let mut spans = HashSet::from([trace.journey()]);
        for step in 0..50 {
            spans.insert(trace.step(step));
            spans.extend((1..50).map(|number| trace.request(step, number)));
        }
        assert_eq!(spans.len(), 1 + 50 * 50);
    }

    proptest! {
        #[test]
        fn an_id_is_read_as_it_is_written(iteration: u64, seed: u64) {
            let trace = RunIds::new("r", "s", seed).trace(iteration);
            prop_assert_eq!(trace.to_string().parse(), Ok(trace));
            let span = trace.journey();
            prop_assert_eq!(span.to_string().parse(), Ok(span));
            let header = TraceParent { trace, span, is_sampled: true }.to_string();
            prop_assert_eq!(header, format!("00-{trace}-{span}-01"));
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in ["", "0", &"0".repeat(32), &"A".repeat(32), &"+".repeat(32)] {
            assert!(text.parse::<TraceId>().is_err(), "{text}");
        }
        assert!("0000000000000000".parse::<SpanId>().is_err());
    }
}
