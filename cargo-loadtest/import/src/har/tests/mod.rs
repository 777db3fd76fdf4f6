//! What becomes of archives.

mod any;
mod between;
mod fixtures;
mod told;

use super::*;
use crate::recording::{Body, Exchange, Text};
use serde_json::{Value, json};

fn read(archive: &Value, options: &HarOptions) -> Result<Recording, Mistake> {
    let input = Input::new("visit.har", archive.to_string());
    read_har(&input, options)
}

/// An entry, at so many milliseconds.
fn entry(at: u32, method: &str, url: &str, status: u16) -> Value {
    let (seconds, millis) = (at / 1000, at % 1000);
    json!({
        "startedDateTime": format!("2026-03-01T10:{:02}:{:02}.{millis:03}Z", seconds / 60, seconds % 60),
        "time": 20,
        "request": { "method": method, "url": url, "headers": [] },
        "response": { "status": status, "headers": [], "content": { "mimeType": "application/json" } },
    })
}

/// An entry with more of its fields: `request.headers.accept` is a header.
fn with(mut entry: Value, fields: &[(&str, Value)]) -> Value {
    for (path, value) in fields {
        let header = path.split_once(".headers.");
        if let Some((part, name)) = header {
            let list = entry[part]["headers"].as_array_mut().unwrap();
            list.push(json!({ "name": name, "value": value }));
            continue;
        }
        let mut place = &mut entry;
        for name in path.split('.') {
            place = &mut place[name];
        }
        *place = value.clone();
    }
    entry
}

fn archive(entries: &[Value]) -> Value {
    json!({ "log": { "version": "1.2", "entries": entries } })
}

fn recording(entries: &[Value]) -> Recording {
    read(&archive(entries), &HarOptions::default()).unwrap()
}

fn lines(recording: &Recording) -> Vec<String> {
    let line = |exchange: &Exchange| {
        format!(
            "{} {}{}",
            exchange.method,
            exchange.origin,
            show_text(&exchange.target)
        )
    };
    recording.exchanges.iter().map(line).collect()
}

/// Returns a text with secrets by their numbers.
fn show_text(text: &Text) -> String {
    text.shown(|piece| match piece {
        Piece::Secret(number) => format!("<secret {number}>"),
        Piece::Run(value) => format!("{{{{{}}}}}", value.path().unwrap_or_default()),
        piece => panic!("{piece:?}"),
    })
}

fn notes(recording: &Recording) -> String {
    let words: Vec<_> = recording
        .notes
        .iter()
        .map(|note| note.words.as_str())
        .collect();
    words.join("\n")
}

#[test]
fn what_is_no_archive_says_what_to_do() {
    for (text, words, help) in [
        ("{}", "no list `log.entries`", "Export HAR"),
        ("[]", "no list `log.entries`", "Export HAR"),
        (
            r#"{"log":{"entries":{}}}"#,
            "no list `log.entries`",
            "Export HAR",
        ),
        (
            r#"{"log":{"entries":[]}}"#,
            "no requests in it",
            "load the page",
        ),
        (
            r#"{"log":{"entries":[1,{},{"request":{"url":7}}]}}"#,
            "this is a number without one: it is left out",
            "export",
        ),
        ("{\"log\":", "not JSON", ""),
    ] {
        let input = Input::new("visit.har", text.to_owned());
        let mistake = read_har(&input, &HarOptions::default()).unwrap_err();
        assert!(mistake.words.contains(words), "{text}: {}", mistake.words);
        assert!(mistake.help.unwrap_or_default().contains(help), "{text}");
    }
}

