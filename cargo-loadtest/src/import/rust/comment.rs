//! Comments from words of the input: harmless, of a bounded length, wrapped.

use crate::console::{clean, clean_lines};
use loadtest::redact;
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
    let title = truncate(
        &redact::redact_text(title.unwrap_or_default()),
        LONGEST_TITLE,
    );
    let description = redact::redact_text(description.unwrap_or_default()).replace("\r\n", "\n");
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

/// Truncates words to a number of characters.
pub(super) fn truncate(words: &str, most: usize) -> String {
    let Some((end, _)) = words.char_indices().nth(most) else {
        return words.to_owned();
    };
    let cut = &words[..end];
    let end = cut
        .rfind(' ')
        .filter(|space| space * 2 > end)
        .unwrap_or(end);
    format!("{} …", cut[..end].trim_end())
}

/// Lists a few names, and counts the others.
pub(super) fn list_names(names: &[String], most: usize) -> String {
    let mut words: Vec<String> = names.iter().take(most).cloned().collect();
    let more = names.len() - words.len();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    match words.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// Puts a name in backticks, truncated.
pub(super) fn quote_name(name: &str) -> String {
    format!("`{}`", truncate(&clean(name).replace('`', "'"), 60))
}
