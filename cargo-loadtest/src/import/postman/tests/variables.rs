//! What variables stand for, and what scripts keep in them.

use super::*;

/// The value of the header `X-V: {{v}}`, with a collection's variables, of a folder, and an environment.
fn precedence(collection: &str, folder: &str, environment: Option<&str>) -> String {
    let text = format!(
        r#"{{"variable": [{collection}], "item": [{{"name": "f", "variable": [{folder}],
            "item": [{{"request": {{"url": "http://h/", "header": "X-V: {{{{v}}}}"}}}}]}}]}}"#
    );
    let recording = read_with(&text, &[], environment).unwrap();
    let value = recording.exchanges[0].header("x-v").unwrap();
    resolved(&String::from_utf8_lossy(value), &recording)
}

#[test]
fn the_nearest_variable_with_a_value_counts() {
    let environment = r#"{"values": [{"key": "v", "value": "environment", "enabled": true}]}"#;
    let empty = r#"{"values": [{"key": "v", "value": ""}]}"#;
    let off = r#"{"values": [{"key": "v", "value": "environment", "enabled": false}]}"#;
    let secret = r#"{"values": [{"key": "v", "value": "environment", "type": "secret"}]}"#;
    let globals =
        r#"{"values": [{"key": "v", "value": "global"}], "_postman_variable_scope": "globals"}"#;
    let (collection, folder) = (
        r#"{"key": "v", "value": "collection"}"#,
        r#"{"key": "v", "value": "folder"}"#,
    );
    for (collection, folder, environment, value) in [
        (collection, "", None, "collection"),
        (collection, folder, None, "folder"),
        (collection, folder, Some(environment), "environment"),
        (collection, "", Some(empty), "collection"),
        (collection, "", Some(off), "collection"),
        (collection, "", Some(secret), "<V>"),
        (collection, "", Some(globals), "collection"),
        ("", "", Some(globals), "global"),
        ("", "", None, "<V>"),
        (
            r#"{"key": "v", "value": "{{a}}-{{b}}"}, {"key": "a", "value": 7}, {"key": "b", "value": "{{c}}"}"#,
            "",
            None,
            "7-<C>",
        ),
        (
            r#"{"key": "v", "value": "{{a}}"}, {"key": "a", "value": "{{v}}"}"#,
            "",
            None,
            "<V>",
        ),
    ] {
        assert_eq!(
            precedence(collection, folder, environment),
            value,
            "{collection} {folder} {environment:?}"
        );
    }
}

/// The header `X-V` of the last of some requests, each with a test script.
fn after(scripts: &[&str], header: &str) -> (String, Recording) {
    let mut all = String::new();
    for script in scripts {
        let script = serde_json::Value::from(*script);
        let _ = write!(
            all,
            r#"{{"name": "r", "event": [{{"listen": "test", "script": {{"exec": {script}}}}}], "request": "http://h/"}},"#
        );
    }
    let text = items(&format!(
        r#"{all}{{"request": {{"url": "http://h/", "header": "{header}"}}}}"#
    ));
    let recording = read(&text);
    let last = recording.exchanges.last().unwrap();
    let value = last
        .header("x-v")
        .map(|value| String::from_utf8_lossy(value).into_owned());
    (resolved(&value.unwrap_or_default(), &recording), recording)
}

#[test]
fn what_a_script_keeps_is_used_by_later_requests() {
    let token = "pm.environment.set('v', pm.response.json().token)";
    for (scripts, value) in [
        (&[token][..], "<0.token>"),
        (&[token, ""], "<0.token>"),
        (
            &[token, "pm.globals.set('v', pm.response.json().other)"],
            "<1.other>",
        ),
        (
            &["pm.environment.set('v', 'Bearer ' + pm.response.json().t)"],
            "Bearer <0.t>",
        ),
        (
            &["pm.environment.set('v', pm.response.headers.get('Location'))"],
            "<0 header location>",
        ),
        (
            &[
                "pm.environment.set('w', pm.response.json().t)",
                "pm.environment.set('v', pm.environment.get('w'))",
            ],
            "<0.t>",
        ),
        (&[token, "pm.environment.set('v', '')"], "<V>"),
        (&[token, "pm.environment.set('v', sign())"], "<V>"),
        (&["pm.environment.set('v', 'text')"], "text"),
        (&["pm.environment.set('v', pm.cookies.get('sid'))"], "<SID>"),
    ] {
        let (found, recording) = after(scripts, "X-V: {{v}}");
        assert_eq!(found, value, "{scripts:?}");
        for reference in &recording.references {
            assert_eq!(reference.confidence.word(), "certain");
            assert!(reference.why.contains("keeps it as"), "{}", reference.why);
        }
    }
    let (_, recording) = after(
        &["pm.environment.set('v', pm.cookies.get('sid'))"],
        "Cookie: a=b; sid={{v}}",
    );
    assert_eq!(
        recording.exchanges[1].header("cookie"),
        Some(&b"a=b"[..]),
        "it goes back by itself"
    );
}

#[test]
fn json_keeps_its_types() {
    let text = r#"{"variable": [{"key": "n", "value": "7"}], "item": [
        {"name": "r", "event": [{"listen": "test", "script": {"exec": "pm.environment.set('id', pm.response.json().id)"}}], "request": "http://h/"},
        {"request": {"method": "POST", "url": "http://h/", "body": {"mode": "raw", "options": {"raw": {"language": "json"}},
          "raw": "{\"a\": {{id}}, \"b\": \"{{id}}\", \"c\": {{n}}, \"d\": \"x-{{id}}\", \"e\": {{gone}}, \"{{gone}}\": 1, \"f\": \"\\\"{{id}}\"}"}}}]}"#;
    let recording = read(text);
    let body = String::from_utf8(recording.exchanges[1].body.bytes()).unwrap();
    assert!(
        serde_json::from_str::<serde_json::Value>(&body).is_ok(),
        "{body}"
    );
    assert_eq!(
        resolved(&body, &recording),
        r#"{"a": "<0.id bare>", "b": "<0.id>", "c": 7, "d": "x-<0.id>", "e": "<GONE>", "gone": 1, "f": "\"<0.id>"}"#
    );
    let told: Vec<_> = recording
        .notes
        .iter()
        .filter(|note| note.words.contains("without quotes"))
        .map(|note| (&text[note.span.clone()], note.words.as_str()))
        .collect();
    assert_eq!(
        told,
        [(
            "\"raw\"",
            "`{{gone}}` stands in JSON without quotes and has no value: it is sent as a string"
        )]
    );
}
