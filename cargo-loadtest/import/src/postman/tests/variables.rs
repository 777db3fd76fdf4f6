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
            "`{{gone}}` is in JSON without quotes and has no value: it is sent as a string"
        )]
    );
}

#[test]
fn what_postman_makes_anew_is_made_anew() {
    let text = items(
        r#"{"request": {"method": "POST", "url": "http://h/pay/{{$randomInt}}", "header": "X-Time: {{$isoTimestamp}}",
            "body": {"mode": "raw", "raw": "{\"at\": \"{{$timestamp}}\", \"n\": {{$randomInt}}, \"e\": \"{{$randomEmail}}\", \"c\": \"{{$randomCity}}\"}",
                "options": {"raw": {"language": "json"}}}}}"#,
    );
    let recording = read(&text);
    assert_eq!(recording.notes, []);
    let source = crate::write_source(&recording, &input(&text), "postman").source;
    for part in [
        "post = \"/pay/{{integer}}\"",
        "header(\"x-time\", \"{{vu.now}}\")",
        r#"body = "{\"at\": \"{{vu.now.unix}}\", \"n\": {{integer}}, \"e\": \"ada-{{vu.uuid}}@example.com\", \"c\": \"{{city}}\"}""#,
        "Feed::iter(0..=1000).random()",
        "Feed::iter([\"Lisbon\", ",
    ] {
        assert!(source.contains(part), "{part}\n{source}");
    }
    // Between quotes, a number is text.
    let text = text.replace(r#", \"n\": {{$randomInt}}"#, "");
    let source = crate::write_source(&read(&text), &input(&text), "postman").source;
    assert!(source.contains(r#""at": "{{vu.now.unix}}","#), "{source}");
}

#[test]
fn two_hosts_without_a_value_stay_two() {
    let one = |name: &str, url: &str| format!(r#"{{"name": "{name}", "request": "{url}"}}"#);
    let requests = [
        one("a", "{{login}}/a"),
        one("b", "https://{{pay}}.example/b"),
        one("c", "{{login}}/c"),
    ];
    let recording = read(&items(&requests.join(",")));
    assert_eq!(recording.base.as_deref(), Some("http://127.0.0.1:8080"));
    let [constant] = &recording.constants[..] else {
        panic!("{:?}", recording.constants)
    };
    assert_eq!(constant.value, "https://unknown.example");
    let targets = recording.exchanges.iter().map(|exchange| {
        let shown = exchange.target.shown(|_| format!("<{}>", constant.name));
        format!("{}{shown}", exchange.origin)
    });
    let base = "http://127.0.0.1:8080";
    assert_eq!(
        targets.collect::<Vec<_>>(),
        [
            format!("{base}/a"),
            format!("{base}<PAY_EXAMPLE>/b"),
            format!("{base}/c")
        ]
    );
    let notes: Vec<_> = recording.notes.iter().map(|note| &note.words).collect();
    assert!(
        notes[0].contains("there is no host for `{{login}}`, so requests go to"),
        "{notes:?}"
    );
    assert!(
        notes[1].contains("or write it into the constant `PAY_EXAMPLE`"),
        "{notes:?}"
    );
}

#[test]
fn requests_of_a_collection_are_those_of_its_scenarios() {
    for (text, environment) in [(SHOP, None), (TICKETS, Some(STAGING))] {
        let document = serde_json::from_str(text).unwrap();
        let recording = read_with(text, &[], environment).unwrap();
        let left = recording.notes.iter();
        let left = left
            .filter(|note| note.words.contains("is left out"))
            .count();
        let requests = count_requests(&document);
        assert!(requests > 3);
        assert_eq!(recording.exchanges.len() + left, requests);
    }
}

fn count_requests(node: &serde_json::Value) -> usize {
    let items = node["item"].as_array();
    let below: usize = items.into_iter().flatten().map(count_requests).sum();
    below + usize::from(!node["request"].is_null())
}
