//! What a script keeps, as far as it is a part of the answer that can be named.

use super::super::super::marked::Key;
use super::tokens::{self, Token};
use std::collections::HashMap;
use std::rc::Rc;

/// How deep expressions may be within each other.
const DEEPEST: usize = 20;
/// The most parts that a value may have.
const MOST_PARTS: usize = 16;
/// The longest text that is kept.
const LONGEST: usize = 1024;

/// A part of a value that a script keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// This text.
    Text(String),
    /// What is at this path of the JSON that was answered.
    Json(Vec<Key>),
    /// The header of the answer with this name.
    Header(String),
    /// The cookie with this name.
    Cookie(String),
    /// The value that another variable has by then.
    Variable(String),
}

/// A value, and what leads to one.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// The answer itself.
    Answer,
    /// Its headers.
    Headers,
    /// Its body as text.
    Body,
    /// What can be kept.
    Kept(Vec<Part>),
}

impl Value {
    fn of(part: Part) -> Self {
        Self::Kept(vec![part])
    }

    /// What of it can be kept in a variable.
    pub(super) fn parts(self) -> Option<Vec<Part>> {
        match self {
            Self::Kept(parts) => Some(parts),
            _ => None,
        }
    }
}

/// Reads expressions, with the names that are known so far.
pub(super) struct Expressions<'t> {
    pub(super) tokens: &'t [Token],
    pub(super) names: Rc<HashMap<String, Value>>,
}

impl<'t> Expressions<'t> {
    pub(super) fn sign(&self, at: usize, sign: &str) -> bool {
        matches!(self.tokens.get(at), Some(Token::Sign(found)) if *found == sign)
    }

