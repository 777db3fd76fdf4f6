//! Literals of Rust.

/// Writes a string.
pub(super) fn quote_text(text: &str) -> String {
    format!("{text:?}")
}

/// Writes a string in the code of a function, where nothing may look like a template.
pub(super) fn quote_code(whole: &str) -> String {
    hide_templates(&quote_text(whole))
}

/// Writes a byte string.
pub(super) fn quote_bytes(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}

/// Escapes `{{step.` in a literal.
fn hide_templates(literal: &str) -> String {
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
