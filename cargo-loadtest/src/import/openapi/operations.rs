//! The operations of a document: all of them, or those that were asked for.

use super::OpenApiOptions;
use super::places::{Document, shortened};
use crate::import::document::{Field, Node};
use crate::import::source::{Mistake, Span};

/// The most operations that are taken.
const MOST_OPERATIONS: usize = 10_000;
/// The methods that a path has under their names.
const METHODS: [&str; 9] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];
/// What else a path may have.
const OF_PATH: [&str; 6] = [
    "$ref",
    "summary",
    "description",
    "servers",
    "parameters",
    "additionalOperations",
];
/// What a document may have beside `paths`.
const OF_DOCUMENT: [&str; 20] = [
    "openapi",
    "swagger",
    "$self",
    "info",
    "jsonSchemaDialect",
    "servers",
    "webhooks",
    "components",
    "security",
    "tags",
    "externalDocs",
    "host",
    "basePath",
    "schemes",
    "consumes",
    "produces",
    "definitions",
    "parameters",
    "responses",
    "securityDefinitions",
];
/// What an operation may have.
const OF_OPERATION: [&str; 15] = [
    "tags",
    "summary",
    "description",
    "externalDocs",
    "operationId",
    "parameters",
    "requestBody",
    "responses",
    "callbacks",
    "deprecated",
    "security",
    "servers",
    "consumes",
    "produces",
    "schemes",
];
/// How many names a message lists.
const MOST_NAMES: usize = 12;

/// An operation.
#[derive(Debug, Clone)]
pub(super) struct Operation<'a> {
    /// The template of the path, which begins with `/`.
    pub(super) path: String,
    /// In capitals.
    pub(super) method: String,
    /// Where its name stands.
    pub(super) span: Span,
    pub(super) node: &'a Node<'a>,
    /// The path that it is of.
    pub(super) item: &'a Node<'a>,
    pub(super) id: Option<&'a str>,
    pub(super) tags: Vec<&'a str>,
}

/// The operations that are taken.
///
/// # Errors
/// There are none, or not those that were asked for.
pub(super) fn operations<'a>(
    document: &Document<'a>,
    options: &OpenApiOptions,
) -> Result<Vec<Operation<'a>>, Mistake> {
    let root = document.root;
    for field in root.fields() {
        let is_known = field.name == "paths" || OF_DOCUMENT.contains(&&*field.name);
        if !is_known && !field.name.starts_with("x-") {
            let known = OF_DOCUMENT.into_iter().chain(["paths"]);
            if let Some(like) = similar(&field.name, known) {
                let name = shortened(&field.name);
                let words = format!("`{name}` means nothing; did you mean `{like}`?");
                document.note(&field.span, words);
            }
        }
    }
    let mut all = Vec::new();
    let paths = root.get("paths");
    for path in paths.map_or(&[][..], Node::fields) {
        if !path.name.starts_with("x-") {
            of_path(document, path, &mut all);
        }
    }
    if all.is_empty() {
        return Err(none(document));
    }
    same_names(document, &all);
    let taken = chosen(document, all, options)?;
    if let Some(first) = taken.get(MOST_OPERATIONS) {
        let words = format!(
            "there are {} operations, and {MOST_OPERATIONS} are the most that can be: this is the first above",
            taken.len()
        );
        return Err(Mistake::new(first.span.clone(), words)
            .help("take a part of them with `--tag` or `--operation`"));
    }
    Ok(taken)
}

/// Says that there is no operation, and where they should be.
fn none(document: &Document<'_>) -> Mistake {
    let root = document.root;
    let words = "there is no operation in this document";
    let names = root.fields().iter().map(|field| &*field.name);
    let like = similar("paths", names.filter(|name| !OF_DOCUMENT.contains(name)));
    if let Some(span) = root.name("paths") {
        return Mistake::new(span, words)
            .help("the operations are in `paths`: `{\"/users\": {\"get\": {..}}}`");
    }
    if let Some(span) = root.name("webhooks") {
        return Mistake::new(span, words)
            .help("webhooks are what the service sends; a load test sends to `paths`");
    }
    if let Some((like, span)) = like.and_then(|like| Some((like, root.name(like)?))) {
        let help = format!("`{}` means nothing; did you mean `paths`?", shortened(like));
        return Mistake::new(span, words).help(help);
    }
    Mistake::new(document.start(), words)
        .help("the operations are in `paths`: `{\"/users\": {\"get\": {..}}}`")
}