    pub(super) fn word(&self, at: usize) -> Option<&'t str> {
        match self.tokens.get(at)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn text(&self, at: usize) -> Option<&'t str> {
        match self.tokens.get(at)? {
            Token::Text(text) => Some(text),
            Token::Template(text) if !text.contains("${") => Some(text),
            _ => None,
        }
    }

    /// Whether these words come one after another, with dots between them; the place behind them.
    pub(super) fn path(&self, at: usize, words: &[&str]) -> Option<usize> {
        let mut at = at;
        for (number, word) in words.iter().enumerate() {
            if number > 0 {
                (self.sign(at, ".") || self.sign(at, "?.")).then_some(())?;
                at += 1;
            }
            (self.word(at) == Some(*word)).then_some(())?;
            at += 1;
        }
        Some(at)
    }

    /// `("text")` at a place, and the place behind it.
    fn call(&self, at: usize) -> Option<(&'t str, usize)> {
        let text = self.text(at + 1)?;
        (self.sign(at, "(") && self.sign(at + 2, ")")).then_some((text, at + 3))
    }

    /// The value of an expression, where all of it is understood, and the place behind it. Of `a || b` it is `a`.
    pub(super) fn value(&self, at: usize, depth: usize) -> Option<(Value, usize)> {
        let (mut value, mut at) = self.term(at, depth)?;
        while self.sign(at, "+") {
            let (other, behind) = self.term(at + 1, depth)?;
            let mut parts = value.parts()?;
            parts.extend(other.parts()?);
            let length: usize = parts
                .iter()
                .map(|part| match part {
                    Part::Text(text) => text.len(),
                    _ => 0,
                })
                .sum();
            (parts.len() <= MOST_PARTS && length <= LONGEST).then_some(())?;
            (value, at) = (Value::Kept(parts), behind);
        }
        let goes_on = match self.tokens.get(at) {
            Some(Token::Sign(sign)) => !matches!(*sign, ")" | "," | ";" | "}" | "||" | "??" | "]"),
            // Another statement, on a line of its own.
            _ => false,
        };
        (!goes_on).then_some((value, at))
    }

    fn term(&self, at: usize, depth: usize) -> Option<(Value, usize)> {
        (depth < DEEPEST).then_some(())?;
        let (mut value, mut at) = self.first(at, depth)?;
        loop {
            if self.sign(at, "?.") && self.sign(at + 1, "[") {
                at += 1;
            }
            if (self.sign(at, ".") || self.sign(at, "?.")) && self.word(at + 1).is_some() {
                let word = self.word(at + 1)?;
                if self.sign(at + 2, "(") {
                    (value, at) = self.method(value, word, at + 2)?;
                } else {
                    (value, at) = (field(value, word)?, at + 2);
                }
            } else if self.sign(at, "[") {
                (self.sign(at + 2, "]")).then_some(())?;
                value = match self.tokens.get(at + 1)? {
                    Token::Number(number) => item(value, number.parse().ok()?)?,
                    _ => field(value, self.text(at + 1)?)?,
                };
                at += 3;
            } else {
                return Some((value, at));
            }
        }
    }

    /// What a term begins with.
    fn first(&self, at: usize, depth: usize) -> Option<(Value, usize)> {
        let text = |text: &str| Value::of(Part::Text(text.to_owned()));
        match self.tokens.get(at)? {
            Token::Text(value) | Token::Number(value) => return Some((text(value), at + 1)),
            Token::Template(template) => return Some((self.template(template, depth)?, at + 1)),
            Token::Sign("(") => {
                let (value, at) = self.value(at + 1, depth + 1)?;
                return self.sign(at, ")").then_some((value, at + 1));
            }
            Token::Word(word) if word == "await" => return self.first(at + 1, depth + 1),
            _ => {}
        }
        if let Some(at) = self.path(at, &["pm", "response"]) {
            return Some((Value::Answer, at));
        }
        if let Some(at) = self.path(at, &["pm", "cookies", "get"]) {
            let (name, at) = self.call(at)?;
            return Some((Value::of(Part::Cookie(name.to_owned())), at));
        }
        for scope in ["environment", "collectionVariables", "globals", "variables"] {
            if let Some(at) = self.path(at, &["pm", scope, "get"]) {
                let (name, at) = self.call(at)?;
                return Some((Value::of(Part::Variable(name.to_owned())), at));
            }
        }
        for getter in ["getEnvironmentVariable", "getGlobalVariable"] {
            if let Some(at) = self.path(at, &["postman", getter]) {
                let (name, at) = self.call(at)?;
                return Some((Value::of(Part::Variable(name.to_owned())), at));
            }
        }
        if let Some(at) = self.path(at, &["postman", "getResponseHeader"]) {
            let (name, at) = self.call(at)?;
            return Some((Value::of(Part::Header(name.to_owned())), at));
        }
        if let Some(at) = self.path(at, &["postman", "getResponseCookie"]) {
            let (name, at) = self.call(at)?;
            let at = self
                .path(at + 1, &["value"])
                .filter(|_| self.sign(at, "."))?;
            return Some((Value::of(Part::Cookie(name.to_owned())), at));
        }
        if let Some(at) = self
            .path(at, &["JSON", "parse"])
            .filter(|at| self.sign(*at, "("))
        {
            let (value, at) = self.value(at + 1, depth + 1)?;
            let is_whole = value == Value::Body && self.sign(at, ")");
            return is_whole.then(|| (Value::of(Part::Json(Vec::new())), at + 1));
        }
        let word = self.word(at)?;
        if matches!(word, "String" | "Number" | "parseInt") && self.sign(at + 1, "(") {
            let (value, at) = self.value(at + 2, depth + 1)?;
            return self.sign(at, ")").then_some((value, at + 1));
        }
        let value = match word {
            "responseBody" => Value::Body,
            "responseHeaders" => Value::Headers,
            word => self.names.get(word)?.clone(),
        };
        Some((value, at + 1))
    }

    /// What a method gives that is called at `(`.
    fn method(&self, value: Value, word: &str, at: usize) -> Option<(Value, usize)> {
        let is_empty = self.sign(at + 1, ")");
        match (&value, word) {
            (Value::Answer, "json") if is_empty => {
                Some((Value::of(Part::Json(Vec::new())), at + 2))
            }
            (Value::Answer, "text") if is_empty => Some((Value::Body, at + 2)),
            (Value::Headers, "get") => {
                let (name, at) = self.call(at)?;
                Some((Value::of(Part::Header(name.to_owned())), at))
            }
            (Value::Kept(_), "toString" | "trim" | "valueOf") if is_empty => Some((value, at + 2)),
            (Value::Kept(_), "at") if self.sign(at + 2, ")") => match self.tokens.get(at + 1)? {
                Token::Number(number) => Some((item(value, number.parse().ok()?)?, at + 3)),
                _ => None,
            },
            _ => None,
        }
    }

    /// A text between backticks.
    fn template(&self, template: &str, depth: usize) -> Option<Value> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("${") {
            let (inside, after) = after.split_once('}')?;
            let tokens = tokens::read(inside);
            let inner = Expressions {
                tokens: &tokens,
                names: Rc::clone(&self.names),
            };
            let (value, behind) = inner.value(0, depth + 1)?;
            (behind == tokens.len()).then_some(())?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.extend(value.parts()?);
            (parts.len() < MOST_PARTS).then_some(())?;
            rest = after;
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Some(Value::Kept(parts))
    }
}

/// A field of what was answered.
pub(super) fn field(value: Value, name: &str) -> Option<Value> {
    match value {
        Value::Answer if name == "headers" => Some(Value::Headers),
        Value::Headers => Some(Value::of(Part::Header(name.to_owned()))),
        value => longer(value, Key::Field(name.to_owned())),
    }
}

fn item(value: Value, number: usize) -> Option<Value> {
    longer(value, Key::Item(number))
}

fn longer(value: Value, key: Key) -> Option<Value> {
    let mut parts = value.parts()?;
    match parts.as_mut_slice() {
        // `length` of a list is no field of it.
        [Part::Json(path)] if path.len() < DEEPEST && key != Key::Field("length".to_owned()) => {
            path.push(key);
            Some(Value::Kept(parts))
        }
        _ => None,
    }
}
