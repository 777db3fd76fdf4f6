//! Archives of requests as scenarios: of a visit with a real browser, and of fixtures, against the server that was
//! visited.

use crate::archive::{Bodies, archive};
use crate::browser::Browser;
use crate::call::{Call, LIMIT, Output};
use crate::project::{Files, LOAD_TEST, STANDS_ALONE, dependency, header};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread;
use tungstenite::Message;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![
        every_archive_is_a_scenario_that_gets_its_answers_again,
        what_is_left_out_is_told,
        what_is_said_of_many_requests_is_said_once,
        nothing_of_an_archive_is_shown_that_is_secret,
        a_mistake_says_what_to_do,
        a_quiet_import_says_what_is_not_as_recorded_alone,
        streams_of_events_and_websockets_are_read_again_whatever_the_input,
    ];
    trials.extend(trials![needing "chromium":
        a_visit_is_made_again_by_the_scenario_of_its_archive,
    ]);
    trials
}

fn tool(folder: &Path, line: &str) -> Call {
    Call::tool(folder).line(line)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder of the system")
}

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import/har");
    path.join(name).display().to_string()
}

/// What a page of the shop holds.
const PAGE: &str = r#"<!doctype html><title>Shop</title>
<link rel="stylesheet" href="/style.css"><img src="/logo.png"><script src="/app.js"></script>
<form method="post" action="/feedback"><input name="text" value="cheap &amp; good"></form>"#;
const SCRIPT: &str = r#"
let token, items;
async function call(method, url, body) {
  const headers = { accept: "application/json", "x-shop-client": "web" };
  if (token) headers.authorization = "Bearer " + token;
  if (body) headers["content-type"] = "application/json";
  const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(url + ": " + answer.status);
  return answer.json();
}
async function login() { token = (await call("POST", "/api/login", { user: "ada", password: "hunter2-canary" })).token; }
async function look() { items = (await call("GET", "/api/items?page=1")).items; }
async function read() { await call("GET", "/api/news/7"); await call("GET", "/api/news/9"); }
async function order() {
  const made = await call("POST", "/api/orders", { item: items[1].id, quantity: 2 });
  return (await call("GET", "/api/orders/" + made.id)).state;
}
async function wait() { for (let i = 0; i < 5; i++) await call("GET", "/api/state"); }
function leave() { navigator.sendBeacon("/beacon", "bye"); }
"#;

