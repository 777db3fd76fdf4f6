//! Values that fit a schema: an example where there is one, else the smallest that somebody would write.

mod fit;
mod number;
mod pattern;
mod shape;
mod text;
mod typed;

use super::places::Document;
use crate::import::document::{Field, Node, Value};
use crate::import::secrets::is_secret;
use crate::import::source::Span;
pub(super) use shape::{Kind, Shape};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
pub(super) use typed::typed;

/// How deep values may be within each other.
const DEEPEST: usize = 12;
/// How deep those may be that could be left out.
const DEEPEST_OPTIONAL: usize = 3;
/// Of how many values one is made at most.
const MOST_VALUES: usize = 1_500;
/// How many properties that could be left out an object of a request may have; if it has more, it gets none of
/// them but those with an example.
const MOST_OPTIONAL: usize = 20;
/// How many items a list gets at most, whatever it asks for.
const MOST_ITEMS: usize = 20;

/// Whether a value is sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Answer,
}

/// Makes one value.
pub(super) struct Sampler<'a, 'd> {
    document: &'d Document<'a>,
    direction: Direction,
    left: Cell<usize>,
    /// The schemas that the value is within.
    within: RefCell<Vec<*const Node<'a>>>,
}

impl<'a, 'd> Sampler<'a, 'd> {
    pub(super) fn new(document: &'d Document<'a>, direction: Direction) -> Self {
        Self {
            document,
            direction,
            left: Cell::new(MOST_VALUES),
            within: RefCell::default(),
        }
    }

