//! Bodies of every kind, and the type that goes without saying with each.

use super::super::document::Node;
use super::super::recording::{BOUNDARY, Body, Part, Text};
use super::Reader;
use super::auth::form_encode;
use super::dynamic;
use super::environment::{name_place, value_text};
use super::variables::{Scope, find_variable};

/// Content that is sent in the place of a file.
const PLACEHOLDER: &str = "In the place of a file.\n";

/// A body, and the type that goes without saying.
pub(super) type Typed = (Body, Option<String>);

/// Reads the body of a request; `content_type` is the one of its header.
pub(super) fn read_body(
    body: &Node<'_>,
    content_type: Option<&str>,
    reader: &mut Reader<'_>,
    scope: Scope<'_>,
) -> Typed {
    let nothing = (Body::None, None);
    if body.get("disabled").and_then(Node::boolean) == Some(true) || !body.is_object() {
        return match body.text() {
            // As in version 1.
            Some(text) if !text.is_empty() => read_raw(text, None, content_type, reader, scope),
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
            let text = value_text(content);
            let language = body
                .at(&["options", "raw", "language"])
                .and_then(Node::text);
            if text.is_empty() {
                nothing
            } else {
                read_raw(&text, language, content_type, reader, scope)
            }
        }
        ("urlencoded", Some(content)) => read_urlencoded(content, reader, scope),
        ("formdata", Some(content)) => read_form(content, reader, scope),
        ("file", Some(content)) => read_file(content, reader, scope),
        ("graphql", Some(content)) => read_graphql(content, reader, scope),
        ("none" | "", _) | (_, None) => nothing,
        (other, Some(_)) => {
            let words = format!("a body of the kind `{other}` is not known, and left out");
            reader.note(scope.at, words);
            nothing
        }
    }
}

fn read_raw(
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
    let text = if is_json || text.trim_start().starts_with(['{', '[']) {
        resolve_json(text, reader, scope)
    } else {
        reader.variables.resolve(text, scope)
    };
    (Body::Text(text), Some(implied.to_owned()))
}

/// Resolves a text of JSON: a value that is not known yet and has no quotes gets them, unless it is an answer's.
fn resolve_json(template: &str, reader: &mut Reader<'_>, scope: Scope<'_>) -> Text {
    let template = clean_json(template, reader, scope);
    let mut json = Text::default();
    let mut quotes = Quotes::default();
    let mut rest = template.as_str();
    while let Some((before, name, after)) = find_variable(rest) {
        quotes.read(before);
        json.push_str(before);
        rest = after;
        let variable = format!("{{{{{name}}}}}");
        if quotes.are_open && is_key(after) {
            json.push_str(&reader.fixed_name(&variable, scope));
            continue;
        }
        let value = reader.variables.resolve(&variable, scope);
        if let Some(text) = value.as_literal() {
            quotes.read(text);
            json.push_str(text);
        } else if quotes.are_open {
            json.append(value);
        } else if let Some(bare) = reader.variables.bare(&value) {
            json.append(bare);
        } else {
            let mut pieces = value.pieces().iter();
            if pieces.any(|piece| reader.variables.is_missing(piece)) {
                let words = format!(
                    "`{variable}` stands in JSON without quotes and has no value: it is sent as a string"
                );
                reader.note_once(scope.at, &words);
            }
            json.push_str("\"");
            json.append(value.map_literals(escape_json));
            json.push_str("\"");
        }
    }
    json.push_str(rest);
    json
}

/// Removes comments, as Postman does before it sends, and replaces kinds of values.
fn clean_json(template: &str, reader: &mut Reader<'_>, scope: Scope<'_>) -> String {
    let is_valid = |template: &str| {
        let mut json = String::new();
        let mut rest = template;
        while let Some((before, _, after)) = find_variable(rest) {
            json.push_str(before);
            json.push('0');
            rest = after;
        }
        json.push_str(rest);
        is_json(&json)
    };
    let mut template = template.to_owned();
    if !is_valid(&template) {
        let plain = remove_comments(&template);
        if is_valid(&plain) {
            template = plain;
        }
    }
    match dynamic::replace_kinds(&template) {
        Some(known) => {
            let words = "kinds of values, such as `<string>`, are replaced by a value of that kind";
            reader.note_once(scope.at, words);
            known
        }
        None => template,
    }
}

/// Escapes a text for a string of JSON.
fn escape_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Whether the rest of a string, and what follows it, make it the name of a field.
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

