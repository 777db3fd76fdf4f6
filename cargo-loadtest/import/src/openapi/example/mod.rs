//! Makes example values for schemas: the example of the document, else the smallest value that fits.

mod scalar;
mod schema;
mod value;

use super::document::ApiDocument;
use crate::document::{Node, Value};
use crate::recording::Text;
use crate::secrets::is_secret_name;
use crate::text::{find_pair, singular};
pub(super) use schema::{MergedSchema, SchemaKind};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
pub(super) use value::ExampleValue;

/// Deepest nesting of values.
const DEEPEST: usize = 12;
/// Deepest nesting of optional values.
const DEEPEST_OPTIONAL: usize = 3;
/// Most values that one example is made of.
const MOST_VALUES: usize = 1_500;
/// Most items of a list.
const MOST_ITEMS: usize = 20;

/// Direction of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Answer,
}

/// Makes one example value.
pub(super) struct ExampleMaker<'a, 'd> {
    document: &'d ApiDocument<'a>,
    direction: Direction,
    /// Objects of requests have their optional properties, too.
    pub(super) sends_optional: bool,
    values_left: Cell<usize>,
    /// Schemas around the current value.
    around: RefCell<Vec<*const Node<'a>>>,
}

impl<'a, 'd> ExampleMaker<'a, 'd> {
    pub(super) fn new(document: &'d ApiDocument<'a>, direction: Direction) -> Self {
        Self {
            document,
            direction,
            sends_optional: direction == Direction::Answer,
            values_left: Cell::new(MOST_VALUES),
            around: RefCell::default(),
        }
    }

    /// Makes a value for a schema, unless it contains itself without end.
    pub(super) fn make(&self, schema: &'a Node<'a>, name: &str) -> Option<ExampleValue> {
        self.make_nested(schema, name, true)
    }

    fn make_nested(
        &self,
        schema: &'a Node<'a>,
        name: &str,
        is_required: bool,
    ) -> Option<ExampleValue> {
        let depth = self.around.borrow().len();
        if depth >= DEEPEST || self.values_left.get() == 0 {
            return None;
        }
        self.values_left.set(self.values_left.get() - 1);
        let target = std::ptr::from_ref(self.document.follow(schema)?);
        if self.around.borrow().contains(&target) {
            let may_be_null = schema.get("nullable").and_then(Node::boolean) == Some(true);
            if is_required && !may_be_null {
                let words = "this schema contains itself without end: it is left out there";
                self.document.warn(&schema.span, words);
            }
            return (is_required && may_be_null).then_some(ExampleValue::Null);
        }
        let merged = MergedSchema::new(self.document, schema, &self.around.borrow());
        if merged.is_exhausted() {
            return is_required.then_some(ExampleValue::Null);
        }
        let is_nested = matches!(merged.kind(), SchemaKind::Object | SchemaKind::List);
        if is_nested && !is_required && depth >= DEEPEST_OPTIONAL {
            return None;
        }
        self.around.borrow_mut().push(target);
        let value = self.make_merged(&merged, name, schema);
        self.around.borrow_mut().pop();
        value
    }

    fn make_merged(
        &self,
        merged: &MergedSchema<'a>,
        name: &str,
        schema: &'a Node<'a>,
    ) -> Option<ExampleValue> {
        let kind = merged.kind();
        if let Some(secret) = self.make_secret(merged, name) {
            return Some(ExampleValue::Text(secret));
        }
        if kind == SchemaKind::Object {
            return Some(self.make_object(merged));
        }
        if let Some(example) = merged.example() {
            return Some(read_example(self.document, Some(schema), example));
        }
        Some(match kind {
            SchemaKind::List => return self.make_list(merged, name),
            SchemaKind::Text => ExampleValue::text(scalar::make_text(self.document, merged, name)),
            SchemaKind::Integer => ExampleValue::Number(scalar::make_number(merged, true)),
            SchemaKind::Number => ExampleValue::Number(scalar::make_number(merged, false)),
            SchemaKind::Boolean => ExampleValue::Bool(true),
            SchemaKind::Null => ExampleValue::Null,
            SchemaKind::Any if name.is_empty() => ExampleValue::Object(Vec::new()),
            SchemaKind::Any => ExampleValue::text("example"),
            SchemaKind::Never | SchemaKind::Object => return None,
        })
    }

    /// Returns a secret for a text of a request that holds one by its format or its name.
    fn make_secret(&self, merged: &MergedSchema<'a>, name: &str) -> Option<Text> {
        let is_hidden = self.direction == Direction::Request
            && merged.kind() == SchemaKind::Text
            && (merged.text_of("format") == Some("password") || is_secret_name(name))
            && merged.get("enum").is_none();
        if !is_hidden {
            return None;
        }
        let name = if name.is_empty() { "password" } else { name };
        let what = format!("`{name}` in requests");
        let example = merged.example().and_then(Node::text);
        Some(match example.filter(|example| !example.is_empty()) {
            Some(example) => self.document.hide_value(example, name, &what),
            None => self.document.add_secret(name, &what),
        })
    }

