//! What is not done as a collection says, and where that is told: a `«` stands before it.

use super::*;

fn check(text: &str, words: &str) -> Recording {
    let at = text.find('«').unwrap();
    let recording = read(&text.replace('«', ""));
    let notes = recording.notes.iter();
    let told: Vec<_> = notes.filter(|note| note.span.start == at).collect();
    assert!(
        told.iter().any(|told| told.words.contains(words)),
        "{text}\n{words}\n{:?}",
        recording.notes
    );
    recording
}

/// A collection of one request to `http://h/`, with more fields of the item and of the request.
fn request(item: &str, request: &str) -> String {
    items(&format!(
        r#"{{"name": "r"{item}, "request": {{"method": "POST", "url": "http://h/"{request}}}}}"#
    ))
}

#[test]
fn a_request_that_cannot_be_sent_is_told_where_it_cannot() {
    let other = r#", {"request": "http://h/"}"#;
    for (one, words) in [
        (
            r#"{"name": "r", "request": «"http://[::1"}"#,
            "the host of this URL is not valid",
        ),
        (
            r#"{"name": "r", "request": {"url": {"raw": «"http://a b/"}}}"#,
            "the host of this URL is not valid",
        ),
        (
            r#"{"name": "r", "request": «"ws://h/"}"#,
            "not HTTP: `GET r` is left out",
        ),
        (
            r#"{"name": "r", "request": {"method": «"A B", "url": "http://h/"}}"#,
            "not a method of HTTP: `A B r`",
        ),
        (
            r#"{"name": "r", "request": {«"method": "PUT"}}"#,
            "there is no URL: `PUT r` is left out",
        ),
    ] {
        let recording = check(&items(&format!("{one}{other}")), words);
        assert_eq!(recording.exchanges.len(), 1);
    }
}

#[test]
fn what_is_said_of_a_request_is_told_at_its_part() {
    for (item, part, words) in [
        (
            "",
            r#", "header": [{"key": «"a b", "value": "x"}]"#,
            "a header with invalid characters",
        ),
        (
            "",
            r#", "header": [«{"value": "x"}]"#,
            "a header has a name as its `key`",
        ),
        (
            "",
            r#", "body": {"mode": "formdata", "formdata": [{"key": «"f", "type": "file", "src": "/a/b.txt"}]}"#,
            "the file `b.txt`",
        ),
        (
            "",
            r#", "body": {"mode": "graphql", "graphql": {"query": "{a}", «"variables": "x"}}"#,
            "not JSON",
        ),
        (
            "",
            r#", "body": {"mode": "yaml", «"yaml": "x"}"#,
            "a body of the kind `yaml`",
        ),
        (
            "",
            r#", "auth": {"type": «"hawk", "hawk": []}"#,
            "credentials of the kind `hawk`",
        ),
    ] {
        check(&request(item, part), words);
    }
}

