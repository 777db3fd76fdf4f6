//! Documents of JSON or YAML as trees in which every value knows its place, for messages.
//!
//! The depth of the values is bounded.

mod json;
mod yaml;

use super::source::{Input, Mistake, Span};
use super::text::quote_name;
use std::borrow::Cow;
use std::collections::HashSet;

/// Deepest nesting of values.
const DEEPEST: usize = 200;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node<'a> {
    pub(super) span: Span,
    pub(super) value: Value<'a>,
}

/// A value of JSON.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// The text of a number in JSON.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    /// In the order of the document; no name is there twice.
    Object(Vec<Field<'a>>),
}

/// A value with a name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field<'a> {
    pub(super) name: Cow<'a, str>,
    /// The place of the name.
    pub(super) span: Span,
    pub(super) node: Node<'a>,
}

/// Reads a document: JSON where it begins like that, else YAML.
pub(super) fn read(input: &Input) -> Result<Node<'_>, Mistake> {
    let text = input.text.trim_start();
    if text.is_empty() {
        return Err(Mistake::new(0..0, "there is nothing in it"));
    }
    if text.starts_with(['{', '[']) {
        json::read(&input.text)
    } else {
        yaml::read(&input.text)
    }
}

/// Returns the place of the first name of a document, for what is said about all of it.
pub(super) fn told_by(root: &Node<'_>) -> Span {
    let first = root.fields().first();
    first.map_or_else(|| root.beginning(), |field| field.span.clone())
}

/// Returns the format of a document, as `cargo loadtest import` calls it.
pub fn format(input: &Input) -> Option<&'static str> {
    if input.text.contains("<jmeterTestPlan") {
        return Some("jmx");
    }
    if ["'k6/", "\"k6/"]
        .iter()
        .any(|module| input.text.contains(module))
    {
        return Some("k6");
    }
    let root = read(input).ok()?;
    let formats = [
        ("har", &["log", "entries"][..]),
        ("openapi", &["openapi"]),
        ("openapi", &["swagger"]),
        ("postman", &["item"]),
        ("postman", &["collection", "item"]),
    ];
    let found = formats.iter().find(|(_, path)| root.at(path).is_some());
    found.map(|(format, _)| *format)
}

/// Makes an object, in which no name may be there twice.
fn make_object(fields: Vec<Field<'_>>) -> Result<Value<'_>, Mistake> {
    let mut names = HashSet::with_capacity(fields.len());
    if let Some(twice) = fields.iter().find(|field| !names.insert(&*field.name)) {
        let words = format!(
            "{} is a name of this object already",
            quote_name(&twice.name)
        );
        return Err(Mistake::new(twice.span.clone(), words).help("remove one of them"));
    }
    Ok(Value::Object(fields))
}

impl<'a> Node<'a> {
    /// Returns the value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&Node<'a>> {
        self.field(name).map(|field| &field.node)
    }

    fn field(&self, name: &str) -> Option<&Field<'a>> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// Returns the value at the end of a path of names.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Node<'a>> {
        path.iter().try_fold(self, |node, name| node.get(name))
    }

    /// Returns the place of the name of a field.
    pub(super) fn name(&self, name: &str) -> Option<Span> {
        self.field(name).map(|field| field.span.clone())
    }

    /// Returns the place of its beginning, since all of it may be the whole document.
    pub(super) fn beginning(&self) -> Span {
        let Span { start, end } = self.span;
        let is_nested = self.is_list() || self.is_object();
        start..if is_nested { end.min(start + 1) } else { end }
    }

    /// Returns the text of a field.
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.get(name)?.text()
    }

    /// Returns the fields of an object, else none.
    pub(super) fn fields(&self) -> &[Field<'a>] {
        match &self.value {
            Value::Object(fields) => fields,
            _ => &[],
        }
    }

    /// Returns the items of a list, else none.
    pub(super) fn items(&self) -> &[Node<'a>] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a scalar as text.
    pub(super) fn scalar(&self) -> Option<Cow<'_, str>> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(Cow::Borrowed(text)),
            Value::Bool(is_true) => Some(Cow::Borrowed(if *is_true { "true" } else { "false" })),
            Value::Null | Value::List(_) | Value::Object(_) => None,
        }
    }

    /// Returns a number, also one that is written as text.
    pub(super) fn number(&self) -> Option<f64> {
        let number = self.scalar()?.parse().ok();
        number.filter(|number: &f64| number.is_finite())
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        match &self.value {
            Value::Bool(is_true) => Some(*is_true),
            _ => None,
        }
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self.value, Value::Object(_))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.value, Value::List(_))
    }

    /// Returns the kind of the value, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// Returns the value as JSON without blanks, its fields in their order.
    pub(super) fn json(&self) -> String {
        match &self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(is_true) => is_true.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => json_string(text),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Node::json).collect();
                format!("[{}]", items.join(","))
            }
            Value::Object(fields) => {
                let json = |field: &Field<'_>| {
                    format!("{}:{}", json_string(&field.name), field.node.json())
                };
                let fields: Vec<String> = fields.iter().map(json).collect();
                format!("{{{}}}", fields.join(","))
            }
        }
    }
}

/// Returns a string of JSON.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
