//! How a collection writes its requests: URLs in parts or as text, variables in braces.

use serde_json::Value;
use std::collections::HashMap;

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    /// A variable without a value.
    Variable(String),
}

pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Headers, as version 2.1 has them, or as text of lines; without those that are disabled.
pub(super) fn list(headers: &Value) -> Vec<Value> {
    if let Some(text) = headers.as_str() {
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let pairs = lines.filter_map(|line| line.split_once(':'));
        return pairs
            .map(|(name, value)| serde_json::json!({ "key": name.trim(), "value": value.trim() }))
            .collect();
    }
    let headers = headers.as_array().into_iter().flatten();
    headers
        .filter(|header| header["key"].is_string() && header["disabled"] != true)
        .cloned()
        .collect()
}

/// A URL without what no server is told; what stands in braces is none of it.
pub(super) fn without_fragment(url: &str) -> String {
    let mut fragments = url.match_indices('#');
    let end = fragments.find(|(at, _)| {
        let before = &url[..*at];
        before.matches("{{").count() <= before.matches("}}").count()
    });
    url[..end.map_or(url.len(), |(at, _)| at)].to_owned()
}

/// A URL that is written in its parts.
pub(super) fn url_of(url: &Value) -> String {
    let joined = |parts: &Value, separator: &str| match parts {
        Value::Array(parts) => {
            let parts = parts.iter().map(|part| match &part["value"] {
                Value::Null => text_of(part),
                value => text_of(value),
            });
            parts.collect::<Vec<_>>().join(separator)
        }
        other => text_of(other),
    };
    if url["host"].is_null() {
        return without_fragment(&text_of(&url["raw"]));
    }
    let mut text = joined(&url["host"], ".");
    if let Some(protocol) = url["protocol"].as_str() {
        text = format!("{protocol}://{text}");
    }
    if !url["port"].is_null() {
        text = format!("{text}:{}", text_of(&url["port"]));
    }
    let path = joined(&url["path"], "/");
    if !path.is_empty() {
        text = format!("{text}/{}", path.trim_start_matches('/'));
    }
    let query = url["query"].as_array().into_iter().flatten();
    let query = query.filter(|pair| pair.get("key").is_some() && pair["disabled"] != true);
    let query: Vec<_> = query
        .map(|pair| match &pair["value"] {
            Value::Null => text_of(&pair["key"]),
            value => format!("{}={}", text_of(&pair["key"]), text_of(value)),
        })
        .collect();
    if query.is_empty() {
        text
    } else {
        format!("{text}?{}", query.join("&"))
    }
}

/// A URL with the values of its path variables, or with variables in their place.
pub(super) fn with_path_variables(url: &str, values: &HashMap<String, String>) -> String {
    let (path, query) = url
        .split_once('?')
        .map_or((url, None), |(path, query)| (path, Some(query)));
    let segments = path.split('/').map(|segment| {
        let name = segment.strip_prefix(':').filter(|name| !name.is_empty());
        match name.map(|name| (name, values.get(name))) {
            None => segment.to_owned(),
            Some((_, Some(value))) if !value.is_empty() => value.clone(),
            Some((name, _)) => format!("{{{{{name}}}}}"),
        }
    });
    let path = segments.collect::<Vec<_>>().join("/");
    query.map_or(path.clone(), |query| format!("{path}?{query}"))
}

/// Takes scheme and host from a URL; whether it is one of HTTP.
pub(super) fn without_origin(url: &mut Vec<Piece>) -> bool {
    url.retain(|piece| *piece != Piece::Text(String::new()));
    // What has no value is the place of the service, unless it is the whole URL.
    let begins = url
        .first()
        .is_some_and(|piece| matches!(piece, Piece::Variable(_)));
    if begins && url.len() > 1 {
        url.remove(0);
    }
    let Some(Piece::Text(first)) = url.first_mut() else {
        return !url.is_empty();
    };
    let (scheme, rest) = first.split_once("://").unwrap_or(("http", first));
    let is_http = matches!(scheme, "http" | "https");
    let path = if begins && !first.contains("://") {
        first.as_str()
    } else {
        rest.find(['/', '?']).map_or("", |at| &rest[at..])
    };
    *first = match path {
        path if path.starts_with('/') => path.to_owned(),
        path => format!("/{path}"),
    };
    is_http
}

pub(super) fn without_blanks(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_whitespace())
        .collect()
}

/// Whether a text is like a template whose variables may be certain values only.
pub(super) fn fits(text: &str, template: &[Piece], may_be: &impl Fn(&str, &str) -> bool) -> bool {
    match template {
        [] => text.is_empty(),
        [Piece::Text(first), rest @ ..] => text
            .strip_prefix(first.as_str())
            .is_some_and(|text| fits(text, rest, may_be)),
        [Piece::Variable(name), rest @ ..] => {
            let ends = text
                .char_indices()
                .map(|(at, letter)| at + letter.len_utf8());
            let mut ends = ends.rev();
            ends.any(|end| may_be(name, &text[..end]) && fits(&text[end..], rest, may_be))
        }
    }
}
