//! Which values of requests come from earlier answers.
//!
//! All values that stand in requests are collected first; then the exchanges are gone through once, in their order,
//! and only what is wanted is kept of the answers. So time and memory grow with the size of the recording.
//! What a request had before any answer is the user's, and an answer that repeats it is an echo.

mod answer;
mod choice;
mod kind;
mod label;
mod layer;
mod page;
mod references;
mod replacements;
mod request;
#[cfg(test)]
mod tests;
mod wanted;

use super::recording::{Confidence, Exchange, Flat, Recording};
use super::source::Note;
use answer::{Offer, Offers};
use choice::{Choice, choose};
use kind::{ValueKind, kind};
use references::References;
use replacements::Replacements;
use request::{Form, Slot, ValuePlace, places};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The words of `data/correlation.toml`, which describes each list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    identifiers: Vec<String>,
    alike: Vec<String>,
    wrappers: Vec<String>,
    collections: Vec<String>,
    sorts: Vec<String>,
    actions: Vec<String>,
    request_headers: Vec<String>,
    answer_headers: Vec<String>,
    browser_links: Vec<String>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/correlation.toml")).expect("the lists are valid")
});

fn has_word(words: &[String], word: &str) -> bool {
    words.iter().any(|known| known == word)
}

/// How many values that might come from an answer are named at a request.
const MOST_NAMED: usize = 3;
/// How many beginnings of a target are looked for.
const MOST_BEGINNINGS: usize = 32;

/// Puts references in the place of values that earlier answers have; what is not certain enough is left, and noted.
pub(crate) fn correlate(recording: &mut Recording) {
    let mut answers = recording
        .exchanges
        .iter()
        .filter_map(|exchange| exchange.answer.as_ref());
    if !answers.any(|answer| !answer.is_example) {
        return;
    }
    let mut offers = Offers::default();
    for exchange in &recording.exchanges {
        for place in places(exchange, false) {
            if kind(&place.value) > ValueKind::Plain {
                offers.wanted.insert(&place.value);
            }
        }
        let target = exchange.target.flat().text;
        for end in beginnings(&target) {
            offers
                .wanted_targets
                .insert(&join_url(exchange, &target[..end]));
        }
    }
    let base = recording
        .exchanges
        .first()
        .map(|first| first.origin.clone());
    let base = recording.base.clone().or(base).unwrap_or_default();
    let mut references = References::after(&recording.references);
    for number in 0..recording.exchanges.len() {
        let exchange = &recording.exchanges[number];
        let target = exchange.target.flat();
        let mut replacements = Replacements::default();
        let mut possible = Vec::new();
        let found = places(exchange, true);
        let chosen: Vec<_> = found
            .iter()
            .map(|place| choose(place, offers.of(&place.value)))
            .collect();
        let link = find_link(exchange, &found, &chosen, &offers, exchange.origin == base);
        // Of a target that is a reference, nothing is left to name it by.
        let pattern = link
            .filter(|_| exchange.pattern.is_none())
            .map(|_| path_pattern(&target));
        if let Some((end, offer, confidence)) = link {
            let why = || format!("{} of its answer leads there", offer.name);
            let reference = references.number(offer, false, confidence, why);
            replacements.insert(Slot::Target, 0..end, reference);
        }
        for (place, choice) in found.iter().zip(&chosen) {
            let Some(choice) = choice else { continue };
            if replacements.overlap(place) {
                continue;
            }
            if choice.confidence == Confidence::Possible {
                possible.push((place, choice.offer));
                continue;
            }
            let is_number = choice.offer.is_number && matches!(place.form, Form::Number);
            let why = || why(place, choice);
            let reference = references.number(choice.offer, is_number, choice.confidence, why);
            replacements.insert(place.slot, place.range.clone(), reference);
        }
        possible.retain(|(place, _)| !replacements.overlap(place));
        let note = describe_possible(&possible, &recording.exchanges)
            .map(|words| Note::new(exchange.span.clone(), words));
        recording.notes.extend(note);
        for place in &found {
            offers.sent(&place.value, &place.label, !replacements.overlap(place));
        }
        for end in beginnings(&target.text) {
            offers.sent_target(&join_url(exchange, &target.text[..end]));
        }
        if let Some(answer) = &exchange.answer {
            let had_room = offers.has_room();
            offers.take(number, exchange, answer);
            if had_room && !offers.has_room() {
                let words = "later requests repeat more values of answers than are remembered: of those that come after \
                             this one, nothing is found";
                recording
                    .notes
                    .push(Note::new(exchange.span.clone(), words));
            }
        }
        let exchange = &mut recording.exchanges[number];
        exchange.pattern = pattern.or(exchange.pattern.take());
        replacements.apply(exchange);
    }
    recording.references.extend(references.new);
}

