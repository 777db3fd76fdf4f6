//! Values that a step can use: those of the answers to steps above it.

use super::comment;
use super::layout::quote_text;
use super::partition::Scenario;
use super::types::{Shape, Types, path_in_template};
use crate::recording::{
    Confidence, Exchange, Feed, FeedOrder, FeedSource, Header, Origin, Piece, Recording, RunValue,
    Text,
};
use crate::text::quote_name;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;

/// Lists up to this length are written where they are chosen from.
const MAX_CHOSEN: usize = 16;

/// The text in the place of a value that no step above has.
const UNKNOWN: &str = "unknown";

/// The scope of the next step of a scenario.
pub(super) struct Scope<'a> {
    pub(super) recording: &'a Recording,
    pub(super) types: &'a Types,
    pub(super) scenario: &'a Scenario,
    /// The exchanges of the steps above.
    pub(super) above: HashSet<usize>,
    /// The exchanges whose answers are used.
    pub(super) read: HashSet<usize>,
    /// Comments on uncertain values, each of which is written once.
    pub(super) noted: HashSet<String>,
    /// The headers that stand at the scenario.
    pub(super) shared: Vec<Header>,
    /// The names of the feeds.
    pub(super) feeds: BTreeMap<usize, String>,
}

/// A value of an earlier answer, as users are told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Linked {
    /// The step that uses it.
    pub step: String,
    /// The value in the language: `{{login.response.token}}`.
    pub value: String,
    /// The certainty and its reason.
    pub why: String,
}

