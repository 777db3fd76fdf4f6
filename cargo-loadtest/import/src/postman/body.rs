//! Bodies of every kind, and the type that goes without saying with each.

use super::ItemReader;
use super::dynamic;
use super::environment::{is_disabled, name_place, value_text};
use super::variables::find_variable;
use crate::document::Node;
use crate::recording::{BOUNDARY, Body, Part, Text, is_json};
use crate::text::{escape_json, form_encode};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use std::collections::BTreeSet;

/// Content that is sent in the place of a file.
const PLACEHOLDER: &str = "Instead of a file.\n";

/// A body, and the type that goes without saying.
pub(super) type TypedBody = (Body, Option<String>);

/// Reads the body of a request; `content_type` is the one of its header.
pub(super) fn read_body(
    body: &Node<'_>,
    content_type: Option<&str>,
    item: &mut ItemReader<'_, '_>,
) -> TypedBody {
    let nothing = (Body::None, None);
    if is_disabled(body) || !body.is_object() {
        return nothing;
    }
    let mut modes = ["raw", "urlencoded", "formdata", "file", "graphql"].into_iter();
    let mode = body.text_of("mode");
    let mode = mode.or_else(|| modes.find(|mode| body.get(mode).is_some()));
    let mode = mode.unwrap_or("none");
    let content = body.get(mode);
    let item = &mut item.at(body.name(mode).unwrap_or_else(|| body.beginning()));
    match (mode, content) {
        ("raw", Some(content)) => {
            let text = value_text(content);
            let language = body.at(&["options", "raw", "language"]);
            let language = language.and_then(Node::text);
            if text.is_empty() {
                nothing
            } else {
                read_raw(&text, language, content_type, item)
            }
        }
        ("urlencoded", Some(content)) => read_urlencoded(content, item),
        ("formdata", Some(content)) => read_form(content, item),
        ("file", Some(content)) => read_file(content, item),
        ("graphql", Some(content)) => read_graphql(content, item),
        ("none" | "", _) | (_, None) => nothing,
        (other, Some(_)) => {
            let words = format!("a body of the kind `{other}` is not known, and left out");
            item.note(words);
            nothing
        }
    }
}

fn read_raw(
    text: &str,
    language: Option<&str>,
    content_type: Option<&str>,
    item: &mut ItemReader<'_, '_>,
) -> TypedBody {
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
        resolve_json(text, item)
    } else {
        item.resolve(text)
    };
    (Body::Text(text), Some(implied.to_owned()))
}

/// Resolves a text of JSON: a value that is not known yet and has no quotes gets them, unless it is an answer's.
fn resolve_json(template: &str, item: &mut ItemReader<'_, '_>) -> Text {
    let template = clean_json(template, item);
    let mut json = Text::default();
    let mut quotes = Quotes::default();
    let mut rest = template.as_str();
    while let Some((before, name, after)) = find_variable(rest) {
        quotes.read(before);
        json.push_str(before);
        rest = after;
        let variable = format!("{{{{{name}}}}}");
        if quotes.are_open && is_key(after) {
            json.push_str(&item.fixed_name(&variable));
            continue;
        }
        let value = item.resolve(&variable);
        if let Some(text) = value.as_literal() {
            quotes.read(text);
            json.push_str(text);
        } else if quotes.are_open {
            json.append(value);
        } else if let Some(bare) = item.reader.variables.bare(&value) {
            json.append(bare);
        } else {
            let mut pieces = value.pieces().iter();
            if pieces.any(|piece| item.reader.variables.is_missing(piece)) {
                let words = format!(
                    "`{variable}` is in JSON without quotes and has no value: it is sent as a string"
                );
                item.note_once(words);
            }
            json.append(value.map_literals(escape_json).between("\"", "\""));
        }
    }
    json.push_str(rest);
    json
}

/// Removes the comments of JSON, in which each variable stands for a value.
fn remove_comments(template: &str) -> String {
    let (mut masked, mut rest) = (String::new(), template);
    while let Some((before, _, after)) = find_variable(rest) {
        masked.push_str(before);
        masked.push_str(&"1".repeat(rest.len() - before.len() - after.len()));
        rest = after;
    }
    masked.push_str(rest);
    let collect = CollectOptions {
        comments: CommentCollectionStrategy::Separate,
        ..CollectOptions::default()
    };
    let parsed = parse_to_ast(&masked, &collect, &ParseOptions::default());
    let comments = parsed.ok().and_then(|parsed| parsed.comments);
    let comments = comments.iter().flat_map(|comments| comments.values());
    let ranges = comments.flat_map(|list| list.iter().map(|one| (one.start(), one.end())));
    let mut plain = template.to_owned();
    for (start, end) in ranges.collect::<BTreeSet<_>>().into_iter().rev() {
        plain.replace_range(start..end, "");
    }
    plain
}

