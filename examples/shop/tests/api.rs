//! The shop as its clients see it: over real sockets, each test with a shop of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use loadtest::targets::Target;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A shop that is ready, with these further arguments.
fn shop(args: &[&str]) -> Target {
    Target::binary(env!("CARGO_BIN_EXE_shop"))
        .args(["--port", "{port}"])
        .args(args.iter().copied())
        .ready("/health")
        .start()
        .unwrap()
}

struct Answer {
    status: u16,
    head: String,
    text: String,
    /// The text, where it is JSON.
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
    }

    #[track_caller]
    fn refused(&self, status: u16, words: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("application/json"));
        let error = self.body["error"].as_str().unwrap();
        assert!(error.contains(words), "{error}");
    }
}

/// Sends a request on a connection of its own.
fn send(shop: &Target, method: &str, path: &str, token: Option<&str>, body: &str) -> Answer {
    let address = shop.url().strip_prefix("http://").unwrap();
    let token = token.map_or_else(String::new, |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    let length = body.len();
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(
            format!(
                "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{token}\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .as_bytes(),
        )
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        body: serde_json::from_str(body).unwrap_or(Value::Null),
        head: head.to_owned(),
        text: body.to_owned(),
    }
}

fn get(shop: &Target, path: &str) -> Answer {
    send(shop, "GET", path, None, "")
}

fn get_as(shop: &Target, token: &str, path: &str) -> Answer {
    send(shop, "GET", path, Some(token), "")
}

fn post(shop: &Target, path: &str, body: &Value) -> Answer {
    send(shop, "POST", path, None, &body.to_string())
}

fn post_as(shop: &Target, token: &str, path: &str, body: &Value) -> Answer {
    send(shop, "POST", path, Some(token), &body.to_string())
}

fn login(shop: &Target, user: &str, password: &str) -> String {
    let answer = post(
        shop,
        "/login",
        &json!({ "user": user, "password": password }),
    );
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["user"]["name"], user);
    answer.body["token"].as_str().unwrap().to_owned()
}

