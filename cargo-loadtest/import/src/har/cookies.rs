//! Separates cookies that virtual users get from answers from those that a `cookie` header has to carry.

use super::entry::HarEntry;
use super::kinds::is_listed;
use crate::naming::unique;
use crate::recording::{Secret, Text};
use crate::secrets::{is_secret_value, variable};
use crate::source::Note;
use crate::text::quote_name;
use std::collections::{HashMap, HashSet};

/// The longest word that is no secret.
const LONGEST_WORD: usize = 7;
/// Most cookies that are warned about.
const MOST_WARNINGS: usize = 5;

/// Cookies that answers have set so far.
#[derive(Debug, Default)]
pub(super) struct RecordedCookies {
    /// Whether an answer that is kept sets the cookie, by name.
    set: HashMap<String, bool>,
    /// Names that were warned about.
    warned: HashSet<String>,
    /// The texts of the cookies of an older session, by host and name: that of the first time.
    older: HashMap<(String, String), Text>,
    /// The names of the secrets.
    used: HashSet<String>,
    pub(super) secrets: Vec<Secret>,
}

impl RecordedCookies {
    /// Returns the `cookie` header that a request needs.
    pub(super) fn cookie_header(
        &mut self,
        entry: &HarEntry<'_>,
        notes: &mut Vec<Note>,
    ) -> Option<Text> {
        let mut own = Text::default();
        for (name, value) in read_sent_cookies(entry) {
            let is_kept = self.set.get(name).copied();
            if is_kept == Some(true) {
                continue;
            }
            if is_kept == Some(false) {
                self.warn(name, entry, notes);
            }
            own.push_pair("; ", name, self.older_value(entry, name, value));
        }
        (!own.is_empty()).then_some(own)
    }

    /// Returns the value of a cookie of an older session: a secret, but for short words such as `dark`.
    fn older_value(&mut self, entry: &HarEntry<'_>, name: &str, value: &str) -> Text {
        let host = entry.url.host_str().unwrap_or_default();
        let key = (host.to_owned(), name.to_owned());
        if let Some(known) = self.older.get(&key) {
            return known.clone();
        }
        let is_word = value.len() <= LONGEST_WORD
            && value
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && !is_secret_value(name, value);
        let text = if is_word {
            Text::literal(value)
        } else {
            let variable = unique(&variable(name, "COOKIE"), &mut self.used);
            let what = format!("the cookie {} of an older session", quote_name(name));
            self.secrets.push(Secret::known(variable, what, value));
            Text::secret(self.secrets.len() - 1)
        };
        self.older.insert(key, text.clone());
        text
    }

    /// Remembers the cookies of an answer.
    pub(super) fn add_answer(&mut self, entry: &HarEntry<'_>, is_kept: bool) {
        let headers = entry.answer_headers.iter();
        let headers = headers.filter(|(name, _)| name == "set-cookie");
        let mut names: Vec<&str> = headers
            .filter_map(|(_, text)| Some(text.split_once('=')?.0.trim()))
            .collect();
        if names.is_empty() {
            names.extend(entry.cookies("response").into_iter().map(|(name, _)| name));
        }
        for name in names {
            *self.set.entry(name.to_owned()).or_default() |= is_kept;
        }
    }

    fn warn(&mut self, name: &str, entry: &HarEntry<'_>, notes: &mut Vec<Note>) {
        if self.warned.len() < MOST_WARNINGS && self.warned.insert(name.to_owned()) {
            let name: String = name.chars().take(60).collect();
            let words = format!(
                "an answer that is left out set the cookie `{name}`: it is sent as it was recorded"
            );
            notes.push(Note::new(entry.span.clone(), words));
        }
    }
}

/// Returns the cookies of a request, without those of trackers.
fn read_sent_cookies<'e>(entry: &'e HarEntry<'_>) -> Vec<(&'e str, &'e str)> {
    let headers = entry.request_headers.iter();
    let headers = headers.filter(|(name, _)| name == "cookie");
    let pairs = headers.flat_map(|(_, value)| value.split(';').map(str::trim));
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut pairs: Vec<_> = pairs.collect();
    if pairs.is_empty() {
        pairs = entry.cookies("request");
    }
    let is_sound = |text: &str| !text.contains(|letter: char| letter.is_control() || letter == ';');
    pairs.retain(|(name, value)| !name.is_empty() && is_sound(name) && is_sound(value));
    pairs.retain(|(name, _)| !is_listed("tracker cookies", &name.to_ascii_lowercase()));
    pairs
}
