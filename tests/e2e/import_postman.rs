//! Load tests from collections of Postman: the imported file compiles as it is, and its smoke test passes against a
//! server that answers what was saved with the requests, but for tokens and identifiers, which are fresh, and takes
//! no other requests.

use crate::call::Call;
use crate::import_described::package;
use crate::project::Files;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Collection, Request, Serving};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_collection_passes_with_fresh_tokens,
        an_older_collection_takes_its_environment,
        one_folder_brings_what_it_needs,
        a_collection_of_mistakes_passes_as_far_as_it_can_be_read,
        what_others_have_published_passes,
        a_mistake_is_shown_in_the_file_it_is_in,
    ]
}

const SHOP: &str = include_str!("../fixtures/import/postman/shop.json");
const TICKETS: &str = include_str!("../fixtures/import/postman/tickets.json");
const FAULTY: &str = include_str!("../fixtures/import/postman/faulty.json");
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

/// The service of a collection, for whoever has these secrets.
fn serving(collection: &str, environment: Option<&str>, secrets: &[(&str, &str)]) -> Serving {
    let secrets: Vec<_> = secrets.iter().map(|(_, value)| *value).collect();
    Collection::new(collection, environment, &secrets).start()
}

/// The smoke tests of a scenario, with these secrets, pass, and send nothing else than what is in the collection.
fn passes(name: &'static str, source: &str, service: &Serving, secrets: &[(&str, &str)]) {
    let mut call = Files::single(name, source)
        .create()
        .cargo("test --offline --test load");
    call = call.env("LOADTEST_BASE_URL", service.server.url());
    for (secret, value) in secrets {
        call = call.env(secret, value);
    }
    let output = call.run();
    assert_eq!(service.refusals.told(), Vec::<String>::new(), "{output}");
    output.exits(0).prints(&["test result: ok", "0 ignored"]);
}

/// The secrets that an import names, each with a value.
fn secrets_of(said: &str) -> Vec<(&str, String)> {
    let lines = said.lines().map(str::trim_start);
    let secrets = lines.filter_map(|line| line.strip_prefix("Secret ")?.split_once(':'));
    secrets
        .map(|(name, _)| (name, format!("{}-value", name.to_lowercase())))
        .collect()
}

/// The requests to a path with a method.
fn sent<'a>(requests: &'a [Request], method: &str, path: &str) -> Vec<&'a Request> {
    let all = requests.iter();
    let found = all.filter(|request| request.method == method && request.path == path);
    found.collect()
}

const SHOP_SECRETS: [(&str, &str); 3] = [
    ("PASSWORD", "lovelace-1815"),
    ("PAYMENT_KEY", "pay-key-4711"),
    ("REPORT_PASSWORD", "report-2026"),
];

