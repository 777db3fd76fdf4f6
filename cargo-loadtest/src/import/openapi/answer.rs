//! Reads the answers of an operation: expected statuses, and an example of the first one.

use super::content::{Content, MediaKind, read_content};
use super::document::ApiDocument;
use super::example::{Direction, ExampleMaker, ExampleValue, read_example};
use super::operations::Operation;
use super::parameters::{find_example, schema_of};
use super::style::ValueStyle;
use super::swagger;
use crate::import::document::{Field, Node};
use crate::import::recording::{Answer, EVENTS, Header, Text};
use crate::import::text::is_token;

/// Answers of an operation.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Statuses of success; none for the usual ones.
    pub(super) expect: Vec<u16>,
    pub(super) example: Option<Answer>,
    /// Body of the example as JSON.
    pub(super) value: Option<ExampleValue>,
    pub(super) sets_cookies: bool,
    /// The request must ask for JSON.
    pub(super) has_choice: bool,
    /// It is a stream of events.
    pub(super) is_stream: bool,
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
    headers.extend(read_headers(
        document,
        operation,
        response,
        content.as_ref(),
    ));
    Answers {
        expect,
        is_stream,
        has_choice: content
            .as_ref()
            .is_some_and(|content| content.choices > 1 && content.kind == MediaKind::Json),
        value: content.and_then(|content| content.json_value().cloned()),
        sets_cookies: headers.iter().any(|header| header.name == "set-cookie"),
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

fn read_headers<'a>(
    document: &ApiDocument<'a>,
    operation: &Operation<'a>,
    response: &'a Node<'a>,
    content: Option<&Content<'a>>,
) -> Vec<Header> {
    let mut headers = Vec::new();
    for field in response.get("headers").map_or(&[][..], Node::fields) {
        let name = field.name.to_ascii_lowercase();
        if name == "content-type" || !is_token(&name) {
            continue;
        }
        let Some(node) = document.follow(&field.node) else {
            continue;
        };
        let schema = schema_of(node);
        let value = if let Some(example) = find_example(document, node) {
            Some(read_example(document, schema, example))
        } else if name == "location" {
            Some(ExampleValue::text(make_location(operation, content)))
        } else {
            let maker = ExampleMaker::new(document, Direction::Answer);
            schema.and_then(|schema| maker.make(schema, &field.name))
        };
        let style = ValueStyle::read(document, node, "header");
        let value = value.map(|value| style.write_header(&value));
        let text = value.as_ref().and_then(Text::as_literal).map(str::trim);
        let is_header = |text: &&str| text.bytes().all(|byte| (b' '..0x7f).contains(&byte));
        headers.extend(text.filter(is_header).map(|text| Header::new(name, text)));
    }
    headers
}

/// Makes the address of a thing that was created.
fn make_location(operation: &Operation<'_>, content: Option<&Content<'_>>) -> String {
    let id = content
        .and_then(Content::json_value)
        .and_then(|value| value.get("id"));
    let id = id.and_then(ExampleValue::scalar);
    let id = id.as_ref().and_then(Text::as_literal).unwrap_or("1");
    format!("{}/{id}", operation.path.trim_end_matches('/'))
}