#[test]
fn when_nothing_is_left_the_help_fits() {
    let script = with(
        entry(0, "GET", "http://h/a.js", 200),
        &[("_resourceType", json!("script"))],
    );
    let mistake = |entries: &[Value], host: &str| {
        let options = HarOptions {
            hosts: vec![host.to_owned()]
                .into_iter()
                .filter(|host| !host.is_empty())
                .collect(),
            ..HarOptions::default()
        };
        let mistake = read(&archive(entries), &options).unwrap_err();
        format!("{}; {}", mistake.words, mistake.help.unwrap())
    };
    assert_eq!(
        mistake(std::slice::from_ref(&script), ""),
        "no request is left: static files (1); `--host h` keeps the requests to that host, and `--keep-static` static files"
    );
    assert_eq!(
        mistake(&[entry(0, "GET", "http://h/a", 200), script], "other"),
        "no request is left: other hosts (2); `--host h` keeps the requests to that host, and `--keep-static` static files"
    );
}

#[test]
fn little_is_insisted_on() {
    let bare = json!({ "request": { "method": "get", "url": "http://h/a" }, "response": { "status": "200" } });
    let odd = json!({
        "startedDateTime": "never", "time": null, "timings": null, "cache": null, "pageref": 7,
        "request": { "method": "POST", "url": "http://h/b", "headers": [null, {"name": "X-A"}, {"name": "bad name", "value": "x"}, {"name": "X-N", "value": 7}],
            "cookies": null, "queryString": null, "headersSize": null, "bodySize": 2.0, "postData": {"mimeType": null, "text": "{}", "params": null} },
        "response": { "status": 201.0, "headers": null, "content": null, "bodySize": null },
    });
    let recording = recording(&[bare, odd]);
    assert_eq!(lines(&recording), ["GET http://h/a", "POST http://h/b"]);
    assert_eq!(recording.exchanges[1].expect, [201]);
    assert_eq!(
        recording.exchanges[1].header("x-n"),
        Some(&Text::literal("7"))
    );
    assert_eq!(recording.exchanges[1].body, Body::Text(Text::literal("{}")));
    assert!(
        recording
            .exchanges
            .iter()
            .all(|exchange| exchange.think.is_none())
    );
}

#[test]
fn only_the_browser_and_its_connection_are_forgotten() {
    let noise = [
        (":path", "/a"),
        ("Host", "h"),
        ("User-Agent", "x"),
        ("Sec-Fetch-Mode", "cors"),
        ("Referer", "http://h/"),
        ("Accept-Encoding", "gzip"),
        ("Cache-Control", "no-cache"),
        ("If-None-Match", "1"),
        ("Content-Length", "2"),
        ("traceparent", "00-1-2-01"),
        ("Origin", "http://h"),
        ("Accept", "*/*"),
    ];
    let own = [
        ("Authorization", "Bearer t"),
        ("X-Csrf-Token", "c"),
        ("Accept-Version", "2"),
        ("Range", "bytes=0-9"),
    ];
    let fields: Vec<(String, Value)> = noise
        .iter()
        .chain(&own)
        .map(|(name, value)| (format!("request.headers.{name}"), json!(value)))
        .collect();
    let fields: Vec<(&str, Value)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let recording = recording(&[with(entry(0, "GET", "http://h/a", 200), &fields)]);
    let names: Vec<_> = recording.exchanges[0]
        .headers
        .iter()
        .map(|header| header.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["authorization", "x-csrf-token", "accept-version", "range"]
    );
}

#[test]
fn the_origin_of_the_base_url_follows_it() {
    let form = ("request.headers.content-type", json!("text/plain"));
    let origin = |value: &str| vec![("request.headers.origin", json!(value)), form.clone()];
    let recording = recording(&[
        with(entry(0, "POST", "http://h/a", 200), &origin("http://h")),
        with(entry(9, "POST", "http://h/b", 200), &origin("http://w")),
    ]);
    let sent = |at: usize| show_text(recording.exchanges[at].header("origin").unwrap());
    assert_eq!([sent(0), sent(1)], ["{{vu.origin}}", "http://w"]);
}

