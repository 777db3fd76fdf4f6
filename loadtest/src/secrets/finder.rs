//! Finds many texts in another one in a single pass.

use super::spelling::fold_byte;
use std::collections::HashMap;

/// The shortest text that is looked for, in bytes.
pub(super) const MIN_LENGTH: usize = 8;
/// The number of bits in the filter.
const FILTER_BITS: usize = 1 << 16;

/// Texts to look for, each by its last bytes: the beginnings of tokens are often the same.
#[derive(Default)]
pub(super) struct SecretFinder {
    by_end: HashMap<u64, Vec<SoughtText>>,
    /// The possible ends of a text; empty without any text.
    filter: Vec<u64>,
}

struct SoughtText {
    /// Folded.
    bytes: Box<[u8]>,
    owner: usize,
}

/// A text that was found.
pub(super) struct FoundText {
    pub(super) begin: usize,
    pub(super) end: usize,
    /// The owner that was given with the text.
    pub(super) owner: usize,
}

impl SecretFinder {
    /// Looks for `text` from now on, unless it is too short.
    pub(super) fn add(&mut self, text: &[u8], owner: usize) {
        let bytes: Box<[u8]> = text.iter().map(|byte| fold_byte(*byte)).collect();
        let Some(window) = bytes.last_chunk::<MIN_LENGTH>() else {
            return;
        };
        let window = u64::from_le_bytes(*window);
        self.filter.resize(FILTER_BITS / 64, 0);
        let bit = filter_bit(window);
        self.filter[bit / 64] |= 1 << (bit % 64);
        let same = self.by_end.entry(window).or_default();
        if !same.iter().any(|sought| sought.bytes == bytes) {
            same.push(SoughtText { bytes, owner });
        }
    }

    /// Tells of everything that is in `text`.
    pub(super) fn find(&self, text: &[u8], mut tell: impl FnMut(FoundText)) {
        if self.filter.is_empty() || text.len() < MIN_LENGTH {
            return;
        }
        let mut window = 0;
        for (at, byte) in text.iter().enumerate() {
            window = (window >> 8) | (u64::from(fold_byte(*byte)) << 56);
            let bit = filter_bit(window);
            if self.filter[bit / 64] & (1 << (bit % 64)) == 0 || at + 1 < MIN_LENGTH {
                continue;
            }
            let end = at + 1;
            for sought in self.by_end.get(&window).into_iter().flatten() {
                let Some(begin) = end.checked_sub(sought.bytes.len()) else {
                    continue;
                };
                let there = text[begin..end].iter().map(|byte| fold_byte(*byte));
                if there.eq(sought.bytes.iter().copied()) {
                    tell(FoundText {
                        begin,
                        end,
                        owner: sought.owner,
                    });
                }
            }
        }
    }
}

fn filter_bit(window: u64) -> usize {
    (window.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(finder: &SecretFinder, text: &str) -> Vec<(usize, usize, usize)> {
        let mut all = Vec::new();
        finder.find(text.as_bytes(), |found| {
            all.push((found.begin, found.end, found.owner));
        });
        all
    }

    #[test]
    fn everything_is_found_wherever_it_is() {
        let mut finder = SecretFinder::default();
        assert_eq!(found(&finder, "nothing is looked for"), []);
        finder.add(b"shared-end", 0);
        finder.add(b"another shared-end", 1);
        finder.add(b"short", 2);
        assert_eq!(found(&finder, "shared-end"), [(0, 10, 0)]);
        assert_eq!(
            found(&finder, "+another+shared end+"),
            [(9, 19, 0), (1, 19, 1)]
        );
        assert_eq!(found(&finder, "hared-end short"), []);
    }

    proptest! {
        #[test]
        fn it_finds_what_a_search_of_each_finds(
            texts in proptest::collection::vec("[ab]{8,12}", 1..5),
            text in "[ab]{0,60}",
        ) {
            let mut finder = SecretFinder::default();
            for (owner, one) in texts.iter().enumerate() {
                finder.add(one.as_bytes(), owner);
            }
            let mut ends: Vec<_> = found(&finder, &text)
                .into_iter()
                .map(|(begin, end, _)| (begin, end))
                .collect();
            ends.sort_unstable();
            let mut expected: Vec<_> = (0..text.len())
                .flat_map(|begin| texts.iter().map(move |one| (begin, begin + one.len(), one)))
                .filter(|(begin, end, one)| text.get(*begin..*end) == Some(one.as_str()))
                .map(|(begin, end, _)| (begin, end))
                .collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(ends, expected);
        }
    }
}
