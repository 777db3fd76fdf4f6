//! Values as a document describes them: its examples, or else what fits.

use super::locate::resolved;
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};

/// How deep values may be within each other.
const DEEPEST: usize = 10;
/// How deep those may be that could be left out.
const DEEPEST_OPTIONAL: usize = 5;
/// Of how many values one is made at most.
const MOST_VALUES: usize = 2_000;

/// Makes one value.
pub(super) struct Sampler<'a> {
    root: &'a Value,
    left: Cell<usize>,
    depth: Cell<usize>,
    /// The schemas that the value is within.
    within: RefCell<Vec<*const Value>>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self {
            root,
            left: Cell::new(MOST_VALUES),
            depth: Cell::new(0),
            within: RefCell::default(),
        }
    }

    /// What a media type is an example of.
    pub(super) fn media(&self, media: &'a Value) -> Value {
        self.example(media)
            .unwrap_or_else(|| self.schema(&media["schema"]))
    }

    /// The value of a header.
    pub(super) fn header(&self, header: &'a Value) -> String {
        let schema = match &header["schema"] {
            Value::Null => header,
            schema => schema,
        };
        let value = self.example(header).unwrap_or_else(|| self.schema(schema));
        match value {
            Value::String(text) => text,
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(text_of).collect();
                items.join(",")
            }
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }

    /// A value for a schema.
    pub(super) fn schema(&self, schema: &'a Value) -> Value {
        self.value(schema, true).unwrap_or(Value::Null)
    }

    fn example(&self, node: &'a Value) -> Option<Value> {
        let first = node["examples"].as_object().and_then(|all| {
            let mut all = all.values().map(|example| resolved(self.root, example));
            all.find_map(|example| example.get("value").cloned())
        });
        node.get("example").cloned().or(first)
    }

    fn value(&self, schema: &'a Value, is_required: bool) -> Option<Value> {
        let besides = self.besides(schema);
        let schema = resolved(self.root, schema);
        let depth = self.depth.get();
        let this = std::ptr::from_ref(schema);
        let is_too_deep = depth >= DEEPEST || self.within.borrow().len() >= 4 * DEEPEST;
        if is_too_deep || self.left.get() == 0 || self.within.borrow().contains(&this) {
            return None;
        }
        if depth >= DEEPEST_OPTIONAL && !is_required {
            return None;
        }
        self.left.set(self.left.get() - 1);
        self.within.borrow_mut().push(this);
        self.depth.set(depth + 1);
        let mut value = self.of(schema);
        self.depth.set(depth);
        self.within.borrow_mut().pop();
        join(&mut value, besides);
        value
    }

    /// What stands beside a reference, and beside that to which it leads: that counts since version 3.1.
    fn besides(&self, schema: &'a Value) -> Option<Value> {
        let version = self.root["openapi"].as_str()?;
        let mut all = None;
        let mut node = schema;
        for _ in 0..DEEPEST {
            let reference = node["$ref"]
                .as_str()
                .filter(|_| !version.starts_with("3.0"))?;
            if node["properties"].is_object() {
                join(&mut all, self.own(node));
            }
            let next = reference
                .strip_prefix('#')
                .and_then(|pointer| self.root.pointer(pointer));
            node = next?;
            if node["$ref"].is_null() {
                return all;
            }
        }
        None
    }

    fn of(&self, schema: &'a Value) -> Option<Value> {
        let first = |key: &str| schema[key].as_array()?.first().cloned();
        let known = [
            schema.get("example").cloned(),
            first("examples"),
            schema.get("const").cloned(),
            first("enum"),
            schema.get("default").cloned(),
        ];
        let mut known = known.into_iter().flatten();
        if let Some(mut value) = known.find(|value| !value.is_null()) {
            // An example that leaves out what is required is none of an answer.
            if let Some(fields) = value.as_object_mut() {
                let own = self.object(schema);
                let names = schema["required"].as_array().into_iter().flatten();
                for name in names.filter_map(Value::as_str) {
                    if !own[name].is_null() {
                        fields.entry(name).or_insert_with(|| own[name].clone());
                    }
                }
            }
            return Some(value);
        }
        let mut value = self.own(schema);
        // These are the same value, and no deeper.
        self.depth.set(self.depth.get() - 1);
        for part in schema["allOf"].as_array().into_iter().flatten() {
            join(&mut value, self.value(part, true));
        }
        for key in ["oneOf", "anyOf"] {
            let parts = schema[key].as_array().into_iter().flatten();
            let mut parts = parts.filter_map(|part| self.value(part, true));
            join(&mut value, parts.find(|value| !value.is_null()));
        }
        self.depth.set(self.depth.get() + 1);
        value.or_else(|| {
            let is_free = ["type", "allOf", "oneOf", "anyOf"];
            let is_free = is_free.iter().all(|key| schema[*key].is_null());
            (is_free && schema != &Value::Bool(false)).then(|| json!({}))
        })
    }

    /// A value of the type that a schema has itself.
    fn own(&self, schema: &'a Value) -> Option<Value> {
        let types = match &schema["type"] {
            Value::Array(types) => types.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut names = types.iter().filter_map(Value::as_str);
        let has = |key: &str| schema[key].is_object();
        let kind = match names.find(|name| *name != "null") {
            Some(name) => name,
            None if has("properties") || has("additionalProperties") => "object",
            None if has("items") => "array",
            None if types.iter().any(|name| name == "null") => "null",
            None => return None,
        };
        match kind {
            "object" => Some(self.object(schema)),
            "array" => Some(self.list(schema)),
            "string" => Some(text(schema).into()),
            "integer" => Some(number(schema, true)),
            "number" => Some(number(schema, false)),
            "boolean" => Some(true.into()),
            "null" => Some(Value::Null),
            _ => None,
        }
    }

    fn object(&self, schema: &'a Value) -> Value {
        let required = |name: &str| {
            let mut names = schema["required"].as_array().into_iter().flatten();
            names.any(|required| required == name)
        };
        let mut fields = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_sent = resolved(self.root, property)["writeOnly"] == Value::Bool(true);
            if let Some(value) = self.value(property, required(name)).filter(|_| !is_sent) {
                fields.insert(name.clone(), value);
            }
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            if schema["properties"][name].is_null() {
                fields.insert(name.to_owned(), json!("of its own"));
            }
        }
        let more = &schema["additionalProperties"];
        if fields.is_empty()
            && more.is_object()
            && let Some(value) = self.value(more, false)
        {
            fields.insert("name".to_owned(), value);
        }
        Value::Object(fields)
    }

    fn list(&self, schema: &'a Value) -> Value {
        let first = schema["prefixItems"].as_array().into_iter().flatten();
        let mut items: Vec<_> = first.filter_map(|item| self.value(item, true)).collect();
        let least = schema["minItems"].as_u64().unwrap_or(1).clamp(1, 20);
        let is_empty = schema["maxItems"] == 0;
        if schema["items"].is_object() && !is_empty {
            let item = self.value(&schema["items"], false);
            while let Some(item) = &item
                && (items.len() as u64) < least
            {
                items.push(item.clone());
            }
        }
        Value::Array(items)
    }
}

