//! Scenarios from OpenAPI documents: what is taken of them, what is refused, and what of an answer is sent again.

use crate::call::Call;
use crate::project::{Files, Project};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        values_of_earlier_answers_are_sent,
        a_part_of_a_document_is_imported,
        what_is_no_document_is_refused_where_it_stands,
    ]
}

/// Names of load tests, and the documents they are of.
pub(crate) const DOCUMENTS: [(&str, &str); 5] = [
    ("shop", "shop-3.0.yaml"),
    ("library", "library-3.1.json"),
    ("pets", "pets-2.0.json"),
    ("faulty", "faulty-3.0.yaml"),
    ("bare", "bare-2.0.yaml"),
];

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/import/openapi")
        .join(name)
}

/// A package with a load test of the shop.
fn project() -> Project {
    let folder = tempfile::tempdir().expect("a folder of the system");
    let output = Call::tool(folder.path())
        .line("import openapi --base-url http://127.0.0.1:8080")
        .arg(fixture("shop-3.0.yaml"))
        .run()
        .exits(0);
    Files::single("imported_openapi", &output.stdout).create()
}

/// A shop whose customers, addresses, orders and tokens are others than those of the document.
#[derive(Default)]
struct Shop {
    number: u64,
    tokens: Vec<String>,
    customers: Vec<u64>,
    addresses: Vec<(u64, u64)>,
    orders: Vec<String>,
}

impl Shop {
    fn next(&mut self) -> u64 {
        self.number += 1;
        4_000 + self.number
    }

    fn answer(&mut self, request: &Request) -> Reply {
        let sent: Value = serde_json::from_slice(request.text().as_bytes()).unwrap_or(Value::Null);
        let bearer = request.header("authorization").unwrap_or_default();
        let token = bearer.strip_prefix("Bearer ").unwrap_or_default();
        let is_known = self.tokens.iter().any(|known| known == token);
        let path = request.path.clone();
        let path = path.strip_prefix("/v1/").unwrap_or_default();
        let segments: Vec<_> = path.split('/').collect();
        let is_public = segments[0] == "products" && request.method == "GET";
        if path != "session" && !is_public && !is_known {
            return Reply::status(401);
        }
        let json = |status, value: Value| {
            Reply::status(status)
                .header("content-type", "application/json")
                .body(value.to_string())
        };
        let customer = segments.get(1).and_then(|id| id.parse().ok());
        let customer = customer.filter(|id| self.customers.contains(id));
        let has_order = |id: &str| self.orders.iter().any(|known| known == id);
        match (request.method.as_str(), segments.as_slice()) {
            ("POST", ["session"]) if sent["password"] == "password-value" => {
                let token = format!("token-{}", self.next());
                self.tokens.push(token.clone());
                json(201, json!({"access_token": token, "expires_in": 60}))
            }
            ("DELETE", ["session"]) if is_known => {
                self.tokens.retain(|known| known != token);
                Reply::status(204)
            }
            ("GET", ["customers"]) => json(200, json!([{"id": 1, "name": "Ada"}])),
            ("POST", ["customers"]) => {
                let id = self.next();
                self.customers.push(id);
                json(201, json!({"id": id, "name": sent["name"]}))
            }
            ("GET" | "PUT", ["customers", id]) if customer.is_some() => {
                json(200, json!({"id": id.parse::<u64>().ok(), "name": "Ada"}))
            }
            ("DELETE", ["customers", _]) => match customer {
                Some(id) => {
                    self.customers.retain(|known| *known != id);
                    Reply::status(204)
                }
                None => Reply::status(404),
            },
            ("POST", ["customers", id, "addresses"]) => match customer {
                Some(customer) => {
                    let number = self.next();
                    self.addresses.push((customer, number));
                    let place = format!("/v1/customers/{id}/addresses/{number}");
                    Reply::status(201).header("location", place)
                }
                None => Reply::status(404),
            },
            ("GET", ["customers", _, "addresses", number]) => {
                let number = number.parse().unwrap_or(0);
                let mut known = self.addresses.iter();
                if known.any(|(owner, known)| Some(*owner) == customer && *known == number) {
                    json(200, json!({"street": "s", "city": "c"}))
                } else {
                    Reply::status(404)
                }
            }
            ("POST", ["orders"]) => {
                let is_customer = sent["customerId"]
                    .as_u64()
                    .is_some_and(|id| self.customers.contains(&id));
                if !is_customer {
                    return Reply::status(422).body("no such customer");
                }
                let number = format!("order {}", self.next());
                self.orders.push(number.clone());
                json(201, json!({"order": {"number": number, "state": "new"}}))
            }
            ("GET", ["orders", order]) if has_order(&plain(order)) => {
                json(200, json!({"state": "new"}))
            }
            ("PUT", ["orders", order, "state"]) if has_order(&plain(order)) => Reply::status(202),
            ("GET", ["products"]) => json(200, json!({"total": 1, "items": [{"sku": "ZZ-9"}]})),
            ("GET", ["products", "ZZ-9"]) => json(200, json!({"sku": "ZZ-9", "price": 2})),
            ("PUT", ["products", "ZZ-9", "picture"]) => Reply::status(200),
            _ => Reply::status(404),
        }
    }
}

