//! What an operation is given: its parameters, with a value for each that is sent.

use super::content::hide;
use super::operations::Operation;
use super::places::{Document, shortened};
use super::sample::{Direction, Sampler, Shape, made, typed};
use super::style::Manner;
use crate::import::document::{Node, Value};
use crate::import::secrets::{is_secret, is_secret_number};

/// Headers that other parts of a document describe.
const DESCRIBED_ELSEWHERE: [&str; 3] = ["accept", "content-type", "authorization"];

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    /// `path`, `query`, `header`, `cookie`; in version 2.0 `body` and `formData`, too.
    pub(super) place: &'a str,
    pub(super) node: &'a Node<'a>,
}

/// The parameters of an operation, with those of its path that it does not have itself.
pub(super) fn parameters<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
) -> Vec<Parameter<'a>> {
    let mut parameters: Vec<Parameter<'a>> = Vec::new();
    for owner in [operation.item, operation.node] {
        let Some(list) = owner.get("parameters") else {
            continue;
        };
        if !list.is_list() {
            let words = format!("parameters are a list, and this is {}", list.kind());
            document.note(&list.span, words);
        }
        for entry in list.items() {
            let Some(node) = document.follow(entry) else {
                continue;
            };
            let place = node.text_of("in").unwrap_or_default();
            let is_known = matches!(
                place,
                "path" | "query" | "header" | "cookie" | "body" | "formData"
            );
            let name = node.text_of("name");
            let Some(name) = name.or((place == "body").then_some("body")) else {
                document.note(&node.span, "a parameter has a `name`, and this has none");
                continue;
            };
            if !is_known {
                let words = format!(
                    "`in` of `{}` says no place: it is left out",
                    shortened(name)
                );
                document.note(&node.span, words);
                continue;
            }
            let parameter = Parameter { name, place, node };
            let mut known = parameters.iter_mut();
            match known.find(|known| known.name == name && known.place == place) {
                Some(known) => *known = parameter,
                None => parameters.push(parameter),
            }
        }
    }
    parameters
}

impl<'a> Parameter<'a> {
    /// Whether it is sent: what has to be, and what the document gives an example of. A default is what the
    /// service takes anyway.
    pub(super) fn is_sent(&self, document: &Document<'a>) -> bool {
        let is_set = |key| self.node.get(key).and_then(Node::boolean) == Some(true);
        if self.place == "header" {
            let name = self.name.to_ascii_lowercase();
            if DESCRIBED_ELSEWHERE.contains(&name.as_str()) {
                return false;
            }
        }
        self.place == "path"
            || is_set("required")
            || !is_set("deprecated")
                && (self.example(document).is_some() || self.schema_example(document))
    }

    fn schema_example(&self, document: &Document<'a>) -> bool {
        let Some(schema) = self.schema() else {
            return false;
        };
        let shape = Shape::new(document, schema, &[]);
        ["example", "x-example", "const"]
            .iter()
            .any(|key| shape.get(key).is_some_and(|node| node.value != Value::Null))
            || shape
                .get("examples")
                .is_some_and(|list| !list.items().is_empty())
    }

    /// What it is described by: in version 2.0 itself.
    pub(super) fn schema(&self) -> Option<&'a Node<'a>> {
        let content = self.node.get("content");
        let content = content.and_then(|content| content.fields().first());
        self.node
            .get("schema")
            .or_else(|| content?.node.get("schema"))
            .or_else(|| self.node.get("type").map(|_| self.node))
    }

    /// An example that the document gives of it.
    fn example(&self, document: &Document<'a>) -> Option<Node<'a>> {
        let content = self.node.get("content");
        let content = content.and_then(|content| content.fields().first());
        example_of(document, self.node)
            .or_else(|| example_of(document, &content?.node))
            .filter(|example| example.value != Value::Null)
    }

    /// The value that is sent.
    pub(super) fn value(&self, document: &Document<'a>) -> Node<'a> {
        let sampler = Sampler::new(document, Direction::Request);
        let example = self.example(document);
        let example = example.map(|example| match self.schema() {
            Some(schema) => typed(document, schema, example),
            None => example,
        });
        let mut value = example
            .or_else(|| self.sampled(document, &sampler))
            .filter(|value| value.value != Value::Null)
            .and_then(|value| document.kept(value));
        if let Some(value) = &mut value {
            self.hide(document, value);
        }
        value.unwrap_or_else(|| {
            let is_empty = self.place != "path";
            made(
                self.node,
                Value::Text(if is_empty { "example" } else { "1" }.into()),
            )
        })
    }

    /// Puts a secret in the place of what the document has for it, where the name says that it is one.
    fn hide(&self, document: &Document<'a>, value: &mut Node<'a>) {
        let is_one_of = self.schema().is_some_and(|schema| {
            let shape = Shape::new(document, schema, &[]);
            shape.get("enum").is_some() || shape.get("const").is_some()
        });
        if is_one_of {
            return;
        }
        if let Value::List(items) = &mut value.value {
            return items.iter_mut().for_each(|item| self.hide(document, item));
        }
        let text = match &value.value {
            Value::Text(text) if is_secret(self.name) => text.as_ref(),
            Value::Number(number) if is_secret_number(self.name, number) => number.as_ref(),
            Value::Object(_) => return hide(document, value),
            _ => return,
        };
        if !text.is_empty() && !document.is_marker(text) {
            let what = format!("the {} parameter `{}`", self.place, shortened(self.name));
            let marker = document.hide(text, self.name, &what);
            value.value = Value::Text(marker.into());
        }
    }

    /// A value for its schema. The fields of an object that stand for themselves are parameters, of which those are
    /// left out that need not be there and have no example.
    fn sampled(&self, document: &Document<'a>, sampler: &Sampler<'a, '_>) -> Option<Node<'a>> {
        let schema = self.schema()?;
        let mut value = sampler.sample(schema, self.name)?;
        if let Value::Object(fields) = &mut value.value
            && self.place == "query"
            && self.manner(document).is_of_fields()
        {
            let shape = Shape::new(document, schema, &[]);
            let free = shape.free();
            fields.retain(|field| !free.contains(&*field.name));
        }
        Some(value)
    }

    pub(super) fn manner(&self, document: &Document<'a>) -> Manner {
        Manner::new(document, self.node, self.place)
    }
}

/// `example`, or the first of `examples` that holds a value.
pub(super) fn example_of<'a>(document: &Document<'a>, node: &'a Node<'a>) -> Option<Node<'a>> {
    if let Some(example) = node.get("example").or_else(|| node.get("x-example")) {
        return Some(example.clone());
    }
    for field in node.get("examples")?.fields() {
        let Some(example) = document.follow(&field.node) else {
            continue;
        };
        if let Some(value) = example.get("value").or_else(|| example.get("dataValue")) {
            return Some(value.clone());
        }
        if let Some(outside) = example.get("externalValue") {
            let words = "an example in another document is not read";
            document.note(&outside.span, words);
        }
    }
    None
}
