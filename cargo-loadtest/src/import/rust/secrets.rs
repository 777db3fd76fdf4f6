//! Which values are secret, and the names that stand for them in the source.

use super::super::marked::{Recording, Secret};
use super::template::{Markers, Piece, Template};
use crate::import::secrecy::{forms, found, has_secret, texts_in_base64, variable};

/// So many letters and digits beside a value that a run has may be a secret themselves.
const LONG_ENOUGH: usize = 8;

/// A shorter value is a part of anything.
const SHORTEST_SOUGHT: usize = 8;

/// Of so many secrets other forms are looked for; more are no recording of one visit.
const MOST_FORMS: usize = 500;

/// A secret that a source names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The variable that holds it.
    pub(crate) name: String,
    /// What it is.
    pub(crate) what: String,
}

/// A secret and its value.
#[derive(Debug, Clone)]
struct Known {
    named: Named,
    value: Vec<u8>,
    /// Whether the input itself says that the source needs it.
    is_told: bool,
}

/// Another way to write the value of a secret.
struct Form {
    text: String,
    /// The secret itself, for places in which it is encoded anyway.
    of: String,
    /// The one that has this form as its value.
    named: Named,
}

/// The secrets of a source that is being written.
pub(super) struct Vault {
    known: Vec<Known>,
    /// What the input takes from the environment itself, and from earlier answers.
    markers: Markers,
    /// Other forms of their values, once these are looked for in all texts.
    forms: Option<Vec<Form>>,
}

