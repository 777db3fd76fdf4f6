//! A visit to the shop of `examples/shop` with a real browser, as a scenario that visits other shops.

use crate::archive::{Bodies, archive};
use crate::browser::Browser;
use crate::call::{Call, Output, shop};
use crate::project::{Files, Project};
use crate::trials;
use libtest_mimic::Trial;
use loadtest::targets::Target;
use loadtest_tests::{Reply, Request, Server};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![needing "chromium":
        a_visit_to_a_shop_is_made_again_in_others,
    ]
}

/// How long somebody looks at a page.
const LOOK: Duration = Duration::from_millis(400);
const PASSWORD: &str = "lovelace";
/// What is asked for, in this order, with the orders of a shop apart. Until it is packed, the order is asked for
/// again.
const JOURNEY: [&str; 9] = [
    "GET / 200",
    "POST /login 200",
    "GET /products 200",
    "GET /products?page=2 200",
    "GET /products/13 200",
    "POST /orders 201",
    "GET /orders/{} 200",
    "GET /orders 200",
    "GET /products 200",
];

/// A shop in which others have bought so much before.
fn opened(orders: usize) -> Target {
    let shop = Target::binary(shop())
        .args(["--port", "{port}"])
        .ready("/health")
        .start()
        .expect("a shop");
    let grace = token(&shop, "grace", "hopper");
    for _ in 0..orders {
        let placed = ask(&shop, "POST", "/orders", &grace, &json!({ "product": 1 }));
        assert_eq!(placed["status"], "placed", "{placed}");
    }
    shop
}

/// Logs in.
fn token(shop: &Target, user: &str, password: &str) -> String {
    let body = json!({ "user": user, "password": password });
    let session = ask(shop, "POST", "/login", "", &body);
    session["token"].as_str().expect("a token").to_owned()
}

pub(crate) fn ask(shop: &Target, method: &str, path: &str, token: &str, body: &Value) -> Value {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
    );
    let answer = sent(shop, &head, body.to_string().as_bytes()).body;
    if answer.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(&answer).expect("JSON")
}

/// What a shop answered.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Sends a request on a connection of its own.
fn sent(shop: &Target, head: &str, body: &[u8]) -> Answer {
    let address = shop.url().strip_prefix("http://").expect("our own address");
    let mut stream = TcpStream::connect(address).expect("the shop is open");
    let length = body.len();
    let head =
        format!("{head}host: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("a request");
    stream.write_all(body).expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = answer.split_off(end.expect("a whole head") + 4);
    let head = String::from_utf8(answer).expect("a head");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let headers = lines.filter_map(|line| line.split_once(": "));
    Answer {
        status: status
            .and_then(|status| status.parse().ok())
            .expect("a status"),
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        body,
    }
}

/// What somebody does who buys something: the archive of it.
fn visit(url: &str) -> Value {
    let mut browser = Browser::start();
    browser.resize(1200, 800);
    browser.visit(url);
    browser.fill_in("[name=user]", "ada");
    browser.fill_in("[name=password]", PASSWORD);
    browser.click_on("form button");
    browser.wait_until_there_is("a[href='#/products/3']");
    thread::sleep(LOOK);
    browser.click_on("[rel=next]");
    browser.wait_until_there_is("a[href='#/products/13']");
    thread::sleep(LOOK);
    browser.click_on("a[href='#/products/13']");
    browser.fill_in("[name=quantity]", "2");
    thread::sleep(LOOK);
    browser.click_on("form button");
    browser.wait_until_there_is("[data-status=packed]");
    thread::sleep(LOOK);
    browser.click_on("header a[href='#/orders']");
    browser.wait_until_there_is("li a[href^='#/orders/']");
    browser.click_on("#home");
    browser.wait_until_there_is("a[href='#/products/3']");
    let mut bodies = Bodies::default();
    bodies.collect(&mut browser);
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
    archive(&browser, &bodies)
}

/// A request and its answer as in [`JOURNEY`].
fn line(method: &str, target: &str, status: u64) -> String {
    let target = match target.strip_prefix("/orders/") {
        Some(_) => "/orders/{}",
        None => target,
    };
    format!("{method} {target} {status}")
}

/// What an archive has of a shop, without what a page only shows.
fn recorded(archive: &Value, url: &str) -> Vec<String> {
    let entries = archive["log"]["entries"]
        .as_array()
        .expect("entries")
        .iter();
    let lines = entries.map(|entry| {
        let (request, status) = (&entry["request"], &entry["response"]["status"]);
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let address = text(&request["url"]);
        let target = address.strip_prefix(url).expect("nobody else is asked");
        line(
            &text(&request["method"]),
            target,
            status.as_u64().expect("a status"),
        )
    });
    lines
        .filter(|line| {
            !["style.css", "shop.js", "logo.svg"]
                .iter()
                .any(|file| line.contains(file))
        })
        .collect()
}

/// Requests, each with its answer.
type Log = Arc<Mutex<Vec<(String, Answer)>>>;

/// A server that hands everything on to a shop, and what it handed on.
fn handing_on(shop: Target) -> (Server, Log) {
    let log = Log::default();
    let shared = Arc::clone(&log);
    let server = Server::recording(move |request: &Request| {
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
        for (name, value) in &request.headers {
            if !["host", "connection", "content-length"].contains(&name.as_str()) {
                let _ = write!(head, "{name}: {value}\r\n");
            }
        }
        let answer = sent(&shop, &head, &request.body);
        let mut reply = Reply::status(answer.status).body(answer.body.clone());
        for (name, value) in &answer.headers {
            if !["connection", "content-length", "date"].contains(&name.as_str()) {
                reply = reply.header(name, value);
            }
        }
        let line = line(&request.method, &request.target, answer.status.into());
        shared.lock().expect("a log").push((line, answer));
        reply
    });
    (server, log)
}

/// The source that becomes of an archive, and what was said of it.
fn imported(archive: &Value) -> (String, Output) {
    let folder = tempfile::tempdir().expect("a folder of the system");
    fs::write(folder.path().join("visit.har"), archive.to_string()).expect("a file");
    let output = Call::tool(folder.path())
        .line("import har visit.har -o load.rs")
        .run()
        .exits(0);
    let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
    (source, output)
}

/// An archive with the fields that its format has, and no others.
fn without_extensions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.starts_with('_'));
            fields.values_mut().for_each(without_extensions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_extensions),
        _ => {}
    }
}

