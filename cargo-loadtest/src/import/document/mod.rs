//! Documents of JSON or YAML as trees in which every value knows its place, for messages.
//!
//! Count and depth of the values are bounded.

mod json;
mod yaml;

use super::source::{Input, Mistake, Note, Span};
use super::text::quote_name;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Most values of a document.
const MOST_VALUES: usize = 4_000_000;
/// Deepest nesting of values.
const DEEPEST: usize = 200;
/// Most notes about names that an object has twice.
const MOST_DOUBLES: usize = 3;

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
    /// In the order of the document; a name may be there twice.
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

/// Names that a document of one format has.
const FORMAT_NAMES: [&str; 10] = [
    "openapi",
    "swagger",
    "log",
    "info",
    "item",
    "requests",
    "values",
    "collections",
    "collection",
    "_postman_variable_scope",
];

/// Returns the place of the name that shows the format of a document, else of its first name.
pub(super) fn told_by(root: &Node<'_>) -> Span {
    let fields = root.fields();
    let telling = FORMAT_NAMES.iter().find_map(|name| root.name(name));
    let first = || fields.first().map(|field| field.span.clone());
    telling.or_else(first).unwrap_or_else(|| root.beginning())
}

/// Removes fields whose name an object has again further down, as JSON parsers do. Returns notes about the first ones.
pub(super) fn without_doubles(root: &mut Node<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    take_doubles(root, &mut notes);
    let more = notes.len().saturating_sub(MOST_DOUBLES);
    notes.truncate(MOST_DOUBLES);
    if let Some(last) = notes.last_mut().filter(|_| more > 0) {
        let _ = write!(last.words, " (and {more} more like this)");
    }
    notes
}

fn take_doubles(node: &mut Node<'_>, notes: &mut Vec<Note>) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| take_doubles(item, notes)),
        Value::Object(fields) => {
            let mut left: HashMap<Cow<'_, str>, usize> = HashMap::with_capacity(fields.len());
            for field in &*fields {
                *left.entry(field.name.clone()).or_default() += 1;
            }
            fields.retain(|field| {
                let left = left.entry(field.name.clone()).or_default();
                *left -= 1;
                if *left > 0 {
                    let name = quote_name(&field.name);
                    let words = format!("{name} is there again further down, and that one counts");
                    notes.push(Note::new(field.span.clone(), words));
                }
                *left == 0
            });
            for field in fields {
                take_doubles(&mut field.node, notes);
            }
        }
        _ => {}
    }
}

/// Returns the format of a document, as `cargo loadtest import` calls it.
pub(crate) fn format(input: &Input) -> Option<&'static str> {
    let root = read(input).ok()?;
    let has = |name: &str| root.get(name).is_some();
    if root.at(&["log", "entries"]).is_some() {
        Some("har")
    } else if has("openapi") || has("swagger") {
        Some("openapi")
    } else if has("item") || root.at(&["collection", "item"]).is_some() {
        Some("postman")
    } else {
        None
    }
}

/// Counts values, so that there are not too many.
struct Budget(usize);

impl Budget {
    fn new() -> Self {
        Self(MOST_VALUES)
    }

    fn take(&mut self, values: usize, span: &Span) -> Result<(), Mistake> {
        self.0 = self.0.checked_sub(values).ok_or_else(|| {
            Mistake::new(
                span.clone(),
                format!("the document has more than {MOST_VALUES} values"),
            )
        })?;
        Ok(())
    }
}

fn too_deep(span: &Span) -> Mistake {
    Mistake::new(
        span.clone(),
        format!("values are nested deeper than {DEEPEST} levels"),
    )
}

impl<'a> Node<'a> {
    /// Returns the value of a field; the last of that name, as JSON parsers do.
    pub(super) fn get(&self, name: &str) -> Option<&Node<'a>> {
        self.field(name).map(|field| &field.node)
    }

    fn field(&self, name: &str) -> Option<&Field<'a>> {
        let mut fields = self.fields().iter().rev();
        fields.find(|field| field.name == name)
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
        let is_scalar = !self.is_list() && !self.is_object();
        let end = self.span.end;
        self.span.start..if is_scalar {
            end
        } else {
            end.min(self.span.start + 1)
        }
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
                let fields = fields.iter();
                let fields = fields
                    .map(|field| format!("{}:{}", json_string(&field.name), field.node.json()));
                let fields: Vec<String> = fields.collect();
                format!("{{{}}}", fields.join(","))
            }
        }
    }
}

/// Returns a string of JSON.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
