//! YAML as JSON: just what documents are written in.

use granit_parser::{Event, Options, Parser, ScalarStyle};
use serde_json::{Map, Value};
use std::collections::HashMap;

enum Open {
    List(Vec<Value>),
    Object(Map<String, Value>, Option<String>),
}

/// Reads a document.
pub(super) fn read(text: &str) -> Value {
    let mut open: Vec<(usize, Open)> = Vec::new();
    let mut anchors: HashMap<usize, Value> = HashMap::new();
    let mut whole = Value::Null;
    for event in Parser::new_from_str_with_options(text, Options::default()) {
        let (event, _) = event.expect("a document is YAML, if it is not JSON");
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let is_plain = style == ScalarStyle::Plain;
                (anchor, if is_plain { plain(&text) } else { text.into() })
            }
            Event::Alias(anchor) => (0, anchors.get(&anchor).cloned().unwrap_or_default()),
            Event::SequenceStart(_, anchor, _) => {
                open.push((anchor, Open::List(Vec::new())));
                continue;
            }
            Event::MappingStart(_, anchor, _) => {
                open.push((anchor, Open::Object(Map::new(), None)));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some((anchor, Open::List(items))) => (anchor, Value::Array(items)),
                Some((anchor, Open::Object(fields, _))) => (anchor, merged(fields)),
                None => continue,
            },
            _ => continue,
        };
        if anchor > 0 {
            anchors.insert(anchor, value.clone());
        }
        match open.last_mut() {
            None => whole = value,
            Some((_, Open::List(items))) => items.push(value),
            Some((_, Open::Object(fields, name))) => match name.take() {
                Some(name) => {
                    fields.insert(name, value);
                }
                None => {
                    *name = Some(match value {
                        Value::String(text) => text,
                        other => other.to_string(),
                    });
                }
            },
        }
    }
    whole
}

/// Fields with those that `<<` brings along.
fn merged(mut fields: Map<String, Value>) -> Value {
    let brought = fields.remove("<<");
    let brought = match brought {
        Some(Value::Array(items)) => items,
        other => other.into_iter().collect(),
    };
    for (name, value) in brought.iter().filter_map(Value::as_object).flatten() {
        if !fields.contains_key(name) {
            fields.insert(name.clone(), value.clone());
        }
    }
    Value::Object(fields)
}

/// What a text without quotes is.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        text => serde_json::from_str::<serde_json::Number>(text)
            .map_or_else(|_| text.into(), Value::Number),
    }
}
