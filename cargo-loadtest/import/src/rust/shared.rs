//! Headers that the steps of a scenario share stand at the scenario.
//!
//! A header of a scenario is on each step that does not set it; one with values of answers, on each step after these.
//! So a header is shared only where no step gets one that was not recorded.

use super::declared::{declare_header, is_sendable};
use super::scope::Scope;
use crate::recording::{Exchange, Header};
use std::cmp::Reverse;

/// The fewest steps that share a header.
const FEWEST: usize = 3;
/// Headers of a body or a connection.
const OWN: [&str; 3] = ["content-length", "content-type", "host"];

/// Returns the shared headers as options of the scenario, and notes them in the scope.
pub(super) fn share_headers(scope: &mut Scope<'_>) -> Vec<String> {
    let (recording, steps) = (scope.recording, &scope.scenario.steps);
    let exchanges: Vec<&Exchange> = steps.iter().map(|at| &recording.exchanges[*at]).collect();
    let mut counts: Vec<(&Header, usize)> = Vec::new();
    let headers = exchanges.iter().flat_map(|exchange| &exchange.headers);
    for header in headers.filter(|header| is_sendable(header)) {
        let mut known = counts.iter_mut();
        match known.find(|(known, _)| is_named(known, &header.name) && known.value == header.value)
        {
            Some((_, count)) => *count += 1,
            None => counts.push((header, 1)),
        }
    }
    // Of several values, the most frequent.
    counts.sort_by_key(|(_, count)| Reverse(*count));
    // At the scenario, all of its steps can be named.
    scope.above = steps.iter().copied().collect();
    let mut options = Vec::new();
    for (header, count) in counts {
        let fits = |from: usize| {
            let counts = exchanges
                .iter()
                .map(|exchange| count_headers(exchange, &header.name));
            let mut counts = counts.enumerate();
            counts.all(|(at, count)| count == 1 || count == 0 && at < from)
        };
        let is_own = OWN.iter().any(|own| is_named(header, own));
        let is_known = scope
            .shared
            .iter()
            .any(|known| is_named(known, &header.name));
        if count >= FEWEST
            && !is_own
            && !is_known
            && first_step(scope, header).is_some_and(fits)
            && let Some(option) = declare_header(header, scope)
        {
            options.push(option);
            scope.shared.push(header.clone());
        }
    }
    scope.above.clear();
    options
}

fn is_named(header: &Header, name: &str) -> bool {
    header.name.eq_ignore_ascii_case(name)
}

/// Counts the headers of a request with a name.
fn count_headers(exchange: &Exchange, name: &str) -> usize {
    let has_credentials =
        name.eq_ignore_ascii_case("authorization") && exchange.credentials.is_some();
    let headers = exchange.headers.iter().filter(|header| is_sendable(header));
    headers.filter(|header| is_named(header, name)).count() + usize::from(has_credentials)
}

/// Returns the position of the first step that would have a header of the scenario.
fn first_step(scope: &Scope<'_>, header: &Header) -> Option<usize> {
    let mut first = 0;
    for at in header.value.references() {
        let answered = scope.recording.references[at].from.exchange();
        let mut steps = scope.scenario.steps.iter();
        first = first.max(steps.position(|step| *step == answered)? + 1);
    }
    Some(first)
}