fn a_collection_passes_with_fresh_tokens() {
    let service = serving(SHOP, None, &SHOP_SECRETS);
    let (source, said) = imported(SHOP, None, "");
    for part in [
        "this is not HTTP: `GET Live prices` is left out",
        "Secret PASSWORD: the variable `password`",
        "not run: the pre-request script of `Add`, which changes the request",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!source.contains("tok_2f8c11d0a6"), "{source}");
    passes("import_postman_shop", &source, &service, &SHOP_SECRETS);
    assert_eq!(service.unasked(), Vec::<&str>::new());
    let requests = service.server.recorded();
    // Each scenario logs in, and its requests come with the token of that login.
    let logins = sent(&requests, "POST", "/v1/sessions");
    assert_eq!(
        logins.len(),
        4,
        "the session itself, and each scenario that needs one"
    );
    assert!(logins[0].text().contains("lovelace-1815"));
    let orders = sent(&requests, "POST", "/v1/orders");
    let order: serde_json::Value = serde_json::from_slice(&orders[0].body).expect("JSON");
    assert!(
        order["tea"].is_u64() && order["customer"].is_string(),
        "{order}"
    );
    let paid: Vec<_> = requests
        .iter()
        .filter(|request| request.method == "POST" && request.path.ends_with("/payments"))
        .collect();
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
    let secrets = [
        ("PASSWORD", "first-secret"),
        ("TENANT", "second-secret"),
        ("API_KEY", "third-secret"),
        ("ACCESS_TOKEN", "fourth-secret"),
    ];
    let service = serving(TICKETS, Some(STAGING), &secrets);
    let (source, said) = imported(TICKETS, Some(STAGING), "");
    assert!(
        !source.contains("canary") && !said.contains("canary"),
        "{source}{said}"
    );
    assert!(said.contains("credentials of the kind `awsv4`"), "{said}");
    passes("import_postman_tickets", &source, &service, &secrets);
    let requests = service.server.recorded();
    let ticket = requests[2].path.rsplit('/').next().expect("a path");
    let targets: Vec<_> = requests
        .iter()
        .map(|request| format!("{} {}", request.method, request.target))
        .collect();
    assert_eq!(
        targets,
        [
            "POST /login",
            "GET /projects/blue/tickets?limit=50&api_key=third-secret",
            &format!("PATCH /projects/blue/tickets/{ticket}"),
            &format!("PUT /tickets/{ticket}/file"),
        ]
    );
    assert_eq!(requests[0].text(), r#"{"tenant":"second-secret"}"#);
    assert_eq!(
        requests[2].header("authorization"),
        Some("Bearer fourth-secret")
    );
    assert_eq!(requests[2].text(), "state=closed");
}

fn one_folder_brings_what_it_needs() {
    let service = serving(SHOP, None, &SHOP_SECRETS[..1]);
    let (source, said) = imported(SHOP, None, "--folder catalogue");
    assert!(!said.contains("REPORT_PASSWORD"), "{said}");
    passes(
        "import_postman_folder",
        &source,
        &service,
        &SHOP_SECRETS[..1],
    );
    let requests = service.server.recorded();
    let tea = requests[2].path.rsplit('/').next().expect("a path");
    let targets: Vec<_> = requests
        .iter()
        .map(|request| format!("{} {}", request.method, request.path))
        .collect();
    assert_eq!(
        targets,
        [
            "POST /v1/sessions",
            "GET /v1/teas",
            &format!("GET /v1/teas/{tea}"),
            &format!("GET /v1/teas/{tea}/reviews"),
            &format!("POST /v1/teas/{tea}/reviews"),
        ]
    );
}

fn a_collection_of_mistakes_passes_as_far_as_it_can_be_read() {
    let (_, said) = imported(FAULTY, None, "");
    let secrets = secrets_of(&said);
    let secrets: Vec<_> = secrets
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let service = serving(FAULTY, None, &secrets);
    // Its requests are to two places.
    let host = format!(
        r#"{{"name":"Here","values":[{{"key":"host","value":"{}"}}]}}"#,
        service.server.url()
    );
    let (source, _) = imported(FAULTY, Some(&host), "");
    passes("import_postman_faulty", &source, &service, &secrets);
    assert_eq!(service.server.requests(), 3);
}

/// Collections that others have published, in a package that only tests depend on.
fn what_others_have_published_passes() {
    let folder = package("postman_collection").join("tests/fixtures/collection");
    for (name, file) in [
        ("import_postman_pets_2_0", "swagger-petstore-v2.0.0.json"),
        ("import_postman_pets_2_1", "swagger-petstore-v2.1.0.json"),
    ] {
        let text = fs::read_to_string(folder.join(file)).expect("a collection");
        let (source, said) = imported(&text, None, "");
        let secrets = secrets_of(&said);
        let secrets: Vec<_> = secrets
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let service = serving(&text, None, &secrets);
        passes(name, &source, &service, &secrets);
        assert_eq!(service.unasked(), Vec::<&str>::new(), "{name}");
    }
}

fn a_mistake_is_shown_in_the_file_it_is_in() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import/postman");
    let files = fs::read_dir(&fixtures).expect("a folder").flatten();
    let mut names: Vec<_> = files
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    // Three that pass, an environment, and those that are refused here.
    let known = [
        "README.md",
        "faulty.json",
        "globals.json",
        "shop.json",
        "tickets.environment.json",
        "tickets.json",
        "version-1.json",
    ];
    assert_eq!(names, known);
    let import = |file: &str, environment: Option<&str>, line: &str| {
        let path = |name: &str| -> PathBuf { fixtures.join(name) };
        let mut call = tool(&fixtures, "import postman").arg(path(file));
        if let Some(environment) = environment {
            call = call.arg("--environment").arg(path(environment));
        }
        call.line(line).run().exits(2).has_one_error()
    };
    import("version-1.json", None, "").says(&[
        "has no `item`",
        "version-1.json",
        "Collection v2.1",
    ]);
    import("globals.json", None, "").says(&["variables of an environment", "--environment"]);
    import("shop.json", Some("tickets.json"), "").says(&[
        "this is not an environment",
        "tickets.json:2:2",
        "export the environment in Postman",
    ]);
    import("shop.json", None, "--folder Sesion").says(&["no folder `Sesion`", "`Session`"]);
}