/// The ends of what a target begins with: whole segments, the path, all of it.
fn beginnings(target: &str) -> impl Iterator<Item = usize> {
    let path = target.find(['?', '#']).unwrap_or(target.len());
    let ends = target[..path]
        .match_indices('/')
        .map(|(at, _)| at)
        .filter(|at| *at > 0);
    let ends: BTreeSet<_> = ends
        .take(MOST_BEGINNINGS)
        .chain([path, target.len()])
        .collect();
    ends.into_iter().rev()
}

/// Returns the URL of a request with this part of its target.
fn join_url(exchange: &Exchange, target: &str) -> String {
    format!("{}{target}", exchange.origin)
}

/// The longest beginning of the target that an earlier answer leads to, where it has something in it that no field
/// of an answer gives.
fn find_link<'a>(
    exchange: &Exchange,
    places: &[ValuePlace],
    chosen: &[Option<Choice<'_>>],
    offers: &'a Offers,
    is_of_base: bool,
) -> Option<(usize, &'a Offer, Confidence)> {
    let target = exchange.target.flat().text;
    let whole = target.len();
    if !is_of_base {
        // A URL of somewhere else is what the answer says, all of it.
        let offer = offers.link(&join_url(exchange, &target));
        let offer = offer.filter(|offer| offer.is_absolute)?;
        return Some((whole, offer, Confidence::Certain));
    }
    let open = places.iter().zip(chosen).filter(|(place, choice)| {
        let is_given = choice.is_some_and(|choice| {
            choice.confidence > Confidence::Possible && !choice.offer.is_of_link()
        });
        place.slot == Slot::Target && place.form == Form::Whole && !is_given
    });
    let open: Vec<_> = open
        .filter(|(place, choice)| {
            let is_users = choice.is_none() && offers.is_users(&place.value, &place.label);
            (kind(&place.value) > ValueKind::Word || begins_with_number(&place.value)) && !is_users
        })
        .map(|(place, _)| place)
        .collect();
    beginnings(&target).find_map(|end| {
        let offer = offers.link(&join_url(exchange, &target[..end]))?;
        let mut within = open.iter().filter(|place| place.range.end <= end);
        let first = within.next()?;
        let is_unique = kind(&first.value) == ValueKind::Unique
            || within.any(|place| kind(&place.value) == ValueKind::Unique);
        let confidence = if is_unique {
            Confidence::Certain
        } else {
            Confidence::Likely
        };
        Some((end, offer, confidence))
    })
}

/// `43-tea`, which is one of many as `43` is.
fn begins_with_number(segment: &str) -> bool {
    segment.len() >= 4 && segment.starts_with(|first: char| first.is_ascii_digit())
}

/// Why a value is thought to be from there; never the value.
fn why(place: &ValuePlace, choice: &Choice<'_>) -> String {
    let name = &choice.offer.name;
    let which = match choice.offer.item {
        Some((item, of)) => format!("; item {item} of {of} is taken"),
        None => String::new(),
    };
    let why = match kind(&place.value) {
        ValueKind::Unique | ValueKind::Rare => {
            let length = place.value.chars().count();
            format!("this value of {length} characters is {name} of its answer")
        }
        ValueKind::Number(_) => {
            let what = if choice.offer.is_number {
                "number"
            } else {
                "value"
            };
            let names = if choice.fit > 0 {
                ", and the names fit"
            } else {
                ""
            };
            format!("{name} of its answer is this {what}{names}")
        }
        _ => format!("{name} of its answer is this value, and the names fit"),
    };
    format!("{why}{which}")
}

/// Describes values that may come from answers.
fn describe_possible(possible: &[(&ValuePlace, &Offer)], exchanges: &[Exchange]) -> Option<String> {
    let mut told = Vec::new();
    for (place, offer) in possible {
        let source = &exchanges[offer.exchange];
        let path = source
            .pattern
            .clone()
            .unwrap_or_else(|| path_pattern(&source.target.flat()));
        let words = format!(
            "{} may be {} of the answer to request {} ({} {path})",
            place.name,
            offer.name,
            offer.exchange + 1,
            source.method
        );
        if !told.contains(&words) {
            told.push(words);
        }
    }
    let more = told.len().saturating_sub(MOST_NAMED);
    told.truncate(MOST_NAMED);
    let rest = if more > 0 {
        format!(", and {more} more")
    } else {
        String::new()
    };
    (!told.is_empty()).then(|| format!("{}{rest}; left as recorded", told.join(", ")))
}

/// Returns the path with names in the place of its values: `/orders/{id}`.
fn path_pattern(target: &Flat) -> String {
    let path = target.text.split(['?', '#']).next().unwrap_or_default();
    let segments = path.split('/').map(|segment| match kind(segment) {
        ValueKind::Word | ValueKind::Plain if !target.has_values(segment) => segment,
        _ => "{id}",
    });
    segments.collect::<Vec<_>>().join("/")
}
