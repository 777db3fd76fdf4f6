//! Values of earlier answers and secrets, as variables of the function.

use super::super::layout::{Code, variable};
use super::super::literal::{code_text, text};
use super::super::template::Piece;
use super::super::types::{Read, Shape, identifier};
use super::{DEPTH, Function, Local, Place, secret};
use crate::import::naming;
use crate::import::recording::{Key, Origin};

impl Function<'_, '_, '_> {
    /// The variable that has the value of a place.
    pub(super) fn local(&mut self, piece: &Piece, place: Place, wanted: &str) -> Local {
        let key = (piece.clone(), place);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let (code, is_text, wanted) = match piece {
            Piece::Secret(name) => {
                let exposed = vec![Code::call(".expose", Vec::new())];
                let code = if place == Place::Url {
                    Code::chain(secret(name), exposed)
                } else {
                    let held = naming::variable(&name.to_lowercase(), &mut self.used);
                    self.variables
                        .push_str(&variable(&held, &secret(name), DEPTH));
                    Code::chain(Code::atom(held), exposed)
                };
                (code, true, name.to_lowercase())
            }
            Piece::Value(at) if self.writing.scope.has(*at) => {
                let (code, is_text) = self.value(*at);
                (code, is_text, self.writing.scope.word(*at).to_owned())
            }
            Piece::Value(_) | Piece::Text(_) => {
                (Code::atom("\"unknown\""), true, wanted.to_owned())
            }
        };
        let (code, is_text) = match place {
            Place::Plain => (code, is_text),
            // A number has nothing to encode.
            Place::Url if !is_text => (code, false),
            Place::Url => {
                self.uses.encoded = true;
                (Code::call("encoded", vec![code]), false)
            }
            Place::Json if self.is_bare(piece) => (code, false),
            Place::Json if is_text => (Code::json(code), false),
            Place::Json => {
                let text = Code::chain(code, vec![Code::call(".to_string", Vec::new())]);
                (Code::json(text), false)
            }
        };
        let name = naming::variable(&wanted, &mut self.used);
        self.variables.push_str(&variable(&name, &code, DEPTH));
        let local = Local { name, is_text };
        self.known.insert(key, local.clone());
        local
    }

    pub(super) fn is_bare(&self, piece: &Piece) -> bool {
        let references = &self.writing.scope.recording.references;
        matches!(piece, Piece::Value(at) if references[*at].is_bare)
    }

    /// An expression for the value of a reference, and whether it is a `&str`.
    pub(super) fn value(&mut self, reference: usize) -> (Code, bool) {
        let scope = self.writing.scope;
        let reference = &scope.recording.references[reference];
        self.takes.push(reference.from.clone());
        match &reference.from {
            Origin::Body { exchange, path } => {
                let step = scope.step(*exchange).to_owned();
                if let Some(Read::Json(shape)) = scope.answer(*exchange) {
                    self.json(&step, shape, path, reference.is_bare)
                } else {
                    self.is_fallible = true;
                    let answer = naming::variable("answer", &mut self.used);
                    let parsed = Code::chain(
                        Code::atom(step),
                        vec![
                            Code::call(".parse::<Value>", Vec::new()),
                            Code::tried(".ok", Vec::new()),
                        ],
                    );
                    self.variables.push_str(&variable(&answer, &parsed, DEPTH));
                    self.json(&answer, &Shape::Any, path, reference.is_bare)
                }
            }
            Origin::Between {
                exchange,
                before,
                after,
            } => {
                self.is_fallible = true;
                self.uses.between = true;
                let code = Code::tried(
                    "between",
                    vec![
                        Code::atom(scope.step(*exchange)),
                        Code::atom(code_text(before)),
                        Code::atom(code_text(after)),
                    ],
                );
                (code, true)
            }
            Origin::Header { exchange, name } => {
                self.is_fallible = true;
                let code = Code::chain(
                    Code::atom(scope.step(*exchange)),
                    vec![
                        Code::call(".headers", Vec::new()),
                        Code::tried(".get", vec![Code::atom(text(&name.to_ascii_lowercase()))]),
                        Code::call(".to_str", Vec::new()),
                        Code::tried(".ok", Vec::new()),
                    ],
                );
                (code, true)
            }
            Origin::Part {
                exchange,
                name,
                before,
                after,
            } => {
                self.is_fallible = true;
                self.uses.header_part = true;
                let code = Code::tried(
                    "header_part",
                    vec![
                        Code::atom(scope.step(*exchange)),
                        Code::atom(text(&name.to_ascii_lowercase())),
                        Code::atom(code_text(before)),
                        Code::atom(code_text(after)),
                    ],
                );
                (code, true)
            }
            Origin::Row { data, field } => {
                let feed = scope.scenario.feeds.get(data).cloned().unwrap_or_default();
                let path = [Key::Field(field.clone())];
                self.json(&feed, &Shape::Any, &path, reference.is_bare)
            }
        }
    }

    /// The way through JSON.
    pub(super) fn json(
        &mut self,
        begin: &str,
        shape: &Shape,
        path: &[Key],
        is_bare: bool,
    ) -> (Code, bool) {
        let mut links = Vec::new();
        let mut shape = Some(shape);
        let mut is_optional = false;
        for key in path {
            if is_optional {
                links.push(Code::tried(".as_ref", Vec::new()));
                self.is_fallible = true;
            }
            is_optional = false;
            match (key, shape) {
                (Key::Item(at), Some(Shape::List(item))) => {
                    self.is_fallible = true;
                    links.push(match at {
                        0 => Code::tried(".first", Vec::new()),
                        at => Code::tried(".get", vec![Code::atom(at.to_string())]),
                    });
                    shape = Some(item);
                }
                (Key::Field(key), Some(known @ Shape::Struct(..))) => {
                    let Some(field) = known.field(key) else { break };
                    links.push(Code::atom(format!(".{}", identifier(&field.name))));
                    is_optional = field.is_optional;
                    shape = Some(&field.shape);
                }
                (key, _) => {
                    self.is_fallible = true;
                    let index = match key {
                        Key::Item(at) => at.to_string(),
                        Key::Field(key) => code_text(key),
                    };
                    links.push(Code::tried(".get", vec![Code::atom(index)]));
                    shape = Some(&Shape::Any);
                }
            }
        }
        let head = Code::atom(begin);
        match shape {
            Some(Shape::Text) if is_optional => {
                self.is_fallible = true;
                links.push(Code::tried(".as_deref", Vec::new()));
                (Code::chain(head, links), true)
            }
            Some(Shape::Text) => {
                links.push(Code::call(".as_str", Vec::new()));
                (Code::chain(head, links), true)
            }
            Some(Shape::Plain(_)) => {
                if is_optional && let Some(Code::Atom(field)) = links.last_mut() {
                    self.is_fallible = true;
                    field.push('?');
                }
                (Code::chain(head, links), false)
            }
            Some(Shape::List(_)) => {
                let list = Code::chain(Code::atom(format!("&{begin}")), links);
                (Code::json(list), false)
            }
            _ => {
                if is_optional {
                    self.is_fallible = true;
                    links.push(Code::tried(".as_ref", Vec::new()));
                }
                if is_bare {
                    let is_lent =
                        path.is_empty() || matches!(links.last(), Some(Code::Call { .. }));
                    let head = if is_lent {
                        head
                    } else {
                        Code::atom(format!("&{begin}"))
                    };
                    return (Code::chain(head, links), false);
                }
                self.is_fallible = true;
                links.push(Code::tried(".as_str", Vec::new()));
                (Code::chain(head, links), true)
            }
        }
    }
}
