//! Values of earlier answers and secrets, as expressions and variables of a function.

use super::function::Function;
use super::layout::{quote_bytes, quote_code, quote_text};
use super::types::{Shape, identifier};
use crate::recording::{Exchange, Key, Origin, PageFind, Piece, RunValue, Text};
use std::fmt::Write as _;

/// The place of a value, which says how it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueContext {
    Plain,
    /// A part of a URL.
    Url,
    /// A value of JSON.
    Json,
}

impl Function<'_> {
    /// Returns an expression for a text or the value of a header.
    pub(super) fn text(&mut self, text: &Text) -> String {
        match text.pieces() {
            [Piece::Secret(number)] => self.secret(*number),
            [Piece::Bytes(bytes)] => format!("{}.as_slice()", quote_bytes(bytes)),
            pieces => self.expression(pieces).0,
        }
    }

    /// Returns an expression for a text, owned or static.
    pub(super) fn owned(&mut self, text: &Text) -> String {
        match text.pieces() {
            pieces @ [Piece::Secret(_) | Piece::Reference(_) | Piece::Run(_)] => {
                format!("{}.to_string()", self.value(&pieces[0]).0)
            }
            pieces => self.expression(pieces).0,
        }
    }

    /// Returns an expression of type `&str`, which lives as long as its statement.
    pub(super) fn borrowed(&mut self, text: &Text) -> String {
        match self.expression(text.pieces()) {
            (code, true) => code,
            (code, false) => format!("{code}.as_str()"),
        }
    }

    /// Returns an expression for pieces, and true where it is a `&str` and no `String`.
    pub(super) fn expression(&mut self, pieces: &[Piece]) -> (String, bool) {
        match pieces {
            [] => ("\"\"".to_owned(), true),
            [Piece::Literal(text)] => (quote_code(text), true),
            [Piece::Bytes(bytes)] => (quote_code(&String::from_utf8_lossy(bytes)), true),
            [piece] if self.value(piece).1 => self.value(piece),
            pieces => (self.format(pieces, ValueContext::Plain), false),
        }
    }

    /// Returns an expression for a URL.
    pub(super) fn url(&mut self, url: &Text) -> String {
        match url.pieces() {
            pieces @ ([] | [_]) => self.expression(pieces).0,
            pieces => self.format(pieces, ValueContext::Url),
        }
    }

    /// Returns an expression for a body.
    pub(super) fn body(&mut self, body: &Text, exchange: &Exchange) -> String {
        let is_json = exchange
            .content_type()
            .is_some_and(|ty| ty.contains("json"));
        match body.pieces() {
            [Piece::Bytes(bytes)] => format!("{}.as_slice()", quote_bytes(bytes)),
            pieces @ [_, _, ..] if is_json => self.format(pieces, ValueContext::Json),
            _ => self.owned(body),
        }
    }

    /// Returns `format!(..)`.
    fn format(&mut self, pieces: &[Piece], context: ValueContext) -> String {
        let literal = |at: Option<usize>| match at.and_then(|at| pieces.get(at)) {
            Some(Piece::Literal(text)) => text.as_str(),
            _ => "",
        };
        // A value between quotes is written as JSON, with quotes of its own.
        let is_string = |at: usize| {
            let before = literal(at.checked_sub(1));
            context == ValueContext::Json
                && !matches!(pieces.get(at), None | Some(Piece::Literal(_)))
                && before.ends_with('"')
                && !before.ends_with("\\\"")
                && literal(Some(at + 1)).starts_with('"')
        };
        let (mut format, mut arguments) = (String::new(), String::new());
        for (at, piece) in pieces.iter().enumerate() {
            if let Piece::Literal(text) = piece {
                let start = usize::from(at > 0 && is_string(at - 1));
                let end = text.len() - usize::from(is_string(at + 1));
                let text = text.get(start..end).unwrap_or_default();
                format.push_str(&text.replace('{', "{{").replace('}', "}}"));
                continue;
            }
            let (code, is_text) = self.value(piece);
            let code = if is_string(at) {
                format!("json!({})", self.json_value(piece))
            } else if context == ValueContext::Url && is_text && at > 0 {
                self.uses.functions.insert("encoded");
                format!("encoded({code})")
            } else {
                code
            };
            // A `String` is formatted as it is.
            let code = code.strip_suffix(".as_str()").unwrap_or(&code);
            if code.contains(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
                format.push_str("{}");
                let _ = write!(arguments, ", {code}");
            } else {
                let _ = write!(format, "{{{code}}}");
            }
        }
        format!("format!({}{arguments})", quote_code(&format))
    }

    /// Returns `secret("NAME")`.
    fn secret(&self, number: usize) -> String {
        let name = &self.scope.recording.secrets[number].name;
        format!("secret({})", quote_text(name))
    }

    /// Returns an expression for a value of JSON.
    pub(super) fn json_value(&mut self, piece: &Piece) -> String {
        let is_bare = match piece {
            Piece::Reference(at) => self.scope.recording.references[*at].is_bare,
            Piece::Run(value) => self.scope.is_bare(value),
            _ => false,
        };
        match self.value(piece) {
            (code, is_text) if is_text || is_bare => code,
            (code, _) => format!("{code}.to_string()"),
        }
    }

    /// Returns an expression for a value, and true for a `&str`.
    fn value(&mut self, piece: &Piece) -> (String, bool) {
        let scope = self.scope;
        match piece {
            Piece::Secret(number) => (format!("{}.expose()", self.secret(*number)), true),
            Piece::Constant(number) => (scope.recording.constants[*number].name.clone(), true),
            Piece::Run(value) => self.run_value(value),
            Piece::Reference(at) if scope.has(*at) => {
                let reference = &scope.recording.references[*at];
                let key = (&reference.from, reference.is_bare);
                if let Some(known) = self.variables.get(&key) {
                    return known.clone();
                }
                let (code, is_text) = self.origin(&reference.from, reference.is_bare);
                let name = self.hold(reference.from.word(), &code);
                self.variables.insert(key, (name.clone(), is_text));
                (name, is_text)
            }
            _ => ("\"unknown\"".to_owned(), true),
        }
    }

    /// Returns a variable with a value of the virtual user.
    fn user_variable(&mut self, value: &RunValue, name: &str, code: &str) -> String {
        self.draws = true;
        let known = self.user_values.get(value).cloned();
        let name = known.unwrap_or_else(|| self.hold(name, code));
        // A UUID is another one each time.
        if *value != RunValue::Uuid {
            self.user_values.insert(value.clone(), name.clone());
        }
        name
    }

    /// Returns an expression for a text of the virtual user.
    fn user_text(&mut self, value: &RunValue, name: &str, code: &str) -> (String, bool) {
        let name = self.user_variable(value, name, code);
        (format!("{name}.as_str()"), true)
    }

    /// Returns an expression for a value that a run makes, and true for a `&str`.
    fn run_value(&mut self, value: &RunValue) -> (String, bool) {
        let code = match value {
            RunValue::Row { feed, column } => {
                let name = &self.scope.feeds[feed];
                if let Some(texts) = self.scope.texts_of_one_step(*feed) {
                    let texts: Vec<_> = texts.iter().map(|text| quote_code(text)).collect();
                    let code = format!("*vu.choose(&[{}])?", texts.join(", "));
                    self.uses.drawn.insert(*feed);
                    self.is_fallible = true;
                    return (self.user_variable(value, name, &code), true);
                }
                self.feeds.insert(*feed);
                let (code, is_text) = self.scope.types.rows[feed].code(name, column.as_deref());
                self.is_fallible |= code.ends_with('?');
                return (code, is_text);
            }
            RunValue::User | RunValue::Iteration => {
                self.draws = true;
                let method = if *value == RunValue::User {
                    "id"
                } else {
                    "iteration"
                };
                return (format!("vu.{method}()"), false);
            }
            RunValue::Now => {
                self.draws = true;
                return ("vu.now()".to_owned(), false);
            }
            RunValue::Uuid => return self.user_text(value, "uuid", "vu.uuid()"),
            RunValue::Unique => return self.user_text(value, "unique", "vu.unique()"),
            RunValue::Origin => {
                return self.user_text(value, "origin", "vu.origin().to_owned()");
            }
            RunValue::UnixSeconds => "(unix_millis() / 1000)",
            RunValue::UnixMillis => "unix_millis()",
        };
        self.uses.functions.insert("unix_millis");
        (code.to_owned(), false)
    }

    /// Returns an expression for a value of an answer.
    fn origin(&mut self, origin: &Origin, is_bare: bool) -> (String, bool) {
        let scope = self.scope;
        let step = scope.step(origin.exchange());
        if let Origin::Body { exchange, path } = origin {
            return self.json_value_of(*exchange, path, origin.word(), is_bare);
        }
        self.is_fallible = true;
        let is_page = scope.answer(origin.exchange()) == Some(&Shape::Page);
        let text = match origin {
            Origin::Between { .. } if is_page => self.hold("text", &format!("{step}.text().ok()?")),
            _ => step.to_owned(),
        };
        let mut call = |function: &'static str, arguments: &[&str]| {
            self.uses.functions.extend([function, "between"]);
            let arguments: Vec<_> = arguments.iter().map(|text| quote_code(text)).collect();
            format!("{function}({text}, {})?", arguments.join(", "))
        };
        let code = match origin {
            Origin::Body { .. } => return ("\"unknown\"".to_owned(), true),
            Origin::Page {
                row: Some(text),
                find,
                ..
            } => {
                let text = self.argument(text);
                let row = self.hold("row", &format!("{step}.row({text}).ok()?"));
                self.find_in_page(&row, find)
            }
            Origin::Page { find, .. } => self.find_in_page(step, find),
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
        (code, true)
    }

    /// Returns an expression for a value in JSON, and true for a `&str`.
    fn json_value_of(
        &mut self,
        exchange: usize,
        path: &[Key],
        word: &str,
        is_bare: bool,
    ) -> (String, bool) {
        let scope = self.scope;
        let step = scope.step(exchange);
        let (code, is_text, is_seen) = match scope.answer(exchange) {
            // The answer is read as text, in which something else is found.
            Some(shape @ (Shape::Text | Shape::Page)) => {
                let text = match shape {
                    Shape::Page => self.hold("text", &format!("{step}.text().ok()?")),
                    _ => step.to_owned(),
                };
                self.is_fallible = true;
                let answer = self.hold("answer", &format!("{text}.parse::<Value>().ok()?"));
                let (code, is_text) = self.json_path(&answer, &Shape::Any, path, is_bare);
                (code, is_text, false)
            }
            shape => {
                let shape = shape.unwrap_or(&Shape::Any);
                let (code, is_text) = self.json_path(step, shape, path, is_bare);
                let is_seen = scope.recording.exchanges[exchange].answer.is_some();
                (code, is_text, is_seen)
            }
        };
        match code.strip_suffix(".as_str()?") {
            // A value that was not seen may be a number.
            Some(value) if !is_seen => {
                self.uses.functions.insert("value_text");
                let borrow = if value.ends_with('?') { "" } else { "&" };
                let code = format!("value_text({borrow}{value})?");
                let text = self.hold(&format!("{word}_text"), &code);
                (format!("{text}.as_str()"), true)
            }
            _ => (code, is_text),
        }
    }

    /// Returns the expression of a path through JSON.
    fn json_path(
        &mut self,
        begin: &str,
        shape: &Shape,
        path: &[Key],
        is_bare: bool,
    ) -> (String, bool) {
        let mut code = begin.to_owned();
        let mut shape = shape;
        let mut is_borrowed = path.is_empty();
        for key in path {
            let mut is_present = false;
            shape = match (key, shape) {
                (Key::Item(at), Shape::List(item)) => {
                    let _ = match at {
                        0 => write!(code, ".first()?"),
                        _ => write!(code, ".get({at})?"),
                    };
                    item
                }
                (Key::Field(key), known @ Shape::Struct(..)) => {
                    let Some(field) = known.field(key) else { break };
                    is_present = !field.is_optional;
                    let end = if is_present { "" } else { ".as_ref()?" };
                    let _ = write!(code, ".{}{end}", identifier(&field.name));
                    &field.shape
                }
                (Key::Item(at), _) => {
                    let _ = write!(code, ".get({at})?");
                    &Shape::Any
                }
                (Key::Field(key), _) => {
                    let _ = write!(code, ".get({})?", quote_code(key));
                    &Shape::Any
                }
            };
            is_borrowed = !is_present;
            self.is_fallible |= is_borrowed;
        }
        match shape {
            Shape::Text => (code + ".as_str()", true),
            Shape::Plain(_) => (code, false),
            Shape::List(_) => (format!("json!(&{code})"), false),
            _ if is_bare && is_borrowed => (code, false),
            _ if is_bare => (format!("&{code}"), false),
            _ => {
                self.is_fallible = true;
                (code + ".as_str()?", true)
            }
        }
    }

    /// Returns an expression of type `&str` for a part of a page.
    fn find_in_page(&mut self, page: &str, find: &PageFind) -> String {
        let (method, argument, number) = match find {
            PageFind::Field { name, number: 0 } => {
                return format!("{page}.field({}).ok()?", quote_code(name));
            }
            PageFind::Link { text } => {
                return format!("{page}.link({}).ok()?", self.argument(text));
            }
            PageFind::Option { name, text } => {
                let (name, text) = (quote_code(name), self.argument(text));
                return format!("{page}.option({name}, {text}).ok()?");
            }
            PageFind::Field { name, number } => ("values", name, number),
            PageFind::OptionAt { name, number } => ("options", name, number),
            PageFind::Address { pattern, number } => ("addresses", pattern, number),
            PageFind::Id { pattern, number } => ("ids_in", pattern, number),
            PageFind::Data { name, number } => ("data", name, number),
        };
        let nth = match number {
            0 => "next()".to_owned(),
            number => format!("nth({number})"),
        };
        format!("{page}.{method}({}).{nth}?", quote_code(argument))
    }

    /// Returns an argument of type `&str`.
    fn argument(&mut self, text: &Text) -> String {
        match self.expression(text.pieces()) {
            (code, true) => code,
            (code, false) => format!("&{code}"),
        }
    }
}
