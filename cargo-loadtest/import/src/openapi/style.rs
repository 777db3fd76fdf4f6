//! Writes values into URLs and headers in the styles of OpenAPI 3.

use super::document::{ApiDocument, shorten};
use super::example::ExampleValue;
use crate::document::Node;
use crate::recording::Text;
use crate::text::percent_encode_except;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Simple,
    Form,
    Deep,
    /// That of a parameter with `content`.
    Json,
}

/// The style of one value.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueStyle {
    style: Style,
    /// Writes each item and each field for itself.
    explodes: bool,
}

impl ValueStyle {
    /// Style of a field of a form without one of its own.
    pub(super) const FORM: Self = Self {
        style: Style::Form,
        explodes: true,
    };

    /// Reads the style of a parameter, a header or a field of a form in this place.
    pub(super) fn read(document: &ApiDocument<'_>, node: &Node<'_>, place: &str) -> Self {
        let usual = match place {
            _ if node.get("content").is_some() => Style::Json,
            "query" | "cookie" => Style::Form,
            _ => Style::Simple,
        };
        let said = node.get("style");
        let style = said.map(|said| match said.text().unwrap_or_default() {
            "simple" => Some(Style::Simple),
            "form" | "cookie" => Some(Style::Form),
            "deepObject" => Some(Style::Deep),
            _ => {
                let words = "this style cannot be written: the default style is used";
                document.warn(&said.span, words);
                None
            }
        });
        let style = style.flatten().unwrap_or(usual);
        let explodes = match node.get("collectionFormat") {
            Some(format) => Some(read_collection_format(document, format)),
            // Version 2.0 has no `schema` in it.
            None if node.get("type").is_some() => Some(false),
            None => node.get("explode").and_then(Node::boolean),
        };
        Self {
            style,
            explodes: explodes.unwrap_or(matches!(style, Style::Form | Style::Deep)),
        }
    }

    /// Returns whether each field of an object becomes a parameter of its own name.
    pub(super) fn splits_objects(self) -> bool {
        self.style == Style::Form && self.explodes
    }

    /// Writes a value into a path.
    pub(super) fn write_path(self, value: &ExampleValue) -> Text {
        self.join_parts(&self.split_value(value, &escape_url))
    }

    /// Writes a value into a header.
    pub(super) fn write_header(self, value: &ExampleValue) -> Text {
        self.join_parts(&self.split_value(value, &str::to_owned))
    }

    /// Writes the pairs of a query.
    pub(super) fn write_query(self, name: &str, value: &ExampleValue) -> Vec<(String, Text)> {
        self.write_pairs(name, value, &escape_url)
    }

    /// Writes the pairs of a form, without escapes.
    pub(super) fn write_form(self, name: &str, value: &ExampleValue) -> Vec<(String, Text)> {
        self.write_pairs(name, value, &str::to_owned)
    }

    fn write_pairs(
        self,
        name: &str,
        value: &ExampleValue,
        escape: &dyn Fn(&str) -> String,
    ) -> Vec<(String, Text)> {
        if self.style == Style::Deep {
            let mut pairs = Vec::new();
            add_deep_pairs(name, value, escape, &mut pairs);
            return pairs;
        }
        match self.split_value(value, escape) {
            Parts::Many(items) if self.explodes => {
                let items = items.into_iter();
                items.map(|item| (escape(name), item)).collect()
            }
            Parts::Named(fields) if self.explodes => fields,
            parts => vec![(escape(name), self.join_parts(&parts))],
        }
    }

    fn split_value(self, value: &ExampleValue, escape: &dyn Fn(&str) -> String) -> Parts {
        let write_item = |value: &ExampleValue| value.to_text().map_literals(escape);
        let write = |value: &ExampleValue| match value {
            ExampleValue::List(items) => Text::join(items.iter().map(write_item), ","),
            _ => write_item(value),
        };
        match value {
            _ if self.style == Style::Json => Parts::One(value.to_json().map_literals(escape)),
            ExampleValue::List(items) => Parts::Many(items.iter().map(write).collect()),
            ExampleValue::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| (escape(name), write(value)));
                Parts::Named(fields.collect())
            }
            _ => Parts::One(write(value)),
        }
    }

    fn join_parts(self, parts: &Parts) -> Text {
        match parts {
            Parts::One(text) => text.clone(),
            Parts::Many(items) => Text::join(items.iter().cloned(), ","),
            Parts::Named(fields) => {
                let between = if self.explodes { "=" } else { "," };
                let fields = fields.iter();
                let fields = fields
                    .map(|(name, value)| value.clone().between(&format!("{name}{between}"), ""));
                Text::join(fields, ",")
            }
        }
    }
}

