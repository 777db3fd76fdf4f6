//! Merges a schema with the schemas it is composed of.

use crate::document::{Node, Value};
use crate::openapi::document::ApiDocument;
use std::collections::HashSet;

/// Most schemas that are merged into one.
const MOST_PARTS: usize = 64;

/// Type of value that a schema allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::openapi) enum SchemaKind {
    Object,
    List,
    Text,
    Integer,
    Number,
    Boolean,
    Null,
    Any,
    Never,
}

/// A schema with its references, all of `allOf`, and the first of `oneOf` and `anyOf`.
#[derive(Default)]
pub(in crate::openapi) struct MergedSchema<'a> {
    parts: Vec<&'a Node<'a>>,
    is_never: bool,
    has_no_alternative: bool,
}

impl<'a> MergedSchema<'a> {
    /// Merges a schema. Avoids the alternatives in `avoided`.
    pub(in crate::openapi) fn new(
        document: &ApiDocument<'a>,
        schema: &'a Node<'a>,
        avoided: &[*const Node<'a>],
    ) -> Self {
        let mut merged = Self::default();
        merged.add(document, schema, avoided);
        merged
    }

    fn add(
        &mut self,
        document: &ApiDocument<'a>,
        schema: &'a Node<'a>,
        avoided: &[*const Node<'a>],
    ) {
        let is_known = self.parts.iter().any(|part| std::ptr::eq(*part, schema));
        if is_known || self.parts.len() >= MOST_PARTS {
            return;
        }
        match schema.value {
            Value::Object(_) => self.parts.push(schema),
            Value::Bool(is_any) => return self.is_never |= !is_any,
            _ => {
                let words = format!("a schema is an object, and this is {}", schema.kind());
                return document.warn(&schema.span, words);
            }
        }
        if let Some(reference) = schema.get("$ref")
            && let Some(text) = reference.text()
            && let Some(target) = document.find_target(text, &reference.span)
        {
            self.add(document, target, avoided);
        }
        for part in document.items(schema, "allOf") {
            self.add(document, part, avoided);
        }
        for key in ["oneOf", "anyOf"] {
            let options = schema.get(key).map_or(&[][..], Node::items);
            let is_usable = |option: &&'a Node<'a>| {
                document.follow(option).is_some_and(|target| {
                    let is_null = target.text_of("type") == Some("null");
                    !is_null && !avoided.contains(&std::ptr::from_ref(target))
                })
            };
            if let Some(option) = options.iter().find(is_usable) {
                self.add(document, option, avoided);
            } else {
                self.has_no_alternative |= !options.is_empty();
            }
        }
    }

    /// Returns a keyword; the nearest part wins.
    pub(in crate::openapi) fn get(&self, key: &str) -> Option<&'a Node<'a>> {
        self.parts.iter().find_map(|part| part.get(key))
    }

    pub(in crate::openapi) fn text_of(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.text()
    }

    /// Returns a value that the document gives.
    pub(in crate::openapi) fn example(&self) -> Option<&'a Node<'a>> {
        let is_value = |node: &&'a Node<'a>| node.value != Value::Null;
        let get = |key| self.get(key).filter(is_value);
        let first = |key| {
            let list: &'a Node<'a> = self.get(key)?;
            list.items().iter().find(is_value)
        };
        get("example")
            .or_else(|| get("x-example"))
            .or_else(|| first("examples"))
            .or_else(|| self.get("const"))
            .or_else(|| get("default"))
            .or_else(|| first("enum"))
    }

    /// Returns whether only `null` fits, since all alternatives are recursive or missing.
    pub(super) fn is_exhausted(&self) -> bool {
        self.has_no_alternative && self.example().is_none() && self.properties().is_empty()
    }

    /// Returns the examples of objects of all parts.
    pub(super) fn object_examples(&self) -> Vec<&'a Node<'a>> {
        let examples = self.parts.iter().filter_map(|part| {
            let first = part.get("examples").and_then(|list| list.items().first());
            let example = part.get("example").or(first);
            example.or_else(|| part.get("const").or_else(|| part.get("default")))
        });
        examples.filter(|node| !node.fields().is_empty()).collect()
    }

    /// Returns the properties of all parts; of several with a name the first.
    pub(in crate::openapi) fn properties(&self) -> Vec<(&'a str, &'a Node<'a>)> {
        let mut seen = HashSet::new();
        let properties = self.parts.iter().filter_map(|part| part.get("properties"));
        let properties = properties.flat_map(Node::fields);
        properties
            .map(|field| (&*field.name, &field.node))
            .filter(|(name, _)| seen.insert(*name))
            .collect()
    }

    /// Returns the names of required properties.
    pub(super) fn required(&self) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        let lists = self.parts.iter().filter_map(|part| part.get("required"));
        let names = lists.flat_map(Node::items).filter_map(Node::text);
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// Returns the names of optional properties without an example.
    pub(in crate::openapi) fn optional_without_example(&self) -> HashSet<&'a str> {
        let (required, examples) = (self.required(), self.object_examples());
        let properties = self.properties().into_iter();
        let optional = properties.filter(|(name, property)| {
            !required.contains(name)
                && !super::has_example(property)
                && examples.iter().all(|example| example.get(name).is_none())
        });
        optional.map(|(name, _)| name).collect()
    }

    /// Returns whether only these values are allowed.
    pub(in crate::openapi) fn has_fixed_values(&self) -> bool {
        self.get("enum").is_some() || self.get("const").is_some()
    }

    /// Returns whether this is the only type, apart from `null`.
    pub(super) fn is_only(&self, name: &str) -> bool {
        let has_choice = ["oneOf", "anyOf"].iter().any(|key| self.get(key).is_some());
        let Some(said) = self.get("type").filter(|_| !has_choice) else {
            return false;
        };
        let mut names: Vec<_> = said.items().iter().map(Node::text).collect();
        names.push(said.text());
        names.contains(&Some(name))
            && names
                .iter()
                .flatten()
                .all(|said| *said == name || *said == "null")
    }

    pub(in crate::openapi) fn kind(&self) -> SchemaKind {
        if self.is_never {
            return SchemaKind::Never;
        }
        let said = self.get("type").and_then(|node| {
            let names = node.items().iter().filter_map(Node::text);
            let first = node
                .text()
                .or_else(|| names.clone().find(|name| *name != "null"));
            first.or_else(|| names.clone().next())
        });
        match said {
            Some("object") => SchemaKind::Object,
            Some("array") => SchemaKind::List,
            Some("string") => SchemaKind::Text,
            Some("integer") => SchemaKind::Integer,
            Some("number") => SchemaKind::Number,
            Some("boolean") => SchemaKind::Boolean,
            Some("null") => SchemaKind::Null,
            _ => self.implied_kind(),
        }
    }

    /// Returns the kind that the other keywords imply.
    fn implied_kind(&self) -> SchemaKind {
        let has = |keys: &[&str]| keys.iter().any(|key| self.get(key).is_some());
        let mut examples = ["example", "const", "default"].into_iter();
        let example = examples.find_map(|key| self.get(key));
        if has(&["properties", "additionalProperties", "required"]) {
            SchemaKind::Object
        } else if has(&["items", "prefixItems", "minItems"]) {
            SchemaKind::List
        } else if has(&["pattern", "minLength", "maxLength", "format"]) {
            SchemaKind::Text
        } else if has(&["minimum", "maximum", "multipleOf"]) {
            SchemaKind::Number
        } else {
            match example.map(|node| &node.value) {
                Some(Value::Object(_)) => SchemaKind::Object,
                Some(Value::Text(_)) => SchemaKind::Text,
                _ => SchemaKind::Any,
            }
        }
    }
}
