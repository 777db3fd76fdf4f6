//! What a service says that it answers: the statuses of success, and an example of the first of them.

use super::content::{self, Content, Media};
use super::operations::Operation;
use super::parameters::example_of;
use super::places::{Document, shortened};
use super::sample::{Direction, Sampler, made};
use super::style::Manner;
use crate::import::document::{Field, Node, Value};
use crate::import::marked::{Answer, Header};

/// What is known of the answers to an operation.
#[derive(Debug, Default)]
pub(super) struct Answers<'a> {
    /// The statuses of success; none where the usual ones are.
    pub(super) expect: Vec<u16>,
    pub(super) example: Option<Answer>,
    /// The body of the example as JSON.
    pub(super) value: Option<Node<'a>>,
    /// The links that it has.
    pub(super) links: &'a [Field<'a>],
    /// Whether it sets cookies.
    pub(super) sets_cookies: bool,
    /// Whether the service has to be told that JSON is wanted.
    pub(super) has_choice: bool,
}

/// What an operation is answered with.
pub(super) fn answers<'a>(document: &Document<'a>, operation: &Operation<'a>) -> Answers<'a> {
    let Some(responses) = operation.node.get("responses") else {
        return Answers::default();
    };
    if !responses.is_object() {
        let words = format!(
            "responses are told by status, and this is {}",
            responses.kind()
        );
        document.note(&responses.span, words);
    }
    for field in responses.fields() {
        if !is_status(&field.name) {
            let name = shortened(&field.name);
            document.note(
                &field.span,
                format!("`{name}` is no status: it is left out"),
            );
        }
    }
    let mut expect = statuses(responses, 200..300);
    if expect.is_empty() && response(responses, &["2xx", "default"]).is_none() {
        expect = statuses(responses, 300..400);
    }
    let first = expect.first().copied();
    let of_first = first.and_then(|first| response(responses, &[&first.to_string()]));
    // Where others are a success too, that of the usual kind is.
    if response(responses, &["2xx"]).is_some() {
        expect.clear();
    }
    let field = of_first.or_else(|| response(responses, &["2xx", "default"]));
    let Some(response) = field.and_then(|field| document.follow(&field.node)) else {
        return Answers {
            expect,
            ..Answers::default()
        };
    };
    if !response.is_object() {
        let words = format!("a response is an object, and this is {}", response.kind());
        document.note(&response.span, words);
    }
    let status = first.unwrap_or(200);
    let has_body = operation.method != "HEAD" && !matches!(status, 204 | 205 | 304);
    let content = held(document, operation, response).filter(|_| has_body);
    let mut answer = Answer {
        status,
        is_example: true,
        ..Answer::default()
    };
    if let Some(content) = &content
        && let Some(body) = content.bytes()
    {
        answer.headers.push(Header {
            name: "content-type".to_owned(),
            value: content.media_type.clone().into_bytes(),
        });
        answer.body = body;
    }
    let declared = headers(document, operation, response, content.as_ref());
    let sets_cookies = declared
        .iter()
        .any(|header| header.name.eq_ignore_ascii_case("set-cookie"));
    answer.headers.extend(declared);
    Answers {
        expect,
        example: Some(answer),
        has_choice: content
            .as_ref()
            .is_some_and(|content| content.among > 1 && content.media == Media::Json),
        value: content.and_then(|content| content.json().cloned()),
        links: response.get("links").map_or(&[][..], Node::fields),
        sets_cookies,
    }
}

/// Whether responses can be told under a name: `200`, `2XX`, `default`.
fn is_status(name: &str) -> bool {
    let name = name.trim();
    let is_known = name.eq_ignore_ascii_case("default") || name == "$ref" || name.starts_with("x-");
    let digits = name.as_bytes();
    let is_range = digits.len() == 3
        && (b'1'..=b'5').contains(&digits[0])
        && (digits[1..].iter().all(u8::is_ascii_digit) || digits[1..].eq_ignore_ascii_case(b"XX"));
    is_known || is_range
}

/// The statuses of a range that are told one by one.
fn statuses(responses: &Node<'_>, range: std::ops::Range<u16>) -> Vec<u16> {
    let statuses = responses.fields().iter();
    let mut statuses: Vec<u16> = statuses
        .filter_map(|field| field.name.trim().parse().ok())
        .filter(|status| range.contains(status))
        .collect();
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

fn response<'a>(responses: &'a Node<'a>, names: &[&str]) -> Option<&'a Field<'a>> {
    names.iter().find_map(|name| {
        let mut fields = responses.fields().iter();
        fields.find(|field| field.name.trim().eq_ignore_ascii_case(name))
    })
}

/// The body of a response.
fn held<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    response: &'a Node<'a>,
) -> Option<Content<'a>> {
    if let Some(content) = response.get("content") {
        return content::content(document, content, Direction::Answer);
    }
    // Version 2.
    let schema = response.get("schema");
    let examples = response.get("examples").map_or(&[][..], Node::fields);
    let produces = operation.node.get("produces");
    let produces = produces.or_else(|| document.root.get("produces"));
    let produces = produces.map_or(&[][..], Node::items);
    let of_examples = examples.iter().map(|field| &*field.name);
    let types = produces.iter().filter_map(Node::text).chain(of_examples);
    let name = types.min_by_key(|name| Media::of(name));
    let name = name.unwrap_or("application/json");
    let media = Media::of(name);
    let example = examples
        .iter()
        .find(|field| Media::of(&field.name) == media)
        .map(|field| field.node.clone());
    if schema.is_none() && example.is_none() {
        return None;
    }
    Some(Content {
        media,
        media_type: content::media_type(document, media, name, &response.span),
        value: content::value(document, example, schema, Direction::Answer),
        node: None,
        among: produces.len(),
    })
}

fn headers<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    response: &'a Node<'a>,
    content: Option<&Content<'a>>,
) -> Vec<Header> {
    let mut headers = Vec::new();
    for field in response.get("headers").map_or(&[][..], Node::fields) {
        let is_type = field.name.eq_ignore_ascii_case("content-type");
        if is_type || !super::security::is_token(&field.name) {
            continue;
        }
        let Some(node) = document.follow(&field.node) else {
            continue;
        };
        let example = example_of(document, node);
        let schema = node
            .get("schema")
            .or_else(|| node.get("type").map(|_| node));
        let sampled = || {
            if field.name.eq_ignore_ascii_case("location") {
                let id = content
                    .and_then(Content::json)
                    .and_then(|value| value.get("id"));
                let id = id.and_then(Node::scalar).unwrap_or("1".into());
                let path = format!("{}/{id}", operation.path.trim_end_matches('/'));
                return Some(made(node, Value::Text(path.into())));
            }
            Sampler::new(document, Direction::Answer).sample(schema?, &field.name)
        };
        let Some(value) = example.or_else(sampled) else {
            continue;
        };
        let value = Manner::new(document, node, "header").header(&value);
        if value.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
            headers.push(Header {
                name: field.name.to_ascii_lowercase(),
                value: value.trim().as_bytes().to_vec(),
            });
        }
    }
    headers
}
