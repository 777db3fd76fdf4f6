//! Rewrites Swagger 2.0 as OpenAPI 3.0: servers, parameters, bodies and responses.
//!
//! Documents that mix the versions are common, so only what is written as in 2.0 is rewritten, whatever the
//! document says about its version.

use super::content::{MediaKind, URL_ENCODED};
use super::document::shorten;
use super::operations::METHODS;
use crate::import::document::{Field, Node, Value};
use crate::import::source::{Note, Span};
use std::borrow::Cow;

/// Keywords of a parameter or a response that hold examples.
const EXAMPLES: [&str; 3] = ["example", "x-example", "examples"];

/// Parts of the document that operations refer to.
struct SharedParts<'a> {
    parameters: Vec<Field<'a>>,
    consumes: Vec<String>,
    produces: Vec<String>,
}

/// Rewrites a document, and returns warnings.
pub(super) fn upgrade_document(root: &mut Node<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    let parameters = root.get("parameters").map_or(&[][..], Node::fields);
    let shared = SharedParts {
        parameters: parameters.to_vec(),
        consumes: text_items(root, "consumes"),
        produces: text_items(root, "produces"),
    };
    if root.get("swagger").is_some() && root.get("servers").is_none() {
        let servers = make_server(root, &mut notes);
        set_field(root, "servers", servers);
    }
    for field in fields_of(root, "parameters") {
        upgrade_parameter(&mut field.node, &mut notes);
    }
    for field in fields_of(root, "responses") {
        upgrade_response(&mut field.node, &shared.produces);
    }
    for path in fields_of(root, "paths") {
        let of_path = upgrade_parameters(&mut path.node, &shared, &mut notes);
        for method in METHODS {
            if let Some(operation) = value_of(&mut path.node, method) {
                upgrade_operation(operation, &of_path, &shared, &mut notes);
            }
        }
    }
    notes
}

/// Makes the list of servers of `host`, `basePath` and `schemes`.
fn make_server<'a>(root: &Node<'a>, notes: &mut Vec<Note>) -> Option<Node<'a>> {
    let schemes = text_items(root, "schemes");
    let has = |scheme: &&str| schemes.iter().any(|known| known == scheme);
    let scheme = ["https", "http"].into_iter().find(has);
    if let Some(node) = root.get("schemes").filter(|_| scheme.is_none()) {
        let words = format!(
            "`{}` is not HTTP, which is sent all the same",
            shorten(&schemes.join("`, `"))
        );
        notes.push(Note::new(node.beginning(), words));
    }
    let base = root.text_of("basePath").unwrap_or_default();
    let base = base.trim_start_matches('/');
    let (url, span) = match root.get("host") {
        None if base.is_empty() => return None,
        None => (format!("/{base}"), 0..0),
        Some(host) => {
            let text = host.text().unwrap_or_default();
            let is_local = ["127.", "localhost", "[::1]"]
                .iter()
                .any(|local| text.starts_with(local));
            let usual = if is_local { "http" } else { "https" };
            let scheme = scheme.unwrap_or(usual);
            (format!("{scheme}://{text}/{base}"), host.span.clone())
        }
    };
    let url = make_text(&span, url);
    let server = make_object(&span, [("url", url)]);
    Some(make_node(&span, Value::List(vec![server])))
}

fn upgrade_operation<'a>(
    operation: &mut Node<'a>,
    of_path: &[Node<'a>],
    shared: &SharedParts<'a>,
    notes: &mut Vec<Note>,
) {
    if let Some(span) = operation.name("schemes") {
        let words = "schemes of an operation are not read: those of the document hold";
        notes.push(Note::new(span, words));
    }
    let own = |operation: &Node<'_>, key: &str, usual: &[String]| match operation.get(key) {
        Some(_) => text_items(operation, key),
        None => usual.to_vec(),
    };
    let consumes = own(operation, "consumes", &shared.consumes);
    let produces = own(operation, "produces", &shared.produces);
    for field in fields_of(operation, "responses") {
        upgrade_response(&mut field.node, &produces);
    }
    let mut bodies = upgrade_parameters(operation, shared, notes);
    bodies.extend(of_path.iter().cloned());
    if operation.get("requestBody").is_none() {
        let body = make_body(&bodies, &consumes, notes);
        set_field(operation, "requestBody", body);
    }
}

/// Upgrades the parameters of a path or an operation. Removes and returns those in `body` and `formData`.
fn upgrade_parameters<'a>(
    owner: &mut Node<'a>,
    shared: &SharedParts<'a>,
    notes: &mut Vec<Note>,
) -> Vec<Node<'a>> {
    let Some(Value::List(parameters)) = value_of(owner, "parameters").map(|node| &mut node.value)
    else {
        return Vec::new();
    };
    let mut bodies = take_bodies(parameters, shared);
    for parameter in parameters.iter_mut().chain(&mut bodies) {
        upgrade_parameter(parameter, notes);
    }
    bodies
}

