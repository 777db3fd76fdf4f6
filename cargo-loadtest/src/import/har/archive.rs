//! The archive around the entries: where they are, who recorded them, their order in time.

use super::super::document::{self, Node};
use super::super::source::{Mistake, Note};
use super::entry::HarEntry;

/// Returns the list of entries.
pub(super) fn find_entries<'a>(root: &'a Node<'a>) -> Result<&'a Node<'a>, Mistake> {
    let log = root.get("log").unwrap_or(root);
    log.get("entries")
        .filter(|entries| entries.is_list())
        .ok_or_else(|| {
            let place = log
                .name("entries")
                .unwrap_or_else(|| document::told_by(root));
            let words = "this is not an archive of requests (HAR): it has no list `log.entries`";
            Mistake::new(place, words).help(
            "export one with the network tools of a browser: \"Save all as HAR\", \"Export HAR\"",
        )
        })
}

/// Warns about an archive from which Chrome left out cookies and credentials.
pub(super) fn warn_if_sanitised(root: &Node<'_>, entries: &[HarEntry<'_>]) -> Option<Note> {
    let creator = root.at(&["log", "creator"])?;
    let has_login = |entry: &HarEntry<'_>| {
        entry.request_header("cookie").is_some()
            || entry.request_header("authorization").is_some()
            || entry.answer_header("set-cookie").is_some()
    };
    let is_sanitised =
        creator.text_of("name") == Some("WebInspector") && !entries.iter().any(has_login);
    is_sanitised.then(|| {
        let words = "there are no cookies and no credentials in it, which Chrome leaves out unless the archive is exported \
                     \"with sensitive data\"";
        Note::new(creator.span.start..creator.span.start + 1, words)
    })
}

/// Sorts entries by time. Entries without a time stay behind the one before them.
pub(super) fn sort_by_time(entries: &mut Vec<HarEntry<'_>>) {
    let mut last = i64::MIN;
    let mut timed: Vec<(i64, HarEntry<'_>)> = Vec::with_capacity(entries.len());
    for entry in entries.drain(..) {
        last = entry.started.unwrap_or(last);
        timed.push((last, entry));
    }
    timed.sort_by_key(|(started, _)| *started);
    entries.extend(timed.into_iter().map(|(_, entry)| entry));
}
