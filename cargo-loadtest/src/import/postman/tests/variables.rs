//! What variables stand for, and what scripts keep in them.

use super::*;

/// The value of the header `X-V: {{v}}`, with a collection's variables, of a folder, and an environment.
fn precedence(collection: &str, folder: &str, environment: Option<&str>) -> String {
    let text = format!(
        r#"{{"variable": [{collection}], "item": [{{"name": "f", "variable": [{folder}],
            "item": [{{"request": {{"url": "http://h/", "header": "X-V: {{{{v}}}}"}}}}]}}]}}"#
    );
    let recording = read_with(&text, &[], environment).unwrap();
    header(&recording, 0, "x-v").unwrap()
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
    let value = super::header(&recording, scripts.len(), "x-v");
    (value.unwrap_or_default(), recording)
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
            &["pm.environment.set('v', pm.response.headers.get('Location'))"],
            "<0 header location>",
        ),
        (&[token, "pm.environment.set('v', '')"], "<V>"),
        (&[token, "pm.environment.set('v', sign())"], "<V>"),
        (&["pm.environment.set('v', 'text')"], "text"),
        (&["pm.environment.set('v', pm.cookies.get('sid'))"], "<V>"),
    ] {
        let (found, recording) = after(scripts, "X-V: {{v}}");
        assert_eq!(found, value, "{scripts:?}");
        for reference in &recording.references {
            assert_eq!(reference.confidence.word(), "certain");
            assert!(reference.why.contains("keeps it as"), "{}", reference.why);
        }
    }
}

#[test]
fn json_keeps_its_types() {
    let text = r#"{"variable": [{"key": "n", "value": "7"}], "item": [
        {"name": "r", "event": [{"listen": "test", "script": {"exec": "pm.environment.set('id', pm.response.json().id)"}}], "request": "http://h/"},
        {"request": {"method": "POST", "url": "http://h/", "body": {"mode": "raw", "options": {"raw": {"language": "json"}},
          "raw": "{\"a\": {{id}}, \"b\": \"{{id}}\", \"c\": {{n}}, \"d\": \"x-{{id}}\", \"e\": {{gone}}, \"{{gone}}\": 1, \"f\": \"\\\"{{id}}\"}"}}}]}"#;
    let recording = read(text);
    let Body::Text(body) = &recording.exchanges[1].body else {
        panic!("{recording:?}")
    };
    let sent = body.shown(|_| "0".to_owned());
    assert!(
        serde_json::from_str::<serde_json::Value>(&sent).is_ok(),
        "{sent}"
    );
    assert_eq!(
        resolved(body, &recording),
        r#"{"a": <0.id bare>, "b": "<0.id>", "c": 7, "d": "x-<0.id>", "e": "<GONE>", "gone": 1, "f": "\"<0.id>"}"#
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
