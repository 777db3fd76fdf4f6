//! Reads the parameters of an operation, with a value for each that is sent.

use super::content::hide_secrets;
use super::document::{ApiDocument, shorten};
use super::draft::RequestDraft;
use super::example::{Direction, ExampleMaker, ExampleValue, MergedSchema, read_example};
use super::operations::{Operation, suggest_known};
use super::style::ValueStyle;
use crate::document::{Node, Value};
use crate::secrets::is_secret_number;
use crate::source::Mistake;
use std::collections::BTreeSet;

/// Headers that other parts of a document describe.
const DESCRIBED_ELSEWHERE: [&str; 3] = ["accept", "content-type", "authorization"];

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    /// `path`, `query`, `header` or `cookie`.
    pub(super) place: &'a str,
    pub(super) node: &'a Node<'a>,
}

/// Reads the parameters of an operation and of its path.
pub(super) fn read_parameters<'a>(
    document: &ApiDocument<'a>,
    operation: &Operation<'a>,
) -> Vec<Parameter<'a>> {
    let mut parameters: Vec<Parameter<'a>> = Vec::new();
    for owner in [operation.path_item, operation.node] {
        let list = document.items(owner, "parameters").iter();
        for parameter in list.filter_map(|entry| read_parameter(document, entry)) {
            let mut known = parameters.iter_mut();
            let is_same = |known: &&mut Parameter<'_>| {
                known.name == parameter.name && known.place == parameter.place
            };
            match known.find(is_same) {
                Some(known) => *known = parameter,
                None => parameters.push(parameter),
            }
        }
    }
    parameters
}

fn read_parameter<'a>(document: &ApiDocument<'a>, entry: &'a Node<'a>) -> Option<Parameter<'a>> {
    let node = document.follow(entry)?;
    let place = node.text_of("in").unwrap_or_default();
    // Version 2.0 gives bodies a name, which is not sent.
    let unnamed = Some("body").filter(|_| place == "body");
    let Some(name) = node.text_of("name").or(unnamed) else {
        document.warn(&node.span, "a parameter has a `name`, and this has none");
        return None;
    };
    if !matches!(
        place,
        "path" | "query" | "header" | "cookie" | "body" | "formData"
    ) {
        let words = format!("`in` of `{}` says no place: it is left out", shorten(name));
        document.warn(&node.span, words);
        return None;
    }
    Some(Parameter { name, place, node })
}

impl<'a> Parameter<'a> {
    /// Returns whether the parameter is sent: it is required, or has an example.
    pub(super) fn is_sent(&self, document: &ApiDocument<'a>) -> bool {
        let is_set = |key| self.node.get(key).and_then(Node::boolean) == Some(true);
        let is_described_elsewhere = self.place == "header"
            && DESCRIBED_ELSEWHERE.contains(&self.name.to_ascii_lowercase().as_str());
        let has_example = || self.example(document).is_some() || self.has_schema_example(document);
        !is_described_elsewhere
            && (self.place == "path"
                || is_set("required")
                || self.is_given(document)
                || !is_set("deprecated") && has_example())
    }

    fn has_schema_example(&self, document: &ApiDocument<'a>) -> bool {
        let Some(schema) = self.schema() else {
            return false;
        };
        let merged = MergedSchema::new(document, schema, &[]);
        let is_value = |key: &&str| {
            merged
                .get(key)
                .is_some_and(|node| node.value != Value::Null)
        };
        let examples = merged.get("examples").map_or(&[][..], Node::items);
        ["example", "x-example", "const"].iter().any(is_value) || !examples.is_empty()
    }

    /// Returns the media type of a parameter with `content`.
    fn media(&self) -> Option<&'a Node<'a>> {
        Some(&self.node.get("content")?.fields().first()?.node)
    }

    pub(super) fn schema(&self) -> Option<&'a Node<'a>> {
        // In version 2.0, it is its own schema.
        let own = self.node.get("type").map(|_| self.node);
        let schema = self.node.get("schema").or(own);
        schema.or_else(|| self.media()?.get("schema"))
    }

    /// Returns the example that the document gives.
    fn example(&self, document: &ApiDocument<'a>) -> Option<&'a Node<'a>> {
        let example = find_example(document, self.node);
        let example = example.or_else(|| find_example(document, self.media()?));
        example.filter(|example| example.value != Value::Null)
    }

