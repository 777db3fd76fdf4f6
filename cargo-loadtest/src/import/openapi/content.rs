//! What requests and answers hold: the media type that is best understood, and a value of it.

use super::parameters::example_of;
use super::places::{Document, shortened};
use super::sample::{Direction, Sampler, typed};
use super::style::plain;
use crate::import::document::{Node, Value};
use crate::import::secrets::is_secret;
use crate::import::source::Span;

pub(super) const URL_ENCODED: &str = "application/x-www-form-urlencoded";

/// A kind of media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Media {
    Json,
    /// `application/problem+json` and the like.
    LikeJson,
    Form,
    Multipart,
    Text,
    Xml,
    Bytes,
}

/// What is sent or received.
#[derive(Debug, Clone)]
pub(super) struct Content<'a> {
    pub(super) media: Media,
    /// As a header says it.
    pub(super) media_type: String,
    /// The value; none where nothing is known of it.
    pub(super) value: Option<Node<'a>>,
    /// What the document says about it.
    pub(super) node: Option<&'a Node<'a>>,
    /// Of how many media types this is one.
    pub(super) among: usize,
}

impl Media {
    /// The kind of a media type.
    pub(super) fn of(media_type: &str) -> Self {
        let name = media_type.split(';').next().unwrap_or_default();
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "application/json" | "*/*" | "application/*" | "text/json" => Self::Json,
            URL_ENCODED => Self::Form,
            "application/xml" | "text/xml" => Self::Xml,
            name if name.ends_with("+json") => Self::LikeJson,
            name if name.ends_with("+xml") => Self::Xml,
            name if name.starts_with("multipart/") => Self::Multipart,
            name if name.starts_with("text/") => Self::Text,
            _ => Self::Bytes,
        }
    }

    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::LikeJson)
    }
}

/// The best of the media types of version 3.
pub(super) fn content<'a>(
    document: &Document<'a>,
    content: &'a Node<'a>,
    direction: Direction,
) -> Option<Content<'a>> {
    if !content.is_object() {
        let words = format!("`content` has media types, and this is {}", content.kind());
        document.note(&content.span, words);
    }
    let fields = content.fields();
    let best = fields.iter().min_by_key(|field| Media::of(&field.name))?;
    let media = Media::of(&best.name);
    let described = document.follow(&best.node);
    let example = described.and_then(|node| example_of(document, node));
    let schema = described.and_then(|node| node.get("schema"));
    let value = value(document, example, schema, direction);
    Some(Content {
        media,
        media_type: media_type(document, media, &best.name, &best.span),
        value,
        node: described,
        among: fields.len(),
    })
}

/// The media type as it is sent: a range is none.
pub(super) fn media_type(document: &Document<'_>, media: Media, name: &str, span: &Span) -> String {
    let name = name.trim();
    let is_header = name.bytes().all(|byte| (b' '..0x7f).contains(&byte));
    if name.contains('*') || !name.contains('/') || !is_header {
        let known = match media {
            Media::Json | Media::LikeJson => "application/json",
            Media::Text => "text/plain",
            Media::Xml => "application/xml",
            _ => "application/octet-stream",
        };
        if !name.contains('*') {
            let words = format!("`{}` is no media type: `{known}` is taken", shortened(name));
            document.note(span, words);
        }
        return known.to_owned();
    }
    name.to_owned()
}

/// An example, or else a value for the schema.
pub(super) fn value<'a>(
    document: &Document<'a>,
    example: Option<Node<'a>>,
    schema: Option<&'a Node<'a>>,
    direction: Direction,
) -> Option<Node<'a>> {
    let example = example.map(|example| match schema {
        Some(schema) => typed(document, schema, example),
        None => example,
    });
    let value = example.or_else(|| Sampler::new(document, direction).sample(schema?, ""))?;
    let mut value = document.kept(value)?;
    if direction == Direction::Request {
        hide(document, &mut value);
    }
    Some(value)
}

/// Puts secrets in the place of what an example has for them.
pub(super) fn hide(document: &Document<'_>, value: &mut Node<'_>) {
    match &mut value.value {
        Value::List(items) => items.iter_mut().for_each(|item| hide(document, item)),
        Value::Object(fields) => {
            for field in fields {
                match &mut field.node.value {
                    Value::Text(text)
                        if is_secret(&field.name)
                            && !text.is_empty()
                            && !document.is_marker(text) =>
                    {
                        let what = format!("`{}` in requests", field.name);
                        *text = document.hide(text, &field.name, &what).into();
                    }
                    _ => hide(document, &mut field.node),
                }
            }
        }
        _ => {}
    }
}

impl<'a> Content<'a> {
    /// The bytes; none where there is no value, or none that is known to be of this type.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let value = self.value.as_ref()?;
        let text = value.text();
        let bytes = match self.media {
            Media::Json | Media::LikeJson => match text {
                // JSON that is written as text.
                Some(text) if is_whole_json(text) => text.to_owned(),
                _ => value.json(),
            },
            Media::Xml => text?.to_owned(),
            _ => plain(value),
        };
        Some(bytes.into_bytes())
    }

    /// The value as JSON that others can be looked up in.
    pub(super) fn json(&self) -> Option<&Node<'a>> {
        let value = self.value.as_ref()?;
        self.media.is_json().then_some(value)
    }
}

fn is_whole_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
