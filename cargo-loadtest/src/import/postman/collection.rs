//! The folders and requests of a collection.

use super::super::document::{self, Node};
use super::super::source::{Mistake, Note, Span};
use super::environment::{Layer, note_faults, read_layer};

/// Most requests of a collection.
const MOST_REQUESTS: usize = 5000;

/// A folder; the first is the collection itself.
#[derive(Debug)]
pub(super) struct Folder<'n, 'a> {
    pub(super) node: &'n Node<'a>,
    pub(super) name: String,
    /// Number of the folder around it.
    pub(super) parent: Option<usize>,
    pub(super) variables: Layer,
}

#[derive(Debug)]
pub(super) struct Entry<'n, 'a> {
    pub(super) item: &'n Node<'a>,
    /// Method, URL, headers and body; or the URL alone.
    pub(super) request: &'n Node<'a>,
    pub(super) name: Option<String>,
    /// Place of its name.
    pub(super) span: Span,
    /// Number of its folder.
    pub(super) folder: usize,
}

#[derive(Debug)]
pub(super) struct Collection<'n, 'a> {
    pub(super) folders: Vec<Folder<'n, 'a>>,
    pub(super) entries: Vec<Entry<'n, 'a>>,
    /// Items that are neither request nor folder.
    pub(super) left: Vec<Note>,
}

/// Finds the collection in a document.
pub(super) fn find_collection<'n, 'a>(root: &'n Node<'a>) -> Result<&'n Node<'a>, Mistake> {
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

/// Reads a collection, and notes what is neither request nor folder.
pub(super) fn read_collection<'n, 'a>(
    root: &'n Node<'a>,
    notes: &mut Vec<Note>,
) -> Result<Collection<'n, 'a>, Mistake> {
    let name = root.at(&["info", "name"]).and_then(Node::text);
    let mut collection = Collection {
        folders: vec![read_folder(root, name.unwrap_or("requests"), None, notes)],
        entries: Vec::new(),
        left: Vec::new(),
    };
    collection.walk(root, 0, notes)?;
    notes.extend(collection.left.iter().cloned());
    Ok(collection)
}

fn read_folder<'n, 'a>(
    node: &'n Node<'a>,
    name: &str,
    parent: Option<usize>,
    notes: &mut Vec<Note>,
) -> Folder<'n, 'a> {
    if let Some(variables) = node.get("variable") {
        note_faults(variables, notes);
    }
    Folder {
        node,
        name: name.trim().to_owned(),
        parent,
        variables: node.get("variable").map(read_layer).unwrap_or_default(),
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
                self.folders.push(read_folder(
                    item,
                    name.unwrap_or("folder"),
                    Some(within),
                    notes,
                ));
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
                self.left.push(Note::new(item_place(item), words));
                continue;
            };
            if self.entries.len() == MOST_REQUESTS {
                let words = format!("the collection has more than {MOST_REQUESTS} requests");
                return Err(Mistake::new(item_place(item), words).help("export a part of it"));
            }
            self.entries.push(Entry {
                item,
                request,
                name: name.filter(|name| is_telling(name)).map(str::to_owned),
                span: item_place(item),
                folder: within,
            });
        }
        Ok(())
    }

    /// Returns a folder and those around it, the innermost first.
    pub(super) fn folders_around(&self, folder: usize) -> Vec<&Folder<'n, 'a>> {
        let mut way = vec![&self.folders[folder]];
        while let Some(parent) = way.last().and_then(|folder| folder.parent) {
            way.push(&self.folders[parent]);
        }
        way
    }

    /// Returns the numbers of a folder and those around it, the innermost first.
    pub(super) fn numbers_around(&self, folder: usize) -> Vec<usize> {
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

/// Returns the place of an item's name.
pub(super) fn item_place(item: &Node<'_>) -> Span {
    let part = item
        .get("name")
        .filter(|name| name.text().is_some_and(|name| !name.is_empty()));
    part.map_or_else(
        || item.span.start..(item.span.start + 1).min(item.span.end),
        |part| part.span.clone(),
    )
}

/// Whether a name is not one that Postman gives.
fn is_telling(name: &str) -> bool {
    let is_url = name.contains("://") || name.contains("{{") || name.starts_with('/');
    let lower = name.to_ascii_lowercase();
    !is_url && !lower.starts_with("new request") && !lower.starts_with("untitled")
}
