//! Reads the idioms of scripts. Scripts are never run, and expressions never evaluated.

mod tokens;

use super::super::recording::Key;
use std::collections::HashMap;
use tokens::{Token, split_tokens};

/// Longest script that is read, in bytes.
const LONGEST: usize = 256 * 1024;
/// Deepest value in an answer.
const DEEPEST: usize = 10;
/// Most variables that a script may set.
const MOST_SETS: usize = 100;

/// The known parts of a script.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// The variables that it sets, in their order; no value where it is not known.
    pub(super) sets: Vec<(String, Option<Kept>)>,
    /// The statuses that it expects.
    pub(super) statuses: Vec<u16>,
    /// Whether it checks something else.
    pub(super) checks_more: bool,
    /// Other effects, as the end of a sentence: `sends a request of its own`.
    pub(super) effects: Vec<&'static str>,
}

/// A value that a script keeps in a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    Text(String),
    /// The value at this path of the JSON that was answered.
    Json(Vec<Key>),
    /// The header of the answer with this name.
    Header(String),
}

/// A part of the answer, as an expression names it.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    Answer,
    Headers,
    Body,
    Kept(Kept),
}

const SETTERS: [&[&str]; 6] = [
    &["pm", "environment", "set"],
    &["pm", "collectionVariables", "set"],
    &["pm", "globals", "set"],
    &["pm", "variables", "set"],
    &["postman", "setEnvironmentVariable"],
    &["postman", "setGlobalVariable"],
];
const EFFECTS: [(&[&str], &str); 6] = [
    (&["pm", "sendRequest"], "sends a request of its own"),
    (
        &["postman", "setNextRequest"],
        "chooses the request that follows",
    ),
    (
        &["pm", "execution", "setNextRequest"],
        "chooses the request that follows",
    ),
    (
        &["pm", "execution", "skipRequest"],
        "may leave the request out",
    ),
    (&["pm", "execution", "runRequest"], "sends another request"),
    (&["pm", "vault"], "reads the vault"),
];
/// Methods that change the request.
const CHANGES: [&str; 5] = ["add", "upsert", "remove", "update", "addHeader"];

/// Reads a script.
pub(super) fn read_script(script: &str) -> Script {
    if script.len() > LONGEST {
        return Script {
            effects: vec!["is too long to be read"],
            ..Script::default()
        };
    }
    let tokens = split_tokens(script);
    let mut reader = ScriptReader {
        names: HashMap::new(),
        script: Script::default(),
        tokens: &tokens,
    };
    for at in 0..tokens.len() {
        reader.read_statement(at);
    }
    reader.script
}

struct ScriptReader<'t, 's> {
    tokens: &'t [Token<'s>],
    /// Names of variables of the script for parts of the answer.
    names: HashMap<&'s str, Source>,
    script: Script,
}

