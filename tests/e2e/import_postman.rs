//! Load tests from collections of Postman: the imported file compiles as it is, and its smoke test passes against a
//! server that answers what was saved with the requests, but for tokens and identifiers, which are fresh.

use crate::call::Call;
use crate::project::Files;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_collection_passes_with_fresh_tokens,
        an_older_collection_takes_its_environment,
        one_folder_brings_what_it_needs,
        a_mistake_is_shown_in_the_file_it_is_in,
    ]
}

const SHOP: &str = include_str!("../fixtures/import/postman/shop.json");
const TICKETS: &str = include_str!("../fixtures/import/postman/tickets.json");
const STAGING: &str = include_str!("../fixtures/import/postman/tickets.environment.json");

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder of the system")
}

fn tool(folder: &Path, line: &str) -> Call {
    Call::tool(folder).line(line)
}

/// The scenario of a collection, and what is said about it.
fn imported(collection: &str, environment: Option<&str>, line: &str) -> (String, String) {
    let folder = folder();
    fs::write(folder.path().join("collection.json"), collection).expect("a file");
    let mut call = tool(folder.path(), "import postman collection.json");
    if let Some(environment) = environment {
        fs::write(folder.path().join("environment.json"), environment).expect("a file");
        call = call.args(["--environment", "environment.json"]);
    }
    let output = call.line(line).run().exits(0);
    (output.stdout.clone(), output.stderr.clone())
}

/// The smoke tests of a scenario, with these secrets, pass.
fn passes(name: &'static str, source: &str, url: &str, secrets: &[(&str, &str)]) {
    let mut call = Files::single(name, source)
        .create()
        .cargo("test --offline --test load");
    call = call.env("LOADTEST_BASE_URL", url);
    for (secret, value) in secrets {
        call = call.env(secret, value);
    }
    call.run()
        .exits(0)
        .prints(&["test result: ok", "0 ignored"]);
}

/// The requests to a path with a method.
fn sent<'a>(requests: &'a [Request], method: &str, path: &str) -> Vec<&'a Request> {
    let all = requests.iter();
    let found = all.filter(|request| request.method == method && request.path == path);
    found.collect()
}

