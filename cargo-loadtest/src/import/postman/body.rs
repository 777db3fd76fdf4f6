//! Bodies of every kind, and the type that goes without saying with each.

use super::super::document::{self, Node};
use super::super::marked::{BOUNDARY, Body, Part};
use super::super::source::Input;
use super::Reader;
use super::dynamic;
use super::environment::{place, value};
use super::variables::{Piece, Scope, next};
use serde_json::json;
use std::fmt::Write as _;

/// What is sent in the place of a file.
const PLACEHOLDER: &str = "In the place of a file.\n";

/// A body, and its type where no header says it.
pub(super) type Typed = (Body, Option<String>);

/// Reads the body of a request; `content_type` is what its header says.
pub(super) fn read(
    body: &Node<'_>,
    content_type: Option<&str>,
    reader: &mut Reader<'_>,
    scope: Scope<'_>,
) -> Typed {
    let nothing = (Body::None, None);
    if body.get("disabled").and_then(Node::boolean) == Some(true) || !body.is_object() {
        return match body.text() {
            // As in version 1.
            Some(text) if !text.is_empty() => raw(text, None, content_type, reader, scope),
            _ => nothing,
        };
    }
    let modes = ["raw", "urlencoded", "formdata", "file", "graphql"];
    let mode = body.text_of("mode").unwrap_or_else(|| {
        let mut modes = modes.into_iter();
        modes
            .find(|mode| body.get(mode).is_some())
            .unwrap_or("none")
    });
    let content = body.get(mode);
    let at = body.name(mode).unwrap_or_else(|| body.beginning());
    let scope = Scope { at: &at, ..scope };
    match (mode, content) {
        ("raw", Some(content)) => {
            let text = value(content);
            let language = body
                .at(&["options", "raw", "language"])
                .and_then(Node::text);
            if text.is_empty() {
                nothing
            } else {
                raw(&text, language, content_type, reader, scope)
            }
        }
        ("urlencoded", Some(content)) => urlencoded(content, reader, scope),
        ("formdata", Some(content)) => form(content, reader, scope),
        ("file", Some(content)) => file(content, reader, scope),
        ("graphql", Some(content)) => graphql(content, reader, scope),
        ("none" | "", _) | (_, None) => nothing,
        (other, Some(_)) => {
            let words = format!("a body of the kind `{other}` is not known, and left out");
            reader.note(scope.at, words);
            nothing
        }
    }
}

fn raw(
    text: &str,
    language: Option<&str>,
    content_type: Option<&str>,
    reader: &mut Reader<'_>,
    scope: Scope<'_>,
) -> Typed {
    let is_json = match content_type {
        Some(content_type) => content_type.to_ascii_lowercase().contains("json"),
        None => language == Some("json"),
    };
    let implied = match language {
        Some("json") => "application/json",
        Some("xml") => "application/xml",
        Some("html") => "text/html",
        Some("javascript") => "application/javascript",
        _ => "text/plain",
    };
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    let text = if is_json || looks_like_json {
        json_text(text, reader, scope)
    } else {
        reader.variables.text(text, scope)
    };
    (Body::Bytes(text.into_bytes()), Some(implied.to_owned()))
}

/// A text of JSON: what is not known yet and stands without quotes gets them, and is no string.
fn json_text(text: &str, reader: &mut Reader<'_>, scope: Scope<'_>) -> String {
    let mut json = String::new();
    let mut quotes = Quotes::default();
    let mut rest = text;
    while let Some((before, name, after)) = next(rest) {
        quotes.read(before);
        json.push_str(before);
        let variable = format!("{{{{{name}}}}}");
        if quotes.are_open && is_key(after) {
            json.push_str(&reader.known(&variable, scope));
            rest = after;
            continue;
        }
        let pieces = reader.variables.pieces(&variable, scope);
        let is_text = pieces.iter().all(|piece| matches!(piece, Piece::Text(_)));
        if is_text || quotes.are_open {
            let text = reader.variables.joined(&pieces, false);
            quotes.read(&text);
            json.push_str(&text);
        } else {
            let is_bare = pieces.len() == 1;
            let is_missing = |piece: &Piece| {
                matches!(
                    piece,
                    Piece::Hidden {
                        is_missing: true,
                        ..
                    }
                )
            };
            if pieces.iter().any(is_missing) {
                let words = format!(
                    "`{variable}` stands in JSON without quotes and has no value: it is sent as a string"
                );
                reader.note_once(scope.at, &words);
            }
            let text = reader.variables.joined(&pieces, is_bare);
            json.push_str(&serde_json::Value::from(text).to_string());
        }
        rest = after;
    }
    json.push_str(rest);
    if !is_json(&json) {
        let plain = without_comments(&json);
        if is_json(&plain) {
            json = plain;
        }
    }
    match dynamic::without_kinds(&json) {
        Some(known) => {
            let words = "kinds of values, such as `<string>`, are replaced by a value of that kind";
            reader.note_once(scope.at, words);
            known
        }
        None => json,
    }
}

