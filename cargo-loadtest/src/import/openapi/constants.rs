//! Gives values that several requests share a name, so that they are written once.

use super::document::ApiDocument;
use super::draft::{PathPiece, RequestDraft};
use super::style::escape_url;
use super::wants::plain_name;
use crate::import::naming::field_name;
use crate::import::recording::{Constant, Text};
use crate::import::secrets::looks_secret;
use crate::import::text::{most_frequent, percent_decode, singular};
use crate::suggestion::join_some;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

/// Names that say nothing without the collection before them.
const GENERAL: [&str; 9] = [
    "id", "uuid", "guid", "name", "key", "slug", "code", "number", "ref",
];

/// A value in a request.
struct SharedPlace {
    draft: usize,
    place: ValuePlace,
    parameter: String,
    /// The plain value.
    value: String,
}

/// The place of a value, by its number there.
#[derive(Debug, Clone, Copy)]
enum ValuePlace {
    Path(usize),
    Query(usize),
    Header(usize),
}

/// Replaces values that several requests share and no answer has. Warns of those that are made up.
pub(super) fn share_values<'a>(
    document: &ApiDocument<'a>,
    drafts: &mut [RequestDraft<'a>],
) -> Vec<Constant> {
    let mut places: BTreeMap<String, Vec<SharedPlace>> = BTreeMap::new();
    for (number, draft) in drafts.iter().enumerate() {
        for (name, place) in find_places(document, number, draft) {
            places.entry(name).or_default().push(place);
        }
    }
    let shared = places.into_iter().filter_map(|(name, mut places)| {
        let value = most_frequent(places.iter().map(|place| &place.value))?.clone();
        places.retain(|place| place.value == value);
        let requests: HashSet<usize> = places.iter().map(|place| place.draft).collect();
        (requests.len() > 1).then_some((requests.len(), name, value, places))
    });
    let mut shared: Vec<_> = shared.collect();
    shared.sort_by_key(|(count, ..)| Reverse(*count));
    let mut constants = Vec::new();
    let mut made_up = Vec::new();
    for (count, name, value, places) in shared {
        let parameter = &places[0].parameter;
        let what = format!("The parameter `{parameter}` of {count} operations.");
        if document.given_value(parameter).is_none() {
            made_up.push(format!("`{name}`"));
        }
        for place in &places {
            let value = Text::constant(constants.len());
            set_value(&mut drafts[place.draft], place.place, value);
        }
        constants.push(Constant { name, value, what });
    }
    if !made_up.is_empty() {
        let words = format!(
            "nothing here answers with {}: write your values in these constants, or give them with `--param`",
            join_some(&made_up)
        );
        document.warn(&document.start(), words);
    }
    constants
}

/// Finds the values of a request that others may share, each with the name for a constant.
fn find_places<'a>(
    document: &ApiDocument<'a>,
    number: usize,
    draft: &RequestDraft<'a>,
) -> Vec<(String, SharedPlace)> {
    let in_path = draft.path.iter().enumerate().filter_map(|(at, piece)| {
        let PathPiece::Value {
            name,
            text,
            is_fixed,
        } = piece
        else {
            return None;
        };
        let is_given = !is_fixed || document.given_value(name).is_some();
        let constant = name_path_constant(draft, at, name)?;
        let is_open = is_given && !draft.answered.contains(&at);
        is_open.then_some((constant, name.as_str(), ValuePlace::Path(at), text))
    });
    let others = draft.parameters.iter().filter_map(|parameter| {
        let name = parameter.name;
        let is_made_up = parameter.is_required() && !parameter.has_fixed_values(document);
        let is_open = (parameter.is_given(document) || is_made_up) && !is_general(name);
        let place: fn(usize) -> ValuePlace;
        let (list, sent) = match parameter.place {
            "query" => {
                place = ValuePlace::Query;
                (&draft.query, escape_url(name))
            }
            "header" => {
                place = ValuePlace::Header;
                (&draft.headers, name.to_owned())
            }
            _ => return None,
        };
        let mut known = list.iter().enumerate();
        let (at, (_, text)) = known.find(|(_, (known, _))| *known == sent)?;
        let is_only = known.all(|(_, (known, _))| *known != sent);
        (is_open && is_only).then(|| (constant_name(name), name, place(at), text))
    });
    let places = in_path.chain(others);
    let places = places.filter_map(|(constant, parameter, place, text)| {
        let place = SharedPlace {
            draft: number,
            place,
            parameter: parameter.to_owned(),
            value: plain_value(text, place)?,
        };
        Some((constant, place))
    });
    places.collect()
}

/// Returns a value that a constant can have: a run encodes it, but for slashes.
fn plain_value(text: &Text, place: ValuePlace) -> Option<String> {
    let value = percent_decode(text.as_literal()?);
    let sent = match place {
        ValuePlace::Header(_) => value.clone(),
        _ => escape_url(&value),
    };
    let is_letter = |letter: char| !letter.is_control() && !"/{}".contains(letter);
    let is_plain = text.as_literal() == Some(&sent) && value.chars().all(is_letter);
    (is_plain && !value.is_empty() && !looks_secret(&value)).then_some(value)
}

fn is_general(name: &str) -> bool {
    GENERAL.contains(&plain_name(name).as_str())
}

fn constant_name(name: &str) -> String {
    field_name(name).to_ascii_uppercase()
}

/// Names the constant of a value in a path: `USER_ID` of `/users/{id}` and of `{userId}`.
fn name_path_constant(draft: &RequestDraft<'_>, piece: usize, name: &str) -> Option<String> {
    if !is_general(name) {
        return Some(constant_name(name));
    }
    let collection = draft.collection(piece)?;
    let last = collection
        .rsplit('/')
        .next()
        .filter(|last| !last.is_empty() && *last != "{}")?;
    Some(constant_name(&format!(
        "{} {name}",
        singular(&field_name(last))
    )))
}

fn set_value(draft: &mut RequestDraft<'_>, place: ValuePlace, value: Text) {
    match place {
        ValuePlace::Path(at) => draft.set_path_value(at, value),
        ValuePlace::Query(at) => draft.query[at].1 = value,
        ValuePlace::Header(at) => draft.headers[at].1 = value,
    }
}
