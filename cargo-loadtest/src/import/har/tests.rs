use super::super::recording::{Body, Exchange, Origin};
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(archive: &Value, options: &HarOptions) -> Result<Recording, Mistake> {
    let input = Input {
        name: "visit.har".to_owned(),
        text: archive.to_string(),
    };
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
    let line =
        |exchange: &Exchange| format!("{} {}{}", exchange.method, exchange.origin, exchange.target);
    recording.exchanges.iter().map(line).collect()
}

fn notes(recording: &Recording) -> String {
    let words: Vec<_> = recording
        .notes
        .iter()
        .map(|note| note.words.as_str())
        .collect();
    words.join("\n")
}

/// All that is known of an archive, for a snapshot.
fn shown(text: &str) -> String {
    let input = Input {
        name: "visit.har".to_owned(),
        text: text.to_owned(),
    };
    let recording = read_har(&input, &HarOptions::default()).unwrap();
    let mut shown = format!("{:?}\nbase {:?}\n", recording.description, recording.base);
    for exchange in &recording.exchanges {
        let think = exchange
            .think
            .map_or(String::new(), |think| format!(", think {think:?}"));
        let pattern = exchange
            .pattern
            .as_deref()
            .map_or(String::new(), |pattern| format!(" as {pattern}"));
        let _ = writeln!(
            shown,
            "{} {}{}{pattern} -> {:?}{think}",
            exchange.method, exchange.origin, exchange.target, exchange.expect
        );
        for header in &exchange.headers {
            let _ = writeln!(
                shown,
                "  {}: {}",
                header.name,
                String::from_utf8_lossy(&header.value)
            );
        }
        if let Some(credentials) = &exchange.credentials {
            let _ = writeln!(shown, "  {:?}", String::from_utf8_lossy(&credentials.user));
        }
        match &exchange.body {
            Body::None => {}
            Body::Bytes(bytes) => {
                let _ = writeln!(shown, "  {}", String::from_utf8_lossy(bytes));
            }
            Body::Multipart(parts) => {
                for part in parts {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let file = part.file_name.as_deref().map(text);
                    let _ = writeln!(
                        shown,
                        "  {} = {:?} {file:?} {:?}",
                        text(&part.name),
                        text(&part.content),
                        part.content_type
                    );
                }
            }
        }
        let answer = exchange
            .answer
            .as_ref()
            .map(|answer| answer.body.as_slice());
        if let Some(body) = answer.filter(|body| !body.is_empty()) {
            let _ = writeln!(shown, "  < {}", String::from_utf8_lossy(body));
        }
    }
    for data in &recording.data {
        let _ = writeln!(
            shown,
            "data {} {:?} {:?}",
            data.name, data.fields, data.rows
        );
    }
    for reference in &recording.references {
        let _ = writeln!(
            shown,
            "{} from {:?}: {}",
            reference.marker, reference.from, reference.why
        );
    }
    for note in &recording.notes {
        let _ = writeln!(shown, "note {}: {}", &text[note.span.clone()], note.words);
    }
    for dropped in &recording.dropped {
        let _ = writeln!(shown, "dropped {} ({})", dropped.what, dropped.why);
    }
    shown
}

#[test]
fn an_archive_of_chrome_is_what_its_user_did() {
    insta::assert_snapshot!(shown(include_str!(
        "../../../../tests/fixtures/import/har/chrome.har"
    )));
}

#[test]
fn an_archive_of_firefox_is_what_its_user_did() {
    insta::assert_snapshot!(shown(include_str!(
        "../../../../tests/fixtures/import/har/firefox.har"
    )));
}

#[test]
fn an_archive_of_a_proxy_is_what_passed_it() {
    insta::assert_snapshot!(shown(include_str!(
        "../../../../tests/fixtures/import/har/charles.har"
    )));
}

#[test]
fn requests_that_were_never_sent_are_kept_without_a_status() {
    insta::assert_snapshot!(shown(include_str!(
        "../../../../tests/fixtures/import/har/insomnia.har"
    )));
}

