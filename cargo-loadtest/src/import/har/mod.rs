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
mod faults;
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
mod times;
mod values;

use super::document::{self, Node};
use super::marked::{Dropped, Recording};
use super::source::{Input, Mistake, Note};
use archive::{Entry, Left};
use cookies::Cookies;
use exchange::Reading;
use hosts::Hosts;
use kinds::Kind;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

/// The most requests that are kept.
const MOST_REQUESTS: usize = 1000;
/// How many entries that cannot be read are shown.
const MOST_UNREADABLE: usize = 3;

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
}

/// What is taken of an archive.
#[derive(Debug, Clone, Default)]
pub(crate) struct HarOptions {
    /// The hosts whose requests are kept, as `host` or `host:port`; without any, those of the site of the first
    /// document.
    pub(crate) hosts: Vec<String>,
    /// Whether static files are kept.
    pub(crate) keeps_static: bool,
    /// Whether pauses are left out.
    pub(crate) drops_pauses: bool,
}

/// An exchange, and when it took place, in milliseconds.
#[derive(Debug, Clone)]
struct Kept {
    exchange: super::marked::Exchange,
    started: Option<i64>,
    ended: Option<i64>,
    /// Whether the browser showed it as a page.
    is_document: bool,
}

/// Reads an archive.
pub(crate) fn read_har(input: &Input, options: &HarOptions) -> Result<Recording, Mistake> {
    let mut root = document::read(input)?;
    let mut recording = Recording {
        notes: document::without_doubles(&mut root),
        ..Recording::default()
    };
    let list = archive::entries(&root)?;
    let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
    for node in list.items() {
        match Entry::read(node) {
            Ok(entry) => entries.push(entry),
            Err(Left::Dropped(dropped)) => recording.dropped.push(dropped),
            Err(Left::Unreadable(note)) => unreadable.push(note),
        }
    }
    archive::sort(&mut entries);
    let kinds: Vec<Kind> = entries.iter().map(kinds::kind).collect();
    let kept = judged(&entries, &kinds, options, &mut recording.dropped);
    let number = kept.iter().flatten().count();
    if number == 0 {
        return Err(nothing_left(&recording.dropped, unreadable, &entries, list));
    }
    recording.notes.extend(shortened(unreadable));
    if number > MOST_REQUESTS {
        let words = format!(
            "{number} requests are kept of it, and {MOST_REQUESTS} are the most that can be: this is the first above"
        );
        let mut above = entries.iter().zip(&kept).filter(|(_, kept)| kept.is_some());
        let above = above
            .nth(MOST_REQUESTS)
            .map(|(entry, _)| entry.span.clone());
        return Err(
            Mistake::new(above.unwrap_or_else(|| list.beginning()), words)
                .help("record a shorter visit, or keep fewer hosts with `--host`"),
        );
    }
    recording.notes.extend(archive::sanitised(&root, &entries));
    if options.hosts.is_empty() {
        recording
            .notes
            .extend(hosts::passed_over(&entries, &kinds, &kept));
    }
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
    kinds: &[Kind],
    options: &HarOptions,
    dropped: &mut Vec<Dropped>,
) -> Vec<Option<Kind>> {
    let hosts = Hosts::of(entries, kinds, &options.hosts);
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
    for (entry, kind) in entries.iter().zip(kinds.iter().copied()) {
        let why = judge(entry, kind);
        if let Some(why) = why {
            dropped.push(entry.dropped(why));
        }
        judged.push(why.is_none().then_some(kind));
    }
    judged
}

/// The first of some notes, and how many there are.
fn shortened(mut notes: Vec<Note>) -> Vec<Note> {
    let more = notes.len().saturating_sub(MOST_UNREADABLE);
    notes.truncate(MOST_UNREADABLE);
    if let Some(last) = notes.last_mut().filter(|_| more > 0) {
        let _ = write!(last.words, " (and {more} more that cannot be read)");
    }
    notes
}

/// Says that nothing is left, and what to do: where the first of those is that the help is for.
fn nothing_left(
    dropped: &[Dropped],
    unreadable: Vec<Note>,
    entries: &[Entry<'_>],
    list: &Node<'_>,
) -> Mistake {
    if dropped.is_empty() {
        let number = unreadable.len();
        let Some(first) = unreadable.into_iter().next() else {
            return Mistake::new(list.beginning(), "there are no requests in it")
                .help("open the network tools of the browser first, then load the page, and export what they list");
        };
        let words = match number {
            1 => format!("{}, and it is the only request", first.words),
            _ => format!("{}, as are all {number} requests", first.words),
        };
        return Mistake::new(first.span, words)
            .help("export the archive again, or write the URL with its scheme and host");
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for dropped in dropped {
        *reasons.entry(dropped.why.as_str()).or_default() += 1;
    }
    if !unreadable.is_empty() {
        reasons.insert("that cannot be read", unreadable.len());
    }
    let words = match dropped {
        [only] if unreadable.is_empty() => {
            format!("its only request is left out: {}", only.why)
        }
        _ => {
            let number = dropped.len() + unreadable.len();
            let reasons = reasons.iter().map(|(why, count)| format!("{count} {why}"));
            let reasons: Vec<String> = reasons.collect();
            format!(
                "nothing is left of its {number} requests: {}",
                reasons.join("; ")
            )
        }
    };
    let first_of = |kinds: &[&str]| {
        let mut of_kind = dropped.iter();
        of_kind.find(|dropped| kinds.contains(&dropped.why.as_str()))
    };
    let (first, help) = if let Some(first) = first_of(&[why::THIRD_PARTY, why::OTHER_HOST]) {
        let help = match hosts::busiest(entries.iter()) {
            Some(host) => format!("`--host {host}` keeps the requests to that host"),
            None => "`--host` with a host of the archive keeps the requests to it".to_owned(),
        };
        (first, help)
    } else if let Some(first) = first_of(&[why::STATIC]) {
        (first, "`--keep-static` keeps static files".to_owned())
    } else {
        let help = "record a visit in which a page is loaded from the server that is to be tested";
        (&dropped[0], help.to_owned())
    };
    Mistake::new(first.span.clone(), words).help(help)
}
