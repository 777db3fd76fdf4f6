//! The folders and requests of a collection.

use super::environment::{VariableLayer, read_layer};
use crate::document::{self, Node};
use crate::source::{Mistake, Note, Span};

/// A folder; the first is the collection itself.
#[derive(Debug)]
pub(super) struct CollectionFolder<'n, 'a> {
    pub(super) node: &'n Node<'a>,
    pub(super) name: String,
    /// Number of the folder around it.
    pub(super) parent: Option<usize>,
    pub(super) variables: VariableLayer,
}

#[derive(Debug)]
pub(super) struct RequestItem<'n, 'a> {
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
pub(super) struct PostmanCollection<'n, 'a> {
    pub(super) folders: Vec<CollectionFolder<'n, 'a>>,
    pub(super) entries: Vec<RequestItem<'n, 'a>>,
    /// Items that are neither request nor folder.
    pub(super) left: Vec<Note>,
}

/// Finds the collection in a document.
pub(super) fn find_collection<'n, 'a>(root: &'n Node<'a>) -> Result<&'n Node<'a>, Mistake> {
    let root = root
        .get("collection")
        .filter(|inner| inner.is_object())
        .unwrap_or(root);
    let refuse = |place: Span, words: &str, help: &str| Err(Mistake::new(place, words).help(help));
    let export = "in Postman, choose Export and then Collection v2.1; what was exported earlier is imported first";
    if let Some(span) = root.name("values").filter(|_| root.get("item").is_none()) {
        let words = "these are the variables of an environment, not a collection";
        let help = "give the collection, and this file with `--environment`";
        return refuse(span, words, help);
    }
    let Some(items) = root.get("item") else {
        let words = "this is not a Postman collection of version 2: it has no `item`";
        return refuse(document::told_by(root), words, export);
    };
    if items.is_list() {
        return Ok(root);
    }
    let kind = items.kind();
    let words = format!("`item` is {kind}, and should be a list of requests and folders");
    refuse(items.beginning(), &words, export)
}

/// Reads a collection, and notes what is neither request nor folder.
pub(super) fn read_collection<'n, 'a>(
    root: &'n Node<'a>,
    notes: &mut Vec<Note>,
) -> PostmanCollection<'n, 'a> {
    let name = root.at(&["info", "name"]).and_then(Node::text);
    let mut collection = PostmanCollection {
        folders: vec![read_folder(root, name.unwrap_or("requests"), None)],
        entries: Vec::new(),
        left: Vec::new(),
    };
    collection.walk(root, 0);
    notes.extend(collection.left.iter().cloned());
    collection
}

fn read_folder<'n, 'a>(
    node: &'n Node<'a>,
    name: &str,
    parent: Option<usize>,
) -> CollectionFolder<'n, 'a> {
    CollectionFolder {
        node,
        name: name.trim().to_owned(),
        parent,
        variables: node.get("variable").map(read_layer).unwrap_or_default(),
    }
}

impl<'n, 'a> PostmanCollection<'n, 'a> {
    fn walk(&mut self, node: &'n Node<'a>, within: usize) {
        let Some(items) = node.get("item") else {
            return;
        };
        if !items.is_list() {
            let kind = items.kind();
            let words = format!("`item` is {kind}, and should be a list: the folder is left out");
            self.left.push(Note::new(items.beginning(), words));
        }
        for item in items.items() {
            let name = item
                .text_of("name")
                .map(str::trim)
                .filter(|name| !name.is_empty());
            let has_request = item.get("request").is_some();
            let inner = item.get("item");
            // Some have both, where a program wrote them.
            if inner.is_some_and(|inner| inner.is_list() || !has_request) {
                let name = name.unwrap_or("folder");
                self.folders.push(read_folder(item, name, Some(within)));
                self.walk(item, self.folders.len() - 1);
                continue;
            }
            let is_request = |node: &&Node<'_>| node.is_object() || node.text().is_some();
            let Some(request) = item.get("request").filter(is_request) else {
                let words = "this is not a folder and has no `request`: it is left out";
                self.left.push(Note::new(item_place(item), words));
                continue;
            };
            self.entries.push(RequestItem {
                item,
                request,
                name: name.filter(|name| is_telling(name)).map(str::to_owned),
                span: item_place(item),
                folder: within,
            });
        }
    }

    /// Returns a folder and those around it, the innermost first.
    pub(super) fn folders_around(&self, folder: usize) -> Vec<&CollectionFolder<'n, 'a>> {
        let numbers = self.numbers_around(folder).into_iter();
        numbers.map(|number| &self.folders[number]).collect()
    }

    /// Returns the numbers of a folder and those around it, the innermost first.
    pub(super) fn numbers_around(&self, folder: usize) -> Vec<usize> {
        let parent = |number: &usize| self.folders[*number].parent;
        std::iter::successors(Some(folder), parent).collect()
    }
}

/// Returns the place of an item's name.
pub(super) fn item_place(item: &Node<'_>) -> Span {
    let name = item.get("name");
    let name = name.filter(|name| name.text().is_some_and(|name| !name.is_empty()));
    name.map_or_else(
        || item.span.start..(item.span.start + 1).min(item.span.end),
        |name| name.span.clone(),
    )
}

/// Returns true for a name that is not one that Postman gives.
fn is_telling(name: &str) -> bool {
    let is_url = name.contains("://") || name.contains("{{") || name.starts_with('/');
    let lower = name.to_ascii_lowercase();
    !is_url && !lower.starts_with("new request") && !lower.starts_with("untitled")
}
