//! The bodies of requests: `requestBody` of version 3, parameters in `body` and `formData` of version 2.

use super::content::{self, Content, Media, URL_ENCODED};
use super::operations::Operation;
use super::parameters::Parameter;
use super::places::{Document, shortened};
use super::sample::{Direction, Shape, made};
use super::style::{Manner, plain};
use crate::import::document::{Field, Node, Value};
use crate::import::marked::{BOUNDARY, Body, Part};
use std::borrow::Cow;

/// What is sent of a file.
const FILE: &[u8] = b"loadtest";

/// A body, and the header that says what it is.
#[derive(Debug, Default)]
pub(super) struct Sent<'a> {
    pub(super) body: Body,
    pub(super) content_type: Option<String>,
    /// Its value, where it has names in it.
    pub(super) value: Option<Node<'a>>,
    /// Whether the body is just that as JSON.
    pub(super) is_json: bool,
}

impl Sent<'_> {
    /// Puts a text in the place of a field.
    pub(super) fn put(&mut self, name: &str, text: String) {
        let Some(Node {
            value: Value::Object(fields),
            ..
        }) = self.value.as_mut().filter(|_| self.is_json)
        else {
            return;
        };
        if let Some(field) = fields.iter_mut().find(|field| field.name == name) {
            field.node.value = Value::Text(text.into());
        }
        if let Some(value) = &self.value {
            self.body = Body::Bytes(value.json().into_bytes());
        }
    }
}

/// The body of an operation.
pub(super) fn body<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    parameters: &[Parameter<'a>],
) -> Sent<'a> {
    if let Some(request) = operation.node.get("requestBody") {
        let Some(request) = document.follow(request) else {
            return Sent::default();
        };
        let is_required = request.get("required").and_then(Node::boolean) == Some(true);
        let has_none = matches!(operation.method.as_str(), "GET" | "HEAD" | "TRACE");
        if has_none && !is_required {
            let words = format!(
                "a `{}` is sent without a body that is not required",
                operation.method
            );
            if let Some(span) = operation.node.name("requestBody") {
                document.note(&span, words);
            }
            return Sent::default();
        }
        let content = request.get("content");
        if content.is_none() {
            let words = format!(
                "a body has `content`, and this is {} without: none is sent",
                request.kind()
            );
            document.note(&request.beginning(), words);
        }
        let content =
            content.and_then(|content| content::content(document, content, Direction::Request));
        return content.map_or_else(Sent::default, |content| sent(document, operation, content));
    }
    of_version_two(document, operation, parameters)
}

fn of_version_two<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    parameters: &[Parameter<'a>],
) -> Sent<'a> {
    let consumes = operation.node.get("consumes");
    let consumes = consumes.or_else(|| document.root.get("consumes"));
    let consumes = consumes.map_or(&[][..], Node::items);
    let types: Vec<_> = consumes.iter().filter_map(Node::text).collect();
    let body = parameters
        .iter()
        .find(|parameter| parameter.place == "body");
    let others = parameters.iter().filter(|parameter| match parameter.place {
        "body" => body.is_some_and(|body| !std::ptr::eq(*parameter, body)),
        place => place == "formData" && body.is_some(),
    });
    for other in others {
        let words = format!(
            "`{}` is left out: another parameter is the body",
            shortened(other.name)
        );
        document.note(&other.node.beginning(), words);
    }
    if let Some(body) = body {
        let best = types.iter().min_by_key(|name| Media::of(name));
        let name = best.copied().unwrap_or("application/json");
        let media = Media::of(name);
        let example = super::parameters::example_of(document, body.node);
        let schema = body.node.get("schema");
        let content = Content {
            media,
            media_type: content::media_type(document, media, name, &body.node.span),
            value: content::value(document, example, schema, Direction::Request),
            node: None,
            among: types.len(),
        };
        return sent(document, operation, content);
    }
    let fields: Vec<_> = parameters
        .iter()
        .filter(|parameter| parameter.place == "formData")
        .filter(|parameter| parameter.is_sent(document) || parameter.node.get("default").is_some())
        .collect();
    if fields.is_empty() {
        return Sent::default();
    }
    let is_file = |parameter: &Parameter<'_>| parameter.node.text_of("type") == Some("file");
    let has_file = fields.iter().any(|field| is_file(field));
    let is_multipart = |name: &&str| Media::of(name) == Media::Multipart;
    let is_encoded = types.iter().any(|name| Media::of(name) == Media::Form);
    let values: Vec<_> = fields
        .iter()
        .map(|field| Field {
            name: Cow::Borrowed(field.name),
            span: field.node.span.clone(),
            node: field.value(document),
        })
        .collect();
    let sent = if has_file || types.iter().any(is_multipart) && !is_encoded {
        let mut parts = Vec::new();
        for (field, value) in fields.iter().zip(&values) {
            if is_file(field) {
                parts.push(file(field.name, None));
            } else {
                let pairs = field
                    .manner(document)
                    .pairs(field.name, &value.node, str::to_owned);
                parts.extend(pairs.into_iter().map(part));
            }
        }
        multipart(parts)
    } else {
        let mut pairs = Vec::new();
        for (field, value) in fields.iter().zip(&values) {
            pairs.extend(
                field
                    .manner(document)
                    .pairs(field.name, &value.node, str::to_owned),
            );
        }
        encoded(&pairs, URL_ENCODED)
    };
    Sent {
        value: Some(made(operation.node, Value::Object(values))),
        ..sent
    }
}

