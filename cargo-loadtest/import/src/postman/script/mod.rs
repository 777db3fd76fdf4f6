//! Reads the idioms of scripts. Scripts are never run, and expressions never evaluated.

use crate::recording::Key;
use crate::syntax::{children_of, inner_of, parse_lenient, part_of, text_of};
use std::collections::HashMap;
use tree_sitter::Node;

/// Most links of a chain.
const MOST_LINKS: usize = 16;

/// Functions that set a variable.
const SETTERS: [&str; 6] = [
    "pm.environment.set",
    "pm.collectionVariables.set",
    "pm.globals.set",
    "pm.variables.set",
    "postman.setEnvironmentVariable",
    "postman.setGlobalVariable",
];
/// How expressions for the answer and its parts begin.
const ANSWER: [&str; 5] = [
    "responseBody",
    "responseHeaders",
    "JSON",
    "pm.response",
    "postman.getResponseHeader",
];
/// Calls for a header of the answer.
const HEADER_CALLS: [&str; 3] = [
    "pm.response.headers.get()",
    "responseHeaders.get()",
    "postman.getResponseHeader()",
];
/// What stands before the name of a header.
const HEADERS: [&str; 2] = ["pm.response.headers.", "responseHeaders."];
/// Functions of `pm.request` that change it.
const CHANGES: [&str; 5] = ["add", "upsert", "remove", "update", "addHeader"];
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
#[derive(Debug, Clone, Copy, PartialEq)]
enum ChainLink<'t> {
    /// `.id` or `["id"]`; also the first word.
    Name(&'t str),
    /// `[0]`
    Item(usize),
    /// A call, with its first argument.
    Call(Option<Node<'t>>),
}

use ChainLink::{Call, Item, Name};

/// Reads a script.
pub(super) fn read_script(script: &str) -> ScriptIdioms {
    let Some(tree) = parse_lenient(script) else {
        return ScriptIdioms::default();
    };
    let mut reader = ScriptReader {
        source: script,
        names: HashMap::new(),
        script: ScriptIdioms::default(),
    };
    // Each chain is read once, as a whole.
    let mut open = vec![(tree.root_node(), false)];
    while let Some((node, is_link)) = open.pop() {
        if !is_link {
            reader.read_node(node);
        }
        let link = part_of(node, "object").or(part_of(node, "function"));
        let children = children_of(node).into_iter().rev();
        open.extend(children.map(|child| (child, link == Some(child))));
    }
    reader.script
}

struct ScriptReader<'t> {
    source: &'t str,
    /// Variables of the script that stand for parts of the answer.
    names: HashMap<&'t str, Vec<ChainLink<'t>>>,
    script: ScriptIdioms,
}

