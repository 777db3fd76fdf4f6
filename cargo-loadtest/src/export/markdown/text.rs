//! Text from outside, made harmless in the Markdown of GitHub and GitLab: no markup, no HTML, no link or
//! image, and nobody is mentioned. Code spans are what both leave alone.

use crate::export::page::split_prose;
use loadtest_console::console::clean;
use std::fmt::Write as _;

/// The longest text from outside that is shown.
const LONGEST: usize = 300;

/// A name, a URL or what a server said: as code, on one line, cut where it is long.
pub(super) fn escape_code(text: &str) -> String {
    let text = clean(text);
    let mut text = text.trim().to_owned();
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    if text.is_empty() {
        return String::new();
    }
    // Nothing escapes a backtick within backticks, nor, in a table, a backslash before a bar.
    if text.contains(['`', '|', '\\']) {
        return format!("<code>{}</code>", encode_entities(&text));
    }
    format!("`{text}`")
}

/// Every sign that could mean anything, as an entity: those never make markup.
fn encode_entities(text: &str) -> String {
    let mut html = String::new();
    for letter in text.chars() {
        if letter.is_ascii_punctuation() {
            let _ = write!(html, "&#{};", u32::from(letter));
        } else {
            html.push(letter);
        }
    }
    html
}

/// A sentence of ours, in which what stands between two backticks is code, and what else came from outside
/// does nothing.
pub(super) fn escape_prose(text: &str) -> String {
    let text = clean(text);
    let mut markdown = String::new();
    for (is_code, part) in split_prose(&text) {
        if is_code {
            markdown.push_str(&escape_code(&part));
        } else {
            let words = part.split(' ').map(escape_word);
            markdown.push_str(&words.collect::<Vec<_>>().join(" "));
        }
    }
    markdown
}

fn escape_word(word: &str) -> String {
    if is_linked(word) {
        return escape_code(word);
    }
    // At the start of a line these would begin a list.
    let digits = word.trim_end_matches(['.', ')']);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if word.starts_with(['-', '=']) || word == "+" || (is_number && digits.len() < word.len()) {
        return encode_entities(word);
    }
    let mut markdown = String::new();
    for letter in word.chars() {
        if r"\*_[]<>|~&{}`".contains(letter) {
            let _ = write!(markdown, "&#{};", u32::from(letter));
        } else {
            markdown.push(letter);
        }
    }
    markdown
}

/// Returns true where a site would make a link of a word: to a person, an issue, a commit or a
/// page.
fn is_linked(word: &str) -> bool {
    let hexadecimal = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
    word.contains(['@', '#', '!', '$', '~', '&'])
        || word.contains("//")
        || word.to_ascii_lowercase().contains("www.")
        || word.to_ascii_uppercase().contains("GH-")
        || (hexadecimal.len() >= 7 && hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