impl Vault {
    pub(super) fn new(recording: &Recording, markers: Markers) -> Self {
        let known = |secret: &Secret, is_told| Known {
            named: Named {
                name: secret.name.clone(),
                what: secret.what.clone(),
            },
            value: secret.value.clone().into_bytes(),
            is_told,
        };
        let told = recording.secrets.iter().map(|secret| known(secret, true));
        let hidden = recording.hidden.iter().map(|secret| known(secret, false));
        Self {
            known: told.chain(hidden).collect(),
            markers,
            forms: None,
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
        if let Some(known) = self.known.iter().find(|known| known.value == value) {
            return known.named.name.clone();
        }
        let named = self.free(wanted, what);
        let name = named.name.clone();
        self.known.push(Known {
            named,
            value: value.to_vec(),
            is_told: false,
        });
        name
    }

    /// A name that no other secret has.
    fn free(&self, wanted: &str, what: &str) -> Named {
        let wanted = variable(wanted, "SECRET");
        let mut name = wanted.clone();
        let mut number = 1;
        let forms = || self.forms.iter().flatten().map(|form| &form.named);
        let is_used = |name: &str| {
            let mut all = self.known.iter().map(|known| &known.named).chain(forms());
            all.any(|known| known.name == name)
        };
        while is_used(&name) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        Named {
            name,
            what: what.to_owned(),
        }
    }

    /// Whether a value is one of those that are looked for.
    pub(super) fn knows(&self, value: &str) -> bool {
        let is_known = |known: &Known| !known.is_told && known.value == value.as_bytes();
        value.len() >= SHORTEST_SOUGHT && self.known.iter().any(is_known)
    }

    /// Whether something of a run is in a text: of what stands for it, nothing can be told.
    pub(super) fn has_markers(&self, text: &str) -> bool {
        self.markers.are_in(text)
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

    /// A text in which something may be secret: those of its parts that are, and all of it where they do not tell.
    pub(super) fn text(&mut self, text: &str, wanted: &str, what: &str) -> Template {
        let mut template = Template::default();
        for piece in self.plain(text).0 {
            match piece {
                Piece::Text(text) => self.parts(&text, wanted, what, &mut template),
                piece => template.0.push(piece),
            }
        }
        let is_safe = |piece: &Piece| match piece {
            Piece::Text(text) => !has_secret(text),
            _ => true,
        };
        if template.0.iter().all(is_safe) {
            template
        } else if self.markers.are_in(text) {
            self.in_pieces(text, wanted, what, has_secret)
        } else {
            self.secret(text, wanted, what)
        }
    }

    fn parts(&mut self, text: &str, wanted: &str, what: &str, into: &mut Template) {
        let mut end = 0;
        for found in found(text) {
            into.push(&text[end..found.span.start]);
            end = found.span.end;
            let value = &text[found.span];
            let name = self.name(
                value.as_bytes(),
                found.name.as_deref().unwrap_or(wanted),
                what,
            );
            into.0.push(Piece::Secret(name));
        }
        into.push(&text[end..]);
    }

    /// A value whose secrets are of no interest.
    pub(super) fn split(&self, value: &str) -> Template {
        self.markers.split(value)
    }

    /// A value that is not secret.
    pub(super) fn plain(&mut self, value: &str) -> Template {
        self.sought(value, false)
    }

    /// A part of a URL that is not secret.
    pub(super) fn url(&mut self, part: &str) -> Template {
        self.sought(part, true)
    }

    fn sought(&mut self, value: &str, is_encoded: bool) -> Template {
        let template = self.markers.split(value);
        if self.forms.is_none() {
            return template;
        }
        let mut sought = Template::default();
        for piece in template.0 {
            match piece {
                Piece::Text(text) => self.seek(&text, is_encoded, &mut sought),
                piece => sought.0.push(piece),
            }
        }
        sought
    }

    /// A text, the values of secrets that are long enough to be no coincidence apart.
    fn seek(&mut self, text: &str, is_encoded: bool, into: &mut Template) {
        let mut rest = text;
        loop {
            let values = self.known.iter().filter_map(|known| {
                let value = std::str::from_utf8(&known.value).ok()?;
                let at = rest
                    .find(value)
                    .filter(|_| value.len() >= SHORTEST_SOUGHT)?;
                Some((at, value.len(), &known.named.name))
            });
            let forms = self.forms.iter().flatten().filter_map(|form| {
                let at = rest.find(&form.text)?;
                let name = if is_encoded {
                    &form.of
                } else {
                    &form.named.name
                };
                Some((at, form.text.len(), name))
            });
            let first = values
                .chain(forms)
                .min_by_key(|(at, length, _)| (*at, usize::MAX - length));
            let Some((at, length, name)) = first else {
                break;
            };
            let name = name.clone();
            self.encoded(&rest[..at], into);
            into.0.push(Piece::Secret(name));
            rest = &rest[at + length..];
        }
        self.encoded(rest, into);
    }

    /// A text, what has a secret in it in Base64 apart: `user:password`, JSON.
    fn encoded(&mut self, text: &str, into: &mut Template) {
        let mut end = 0;
        for (at, word, decoded) in texts_in_base64(text) {
            let has_value = |known: &&Known| {
                known.value.len() >= SHORTEST_SOUGHT
                    && std::str::from_utf8(&known.value).is_ok_and(|value| decoded.contains(value))
            };
            let Some(name) = self.known.iter().find(has_value) else {
                continue;
            };
            let name = name.named.name.clone();
            let what = format!("Base64 of a text that has `{name}` in it");
            let name = self.name(word.as_bytes(), &format!("{name}_BASE64"), &what);
            into.push(&text[end..at]);
            into.0.push(Piece::Secret(name));
            end = at + word.len();
        }
        into.push(&text[end..]);
    }

    /// From now on the values of all secrets that are known are looked for wherever they are.
    pub(super) fn seek_known(&mut self) {
        self.forms = Some(Vec::new());
        for at in 0..self.known.len().min(MOST_FORMS) {
            let known = self.known[at].clone();
            let Ok(value) = std::str::from_utf8(&known.value) else {
                continue;
            };
            if value.len() < SHORTEST_SOUGHT || known.is_told {
                continue;
            }
            let of = &known.named.name;
            for text in forms(value).into_iter().skip(1) {
                let what = format!("`{of}` as it stands in a URL, or in JSON");
                let named = self.free(&format!("{of}_ENCODED"), &what);
                let forms = self.forms.get_or_insert_default();
                forms.push(Form {
                    text,
                    of: of.clone(),
                    named,
                });
            }
        }
    }

    fn in_pieces(
        &mut self,
        value: &str,
        wanted: &str,
        what: &str,
        is_secret: impl Fn(&str) -> bool,
    ) -> Template {
        let pieces = self.plain(value).0.into_iter();
        let pieces = pieces.map(|piece| match piece {
            Piece::Text(text) if is_secret(&text) => {
                Piece::Secret(self.name(text.as_bytes(), wanted, what))
            }
            piece => piece,
        });
        Template(pieces.collect())
    }

    /// The secrets that a source has, by name.
    pub(super) fn named(self, source: &str) -> Vec<Named> {
        let is_there = |named: &Named| {
            let name = &named.name;
            let ways = [format!("secret.{name}}}}}"), format!("secret(\"{name}\")")];
            ways.iter().any(|way| source.contains(way))
        };
        let known = self.known.into_iter();
        let known = known.filter(|known| known.is_told || is_there(&known.named));
        let forms = self.forms.into_iter().flatten().map(|form| form.named);
        let forms = forms.filter(is_there);
        let mut named: Vec<_> = known.map(|known| known.named).chain(forms).collect();
        named.sort_by(|one, other| one.name.cmp(&other.name));
        named.dedup_by(|one, other| one.name == other.name);
        named
    }

    /// What was found to be secret, besides what the input takes from elsewhere itself.
    pub(super) fn values(self) -> Vec<Secret> {
        let known = self.known.into_iter().filter(|known| !known.is_told);
        let secrets = known.filter_map(|known| {
            Some(Secret {
                name: known.named.name,
                what: known.named.what,
                value: String::from_utf8(known.value).ok()?,
            })
        });
        secrets.collect()
    }
}
