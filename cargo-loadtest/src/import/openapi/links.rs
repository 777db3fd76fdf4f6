//! Links of answers (version 3): which parameter of which operation has a value of them.

use super::draft::{Draft, Piece};
use super::flow::{From, Place, Want, is_bare};
use super::places::{Document, shortened};
use super::style::{escaped, plain};
use crate::import::document::{Field, Node};
use crate::import::marked::{Confidence, Key};
use std::collections::{HashMap, HashSet};

/// What the links of all answers say.
pub(super) fn links<'a>(document: &Document<'a>, drafts: &[Draft<'a>]) -> Vec<Want> {
    let mut by_id = HashMap::new();
    let mut by_place = HashMap::new();
    for (number, draft) in drafts.iter().enumerate() {
        if let Some(id) = draft.operation.id {
            by_id.entry(id).or_insert(number);
        }
        by_place.insert(std::ptr::from_ref(draft.operation.node), number);
    }
    let mut wants: Vec<Want> = Vec::new();
    let mut told: HashSet<(usize, Place)> = HashSet::new();
    for (origin, draft) in drafts.iter().enumerate() {
        for field in draft.answers.links {
            let Some(link) = document.follow(&field.node) else {
                continue;
            };
            let user = match (link.text_of("operationId"), link.text_of("operationRef")) {
                (Some(id), _) => by_id.get(id).copied(),
                (None, Some(reference)) => {
                    let found = document.find(reference, &link.span);
                    found.and_then(|node| by_place.get(&std::ptr::from_ref(node)).copied())
                }
                (None, None) => None,
            };
            let Some(user) = user else {
                // It may be one of those that are not taken.
                if drafts.len() > 1 {
                    let words = format!(
                        "the link `{}` leads to no operation here",
                        shortened(&field.name)
                    );
                    document.note(&field.span, words);
                }
                continue;
            };
            for parameter in link.get("parameters").map_or(&[][..], Node::fields) {
                let want = want(document, drafts, (origin, user), parameter);
                let is_free = |want: &Want| told.insert((want.user, want.place.clone()));
                wants.extend(want.filter(is_free));
            }
        }
    }
    wants
}

