//! What a document asks of requests: parameters, bodies, credentials.

use super::excuse::{examples, is_impossible};
use super::locate::{Operation, parameters, resolved};
use super::schema::Schemas;
use crate::Request;
use crate::replay::{Refusals, decoded};
use serde_json::Value;

/// Headers that other parts of a document describe.
const DESCRIBED_ELSEWHERE: [&str; 3] = ["accept", "authorization", "content-type"];

/// Says what is wrong with requests.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) root: Value,
    schemas: Schemas,
}

/// A fault, or what could not be judged.
pub(super) enum Fault {
    Of(String),
    Unjudged(String),
}

impl Judge {
    pub(super) fn new(root: &Value) -> Self {
        Self {
            root: root.clone(),
            schemas: Schemas::new(root),
        }
    }

    /// What is wrong with a request; `values` are those of its path.
    pub(super) fn fault(
        &self,
        operation: &Operation,
        request: &Request,
        values: &[(&str, String)],
        unjudged: &Refusals,
    ) -> Option<String> {
        let mut faults = vec![self.of_security(operation, request)];
        let parameters = parameters(&self.root, operation);
        for parameter in &parameters {
            faults.push(self.of_parameter(parameter, request, values));
        }
        faults.push(self.of_query(operation, &parameters, request));
        faults.push(self.of_body(operation, &parameters, request));
        let mut faults = faults.into_iter().filter_map(Result::err);
        faults.find_map(|fault| match fault {
            Fault::Of(why) => Some(why),
            Fault::Unjudged(why) => {
                unjudged.put(format!("{}: {why}", operation.title()));
                None
            }
        })
    }

    fn of_parameter(
        &self,
        parameter: &Value,
        request: &Request,
        values: &[(&str, String)],
    ) -> Result<(), Fault> {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = parameter["in"].as_str().unwrap_or_default();
        let style = parameter["style"].as_str().unwrap_or_default();
        let sent: Vec<String> = match place {
            "path" => {
                // What the path has no place for is none of it.
                let value = values.iter().find(|(known, _)| *known == name);
                if matches!(style, "matrix" | "label") {
                    return Ok(());
                }
                value
                    .map(|(_, value)| vec![value.clone()])
                    .unwrap_or_default()
            }
            "query" => {
                let pairs = pairs(request);
                let is_it = |key: &str| key == name || key.starts_with(&format!("{name}["));
                let found = pairs.into_iter().filter(|(key, _)| is_it(key));
                found.map(|(_, value)| value).collect()
            }
            "header" if DESCRIBED_ELSEWHERE.contains(&&*name.to_ascii_lowercase()) => return Ok(()),
            "header" => {
                let lower = name.to_ascii_lowercase();
                request.all(&lower).map(str::to_owned).collect()
            }
            "cookie" => {
                let is_there = cookie(request, name).is_some_and(|value| !value.is_empty());
                let is_required = parameter["required"] == Value::Bool(true);
                // Whose value is secret: it is whatever a user has.
                return refused(
                    is_required && !is_there,
                    &format!("the cookie has no `{name}`, which is required"),
                );
            }
            _ => return Ok(()),
        };
        let schema = self.schema_of(parameter);
        let is_object = kinds(schema).contains(&"object");
        if sent.is_empty() {
            let is_required = parameter["required"] == Value::Bool(true) && place != "path";
            return if is_required && !is_object && is_sendable(place, name) {
                Err(Fault::Of(format!(
                    "the {place} has no `{name}`, which is required"
                )))
            } else {
                Ok(())
            };
        }
        if is_object && parameter["content"].is_null() {
            return Ok(());
        }
        let value = self.value_of(parameter, schema, &sent);
        let what = format!("`{name}` in the {place}");
        match self.fits(&what, schema, &value) {
            Err(Fault::Of(why)) if examples(&self.root, parameter).contains(&value.to_string()) => {
                Err(Fault::Unjudged(format!(
                    "the document has it as an example; {why}"
                )))
            }
            judged => judged,
        }
    }

    /// What describes a parameter.
    fn schema_of<'a>(&'a self, parameter: &'a Value) -> &'a Value {
        let content = parameter["content"].as_object();
        let media = content.and_then(|content| content.values().next());
        let schema = media.map_or(&parameter["schema"], |media| &media["schema"]);
        let is_of_version_two = schema.is_null() && parameter["type"].is_string();
        resolved(
            &self.root,
            if is_of_version_two { parameter } else { schema },
        )
    }

