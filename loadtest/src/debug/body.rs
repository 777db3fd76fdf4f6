//! Formats bodies for display.

use crate::redact;
use loadtest_model::protocol::ShownBody;
use loadtest_model::redacted::Redacted;
use serde::de::IgnoredAny;

/// A body, if there is one.
pub(super) fn shown_body(bytes: &[u8], is_cut: bool) -> Option<ShownBody> {
    let body = |text| ShownBody {
        text,
        bytes: bytes.len(),
        is_cut,
    };
    (!bytes.is_empty()).then(|| body(shown_text(bytes, is_cut)))
}

/// The text, unless it is none.
fn shown_text(bytes: &[u8], is_cut: bool) -> Option<Redacted> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The limit may have cut a character in two.
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.contains(is_odd) {
        return None;
    }
    let indented = serde_json::from_str::<IgnoredAny>(text)
        .is_ok()
        .then(|| indent_json(text));
    let text = indented.as_deref().unwrap_or(text);
    Some(redact::redact(text))
}

/// Valid JSON with a line for each value; numbers and the order of keys stay as they are.
fn indent_json(json: &str) -> String {
    let mut text = String::with_capacity(2 * json.len());
    let mut depth = 0;
    let mut is_string = false;
    let mut is_escaped = false;
    let mut letters = json.chars().peekable();
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = letters.next() {
        if is_string {
            is_string = is_escaped || c != '"';
            is_escaped = c == '\\' && !is_escaped;
            text.push(c);
            continue;
        }
        match c {
            c if c.is_ascii_whitespace() => {}
            '{' | '[' => {
                text.push(c);
                while letters.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = letters.next_if(|c| matches!(c, '}' | ']')) {
                    text.push(end);
                } else {
                    depth += 1;
                    line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth -= 1;
                line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(c);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c => {
                is_string = c == '"';
                text.push(c);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn text_of(bytes: &[u8]) -> Option<String> {
        shown_body(bytes, false)
            .unwrap()
            .text
            .map(Redacted::into_string)
    }

    #[test]
    fn json_is_indented_and_keeps_its_order_and_numbers() {
        let json = br#"{"z":1.50,"a":[1, {"b":"x,\"}"}],"e":{ },"f":[]}"#;
        let lines = [
            "{",
            "  \"z\": 1.50,",
            "  \"a\": [",
            "    1,",
            "    {",
            "      \"b\": \"x,\\\"}\"",
            "    }",
            "  ],",
            "  \"e\": {},",
            "  \"f\": []",
            "}",
        ];
        assert_eq!(text_of(json).unwrap(), lines.join("\n"));
    }

    #[test]
    fn secrets_are_taken_out_also_where_they_are_no_text() {
        let json = br#"{"password":"hunter2","api_key":7315,"tokens":["hunter2"],"id":1}"#;
        let text = text_of(json).unwrap();
        assert!(
            !text.contains("hunter2") && !text.contains("7315"),
            "{text}"
        );
        assert!(text.contains("\"id\": 1"), "{text}");
    }

    #[test]
    fn what_is_no_text_is_not_shown_and_a_cut_character_is_left_out() {
        assert_eq!(text_of(b"a\x00b"), None);
        assert_eq!(text_of(b"a\xffb"), None);
        assert_eq!(text_of(b"a\xc3"), None);
        assert_eq!(shown_body(b"a\xc3", true).unwrap().text.unwrap(), "a");
        assert_eq!(shown_body(b"", false), None);
    }

    proptest! {
        #[test]
        fn indented_json_is_the_same_json(
            text in "[\"\\\\{}\\[\\]:, a-z]{0,12}",
            numbers in proptest::collection::vec(any::<i64>(), 0..4),
        ) {
            let value = serde_json::json!([{ text.clone(): numbers, "x": {}, "y": [text] }]);
            let shown: Value = serde_json::from_str(&indent_json(&value.to_string())).unwrap();
            prop_assert_eq!(shown, value);
        }
    }
}
