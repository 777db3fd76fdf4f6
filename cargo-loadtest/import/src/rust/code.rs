//! Parts of the input that are code, as comments.

use crate::recording::Recording;
use loadtest_console::console::clean;
use std::fmt::Write as _;

/// The most lines of a part that are written.
const MOST_LINES: usize = 100;
/// The widest line, in characters.
const WIDEST: usize = 160;

/// Writes the code that stands before or after an exchange.
pub(super) fn write_code(body: &mut String, recording: &Recording, exchange: usize, after: bool) {
    let parts = recording.code.iter();
    let parts = parts.filter(|part| part.exchange == Some(exchange) && part.is_after == after);
    for part in parts {
        if after {
            body.push('\n');
        }
        let _ = writeln!(
            body,
            "    // TODO: {} is code, which is not imported:",
            part.what
        );
        write_lines(body, "    //  ", &part.text);
    }
}

/// Writes lines as a comment, without the indentation that all but the first have.
pub(super) fn write_lines(body: &mut String, prefix: &str, text: &str) {
    let text = text.replace('\t', "    ");
    let is_full = |line: &&str| !line.trim().is_empty();
    let indents = text.lines().skip(1).filter(is_full);
    let indent = indents
        .map(|line| line.len() - line.trim_start().len())
        .min();
    let lines: Vec<&str> = text.lines().filter(is_full).collect();
    for (at, line) in lines.iter().take(MOST_LINES).enumerate() {
        let line = match at {
            0 => line.trim_start(),
            _ => line.get(indent.unwrap_or(0)..).unwrap_or(line),
        };
        let line: String = clean(line.trim_end()).chars().take(WIDEST).collect();
        let _ = writeln!(body, "{prefix} {line}");
    }
    if lines.len() > MOST_LINES {
        let _ = writeln!(body, "{prefix} .. {} lines more", lines.len() - MOST_LINES);
    }
}
