//! Schemas of documents as those of JSON Schema, by which values are judged.

use jsonschema::Draft;
use serde_json::{Map, Value, json};

/// What says nothing about a value, or is said in another way.
const UNHEEDED: [&str; 14] = [
    "$anchor",
    "$id",
    "$schema",
    "default",
    "description",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "id",
    "nullable",
    "readOnly",
    "title",
    "xml",
];
/// Whose fields are named by the document.
const NAMED: [&str; 10] = [
    "$defs",
    "content",
    "definitions",
    "headers",
    "parameters",
    "paths",
    "patternProperties",
    "properties",
    "responses",
    "schemas",
];
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];
const LENGTHS: [&str; 6] = [
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
];

/// The schemas of a document for what is sent.
#[derive(Debug)]
pub(super) struct Schemas {
    root: Value,
    /// Whether what stands beside a reference counts.
    are_joined: bool,
}

impl Schemas {
    pub(super) fn new(root: &Value) -> Self {
        let version = root["openapi"].as_str().unwrap_or_default();
        let are_joined = !version.is_empty() && !version.starts_with("3.0");
        Self {
            root: plain(root, are_joined, false),
            are_joined,
        }
    }

    /// What is wrong with a value, and at which place in it.
    ///
    /// # Errors
    /// The schema itself is none.
    pub(super) fn fault(
        &self,
        schema: &Value,
        value: &Value,
    ) -> Result<Option<(String, String)>, String> {
        let schema = plain(schema, self.are_joined, false);
        let is_alone = !schema.to_string().contains("\"$ref\"");
        let whole = if is_alone {
            schema
        } else {
            // References are to places in the document.
            let mut whole = self.root.clone();
            whole["allOf"] = json!([schema]);
            whole
        };
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .build(&whole)
            .map_err(|error| error.to_string())?;
        let error = validator.iter_errors(value).next();
        Ok(error.map(|error| (error.to_string(), error.instance_path().to_string())))
    }
}

/// A value of the document as JSON Schema has it (of 2020-12); `are_names` of fields that the document names.
fn plain(value: &Value, are_joined: bool, are_names: bool) -> Value {
    let go = |value: &Value, are_names| plain(value, are_joined, are_names);
    let fields = match value {
        Value::Array(items) => return items.iter().map(|item| go(item, false)).collect(),
        Value::Object(fields) => fields,
        other => return other.clone(),
    };
    if are_names {
        let fields = fields.iter();
        return fields
            .map(|(name, value)| (name.clone(), go(value, false)))
            .collect::<Map<_, _>>()
            .into();
    }
    let is_nullable = fields.get("nullable") == Some(&Value::Bool(true));
    if let Some(reference) = fields.get("$ref").filter(|text| text.is_string())
        && !are_joined
    {
        let reference = json!({ "$ref": reference });
        return if is_nullable {
            json!({ "anyOf": [reference, { "type": "null" }] })
        } else {
            reference
        };
    }
    let mut made = Map::new();
    for (name, value) in fields.iter().filter(|(name, value)| is_kept(name, value)) {
        match name.as_str() {
            "type" => {
                let mut types = types(value);
                if is_nullable && !types.is_empty() {
                    types.push("null".into());
                }
                if !types.is_empty() {
                    made.insert("type".to_owned(), types.into());
                }
            }
            "enum" => {
                let mut values = value.as_array().cloned().unwrap_or_default();
                if is_nullable {
                    values.push(Value::Null);
                }
                made.insert("enum".to_owned(), values.into());
            }
            "exclusiveMinimum" | "exclusiveMaximum" => {
                let inclusive = name.replace("exclusiveM", "m");
                let bound = match value {
                    Value::Bool(true) => fields.get(&inclusive),
                    other => Some(other),
                };
                if let Some(bound) = bound.filter(|bound| bound.is_number()) {
                    made.insert(name.clone(), bound.clone());
                }
            }
            "required" => {
                let names = required(value, fields.get("properties"));
                made.insert("required".to_owned(), names.into());
            }
            "properties" | "patternProperties" => {
                let mut value = go(value, true);
                for property in value.as_object_mut().into_iter().flat_map(Map::values_mut) {
                    if !property.is_object() && !property.is_boolean() {
                        *property = Value::Bool(true);
                    }
                }
                made.insert(name.clone(), value);
            }
            // Which of several that fit is meant, is often not said well.
            "oneOf" => {
                let either = json!({ "anyOf": go(value, false) });
                let all = made.entry("allOf").or_insert_with(|| json!([]));
                all.as_array_mut()
                    .into_iter()
                    .for_each(|all| all.push(either.clone()));
            }
            "allOf" => {
                let all = made.entry("allOf").or_insert_with(|| json!([]));
                let more = go(value, false);
                let more = more.as_array().into_iter().flatten().cloned();
                all.as_array_mut()
                    .into_iter()
                    .for_each(|all| all.extend(more.clone()));
            }
            name => {
                made.insert(name.to_owned(), go(value, NAMED.contains(&name)));
            }
        }
    }
    Value::Object(made)
}

/// Whether something is said of a schema in the way that the standard has it.
fn is_kept(name: &str, value: &Value) -> bool {
    match name {
        "enum" | "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
            value.as_array().is_some_and(|items| !items.is_empty())
        }
        "maximum" | "minimum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
        "pattern" | "format" | "$ref" => value.is_string(),
        "additionalProperties" | "items" | "not" => value.is_object() || value.is_boolean(),
        name if LENGTHS.contains(&name) => value.is_u64(),
        name if NAMED.contains(&name) => value.is_object(),
        name => !UNHEEDED.contains(&name) && !name.starts_with("x-"),
    }
}

/// The types that there are.
fn types(value: &Value) -> Vec<Value> {
    let types = match value {
        Value::Array(types) => types.as_slice(),
        one => std::slice::from_ref(one),
    };
    let is_known = |name: &&Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    let mut types: Vec<_> = types.iter().filter(is_known).cloned().collect();
    types.dedup();
    types
}

/// What is required of a request: not what only the service says.
fn required(names: &Value, properties: Option<&Value>) -> Vec<Value> {
    let is_sent = |name: &&Value| {
        let property = name
            .as_str()
            .and_then(|name| properties.and_then(|properties| properties.get(name)));
        name.is_string()
            && property.is_none_or(|property| property["readOnly"] != Value::Bool(true))
    };
    let names = names.as_array().into_iter().flatten();
    names.filter(is_sent).cloned().collect()
}
