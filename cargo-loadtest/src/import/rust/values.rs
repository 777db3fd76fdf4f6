//! Values of earlier answers and secrets, as expressions and variables of a function.

use super::function::Function;
use super::literal::{quote_bytes, quote_code, quote_format, quote_text};
use super::types::{AnswerType, Shape, identifier};
use crate::import::naming;
use crate::import::recording::{Key, Origin, Piece, Text};
use std::fmt::Write as _;

/// The place of a value, which says how it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ValueContext {
    Plain,
    /// A part of a URL.
    Url,
    /// A value of JSON.
    Json,
}

/// The Rust type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RustType {
    /// `&str`.
    Str,
    String,
    /// A number, a `Value` or the like.
    Other,
}

/// The identity of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ValueKey<'a> {
    Secret(usize),
    Value(&'a Origin, bool),
    Unknown,
}

/// A variable of a function.
#[derive(Debug, Clone)]
pub(super) struct Local {
    name: String,
    ty: RustType,
}

impl Local {
    /// Returns an expression of type `&str`.
    fn borrowed(&self) -> Option<String> {
        match self.ty {
            RustType::Str => Some(self.name.clone()),
            RustType::String => Some(format!("{}.as_str()", self.name)),
            RustType::Other => None,
        }
    }
}

impl Function<'_> {
    /// Returns an expression for a text, borrowed or owned.
    pub(super) fn text(&mut self, text: &Text, wanted: &str) -> String {
        match text.pieces() {
            [] => "\"\"".to_owned(),
            [Piece::Literal(text)] => quote_code(text),
            [Piece::Bytes(bytes)] => format!("{}.as_slice()", quote_bytes(bytes)),
            [piece] => {
                let local = self.local(piece, ValueContext::Plain, wanted);
                let borrowed = local.borrowed();
                borrowed.unwrap_or_else(|| self.format(text.pieces(), ValueContext::Plain))
            }
            pieces => self.format(pieces, ValueContext::Plain),
        }
    }

    /// Returns an expression for a text, owned or static.
    pub(super) fn owned(&mut self, text: &Text, wanted: &str) -> String {
        match text.pieces() {
            [Piece::Secret(number)] => format!("{}.expose().to_owned()", self.secret(*number)),
            [piece @ Piece::Reference(_)] => {
                let local = self.local(piece, ValueContext::Plain, wanted);
                let method = match local.ty {
                    RustType::Str => "to_owned",
                    RustType::String => "clone",
                    RustType::Other => "to_string",
                };
                format!("{}.{method}()", local.name)
            }
            _ => self.text(text, wanted),
        }
    }

    /// Returns an expression of type `&str`.
    pub(super) fn borrowed(&mut self, text: &Text, wanted: &str) -> String {
        match text.pieces() {
            [] => return "\"\"".to_owned(),
            [Piece::Literal(text)] => return quote_code(text),
            [Piece::Secret(number)] => {
                // It has to live as long as the request is built.
                let code = self.secret(*number);
                return format!("{}.expose()", self.hold(wanted, &code));
            }
            [piece] => {
                if let Some(text) = self.local(piece, ValueContext::Plain, wanted).borrowed() {
                    return text;
                }
            }
            _ => {}
        }
        let owned = self.format(text.pieces(), ValueContext::Plain);
        format!("{}.as_str()", self.hold(wanted, &owned))
    }

    /// Returns an expression for a URL.
    pub(super) fn url(&mut self, url: &Text) -> String {
        match url.pieces() {
            [] => "\"\"".to_owned(),
            [Piece::Literal(text)] => quote_code(text),
            // A path or a whole URL.
            [piece] => self.local(piece, ValueContext::Plain, "url").name,
            [first @ (Piece::Reference(_) | Piece::Secret(_)), rest @ ..] => {
                let first = self.local(first, ValueContext::Plain, "url").name;
                let rest = self.format_pieces(rest, ValueContext::Url);
                format!("format!({})", quote_format(&format!("{{{first}}}{rest}")))
            }
            pieces => self.format(pieces, ValueContext::Url),
        }
    }

    /// Returns an expression for a body.
    pub(super) fn body(&mut self, body: &Text, is_json: bool) -> String {
        let pieces = body.pieces();
        if !is_json || pieces.len() < 2 {
            return self.owned(body, "body");
        }
        // A value between quotes is written as JSON, with quotes of its own.
        let is_string = |at: usize| {
            let literal = |at: Option<usize>| match at.and_then(|at| pieces.get(at)) {
                Some(Piece::Literal(text)) => text.as_str(),
                _ => "",
            };
            let before = literal(at.checked_sub(1));
            !matches!(pieces.get(at), None | Some(Piece::Literal(_)))
                && before.ends_with('"')
                && !before.ends_with("\\\"")
                && literal(Some(at + 1)).starts_with('"')
        };
        let mut format = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            if let Piece::Literal(text) = piece {
                let start = usize::from(at > 0 && is_string(at - 1));
                let end = text.len() - usize::from(is_string(at + 1));
                format.push_str(&double_braces(text.get(start..end).unwrap_or_default()));
            } else {
                let place = if is_string(at) {
                    ValueContext::Json
                } else {
                    ValueContext::Plain
                };
                let local = self.local(piece, place, "value");
                let _ = write!(format, "{{{}}}", local.name);
            }
        }
        let name = naming::unique("body", &mut self.used);
        self.define(&name, &format!("format!({})", quote_format(&format)));
        name
    }

    /// Returns `format!(..)`.
    pub(super) fn format(&mut self, pieces: &[Piece], place: ValueContext) -> String {
        format!(
            "format!({})",
            quote_format(&self.format_pieces(pieces, place))
        )
    }

    fn format_pieces(&mut self, pieces: &[Piece], place: ValueContext) -> String {
        let mut format = String::new();
        for piece in pieces {
            match piece {
                Piece::Literal(text) => format.push_str(&double_braces(text)),
                piece => {
                    let local = self.local(piece, place, "value");
                    let _ = write!(format, "{{{}}}", local.name);
                }
            }
        }
        format
    }

    /// Returns `secret("NAME")`.
    pub(super) fn secret(&self, number: usize) -> String {
        let name = &self.scope.recording.secrets[number].name;
        format!("secret({})", quote_text(name))
    }

    /// Returns the value of a reference within `json!`.
    pub(super) fn json_value(&mut self, at: usize) -> String {
        let reference = &self.scope.recording.references[at];
        if let Some(field) = self.json_field(at) {
            self.takes.push(&reference.from);
            return field;
        }
        let local = self.local(&Piece::Reference(at), ValueContext::Plain, "value");
        if local.ty != RustType::Other || reference.is_bare {
            local.name
        } else {
            format!("{}.to_string()", local.name)
        }
    }

    /// Returns `login.user.id`, where fields alone lead to a value.
    fn json_field(&self, at: usize) -> Option<String> {
        let reference = &self.scope.recording.references[at];
        let Origin::Body { exchange, path } = &reference.from else {
            return None;
        };
        let answer = self
            .scope
            .answer(*exchange)
            .filter(|_| self.scope.has(at))?;
        let AnswerType::Json(mut shape) = answer.clone() else {
            return None;
        };
        let mut field = self.scope.step(*exchange).to_owned();
        for key in path {
            let Key::Field(key) = key else { return None };
            let known = shape.field(key).filter(|field| !field.is_optional)?;
            let _ = write!(field, ".{}", identifier(&known.name));
            shape = known.shape.clone();
        }
        match shape {
            Shape::Text => Some(field),
            Shape::Plain(_) if reference.is_bare => Some(field),
            Shape::Plain(_) => Some(format!("{field}.to_string()")),
            _ => None,
        }
    }

    /// Returns the variable of a value in a place.
    fn local(&mut self, piece: &Piece, place: ValueContext, wanted: &str) -> Local {
        let recording = self.scope.recording;
        let key = match piece {
            Piece::Secret(number) => ValueKey::Secret(*number),
            Piece::Reference(at) if self.scope.has(*at) => {
                let reference = &recording.references[*at];
                ValueKey::Value(&reference.from, reference.is_bare)
            }
            _ => ValueKey::Unknown,
        };
        if let Some(known) = self.known.get(&(key.clone(), place)) {
            return known.clone();
        }
        let (code, ty, wanted) = match &key {
            ValueKey::Secret(number) => {
                let name = recording.secrets[*number].name.to_lowercase();
                let mut code = self.secret(*number);
                if place != ValueContext::Url {
                    code = self.hold(&name, &code);
                }
                (format!("{code}.expose()"), RustType::Str, name)
            }
            ValueKey::Value(origin, is_bare) => {
                self.takes.push(origin);
                let (code, ty) = self.origin(origin, *is_bare);
                (code, ty, origin.word().to_owned())
            }
            ValueKey::Unknown => ("\"unknown\"".to_owned(), RustType::Str, wanted.to_owned()),
        };
        let is_bare = matches!(key, ValueKey::Value(_, true));
        let (code, ty) = match (place, ty) {
            // A number has nothing to encode.
            (ValueContext::Plain, ty) | (ValueContext::Url, ty @ RustType::Other) => (code, ty),
            (ValueContext::Url, ty) => {
                self.uses.functions.insert("encoded");
                let code = match ty {
                    RustType::String => format!("&{}", self.hold(&wanted, &code)),
                    _ => code,
                };
                (format!("encoded({code})"), RustType::String)
            }
            (ValueContext::Json, _) if is_bare => (code, RustType::Other),
            (ValueContext::Json, RustType::Other) => {
                (format!("json!({code}.to_string())"), RustType::Other)
            }
            (ValueContext::Json, _) => (format!("json!({code})"), RustType::Other),
        };
        let name = self.hold(&wanted, &code);
        let local = Local { name, ty };
        self.known.insert((key, place), local.clone());
        local
    }

    /// Returns an expression for a value of an answer.
    fn origin(&mut self, origin: &Origin, is_bare: bool) -> (String, RustType) {
        let scope = self.scope;
        let step = scope.step(origin.exchange());
        if let Origin::Body { exchange, path } = origin
            && let Some(AnswerType::Json(shape)) = scope.answer(*exchange)
        {
            return self.json_path(step, shape, path, is_bare);
        }
        self.is_fallible = true;
        let mut call = |function: &'static str, arguments: &[&str]| {
            self.uses.functions.insert(function);
            let arguments: Vec<_> = arguments.iter().map(|text| quote_code(text)).collect();
            format!("{function}({step}, {})?", arguments.join(", "))
        };
        let code = match origin {
            Origin::Body { path, .. } => {
                let answer = self.hold("answer", &format!("{step}.parse::<Value>().ok()?"));
                return self.json_path(&answer, &Shape::Any, path, is_bare);
            }
            Origin::Link { rel, .. } => call("link", &[rel]),
            Origin::Between { before, after, .. } => call("between", &[before, after]),
            Origin::Part {
                name,
                before,
                after,
                ..
            } => call("header_part", &[&name.to_ascii_lowercase(), before, after]),
            Origin::Header { name, .. } => {
                let name = quote_text(&name.to_ascii_lowercase());
                format!("{step}.headers().get({name})?.to_str().ok()?")
            }
        };
        (code, RustType::Str)
    }

    /// Returns the expression of a path through JSON.
    fn json_path(
        &mut self,
        begin: &str,
        shape: &Shape,
        path: &[Key],
        is_bare: bool,
    ) -> (String, RustType) {
        let mut code = begin.to_owned();
        let mut shape = Some(shape);
        let mut is_optional = false;
        let mut is_borrowed = path.is_empty();
        for key in path {
            if is_optional {
                code.push_str(".as_ref()?");
            }
            is_optional = false;
            is_borrowed = true;
            match (key, shape) {
                (Key::Item(at), Some(Shape::List(item))) => {
                    self.is_fallible = true;
                    let _ = match at {
                        0 => write!(code, ".first()?"),
                        at => write!(code, ".get({at})?"),
                    };
                    shape = Some(item);
                }
                (Key::Field(key), Some(known @ Shape::Struct(..))) => {
                    let Some(field) = known.field(key) else { break };
                    let _ = write!(code, ".{}", identifier(&field.name));
                    is_optional = field.is_optional;
                    self.is_fallible |= is_optional;
                    is_borrowed = false;
                    shape = Some(&field.shape);
                }
                (key, _) => {
                    self.is_fallible = true;
                    let index = match key {
                        Key::Item(at) => at.to_string(),
                        Key::Field(key) => quote_code(key),
                    };
                    let _ = write!(code, ".get({index})?");
                    shape = Some(&Shape::Any);
                }
            }
        }
        match shape {
            Some(Shape::Text) if is_optional => (code + ".as_deref()?", RustType::Str),
            Some(Shape::Text) => (code + ".as_str()", RustType::Str),
            Some(Shape::Plain(_)) if is_optional => (code + "?", RustType::Other),
            Some(Shape::Plain(_)) => (code, RustType::Other),
            Some(Shape::List(_)) => (format!("json!(&{code})"), RustType::Other),
            _ => {
                if is_optional {
                    code.push_str(".as_ref()?");
                    is_borrowed = true;
                }
                if is_bare && !is_borrowed {
                    return (format!("&{code}"), RustType::Other);
                }
                if is_bare {
                    return (code, RustType::Other);
                }
                self.is_fallible = true;
                (code + ".as_str()?", RustType::Str)
            }
        }
    }
}

/// Escapes the braces of a format string.
fn double_braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
