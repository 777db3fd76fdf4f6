//! Reads the commands in a text as the shell it was copied for would. Nothing is ever run.

mod cmd;
mod posix;
mod powershell;
mod reader;
mod variables;

use super::source::{Mistake, Note, Span};
pub(crate) use variables::EnvironmentLookup;
pub(super) use variables::ShellVariables;

/// Longest text that is read, in bytes.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;

/// Words before a program that change nothing about what it sends.
const PREFIXES: [&[u8]; 21] = [
    b"$", b"%", b"!", b"{", b"}", b"time", b"command", b"builtin", b"exec", b"sudo", b"nohup",
    b"noglob", b"env", b"eval", b"if", b"then", b"elif", b"else", b"&", b"call", b"nice",
];
/// Commands that only close a block, or do nothing.
const NO_OPS: [&[u8]; 4] = [b"fi", b"esac", b"true", b":"];
const LOOPS: [&[u8]; 5] = [b"for", b"foreach", b"while", b"until", b"select"];

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
    pub(super) stdin: CommandInput,
    /// First part whose value only a running shell knows: a mistake if the program is curl.
    doubt: Option<Mistake>,
}

/// Standard input of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum CommandInput {
    /// Not given in the text.
    #[default]
    Nothing,
    /// A here-document or here-string.
    Text(Vec<u8>),
    File(ShellWord),
    /// The output of another program.
    Program(ShellWord),
}

/// The shell that a text was copied for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Posix,
    Cmd,
    PowerShell,
}

/// Returns the commands that call curl, and notes the other programs.
///
/// # Errors
/// A text without a curl command, with a loop, or with a curl command that needs a running shell.
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
        Dialect::Posix => posix::read_commands(text, variables, notes),
        Dialect::Cmd => cmd::read_commands(text, variables),
        Dialect::PowerShell => powershell::read_commands(text, variables, notes),
    };
    let mut found: Vec<ShellCommand> = Vec::new();
    let mut skipped = Vec::new();
    for mut command in commands? {
        if command.words[0].text == b"else" || command.words[0].text == b"elif" {
            let words = "nothing is chosen: the commands of all branches are sent";
            notes.push(Note::new(command.words[0].span.clone(), words));
        }
        command.words.drain(..program_index(&command.words));
        let Some(first) = command.words.first() else {
            continue;
        };
        if is_curl(&first.text) {
            if let Some(doubt) = command.doubt {
                return Err(doubt);
            }
            if dialect == Dialect::Posix {
                note_percent_variables(&command, notes);
            }
            found.push(command);
        } else if LOOPS.contains(&first.text.as_slice()) {
            let mistake = Mistake::new(first.span.clone(), "a loop is not imported");
            return Err(mistake.help(
                "keep the curl command in it, since the load repeats it; `[1-3]` in a URL is a range",
            ));
        } else if is_lost_option(first, found.last(), text) {
            return Err(Mistake::new(
                first.span.clone(),
                "this option is not a part of the command above it, whose line has no `\\` at its end",
            )
            .help("end each line but the last with `\\`, and leave no line empty"));
        } else if !NO_OPS.contains(&first.text.as_slice()) {
            skipped.push(first.clone());
        }
    }
    note_skipped_programs(&skipped, notes);
    if found.is_empty() {
        return Err(no_curl_command(text));
    }
    Ok(found)
}

impl Dialect {
    /// Only cmd ends a line with `^`, only PowerShell with a backtick.
    fn detect(text: &str) -> Self {
        let mut lines = text.lines();
        lines.next_back();
        let is_batch = |line: &str| {
            let line = line.trim_start().to_ascii_lowercase();
            ["curl.exe", "@echo", "rem ", "set "]
                .iter()
                .any(|word| line.starts_with(word))
        };
        if text.contains("^\"") || lines.any(|line| line.trim_end().ends_with('^')) {
            Self::Cmd
        } else if continues_with_backtick(text)
            || text.contains("$env:")
            || text.contains("Invoke-WebRequest")
            || text.lines().any(powershell::is_assignment)
        {
            Self::PowerShell
        } else if cmd::find_variable(text).is_some() && text.lines().any(is_batch) {
            Self::Cmd
        } else {
            Self::Posix
        }
    }
}

