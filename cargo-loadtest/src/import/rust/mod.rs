//! A recording as the source of a scenario: formatted, named after what its requests do, without secrets.
//!
//! What no declared step can say - bytes that are no text, parts with types of their own - is a function; what
//! neither can say is a comment.

mod json;
mod literal;
mod secrets;
mod step;
#[cfg(test)]
mod tests;

use super::naming;
use super::recording::{Client, Http, Recording};
use super::source::Input;
use crate::shell::clean;
use literal::text;
pub(crate) use secrets::Named;
use secrets::Vault;
use std::fmt::Write as _;

/// How wide a line may be.
const WIDTH: usize = 100;

/// A source, and what has to be in the environment of its runs.
#[derive(Debug)]
pub(crate) struct Written {
    /// The whole file.
    pub(crate) source: String,
    /// The secrets that it names.
    pub(crate) secrets: Vec<Named>,
}

/// Writes the scenario of a recording.
pub(crate) fn write(recording: &Recording, input: &Input, from: &str) -> Written {
    let names = naming::steps(&recording.exchanges);
    let base = recording
        .exchanges
        .first()
        .map(|first| first.origin.clone())
        .unwrap_or_default();
    let mut vault = Vault::new(&recording.secrets);
    let mut steps = String::new();
    let mut uses_parts = false;
    for (exchange, name) in recording.exchanges.iter().zip(&names) {
        if !steps.is_empty() {
            steps.push('\n');
        }
        let url = if exchange.origin == base {
            exchange.target.clone()
        } else {
            format!("{}{}", exchange.origin, exchange.target)
        };
        let notes = recording.notes.iter();
        let notes = notes.filter(|note| note.span == exchange.span);
        for note in notes {
            let _ = writeln!(steps, "    // {}", clean(&note.words));
        }
        uses_parts |= step::write(&mut steps, exchange, name, &url, &mut vault);
    }
    let mut source =
        format!("//! Requests that were recorded, imported by `cargo loadtest import {from}`.\n");
    let secrets = vault.named();
    if !secrets.is_empty() {
        source.push_str("//!\n//! In the environment of its runs:\n");
        for secret in &secrets {
            let _ = writeln!(source, "//! * `{}`: {}", secret.name, clean(&secret.what));
        }
    }
    let of_all: Vec<_> = recording
        .notes
        .iter()
        .filter(|note| {
            let mut exchanges = recording.exchanges.iter();
            !exchanges.any(|exchange| exchange.span == note.span)
        })
        .collect();
    if !of_all.is_empty() {
        source.push_str("//!\n//! Not as recorded:\n");
        for note in of_all {
            let (line, _) = input.place(note.span.start);
            let _ = writeln!(source, "//! * line {line}: {}", clean(&note.words));
        }
    }
    source.push_str("\nuse loadtest::prelude::*;\n");
    if uses_parts {
        source.insert_str(
            source.len() - "use loadtest::prelude::*;\n".len(),
            "use loadtest::multipart::{Form, Part};\n",
        );
    }
    source.push('\n');
    let methods: Vec<_> = recording
        .exchanges
        .iter()
        .take(3)
        .map(|exchange| {
            let path = exchange.target.split('?').next().unwrap_or_default();
            format!("{} {}", exchange.method, clean(path))
        })
        .collect();
    let more = recording.exchanges.len() - methods.len();
    let _ = write!(source, "/// {}", methods.join(", "));
    if more > 0 {
        let _ = write!(source, ", and {more} more");
    }
    source.push('\n');
    let mut options = vec![format!("base = {}", text(&base))];
    options.extend(client(&recording.client));
    attribute(&mut source, "", "scenario", &options);
    let _ = writeln!(
        source,
        "fn {}() {{\n{steps}}}\n\nloadtest::main!();",
        naming::scenario(&names)
    );
    Written { source, secrets }
}

fn client(client: &Client) -> Vec<String> {
    let mut options = Vec::new();
    match client.http {
        None => {}
        Some(Http::One) => options.push("http = 1".to_owned()),
        Some(Http::Two) => options.push("http = 2".to_owned()),
    }
    if let Some(ca) = &client.ca {
        options.push(format!("ca = {}", text(ca)));
    }
    if let Some(identity) = &client.identity {
        options.push(format!("identity = {}", text(identity)));
    }
    if client.insecure {
        options.push("insecure = true".to_owned());
    }
    options
}

/// `#[name(..)]`, on one line where there is room.
fn attribute(source: &mut String, indent: &str, name: &str, options: &[String]) {
    let line = format!("{indent}#[{name}({})]", options.join(", "));
    if line.chars().count() <= WIDTH && !line.contains('\n') {
        source.push_str(&line);
        source.push('\n');
        return;
    }
    let _ = writeln!(source, "{indent}#[{name}(");
    for option in options {
        let option = option.replace('\n', &format!("\n{indent}    "));
        let _ = writeln!(source, "{indent}    {option},");
    }
    let _ = writeln!(source, "{indent})]");
}