impl<'t> ScriptReader<'t> {
    /// Returns the text of a string without escapes and placeholders.
    fn text(&self, node: Node<'t>) -> Option<&'t str> {
        if !["string", "template_string"].contains(&node.kind()) {
            return None;
        }
        match children_of(node).as_slice() {
            [] => Some(""),
            [one] if one.kind() == "string_fragment" => Some(text_of(*one, self.source)),
            _ => None,
        }
    }

    /// Reads the idiom that a node is, if it is one.
    fn read_node(&mut self, node: Node<'t>) {
        let (target, value) = match node.kind() {
            "variable_declarator" => (part_of(node, "name"), part_of(node, "value")),
            "assignment_expression" => (part_of(node, "left"), part_of(node, "right")),
            "call_expression" | "member_expression" | "subscript_expression" => {
                return self.read_chain(node);
            }
            _ => return,
        };
        let (Some(target), chain) = (target, value.and_then(|value| self.chain(value))) else {
            return;
        };
        let Some(whole) = self.chain(target) else {
            return self.assign(target, chain.as_deref());
        };
        match whole.as_slice() {
            _ if target.kind() == "identifier" => self.assign(target, chain.as_deref()),
            [Name("tests"), _] => {
                let status = value.and_then(|value| self.compared_status(value));
                self.read_statuses(&[], status);
            }
            [Name("pm"), Name("request"), ..] => self.add_effect("changes the request"),
            _ => {}
        }
    }

    /// Keeps the names of a pattern for parts of the answer.
    fn assign(&mut self, target: Node<'t>, chain: Option<&[ChainLink<'t>]>) {
        let name = text_of(target, self.source);
        match target.kind() {
            "identifier" => {
                let is_of_answer = |chain: &&[ChainLink<'_>]| {
                    let path = chain_path(chain);
                    ANSWER.iter().any(|known| path.starts_with(known))
                };
                match chain.filter(is_of_answer) {
                    Some(chain) => self.names.insert(name, chain.to_vec()),
                    None => self.names.remove(name),
                };
            }
            // `{ token, user: { id: user } }`
            "object_pattern" => {
                for part in children_of(target) {
                    self.assign(part, chain);
                }
            }
            "shorthand_property_identifier_pattern" => {
                let chain = chain.map(|chain| [chain, &[Name(name)]].concat());
                self.names.remove(name);
                self.names.extend(chain.map(|chain| (name, chain)));
            }
            "pair_pattern" => {
                if let (Some(key), Some(value)) = (part_of(target, "key"), part_of(target, "value"))
                {
                    let key = self.text(key).unwrap_or(text_of(key, self.source));
                    let chain = chain.map(|chain| [chain, &[Name(key)]].concat());
                    self.assign(value, chain.as_deref());
                }
            }
            _ => {}
        }
    }

