//! What is secret is in no file and on no screen, also where steps fail.

use crate::call::Output;
use crate::site::{Sandbox, site, step, total};
use crate::smoke::smoke;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};

pub(crate) fn trials() -> Vec<Trial> {
    trials![a_run_keeps_no_secret, a_failing_test_shows_no_secret,]
}

/// Every secret of the scenario `secretive` and of its server begins so.
pub(crate) const CANARY: &str = "canary-7f3a";
/// Base64 of what a `Basic` authorization would make of it: `canary-7f3`.
pub(crate) const CANARY_BASE64: &str = "Y2FuYXJ5LTdmM";

pub(crate) fn leaky(request: &Request) -> Reply {
    let echo = request.text();
    match request.path.as_str() {
        "/login" => Reply::json(
            r#"{"access_token":"canary-7f3a-token","refresh_token":"canary-7f3a-refresh"}"#,
        )
        .header("set-cookie", "session=canary-7f3a-set; HttpOnly")
        .header("x-api-key", "canary-7f3a-header"),
        "/refused" => Reply::json(format!(
            r#"{{"error":"no","request":{echo},"password":"canary-7f3a-echo","deep":[{{"api_key":"canary-7f3a-deep"}}],"detail":"see the manual"}}"#
        ))
        .header("set-cookie", "session=canary-7f3a-again"),
        // No number, so that the message of the decoder names the value.
        "/misread" => Reply::json(r#"{"access_token":"canary-7f3a-misread"}"#),
        _ => Reply::close_before_head(),
    }
}

/// The lines of `text` that hold a secret.
fn leaks(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.contains(CANARY) || line.contains(CANARY_BASE64))
        .collect()
}

#[track_caller]
fn assert_silent(output: &Output) {
    for (name, text) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let leaks = leaks(text);
        assert!(leaks.is_empty(), "{name} of\n{output}\nleaks {leaks:#?}");
    }
}

fn a_run_keeps_no_secret() {
    let server = Server::recording(leaky);
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("secretive --iterations 5 --export json", &server)
        .run()
        .exits(99);
    // The secrets were sent, and came back.
    let sent: Vec<Request> = server.recorded();
    assert_eq!(
        sent[0].header("cookie"),
        Some("session=canary-7f3a-cookie; theme=dark")
    );
    assert_eq!(server.requests_to("/refused"), 5);
    let run = sandbox.only_run();
    let record = run.scenario();
    let total = total(&record);
    for name in ["refused", "misread", "broken"] {
        assert_eq!(step(&record, &total, name).failed, 5, "{name}");
    }
    let sample = step(&record, &total, "refused").errors[0].sample.clone();
    let sample = sample.expect("the body of the refusal");
    assert!(
        sample.contains("see the manual"),
        "what is no secret is kept: {sample}"
    );
    assert_silent(&output);
    assert!(run.files().len() >= 3, "{:?}", run.files());
    for file in run.files() {
        let bytes = std::fs::read(run.0.join(&file)).expect("a file of the run");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let leaks: Vec<&str> = [CANARY, CANARY_BASE64]
            .iter()
            .flat_map(|secret| text.match_indices(secret))
            .map(|(at, _)| {
                text.get(at.saturating_sub(150)..at + 40)
                    .unwrap_or(&text[at..])
            })
            .collect();
        assert!(leaks.is_empty(), "{} leaks {leaks:#?}", file.display());
    }
}

fn a_failing_test_shows_no_secret() {
    let server = Server::start(leaky);
    let output = smoke(site(), "--exact secretive")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(101)
        .prints(&["refused", "see the manual"]);
    assert_silent(&output);
}
