//! Requests that a page repeats by itself: asked once.

use super::super::marked::Exchange;
use super::super::source::Note;
use super::{Kept, values};
use std::collections::{HashMap, HashSet};

/// So often may a request be there in a row; a page that asks for something twice does so under load, too.
const MOST_ALIKE: usize = 3;

/// Leaves one of each request that is repeated with nothing else in between: the first. Where a later request needs
/// what only the answers of others had, all of them stay.
pub(super) fn fold(exchanges: &mut Vec<Kept>, notes: &mut Vec<Note>) {
    let mut counts: HashMap<Key, usize> = HashMap::new();
    let keys: Vec<Option<Key>> = exchanges.iter().map(key).collect();
    for key in keys.iter().flatten() {
        *counts.entry(key.clone()).or_default() += 1;
    }
    if counts.values().all(|count| *count <= MOST_ALIKE) {
        return;
    }
    let mut last_use: HashMap<String, usize> = HashMap::new();
    for (number, kept) in exchanges.iter().enumerate() {
        let asked = values::asked(&kept.exchange).into_iter();
        last_use.extend(asked.map(|named| (named.value, number)));
    }
    let mut removed: HashSet<usize> = HashSet::new();
    // What is repeated at the same time is repeated together.
    let mut rows: HashMap<&Key, Vec<usize>> = HashMap::new();
    let mut end = |rows: &mut HashMap<&Key, Vec<usize>>| {
        for (_, row) in rows.drain().filter(|(_, row)| row.len() > MOST_ALIKE) {
            let first = row[0];
            if needs_others(exchanges, &row, &last_use) {
                continue;
            }
            removed.extend(&row[1..]);
            let words = format!(
                "it was asked {} times in a row, as a page does by itself, and is asked once: `until` asks until an \
                 answer is there",
                row.len()
            );
            notes.push(Note::new(exchanges[first].exchange.span.clone(), words));
        }
    };
    for (number, key) in keys.iter().enumerate() {
        match key {
            Some(key) if counts[key] > MOST_ALIKE => rows.entry(key).or_default().push(number),
            _ => end(&mut rows),
        }
    }
    end(&mut rows);
    let mut number = 0;
    exchanges.retain(|_| {
        number += 1;
        !removed.contains(&(number - 1))
    });
}

/// What is the same in requests that are.
type Key = (String, String, Vec<u16>);

fn key(kept: &Kept) -> Option<Key> {
    let Exchange {
        method,
        origin,
        target,
        expect,
        ..
    } = &kept.exchange;
    let is_call = method == "GET" && !kept.is_document;
    is_call.then(|| (origin.clone(), without_stamp(target), expect.clone()))
}

/// Without the parameter by which scripts keep caches from answering.
fn without_stamp(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let pairs = query.split('&').filter(|pair| !pair.starts_with("_="));
    format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// Whether a request after one of the repeated needs what the first one's answer has not.
fn needs_others(exchanges: &[Kept], row: &[usize], last_use: &HashMap<String, usize>) -> bool {
    let answered = |number: usize| values::answered(&exchanges[number].exchange);
    let first: HashSet<String> = answered(row[0])
        .into_iter()
        .map(|named| named.value)
        .collect();
    row[1..].iter().any(|number| {
        let mut values = answered(*number).into_iter();
        values.any(|named| {
            named.is_telling("")
                && !first.contains(&named.value)
                && last_use.get(&named.value).is_some_and(|last| last > number)
        })
    })
}
