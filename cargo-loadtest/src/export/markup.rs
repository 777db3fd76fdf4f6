//! Text from outside, made harmless in HTML and SVG.

use super::page::split_prose;
use crate::console::clean_lines;
use std::fmt::Write as _;

/// Escapes a text for use between tags.
pub(super) fn escape_text(words: &str) -> String {
    escape(&clean_lines(words))
}

/// Replaces every character that could end a text or an attribute.
pub(super) fn escape(words: &str) -> String {
    let mut html = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#x27;"),
            _ => html.push(letter),
        }
    }
    html
}

/// Escapes a sentence, in which text between two backticks is code.
pub(super) fn escape_prose(words: &str) -> String {
    let mut html = String::new();
    for (is_code, part) in split_prose(words) {
        let part = escape_text(&part);
        if is_code {
            let _ = write!(html, "<code>{part}</code>");
        } else {
            // A line does not end between a number and its unit.
            html.push_str(&part.replace(" %", "\u{a0}%").replace(" ms", "\u{a0}ms"));
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_prose_is_marked_and_escaped() {
        assert_eq!(escape_prose("of `a<b`: `x"), "of <code>a&lt;b</code>: `x");
    }
}
