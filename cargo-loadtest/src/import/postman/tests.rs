use super::super::recording::{Body, Exchange, Origin};
use super::*;
use std::fmt::Write as _;

const SHOP: &str = include_str!("../../../../tests/fixtures/import/postman/shop.json");
const TICKETS: &str = include_str!("../../../../tests/fixtures/import/postman/tickets.json");
const STAGING: &str =
    include_str!("../../../../tests/fixtures/import/postman/tickets.environment.json");
const GLOBALS: &str = include_str!("../../../../tests/fixtures/import/postman/globals.json");
const FAULTY: &str = include_str!("../../../../tests/fixtures/import/postman/faulty.json");
const OLD: &str = include_str!("../../../../tests/fixtures/import/postman/version-1.json");

fn input(text: &str) -> Input {
    Input::new("collection.json", text.to_owned())
}

fn read_with(
    text: &str,
    folders: &[&str],
    environment: Option<&str>,
) -> Result<Recording, Mistake> {
    let options = PostmanOptions {
        folders: folders.iter().map(|name| (*name).to_owned()).collect(),
        environment: environment.map(|text| read_environment(&input(text)).unwrap()),
    };
    read_postman(&input(text), &options)
}

fn read(text: &str) -> Recording {
    read_with(text, &[], None).unwrap()
}

/// A collection with these items, as JSON.
fn items(items: &str) -> String {
    format!("{{\"info\": {{\"name\": \"c\"}}, \"item\": [{items}]}}")
}

/// A collection of one request, its fields as JSON.
fn one(request: &str) -> Exchange {
    let recording = read(&items(&format!("{{\"request\": {{{request}}}}}")));
    recording.exchanges[0].clone()
}

/// With what stands behind each marker in its place.
fn resolved(text: &str, recording: &Recording) -> String {
    let mut text = text.to_owned();
    for secret in &recording.secrets {
        text = text.replace(&secret.value, &format!("<{}>", secret.name));
    }
    for reference in &recording.references {
        let path = |path: &[super::super::recording::Key]| {
            let keys = path.iter().map(|key| match key {
                super::super::recording::Key::Field(name) => format!(".{name}"),
                super::super::recording::Key::Item(number) => format!("[{number}]"),
            });
            keys.collect::<String>()
        };
        let from = match &reference.from {
            Origin::Body {
                exchange,
                path: keys,
            } => format!("{exchange}{}", path(keys)),
            Origin::Header { exchange, name } => format!("{exchange} header {name}"),
            other => format!("{other:?}"),
        };
        let bare = if reference.is_bare { " bare" } else { "" };
        text = text.replace(&reference.marker, &format!("<{from}{bare}>"));
    }
    text
}

/// All of a recording, to be looked at.
fn shown(recording: &Recording) -> String {
    let mut shown = format!(
        "{:?} {:?} {:?}\n",
        recording.name, recording.description, recording.base
    );
    for group in &recording.groups {
        let _ = writeln!(shown, "group {:?} {:?}", group.name, group.description);
    }
    for (number, exchange) in recording.exchanges.iter().enumerate() {
        let Exchange {
            method,
            origin,
            target,
            ..
        } = exchange;
        let target = resolved(target, recording);
        let _ = writeln!(shown, "{number} {method} {origin} {target}");
        let _ = writeln!(
            shown,
            "  {:?} in {:?}, {:?}, {:?}, {:?}, {} redirects",
            exchange.name,
            exchange.group,
            exchange.pattern,
            exchange.description,
            exchange.expect,
            exchange.redirects
        );
        for header in &exchange.headers {
            let value = String::from_utf8_lossy(&header.value);
            let _ = writeln!(shown, "  {}: {}", header.name, resolved(&value, recording));
        }
        if let Some(credentials) = &exchange.credentials {
            let text = |bytes: &[u8]| resolved(&String::from_utf8_lossy(bytes), recording);
            let _ = writeln!(
                shown,
                "  {} : {}",
                text(&credentials.user),
                text(&credentials.password)
            );
        }
        if exchange.body != Body::None {
            let body = String::from_utf8_lossy(&exchange.body.bytes()).into_owned();
            let _ = writeln!(shown, "  {:?}", resolved(&body, recording));
        }
        if let Some(answer) = &exchange.answer {
            let body = String::from_utf8_lossy(&answer.body).into_owned();
            let _ = writeln!(
                shown,
                "  -> {} {:?} {body:?}",
                answer.status, answer.is_example
            );
        }
    }
    for secret in &recording.secrets {
        let _ = writeln!(shown, "secret {}: {}", secret.name, secret.what);
    }
    for note in &recording.notes {
        let _ = writeln!(shown, "note {}: {}", note.span.start, note.words);
    }
    for dropped in &recording.dropped {
        let _ = writeln!(shown, "dropped {} ({})", dropped.what, dropped.why);
    }
    shown
}