/// The tokens that logins of an archive answered with.
fn tokens(archive: &Value) -> Vec<String> {
    let entries = archive["log"]["entries"]
        .as_array()
        .expect("entries")
        .iter();
    let answers = entries.filter_map(|entry| entry["response"]["content"]["text"].as_str());
    let sessions = answers.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    sessions
        .filter_map(|session| Some(session["token"].as_str()?.to_owned()))
        .collect()
}

fn a_visit_to_a_shop_is_made_again_in_others() {
    let visited = opened(0);
    let mut archive = visit(visited.url());
    let recorded = recorded(&archive, visited.url());
    drop(visited);
    let mut once = recorded.clone();
    once.dedup();
    assert_eq!(once, JOURNEY);

    let (source, output) = imported(&archive);
    output.says(&[
        "/style.css (static files)",
        "/shop.js (static files)",
        "/logo.svg (static files)",
        "Secret PASSWORD: `password` in the body of `login`",
    ]);
    let tokens = tokens(&archive);
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    for secret in [PASSWORD, &tokens[0]] {
        assert!(!source.contains(secret), "{secret} is in\n{source}");
    }
    for (part, times) in [
        ("fn login_then_post_orders()", 1),
        ("header(\"accept\", \"application/json\")", 1),
        ("bearer = \"{{login.response.token}}\"", 1),
        ("\"/products/{{get_products_2.response.items[2].id}}\"", 1),
        (
            "\"product\": {{get_products_2.response.items[2].id}}, \"quantity\": 2",
            1,
        ),
        (
            "\"/orders/{{post_orders.response.id}}\"",
            recorded.len() - JOURNEY.len() + 1,
        ),
        ("expect = 201", 1),
    ] {
        assert_eq!(source.matches(part).count(), times, "{part} in\n{source}");
    }
    // At the two lists, the product and the order.
    let thinks = source.matches("think = ").count();
    assert!(thinks >= 4, "{thinks} thinks in\n{source}");
    // What other browsers do not say is known without it.
    without_extensions(&mut archive);
    assert_eq!(imported(&archive).0, source);

    let project = Files::single("import_visit", &source).create();
    smoked(&project, &recorded);
    ran(&project, &recorded);
}

/// One journey through a shop in which the number of the recorded order is that of somebody else's.
fn smoked(project: &Project, recorded: &[String]) {
    let (front, log) = handing_on(opened(3));
    let smoke = project
        .cargo("test --test load")
        .env("LOADTEST_BASE_URL", front.url())
        .env("PASSWORD", PASSWORD);
    smoke.run().exits(0).prints(&["1 passed"]);
    let log = log.lock().expect("a log");
    let lines: Vec<&String> = log.iter().map(|(line, _)| line).collect();
    assert_eq!(lines, recorded.iter().collect::<Vec<_>>());
    let session: Value = serde_json::from_slice(&log[1].1.body).expect("a session");
    let bearer = format!("Bearer {}", session["token"].as_str().expect("a token"));
    let requests = front.recorded();
    for (at, request) in requests.iter().enumerate() {
        let accept = request.header("accept").unwrap_or_default();
        let kind = ["text/html,", "application/json"][usize::from(at > 0)];
        assert!(accept.starts_with(kind), "{request:?}");
        let bearer = (at > 1).then_some(bearer.as_str());
        assert_eq!(request.header("authorization"), bearer, "{request:?}");
        let is_of_browsers = |name: &str| name.starts_with("sec-") || name == "referer";
        let mut names = request.headers.iter().map(|(name, _)| name);
        assert!(!names.any(|name| is_of_browsers(name)), "{request:?}");
    }
    assert_eq!(
        requests[1].text(),
        r#"{"user":"ada","password":"lovelace"}"#
    );
    assert_eq!(requests[5].text(), r#"{"product":13,"quantity":2}"#);
    assert_eq!(requests[6].path, "/orders/4");
}

/// A few journeys at once, whose orders are all there in the end.
fn ran(project: &Project, recorded: &[String]) {
    let shop = opened(5);
    let run = project
        .tool("run", "--iterations 3 --users 2 --export json=-")
        .args(["--base-url", shop.url()])
        .env("PASSWORD", PASSWORD)
        .run()
        .exits(0);
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    let card = &report["cards"][0];
    assert_eq!(card["dependency_failures"], json!([]), "{run}");
    assert_eq!(card["accounts"]["ok"], 3, "{run}");
    let steps = card["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), recorded.len());
    for step in steps {
        assert_eq!(
            (&step["executed"], &step["ok"]),
            (&json!(3), &json!(3)),
            "{run}"
        );
    }
    let ada = token(&shop, "ada", PASSWORD);
    let orders = ask(&shop, "GET", "/orders", &ada, &Value::Null);
    let orders = orders["items"].as_array().expect("orders").iter();
    let orders: Vec<_> = orders
        .map(|order| [&order["id"], &order["product"], &order["quantity"]].map(Value::as_u64))
        .collect();
    let order = |number| [Some(number), Some(13), Some(2)];
    assert_eq!(orders, [order(8), order(7), order(6)]);
}
