//! Finds the operations of a document, and selects those that the user asks for.

use super::OpenApiOptions;
use super::document::{ApiDocument, shorten};
use super::security::is_token;
use crate::import::document::{Field, Node};
use crate::import::source::{Mistake, Span};
use crate::suggestion::find_similar;
use std::collections::HashSet;

/// Most operations that are imported.
const MOST_OPERATIONS: usize = 10_000;
/// Most names that a message lists.
const MOST_NAMES: usize = 12;
/// Fields of a path that are operations.
pub(super) const METHODS: [&str; 9] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];
/// Other fields of a path.
const PATH_FIELDS: &str = "$ref summary description servers parameters additionalOperations";
/// Fields of a document, of versions 2.0 and 3.
const DOCUMENT_FIELDS: &str = "openapi swagger $self info jsonSchemaDialect servers webhooks components security tags \
    externalDocs host basePath schemes consumes produces definitions parameters responses securityDefinitions paths";
/// Fields of an operation, of versions 2.0 and 3.
const OPERATION_FIELDS: &str = "tags summary description externalDocs operationId parameters requestBody responses \
    callbacks deprecated security servers consumes produces schemes";

/// An operation.
#[derive(Debug, Clone)]
pub(super) struct Operation<'a> {
    /// Template of the path, which begins with `/`.
    pub(super) path: String,
    /// Method in capitals.
    pub(super) method: String,
    /// Place of its name.
    pub(super) span: Span,
    pub(super) node: &'a Node<'a>,
    pub(super) path_item: &'a Node<'a>,
    pub(super) id: Option<&'a str>,
    pub(super) tags: Vec<&'a str>,
}

/// Returns the operations to import.
///
/// # Errors
/// There is none, too many, or none of those that the user asks for.
pub(super) fn select_operations<'a>(
    document: &ApiDocument<'a>,
    options: &OpenApiOptions,
) -> Result<Vec<Operation<'a>>, Mistake> {
    let root = document.root;
    warn_of_typos(document, root, DOCUMENT_FIELDS);
    let mut all = Vec::new();
    for path in root.get("paths").map_or(&[][..], Node::fields) {
        if !path.name.starts_with("x-") {
            read_path(document, path, &mut all);
        }
    }
    if all.is_empty() {
        return Err(refuse_without_operations(document));
    }
    warn_of_same_names(document, &all);
    check_tags(document, &all, &options.tags)?;
    check_names(document, &all, &options.operations)?;
    let is_asked = |operation: &Operation<'_>| {
        options
            .operations
            .iter()
            .any(|name| operation.has_name(name))
    };
    let asked = all.iter().find(|operation| is_asked(operation));
    let place = asked.map(|one| one.node.name("tags").unwrap_or_else(|| one.span.clone()));
    let selected: Vec<_> = all
        .into_iter()
        .filter(|operation| {
            let has_tag = options.tags.iter().any(|tag| operation.has_tag(tag));
            (options.tags.is_empty() || has_tag)
                && (options.operations.is_empty() || is_asked(operation))
        })
        .collect();
    if selected.is_empty() {
        let place = place.unwrap_or_else(|| document.start());
        return Err(
            Mistake::new(place, "none of these operations has such a tag")
                .help("give `--tag` or `--operation`, or those that go together"),
        );
    }
    if let Some(first) = selected.get(MOST_OPERATIONS) {
        let words = format!(
            "there are {} operations, and {MOST_OPERATIONS} are the most that can be: this is the first above",
            selected.len()
        );
        return Err(Mistake::new(first.span.clone(), words)
            .help("take a part of them with `--tag` or `--operation`"));
    }
    Ok(selected)
}

/// Warns of unknown fields that look like a known one.
fn warn_of_typos(document: &ApiDocument<'_>, node: &Node<'_>, known: &str) {
    for field in node.fields() {
        let mut names = known.split_whitespace();
        if names.clone().any(|name| name == field.name) || field.name.starts_with("x-") {
            continue;
        }
        if let Some(similar) = find_similar(&field.name, &mut names) {
            let name = shorten(&field.name);
            let words = format!("`{name}` means nothing; did you mean `{similar}`?");
            document.warn(&field.span, words);
        }
    }
}

