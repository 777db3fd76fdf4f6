//! Literals of Rust.

/// Writes a string.
pub(super) fn quote_text(text: &str) -> String {
    format!("{text:?}")
}

/// Writes a string in the code of a function, where nothing may look like a template.
pub(super) fn quote_code(whole: &str) -> String {
    let literal = quote_text(whole);
    let mut parts = literal.split("{{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |written, part| {
        let is_name = |name: &str| {
            name.trim()
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
        };
        let is_template = part.split_once('.').is_some_and(|(name, _)| is_name(name));
        written + if is_template { "{\\u{7b}" } else { "{{" } + part
    })
}

/// Writes a byte string.
pub(super) fn quote_bytes(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}