#[test]
fn an_origin_is_sent_where_a_server_may_look_at_it() {
    let origin = ("request.headers.origin", json!("http://w"));
    let json_type = ("request.headers.content-type", json!("application/json"));
    let form = (
        "request.headers.content-type",
        json!("application/x-www-form-urlencoded"),
    );
    let allowed = |value: &str| ("response.headers.access-control-allow-origin", json!(value));
    for (method, fields, is_sent) in [
        ("POST", vec![origin.clone(), form.clone()], true),
        (
            "POST",
            vec![origin.clone(), json_type.clone(), allowed("http://w")],
            true,
        ),
        (
            "POST",
            vec![origin.clone(), json_type.clone(), allowed("*")],
            false,
        ),
        ("POST", vec![origin.clone(), json_type], false),
        ("GET", vec![origin, allowed("http://w")], false),
    ] {
        let recording = recording(&[with(entry(0, method, "http://h/a", 200), &fields)]);
        assert_eq!(
            recording.exchanges[0].header("origin").is_some(),
            is_sent,
            "{fields:?}"
        );
    }
}

#[test]
fn what_a_first_visit_would_not_ask_for_is_left_out() {
    let cached = |at, url| {
        with(
            entry(at, "GET", url, 200),
            &[("_fromCache", json!("memory"))],
        )
    };
    let worker = with(
        entry(30, "GET", "http://h/c", 200),
        &[("response._fetchedViaServiceWorker", json!(true))],
    );
    let hsts = with(
        entry(40, "GET", "http://h/d", 307),
        &[("response.headers.non-authoritative-reason", json!("HSTS"))],
    );
    let recording = recording(&[
        entry(0, "GET", "http://h/a", 200),
        cached(10, "http://h/a"),
        cached(20, "http://h/b"),
        cached(25, "http://h/b"),
        worker,
        entry(35, "GET", "http://h/c", 200),
        hsts,
    ]);
    assert_eq!(
        lines(&recording),
        ["GET http://h/a", "GET http://h/b", "GET http://h/c"]
    );
    assert_eq!(recording.dropped.len(), 4);
}

#[test]
fn redirects_stay_as_the_browser_followed_them() {
    let redirect = with(
        entry(0, "POST", "http://h/login", 302),
        &[("response.headers.location", json!("/home"))],
    );
    let recording = recording(&[redirect, entry(30, "GET", "http://h/home", 200)]);
    assert_eq!(
        lines(&recording),
        ["POST http://h/login", "GET http://h/home"]
    );
    assert_eq!(
        (
            recording.exchanges[0].expect[0],
            recording.exchanges[0].redirects
        ),
        (302, 0)
    );
}

#[test]
fn a_kind_is_told_without_the_browser_saying_it() {
    for (url, fields, is_kept) in [
        ("http://h/a.png", vec![], true),
        (
            "http://h/a.png",
            vec![("response.content.mimeType", json!("image/png"))],
            false,
        ),
        (
            "http://h/avatar",
            vec![("response.content.mimeType", json!("image/png; a=b"))],
            false,
        ),
        (
            "http://h/app.js?v=1",
            vec![("response.content.mimeType", json!(""))],
            false,
        ),
        (
            "http://h/x",
            vec![("request.headers.Sec-Fetch-Dest", json!("script"))],
            false,
        ),
        (
            "http://h/x",
            vec![("request.headers.Sec-Fetch-Dest", json!("empty"))],
            true,
        ),
        ("http://h/x", vec![("_resourceType", json!("ping"))], false),
        (
            "http://h/x?callback=f",
            vec![
                ("_resourceType", json!("xhr")),
                ("response.content.mimeType", json!("application/javascript")),
            ],
            true,
        ),
        (
            "http://h/x.js",
            vec![
                ("_resourceType", json!("fetch")),
                ("response.content.mimeType", json!("text/javascript")),
            ],
            false,
        ),
        (
            "http://h/x",
            vec![("response.content.mimeType", json!("text/event-stream"))],
            true,
        ),
        (
            "http://h/x",
            vec![("request.headers.Upgrade", json!("websocket"))],
            true,
        ),
        ("http://h/socket.io/?EIO=4&transport=polling", vec![], false),
        ("http://h/cdn-cgi/rum", vec![], false),
    ] {
        let page = with(
            entry(0, "GET", "http://h/", 200),
            &[("response.content.mimeType", json!("text/html"))],
        );
        let recording = recording(&[page, with(entry(10, "GET", url, 200), &fields)]);
        assert_eq!(recording.exchanges.len() == 2, is_kept, "{url} {fields:?}");
    }
    let options = HarOptions {
        keeps_static: true,
        ..HarOptions::default()
    };
    let script = with(
        entry(0, "GET", "http://h/a.js", 200),
        &[("_resourceType", json!("script"))],
    );
    assert_eq!(
        read(&archive(&[script]), &options).unwrap().exchanges.len(),
        1
    );
}

