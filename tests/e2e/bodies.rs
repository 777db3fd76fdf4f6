//! What a step carries arrives byte for byte.

use crate::call::Output;
use crate::project::{Files, Project};
use crate::smoke::built_tool;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::Value;
use std::sync::OnceLock;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        declared_bodies_arrive,
        built_bodies_arrive,
        pages_and_bytes_are_read_as_they_came,
        a_missing_file_ends_the_run_before_it_begins,
        what_is_secret_in_a_declaration_is_in_no_list,
    ]
}

/// A value that every encoding has to do with.
const TERM: &str = "a b&c=d+e#f%g/é\"";

/// Bytes that are no text, and look like the end of a line and of a part.
fn blob() -> Vec<u8> {
    let all = (0..=255_u8).cycle().take(70_000);
    all.chain(*b"\r\n--\r\n--loadtest-\r\n").collect()
}

fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let project = Files::single("bodies", include_str!("../fixtures/bodies/load.rs"))
            .file("loadtest.toml", "")
            .create();
        std::fs::create_dir_all(project.path("data")).expect("a folder");
        for name in ["data/blob.bin", "data/me.png"] {
            std::fs::write(project.path(name), blob()).expect("a file");
        }
        project
    })
}

fn run(scenario: &str, server: &Server) -> Output {
    built_tool(project(), "run", scenario)
        .args(["--iterations", "2", "--base-url", &server.url()])
        .run()
}

fn server() -> Server {
    Server::recording(|request| match request.path.as_str() {
        "/login" => Reply::json(serde_json::json!({ "term": TERM }).to_string()),
        _ => Reply::status(204),
    })
}

fn pages_and_bytes_are_read_as_they_came() {
    const PAGE: &str = "<html><input name=\"csrf\" value=\"t0ken\"></html>";
    let server = Server::recording(|request| match request.path.as_str() {
        "/page" => Reply::text(PAGE),
        "/image" => Reply::status(200).body([0xff, 0, 1]),
        _ => Reply::status(204),
    });
    run("pages", &server).exits(0);
    let requests = server.recorded();
    assert_eq!(requests.len(), 8, "two journeys of four steps");
    assert_eq!(first(&requests, "/session").text(), "csrf=t0ken");
    assert_eq!(first(&requests, "/seen").text(), PAGE);
}

fn first<'a>(requests: &'a [Request], path: &str) -> &'a Request {
    let request = requests.iter().find(|request| request.path == path);
    request.unwrap_or_else(|| panic!("a request to {path}"))
}

/// A part of a form: the lines of its head, and its content.
type Read = (Vec<String>, Vec<u8>);

/// Reads a form as RFC 2046 section 5.1 has it, on its own.
fn parts(request: &Request) -> Vec<Read> {
    let content_type = request.header("content-type").expect("a content type");
    let boundary = content_type
        .strip_prefix("multipart/form-data; boundary=")
        .expect("a boundary");
    let delimiter = format!("\r\n--{boundary}");
    let mut body = b"\r\n".to_vec();
    body.extend_from_slice(&request.body);
    let mut rest = after(&body, delimiter.as_bytes()).1;
    let mut parts = Vec::new();
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let (part, next) = after(part, delimiter.as_bytes());
        let (head, content) = after(part, b"\r\n\r\n");
        let head = String::from_utf8(head.to_vec()).expect("a head is text");
        let lines = head.split("\r\n").map(str::to_lowercase).collect();
        parts.push((lines, content.to_vec()));
        rest = next;
    }
    assert_eq!(rest, b"--\r\n", "the end of the form");
    parts
}

/// What is before `wanted`, and what is after it.
fn after<'a>(bytes: &'a [u8], wanted: &[u8]) -> (&'a [u8], &'a [u8]) {
    let at = bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
        .unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(wanted)));
    (&bytes[..at], &bytes[at + wanted.len()..])
}

fn field(name: &str, value: &str) -> Read {
    (
        vec![format!("content-disposition: form-data; name=\"{name}\"")],
        value.as_bytes().to_vec(),
    )
}

fn file(name: &str, file: &str, content_type: &str, content: &[u8]) -> Read {
    (
        vec![
            format!("content-disposition: form-data; name=\"{name}\"; filename=\"{file}\""),
            format!("content-type: {content_type}"),
        ],
        content.to_vec(),
    )
}

fn declared_bodies_arrive() {
    let server = server();
    run("told", &server).exits(0);
    let requests = server.recorded();
    assert_eq!(requests.len(), 14, "two journeys of seven steps");
    let login = first(&requests, "/login");
    assert_eq!(login.text(), "user=ada+l&api_key=canary-7f3a&n=2");
    assert_eq!(
        login.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    let search = first(&requests, "/search");
    assert_eq!(
        search.target,
        "/search?x=1&page=2&q=a%20b%26c%3Dd%2Be%23f%25g%2F%C3%A9%22"
    );
    // `ada:` and the term in base64, as `printf | base64` writes it
    assert_eq!(
        search.header("authorization"),
        Some("Basic YWRhOmEgYiZjPWQrZSNmJWcvw6ki")
    );
    let text = first(&requests, "/text");
    assert_eq!(text.text(), format!("for {TERM}\n"));
    assert_eq!(
        text.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    let sent = first(&requests, "/blob");
    assert!(sent.body == blob(), "{} bytes", sent.body.len());
    assert_eq!(
        sent.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(first(&requests, "/carried").text(), "a body");
    let forms: Vec<_> = requests.iter().filter(|r| r.path == "/parts").collect();
    let [constant, values, again, ..] = &*forms else {
        panic!("four forms")
    };
    let photo = file("photo", "me.png", "image/png", &blob());
    assert!(parts(constant) == [field("name", "ö"), photo.clone()]);
    assert!(parts(values) == [field("term", TERM), photo]);
    assert!(
        constant.body == again.body,
        "a form is the same in every journey"
    );
}

fn built_bodies_arrive() {
    let server = server();
    run("built", &server).exits(0);
    let requests = server.recorded();
    let form = first(&requests, "/form");
    assert_eq!(form.target, "/form?x=1&q=a+b%26c");
    assert_eq!(form.text(), "user=ada+l&user=%C3%A9");
    let bytes = first(&requests, "/blob");
    assert!(bytes.body == blob(), "{} bytes", bytes.body.len());
    assert_eq!(bytes.header("content-type"), None);
    let read = parts(first(&requests, "/parts"));
    assert_eq!(read.len(), 3);
    assert!(read[0] == field("name", "ö"));
    assert!(read[1] == file("blob", "blob.bin", "application/octet-stream", &blob()));
    assert_eq!(read[2].1, [0, 13, 10, 255]);
    assert!(read[2].0[0].contains("filename=\"a b.bin\""), "{read:?}");
}

fn a_missing_file_ends_the_run_before_it_begins() {
    let server = server();
    run("lost", &server)
        .exits(100)
        .says(&["step `send`", "`data/none.bin`", "No such file"]);
    assert_eq!(server.requests_to("/"), 0);
}

fn what_is_secret_in_a_declaration_is_in_no_list() {
    let output = built_tool(project(), "list", "told --format json")
        .run()
        .exits(0);
    assert!(!output.stdout.contains("canary"), "{output}");
    let listed: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let steps = &listed[0]["steps"];
    assert_eq!(
        steps[0]["body"]["template"],
        r#"{"user":"ada l","api_key":"[redacted]","n":"2"}"#
    );
    assert_eq!(steps[3]["headers"][0]["value"], "[redacted]");
    assert_eq!(
        steps[1]["headers"][0]["value"],
        "Basic [redacted]{{login.response.term}}"
    );
}
