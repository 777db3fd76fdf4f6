//! How values are written into URLs and headers: the styles of version 3, the collection formats of version 2.

use super::content::Media;
use super::places::Document;
use crate::import::document::{Node, Value};
use std::fmt::Write as _;

/// A way to write a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    Space,
    Pipe,
    Tab,
    Deep,
}

/// How one value is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    style: Style,
    /// Whether each item and each field stands for itself.
    explodes: bool,
    /// Whether what has a meaning in URLs is left as it is.
    keeps_reserved: bool,
    /// Whether it is JSON.
    is_json: bool,
}

impl Manner {
    /// What a parameter, a header or the encoding of a field says; `place` is where it stands.
    pub(super) fn new(document: &Document<'_>, node: &Node<'_>, place: &str) -> Self {
        let usual = match place {
            "query" | "cookie" | "formData" => Style::Form,
            _ => Style::Simple,
        };
        let mut manner = Self {
            style: usual,
            explodes: usual == Style::Form && node.get("schema").is_some(),
            keeps_reserved: node.get("allowReserved").and_then(Node::boolean) == Some(true),
            is_json: node.get("content").is_some_and(|content| {
                let first = content.fields().first();
                first.is_none_or(|field| Media::of(&field.name).is_json())
            }),
        };
        if let Some(format) = node.text_of("collectionFormat") {
            (manner.style, manner.explodes) = match format {
                "csv" => (usual, false),
                "ssv" => (Style::Space, false),
                "tsv" => (Style::Tab, false),
                "pipes" => (Style::Pipe, false),
                "multi" => (Style::Form, true),
                _ => {
                    let words = format!("`{format}` is no collection format: commas are written");
                    document.note(&node.span, words);
                    (usual, false)
                }
            };
        }
        if let Some(said) = node.get("style") {
            let style = match said.text().unwrap_or_default() {
                "simple" => Some(Style::Simple),
                "label" => Some(Style::Label),
                "matrix" => Some(Style::Matrix),
                "form" | "cookie" => Some(Style::Form),
                "spaceDelimited" => Some(Style::Space),
                "pipeDelimited" => Some(Style::Pipe),
                "deepObject" => Some(Style::Deep),
                _ => None,
            };
            match style {
                Some(style) => {
                    manner.style = style;
                    manner.explodes = matches!(style, Style::Form | Style::Deep);
                }
                None => document.note(&said.span, "this is no style: the usual one is taken"),
            }
        }
        if let Some(explodes) = node.get("explode").and_then(Node::boolean) {
            manner.explodes = explodes;
        }
        manner
    }

    /// As the fields of a form are written where nothing is said.
    pub(super) fn of_form() -> Self {
        Self {
            style: Style::Form,
            explodes: true,
            keeps_reserved: false,
            is_json: false,
        }
    }

    /// As it stands in a path.
    pub(super) fn path(self, name: &str, value: &Node<'_>) -> String {
        let name = escaped(name, false);
        let write = |text: &str| escaped(text, false);
        match (self.style, parts(value, self.is_json, write)) {
            (Style::Label, parts) => {
                let separator = if self.explodes { "." } else { "," };
                format!(".{}", self.joined(&parts, separator))
            }
            (Style::Matrix, Parts::One(text)) => format!(";{name}={text}"),
            (Style::Matrix, parts) if !self.explodes => {
                format!(";{name}={}", self.joined(&parts, ","))
            }
            (Style::Matrix, Parts::Many(items)) => {
                let items = items.iter().map(|item| format!(";{name}={item}"));
                items.collect()
            }
            (Style::Matrix, parts) => format!(";{}", self.joined(&parts, ";")),
            (_, parts) => self.joined(&parts, ","),
        }
    }

    /// As it stands in a header.
    pub(super) fn header(self, value: &Node<'_>) -> String {
        self.joined(&parts(value, self.is_json, str::to_owned), ",")
    }

    /// The pairs of a query or a form, with their names; `write` escapes.
    pub(super) fn pairs(
        self,
        name: &str,
        value: &Node<'_>,
        write: impl Fn(&str) -> String + Copy,
    ) -> Vec<(String, String)> {
        let separator = match self.style {
            Style::Space => write(" "),
            Style::Pipe => write("|"),
            Style::Tab => write("\t"),
            _ => ",".to_owned(),
        };
        let one = |value: String| vec![(write(name), value)];
        if self.style == Style::Deep && !self.is_json {
            let mut pairs = Vec::new();
            deep(name, value, write, &mut pairs);
            return pairs;
        }
        match parts(value, self.is_json, write) {
            Parts::Many(items) if self.explodes => {
                let items = items.into_iter();
                items.map(|item| (write(name), item)).collect()
            }
            Parts::Named(fields) if self.explodes => fields,
            parts => one(self.joined(&parts, &separator)),
        }
    }

    /// Whether each field of an object stands for itself, under its own name.
    pub(super) fn is_of_fields(self) -> bool {
        self.style == Style::Form && self.explodes && !self.is_json
    }

    /// The pairs of a query.
    pub(super) fn query(self, name: &str, value: &Node<'_>) -> Vec<(String, String)> {
        self.pairs(name, value, |text| escaped(text, self.keeps_reserved))
    }

    fn joined(self, parts: &Parts, separator: &str) -> String {
        match parts {
            Parts::One(text) => text.clone(),
            Parts::Many(items) => items.join(separator),
            Parts::Named(fields) => {
                let between = if self.explodes { "=" } else { separator };
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}{between}{value}"))
                    .collect();
                fields.join(separator)
            }
        }
    }
}