/// The escaped parts of a value.
enum Parts {
    One(Text),
    Many(Vec<Text>),
    Named(Vec<(String, Text)>),
}

/// Returns true for a list whose items are sent one by one, as version 2.0 says it.
fn read_collection_format(document: &ApiDocument<'_>, format: &Node<'_>) -> bool {
    let name = format.text().unwrap_or_default();
    if !matches!(name, "csv" | "multi") {
        let words = format!("`{}` is not written: commas are", shorten(name));
        document.warn(&format.span, words);
    }
    name == "multi"
}

/// Adds `name[key]=value`, as deep as it goes.
fn add_deep_pairs(
    name: &str,
    value: &ExampleValue,
    escape: &dyn Fn(&str) -> String,
    pairs: &mut Vec<(String, Text)>,
) {
    match value {
        ExampleValue::Object(fields) => {
            for (key, value) in fields {
                add_deep_pairs(&format!("{name}[{key}]"), value, escape, pairs);
            }
        }
        ExampleValue::List(items) => {
            for (number, item) in items.iter().enumerate() {
                add_deep_pairs(&format!("{name}[{number}]"), item, escape, pairs);
            }
        }
        _ => pairs.push((escape(name), value.to_text().map_literals(escape))),
    }
}

/// Escapes a part of a URL.
pub(super) fn escape_url(text: &str) -> String {
    percent_encode_except(text, "-._~:@")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::source::Input;

    /// Writes the parameter `color` with a value.
    fn write(place: &str, rest: &str, value: &str) -> String {
        let text = format!("{{\"p\": {{\"schema\": {{}}{rest}}}, \"v\": {value}}}");
        let input = Input::new("x", text);
        let root = document::read(&input).unwrap();
        let document = ApiDocument::new(&root, &input.text, &[]);
        let style = ValueStyle::read(&document, root.get("p").unwrap(), place);
        let value = ExampleValue::from_node(root.get("v").unwrap());
        let show = |text: &Text| text.as_literal().unwrap().to_owned();
        match place {
            "path" => show(&style.write_path(&value)),
            "header" => show(&style.write_header(&value)),
            _ => {
                let pairs = style.write_query("color", &value);
                let pairs = pairs
                    .iter()
                    .map(|(name, value)| format!("{name}={}", show(value)));
                pairs.collect::<Vec<_>>().join("&")
            }
        }
    }

    #[test]
    fn styles_are_those_of_the_standard() {
        // The table of OpenAPI 3.1, section 4.8.12.4, but for `R`, `G`, `B` and the escapes.
        let (text, list, object) = ("\"blue\"", "[\"blue\",\"black\"]", "{\"R\":100,\"G\":200}");
        for (place, rest, value, expected) in [
            ("path", "", text, "blue"),
            ("path", "", list, "blue,black"),
            ("path", "", object, "R,100,G,200"),
            ("path", ", \"explode\": true", object, "R=100,G=200"),
            ("path", "", "\"a/b c\"", "a%2Fb%20c"),
            ("header", "", list, "blue,black"),
            ("query", "", list, "color=blue&color=black"),
            ("query", "", object, "R=100&G=200"),
            ("query", ", \"explode\": false", list, "color=blue,black"),
            ("query", ", \"explode\": false", object, "color=R,100,G,200"),
            (
                "query",
                ", \"style\": \"deepObject\"",
                object,
                "color%5BR%5D=100&color%5BG%5D=200",
            ),
        ] {
            assert_eq!(write(place, rest, value), expected, "{place}{rest} {value}");
        }
    }
}