/// Returns true where a line ends with a backtick that does not close a POSIX command substitution.
fn continues_with_backtick(text: &str) -> bool {
    let mut lines = text.lines();
    lines.next_back();
    let mut is_open = false;
    lines.map(str::trim_end).any(|line| {
        let is_odd = line.matches('`').count() % 2 == 1;
        let continues = line.ends_with('`') && is_odd != is_open;
        is_open ^= is_odd;
        continues
    })
}

/// Index of the word that names the program; the number of words where none does.
fn program_index(words: &[ShellWord]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.text.as_slice();
        let is_own_option = at > 0 && text.starts_with(b"-") && {
            let before = words[at - 1].text.as_slice();
            before.starts_with(b"-")
                || matches!(before, b"time" | b"env" | b"sudo" | b"exec" | b"command")
        };
        if text == b"timeout" && words.len() > at + 2 {
            at += 2;
        } else if PREFIXES.contains(&text) || is_own_option {
            at += 1;
        } else {
            break;
        }
    }
    at
}

/// Returns true for curl, in any folder and also on Windows.
fn is_curl(program: &[u8]) -> bool {
    let is_separator = |byte: &u8| matches!(byte, b'/' | b'\\');
    let file = program.rsplit(is_separator).next().unwrap_or_default();
    file.eq_ignore_ascii_case(b"curl") || file.eq_ignore_ascii_case(b"curl.exe")
}

/// Notes the programs that are not run, the first ones one by one.
fn note_skipped_programs(skipped: &[ShellWord], notes: &mut Vec<Note>) {
    const MOST: usize = 10;
    for (number, word) in skipped.iter().take(MOST + 1).enumerate() {
        let programs = if number == MOST {
            format!("this and {} more are", skipped.len() - MOST - 1)
        } else {
            format!(
                "`{}` is",
                shorten_text(&String::from_utf8_lossy(&word.text))
            )
        };
        let words = format!("{programs} not run: only curl commands are read");
        notes.push(Note::new(word.span.clone(), words));
    }
}

/// Notes the variables of the command prompt, which other shells send as they are.
fn note_percent_variables(command: &ShellCommand, notes: &mut Vec<Note>) {
    for word in &command.words {
        let text = String::from_utf8_lossy(&word.text);
        if let Some(name) = cmd::find_variable(&text) {
            let words = format!(
                "`%{name}%` is sent as it is; of a command for Windows, call it `curl.exe`"
            );
            notes.push(Note::new(word.span.clone(), words));
        }
    }
}

/// Returns true where this is no program but an option of the command before it.
fn is_lost_option(word: &ShellWord, before: Option<&ShellCommand>, text: &str) -> bool {
    let [b'-', letters @ ..] = word.text.as_slice() else {
        return false;
    };
    let letters = letters.strip_prefix(b"-").unwrap_or(letters);
    let last = before.and_then(|command| command.words.last());
    let between = last.and_then(|last| text.get(last.span.end..word.span.start));
    let is_gap = |letter: char| letter.is_whitespace() || "\\^`".contains(letter);
    between.is_some_and(|between| between.chars().all(is_gap))
        && letters.first().is_some_and(u8::is_ascii_alphabetic)
}

fn no_curl_command(text: &str) -> Mistake {
    let end = text.trim_end().len();
    let start = text.len() - text.trim_start().len();
    let help = if text.contains("Invoke-WebRequest") {
        "this is a command of PowerShell's own; in the browser choose `Copy as cURL`"
    } else if text.contains("fetch(") {
        "this is JavaScript; in the browser choose `Copy as cURL`"
    } else {
        "it has to begin with `curl`; in the network panel of a browser choose `Copy as cURL`"
    };
    Mistake::new(start.min(end)..end, "there is no curl command in this").help(help)
}

/// Returns the beginning of a text, for a message.
fn shorten_text(text: &str) -> String {
    const MOST: usize = 40;
    let mut shown: String = text.chars().take(MOST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    crate::console::clean(&shown)
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

fn would_run(span: Span) -> Mistake {
    Mistake::new(span, "this would run a program, and no shell is ever run")
        .help("write what it would print")
}

fn unknown_outside_shell(span: Span, help: &str) -> Mistake {
    Mistake::new(span, "only a shell that runs knows this value").help(help)
}

#[cfg(test)]
mod tests;
