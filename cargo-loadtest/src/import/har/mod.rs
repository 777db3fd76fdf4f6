//! Archives of a browser's requests (HAR 1.1 and 1.2, <http://www.softwareishard.com/blog/har-12-spec/>), as browsers,
//! proxies and clients write them: little is insisted on.
//!
//! Each entry is read for itself ([`archive`]), and judged: what a page only shows, what goes elsewhere, and what no
//! server was asked for is left out ([`kinds`], [`hosts`]). What is kept becomes exchanges ([`exchange`]), in the order
//! of time, in which what is asked again and again is asked once ([`polls`], [`rows`]).

mod archive;
mod body;
mod cookies;
mod exchange;
mod headers;
mod hosts;
mod kinds;
mod multipart;
mod pauses;
mod polls;
mod rows;
#[cfg(test)]
mod tests;
mod things;
mod values;

use super::document;
use super::recording::{Dropped, Recording};
use super::source::{Input, Mistake, Span};
use archive::Entry;
use cookies::Cookies;
use exchange::Reading;
use hosts::Hosts;
use kinds::Kind;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

/// The most requests that are kept.
const MOST_REQUESTS: usize = 1000;

/// Why an entry is left out.
mod why {
    pub(super) const STATIC: &str = "static files";
    pub(super) const THIRD_PARTY: &str = "third parties";
    pub(super) const OTHER_HOST: &str = "other hosts";
    pub(super) const PREFLIGHT: &str = "preflights, which browsers send for themselves";
    pub(super) const TRACKER: &str = "trackers and beacons";
    pub(super) const SOCKET: &str = "sockets and event streams";
    pub(super) const TUNNEL: &str = "tunnels of a proxy";
    pub(super) const UNANSWERED: &str = "without an answer: blocked, cancelled or failed";
    pub(super) const INTERNAL: &str = "answered by the browser itself, without a server";
    pub(super) const NOT_SENT: &str = "no requests over HTTP";
    pub(super) const UNREADABLE: &str = "no requests that could be read";
}

/// What is taken of an archive.
#[derive(Debug, Clone, Default)]
pub(crate) struct HarOptions {
    /// The hosts whose requests are kept, as `host` or `host:port`; without any, that of the first document.
    pub(crate) hosts: Vec<String>,
    /// Whether static files are kept.
    pub(crate) keeps_static: bool,
    /// Whether pauses are left out.
    pub(crate) drops_pauses: bool,
}

/// An exchange, and when it took place, in milliseconds.
#[derive(Debug, Clone)]
struct Kept {
    exchange: super::recording::Exchange,
    started: Option<i64>,
    ended: Option<i64>,
    /// Whether the browser showed it as a page.
    is_document: bool,
}

/// Reads an archive.
pub(crate) fn read_har(input: &Input, options: &HarOptions) -> Result<Recording, Mistake> {
    let root = document::read(input)?;
    let list = archive::entries(&root)?;
    let mut recording = Recording::default();
    let mut entries = Vec::new();
    for node in list.items() {
        match Entry::read(node) {
            Ok(entry) => entries.push(entry),
            Err(dropped) => recording.dropped.push(dropped),
        }
    }
    archive::sort(&mut entries);
    let kept = judged(&entries, options, &mut recording.dropped);
    let number = kept.iter().flatten().count();
    if number == 0 {
        return Err(nothing_left(
            &recording.dropped,
            &entries,
            list.span.clone(),
        ));
    }
    if number > MOST_REQUESTS {
        let words = format!(
            "{number} requests are kept of it, and {MOST_REQUESTS} are the most that can be"
        );
        return Err(Mistake::new(list.span.clone(), words)
            .help("record a shorter visit, or keep fewer hosts with `--host`"));
    }
    recording.notes.extend(archive::sanitised(&root, &entries));
    let has_answers = entries.iter().any(|entry| entry.status.is_some());
    let mut cookies = Cookies::default();
    let mut reading = Reading::new(has_answers);
    let mut exchanges = Vec::new();
    for (entry, kind) in entries.iter().zip(&kept) {
        if let Some(kind) = kind {
            let header = cookies.header(entry, &mut recording.notes);
            exchanges.push(Kept {
                exchange: reading.exchange(entry, header, &mut recording.notes),
                started: entry.started,
                ended: entry.ended,
                is_document: *kind == Kind::Document,
            });
        }
        cookies.store(entry, kind.is_some());
    }
    polls::fold(&mut exchanges, &mut recording.notes);
    if !options.drops_pauses {
        pauses::think(&mut exchanges, &mut recording.notes);
    }
    rows::fold(&mut exchanges, input, &mut recording);
    recording.base = hosts::base(exchanges.iter().map(|kept| kept.exchange.origin.as_str()));
    recording.exchanges = exchanges.into_iter().map(|kept| kept.exchange).collect();
    recording.client.keeps_cookies = true;
    recording.description = archive::description(&root);
    recording.dropped.sort_by_key(|dropped| dropped.span.start);
    recording.notes.sort_by_key(|note| note.span.start);
    Ok(recording)
}

