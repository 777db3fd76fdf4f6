//! The commands in a text, as the shell would read them that it was written for. Nothing is ever run.

mod cmd;
mod posix;
mod powershell;

use super::recording::Secret;
use super::source::{Mistake, Note, Span};

/// The longest text that is read.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// What the program would get.
    pub(super) text: Vec<u8>,
    /// Where it stands.
    pub(super) span: Span,
}

/// A command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// The program and its arguments; at least one.
    pub(super) words: Vec<Word>,
    /// What it would read from its standard input.
    pub(super) stdin: Stdin,
}

/// What a command reads from its standard input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Stdin {
    /// Nothing that the text says.
    #[default]
    Nothing,
    /// This text, which stands beside the command.
    Text(Vec<u8>),
    /// A file.
    File(Word),
    /// What another program prints.
    Program(Word),
}

/// The shell that a text was copied for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Posix,
    Cmd,
    PowerShell,
}

/// The variables of the environment, and which of them were asked for.
pub(super) struct Variables<'a> {
    lookup: &'a mut dyn FnMut(&str) -> Option<String>,
    set: Vec<(String, Vec<u8>)>,
    pub(super) used: Vec<Secret>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(lookup: &'a mut dyn FnMut(&str) -> Option<String>) -> Self {
        Self {
            lookup,
            set: Vec::new(),
            used: Vec::new(),
        }
    }

    /// What a variable holds: what the text set it to, or that of the environment.
    fn value(&mut self, name: &str) -> Option<Vec<u8>> {
        if let Some((_, value)) = self.set.iter().rev().find(|(set, _)| set == name) {
            return Some(value.clone());
        }
        let value = (self.lookup)(name)?;
        if !value.is_empty() && !self.used.iter().any(|used| used.name == name) {
            self.used.push(Secret {
                name: name.to_owned(),
                what: "a variable of the copied command".to_owned(),
                value: value.clone(),
            });
        }
        Some(value.into_bytes())
    }

    fn set(&mut self, name: &str, value: Vec<u8>) {
        self.set.retain(|(set, _)| set != name);
        self.set.push((name.to_owned(), value));
    }

    /// The same, of one that has to be there.
    fn needed(&mut self, name: &str, span: &Span) -> Result<Vec<u8>, Mistake> {
        self.value(name).ok_or_else(|| {
            Mistake::new(
                span.clone(),
                format!("the variable `{name}` is not in the environment"),
            )
            .help("export it first; it is never sent with an empty value")
        })
    }
}

/// The commands that call curl; what else there is, is told.
pub(super) fn commands(
    text: &str,
    variables: &mut Variables<'_>,
    notes: &mut Vec<Note>,
) -> Result<Vec<Command>, Mistake> {
    if text.len() > LONGEST {
        return Err(Mistake::new(
            0..0,
            format!("this is longer than {} MiB", LONGEST / 1024 / 1024),
        ));
    }
    let all = match dialect(text) {
        Dialect::Posix => posix::commands(text, variables)?,
        Dialect::Cmd => cmd::commands(text, variables)?,
        Dialect::PowerShell => powershell::commands(text, variables)?,
    };
    let mut found = Vec::new();
    for command in all {
        let Some(command) = without_prompt(command) else {
            continue;
        };
        if is_curl(&command.words[0].text) {
            found.push(command);
        } else {
            let first = &command.words[0];
            let name = String::from_utf8_lossy(&first.text);
            notes.push(Note::new(
                first.span.clone(),
                format!("`{}` is not run: only curl commands are read", short(&name)),
            ));
        }
    }
    if found.is_empty() {
        return Err(nothing(text));
    }
    Ok(found)
}

/// The shell that the text was copied for: only cmd ends a line with `^`, only PowerShell with a backtick.
fn dialect(text: &str) -> Dialect {
    let ends_with = |mark: char| {
        let mut lines = text.lines();
        lines.next_back();
        lines.any(|line| line.trim_end().ends_with(mark) && !line.trim_end().ends_with("```"))
    };
    if text.contains("^\"") || ends_with('^') {
        Dialect::Cmd
    } else if ends_with('`') || text.contains("$env:") || text.contains("Invoke-WebRequest") {
        Dialect::PowerShell
    } else {
        Dialect::Posix
    }
}

/// A command without what people copy with it: a prompt, or a word that changes nothing.
fn without_prompt(mut command: Command) -> Option<Command> {
    let extra = command.words.iter().take_while(|word| {
        matches!(
            word.text.as_slice(),
            b"$" | b"%" | b"time" | b"command" | b"exec" | b"sudo" | b"nohup"
        )
    });
    let extra = extra.count();
    command.words.drain(..extra);
    (!command.words.is_empty()).then_some(command)
}

fn is_curl(program: &[u8]) -> bool {
    let name = program
        .rsplit(|byte| matches!(byte, b'/' | b'\\'))
        .next()
        .unwrap_or_default();
    name.eq_ignore_ascii_case(b"curl") || name.eq_ignore_ascii_case(b"curl.exe")
}

/// Why there is nothing to import.
fn nothing(text: &str) -> Mistake {
    let end = text.trim_end().len();
    let start = text.len() - text.trim_start().len();
    let span = start.min(end)..end;
    let help = if text.contains("Invoke-WebRequest") {
        "this is a command of PowerShell's own; in the browser choose `Copy as cURL`"
    } else if text.contains("fetch(") {
        "this is JavaScript; in the browser choose `Copy as cURL`"
    } else {
        "it has to begin with `curl`; in the network panel of a browser choose `Copy as cURL`"
    };
    Mistake::new(span, "there is no curl command in this").help(help)
}

/// The beginning of a text, for a message.
fn short(text: &str) -> String {
    const MOST: usize = 40;
    let mut shown: String = text.chars().take(MOST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    crate::shell::clean(&shown)
}

/// Whether a letter can begin the name of a variable.
fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests;
