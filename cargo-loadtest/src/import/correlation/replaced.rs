//! What is replaced in a request; all else stays, byte for byte.

use super::super::marked::{Body, Exchange};
use super::request::{Place, Slot};
use std::collections::BTreeMap;
use std::ops::Range;

/// What is put in the place of what, in one request.
#[derive(Default)]
pub(super) struct Replaced {
    /// By the slot and the end of the place: where it begins, and the marker.
    places: BTreeMap<(Slot, usize), (usize, String)>,
}

impl Replaced {
    /// Whether something at the place was replaced already.
    pub(super) fn has(&self, place: &Place) -> bool {
        let mut after = self.places.range((place.slot, place.range.start + 1)..);
        after
            .next()
            .is_some_and(|((slot, _), (start, _))| *slot == place.slot && *start < place.range.end)
    }

    pub(super) fn put(&mut self, slot: Slot, range: Range<usize>, marker: String) {
        self.places.insert((slot, range.end), (range.start, marker));
    }

    /// Writes the markers.
    pub(super) fn write(self, exchange: &mut Exchange) {
        let mut slots: BTreeMap<Slot, Vec<(Range<usize>, String)>> = BTreeMap::new();
        for ((slot, end), (start, marker)) in self.places {
            slots.entry(slot).or_default().push((start..end, marker));
        }
        for (slot, places) in slots {
            let bytes = match slot {
                Slot::Target => {
                    let target = woven(exchange.target.as_bytes(), &places);
                    exchange.target = String::from_utf8_lossy(&target).into_owned();
                    continue;
                }
                Slot::Header(number) => exchange
                    .headers
                    .get_mut(number)
                    .map(|header| &mut header.value),
                Slot::User => exchange.credentials.as_mut().map(|both| &mut both.user),
                Slot::Password => exchange.credentials.as_mut().map(|both| &mut both.password),
                Slot::Body => match &mut exchange.body {
                    Body::Bytes(bytes) => Some(bytes),
                    _ => None,
                },
                Slot::Part(number) => match &mut exchange.body {
                    Body::Multipart(parts) => parts.get_mut(number).map(|part| &mut part.content),
                    _ => None,
                },
            };
            if let Some(bytes) = bytes {
                *bytes = woven(bytes, &places);
            }
        }
    }
}

/// A text with markers in the place of parts of it, which come in their order.
fn woven(text: &[u8], places: &[(Range<usize>, String)]) -> Vec<u8> {
    let mut woven = Vec::with_capacity(text.len());
    let mut from = 0;
    for (range, marker) in places {
        woven.extend_from_slice(&text[from..range.start]);
        woven.extend_from_slice(marker.as_bytes());
        from = range.end;
    }
    woven.extend_from_slice(&text[from..]);
    woven
}
