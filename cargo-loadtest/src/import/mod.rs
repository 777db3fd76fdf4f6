//! Imports recorded requests: reads them from curl commands, archives, OpenAPI documents and Postman collections, and
//! writes a load test.
//!
//! A reader of a format makes a [`Recording`]; the passes [`correlate`] and [`hide_secrets`] transform it; the writers
//! print it. No shell is ever run, and no file is read without permission.

mod correlation;
mod curl;
mod document;
#[cfg(test)]
mod fuzz;
mod har;
mod marked;
mod naming;
mod openapi;
mod postman;
mod recording;
#[cfg(test)]
mod refusals;
mod replayed;
mod rust;
mod secrets;
mod shell;
mod source;
mod text;

pub(crate) use curl::Files;
pub(crate) use document::format;
pub(crate) use har::{HarOptions, read_har};
pub(crate) use openapi::{OpenApiOptions, read_openapi};
pub(crate) use postman::{PostmanOptions, read_environment};
pub(crate) use recording::Recording;
pub(crate) use replayed::replay_recording;
pub(crate) use rust::{Linked, NamedSecret, format_source, write_source};
pub(crate) use secrets::{hide_secrets, redact_text};
pub(crate) use source::{Input, Mistake};

/// Reads curl commands from a text. For an import, `lookup` returns markers for variables instead of their values.
pub(crate) fn read_text(
    input: &Input,
    files: &Files,
    lookup: &mut dyn FnMut(&str) -> Option<String>,
    is_import: bool,
) -> Result<Recording, Mistake> {
    let recording = curl::read_text(input, files, lookup, is_import)?;
    let host = recording.exchanges.iter().find(|exchange| {
        let mut variables = recording.secrets.iter();
        is_import && variables.any(|variable| exchange.origin.contains(&variable.value))
    });
    if let Some(exchange) = host {
        let mistake = Mistake::new(
            exchange.span.clone(),
            "the host comes from a variable, and a scenario names its host",
        );
        let help = "write the host itself; `--base-url` sends the requests elsewhere";
        return Err(mistake.help(help));
    }
    Ok(recording.typed(!is_import))
}

/// Reads the words of one curl command.
pub(crate) fn read_words(words: &[Vec<u8>], files: &Files) -> (Input, Result<Recording, Mistake>) {
    let (input, read) = curl::read_words(words, files);
    (input, read.map(|recording| recording.typed(true)))
}

/// Reads a Postman collection.
pub(crate) fn read_postman(input: &Input, options: &PostmanOptions) -> Result<Recording, Mistake> {
    postman::read_postman(input, options).map(|recording| recording.typed(false))
}

/// Replaces values of requests that earlier answers have by references.
pub(crate) fn correlate(recording: &mut Recording) {
    let mut marked = std::mem::take(recording).marked();
    correlation::correlate(&mut marked);
    *recording = marked.typed(false);
}
