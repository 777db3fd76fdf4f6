//! What a schema says, with all that it is put together of.

use super::super::places::{Document, last_name};
use crate::import::document::{Node, Value};
use std::collections::HashSet;

/// Of how many schemas one may be put together.
const MOST_PARTS: usize = 64;

/// What kind of value fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Object,
    List,
    Text,
    Integer,
    Number,
    Boolean,
    Null,
    /// Nothing is said.
    Any,
    /// Nothing fits.
    Never,
}

/// The parts of a schema: itself, what it refers to, all of `allOf`, the first of `oneOf` and `anyOf`.
#[derive(Default)]
pub(in super::super) struct Shape<'a> {
    parts: Vec<&'a Node<'a>>,
    /// The names of what was referred to, the outermost first.
    names: Vec<&'a str>,
    /// The branch that was taken, with the property that says so.
    branches: Vec<(&'a str, String)>,
    is_never: bool,
    /// Whether there are alternatives, and none of them can be had.
    is_exhausted: bool,
}

impl<'a> Shape<'a> {
    /// Puts a schema together; of alternatives, none of `avoided` is taken where there are others.
    pub(in super::super) fn new(
        document: &Document<'a>,
        schema: &'a Node<'a>,
        avoided: &[*const Node<'a>],
    ) -> Self {
        let mut shape = Self::default();
        shape.add(document, schema, avoided);
        shape
    }

    fn add(&mut self, document: &Document<'a>, schema: &'a Node<'a>, avoided: &[*const Node<'a>]) {
        let is_there = self.parts.iter().any(|part| std::ptr::eq(*part, schema));
        if is_there || self.parts.len() >= MOST_PARTS {
            return;
        }
        match schema.value {
            Value::Object(_) => {}
            Value::Bool(is_any) => {
                self.is_never |= !is_any;
                return;
            }
            _ => {
                let words = format!("a schema is an object, and this is {}", schema.kind());
                document.note(&schema.span, words);
                return;
            }
        }
        self.parts.push(schema);
        if let Some(reference) = schema.get("$ref")
            && let Some(text) = reference.text()
        {
            self.names.push(last_name(text));
            if let Some(target) = document.find(text, &reference.span) {
                self.add(document, target, avoided);
            }
        }
        if let Some(all) = schema.get("allOf") {
            if !all.is_list() {
                let words = format!("`allOf` is a list, and this is {}", all.kind());
                document.note(&all.span, words);
            }
            for part in all.items() {
                self.add(document, part, avoided);
            }
        }
        for key in ["oneOf", "anyOf"] {
            let options = schema.get(key).map_or(&[][..], Node::items);
            if let Some(option) = chosen(document, options, avoided) {
                self.branch(document, schema, option);
                self.add(document, option, avoided);
            } else {
                self.is_exhausted |= !options.is_empty();
            }
        }
    }

    /// Remembers which alternative is taken.
    fn branch(&mut self, document: &Document<'a>, schema: &'a Node<'a>, option: &'a Node<'a>) {
        let Some(reference) = option.text_of("$ref") else {
            return;
        };
        if let Some(discriminator) = schema.get("discriminator")
            && let Some(property) = discriminator.text_of("propertyName")
        {
            let value = mapped(document, discriminator, reference);
            self.branches.push((property, value));
        }
    }

    /// What a discriminator has to be called, where this property is one.
    pub(super) fn discriminated(&self, property: &str) -> Option<String> {
        let branch = self.branches.iter().find(|(name, _)| *name == property);
        if let Some((_, value)) = branch {
            return Some(value.clone());
        }
        // The schema is one of those that share a parent with a discriminator.
        let name = self.names.first()?;
        self.parts.iter().find_map(|part| {
            let discriminator = part.get("discriminator")?;
            let of = discriminator
                .text()
                .or_else(|| discriminator.text_of("propertyName"))?;
            let mapping = discriminator.get("mapping").map_or(&[][..], Node::fields);
            let mapped = mapping.iter().find(|field| {
                let target = field.node.text().unwrap_or_default();
                last_name(target) == *name
            });
            let is_free = self
                .properties()
                .iter()
                .all(|(known, schema)| *known != of || schema.get("enum").is_none());
            let value = match mapped {
                Some(field) => field.name.to_string(),
                None if is_free => (*name).to_owned(),
                None => return None,
            };
            (of == property).then_some(value)
        })
    }

    /// What is said under a name; what is nearer to the schema goes before.
    pub(in super::super) fn get(&self, key: &str) -> Option<&'a Node<'a>> {
        self.parts.iter().find_map(|part| part.get(key))
    }

    pub(in super::super) fn text_of(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.text()
    }

    /// A value that the document gives.
    pub(in super::super) fn example(&self) -> Option<&'a Node<'a>> {
        let is_something = |node: &&'a Node<'a>| node.value != Value::Null;
        let first = |key| {
            let list: &'a Node<'a> = self.get(key)?;
            list.items().iter().find(is_something)
        };
        self.get("example")
            .or_else(|| self.get("x-example"))
            .filter(is_something)
            .or_else(|| first("examples"))
            .or_else(|| self.get("const"))
            .or_else(|| self.get("default").filter(is_something))
            .or_else(|| first("enum"))
    }

