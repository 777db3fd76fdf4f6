//! Reads archives of requests (HAR 1.1 and 1.2, <http://www.softwareishard.com/blog/har-12-spec/>).
//!
//! Browsers, proxies and clients write them in many ways, so the reader is lenient. Each entry is read
//! ([`entry`]), classified ([`kinds`], [`hosts`]), kept or left out ([`selection`]), and becomes an exchange
//! ([`exchange`]), in the order of time.

mod body;
mod cookies;
mod entry;
mod exchange;
mod headers;
mod hosts;
mod kinds;
mod multipart;
mod selection;
mod socket;
#[cfg(test)]
mod tests;
mod times;

use super::document;
use super::recording::{Exchange, Piece, Recording, RunValue};
use super::source::{Input, Mistake, Note};
use cookies::RecordedCookies;
use entry::{HarEntry, SkippedEntry};
use exchange::read_exchange;
use kinds::{EntryKind, classify_entry};

/// Options of `cargo loadtest import har`.
#[derive(Debug, Clone, Default)]
pub struct HarOptions {
    /// Hosts to keep, as `host` or `host:port`. Without any, the site of the first document is kept.
    pub hosts: Vec<String>,
    /// Keeps static files.
    pub keeps_static: bool,
    /// Leaves out think times.
    pub drops_pauses: bool,
}

/// An exchange with its times in milliseconds.
#[derive(Debug, Clone)]
struct TimedExchange {
    exchange: Exchange,
    started: Option<i64>,
    ended: Option<i64>,
}

/// Reads an archive.
///
/// # Errors
/// The first thing that is no such input, and where it stands.
pub fn read_har(input: &Input, options: &HarOptions) -> Result<Recording, Mistake> {
    let root = document::read(input)?;
    let mut recording = Recording::default();
    let list = selection::find_entries(&root)?;
    let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
    for node in list.items() {
        match HarEntry::read(node) {
            Ok(entry) => entries.push(entry),
            Err(SkippedEntry::Dropped(dropped)) => recording.dropped.push(dropped),
            Err(SkippedEntry::Unreadable(note)) => unreadable.push(note),
        }
    }
    selection::sort_by_time(&mut entries);
    let kinds: Vec<EntryKind> = entries.iter().map(classify_entry).collect();
    let kept = selection::select_entries(&entries, &kinds, options, &mut recording.dropped);
    if kept.iter().all(Option::is_none) {
        let dropped = &recording.dropped;
        let why = selection::nothing_kept(dropped, &unreadable, &entries, list);
        return Err(why);
    }
    recording.notes.extend(unreadable);
    let warning = selection::warn_if_sanitised(&root, &entries);
    recording.notes.extend(warning);
    let mut cookies = RecordedCookies::default();
    let mut exchanges = read_exchanges(&entries, &kept, &mut cookies, &mut recording.notes);
    recording.secrets = cookies.secrets;
    if options.drops_pauses {
        times::drop_message_pauses(&mut exchanges);
    } else {
        times::add_think_times(&mut exchanges);
    }
    recording.exchanges = exchanges.into_iter().map(|timed| timed.exchange).collect();
    let origins = recording.exchanges.iter();
    let origins = origins.map(|exchange| exchange.origin.as_str());
    recording.base = hosts::busiest_origin(origins);
    let base = recording.base_origin().to_owned();
    let to_base = recording.exchanges.iter_mut();
    for exchange in to_base.filter(|exchange| exchange.origin == base) {
        let headers = exchange.headers.iter_mut();
        // Servers compare it with their own.
        for header in headers.filter(|one| one.name.eq_ignore_ascii_case("origin")) {
            if header.value.as_literal() == Some(&base) {
                header.value = Piece::Run(RunValue::Origin).into();
            }
        }
    }
    recording.client.keeps_cookies = true;
    recording.dropped.sort_by_key(|dropped| dropped.span.start);
    recording.notes.sort_by_key(|note| note.span.start);
    Ok(recording)
}

fn read_exchanges(
    entries: &[HarEntry<'_>],
    kept: &[Option<EntryKind>],
    cookies: &mut RecordedCookies,
    notes: &mut Vec<Note>,
) -> Vec<TimedExchange> {
    let has_answers = entries.iter().any(|entry| entry.status.is_some());
    let mut exchanges = Vec::new();
    for (entry, kind) in entries.iter().zip(kept) {
        if let Some(kind) = kind {
            let cookie = cookies.cookie_header(entry, notes);
            exchanges.push(TimedExchange {
                exchange: read_exchange((entry, *kind), has_answers, cookie, notes),
                started: entry.started,
                ended: entry.ended,
            });
        }
        cookies.add_answer(entry, kind.is_some());
    }
    exchanges
}
