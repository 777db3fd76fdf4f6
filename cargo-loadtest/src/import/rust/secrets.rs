//! Which values are secret, and the names that stand for them in the source.

use super::super::recording::Recording;
use super::template::{Markers, Piece, Template};
use crate::import::secrecy::has_secret;

/// So many letters and digits beside a value that a run has may be a secret themselves.
const LONG_ENOUGH: usize = 8;

/// A shorter value is a part of anything.
const SHORTEST_SOUGHT: usize = 8;

/// A secret that a source names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The variable that holds it.
    pub(crate) name: String,
    /// What it is.
    pub(crate) what: String,
}

/// The secrets of a source that is being written.
pub(super) struct Vault {
    known: Vec<(Named, Vec<u8>)>,
    /// What the input takes from the environment itself, and from earlier answers.
    markers: Markers,
    /// Whether the values of those that are known are looked for in all texts.
    seeks: bool,
}

impl Vault {
    pub(super) fn new(recording: &Recording, markers: Markers) -> Self {
        let named = recording.secrets.iter().map(|secret| {
            let named = Named {
                name: secret.name.clone(),
                what: secret.what.clone(),
            };
            (named, secret.value.clone().into_bytes())
        });
        Self {
            known: named.collect(),
            markers,
            seeks: false,
        }
    }

    /// How many secrets are named, to [`Self::forget`] those that are named after it.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    /// Takes names back that nothing uses after all.
    pub(super) fn forget(&mut self, from: usize) {
        self.known.truncate(from);
    }

    /// The name of a secret value.
    pub(super) fn name(&mut self, value: &[u8], wanted: &str, what: &str) -> String {
        if let Some((known, _)) = self.known.iter().find(|(_, known)| known == value) {
            return known.name.clone();
        }
        let wanted = upper(wanted);
        let mut name = wanted.clone();
        let mut number = 1;
        while self.known.iter().any(|(known, _)| known.name == name) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        let named = Named {
            name: name.clone(),
            what: what.to_owned(),
        };
        self.known.push((named, value.to_vec()));
        name
    }

    /// A value that is secret as a whole, but for what a run has in it.
    pub(super) fn secret(&mut self, value: &str, wanted: &str, what: &str) -> Template {
        if value.is_empty() {
            return Template::default();
        }
        if !self.markers.are_in(value) {
            return Template::secret(self.name(value.as_bytes(), wanted, what));
        }
        let is_secret = |text: &str| {
            let letters = text.chars().filter(|letter| letter.is_alphanumeric());
            let has_value = text.split('=').skip(1).any(|value| {
                !value.trim_start().is_empty() && !value.trim_start().starts_with([';', '&', ','])
            });
            has_value || letters.count() >= LONG_ENOUGH
        };
        self.in_pieces(value, wanted, what, is_secret)
    }

    /// A text in which something may be secret: then all of it is, but for what a run has in it.
    pub(super) fn text(&mut self, text: &str, wanted: &str, what: &str) -> Template {
        let is_secret = has_secret;
        if !self.markers.are_in(text) {
            return if is_secret(text) {
                self.secret(text, wanted, what)
            } else {
                self.plain(text)
            };
        }
        self.in_pieces(text, wanted, what, is_secret)
    }

    /// A value that is not secret.
    pub(super) fn plain(&self, value: &str) -> Template {
        let template = self.markers.split(value);
        if !self.seeks {
            return template;
        }
        let mut sought = Template::default();
        for piece in template.0 {
            match piece {
                Piece::Text(text) => self.seek(&text, &mut sought),
                piece => sought.0.push(piece),
            }
        }
        sought
    }

    /// A text, the values of secrets that are long enough to be no coincidence apart.
    fn seek(&self, text: &str, into: &mut Template) {
        let mut rest = text;
        loop {
            let values = self.known.iter().filter_map(|(named, value)| {
                let value = std::str::from_utf8(value).ok()?;
                let at = rest
                    .find(value)
                    .filter(|_| value.len() >= SHORTEST_SOUGHT)?;
                Some((at, value.len(), named))
            });
            let first = values.min_by_key(|(at, length, _)| (*at, usize::MAX - length));
            let Some((at, length, named)) = first else {
                break;
            };
            into.push(&rest[..at]);
            into.0.push(Piece::Secret(named.name.clone()));
            rest = &rest[at + length..];
        }
        into.push(rest);
    }

    /// From now on the values of all secrets that are known are looked for wherever they are.
    pub(super) fn seek_known(&mut self) {
        self.seeks = true;
    }

    fn in_pieces(
        &mut self,
        value: &str,
        wanted: &str,
        what: &str,
        is_secret: impl Fn(&str) -> bool,
    ) -> Template {
        let pieces = self.plain(value).0.into_iter().map(|piece| match piece {
            Piece::Text(text) if is_secret(&text) => {
                Piece::Secret(self.name(text.as_bytes(), wanted, what))
            }
            piece => piece,
        });
        Template(pieces.collect())
    }

    /// All of them, by name.
    pub(super) fn named(self) -> Vec<Named> {
        let mut named: Vec<_> = self.known.into_iter().map(|(named, _)| named).collect();
        named.sort_by(|one, other| one.name.cmp(&other.name));
        named
    }
}

/// As variables are called.
fn upper(name: &str) -> String {
    let mut upper = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        // `accessToken` is two words.
        if letter.is_ascii_uppercase() && was_lower {
            upper.push('_');
        }
        was_lower = letter.is_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            upper.push(letter.to_ascii_uppercase());
        } else if !upper.is_empty() && !upper.ends_with('_') {
            upper.push('_');
        }
    }
    let upper = upper.trim_end_matches('_');
    match upper.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => upper.to_owned(),
        _ => format!("SECRET_{upper}"),
    }
}