fn refuse_without_operations(document: &ApiDocument<'_>) -> Mistake {
    let root = document.root;
    let usual = "the operations are in `paths`: `{\"/users\": {\"get\": {..}}}`".to_owned();
    let unknown = root.fields().iter().map(|field| &*field.name);
    let unknown = unknown.filter(|name| {
        !DOCUMENT_FIELDS
            .split_whitespace()
            .any(|known| known == *name)
    });
    let (span, help) = if let Some(span) = root.name("paths") {
        (span, usual)
    } else if let Some(span) = root.name("webhooks") {
        let help = "webhooks are what the service sends; a load test sends to `paths`";
        (span, help.to_owned())
    } else if let Some(name) = find_similar("paths", unknown) {
        let help = format!("`{}` means nothing; did you mean `paths`?", shorten(name));
        (root.name(name).unwrap_or_else(|| document.start()), help)
    } else {
        (document.start(), usual)
    };
    Mistake::new(span, "there is no operation in this document").help(help)
}

/// Reads the operations of a path.
fn read_path<'a>(document: &ApiDocument<'a>, path: &'a Field<'a>, all: &mut Vec<Operation<'a>>) {
    let Some(item) = document.follow(&path.node) else {
        return;
    };
    if !item.is_object() {
        let words = format!("a path has operations, and this is {}", item.kind());
        document.warn(&item.beginning(), words);
        return;
    }
    let mut others = path.node.fields().iter();
    let beside = others.find(|field| field.name != "$ref" && !field.name.starts_with("x-"));
    if let Some(beside) = beside.filter(|_| path.node.text_of("$ref").is_some()) {
        let words = format!(
            "`{}` stands beside a `$ref`, and is left out",
            shorten(&beside.name)
        );
        document.warn(&beside.span, words);
    }
    let mut template = path.name.trim().to_owned();
    if !template.starts_with('/') {
        document.warn(&path.span, "a path begins with `/`: it is added");
        template.insert(0, '/');
    }
    let mut add = |method: &str, field| {
        all.extend(read_operation(document, &template, method, field, item));
    };
    for field in item.fields() {
        let mut known = METHODS.into_iter().chain(PATH_FIELDS.split_whitespace());
        if METHODS.contains(&&*field.name) {
            add(&field.name.to_ascii_uppercase(), field);
        } else if field.name == "additionalOperations" {
            for field in field.node.fields() {
                if is_token(&field.name) {
                    add(&field.name, field);
                } else {
                    document.warn(&field.span, "this is no method");
                }
            }
        } else if !field.name.starts_with("x-") && !known.clone().any(|name| name == field.name) {
            let similar = find_similar(&field.name, &mut known);
            let hint = similar.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            let name = shorten(&field.name);
            document.warn(
                &field.span,
                format!("`{name}` is no method: it is left out{hint}"),
            );
        }
    }
}

fn read_operation<'a>(
    document: &ApiDocument<'a>,
    path: &str,
    method: &str,
    field: &'a Field<'a>,
    path_item: &'a Node<'a>,
) -> Option<Operation<'a>> {
    let node = document.follow(&field.node)?;
    if !node.is_object() {
        let words = format!("an operation is an object, and this is {}", node.kind());
        document.warn(&node.span, words);
        return None;
    }
    warn_of_typos(document, node, OPERATION_FIELDS);
    let tags = node.get("tags");
    let is_odd =
        |tags: &&Node<'_>| !tags.is_list() || tags.items().iter().any(|tag| tag.text().is_none());
    if let Some(odd) = tags.filter(is_odd) {
        let words = "tags are a list of strings: what else is there is left out";
        document.warn(&odd.beginning(), words);
    }
    let tags = tags.map_or(&[][..], Node::items);
    let id = node.text_of("operationId").map(str::trim);
    Some(Operation {
        path: path.to_owned(),
        method: method.to_owned(),
        span: field.span.clone(),
        node,
        path_item,
        id: id.filter(|id| !id.is_empty()),
        tags: tags.iter().filter_map(Node::text).collect(),
    })
}