    /// A value for a schema; none where that is within itself without end.
    pub(super) fn sample(&self, schema: &'a Node<'a>, name: &str) -> Option<Node<'a>> {
        self.within_bounds(schema, name, true)
    }

    fn within_bounds(
        &self,
        schema: &'a Node<'a>,
        name: &str,
        is_required: bool,
    ) -> Option<Node<'a>> {
        let depth = self.within.borrow().len();
        if depth >= DEEPEST || self.left.get() == 0 {
            return None;
        }
        self.left.set(self.left.get() - 1);
        let itself = std::ptr::from_ref(self.document.follow(schema)?);
        if self.within.borrow().contains(&itself) {
            let may_be_null = schema.get("nullable").and_then(Node::boolean) == Some(true);
            if is_required && may_be_null {
                return Some(made(schema, Value::Null));
            }
            if is_required {
                let words = "this schema is within itself without end: it is left out there";
                self.document.note(&schema.span, words);
            }
            return None;
        }
        let shape = Shape::new(self.document, schema, &self.within.borrow());
        if shape.is_exhausted() {
            return is_required.then(|| made(schema, Value::Null));
        }
        let is_deep = depth >= DEEPEST_OPTIONAL && !is_required;
        if is_deep && matches!(shape.kind(), Kind::Object | Kind::List) {
            return None;
        }
        self.within.borrow_mut().push(itself);
        let value = self.of_shape(&shape, name, schema);
        self.within.borrow_mut().pop();
        value
    }

    fn of_shape(&self, shape: &Shape<'a>, name: &str, schema: &'a Node<'a>) -> Option<Node<'a>> {
        let kind = shape.kind();
        let is_request = self.direction == Direction::Request;
        let is_hidden = shape.text_of("format") == Some("password") || is_secret(name);
        if is_request && kind == Kind::Text && is_hidden && shape.get("enum").is_none() {
            let name = if name.is_empty() { "password" } else { name };
            let what = format!("`{name}` in requests");
            let example = shape.example().and_then(Node::text);
            let marker = match example.filter(|example| !example.is_empty()) {
                Some(example) => self.document.hide(example, name, &what),
                None => self.document.secret(name, &what),
            };
            return Some(made(schema, Value::Text(marker.into())));
        }
        if kind == Kind::Object {
            let made = self.object(shape, schema);
            self.tell_unfit(shape, &made);
            return Some(made);
        }
        if let Some(example) = shape.example() {
            return Some(typed(self.document, schema, example.clone()));
        }
        let value = match kind {
            Kind::List => {
                let made = self.list(shape, name, schema)?;
                self.tell_unfit(shape, &made);
                return Some(made);
            }
            Kind::Text => Value::Text(text::text(self.document, shape, name).into()),
            Kind::Integer => Value::Number(number::number(shape, true).into()),
            Kind::Number => Value::Number(number::number(shape, false).into()),
            Kind::Boolean => Value::Bool(true),
            Kind::Null => Value::Null,
            Kind::Any if name.is_empty() => Value::Object(Vec::new()),
            Kind::Any => Value::Text("example".into()),
            Kind::Never | Kind::Object => return None,
        };
        let made = made(schema, value);
        self.tell_unfit(shape, &made);
        Some(made)
    }

    /// Says what is asked of a value that is sent and does not fit.
    fn tell_unfit(&self, shape: &Shape<'a>, value: &Node<'a>) {
        if self.direction == Direction::Request {
            for (span, words) in fit::faults(shape, value) {
                self.document.note(&span, words);
            }
        }
    }

    fn list(&self, shape: &Shape<'a>, name: &str, schema: &'a Node<'a>) -> Option<Node<'a>> {
        let count = |key: &str| shape.get(key).and_then(Node::number);
        let most = count("maxItems").unwrap_or(f64::INFINITY);
        let mut items = Vec::new();
        for item in shape.get("prefixItems").map_or(&[][..], Node::items) {
            items.push(self.within_bounds(item, "item", true)?);
        }
        // As drafts before 2020 have it.
        let of = shape.get("items");
        for item in of.map_or(&[][..], Node::items) {
            items.push(self.within_bounds(item, "item", true)?);
        }
        if let Some(of) = of.filter(|of| of.is_object()) {
            let name = singular(name);
            let wanted = count("minItems").unwrap_or(1.0).max(1.0).min(most);
            let item = self.within_bounds(of, name, false);
            let are_unique = shape.get("uniqueItems").and_then(Node::boolean) == Some(true);
            let of = Shape::new(self.document, of, &[]);
            let mut number = 0;
            while let Some(item) = &item
                && items.len() < MOST_ITEMS
                && (items.len() as f64) < wanted
            {
                let another = if are_unique {
                    fit::another(&of, item, number)
                } else {
                    Some(item.clone())
                };
                let Some(another) = another else { break };
                items.push(another);
                number += 1;
            }
        }
        Some(made(schema, Value::List(items)))
    }

    fn object(&self, shape: &Shape<'a>, schema: &'a Node<'a>) -> Node<'a> {
        let is_request = self.direction == Direction::Request;
        let properties = shape.properties();
        let required = shape.required();
        let examples = shape.examples();
        let optional = properties.iter();
        let optional = optional.filter(|(name, _)| !required.contains(name));
        let is_wide = is_request && optional.count() > MOST_OPTIONAL;
        let mut fields: Vec<Field<'a>> = Vec::new();
        let mut add = |name: &'a str, span: &Span, node: Node<'a>| {
            fields.push(Field {
                name: Cow::Borrowed(name),
                span: span.clone(),
                node,
            });
        };
        for (name, property) in &properties {
            if self.is_left_out(property) {
                continue;
            }
            let example = examples.iter().find_map(|example| example.get(name));
            let is_required = required.contains(name);
            if let Some(value) = shape.discriminated(name) {
                add(
                    name,
                    &property.span,
                    made(property, Value::Text(value.into())),
                );
                continue;
            }
            if let Some(example) = example {
                self.left.set(self.left.get().saturating_sub(1));
                let example = typed(self.document, property, example.clone());
                add(name, &property.span, example);
                continue;
            }
            if !is_required && !examples.is_empty() {
                continue;
            }
            if !is_required && is_wide && !has_example(property) {
                continue;
            }
            if let Some(value) = self.within_bounds(property, name, is_required) {
                add(name, &property.span, value);
            }
        }
        for example in &examples {
            for field in example.fields() {
                if properties.iter().all(|(name, _)| *name != field.name) {
                    add(&field.name, &field.span, field.node.clone());
                }
            }
        }
        // What is required and nowhere described.
        for name in &required {
            let is_there = properties.iter().any(|(known, _)| known == name);
            if !is_there && examples.iter().all(|example| example.get(name).is_none()) {
                add(
                    name,
                    &schema.span,
                    made(schema, Value::Text((*name).into())),
                );
            }
        }
        let additional = shape.get("additionalProperties");
        if let Some(additional) = additional.filter(|node| node.is_object() && fields.is_empty())
            && let Some(value) = self.within_bounds(additional, "key", false)
        {
            fields.push(Field {
                name: Cow::Borrowed("key"),
                span: additional.span.clone(),
                node: value,
            });
        }
        made(schema, Value::Object(fields))
    }

    /// Whether a property is not of this direction, or not to be used any more.
    fn is_left_out(&self, property: &'a Node<'a>) -> bool {
        let is_set = |key| {
            let own = property.get(key);
            let referred = || {
                property.get("$ref")?;
                self.document.follow(property)?.get(key)
            };
            own.or_else(referred).and_then(Node::boolean) == Some(true)
        };
        match self.direction {
            Direction::Request => is_set("readOnly") || is_set("deprecated"),
            Direction::Answer => is_set("writeOnly"),
        }
    }
}

fn has_example(property: &Node<'_>) -> bool {
    let keys = ["example", "examples", "const"];
    keys.iter().any(|key| property.get(key).is_some())
}

/// A value that stands nowhere: its place is that of its schema.
pub(super) fn made<'a>(schema: &Node<'_>, value: Value<'a>) -> Node<'a> {
    Node {
        span: schema.span.clone(),
        value,
    }
}

/// What one of them is called.
pub(super) fn singular(name: &str) -> &str {
    let is_one = name.ends_with("ss") || name.ends_with("us") || name.ends_with("is");
    match name.strip_suffix('s') {
        Some(one) if !is_one && one.len() > 1 => one,
        _ => name,
    }
}
