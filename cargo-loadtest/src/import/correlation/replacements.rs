//! Replaces values in a request; all else stays, byte for byte.

use super::super::recording::{Exchange, Text};
use super::request::ValuePlace;
use std::collections::BTreeMap;
use std::ops::Range;

/// Texts in the place of values, in one request.
#[derive(Default)]
pub(super) struct Replacements {
    /// By the slot and the end of the value: its start, and the text.
    places: BTreeMap<(usize, usize), (usize, Text)>,
}

impl Replacements {
    /// Returns true if a part of the place is replaced already.
    pub(super) fn overlap(&self, place: &ValuePlace) -> bool {
        let mut after = self.places.range((place.slot, place.range.start + 1)..);
        after
            .next()
            .is_some_and(|((slot, _), (start, _))| *slot == place.slot && *start < place.range.end)
    }

    /// Returns the text in the place of a value.
    pub(super) fn text_of(&self, place: &ValuePlace) -> Option<&Text> {
        let (start, text) = self.places.get(&(place.slot, place.range.end))?;
        (*start == place.range.start).then_some(text)
    }

    /// Replaces `range` of the [flat](Text::flat) text in `slot`.
    pub(super) fn insert(&mut self, slot: usize, range: Range<usize>, text: Text) {
        self.places.insert((slot, range.end), (range.start, text));
    }

    /// Writes the texts into the request.
    pub(super) fn apply(self, exchange: &mut Exchange) {
        for (slot, text) in exchange.texts_mut().into_iter().enumerate() {
            let places = self.places.range((slot, 0)..(slot + 1, 0));
            let flat = text.flat();
            let mut replaced = Text::default();
            let mut from = 0;
            for ((_, end), (start, text)) in places {
                replaced.append(flat.restore(&flat.text[from..*start]));
                replaced.append(text.clone());
                from = *end;
            }
            if from > 0 {
                replaced.append(flat.restore(&flat.text[from..]));
                *text = replaced;
            }
        }
    }
}