#[test]
fn bodies_are_read_from_text_and_from_lists() {
    let form = "application/x-www-form-urlencoded";
    for (data, body) in [
        (
            json!({"mimeType": form, "text": "a=b%20c", "params": [{"name": "x", "value": "y"}]}),
            "a=b%20c",
        ),
        (
            json!({"mimeType": form, "params": [{"name": "a", "value": "b c&"}, {"name": "d"}]}),
            "a=b+c%26&d=",
        ),
        (
            json!({"mimeType": "application/json", "params": [{"name": "{\"a\":1}", "value": ""}]}),
            "{\"a\":1}",
        ),
        (
            json!({"mimeType": "text/plain", "text": "aGk=", "encoding": "base64"}),
            "hi",
        ),
    ] {
        let recording = recording(&[with(
            entry(0, "POST", "http://h/a", 200),
            &[("request.postData", data.clone())],
        )]);
        let exchange = &recording.exchanges[0];
        assert_eq!(exchange.body, Body::Text(Text::literal(body)), "{data}");
        assert_eq!(exchange.content_type(), data["mimeType"].as_str());
    }
    let lost = with(
        entry(0, "POST", "http://h/a", 200),
        &[("request.bodySize", json!(7))],
    );
    assert!(notes(&recording(&[lost])).contains("its body is not in the archive"));
}

#[test]
fn an_archive_without_anything_secret_is_told() {
    let told = |creator: &str, entry: Value| {
        let mut archive = archive(&[entry]);
        archive["log"]["creator"] = json!({ "name": creator });
        !read(&archive, &HarOptions::default())
            .unwrap()
            .notes
            .is_empty()
    };
    let plain = || entry(0, "GET", "http://h/a", 200);
    assert!(told("WebInspector", plain()));
    assert!(!told("Firefox", plain()));
    let sets = with(plain(), &[("response.headers.Set-Cookie", json!("a=b"))]);
    assert!(!told("WebInspector", sets));
}

#[test]
fn an_answer_is_kept_as_it_was_before_it_was_encoded() {
    let answer = |content: Value| {
        let recording = recording(&[with(
            entry(0, "GET", "http://h/a", 200),
            &[("response.content", content)],
        )]);
        recording.exchanges[0].answer.clone().unwrap().body
    };
    assert_eq!(answer(json!({"text": "[1]"})), b"[1]");
    assert_eq!(
        answer(json!({"text": "WzFd\n", "encoding": "base64"})),
        b"[1]"
    );
    assert_eq!(
        answer(json!({"text": "no base64!", "encoding": "base64"})),
        b"no base64!"
    );
    assert_eq!(answer(json!({"text": "x".repeat(3_000_000)})), b"");
    assert_eq!(answer(json!({})), b"");
}

#[test]
fn what_is_shown_of_a_request_is_harmless() {
    let url = "http://ada:canary@cdn.example/a\u{1b}[31m.js?token=canary";
    let recording = recording(&[
        with(
            entry(0, "GET", "http://h/", 200),
            &[("response.content.mimeType", json!("text/html"))],
        ),
        entry(10, "GET", url, 200),
    ]);
    let dropped = &recording.dropped[0].what;
    assert!(
        dropped.starts_with("GET http://cdn.example/a") && !dropped.contains("canary"),
        "{dropped}"
    );
    assert!(!dropped.contains('\u{1b}'), "{dropped}");
}
