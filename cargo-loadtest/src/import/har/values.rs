//! The values in requests and answers, with the names under which they are there.

use super::super::marked::{Body, Exchange};
use serde_json::Value;

/// The most values that are looked at in one answer.
const MOST_ANSWERED: usize = 20_000;
/// The most that are looked at in one request.
const MOST_ASKED: usize = 2000;
/// The longest value that can be one of another request.
const LONGEST: usize = 4096;
/// A value of so many characters is hardly there by chance.
const TELLING: usize = 4;
/// The ends of names under which even a short value says what it belongs to.
const KEYS: [&str; 9] = [
    "id", "ids", "key", "code", "slug", "number", "no", "sku", "ref",
];

/// A value, and its name: that of a field, or the segment of the path before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) value: String,
}

impl Named {
    /// Whether the value is one that stands for something, which may be called `word`: not the `2` of a quantity.
    pub(super) fn is_telling(&self, word: &str) -> bool {
        let name = self.name.to_ascii_lowercase();
        self.value.chars().count() >= TELLING
            || KEYS.iter().any(|key| name.ends_with(key))
            || !word.is_empty() && name.contains(word)
    }
}

/// The values in the JSON of an answer; none of anything else.
pub(super) fn answered(exchange: &Exchange) -> Vec<Named> {
    let body = exchange
        .answer
        .as_ref()
        .map(|answer| answer.body.as_slice());
    json(body.unwrap_or_default())
}

/// The values that a request sends.
pub(super) fn asked(exchange: &Exchange) -> Vec<Named> {
    let mut values = Vec::new();
    let (path, query) = exchange
        .target
        .split_once('?')
        .unwrap_or((&exchange.target, ""));
    let mut before = "";
    for segment in path.split('/') {
        add(&mut values, before, segment);
        before = segment;
    }
    form(query.as_bytes(), &mut values);
    for header in &exchange.headers {
        let value = String::from_utf8_lossy(&header.value);
        // Of credentials, what follows their scheme.
        add(
            &mut values,
            &header.name,
            value.rsplit(' ').next().unwrap_or_default(),
        );
    }
    match &exchange.body {
        Body::None => {}
        Body::Bytes(bytes) => {
            let found = json(bytes);
            if found.is_empty() {
                form(bytes, &mut values);
            }
            values.extend(found);
        }
        Body::Multipart(parts) => {
            for part in parts {
                let (name, value) = (
                    String::from_utf8_lossy(&part.name),
                    String::from_utf8_lossy(&part.content),
                );
                add(&mut values, &name, &value);
            }
        }
    }
    values.truncate(MOST_ASKED);
    values
}

fn add(values: &mut Vec<Named>, name: &str, value: &str) {
    if !value.is_empty() && value.len() <= LONGEST && values.len() < MOST_ANSWERED {
        values.push(Named {
            name: name.to_owned(),
            value: value.to_owned(),
        });
    }
}

fn form(text: &[u8], values: &mut Vec<Named>) {
    for (name, value) in url::form_urlencoded::parse(text).take(MOST_ASKED) {
        add(values, &name, &value);
    }
}

fn json(body: &[u8]) -> Vec<Named> {
    let mut values = Vec::new();
    if let Ok(root) = serde_json::from_slice::<Value>(body) {
        walk("", &root, &mut values);
    }
    values
}

fn walk(name: &str, value: &Value, values: &mut Vec<Named>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => add(values, name, &number.to_string()),
        Value::String(text) => add(values, name, text),
        Value::Array(items) => items.iter().for_each(|item| walk(name, item, values)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| walk(name, field, values)),
    }
}