#[test]
fn what_is_no_archive_says_what_to_do() {
    for (text, words, help) in [
        ("{}", "no `log.entries`", "Export HAR"),
        ("[]", "no `log.entries`", "Export HAR"),
        (
            r#"{"log":{"entries":{}}}"#,
            "a list of requests, and this is an object",
            "",
        ),
        (
            r#"{"log":{"entries":[]}}"#,
            "no requests in it",
            "load the page",
        ),
        (
            r#"{"log":{"entries":[1,{},{"request":{"url":7}}]}}"#,
            "3 no requests that could be read",
            "record",
        ),
        ("{\"log\":", "not JSON", ""),
    ] {
        let input = Input {
            name: "visit.har".to_owned(),
            text: text.to_owned(),
        };
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
        "nothing is left of its 1 requests: 1 static files; `--keep-static` keeps static files"
    );
    assert_eq!(
        mistake(&[entry(0, "GET", "http://h/a", 200), script], "other"),
        "nothing is left of its 2 requests: 2 other hosts; `--host h` keeps the requests to that host"
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
    assert_eq!(recording.exchanges[1].header("x-n"), Some(&b"7"[..]));
    assert_eq!(recording.exchanges[1].body, Body::Bytes(b"{}".to_vec()));
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
fn cookies_of_answers_come_back_by_themselves() {
    let sets = |at, cookie: &str| {
        with(
            entry(at, "POST", "http://h/login", 200),
            &[("response.headers.set-cookie", json!(cookie))],
        )
    };
    let asks = |at, cookie: &str| {
        with(
            entry(at, "GET", "http://h/me", 200),
            &[("request.headers.cookie", json!(cookie))],
        )
    };
    let cookie = |entries: &[Value]| {
        let recording = recording(entries);
        let cookie = recording.exchanges.last().unwrap().header("cookie");
        let cookie = cookie.map(|cookie| String::from_utf8(cookie.to_vec()).unwrap());
        (cookie, notes(&recording))
    };
    assert_eq!(
        cookie(&[sets(0, "sid=1; Path=/"), asks(9, "sid=1")]),
        (None, String::new())
    );
    assert_eq!(
        cookie(&[asks(9, "sid=1; _ga=x")]),
        (Some("sid=1".to_owned()), String::new())
    );
    // Of another host.
    let elsewhere = with(
        sets(0, "sid=1"),
        &[("request.url", json!("http://other.h.example/"))],
    );
    let asks_h = with(
        asks(9, "sid=1"),
        &[("request.url", json!("http://h.example/"))],
    );
    assert_eq!(
        cookie(&[elsewhere, asks_h.clone()]).0.as_deref(),
        Some("sid=1")
    );
    let shared = with(
        sets(0, "sid=1; Domain=.h.example"),
        &[("request.url", json!("http://other.h.example/"))],
    );
    assert_eq!(cookie(&[shared, asks_h]).0, None);
    // Of both kinds: the session is what counts.
    let (header, words) = cookie(&[sets(0, "sid=1"), asks(9, "sid=1; theme=dark")]);
    assert!(
        header.is_none() && words.contains("no answer sets the cookie `theme`"),
        "{words}"
    );
    let (header, words) = cookie(&[sets(0, "xsrf-token=1"), asks(9, "xsrf-token=1; sid=2")]);
    assert_eq!(header.as_deref(), Some("xsrf-token=1; sid=2"));
    assert!(
        words.contains("`sid` is older than the recording"),
        "{words}"
    );
    // Of an answer that is left out.
    let script = with(
        sets(0, "sid=1"),
        &[
            ("request.method", json!("GET")),
            ("_resourceType", json!("script")),
        ],
    );
    let (header, words) = cookie(&[script, asks(9, "sid=1")]);
    assert_eq!(header.as_deref(), Some("sid=1"));
    assert!(
        words.contains("an answer that is left out set the cookie `sid`"),
        "{words}"
    );
}

#[test]
fn a_pause_is_what_the_user_waited() {
    let at = |at| entry(at, "GET", &format!("http://h/a?{at}"), 200);
    let recording = recording(&[at(0), at(200), at(1570), at(1580), at(50_000), at(50_010)]);
    let pauses: Vec<_> = recording
        .exchanges
        .iter()
        .map(|exchange| exchange.think.map_or(0, |think| think.as_millis()))
        .collect();
    assert_eq!(pauses, [0, 1400, 0, 30_000, 0, 0]);
    assert!(
        notes(&recording).contains("the pause after it was 48 s long"),
        "{}",
        notes(&recording)
    );
    let options = HarOptions {
        drops_pauses: true,
        ..HarOptions::default()
    };
    let recording = read(&archive(&[at(0), at(9000)]), &options).unwrap();
    assert_eq!(recording.exchanges[0].think, None);
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
            "http://h/x",
            vec![("response.content.mimeType", json!("text/event-stream"))],
            false,
        ),
        (
            "http://h/x",
            vec![("request.headers.Upgrade", json!("websocket"))],
            false,
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
            json!({"mimeType": form, "text": "Content-Type: a\r\nContent-Length: 3\r\n\r\na=b"}),
            "a=b",
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
        assert_eq!(
            String::from_utf8_lossy(&exchange.body.bytes()),
            body,
            "{data}"
        );
        assert_eq!(
            exchange.header("content-type"),
            data["mimeType"].as_str().map(str::as_bytes)
        );
    }
    let lost = with(
        entry(0, "POST", "http://h/a", 200),
        &[("request.bodySize", json!(7))],
    );
    assert!(notes(&recording(&[lost])).contains("its body is not in the archive"));
}

#[test]
fn the_same_question_about_several_things_is_asked_with_rows() {
    let shows =
        |at, id: &str, part: &str| entry(at, "GET", &format!("http://h/items/{id}{part}"), 200);
    let visit = [
        shows(0, "11", ""),
        shows(10, "11", "/reviews"),
        shows(20, "12", ""),
        shows(30, "12", "/reviews"),
    ];
    let both = recording(&visit);
    assert_eq!(both.data[0].rows, [["11"], ["12"]]);
    let marker = &both.references[0].marker;
    assert_eq!(
        both.references[0].from,
        Origin::Row {
            data: 0,
            field: "id".to_owned()
        }
    );
    assert_eq!(
        lines(&both),
        [
            format!("GET http://h/items/{marker}"),
            format!("GET http://h/items/{marker}/reviews")
        ]
    );
    assert_eq!(
        both.exchanges[1].pattern.as_deref(),
        Some("/items/{id}/reviews")
    );
    // The reviews of one only.
    assert_eq!(recording(&visit[..3]).data, []);
    // What changes something is done as it was done.
    let deletes = |at, id: &str| entry(at, "DELETE", &format!("http://h/items/{id}"), 204);
    assert_eq!(recording(&[deletes(0, "11"), deletes(10, "12")]).data, []);
    // With another answer, it is another question.
    assert_eq!(
        recording(&[
            shows(0, "11", ""),
            entry(10, "GET", "http://h/items/12", 404)
        ])
        .data,
        []
    );
}

#[test]
fn an_identifier_that_is_known_from_elsewhere_is_left_to_where_it_is_from() {
    let shows = |at, id: &str| entry(at, "GET", &format!("http://h/items/{id}"), 200);
    let list = |text: &str| {
        with(
            entry(0, "GET", "http://h/items", 200),
            &[("response.content.text", json!(text))],
        )
    };
    let visit =
        |first: Value, last: Value| recording(&[first, shows(10, "1"), shows(20, "2"), last]);
    let nothing = || entry(30, "GET", "http://h/bye", 200);
    assert_eq!(
        visit(list("{\"page\":1,\"of\":2}"), nothing()).data.len(),
        1
    );
    assert_eq!(
        visit(list("[{\"id\":1},{\"id\":2}]"), nothing()).data.len(),
        0
    );
    let order = |body: &str| {
        let data = json!({ "mimeType": "application/json", "text": body });
        with(
            entry(30, "POST", "http://h/orders", 201),
            &[("request.postData", data)],
        )
    };
    assert_eq!(visit(list("[]"), order("{\"quantity\":2}")).data.len(), 1);
    assert_eq!(visit(list("[]"), order("{\"item\":2}")).data.len(), 0);
    // The answer about the second has what a later request needs.
    let offer = |at, id: &str, offer: &str| {
        let text = json!({ "offer": offer }).to_string();
        with(shows(at, id), &[("response.content.text", json!(text))])
    };
    let entries = [
        offer(10, "1", "offer-aa"),
        offer(20, "2", "offer-bb"),
        order("{\"take\":\"offer-bb\"}"),
    ];
    assert_eq!(recording(&entries).data.len(), 0);
    let entries = [
        offer(10, "1", "offer-aa"),
        offer(20, "2", "offer-bb"),
        order("{\"take\":\"offer-aa\"}"),
    ];
    assert_eq!(recording(&entries).data.len(), 1);
}

#[test]
fn what_a_page_repeats_by_itself_is_asked_once() {
    let polls = |at, state: &str| {
        let text = json!({ "state": state }).to_string();
        with(
            entry(at, "GET", &format!("http://h/state?_={at}"), 200),
            &[("response.content.text", json!(text))],
        )
    };
    let buys = entry(900, "POST", "http://h/buy", 200);
    let five: Vec<Value> = (0..5).map(|number| polls(number * 100, "open")).collect();
    let recorded = recording(&[&five[..], std::slice::from_ref(&buys)].concat());
    assert_eq!(
        lines(&recorded),
        ["GET http://h/state?_=0", "POST http://h/buy"]
    );
    assert!(notes(&recorded).contains("it was asked 5 times in a row"));
    // Three are none too many, and with something in between they are none in a row.
    assert_eq!(recording(&five[..3]).exchanges.len(), 3);
    let apart = [
        &five[..2],
        &[entry(150, "POST", "http://h/buy", 200)],
        &five[2..],
    ]
    .concat();
    assert_eq!(recording(&apart).exchanges.len(), 6);
    // The last answer says where to go on.
    let ready = with(
        polls(500, ""),
        &[("response.content.text", json!("{\"result\":\"result-77\"}"))],
    );
    let needed = entry(900, "GET", "http://h/results/result-77", 200);
    assert_eq!(
        recording(&[&five[..], &[ready, needed]].concat())
            .exchanges
            .len(),
        7
    );
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

#[test]
fn a_thousand_requests_are_enough() {
    let entries: Vec<Value> = (0..1001)
        .map(|number| entry(number, "POST", "http://h/a", 200))
        .collect();
    let mistake = read(&archive(&entries), &HarOptions::default()).unwrap_err();
    assert!(
        mistake.words.contains("1001 requests are kept"),
        "{}",
        mistake.words
    );
    assert_eq!(recording(&entries[1..]).exchanges.len(), 1000);
}

/// Values of any kind where an archive has others.
fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "https?://[a-z0-9.:@%-]{0,12}/[ -~]{0,20}".prop_map(Value::from),
        "[a-z]{1,3}=[ -~]{0,8}; ?[a-z=;]{0,20}".prop_map(Value::from),
        "multipart/form-data; boundary=[b-]{0,2}".prop_map(Value::from),
        "(--b|\r\n|name=|form-data;|\"|--|a: b){0,12}".prop_map(Value::from),
        "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:.Z+]{0,12}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
    ]
}

