//! Comments from words of the input: harmless, of a bounded length, wrapped.

use crate::text::truncate;
use loadtest::redact;
use loadtest_console::console::{clean, clean_lines};
use std::fmt::Write as _;

/// The widest line.
const WIDTH: usize = 100;
/// The longest description, in characters.
const LONGEST: usize = 600;
/// The longest title, in characters.
const LONGEST_TITLE: usize = 200;

/// Writes words as a comment, wrapped; nothing where there are none.
pub(super) fn write_comment(source: &mut String, prefix: &str, words: &str) {
    let room = WIDTH.saturating_sub(prefix.len() + 1);
    let mut line = String::new();
    for word in clean(words).split_whitespace() {
        let width = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && width > room {
            let _ = writeln!(source, "{prefix} {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(source, "{prefix} {line}");
    }
}

/// Writes a title and a description, truncated and redacted, with blank lines between paragraphs.
pub(super) fn write_words(
    source: &mut String,
    prefix: &str,
    title: Option<&str>,
    description: Option<&str>,
) {
    let title = truncate(&redact::redact(title.unwrap_or_default()), LONGEST_TITLE);
    let description = redact::redact(description.unwrap_or_default()).replace("\r\n", "\n");
    let words = format!("{}\n\n{}", clean(&title), truncate(&description, LONGEST));
    let begin = source.len();
    let mut has_gap = false;
    for line in clean_lines(&words).lines().map(str::trim) {
        if has_gap && !line.is_empty() && source.len() > begin {
            let _ = writeln!(source, "{prefix}");
        }
        has_gap = line.is_empty();
        write_comment(source, prefix, line);
    }
}
