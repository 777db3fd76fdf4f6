//! What a scenario says is what the server gets.

use crate::site::{Sandbox, assert_balanced, step, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::metrics::RootCause;
use loadtest_model::record::ScenarioRecord;
use loadtest_tests::{Reply, Request, Server};
use serde_json::{Value, json};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        builders_send_what_they_say,
        declarations_send_what_they_say,
        the_body_of_an_optional_response_may_be_empty,
        a_failed_check_fails_its_step_and_nothing_else,
        a_failed_step_of_a_chain_is_never_followed,
        every_request_names_its_run,
    ]
}

const LOGIN: &str = r#"{"token":"t-1","user":{"id":7,"name":"Ada & Łukasz/50%?#"}}"#;

fn login() -> Reply {
    Reply::json(LOGIN)
        .header("x-session", "s-42")
        .header("location", "/users/7/sessions/a%2Fb?keep=1")
}

fn run(scenario: &str, server: &Server, code: i32) -> ScenarioRecord {
    let sandbox = Sandbox::new();
    sandbox
        .run(scenario, server)
        .args(["--iterations", "1"])
        .run()
        .exits(code);
    sandbox.record()
}

/// Method and target of every request, in order.
fn lines(requests: &[Request]) -> Vec<String> {
    requests
        .iter()
        .map(|request| format!("{} {}", request.method, request.target))
        .collect()
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body)
        .unwrap_or_else(|error| panic!("{error}: {}", request.text()))
}

