//! A recording as the source of scenarios: formatted, named after what its requests do, without secrets.
//!
//! What no declared step can say - bytes that are no text, parts with types of their own, a value of a page of
//! HTML - is a function; what neither can say is a comment.

mod attribute;
mod built;
mod comment;
mod declared;
mod feed;
mod head;
mod json;
mod layout;
mod literal;
mod partition;
mod scope;
mod secrets;
mod shared;
mod step;
mod template;
#[cfg(test)]
mod tests;
mod types;

use super::marked::{Client, Exchange, Http, Recording, Secret};
use super::source::Input;
use attribute::Choice;
use built::Uses;
use partition::{Needs, Scenario};
pub(crate) use scope::Linked;
use scope::Scope;
pub(crate) use secrets::Named;
use secrets::Vault;
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use template::Markers;
use types::Types;

/// How wide a line may be.
const WIDTH: usize = 100;

/// A source, and what the user has to know of it.
#[derive(Debug)]
pub(crate) struct Written {
    /// The whole file.
    pub(crate) source: String,
    /// The secrets that it names, which have to be in the environment of its runs.
    pub(crate) secrets: Vec<Named>,
    /// The values that come from earlier answers.
    pub(crate) linked: Vec<Linked>,
}

/// Writes the scenarios of a recording.
pub(crate) fn write(recording: &Recording, input: &Input, from: &str) -> Written {
    let markers = Markers::new(recording);
    let needs = Needs::of(recording, &markers);
    let scenarios = partition::scenarios(recording, &needs);
    let mut vault = Vault::new(recording, markers);
    let types = types(recording, &needs, &scenarios);
    let first = recording.exchanges.first();
    let base = recording
        .base
        .clone()
        .or(first.map(|first| first.origin.clone()));
    let base = base.unwrap_or_default();
    // A value that is secret in one place is so in all of them, also before it.
    let parts = (&*scenarios, &needs, &types);
    functions(recording, parts, &base, &mut vault);
    vault.seek_known();
    let (body, uses, linked) = functions(recording, parts, &base, &mut vault);
    let secrets = vault.named(&body);
    let mut source = head::head(recording, input, from, scenarios.len(), &secrets);
    source.push_str(&head::imports(&uses));
    source.push_str(&types.source);
    source.push_str(&body);
    source.push_str(&head::functions(&uses));
    source.push_str("loadtest::main!();\n");
    Written {
        source,
        secrets,
        linked,
    }
}

/// What is secret in a recording, and in the environment of its runs.
pub(crate) fn secrets(recording: &Recording) -> Vec<Secret> {
    let markers = Markers::new(recording);
    let needs = Needs::of(recording, &markers);
    let scenarios = partition::scenarios(recording, &needs);
    let mut vault = Vault::new(recording, markers);
    let types = types(recording, &needs, &scenarios);
    functions(recording, (&scenarios, &needs, &types), "", &mut vault);
    vault.values()
}

/// The functions of the scenarios, what they use of the rest of the file, and the values they have of earlier answers.
fn functions(
    recording: &Recording,
    (scenarios, needs, types): (&[Scenario], &Needs, &Types),
    base: &str,
    vault: &mut Vault,
) -> (String, Uses, Vec<Linked>) {
    let mut uses = Uses::default();
    let mut linked: Vec<Linked> = Vec::new();
    let mut known: HashSet<Linked> = HashSet::new();
    let mut body = String::new();
    for scenario in scenarios {
        let references = scenario.references(recording, needs);
        let origins = references.iter().map(|at| &recording.references[*at].from);
        let mut scope = Scope {
            told: HashSet::new(),
            shared: Vec::new(),
            recording,
            types,
            scenario,
            above: HashSet::new(),
            read: origins.filter_map(partition::exchange_of).collect(),
        };
        describe(&mut body, recording, scenario, &scope, vault);
        let mut options = vec![Choice::text("base", base)];
        let exchanges = scenario.steps.iter().map(|at| &recording.exchanges[*at]);
        let exchanges: Vec<&Exchange> = exchanges.collect();
        options.extend(client(&recording.client, &exchanges));
        options.extend(shared::options(&mut scope, vault));
        attribute::write(&mut body, "", "scenario", &options);
        let _ = writeln!(body, "fn {}() {{", scenario.name);
        feed::write(&mut body, recording, scenario, &references, vault);
        for (at, number) in scenario.steps.iter().enumerate() {
            if at > 0 {
                body.push('\n');
            }
            let exchange = &recording.exchanges[*number];
            for note in head::notes_of(recording, exchange) {
                let words = loadtest::redact::redact_text(&note.words);
                comment::write(&mut body, "    //", &words);
            }
            let references: Vec<usize> = needs.references[*number].iter().copied().collect();
            scope.doubts(&mut body, "    //", &references);
            step::write(&mut body, *number, base, &scope, vault, &mut uses);
            let links = scope.linked(scope.step(*number), &references);
            linked.extend(links.into_iter().filter(|link| known.insert(link.clone())));
            scope.above.insert(*number);
        }
        body.push_str("}\n\n");
    }
    (body, uses, linked)
}

