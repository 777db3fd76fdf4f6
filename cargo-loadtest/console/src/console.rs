//! Prints status, warnings and errors as cargo does, on standard error, and results on standard output.
//!
//! A closed stream never ends the program.

use crate::error::Error;
use crate::process::{self, Stream};
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use clap_cargo::style;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::redacted::replace_controls;
use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by `--ci`.
static IS_PLAIN: AtomicBool = AtomicBool::new(false);

/// Prints a mistake in the command line, or the help, and returns the exit code. The text has no colours if what was
/// typed `has_controls`, which it repeats.
pub fn print_usage(error: &clap::Error, has_controls: bool) -> ExitCode {
    let text = error.render();
    let text = if has_controls {
        clean_lines(&text.to_string())
    } else {
        text.ansi().to_string()
    };
    let stream = if error.use_stderr() {
        Stream::Errors
    } else {
        Stream::Output
    };
    let _ = write_styled(stream, format_args!("{text}"));
    if error.use_stderr() {
        ExitCode::Usage
    } else {
        ExitCode::Passed
    }
}

/// Prints an error with its causes and its help.
pub fn print_error(error: &Error) {
    print_line(style::ERROR, "error", error);
    print_causes(error);
}

/// Prints an error that does not fail the command.
pub fn print_caution(error: &Error) {
    print_line(style::WARN, "warning", error);
    print_causes(error);
}

fn print_causes(error: &Error) {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        print_line(style::CONTEXT, "caused by", cause);
        source = cause.source();
    }
    if let Some(help) = error.help() {
        print_line(style::TRANSIENT, "help", help);
    }
}

/// Prints a warning.
pub fn print_warning(text: impl Display) {
    print_line(style::WARN, "warning", text);
}

/// Prints a status line as cargo does: a right-aligned verb and its object.
pub fn print_status(verb: &str, object: impl Display) {
    print_verdict(true, verb, object);
}

/// Prints a status line, coloured as good or bad.
pub fn print_verdict(is_good: bool, verb: &str, object: impl Display) {
    let style = if is_good { style::GOOD } else { style::WARN };
    let object = neutralise_commands(clean_lines(&object.to_string()));
    let _ = write_styled(
        Stream::Errors,
        format_args!("{style}{verb:>12}{style:#} {object}\n"),
    );
}

/// Prints a result and a line break to standard output; a closed pipe is not an error.
///
/// # Errors
/// When it cannot be written: to a full disk, say.
pub fn print_result(text: impl Display) -> Result<(), Error> {
    let text = neutralise_commands(text);
    ignore_closed(write_styled(Stream::Output, format_args!("{text}\n")))
}

/// Prints a result in JSON as [`print_result`] does.
///
/// # Errors
/// As [`print_result`].
pub fn print_json(json: impl Display) -> Result<(), Error> {
    print_result(escape_json(&json.to_string()))
}

/// Writes a file to standard output unchanged.
///
/// # Errors
/// As [`print_result`].
pub fn print_file(bytes: &[u8]) -> Result<(), Error> {
    ignore_closed(process::write_to(Stream::Output, bytes))
}

fn ignore_closed(result: std::io::Result<()>) -> Result<(), Error> {
    match result {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => {
            Err(Error::failure("could not write to standard output").with_source(source))
        }
        _ => Ok(()),
    }
}

/// Prints a plain line to standard error.
pub fn print_progress(text: impl Display) {
    let _ = write_styled(
        Stream::Errors,
        format_args!("{}\n", neutralise_commands(clean_lines(&text.to_string()))),
    );
}

/// Returns true on a build server: `--ci` or the variable `CI`.
pub fn is_ci() -> bool {
    IS_PLAIN.load(Ordering::Relaxed) || process::variable_os("CI").is_some()
}

/// Prints plain lines without colour from here on.
pub fn disable_redraw() {
    if process::is_replaced() {
        return;
    }
    IS_PLAIN.store(true, Ordering::Relaxed);
}

