//! What is read of a request: its URL, body, headers, credentials and answers.

use super::*;

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
        (r#""/only/a/path""#, "http://127.0.0.1:8080", "/only/a/path"),
    ] {
        let exchange = one(&format!("\"url\": {url}"));
        assert_eq!(
            (exchange.origin.as_str(), exchange.target.as_literal()),
            (origin, Some(target)),
            "{url}"
        );
    }
    // A password without a value takes no host away.
    let exchange = one(r#""url": "http://ada:{{password}}@h.example/a""#);
    assert_eq!(exchange.origin, "http://h.example");
    assert_eq!(exchange.credentials.unwrap().user, "ada".into());
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
        assert_eq!(exchange.content_type(), Some(content_type), "{body}");
        assert_eq!(exchange.body, Body::Text(sent.into()), "{body}");
    }
    let raw = r#""url": "http://h/", "body": {"mode": "raw", "raw": "x"}"#;
    assert_eq!(one(raw).body, Body::None, "a GET is sent without");
    let kept = items(&format!(
        r#"{{"request": {{{raw}}}, "protocolProfileBehavior": {{"disableBodyPruning": true}}}}"#
    ));
    assert_eq!(read(&kept).exchanges[0].body, Body::Text("x".into()));
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
        (Some(&"b".into()), None, Some(&"f".into()))
    );
    let exchange = one(
        r#""url": "http://h/", "header": [{"key": "A", "value": "1", "disabled": true}, {"key": "B", "value": "2"}, {"key": "Postman-Token", "value": "x"},
        {"key": "Content-Length", "value": "<calculated when request is sent>"}, {"key": "User-Agent", "value": "PostmanRuntime/7.1"}, {"key": "Host", "value": "h"}]"#,
    );
    assert_eq!(exchange.headers.len(), 1, "{:?}", exchange.headers);
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
        header(&recording, 0, "authorization").unwrap_or_default()
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
fn saved_answers_are_examples() {
    let text = items(
        r#"{"request": {"method": "GET", "url": {"raw": "http://h/a", "host": "h", "path": ["a"]}},
            "response": [{"code": 404}, {"code": 203, "body": "[1]", "header": [{"key": "A", "value": "b"}]}]}"#,
    );
    let exchange = read(&text).exchanges[0].clone();
    assert_eq!(exchange.expect, [203]);
    let answer = exchange.answer.unwrap();
    assert!(answer.is_example);
    assert_eq!(
        (answer.status, &answer.body[..], answer.headers.len()),
        (203, &b"[1]"[..], 1)
    );
}
