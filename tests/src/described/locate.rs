//! Where a document has its operations, and which of them a request is of.

use crate::Request;
use crate::replay::{decoded, origin};
use serde_json::Value;

/// How often one reference may lead to another.
const MOST_HOPS: usize = 32;
const METHODS: [&str; 9] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];

/// An operation, and where it is.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) method: String,
    /// What is said of it.
    pub(super) node: Value,
    /// What is said of its path.
    pub(super) item: Value,
    path: String,
    /// The paths of the servers it is at.
    prefixes: Vec<String>,
    segments: Vec<Vec<Piece>>,
    query: Vec<String>,
}

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Value(String),
}

/// What a reference leads to; null where it leads nowhere.
pub(super) fn resolved<'a>(root: &'a Value, node: &'a Value) -> &'a Value {
    let mut node = node;
    for _ in 0..MOST_HOPS {
        let Some(reference) = node["$ref"].as_str() else {
            return node;
        };
        let pointer = reference.strip_prefix('#').map(|text| decoded(text, false));
        let found = pointer.and_then(|pointer| root.pointer(&pointer));
        node = found.unwrap_or(&Value::Null);
    }
    &Value::Null
}

/// Whether a media type is one of a range such as `text/*`.
pub(super) fn is_in_range(name: &str, range: &str) -> bool {
    let essence = |text: &str| {
        let essence = text.split(';').next().unwrap_or_default();
        essence.trim().to_ascii_lowercase()
    };
    let (name, range) = (essence(name), essence(range));
    match range.strip_suffix('*') {
        // What is no media type says nothing.
        _ if !range.contains('/') || range == "*/*" || name == "*/*" => true,
        Some(start) => name.starts_with(start),
        None => name == range,
    }
}

/// The parameters of an operation: its own, and those of its path.
pub(super) fn parameters<'a>(root: &'a Value, operation: &'a Operation) -> Vec<&'a Value> {
    let mut all: Vec<&Value> = Vec::new();
    for owner in [&operation.node, &operation.item] {
        for parameter in owner["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(root, parameter);
            let is_same = |known: &&Value| {
                known["name"] == parameter["name"] && known["in"] == parameter["in"]
            };
            let has_name = parameter["name"].is_string() || parameter["in"] == "body";
            if has_name && parameter["in"].is_string() && !all.iter().any(is_same) {
                all.push(parameter);
            }
        }
    }
    all
}

/// All operations of a document.
pub(super) fn operations(root: &Value) -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, item) in root["paths"].as_object().into_iter().flatten() {
        if path.starts_with("x-") {
            continue;
        }
        let item = resolved(root, item);
        let own = item.as_object().into_iter().flatten();
        let more = item["additionalOperations"].as_object();
        for (method, node) in own
            .filter(|(name, _)| METHODS.contains(&&*name.to_ascii_lowercase()))
            .chain(more.into_iter().flatten())
        {
            if node.is_object() {
                all.push(Operation::new(root, path, method, item, node));
            }
        }
    }
    all
}

impl Operation {
    fn new(root: &Value, path: &str, method: &str, item: &Value, node: &Value) -> Self {
        let own = [node, item]
            .into_iter()
            .find_map(|node| node["servers"].as_array());
        let servers = own.or_else(|| root["servers"].as_array());
        let mut prefixes: Vec<String> = servers.into_iter().flatten().map(prefix).collect();
        if root["servers"].is_null() {
            let base = root["basePath"].as_str().unwrap_or_default();
            prefixes.push(base.trim_end_matches('/').to_owned());
        }
        let plain = path.split('#').next().unwrap_or_default();
        let (plain, query) = plain.split_once('?').unwrap_or((plain, ""));
        let query = query.split('&').filter(|pair| !pair.is_empty());
        Self {
            method: method.to_ascii_uppercase(),
            node: node.clone(),
            item: item.clone(),
            path: path.to_owned(),
            prefixes,
            segments: without_dots(plain).into_iter().map(pieces).collect(),
            query: query
                .filter(|pair| !pair.contains('{'))
                .map(|pair| decoded(pair, true))
                .collect(),
        }
    }

    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// How many letters of the path are none of a value.
    pub(super) fn letters(&self) -> usize {
        let pieces = self.segments.iter().flatten();
        pieces
            .map(|piece| match piece {
                Piece::Text(text) => text.len(),
                Piece::Value(_) => 0,
            })
            .sum()
    }

