//! What is printed beside results, as cargo prints it: to standard error, coloured on a terminal.
//!
//! A closed stream never ends the program: what cannot be shown is left out.

use crate::ci;
use crate::error::Error;
use crate::process::{self, Stream};
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use clap_cargo::style;
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether `--ci` was given.
static IS_PLAIN: AtomicBool = AtomicBool::new(false);

/// Prints what clap found, or the help it was asked for.
pub(crate) fn usage(error: &clap::Error) -> u8 {
    let text = error.render();
    let text = text.ansi();
    let stream = if error.use_stderr() {
        Stream::Errors
    } else {
        Stream::Output
    };
    let _ = write_styled(stream, format_args!("{text}"));
    u8::try_from(error.exit_code()).unwrap_or(1)
}

/// Prints an error with its causes and its help.
pub(crate) fn error(error: &Error) {
    line(style::ERROR, "error", error);
    explain(error);
}

/// The same of one that fails nothing.
pub(crate) fn caution(error: &Error) {
    line(style::WARN, "warning", error);
    explain(error);
}

fn explain(error: &Error) {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        line(style::CONTEXT, "caused by", cause);
        source = cause.source();
    }
    if let Some(help) = error.help() {
        line(style::TRANSIENT, "help", help);
    }
}

/// Prints what may not be as it was meant.
pub(crate) fn warning(text: impl Display) {
    line(style::WARN, "warning", text);
}

/// Prints a line as cargo shows what it does: a verb, right-aligned, and what it is done to.
pub(crate) fn status(verb: &str, object: impl Display) {
    verdict(true, verb, object);
}

/// The same of something that may be bad.
pub(crate) fn verdict(is_good: bool, verb: &str, object: impl Display) {
    let style = if is_good { style::GOOD } else { style::WARN };
    let object = shown(object);
    let _ = write_styled(
        Stream::Errors,
        format_args!("{style}{verb:>12}{style:#} {object}\n"),
    );
}

/// Prints a result, and the end of its last line, to standard output. That nobody reads it is no
/// error.
///
/// # Errors
/// When it cannot be written: to a full disk, say.
pub(crate) fn result(text: impl Display) -> Result<(), Error> {
    let text = shown(text);
    printed(write_styled(Stream::Output, format_args!("{text}\n")))
}

/// Prints a result that is a file to standard output, as it is.
///
/// # Errors
/// As [`result`].
pub(crate) fn file(bytes: &[u8]) -> Result<(), Error> {
    printed(process::write_to(Stream::Output, bytes))
}

fn printed(result: std::io::Result<()>) -> Result<(), Error> {
    match result {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => {
            Err(Error::failure("could not write to standard output").with_source(source))
        }
        _ => Ok(()),
    }
}

/// Prints a plain line to standard error.
pub(crate) fn progress(text: impl Display) {
    let _ = write_styled(Stream::Errors, format_args!("{}\n", shown(text)));
}

/// Whether this is a build server, whose terminals are no terminals of people.
pub(crate) fn is_ci() -> bool {
    IS_PLAIN.load(Ordering::Relaxed) || process::variable_os("CI").is_some()
}

/// Prints for a build server from here on, wherever this runs: plain lines, no colour.
pub(crate) fn be_plain() {
    if process::is_replaced() {
        return;
    }
    IS_PLAIN.store(true, Ordering::Relaxed);
}

/// What is printed, made no command to a server that reads commands from a log.
fn shown(text: impl Display) -> String {
    let text = text.to_string();
    if process::variable_os("GITHUB_ACTIONS").is_some() {
        ci::harmless(&text)
    } else {
        text
    }
}

/// Prints a command to the build server, which is told by lines of standard error.
pub(crate) fn command(line: impl Display) {
    let _ = process::write_to(Stream::Errors, format!("{line}\n").as_bytes());
}

/// A text from outside made harmless, on one line: no control character, nothing that turns the direction
/// of writing or that nobody sees, and nothing that is no character at all.
pub(crate) fn clean(text: &str) -> String {
    let on_a_line = |letter| match letter {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        letter => harmless(letter),
    };
    text.chars().map(on_a_line).collect()
}

/// The same, on its lines.
pub(crate) fn clean_lines(text: &str) -> String {
    let on_its_line = |letter| match letter {
        '\n' | '\t' => letter,
        letter => harmless(letter),
    };
    text.chars().map(on_its_line).collect()
}

fn harmless(letter: char) -> char {
    match letter {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or(' '),
        '\x7f' => '␡',
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{fffe}'
        | '\u{ffff}' => '\u{fffd}',
        _ => letter,
    }
}

/// Whether what goes to standard output is to be coloured.
pub(crate) fn colours_results() -> bool {
    choose_colour(Stream::Output) != ColorChoice::Never
}

/// Whether standard error is a terminal on which lines can be drawn anew.
pub(crate) fn can_redraw() -> bool {
    !process::is_replaced()
        && std::io::stderr().is_terminal()
        && !is_ci()
        && process::variable_os("TERM").is_none_or(|term| term != "dumb")
}

/// The columns of the terminal that results go to; 100 where there is none.
pub(crate) fn width() -> usize {
    let size =
        (!process::is_replaced()).then(|| terminal_size::terminal_size_of(std::io::stdout()));
    size.flatten()
        .map_or(100, |(terminal_size::Width(width), _)| usize::from(width))
}

/// The columns of the terminal that progress goes to; 80 where there is none.
pub(crate) fn progress_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr())
        .map_or(80, |(terminal_size::Width(width), _)| usize::from(width))
}

/// The rows of that terminal; 24 where there is none.
pub(crate) fn progress_height() -> usize {
    terminal_size::terminal_size_of(std::io::stderr())
        .map_or(24, |(_, terminal_size::Height(height))| usize::from(height))
}

/// Chooses whether a stream is coloured; a captured one never is.
fn choose_colour(stream: Stream) -> ColorChoice {
    match stream {
        _ if process::is_replaced() => ColorChoice::Never,
        Stream::Output => AutoStream::choice(&std::io::stdout()),
        Stream::Errors => AutoStream::choice(&std::io::stderr()),
    }
}

/// Writes text with colours, or without them where the stream takes none.
fn write_styled(stream: Stream, text: std::fmt::Arguments<'_>) -> std::io::Result<()> {
    let mut styled = AutoStream::new(Vec::new(), choose_colour(stream));
    styled.write_fmt(text)?;
    process::write_to(stream, &styled.into_inner())
}

fn line(style: Style, label: &str, message: impl Display) {
    let message = shown(message);
    let _ = write_styled(
        Stream::Errors,
        format_args!("{style}{label}{style:#}: {message}\n"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_drive_a_terminal_is_shown_instead() {
        assert_eq!(
            clean("a\x1b[31mb\u{9b}c\u{202e}d\ne"),
            "a␛[31mb\u{fffd}c\u{fffd}d e"
        );
    }
}
