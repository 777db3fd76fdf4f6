//! The commands in a text, as the shell would read them that it was written for. Nothing is ever run.

mod cmd;
mod extent;
mod output;
mod passages;
mod posix;
mod powershell;
mod programs;
mod prompt;
mod variables;

use super::source::{Mistake, Note, Span};
pub(super) use output::Output;
use programs::{is_curl, is_mark, program};
pub(super) use variables::Variables;

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
    /// What the text takes of its answer.
    pub(super) outputs: Vec<Output>,
    /// The number of its answer, where a variable has all of it.
    answer: Option<usize>,
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
    let dialect = dialect(text);
    let shown = passages::commands_only(text, dialect);
    let all = match dialect {
        Dialect::Posix => posix::commands(&shown, variables),
        Dialect::Cmd => cmd::commands(&shown, variables),
        Dialect::PowerShell => powershell::commands(&shown, variables),
    };
    if let Some(mistake) = variables.beyond.take() {
        return Err(mistake);
    }
    let mut all = all?;
    variables.hand_out(&mut all);
    let mut found = Vec::new();
    let mut left_out = Vec::new();
    for mut command in all {
        let told = command
            .words
            .first()
            .and_then(|first| Some((first, not_done(&first.text)?)));
        if let Some((first, words)) = told {
            notes.push(Note::new(first.span.clone(), words));
        }
        let at = program(&command.words);
        let Some(first) = command.words.get(at) else {
            continue;
        };
        if is_curl(&first.text) {
            command.words.drain(..at);
            if dialect == Dialect::Posix {
                tell_of_percent(&command, notes);
            }
            found.push(command);
        } else if is_lost_option(first, found.last(), text) {
            return Err(Mistake::new(
                first.span.clone(),
                "this option is not a part of the command above it, whose line has no `\\` at its end",
            )
            .help("end each line but the last with `\\`, and leave no line empty"));
        } else if !is_mark(&command.words[at..]) && not_done(&first.text).is_none() {
            left_out.push(first.clone());
        }
    }
    tell_of(&left_out, notes);
    if found.is_empty() {
        return Err(nothing(text));
    }
    Ok(found)
}

/// Tells of programs that are not run, of no more than a few one by one.
fn tell_of(left_out: &[Word], notes: &mut Vec<Note>) {
    const MOST: usize = 10;
    let (told, more) = left_out.split_at(left_out.len().min(MOST));
    for word in told {
        let name = String::from_utf8_lossy(&word.text);
        let words = format!("`{}` is not run: only curl commands are read", short(&name));
        notes.push(Note::new(word.span.clone(), words));
    }
    if let Some(first) = more.first() {
        let words = format!(
            "this and {} more are not run: only curl commands are read",
            more.len() - 1
        );
        notes.push(Note::new(first.span.clone(), words));
    }
}

/// What is not done of a loop or a choice that begins with this word.
fn not_done(word: &[u8]) -> Option<&'static str> {
    match word {
        b"for" | b"foreach" | b"while" | b"until" => {
            Some("a loop is not repeated, since the load repeats what is in it")
        }
        b"elif" | b"else" => Some("nothing is chosen: the commands of all branches are sent"),
        _ => None,
    }
}

/// Tells of what is a variable to the command prompt, and nothing to other shells.
fn tell_of_percent(command: &Command, notes: &mut Vec<Note>) {
    for word in &command.words {
        let text = String::from_utf8_lossy(&word.text);
        if let Some(name) = cmd::named(&text) {
            let words = format!(
                "`%{name}%` is sent as it is; of a command for Windows, call it `curl.exe`"
            );
            notes.push(Note::new(word.span.clone(), words));
        }
    }
}

/// Whether this is no program, but an option that was to be one of the command before it.
fn is_lost_option(word: &Word, before: Option<&Command>, text: &str) -> bool {
    let [b'-', letters @ ..] = word.text.as_slice() else {
        return false;
    };
    let letters = letters.strip_prefix(b"-").unwrap_or(letters);
    let end = before
        .and_then(|command| command.words.last())
        .map(|last| last.span.end);
    let is_next = end.is_some_and(|end| {
        let is_gap = |letter: char| letter.is_whitespace() || "\\^`".contains(letter);
        text.get(end..word.span.start)
            .is_some_and(|between| between.chars().all(is_gap))
    });
    is_next && letters.first().is_some_and(u8::is_ascii_alphabetic)
}

/// The shell that the text was copied for: only cmd ends a line with `^`, only PowerShell with a backtick.
fn dialect(text: &str) -> Dialect {
    let continues = || {
        let mut lines = text.lines();
        lines.next_back();
        lines.any(|line| line.trim_end().ends_with('^'))
    };
    let begins_with = |words: &[&str]| {
        let begins = |line: &str| {
            let line = line.trim_start().to_ascii_lowercase();
            words.iter().any(|word| line.starts_with(word))
        };
        text.lines().any(begins)
    };
    if let Some(dialect) = passages::asking(text) {
        dialect
    } else if text.contains("^\"") || continues() {
        Dialect::Cmd
    } else if continues_with_backtick(text)
        || text.contains("$env:")
        || text.contains("Invoke-WebRequest")
        || text.lines().any(powershell::assigns)
    {
        Dialect::PowerShell
    } else if cmd::named(text).is_some() && begins_with(&["curl.exe", "@echo", "rem ", "set "]) {
        Dialect::Cmd
    } else {
        Dialect::Posix
    }
}

/// Whether a line ends with a backtick that closes nothing, as to a POSIX shell the second one of a pair does.
fn continues_with_backtick(text: &str) -> bool {
    let mut lines = text.lines();
    lines.next_back();
    let mut is_open = false;
    for line in lines.map(str::trim) {
        if line.is_empty() || line.starts_with("```") {
            is_open = false;
            continue;
        }
        let is_odd = line.matches('`').count() % 2 == 1;
        if line.ends_with('`') && !line.ends_with("```") && is_odd != is_open {
            return true;
        }
        is_open ^= is_odd;
    }
    false
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
    crate::console::clean(&shown)
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