/// Removes the parameters in `body` and `formData`.
fn take_bodies<'a>(parameters: &mut Vec<Node<'a>>, shared: &SharedParts<'a>) -> Vec<Node<'a>> {
    let mut bodies = Vec::new();
    parameters.retain(|parameter| {
        let name = parameter.text_of("$ref");
        let name = name.and_then(|reference| reference.strip_prefix("#/parameters/"));
        let target =
            name.and_then(|name| shared.parameters.iter().find(|field| field.name == name));
        let target = target.map_or(parameter, |field| &field.node);
        let is_body = matches!(target.text_of("in"), Some("body" | "formData"));
        if is_body {
            bodies.push(target.clone());
        }
        !is_body
    });
    bodies
}

/// Makes the request body of parameters in `body` or `formData`.
fn make_body<'a>(
    parameters: &[Node<'a>],
    consumes: &[String],
    notes: &mut Vec<Note>,
) -> Option<Node<'a>> {
    let body = parameters
        .iter()
        .find(|parameter| parameter.text_of("in") == Some("body"));
    let Some(body) = body else {
        return make_form(parameters, consumes);
    };
    for other in parameters
        .iter()
        .filter(|other| !std::ptr::eq(*other, body))
    {
        let name = shorten(other.text_of("name").unwrap_or("body"));
        let words = format!("`{name}` is left out: another parameter is the body");
        notes.push(Note::new(other.beginning(), words));
    }
    let json = ["application/json".to_owned()];
    let types = if consumes.is_empty() { &json } else { consumes };
    let keys = ["schema"].iter().chain(&EXAMPLES);
    let media = keys.filter_map(|key| Some((*key, body.get(key)?.clone())));
    let media = make_object(&body.span, media);
    let content = types.iter().map(|name| (name.clone(), media.clone()));
    let content = make_object(&body.span, content);
    let required = body
        .get("required")
        .map(|required| ("required", required.clone()));
    let fields = required.into_iter().chain([("content", content)]);
    Some(make_object(&body.span, fields))
}

/// Makes the request body of parameters in `formData`.
fn make_form<'a>(parameters: &[Node<'a>], consumes: &[String]) -> Option<Node<'a>> {
    let span = &parameters.first()?.span;
    let has_file = parameters.iter().any(|parameter| {
        parameter.at(&["schema", "format"]).and_then(Node::text) == Some("binary")
    });
    let has_type = |kind| consumes.iter().any(|name| MediaKind::of_type(name) == kind);
    let is_multipart = has_file || has_type(MediaKind::Multipart) && !has_type(MediaKind::Form);
    let media_type = if is_multipart {
        "multipart/form-data"
    } else {
        URL_ENCODED
    };
    let named = parameters
        .iter()
        .filter_map(|parameter| Some((parameter.text_of("name")?.to_owned(), parameter)));
    let named: Vec<_> = named.collect();
    let schemas = named
        .iter()
        .filter_map(|(name, parameter)| Some((name.clone(), parameter.get("schema")?.clone())));
    let lists = named
        .iter()
        .filter(|(_, parameter)| parameter.text_of("type") == Some("array"));
    let encoding = lists.map(|(name, parameter)| (name.clone(), (*parameter).clone()));
    let required = named
        .iter()
        .filter(|(_, parameter)| parameter.get("required").and_then(Node::boolean) == Some(true));
    let required = required.map(|(name, _)| make_text(span, name.clone()));
    let schema = make_object(
        span,
        [
            ("type", make_text(span, "object".to_owned())),
            ("properties", make_object(span, schemas)),
            ("required", make_node(span, Value::List(required.collect()))),
        ],
    );
    let media = [
        ("schema", schema),
        ("encoding", make_object(span, encoding)),
    ];
    let content = make_object(span, [(media_type, make_object(span, media))]);
    let required = make_node(span, Value::Bool(true));
    Some(make_object(
        span,
        [("required", required), ("content", content)],
    ))
}

/// Gives a parameter a schema and a style.
fn upgrade_parameter(parameter: &mut Node<'_>, notes: &mut Vec<Note>) {
    if parameter.get("schema").is_some() || parameter.get("type").is_none() {
        return;
    }
    let explodes = match parameter.get("collectionFormat") {
        None => false,
        Some(format) => {
            let name = format.text().unwrap_or_default();
            if !matches!(name, "csv" | "multi") {
                let words = format!("`{}` is not written: commas are", shorten(name));
                notes.push(Note::new(format.span.clone(), words));
            }
            name == "multi"
        }
    };
    let span = parameter.span.clone();
    let explodes = make_node(&span, Value::Bool(explodes));
    upgrade_schema(parameter);
    set_field(parameter, "explode", Some(explodes));
}

/// Gives a parameter or a header itself as its schema.
fn upgrade_schema(node: &mut Node<'_>) {
    let mut schema = node.clone();
    if schema.text_of("type") == Some("file") {
        for (key, value) in [("type", "string"), ("format", "binary")] {
            let value = make_text(&schema.span, value.to_owned());
            set_field(&mut schema, key, Some(value));
        }
    }
    set_field(node, "schema", Some(schema));
}

