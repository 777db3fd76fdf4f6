//! Reads the answers of an operation: expected statuses, and an example of the first one.

use super::content::{MediaKind, read_content};
use super::document::ApiDocument;
use super::example::{Direction, ExampleValue};
use super::operations::Operation;
use super::swagger;
use crate::document::{Field, Node};
use crate::recording::{Answer, EVENTS, Header};

/// Answers of an operation.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Statuses of success; none for the usual ones.
    pub(super) expect: Vec<u16>,
    pub(super) example: Option<Answer>,
    /// Body of the example as JSON.
    pub(super) value: Option<ExampleValue>,
    /// Names of its headers, in lower case.
    pub(super) headers: Vec<String>,
    /// The request must ask for JSON.
    pub(super) has_choice: bool,
    /// It is a stream of events.
    pub(super) is_stream: bool,
}

impl Answers {
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|known| known == name)
    }
}

/// Reads the answers of an operation.
pub(super) fn read_answers<'a>(document: &ApiDocument<'a>, operation: &Operation<'a>) -> Answers {
    let responses = document.fields(operation.node, "responses");
    let mut expect = list_statuses(responses, 200..300);
    if expect.is_empty() && find_response(responses, &["2xx", "default"]).is_none() {
        expect = list_statuses(responses, 300..400);
    }
    let first = expect.first().copied();
    let response = first.and_then(|first| find_response(responses, &[&first.to_string()]));
    let response = response.or_else(|| find_response(responses, &["2xx", "default"]));
    // With `2XX`, other statuses are a success, too.
    if find_response(responses, &["2xx"]).is_some() {
        expect.clear();
    }
    let Some(response) = response.and_then(|field| document.object(&field.node, &field.name))
    else {
        return Answers {
            expect,
            ..Answers::default()
        };
    };
    if let Some(name) = response.name("links") {
        let words = "`links` are not read: values of earlier answers are found by paths and names";
        document.warn(&name, words);
    }
    let status = first.unwrap_or(200);
    let content = read_content(document, response, Direction::Answer)
        .or_else(|| swagger::read_answer(document, operation, response));
    let has_body = operation.method != "HEAD" && !matches!(status, 204 | 205 | 304);
    let content = content.filter(|_| has_body);
    let is_stream = content
        .as_ref()
        .is_some_and(|content| content.media_type.starts_with(EVENTS));
    let content = content.filter(|_| !is_stream);
    let mut headers = Vec::new();
    let body = content.as_ref().and_then(|content| {
        let body = content.to_text()?.as_bytes()?.to_vec();
        headers.push(Header::new("content-type", content.media_type.as_str()));
        Some(body)
    });
    let described = response.get("headers").map_or(&[][..], Node::fields);
    let described = described
        .iter()
        .filter(|field| document.follow(&field.node).is_some());
    Answers {
        expect,
        is_stream,
        has_choice: content
            .as_ref()
            .is_some_and(|content| content.choices > 1 && content.kind == MediaKind::Json),
        value: content.and_then(|content| content.json_value().cloned()),
        headers: described.map(|field| field.name.to_lowercase()).collect(),
        example: Some(Answer {
            status,
            headers,
            body: body.unwrap_or_default(),
            is_example: true,
        }),
    }
}

fn list_statuses(responses: &[Field<'_>], range: std::ops::Range<u16>) -> Vec<u16> {
    let names = responses.iter().map(|field| field.name.trim());
    let statuses = names.filter_map(|name| name.parse().ok());
    let mut statuses: Vec<u16> = statuses.filter(|status| range.contains(status)).collect();
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

fn find_response<'a>(responses: &'a [Field<'a>], names: &[&str]) -> Option<&'a Field<'a>> {
    names.iter().find_map(|name| {
        let mut fields = responses.iter();
        fields.find(|field| field.name.trim().eq_ignore_ascii_case(name))
    })
}