/// On GitHub, breaks lines that its runner would take for commands.
fn neutralise_commands(text: impl Display) -> String {
    let text = text.to_string();
    if process::variable_os("GITHUB_ACTIONS").is_some() {
        break_commands(&text)
    } else {
        text
    }
}

/// Breaks every line that GitHub would take for a command.
pub fn break_commands(text: &str) -> String {
    let broken = text.replace("##[", "# #[");
    let mut lines = Vec::new();
    for line in broken.split('\n') {
        // A runner leaves out blanks, and letters that nobody sees; colours may be taken out before.
        let is_first = |at: usize| {
            let before = anstream::adapter::strip_str(&line[..at]).to_string();
            before
                .chars()
                .all(|letter| !letter.is_ascii_graphic() && !letter.is_alphanumeric())
        };
        lines.push(match line.find("::") {
            Some(at) if is_first(at) => format!("{}: :{}", &line[..at], &line[at + 2..]),
            _ => line.to_owned(),
        });
    }
    lines.join("\n")
}

/// Prints a workflow command for the build server.
pub fn print_command(line: impl Display) {
    let _ = process::write_to(Stream::Errors, format!("{line}\n").as_bytes());
}

/// Cleans foreign text for one line: replaces control, bidirectional, invisible and invalid characters.
pub fn clean(text: &str) -> String {
    let breaks = ['\n', '\r', '\t', '\u{2028}', '\u{2029}'];
    clean_lines(&text.replace(breaks, " "))
}

/// Cleans foreign text like [`clean`], and keeps its lines.
pub fn clean_lines(text: &str) -> String {
    replace_controls(text).into_owned()
}

/// Returns whether a text holds what [`clean_lines`] replaces.
pub fn has_controls(text: &str) -> bool {
    matches!(replace_controls(text), Cow::Owned(_))
}

/// Cleans what a load test printed: leaves out colours, which it may print for its own log, and replaces the rest.
pub fn clean_output(text: &str) -> String {
    clean_lines(&anstream::adapter::strip_str(text).to_string())
}

/// Returns JSON in which what could drive a terminal is escaped. Only strings hold such characters.
fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        let mut buffer = [0; 4];
        let text = letter.encode_utf8(&mut buffer);
        if has_controls(text) {
            // None of them lies beyond the first plane.
            let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Returns true when results are coloured.
pub fn colours_results() -> bool {
    choose_colour(Stream::Output) != ColorChoice::Never
}

/// Returns true when standard error is a terminal whose lines can be redrawn.
pub fn can_redraw() -> bool {
    !process::is_replaced()
        && std::io::stderr().is_terminal()
        && !is_ci()
        && process::variable_os("TERM").is_none_or(|term| term != "dumb")
}

/// Returns the columns of the terminal for results, or 100.
pub fn result_width() -> usize {
    let size =
        (!process::is_replaced()).then(|| terminal_size::terminal_size_of(std::io::stdout()));
    size.flatten()
        .map_or(100, |(terminal_size::Width(width), _)| usize::from(width))
}

/// Returns the columns of the terminal for progress, or 80.
pub fn progress_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr())
        .map_or(80, |(terminal_size::Width(width), _)| usize::from(width))
}

/// Returns the rows of the terminal for progress, or 24.
pub fn progress_height() -> usize {
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

fn print_line(style: Style, label: &str, message: impl Display) {
    let message = neutralise_commands(clean_lines(&message.to_string()));
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
        assert_eq!(
            clean_output("\x1b[2mlog\x1b[0m \x1b]0;x\x07\rb\u{9b}"),
            "log ␍b\u{fffd}"
        );
        assert_eq!(
            escape_json("[\n\"é\u{9b}\u{202e}\"]"),
            "[\n\"é\\u009b\\u202e\"]"
        );
    }
}