/// Whether what goes on like this within a string is the name of a field.
fn is_key(rest: &str) -> bool {
    let end = rest.split_once('"').map(|(_, after)| after.trim_start());
    end.is_some_and(|after| after.starts_with(':'))
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether a text of JSON is within a string.
#[derive(Default)]
struct Quotes {
    are_open: bool,
    is_escaped: bool,
}

impl Quotes {
    fn read(&mut self, text: &str) {
        text.chars().for_each(|letter| self.letter(letter));
    }

    fn letter(&mut self, letter: char) {
        if std::mem::take(&mut self.is_escaped) {
            return;
        }
        match letter {
            '\\' => self.is_escaped = self.are_open,
            '"' => self.are_open = !self.are_open,
            _ => {}
        }
    }
}

/// JSON without the comments that Postman takes out before it sends.
fn without_comments(json: &str) -> String {
    let mut plain = String::new();
    let mut quotes = Quotes::default();
    let mut rest = json;
    while let Some(letter) = rest.chars().next() {
        if !quotes.are_open && rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            rest = &rest[end..];
            continue;
        }
        if !quotes.are_open && rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, rest)| rest);
            continue;
        }
        quotes.letter(letter);
        plain.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    plain
}

/// Whether there is something to send, as far as can be told without reading it.
pub(super) fn is_something(body: &Node<'_>) -> bool {
    let mode = body.text_of("mode").unwrap_or("none");
    let is_off = body.get("disabled").and_then(Node::boolean) == Some(true);
    let has_content = body.get(mode).is_some_and(|content| {
        let text = value(content);
        !matches!(text.as_str(), "" | "{}" | "[]")
    });
    has_content && !is_off
}

/// The fields of a form that are sent, with their names.
fn fields<'n, 'a>(list: &'n Node<'a>) -> impl Iterator<Item = (String, &'n Node<'a>)> {
    list.items().iter().filter_map(|field| {
        let is_off = field.get("disabled").and_then(Node::boolean) == Some(true)
            || field.get("enabled").and_then(Node::boolean) == Some(false);
        let name = field.get("key").map(value)?;
        (!is_off).then_some((name, field))
    })
}

fn urlencoded(content: &Node<'_>, reader: &mut Reader<'_>, scope: Scope<'_>) -> Typed {
    let content_type = Some("application/x-www-form-urlencoded".to_owned());
    if let Some(text) = content.text() {
        let text = reader.variables.text(text, scope);
        return (Body::Bytes(text.into_bytes()), content_type);
    }
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for (name, field) in fields(content) {
        let at = place(field);
        let scope = Scope { at: &at, ..scope };
        let text = field.get("value").map(value).unwrap_or_default();
        let name = reader.known(&name, scope);
        form.append_pair(&name, &reader.variables.text(&text, scope));
    }
    let form = form.finish();
    if form.is_empty() {
        return (Body::None, None);
    }
    (Body::Bytes(form.into_bytes()), content_type)
}