/// Gives a response its content.
fn upgrade_response(response: &mut Node<'_>, produces: &[String]) {
    for header in fields_of(response, "headers") {
        if header.node.get("schema").is_none() && header.node.get("type").is_some() {
            upgrade_schema(&mut header.node);
        }
    }
    let (schema, examples) = (response.get("schema"), response.get("examples"));
    if response.get("content").is_some() || schema.is_none() && examples.is_none() {
        return;
    }
    let examples = examples.map_or(&[][..], Node::fields);
    let mut types = produces.to_vec();
    for field in examples {
        if !types.iter().any(|name| *name == field.name) {
            types.push(field.name.to_string());
        }
    }
    if types.is_empty() {
        types.push("application/json".to_owned());
    }
    let content = types.into_iter().map(|name| {
        let example = examples.iter().find(|field| field.name == name);
        let example = example.map(|field| ("example", field.node.clone()));
        let schema = schema.map(|schema| ("schema", schema.clone()));
        (
            name,
            make_object(&response.span, example.into_iter().chain(schema)),
        )
    });
    let content = make_object(&response.span, content);
    set_field(response, "content", Some(content));
}

fn text_items(node: &Node<'_>, key: &str) -> Vec<String> {
    let items = node.get(key).map_or(&[][..], Node::items);
    items
        .iter()
        .filter_map(Node::text)
        .map(str::to_owned)
        .collect()
}

fn value_of<'n, 'a>(node: &'n mut Node<'a>, key: &str) -> Option<&'n mut Node<'a>> {
    let Value::Object(fields) = &mut node.value else {
        return None;
    };
    let field = fields.iter_mut().find(|field| field.name == key)?;
    Some(&mut field.node)
}

/// Returns the fields of an object in a field.
fn fields_of<'n, 'a>(node: &'n mut Node<'a>, key: &str) -> &'n mut [Field<'a>] {
    match value_of(node, key).map(|node| &mut node.value) {
        Some(Value::Object(fields)) => fields,
        _ => &mut [],
    }
}

/// Sets a field of an object, if there is a value for it.
fn set_field<'a>(node: &mut Node<'a>, key: &'static str, value: Option<Node<'a>>) {
    if let (Value::Object(fields), Some(value)) = (&mut node.value, value) {
        fields.retain(|field| field.name != key);
        fields.push(Field {
            name: Cow::Borrowed(key),
            span: value.span.clone(),
            node: value,
        });
    }
}

fn make_node<'a>(span: &Span, value: Value<'a>) -> Node<'a> {
    Node {
        span: span.clone(),
        value,
    }
}

fn make_text<'a>(span: &Span, text: String) -> Node<'a> {
    make_node(span, Value::Text(text.into()))
}

fn make_object<'a, Name: Into<Cow<'a, str>>>(
    span: &Span,
    fields: impl IntoIterator<Item = (Name, Node<'a>)>,
) -> Node<'a> {
    let fields = fields.into_iter().map(|(name, node)| Field {
        name: name.into(),
        span: span.clone(),
        node,
    });
    make_node(span, Value::Object(fields.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::document;
    use crate::import::source::Input;

    #[test]
    fn a_document_of_version_2_0_becomes_one_of_3_0() {
        let text = r##"{
            "swagger": "2.0", "host": "localhost:1", "basePath": "/v1", "consumes": ["application/json"], "produces": ["text/plain"],
            "paths": {"/a": {
                "parameters": [{"in": "query", "name": "q", "type": "array", "collectionFormat": "multi"}],
                "post": {
                    "parameters": [{"$ref": "#/parameters/B"}],
                    "responses": {"200": {"schema": {"type": "string"}, "examples": {"text/plain": "x", "text/csv": "y"}}}
                },
                "put": {"parameters": [{"in": "formData", "name": "f", "type": "file", "required": true}]}
            }},
            "parameters": {"B": {"in": "body", "name": "b", "required": true, "schema": {"type": "object"}}}
        }"##;
        let input = Input::new("x", text.to_owned());
        let mut root = document::read(&input).unwrap();
        assert_eq!(upgrade_document(&mut root), []);
        let at = |path: &[&str]| root.at(path).map(Node::json).unwrap_or_default();
        assert_eq!(at(&["servers"]), r#"[{"url":"http://localhost:1/v1"}]"#);
        assert!(at(&["paths", "/a", "parameters"]).contains(r#""explode":true"#));
        assert_eq!(at(&["paths", "/a", "post", "parameters"]), "[]");
        assert_eq!(
            at(&["paths", "/a", "post", "requestBody"]),
            r#"{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}}"#
        );
        assert_eq!(
            at(&["paths", "/a", "post", "responses", "200", "content"]),
            r#"{"text/plain":{"example":"x","schema":{"type":"string"}},"text/csv":{"example":"y","schema":{"type":"string"}}}"#
        );
        let form = [
            "paths",
            "/a",
            "put",
            "requestBody",
            "content",
            "multipart/form-data",
        ];
        let file = [&form[..], &["schema", "properties", "f", "format"]].concat();
        assert_eq!(at(&file), "\"binary\"");
    }
}
