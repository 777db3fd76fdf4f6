//! The head of a source, its imports and its functions.

use super::comment;
use super::function::Uses;
use super::layout::quote_text;
use super::partition::Scenario;
use crate::recording::{Constant, Recording};
use crate::source::{Input, Note};
use std::fmt::Write as _;

/// A secret that a source names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSecret {
    /// The variable of the environment.
    pub name: String,
    /// Its meaning.
    pub what: String,
}

/// The functions that steps call, in their order.
const FUNCTIONS: &str = include_str!("../data/functions.txt");

/// Renders the head of the file.
pub(super) fn render_head(
    recording: &Recording,
    input: &Input,
    from: &str,
    scenarios: usize,
    secrets: &[NamedSecret],
) -> String {
    let (subject, verb) = match from {
        "openapi" => ("Operations that a service describes", "described"),
        "postman" => ("Requests of a collection", "in the collection"),
        "k6" => ("Requests of a k6 script", "in the script"),
        "jmx" => ("Requests of a JMeter plan", "in the plan"),
        _ => ("Requests that were recorded", "recorded"),
    };
    let mut head = format!("//! {subject}, imported by `cargo loadtest import {from}`.\n");
    // Of one scenario, it stands there.
    if scenarios > 1 {
        let mut words = String::new();
        let (name, description) = (recording.name.as_deref(), recording.description.as_deref());
        comment::write_words(&mut words, "//!", name, description);
        if !words.is_empty() {
            head.push_str("//!\n");
            head.push_str(&words);
        }
    }
    if !secrets.is_empty() {
        head.push_str("//!\n//! In the environment of its runs:\n");
        for secret in secrets {
            write_item(&mut head, &format!("`{}`: {}", secret.name, secret.what));
        }
    }
    let is_general = |note: &&Note| {
        let mut exchanges = recording.exchanges.iter();
        !exchanges.any(|exchange| exchange.span == note.span)
    };
    // Equal ones once.
    let mut notes: Vec<(&Note, usize)> = Vec::new();
    for note in recording.notes.iter().filter(is_general) {
        match notes
            .iter_mut()
            .find(|(known, _)| known.words == note.words)
        {
            Some((_, count)) => *count += 1,
            None => notes.push((note, 0)),
        }
    }
    let notes = notes.into_iter().map(|(note, more)| {
        let (line, _) = input.place(note.span.start);
        let words = loadtest::redact::redact(&note.words);
        match more {
            0 => format!("line {line}: {words}"),
            more => format!("line {line} and {more} more: {words}"),
        }
    });
    let mut not_as_recorded: Vec<String> = notes.collect();
    not_as_recorded.extend(left_out(recording));
    not_as_recorded.extend(recording.describe_code());
    if !not_as_recorded.is_empty() {
        let _ = writeln!(head, "//!\n//! Not as {verb}:");
        for words in not_as_recorded {
            write_item(&mut head, &words);
        }
    }
    for part in recording.code.iter().filter(|part| part.exchange.is_none()) {
        let (line, _) = input.place(part.span.start);
        let _ = writeln!(
            head,
            "//!\n//! Line {line}, {}, which is not imported:\n//!\n//! ```text",
            part.what
        );
        super::code::write_lines(&mut head, "//!", &part.text.replace("```", "` ` `"));
        head.push_str("//! ```\n");
    }
    head.push('\n');
    head
}

fn write_item(head: &mut String, words: &str) {
    let mut lines = String::new();
    comment::write_comment(&mut lines, "//!  ", words);
    if let Some(rest) = lines.strip_prefix("//!   ") {
        let _ = write!(head, "//! * {rest}");
    }
}

/// Counts the requests that are left out.
fn left_out(recording: &Recording) -> Vec<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for dropped in &recording.dropped {
        match reasons.iter_mut().find(|(why, _)| *why == dropped.why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((&dropped.why, 1)),
        }
    }
    let requests = reasons.into_iter().map(|(why, count)| {
        let are = if count == 1 { " is" } else { "s are" };
        format!("{count} request{are} left out: {why}")
    });
    requests.collect()
}

/// Renders the imports.
pub(super) fn render_imports(uses: &Uses) -> String {
    let form = "use loadtest::multipart::{Form, Part};\n";
    let form = if uses.parts { form } else { "" };
    format!("{form}use loadtest::prelude::*;\n\n")
}

/// Renders the values that steps share.
pub(super) fn render_constants(recording: &Recording) -> String {
    let mut source = String::new();
    for Constant { name, value, what } in &recording.constants {
        comment::write_comment(&mut source, "///", what);
        let _ = writeln!(source, "const {name}: &str = {};", quote_text(value));
    }
    if !source.is_empty() {
        source.push('\n');
    }
    source
}

/// Renders the functions that steps call.
pub(super) fn render_functions(uses: &Uses) -> String {
    let functions = FUNCTIONS.split_inclusive("\n}\n\n");
    let called = functions.filter(|source| {
        let mut names = uses.functions.iter();
        names.any(|name| source.contains(&format!("\nfn {name}")))
    });
    called.collect()
}

/// Returns the secrets that the scenarios name, and those that the input takes from variables.
pub(super) fn name_secrets(
    recording: &Recording,
    scenarios: &[Scenario],
    source: &str,
) -> Vec<NamedSecret> {
    let is_named = |name: &str| {
        source.contains(&format!("secret.{name}}}}}"))
            || source.contains(&format!("secret(\"{name}\")"))
    };
    let secrets = recording.secrets.iter();
    let secrets = secrets.filter(|secret| secret.is_variable || is_named(&secret.name));
    let named = secrets.map(|secret| {
        let mut names = scenarios.iter().map(|scenario| &scenario.names);
        let step = secret
            .exchange
            .and_then(|at| names.find_map(|names| names.get(&at)));
        let of = step.map_or_else(String::new, |step| format!(" of `{step}`"));
        NamedSecret {
            name: secret.name.clone(),
            what: format!("{}{of}", secret.what),
        }
    });
    let mut named: Vec<_> = named.collect();
    named.sort_by(|one, other| one.name.cmp(&other.name));
    named.dedup_by(|one, other| one.name == other.name);
    named
}