/// Puts the fields of another object into one; anything else takes the place of nothing.
fn join(value: &mut Option<Value>, other: Option<Value>) {
    match (value.as_mut(), other) {
        (Some(Value::Object(fields)), Some(Value::Object(more))) => fields.extend(more),
        (None, other) => *value = other,
        _ => {}
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or(value.to_string(), str::to_owned)
}

fn text(schema: &Value) -> String {
    let text = match schema["format"].as_str().unwrap_or_default() {
        "date-time" => "2027-03-04T05:06:07Z",
        "date" => "2027-03-04",
        "time" => "05:06:07Z",
        "duration" => "PT7S",
        "uuid" => "0d9b1b0e-2f6c-4a8e-9d51-7f3a6c2e4b18",
        "email" => "grace@example.org",
        "uri" | "url" => "https://example.org/of/its/own",
        "hostname" => "host.example.org",
        "ipv4" => "192.0.2.7",
        "ipv6" => "2001:db8::7",
        "byte" => "b3du",
        // In a path or a query, it has to be written in another way.
        _ => "of its own",
    };
    let mut text = text.to_owned();
    let bound = |key: &str| usize::try_from(schema[key].as_u64()?).ok();
    if let Some(most) = bound("maxLength") {
        text = text.chars().take(most).collect();
    }
    while text.chars().count() < bound("minLength").unwrap_or(0).min(10_000) {
        text.push('w');
    }
    text
}

/// A number in the bounds that are said.
fn number(schema: &Value, is_integer: bool) -> Value {
    let bound = |key: &str| schema[key].as_f64();
    let is_open = |key: &str| schema[key] == Value::Bool(true);
    let unit = bound("multipleOf").filter(|unit| *unit > 0.0);
    let step = unit.unwrap_or(1.0);
    let low = bound("exclusiveMinimum").map(|low| low + step).or_else(|| {
        let low = bound("minimum")?;
        Some(if is_open("exclusiveMinimum") {
            low + step
        } else {
            low
        })
    });
    let high = bound("exclusiveMaximum")
        .map(|high| high - step)
        .or_else(|| {
            let high = bound("maximum")?;
            Some(if is_open("exclusiveMaximum") {
                high - step
            } else {
                high
            })
        });
    let mut value = if is_integer { 4217.0 } else { 42.5 };
    if let Some(low) = low.filter(|low| *low > value) {
        value = low;
    }
    if let Some(high) = high.filter(|high| *high < value) {
        value = high;
    }
    if let Some(unit) = unit {
        value = (value / unit).floor() * unit;
    }
    if is_integer {
        // Whole, and far within what is told apart.
        return serde_json::from_str(&format!("{:.0}", value.floor())).unwrap_or_default();
    }
    value.into()
}
