//! Which values are looked for: as hashes, so that what is wanted of a great recording has room. One that is taken
//! for another is only kept, and never used.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

/// The hashes of texts.
#[derive(Debug, Default)]
pub(super) struct Hashes {
    state: RandomState,
    known: HashSet<u64>,
}

impl Hashes {
    pub(super) fn hash(&self, text: &str) -> u64 {
        self.state.hash_one(text)
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.known.insert(self.hash(text));
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.known.contains(&self.hash(text))
    }
}