impl<'s> ScriptReader<'_, 's> {
    fn is(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&Token::Sign(sign))
    }

    fn word(&self, at: usize) -> Option<&'s str> {
        match self.tokens.get(at)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn text(&self, at: usize) -> Option<&'s str> {
        match self.tokens.get(at)? {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the place behind these words with dots between them.
    fn skip_path(&self, mut at: usize, words: &[&str]) -> Option<usize> {
        for (number, word) in words.iter().enumerate() {
            if number > 0 {
                at = self.skip_dot(at)?;
            }
            (self.word(at)? == *word).then_some(())?;
            at += 1;
        }
        Some(at)
    }

    /// Returns the place behind `.` or `?.`.
    fn skip_dot(&self, at: usize) -> Option<usize> {
        let at = at + usize::from(self.is(at, '?'));
        self.is(at, '.').then_some(at + 1)
    }

    /// Reads the idiom that begins at a place, if one does.
    fn read_statement(&mut self, at: usize) {
        let is_field = at > 0 && self.is(at - 1, '.');
        match self.word(at) {
            Some("status") if is_field => self.read_status_check(at),
            _ if is_field => {}
            Some("var" | "let" | "const") if self.is(at + 1, '{') => {
                self.read_destructuring(at + 2);
            }
            Some("pm" | "postman") => self.read_call(at),
            Some("tests") if self.is(at + 1, '[') => self.read_test(at + 1),
            Some(name)
                if self.is(at + 1, '=') && !self.is(at + 2, '=') && !self.is(at + 2, '>') =>
            {
                match self.read_whole_source(at + 2) {
                    Some(source) => self.names.insert(name, source),
                    None => self.names.remove(name),
                };
            }
            _ => {}
        }
    }

    /// Reads `token, user: { id } } = pm.response.json()`.
    fn read_destructuring(&mut self, mut at: usize) {
        let mut path = Vec::new();
        let mut fields = Vec::new();
        loop {
            if self.is(at, ',') {
                at += 1;
            } else if self.is(at, '}') {
                at += 1;
                if path.pop().is_none() {
                    break;
                }
            } else if let Some(field) = self.word(at).filter(|_| path.len() < DEEPEST) {
                path.push(field);
                if self.is(at + 1, ':') && self.is(at + 2, '{') {
                    at += 3;
                    continue;
                }
                let renamed = self.word(at + 2).filter(|_| self.is(at + 1, ':'));
                fields.push((renamed.unwrap_or(field), path.clone()));
                at += if renamed.is_some() { 3 } else { 1 };
                path.pop();
            } else {
                return;
            }
        }
        let source = self.is(at, '=').then(|| self.read_whole_source(at + 1));
        let source = source.flatten();
        for (name, path) in fields {
            let mut path = path.into_iter();
            match path.try_fold(source.clone(), |source, field| Some(source?.field(field))) {
                Some(Some(source)) => self.names.insert(name, source),
                _ => self.names.remove(name),
            };
        }
    }

    /// Reads a part of the answer that is a whole expression. Of `a || b` it is `a`.
    fn read_whole_source(&self, at: usize) -> Option<Source> {
        let (source, at) = self.read_source(at)?;
        let ends = match self.tokens.get(at) {
            Some(Token::Sign('?')) => self.is(at + 1, '?'),
            Some(Token::Sign(sign)) => matches!(sign, ')' | ']' | '}' | ',' | ';' | '|'),
            _ => true,
        };
        ends.then_some(source)
    }

    /// Reads a part of the answer; also returns the place behind it.
    fn read_source(&self, at: usize) -> Option<(Source, usize)> {
        let (mut source, mut at) = self.read_root(at)?;
        loop {
            let behind_dot = self.skip_dot(at);
            let is_index = |at| self.is(at, '[');
            if let Some(open) = [Some(at), behind_dot]
                .into_iter()
                .flatten()
                .find(|at| is_index(*at))
            {
                self.is(open + 2, ']').then_some(())?;
                source = match self.tokens.get(open + 1)? {
                    Token::Number(number) => source.item(number.parse().ok()?)?,
                    _ => source.field(self.text(open + 1)?)?,
                };
                at = open + 3;
            } else if let Some(word) = behind_dot.and_then(|at| self.word(at)) {
                at = behind_dot? + 1;
                if self.is(at, '(') {
                    (source, at) = self.read_method(source, word, at)?;
                } else {
                    source = source.field(word)?;
                }
            } else {
                return Some((source, at));
            }
        }
    }

    fn read_root(&self, at: usize) -> Option<(Source, usize)> {
        if let Some(at) = self.skip_path(at, &["pm", "response"]) {
            return Some((Source::Answer, at));
        }
        if let Some(open) = self.skip_path(at, &["postman", "getResponseHeader"]) {
            let name = self.text(open + 1)?.to_owned();
            let is_call = self.is(open, '(') && self.is(open + 2, ')');
            return is_call.then_some((Source::Kept(Kept::Header(name)), open + 3));
        }
        if let Some(open) = self.skip_path(at, &["JSON", "parse"]) {
            let (source, at) = self.read_source(open + 1)?;
            let is_whole = source == Source::Body && self.is(open, '(') && self.is(at, ')');
            return is_whole.then_some((Source::Kept(Kept::Json(Vec::new())), at + 1));
        }
        let source = match self.word(at)? {
            "responseBody" => Source::Body,
            "responseHeaders" => Source::Headers,
            name => self.names.get(name)?.clone(),
        };
        Some((source, at + 1))
    }

    fn read_method(&self, source: Source, name: &str, open: usize) -> Option<(Source, usize)> {
        let result = match (source, name) {
            (Source::Headers, "get") => {
                let header = self.text(open + 1).filter(|_| self.is(open + 2, ')'))?;
                let source = Source::Kept(Kept::Header(header.to_owned()));
                return Some((source, open + 3));
            }
            (Source::Answer, "json") => Source::Kept(Kept::Json(Vec::new())),
            (Source::Answer, "text") => Source::Body,
            (source @ Source::Kept(_), "toString" | "trim") => source,
            _ => return None,
        };
        self.is(open + 1, ')').then_some((result, open + 2))
    }

    /// Reads a call of Postman's own functions.
    fn read_call(&mut self, at: usize) {
        for setter in SETTERS {
            if let Some(open) = self
                .skip_path(at, setter)
                .filter(|open| self.is(*open, '('))
            {
                return self.read_setter(open);
            }
        }
        let mut effects = EFFECTS.iter();
        if let Some((_, effect)) = effects.find(|(path, _)| self.skip_path(at, path).is_some()) {
            return self.add_effect(effect);
        }
        if let Some(mut at) = self.skip_path(at, &["pm", "request"]) {
            while self.is(at, '.') {
                let word = self.word(at + 1).unwrap_or_default();
                if CHANGES.contains(&word) || self.is(at + 2, '=') && !self.is(at + 3, '=') {
                    return self.add_effect("changes the request");
                }
                at += 2;
            }
        } else if let Some(open) = self.skip_path(at, &["pm", "expect"]) {
            self.read_expectation(open);
        }
    }

    fn add_effect(&mut self, effect: &'static str) {
        if !self.script.effects.contains(&effect) {
            self.script.effects.push(effect);
        }
    }

    /// Reads `("name", value)`.
    fn read_setter(&mut self, open: usize) {
        let Some(name) = self.text(open + 1) else {
            return self.add_effect("sets variables");
        };
        let kept = match self.tokens.get(open + 3) {
            _ if !self.is(open + 2, ',') => None,
            Some(Token::Text(text) | Token::Number(text)) if self.is(open + 4, ')') => {
                Some(Kept::Text((*text).to_owned()))
            }
            _ => match self.read_whole_source(open + 3) {
                Some(Source::Kept(kept)) => Some(kept),
                _ => None,
            },
        };
        if self.script.sets.len() < MOST_SETS {
            self.script.sets.push((name.to_owned(), kept));
        }
    }

    /// Reads `status(201)` behind `pm.response.to.have.`.
    fn read_status_check(&mut self, at: usize) {
        if !self.is(at + 1, '(') {
            return;
        }
        let named = match self.text(at + 2) {
            Some("OK") => Some(200),
            Some("Created") => Some(201),
            Some("Accepted") => Some(202),
            Some("No Content") => Some(204),
            _ => self.status(at + 2),
        };
        let chain = (1..10).map_while(|back| at.checked_sub(2 * back));
        let mut chain = chain.take_while(|at| self.is(at + 1, '.'));
        let is_negated = chain.any(|at| self.word(at) == Some("not"));
        self.expect_statuses(named.filter(|_| !is_negated).into_iter().collect());
    }

    fn status(&self, at: usize) -> Option<u16> {
        match self.tokens.get(at)? {
            Token::Number(number) => number.parse().ok().filter(|code| (100..600).contains(code)),
            _ => None,
        }
    }

    /// Adds statuses; none is a check of something else.
    fn expect_statuses(&mut self, statuses: Vec<u16>) {
        self.script.checks_more |= statuses.is_empty();
        for status in statuses {
            if !self.script.statuses.contains(&status) {
                self.script.statuses.push(status);
            }
        }
    }

    /// Returns the place behind the status of the answer.
    fn skip_status(&self, at: usize) -> Option<usize> {
        let new = self.skip_path(at, &["pm", "response", "code"]);
        new.or_else(|| self.skip_path(at, &["responseCode", "code"]))
    }

    /// Reads `(pm.response.code).to.equal(201)`.
    fn read_expectation(&mut self, open: usize) {
        let mut words = Vec::new();
        let mut at = self.skip_status(open + 1).map_or(0, |at| at + 1);
        while at > 0 && self.is(at, '.') {
            words.extend(self.word(at + 1));
            at += 2;
        }
        let statuses = match words.last() {
            _ if words.contains(&"not") => Vec::new(),
            Some(&("equal" | "equals" | "eql" | "eq")) => self.status(at + 1).into_iter().collect(),
            Some(&"oneOf") => {
                let items = (at + 2..).step_by(2);
                items.map_while(|at| self.status(at)).collect()
            }
            _ => Vec::new(),
        };
        self.expect_statuses(statuses);
    }

    /// Reads `["name"] = responseCode.code === 200`.
    fn read_test(&mut self, open: usize) {
        let is_assigned = self.is(open + 2, ']') && self.is(open + 3, '=');
        let at = self.skip_status(open + 4).filter(|_| is_assigned);
        let at = at.filter(|at| self.is(*at, '=') && self.is(at + 1, '='));
        let status = at.and_then(|at| self.status(at + 2 + usize::from(self.is(at + 2, '='))));
        self.expect_statuses(status.into_iter().collect());
    }
}

impl Source {
    fn field(self, name: &str) -> Option<Self> {
        match self {
            Self::Answer if name == "headers" => Some(Self::Headers),
            Self::Headers => Some(Self::Kept(Kept::Header(name.to_owned()))),
            // The length of a list is not a field of it.
            source if name != "length" => source.with_key(Key::Field(name.to_owned())),
            _ => None,
        }
    }

    fn item(self, number: usize) -> Option<Self> {
        self.with_key(Key::Item(number))
    }

    fn with_key(self, key: Key) -> Option<Self> {
        match self {
            Self::Kept(Kept::Json(mut path)) if path.len() < DEEPEST => {
                path.push(key);
                Some(Self::Kept(Kept::Json(path)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