fn builders_send_what_they_say() {
    let server = Server::recording(|request| match request.method.as_str() {
        "POST" => login(),
        "PUT" => Reply::status(204),
        "PATCH" => Reply::json(r#"{"id":3}"#),
        "DELETE" => Reply::status(410),
        _ => Reply::status(200),
    });
    let record = run("builder", &server, 0);
    assert_balanced(&record);
    assert_eq!(total(&record).journey.ok, 1, "{:?}", total(&record).steps);
    let requests = server.recorded();
    assert_eq!(
        lines(&requests),
        [
            "POST /login?next=%2Fa%20b&x=1",
            "HEAD /users/7",
            "PUT /users/7",
            "PATCH /orders",
            "DELETE /some",
        ]
    );
    let [post, head, put, patch, _] = requests.as_slice() else {
        unreachable!("five requests");
    };
    // `ada:pa:ss` in base64.
    assert_eq!(post.header("authorization"), Some("Basic YWRhOnBhOnNz"));
    assert_eq!(post.header("content-type"), Some("application/json"));
    assert_eq!(post.all("x-trace").collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(
        body(post),
        json!({ "user": "ada", "tags": [1, -2.5, true, null], "quote": "\"\n" })
    );
    assert_eq!(head.header("authorization"), Some("Bearer t-1"));
    assert_eq!(head.header("x-session"), Some("s-42"));
    assert_eq!(head.header("x-status"), Some("200"));
    assert_eq!(
        put.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(put.text(), "hello Ada & Łukasz/50%?#");
    assert_eq!(patch.all("user-agent").collect::<Vec<_>>(), ["shop-tests"]);
    assert_eq!(body(patch), json!([1, 2]));
    for request in &requests {
        let host: Vec<_> = request.all("host").collect();
        assert_eq!(host, [server.address().to_string()]);
    }
}

fn declarations_send_what_they_say() {
    let server = Server::recording(|request| match request.method.as_str() {
        "POST" => login(),
        "GET" => Reply::json(
            r#"{"list":[{},{"a key":"é 1"}],"number":18446744073709551615,"nothing":null}"#,
        ),
        "PUT" => Reply::status(204),
        _ => Reply::status(200),
    });
    let record = run("declarative", &server, 99);
    assert_balanced(&record);
    let total = total(&record);
    let requests = server.recorded();
    assert_eq!(
        lines(&requests),
        [
            "POST /login?next=%2Fa%20b&x=1",
            "GET /users/7?name=Ada%20%26%20%C5%81ukasz/50%25%3F%23",
            "PUT /users/%C3%A9%201/name",
            "DELETE /users/7/sessions/a%2Fb?keep=1",
        ]
    );
    let [post, get, put, _] = requests.as_slice() else {
        unreachable!("four requests");
    };
    assert_eq!(post.header("content-type"), Some("application/json"));
    assert_eq!(post.header("x-trace"), Some("one"));
    assert_eq!(
        body(post),
        json!({ "user": "ada", "tags": [1, -2.5, true, null], "quote": "\"\n" })
    );
    assert_eq!(get.header("authorization"), Some("Bearer t-1"));
    assert_eq!(get.header("x-session"), Some("s-42"));
    assert_eq!(
        body(put),
        json!({
            "id": 18_446_744_073_709_551_615_u64,
            "text": "for Ada & Łukasz/50%?#",
            "all": [{}, { "a key": "é 1" }],
            "sum": 3,
        })
    );
    // `null` is no value, so this one was never sent.
    let never = step(&record, &total, "never");
    assert_eq!((never.executed, never.skipped), (0, 1));
    let [line] = total.dependencies.as_slice() else {
        panic!("one dependency failure: {:?}", total.dependencies);
    };
    assert_eq!(line.cause.root, RootCause::Missing);
    assert_eq!(line.variable.as_deref(), Some("look.response.nothing"));
}

fn the_body_of_an_optional_response_may_be_empty() {
    let server = Server::recording(|request| match request.method.as_str() {
        "POST" => login(),
        "PUT" | "PATCH" => Reply::status(204),
        "DELETE" => Reply::status(404),
        _ => Reply::status(200),
    });
    let record = run("builder", &server, 0);
    assert_eq!(total(&record).journey.ok, 1);
    let last = server.recorded().pop().expect("a last request");
    assert_eq!(last.target, "/none");
}

fn a_failed_check_fails_its_step_and_nothing_else() {
    let server = Server::start(|request| match request.path.as_str() {
        "/stock" if request.sequence % 4 == 0 => Reply::json(r#"{"items":[]}"#),
        "/stock" => Reply::json(r#"{"items":[{"id":1}]}"#),
        _ => Reply::text("next"),
    });
    let sandbox = Sandbox::new();
    sandbox
        .run("checked --iterations 20", &server)
        .run()
        .exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    let total = total(&record);
    let (stock, next) = (
        step(&record, &total, "stock"),
        step(&record, &total, "next"),
    );
    assert_eq!((stock.checks_passed, stock.checks_failed), (15, 5));
    assert_eq!((stock.ok, stock.failed), (15, 5));
    assert_eq!(stock.errors[0].kind.name(), "step.assert");
    let example = &stock.errors[0].example;
    assert!(
        example.contains("is_in_stock") && example.contains("nothing in stock"),
        "{example}"
    );
    assert_eq!((next.ok, next.skipped), (20, 0), "its dependants still run");
    assert_eq!(server.requests_to("/next/0"), 5);
    assert_eq!(server.requests_to("/next/1"), 15);
}

fn a_failed_step_of_a_chain_is_never_followed() {
    let server = Server::recording(|request| match request.path.as_str() {
        // A body that is no `Login`.
        "/login" => Reply::json(r#"{"token":5}"#),
        _ => Reply::json("{}"),
    });
    let record = run("journey", &server, 99);
    assert_balanced(&record);
    assert_eq!(lines(&server.recorded()), ["POST /login"]);
    let total = total(&record);
    assert_eq!(total.steps[0].errors[0].kind.name(), "body.decode");
    let skipped: Vec<_> = total.steps.iter().map(|step| step.skipped).collect();
    assert_eq!(skipped, [0, 1, 1, 1]);
}

fn every_request_names_its_run() {
    let server = Server::recording(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    sandbox.run("single --iterations 3", &server).run().exits(0);
    let id = sandbox.only_run().record().run_id;
    for request in server.recorded() {
        let named = request.headers.iter().any(|(_, value)| value.contains(&id));
        assert!(named, "{id} in {:?}", request.headers);
        assert_eq!(request.header("accept"), Some("*/*"));
        assert!(
            request
                .header("user-agent")
                .is_some_and(|agent| agent.starts_with("loadtest/"))
        );
        assert_eq!(request.header("content-type"), None);
        assert_eq!(request.header("cookie"), None);
    }
}