/// The order at `location`, once it is packed.
fn packed(shop: &Target, token: &str, location: &str) -> Value {
    for _ in 0..1000 {
        let answer = get_as(shop, token, location);
        assert_eq!(answer.status, 200, "{}", answer.body);
        if answer.body["status"] != "placed" {
            assert_eq!(answer.body["status"], "packed");
            return answer.body;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it is never packed");
}

#[test]
fn a_shopper_logs_in_browses_buys_and_looks_at_the_order() {
    let shop = shop(&[]);
    let token = login(&shop, "ada", "lovelace");
    let products = get(&shop, "/products?page=2").body;
    assert_eq!(products["page"], 2);
    let product = &products["items"][0];
    let before = product["stock"].as_i64().unwrap();

    let placed = post_as(
        &shop,
        &token,
        "/orders",
        &json!({ "product": product["id"], "quantity": 3 }),
    );
    assert_eq!(placed.status, 201);
    assert_eq!(placed.body["status"], "placed");
    assert_eq!(
        placed.body["total_cents"].as_i64(),
        product["price_cents"].as_i64().map(|price| price * 3)
    );

    let order = packed(&shop, &token, placed.header("location").unwrap());
    let mut as_placed = order.clone();
    as_placed["status"] = json!("placed");
    assert_eq!(as_placed, placed.body);
    let orders = get_as(&shop, &token, "/orders").body;
    assert_eq!(orders["items"], json!([order]));
    let product = get(&shop, &format!("/products/{}", product["id"])).body;
    assert_eq!(product["stock"], before - 3);
}

#[test]
fn the_catalog_ends_somewhere() {
    let shop = shop(&[]);
    let first = get(&shop, "/products").body;
    assert_eq!(first["page"], 1);
    assert_eq!(first["items"].as_array().unwrap().len(), 10);
    let last = get(&shop, "/products?page=4294967295");
    assert_eq!(last.status, 200);
    assert_eq!(last.body["items"], json!([]));
    get(&shop, "/products?page=0").refused(422, "counted from 1");
    get(&shop, "/products?page=x").refused(400, "page");
    get(&shop, "/products/9999").refused(404, "no such product");
    get(&shop, "/products/teapot").refused(404, "no such product");
}

#[test]
fn orders_need_a_valid_token() {
    let shop = shop(&[]);
    let order = json!({ "product": 1 });
    let refused = post(&shop, "/orders", &order);
    refused.refused(401, "log in first");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    post_as(&shop, "made-up", "/orders", &order).refused(401, "nobody is logged in");
    get(&shop, "/orders").refused(401, "log in first");
    get(&shop, "/orders/1").refused(401, "log in first");
    post(
        &shop,
        "/login",
        &json!({ "user": "ada", "password": "byron" }),
    )
    .refused(401, "wrong user or password");
}

#[test]
fn an_order_is_shown_to_its_owner_only() {
    let shop = shop(&[]);
    let ada = login(&shop, "ada", "lovelace");
    let grace = login(&shop, "grace", "hopper");
    let placed = post_as(&shop, &ada, "/orders", &json!({ "product": 1 }));
    let location = placed.header("location").unwrap();
    assert_eq!(get_as(&shop, &ada, location).status, 200);
    get_as(&shop, &grace, location).refused(404, "no such order");
    assert_eq!(get_as(&shop, &grace, "/orders").body["items"], json!([]));
}

#[test]
fn what_cannot_be_understood_is_refused_in_json() {
    let shop = shop(&[]);
    let token = login(&shop, "ada", "lovelace");
    let place = |body: &str| send(&shop, "POST", "/orders", Some(&token), body);
    place("{").refused(400, "EOF");
    place("{}").refused(422, "missing field `product`");
    place(r#"{"product": "teapot"}"#).refused(422, "invalid type");
    place(r#"{"product": 9999}"#).refused(422, "no such product");
    place(r#"{"product": 1, "quantity": 0}"#).refused(422, "1 to 100");
    place(r#"{"product": 24, "quantity": 2}"#).refused(409, "stock");
    get(&shop, "/basket").refused(404, "nothing here");
    let wrong = send(&shop, "DELETE", "/orders", Some(&token), "");
    wrong.refused(405, "allow");
    assert_eq!(wrong.header("allow"), Some("GET,HEAD,POST"));
}

#[test]
fn people_have_a_page_that_may_ask_the_shop_alone() {
    let shop = shop(&[]);
    for (path, kind, part) in [
        ("/", "text/html", "<title>Tea shop</title>"),
        ("/style.css", "text/css", "prefers-color-scheme"),
        ("/shop.js", "text/javascript", "fetch("),
        ("/logo.svg", "image/svg+xml", "A teapot"),
    ] {
        let answer = get(&shop, path);
        assert_eq!(answer.status, 200, "{path}");
        let whole = format!("{kind}; charset=utf-8");
        assert_eq!(answer.header("content-type"), Some(whole.as_str()));
        assert!(answer.text.contains(part), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{policy}"
        );
        // The one address in them is the name of a format.
        let text = answer.text.replace("http://www.w3.org/2000/svg", "");
        assert!(!text.contains("://"), "{path}");
    }
}

#[test]
fn the_page_fails_as_the_rest_does_when_told_so() {
    let shop = shop(&[]);
    let fault = json!({ "path": "/", "fail_ratio": 1 });
    assert_eq!(post(&shop, "/faults", &fault).status, 204);
    get(&shop, "/").refused(503, "on purpose");
    get(&shop, "/shop.js").refused(503, "on purpose");
}

#[test]
fn every_tenth_request_fails_when_told_so() {
    let shop = shop(&[]);
    let fault = json!({ "path": "/products", "fail_ratio": 0.1, "status": 500 });
    assert_eq!(post(&shop, "/faults", &fault).status, 204);
    let failed: Vec<_> = (1..=30)
        .filter(|_| get(&shop, "/products").status == 500)
        .collect();
    assert_eq!(failed, [10, 20, 30]);
    assert_eq!(
        get(&shop, "/faults").body,
        json!([{
            "path": "/products", "delay_ms": 0, "fail_ratio": 0.1, "status": 500,
            "requests": 30, "failed": 3,
        }])
    );
    assert_eq!(get(&shop, "/health").status, 200);
    assert_eq!(send(&shop, "DELETE", "/faults", None, "").status, 204);
    assert!((1..=10).all(|_| get(&shop, "/products").status == 200));
    let nonsense = json!({ "path": "/", "fail_ratio": 7 });
    post(&shop, "/faults", &nonsense).refused(422, "from 0 to 1");
}

#[test]
fn faults_can_be_there_from_the_start() {
    let shop = shop(&[
        "--fault",
        r#"{"path": "/login", "fail_ratio": 1, "status": 429}"#,
    ]);
    post(
        &shop,
        "/login",
        &json!({ "user": "ada", "password": "lovelace" }),
    )
    .refused(429, "on purpose");
}

#[test]
fn a_slow_path_is_slow_and_the_others_are_not_held_up() {
    let shop = shop(&[]);
    let fault = json!({ "path": "/products", "delay_ms": 60_000 });
    assert_eq!(post(&shop, "/faults", &fault).status, 204);
    let mut waiting = TcpStream::connect(shop.url().strip_prefix("http://").unwrap()).unwrap();
    waiting
        .write_all(b"GET /products HTTP/1.1\r\nhost: shop\r\n\r\n")
        .unwrap();
    while get(&shop, "/faults").body[0]["requests"] != 1 {}
    assert_eq!(get(&shop, "/health").status, 200);
    waiting.set_nonblocking(true).unwrap();
    let early = waiting.read(&mut [0; 1]).unwrap_err();
    assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn port_0_is_a_free_port_and_printed() {
    let mut shop = Command::new(env!("CARGO_BIN_EXE_shop"))
        .args(["--port", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(shop.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let url = line
        .trim_end()
        .strip_prefix("listening on ")
        .map(str::to_owned);
    let health = url
        .clone()
        .map(|url| get(&Target::external(url), "/health"));
    shop.kill().unwrap();
    shop.wait().unwrap();
    assert_eq!(health.unwrap().body, json!({ "status": "ok" }));
    assert_ne!(url.as_deref(), Some("http://127.0.0.1:0"));
}

#[test]
fn a_wrong_command_line_is_explained() {
    let output = Command::new(env!("CARGO_BIN_EXE_shop"))
        .args(["--prot", "80"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "shop: there is no option `--prot`; try --help\n");
}