    /// Returns true if the user gave the value.
    fn is_given(&self, document: &ApiDocument<'a>) -> bool {
        self.can_be_given() && document.given_value(self.name).is_some()
    }

    fn can_be_given(&self) -> bool {
        matches!(self.place, "path" | "query" | "header")
    }

    /// Returns true for a required one of the query or the headers whose value nothing says.
    pub(super) fn is_made_up(&self, document: &ApiDocument<'a>) -> bool {
        matches!(self.place, "query" | "header")
            && self.node.get("required").and_then(Node::boolean) == Some(true)
            && !self.is_given(document)
            && self.example(document).is_none()
            && !self.has_schema_example(document)
            && !self.has_fixed_values(document)
    }

    /// Returns the value that is sent.
    pub(super) fn value(&self, document: &ApiDocument<'a>) -> ExampleValue {
        let given = document.given_value(self.name);
        let given = given.filter(|_| self.can_be_given());
        let value = match (given, self.example(document)) {
            (Some(given), _) => Some(ExampleValue::text(given)),
            (None, Some(example)) => Some(read_example(document, self.schema(), example)),
            (None, None) => self.make_value(document),
        };
        let value = value
            .filter(|value| *value != ExampleValue::Null && document.reserve_bytes(value.size()));
        let Some(mut value) = value else {
            let usual = if self.place == "path" { "1" } else { "example" };
            return ExampleValue::text(usual);
        };
        if !self.has_fixed_values(document) {
            self.hide_value(document, &mut value);
        }
        value
    }

    /// Returns true if only certain values are allowed.
    pub(super) fn has_fixed_values(&self, document: &ApiDocument<'a>) -> bool {
        let schema = self.schema();
        schema.is_some_and(|schema| MergedSchema::new(document, schema, &[]).has_fixed_values())
    }

    /// Makes a value for the schema. Fields that become parameters of their own are sent like these.
    fn make_value(&self, document: &ApiDocument<'a>) -> Option<ExampleValue> {
        let schema = self.schema()?;
        let mut maker = ExampleMaker::new(document, Direction::Request);
        maker.sends_optional = true;
        let mut value = maker.make(schema, self.name)?;
        if let ExampleValue::Object(fields) = &mut value
            && self.place == "query"
            && self.style(document).splits_objects()
        {
            let merged = MergedSchema::new(document, schema, &[]);
            let optional = merged.optional_without_example();
            fields.retain(|(name, _)| !optional.contains(name.as_str()));
        }
        Some(value)
    }

    /// Replaces a value by a secret if the name of the parameter says so.
    fn hide_value(&self, document: &ApiDocument<'a>, value: &mut ExampleValue) {
        let what = format!("the {} parameter `{}`", self.place, shorten(self.name));
        match value {
            ExampleValue::Number(number) if is_secret_number(self.name, number) => {
                *value = ExampleValue::Text(document.hide_value(number, self.name, &what));
            }
            value => hide_secrets(document, value, self.name, &what),
        }
    }

    pub(super) fn style(&self, document: &ApiDocument<'a>) -> ValueStyle {
        ValueStyle::read(document, self.node, self.place)
    }
}

/// Refuses a value for a parameter that no operation has, and suggests a similar one.
pub(super) fn check_given(
    document: &ApiDocument<'_>,
    drafts: &[RequestDraft<'_>],
    given: &[(String, String)],
) -> Result<(), Mistake> {
    let names = drafts.iter().flat_map(RequestDraft::parameter_names);
    let names: BTreeSet<&str> = names.collect();
    let Some((name, _)) = given
        .iter()
        .find(|(name, _)| !names.contains(name.as_str()))
    else {
        return Ok(());
    };
    let help = suggest_known(name, &names);
    let words = format!("no operation here has the parameter `{}`", shorten(name));
    Err(Mistake::new(document.start(), words).help(help))
}

/// Returns `example`, or the first of `examples` with a value.
pub(super) fn find_example<'a>(
    document: &ApiDocument<'a>,
    node: &'a Node<'a>,
) -> Option<&'a Node<'a>> {
    if let Some(example) = node.get("example").or_else(|| node.get("x-example")) {
        return Some(example);
    }
    for field in node.get("examples")?.fields() {
        let Some(example) = document.follow(&field.node) else {
            continue;
        };
        if let Some(value) = example.get("value") {
            return Some(value);
        }
    }
    None
}
