//! Scripts, which are never run: they are read for the few things that everybody writes.

mod tokens;
mod values;

use std::collections::HashMap;
use std::rc::Rc;
use tokens::Token;
pub(super) use values::Part;
use values::{Expressions, Value, field};

/// The longest script that is looked at.
const LONGEST: usize = 256 * 1024;
/// The most variables that a script may set.
const MOST_SETS: usize = 100;
/// How deep names may be taken apart.
const DEEPEST: usize = 5;

/// What is known of a script.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// The variables that it sets, in their order; nothing where it cannot be told to what.
    pub(super) sets: Vec<(String, Option<Vec<Part>>)>,
    /// The statuses that it expects.
    pub(super) statuses: Vec<u16>,
    /// Whether it checks something else.
    pub(super) checks_more: bool,
    /// What else it does, as the end of a sentence: `sends a request of its own`.
    pub(super) deeds: Vec<&'static str>,
}

/// Reads a script.
pub(super) fn read(script: &str) -> Script {
    if script.len() > LONGEST {
        return Script {
            deeds: vec!["is too long to be looked at"],
            ..Script::default()
        };
    }
    let tokens = tokens::read(script);
    let mut reader = Reader {
        expressions: Expressions {
            tokens: &tokens,
            names: Rc::new(HashMap::new()),
        },
        script: Script::default(),
    };
    for at in 0..tokens.len() {
        reader.look(at);
    }
    reader.script
}

struct Reader<'t> {
    expressions: Expressions<'t>,
    script: Script,
}

