//! Which cookies the virtual users have from answers of the recording, and which ones they would have to bring along.
//!
//! Cookies that an earlier answer sets come back by themselves. Those of a `cookie` header of a step go with them.

use super::super::source::Note;
use super::archive::Entry;
use std::collections::{HashMap, HashSet};
use url::Url;

/// What the cookies of measurements are called, or begin with (`*`).
const MEASUREMENTS: [&str; 22] = [
    "_clck",
    "_clsk",
    "_dc_gtm_*",
    "_dd_s",
    "_fbc",
    "_fbp",
    "_ga",
    "_ga_*",
    "_gat*",
    "_gcl_*",
    "_gid",
    "_hj*",
    "_pk_*",
    "_scid*",
    "_tt_*",
    "_ttp",
    "_uet*",
    "ajs_*",
    "amp_*",
    "amplitude_*",
    "mp_*",
    "optanon*",
];
/// The most cookies that are told of.
const TOLD: usize = 5;

/// The cookies of a browser while the recording goes on.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    /// By name and host: whether the answer that set it is kept.
    set: HashMap<(String, String), bool>,
    /// Those that the user was told of.
    told: HashSet<String>,
}

impl Cookies {
    /// What the `cookie` header of a request has to be, if it needs one.
    pub(super) fn header(&mut self, entry: &Entry<'_>, notes: &mut Vec<Note>) -> Option<String> {
        let mut own = Vec::new();
        for (name, value) in sent(entry) {
            let is_kept = self.is_kept(&name, &entry.url);
            if is_kept == Some(true) {
                continue;
            }
            if is_kept == Some(false) {
                self.tell(&name, entry, notes);
            }
            own.push(format!("{name}={value}"));
        }
        (!own.is_empty()).then(|| own.join("; "))
    }

    /// Takes the cookies of an answer.
    pub(super) fn store(&mut self, entry: &Entry<'_>, is_kept: bool) {
        let own = entry.url.host_str().unwrap_or_default();
        let headers = entry
            .answered
            .iter()
            .filter(|(name, _)| name == "set-cookie");
        let mut has_headers = false;
        for (_, text) in headers {
            has_headers = true;
            let mut parts = text.split(';');
            let Some((name, _)) = parts.next().and_then(|pair| pair.split_once('=')) else {
                continue;
            };
            let domain = parts.filter_map(|part| part.split_once('='));
            let domain = domain
                .filter(|(key, _)| key.trim().eq_ignore_ascii_case("domain"))
                .map(|(_, value)| value.trim().trim_start_matches('.').to_ascii_lowercase())
                .find(|domain| !domain.is_empty());
            let domain = domain.unwrap_or_else(|| own.to_owned());
            self.set(name.trim(), domain, is_kept);
        }
        if !has_headers {
            for (name, _) in entry.cookies("response") {
                self.set(name, own.to_owned(), is_kept);
            }
        }
    }

    fn set(&mut self, name: &str, domain: String, is_kept: bool) {
        let known = self.set.entry((name.to_owned(), domain)).or_default();
        *known |= is_kept;
    }

    /// Whether an earlier answer set a cookie for a host or a domain around it, and whether that is kept.
    fn is_kept(&self, name: &str, url: &Url) -> Option<bool> {
        let mut host = url.host_str().unwrap_or_default();
        let mut found: Option<bool> = None;
        // No name of a host has more labels.
        for _ in 0..128 {
            if let Some(is_kept) = self.set.get(&(name.to_owned(), host.to_owned())) {
                found = Some(*is_kept || found == Some(true));
            }
            match host.split_once('.') {
                Some((_, rest)) => host = rest,
                None => break,
            }
        }
        found
    }

    fn tell(&mut self, name: &str, entry: &Entry<'_>, notes: &mut Vec<Note>) {
        if self.told.len() < TOLD && self.told.insert(name.to_owned()) {
            let name: String = name.chars().take(60).collect();
            let words = format!(
                "an answer that is left out set the cookie `{name}`: it is sent as it was recorded"
            );
            notes.push(Note::new(entry.span.clone(), words));
        }
    }
}

/// The cookies of a request, without those of measurements.
fn sent(entry: &Entry<'_>) -> Vec<(String, String)> {
    let headers: Vec<&str> = entry
        .headers
        .iter()
        .filter(|(name, _)| name == "cookie")
        .map(|(_, value)| value.as_str())
        .collect();
    let pairs: Vec<(&str, &str)> = if headers.is_empty() {
        entry.cookies("request")
    } else {
        let all = headers.iter().flat_map(|header| header.split(';'));
        all.map(|pair| pair.trim().split_once('=').unwrap_or((pair.trim(), "")))
            .collect()
    };
    let is_sound = |text: &str| !text.contains(|letter: char| letter.is_control() || letter == ';');
    pairs
        .into_iter()
        .filter(|(name, value)| !name.is_empty() && is_sound(name) && is_sound(value))
        .filter(|(name, _)| !is_measurement(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn is_measurement(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    MEASUREMENTS
        .iter()
        .any(|known| match known.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == *known,
        })
}
