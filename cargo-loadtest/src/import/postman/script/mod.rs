//! Reads the idioms of scripts. Scripts are never run, and expressions never evaluated.

mod tokens;

use super::super::recording::Key;
use std::collections::HashMap;
use tokens::{Token, split_tokens};

/// Most links of a chain.
const MOST_LINKS: usize = 16;
/// Most tokens of the arguments of a call that something may follow.
const MOST_ARGUMENTS: usize = 32;
const SETTERS: [&str; 6] = [
    "pm.environment.set()",
    "pm.collectionVariables.set()",
    "pm.globals.set()",
    "pm.variables.set()",
    "postman.setEnvironmentVariable()",
    "postman.setGlobalVariable()",
];
/// Methods that change the request.
const CHANGES: [&str; 5] = [
    ".add()",
    ".upsert()",
    ".remove()",
    ".update()",
    ".addHeader()",
];
/// Other calls: how they begin, and their effect.
const EFFECTS: &str = include_str!("../../data/postman-effects.tsv");

/// The known parts of a script.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScriptIdioms {
    /// The variables that it sets, in their order; no value where it is not known.
    pub(super) sets: Vec<(String, Option<KeptValue>)>,
    /// The statuses that it expects.
    pub(super) statuses: Vec<u16>,
    /// True where it checks something else.
    pub(super) checks_more: bool,
    /// Other effects, as the end of a sentence: `sends a request of its own`.
    pub(super) effects: Vec<&'static str>,
}

/// A value that a script keeps in a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeptValue {
    Text(String),
    /// The value at this path of the JSON that was answered.
    Json(Vec<Key>),
    /// The header of the answer with this name.
    Header(String),
}

/// A part of an expression such as `pm.response.json().items[0]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChainLink<'s> {
    /// `.id` or `["id"]`; also the first word.
    Name(&'s str),
    /// `[0]`
    Item(usize),
    /// A call, with the place of its first argument.
    Call(usize),
}

use ChainLink::{Call, Item, Name};

/// Reads a script.
pub(super) fn read_script(script: &str) -> ScriptIdioms {
    let tokens = split_tokens(script);
    let mut reader = ScriptReader {
        names: HashMap::new(),
        script: ScriptIdioms::default(),
        tokens: &tokens,
    };
    for at in 0..tokens.len() {
        reader.read_statement(at);
    }
    reader.script
}

struct ScriptReader<'t, 's> {
    tokens: &'t [Token<'s>],
    /// Variables of the script that stand for parts of the answer.
    names: HashMap<&'s str, Vec<ChainLink<'s>>>,
    script: ScriptIdioms,
}

