//! Forms and items that were sent: what the user did not change is sent as the page or the item has it, also texts that
//! are like many.

use super::answer::Offers;
use super::choice::Choice;
use super::kind::{ValueKind, kind};
use super::request::{ValueForm, ValuePlace};
use super::texts::KnownTexts;
use crate::recording::{Exchange, Key, Origin, PageFind};
use loadtest::{Field, Page};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Returns for each place of an exchange the part of an earlier answer that it was sent from, and the reason. `known` has
/// the JSON of answers, by the numbers of their exchanges.
pub(super) fn find_unchanged(
    places: &[ValuePlace],
    chosen: &[Option<Choice<'_>>],
    number: usize,
    exchanges: &[Exchange],
    offers: &Offers,
    known: &mut HashMap<usize, Value>,
) -> Vec<Option<(Origin, String)>> {
    let mut siblings = vec![None; places.len()];
    if matches!(&*exchanges[number].method, "PUT" | "PATCH") {
        siblings = find_siblings(places, chosen, exchanges, known);
    }
    let fields = find_fields(places, &offers.pages, &offers.names);
    let found = places.iter().zip(fields).zip(siblings);
    let found = found.map(|((place, field), sibling)| {
        let sibling = sibling.filter(|_| !offers.is_users_own(&place.value));
        let (origin, whole) = match field {
            Some(field) => (field, "its form"),
            None => (sibling?, "the same item"),
        };
        let name = place.field.as_deref().unwrap_or_default();
        Some((origin, format!("`{name}` of {whole} has this value")))
    });
    found.collect()
}

/// Returns for each place the part of an earlier page that it was sent from.
fn find_fields(
    places: &[ValuePlace],
    pages: &[(usize, Page)],
    names: &KnownTexts,
) -> Vec<Option<Origin>> {
    let sent: HashSet<&str> = places
        .iter()
        .filter_map(|place| place.field.as_deref())
        .collect();
    let mut found = vec![None; places.len()];
    if sent.is_empty() {
        return found;
    }
    // The page of the form has most of what is sent.
    let forms = pages.iter().rev().filter(|(_, page)| {
        let known: HashSet<&str> = page.fields().map(|field| &*field.name).collect();
        sent.iter().filter(|name| known.contains(**name)).count() * 2 >= sent.len()
    });
    let Some((exchange, page)) = forms.into_iter().next() else {
        return found;
    };
    let mut times: HashMap<(&str, &str), usize> = HashMap::new();
    for (place, found) in places.iter().zip(&mut found) {
        // A number of JSON is no text.
        let field = place
            .field
            .as_deref()
            .filter(|_| place.form == ValueForm::Whole);
        let Some(field) = field else { continue };
        let time = times.entry((field, &place.value)).or_default();
        let find = find_field(page, field, &place.value, *time, names);
        *found = find.map(|find| Origin::of_page(*exchange, find));
        *time += 1;
    }
    found
}

/// Finds a value among the fields and options of a page: the one with this number of those that have the value.
fn find_field(
    page: &Page,
    name: &str,
    value: &str,
    time: usize,
    names: &KnownTexts,
) -> Option<PageFind> {
    let mut fields = page.fields().filter(|field| field.name == name).enumerate();
    // A word that nobody sees is the program's own.
    let can_be_data = |field: &Field| !field.is_hidden || kind(value) > ValueKind::Word;
    let mut with_value = fields
        .by_ref()
        .filter(|(_, field)| field.is_sent && field.value == value && can_be_data(field));
    let name = name.to_owned();
    if let Some((number, _)) = with_value.nth(time) {
        return Some(PageFind::Field { name, number });
    }
    let mut choices = page
        .choices()
        .filter(|choice| choice.name == name)
        .enumerate();
    let (number, choice) = choices.find(|(_, choice)| choice.value == value)?;
    if let Some(text) = names.text_of(&choice.text) {
        let text = text.clone();
        return Some(PageFind::Option { name, text });
    }
    // A number says which of several things it is, but not where it is its own text, as in a list of years.
    let is_id = kind(value) > ValueKind::Word && choice.text != value;
    is_id.then_some(PageFind::OptionAt { name, number })
}

/// Returns for each place the field of the item of JSON whose id the target has: a PUT sends a whole item, of which most
/// is what another instance has there. What users sent before is theirs.
fn find_siblings(
    places: &[ValuePlace],
    chosen: &[Option<Choice<'_>>],
    exchanges: &[Exchange],
    known: &mut HashMap<usize, Value>,
) -> Vec<Option<Origin>> {
    let in_target = places
        .iter()
        .zip(chosen)
        .filter(|(place, _)| place.slot == 0);
    let mut origins = in_target.filter_map(|(_, choice)| match &(*choice)?.offer.origin {
        Origin::Body { exchange, path } if matches!(path.last(), Some(Key::Field(_))) => {
            Some((*exchange, &path[..path.len() - 1]))
        }
        _ => None,
    });
    let Some((exchange, parent)) = origins.next() else {
        return vec![None; places.len()];
    };
    let json = known.entry(exchange).or_insert_with(|| {
        let answer = exchanges[exchange].answer.as_ref();
        let json = answer.and_then(|answer| serde_json::from_slice(&answer.body).ok());
        json.unwrap_or_default()
    });
    let item = parent.iter().try_fold(&*json, |value, key| match key {
        Key::Field(name) => value.get(name),
        Key::Item(number) => value.get(number),
    });
    let siblings = places.iter().map(|place| {
        let field = place.field.as_deref()?;
        let is_same = match item?.get(field)? {
            Value::String(text) => place.form == ValueForm::Whole && *text == place.value,
            Value::Number(number) => {
                place.form == ValueForm::Number && number.to_string() == place.value
            }
            _ => false,
        };
        let path = parent.iter().cloned().chain([Key::Field(field.to_owned())]);
        let path = path.collect();
        is_same.then_some(Origin::Body { exchange, path })
    });
    siblings.collect()
}
