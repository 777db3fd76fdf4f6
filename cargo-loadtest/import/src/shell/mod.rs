//! Reads the curl commands in a text as the shell it was copied for would. Nothing is ever run.
//!
//! Words, quotes, variables and plain here-documents are read; other shell syntax is refused.

mod ansi;
mod cmd;
mod reader;
mod variables;
mod words;

use super::source::{Mistake, Note, Span};
use super::text::quote_name;
use reader::ShellReader;
pub use variables::EnvironmentLookup;
pub(super) use variables::ShellVariables;

/// Longest text that is read, in bytes.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;

/// Prompts, and words that control other commands.
const CONTROL_WORDS: &str =
    "$ % ! { } [[ if then elif else fi for foreach while until select do done case esac function";

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellWord {
    /// Bytes that the program would get.
    pub(super) text: Vec<u8>,
    pub(super) span: Span,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellCommand {
    /// The program and its arguments; at least one.
    pub(super) words: Vec<ShellWord>,
    /// Text of its here-document.
    pub(super) stdin: Option<Vec<u8>>,
}

/// The shell that a text was copied for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Posix,
    Cmd,
    PowerShell,
}

/// Returns the commands that call curl, and notes the other programs.
pub(super) fn read_commands(
    text: &str,
    variables: &mut ShellVariables<'_>,
    notes: &mut Vec<Note>,
) -> Result<Vec<ShellCommand>, Mistake> {
    if text.len() > LONGEST {
        let words = format!("this is longer than {} MiB", LONGEST / 1024 / 1024);
        return Err(Mistake::new(0..0, words));
    }
    let dialect = Dialect::detect(text);
    let commands = match dialect {
        Dialect::Cmd => cmd::read_commands(text, variables)?,
        _ => ShellReader::new(text, dialect, variables).read_commands()?,
    };
    let (found, others): (Vec<_>, Vec<_>) = commands
        .into_iter()
        .partition(|command| is_curl(&command.words[0].text));
    if let Some(first) = others.first().map(|command| &command.words[0]) {
        let name = quote_name(text.get(first.span.clone()).unwrap_or_default());
        let more = match others.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more like this)"),
        };
        let words = format!("{name} is not run: only curl commands are read{more}");
        notes.push(Note::new(first.span.clone(), words));
    }
    if dialect == Dialect::Posix {
        let words = found.iter().flat_map(|command| &command.words);
        notes.extend(words.filter_map(note_percent_variable));
    }
    if found.is_empty() {
        let end = text.trim_end().len();
        let start = (text.len() - text.trim_start().len()).min(end);
        let mistake = Mistake::new(start..end, "there is no curl command in this");
        return Err(mistake.help(
            "it must start with `curl`; in the network panel of a browser choose `Copy as cURL`",
        ));
    }
    Ok(found)
}

impl Dialect {
    /// Only cmd ends a line with `^`, only PowerShell with a backtick.
    fn detect(text: &str) -> Self {
        let ends_line = |end| {
            let mut lines = text.lines();
            lines.next_back();
            lines.any(|line| line.trim_end().ends_with(end))
        };
        if text.contains(" ^\"")
            || ends_line("^")
            || text.contains("curl.exe") && cmd::find_variable(text).is_some()
        {
            Self::Cmd
        } else if ends_line(" `") || text.contains("$env:") {
            Self::PowerShell
        } else {
            Self::Posix
        }
    }
}

/// Refuses words that are no program, so that no command is read in another sense.
fn check_program(word: &ShellWord) -> Result<(), Mistake> {
    let name = String::from_utf8_lossy(&word.text);
    if name.starts_with('-') {
        let words = "this option is not a part of the command above it";
        let help = "end each line but the last with `\\`, and leave no line empty";
        return Err(Mistake::new(word.span.clone(), words).help(help));
    }
    if CONTROL_WORDS.split(' ').any(|control| control == name) {
        let words = format!("`{name}` is not imported: only plain curl commands are");
        let help = "leave out prompts, conditions and loops, since the load repeats the commands";
        return Err(Mistake::new(word.span.clone(), words).help(help));
    }
    Ok(())
}

/// Returns true for curl, in any folder and also on Windows.
fn is_curl(program: &[u8]) -> bool {
    let program = program.strip_prefix(b"@").unwrap_or(program);
    let is_separator = |byte: &u8| matches!(byte, b'/' | b'\\');
    let file = program.rsplit(is_separator).next().unwrap_or_default();
    file.eq_ignore_ascii_case(b"curl") || file.eq_ignore_ascii_case(b"curl.exe")
}

/// Notes a variable of the command prompt, which other shells send as it is.
fn note_percent_variable(word: &ShellWord) -> Option<Note> {
    let text = String::from_utf8_lossy(&word.text);
    let name = cmd::find_variable(&text)?;
    let words =
        format!("`%{name}%` is sent as it is; in a command for Windows, call it `curl.exe`");
    Some(Note::new(word.span.clone(), words))
}

/// Returns the name of a variable at the beginning of a text, if one is there.
fn leading_name(text: &[u8]) -> Option<&[u8]> {
    let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let end = text.iter().position(|byte| !is_in_name(byte));
    let name = &text[..end.unwrap_or(text.len())];
    let begins = name.first().is_some_and(|byte| !byte.is_ascii_digit());
    begins.then_some(name)
}

/// Returns the length of the line end at the beginning of a text.
fn line_end(text: &[u8]) -> usize {
    match text {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => 0,
    }
}

fn never_closed(span: Span) -> Mistake {
    Mistake::new(span, "this is never closed").help("copy the whole command, up to its last quote")
}

#[cfg(test)]
mod tests;
