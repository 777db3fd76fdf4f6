//! What a step can use: the answers of those above it, and the rows of its scenario.

use super::super::marked::{Confidence, Exchange, Header, Origin, Recording};
use super::comment;
use super::literal::text;
use super::partition::{Scenario, exchange_of, word};
use super::shared::is_same;
use super::template::{Piece, Template};
use super::types::{Read, Types, key_path, template_path};
use std::collections::HashSet;
use std::fmt::Write as _;

/// What stands where a value cannot come from.
const UNKNOWN: &str = "unknown";

/// What can be used in the steps of a scenario that are not written yet.
pub(super) struct Scope<'a> {
    pub(super) recording: &'a Recording,
    pub(super) types: &'a Types,
    pub(super) scenario: &'a Scenario,
    /// The exchanges whose steps are above.
    pub(super) above: HashSet<usize>,
    /// Those whose answers are used.
    pub(super) read: HashSet<usize>,
    /// The comments on values that are not certain: each stands where the value is used first.
    pub(super) told: HashSet<String>,
    /// The headers that stand at the scenario.
    pub(super) shared: Vec<Header>,
}

/// A value of an earlier answer, as the user is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Linked {
    /// The step that uses it.
    pub(crate) step: String,
    /// The value, as it is written: `{{login.response.token}}`.
    pub(crate) value: String,
    /// How certain it is, and why.
    pub(crate) why: String,
}

