//! Parts of an entry that have the wrong type and are left out.

use super::super::document::{Node, Value};
use super::super::source::Note;
use super::entry::{HarEntry, is_token};

/// Returns a warning for each part of the request that is left out.
pub(super) fn find_faults(entry: &HarEntry<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for (name, kind) in [
        ("headers", "a list"),
        ("cookies", "a list"),
        ("postData", "an object"),
    ] {
        let part = entry.request().get(name);
        let part = part.filter(|part| part.kind() != kind && part.value != Value::Null);
        notes.extend(part.map(|part| {
            let words = format!(
                "`{name}` is {kind}, and this is {}: it is left out",
                part.kind()
            );
            Note::new(part.beginning(), words)
        }));
    }
    let headers = entry.request().get("headers").map(Node::items);
    for header in headers.unwrap_or_default() {
        let Some(name) = header.get("name").filter(|_| header.get("value").is_some()) else {
            continue;
        };
        let text = name.text().unwrap_or_default().trim();
        // Those with a colon are of HTTP/2.
        if !text.starts_with(':') && !is_token(text) {
            let words = "this is no name of a header: it is left out";
            notes.push(Note::new(name.beginning(), words));
        }
    }
    let started = entry.node.get("startedDateTime");
    let started = started.filter(|time| entry.started.is_none() && time.value != Value::Null);
    notes.extend(started.map(|started| {
        let words = "this is no time: the request stays behind the one before it";
        Note::new(started.beginning(), words)
    }));
    notes
}