#[test]
fn what_is_said_of_the_way_it_is_sent_is_told() {
    for (item, part, words) in [
        (
            r#", "protocolProfileBehavior": {"followOriginalHttpMethod": «true}"#,
            "",
            "`followOriginalHttpMethod` is not applied",
        ),
        (
            r#", "protocolProfileBehavior": {"disableCookies": «true}"#,
            "",
            "`disableCookies` is not applied",
        ),
        (
            r#", "protocolProfileBehavior": {"disabledSystemHeaders": «{"accept": true}}"#,
            "",
            "`disabledSystemHeaders`",
        ),
        (
            r#", "protocolProfileBehavior": {"protocolVersion": «"http2"}"#,
            "",
            "`protocolVersion` is not applied",
        ),
        (
            r#", "protocolProfileBehavior": {"maxRedirects": «1000}"#,
            "",
            "not more than 50 redirects",
        ),
        (
            r#", "protocolProfileBehavior": {"strictSSL": «false}"#,
            "",
            "certificates go unchecked",
        ),
        (
            r#", "event": [{"listen": «"prerequest", "script": {"exec": "pm.request.headers.add({key: 'a', value: sign()})"}}]"#,
            "",
            "not run: the pre-request script of `r`",
        ),
    ] {
        check(&request(item, part), words);
    }
    check(
        &items(r#"{"request": {"url": "http://h/", «"body": {"mode": "raw", "raw": "x"}}}"#),
        "a `GET` is sent without a body, as in Postman",
    );
    // What is as usual is not told.
    let usual = request(
        r#", "protocolProfileBehavior": {"disableCookies": false, "disabledSystemHeaders": {}, "protocolVersion": "auto", "strictSSL": true}"#,
        r#", "header": [{"key": "", "value": ""}], "auth": {"type": "inherit"}"#,
    );
    assert_eq!(read(&usual).notes, []);
    let bodiless = items(
        r#"{"request": {"method": "GET", "url": "http://h/", "body": {"mode": "formdata", "formdata": []}}}"#,
    );
    assert_eq!(read(&bodiless).notes, []);
}

#[test]
fn a_host_is_no_secret() {
    for (variable, url) in [
        (
            r#"{"key": "base", "value": "http://h.example:81/v1", "type": "secret"}"#,
            "{{base}}/a",
        ),
        (
            r#"{"key": "base", "value": "h.example:81", "type": "secret"}"#,
            "http://{{base}}/v1/a",
        ),
        (
            r#"{"key": "base", "value": "{{other}}:81", "type": "secret"}, {"key": "other", "value": "h.example", "type": "secret"}"#,
            "http://{{base}}/v1/a",
        ),
    ] {
        let variable = variable.replacen(r#""base""#, r#"«"base""#, 1);
        let text = format!(
            r#"{{"variable": [{variable}], "item": [{{"request": {{"url": "{url}", "header": "X-V: {{{{base}}}}"}}}}]}}"#
        );
        let recording = check(
            &text,
            "the value of `base`, which is the host, is in the scenario",
        );
        let exchange = &recording.exchanges[0];
        assert_eq!(
            (exchange.origin.as_str(), exchange.target.as_literal()),
            ("http://h.example:81", Some("/v1/a"))
        );
        // Elsewhere it is one.
        let value = header(&recording, 0, "x-v");
        assert_eq!(value.as_deref(), Some("<BASE>"));
    }
    // Who asks is.
    let text = r#"{"variable": [{"key": "p", "value": "canary", "type": "secret"}], "item": [{"request": "http://ada:{{p}}@h/"}]}"#;
    let recording = read(text);
    let password = recording.exchanges[0]
        .credentials
        .as_ref()
        .unwrap()
        .password
        .clone();
    assert_eq!(resolved(&password, &recording), "<P>");
}

#[test]
fn a_variable_that_stands_for_itself_has_no_value() {
    let with = |variables: &str, url: &str| {
        format!(r#"{{"variable": [{variables}], "item": [{{"request": «"{url}"}}]}}"#)
    };
    let round = r#"{"key": "a", "value": "http://{{b}}"}, {"key": "b", "value": "http://{{a}}"}"#;
    let recording = check(&with(round, "{{a}}/x"), "end after 20 levels, at `a`");
    assert_eq!(recording.exchanges[0].origin, "http://127.0.0.1:8080");
    let told = recording
        .notes
        .iter()
        .any(|note| note.words.contains("no host for `{{a}}`"));
    assert!(told, "{:?}", recording.notes);
    let itself = r#"{"key": "c", "value": "x-{{a}}"}, {"key": "a", "value": "y-{{a}}"}"#;
    let recording = check(
        &with(itself, "http://h/{{c}}/{{c}}"),
        "end after 20 levels, at `a`",
    );
    assert_eq!(
        resolved(&recording.exchanges[0].target, &recording),
        "/<C>/<C>"
    );
    assert!(recording.secrets[0].what.contains("has no value"));
    assert_eq!(recording.notes.len(), 1);
    // Twice is not in a circle.
    let twice = r#"{"key": "a", "value": "{{b}}{{b}}"}, {"key": "b", "value": "z"}"#;
    assert_eq!(
        read(&with(twice, "http://h/{{a}}").replace('«', "")).exchanges[0]
            .target
            .as_literal(),
        Some("/zz")
    );
    let mut chain = String::new();
    for number in 0..30 {
        let _ = write!(
            chain,
            r#"{{"key": "v{number}", "value": "{{{{v{}}}}}"}},"#,
            number + 1
        );
    }
    let recording = check(
        &with(
            &format!(r#"{chain} {{"key": "v30", "value": "x"}}"#),
            "http://h/{{v0}}",
        ),
        "end after 20 levels, at `v20`",
    );
    assert_eq!(
        resolved(&recording.exchanges[0].target, &recording),
        "/<V0>"
    );
}
