//! Literals of Rust.

/// A string.
pub(super) fn text(text: &str) -> String {
    format!("\"{}\"", escaped(text))
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
