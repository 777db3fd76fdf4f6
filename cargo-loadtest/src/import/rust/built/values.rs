//! Values of earlier answers and secrets, as variables of the function.

use super::super::layout::{Code, variable};
use super::super::literal::{code_text, text};
use super::super::template::Piece;
use super::super::types::{Read, Shape, identifier};
use super::{DEPTH, Function, Local, Place, Sort, secret};
use crate::import::marked::{Key, Origin, Reading, Spelling};
use crate::import::naming;

impl Function<'_, '_, '_> {
    /// The variable that has the value of a place.
    pub(super) fn local(&mut self, piece: &Piece, place: Place, wanted: &str) -> Local {
        let piece = &self.first_alike(piece);
        let key = (piece.clone(), place);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let (code, sort, wanted) = match piece {
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
                (code, Sort::Lent, name.to_lowercase())
            }
            Piece::Value(at) if self.writing.scope.has(*at) => {
                let word = self.writing.scope.word(*at).to_owned();
                let (code, sort) = self.value(*at);
                (code, sort, word)
            }
            Piece::Value(_) | Piece::Text(_) => {
                (Code::atom("\"unknown\""), Sort::Lent, wanted.to_owned())
            }
        };
        let (code, sort) = match (place, sort) {
            (Place::Plain, sort) => (code, sort),
            // A number has nothing to encode.
            (Place::Url, Sort::Other) => (code, Sort::Other),
            (Place::Url, Sort::Lent) => {
                self.uses.encoded = true;
                (Code::call("encoded", vec![code]), Sort::Owned)
            }
            (Place::Url, Sort::Owned) => {
                self.uses.encoded = true;
                let name = naming::variable(&wanted, &mut self.used);
                self.variables.push_str(&variable(&name, &code, DEPTH));
                let lent = Code::atom(format!("&{name}"));
                (Code::call("encoded", vec![lent]), Sort::Owned)
            }
            (Place::Json, _) if self.is_bare(piece) => (code, Sort::Other),
            (Place::Json, Sort::Other) => {
                let text = Code::chain(code, vec![Code::call(".to_string", Vec::new())]);
                (Code::json(text), Sort::Other)
            }
            (Place::Json, _) => (Code::json(code), Sort::Other),
        };
        let name = naming::variable(&wanted, &mut self.used);
        self.variables.push_str(&variable(&name, &code, DEPTH));
        let local = Local { name, sort };
        self.known.insert(key, local.clone());
        local
    }

    /// Of values that differ in how certain they are alone, the first.
    pub(super) fn first_alike(&mut self, piece: &Piece) -> Piece {
        let Piece::Value(at) = piece else {
            return piece.clone();
        };
        let reference = &self.writing.scope.recording.references[*at];
        let alike = self.alike.entry((&reference.from, reference.is_bare));
        alike.or_insert_with(|| piece.clone()).clone()
    }

    pub(super) fn is_bare(&self, piece: &Piece) -> bool {
        let references = &self.writing.scope.recording.references;
        matches!(piece, Piece::Value(at) if references[*at].is_bare)
    }

    /// An expression for the value of a reference.
    pub(super) fn value(&mut self, reference: usize) -> (Code, Sort) {
        let reference = &self.writing.scope.recording.references[reference];
        self.takes.push(reference.from.clone());
        self.origin(&reference.from, reference.is_bare)
    }

    fn origin(&mut self, origin: &Origin, is_bare: bool) -> (Code, Sort) {
        let scope = self.writing.scope;
        match origin {
            Origin::Link { exchange, rel } => {
                self.is_fallible = true;
                self.uses.link = true;
                let step = Code::atom(scope.step(*exchange));
                let code = Code::tried("link", vec![step, Code::atom(code_text(rel))]);
                (code, Sort::Lent)
            }
            Origin::Within { outer, reading } => self.within(outer, reading, is_bare),
            Origin::Body { exchange, path } => {
                let step = scope.step(*exchange).to_owned();
                if let Some(Read::Json(shape)) = scope.answer(*exchange) {
                    self.json(&step, shape, path, is_bare)
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
                    self.json(&answer, &Shape::Any, path, is_bare)
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
                (code, Sort::Lent)
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
                (code, Sort::Lent)
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
                (code, Sort::Lent)
            }
            Origin::Row { data, field } => {
                let feed = scope.scenario.feeds.get(data).cloned().unwrap_or_default();
                let path = [Key::Field(field.clone())];
                self.json(&feed, &Shape::Any, &path, is_bare)
            }
        }
    }

    /// What another value says when it is read once more.
    fn within(&mut self, outer: &Origin, reading: &Reading, is_bare: bool) -> (Code, Sort) {
        let (outer, sort) = self.origin(outer, false);
        match reading {
            Reading::Json(path) => {
                self.is_fallible = true;
                let answer = naming::variable("inner", &mut self.used);
                let parsed = Code::chain(
                    outer,
                    vec![
                        Code::call(".parse::<Value>", Vec::new()),
                        Code::tried(".ok", Vec::new()),
                    ],
                );
                self.variables.push_str(&variable(&answer, &parsed, DEPTH));
                self.json(&answer, &Shape::Any, path, is_bare)
            }
            Reading::Between { before, after } => {
                self.is_fallible = true;
                let before = Code::atom(code_text(before));
                let code = if after.is_empty() {
                    let split = Code::tried(".split_once", vec![before]);
                    Code::chain(outer, vec![split, Code::atom(".1")])
                } else {
                    self.uses.between = true;
                    let text = self.lent_code(outer, sort);
                    Code::tried("between", vec![text, before, Code::atom(code_text(after))])
                };
                (code, Sort::Lent)
            }
            Reading::Decoded(Spelling::Json) => {
                self.is_fallible = true;
                let quoted = naming::variable("quoted", &mut self.used);
                self.variables.push_str(&variable(&quoted, &outer, DEPTH));
                let value = naming::variable("value", &mut self.used);
                let parsed = Code::chain(
                    Code::format(format!("\"\\\"{{{quoted}}}\\\"\"")),
                    vec![
                        Code::call(".parse::<Value>", Vec::new()),
                        Code::tried(".ok", Vec::new()),
                    ],
                );
                self.variables.push_str(&variable(&value, &parsed, DEPTH));
                let text = vec![Code::tried(".as_str", Vec::new())];
                (Code::chain(Code::atom(value), text), Sort::Lent)
            }
            Reading::Decoded(spelling) => {
                let function = if *spelling == Spelling::Html {
                    self.uses.unescaped = true;
                    "unescaped"
                } else {
                    self.uses.decoded = true;
                    "decoded"
                };
                let text = self.lent_code(outer, sort);
                (Code::call(function, vec![text]), Sort::Owned)
            }
        }
    }

    /// A text as it is lent.
    fn lent_code(&mut self, code: Code, sort: Sort) -> Code {
        if sort == Sort::Lent {
            return code;
        }
        let code = match sort {
            Sort::Other => Code::chain(code, vec![Code::call(".to_string", Vec::new())]),
            _ => code,
        };
        let name = naming::variable("text", &mut self.used);
        self.variables.push_str(&variable(&name, &code, DEPTH));
        Code::atom(format!("&{name}"))
    }

    /// The way through JSON.
    pub(super) fn json(
        &mut self,
        begin: &str,
        shape: &Shape,
        path: &[Key],
        is_bare: bool,
    ) -> (Code, Sort) {
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
                (Code::chain(head, links), Sort::Lent)
            }
            Some(Shape::Text) => {
                links.push(Code::call(".as_str", Vec::new()));
                (Code::chain(head, links), Sort::Lent)
            }
            Some(Shape::Plain(_)) => {
                if is_optional && let Some(Code::Atom(field)) = links.last_mut() {
                    self.is_fallible = true;
                    field.push('?');
                }
                (Code::chain(head, links), Sort::Other)
            }
            Some(Shape::List(_)) => {
                let list = Code::chain(Code::atom(format!("&{begin}")), links);
                (Code::json(list), Sort::Other)
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
                    return (Code::chain(head, links), Sort::Other);
                }
                self.is_fallible = true;
                links.push(Code::tried(".as_str", Vec::new()));
                (Code::chain(head, links), Sort::Lent)
            }
        }
    }
}
