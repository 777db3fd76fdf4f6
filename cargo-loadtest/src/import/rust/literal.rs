//! Literals of Rust.

/// A string.
pub(super) fn text(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// A string in the code of a function, where nothing in it must look like a template.
pub(super) fn code_text(whole: &str) -> String {
    without_templates(&text(whole))
}

/// The same of a string that is formatted, whose braces are doubled already.
pub(super) fn format_text(format: &str) -> String {
    without_templates(&text(format))
}

/// What stands within its quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\'' => escaped.push('\''),
            letter => escaped.extend(letter.escape_debug()),
        }
    }
    escaped
}

/// A byte string.
pub(super) fn bytes(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}

/// The same literal, in which `{{step.` does not stand as it is.
fn without_templates(literal: &str) -> String {
    let mut written = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once("{{") {
        let word = after.trim_start();
        let end = word
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .unwrap_or(word.len());
        let is_template = end > 0 && word[end..].trim_start().starts_with('.');
        written.push_str(before);
        written.push_str(if is_template { "{\\u{7b}" } else { "{{" });
        rest = after;
    }
    written.push_str(rest);
    written
}
