//! Which values of requests come from earlier answers.
//!
//! All values that stand in requests are collected first; then the exchanges are gone through once, in their order,
//! and only what is wanted is kept of the answers. So time and memory grow with the size of the recording.
//! What a request had before any answer is the user's, and an answer that repeats it is an echo.

mod answer;
mod choice;
mod created;
mod forms;
mod html;
mod kind;
mod label;
mod layer;
mod left;
mod page;
mod page_answer;
mod request;
#[cfg(test)]
mod tests;
mod texts;

use super::recording::{
    Body, Confidence, Exchange, Flat, Origin, PageFind, Piece, Recording, Reference,
    ReferenceNumbers,
};
use super::source::Note;
use super::text::{has_word, place_of};
use answer::{Offer, Offers};
use choice::{Choice, choose};
use created::make_names_unique;
use forms::find_unchanged;
use kind::{ValueKind, kind};
pub use left::{LeftValue, find_left_values};
use loadtest_console::suggestion::join_some;
use request::{Replacements, ValueForm, ValuePlace, places};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::LazyLock;

/// The words of `data/correlation.toml`, which describes each list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    identifiers: Vec<String>,
    alike: Vec<String>,
    wrappers: Vec<String>,
    collections: Vec<String>,
    actions: Vec<String>,
    names: Vec<String>,
    titles: Vec<String>,
    deletions: Vec<String>,
    request_headers: Vec<String>,
    answer_headers: Vec<String>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/correlation.toml")).expect("the lists are valid")
});

/// How many beginnings of a target are looked for.
const MOST_BEGINNINGS: usize = 32;

/// Puts references in the place of values that earlier answers have; what is not certain enough is left, and noted.
pub fn correlate(recording: &mut Recording) {
    if !has_answers(recording) {
        return;
    }
    let names = make_names_unique(recording);
    let mut offers = Offers::new(names, &recording.exchanges);
    let base = recording.base_origin().to_owned();
    let mut references = ReferenceNumbers::default();
    let mut json = HashMap::new();
    for number in 0..recording.exchanges.len() {
        let exchange = &recording.exchanges[number];
        let mut replacements = Replacements::default();
        let mut possible = Vec::new();
        let found = places(exchange);
        let chosen = found
            .iter()
            .map(|place| choose(place, offers.of(&place.value)));
        let chosen: Vec<_> = chosen.collect();
        let link = find_link(exchange, &found, &chosen, &offers, exchange.origin == base);
        // Of a target that is a reference, nothing is left to name it by.
        let pattern = link.map(|_| path_pattern(&exchange.target.flat()));
        let pattern = exchange.pattern.clone().or(pattern);
        let known = &mut recording.references;
        let mut refer = |from: &Origin, is_bare: bool, confidence: Confidence, why: String| {
            let from = from.clone();
            let reference = Reference {
                from,
                is_bare,
                confidence,
                why,
            };
            references.refer(reference, known)
        };
        let exchanges = &recording.exchanges;
        let unchanged = find_unchanged(&found, &chosen, number, exchanges, &offers, &mut json);
        for (place, unchanged) in found.iter().zip(unchanged) {
            if let Some((origin, why)) = unchanged {
                let is_number = place.form == ValueForm::Number;
                let reference = refer(&origin, is_number, Confidence::Certain, why);
                replacements.insert(place.slot, place.range.clone(), reference);
            }
        }
        if let Some((end, offer, confidence)) = link {
            let why = with_item(format!("{} of its answer leads there", offer.name), offer);
            replacements.insert(0, 0..end, refer(&offer.origin, false, confidence, why));
        }
        for (place, choice) in found.iter().zip(&chosen) {
            let Some(Choice { offer, confidence }) = *choice else {
                continue;
            };
            if replacements.overlap(place) {
                continue;
            }
            if confidence == Confidence::Possible {
                possible.push((place, offer));
                continue;
            }
            let is_number = offer.is_number && place.form == ValueForm::Number;
            let reference = refer(&offer.origin, is_number, confidence, why(place, offer));
            replacements.insert(place.slot, place.range.clone(), reference);
        }
        possible.retain(|(place, _)| !replacements.overlap(place));
        let is_left = |place: &&ValuePlace| !replacements.overlap(place);
        let notes = describe_possible(&possible, &recording.exchanges)
            .into_iter()
            .chain(warn_of_deletion(exchange, found.iter().filter(is_left)));
        let notes = notes.map(|words| Note::new(exchange.span.clone(), words));
        recording.notes.extend(notes);
        offers.sent(&found, &replacements);
        let targets = beginnings(exchange).map(|(_, url)| url);
        offers.sent_targets.extend(targets);
        if let Some(answer) = &exchange.answer {
            offers.take(number, exchange, answer);
        }
        let exchange = &mut recording.exchanges[number];
        exchange.pattern = pattern;
        replacements.apply(exchange);
    }
}

/// Returns true where a service has answered.
fn has_answers(recording: &Recording) -> bool {
    let mut answers = recording.exchanges.iter().flat_map(|one| &one.answer);
    answers.any(|answer| !answer.is_example)
}

/// Returns the ends of what a target begins with - all of it, the path, whole segments - and the URLs up to there.
fn beginnings(exchange: &Exchange) -> impl Iterator<Item = (usize, String)> {
    let target = exchange.target.flat().text;
    let path = target.find(['?', '#']).unwrap_or(target.len());
    let slashes = target[..path].match_indices('/').map(|(at, _)| at);
    let ends = slashes.skip(1).take(MOST_BEGINNINGS);
    let ends: BTreeSet<_> = ends.chain([path, target.len()]).collect();
    let url = move |end| (end, format!("{}{}", exchange.origin, &target[..end]));
    ends.into_iter().rev().map(url)
}