fn want(
    document: &Document<'_>,
    drafts: &[Draft<'_>],
    (origin, user): (usize, usize),
    parameter: &Field<'_>,
) -> Option<Want> {
    let place = place(&drafts[user], &parameter.name).or_else(|| {
        let words = format!(
            "there is no parameter `{}` in that operation",
            shortened(&parameter.name)
        );
        document.note(&parameter.span, words);
        None
    })?;
    let found = from(&drafts[origin], &parameter.node).or_else(|| {
        let words = "what this says of an answer cannot be honoured";
        document.note(&parameter.node.span, words);
        None
    });
    let (from, is_bare) = there(document, &drafts[origin], parameter, found?)?;
    // An operation cannot wait for itself.
    (origin != user).then(|| Want {
        user,
        place,
        origin,
        from,
        is_bare,
        confidence: Confidence::Certain,
        why: format!("a link of `{}` says so", drafts[origin].operation.title()),
    })
}

/// The same where the answer that is described has it; in a list, it is that of the first item.
fn there(
    document: &Document<'_>,
    origin: &Draft<'_>,
    parameter: &Field<'_>,
    (from, is_bare): (From, bool),
) -> Option<(From, bool)> {
    let (From::Body(path), Some(answer)) = (&from, &origin.answers.value) else {
        return Some((from, is_bare));
    };
    let is_there = |path: &[Key]| value_at(Some(answer), path).is_some();
    if is_there(path) || is_open(answer, path) {
        return Some((from, is_bare));
    }
    let mut of_first = vec![Key::Item(0)];
    of_first.extend(path.iter().cloned());
    let value = value_at(Some(answer), &of_first);
    let words = match value {
        Some(_) => "the answer is a list: this is looked for in its first item",
        None => "the answer that is described has no such value: the link is left out",
    };
    document.note(&parameter.node.span, words);
    let is_bare = value.is_some_and(super::flow::is_bare);
    value.map(|_| (From::Body(of_first), is_bare))
}

/// Whether more than is described may be where the way ends: there is nothing in it.
fn is_open(answer: &Node<'_>, path: &[Key]) -> bool {
    let mut value = answer;
    for key in path {
        if value.is_object() && value.fields().is_empty() {
            return true;
        }
        match at(value, key) {
            Some(next) => value = next,
            None => return false,
        }
    }
    false
}

/// Where a parameter goes: its name, or `path.name`.
fn place(draft: &Draft<'_>, name: &str) -> Option<Place> {
    let (of, name) = match name.split_once('.') {
        Some((of @ ("path" | "query" | "header"), rest)) => (of, rest),
        _ => ("", name),
    };
    let is_it = |known: &str| known == name;
    let mut pieces = draft.pieces.iter();
    let piece = pieces.position(|piece| matches!(piece, Piece::Value { name, .. } if is_it(name)));
    match (of, piece) {
        ("" | "path", Some(piece)) => return Some(Place::Piece(piece)),
        ("path", None) => return None,
        _ => {}
    }
    let has_header = draft.headers.iter().any(|given| is_it(&given.parameter));
    if of == "header" || of.is_empty() && has_header {
        return has_header.then(|| Place::Header(name.to_owned()));
    }
    // One that is not required is sent where a link has a value for it.
    let parameters = [draft.operation.item, draft.operation.node];
    let lists = parameters.iter().filter_map(|node| node.get("parameters"));
    let mut declared = lists.flat_map(Node::items);
    let is_declared = declared.any(|node| node.text_of("name").is_some_and(is_it));
    let is_sent = draft.query.iter().any(|given| is_it(&given.parameter));
    (is_sent || is_declared).then(|| Place::Query(name.to_owned()))
}

/// What a runtime expression names.
fn from(origin: &Draft<'_>, expression: &Node<'_>) -> Option<(From, bool)> {
    let Some(text) = expression.text().filter(|text| text.starts_with('$')) else {
        let constant = (!expression.is_object()).then(|| escaped(&plain(expression), false));
        return Some((From::Sent(constant?), false));
    };
    if let Some(pointer) = text.strip_prefix("$response.body#") {
        let path = path(pointer, origin.answers.value.as_ref());
        let value = value_at(origin.answers.value.as_ref(), &path);
        return Some((From::Body(path), value.is_some_and(is_bare)));
    }
    if let Some(header) = text.strip_prefix("$response.header.") {
        return Some((From::Header(header.to_ascii_lowercase()), false));
    }
    if let Some(pointer) = text.strip_prefix("$request.body#") {
        let sent = origin.sent.value.as_ref();
        let value = value_at(sent, &path(pointer, sent))?;
        return Some((From::Sent(escaped(&plain(value), false)), false));
    }
    let name = ["$request.path.", "$request.query.", "$request.header."]
        .iter()
        .find_map(|start| text.strip_prefix(start))?;
    Some((From::Sent(origin.value(name)?.to_owned()), false))
}

/// The way that a pointer tells; a number is the item of a list, unless the example has a field of that name.
fn path(pointer: &str, value: Option<&Node<'_>>) -> Vec<Key> {
    let mut value = value;
    let names = pointer.split('/').skip(1);
    let names = names.map(|name| name.replace("~1", "/").replace("~0", "~"));
    names
        .map(|name| {
            let index: Option<usize> = name.parse().ok();
            let is_object = value.is_some_and(Node::is_object);
            let key = match index.filter(|_| !is_object) {
                Some(index) => Key::Item(index),
                None => Key::Field(name),
            };
            value = value.and_then(|value| at(value, &key));
            key
        })
        .collect()
}

fn at<'n, 'a>(value: &'n Node<'a>, key: &Key) -> Option<&'n Node<'a>> {
    match key {
        Key::Field(name) => value.get(name),
        Key::Item(index) => value.items().get(*index),
    }
}

fn value_at<'n, 'a>(value: Option<&'n Node<'a>>, path: &[Key]) -> Option<&'n Node<'a>> {
    path.iter().try_fold(value?, |value, key| at(value, key))
}