const PLACES: [&str; 22] = [
    "startedDateTime",
    "time",
    "_resourceType",
    "_fromCache",
    "cache",
    "timings",
    "request",
    "response",
    "request.method",
    "request.url",
    "request.headers.cookie",
    "request.headers.content-type",
    "request.headers.authorization",
    "request.headers.accept",
    "request.cookies",
    "request.postData",
    "response.status",
    "response.headers.set-cookie",
    "response.content",
    "response.content.text",
    "response.content.encoding",
    "response.content.mimeType",
];

fn entry_with_anything() -> impl Strategy<Value = Value> {
    let changes = prop::collection::vec((0..PLACES.len(), anything()), 0..4);
    let data = (anything(), anything(), anything());
    (0..90_000_u32, 0..4_u32, changes, data).prop_map(|(at, id, changes, data)| {
        let mut changed = entry(at, "GET", &format!("http://h/items/{id}"), 200);
        changed["request"]["postData"] =
            json!({ "mimeType": data.0, "text": data.1, "params": [{ "name": data.2 }] });
        for (place, value) in changes {
            let place = PLACES[place];
            // Whatever was changed before may be no object any more.
            let part = place.split('.').next().unwrap();
            let is_nested = place.contains('.');
            let is_list = !place.contains(".headers.") || changed[part]["headers"].is_array();
            let is_sound = !is_nested || changed[part].is_object() && is_list;
            let content = &changed["response"]["content"];
            if is_sound && (!place.contains(".content.") || content.is_object()) {
                changed = with(changed, &[(place, value)]);
            }
        }
        changed
    })
}

proptest! {
    /// Nothing that stands in an archive makes its reader panic, and what it says has its place.
    #[test]
    fn any_archive_is_read_or_refused(entries in prop::collection::vec(entry_with_anything(), 0..12)) {
        let archive = archive(&entries);
        let length = archive.to_string().len();
        for (keeps_static, host) in [(false, None), (true, Some("h".to_owned()))] {
            let options = HarOptions { keeps_static, hosts: host.into_iter().collect(), drops_pauses: false };
            match read(&archive, &options) {
                Ok(recording) => {
                    prop_assert!(!recording.exchanges.is_empty());
                    prop_assert!(recording.exchanges.iter().all(|exchange| exchange.target.starts_with('/')));
                    prop_assert!(recording.notes.iter().all(|note| note.span.end <= length));
                    let markers = recording.references.iter().map(|reference| &reference.marker);
                    for marker in markers {
                        prop_assert!(recording.exchanges.iter().any(|exchange| exchange.target.contains(marker)));
                    }
                }
                Err(mistake) => prop_assert!(mistake.span.end <= length),
            }
        }
    }
}