impl Reader<'_> {
    /// Looks at what begins at a place.
    fn look(&mut self, at: usize) {
        let is_field = at > 0 && (self.is(at - 1, ".") || self.is(at - 1, "?."));
        match self.expressions.word(at) {
            _ if is_field => self.status(at),
            Some("var" | "let" | "const") if self.is(at + 1, "{") => self.take_apart(at + 1),
            Some(name) if self.is(at + 1, "=") => self.name(name, at + 2),
            Some("pm" | "postman") => self.call(at),
            Some("tests") if self.is(at + 1, "[") => self.test(at + 1),
            _ => {}
        }
    }

    fn is(&self, at: usize, sign: &str) -> bool {
        self.expressions.sign(at, sign)
    }

    fn name(&mut self, name: &str, at: usize) {
        let value = self.expressions.value(at, 0).map(|(value, _)| value);
        self.keep(name.to_owned(), value);
    }

    /// `const { token, user: { id } } = ..`.
    fn take_apart(&mut self, open: usize) {
        let mut fields = Vec::new();
        let Some(end) = self.pattern(open, &[], &mut fields) else {
            return;
        };
        let value = self
            .is(end, "=")
            .then(|| self.expressions.value(end + 1, 0));
        let value = value.flatten().map(|(value, _)| value);
        for (name, path) in fields {
            let found = path
                .iter()
                .try_fold(value.clone(), |value, key| Some(field(value?, key)));
            self.keep(name, found.flatten());
        }
    }

    fn keep(&mut self, name: String, value: Option<Value>) {
        let names = Rc::make_mut(&mut self.expressions.names);
        match value {
            Some(value) => names.insert(name, value),
            None => names.remove(&name),
        };
    }

    /// The names of a pattern and the fields that they stand for; the place behind it.
    fn pattern(
        &self,
        open: usize,
        path: &[String],
        fields: &mut Vec<(String, Vec<String>)>,
    ) -> Option<usize> {
        (path.len() < DEEPEST).then_some(())?;
        let mut at = open + 1;
        while !self.is(at, "}") {
            let key = self.expressions.word(at)?;
            let path = [path, &[key.to_owned()]].concat();
            if self.is(at + 1, ":") && self.is(at + 2, "{") {
                at = self.pattern(at + 2, &path, fields)?;
            } else if self.is(at + 1, ":") {
                fields.push((self.expressions.word(at + 2)?.to_owned(), path));
                at += 3;
            } else {
                fields.push((key.to_owned(), path));
                at += 1;
            }
            if self.is(at, ",") {
                at += 1;
            } else if !self.is(at, "}") {
                return None;
            }
        }
        Some(at + 1)
    }

    /// A call of what Postman gives to a script.
    fn call(&mut self, at: usize) {
        const SETTERS: [&[&str]; 6] = [
            &["pm", "environment", "set"],
            &["pm", "collectionVariables", "set"],
            &["pm", "globals", "set"],
            &["pm", "variables", "set"],
            &["postman", "setEnvironmentVariable"],
            &["postman", "setGlobalVariable"],
        ];
        const DEEDS: [(&[&str], &str); 6] = [
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
        const CHANGES: [&str; 5] = ["add", "upsert", "remove", "update", "addHeader"];
        for setter in SETTERS {
            let behind = self.expressions.path(at, setter);
            if let Some(open) = behind.filter(|open| self.is(*open, "(")) {
                return self.set(open);
            }
        }
        for (path, deed) in DEEDS {
            if self.expressions.path(at, path).is_some() {
                return self.deed(deed);
            }
        }
        if let Some(mut at) = self.expressions.path(at, &["pm", "request"]) {
            while self.is(at, ".") {
                let word = self.expressions.word(at + 1).unwrap_or_default();
                if CHANGES.contains(&word) || self.is(at + 2, "=") {
                    return self.deed("changes the request");
                }
                at += 2;
            }
        } else if let Some(open) = self.expressions.path(at, &["pm", "expect"]) {
            self.expect(open);
        }
    }

    fn deed(&mut self, deed: &'static str) {
        if !self.script.deeds.contains(&deed) {
            self.script.deeds.push(deed);
        }
    }

    /// `("name", value)`.
    fn set(&mut self, open: usize) {
        let Some(name) = self.expressions.text(open + 1) else {
            return self.deed("sets variables");
        };
        let value = self
            .is(open + 2, ",")
            .then(|| self.expressions.value(open + 3, 0));
        let parts = value.flatten().and_then(|(value, _)| value.parts());
        if self.script.sets.len() < MOST_SETS {
            self.script.sets.push((name.to_owned(), parts));
        }
    }

    /// `have.status(201)`, `be.json` and the like, at a word behind a dot.
    fn status(&mut self, at: usize) {
        let word = self.expressions.word(at);
        if word != Some("status") || !self.is(at + 1, "(") {
            return;
        }
        if self.chain(at).contains(&"not") {
            self.script.checks_more = true;
            return;
        }
        let named = match self.expressions.text(at + 2) {
            Some("OK") => Some(200),
            Some("Created") => Some(201),
            Some("Accepted") => Some(202),
            Some("No Content") => Some(204),
            _ => None,
        };
        match named.or_else(|| self.code(at + 2)) {
            Some(code) => self.expects(code),
            None => self.script.checks_more = true,
        }
    }

    /// The words that lead to a place, the last one first.
    fn chain(&self, at: usize) -> Vec<&str> {
        let mut words = Vec::new();
        let mut at = at;
        while at >= 2 && self.is(at - 1, ".") && words.len() < 10 {
            at -= 2;
            words.extend(self.expressions.word(at));
        }
        words
    }

    fn code(&self, at: usize) -> Option<u16> {
        match self.expressions.tokens.get(at)? {
            Token::Number(number) => {
                let code = number.parse().ok()?;
                (100..600).contains(&code).then_some(code)
            }
            _ => None,
        }
    }

    fn expects(&mut self, code: u16) {
        if !self.script.statuses.contains(&code) {
            self.script.statuses.push(code);
        }
    }

    /// The place behind what is the status of the answer.
    fn is_code(&self, at: usize) -> Option<usize> {
        let path = |words: &[&str]| self.expressions.path(at, words);
        path(&["pm", "response", "code"]).or_else(|| path(&["responseCode", "code"]))
    }

    /// `(pm.response.code).to.equal(201)`.
    fn expect(&mut self, open: usize) {
        let behind = self.is_code(open + 1).filter(|at| self.is(*at, ")"));
        let Some(mut at) = behind else {
            self.script.checks_more = true;
            return;
        };
        let mut words = Vec::new();
        while self.is(at + 1, ".") && words.len() < 10 {
            words.extend(self.expressions.word(at + 2));
            at += 2;
        }
        let codes = match words.last() {
            _ if words.contains(&"not") || !self.is(at + 1, "(") => Vec::new(),
            Some(&("equal" | "equals" | "eql" | "eq")) => self.code(at + 2).into_iter().collect(),
            Some(&"oneOf") => {
                let mut codes = Vec::new();
                let mut at = at + 3;
                while let Some(code) = self.code(at) {
                    codes.push(code);
                    at += if self.is(at + 1, ",") { 2 } else { 1 };
                }
                codes
            }
            _ => Vec::new(),
        };
        self.script.checks_more |= codes.is_empty();
        for code in codes {
            self.expects(code);
        }
    }

    /// `["name"] = responseCode.code === 200`.
    fn test(&mut self, open: usize) {
        let code = (self.is(open + 2, "]") && self.is(open + 3, "="))
            .then(|| self.is_code(open + 4))
            .flatten()
            .filter(|at| self.is(*at, "===") || self.is(*at, "=="))
            .and_then(|at| self.code(at + 1));
        match code {
            Some(code) => self.expects(code),
            None => self.script.checks_more = true,
        }
    }
}

#[cfg(test)]
mod tests;
