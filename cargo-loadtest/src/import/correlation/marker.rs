//! What stands in the place of values: the markers that readers made, and new ones.

use super::super::marked::{Confidence, Origin, Recording, Reference};
use super::answer::Offer;
use super::request::Place;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

/// The markers that stand for values, each for one place of one answer.
pub(super) struct Markers {
    seed: String,
    first: usize,
    known: HashMap<(Origin, bool, Confidence), usize>,
    /// Those that are new.
    pub(super) new: Vec<Reference>,
}

impl Markers {
    pub(super) fn new(known: &[Reference]) -> Self {
        let random = RandomState::new();
        Self {
            seed: format!(
                "{:016x}{:016x}",
                random.hash_one("one"),
                random.hash_one("other")
            ),
            first: known.len(),
            known: HashMap::new(),
            new: Vec::new(),
        }
    }

    pub(super) fn of(
        &mut self,
        offer: &Offer,
        is_bare: bool,
        confidence: Confidence,
        why: impl FnOnce() -> String,
    ) -> String {
        let key = (offer.origin.clone(), is_bare, confidence);
        let next = self.new.len();
        let number = *self.known.entry(key).or_insert(next);
        if number == next {
            self.new.push(Reference {
                marker: format!("ref{}n{}e", self.seed, self.first + number),
                from: offer.origin.clone(),
                is_bare,
                confidence,
                why: why(),
            });
        }
        self.new[number].marker.clone()
    }
}

/// What a reader put in the place of values already: that stays.
pub(super) struct Taken {
    markers: HashSet<String>,
    lengths: BTreeSet<usize>,
}

impl Taken {
    pub(super) fn new(recording: &Recording) -> Self {
        let references = recording
            .references
            .iter()
            .map(|reference| reference.marker.clone());
        let secrets = recording.secrets.iter().map(|secret| secret.value.clone());
        let markers: HashSet<_> = references
            .chain(secrets)
            .filter(|marker| !marker.is_empty())
            .collect();
        let lengths = markers.iter().map(String::len).collect();
        Self { markers, lengths }
    }

    /// Whether a marker is in a place.
    pub(super) fn touches(&self, place: &Place) -> bool {
        self.lengths.iter().any(|length| {
            let text = place.value.as_bytes();
            text.windows(*length).any(|window| {
                std::str::from_utf8(window).is_ok_and(|window| self.markers.contains(window))
            })
        })
    }
}
