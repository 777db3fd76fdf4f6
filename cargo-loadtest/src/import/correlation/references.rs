//! The references that take the place of values.

use super::super::recording::{Confidence, Origin, Reference};
use super::answer::Offer;
use std::collections::HashMap;

/// References to values of answers, one for each place of an answer.
pub(super) struct References {
    /// The number of the first new one.
    first: usize,
    numbers: HashMap<(Origin, bool, Confidence), usize>,
    /// Those that the recording does not have yet.
    pub(super) new: Vec<Reference>,
}

impl References {
    /// Starts after the references that a reader made.
    pub(super) fn after(known: &[Reference]) -> Self {
        Self {
            first: known.len(),
            numbers: HashMap::new(),
            new: Vec::new(),
        }
    }

    /// Returns the number of the reference to `offer`, which is new the first time.
    pub(super) fn number(
        &mut self,
        offer: &Offer,
        is_bare: bool,
        confidence: Confidence,
        why: impl FnOnce() -> String,
    ) -> usize {
        let key = (offer.origin.clone(), is_bare, confidence);
        let next = self.first + self.new.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.new.push(Reference {
                from: offer.origin.clone(),
                is_bare,
                confidence,
                why: why(),
            });
        }
        number
    }
}