    /// Whether the path itself has a query.
    pub(super) fn has_query(&self) -> bool {
        !self.query.is_empty()
    }

    /// The names and values of the query that the path itself has.
    pub(super) fn own_query(&self) -> &[String] {
        &self.query
    }

    /// Whether this is of one thing of those that another one is of: its path has one more segment, a value.
    pub(super) fn is_of_one_of(&self, all: &Self) -> Option<&str> {
        let (last, before) = self.segments.split_last()?;
        let is_same = |(one, other): (&Vec<Piece>, &Vec<Piece>)| match (&one[..], &other[..]) {
            ([Piece::Text(one)], [Piece::Text(other)]) => one == other,
            (one, other) => one.len() == other.len(),
        };
        let is_within =
            before.len() == all.segments.len() && before.iter().zip(&all.segments).all(is_same);
        match last.as_slice() {
            [Piece::Text(before), Piece::Value(name), Piece::Text(after)]
                if is_within && before.is_empty() && after.is_empty() =>
            {
                Some(name)
            }
            _ => None,
        }
    }

    /// The values of the parameters in the path of a request that is of this operation.
    pub(super) fn values(&self, request: &Request) -> Option<Vec<(&str, String)>> {
        let (_, query) = request.target.split_once('?').unwrap_or_default();
        let pairs: Vec<_> = query.split('&').map(|pair| decoded(pair, true)).collect();
        if !self.query.iter().all(|pair| pairs.contains(pair)) {
            return None;
        }
        let mut prefixes = self.prefixes.iter();
        prefixes.find_map(|prefix| {
            let rest = request.path.strip_prefix(prefix.as_str())?;
            let segments = without_dots(rest.strip_prefix('/')?);
            if segments.len() != self.segments.len() {
                return None;
            }
            let mut values = Vec::new();
            for (segment, pieces) in segments.iter().zip(&self.segments) {
                take(&decoded(segment, false), pieces, &mut values).then_some(())?;
            }
            Some(values)
        })
    }
}

/// The path of a server, with the defaults of its variables.
fn prefix(server: &Value) -> String {
    let mut url = server["url"].as_str().unwrap_or_default().to_owned();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let default = match &variable["default"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        url = url.replace(&format!("{{{name}}}"), &default);
    }
    let path = match url.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
        None if url.contains("://") => &url[origin(&url).len()..],
        None => &url,
    };
    let path = path.trim_end_matches('/').trim_start_matches(['.', '/']);
    if path.is_empty() {
        String::new()
    } else {
        format!("/{path}")
    }
}

/// The segments of a path in which `.` and `..` stand no more (RFC 3986, section 5.2.4).
fn without_dots(path: &str) -> Vec<&str> {
    let mut segments: Vec<&str> = Vec::new();
    let all: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    for (number, segment) in all.iter().enumerate() {
        match *segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
        if number + 1 == all.len() && matches!(*segment, "." | "..") {
            segments.push("");
        }
    }
    segments
}

fn pieces(segment: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = segment;
    while let Some((before, after)) = rest.split_once('{')
        && let Some((name, after)) = after.split_once('}')
    {
        pieces.push(Piece::Text(decoded(before, false)));
        pieces.push(Piece::Value(name.trim_matches(['+', '*', ' ']).to_owned()));
        rest = after;
    }
    pieces.push(Piece::Text(decoded(rest, false)));
    pieces
}

/// Takes the values out of a segment; whether it is like its template.
fn take<'a>(segment: &str, pieces: &'a [Piece], values: &mut Vec<(&'a str, String)>) -> bool {
    match pieces {
        [] => segment.is_empty(),
        [Piece::Text(text)] => segment == text,
        [Piece::Text(text), rest @ ..] => segment
            .strip_prefix(text.as_str())
            .is_some_and(|segment| take(segment, rest, values)),
        [Piece::Value(name), rest @ ..] => {
            let ends = segment
                .char_indices()
                .map(|(at, letter)| at + letter.len_utf8());
            for end in ends {
                let count = values.len();
                values.push((name, segment[..end].to_owned()));
                if take(&segment[end..], rest, values) {
                    return true;
                }
                values.truncate(count);
            }
            false
        }
    }
}
