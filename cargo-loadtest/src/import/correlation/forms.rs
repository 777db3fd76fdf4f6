//! Forms that were sent: what the user did not change is sent as the page has it, also texts that are like many.

use super::super::recording::{Origin, PageFind};
use super::answer::Offers;
use super::kind::{ValueKind, kind};
use super::request::{Form, ValuePlace};
use super::texts::KnownTexts;
use loadtest::{Field, Page};
use std::collections::{HashMap, HashSet};

/// Returns for each place the field of an earlier page that it was sent from, and the reason.
pub(super) fn find_unchanged(
    places: &[ValuePlace],
    offers: &Offers,
) -> Vec<Option<(Origin, String)>> {
    let fields = find_fields(places, &offers.pages, &offers.names);
    let found = places.iter().zip(fields).map(|(place, field)| {
        let name = place.field.as_deref().unwrap_or_default();
        Some((field?, format!("`{name}` of its form has this value")))
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
        let field = place.field.as_deref().filter(|_| place.form == Form::Whole);
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
