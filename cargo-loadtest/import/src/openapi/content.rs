//! Reads the content of requests and answers: the best media type, and a value of it.

use super::document::ApiDocument;
use super::example::{Direction, ExampleMaker, ExampleValue, MergedSchema, read_example};
use super::parameters::find_example;
use crate::document::Node;
use crate::recording::{Text, is_json};
use crate::secrets::is_secret_name;
use crate::text::URL_ENCODED;

/// Kind of a media type, the best understood first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MediaKind {
    Json,
    /// `application/problem+json` and the like.
    JsonSuffix,
    Form,
    Multipart,
    Text,
    Xml,
    Bytes,
}

/// Content of a request or an answer.
#[derive(Debug, Clone)]
pub(super) struct Content<'a> {
    pub(super) kind: MediaKind,
    pub(super) media_type: String,
    /// The value, if one is known.
    pub(super) value: Option<ExampleValue>,
    /// The schemas of its fields.
    pub(super) properties: Vec<(&'a str, &'a Node<'a>)>,
    /// The encodings of its fields.
    pub(super) encodings: Vec<(&'a str, &'a Node<'a>)>,
    /// The number of media types to choose from.
    pub(super) choices: usize,
}

impl MediaKind {
    pub(super) fn of_type(media_type: &str) -> Self {
        let name = media_type.split(';').next().unwrap_or_default();
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "application/json" | "*/*" | "application/*" | "text/json" => Self::Json,
            URL_ENCODED => Self::Form,
            "application/xml" | "text/xml" => Self::Xml,
            name if name.ends_with("+json") => Self::JsonSuffix,
            name if name.ends_with("+xml") => Self::Xml,
            name if name.starts_with("multipart/") => Self::Multipart,
            name if name.starts_with("text/") => Self::Text,
            _ => Self::Bytes,
        }
    }

    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::JsonSuffix)
    }
}

/// Reads the best of the media types in `content` of a request or an answer.
pub(super) fn read_content<'a>(
    document: &ApiDocument<'a>,
    owner: &'a Node<'a>,
    direction: Direction,
) -> Option<Content<'a>> {
    let fields = document.fields(owner, "content");
    let best = fields
        .iter()
        .min_by_key(|field| MediaKind::of_type(&field.name))?;
    let node = document.follow(&best.node);
    let mut content = Content::new(&sent_media_type(&best.name));
    content.kind = MediaKind::of_type(&best.name);
    content.choices = fields.len();
    if let Some(node) = node {
        content.value = read_value(document, node, direction);
        let schema = node.get("schema");
        let schema = schema.map(|schema| MergedSchema::new(document, schema, &[]));
        content.properties = schema.map_or_else(Vec::new, |schema| schema.properties());
        let encodings = node.get("encoding").map_or(&[][..], Node::fields).iter();
        content.encodings = encodings.map(|field| (&*field.name, &field.node)).collect();
    }
    Some(content)
}

/// Returns the media type to send, also for a range of types or for none.
fn sent_media_type(name: &str) -> String {
    let name = name.trim();
    let is_header = name.bytes().all(|byte| (b' '..0x7f).contains(&byte));
    if name.contains('/') && !name.contains('*') && is_header {
        return name.to_owned();
    }
    let known = match MediaKind::of_type(name) {
        MediaKind::Json | MediaKind::JsonSuffix => "application/json",
        MediaKind::Text => "text/plain",
        MediaKind::Xml => "application/xml",
        _ => "application/octet-stream",
    };
    known.to_owned()
}

/// Reads the example of a media type, or makes a value for its schema.
pub(super) fn read_value<'a>(
    document: &ApiDocument<'a>,
    node: &'a Node<'a>,
    direction: Direction,
) -> Option<ExampleValue> {
    let schema = node.get("schema");
    let example = find_example(document, node);
    let example = example.map(|example| read_example(document, schema, example));
    let made = || ExampleMaker::new(document, direction).make(schema?, "");
    let mut value = example.or_else(made)?;
    if !document.reserve_bytes(value.size()) {
        return None;
    }
    if direction == Direction::Request {
        hide_secrets(document, &mut value, "", "");
    }
    Some(value)
}

/// Replaces values by secrets where their name, or those of fields in them, say so.
pub(super) fn hide_secrets(
    document: &ApiDocument<'_>,
    value: &mut ExampleValue,
    name: &str,
    what: &str,
) {
    match value {
        ExampleValue::Text(text) if is_secret_name(name) => {
            if let Some(literal) = text.as_literal().filter(|text| !text.is_empty()) {
                *text = document.hide_value(literal, name, what);
            }
        }
        ExampleValue::List(items) => {
            for item in items {
                hide_secrets(document, item, name, what);
            }
        }
        ExampleValue::Object(fields) => {
            for (name, value) in fields {
                let what = format!("`{name}` in requests");
                hide_secrets(document, value, name, &what);
            }
        }
        _ => {}
    }
}

impl Content<'_> {
    /// Makes content without a value.
    pub(super) fn new(media_type: &str) -> Self {
        Self {
            kind: MediaKind::of_type(media_type),
            media_type: media_type.to_owned(),
            value: None,
            properties: Vec::new(),
            encodings: Vec::new(),
            choices: 1,
        }
    }

    /// Writes the value as its media type has it, if that is known.
    pub(super) fn to_text(&self) -> Option<Text> {
        let value = self.value.as_ref()?;
        let literal = match value {
            ExampleValue::Text(text) => Some(text),
            _ => None,
        };
        match self.kind {
            MediaKind::Json | MediaKind::JsonSuffix => {
                // Some examples are JSON written as text.
                let written =
                    literal.filter(|text| text.as_literal().is_some_and(is_json_document));
                Some(written.cloned().unwrap_or_else(|| value.to_json()))
            }
            MediaKind::Xml => literal.cloned(),
            _ => Some(value.to_text()),
        }
    }

    /// Returns the value if it is sent as JSON.
    pub(super) fn json_value(&self) -> Option<&ExampleValue> {
        self.value.as_ref().filter(|_| self.kind.is_json())
    }
}

fn is_json_document(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && is_json(text)
}