/// Removes comments, as Postman does before it sends, and replaces kinds of values.
fn clean_json(template: &str, item: &mut ItemReader<'_, '_>) -> String {
    let template = remove_comments(template);
    match dynamic::replace_kinds(&template) {
        Some(known) => {
            let words = "kinds of values, such as `<string>`, are replaced by a value of that kind";
            item.note_once(words);
            known
        }
        None => template,
    }
}

/// Returns true where the rest of a string, and what follows it, make it the name of a field.
fn is_key(rest: &str) -> bool {
    let end = rest.split_once('"').map(|(_, after)| after.trim_start());
    end.is_some_and(|after| after.starts_with(':'))
}

/// The state within a text of JSON: in a string, or not.
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

/// Returns true where there is something to send.
pub(super) fn has_content(body: &Node<'_>) -> bool {
    let mode = body.text_of("mode").unwrap_or("none");
    let content = body.get(mode).map(value_text).unwrap_or_default();
    !is_disabled(body) && !matches!(content.as_str(), "" | "{}" | "[]")
}

/// Returns the fields of a form that are sent, with their names.
fn sent_fields<'n, 'a>(list: &'n Node<'a>) -> impl Iterator<Item = (String, &'n Node<'a>)> {
    let fields = list.items().iter().filter(|field| !is_disabled(field));
    fields.filter_map(|field| Some((field.get("key").map(value_text)?, field)))
}

fn read_urlencoded(content: &Node<'_>, item: &mut ItemReader<'_, '_>) -> TypedBody {
    let content_type = Some("application/x-www-form-urlencoded".to_owned());
    if let Some(text) = content.text() {
        let text = item.resolve(text);
        return (Body::Text(text), content_type);
    }
    let mut form = Text::default();
    for (name, field) in sent_fields(content) {
        let item = &mut item.at(name_place(field));
        let text = field.get("value").map(value_text).unwrap_or_default();
        let name = form_encode(&item.fixed_name(&name));
        let value = item.resolve(&text);
        form.push_pair("&", &name, value.map_literals(form_encode));
    }
    let content_type = content_type.filter(|_| !form.is_empty());
    (Body::of_text(form), content_type)
}

fn read_form(content: &Node<'_>, item: &mut ItemReader<'_, '_>) -> TypedBody {
    let mut parts = Vec::new();
    for (name, field) in sent_fields(content) {
        let item = &mut item.at(name_place(field));
        let name = item.fixed_name(&name);
        let content_type = field.text_of("contentType");
        let content_type = content_type.filter(|kind| kind.contains('/'));
        let part = Part {
            name: name.as_str().into(),
            content_type: content_type.map(str::to_owned),
            ..Part::default()
        };
        let is_file = field.text_of("type") == Some("file") || field.get("src").is_some();
        if !is_file {
            let text = field.get("value").map(value_text).unwrap_or_default();
            let content = item.resolve(&text);
            parts.push(Part { content, ..part });
            continue;
        }
        let source = field.get("src");
        let files = match source {
            Some(list) if list.is_list() => list.items().iter().map(last_segment).collect(),
            Some(one) => vec![last_segment(one)],
            None => vec!["file".to_owned()],
        };
        for file in files {
            let words = format!(
                "the file `{file}` of the field `{name}` is not read, and a placeholder is sent; `file(\"..\")` sends one"
            );
            item.note(words);
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

/// Returns the last part of a path of any system.
fn last_segment(path: &Node<'_>) -> String {
    let path = value_text(path);
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let letters = name.chars().filter(|letter| !letter.is_control());
    let name: String = letters.take(100).collect();
    if name.is_empty() {
        return "file".to_owned();
    }
    name
}

fn read_file(content: &Node<'_>, item: &mut ItemReader<'_, '_>) -> TypedBody {
    let content_type = Some("application/octet-stream".to_owned());
    let source = content.get("src");
    let file = source.map_or_else(|| "file".to_owned(), last_segment);
    let words = format!(
        "the file `{file}`, which is the body, is not read, and a placeholder is sent; `body = file(\"..\")` sends it"
    );
    item.note(words);
    (Body::Text(PLACEHOLDER.into()), content_type)
}

fn read_graphql(content: &Node<'_>, item: &mut ItemReader<'_, '_>) -> TypedBody {
    let query = content.get("query").map(value_text).unwrap_or_default();
    let query = item.resolve(&query);
    let item = &mut item.at(content.name("variables").unwrap_or_else(|| item.at.clone()));
    let variables = content.get("variables").map(value_text).unwrap_or_default();
    let mut variables = resolve_json(variables.trim(), item);
    if !is_json(&variables.shown(|_| "0".to_owned())) {
        if !variables.is_empty() {
            let words = "the variables of the query are not JSON, and are left out";
            item.note(words);
        }
        variables = "{}".into();
    }
    let query = query
        .map_literals(escape_json)
        .between("{\"query\":\"", "\"");
    let mut text = Text::join([query, variables], ",\"variables\":");
    let name = content.text_of("operationName");
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        let name = item.resolve(name).map_literals(escape_json);
        text.append(name.between(",\"operationName\":\"", "\""));
    }
    text.push_str("}");
    (Body::Text(text), Some("application/json".to_owned()))
}
