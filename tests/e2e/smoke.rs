//! `cargo test` and `cargo nextest`: each scenario is a test that runs once.

use crate::call::{Call, Output};
use crate::project::{Files, Project, built_load_test};
use crate::site::{shop, site};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![
        each_scenario_runs_once,
        a_failing_step_shows_request_and_response,
        a_skipped_step_fails_the_test,
        a_scenario_without_a_target_is_ignored_with_the_reason,
        a_list_names_every_scenario,
        a_weighted_step_always_runs_and_thresholds_do_not_count,
        a_target_of_the_standard_harness_fails_with_the_remedy,
    ];
    trials.extend(trials![needing "cargo-nextest":
        nextest_lists_every_scenario,
        nextest_runs_each_scenario_as_a_test,
    ]);
    trials
}

/// Calls the built load test of a project, as `cargo test --test load -- <line>` does once nothing is to be compiled.
pub(crate) fn smoke(project: &Project, line: &str) -> Call {
    Call::program(built_load_test(project.root()), project.root()).line(line)
}

/// `cargo loadtest <command> <line>` with the built load test of a project, for which cargo is not asked.
pub(crate) fn built_tool(project: &Project, command: &str, line: &str) -> Call {
    let call = Call::tool(project.root()).arg(command).arg("--binary");
    call.arg(built_load_test(project.root())).line(line)
}

fn test(line: &str, server: &Server) -> Output {
    smoke(site(), line)
        .env("LOADTEST_BASE_URL", server.url())
        .run()
}

fn each_scenario_runs_once() {
    let server = Server::recording(shop);
    // Once by cargo itself.
    site()
        .cargo("test --test load -- --exact journey")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0)
        .prints(&["test journey", "1 passed"]);
    let paths: Vec<_> = server
        .recorded()
        .into_iter()
        .map(|one| one.target)
        .collect();
    assert_eq!(paths, ["/login", "/products", "/orders", "/orders/99"]);
}

fn a_failing_step_shows_request_and_response() {
    let server = Server::start(|request| match request.path.as_str() {
        "/orders" => Reply::status(409)
            .header("x-reason", "stock")
            .body("sold out"),
        _ => shop(request),
    });
    let output = test("--exact journey", &server).exits(101);
    let output = output.prints(&[
        "1 failed",
        "order",
        "POST",
        "/orders",
        r#"{"product":31}"#,
        "409",
        "x-reason: stock",
        "sold out",
    ]);
    assert!(
        !output.stdout.contains("t-1"),
        "the token is not shown\n{output}"
    );
    assert_eq!(server.requests_to("/orders/99"), 0);
}

fn a_skipped_step_fails_the_test() {
    let server = Server::start(|request| match request.path.as_str() {
        "/products" => Reply::json(r#"{"items":[]}"#),
        _ => shop(request),
    });
    test("--exact journey", &server)
        .exits(101)
        .prints(&["order", "browse.response.items[0].id"]);
    assert_eq!(server.requests_to("/orders"), 0);
}

fn a_scenario_without_a_target_is_ignored_with_the_reason() {
    smoke(site(), "--exact single").run().exits(0).prints(&[
        "test single",
        "ignored",
        "no target",
        "LOADTEST_BASE_URL",
        "0 passed",
        "1 ignored",
    ]);
}

fn a_list_names_every_scenario() {
    let output = smoke(site(), "--list").run().exits(0);
    let names: Vec<&str> = output
        .stdout
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .collect();
    assert!(
        names.contains(&"single") && names.contains(&"journey"),
        "{output}"
    );
    let filtered = smoke(site(), "--list own_d").run().exits(0);
    let names: Vec<&str> = filtered
        .stdout
        .lines()
        .filter(|line| line.ends_with(": test"))
        .collect();
    assert_eq!(names, ["own_dies: test", "own_deaf: test"], "{filtered}");
}

fn a_weighted_step_always_runs_and_thresholds_do_not_count() {
    let server = Server::start(|request| {
        let slow = std::time::Duration::from_millis(20);
        match request.path.as_str() {
            "/source" => Reply::json(r#"{"items":[{"id":1},{"id":2}],"go":true,"value":"plain"}"#),
            _ => Reply::json(r#"{"id":5}"#).delay(slow),
        }
    });
    for scenario in ["causes", "strict"] {
        test(&format!("--exact {scenario}"), &server)
            .exits(0)
            .prints(&["1 passed"]);
    }
    assert_eq!(server.requests_to("/rare"), 1);
    assert_eq!(server.requests_to("/after-rare/5"), 1);
}

fn nextest_lists_every_scenario() {
    let output = site().cargo("nextest list --test load").run().exits(0);
    let said = format!("{}{}", output.stdout, output.stderr);
    for name in ["single", "journey", "causes", "own_dies"] {
        assert!(said.contains(name), "{name}\n{output}");
    }
}

fn nextest_runs_each_scenario_as_a_test() {
    let server = Server::start(shop);
    let output = site()
        .cargo("nextest run --test load --no-fail-fast single journey")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0);
    assert!(output.stderr.contains("2 passed"), "{output}");
    assert_eq!(server.requests(), 5);
    let server = Server::start(|_| Reply::status(500).body("out of order"));
    let output = site()
        .cargo("nextest run --test load --no-fail-fast single")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(100);
    assert!(format!("{output}").contains("out of order"), "{output}");
}

fn a_target_of_the_standard_harness_fails_with_the_remedy() {
    let project = Files::single("standard_harness", "loadtest::main!();\n")
        .file("tests/discovered.rs", "loadtest::main!();\n")
        .create();
    let output = project.cargo("test --test discovered").run().exits(101);
    output.prints(&["write `harness = false` into the `[[test]]` of this file"]);
}
