//! Makes the bodies of requests.

use super::content::{Content, MediaKind, read_content};
use super::document::ApiDocument;
use super::example::{Direction, ExampleValue, MergedSchema};
use super::operations::Operation;
use super::parameters::Parameter;
use super::style::ValueStyle;
use super::swagger;
use crate::document::Node;
use crate::recording::{BOUNDARY, Body, PLACEHOLDER, Part, Text};
use crate::text::{find_pair, form_encode};

/// A body, and the header with its type.
#[derive(Debug, Default)]
pub(super) struct RequestBody {
    pub(super) body: Body,
    pub(super) content_type: Option<String>,
    /// Fields of the body.
    pub(super) value: Option<ExampleValue>,
    /// The body is the value as JSON.
    pub(super) is_json: bool,
}

impl RequestBody {
    /// Replaces a field of a JSON body.
    pub(super) fn set_field(&mut self, name: &str, value: ExampleValue) {
        if let Some(ExampleValue::Object(fields)) = self.value.as_mut().filter(|_| self.is_json)
            && let Some((_, field)) = fields.iter_mut().find(|(known, _)| known == name)
        {
            *field = value;
        }
        if let Some(value) = self.value.as_ref().filter(|_| self.is_json) {
            self.body = Body::Text(value.to_json());
        }
    }
}

/// Makes the body of an operation.
pub(super) fn make_body<'a>(
    document: &ApiDocument<'a>,
    operation: &Operation<'a>,
    parameters: &[Parameter<'a>],
) -> RequestBody {
    if let Some(content) = swagger::read_body(document, operation, parameters) {
        return write_content(document, operation, content);
    }
    let request = operation.node.get("requestBody");
    let Some(request) = request.and_then(|request| document.follow(request)) else {
        return RequestBody::default();
    };
    let is_required = request.get("required").and_then(Node::boolean) == Some(true);
    let is_usual = !matches!(operation.method.as_str(), "GET" | "HEAD" | "TRACE");
    if !is_usual && !is_required {
        return RequestBody::default();
    }
    let content = read_content(document, request, Direction::Request);
    if content.is_none() {
        let words = "a body has `content`: without, none is sent";
        document.warn(&request.beginning(), words);
    }
    content.map_or_else(RequestBody::default, |content| {
        write_content(document, operation, content)
    })
}

fn write_content<'a>(
    document: &ApiDocument<'a>,
    operation: &Operation<'a>,
    content: Content<'a>,
) -> RequestBody {
    let is_object = content.value.as_ref().is_some_and(ExampleValue::is_object);
    let is_text = matches!(content.value, Some(ExampleValue::Text(_)));
    let written = match content.kind {
        MediaKind::Form if is_object => Some(write_form(document, &content)),
        MediaKind::Multipart if is_object => Some(write_multipart(document, &content)),
        MediaKind::Multipart => None,
        MediaKind::Bytes if !is_text => {
            Some((Body::Text(PLACEHOLDER.into()), content.media_type.clone()))
        }
        _ => content
            .to_text()
            .map(|text| (Body::Text(text), content.media_type.clone())),
    };
    if written.is_none() {
        let words = format!(
            "no body of the type `{}` is known without an example: none is sent",
            content.media_type
        );
        document.warn(&operation.span, words);
    }
    let (body, content_type) = written.unwrap_or_default();
    RequestBody {
        content_type: (body != Body::None).then_some(content_type),
        body,
        is_json: content.kind.is_json(),
        value: content.value.filter(ExampleValue::is_object),
    }
}

/// Returns the content type that the document gives a field of a form.
fn find_content_type<'a>(content: &Content<'a>, name: &str) -> Option<&'a str> {
    let encoding = find_pair(&content.encodings, name)?;
    let content_type = encoding.text_of("contentType")?.split(',').next()?.trim();
    (content_type.contains('/') && !content_type.contains('*')).then_some(content_type)
}

fn write_form<'a>(document: &ApiDocument<'a>, content: &Content<'a>) -> (Body, String) {
    let mut form = Text::default();
    for (name, value) in content.value.iter().flat_map(ExampleValue::fields) {
        let pairs = match value {
            ExampleValue::List(_) => {
                let encoding = find_pair(&content.encodings, name);
                let style = encoding.map(|node| ValueStyle::read(document, node, "query"));
                let style = style.unwrap_or(ValueStyle::FORM);
                style.write_form(name, value)
            }
            value => vec![(name.clone(), value.to_text())],
        };
        for (name, value) in pairs {
            form.push_pair("&", &form_encode(&name), value.map_literals(form_encode));
        }
    }
    (Body::of_text(form), content.media_type.clone())
}

fn write_multipart<'a>(document: &ApiDocument<'a>, content: &Content<'a>) -> (Body, String) {
    let mut parts = Vec::new();
    for (name, value) in content.value.iter().flat_map(ExampleValue::fields) {
        let property = find_pair(&content.properties, name);
        let content_type = find_content_type(content, name);
        if property.is_some_and(|property| is_file(document, property)) {
            parts.push(make_file(name, content_type));
            continue;
        }
        let items = match value {
            ExampleValue::List(items) => items.as_slice(),
            value => std::slice::from_ref(value),
        };
        parts.extend(items.iter().map(|item| {
            let json = item.is_object().then_some("application/json");
            Part {
                name: name.as_str().into(),
                content_type: content_type.or(json).map(str::to_owned),
                content: item.to_text(),
                ..Part::default()
            }
        }));
    }
    let body = if parts.is_empty() {
        Body::None
    } else {
        Body::Multipart(parts)
    };
    (body, format!("multipart/form-data; boundary={BOUNDARY}"))
}

/// Returns whether a property is the content of a file, or a list of such.
fn is_file<'a>(document: &ApiDocument<'a>, property: &'a Node<'a>) -> bool {
    let is_binary = |merged: &MergedSchema<'a>| {
        matches!(merged.text_of("format"), Some("binary" | "base64"))
            || merged.text_of("type") == Some("file")
            || merged.get("contentMediaType").is_some() && merged.get("contentEncoding").is_none()
    };
    let merged = MergedSchema::new(document, property, &[]);
    let items = merged
        .get("items")
        .map(|items| MergedSchema::new(document, items, &[]));
    is_binary(&merged) || items.is_some_and(|items| is_binary(&items))
}

fn make_file(name: &str, content_type: Option<&str>) -> Part {
    let content_type = content_type.unwrap_or("application/octet-stream");
    Part {
        content_type: Some(content_type.to_owned()),
        ..Part::placeholder(name, "example")
    }
}
