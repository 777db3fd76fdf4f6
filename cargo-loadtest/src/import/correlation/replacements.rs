//! Replaces values in a request; all else stays, byte for byte.

use super::super::recording::{Body, Exchange, Piece, Text};
use super::request::{Slot, ValuePlace};
use std::collections::BTreeMap;
use std::ops::Range;

/// References in the place of values, in one request.
#[derive(Default)]
pub(super) struct Replacements {
    /// By the slot and the end of the value: its start, and the number of the reference.
    places: BTreeMap<(Slot, usize), (usize, usize)>,
}

impl Replacements {
    /// Returns true if a part of the place is replaced already.
    pub(super) fn overlap(&self, place: &ValuePlace) -> bool {
        let mut after = self.places.range((place.slot, place.range.start + 1)..);
        after
            .next()
            .is_some_and(|((slot, _), (start, _))| *slot == place.slot && *start < place.range.end)
    }

    /// Replaces `range` of the [flat](Text::flat) text in `slot`.
    pub(super) fn insert(&mut self, slot: Slot, range: Range<usize>, reference: usize) {
        self.places
            .insert((slot, range.end), (range.start, reference));
    }

    /// Writes the references into the request.
    pub(super) fn apply(self, exchange: &mut Exchange) {
        let mut slots: BTreeMap<Slot, Vec<(Range<usize>, usize)>> = BTreeMap::new();
        for ((slot, end), (start, reference)) in self.places {
            slots.entry(slot).or_default().push((start..end, reference));
        }
        for (slot, places) in slots {
            if let Some(text) = text_of(exchange, slot) {
                *text = replace_ranges(text, &places);
            }
        }
    }
}

fn text_of(exchange: &mut Exchange, slot: Slot) -> Option<&mut Text> {
    match (slot, &mut exchange.body) {
        (Slot::Target, _) => Some(&mut exchange.target),
        (Slot::Header(number), _) => {
            let header = exchange.headers.get_mut(number);
            header.map(|header| &mut header.value)
        }
        (Slot::User, _) => exchange.credentials.as_mut().map(|both| &mut both.user),
        (Slot::Password, _) => exchange.credentials.as_mut().map(|both| &mut both.password),
        (Slot::Body, Body::Text(text)) => Some(text),
        (Slot::Part(number), Body::Multipart(parts)) => {
            parts.get_mut(number).map(|part| &mut part.content)
        }
        _ => None,
    }
}

/// Replaces ranges of the flat text, which come in their order.
fn replace_ranges(text: &Text, places: &[(Range<usize>, usize)]) -> Text {
    let flat = text.flat();
    let mut replaced = Text::default();
    let mut from = 0;
    for (range, reference) in places {
        replaced.append(flat.restore(&flat.text[from..range.start]));
        replaced.push(Piece::Reference(*reference));
        from = range.end;
    }
    replaced.append(flat.restore(&flat.text[from..]));
    replaced
}