impl Scope<'_> {
    /// The name of a step.
    pub(super) fn step(&self, exchange: usize) -> &str {
        self.scenario
            .names
            .get(&exchange)
            .map_or("", String::as_str)
    }

    /// Whether a header stands at the scenario, and not at its steps.
    pub(super) fn is_shared(&self, header: &Header) -> bool {
        self.shared.iter().any(|shared| is_same(shared, header))
    }

    /// Whether the value of a reference is there.
    pub(super) fn has(&self, reference: usize) -> bool {
        let origin = &self.recording.references[reference].from;
        match (exchange_of(origin), origin) {
            (Some(exchange), _) => self.above.contains(&exchange),
            (None, Origin::Row { data, .. }) => self.scenario.feeds.contains_key(data),
            (None, _) => false,
        }
    }

    /// A template in quotes; nothing where that cannot say it.
    pub(super) fn literal(&self, template: &Template) -> Option<String> {
        let mut written = String::new();
        for piece in &template.0 {
            let place = match piece {
                Piece::Text(text) if text.contains("{{") || text.contains("}}") => return None,
                Piece::Text(text) => {
                    written.push_str(text);
                    continue;
                }
                Piece::Secret(name) => format!("secret.{name}"),
                Piece::Value(at) if self.has(*at) => self.path(*at, true)?,
                Piece::Value(_) => {
                    written.push_str(UNKNOWN);
                    continue;
                }
            };
            if written.ends_with('{') {
                return None;
            }
            let _ = write!(written, "{{{{{place}}}}}");
        }
        Some(text(&written))
    }

    /// What stands between the braces of a template.
    pub(super) fn path(&self, reference: usize, is_in_text: bool) -> Option<String> {
        let reference = &self.recording.references[reference];
        match &reference.from {
            Origin::Body { exchange, path } => {
                let Some(Read::Json(shape)) = self.types.answers.get(exchange) else {
                    return None;
                };
                let path = template_path(shape, path, is_in_text)?;
                Some(format!("{}.response{path}", self.step(*exchange)))
            }
            // Within JSON it would be a string, and never a number.
            Origin::Header { .. } if !is_in_text => None,
            Origin::Header { exchange, name } => {
                let step = self.step(*exchange);
                let name = name.to_ascii_lowercase();
                let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic())
                    && name
                        .chars()
                        .all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
                if is_word {
                    return Some(format!("{step}.headers.{name}"));
                }
                is_token(&name)
                    .then(|| key_path(&name, false, true))
                    .flatten()
                    .map(|name| format!("{step}.headers{name}"))
            }
            Origin::Row { data, field } => {
                let feed = self.scenario.feeds.get(data)?;
                Some(format!("{feed}{}", key_path(field, true, is_in_text)?))
            }
            Origin::Between { .. }
            | Origin::Part { .. }
            | Origin::Link { .. }
            | Origin::Within { .. } => None,
        }
    }

    /// A word for the value of a reference.
    pub(super) fn word(&self, reference: usize) -> &str {
        word(&self.recording.references[reference])
    }

    /// Writes what is not certain about the values of a step, above it, unless it is written above another one.
    pub(super) fn doubts(&mut self, source: &mut String, prefix: &str, references: &[usize]) {
        for at in references {
            let reference = &self.recording.references[*at];
            let word = comment::quoted(self.word(*at));
            let whose = match (&reference.from, exchange_of(&reference.from)) {
                (Origin::Row { .. }, _) | (_, None) => continue,
                (_, Some(exchange)) => match self.recording.exchanges.get(exchange) {
                    Some(_) if self.has(*at) => self.step(exchange),
                    _ => {
                        let words = format!(
                            "{word} comes from a request that is not sent before this one: write it"
                        );
                        comment::write(source, prefix, &words);
                        continue;
                    }
                },
            };
            let certainty = match reference.confidence {
                Confidence::Certain => continue,
                Confidence::Likely => "is likely that",
                Confidence::Possible => "may be that",
            };
            let why = &reference.why;
            let colon = if why.is_empty() { "" } else { ": " };
            let words = format!("{word} {certainty} of `{whose}`{colon}{why}");
            if self.told.insert(words.clone()) {
                comment::write(source, prefix, &words);
            }
        }
    }

    /// What the user is told about the values of a step.
    pub(super) fn linked(&self, step: &str, references: &[usize]) -> Vec<Linked> {
        let known = references.iter().filter(|at| self.has(**at));
        known
            .map(|at| {
                let reference = &self.recording.references[*at];
                let value = match (self.path(*at, true), exchange_of(&reference.from)) {
                    (Some(path), _) => format!("{{{{{path}}}}}"),
                    (None, Some(exchange)) => {
                        format!("`{}` of `{}`", self.word(*at), self.step(exchange))
                    }
                    (None, None) => format!("`{}`", self.word(*at)),
                };
                let why = match reference.why.as_str() {
                    "" => reference.confidence.word().to_owned(),
                    why => format!("{}: {why}", reference.confidence.word()),
                };
                Linked {
                    step: step.to_owned(),
                    value,
                    why,
                }
            })
            .collect()
    }

    /// What the answer of an exchange is read into, if another step uses it.
    pub(super) fn answer(&self, exchange: usize) -> Option<&Read> {
        let types = self.types.answers.get(&exchange);
        types.filter(|_| self.read.contains(&exchange))
    }
}

/// The URL of an exchange, as it stands in the source.
pub(super) fn url_of(exchange: &Exchange, base: &str, begins_with_value: bool) -> String {
    let target = fitting(&exchange.target);
    let is_whole = begins_with_value
        || ["http://", "https://"]
            .iter()
            .any(|scheme| target.starts_with(scheme));
    if is_whole {
        return target;
    }
    let slash = if target.starts_with('/') { "" } else { "/" };
    let origin = if exchange.origin == base {
        ""
    } else {
        &exchange.origin
    };
    format!("{}{slash}{target}", fitting(origin))
}

/// A URL without what no URL can have.
fn fitting(url: &str) -> String {
    let mut fitting = String::with_capacity(url.len());
    for letter in url.chars() {
        if letter.is_ascii_graphic() && !"\"#<>`".contains(letter) {
            fitting.push(letter);
        } else {
            let mut bytes = [0; 4];
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                let _ = write!(fitting, "%{byte:02X}");
            }
        }
    }
    fitting
}

/// Whether it is a name of a header (<https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2>).
pub(super) fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
