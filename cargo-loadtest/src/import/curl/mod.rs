//! Commands that call curl, as requests.

mod arguments;
mod cookies;
pub(super) mod credentials;
mod data;
mod files;
mod form;
mod glob;
mod headers;
mod options;
mod request;
#[cfg(test)]
mod tests;
mod url;

use super::recording::Recording;
use super::shell::{self, ShellCommand, ShellVariables, ShellWord};
use super::source::{Input, Mistake};
pub(crate) use files::PermittedFiles;
use request::RequestReader;
use std::fmt::Write as _;

/// Most requests of an input.
pub(super) const MOST_REQUESTS: usize = 1000;

/// Reads text as it was copied. Without an environment, variables have no values.
pub(crate) fn read_text(
    input: &Input,
    files: &PermittedFiles,
    environment: Option<shell::EnvironmentLookup<'_>>,
) -> Result<Recording, Mistake> {
    let mut variables = ShellVariables::new(&input.text, environment);
    let mut recording = Recording::default();
    let commands = shell::read_commands(&input.text, &mut variables, &mut recording.notes)?;
    recording.secrets = variables.secrets();
    read_all(&commands, files, &variables, &mut recording)?;
    Ok(recording)
}

/// Reads the words of one command, which a shell has read already; the input is made of them, so that places in
/// it can be shown.
pub(crate) fn read_words(
    words: &[Vec<u8>],
    files: &PermittedFiles,
) -> (Input, Result<Recording, Mistake>) {
    let mut text = String::new();
    let mut command = ShellCommand::default();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        let start = text.len();
        let shown = String::from_utf8_lossy(word);
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,?&".contains(letter);
        if !shown.is_empty() && shown.chars().all(is_plain) {
            text.push_str(&shown);
        } else {
            let _ = write!(text, "'{shown}'");
        }
        command.words.push(ShellWord {
            text: word.clone(),
            span: start..text.len(),
        });
    }
    let input = Input::new("<command line>", text);
    let mut recording = Recording::default();
    let variables = ShellVariables::new("", None);
    let read = read_all(
        std::slice::from_ref(&command),
        files,
        &variables,
        &mut recording,
    );
    (input, read.map(|()| recording))
}

fn read_all(
    commands: &[ShellCommand],
    files: &PermittedFiles,
    variables: &ShellVariables<'_>,
    into: &mut Recording,
) -> Result<(), Mistake> {
    let mut reader = RequestReader::new(files, variables);
    for command in commands {
        let operations = arguments::read_operations(&command.words[1..], &mut into.notes)?;
        let span = &command.words[0].span;
        reader.read_command(&operations, &command.stdin, span, into)?;
    }
    into.notes.sort_by_key(|note| note.span.start);
    Ok(())
}
