//! Imported scenarios, as files of a package: they compile as they are, and send what their recordings say.

use crate::project::{Files, LOAD_TEST, STANDS_ALONE, dependency, header, workspace};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use std::fmt::Write as _;
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    trials![imported_scenarios_compile_and_send_values_of_earlier_answers,]
}

/// The sources that the unit tests of the writer have as snapshots.
const SOURCES: [&str; 4] = ["shop", "built", "groups", "hostile"];

/// A source of a snapshot.
fn source(name: &str) -> String {
    let file = format!(
        "cargo-loadtest/import/src/rust/tests/snapshots/loadtest_import__rust__tests__{name}.snap"
    );
    let snapshot = fs::read_to_string(workspace().join(file)).expect("a snapshot");
    let (_, rest) = snapshot.split_once("---\n").expect("a head");
    let (_, source) = rest.split_once("---\n").expect("the end of the head");
    source.to_owned()
}

/// Answers as the recordings say.
fn answer(request: &Request) -> Reply {
    let json = |status, body: &str| {
        Reply::status(status)
            .header("content-type", "application/json")
            .body(body)
    };
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/api/login") => json(
            200,
            r#"{"accessToken":"t 1","expiresIn":1,"type":"b","user":{"name":"A/B","odd key":"x&y"}}"#,
        ),
        ("GET", "/products") => json(
            200,
            r#"{"items":[{"id":17,"price":1,"tags":["a","b"]},{"id":2,"price":2.5}]}"#,
        ),
        ("POST", "/orders") => Reply::status(201).header("location", "/orders/o%201"),
        ("GET", "/orders/o%201") => json(200, r#"[{"id":"o 1","lines":[{"sku":"s+1"}]}]"#),
        ("DELETE", "/orders/o%201/lines") => Reply::status(204),
        ("GET", "/login") => Reply::text(r#"<input name="csrf" value="c 1">"#),
        ("POST", "/login") => {
            let body = r#"{"token":"t 1","user":{"id":7},"ids":[1,2]}"#;
            Reply::status(303).header("x-location", "there").body(body)
        }
        ("GET", "/search") => json(
            200,
            r#"{"n":1,"user":"ada","hits":[{"id":1,"email":"a@b"},{"id":2}],"mixed":[1,"x \"y\""]}"#,
        ),
        ("PROPFIND", "/orders/2") => Reply::status(207),
        ("PUT", "/note") | ("POST", "/form" | "/photos" | "/t" | "/upload/t%201/of/c%201") => {
            Reply::status(200)
        }
        ("GET", "/a|b" | "/a%7Cb") => Reply::status(200),
        _ => Reply::status(404),
    }
}

fn imported_scenarios_compile_and_send_values_of_earlier_answers() {
    let server = Server::recording(answer);
    let mut targets = String::new();
    let mut files = Files::new("import_writer").file("src/lib.rs", "");
    for name in SOURCES {
        let target = LOAD_TEST.replace("\"load\"", &format!("\"{name}\""));
        let _ = writeln!(targets, "{target}");
        files = files.file(&format!("tests/{name}.rs"), source(name));
    }
    let manifest = format!(
        "{}[dev-dependencies]\nloadtest = {}\n\n{targets}\n{STANDS_ALONE}",
        header("import_writer"),
        dependency()
    );
    let project = files.file("Cargo.toml", manifest).create();
    // Not even a warning.
    let output = project.cargo("test --no-run").run().exits(0);
    assert!(!output.stderr.contains("warning"), "{output}");
    let secrets = [
        "API_TOKEN",
        "COOKIE",
        "PASSWORD",
        "PASSWORD_2",
        "PIN_TOKEN",
        "UNUSED",
    ];
    for name in ["shop", "built"] {
        let mut call = project
            .cargo(&format!("test --test {name}"))
            .env("LOADTEST_BASE_URL", server.url());
        for secret in secrets {
            call = call.env(secret, format!("{} of mine", secret.to_lowercase()));
        }
        call.run().exits(0);
    }
    let sent: Vec<String> = server
        .recorded()
        .iter()
        .map(|request| format!("{} {} {}", request.method, request.target, request.text()))
        .collect();
    let expected = [
        r#"POST /api/login {"user":"ada","password":"password of mine"}"#,
        "GET /products?page=1&by=x%26y ",
        r#"POST /orders {"product":17,"quantity":2,"price":2.5,"tags":["a","b"],"for":"of A/B","text":17}"#,
        "GET /orders/o%201 ",
        "DELETE /orders/o%201/lines?sku=s%2B1 ",
        "PUT /note found 17",
        "POST /form user=A%2FB&a=b+c&token=t+1",
    ];
    for expected in expected {
        assert!(
            sent.iter().any(|sent| sent == expected),
            "{expected}: {sent:#?}"
        );
    }
    let expected = [
        "GET /login ",
        "POST /login?t=c%201 user=ada&password=password+of+mine&csrf=c+1&both=a-c+1",
        "POST /upload/t%201/of/c%201?pin_token=pin_token%20of%20mine ",
        r#"PROPFIND /orders/2 {"id":"2","list":[1,2],"mixed":"x \"y\"","text":"say t 1","token":"t 1","user":7,"{{secret.X}}":1}"#,
        "GET /a|b?user=ada&n=1 ",
        "POST /t {{login.response.token}} and {{secret.NAME}} {a.b} }}",
    ];
    for expected in expected {
        assert!(
            sent.iter().any(|sent| sent.starts_with(expected)),
            "{expected}: {sent:#?}"
        );
    }
    let upload = server.recorded();
    let upload = upload
        .iter()
        .find(|request| request.path.starts_with("/upload"))
        .expect("an upload");
    assert_eq!(upload.header("x-location"), Some("there"));
    let form = upload.text().to_lowercase();
    for part in ["filename=\"holiday picture.jpg\"", "password_2 of mine"] {
        assert!(form.contains(part), "{part}: {form}");
    }
}