impl<'s> ScriptReader<'_, 's> {
    fn is_sign(&self, at: usize, sign: char) -> bool {
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

    /// Reads the idiom that begins at a place, if one does.
    fn read_statement(&mut self, at: usize) {
        let Some(word) = self
            .word(at)
            .filter(|_| at == 0 || !self.is_sign(at - 1, '.'))
        else {
            return;
        };
        let is_assigned = |at| self.is_sign(at, '=') && !self.is_sign(at + 1, '=');
        match word {
            "var" | "let" | "const" if self.is_sign(at + 1, '{') => self.read_destructuring(at + 2),
            "tests" if self.is_sign(at + 1, '[') => self.read_test(at + 4),
            name if is_assigned(at + 1) && !self.is_sign(at + 2, '>') => {
                let chain = self.read_whole_chain(at + 2);
                self.assign(name, chain);
            }
            _ => self.read_call(at),
        }
    }

    /// Keeps a name for a part of the answer.
    fn assign(&mut self, name: &'s str, chain: Option<Vec<ChainLink<'s>>>) {
        let chain = chain.filter(|chain| {
            matches!(
                chain.as_slice(),
                [Name("responseBody" | "responseHeaders" | "JSON"), ..]
                    | [Name("pm"), Name("response"), ..]
                    | [Name("postman"), Name("getResponseHeader"), ..]
            )
        });
        match chain {
            Some(chain) => self.names.insert(name, chain),
            None => self.names.remove(name),
        };
    }

    /// Reads `token, user: { id: user } } = pm.response.json()`.
    fn read_destructuring(&mut self, mut at: usize) {
        let (mut path, mut fields) = (Vec::new(), Vec::new());
        loop {
            if let Some(field) = self.word(at).filter(|_| path.len() < MOST_LINKS) {
                path.push(Name(field));
                let is_renamed = self.is_sign(at + 1, ':');
                at += if is_renamed { 2 } else { 0 };
                if let Some(name) = self.word(at) {
                    fields.push((name, path.clone()));
                    path.pop();
                } else if !self.is_sign(at, '{') {
                    return;
                }
            } else if self.is_sign(at, '}') {
                if path.pop().is_none() {
                    break;
                }
            } else if !self.is_sign(at, ',') {
                return;
            }
            at += 1;
        }
        let is_assigned = self.is_sign(at + 1, '=');
        let whole = is_assigned.then(|| self.read_whole_chain(at + 2)).flatten();
        for (name, path) in fields {
            let chain = whole.as_ref().map(|whole| [&whole[..], &path[..]].concat());
            self.assign(name, chain);
        }
    }

    /// Reads a chain that is a whole expression. Of `a || b` it is `a`.
    fn read_whole_chain(&self, at: usize) -> Option<Vec<ChainLink<'s>>> {
        let (chain, at) = self.read_chain(at)?;
        let ends = match self.tokens.get(at) {
            Some(Token::Sign('?')) => self.is_sign(at + 1, '?'),
            Some(Token::Sign(sign)) => matches!(sign, ')' | ']' | '}' | ',' | ';' | '|'),
            _ => true,
        };
        ends.then_some(chain)
    }

    /// Reads a chain; also returns the place behind it.
    fn read_chain(&self, at: usize) -> Option<(Vec<ChainLink<'s>>, usize)> {
        let word = self.word(at)?;
        let known = self.names.get(word);
        let mut chain = known.map_or_else(|| vec![Name(word)], Clone::clone);
        let mut at = at + 1;
        while chain.len() < MOST_LINKS {
            let dot = at + usize::from(self.is_sign(at, '?'));
            let has_dot = self.is_sign(dot, '.');
            let next = if has_dot { dot + 1 } else { at };
            if let Some(name) = self.word(next).filter(|_| has_dot) {
                chain.push(Name(name));
                at = next + 1;
            } else if self.is_sign(next, '[') {
                chain.push(match self.tokens.get(next + 1)? {
                    Token::Number(number) => Item(number.parse().ok()?),
                    _ => Name(self.text(next + 1)?),
                });
                self.is_sign(next + 2, ']').then_some(())?;
                at = next + 3;
            } else if self.is_sign(next, '(') {
                chain.push(Call(next + 1));
                match self.call_end(next) {
                    Some(end) => at = end,
                    None => return Some((chain, next)),
                }
            } else {
                return Some((chain, at));
            }
        }
        None
    }

    /// Returns the place behind the `)` of a short call.
    fn call_end(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        (open..open + MOST_ARGUMENTS).find_map(|at| {
            depth += i32::from(self.is_sign(at, '(')) - i32::from(self.is_sign(at, ')'));
            (depth == 0).then_some(at + 1)
        })
    }

    /// Returns the part of the answer that a chain names.
    fn find_value(&self, chain: &[ChainLink<'s>]) -> Option<KeptValue> {
        match chain {
            [
                Name("pm"),
                Name("response"),
                Name("json"),
                Call(_),
                path @ ..,
            ] => json_path(path),
            [Name("JSON"), Name("parse"), Call(body), path @ ..] => {
                let body = self.read_whole_chain(*body)?;
                let is_body = matches!(
                    body.as_slice(),
                    [Name("responseBody")] | [Name("pm"), Name("response"), Name("text"), Call(_)]
                );
                json_path(path).filter(|_| is_body)
            }
            [
                Name("pm"),
                Name("response"),
                Name("headers"),
                Name("get"),
                Call(name),
            ]
            | [Name("responseHeaders"), Name("get"), Call(name)]
            | [Name("postman"), Name("getResponseHeader"), Call(name)] => {
                Some(KeptValue::Header(self.text(*name)?.to_owned()))
            }
            [Name("pm"), Name("response"), Name("headers"), Name(name)]
            | [Name("responseHeaders"), Name(name)] => Some(KeptValue::Header((*name).to_owned())),
            _ => None,
        }
    }

    /// Reads a call of Postman's own functions.
    fn read_call(&mut self, at: usize) {
        let Some((chain, end)) = self.read_chain(at) else {
            return;
        };
        let path = chain_path(&chain);
        match chain.as_slice() {
            [.., Call(name)] if SETTERS.contains(&path.as_str()) => self.read_setter(*name),
            [
                Name("pm"),
                Name("response"),
                chain @ ..,
                Name("status"),
                Call(status),
            ] => {
                self.read_statuses(chain, Some(*status));
            }
            [
                Name("pm"),
                Name("expect"),
                Call(subject),
                chain @ ..,
                Name(check),
                Call(status),
            ] => {
                let is_equal = ["equal", "equals", "eql", "eq", "oneOf"].contains(check);
                let is_equal = is_equal && self.skip_status(*subject).is_some();
                let is_known = is_equal || *check == "status";
                self.read_statuses(chain, Some(*status).filter(|_| is_known));
            }
            [Name("pm"), Name("expect"), ..] => self.script.checks_more = true,
            [Name("pm"), Name("request"), ..] => {
                let is_set = self.is_sign(end, '=') && !self.is_sign(end + 1, '=');
                if is_set || CHANGES.iter().any(|change| path.ends_with(change)) {
                    self.add_effect("changes the request");
                }
            }
            _ => {
                let mut effects = EFFECTS.lines().filter_map(|row| row.split_once('\t'));
                if let Some((_, effect)) = effects.find(|(call, _)| path.starts_with(call)) {
                    self.add_effect(effect);
                }
            }
        }
    }

    fn add_effect(&mut self, effect: &'static str) {
        if !self.script.effects.contains(&effect) {
            self.script.effects.push(effect);
        }
    }

    /// Reads `"name", value)`.
    fn read_setter(&mut self, at: usize) {
        let Some(name) = self.text(at) else {
            return self.add_effect("sets variables");
        };
        let kept = match self.tokens.get(at + 2) {
            _ if !self.is_sign(at + 1, ',') => None,
            Some(Token::Text(text) | Token::Number(text)) if self.is_sign(at + 3, ')') => {
                Some(KeptValue::Text((*text).to_owned()))
            }
            _ => {
                let chain = self.read_whole_chain(at + 2);
                chain.and_then(|chain| self.find_value(&chain))
            }
        };
        self.script.sets.push((name.to_owned(), kept));
    }

    /// Reads the statuses that are expected at a place, unless the chain before it negates them. Without any, something
    /// else is checked.
    fn read_statuses(&mut self, chain: &[ChainLink<'_>], at: Option<usize>) {
        let at = at.unwrap_or(self.tokens.len());
        let named = match self.text(at) {
            Some("OK") => Some(200),
            Some("Created") => Some(201),
            Some("Accepted") => Some(202),
            Some("No Content") => Some(204),
            _ => None,
        };
        let is_list = self.is_sign(at, '[');
        let numbers = (at + usize::from(is_list)..).step_by(2);
        let numbers = numbers.map_while(|at| match self.tokens.get(at)? {
            Token::Number(number) => number.parse().ok().filter(|code| (100..600).contains(code)),
            _ => None,
        });
        let mut statuses: Vec<u16> = named.into_iter().chain(numbers).collect();
        if chain.contains(&Name("not")) {
            statuses.clear();
        }
        self.script.checks_more |= statuses.is_empty();
        for status in statuses {
            if !self.script.statuses.contains(&status) {
                self.script.statuses.push(status);
            }
        }
    }

    /// Returns the place behind the status of the answer.
    fn skip_status(&self, at: usize) -> Option<usize> {
        let (chain, end) = self.read_chain(at)?;
        let is_status = matches!(
            chain.as_slice(),
            [Name("responseCode"), Name("code")] | [Name("pm"), Name("response"), Name("code")]
        );
        is_status.then_some(end)
    }

    /// Reads `= responseCode.code === 200` behind `tests["name"]`.
    fn read_test(&mut self, at: usize) {
        let is_assigned = self.is_sign(at - 1, ']') && self.is_sign(at, '=');
        let end = self.skip_status(at + 1).filter(|_| is_assigned);
        let status = end.filter(|end| self.is_sign(*end, '=') && self.is_sign(end + 1, '='));
        let status = status.map(|end| end + 2 + usize::from(self.is_sign(end + 2, '=')));
        self.read_statuses(&[], status);
    }
}

/// Returns a chain as text without arguments: `pm.environment.set()`.
fn chain_path(chain: &[ChainLink<'_>]) -> String {
    let links = chain.iter().map(|link| match link {
        Name(name) => format!(".{name}"),
        Item(number) => format!("[{number}]"),
        Call(_) => "()".to_owned(),
    });
    links.collect::<String>().split_off(1)
}

/// Returns the value at a path of the JSON that was answered.
fn json_path(path: &[ChainLink<'_>]) -> Option<KeptValue> {
    let path = if let [path @ .., Name("toString" | "trim"), Call(_)] = path {
        path
    } else {
        path
    };
    let keys = path.iter().map(|link| match link {
        // The length of a list is not a field of it.
        Call(_) | Name("length") => None,
        Name(name) => Some(Key::Field((*name).to_owned())),
        Item(number) => Some(Key::Item(*number)),
    });
    Some(KeptValue::Json(keys.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests;
