//! The entries of an archive: where they are, their order in time, which are kept, and why none is.

use super::HarOptions;
use super::entry::HarEntry;
use super::hosts::HostFilter;
use super::kinds::EntryKind;
use crate::document::{self, Node};
use crate::recording::Dropped;
use crate::source::{Mistake, Note};
use crate::text::most_frequent;
use std::collections::{BTreeMap, HashSet};

const CACHED: &str = "answered by the browser itself, without a server";

/// Returns the kind of each entry that is kept. The others are added to `dropped`.
pub(super) fn select_entries(
    entries: &[HarEntry<'_>],
    kinds: &[EntryKind],
    options: &HarOptions,
    dropped: &mut Vec<Dropped>,
) -> Vec<Option<EntryKind>> {
    let hosts = HostFilter::new(entries, kinds, &options.hosts);
    // A list of requests that were never sent has no answers at all.
    let has_answers = entries.iter().any(|entry| entry.status.is_some());
    let sent = entries.iter().filter(|entry| !entry.is_from_cache());
    let mut asked: HashSet<_> = sent.map(request_line).collect();
    let mut drop_reason = |entry: &HarEntry<'_>, kind: EntryKind| {
        if let Some(reason) = kind.drop_reason() {
            return Some(reason);
        }
        if !hosts.accepts(&entry.url) {
            return Some(match hosts {
                HostFilter::Named(_) => "other hosts",
                HostFilter::Site(_) => "third parties",
            });
        }
        if kind == EntryKind::Static && !options.keeps_static {
            return Some("static files");
        }
        if entry.is_synthetic() {
            return Some(CACHED);
        }
        if entry.is_from_cache() {
            // A first visit asks for what a later one has in its cache.
            let is_new = entry.status.is_some() && asked.insert(request_line(entry));
            return (!is_new).then_some(CACHED);
        }
        (has_answers && entry.status.is_none())
            .then_some("without an answer: blocked, cancelled or failed")
    };
    let mut kept = Vec::with_capacity(entries.len());
    for (entry, kind) in entries.iter().zip(kinds) {
        let reason = drop_reason(entry, *kind);
        dropped.extend(reason.map(|reason| entry.to_dropped(reason)));
        kept.push(reason.is_none().then_some(*kind));
    }
    kept
}

fn request_line(entry: &HarEntry<'_>) -> (String, String) {
    (entry.method.clone(), entry.url.to_string())
}

/// Explains that no request is kept, with the most likely remedy.
pub(super) fn nothing_kept(
    dropped: &[Dropped],
    unreadable: &[Note],
    entries: &[HarEntry<'_>],
    list: &Node<'_>,
) -> Mistake {
    let Some(first) = dropped.first() else {
        return match unreadable.first() {
            Some(first) => Mistake::new(first.span.clone(), first.words.as_str())
                .help("no other request can be read: export the archive again"),
            None => Mistake::new(list.beginning(), "there are no requests in it").help(
                "open the network tools of the browser first, then load the page, and export what they list",
            ),
        };
    };
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for dropped in dropped {
        *reasons.entry(dropped.why.as_str()).or_default() += 1;
    }
    if !unreadable.is_empty() {
        reasons.insert("cannot be read", unreadable.len());
    }
    let counts = reasons
        .iter()
        .map(|(reason, count)| format!("{reason} ({count})"));
    let words = format!(
        "no request is left: {}",
        counts.collect::<Vec<_>>().join("; ")
    );
    let hosts = entries.iter().filter_map(|entry| entry.url.host_str());
    let help = match most_frequent(hosts) {
        Some(host) => format!(
            "`--host {host}` keeps the requests to that host, and `--keep-static` static files"
        ),
        None => "record a visit in which a page is loaded from the server to test".to_owned(),
    };
    Mistake::new(first.span.clone(), words).help(help)
}

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
