//! Headers that the steps of a scenario have in common: they stand at the scenario.
//!
//! A header of a scenario is on each step that does not set it; one with values of answers, on each step after these.
//! So it is taken only where no step gets a header by it that was not recorded.

use super::super::marked::{Exchange, Header};
use super::attribute::Choice;
use super::declared::{Writing, declared_header, is_sent};
use super::partition::exchange_of;
use super::scope::Scope;
use super::secrets::Vault;
use super::template::Piece;
use std::collections::HashMap;

/// So often it has to be there.
const FEWEST: usize = 3;
/// What belongs to a body or a connection.
const OWN: [&str; 3] = ["content-length", "content-type", "host"];

/// The headers in common, as options of the scenario; the scope knows them from then on.
pub(super) fn options(scope: &mut Scope<'_>, vault: &mut Vault) -> Vec<Choice> {
    let (recording, steps) = (scope.recording, &scope.scenario.steps);
    let exchange = |position: usize| &recording.exchanges[steps[position]];
    let mut found: Vec<Found<'_>> = Vec::new();
    let mut known: HashMap<(String, &[u8]), usize> = HashMap::new();
    for position in 0..steps.len() {
        for header in exchange(position)
            .headers
            .iter()
            .filter(|header| is_sent(header))
        {
            let name = header.name.to_ascii_lowercase();
            let at = *known.entry((name, &header.value)).or_insert(found.len());
            match found.get_mut(at) {
                Some(found) => found.count += 1,
                None => found.push(Found {
                    header,
                    position,
                    count: 1,
                }),
            }
        }
    }
    found.retain(|found| {
        let name = found.header.name.to_ascii_lowercase();
        found.count >= FEWEST && !OWN.contains(&name.as_str())
    });
    let is_taken = |at: usize, one: &Found<'_>| {
        // Of several values, the one that most steps have; of these the first.
        let is_most = found.iter().enumerate().all(|(other, found)| {
            !is_named(found.header, &one.header.name) || (found.count, at) <= (one.count, other)
        });
        let fits = |from: usize| {
            (0..steps.len()).all(|position| {
                let named = named(exchange(position), &one.header.name);
                named == 1 || named == 0 && position < from
            })
        };
        is_most && first_step(scope, vault, one.header).is_some_and(fits)
    };
    let taken: Vec<_> = found
        .iter()
        .enumerate()
        .filter(|(at, one)| is_taken(*at, one))
        .collect();
    // At the scenario, all of its steps can be named.
    scope.above = steps.iter().copied().collect();
    let mut options = Vec::new();
    for (
        _,
        Found {
            header, position, ..
        },
    ) in taken
    {
        let known = vault.count();
        let mut writing = Writing {
            name: scope.step(steps[*position]),
            url: "",
            scope,
            vault,
        };
        match declared_header(header, &mut writing) {
            Some(option) => {
                options.push(option);
                scope.shared.push((*header).clone());
            }
            None => vault.forget(known),
        }
    }
    scope.above.clear();
    options
}

/// A header with a value, the first step that has it, and how many do.
struct Found<'a> {
    header: &'a Header,
    position: usize,
    count: usize,
}

/// Whether both are the same, value and all.
pub(super) fn is_same(one: &Header, other: &Header) -> bool {
    is_named(one, &other.name) && one.value == other.value
}

fn is_named(header: &Header, name: &str) -> bool {
    header.name.eq_ignore_ascii_case(name)
}

/// How often a request has a header of that name.
fn named(exchange: &Exchange, name: &str) -> usize {
    let is_told = name.eq_ignore_ascii_case("authorization") && exchange.credentials.is_some();
    let headers = exchange.headers.iter().filter(|header| is_sent(header));
    headers.filter(|header| is_named(header, name)).count() + usize::from(is_told)
}

/// The position of the first step that a header of the scenario would be on; nothing where it needs what is known at a
/// step alone.
fn first_step(scope: &Scope<'_>, vault: &Vault, header: &Header) -> Option<usize> {
    let value = std::str::from_utf8(&header.value).ok()?;
    let mut first = 0;
    for piece in vault.split(value).0 {
        let Piece::Value(at) = piece else { continue };
        let answered = exchange_of(&scope.recording.references[at].from)?;
        let mut steps = scope.scenario.steps.iter();
        first = first.max(steps.position(|step| *step == answered)? + 1);
    }
    Some(first)
}