/// A shop whose every login, search and order is another one.
fn shop(request: &Request) -> Reply {
    let number = request.sequence + 1;
    let is_json = |reply: Reply| reply.header("content-type", "application/json");
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/v1/sessions") => is_json(Reply::status(201).body(format!(
            r#"{{"token":"tok-fresh-{number}","user":{{"id":{},"name":"Ada"}}}}"#,
            100 + number
        ))),
        ("GET", "/v1/teas") => Reply::json(r#"{"items":[{"id":815,"name":"Sencha"}],"total":1}"#),
        ("GET", "/v1/teas/815") => Reply::json(r#"{"id":815,"name":"Sencha","price":"12.50"}"#),
        ("GET", "/v1/teas/815/reviews" | "/v1/orders/ord-77/payments") => Reply::json("[]"),
        ("POST", "/v1/teas/815/reviews") => Reply::status(201),
        ("POST", "/v1/orders") => is_json(
            Reply::status(201)
                .header("location", "/v1/orders/ord-77")
                .body(r#"{"id":"ord-77","state":"open"}"#),
        ),
        ("GET", "/v1/orders/ord-77") => Reply::json(r#"{"id":"ord-77","state":"open"}"#),
        ("POST", "/v1/orders/ord-77/payments") => {
            is_json(Reply::status(202).body(r#"{"state":"paid"}"#))
        }
        ("GET", "/v1/orders") => Reply::json(r#"{"orders":[]}"#),
        ("DELETE", "/v1/orders/ord-77") => Reply::status(204),
        ("GET", "/v1/health") => Reply::text("ok"),
        ("POST", "/v1/graphql") => Reply::json(r#"{"data":{}}"#),
        ("GET", "/v1/report.csv") => Reply::text("tea,count\n"),
        _ => Reply::status(404),
    }
}

const SHOP_SECRETS: [(&str, &str); 3] = [
    ("PASSWORD", "lovelace-1815"),
    ("PAYMENT_KEY", "pay-key-4711"),
    ("REPORT_PASSWORD", "report-2026"),
];

fn a_collection_passes_with_fresh_tokens() {
    let server = Server::recording(shop);
    let (source, said) = imported(SHOP, None, "");
    for part in [
        "Dropped GET Live prices (not HTTP)",
        "Secret PASSWORD: the variable `password`",
        "not run: the pre-request script of `Add`, which changes the request",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!source.contains("tok_2f8c11d0a6"), "{source}");
    passes("import_postman_shop", &source, &server.url(), &SHOP_SECRETS);
    let requests = server.recorded();
    let failed: Vec<_> = requests
        .iter()
        .filter(|request| !request.path.starts_with("/v1/"))
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    // Each scenario logs in, and its requests come with the token of that login.
    let logins = sent(&requests, "POST", "/v1/sessions");
    assert_eq!(
        logins.len(),
        4,
        "the session itself, and each scenario that needs one"
    );
    assert!(logins[0].text().contains("lovelace-1815"));
    let free = [
        "/v1/sessions",
        "/v1/orders/ord-77/payments",
        "/v1/report.csv",
    ];
    for request in requests
        .iter()
        .filter(|request| !free.contains(&request.path.as_str()))
    {
        let token = request.header("authorization").unwrap_or_default();
        assert!(token.starts_with("Bearer tok-fresh-"), "{request:?}");
    }
    let orders = sent(&requests, "POST", "/v1/orders");
    let order: serde_json::Value = serde_json::from_slice(&orders[0].body).expect("JSON");
    assert_eq!(order["tea"], 815, "a number stays one");
    let customer = order["customer"].as_str().expect("a string");
    assert!(customer.starts_with("10"), "{order}");
    assert_eq!(
        sent(&requests, "GET", "/v1/orders/ord-77").len(),
        1,
        "where the location led"
    );
    assert_eq!(sent(&requests, "DELETE", "/v1/orders/ord-77").len(), 1);
    let paid = sent(&requests, "POST", "/v1/orders/ord-77/payments");
    assert_eq!(paid[0].header("x-payment-key"), Some("pay-key-4711"));
    assert_eq!(paid[0].header("authorization"), None);
    assert!(
        paid[0].text().contains("filename=\"receipt.pdf\""),
        "{}",
        paid[0].text()
    );
    let report = sent(&requests, "GET", "/v1/report.csv");
    let basic = report[0].header("authorization").unwrap_or_default();
    assert_eq!(basic, "Basic cmVwb3J0czpyZXBvcnQtMjAyNg==");
}

fn an_older_collection_takes_its_environment() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/login" => Reply::json(r#"{"session":{"key":"fresh-5d41","ttl":3600}}"#),
        "/projects/blue/tickets" => Reply::json(r#"[{"number":99,"title":"No tea"}]"#),
        "/projects/blue/tickets/99" => Reply::status(200),
        "/tickets/99/file" => Reply::status(204),
        _ => Reply::status(404),
    });
    let (source, said) = imported(TICKETS, Some(STAGING), "");
    assert!(
        !source.contains("canary") && !said.contains("canary"),
        "{source}{said}"
    );
    assert!(said.contains("credentials of the kind `awsv4`"), "{said}");
    let secrets = [
        ("PASSWORD", "first-secret"),
        ("TENANT", "second-secret"),
        ("API_KEY", "third-secret"),
        ("ACCESS_TOKEN", "fourth-secret"),
    ];
    passes("import_postman_tickets", &source, &server.url(), &secrets);
    let requests = server.recorded();
    let targets: Vec<_> = requests
        .iter()
        .map(|request| format!("{} {}", request.method, request.target))
        .collect();
    assert_eq!(
        targets,
        [
            "POST /login",
            "GET /projects/blue/tickets?limit=50&api_key=third-secret",
            "PATCH /projects/blue/tickets/99",
            "PUT /tickets/99/file",
        ]
    );
    assert_eq!(requests[0].text(), r#"{"tenant":"second-secret"}"#);
    assert_eq!(requests[1].header("x-session"), Some("fresh-5d41"));
    assert_eq!(
        requests[2].header("authorization"),
        Some("Bearer fourth-secret")
    );
    assert_eq!(requests[2].text(), "state=closed");
}

fn one_folder_brings_what_it_needs() {
    let server = Server::recording(shop);
    let (source, said) = imported(SHOP, None, "--folder catalogue");
    assert!(!said.contains("REPORT_PASSWORD"), "{said}");
    passes(
        "import_postman_folder",
        &source,
        &server.url(),
        &SHOP_SECRETS[..1],
    );
    let targets: Vec<_> = server
        .recorded()
        .iter()
        .map(|request| format!("{} {}", request.method, request.path))
        .collect();
    assert_eq!(
        targets,
        [
            "POST /v1/sessions",
            "GET /v1/teas",
            "GET /v1/teas/815",
            "GET /v1/teas/815/reviews",
            "POST /v1/teas/815/reviews",
        ]
    );
}

fn a_mistake_is_shown_in_the_file_it_is_in() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import/postman");
    let import = |file: &str, environment: Option<&str>, line: &str| {
        let path = |name: &str| -> PathBuf { fixtures.join(name) };
        let mut call = tool(&fixtures, "import postman").arg(path(file));
        if let Some(environment) = environment {
            call = call.arg("--environment").arg(path(environment));
        }
        call.line(line).run().exits(2).has_one_error()
    };
    import("version-1.json", None, "").says(&[
        "version 1",
        "version-1.json:1:1",
        "Collection v2.1",
    ]);
    import("globals.json", None, "").says(&["the globals", "--environment"]);
    import("shop.json", Some("tickets.json"), "").says(&[
        "this is no environment",
        "tickets.json:1:1",
        "it is a collection",
    ]);
    import("shop.json", None, "--folder Sesion").says(&["no folder `Sesion`", "`Session`"]);
}
