//! Texts that a journey knows when it reads a page: names that it sent before.

use super::LISTS;
use super::kind::{ValueKind, kind};
use super::request::{ValueForm, ValuePlace};
use crate::recording::Text;
use crate::text::find_pair;
use loadtest::Page;
use std::collections::HashSet;

/// The most texts that are looked for in pages.
const MOST: usize = 64;
/// The longest one.
const LONGEST: usize = 200;

/// Recorded texts, each with what a run has in its place.
#[derive(Debug, Default)]
pub(super) struct KnownTexts(Vec<(String, Text)>);

impl KnownTexts {
    pub(super) fn iter(&self) -> impl Iterator<Item = &(String, Text)> {
        self.0.iter()
    }

    /// Returns what a run has in the place of a text.
    pub(super) fn text_of(&self, recorded: &str) -> Option<&Text> {
        find_pair(&self.0, recorded)
    }

    /// Remembers a text that names a thing; the newest one counts.
    pub(super) fn insert(&mut self, recorded: &str, text: Text) {
        self.0.retain(|(known, _)| known != recorded);
        if is_line_with_letters(recorded) && self.0.len() < MOST {
            self.0.push((recorded.to_owned(), text));
        }
    }
}

/// Returns true for a text that a thing may have as its name.
pub(super) fn is_line_with_letters(text: &str) -> bool {
    let is_outside = |letter: char| letter.is_control() || "<>{}:/".contains(letter);
    (3..=LONGEST).contains(&text.len())
        && text.chars().any(char::is_alphabetic)
        && !text.chars().any(is_outside)
}

/// Returns true for a value that names a thing: a title, or a text of several words.
pub(super) fn names_a_thing(place: &ValuePlace) -> bool {
    let label = &place.label;
    let is_named = label.ends_with(&LISTS.names) || label.ends_with(&LISTS.titles);
    let has_words = place.value.trim().contains(' ');
    place.form == ValueForm::Whole
        && place.field.is_some()
        && (is_named || has_words)
        && kind(&place.value) <= ValueKind::Word
}

/// Returns the row with a text, unless another row with it leads elsewhere.
pub(super) fn find_row(page: &Page, text: &str) -> Option<Page> {
    if !page.visible_text().contains(text) {
        return None;
    }
    let row = page.row(text).ok()?;
    let own = contents_of(&row);
    let mut others = page.rows().filter(|row| row.visible_text().contains(text));
    let is_only = others.all(|other| {
        let others = contents_of(&other);
        own.is_subset(&others) || others.is_subset(&own)
    });
    is_only.then_some(row)
}

/// Returns the addresses and the data of a part of a page.
fn contents_of(page: &Page) -> HashSet<String> {
    let data = page.data_attributes().map(|(_, value)| value);
    page.all_addresses()
        .chain(data)
        .map(str::to_owned)
        .collect()
}