impl<'a> Scope<'a> {
    /// Returns the name of a step.
    pub(super) fn step(&self, exchange: usize) -> &'a str {
        let name = self.scenario.names.get(&exchange);
        name.map_or("", String::as_str)
    }

    /// Returns true where a header stands at the scenario.
    pub(super) fn is_shared(&self, header: &Header) -> bool {
        self.shared.iter().any(|shared| {
            shared.name.eq_ignore_ascii_case(&header.name) && shared.value == header.value
        })
    }

    /// Returns true where the value of a reference is known.
    pub(super) fn has(&self, reference: usize) -> bool {
        self.above
            .contains(&self.recording.references[reference].from.exchange())
    }

    /// Returns the literal of a text in an attribute, where that can express it.
    pub(super) fn template(&self, text: &Text) -> Option<String> {
        let mut written = String::new();
        for piece in text.pieces() {
            let value = match piece {
                Piece::Bytes(_) => return None,
                Piece::Literal(text) if text.contains("{{") || text.contains("}}") => return None,
                Piece::Literal(text) => {
                    written.push_str(text);
                    continue;
                }
                Piece::Secret(number) => {
                    format!("secret.{}", self.recording.secrets[*number].name)
                }
                Piece::Constant(number) => self.recording.constants[*number].name.clone(),
                Piece::Run(value) => self.run_value(value),
                Piece::Reference(at) if self.has(*at) => self.path(*at, true)?,
                Piece::Reference(_) => {
                    written.push_str(UNKNOWN);
                    continue;
                }
            };
            if written.ends_with('{') {
                return None;
            }
            let _ = write!(written, "{{{{{value}}}}}");
        }
        Some(quote_text(&written))
    }

    /// Returns the path of a value between the braces of a template.
    pub(super) fn path(&self, reference: usize, is_in_text: bool) -> Option<String> {
        match &self.recording.references[reference].from {
            Origin::Body { exchange, path } => {
                let shape = self.types.answers.get(exchange)?;
                if matches!(shape, Shape::Text | Shape::Page) {
                    return None;
                }
                let path = path_in_template(shape, path, is_in_text)?;
                Some(format!("{}.response{path}", self.step(*exchange)))
            }
            // In JSON it would be a string, and never a number.
            Origin::Header { exchange, name } if is_in_text => {
                let step = self.step(*exchange);
                let name = name.to_ascii_lowercase();
                let is_part =
                    |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
                let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic());
                let is_word = begins_well && name.chars().all(is_part);
                is_word.then(|| format!("{step}.headers.{name}"))
            }
            _ => None,
        }
    }

    /// Returns the step without whose success an exchange is not sent, with the type of its answer, unless a value of it
    /// says so anyway.
    pub(super) fn named_step(&self, exchange: &Exchange) -> Option<(&'a str, String)> {
        let after = exchange
            .settings
            .after
            .filter(|at| self.above.contains(at))?;
        let mut references = self.recording.references_of(exchange).into_iter();
        if references.any(|at| self.recording.references[at].from.exchange() == after) {
            return None;
        }
        let ty = self.answer(after).map(Shape::borrowed_type);
        Some((self.step(after), ty.unwrap_or("Response".to_owned())))
    }

    /// Returns the path of a value that a run makes.
    pub(super) fn run_value(&self, value: &RunValue) -> String {
        if let RunValue::Row { feed, column } = value {
            let name = self.feeds.get(feed).map_or("", String::as_str);
            return self.types.rows[feed].path(name, column.as_deref());
        }
        value.path().unwrap_or_default().to_owned()
    }

    /// Returns the few texts of a feed that is drawn from for one step alone, which can do that by itself.
    pub(super) fn texts_of_one_step(&self, feed: usize) -> Option<&'a [String]> {
        let Feed {
            source: FeedSource::Texts(texts),
            order: FeedOrder::Random,
            ..
        } = &self.recording.feeds[feed]
        else {
            return None;
        };
        let row = Piece::Run(RunValue::Row { feed, column: None });
        let steps = self.scenario.steps.iter();
        let using = steps.filter(|step| {
            let texts = self.recording.exchanges[**step].texts();
            texts.iter().any(|text| text.pieces().contains(&row))
        });
        (texts.len() <= MAX_CHOSEN && using.count() == 1).then_some(texts)
    }

    /// Returns true where a value is written without quotes in JSON.
    pub(super) fn is_bare(&self, value: &RunValue) -> bool {
        if self.recording.quotes_are_text {
            return false;
        }
        match value {
            RunValue::Row { feed, .. } => matches!(
                self.recording.feeds[*feed].source,
                FeedSource::Json(_) | FeedSource::JsonField(..) | FeedSource::Numbers(..)
            ),
            RunValue::User | RunValue::Iteration | RunValue::UnixSeconds | RunValue::UnixMillis => {
                true
            }
            RunValue::Now | RunValue::Uuid | RunValue::Unique | RunValue::Origin => false,
        }
    }

    /// Writes the doubts about the values of a step as comments.
    pub(super) fn write_doubts(&mut self, source: &mut String, references: &BTreeSet<usize>) {
        for at in references {
            let reference = &self.recording.references[*at];
            let exchange = reference.from.exchange();
            let word = quote_name(reference.from.word());
            if !self.has(*at) {
                let words =
                    format!("{word} is of a request that is not sent before this one: write it");
                comment::write_comment(source, "    //", &words);
                continue;
            }
            let certainty = match reference.confidence {
                Confidence::Certain => continue,
                Confidence::Likely => "is likely that",
                Confidence::Possible => "may be that",
            };
            let why = &reference.why;
            let colon = if why.is_empty() { "" } else { ": " };
            let words = format!(
                "{word} {certainty} of `{}`{colon}{why}",
                self.step(exchange)
            );
            if self.noted.insert(words.clone()) {
                comment::write_comment(source, "    //", &words);
            }
        }
    }

    /// Returns the values that a step has of earlier answers.
    pub(super) fn links(&self, number: usize, references: &BTreeSet<usize>) -> Vec<Linked> {
        let known = references.iter().filter(|at| self.has(**at));
        let links = known.map(|at| {
            let reference = &self.recording.references[*at];
            let from = &reference.from;
            let value = match self.path(*at, true) {
                Some(path) => format!("{{{{{path}}}}}"),
                None => format!("`{}` of `{}`", from.word(), self.step(from.exchange())),
            };
            let colon = if reference.why.is_empty() { "" } else { ": " };
            Linked {
                step: self.step(number).to_owned(),
                value,
                why: format!("{}{colon}{}", reference.confidence.word(), reference.why),
            }
        });
        links.collect()
    }

    /// Returns the type of an answer that other steps use.
    pub(super) fn answer(&self, exchange: usize) -> Option<&'a Shape> {
        let types = self.types.answers.get(&exchange);
        types.filter(|shape| {
            matches!(shape, Shape::Events(_) | Shape::Socket(_))
                || self.read.contains(&exchange)
                || self.types.checked.contains(&exchange)
        })
    }
}