/// Removes the comments of JSON.
fn remove_comments(json: &str) -> String {
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

/// Whether there is something to send.
pub(super) fn has_content(body: &Node<'_>) -> bool {
    let mode = body.text_of("mode").unwrap_or("none");
    let is_off = body.get("disabled").and_then(Node::boolean) == Some(true);
    let has_content = body.get(mode).is_some_and(|content| {
        let text = value_text(content);
        !matches!(text.as_str(), "" | "{}" | "[]")
    });
    has_content && !is_off
}

/// Returns the fields of a form that are sent, with their names.
fn sent_fields<'n, 'a>(list: &'n Node<'a>) -> impl Iterator<Item = (String, &'n Node<'a>)> {
    list.items().iter().filter_map(|field| {
        let is_off = field.get("disabled").and_then(Node::boolean) == Some(true)
            || field.get("enabled").and_then(Node::boolean) == Some(false);
        let name = field.get("key").map(value_text)?;
        (!is_off).then_some((name, field))
    })
}

fn read_urlencoded(content: &Node<'_>, reader: &mut Reader<'_>, scope: Scope<'_>) -> Typed {
    let content_type = Some("application/x-www-form-urlencoded".to_owned());
    if let Some(text) = content.text() {
        return (
            Body::Text(reader.variables.resolve(text, scope)),
            content_type,
        );
    }
    let mut form = Text::default();
    for (name, field) in sent_fields(content) {
        let at = name_place(field);
        let scope = Scope { at: &at, ..scope };
        let text = field.get("value").map(value_text).unwrap_or_default();
        let name = form_encode(&reader.fixed_name(&name, scope));
        let separator = if form.is_empty() { "" } else { "&" };
        form.push_str(&format!("{separator}{name}="));
        let value = reader.variables.resolve(&text, scope);
        form.append(value.map_literals(form_encode));
    }
    if form.is_empty() {
        return (Body::None, None);
    }
    (Body::Text(form), content_type)
}

fn read_form(content: &Node<'_>, reader: &mut Reader<'_>, scope: Scope<'_>) -> Typed {
    let mut parts = Vec::new();
    for (name, field) in sent_fields(content) {
        let at = name_place(field);
        let scope = Scope { at: &at, ..scope };
        let name = reader.fixed_name(&name, scope);
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
            name: name.as_str().into(),
            content_type: content_type.map(str::to_owned),
            ..Part::default()
        };
        let is_file = field.text_of("type") == Some("file") || field.get("src").is_some();
        if !is_file {
            let text = field.get("value").map(value_text).unwrap_or_default();
            let content = reader.variables.resolve(&text, scope);
            parts.push(Part { content, ..part });
            continue;
        }
        let files: Vec<String> = match field.get("src") {
            Some(list) if list.is_list() => list.items().iter().map(value_text).collect(),
            Some(one) => vec![value_text(one)],
            None => vec![String::new()],
        };
        for path in files {
            let file = last_segment(&path);
            let words = format!(
                "the file `{file}` of the field `{name}` is not read, and a placeholder is sent; `file(\"..\")` sends one"
            );
            reader.note(scope.at, words);
            parts.push(Part {
                file_name: Some(file.into()),
                content: PLACEHOLDER.into(),
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

/// Returns the last part of a path of any system.
fn last_segment(path: &str) -> String {
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

fn read_file(content: &Node<'_>, reader: &mut Reader<'_>, scope: Scope<'_>) -> Typed {
    let content_type = Some("application/octet-stream".to_owned());
    if let Some(text) = content.text_of("content") {
        return (
            Body::Text(reader.variables.resolve(text, scope)),
            content_type,
        );
    }
    let file = last_segment(&content.get("src").map(value_text).unwrap_or_default());
    let words = format!(
        "the file `{file}`, which is the body, is not read, and a placeholder is sent; `body = file(\"..\")` sends it"
    );
    reader.note(scope.at, words);
    (Body::Text(PLACEHOLDER.into()), content_type)
}

fn read_graphql(content: &Node<'_>, reader: &mut Reader<'_>, scope: Scope<'_>) -> Typed {
    let query = content.get("query").map(value_text).unwrap_or_default();
    let query = reader.variables.resolve(&query, scope);
    let at = content
        .name("variables")
        .unwrap_or_else(|| scope.at.clone());
    let scope = Scope { at: &at, ..scope };
    let variables = content.get("variables").map(value_text).unwrap_or_default();
    let mut variables = resolve_json(variables.trim(), reader, scope);
    if !is_json(&variables.shown(|_| "0".to_owned())) {
        if !variables.is_empty() {
            reader.note(
                scope.at,
                "the variables of the query are no JSON, and are left out",
            );
        }
        variables = "{}".into();
    }
    let mut text = Text::literal("{\"query\":\"");
    text.append(query.map_literals(escape_json));
    text.push_str("\",\"variables\":");
    text.append(variables);
    if let Some(name) = content
        .text_of("operationName")
        .filter(|name| !name.is_empty())
    {
        let name = reader.variables.resolve(name, scope);
        text.push_str(",\"operationName\":\"");
        text.append(name.map_literals(escape_json));
        text.push_str("\"");
    }
    text.push_str("}");
    (Body::Text(text), Some("application/json".to_owned()))
}