    /// Whether nothing but `null` fits, since all else is within itself or nowhere.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted && self.example().is_none() && self.properties().is_empty()
    }

    /// The examples of objects, of all parts.
    pub(super) fn examples(&self) -> Vec<&'a Node<'a>> {
        let examples = self.parts.iter().filter_map(|part| {
            let first = part.get("examples").and_then(|list| list.items().first());
            part.get("example")
                .or(first)
                .or_else(|| part.get("const"))
                .or_else(|| part.get("default"))
        });
        let examples = examples.filter(|node| !node.fields().is_empty());
        examples.collect()
    }

    /// The properties of all parts; of several with a name the first.
    pub(in super::super) fn properties(&self) -> Vec<(&'a str, &'a Node<'a>)> {
        let mut seen = HashSet::new();
        let properties = self.parts.iter().filter_map(|part| part.get("properties"));
        properties
            .flat_map(Node::fields)
            .map(|field| (&*field.name, &field.node))
            .filter(|(name, _)| seen.insert(*name))
            .collect()
    }

    /// The names of those that have to be there, in their order.
    pub(super) fn required(&self) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        let lists = self.parts.iter().filter_map(|part| part.get("required"));
        let names = lists.flat_map(Node::items).filter_map(Node::text);
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// The properties that need not be there and have no example.
    pub(in super::super) fn free(&self) -> HashSet<&'a str> {
        let required = self.required();
        let examples = self.examples();
        let properties = self.properties().into_iter();
        properties
            .filter(|(name, property)| {
                let has_example = super::has_example(property)
                    || examples.iter().any(|example| example.get(name).is_some());
                !required.contains(name) && !has_example
            })
            .map(|(name, _)| name)
            .collect()
    }

    /// Whether this type is said, and beside it none but `null`.
    pub(super) fn is_only(&self, name: &str) -> bool {
        let has_choice = ["oneOf", "anyOf"].iter().any(|key| self.get(key).is_some());
        let is_it = |said: &Node<'_>| said.text() == Some(name);
        !has_choice
            && self.get("type").is_some_and(|said| {
                let mut names = said.items().iter();
                is_it(said)
                    || said.items().iter().any(is_it)
                        && names.all(|said| is_it(said) || said.text() == Some("null"))
            })
    }

    pub(in super::super) fn kind(&self) -> Kind {
        if self.is_never {
            return Kind::Never;
        }
        let said = self.get("type").and_then(|node| {
            let mut names = node.items().iter().filter_map(Node::text);
            node.text()
                .or_else(|| names.find(|name| *name != "null"))
                .or_else(|| node.items().first().and_then(Node::text))
        });
        match said {
            Some("object") => Kind::Object,
            Some("array") => Kind::List,
            // Of version 2.0, for what is uploaded.
            Some("string" | "file") => Kind::Text,
            Some("integer") => Kind::Integer,
            Some("number") => Kind::Number,
            Some("boolean") => Kind::Boolean,
            Some("null") => Kind::Null,
            _ => self.implied(),
        }
    }

    /// The kind that goes without saying.
    fn implied(&self) -> Kind {
        let has = |keys: &[&str]| keys.iter().any(|key| self.get(key).is_some());
        let example = ["example", "const", "default"]
            .iter()
            .find_map(|key| self.get(key));
        if has(&["properties", "additionalProperties", "required"]) {
            Kind::Object
        } else if has(&["items", "prefixItems", "minItems"]) {
            Kind::List
        } else if has(&["pattern", "minLength", "maxLength", "format"]) {
            Kind::Text
        } else if has(&["minimum", "maximum", "multipleOf"]) {
            Kind::Number
        } else {
            match example.map(|node| &node.value) {
                Some(Value::Object(_)) => Kind::Object,
                Some(Value::Text(_)) => Kind::Text,
                _ => Kind::Any,
            }
        }
    }
}

/// The first alternative that is something, and can be had.
fn chosen<'a>(
    document: &Document<'a>,
    options: &'a [Node<'a>],
    avoided: &[*const Node<'a>],
) -> Option<&'a Node<'a>> {
    let usable = |option: &&'a Node<'a>| {
        let Some(target) = document.follow(option) else {
            return false;
        };
        let is_null = target.text_of("type") == Some("null");
        !is_null && !avoided.contains(&std::ptr::from_ref(target))
    };
    options.iter().find(usable)
}

/// The value by which a discriminator names a schema.
fn mapped(document: &Document<'_>, discriminator: &Node<'_>, reference: &str) -> String {
    let mapping = discriminator.get("mapping").map_or(&[][..], Node::fields);
    for field in mapping {
        let Some(target) = field.node.text() else {
            document.note(&field.node.span, "a name of a schema is a string");
            continue;
        };
        if target == reference || target == last_name(reference) {
            return field.name.to_string();
        }
    }
    last_name(reference).to_owned()
}