/// `name[key]=value`, as deep as it goes.
fn deep(
    name: &str,
    value: &Node<'_>,
    write: impl Fn(&str) -> String + Copy,
    pairs: &mut Vec<(String, String)>,
) {
    match &value.value {
        Value::Object(fields) => {
            for field in fields {
                deep(
                    &format!("{name}[{}]", field.name),
                    &field.node,
                    write,
                    pairs,
                );
            }
        }
        Value::List(items) => {
            for (number, item) in items.iter().enumerate() {
                deep(&format!("{name}[{number}]"), item, write, pairs);
            }
        }
        _ => pairs.push((write(name), write(&plain(value)))),
    }
}

/// What a value is made of, escaped.
enum Parts {
    One(String),
    Many(Vec<String>),
    Named(Vec<(String, String)>),
}

fn parts(value: &Node<'_>, is_json: bool, write: impl Fn(&str) -> String + Copy) -> Parts {
    match &value.value {
        _ if is_json => Parts::One(write(&value.json())),
        Value::List(items) => Parts::Many(items.iter().map(|item| write(&plain(item))).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            Parts::Named(
                fields
                    .map(|field| (write(&field.name), of_field(&field.node, write)))
                    .collect(),
            )
        }
        _ => Parts::One(write(&plain(value))),
    }
}

/// The value of a field: what is within it has commas between, since no standard says more.
fn of_field(value: &Node<'_>, write: impl Fn(&str) -> String + Copy) -> String {
    let parts: Vec<String> = match &value.value {
        Value::List(items) => items.iter().map(|item| of_field(item, write)).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|field| [write(&field.name), of_field(&field.node, write)])
            .collect(),
        _ => vec![write(&plain(value))],
    };
    parts.join(",")
}

/// What a value within another is in text.
pub(super) fn plain(value: &Node<'_>) -> String {
    match &value.value {
        Value::Null => String::new(),
        Value::List(_) | Value::Object(_) => value.json(),
        _ => value.scalar().unwrap_or_default().into_owned(),
    }
}

/// A text as a part of a URL.
pub(super) fn escaped(text: &str, keeps_reserved: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte);
        if is_plain || keeps_reserved && b"/?[]!$&'()*+,;=".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::document;
    use crate::import::source::Input;

    /// The parameter `color` with a value, written.
    fn written(place: &str, rest: &str, value: &str) -> String {
        let text = format!("{{\"p\": {{\"schema\": {{}}{rest}}}, \"v\": {value}}}");
        let text = text.replace(
            "\"schema\": {}, \"collectionFormat\"",
            "\"collectionFormat\"",
        );
        let input = Input::new("x", text);
        let root = document::read(&input).unwrap();
        let document = Document::new(&root, &input.text);
        let manner = Manner::new(&document, root.get("p").unwrap(), place);
        let value = root.get("v").unwrap();
        match place {
            "path" => manner.path("color", value),
            "header" => manner.header(value),
            _ => {
                let pairs = manner.query("color", value);
                let pairs: Vec<_> = pairs
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                pairs.join("&")
            }
        }
    }

    #[test]
    fn styles_are_those_of_the_standard() {
        // The table of OpenAPI 3.1, section 4.8.12.4, but for `R`, `G`, `B` and the escapes.
        let (text, list, object) = ("\"blue\"", "[\"blue\",\"black\"]", "{\"R\":100,\"G\":200}");
        for (place, rest, value, expected) in [
            ("path", ", \"style\": \"matrix\"", text, ";color=blue"),
            ("path", ", \"style\": \"matrix\"", list, ";color=blue,black"),
            (
                "path",
                ", \"style\": \"matrix\"",
                object,
                ";color=R,100,G,200",
            ),
            (
                "path",
                ", \"style\": \"matrix\", \"explode\": true",
                list,
                ";color=blue;color=black",
            ),
            (
                "path",
                ", \"style\": \"matrix\", \"explode\": true",
                object,
                ";R=100;G=200",
            ),
            ("path", ", \"style\": \"label\"", text, ".blue"),
            (
                "path",
                ", \"style\": \"label\", \"explode\": true",
                list,
                ".blue.black",
            ),
            (
                "path",
                ", \"style\": \"label\", \"explode\": true",
                object,
                ".R=100.G=200",
            ),
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
                ", \"style\": \"spaceDelimited\"",
                list,
                "color=blue%20black",
            ),
            (
                "query",
                ", \"style\": \"pipeDelimited\"",
                list,
                "color=blue%7Cblack",
            ),
            (
                "query",
                ", \"style\": \"deepObject\"",
                object,
                "color%5BR%5D=100&color%5BG%5D=200",
            ),
            (
                "query",
                ", \"allowReserved\": true",
                "\"a/b?c&\"",
                "color=a/b?c&",
            ),
            (
                "query",
                ", \"content\": {}",
                object,
                "color=%7B%22R%22:100%2C%22G%22:200%7D",
            ),
            (
                "query",
                ", \"collectionFormat\": \"multi\"",
                list,
                "color=blue&color=black",
            ),
            (
                "query",
                ", \"collectionFormat\": \"pipes\"",
                list,
                "color=blue%7Cblack",
            ),
            (
                "query",
                ", \"collectionFormat\": \"csv\"",
                list,
                "color=blue,black",
            ),
        ] {
            assert_eq!(
                written(place, rest, value),
                expected,
                "{place}{rest} {value}"
            );
        }
    }

    #[test]
    fn what_is_within_a_field_has_commas_between() {
        let object = "{\"R\":[\"a b\",2],\"G\":{\"x\":[true,null]},\"B\":[]}";
        let fields = "R=a%20b,2&G=x,true,&B=";
        assert_eq!(written("query", "", object), fields);
        let object = "{\"R\":[1,2],\"G\":{\"x\":3}}";
        let together = written("query", ", \"explode\": false", object);
        assert_eq!(together, "color=R,1,2,G,x,3");
    }
}
