//! Collections that are large, and those in which anything stands anywhere.

use super::*;

#[test]
fn nothing_grows_without_bounds() {
    let mut variables = String::new();
    for number in 0..60 {
        let next = format!("{{{{v{}}}}}", number + 1).repeat(50);
        let _ = write!(variables, r#"{{"key": "v{number}", "value": "{next}"}},"#);
    }
    let text = format!(
        r#"{{"variable": [{variables} {{"key": "v60", "value": "x"}}], "item": [{{"request": {{"url": "http://h/{{{{v0}}}}"}}}}]}}"#
    );
    let recording = read(&text);
    assert_eq!(
        resolved(&recording.exchanges[0].target, &recording),
        "/<V0>"
    );
    let mut notes = recording.notes.iter();
    assert!(notes.any(|note| note.words.contains("end after 20 levels")));
}

#[test]
fn a_value_that_is_too_large_is_asked_for_and_others_are_kept() {
    let target = |variables: &str, path: &str| {
        let text = format!(
            r#"{{"variable": [{variables}], "item": [{{"request": {{"url": "http://h/{path}"}}}}]}}"#
        );
        let recording = read(&text);
        resolved(&recording.exchanges[0].target, &recording)
    };
    let nested = |size: usize| {
        let part = "x".repeat(size);
        format!(
            r#"{{"key": "a", "value": "{{{{b}}}}"}}, {{"key": "b", "value": "{part}"}}, {{"key": "c", "value": "{{{{d}}}}"}}, {{"key": "d", "value": "y"}}"#
        )
    };
    // All of them come to 16 MiB.
    let all = target(&nested(100_000), &"{{a}}/".repeat(170));
    assert_eq!(all.matches("<A>").count(), 2);
    // A text without variables in it is as large as it is.
    let plain = target(&nested(100_000), "{{b}}");
    assert_eq!(plain.len(), 100_001);
}

/// What stands in the place of a value that is as it should be.
fn anything() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
    use proptest::prelude::*;
    use serde_json::json;
    prop_oneof![
        Just(json!(null)),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null, 7, "x", {"key": null, "value": {}}])),
        any::<i64>().prop_map(|number| json!(number)),
        "[a-z{}:/?#&$ \"\\\\é]{0,20}".prop_map(|text| json!(text)),
    ]
}

proptest::proptest! {
    #[test]
    fn any_value_may_be_anything(
        changes in proptest::collection::vec((proptest::num::usize::ANY, anything()), 1..6),
        is_environment in proptest::bool::ANY,
    ) {
        let text = if is_environment { STAGING } else { TICKETS };
        let mut document: serde_json::Value = serde_json::from_str(text).unwrap();
        for (at, value) in changes {
            // Every number names a value somewhere.
            let mut place = &mut document;
            let mut at = at;
            loop {
                let size = match &*place {
                    serde_json::Value::Array(items) => items.len(),
                    serde_json::Value::Object(fields) => fields.len(),
                    _ => 0,
                };
                if size == 0 || at % 11 == 10 {
                    break;
                }
                let next = at % size;
                at /= size;
                place = match place {
                    serde_json::Value::Array(items) => &mut items[next],
                    serde_json::Value::Object(fields) => fields.values_mut().nth(next).unwrap(),
                    _ => break,
                };
            }
            *place = value;
        }
        let text = document.to_string();
        let environment = if is_environment { read_environment(&input(&text)) } else { read_environment(&input(STAGING)) };
        let options = PostmanOptions {
            folders: Vec::new(),
            environment: environment.ok(),
        };
        let collection = if is_environment { TICKETS } else { &text };
        match read_postman(&input(collection), &options) {
            Ok(recording) => proptest::prop_assert!(!recording.exchanges.is_empty()),
            Err(mistake) => proptest::prop_assert!(mistake.span.end <= collection.len().max(1)),
        }
    }
}
