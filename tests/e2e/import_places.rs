//! A recorded visit that follows links of which each row has one: the right row is found by the texts around it.

use crate::call::Call;
use crate::project::Files;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use serde_json::{Value, json};
use std::fs;
use std::sync::{Arc, Mutex};

pub(crate) fn trials() -> Vec<Trial> {
    trials![links_are_found_by_the_texts_around_them,]
}

/// A shop with orders; the names and the numbers of its rows are those of no other one.
#[derive(Debug)]
struct Shop {
    /// The orders in their order: a number and a title.
    orders: Vec<(u64, &'static str)>,
    /// How many of them are open; the others are the latest.
    open: usize,
    /// What was paid and deleted, by its title.
    done: Mutex<Vec<String>>,
}

impl Shop {
    fn new(orders: Vec<(u64, &'static str)>, open: usize) -> Self {
        Self {
            orders,
            open,
            done: Mutex::default(),
        }
    }

    /// Returns a status and a body.
    fn answer(&self, method: &str, path: &str) -> (u16, String) {
        let row = |(id, title): &(u64, &str), label: &str| {
            format!("<tr><td>{title}<td><a href=\"/orders/{id}/{label}\">{label}</a>")
        };
        let rows = |orders: &[(u64, &'static str)], label: &str| -> String {
            orders.iter().map(|order| row(order, label)).collect()
        };
        let (open, latest) = self.orders.split_at(self.open);
        let mut segments = path.split('/').skip(1);
        let (page, id, action) = (segments.next(), segments.next(), segments.next());
        let title = id.and_then(|id| {
            let id: u64 = id.parse().ok()?;
            self.orders.iter().find(|(known, _)| *known == id)
        });
        match (method, page, title, action) {
            ("GET", Some("start"), ..) => {
                let (open, latest) = (rows(open, "edit"), rows(latest, "edit"));
                (
                    200,
                    format!(
                        "<h2>Open orders</h2><table>{open}</table><h2>Latest orders</h2><table>{latest}</table>"
                    ),
                )
            }
            ("GET", Some("list"), ..) => {
                // Another order than that of the start.
                let mut orders = self.orders.clone();
                orders.sort_by_key(|(id, _)| u64::MAX - id);
                (200, format!("<table>{}</table>", rows(&orders, "pay")))
            }
            ("GET", Some("orders"), Some((_, title)), Some("edit")) => (
                200,
                format!(
                    "<form method=post><input name=title value=\"{title}\"><input name=note></form>"
                ),
            ),
            ("GET", Some("orders"), Some((_, title)), Some("pay")) => {
                self.done
                    .lock()
                    .expect("no panic")
                    .push((*title).to_owned());
                (200, "<p>Paid</p>".to_owned())
            }
            ("POST", Some("orders"), Some(_), Some("edit")) => (303, String::new()),
            _ => (404, "nothing".to_owned()),
        }
    }
}

/// The archive of a visit: the second one of the latest orders is edited, and paid in a list.
fn record(shop: &Shop) -> Value {
    let (id, title) = shop.orders[shop.open + 1];
    let title: String = form_urlencoded::byte_serialize(title.as_bytes()).collect();
    let edit = format!("/orders/{id}/edit");
    let requests = [
        ("GET", "/start".to_owned(), String::new()),
        ("GET", edit.clone(), String::new()),
        ("POST", edit, format!("title={title}&note=soon")),
        ("GET", "/list".to_owned(), String::new()),
        ("GET", format!("/orders/{id}/pay"), String::new()),
    ];
    let entries = requests.iter().enumerate().map(|(at, (method, path, body))| {
        let (status, text) = shop.answer(method, path);
        let kind = "application/x-www-form-urlencoded";
        let mut request = json!({
            "method": method, "url": format!("http://shop.test{path}"), "httpVersion": "HTTP/1.1", "headers": [],
            "queryString": [], "cookies": [], "headersSize": -1, "bodySize": body.len(),
        });
        if !body.is_empty() {
            request["headers"] = json!([{ "name": "content-type", "value": kind }]);
            request["postData"] = json!({ "mimeType": kind, "text": body });
        }
        json!({
            "startedDateTime": format!("2026-01-01T10:00:{at:02}.000Z"), "time": 5, "request": request, "cache": {},
            "timings": { "send": 0, "wait": 5, "receive": 0 },
            "response": {
                "status": status, "statusText": "", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
                "redirectURL": "", "headersSize": -1, "bodySize": text.len(),
                "content": { "size": text.len(), "mimeType": "text/html", "text": text },
            },
        })
    });
    let entries: Vec<Value> = entries.collect();
    json!({ "log": { "version": "1.2", "creator": { "name": "test", "version": "1" }, "entries": entries } })
}

fn links_are_found_by_the_texts_around_them() {
    let recorded = Shop::new(
        vec![
            (7, "Blue cups"),
            (21, "Green tea"),
            (22, "Old rum"),
            (23, "New gin"),
        ],
        1,
    );
    let folder = tempfile::tempdir().expect("a folder of the system");
    fs::write(
        folder.path().join("visit.har"),
        record(&recorded).to_string(),
    )
    .expect("our own file");
    let call = Call::tool(folder.path()).line("import har --no-think visit.har -o load.rs");
    call.run().exits(0);
    let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
    for part in [
        "get_start.addresses(\"/orders/*/edit\").nth(2)?",
        "there; item 3 of 4 is taken",
        "get_order_edit.field(\"title\").ok()?",
        "let row = get_list.row(title).ok()?;",
        "row.link(\"pay\").ok()?",
    ] {
        assert!(source.contains(part), "{part} is not in\n{source}");
    }

    // More orders are open, and the rows of the list have another order.
    let orders = vec![
        (940, "Cups"),
        (951, "Pots"),
        (902, "Pans"),
        (933, "Bread"),
        (914, "Butter"),
        (925, "Salt"),
    ];
    let shop = Arc::new(Shop::new(orders, 3));
    let answering = Arc::clone(&shop);
    let server = Server::start(move |request| {
        let (status, body) = answering.answer(&request.method, &request.path);
        Reply::status(status)
            .header("content-type", "text/html")
            .body(body)
    });
    let project = Files::single("placed", &source).create();
    let run = project.tool("run", "--iterations 3 --users 1");
    let output = run.env("LOADTEST_BASE_URL", server.url()).run();
    output.exits(0);
    assert_eq!(server.requests_to("/orders/902/edit"), 6);
    let done = shop.done.lock().expect("no panic").clone();
    assert_eq!(done, ["Pans"; 3]);
}