/// What each entry is, where it is kept.
fn judged<'e>(
    entries: &'e [Entry<'_>],
    options: &HarOptions,
    dropped: &mut Vec<Dropped>,
) -> Vec<Option<Kind>> {
    let kinds: Vec<Kind> = entries.iter().map(kinds::kind).collect();
    let hosts = Hosts::of(entries, &kinds, &options.hosts);
    // A list of requests that were never sent has no answers at all.
    let has_answers = entries.iter().any(|entry| entry.status.is_some());
    let asked: HashSet<_> = entries
        .iter()
        .filter(|entry| !entry.is_internal())
        .map(|entry| (entry.method.as_str(), entry.url.as_str()))
        .collect();
    let mut first_visits = HashSet::new();
    let mut judge = |entry: &'e Entry<'_>, kind: Kind| {
        if let Some(why) = kind.why() {
            return Some(why);
        }
        if !hosts.has(&entry.url) {
            let is_chosen = !options.hosts.is_empty();
            return Some(if is_chosen {
                why::OTHER_HOST
            } else {
                why::THIRD_PARTY
            });
        }
        if kind == Kind::Static && !options.keeps_static {
            return Some(why::STATIC);
        }
        if entry.is_made_up() {
            return Some(why::INTERNAL);
        }
        if entry.is_internal() {
            // A first visit asks for what a later one has in its cache.
            let request = (entry.method.as_str(), entry.url.as_str());
            let is_asked = asked.contains(&request) || entry.status.is_none();
            return (is_asked || !first_visits.insert(request)).then_some(why::INTERNAL);
        }
        (has_answers && entry.status.is_none()).then_some(why::UNANSWERED)
    };
    let mut judged = Vec::with_capacity(entries.len());
    for (entry, kind) in entries.iter().zip(kinds) {
        let why = judge(entry, kind);
        if let Some(why) = why {
            dropped.push(entry.dropped(why));
        }
        judged.push(why.is_none().then_some(kind));
    }
    judged
}

/// Says that nothing is left, and what to do.
fn nothing_left(dropped: &[Dropped], entries: &[Entry<'_>], span: Span) -> Mistake {
    if dropped.is_empty() {
        return Mistake::new(span, "there are no requests in it")
            .help("open the network tools of the browser first, then load the page, and export what they list");
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for dropped in dropped {
        *reasons.entry(dropped.why.as_str()).or_default() += 1;
    }
    let has = |why: &str| reasons.contains_key(why);
    let mut words = format!("nothing is left of its {} requests: ", dropped.len());
    for (number, (why, count)) in reasons.iter().enumerate() {
        let comma = if number > 0 { "; " } else { "" };
        let _ = write!(words, "{comma}{count} {why}");
    }
    let help = if has(why::THIRD_PARTY) || has(why::OTHER_HOST) {
        match hosts::busiest(entries) {
            Some(host) => format!("`--host {host}` keeps the requests to that host"),
            None => "`--host` with a host of the archive keeps the requests to it".to_owned(),
        }
    } else if has(why::STATIC) {
        "`--keep-static` keeps static files".to_owned()
    } else {
        "record a visit in which a page is loaded from the server that is to be tested".to_owned()
    };
    Mistake::new(span, words).help(help)
}
