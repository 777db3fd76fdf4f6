//! What of an entry is of another kind than it should be.

use super::super::document::{Node, Value};
use super::super::source::Span;
use super::archive::{Entry, is_token};

/// What of the request is of another kind than it should be, and so left out.
pub(super) fn faults(entry: &Entry<'_>) -> Vec<(Span, String)> {
    let mut faults = Vec::new();
    for (name, is_list) in [("headers", true), ("cookies", true), ("postData", false)] {
        let Some(part) = entry.request().get(name) else {
            continue;
        };
        let is_known = if is_list {
            part.is_list()
        } else {
            part.is_object()
        };
        if !is_known && part.value != Value::Null {
            let kind = if is_list { "a list" } else { "an object" };
            let words = format!(
                "`{name}` is {kind}, and this is {}: it is left out",
                part.kind()
            );
            faults.push((part.beginning(), words));
        }
    }
    let headers = entry.request().get("headers").map(Node::items);
    for header in headers.unwrap_or_default() {
        let Some(name) = header.get("name").filter(|_| header.get("value").is_some()) else {
            continue;
        };
        let text = name.text().unwrap_or_default().trim();
        // Those with a colon are of HTTP/2.
        if !text.starts_with(':') && !is_token(text) {
            let words = "this is no name of a header: it is left out".to_owned();
            faults.push((name.beginning(), words));
        }
    }
    if let Some(started) = entry.node.get("startedDateTime")
        && entry.started.is_none()
        && started.value != Value::Null
    {
        let words = "this is no time: the request stays behind the one before it".to_owned();
        faults.push((started.beginning(), words));
    }
    faults
}
