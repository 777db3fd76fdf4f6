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
    unreadable: Vec<Note>,
    entries: &[HarEntry<'_>],
    list: &Node<'_>,
) -> Mistake {
    if dropped.is_empty() {
        return nothing_readable(unreadable, list);
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for dropped in dropped {
        *reasons.entry(dropped.why.as_str()).or_default() += 1;
    }
    if !unreadable.is_empty() {
        reasons.insert("that cannot be read", unreadable.len());
    }
    let words = match dropped {
        [only] if unreadable.is_empty() => format!("its only request is left out: {}", only.why),
        _ => {
            let number = dropped.len() + unreadable.len();
            let reasons = reasons
                .iter()
                .map(|(reason, count)| format!("{count} {reason}"));
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            format!("nothing is left of its {number} requests: {reasons}")
        }
    };
    let find_first = |reasons: &[&str]| {
        let mut dropped = dropped.iter();
        dropped.find(|dropped| reasons.contains(&dropped.why.as_str()))
    };
    let (first, help) = if let Some(first) = find_first(&[reason::THIRD_PARTY, reason::OTHER_HOST])
    {
        let help = match busiest_host(entries.iter()) {
            Some(host) => format!("`--host {host}` keeps the requests to that host"),
            None => "`--host` with a host of the archive keeps the requests to it".to_owned(),
        };
        (first, help)
    } else if let Some(first) = find_first(&[reason::STATIC]) {
        (first, "`--keep-static` keeps static files".to_owned())
    } else {
        let help = "record a visit in which a page is loaded from the server that is to be tested";
        (&dropped[0], help.to_owned())
    };
    Mistake::new(first.span.clone(), words).help(help)
}

fn nothing_readable(unreadable: Vec<Note>, list: &Node<'_>) -> Mistake {
    let number = unreadable.len();
    let Some(first) = unreadable.into_iter().next() else {
        return Mistake::new(list.beginning(), "there are no requests in it").help(
            "open the network tools of the browser first, then load the page, and export what they list",
        );
    };
    let words = match number {
        1 => format!("{}, and it is the only request", first.words),
        _ => format!("{}, as are all {number} requests", first.words),
    };
    Mistake::new(first.span, words)
        .help("export the archive again, or write the URL with its scheme and host")
}
