//! Decides which entries are kept, and explains when none is.

use super::super::document::Node;
use super::super::recording::Dropped;
use super::super::source::{Mistake, Note};
use super::entry::HarEntry;
use super::hosts::{HostFilter, busiest_host};
use super::kinds::EntryKind;
use super::{HarOptions, reason};
use std::collections::{BTreeMap, HashSet};

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
                HostFilter::Named(_) => reason::OTHER_HOST,
                HostFilter::Site(_) => reason::THIRD_PARTY,
            });
        }
        if kind == EntryKind::Static && !options.keeps_static {
            return Some(reason::STATIC);
        }
        if entry.is_synthetic() {
            return Some(reason::CACHED);
        }
        if entry.is_from_cache() {
            // A first visit asks for what a later one has in its cache.
            let is_new = entry.status.is_some() && asked.insert(request_line(entry));
            return (!is_new).then_some(reason::CACHED);
        }
        (has_answers && entry.status.is_none()).then_some(reason::UNANSWERED)
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
    let help = match busiest_host(entries.iter()) {
        Some(host) => format!(
            "`--host {host}` keeps the requests to that host, and `--keep-static` static files"
        ),
        None => "record a visit in which a page is loaded from the server to test".to_owned(),
    };
    Mistake::new(first.span.clone(), words).help(help)
}