/// A shop in which nothing works without what it gave before: a cookie, a token, the number of an order.
fn shop() -> Server {
    let logins = Mutex::new(0_u64);
    let orders = Mutex::new(5500_u64);
    Server::recording(move |request| {
        let cookie = request.header("cookie").unwrap_or_default();
        let has_visit = cookie.contains("visit=first");
        let count = *logins.lock().expect("a number");
        let is_known = (1..=count).any(|number| {
            request.header("authorization") == Some(&format!("Bearer tok-8d1f7c2a9e-{number}"))
                && cookie.contains(&format!("session=s-{number}"))
        });
        let path = request.path.as_str();
        match (request.method.as_str(), path) {
            ("GET", "/") => Reply::text(PAGE)
                .header("content-type", "text/html")
                .header("set-cookie", "visit=first; Path=/"),
            ("GET", "/style.css") => Reply::text("p{}").header("content-type", "text/css"),
            ("GET", "/app.js") => Reply::text(SCRIPT).header("content-type", "text/javascript"),
            ("GET", "/logo.png") => Reply::text("no picture").header("content-type", "image/png"),
            ("POST", "/beacon") => Reply::status(204),
            ("POST", "/api/login") if has_visit => {
                let mut logins = logins.lock().expect("a number");
                *logins += 1;
                Reply::json(format!(
                    r#"{{"token":"tok-8d1f7c2a9e-{logins}","name":"Ada"}}"#
                ))
                .header(
                    "set-cookie",
                    format!("session=s-{logins}; Path=/; HttpOnly"),
                )
            }
            ("GET", "/api/items") if is_known => {
                Reply::json(r#"{"items":[{"id":"p-47114711"},{"id":"p-47124712"}]}"#)
            }
            ("GET", "/api/state") if is_known => Reply::json(r#"{"state":"open"}"#),
            ("POST", "/api/orders") if is_known && request.text().contains("p-47124712") => {
                let mut orders = orders.lock().expect("a number");
                *orders += 1;
                Reply::status(201)
                    .header("content-type", "application/json")
                    .body(format!(r#"{{"id":{orders}}}"#))
            }
            ("GET", path) if is_known && path.starts_with("/api/news/") => {
                Reply::json(r#"{"text":"new"}"#)
            }
            ("GET", path) if is_known && path.starts_with("/api/orders/") => {
                let number: u64 = path["/api/orders/".len()..].parse().unwrap_or_default();
                let is_there = (5501..=*orders.lock().expect("a number")).contains(&number);
                if is_there {
                    Reply::json(r#"{"state":"open"}"#)
                } else {
                    Reply::status(404)
                }
            }
            ("POST", "/feedback") if request.text() == "text=cheap+%26+good" => {
                Reply::status(303).header("location", "/thanks")
            }
            ("GET", "/thanks") => Reply::text("<p>Thanks</p>").header("content-type", "text/html"),
            _ => Reply::status(404),
        }
    })
}

/// Method and path.
fn line(request: &Request) -> String {
    format!("{} {}", request.method, request.target)
}

fn a_visit_is_made_again_by_the_scenario_of_its_archive() {
    let server = shop();
    let url = server.url();
    let mut browser = Browser::start();
    let mut bodies = Bodies::default();
    browser.visit(&url);
    for deed in ["login()", "look()", "read()", "order()", "wait()"] {
        browser.awaited(deed);
        bodies.collect(&mut browser);
    }
    browser.value("leave()");
    browser.value("document.forms[0].submit()");
    browser.wait_for("Page.loadEventFired", 2);
    bodies.collect(&mut browser);
    let archive = archive(&browser, &bodies);
    drop(browser);
    let folder = folder();
    fs::write(folder.path().join("visit.har"), archive.to_string()).expect("a file");
    let output = tool(folder.path(), "import har visit.har -o load.rs")
        .run()
        .exits(0);
    output.says(&[
        "/style.css (static files)",
        "/app.js (static files)",
        "/logo.png (static files)",
        "/beacon (trackers and beacons)",
    ]);
    let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
    assert!(!source.contains("canary"), "{source}");
    let before = server.recorded().len();
    // The token of the visit is in no source, and would be refused.
    smoke(
        "import_har_visit",
        source,
        &[("PASSWORD", "hunter2-canary")],
    );
    let sent = server.recorded().split_off(before);
    let mut lines: Vec<String> = sent.iter().map(line).collect();
    assert!(lines[6].starts_with("GET /api/orders/55"), "{lines:?}");
    lines.remove(6);
    assert_eq!(
        lines,
        [
            "GET /",
            "POST /api/login",
            "GET /api/items?page=1",
            "GET /api/news/7",
            "GET /api/news/9",
            "POST /api/orders",
            "GET /api/state",
            "GET /api/state",
            "GET /api/state",
            "GET /api/state",
            "GET /api/state",
            "POST /feedback",
            "GET /thanks",
        ]
    );
    assert_eq!(sent[1].header("x-shop-client"), Some("web"));
    assert_eq!(sent[1].header("sec-fetch-mode"), None);
}

/// Compiles a source, and runs its scenario once.
fn smoke(name: &'static str, source: String, secrets: &[(&str, &str)]) -> Output {
    let manifest = format!(
        "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
        header(name),
        dependency()
    );
    let project = Files::new(name)
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", "")
        .file("tests/load.rs", source)
        .create();
    let mut call = project.cargo("test --test load");
    for (name, value) in secrets {
        call = call.env(name, value);
    }
    call.run().exits(0).prints(&["1 passed"])
}

/// A server that answers as an archive has it, at the origins that stand for it: in the order of the archive, and
/// with the last answer from then on. A cache has nothing here.
fn replaying(archive: &str, origins: &[&str]) -> Server {
    let archive: Value = serde_json::from_str(archive).expect("our own archive");
    let mut answers: HashMap<String, VecDeque<(u16, String, bool)>> = HashMap::new();
    for entry in archive["log"]["entries"].as_array().expect("entries") {
        let (request, response) = (&entry["request"], &entry["response"]);
        let url = request["url"].as_str().expect("a URL");
        let Some(target) = origins.iter().find_map(|origin| url.strip_prefix(origin)) else {
            continue;
        };
        let status = match response["status"].as_u64().expect("a status") {
            0 | 304 => 200,
            status => u16::try_from(status).expect("a status"),
        };
        let content = &response["content"];
        let body = content["text"].as_str().unwrap_or_default().to_owned();
        let is_plain = content["encoding"].is_null();
        // What an archive has encoded is the same for every journey here.
        let body = if is_plain {
            body
        } else {
            r#"{"access_token":"at-other"}"#.to_owned()
        };
        let is_stream = content["mimeType"] == "text/event-stream";
        // Browsers do not keep the events, and a stream without one has failed.
        let body = if is_stream && body.is_empty() {
            "data: 1\n\n".to_owned()
        } else {
            body
        };
        let name = format!("{} {target}", request["method"].as_str().expect("a method"));
        let queue = answers.entry(name).or_default();
        queue.push_back((status, body, is_stream));
    }
    let answers = Mutex::new(answers);
    Server::recording(move |request| {
        let mut answers = answers.lock().expect("answers");
        let Some(queue) = answers.get_mut(&line(request)) else {
            return Reply::status(404);
        };
        let answer = if queue.len() > 1 {
            queue.pop_front()
        } else {
            queue.front().cloned()
        };
        let (status, body, is_stream) = answer.expect("an answer");
        let reply = Reply::status(status).body(body);
        if is_stream {
            return reply.header("content-type", "text/event-stream");
        }
        reply
    })
}

fn every_archive_is_a_scenario_that_gets_its_answers_again() {
    const ORIGINS: [&str; 3] = [
        "https://www.shop.example",
        "https://api.shop.example",
        "http://127.0.0.1:8080",
    ];
    for (name, count) in [
        ("chrome", 13),
        ("firefox", 8),
        ("charles", 4),
        ("insomnia", 2),
    ] {
        let folder = folder();
        let mut archive = fs::read_to_string(fixture(&format!("{name}.har"))).expect("a fixture");
        let server = replaying(&archive, &ORIGINS);
        for origin in ORIGINS {
            archive = archive.replace(origin, &server.url());
        }
        fs::write(folder.path().join("visit.har"), archive).expect("a file");
        let output = tool(folder.path(), "import har visit.har -o load.rs")
            .run()
            .exits(0);
        let lines = output.stderr.lines().map(str::trim_start);
        let secrets = lines.filter_map(|line| line.strip_prefix("Secret ")?.split_once(':'));
        let secrets: Vec<_> = secrets.map(|(name, _)| (name, "x")).collect();
        let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
        smoke("import_har_replayed", source, &secrets);
        assert_eq!(server.recorded().len(), count, "{name}");
    }
}

fn what_is_left_out_is_told() {
    let folder = folder();
    let output = tool(folder.path(), "import har")
        .arg(fixture("chrome.har"))
        .run()
        .exits(0);
    output.says(&[
        "Dropped GET https://fonts.gstatic.com/s/inter.woff2 (third parties)",
        "Dropped OPTIONS https://api.shop.example/v1/session (preflights",
    ]);
    let kept = |line: &str| {
        let call = tool(folder.path(), "import har")
            .arg(fixture("chrome.har"))
            .line(line);
        call.run().exits(0)
    };
    kept("--keep-static").says_no("static files");
    let output = kept("--host www.shop.example --no-think");
    assert!(
        output.stdout.contains("https://www.shop.example"),
        "{output}"
    );
    assert!(
        !output.stdout.contains("orders") && !output.stdout.contains("think"),
        "{output}"
    );
    output.says(&[
        "/v1/session (preflights",
        "Dropped 16 requests (other hosts), starting with GET https://",
    ]);
}

fn what_is_said_of_many_requests_is_said_once() {
    let entry = |number: usize, path: &str, status: u16| {
        json!({
            "startedDateTime": format!("2026-01-01T10:{:02}:{:02}.000Z", number / 60, number % 60),
            "time": 5, "cache": {}, "timings": { "send": 0, "wait": 5, "receive": 0 },
            "request": {
                "method": "GET", "url": format!("http://site.test/{path}"), "httpVersion": "HTTP/1.1",
                "headers": [], "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0,
            },
            "response": {
                "status": status, "statusText": "", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
                "redirectURL": "", "headersSize": -1, "bodySize": 0,
                "content": { "size": 0, "mimeType": "text/html", "text": "" },
            },
        })
    };
    let mut entries = vec![entry(0, "", 200)];
    entries.extend((1..1040).map(|number| entry(number, &format!("app-{number}.js"), 200)));
    entries.extend((1040..1052).map(|number| entry(number, &format!("reports/{number}"), 500)));
    let archive = json!({ "log": { "version": "1.2", "creator": {}, "entries": entries } });
    let folder = folder();
    fs::write(folder.path().join("visit.har"), archive.to_string()).expect("our own file");
    let line = "import har --no-think visit.har -o load.rs";
    let output = tool(folder.path(), line).run().exits(0);
    let output = output.says(&[
        "Dropped 1039 requests (static files), starting with GET http://site.test/app-1.js",
        "and at 11 more places",
    ]);
    let lines = output.stderr.lines().count();
    assert!(lines < 20, "{lines} lines: {}", output.stderr);
}

fn nothing_of_an_archive_is_shown_that_is_secret() {
    for name in ["chrome.har", "firefox.har", "charles.har"] {
        let output = tool(folder().path(), "import har")
            .arg(fixture(name))
            .run()
            .exits(0);
        let is_shown = |text: &str| output.stdout.contains(text) || output.stderr.contains(text);
        assert!(!is_shown("canary") && !is_shown("s3cr3t"), "{output}");
    }
}

fn a_mistake_says_what_to_do() {
    let folder = folder();
    fs::write(folder.path().join("empty.har"), r#"{"log":{"entries":[]}}"#).expect("a file");
    tool(folder.path(), "import har empty.har")
        .run()
        .exits(2)
        .says(&[
            "there are no requests in it",
            "empty.har:1:19",
            "load the page",
        ]);
    tool(folder.path(), "import har --host elsewhere.example")
        .arg(fixture("charles.har"))
        .run()
        .exits(2)
        .says(&["no request is left: ", "`--host 127.0.0.1` keeps"]);
    // Whatever the command says, a file is known for what it is.
    fs::write(
        folder.path().join("api.yaml"),
        "openapi: 3.0.0\npaths: {}\n",
    )
    .expect("a file");
    fs::write(folder.path().join("shop.json"), r#"{"item": []}"#).expect("a file");
    for (line, help) in [
        (
            "import har api.yaml",
            "`cargo loadtest import openapi api.yaml`",
        ),
        (
            "import curl api.yaml",
            "`cargo loadtest import openapi api.yaml`",
        ),
        (
            "import openapi shop.json",
            "`cargo loadtest import postman shop.json`",
        ),
        (
            "import postman empty.har",
            "`cargo loadtest import har empty.har`",
        ),
    ] {
        tool(folder.path(), line).run().exits(2).says(&[help]);
    }
    let text = "{\n  \"log\": {\"entries\": []}}";
    let marked: Vec<u16> = format!("\u{feff}{text}").encode_utf16().collect();
    let files: [(&str, Vec<u8>, &str); 5] = [
        (
            "little.har",
            marked.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
            "little.har:1:1: this is UTF-16",
        ),
        (
            "big.har",
            marked.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
            "big.har:1:1: this is UTF-16",
        ),
        (
            "bare.har",
            marked[1..]
                .iter()
                .flat_map(|unit| unit.to_le_bytes())
                .collect(),
            "bare.har:1:1: this is UTF-16",
        ),
        (
            "latin.har",
            [&b"{\n  \"\xc3\xa9"[..], &b"\xe9\": 1}"[..]].concat(),
            "latin.har:2:5: this is not UTF-8",
        ),
        (
            "marked.har",
            format!("\u{feff}{text}").into_bytes(),
            "marked.har:2:22",
        ),
    ];
    for (name, bytes, words) in files {
        fs::write(folder.path().join(name), bytes).expect("a file");
        let line = format!("import har {name}");
        tool(folder.path(), &line).run().exits(2).says(&[words]);
    }
}

fn a_quiet_import_says_what_is_not_as_recorded_alone() {
    let folder = folder();
    let imported = |line: &str| {
        tool(folder.path(), "import har")
            .arg(fixture("firefox.har"))
            .line(line)
            .run()
            .exits(0)
    };
    let told = imported("-o told.rs");
    told.says(&["Dropped ", "Wrote told.rs", "Secret ", "warning: "]);
    let mut quiet = imported("--quiet -o quiet.rs");
    for word in ["Dropped ", "Wrote ", "Secret ", "Linked "] {
        quiet = quiet.says_no(word);
    }
    quiet.says(&["warning: "]);
    let source = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a source");
    assert_eq!(source("told.rs"), source("quiet.rs"));
}

/// A server of WebSockets that answers each message which is JSON, and hands over what it got.
fn echo() -> (String, mpsc::Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("ws://{}", listener.local_addr().expect("an address"));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            let Ok(mut socket) = tungstenite::accept(stream) else {
                continue;
            };
            let mut got = Vec::new();
            while let Ok(message) = socket.read() {
                if let Message::Text(text) = message {
                    if text.starts_with('{') {
                        let answer = Message::text(r#"{"heard": true}"#);
                        socket.send(answer).expect("the user waits for it");
                    }
                    got.push(text.to_string());
                }
            }
            sender.send(got).expect("the test waits for it");
        }
    });
    (url, receiver)
}

const EVENTS: &str = "data: {\"order\": 1}\n\ndata: {\"order\": 2}\n\n";

/// An archive of a visit to a page that opens an event stream at `url` and a WebSocket at `sockets`.
fn talkative_visit(url: &str, sockets: &str) -> Value {
    let entry = |second: u32, url: String, status: u16, more: Value| {
        let mut entry = json!({
            "startedDateTime": format!("2026-01-01T10:00:0{second}.000Z"),
            "time": 1,
            "request": { "method": "GET", "url": url, "headers": [] },
            "response": { "status": status, "headers": [], "content": {} },
        });
        let (known, more) = (entry.as_object_mut(), more.as_object().cloned());
        known.expect("an object").extend(more.expect("an object"));
        entry
    };
    let message = |kind: &str, time: f64, data: &str| json!({ "type": kind, "time": time, "opcode": 1, "data": data });
    let messages = json!([
        message("send", 1.0, r#"{"join": 7}"#),
        message("receive", 1.0, r#"{"joined": 1}"#),
        message("send", 1.2, "bye \"all\""),
    ]);
    let content = json!({ "mimeType": "text/event-stream", "text": EVENTS });
    let answer = json!({ "status": 200, "headers": [], "content": content });
    let stream = json!({ "_resourceType": "eventsource", "response": answer });
    let socket = json!({ "_webSocketMessages": messages });
    let entries = [
        entry(
            0,
            format!("{url}/"),
            200,
            json!({ "_resourceType": "document" }),
        ),
        entry(1, format!("{url}/feed"), 200, stream),
        entry(2, format!("{sockets}/room?id=7"), 101, socket),
    ];
    json!({ "log": { "entries": entries } })
}

/// A description of one operation, which answers with a stream of events.
fn described_stream(url: &str) -> Value {
    let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    let responses = json!({ "200": { "description": "", "content": content } });
    let operation = json!({ "operationId": "watch", "responses": responses });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Shop", "version": "1" },
        "servers": [{ "url": url }],
        "paths": { "/watch": { "get": operation } },
    })
}

/// Imports a file, and returns the source, which has all texts of `wanted`.
fn import_text(line: &str, text: &str, wanted: &[&str]) -> String {
    let folder = folder();
    fs::write(folder.path().join("input"), text).expect("a file");
    let call = tool(folder.path(), &format!("import {line} input -o load.rs"));
    call.run().exits(0);
    let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
    for wanted in wanted {
        assert!(source.contains(wanted), "{wanted}\n{source}");
    }
    source
}

fn streams_of_events_and_websockets_are_read_again_whatever_the_input() {
    let server = Server::recording(|request| {
        if request.path == "/" {
            return Reply::text("<p>Shop").header("content-type", "text/html");
        }
        Reply::text(EVENTS).header("content-type", "text/event-stream")
    });
    let (url, (sockets, got)) = (server.url(), echo());
    let open = format!("#[step(ws = \"{sockets}/room?id=7\")]");
    let wanted = [
        "events = 2",
        "fn get_feed() -> Events<Value>;",
        &open,
        "fn get_room() -> Socket<Value>;",
        "async fn get_room_messages(get_room: &Socket<Value>) -> Result<(), Error> {",
        "from_millis(200)",
    ];
    let archive = talkative_visit(&url, &sockets).to_string();
    let har = import_text("har", &archive, &wanted);
    let commands =
        format!("curl -N '{url}/follow' -m 5\ncurl -N '{url}/ask' --json '{{\"stream\": true}}'\n");
    let wanted = ["lasts = 5s", "fn get_follow() -> Events<Value>;"];
    let curl = import_text("curl", &commands, &wanted);
    let wanted = ["lasts = 10s", "fn watch() -> Events<Value>;"];
    let openapi = import_text("openapi", &described_stream(&url).to_string(), &wanted);
    let main = "loadtest::main!();";
    let modules = [("har", har), ("curl", curl), ("openapi", openapi)].map(|(name, source)| {
        let source = source.replace(main, "").replace("//!", "//");
        format!("mod {name} {{\n{source}\n}}\n")
    });
    let source = format!("//! All of them.\n\n{}\n{main}\n", modules.concat());
    let project = Files::single("import_streams", &source).create();
    let test = project.cargo("test --test load").run().exits(0);
    test.prints(&["3 passed"]);
    let got: Vec<_> = got.recv_timeout(LIMIT).expect("the user is done");
    assert_eq!(got, [r#"{"join": 7}"#, "bye \"all\""]);
    let mut paths: Vec<_> = server.recorded().iter().map(line).collect();
    paths.sort();
    assert_eq!(
        paths,
        [
            "GET /",
            "GET /feed",
            "GET /follow",
            "GET /watch",
            "POST /ask"
        ]
    );
}
