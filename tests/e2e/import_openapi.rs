//! Scenarios from OpenAPI documents: they compile as they are written, and pass against a service that answers as
//! the document says.

use crate::call::{Call, Output};
use crate::project::{Files, Project, STANDS_ALONE, dependency, header};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        what_is_imported_passes_against_what_the_document_says,
        values_of_earlier_answers_are_sent,
        a_part_of_a_document_is_imported,
        what_is_no_document_is_refused_where_it_stands,
        what_public_services_publish_compiles,
    ]
}

/// Names of load tests, and the documents they are of.
const DOCUMENTS: [(&str, &str); 5] = [
    ("shop", "shop-3.0.yaml"),
    ("library", "library-3.1.json"),
    ("pets", "pets-2.0.json"),
    ("faulty", "faulty-3.0.yaml"),
    ("bare", "bare-2.0.yaml"),
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/import/openapi")
        .join(name)
}

/// What a document is imported as.
fn imported(name: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder of the system");
    Call::tool(folder.path())
        .line("import openapi --base-url http://127.0.0.1:8080")
        .arg(fixture(name))
        .run()
        .exits(0)
}

/// A package with a load test of each document.
fn project() -> Project {
    let mut manifest = format!(
        "{}[dev-dependencies]\nloadtest = {}\n\n",
        header("imported-openapi"),
        dependency()
    );
    let mut files = Files::new("imported_openapi").file("src/lib.rs", "//! Nothing.\n");
    for (name, document) in DOCUMENTS {
        let _ = writeln!(manifest, "[[test]]\nname = \"{name}\"\nharness = false\n");
        files = files.file(&format!("tests/{name}.rs"), imported(document).stdout);
    }
    manifest.push_str(STANDS_ALONE);
    files.file("Cargo.toml", manifest).create()
}

/// The smoke test of a load test, with all secrets that the documents ask for.
fn smoke(project: &Project, name: &str, server: &Server) -> Output {
    let mut call = project
        .cargo(&format!("test --quiet --test {name}"))
        .env("LOADTEST_BASE_URL", server.url());
    for secret in ["API_TOKEN", "API_KEY", "KEY", "PASSWORD", "PIN", "COOKIE"] {
        call = call.env(secret, format!("{}-value", secret.to_lowercase()));
    }
    call.run()
}

/// Whether a path is one of a template, in which `{}` is any segment.
fn is_of(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template
            .iter()
            .zip(&path)
            .all(|(one, other)| *one == "{}" && !other.is_empty() || one == other)
}

