//! Where a document contradicts itself: what it gives as an example, and what nothing can be.

use super::locate::resolved;
use serde_json::Value;
use std::collections::BTreeSet;

/// What a value of a schema is put together of.
const PARTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The examples within a schema, each with all that is in it, as JSON.
pub(super) fn examples(root: &Value, schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(root, schema, &mut Vec::new(), &mut found);
    found
}

fn collect<'a>(
    root: &'a Value,
    schema: &'a Value,
    within: &mut Vec<*const Value>,
    found: &mut BTreeSet<String>,
) {
    let schema = resolved(root, schema);
    let this = std::ptr::from_ref(schema);
    if within.contains(&this) {
        return;
    }
    // Each is looked at once: the order is that of the document.
    within.push(this);
    for key in ["example", "default"] {
        whole(&schema[key], found);
    }
    let examples = &schema["examples"];
    let named = examples.as_object().into_iter().flatten();
    let named = named.map(|(_, example)| &resolved(root, example)["value"]);
    for example in examples.as_array().into_iter().flatten().chain(named) {
        whole(example, found);
    }
    let parts = PARTS.iter().filter_map(|key| schema[*key].as_array());
    let properties = schema["properties"].as_object();
    let properties = properties.into_iter().flat_map(|fields| fields.values());
    let others = ["items", "additionalProperties", "schema"];
    let others = others.iter().map(|key| &schema[*key]);
    for part in parts.flatten().chain(properties).chain(others) {
        collect(root, part, within, found);
    }
}

fn whole(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Null => return,
        Value::Array(items) => items.iter().for_each(|item| whole(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| whole(value, found)),
        _ => {}
    }
    found.insert(value.to_string());
}

/// Whether no value is one of a schema: its bounds exclude each other, or a value has to have one of the same
/// within it, and so on without end.
pub(super) fn is_impossible(root: &Value, schema: &Value) -> bool {
    let bound = |key: &str| schema[key].as_f64();
    let low = bound("minimum").zip(bound("maximum"));
    low.is_some_and(|(low, high)| low > high) || holds_itself(root, schema, &mut Vec::new())
}

fn holds_itself<'a>(root: &'a Value, schema: &'a Value, within: &mut Vec<*const Value>) -> bool {
    let schema = resolved(root, schema);
    let this = std::ptr::from_ref(schema);
    if within.contains(&this) {
        return true;
    }
    if schema["nullable"] == Value::Bool(true) {
        return false;
    }
    within.push(this);
    let required = schema["required"].as_array().into_iter().flatten();
    let required = required.filter_map(Value::as_str);
    let properties = required.map(|name| &schema["properties"][name]);
    let parts = schema["allOf"].as_array().into_iter().flatten();
    let is_endless = properties
        .chain(parts)
        .any(|part| part.is_object() && holds_itself(root, part, within));
    within.pop();
    is_endless
}