/// Returns the places of the path and of the query of a URL.
fn url_parts(url: &str) -> (Range<usize>, Range<usize>) {
    let host = url
        .find("://")
        .filter(|_| url.starts_with("http"))
        .map(|at| at + 3);
    let begin = host.map_or(0, |host| {
        url[host..].find('/').map_or(url.len(), |at| host + at)
    });
    let end = url.find('#').unwrap_or(url.len()).max(begin);
    let path = url[begin..end].find('?').map_or(end, |at| begin + at);
    (begin..path, (path + 1).min(end)..end)
}

/// Returns the places of the parts of a text.
fn parts_by(
    text: &str,
    is_delimiter: impl FnMut(char) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    text.split(is_delimiter)
        .map(move |part| place_of(part, text))
}

/// Returns the longest beginning of the target that an earlier answer leads to, where it has something in it that no
/// field of an answer gives.
fn find_link<'a>(
    exchange: &Exchange,
    places: &[ValuePlace],
    chosen: &[Option<Choice<'_>>],
    offers: &'a Offers,
    is_of_base: bool,
) -> Option<(usize, &'a Offer, Confidence)> {
    if !is_of_base {
        // A URL of somewhere else is what the answer says, all of it.
        let (end, url) = beginnings(exchange).next()?;
        return Some((end, offers.link(&url)?, Confidence::Certain));
    }
    // `43-tea` is one of many as `43` is.
    let is_numbered = |segment: &str| {
        segment.len() >= 4 && segment.starts_with(|first: char| first.is_ascii_digit())
    };
    let open = places.iter().zip(chosen).filter(|(place, choice)| {
        let is_given = choice.is_some_and(|choice| {
            // A link is taken whole, rather than an id out of it or beside it.
            let is_part = match &choice.offer.origin {
                Origin::Part { .. } => true,
                Origin::Page { find, .. } => !matches!(find, PageFind::Field { .. }),
                _ => false,
            };
            choice.confidence > Confidence::Possible && !is_part
        });
        let is_dynamic = kind(&place.value) > ValueKind::Word || is_numbered(&place.value);
        let is_users = choice.is_none() && offers.is_users(&place.value, &place.label);
        place.slot == 0 && place.form == ValueForm::Whole && is_dynamic && !is_given && !is_users
    });
    let open: Vec<_> = open.map(|(place, _)| place).collect();
    beginnings(exchange).find_map(|(end, url)| {
        let offer = offers.link(&url)?;
        let mut within = open
            .iter()
            .filter(|place| place.range.end <= end)
            .peekable();
        within.peek()?;
        let is_unique = within.any(|place| kind(&place.value) == ValueKind::Unique);
        let confidence = if is_unique && offer.item.is_none() {
            Confidence::Certain
        } else {
            Confidence::Likely
        };
        Some((end, offer, confidence))
    })
}

/// Returns the reason why a value is from there; never the value.
fn why(place: &ValuePlace, offer: &Offer) -> String {
    let name = &offer.name;
    let what = match kind(&place.value) {
        ValueKind::Unique | ValueKind::Rare => {
            format!("value of {} characters", place.value.chars().count())
        }
        _ if offer.is_number => "number".to_owned(),
        _ => "value".to_owned(),
    };
    let why = format!("{name} of its answer is this {what}");
    with_item(why, offer)
}

/// Adds to a reason which item of several is taken.
fn with_item(why: String, offer: &Offer) -> String {
    match offer.item {
        Some((item, of)) => format!("{why}; item {item} of {of} is taken"),
        None => why,
    }
}

/// Describes values that may come from answers.
fn describe_possible(possible: &[(&ValuePlace, &Offer)], exchanges: &[Exchange]) -> Option<String> {
    let mut told = Vec::new();
    for (place, offer) in possible {
        let (number, source) = (offer.exchange + 1, &exchanges[offer.exchange]);
        let pattern = source.pattern.clone();
        let path = pattern.unwrap_or_else(|| path_pattern(&source.target.flat()));
        let request = format!("request {number} ({} {path})", source.method);
        let words = format!(
            "{} may be {} of the answer to {request}",
            place.name, offer.name
        );
        if !told.contains(&words) {
            told.push(words);
        }
    }
    (!told.is_empty()).then(|| format!("{}; left as recorded", join_some(&told)))
}

/// Returns a warning where a request deletes something by a value of the recording: it can be another thing now.
fn warn_of_deletion<'p>(
    exchange: &Exchange,
    mut left: impl Iterator<Item = &'p ValuePlace>,
) -> Option<String> {
    let target = exchange.target.flat().text;
    let body = match &exchange.body {
        Body::Text(text) => text.flat().text,
        Body::None | Body::Multipart(_) => String::new(),
    };
    let mut words = [&target, &body].into_iter().flat_map(|text| {
        let words = text.split(|letter: char| !letter.is_alphabetic());
        words.map(str::to_lowercase)
    });
    let deletes = exchange.method == "DELETE"
        || exchange.method == "POST" && words.any(|word| has_word(&LISTS.deletions, &word));
    let place = left.find(|place| {
        let is_identifier = place.label.is_identifier() && place.form != ValueForm::Within;
        is_identifier && !matches!(kind(&place.value), ValueKind::Plain | ValueKind::Word)
    });
    let place = place.filter(|_| deletes)?;
    Some(format!(
        "it deletes what has the recorded value of {}: take that from an answer, or leave the request out",
        place.name
    ))
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