fn of_path<'a>(document: &Document<'a>, path: &'a Field<'a>, all: &mut Vec<Operation<'a>>) {
    let Some(item) = document.follow(&path.node) else {
        return;
    };
    if !item.is_object() {
        let words = format!("a path has operations, and this is {}", item.kind());
        document.note(&item.beginning(), words);
        return;
    }
    let beside = path
        .node
        .fields()
        .iter()
        .find(|field| field.name != "$ref" && !field.name.starts_with("x-"));
    if let Some(beside) = beside.filter(|_| path.node.text_of("$ref").is_some()) {
        let name = shortened(&beside.name);
        document.note(
            &beside.span,
            format!("`{name}` stands beside a `$ref`, and is left out"),
        );
    }
    let mut template = path.name.trim().to_owned();
    if !template.starts_with('/') {
        document.note(&path.span, "a path begins with `/`: it is added");
        template.insert(0, '/');
    }
    for field in item.fields() {
        if METHODS.contains(&&*field.name) {
            let method = field.name.to_ascii_uppercase();
            all.extend(operation(document, &template, &method, field, item));
        } else if field.name == "additionalOperations" {
            for field in field.node.fields() {
                if super::security::is_token(&field.name) {
                    all.extend(operation(document, &template, &field.name, field, item));
                } else {
                    document.note(&field.span, "this is no method");
                }
            }
        } else if !OF_PATH.contains(&&*field.name) && !field.name.starts_with("x-") {
            let name = shortened(&field.name);
            let like = similar(&field.name, METHODS.into_iter().chain(OF_PATH));
            let like = like.map_or(String::new(), |like| format!("; did you mean `{like}`?"));
            document.note(
                &field.span,
                format!("`{name}` is no method: it is left out{like}"),
            );
        }
    }
}

fn operation<'a>(
    document: &Document<'a>,
    path: &str,
    method: &str,
    field: &'a Field<'a>,
    item: &'a Node<'a>,
) -> Option<Operation<'a>> {
    let node = document.follow(&field.node)?;
    if !node.is_object() {
        let words = format!("an operation is an object, and this is {}", node.kind());
        document.note(&node.span, words);
        return None;
    }
    for key in node.fields() {
        if !OF_OPERATION.contains(&&*key.name) && !key.name.starts_with("x-") {
            let like = similar(&key.name, OF_OPERATION.into_iter());
            if let Some(like) = like {
                let name = shortened(&key.name);
                let words = format!("`{name}` means nothing; did you mean `{like}`?");
                document.note(&key.span, words);
            }
        }
    }
    let said = node.get("tags");
    let odd =
        said.filter(|tags| !tags.is_list() || tags.items().iter().any(|tag| tag.text().is_none()));
    if let Some(odd) = odd {
        document.note(
            &odd.beginning(),
            "tags are a list of strings: what else is there is left out",
        );
    }
    let tags = said.map_or(&[][..], Node::items);
    let id = node.text_of("operationId").map(str::trim);
    Some(Operation {
        path: path.to_owned(),
        method: method.to_owned(),
        span: field.span.clone(),
        node,
        item,
        id: id.filter(|id| !id.is_empty()),
        tags: tags.iter().filter_map(Node::text).collect(),
    })
}

fn same_names(document: &Document<'_>, all: &[Operation<'_>]) {
    let mut seen = std::collections::HashSet::new();
    for operation in all {
        if let Some(id) = operation.id
            && !seen.insert(id)
            && let Some(node) = operation.node.get("operationId")
        {
            let words = format!("there is another operation `{}`", shortened(id));
            document.note(&node.span, words);
        }
    }
}

