//! Reads descriptions of services: OpenAPI 3.1, 3.0 and 2.0, as JSON or YAML.
//!
//! A document is refused only if it has no operation. Anything in a wrong place or of a wrong type is left out with a
//! warning. [`swagger`] reads what version 2.0 has in another place.

mod answer;
mod body;
mod content;
mod document;
mod draft;
mod example;
mod journey;
mod operations;
mod parameters;
mod references;
mod security;
mod servers;
mod style;
mod swagger;
#[cfg(test)]
mod tests;
mod wants;
mod warnings;

use super::document::{self as tree, Node};
use super::recording::Recording;
use super::source::{Input, Mistake};
use document::ApiDocument;
use draft::RequestDraft;
use journey::Journey;
use servers::Servers;

/// Options of `cargo loadtest import openapi`.
#[derive(Debug, Clone, Default)]
pub struct OpenApiOptions {
    /// Tags of the operations to import; all without any.
    pub tags: Vec<String>,
    /// Operations to import, by identifier or as `GET /path`; all without any.
    pub operations: Vec<String>,
    /// Patterns of paths of the operations to import, in which `*` is any text; all without any.
    pub paths: Vec<String>,
    /// Names and values of parameters, for all operations.
    pub parameters: Vec<(String, String)>,
    /// Address of the service, if it is not that of the document.
    pub base: Option<String>,
}

/// Reads a description.
///
/// # Errors
/// The first thing that is no such input, and where it stands.
pub fn read_openapi(input: &Input, options: &OpenApiOptions) -> Result<Recording, Mistake> {
    let root = tree::read(input)?;
    let document = ApiDocument::new(&root, &input.text, &options.parameters);
    check_version(&document)?;
    let operations = operations::select_operations(&document, options)?;
    let servers = Servers::new(&document, options.base.as_deref())?;
    let drafts = operations.into_iter();
    let mut drafts: Vec<_> = drafts
        .map(|operation| RequestDraft::new(&document, operation, &servers))
        .collect();
    parameters::check_given(&document, &drafts, &options.parameters)?;
    let wanted = wants::find_wanted_values(&drafts);
    let journey = journey::order_journey(&root, &drafts, &wanted);
    let references = references::fill_references(&mut drafts, &wanted, &journey.order);
    let mut recording = describe_document(&root);
    recording.references = references;
    references::warn_of_made_up(&document, &drafts);
    recording.base = Some(servers.usual.origin.clone());
    recording.client.keeps_cookies = drafts
        .iter()
        .any(|draft| draft.answers.has_header("set-cookie"));
    recording.keys = security::list_key_names(&document);
    add_exchanges(drafts, journey, &mut recording);
    (recording.notes, recording.secrets) = document.finish();
    recording.drop_unused();
    Ok(recording)
}

/// Refuses what is no description, and warns of unknown versions.
fn check_version(document: &ApiDocument<'_>) -> Result<(), Mistake> {
    let root = document.root;
    let Some(said) = root.get("openapi").or_else(|| root.get("swagger")) else {
        return Err(
            Mistake::new(document.start(), "this is not an OpenAPI document")
                .help("it starts with `openapi: 3.1.0` or `swagger: \"2.0\"`, and has `paths`"),
        );
    };
    let version = said.scalar().unwrap_or_default();
    if !version.starts_with(['2', '3']) {
        let words = "this version of OpenAPI is not known: it is read as 3.1";
        document.warn(&said.span, words);
    }
    Ok(())
}

/// Returns a recording with the title and the description of the document.
fn describe_document(root: &Node<'_>) -> Recording {
    let text = |key| {
        let text = root.at(&["info", key])?.text()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    Recording {
        is_described: true,
        name: text("title"),
        description: text("description").or_else(|| text("summary")),
        ..Recording::default()
    }
}

/// Adds the exchanges in the order of the journey.
fn add_exchanges(drafts: Vec<RequestDraft<'_>>, journey: Journey, recording: &mut Recording) {
    let mut drafts: Vec<Option<RequestDraft<'_>>> = drafts.into_iter().map(Some).collect();
    for number in journey.order {
        let draft = drafts[number].take();
        let exchange = draft.map(|draft| draft.finish(journey.group_of[number]));
        recording.exchanges.extend(exchange);
    }
    recording.groups = journey.groups;
}
