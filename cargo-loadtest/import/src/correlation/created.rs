//! Names of what a journey creates. Where they must be new, a second journey with the same ones is refused, so each
//! journey has its own.

use super::request::{Replacements, ValueForm, ValuePlace, places};
use super::texts::{KnownTexts, is_line_with_letters};
use super::{LISTS, Piece};
use crate::recording::{Exchange, Recording, RunValue, Text};
use loadtest::Page;
use std::borrow::Cow;
use std::collections::HashSet;

/// The most names that are looked for in answers.
const MOST: usize = 64;

/// Finds the names in a recording, and makes them different in each journey.
///
/// A name is an e-mail address or the value of a field such as `slug` that was unknown before, and that the answer
/// has with status 201, or that a page or list has afterwards and had not before. The value of `name` or `title` is
/// one where a row of a page has it: there it finds the row again.
pub(super) fn make_names_unique(recording: &mut Recording) -> KnownTexts {
    let mut names = KnownTexts::default();
    let mut sent: HashSet<String> = HashSet::new();
    let mut left = MOST;
    for number in 0..recording.exchanges.len() {
        let exchange = &recording.exchanges[number];
        let found = places(exchange);
        let changes = ["POST", "PUT", "PATCH"].contains(&exchange.method.as_str());
        for place in found
            .iter()
            .filter(|place| changes && is_name(place, exchange))
        {
            let is_new = !sent.contains(&place.value) && names.text_of(&place.value).is_none();
            if is_new && left > 0 {
                left -= 1;
                let has_password = found.iter().any(is_password);
                let creation = Creation {
                    recording,
                    number,
                    has_password,
                };
                if creation.is_of(place) {
                    names.insert(&place.value, unique_text(&place.value));
                }
            }
        }
        let found = found.into_iter().map(|place| place.value);
        sent.extend(found.filter(|value| names.text_of(value).is_none()));
        put_into(&mut recording.exchanges[number], &names);
    }
    names
}

/// Writes the texts in the place of the names of a request.
fn put_into(exchange: &mut Exchange, names: &KnownTexts) {
    if names.iter().next().is_none() {
        return;
    }
    let mut replacements = Replacements::default();
    let texts = exchange.texts();
    for place in places(exchange) {
        if place.form == ValueForm::Whole && names.text_of(&place.value).is_some() {
            let raw = &texts[place.slot].flat().text[place.range.clone()];
            let end = place.range.start + end_of_name(raw);
            replacements.insert(place.slot, end..end, suffix(&place.value));
        }
    }
    replacements.apply(exchange);
}

/// Returns true for the name of a thing in the body of a request.
fn is_name(place: &ValuePlace, exchange: &Exchange) -> bool {
    let value = &place.value;
    let is_in_body = place.slot > exchange.headers.len();
    let label = &place.label;
    let is_named = label.ends_with(&LISTS.names) || label.ends_with(&LISTS.titles);
    is_in_body
        && place.form == ValueForm::Whole
        && is_line_with_letters(value)
        && (is_named || is_address(value))
}

/// Returns true for an e-mail address.
fn is_address(value: &str) -> bool {
    let parts = value.split_once('@');
    parts.is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !host.contains('@') && !value.contains(' ')
    })
}

/// Returns true for a password: with one, a request may be a login by a name that is there already.
fn is_password(place: &ValuePlace) -> bool {
    let mut words = place.label.key.iter();
    words.any(|word| word.starts_with("pass") || word == "pwd")
}

/// A request that may create something.
struct Creation<'a> {
    recording: &'a Recording,
    number: usize,
    has_password: bool,
}

impl Creation<'_> {
    fn before(&self) -> &[Exchange] {
        &self.recording.exchanges[..self.number]
    }

    /// Returns true where answers show that it made something with this name.
    fn is_of(&self, place: &ValuePlace) -> bool {
        let name = &*place.value;
        let is_title = !is_address(name) && place.label.ends_with(&LISTS.titles);
        let made = &self.recording.exchanges[self.number];
        let status = made.answer.as_ref().map_or(0, |answer| answer.status);
        let is_echo = !is_title && status == 201 && body_of(made).contains(name);
        (200..400).contains(&status)
            && (is_echo || !self.has_password && self.is_listed(name, is_title))
            && !self
                .before()
                .iter()
                .any(|earlier| body_of(earlier).contains(name))
            && !self.is_changed(place)
    }

    /// Returns true where a page or list has the name that it had not before.
    fn is_listed(&self, name: &str, in_row: bool) -> bool {
        let after = self.recording.exchanges[self.number + 1..].iter();
        let mut with_name =
            after.filter(|later| later.method == "GET" && body_of(later).contains(name));
        with_name.any(|later| {
            let is_same =
                |earlier: &Exchange| earlier.method == "GET" && path_of(earlier) == path_of(later);
            self.before().iter().any(is_same)
                && (!in_row || Page::new(&body_of(later)).row(name).is_ok())
        })
    }

    /// Returns true where the form had another value: then a thing gets another name.
    fn is_changed(&self, place: &ValuePlace) -> bool {
        let Some(name) = place.field.as_deref() else {
            return false;
        };
        let mut pages = self.before().iter().rev().map(body_of);
        let page = pages.find(|body| body.trim_start().starts_with('<'));
        page.is_some_and(|page| {
            Page::new(&page)
                .field(name)
                .is_ok_and(|value| !value.is_empty())
        })
    }
}

fn body_of(exchange: &Exchange) -> Cow<'_, str> {
    let answer = exchange.answer.as_ref();
    answer.map_or(Cow::Borrowed(""), |answer| {
        String::from_utf8_lossy(&answer.body)
    })
}

fn path_of(exchange: &Exchange) -> String {
    let target = exchange.target.flat().text;
    let path = target.split(['?', '#']).next().unwrap_or_default();
    path.to_owned()
}

/// Returns the place in a name, as it is sent, behind which it can grow: an e-mail address before its host.
fn end_of_name(raw: &str) -> usize {
    let at = raw.find('@').or_else(|| raw.find("%40"));
    at.unwrap_or(raw.len())
}

fn suffix(name: &str) -> Text {
    // A name of a user may have no punctuation.
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let mut text = Text::from(if is_word { "" } else { "-" });
    text.push(Piece::Run(RunValue::Unique));
    text
}

fn unique_text(name: &str) -> Text {
    let (begin, end) = name.split_at(end_of_name(name));
    let mut text = Text::from(begin);
    text.append(suffix(name));
    text.push_str(end);
    text
}
