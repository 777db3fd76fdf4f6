//! Reads what version 2.0 (Swagger) writes in another place than version 3: servers, bodies and answers.

use super::content::{Content, MediaKind, read_value};
use super::document::ApiDocument;
use super::example::{Direction, ExampleValue, read_example};
use super::operations::Operation;
use super::parameters::Parameter;
use crate::document::Node;
use crate::source::Span;
use crate::text::URL_ENCODED;

/// Returns the URL of the service, and its place.
pub(super) fn find_server(root: &Node<'_>) -> Option<(Span, String)> {
    let named = root.get("basePath");
    let base = named.and_then(Node::text).unwrap_or_default();
    let base = base.trim_start_matches('/');
    let Some(host) = root.get("host") else {
        let named = named.filter(|_| !base.is_empty())?;
        return Some((named.span.clone(), format!("/{base}")));
    };
    let text = host.text().unwrap_or_default();
    let schemes = root.get("schemes").map_or(&[][..], Node::items);
    let has = |scheme: &&str| schemes.iter().any(|known| known.text() == Some(scheme));
    let mut local = ["127.", "localhost", "[::1]"].iter();
    let usual = if local.any(|local| text.starts_with(local)) {
        "http"
    } else {
        "https"
    };
    let scheme = ["https", "http"].into_iter().find(has).unwrap_or(usual);
    Some((host.span.clone(), format!("{scheme}://{text}/{base}")))
}

/// Returns the media types that an operation or else the document lists.
fn list_types<'a>(
    document: &ApiDocument<'a>,
    operation: &Operation<'a>,
    key: &str,
) -> Vec<&'a str> {
    let own = operation.node.get(key).map(|_| operation.node);
    let types = document.items(own.unwrap_or(document.root), key).iter();
    types.filter_map(Node::text).collect()
}

/// Reads the body that parameters make: the one in `body`, or those of a form.
pub(super) fn read_body<'a>(
    document: &ApiDocument<'a>,
    operation: &Operation<'a>,
    parameters: &[Parameter<'a>],
) -> Option<Content<'a>> {
    let types = list_types(document, operation, "consumes");
    let kinds: Vec<MediaKind> = types.iter().map(|name| MediaKind::of_type(name)).collect();
    let is_form = |parameter: &&Parameter<'a>| parameter.place == "formData";
    let body = parameters.iter().find(|one| one.place == "body");
    if let Some(body) = body {
        let is_other = |one: &&Parameter<'a>| {
            matches!(one.place, "body" | "formData") && one.name != body.name
        };
        for other in parameters.iter().filter(is_other) {
            let words = format!(
                "`{}` is left out: another parameter is the body",
                other.name
            );
            document.warn(&other.node.beginning(), words);
        }
        let best = types
            .into_iter()
            .min_by_key(|name| MediaKind::of_type(name));
        let mut content = Content::new(best.unwrap_or("application/json"));
        content.value = read_value(document, body.node, Direction::Request);
        return Some(content);
    }
    let fields: Vec<&Parameter<'a>> = parameters.iter().filter(is_form).collect();
    fields.first()?;
    let has_file = fields
        .iter()
        .any(|field| field.node.text_of("type") == Some("file"));
    let is_multipart =
        has_file || kinds.contains(&MediaKind::Multipart) && !kinds.contains(&MediaKind::Form);
    let mut content = Content::new(if is_multipart {
        "multipart/form-data"
    } else {
        URL_ENCODED
    });
    let values = fields
        .iter()
        .map(|field| (field.name.to_owned(), field.value(document)));
    content.value = Some(ExampleValue::Object(values.collect()));
    content.properties = fields
        .iter()
        .map(|field| (field.name, field.node))
        .collect();
    content.encodings.clone_from(&content.properties);
    Some(content)
}

/// Reads the content of an answer from its `schema` and its `examples`.
pub(super) fn read_answer<'a>(
    document: &ApiDocument<'a>,
    operation: &Operation<'a>,
    response: &'a Node<'a>,
) -> Option<Content<'a>> {
    let (schema, examples) = (response.get("schema"), response.get("examples"));
    schema.or(examples)?;
    let examples = examples.map_or(&[][..], Node::fields);
    let types = list_types(document, operation, "produces").into_iter();
    let types = types.chain(examples.iter().map(|field| &*field.name));
    let choices = types.clone().count();
    let best = types.min_by_key(|name| MediaKind::of_type(name));
    let mut content = Content::new(best.unwrap_or("application/json"));
    content.choices = choices;
    let example = examples
        .iter()
        .find(|field| field.name == content.media_type);
    content.value = match example {
        Some(field) => Some(read_example(document, schema, &field.node)),
        None => read_value(document, response, Direction::Answer),
    };
    Some(content)
}
