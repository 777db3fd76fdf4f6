//! Separates cookies that virtual users get from answers from those that a `cookie` header has to carry.

use super::super::source::Note;
use super::entry::HarEntry;
use super::lists::is_listed;
use std::collections::{HashMap, HashSet};
use url::Url;

/// Most cookies that are warned about.
const MOST_WARNINGS: usize = 5;
/// Most labels in the name of a host.
const MOST_LABELS: usize = 128;

/// Cookies that answers have set so far.
#[derive(Debug, Default)]
pub(super) struct RecordedCookies {
    /// Whether an answer that is kept sets the cookie, by name and domain.
    set: HashMap<(String, String), bool>,
    /// Names that were warned about.
    warned: HashSet<String>,
}

impl RecordedCookies {
    /// Returns the `cookie` header that a request needs.
    pub(super) fn cookie_header(
        &mut self,
        entry: &HarEntry<'_>,
        notes: &mut Vec<Note>,
    ) -> Option<String> {
        let mut own = Vec::new();
        for (name, value) in read_sent_cookies(entry) {
            let is_kept = self.is_kept(&name, &entry.url);
            if is_kept == Some(true) {
                continue;
            }
            if is_kept == Some(false) {
                self.warn(&name, entry, notes);
            }
            own.push(format!("{name}={value}"));
        }
        (!own.is_empty()).then(|| own.join("; "))
    }

    /// Remembers the cookies of an answer.
    pub(super) fn add_answer(&mut self, entry: &HarEntry<'_>, is_kept: bool) {
        let host = entry.url.host_str().unwrap_or_default();
        let headers = entry.answer_headers.iter();
        let headers: Vec<_> = headers.filter(|(name, _)| name == "set-cookie").collect();
        if headers.is_empty() {
            for (name, _) in entry.cookies("response") {
                self.add(name, host.to_owned(), is_kept);
            }
        }
        for (_, text) in headers {
            let mut parts = text.split(';').filter_map(|part| part.split_once('='));
            let Some((name, _)) = parts.next() else {
                continue;
            };
            let domain = parts
                .filter(|(key, _)| key.trim().eq_ignore_ascii_case("domain"))
                .map(|(_, value)| value.trim().trim_start_matches('.').to_ascii_lowercase())
                .find(|domain| !domain.is_empty());
            self.add(
                name.trim(),
                domain.unwrap_or_else(|| host.to_owned()),
                is_kept,
            );
        }
    }

    fn add(&mut self, name: &str, domain: String, is_kept: bool) {
        let known = self.set.entry((name.to_owned(), domain)).or_default();
        *known |= is_kept;
    }

    /// Returns whether the answer that set a cookie for this host is kept, if there is one.
    fn is_kept(&self, name: &str, url: &Url) -> Option<bool> {
        let host = url.host_str().unwrap_or_default();
        let domains = std::iter::successors(Some(host), parent_domain).take(MOST_LABELS);
        let known = domains.filter_map(|domain| {
            let key = (name.to_owned(), domain.to_owned());
            self.set.get(&key).copied()
        });
        known.reduce(|one, other| one || other)
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

fn parent_domain<'h>(host: &&'h str) -> Option<&'h str> {
    Some(host.split_once('.')?.1)
}

/// Returns the cookies of a request, without those of trackers.
fn read_sent_cookies(entry: &HarEntry<'_>) -> Vec<(String, String)> {
    let headers = entry.request_headers.iter();
    let headers: Vec<&str> = headers
        .filter(|(name, _)| name == "cookie")
        .map(|(_, value)| value.as_str())
        .collect();
    let pairs: Vec<(&str, &str)> = if headers.is_empty() {
        entry.cookies("request")
    } else {
        let pairs = headers.iter().flat_map(|header| header.split(';'));
        let pairs = pairs.map(str::trim);
        pairs
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .collect()
    };
    let is_sound = |text: &str| !text.contains(|letter: char| letter.is_control() || letter == ';');
    pairs
        .into_iter()
        .filter(|(name, value)| !name.is_empty() && is_sound(name) && is_sound(value))
        .filter(|(name, _)| !is_listed("tracker cookies", &name.to_ascii_lowercase()))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