#[test]
fn a_collection_is_read_as_postman_sends_it() {
    insta::assert_snapshot!(shown(&read(SHOP)));
}

#[test]
fn an_older_collection_is_read_with_its_environment() {
    let recording = read_with(TICKETS, &[], Some(STAGING)).unwrap();
    let shown = shown(&recording);
    assert!(!shown.contains("canary"), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_collection_with_faults_is_read_around_them() {
    insta::assert_snapshot!(shown(&read(FAULTY)));
}

#[test]
fn what_is_no_collection_is_told_what_it_is() {
    for (text, words, help) in [
        (OLD, "version 1", "Collection v2.1"),
        (STAGING, "variables of an environment", "--environment"),
        (GLOBALS, "variables of the globals", "--environment"),
        (
            r#"{"collections": []}"#,
            "all data of Postman",
            "Collection v2.1",
        ),
        (r#"{"info": {}}"#, "has no `item`", "Collection v2.1"),
        (
            r#"{"info": {}, "item": {}}"#,
            "`item` is an object",
            "Collection v2.1",
        ),
        (
            r#"{"info": {"schema": "https://schema.getpostman.com/json/collection/v1.0.0/"}, "item": []}"#,
            "version 1",
            "Collection v2.1",
        ),
    ] {
        let mistake = read_with(text, &[], None).unwrap_err();
        assert!(mistake.words.contains(words), "{text}: {mistake:?}");
        assert!(mistake.help.unwrap_or_default().contains(help), "{text}");
    }
    let mistake = read_with(&items(""), &[], None).unwrap_err();
    assert!(mistake.words.contains("no request in it"), "{mistake:?}");
    let mistake = read_environment(&input(SHOP)).unwrap_err();
    assert!(mistake.help.unwrap().contains("it is a collection"));
    let mistake = read_environment(&input(r#"{"values": 7}"#)).unwrap_err();
    assert_eq!(mistake.span, 11..12);
}

#[test]
fn urls_are_read_in_all_their_forms() {
    for (url, origin, target) in [
        (
            r#""h.example/a b?q=ü#top""#,
            "http://h.example",
            "/a%20b?q=%C3%BC",
        ),
        (r#""HTTPS://H.example:443/""#, "https://h.example", "/"),
        (r#""https://h.example?x""#, "https://h.example", "/?x"),
        (
            r#""http://127.0.0.1:81//a//b/""#,
            "http://127.0.0.1:81",
            "/a//b/",
        ),
        (r#"{"raw": "http://h/a?b=1"}"#, "http://h", "/a?b=1"),
        (
            r#"{"protocol": "https", "host": ["a", "b"], "port": "8443", "path": "/x/y"}"#,
            "https://a.b:8443",
            "/x/y",
        ),
        (
            r#"{"protocol": "https", "host": "a.b", "path": ["x", {"type": "string", "value": "y"}, 7, ""]}"#,
            "https://a.b",
            "/x/y/7/",
        ),
        (
            r#"{"host": ["h"], "path": [":id", "p:q", ":"], "variable": [{"key": "id", "value": "a/b c"}]}"#,
            "http://h",
            "/a/b%20c/p:q/:",
        ),
        (
            r#"{"host": ["h"], "path": [":id"], "variable": [{"id": "id", "value": "<long>"}]}"#,
            "http://h",
            "/1",
        ),
        (
            r#"{"host": ["h"], "query": [{"key": "a", "value": null}, {"key": "b", "value": ""}, {"key": "c", "value": "1", "disabled": true}, {"key": "d e", "value": "\"'"}]}"#,
            "http://h",
            "/?a&b=&d%20e=%22%27",
        ),
        (
            r#"{"host": ["h"], "query": "a=1&b"}"#,
            "http://h",
            "/?a=1&b",
        ),
        (r#""/only/a/path""#, "http://127.0.0.1:8080", "/only/a/path"),
    ] {
        let exchange = one(&format!("\"url\": {url}"));
        assert_eq!(
            (exchange.origin.as_str(), exchange.target.as_str()),
            (origin, target),
            "{url}"
        );
    }
    // A password without a value takes no host away.
    let exchange = one(r#""url": "http://ada:{{password}}@h.example/a""#);
    assert_eq!(exchange.origin, "http://h.example");
    assert_eq!(exchange.credentials.unwrap().user, b"ada");
}

#[test]
fn bodies_have_the_type_that_goes_without_saying() {
    for (body, content_type, sent) in [
        (
            r#"{"mode": "raw", "raw": "{\"a\": 1}", "options": {"raw": {"language": "json"}}}"#,
            "application/json",
            r#"{"a": 1}"#,
        ),
        (
            r#"{"mode": "raw", "raw": "{\"a\": 1}"}"#,
            "text/plain",
            r#"{"a": 1}"#,
        ),
        (
            r#"{"mode": "raw", "raw": "<a/>", "options": {"raw": {"language": "xml"}}}"#,
            "application/xml",
            "<a/>",
        ),
        (
            r#"{"mode": "urlencoded", "urlencoded": [{"key": "a b", "value": "&"}]}"#,
            "application/x-www-form-urlencoded",
            "a+b=%26",
        ),
        (
            r#"{"mode": "urlencoded", "urlencoded": "a=1"}"#,
            "application/x-www-form-urlencoded",
            "a=1",
        ),
        (
            r#"{"mode": "graphql", "graphql": {"query": "{a}", "variables": {"b": 1}, "operationName": "n"}}"#,
            "application/json",
            r#"{"query":"{a}","variables":{"b":1},"operationName":"n"}"#,
        ),
        (
            r#"{"mode": "raw", "raw": "{\"a\": \"//\" /* c */ } // d", "options": {"raw": {"language": "json"}}}"#,
            "application/json",
            "{\"a\": \"//\"  } ",
        ),
        (
            r#"{"mode": "raw", "raw": "{\"a\": \"<integer>\"}", "options": {"raw": {"language": "json"}}}"#,
            "application/json",
            r#"{"a": 1}"#,
        ),
    ] {
        let exchange = one(&format!(
            r#""method": "POST", "url": "http://h/", "body": {body}"#
        ));
        let known = exchange
            .header("content-type")
            .map(|value| String::from_utf8_lossy(value));
        assert_eq!(known.as_deref(), Some(content_type), "{body}");
        assert_eq!(
            String::from_utf8_lossy(&exchange.body.bytes()),
            sent,
            "{body}"
        );
    }
    let raw = r#""url": "http://h/", "body": {"mode": "raw", "raw": "x"}"#;
    assert_eq!(one(raw).body, Body::None, "a GET is sent without");
    let kept = items(&format!(
        r#"{{"request": {{{raw}}}, "protocolProfileBehavior": {{"disableBodyPruning": true}}}}"#
    ));
    assert_eq!(read(&kept).exchanges[0].body, Body::Bytes(b"x".to_vec()));
}

#[test]
fn headers_are_read_in_all_their_forms() {
    let exchange = one(r#""url": "http://h/", "header": "A: b\n// C: d\nE:f""#);
    assert_eq!(
        (
            exchange.header("a"),
            exchange.header("c"),
            exchange.header("e")
        ),
        (Some(&b"b"[..]), None, Some(&b"f"[..]))
    );
    let exchange = one(
        r#""url": "http://h/", "header": [{"key": "A", "value": "1", "disabled": true}, "B: 2", {"key": "Postman-Token", "value": "x"},
        {"key": "Content-Length", "value": "<calculated when request is sent>"}, {"key": "User-Agent", "value": "PostmanRuntime/7.1"}, {"key": "Host", "value": "h"}]"#,
    );
    assert_eq!(exchange.headers.len(), 1, "{:?}", exchange.headers);
}

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
fn one_folder_is_taken_with_what_it_needs() {
    let recording = read_with(SHOP, &["Catalogue"], None).unwrap();
    let names: Vec<_> = recording
        .exchanges
        .iter()
        .map(|exchange| exchange.name.as_deref().unwrap())
        .collect();
    assert_eq!(names, ["Log in", "Search teas", "A tea", "List", "Add"]);
    assert!(
        recording
            .exchanges
            .iter()
            .all(|exchange| exchange.group.as_deref() == Some("Catalogue"))
    );
    assert_eq!(recording.groups.len(), 1);
    assert_eq!(
        resolved(&recording.exchanges[2].target, &recording),
        "/v1/teas/<1.items[0].id>"
    );
    let secrets: Vec<_> = recording
        .secrets
        .iter()
        .map(|secret| &secret.name)
        .collect();
    assert_eq!(secrets, ["PASSWORD"], "those of others are not asked for");
    assert!(recording.dropped.is_empty());
    // A folder in another one, in other letters.
    let recording = read_with(SHOP, &["payment", "session"], None).unwrap();
    let names: Vec<_> = recording
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    assert_eq!(names, ["Session", "Payment"]);
    assert_eq!(
        recording.exchanges.len(),
        5,
        "the order and the tea it is for are needed"
    );
    let mistake = read_with(SHOP, &["Catalog"], None).unwrap_err();
    assert!(mistake.help.unwrap().contains("`Catalogue`"));
}

#[test]
fn credentials_are_inherited() {
    let bearer = r#"{"type": "bearer", "bearer": [{"key": "token", "value": "canary-1"}]}"#;
    let authorization = |collection: &str, folder: &str, request: &str| {
        let text = format!(
            r#"{{"auth": {collection}, "item": [{{"name": "f", "auth": {folder}, "item": [
                {{"request": {{"url": "http://h/", "header": "Authorization: mine", "auth": {request}}}}}]}}]}}"#
        );
        let recording = read(&text);
        let value = recording.exchanges[0]
            .header("authorization")
            .map(<[u8]>::to_vec);
        resolved(
            &String::from_utf8_lossy(&value.unwrap_or_default()),
            &recording,
        )
    };
    let noauth = r#"{"type": "noauth"}"#;
    let basic = r#"{"type": "basic", "basic": {"username": "ada", "password": "canary-2"}}"#;
    let oauth = r#"{"type": "oauth2", "oauth2": [{"key": "headerPrefix", "value": "Token"}]}"#;
    for (collection, folder, request, value) in [
        (bearer, "null", "null", "Bearer <API_TOKEN>"),
        (bearer, noauth, "null", "mine"),
        (bearer, noauth, bearer, "Bearer <API_TOKEN>"),
        (noauth, bearer, "null", "Bearer <API_TOKEN>"),
        (bearer, basic, "null", ""),
        (bearer, oauth, "null", "Token <ACCESS_TOKEN>"),
        (bearer, r#"{"type": "hawk"}"#, "null", "mine"),
    ] {
        assert_eq!(
            authorization(collection, folder, request),
            value,
            "{collection} {folder} {request}"
        );
    }
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
}

#[test]
fn saved_answers_are_examples_unless_they_are_to_the_same_request() {
    let answer = |original: &str| {
        let text = items(&format!(
            r#"{{"request": {{"method": "GET", "url": {{"raw": "http://h/a", "host": "h", "path": ["a"]}}}},
                "response": [{{"code": 404}}, {{{original} "code": 203, "body": "[1]", "header": "A: b"}}]}}"#
        ));
        let exchange = read(&text).exchanges[0].clone();
        assert_eq!(exchange.expect, [203]);
        exchange.answer.unwrap()
    };
    assert!(answer("").is_example);
    assert!(answer(r#""originalRequest": {"method": "GET", "url": "http://h/b"},"#).is_example);
    let same = answer(r#""originalRequest": {"method": "GET", "url": {"raw": "http://h/a"}},"#);
    assert!(!same.is_example);
    assert_eq!(
        (same.status, &same.body[..], same.headers.len()),
        (203, &b"[1]"[..], 1)
    );
}

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
    assert!(recording.exchanges[0].target.len() < 100 * 1024 * 1024);
    let mut many = String::new();
    for number in 0..20_000 {
        let _ = write!(many, "{{{{a-{number}}}}}/{{{{A{number}}}}}/");
    }
    let recording = read(&items(&format!(r#"{{"request": "http://h/{many}"}}"#)));
    assert!(recording.secrets.len() <= 1000);
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
