//! What a document of Postman is, and what is in it: folders within folders, and requests.

use super::super::document::{self, Node};
use super::super::source::{Mistake, Note, Span};
use super::environment::{Layer, faults, layer};

/// The most requests that a collection may have.
const MOST_REQUESTS: usize = 5000;

/// A folder; the first is the collection itself.
#[derive(Debug)]
pub(super) struct Folder<'n, 'a> {
    pub(super) node: &'n Node<'a>,
    pub(super) name: String,
    /// The number of the one it is in.
    pub(super) parent: Option<usize>,
    pub(super) variables: Layer,
}

/// A request.
#[derive(Debug)]
pub(super) struct Entry<'n, 'a> {
    /// All of it.
    pub(super) item: &'n Node<'a>,
    /// Method, URL, headers and body; or the URL alone.
    pub(super) request: &'n Node<'a>,
    pub(super) name: Option<String>,
    /// Where it is shown.
    pub(super) span: Span,
    /// The number of its folder.
    pub(super) folder: usize,
}

/// All of a collection.
#[derive(Debug)]
pub(super) struct Collection<'n, 'a> {
    pub(super) folders: Vec<Folder<'n, 'a>>,
    pub(super) entries: Vec<Entry<'n, 'a>>,
    /// What is no request and no folder.
    pub(super) left: Vec<Note>,
}

/// The collection in a document.
pub(super) fn found<'n, 'a>(root: &'n Node<'a>) -> Result<&'n Node<'a>, Mistake> {
    let root = root
        .get("collection")
        .filter(|inner| inner.is_object())
        .unwrap_or(root);
    let place = |name: &str| root.name(name).unwrap_or_else(|| document::told_by(root));
    let has = |name: &str| root.get(name).is_some();
    let schema = root
        .at(&["info", "schema"])
        .and_then(Node::text)
        .unwrap_or_default();
    let export = "in Postman, choose Export and then Collection v2.1; what was exported earlier is imported first";
    if has("requests") && !has("item") || schema.contains("/v1.") {
        let words = "this is a collection of version 1, which Postman has not exported for years";
        let span = match root.at(&["info", "schema"]) {
            Some(schema) if !has("requests") => schema.span.clone(),
            _ => place("requests"),
        };
        return Err(Mistake::new(span, words).help(export));
    }
    if has("values") && !has("item") {
        let is_global = root.text_of("_postman_variable_scope") == Some("globals");
        let what = if is_global {
            "the globals"
        } else {
            "an environment"
        };
        let words = format!("these are the variables of {what}, and no collection");
        let help = "give the collection, and this file with `--environment`";
        return Err(Mistake::new(place("values"), words).help(help));
    }
    if has("collections") {
        let words = "this holds all data of Postman, and not one collection";
        return Err(Mistake::new(place("collections"), words).help(export));
    }
    match root.get("item") {
        Some(items) if items.is_list() => Ok(root),
        Some(items) => {
            let words = format!(
                "`item` is {}, and should be a list of requests and folders",
                items.kind()
            );
            Err(Mistake::new(items.beginning(), words).help(export))
        }
        None => {
            let words = "this is no collection of Postman: it has no `item`";
            Err(Mistake::new(document::told_by(root), words).help(export))
        }
    }
}

/// Reads a collection; what is no request and no folder is noted.
pub(super) fn read<'n, 'a>(
    root: &'n Node<'a>,
    notes: &mut Vec<Note>,
) -> Result<Collection<'n, 'a>, Mistake> {
    let name = root.at(&["info", "name"]).and_then(Node::text);
    let mut collection = Collection {
        folders: vec![folder(root, name.unwrap_or("requests"), None, notes)],
        entries: Vec::new(),
        left: Vec::new(),
    };
    collection.walk(root, 0, notes)?;
    notes.extend(collection.left.iter().cloned());
    Ok(collection)
}

fn folder<'n, 'a>(
    node: &'n Node<'a>,
    name: &str,
    parent: Option<usize>,
    notes: &mut Vec<Note>,
) -> Folder<'n, 'a> {
    if let Some(variables) = node.get("variable") {
        faults(variables, notes);
    }
    Folder {
        node,
        name: name.trim().to_owned(),
        parent,
        variables: node.get("variable").map(layer).unwrap_or_default(),
    }
}

impl<'n, 'a> Collection<'n, 'a> {
    fn walk(
        &mut self,
        node: &'n Node<'a>,
        within: usize,
        notes: &mut Vec<Note>,
    ) -> Result<(), Mistake> {
        let Some(items) = node.get("item").filter(|items| items.is_list()) else {
            if let Some(items) = node.get("item") {
                let words = format!(
                    "`item` is {}, and should be a list: the folder is left out",
                    items.kind()
                );
                self.left.push(Note::new(items.beginning(), words));
            }
            return Ok(());
        };
        for item in items.items() {
            let name = item
                .text_of("name")
                .map(str::trim)
                .filter(|name| !name.is_empty());
            // Some have both, where a program wrote them.
            if item
                .get("item")
                .is_some_and(|inner| inner.is_list() || item.get("request").is_none())
            {
                self.folders
                    .push(folder(item, name.unwrap_or("folder"), Some(within), notes));
                self.walk(item, self.folders.len() - 1, notes)?;
                continue;
            }
            let request = item
                .get("request")
                .filter(|request| request.is_object() || request.text().is_some());
            let Some(request) = request else {
                let words = match item.get("request") {
                    Some(other) => format!(
                        "`request` is {}, and should be an object: it is left out",
                        other.kind()
                    ),
                    None => format!(
                        "this is {} without a `request`, and is left out",
                        item.kind()
                    ),
                };
                self.left.push(Note::new(shown(item), words));
                continue;
            };
            if self.entries.len() == MOST_REQUESTS {
                let words = format!("the collection has more than {MOST_REQUESTS} requests");
                return Err(Mistake::new(shown(item), words).help("export a part of it"));
            }
            self.entries.push(Entry {
                item,
                request,
                name: name.filter(|name| says_something(name)).map(str::to_owned),
                span: shown(item),
                folder: within,
            });
        }
        Ok(())
    }

    /// A folder and those that it is in, the innermost one first.
    pub(super) fn way(&self, folder: usize) -> Vec<&Folder<'n, 'a>> {
        let mut way = vec![&self.folders[folder]];
        while let Some(parent) = way.last().and_then(|folder| folder.parent) {
            way.push(&self.folders[parent]);
        }
        way
    }

    /// The numbers of the same.
    pub(super) fn numbers(&self, folder: usize) -> Vec<usize> {
        let mut numbers = vec![folder];
        while let Some(parent) = numbers
            .last()
            .and_then(|number| self.folders[*number].parent)
        {
            numbers.push(parent);
        }
        numbers
    }
}

/// Where an item is shown: its name, on one line.
pub(super) fn shown(item: &Node<'_>) -> Span {
    let part = item
        .get("name")
        .filter(|name| name.text().is_some_and(|name| !name.is_empty()));
    part.map_or_else(
        || item.span.start..(item.span.start + 1).min(item.span.end),
        |part| part.span.clone(),
    )
}

/// Whether a name is more than what Postman calls a request that nobody named.
fn says_something(name: &str) -> bool {
    let is_url = name.contains("://") || name.contains("{{") || name.starts_with('/');
    let lower = name.to_ascii_lowercase();
    !is_url && !lower.starts_with("new request") && !lower.starts_with("untitled")
}