fn sent<'a>(document: &Document<'a>, operation: &Operation<'a>, content: Content<'a>) -> Sent<'a> {
    let is_object = content.value.as_ref().is_some_and(Node::is_object);
    let sent = match content.media {
        Media::Form if is_object => form(document, &content),
        Media::Multipart if is_object => parts(document, &content),
        Media::Multipart => None,
        Media::Bytes
            if content
                .value
                .as_ref()
                .is_none_or(|value| value.text().is_none()) =>
        {
            Some(bytes(FILE.to_vec(), content.media_type.clone()))
        }
        _ => content
            .bytes()
            .map(|body| bytes(body, content.media_type.clone())),
    };
    if sent.is_none() {
        let words = format!(
            "no body of the type `{}` is known without an example: none is sent",
            content.media_type
        );
        document.note(&operation.span, words);
    }
    Sent {
        is_json: content.media.is_json(),
        value: content.value.filter(Node::is_object),
        ..sent.unwrap_or_default()
    }
}

fn bytes<'a>(body: Vec<u8>, content_type: String) -> Sent<'a> {
    Sent {
        body: Body::Bytes(body),
        content_type: Some(content_type),
        ..Sent::default()
    }
}

fn encoded<'a>(pairs: &[(String, String)], content_type: &str) -> Sent<'a> {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    let body = form.extend_pairs(pairs).finish();
    bytes(body.into_bytes(), content_type.to_owned())
}

fn multipart<'a>(parts: Vec<Part>) -> Sent<'a> {
    Sent {
        body: Body::Multipart(parts),
        content_type: Some(format!("multipart/form-data; boundary={BOUNDARY}")),
        ..Sent::default()
    }
}

/// What is said of a field of a form.
fn encoding<'a>(content: &Content<'a>, name: &str) -> Option<&'a Node<'a>> {
    content.node?.get("encoding")?.get(name)
}

fn form<'a>(document: &Document<'a>, content: &Content<'a>) -> Option<Sent<'a>> {
    let mut pairs = Vec::new();
    for field in content.value.as_ref()?.fields() {
        let manner = match encoding(content, &field.name) {
            Some(encoding) if encoding.get("contentType").is_none() => {
                // Without a word about it, items stand for themselves.
                let manner = Manner::new(document, encoding, "query");
                let says = ["style", "explode"]
                    .iter()
                    .any(|key| encoding.get(key).is_some());
                if says { manner } else { Manner::of_form() }
            }
            Some(_) => {
                pairs.push((field.name.to_string(), plain(&field.node)));
                continue;
            }
            None => Manner::of_form(),
        };
        // An object among fields is JSON where nothing says how else it is written.
        if field.node.is_object() && encoding(content, &field.name).is_none() {
            pairs.push((field.name.to_string(), field.node.json()));
            continue;
        }
        pairs.extend(manner.pairs(&field.name, &field.node, str::to_owned));
    }
    // All of its fields can be left out.
    if pairs.is_empty() {
        return Some(Sent::default());
    }
    Some(encoded(&pairs, &content.media_type))
}

fn parts<'a>(document: &Document<'a>, content: &Content<'a>) -> Option<Sent<'a>> {
    let schema = content.node.and_then(|node| node.get("schema"));
    let shape = schema.map(|schema| Shape::new(document, schema, &[]));
    let mut parts = Vec::new();
    for field in content.value.as_ref()?.fields() {
        let properties = shape.as_ref().map_or_else(Vec::new, Shape::properties);
        let mut properties = properties.iter();
        let property = properties.find(|(name, _)| *name == field.name);
        let is_file = property.is_some_and(|(_, property)| is_binary(document, property));
        let encoding = encoding(content, &field.name);
        if let Some(span) = encoding.and_then(|encoding| encoding.name("headers")) {
            document.note(&span, "headers of a part of a form are left out");
        }
        let said = encoding.and_then(|node| node.text_of("contentType"));
        let content_type = said.and_then(|said| said.split(',').next()).map(str::trim);
        let content_type = content_type.filter(|said| said.contains('/') && !said.contains('*'));
        if is_file {
            parts.push(file(&field.name, content_type));
            continue;
        }
        let items = match &field.node.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&field.node),
        };
        for item in items {
            let json = item.is_object().then_some("application/json");
            parts.push(Part {
                content_type: content_type.or(json).map(str::to_owned),
                ..part((field.name.to_string(), plain(item)))
            });
        }
    }
    if parts.is_empty() {
        return Some(Sent::default());
    }
    Some(multipart(parts))
}

/// Whether a property is the content of a file, or a list of such.
fn is_binary<'a>(document: &Document<'a>, property: &'a Node<'a>) -> bool {
    let of = |node: &'a Node<'a>| {
        let shape = Shape::new(document, node, &[]);
        matches!(shape.text_of("format"), Some("binary" | "base64"))
            || shape.text_of("type") == Some("file")
            || shape.get("contentMediaType").is_some() && shape.get("contentEncoding").is_none()
    };
    let items = || Shape::new(document, property, &[]).get("items");
    of(property) || items().is_some_and(of)
}

fn part((name, content): (String, String)) -> Part {
    Part {
        name: name.into_bytes(),
        content: content.into_bytes(),
        ..Part::default()
    }
}

fn file(name: &str, content_type: Option<&str>) -> Part {
    let end = match content_type {
        Some("image/png") => "png",
        Some("image/jpeg") => "jpg",
        Some("application/pdf") => "pdf",
        Some("text/csv") => "csv",
        _ => "bin",
    };
    Part {
        name: name.as_bytes().to_vec(),
        file_name: Some(format!("example.{end}").into_bytes()),
        content_type: Some(
            content_type
                .unwrap_or("application/octet-stream")
                .to_owned(),
        ),
        content: FILE.to_vec(),
        ..Part::default()
    }
}