    fn make_list(&self, merged: &MergedSchema<'a>, name: &str) -> Option<ExampleValue> {
        let count = |key: &str| merged.get(key).and_then(Node::number);
        let least = count("minItems").unwrap_or_default();
        let mut items = Vec::new();
        for schema in merged.get("prefixItems").map_or(&[][..], Node::items) {
            items.push(self.make_nested(schema, "item", true)?);
        }
        if let Some(schema) = merged.get("items").filter(|listed| listed.is_object())
            && let Some(item) = self.make_nested(schema, &singular(name), least >= 1.0)
        {
            let is_unique = merged.get("uniqueItems").and_then(Node::boolean) == Some(true);
            let most = count("maxItems").unwrap_or(f64::INFINITY);
            let wanted = least.max(1.0).min(most);
            let most_items = if is_unique { 1 } else { MOST_ITEMS };
            while items.len() < most_items && (items.len() as f64) < wanted {
                items.push(item.clone());
            }
            if (items.len() as f64) < wanted {
                let words = "this list needs more items than are made: an example would help";
                self.document.warn(&schema.span, words);
            }
        }
        Some(ExampleValue::List(items))
    }

    fn make_object(&self, merged: &MergedSchema<'a>) -> ExampleValue {
        let properties = merged.properties();
        let required = merged.required();
        let examples = merged.object_examples();
        let sends_optional =
            examples.is_empty() && (self.sends_optional || !self.has_required(merged));
        let mut fields: Vec<(String, ExampleValue)> = Vec::new();
        for (name, property) in &properties {
            if self.is_left_out(property) {
                continue;
            }
            let is_required = required.contains(name);
            let example = examples.iter().find_map(|example| example.get(name));
            let value = if let Some(example) = example {
                let left = self.values_left.get().saturating_sub(1);
                self.values_left.set(left);
                Some(read_example(self.document, Some(property), example))
            } else if !is_required && !sends_optional {
                None
            } else {
                if self.direction == Direction::Request
                    && let Some(discriminator) = merged.get("discriminator")
                    && discriminator.text_of("propertyName") == Some(*name)
                    && MergedSchema::new(self.document, property, &[])
                        .example()
                        .is_none()
                {
                    let words =
                        "a discriminator is not read: give its property an `enum` or an example";
                    self.document.warn(&discriminator.beginning(), words);
                }
                self.make_nested(property, name, is_required)
            };
            fields.extend(value.map(|value| ((*name).to_owned(), value)));
        }
        let is_described = |name: &str| properties.iter().any(|(known, _)| *known == name);
        for field in examples.iter().flat_map(|example| example.fields()) {
            if !is_described(&field.name) {
                fields.push((field.name.to_string(), ExampleValue::from_node(&field.node)));
            }
        }
        for name in required {
            if !is_described(name) && examples.iter().all(|example| example.get(name).is_none()) {
                fields.push((name.to_owned(), ExampleValue::text(name)));
            }
        }
        ExampleValue::Object(fields)
    }

    /// Returns true for an object that can be sent with nothing but its required properties.
    fn has_required(&self, merged: &MergedSchema<'a>) -> bool {
        let (properties, required) = (merged.properties(), merged.required());
        let is_sent = |name: &&&str| {
            let property = find_pair(&properties, name);
            property.is_none_or(|property| !self.is_left_out(property))
        };
        let count = required.iter().filter(is_sent).count();
        let least = merged.get("minProperties").and_then(Node::number);
        count > 0 && count as f64 >= least.unwrap_or_default()
    }

    /// Returns whether a property is of the other direction, or deprecated.
    fn is_left_out(&self, property: &'a Node<'a>) -> bool {
        let is_set = |key| {
            let target = || {
                property.get("$ref")?;
                self.document.follow(property)?.get(key)
            };
            let flag = property.get(key).or_else(target);
            flag.and_then(Node::boolean) == Some(true)
        };
        match self.direction {
            Direction::Request => is_set("readOnly") || is_set("deprecated"),
            Direction::Answer => is_set("writeOnly"),
        }
    }
}

/// Returns whether a property has an example of its own.
fn has_example(property: &Node<'_>) -> bool {
    let keys = ["example", "examples", "const"];
    keys.iter().any(|key| property.get(key).is_some())
}

/// Reads an example with the types of its schema: in YAML, `007` is a number.
pub(super) fn read_example<'a>(
    document: &ApiDocument<'a>,
    schema: Option<&'a Node<'a>>,
    example: &Node<'_>,
) -> ExampleValue {
    read_nested_example(document, schema, example, 0)
}

fn read_nested_example<'a>(
    document: &ApiDocument<'a>,
    schema: Option<&'a Node<'a>>,
    example: &Node<'_>,
    depth: usize,
) -> ExampleValue {
    let Some(schema) = schema.filter(|_| depth < DEEPEST) else {
        return ExampleValue::from_node(example);
    };
    let merged = MergedSchema::new(document, schema, &[]);
    match &example.value {
        Value::Number(_) | Value::Bool(_) if merged.is_only("string") => {
            let text = document.source_text(&example.span).map(ExampleValue::text);
            text.unwrap_or_else(|| ExampleValue::from_node(example))
        }
        Value::List(items) => {
            let schema = merged.get("items").filter(|schema| schema.is_object());
            let items = items.iter();
            let items = items.map(|item| read_nested_example(document, schema, item, depth + 1));
            ExampleValue::List(items.collect())
        }
        Value::Object(fields) => {
            let properties: HashMap<_, _> = merged.properties().into_iter().collect();
            let fields = fields.iter().map(|field| {
                let schema = properties.get(&*field.name).copied();
                let value = read_nested_example(document, schema, &field.node, depth + 1);
                (field.name.to_string(), value)
            });
            ExampleValue::Object(fields.collect())
        }
        _ => ExampleValue::from_node(example),
    }
}
