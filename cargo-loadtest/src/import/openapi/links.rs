//! Reads the links of answers: the values that other operations take from them, by the word of the document.

use super::document::{ApiDocument, shorten};
use super::draft::{PathPiece, RequestDraft};
use super::example::ExampleValue;
use super::style::escape_url;
use super::wants::{SourceValue, ValueSource, WantedPlace, WantedValue};
use crate::import::document::{Field, Node};
use crate::import::recording::{Confidence, Key, Text};
use std::collections::HashSet;

/// Finds the values that links name, at most one for each place. Warns of links that are not read.
pub(super) fn find_linked_values<'a>(
    document: &ApiDocument<'a>,
    drafts: &[RequestDraft<'a>],
) -> Vec<WantedValue> {
    let mut wanted = Vec::new();
    for (number, draft) in drafts.iter().enumerate() {
        for field in draft.answers.links {
            let reader = LinkReader {
                document,
                drafts,
                source: number,
                name: &field.name,
            };
            reader.read_link(field, &mut wanted);
        }
    }
    // The values of what is created are known to be there.
    wanted.sort_by_key(|value| drafts[value.source.draft].operation.method != "POST");
    let mut seen = HashSet::new();
    wanted.retain(|value| seen.insert((value.user, value.place.clone())));
    wanted
}

/// Reads one link of an answer.
struct LinkReader<'r, 'a> {
    document: &'r ApiDocument<'a>,
    drafts: &'r [RequestDraft<'a>],
    /// Number of the draft with the answer.
    source: usize,
    name: &'a str,
}

impl<'a> LinkReader<'_, 'a> {
    fn read_link(&self, field: &'a Field<'a>, wanted: &mut Vec<WantedValue>) {
        let Some(link) = self.document.object(&field.node, &field.name) else {
            return;
        };
        for other in ["requestBody", "server"] {
            if let Some(name) = link.name(other) {
                let words = format!("`{other}` of a link is not read");
                self.document.warn(&name, words);
            }
        }
        let Some(user) = self.find_operation(link) else {
            return;
        };
        if user == self.source {
            let words = "a link of an operation to itself is not followed";
            return self.document.warn(&field.span, words);
        }
        for parameter in self.document.fields(link, "parameters") {
            let place = find_place(&self.drafts[user], &parameter.name);
            let Some((name, place)) = place else {
                let title = self.drafts[user].operation.title();
                let words = format!("`{title}` has no parameter `{}`", shorten(&parameter.name));
                self.document.warn(&parameter.span, words);
                continue;
            };
            if self.document.given_value(name).is_some() {
                continue;
            }
            let Some((value, is_bare)) = self.read_value(&parameter.node, &place) else {
                let words = "this is not a value that a link can take from the answer: `$response.body#/id`, `$response.header.Location`";
                self.document.warn(&parameter.node.beginning(), words);
                continue;
            };
            let title = self.drafts[self.source].operation.title();
            let source = ValueSource {
                draft: self.source,
                value,
                is_bare,
                confidence: Confidence::Certain,
                why: format!("the link `{}` of `{title}`", shorten(self.name)),
            };
            wanted.push(WantedValue {
                user,
                place,
                source,
            });
        }
    }

    /// Finds the draft of the operation that a link leads to. Warns if the document has none.
    fn find_operation(&self, link: &'a Node<'a>) -> Option<usize> {
        let mut drafts = self.drafts.iter();
        if let Some(id) = link.get("operationId") {
            let text = id.text().unwrap_or_default();
            let found = drafts.position(|draft| draft.operation.id == Some(text));
            if found.is_none() && !self.has_operation(text) {
                let words = format!("there is no operation `{}`", shorten(text));
                self.document.warn(&id.span, words);
            }
            return found;
        }
        let Some(reference) = link.get("operationRef") else {
            let words = "a link has an `operationId` or an `operationRef`";
            self.document.warn(&link.beginning(), words);
            return None;
        };
        let text = reference.text().unwrap_or_default();
        let target = self.document.find_target(text, &reference.span)?;
        drafts.position(|draft| std::ptr::eq(draft.operation.node, target))
    }

    /// Returns true if the document has this operation, which may not be selected.
    fn has_operation(&self, id: &str) -> bool {
        let paths = self.document.root.get("paths");
        let paths = paths.map_or(&[][..], Node::fields).iter();
        let mut operations = paths.flat_map(|path| path.node.fields());
        operations.any(|operation| operation.node.text_of("operationId").map(str::trim) == Some(id))
    }

    /// Reads an expression; also returns true for a value that JSON has without quotes.
    fn read_value(&self, node: &Node<'_>, place: &WantedPlace) -> Option<(SourceValue, bool)> {
        let text = node.scalar()?;
        if let Some(name) = text.strip_prefix("$response.header.") {
            return Some((SourceValue::Header(name.to_ascii_lowercase()), false));
        }
        if let Some(pointer) = text.strip_prefix("$response.body#/") {
            let answer = self.drafts[self.source].answers.value.as_ref()?;
            let (path, value) = resolve_pointer(answer, pointer)?;
            let is_bare = !matches!(value, ExampleValue::Text(_));
            return value.scalar().map(|_| (SourceValue::Body(path), is_bare));
        }
        let is_constant = !text.starts_with('$') && !text.contains("{$");
        let text = match place {
            WantedPlace::Header(_) => text.to_string(),
            _ => escape_url(&text),
        };
        is_constant.then(|| (SourceValue::Sent(Text::literal(text)), false))
    }
}

/// Finds the place of a parameter: `id`, or `path.id`.
fn find_place<'n>(draft: &RequestDraft<'_>, name: &'n str) -> Option<(&'n str, WantedPlace)> {
    let parts = name.split_once('.');
    let parts = parts.filter(|(place, _)| matches!(*place, "path" | "query" | "header"));
    let (place, name) = parts.map_or((None, name), |(place, name)| (Some(place), name));
    let is_in = |wanted: &str| place.is_none_or(|place| place == wanted);
    let mut pieces = draft.path.iter();
    let piece = pieces
        .position(|piece| matches!(piece, PathPiece::Value { name: known, .. } if known == name));
    if let Some(piece) = piece.filter(|_| is_in("path")) {
        return Some((name, WantedPlace::Path(piece)));
    }
    let mut parameters = draft.parameters.iter();
    let found = parameters.find(|known| {
        known.name == name && is_in(known.place) && matches!(known.place, "query" | "header")
    });
    found.map(|found| match found.place {
        "query" => (name, WantedPlace::Query(name.to_owned())),
        _ => (name, WantedPlace::Header(name.to_owned())),
    })
}

/// Resolves a pointer (RFC 6901), without its first slash, in an answer.
fn resolve_pointer<'v>(
    answer: &'v ExampleValue,
    pointer: &str,
) -> Option<(Vec<Key>, &'v ExampleValue)> {
    let mut path = Vec::new();
    let mut value = answer;
    for name in pointer.split('/') {
        let name = name.replace("~1", "/").replace("~0", "~");
        if let ExampleValue::List(items) = value {
            let number = name.parse().ok()?;
            value = items.get(number)?;
            path.push(Key::Item(number));
        } else {
            value = value.get(&name)?;
            path.push(Key::Field(name));
        }
    }
    Some((path, value))
}
