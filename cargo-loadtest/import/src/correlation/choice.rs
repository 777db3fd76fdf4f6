//! Which of several answers a value is from, and how certain that is.

use super::answer::Offer;
use super::kind::{ValueKind, is_time, kind};
use super::request::{ValueForm, ValuePlace};
use crate::recording::{Confidence, Origin, PageFind};

/// A choice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice<'a> {
    pub(super) offer: &'a Offer,
    pub(super) confidence: Confidence,
}

/// Chooses among the places that a value could be from; nothing where it is rather a coincidence.
///
/// A field whose name fits is taken before others, then the first answer that has the value: the one that made it.
pub(super) fn choose<'a>(place: &ValuePlace, offers: &'a [Offer]) -> Option<Choice<'a>> {
    let can_be = |offer: &&Offer| match place.form {
        // A string would have quotes where a number was.
        ValueForm::Number => offer.is_number,
        _ => true,
    };
    let usable = offers.iter().filter(can_be);
    let first = usable.clone().map(|offer| offer.exchange).min()?;
    let rank = |offer: &Offer| match &offer.origin {
        Origin::Body { path, .. } => path.len(),
        Origin::Header { .. } => 100,
        _ => 200,
    };
    let best = usable.min_by_key(|offer| {
        let fit = place.label.fits(&offer.label);
        (std::cmp::Reverse(fit), offer.exchange, rank(offer))
    })?;
    let fit = place.label.fits(&best.label);
    let are_one = || offers.iter().all(|offer| offer.exchange == first);
    let is_only = best.exchange == first && (fit >= 2 || are_one());
    let mut confidence = confidence(place, best, fit, is_only)?;
    // Which of several a user takes, nobody knows.
    if best.item.is_some() {
        confidence = confidence.min(Confidence::Likely);
    }
    Some(Choice {
        offer: best,
        confidence,
    })
}

fn confidence(place: &ValuePlace, offer: &Offer, fit: u8, is_only: bool) -> Option<Confidence> {
    let value = place.value.as_str();
    let is_place_of_identifier = place.label.is_identifier() || fit > 0;
    let is_page = matches!(
        &offer.origin,
        Origin::Between { .. }
            | Origin::Page {
                find: PageFind::Field { .. },
                ..
            }
    );
    match (kind(value), place.form) {
        (ValueKind::Unique, ValueForm::Whole | ValueForm::Number) if is_only => {
            Some(Confidence::Certain)
        }
        (ValueKind::Unique, _) => Some(Confidence::Likely),
        (ValueKind::Rare, ValueForm::Within) if fit < 2 => Some(Confidence::Possible),
        (ValueKind::Rare, _) if is_place_of_identifier => Some(Confidence::Likely),
        (ValueKind::Rare, _) => Some(Confidence::Possible),
        // A field of a form is sent as it came.
        (ValueKind::Number(_), _)
            if fit >= 2 && offer.label.is_identifier() || fit >= 3 && is_page =>
        {
            Some(Confidence::Likely)
        }
        (ValueKind::Number(_), ValueForm::Within) => None,
        (ValueKind::Number(digits), _) => number(value, digits, fit),
        // `blue-chair` as a slug.
        (ValueKind::Word, ValueForm::Whole)
            if fit >= 3 && offer.label.is_identifier() && value.len() > 1 =>
        {
            Some(Confidence::Likely)
        }
        _ => None,
    }
}

/// Returns the certainty for a number whose name says little.
fn number(value: &str, digits: usize, fit: u8) -> Option<Confidence> {
    let is_round = value.ends_with("000");
    match digits {
        _ if is_time(value) || is_round => (fit >= 2).then_some(Confidence::Possible),
        10.. => Some(Confidence::Likely),
        5.. if fit > 0 => Some(Confidence::Likely),
        5.. => Some(Confidence::Possible),
        3.. if fit > 0 => Some(Confidence::Possible),
        _ => None,
    }
}
