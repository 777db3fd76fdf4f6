//! Names in quotes, with the escapes of JSON.

use std::fmt::Write;

/// Writes a text in quotes, with the escapes of JSON.
pub fn quote_text(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Reads the text in quotes at the beginning of `text`, and returns the number of bytes read, too.
pub(super) fn unquote_text(text: &str) -> Option<(String, usize)> {
    let mut read = String::new();
    let mut chars = text.char_indices();
    chars.next().filter(|(_, c)| *c == '"')?;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((read, at + 1)),
            '\\' => {
                let (_, escaped) = chars.next()?;
                read.push(match escaped {
                    '"' | '\\' | '/' => escaped,
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'u' => {
                        let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
                    }
                    _ => return None,
                });
            }
            c if c < ' ' => return None,
            c => read.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_whole_texts_with_known_escapes_are_read() {
        assert_eq!(
            unquote_text(r#""a\u00e9\/" x"#),
            Some(("a\u{e9}/".to_owned(), 11))
        );
        for broken in ["", "a", "\"a", "\"\\x\"", "\"\\u12\"", "\"a\nb\""] {
            assert_eq!(unquote_text(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn text_is_quoted_as_in_json_and_read_again(text in ".{0,20}", rest in ".{0,5}") {
            let quoted = quote_text(&text);
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text.clone());
            let length = quoted.len();
            prop_assert_eq!(unquote_text(&(quoted + &rest)), Some((text, length)));
        }
    }
}