/// What the documents declare: method, path, status, body.
const DECLARED: [(&str, &str, &str, u16, &str); 26] = [
    (
        "library",
        "GET",
        "/api/books",
        200,
        r#"{"books":[{"isbn":"9780140449136","title":"example"}]}"#,
    ),
    ("library", "QUERY", "/api/books", 200, ""),
    (
        "library",
        "GET",
        "/api/books/9780140449136",
        200,
        r#"{"isbn":"9780140449136","title":"example"}"#,
    ),
    (
        "library",
        "GET",
        "/api/books/9780140449136/pages/;range=3;range=9",
        206,
        "exampleex",
    ),
    (
        "library",
        "POST",
        "/v2/media",
        201,
        r#"{"id":1,"kind":"film","minutes":0.5}"#,
    ),
    ("library", "PATCH", "/api/books/9780140449136", 200, ""),
    ("library", "PUT", "/v2/media", 303, ""),
    ("pets", "POST", "/v2/pet", 200, r#"{"id":77,"name":"Rex"}"#),
    (
        "pets",
        "GET",
        "/v2/pet/findByStatus",
        200,
        r#"[{"id":1,"name":"Rex","photoUrls":[]}]"#,
    ),
    (
        "pets",
        "GET",
        "/v2/pet/77",
        200,
        r#"{"id":77,"name":"Rex","photoUrls":[]}"#,
    ),
    ("pets", "POST", "/v2/pet/77", 200, ""),
    ("pets", "POST", "/v2/pet/77/photo", 200, r#"{"code":1}"#),
    ("pets", "DELETE", "/v2/pet/77", 204, ""),
    ("pets", "POST", "/v2/keeper", 200, ""),
    ("pets", "GET", "/v2/keeper/login", 200, "\"example\""),
    (
        "pets",
        "GET",
        "/v2/keeper/ada",
        200,
        r#"{"username":"ada","email":"ada@example.com"}"#,
    ),
    ("pets", "DELETE", "/v2/keeper/ada", 200, ""),
    ("faulty", "GET", "/things/", 200, ""),
    ("faulty", "POST", "/things/", 201, ""),
    ("faulty", "PUT", "/things/", 200, ""),
    ("faulty", "PATCH", "/things/", 200, ""),
    ("faulty", "GET", "/things/1/1/..", 200, "{\"id\": 1}"),
    ("faulty", "GET", "/things/1/", 200, "{\"id\": 1}"),
    ("bare", "GET", "/things/", 200, ""),
    ("bare", "POST", "/things/", 200, ""),
    ("bare", "GET", "/things/1/", 200, ""),
];

/// A service that answers what a document declares, and nothing else.
fn declared(document: &'static str) -> Server {
    Server::recording(move |request| {
        let known = DECLARED.iter().find(|(name, method, template, ..)| {
            *name == document && *method == request.method && is_of(template, &request.path)
        });
        match known {
            Some((.., status, body)) if body.starts_with(['{', '[', '"']) => Reply::status(*status)
                .header("content-type", "application/json")
                .body(*body),
            Some((.., status, body)) => Reply::status(*status).body(*body),
            None => Reply::status(404).body("not declared"),
        }
    })
}

fn what_is_imported_passes_against_what_the_document_says() {
    let project = project();
    for document in ["library", "pets", "faulty", "bare"] {
        let server = declared(document);
        smoke(&project, document, &server).exits(0);
        let asked = server.recorded();
        for (.., method, path, _, _) in DECLARED
            .iter()
            .filter(|(name, ..)| *name == document)
            .map(|(name, method, path, status, body)| (name, method, path, status, body))
        {
            let is_asked = asked
                .iter()
                .any(|request| request.method == *method && is_of(path, &request.path));
            assert!(is_asked || document == "faulty", "{method} {path}");
        }
    }
    // As rustfmt would have written it.
    for (name, _) in DOCUMENTS {
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--check", "--edition", "2024"]);
        let output = rustfmt
            .arg(project.path(&format!("tests/{name}.rs")))
            .output()
            .expect("rustfmt");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
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
    smoke(&project, "shop", &server)
        .exits(0)
        .prints(&["3 passed"]);
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
    let output = output.prints(&["\"http://127.0.0.1:9\"", "/x/keeper/ada"]);
    assert!(!output.stdout.contains("findByStatus"), "{output}");
    import("--tag keeper").exits(2).has_one_error().says(&[
        "no operation has the tag `keeper`",
        "did you mean `keepers`?",
    ]);
    import("--operation getpets")
        .exits(2)
        .has_one_error()
        .says(&["no operation `getpets`", "did you mean `getPet`?"]);
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
        .says(&["there is no operation", "--> api.yaml:3:3"]);
    let output = import("openapi: 3.1.0\npaths: {\n").exits(2);
    output.has_one_error().says(&["not YAML", "--> api.yaml:"]);
    import("a: 1\n")
        .exits(2)
        .has_one_error()
        .says(&["no OpenAPI document", "api.yaml:1:1"]);
    assert!(!folder.path().join("load.rs").exists());
}

/// Descriptions and collections that others have published, in packages that only tests depend on.
const PUBLISHED: [(&str, &str, &str, &str); 7] = [
    ("openapi", "docker", "openapiv3", "fixtures/docker.yaml"),
    ("openapi", "fitbit", "openapiv3", "fixtures/fitbit.json"),
    (
        "openapi",
        "advisor",
        "openapiv3",
        "fixtures/azure_advisor.yaml",
    ),
    ("openapi", "polygon", "openapiv3", "fixtures/polygon.json"),
    ("openapi", "xkcd", "openapiv3", "fixtures/xkcd.json"),
    (
        "postman",
        "pets_2_0",
        "postman_collection",
        "tests/fixtures/collection/swagger-petstore-v2.0.0.json",
    ),
    (
        "postman",
        "pets_2_1",
        "postman_collection",
        "tests/fixtures/collection/swagger-petstore-v2.1.0.json",
    ),
];

fn what_public_services_publish_compiles() {
    // Of other systems nothing is downloaded.
    let rustc = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let rustc = String::from_utf8(rustc.stdout).expect("text");
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--filter-platform"])
        .arg(host.expect("a host"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let manifest_of = |name: &str| {
        let package = packages.iter().find(|package| package["name"] == name);
        let manifest = package.and_then(|package| package["manifest_path"].as_str());
        Path::new(manifest.expect("a package of ours depends on it")).to_owned()
    };
    let mut manifest = format!(
        "{}[dev-dependencies]\nloadtest = {}\n\n",
        header("published"),
        dependency()
    );
    let mut files = Files::new("published").file("src/lib.rs", "");
    let folder = tempfile::tempdir().expect("a folder of the system");
    for (format, name, package, document) in PUBLISHED {
        let document = manifest_of(package).with_file_name("").join(document);
        let output = Call::tool(folder.path())
            .line(&format!("import {format}"))
            .arg(&document)
            .run()
            .exits(0);
        let _ = writeln!(manifest, "[[test]]\nname = \"{name}\"\nharness = false\n");
        files = files.file(&format!("tests/{name}.rs"), output.stdout);
    }
    manifest.push_str(STANDS_ALONE);
    let project = files.file("Cargo.toml", manifest).create();
    let output = project.tool("list", "").run().exits(0);
    for (_, name, ..) in PUBLISHED {
        assert!(
            output.stdout.contains(&format!("published::{name}::")),
            "{output}"
        );
    }
}