fn warn_of_same_names(document: &ApiDocument<'_>, all: &[Operation<'_>]) {
    let mut seen = HashSet::new();
    for operation in all {
        if let Some(id) = operation.id
            && !seen.insert(id)
            && let Some(node) = operation.node.get("operationId")
        {
            let words = format!("there is another operation `{}`", shorten(id));
            document.warn(&node.span, words);
        }
    }
}

/// Refuses a tag that no operation has.
fn check_tags(
    document: &ApiDocument<'_>,
    all: &[Operation<'_>],
    tags: &[String],
) -> Result<(), Mistake> {
    let Some(tag) = tags
        .iter()
        .find(|tag| !all.iter().any(|one| one.has_tag(tag)))
    else {
        return Ok(());
    };
    let known: Vec<&str> = all
        .iter()
        .flat_map(|one| one.tags.iter().copied())
        .collect();
    let help = if known.is_empty() {
        "no operation of this document has any tag: leave `--tag` out, or take `--operation`"
            .to_owned()
    } else {
        suggest_names(tag, &known)
    };
    let like = find_similar(tag, known.iter().copied());
    let nodes = all.iter().filter_map(|one| one.node.get("tags"));
    let mut nodes = nodes
        .flat_map(Node::items)
        .filter(|node| node.text().is_some());
    let node = nodes.find(|node| like.is_none() || node.text() == like);
    let place = node.map(|node| node.span.clone());
    let place = place.or_else(|| Some(all.first()?.span.clone()));
    let words = format!("no operation has the tag `{tag}`");
    Err(Mistake::new(place.unwrap_or_else(|| document.start()), words).help(help))
}

/// Refuses a name that no operation has.
fn check_names(
    document: &ApiDocument<'_>,
    all: &[Operation<'_>],
    names: &[String],
) -> Result<(), Mistake> {
    let Some(name) = names
        .iter()
        .find(|name| !all.iter().any(|one| one.has_name(name)))
    else {
        return Ok(());
    };
    let known: Vec<String> = all.iter().map(Operation::name).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let like = find_similar(name, known.iter().copied());
    let like = all.iter().find(|one| like == Some(one.name().as_str()));
    let place = like.or(all.first()).map(|one| one.span.clone());
    let words = format!("there is no operation `{name}`");
    Err(
        Mistake::new(place.unwrap_or_else(|| document.start()), words)
            .help(suggest_names(name, &known)),
    )
}

/// Suggests a similar name, or lists all names.
fn suggest_names(word: &str, known: &[&str]) -> String {
    if let Some(like) = find_similar(word, known.iter().copied()) {
        return format!("did you mean `{}`?", shorten(like));
    }
    let mut seen = HashSet::new();
    let mut names: Vec<_> = known.iter().filter(|name| seen.insert(**name)).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let names: Vec<_> = names
        .iter()
        .map(|name| format!("`{}`", shorten(name)))
        .collect();
    let names = names.join(", ");
    match more {
        0 => format!("there is {names}"),
        more => format!("there is {names} and {more} more"),
    }
}

impl Operation<'_> {
    /// Returns the identifier, or else method and path.
    pub(super) fn name(&self) -> String {
        self.id.map_or_else(|| self.title(), str::to_owned)
    }

    /// Returns method and path.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub(super) fn is_deprecated(&self) -> bool {
        self.node.get("deprecated").and_then(Node::boolean) == Some(true)
    }

    fn has_tag(&self, tag: &str) -> bool {
        let mut tags = self.tags.iter();
        tags.any(|known| known.eq_ignore_ascii_case(tag))
    }

    /// Returns whether this is the identifier, or method and path.
    fn has_name(&self, name: &str) -> bool {
        let name = name.trim();
        let title = name.split_once(char::is_whitespace);
        let is_title = title.is_some_and(|(method, path)| {
            method.eq_ignore_ascii_case(&self.method) && path.trim() == self.path
        });
        is_title || self.id == Some(name)
    }
}
