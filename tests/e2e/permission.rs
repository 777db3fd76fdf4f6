//! Only targets that may be tested are sent anything.
//!
//! `0.0.0.0` is no loopback address and not permitted, but what is sent to it arrives at this
//! machine: so a server sees whether anything was sent.

use crate::site::{Sandbox, assert_balanced, site, step, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use std::time::Duration;
use tokio::time::Instant;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_base_url_elsewhere_is_refused_before_anything_is_sent,
        an_answer_that_leads_elsewhere_is_not_followed,
        cargo_test_is_guarded_too,
    ]
}

/// The URL of `server` by an address that may not be tested.
fn foreign(server: &Server) -> String {
    format!("http://0.0.0.0:{}", server.address().port())
}

fn a_base_url_elsewhere_is_refused_before_anything_is_sent() {
    let server = Server::start(|_| Reply::text("ok"));
    for url in [
        &foreign(&server),
        "http://192.0.2.1",
        "http://10.255.255.1:9",
        "http://[2001:db8::1]/",
        "https://192.0.2.1/",
        "http://3221225985/",
    ] {
        let sandbox = Sandbox::new();
        let call = sandbox
            .tool("run", "single --iterations 5")
            .args(["--base-url", url]);
        call.run()
            .exits(103)
            .has_one_error()
            .says(&["may not be tested", "nothing was sent"]);
        assert_eq!(sandbox.only_run().not_run().exit_code, 103, "{url}");
    }
    assert_eq!(server.connections(), 0);
    // By the environment it is no different.
    let sandbox = Sandbox::new();
    let call = sandbox
        .tool("run", "single")
        .env("LOADTEST_BASE_URL", foreign(&server));
    call.run().exits(103).has_one_error();
    assert_eq!(server.connections(), 0);
}

fn an_answer_that_leads_elsewhere_is_not_followed() {
    let elsewhere = Server::start(|_| Reply::text("hello"));
    let url = foreign(&elsewhere);
    let other = elsewhere.url();
    let server = Server::start(move |request| {
        let to = match request.sequence % 4 {
            0 => format!("{url}/from-here"),
            // Answered to nobody: an address of the documentation.
            1 => "http://192.0.2.1:9/x".to_owned(),
            2 => format!("{other}/allowed"),
            _ => "/near".to_owned(),
        };
        Reply::json(format!(r#"{{"url":"{to}"}}"#))
    });
    let sandbox = Sandbox::new();
    let begin = Instant::now();
    sandbox
        .run("elsewhere --iterations 20", &server)
        .run()
        .exits(103)
        .prints(&["NOT PERMITTED", "0.0.0.0"]);
    let took = begin.elapsed();
    let record = sandbox.record();
    assert_balanced(&record);
    let total = total(&record);
    let go = step(&record, &total, "go");
    assert_eq!((go.executed, go.ok, go.failed), (20, 10, 10));
    assert_eq!(go.requests, 10, "what is refused is not sent");
    let kinds: Vec<_> = go
        .errors
        .iter()
        .map(|error| (error.kind.name(), error.count))
        .collect();
    assert_eq!(kinds, [("guard.blocked", 10)]);
    assert_eq!(elsewhere.requests(), 5, "only by its permitted name");
    assert_eq!(elsewhere.requests_to("/from-here"), 0);
    assert_eq!(server.requests_to("/near"), 5);
    // Five connections that are tried and time out would take this long.
    assert!(took < Duration::from_secs(150), "{took:?}");
}

fn cargo_test_is_guarded_too() {
    let server = Server::start(|_| Reply::text("ok"));
    let output = site()
        .cargo("test --test load -- single --exact")
        .env("LOADTEST_BASE_URL", foreign(&server))
        .run()
        .exits(101)
        .prints(&["may not be tested"]);
    assert!(output.stdout.contains("1 failed"), "{output}");
    assert_eq!(server.connections(), 0);
}