/// The types of all answers that anything is taken of.
fn types(recording: &Recording, needs: &Needs, scenarios: &[Scenario]) -> Types {
    let mut references = BTreeSet::new();
    let mut names: Vec<(usize, String)> = Vec::new();
    let mut known = HashSet::new();
    for scenario in scenarios {
        references.extend(scenario.references(recording, needs));
        for number in &scenario.steps {
            if known.insert(*number) {
                names.push((*number, scenario.names[number].clone()));
            }
        }
    }
    Types::new(recording, &references, &names)
}

/// What a scenario is: as the input says it, else its first requests.
fn describe(
    source: &mut String,
    recording: &Recording,
    scenario: &Scenario,
    scope: &Scope<'_>,
    vault: &mut Vault,
) {
    let begin = source.len();
    if let Some(title) = &scenario.title {
        comment::write(source, "///", &comment::title(title));
    }
    if let Some(description) = &scenario.description {
        let mut words = String::new();
        if comment::describe(&mut words, "///", description) {
            if source.len() > begin {
                source.push_str("///\n");
            }
            source.push_str(&words);
        }
    }
    if source.len() > begin {
        return;
    }
    let exchanges = scenario.steps.iter().map(|at| &recording.exchanges[*at]);
    let mut words: Vec<String> = exchanges
        .take(3)
        .map(|exchange| format!("{} {}", exchange.method, path(exchange, scope, vault)))
        .collect();
    let more = scenario.steps.len() - words.len();
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    comment::write(source, "///", &words.join(", "));
}

/// The path of a request, as people see it.
fn path(exchange: &Exchange, scope: &Scope<'_>, vault: &mut Vault) -> String {
    let target = exchange.pattern.as_deref().unwrap_or(&exchange.target);
    let path = target.split('?').next().unwrap_or_default();
    comment::bounded(&partition::shown(scope.recording, &vault.plain(path)), 80)
}

fn client(client: &Client, exchanges: &[&Exchange]) -> Vec<Choice> {
    let mut options = Vec::new();
    match client.http {
        None => {}
        Some(Http::One) => options.push(Choice::Plain("http = 1".to_owned())),
        Some(Http::Two) => options.push(Choice::Plain("http = 2".to_owned())),
    }
    if let Some(ca) = &client.ca {
        options.push(Choice::text("ca", ca));
    }
    if let Some(identity) = &client.identity {
        options.push(Choice::text("identity", identity));
    }
    if client.insecure {
        options.push(Choice::Plain("insecure = true".to_owned()));
    }
    if client.redirects > 0 {
        options.push(Choice::Plain(format!("redirects = {}", client.redirects)));
    }
    // Those of answers would go with what a step sends itself, and were recorded without.
    let sends_own = |exchange: &&Exchange| {
        let mut headers = exchange.headers.iter();
        headers.any(|header| header.name.eq_ignore_ascii_case("cookie"))
    };
    let asks_again = exchanges.len() > 1
        || client.redirects > 0
        || exchanges.iter().any(|exchange| exchange.redirects > 0);
    if !client.keeps_cookies && asks_again && exchanges.iter().any(sends_own) {
        options.push(Choice::Own("cookies = off".to_owned()));
    }
    options
}
