//! Load tests of other tools: what is imported compiles as it is, passes, and sends what the other tool would send.

use crate::call::Call;
use crate::project::{Files, STANDS_ALONE, dependency, header};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_k6_script_sends_what_it_says,
        code_of_a_script_is_a_warning_and_the_rest_compiles,
        scripts_of_functions_loops_and_metrics_compile,
        a_jmeter_plan_sends_what_it_says,
        code_of_a_plan_is_a_warning_and_the_rest_compiles,
    ]
}

const SHOP: &str = include_str!("../fixtures/import/k6/shop.ts");
const CODE: &str = include_str!("../fixtures/import/k6/code.js");
/// Scripts of which only the shape is of interest.
const SHAPES: [(&str, &str); 4] = [
    ("client", include_str!("../fixtures/import/k6/client.ts")),
    ("loops", include_str!("../fixtures/import/k6/loops.js")),
    ("metrics", include_str!("../fixtures/import/k6/metrics.js")),
    (
        "wrappers",
        include_str!("../fixtures/import/k6/wrappers.js"),
    ),
];
const PLAN: &str = include_str!("../fixtures/import/jmx/shop.jmx");
const PLAN_CODE: &str = include_str!("../fixtures/import/jmx/code.jmx");

/// The scenario of a file, and the messages about it.
fn imported(format: &str, text: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder of the system");
    fs::write(folder.path().join("input"), text).expect("a file");
    let call = Call::tool(folder.path()).line(&format!("import {format} input"));
    let output = call.run().exits(0);
    (output.stdout.clone(), output.stderr.clone())
}

/// A shop that knows its own tokens only.
fn shop(request: &Request) -> Reply {
    let path = request.path.split('?').next().unwrap_or_default();
    let is_known = ["admin-7", "user-7"]
        .iter()
        .any(|token| request.header("authorization") == Some(format!("Bearer {token}").as_str()));
    let html =
        "<form><input type=hidden name=csrf value=form-7></form><script>session=abc7;</script>";
    match (request.method.as_str(), path) {
        ("POST", "/admin") => Reply::json(r#"{"token":"admin-7"}"#),
        ("POST", "/login") => Reply::json(r#"{"token":"user-7","cart":{"id":71}}"#),
        ("POST", "/carts/71/items") if is_known => {
            Reply::status(201).header("location", "/carts/71/items/1")
        }
        ("GET", "/form") => Reply::text(html).header("content-type", "text/html"),
        ("POST", "/logout") if is_known => Reply::status(200),
        (
            _,
            "/carts/71/items/1" | "/form" | "/rare" | "/rare/abc7" | "/often" | "/seen" | "/recent",
        ) => Reply::status(200),
        _ => Reply::status(404),
    }
}

/// Runs the smoke tests of a source.
fn passes(project: Files, server: &Server) {
    let call = project.create().cargo("test --offline --test load");
    let call = call
        .env("LOADTEST_BASE_URL", server.url())
        .env("ADMIN_KEY", "key-7");
    call.run()
        .exits(0)
        .prints(&["test result: ok", "0 ignored"]);
}

fn sent<'a>(requests: &'a [Request], method: &str, path: &str) -> &'a Request {
    let mut found = requests
        .iter()
        .filter(|request| request.method == method && request.target == path);
    found
        .next()
        .unwrap_or_else(|| panic!("{method} {path} in {requests:?}"))
}