    /// Returns the chain that an expression is. Of `a || b` it is `a`.
    fn chain(&self, node: Node<'t>) -> Option<Vec<ChainLink<'t>>> {
        let node = inner_of(node);
        let (before, link) = match node.kind() {
            "identifier" => {
                let name = text_of(node, self.source);
                let known = self.names.get(name).cloned();
                return Some(known.unwrap_or_else(|| vec![Name(name)]));
            }
            "binary_expression" => {
                let sign = part_of(node, "operator").map(|sign| text_of(sign, self.source));
                let is_either = ["||", "??"].map(Some).contains(&sign);
                return self.chain(part_of(node, "left").filter(|_| is_either)?);
            }
            "member_expression" => {
                let name = text_of(part_of(node, "property")?, self.source);
                (part_of(node, "object")?, Name(name))
            }
            "subscript_expression" => {
                let index = part_of(node, "index")?;
                let link = match text_of(index, self.source).parse() {
                    Ok(number) => Item(number),
                    Err(_) => Name(self.text(index)?),
                };
                (part_of(node, "object")?, link)
            }
            "call_expression" => {
                let arguments = part_of(node, "arguments")
                    .map(children_of)
                    .unwrap_or_default();
                (part_of(node, "function")?, Call(arguments.first().copied()))
            }
            _ => return None,
        };
        let mut chain = self.chain(before)?;
        chain.push(link);
        Some(chain).filter(|chain| chain.len() <= MOST_LINKS)
    }

    /// Returns the part of the answer that a chain names.
    fn find_value(&self, chain: &[ChainLink<'t>]) -> Option<KeptValue> {
        let path = chain_path(chain);
        match chain {
            [_, _, _, Call(_), keys @ ..] if path.starts_with("pm.response.json()") => {
                json_path(keys)
            }
            [_, _, Call(body), keys @ ..] if path.starts_with("JSON.parse()") => {
                let body = chain_path(&self.chain((*body)?)?);
                let is_body = ["responseBody", "pm.response.text()"].contains(&body.as_str());
                json_path(keys).filter(|_| is_body)
            }
            [.., Call(name)] if HEADER_CALLS.contains(&path.as_str()) => {
                Some(KeptValue::Header(self.text((*name)?)?.to_owned()))
            }
            [.., Name(name)] if HEADERS.map(Some).contains(&path.strip_suffix(name)) => {
                Some(KeptValue::Header((*name).to_owned()))
            }
            _ => None,
        }
    }

    /// Reads a use of Postman's own functions.
    fn read_chain(&mut self, node: Node<'t>) {
        let Some(chain) = self.chain(node) else {
            return;
        };
        let path = chain_path(&chain);
        let (name, argument) = match chain.as_slice() {
            [.., Name(name), Call(argument)] => (*name, *argument),
            _ => ("", None),
        };
        if SETTERS.contains(&path.trim_end_matches("()")) {
            self.read_setter(node);
        } else if path.starts_with("pm.expect") {
            let subject = match chain.get(2) {
                Some(Call(subject)) => *subject,
                _ => None,
            };
            let is_equal = ["equal", "equals", "eql", "eq", "oneOf"].contains(&name);
            let is_equal = is_equal && subject.is_some_and(|subject| self.is_status(subject));
            let is_known = is_equal || name == "status";
            self.read_statuses(&chain, argument.filter(|_| is_known));
        } else if path.starts_with("pm.response.") && name == "status" {
            self.read_statuses(&chain, argument);
        } else if path.starts_with("pm.request.") && CHANGES.contains(&name) {
            self.add_effect("changes the request");
        } else {
            let mut effects = EFFECTS.lines().filter_map(|row| row.split_once('\t'));
            if let Some((_, effect)) = effects.find(|(call, _)| path.starts_with(call)) {
                self.add_effect(effect);
            }
        }
    }

    fn add_effect(&mut self, effect: &'static str) {
        if !self.script.effects.contains(&effect) {
            self.script.effects.push(effect);
        }
    }

    /// Reads `set("name", value)`.
    fn read_setter(&mut self, call: Node<'t>) {
        let arguments = part_of(call, "arguments");
        let mut arguments = arguments.map(children_of).unwrap_or_default().into_iter();
        let name = arguments.next().and_then(|name| self.text(name));
        let Some(name) = name else {
            return self.add_effect("sets variables");
        };
        let kept = arguments.next().and_then(|value| match self.text(value) {
            Some(text) => Some(KeptValue::Text(text.to_owned())),
            None if value.kind() == "number" => {
                Some(KeptValue::Text(text_of(value, self.source).to_owned()))
            }
            None => self.find_value(&self.chain(value)?),
        });
        self.script.sets.push((name.to_owned(), kept));
    }

    /// Reads the statuses that are expected, unless the chain before them negates them. Without any, something else is
    /// checked.
    fn read_statuses(&mut self, chain: &[ChainLink<'_>], expected: Option<Node<'t>>) {
        let expected = expected.filter(|_| !chain.contains(&Name("not")));
        let nodes = match expected {
            Some(list) if list.kind() == "array" => children_of(list),
            one => one.into_iter().collect(),
        };
        let statuses = nodes.into_iter().filter_map(|node| match self.text(node) {
            Some("OK") => Some(200),
            Some("Created") => Some(201),
            Some("Accepted") => Some(202),
            Some("No Content") => Some(204),
            _ => text_of(node, self.source).parse().ok(),
        });
        let statuses = statuses.filter(|status| (100..600).contains(status));
        let statuses: Vec<u16> = statuses.collect();
        self.script.checks_more |= statuses.is_empty();
        for status in statuses {
            if !self.script.statuses.contains(&status) {
                self.script.statuses.push(status);
            }
        }
    }

    /// Returns true for the status of the answer.
    fn is_status(&self, node: Node<'t>) -> bool {
        let path = self.chain(node).map(|chain| chain_path(&chain));
        matches!(
            path.as_deref(),
            Some("responseCode.code" | "pm.response.code")
        )
    }

    /// Returns what the status is compared with: `responseCode.code === 200`.
    fn compared_status(&self, node: Node<'t>) -> Option<Node<'t>> {
        let sign = text_of(part_of(node, "operator")?, self.source);
        let is_equal = ["==", "==="].contains(&sign) && self.is_status(part_of(node, "left")?);
        part_of(node, "right").filter(|_| is_equal)
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
