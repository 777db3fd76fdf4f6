//! Texts with values in them, as expressions.

use super::super::layout::{Code, variable};
use super::super::literal::{code_text, format_text};
use super::super::template::{Piece, Template};
use super::{DEPTH, Function, Place, Sort, secret};
use crate::import::naming;
use std::fmt::Write as _;

impl Function<'_, '_, '_> {
    /// A text of which all is there, or `format!(..)`: text that is lent or owned.
    pub(super) fn text(&mut self, template: &Template, wanted: &str) -> Code {
        if let Some(constant) = template.text() {
            return Code::atom(code_text(constant));
        }
        if let [piece] = template.0.as_slice() {
            let local = self.local(piece, Place::Plain, wanted);
            if let Some(text) = local.lent() {
                return Code::atom(text);
            }
        }
        self.format(template, Place::Plain)
    }

    /// The same, owned or for ever.
    pub(super) fn owned(&mut self, template: &Template, wanted: &str) -> Code {
        match template.0.as_slice() {
            [Piece::Secret(name)] => Code::chain(
                secret(name),
                vec![
                    Code::call(".expose", Vec::new()),
                    Code::call(".to_owned", Vec::new()),
                ],
            ),
            [piece @ Piece::Value(_)] => {
                let local = self.local(piece, Place::Plain, wanted);
                let method = match local.sort {
                    Sort::Lent => ".to_owned",
                    Sort::Owned => ".clone",
                    Sort::Other => ".to_string",
                };
                Code::chain(Code::atom(local.name), vec![Code::call(method, Vec::new())])
            }
            _ => self.text(template, wanted),
        }
    }

    /// A `&str`.
    pub(super) fn lent(&mut self, template: &Template, wanted: &str) -> Code {
        if let Some(constant) = template.text() {
            return Code::atom(code_text(constant));
        }
        match template.0.as_slice() {
            [Piece::Secret(name)] => {
                // What is lent has to live as long as the request is built.
                let held = naming::variable(wanted, &mut self.used);
                self.variables
                    .push_str(&variable(&held, &secret(name), DEPTH));
                return Code::atom(format!("{held}.expose()"));
            }
            [piece] => {
                let local = self.local(piece, Place::Plain, wanted);
                if let Some(text) = local.lent() {
                    return Code::atom(text);
                }
            }
            _ => {}
        }
        let owned = self.format(template, Place::Plain);
        let name = naming::variable(wanted, &mut self.used);
        self.variables.push_str(&variable(&name, &owned, DEPTH));
        Code::atom(format!("{name}.as_str()"))
    }

    pub(super) fn url(&mut self, template: &Template) -> Code {
        if let Some(constant) = template.text() {
            return Code::atom(code_text(constant));
        }
        match template.0.as_slice() {
            // A path or a whole URL.
            [piece] => Code::atom(self.local(piece, Place::Plain, "url").name),
            [first, rest @ ..] if !matches!(first, Piece::Text(_)) => {
                let mut format = format!("{{{}}}", self.local(first, Place::Plain, "url").name);
                format.push_str(&self.formatted(rest, Place::Url));
                Code::format(format_text(&format))
            }
            _ => self.format(template, Place::Url),
        }
    }

    pub(super) fn body(&mut self, template: &Template, is_json: bool) -> Code {
        let is_whole = matches!(template.0.as_slice(), [] | [_]);
        if !is_json || is_whole {
            return self.owned(template, "body");
        }
        // Within quotes of its own a value is written as JSON, quotes and all.
        let mut format = String::new();
        let mut pieces = template.0.iter().peekable();
        let mut skips_quote = false;
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Text(text) => {
                    let text = if std::mem::take(&mut skips_quote) {
                        &text[1..]
                    } else {
                        text
                    };
                    let next_is_value =
                        matches!(pieces.peek(), Some(Piece::Value(_) | Piece::Secret(_)));
                    let mut text = braces(text);
                    if next_is_value && text.ends_with('"') && !text.ends_with("\\\"") {
                        let mut after = pieces.clone();
                        after.next();
                        let is_closed = matches!(
                            after.next(), Some(Piece::Text(text)) if text.starts_with('"')
                        );
                        if is_closed {
                            text.pop();
                            skips_quote = true;
                        }
                    }
                    format.push_str(&text);
                }
                piece => {
                    let place = if skips_quote {
                        Place::Json
                    } else {
                        Place::Plain
                    };
                    let local = self.local(piece, place, "value");
                    let _ = write!(format, "{{{}}}", local.name);
                }
            }
        }
        Code::format(format_text(&format))
    }

    pub(super) fn format(&mut self, template: &Template, place: Place) -> Code {
        Code::format(format_text(&self.formatted(&template.0, place)))
    }

    pub(super) fn formatted(&mut self, pieces: &[Piece], place: Place) -> String {
        let mut format = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => format.push_str(&braces(text)),
                piece => {
                    let local = self.local(piece, place, "value");
                    let _ = write!(format, "{{{}}}", local.name);
                }
            }
        }
        format
    }
}

/// A text within one that is formatted.
fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