fn form(content: &Node<'_>, reader: &mut Reader<'_>, scope: Scope<'_>) -> Typed {
    let mut parts = Vec::new();
    for (name, field) in fields(content) {
        let at = place(field);
        let scope = Scope { at: &at, ..scope };
        let name = reader.known(&name, scope);
        let said = field
            .get("contentType")
            .filter(|kind| kind.text() != Some(""));
        let content_type = said.and_then(Node::text).filter(|kind| is_type(kind));
        if let Some(said) = said.filter(|said| content_type.is_none() && said.kind() != "null") {
            reader.note(
                &said.beginning(),
                "this is no type of a part: it is left out",
            );
        }
        let part = Part {
            name: name.clone().into_bytes(),
            content_type: content_type.map(str::to_owned),
            ..Part::default()
        };
        let is_file = field.text_of("type") == Some("file") || field.get("src").is_some();
        if !is_file {
            let text = field.get("value").map(value).unwrap_or_default();
            let content = reader.variables.text(&text, scope).into_bytes();
            parts.push(Part { content, ..part });
            continue;
        }
        let files: Vec<String> = match field.get("src") {
            Some(list) if list.is_list() => list.items().iter().map(value).collect(),
            Some(one) => vec![value(one)],
            None => vec![String::new()],
        };
        for path in files {
            let file = file_name(&path);
            let words = format!(
                "the file `{file}` of the field `{name}` is not read, and a placeholder is sent; `file(\"..\")` sends one"
            );
            reader.note(scope.at, words);
            parts.push(Part {
                file_name: Some(file.into_bytes()),
                content: PLACEHOLDER.as_bytes().to_vec(),
                ..part.clone()
            });
        }
    }
    if parts.is_empty() {
        return (Body::None, None);
    }
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    (Body::Multipart(parts), Some(content_type))
}

/// Whether this is a type such as `text/csv`.
fn is_type(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
    let plain = text.split(';').next().unwrap_or_default();
    plain.split_once('/').is_some_and(|(kind, of)| {
        !kind.is_empty() && !of.is_empty() && (kind.bytes().all(is_sign) && of.bytes().all(is_sign))
    }) && text.len() == plain.len()
}

/// The last part of a path of any system.
fn file_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name
        .chars()
        .filter(|letter| !letter.is_control())
        .take(100)
        .collect();
    if name.is_empty() {
        "file".to_owned()
    } else {
        name
    }
}

fn file(content: &Node<'_>, reader: &mut Reader<'_>, scope: Scope<'_>) -> Typed {
    let content_type = Some("application/octet-stream".to_owned());
    if let Some(text) = content.text_of("content") {
        let text = reader.variables.text(text, scope);
        return (Body::Bytes(text.into_bytes()), content_type);
    }
    let file = file_name(&content.get("src").map(value).unwrap_or_default());
    let words = format!(
        "the file `{file}`, which is the body, is not read, and a placeholder is sent; `body = file(\"..\")` sends it"
    );
    reader.note(scope.at, words);
    (Body::Bytes(PLACEHOLDER.as_bytes().to_vec()), content_type)
}

fn graphql(content: &Node<'_>, reader: &mut Reader<'_>, scope: Scope<'_>) -> Typed {
    let query = content.get("query").map(value).unwrap_or_default();
    let query = reader.variables.text(&query, scope);
    let at = content
        .name("variables")
        .unwrap_or_else(|| scope.at.clone());
    let scope = Scope { at: &at, ..scope };
    let variables = content.get("variables").map(value).unwrap_or_default();
    let variables = json_text(&variables, reader, scope);
    // In the order of their keys.
    let input = Input::new(String::new(), variables);
    let variables = if input.text.trim().is_empty() || !is_json(&input.text) {
        if !input.text.trim().is_empty() {
            reader.note(
                scope.at,
                "the variables of the query are no JSON, and are left out",
            );
        }
        "{}".to_owned()
    } else {
        document::read(&input).map_or_else(|_| "{}".to_owned(), |node| node.json())
    };
    let mut text = format!("{{\"query\":{},\"variables\":{variables}", json!(query));
    if let Some(name) = content
        .text_of("operationName")
        .filter(|name| !name.is_empty())
    {
        let name = reader.variables.text(name, scope);
        let _ = write!(text, ",\"operationName\":{}", json!(name));
    }
    text.push('}');
    (
        Body::Bytes(text.into_bytes()),
        Some("application/json".to_owned()),
    )
}
