//! Removes secrets from the strings of JSON, so that it stays JSON.

use super::known;
use std::borrow::Cow;

/// The same JSON with names in place of secrets. Names of fields stay as they are: those that a scenario
/// gives are looked through where it gives them.
pub(crate) fn scrub_json(json: Vec<u8>) -> Vec<u8> {
    if !known::has_secrets() {
        return json;
    }
    let mut output = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(quote) = find_quote(&json, at) {
        let end = string_end(&json, quote);
        at = end;
        let is_name = json[end..].first() == Some(&b':');
        if is_name {
            continue;
        }
        let Ok(text) = serde_json::from_slice::<String>(&json[quote..end]) else {
            continue;
        };
        if let Cow::Owned(shown) = known::scrub_text(&text)
            && let Ok(shown) = serde_json::to_vec(&shown)
        {
            output.extend_from_slice(&json[copied..quote]);
            output.extend_from_slice(&shown);
            copied = end;
        }
    }
    if copied == 0 {
        return json;
    }
    output.extend_from_slice(&json[copied..]);
    output
}

fn find_quote(json: &[u8], from: usize) -> Option<usize> {
    let found = json[from..].iter().position(|byte| *byte == b'"')?;
    Some(from + found)
}

/// Behind the string that begins at `quote`.
fn string_end(json: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < json.len() {
        match json[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secret;
    use serde_json::{Value, json};

    #[test]
    fn strings_lose_their_secrets_and_nothing_else_changes() {
        let value = "of \"json\\ ü 1";
        let _known = Secret::new("J", value);
        let _number = Secret::new("N", "1234567890");
        let before = json!({
            "1234567890": 1_234_567_890_u64,
            "a": ["x", format!("<{value}>"), "\\\""],
            "nested": json!({ "again": value }).to_string(),
        });
        let after: Value =
            serde_json::from_slice(&scrub_json(before.to_string().into_bytes())).unwrap();
        assert_eq!(
            after,
            json!({
                "1234567890": 1_234_567_890_u64,
                "a": ["x", "<[secret:J]>", "\\\""],
                "nested": "{\"again\":\"[secret:J]\"}",
            })
        );
        let same = br#"{"a":"b"}"#.to_vec();
        assert_eq!(scrub_json(same.clone()), same);
    }
}
