//! Explains where a JSON body does not fit its type.

use crate::redact;
use serde_json::error::Category;
use std::fmt::Write as _;

/// The most characters of a key that are shown.
const MAX_KEY: usize = 40;

/// Explains why `body` is no JSON of the wanted type, with the path of the value: `.items[0].id`. The value itself is
/// left out.
pub(super) fn explain_decode_error(error: &serde_json::Error, body: &[u8]) -> String {
    let message = error.to_string();
    let message = redact::redact_decode_error(&message);
    if error.classify() != Category::Data {
        return format!("the body is not JSON: {message}");
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    let Some(what) = message.strip_suffix(&place) else {
        return message.into_owned();
    };
    let path = path_at(body, offset_of(body, error.line(), error.column()));
    if path.is_empty() {
        what.to_owned()
    } else {
        format!("{what} at `{}`", redact::redact(&path))
    }
}

/// The number of bytes up to a place; lines count from one.
fn offset_of(body: &[u8], line: usize, column: usize) -> usize {
    let before = line.saturating_sub(1);
    let starts = body.split_inclusive(|byte| *byte == b'\n').take(before);
    starts.map(<[u8]>::len).sum::<usize>() + column
}

/// A list or an object around a place.
enum Container<'a> {
    /// The position in the list.
    List(usize),
    /// The key whose value comes next, and true once its `:` was there.
    Object(Option<(&'a [u8], bool)>),
}

/// The path of the value that ends at `offset`, or begins right before it: `.items[0].id`.
fn path_at(body: &[u8], offset: usize) -> String {
    let mut around: Vec<Container<'_>> = Vec::new();
    let mut at = 0;
    while at < offset.min(body.len()) {
        match body[at] {
            b'{' => around.push(Container::Object(None)),
            b'[' => around.push(Container::List(0)),
            b'}' | b']' => {
                around.pop();
            }
            b',' => match around.last_mut() {
                Some(Container::List(position)) => *position += 1,
                Some(Container::Object(key)) => *key = None,
                None => {}
            },
            b':' => {
                if let Some(Container::Object(Some((_, is_complete)))) = around.last_mut() {
                    *is_complete = true;
                }
            }
            b'"' => {
                let text = string_at(body, at + 1);
                if let Some(Container::Object(key @ None)) = around.last_mut() {
                    *key = Some((text, false));
                }
                at += text.len() + 1;
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    let innermost = around.len();
    for (depth, container) in around.into_iter().enumerate() {
        match container {
            // the list itself is what does not fit
            Container::List(0)
                if depth + 1 == innermost && body.get(offset.wrapping_sub(1)) == Some(&b'[') => {}
            Container::List(position) => {
                let _ = write!(path, "[{position}]");
            }
            Container::Object(Some((key, true))) => push_key(&mut path, key),
            Container::Object(_) => {}
        }
    }
    path
}

/// The text of the string whose content begins at `start`, up to its closing quote.
fn string_at(body: &[u8], start: usize) -> &[u8] {
    let mut end = start;
    while end < body.len() && body[end] != b'"' {
        end += if body[end] == b'\\' { 2 } else { 1 };
    }
    &body[start.min(body.len())..end.min(body.len())]
}

fn push_key(path: &mut String, key: &[u8]) {
    let key = String::from_utf8_lossy(key);
    let shown: String = key.chars().take(MAX_KEY).collect();
    let is_word = !shown.is_empty() && shown.chars().all(|c| c.is_alphanumeric() || c == '_');
    let cut = if shown.len() < key.len() { "…" } else { "" };
    let _ = if is_word {
        write!(path, ".{shown}{cut}")
    } else {
        write!(path, "[\"{shown}{cut}\"]")
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors are looked at")]
    struct Page {
        items: Vec<Item>,
        #[serde(rename = "next page")]
        next: Option<u64>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors are looked at")]
    struct Item {
        id: u64,
        tags: Vec<String>,
    }

    fn explain(body: &str) -> String {
        let error = serde_json::from_str::<Page>(body).unwrap_err();
        explain_decode_error(&error, body.as_bytes())
    }

    #[test]
    fn the_field_that_does_not_fit_is_named_and_its_value_is_not() {
        let item = r#"{"id": 1, "tags": ["a]", "}\"{"]}"#;
        for (body, expected) in [
            (
                format!(
                    r#"{{"items": [{item},
                    {{"id": "secret", "tags": []}}]}}"#
                ),
                "invalid type: string \"[redacted]\", expected u64 at `.items[1].id`",
            ),
            (
                format!(r#"{{"items": [{item}, {{"id": 7}}]}}"#),
                "missing field `tags` at `.items[1]`",
            ),
            (
                r#"{"items": [{"id": 1, "tags": ["a", 2]}]}"#.to_owned(),
                "invalid type: integer `[redacted]`, expected a string at `.items[0].tags[1]`",
            ),
            (
                r#"{"items": {"id": 1}}"#.to_owned(),
                "invalid type: map, expected a sequence at `.items`",
            ),
            (
                r#"{"items": [{"id": [], "tags": []}]}"#.to_owned(),
                "invalid type: sequence, expected u64 at `.items[0].id`",
            ),
            (
                r#"{"items": [], "next page": true}"#.to_owned(),
                "invalid type: boolean `true`, expected u64 at `[\"next page\"]`",
            ),
            ("{}".to_owned(), "missing field `items`"),
            (
                "<html>".to_owned(),
                "the body is not JSON: expected value at line 1 column 1",
            ),
            (
                r#"{"items": ["#.to_owned(),
                "the body is not JSON: EOF while parsing a list at line 1 column 11",
            ),
        ] {
            assert_eq!(explain(&body), expected, "{body}");
        }
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(body in "[{}\\[\\]\",:\\\\a0 \n]{0,30}", line in 0..4_usize, column in 0..40_usize) {
            let _ = path_at(body.as_bytes(), offset_of(body.as_bytes(), line, column));
        }
    }
}
