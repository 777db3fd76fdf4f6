//! Comments from words of the input: harmless, of a bounded length, wrapped.

use crate::console::{clean, clean_lines};
use loadtest::redact;
use std::fmt::Write as _;

/// The widest line.
const WIDTH: usize = 100;
/// The longest description, in characters.
const LONGEST: usize = 600;

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

/// Writes the paragraphs of a description, up to a limit; returns true where there was one.
pub(super) fn write_description(source: &mut String, prefix: &str, description: &str) -> bool {
    let before = source.len();
    let mut left = LONGEST;
    let description: String = description.chars().take(LONGEST * 4).collect();
    let mut paragraph = String::new();
    let mut has_gap = false;
    let lines = clean_lines(&redact::redact_text(&description).replace("\r\n", "\n"));
    for line in lines.lines().map(str::trim).chain([""]) {
        let begins = line.is_empty() || line.starts_with(['*', '-', '#', '|', '>', '`']);
        if begins && !paragraph.is_empty() {
            if has_gap && source.len() > before {
                let _ = writeln!(source, "{prefix}");
            }
            let words = truncate(&paragraph, left);
            left = left.saturating_sub(paragraph.chars().count());
            write_comment(source, prefix, &words);
            paragraph.clear();
            has_gap = false;
            if left == 0 {
                break;
            }
        }
        has_gap |= line.is_empty();
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(line);
    }
    source.len() > before
}

/// Redacts and truncates a title.
pub(super) fn clean_title(title: &str) -> String {
    truncate(&redact::redact_text(title), 200)
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
