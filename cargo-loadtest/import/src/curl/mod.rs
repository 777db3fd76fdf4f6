//! Commands that call curl, as requests.

mod arguments;
mod cookies;
mod files;
mod form;
mod headers;
mod options;
mod request;
#[cfg(test)]
mod tests;
mod url;

use super::recording::Recording;
use super::shell::{self, ShellCommand, ShellVariables, ShellWord};
use super::source::{Input, Mistake};
pub use files::PermittedFiles;
use request::RequestReader;

/// Reads text as it was copied. Without an environment, variables have no values, but for those of `hosts`.
///
/// # Errors
/// The first thing that is no command, and where it stands.
pub fn read_text<'e>(
    input: &Input,
    files: &PermittedFiles,
    environment: Option<shell::EnvironmentLookup<'e>>,
    hosts: Option<shell::EnvironmentLookup<'e>>,
) -> Result<Recording, Mistake> {
    let is_named = environment.is_none();
    let mut variables = ShellVariables::new(&input.text, environment, hosts);
    let mut recording = Recording::default();
    let commands = shell::read_commands(&input.text, &mut variables, &mut recording.notes)?;
    recording.secrets = variables.secrets();
    let mut recording = read_all(&commands, files, &variables, recording)?;
    if is_named {
        // A variable of a host is in the source with its value.
        recording.drop_unused();
    }
    Ok(recording)
}

/// Reads the words of one command, which a shell has read already; the input is made of them, so that places in
/// it can be shown.
///
/// # Errors
/// The first thing that is no command, and where it stands.
pub fn read_words(
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
        let quote = if !shown.is_empty() && shown.chars().all(is_plain) {
            ""
        } else {
            "'"
        };
        text.extend([quote, &shown, quote]);
        command.words.push(ShellWord {
            text: word.clone(),
            span: start..text.len(),
        });
    }
    let input = Input::new("<command line>", text);
    let variables = ShellVariables::default();
    let read = read_all(&[command], files, &variables, Recording::default());
    (input, read)
}

fn read_all(
    commands: &[ShellCommand],
    files: &PermittedFiles,
    variables: &ShellVariables<'_>,
    mut recording: Recording,
) -> Result<Recording, Mistake> {
    let mut reader = RequestReader::new(files, variables, &mut recording);
    for command in commands {
        reader.read_command(command)?;
    }
    recording.notes.sort_by_key(|note| note.span.start);
    Ok(recording)
}