    /// The value that texts stand for.
    pub(super) fn value_of(&self, parameter: &Value, schema: &Value, sent: &[String]) -> Value {
        let first = sent.first().cloned().unwrap_or_default();
        if parameter["content"].is_object() {
            return serde_json::from_str(&first).unwrap_or(Value::String(first));
        }
        if !kinds(schema).contains(&"array") {
            return self.typed(schema, &first);
        }
        let format = parameter["collectionFormat"].as_str();
        let style = parameter["style"].as_str().or(format);
        let separator = match style.unwrap_or_default() {
            "ssv" | "spaceDelimited" => " ",
            "tsv" => "\t",
            "pipes" | "pipeDelimited" => "|",
            _ => ",",
        };
        let is_of_query = parameter["in"] == "query";
        let is_of_version_three = parameter["schema"].is_object();
        let explodes = match parameter["explode"].as_bool() {
            Some(explodes) => explodes,
            None if is_of_version_three => matches!(style, None | Some("form" | "deepObject")),
            None => format == Some("multi"),
        };
        let items: Vec<&str> = if is_of_query && explodes {
            sent.iter().map(String::as_str).collect()
        } else {
            first.split(separator).collect()
        };
        let of = resolved(&self.root, &schema["items"]);
        items.into_iter().map(|item| self.typed(of, item)).collect()
    }

    /// A text as the kind of value that a schema is of.
    pub(super) fn typed(&self, schema: &Value, text: &str) -> Value {
        let parts = ["allOf", "oneOf", "anyOf"];
        let mut parts = parts
            .iter()
            .filter_map(|key| schema[*key].as_array())
            .flatten();
        let own = kinds(schema);
        let number = || serde_json::from_str::<serde_json::Number>(text).map(Value::Number);
        match own.as_slice() {
            [] => {
                let typed = parts.find_map(|part| {
                    let value = self.typed(resolved(&self.root, part), text);
                    (!value.is_string()).then_some(value)
                });
                typed.unwrap_or(text.into())
            }
            kinds if kinds.contains(&"string") => text.into(),
            kinds if kinds.contains(&"boolean") && matches!(text, "true" | "false") => {
                (text == "true").into()
            }
            kinds if kinds.contains(&"integer") || kinds.contains(&"number") => {
                number().unwrap_or(text.into())
            }
            _ => text.into(),
        }
    }

    /// Whether the query has nothing that is nowhere described.
    fn of_query(
        &self,
        operation: &Operation,
        parameters: &[&Value],
        request: &Request,
    ) -> Result<(), Fault> {
        let of_query = || {
            parameters
                .iter()
                .filter(|parameter| parameter["in"] == "query")
        };
        let is_open = |parameter: &&&Value| {
            let schema = self.schema_of(parameter);
            let own = kinds(schema);
            own.contains(&"object") || own.is_empty() && !schema.is_null()
        };
        if of_query().any(|parameter| is_open(&parameter)) {
            return Ok(());
        }
        let schemes = self.schemes().into_iter().flatten();
        let keys: Vec<_> = schemes
            .filter_map(|(_, scheme)| scheme["name"].as_str())
            .collect();
        for (name, value) in pairs(request) {
            let is_described = of_query().any(|parameter| parameter["name"] == name.as_str());
            let pair = format!("{name}={value}");
            if !is_described
                && !keys.contains(&name.as_str())
                && !operation.own_query().contains(&pair)
            {
                return Err(Fault::Of(format!("`{name}` is nothing that the query has")));
            }
        }
        Ok(())
    }

    pub(super) fn fits(&self, what: &str, schema: &Value, value: &Value) -> Result<(), Fault> {
        if !schema.is_object() {
            return Ok(());
        }
        match self.schemas.fault(schema, value) {
            Ok(None) => Ok(()),
            Ok(Some((why, place))) => {
                let why = format!("{what}: {why} (at `{place}`)");
                let found = value.pointer(&place).unwrap_or(&Value::Null);
                if is_impossible(&self.root, schema) {
                    Err(Fault::Unjudged(format!("nothing fits; {why}")))
                } else if examples(&self.root, schema).contains(&found.to_string()) {
                    Err(Fault::Unjudged(format!(
                        "the document has it as an example; {why}"
                    )))
                } else {
                    Err(Fault::Of(why))
                }
            }
            Err(why) => Err(Fault::Unjudged(format!("{what}: {why}"))),
        }
    }
}

pub(super) fn refused(is_wrong: bool, why: &str) -> Result<(), Fault> {
    if is_wrong {
        return Err(Fault::Of(why.to_owned()));
    }
    Ok(())
}

/// The types that a schema says itself.
pub(super) fn kinds(schema: &Value) -> Vec<&str> {
    let types = match &schema["type"] {
        Value::Array(types) => types.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut types: Vec<_> = types.iter().filter_map(Value::as_str).collect();
    if types.is_empty() && schema["properties"].is_object() {
        types.push("object");
    }
    types
}

/// Whether something can be sent at all: not every name can be that of a header.
fn is_sendable(place: &str, name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    place == "query" || name.bytes().all(is_letter)
}

/// The names and values of the query.
pub(super) fn pairs(request: &Request) -> Vec<(String, String)> {
    let (_, query) = request.target.split_once('?').unwrap_or_default();
    split(query)
}

pub(super) fn split(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs
        .map(|(name, value)| (decoded(name, true), decoded(value, true)))
        .collect()
}

pub(super) fn cookie(request: &Request, name: &str) -> Option<String> {
    let cookies = request.header("cookie").unwrap_or_default();
    let mut cookies = cookies.split("; ").filter_map(|pair| pair.split_once('='));
    let found = cookies.find(|(known, _)| *known == name);
    found.map(|(_, value)| value.to_owned())
}