fn a_k6_script_sends_what_it_says() {
    let (source, said) = imported("k6", SHOP);
    assert!(
        said.contains("Secret ADMIN_KEY") && !said.contains("is code"),
        "{said}"
    );
    let server = Server::recording(shop);
    let project = Files::single("import_k6_shop", &source)
        .file("data/users.csv", "name,password\nada,pass word\n")
        .file("data/products.json", r#"[{"id":17}]"#);
    passes(project, &server);
    let requests = server.recorded();
    assert_eq!(
        sent(&requests, "POST", "/admin").text(),
        r#"{"key":"key-7"}"#
    );
    assert_eq!(
        sent(&requests, "POST", "/login").text(),
        "user=ada&password=pass+word"
    );
    let added = sent(&requests, "POST", "/carts/71/items");
    let body: serde_json::Value = serde_json::from_slice(&added.body).expect("JSON");
    assert_eq!((&body["product"], &body["count"]), (&17.into(), &1.into()));
    assert_eq!(body["request"].as_str().map(str::len), Some(36));
    let cart = sent(&requests, "GET", "/carts/71/items/1");
    assert_eq!(cart.header("x-admin"), Some("admin-7"));
    sent(&requests, "GET", "/form?q=green%20tea");
    let form = sent(&requests, "POST", "/form");
    assert_eq!(form.text(), "csrf=form-7&session=abc7&tags=a&tags=b");
    sent(&requests, "DELETE", "/rare/abc7");
    sent(&requests, "PUT", "/seen");
    let logouts = requests.iter().filter(|request| request.path == "/logout");
    assert_eq!(logouts.count(), 2, "one after each scenario");
}

fn code_of_a_script_is_a_warning_and_the_rest_compiles() {
    let (source, said) = imported("k6", CODE);
    for part in [
        "this request is sent once here, and repeated in the script",
        "input:26:5",
        "the constant `SIGN_LAST` needs a value: `sign(last)` is computed by code",
        "3 parts could not be converted and are kept as comments",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let server = Server::recording(|request| match request.path.as_str() {
        "/products" => Reply::json(r#"{"products":[{"id":7}]}"#),
        "/products/7" | "/last/unknown" | "/orders" | "/more" => Reply::json("{}"),
        _ => Reply::status(404),
    });
    passes(Files::single("import_k6_code", &source), &server);
    let requests = server.recorded();
    assert_eq!(
        sent(&requests, "POST", "/orders").text(),
        r#"{"product":"unknown","amount":2.5}"#
    );
    assert_eq!(requests.len(), 5);
}

fn scripts_of_functions_loops_and_metrics_compile() {
    let mut manifest = format!(
        "{}[dev-dependencies]\nloadtest = {}\n\n",
        header("import_k6_shapes"),
        dependency()
    );
    let mut files = Files::new("import_k6_shapes").file("src/lib.rs", "");
    for (name, script) in SHAPES {
        let test = format!("[[test]]\nname = \"{name}\"\nharness = false\n\n");
        manifest.push_str(&test);
        files = files.file(&format!("tests/{name}.rs"), imported("k6", script).0);
    }
    manifest.push_str(STANDS_ALONE);
    let project = files.file("Cargo.toml", manifest).create();
    project
        .cargo("check --quiet --offline --tests")
        .run()
        .exits(0);
}

fn a_jmeter_plan_sends_what_it_says() {
    let (source, said) = imported("jmx", PLAN);
    assert!(!said.contains("is code"), "{said}");
    assert!(said.contains("Dropped Old (disabled)"), "{said}");
    let server = Server::recording(service);
    let secret = said.contains("Secret PASSWORD");
    assert!(!secret, "{said}");
    let project = Files::single("import_jmx_shop", &source)
        .file("data/users.csv", "user,password\nada,pass word\n");
    passes(project, &server);
    let requests = server.recorded();
    let login: serde_json::Value =
        serde_json::from_slice(&sent(&requests, "POST", "/api/login").body).expect("JSON");
    assert_eq!(
        login,
        serde_json::json!({ "user": "ada", "password": "pass word" })
    );
    let form = sent(&requests, "GET", "/api/form?q=green+tea");
    assert_eq!(form.header("x-client"), Some("jmeter"));
    let item = sent(&requests, "POST", "/api/carts/71/items");
    assert_eq!(item.text(), "csrf=form-7&session=abc7&count=1");
    assert_eq!(item.header("authorization"), Some("Bearer user-7"));
    sent(&requests, "GET", "/api/grid");
    assert!(requests.iter().all(|request| request.path != "/api/old"));
}

/// The service of the plan.
fn service(request: &Request) -> Reply {
    let html = "<form><input name=\"csrf\" value=\"form-7\"></form><script>session=abc7;</script>";
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/api/login") => {
            Reply::json(r#"{"token":"user-7","role":"buyer","cart":{"id":71}}"#)
        }
        ("GET", "/api/form") => Reply::text(html).header("content-type", "text/html"),
        (_, "/api/carts/71/items" | "/api/rare" | "/api/grid" | "/api/rows") => Reply::status(200),
        _ => Reply::status(404),
    }
}

fn code_of_a_plan_is_a_warning_and_the_rest_compiles() {
    let (source, said) = imported("jmx", PLAN_CODE);
    for part in [
        "not imported: `JSR223Sampler` is code",
        "`IfController` is code: its requests are there once",
        "the constant `SIGNATURE` needs a value: `signature` is computed by code",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let server = Server::recording(|request| match request.path.as_str() {
        "/products" | "/products/unknown" | "/more" | "/page" | "/twice" => Reply::status(200),
        _ => Reply::status(404),
    });
    passes(Files::single("import_jmx_code", &source), &server);
    let requests = server.recorded();
    sent(&requests, "GET", "/products/unknown?signature=unknown");
    assert_eq!(requests.len(), 6);
}