/// Those with one of the tags, and of those the operations that were asked for.
fn chosen<'a>(
    document: &Document<'a>,
    all: Vec<Operation<'a>>,
    options: &OpenApiOptions,
) -> Result<Vec<Operation<'a>>, Mistake> {
    let known: Vec<&str> = all
        .iter()
        .flat_map(|one| one.tags.iter().copied())
        .collect();
    for tag in &options.tags {
        if !known.iter().any(|known| known.eq_ignore_ascii_case(tag)) {
            let words = format!("no operation has the tag `{tag}`");
            let help = if known.is_empty() {
                "no operation of this document has any tag: leave `--tag` out, or take `--operation`".to_owned()
            } else {
                instead(tag, &known)
            };
            return Err(Mistake::new(place_of_tag(document, &all, tag, &known), words).help(help));
        }
    }
    let known: Vec<String> = all.iter().map(Operation::name).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    for wanted in &options.operations {
        if !all.iter().any(|operation| operation.is(wanted)) {
            let words = format!("there is no operation `{wanted}`");
            let like = similar(wanted, known.iter().copied());
            let like = all.iter().find(|one| like == Some(one.name().as_str()));
            let place = like.or(all.first()).map(|one| one.span.clone());
            let place = place.unwrap_or_else(|| document.start());
            return Err(Mistake::new(place, words).help(instead(wanted, &known)));
        }
    }
    let is_taken = |operation: &Operation<'_>| {
        let has_tag = |tag: &String| {
            let mut tags = operation.tags.iter();
            tags.any(|known| known.eq_ignore_ascii_case(tag))
        };
        let is = |wanted: &String| operation.is(wanted);
        (options.tags.is_empty() || options.tags.iter().any(has_tag))
            && (options.operations.is_empty() || options.operations.iter().any(is))
    };
    let asked = all
        .iter()
        .find(|one| options.operations.iter().any(|wanted| one.is(wanted)));
    let asked = asked.map(|one| one.node.name("tags").unwrap_or_else(|| one.span.clone()));
    let taken: Vec<_> = all.into_iter().filter(is_taken).collect();
    if taken.is_empty() {
        let words = "none of these operations has such a tag";
        return Err(
            Mistake::new(asked.unwrap_or_else(|| document.start()), words)
                .help("give `--tag` or `--operation`, or those that go together"),
        );
    }
    Ok(taken)
}

/// Where a tag is that might have been meant, or else the first one, or what could have one.
fn place_of_tag(document: &Document<'_>, all: &[Operation<'_>], tag: &str, known: &[&str]) -> Span {
    let like = similar(tag, known.iter().copied());
    let nodes = all.iter().filter_map(|one| one.node.get("tags"));
    let mut tags = nodes.flat_map(Node::items);
    let place = match like {
        Some(like) => tags.find(|tag| tag.text() == Some(like)),
        None => tags.find(|tag| tag.text().is_some()),
    };
    let place = place.map(|tag| tag.span.clone());
    let first = || all.first().map(|one| one.span.clone());
    place.or_else(first).unwrap_or_else(|| document.start())
}

impl Operation<'_> {
    /// The identifier, or else method and path.
    pub(super) fn name(&self) -> String {
        self.id.map_or_else(|| self.title(), str::to_owned)
    }

    /// Method and path.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    fn is(&self, wanted: &str) -> bool {
        let wanted = wanted.trim();
        let by_path = wanted
            .split_once(char::is_whitespace)
            .is_some_and(|(method, path)| {
                method.eq_ignore_ascii_case(&self.method) && path.trim() == self.path
            });
        by_path || self.id == Some(wanted)
    }
}

/// What to write instead of a word that is none of these.
fn instead(word: &str, known: &[&str]) -> String {
    if let Some(like) = similar(word, known.iter().copied()) {
        return format!("did you mean `{}`?", shortened(like));
    }
    let mut names: Vec<String> = Vec::new();
    for name in known {
        let name = format!("`{}`", shortened(name));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return "there is none at all".to_owned();
    }
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let names = names.join(", ");
    if more > 0 {
        format!("there is {names} and {more} more")
    } else {
        format!("there is {names}")
    }
}

/// The one that differs the least from a word, if that is little.
fn similar<'n>(word: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let word: String = word.chars().take(100).collect::<String>().to_lowercase();
    let most = (word.chars().count() / 3).clamp(1, 4);
    known
        .filter(|one| one.len().abs_diff(word.len()) <= 2 * most)
        .map(|one| (strsim::damerau_levenshtein(&word, &one.to_lowercase()), one))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, one)| one)
}