/// A segment without its escapes.
fn plain(segment: &str) -> String {
    segment.replace("%20", " ")
}

fn values_of_earlier_answers_are_sent() {
    let project = project();
    let shop = Arc::new(Mutex::new(Shop::default()));
    let state = Arc::clone(&shop);
    let server = Server::recording(move |request| {
        let mut shop = state.lock().expect("no test has panicked");
        shop.answer(request)
    });
    let call = project
        .cargo("test --quiet --test load")
        .env("LOADTEST_BASE_URL", server.url())
        .env("API_TOKEN", "token-value")
        .env("PASSWORD", "password-value");
    call.run().exits(0).prints(&["3 passed"]);
    let shop = shop.lock().expect("no test has panicked");
    assert!(!shop.orders.is_empty() && !shop.addresses.is_empty());
    let asked = server.recorded();
    let of = |method: &str, path: &str| {
        let mut requests = asked.iter();
        let found = requests.any(|request| request.method == method && request.path == path);
        assert!(found, "{method} {path}");
    };
    let (customer, address) = shop.addresses[0];
    of(
        "GET",
        &format!("/v1/customers/{customer}/addresses/{address}"),
    );
    of("DELETE", &format!("/v1/customers/{customer}"));
    of("PUT", "/v1/products/ZZ-9/picture");
}

fn a_part_of_a_document_is_imported() {
    let folder = tempfile::tempdir().expect("a folder of the system");
    let import = |line: &str| {
        Call::tool(folder.path())
            .line(&format!("import openapi {line}"))
            .arg(fixture("pets-2.0.json"))
            .run()
    };
    let output = import("--operation findByStatus").exits(0);
    output
        .says(&["Secret API_TOKEN: the bearer token"])
        .prints(&["/v2/pet/findByStatus?status=sold&ids=1,1,1"]);
    let output = import("--tag keepers --base-url http://127.0.0.1:9/x").exits(0);
    let output = output.prints(&["\"http://127.0.0.1:9\"", "/x/keeper/example"]);
    assert!(!output.stdout.contains("findByStatus"), "{output}");
    import("--tag keeper").exits(2).has_one_error().says(&[
        "no operation has the tag `keeper`",
        "did you mean `keepers`?",
    ]);
    let output = import("--path /pet/*").exits(0);
    let output = output.prints(&["/v2/pet/findByStatus?"]);
    assert!(!output.stdout.contains("keeper"), "{output}");
    import("--path /pets/*")
        .exits(2)
        .has_one_error()
        .says(&["no path matches `/pets/*`", "did you mean `/pet/*`?"]);
    let output = import("--path /keeper/{username} --param username=ada").exits(0);
    output.prints(&["/v2/keeper/ada"]);
    import("--param usrname=ada")
        .exits(2)
        .has_one_error()
        .says(&["has the parameter `usrname`", "did you mean `username`?"]);
    import("--param username")
        .exits(2)
        .says(&["is not a name and value; write `owner=acme`"]);
    import("--operation getpets")
        .exits(2)
        .has_one_error()
        .says(&[
            "no operation has the name `getpets`",
            "did you mean `getPet`?",
        ]);
}

fn what_is_no_document_is_refused_where_it_stands() {
    let folder = tempfile::tempdir().expect("a folder of the system");
    let import = |text: &str| {
        fs::write(folder.path().join("api.yaml"), text).expect("a file");
        Call::tool(folder.path())
            .line("import openapi api.yaml -o load.rs")
            .run()
    };
    let output = import("openapi: 3.1.0\npaths:\n  /a: {parameters: []}\n").exits(2);
    output
        .has_one_error()
        .says(&["there is no operation", "--> api.yaml:2:1"]);
    let output = import("openapi: 3.1.0\npaths: {\n").exits(2);
    output.has_one_error().says(&["not YAML", "--> api.yaml:"]);
    import("a: 1\n")
        .exits(2)
        .has_one_error()
        .says(&["not an OpenAPI document", "api.yaml:1:1"]);
    assert!(!folder.path().join("load.rs").exists());
}
