//! What sources are sent, and that nothing of it is written or printed.

use super::{page, source};
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Gate, Reply, Request, Server};
use std::collections::BTreeSet;
use std::sync::Mutex;

pub(super) fn trials() -> Vec<Trial> {
    trials![
        what_a_source_is_sent_is_nowhere_else,
        what_is_wrong_with_a_source_is_told_before_the_run,
        no_proxy_is_asked_for_what_is_on_this_machine,
        offline_runs_ask_what_is_here,
    ]
}

fn what_a_source_is_sent_is_nowhere_else() {
    // It says what it was sent, and refuses after a while. The load lasts until it has refused both questions.
    let gate = Gate::new();
    let (held, refused) = (gate.clone(), Mutex::new(BTreeSet::new()));
    let echo = move |request: &Request| {
        if request.sequence >= 2 {
            let mut refused = refused.lock().expect("no test panics with it");
            refused.insert(request.path.clone());
            if refused.len() == 2 {
                gate.open();
            }
        }
        let secret = request.header("authorization").unwrap_or_default();
        let words = format!("not {secret} {}", &secret[6..]);
        match request.sequence {
            0 | 1 => Reply::text("jobs{tenant=\"canary-label\"} 7\n"),
            _ => Reply::status(403).body(words),
        }
    };
    let receiver = Server::recording(echo);
    let configuration = format!(
        "{}token_env = \"TOKEN\"\nheaders = {{ X-Scope-OrgID = \"load\" }}\nheader_env = {{ X-Key = \"KEY\" }}\n\
         [[observe]]\nname = \"db\"\nprometheus = \"{}/canary-path\"\nquery = \"canary_query\"\nbasic_env = \"LOGIN\"\n",
        source(
            "queue",
            &format!("{}/canary-path", receiver.url()),
            "jobs",
            ""
        ),
        receiver.url()
    );
    let sandbox = Sandbox::with(&configuration);
    let target = Server::start(move |request| shop(request).hold(&held));
    let output = sandbox
        .run("single --iterations 8 --users 2", &target)
        .env("TOKEN", "canary-token")
        .env("KEY", "canary-key")
        .env("LOGIN", "ada:canary-password")
        .run();
    output
        .exits(0)
        .says(&["observe `queue`", "403 Forbidden: not Bearer [redacted]"])
        .says_no("canary");
    let sent = receiver.recorded();
    let scraped = sent.iter().find(|request| request.path == "/canary-path");
    let scraped = scraped.expect("a question");
    assert_eq!(scraped.header("authorization"), Some("Bearer canary-token"));
    assert_eq!(scraped.header("x-scope-orgid"), Some("load"));
    assert_eq!(scraped.header("x-key"), Some("canary-key"));
    let range = "/canary-path/api/v1/query_range";
    let asked = sent.iter().find(|request| request.path == range);
    let asked = asked.expect("a question");
    assert!(asked.target.contains("query=canary_query&start="));
    assert_eq!(
        asked.header("authorization"),
        Some("Basic YWRhOmNhbmFyeS1wYXNzd29yZA==")
    );
    for run in sandbox.runs() {
        for file in run.files() {
            let bytes = std::fs::read(run.0.join(&file)).expect("a file of the run");
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("canary"), "{}", file.display());
        }
    }
    let shown = sandbox.call().arg("config").env("KEY", "canary-key").run();
    shown
        .exits(0)
        .prints(&[
            "[[observe]]",
            "$TOKEN is not set",
            "with $KEY",
            &receiver.url(),
        ])
        .says_no("canary");
}

fn what_is_wrong_with_a_source_is_told_before_the_run() {
    let page = page("jobs 7\n");
    let target = Server::start(shop);
    for (lines, told) in [
        (
            format!(
                "{}token_env = \"NO_SUCH\"\n",
                source("a", &page.url(), "jobs", "")
            ),
            "observe `a`: its `token_env` names the variable `NO_SUCH`, which holds no value",
        ),
        (
            source("a", &page.url(), "jobs", ", limit = \"p95 < 3\""),
            "is a limit of `p95`, which is not a statistic",
        ),
        (
            source("a", &page.url(), "jobs", ", lmit = \"max < 3\""),
            "unknown key `lmit`; did you mean `limit`?",
        ),
        (
            source("a", &page.url(), "jobs", ", where = { mode = \"/user(/\" }"),
            "has `/user(/`, which is not a regular expression: unclosed group",
        ),
        (
            source("a", "http://ada:canary@127.0.0.1:1", "jobs", ""),
            "holds a user name, a password or a token",
        ),
        (
            format!(
                "{}token_env = \"T\"\n",
                source("a", "http://10.0.0.1", "jobs", "")
            ),
            "a secret would go to another host over plain `http`",
        ),
    ] {
        let sandbox = Sandbox::with(&lines);
        let output = sandbox.run("single --iterations 3", &target).run();
        output
            .exits(2)
            .has_one_error()
            .says(&[told])
            .says_no("canary");
        assert!(sandbox.runs().is_empty(), "{lines}");
    }
    assert_eq!((target.requests(), page.requests()), (0, 0));
}

fn no_proxy_is_asked_for_what_is_on_this_machine() {
    let (page, sink) = (page("jobs 7\n"), Server::start(|_| Reply::status(204)));
    let proxy = Server::recording(|_| Reply::status(204));
    let sandbox = Sandbox::with(&format!(
        "{}token_env = \"TOKEN\"\n[[telemetry.to]]\nformat = \"influx\"\nurl = \"{}/write\"\n\
         token_env = \"TOKEN\"\n[[notify]]\nurl = \"{}/hook\"\n\
         [[notify]]\nurl = \"http://elsewhere.invalid/hook\"\n",
        source("queue", &page.url(), "jobs", ""),
        sink.url(),
        sink.url().replace("127.0.0.1", "localhost"),
    ));
    let target = Server::start(shop);
    let mut run = sandbox.run("single --iterations 3", &target);
    for variable in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "http_proxy"] {
        run = run.env(variable, proxy.url());
    }
    run.env("TOKEN", "canary-token").run().exits(0);
    assert!(page.requests() > 0);
    for path in ["/write", "/hook"] {
        assert!(sink.requests_to(path) > 0, "{path}");
    }
    // The proxy is one: the other webhook goes through it, and nothing else.
    let asked = proxy.recorded();
    assert!(!asked.is_empty());
    for request in asked {
        let text = format!("{request:?}");
        assert!(
            text.contains("elsewhere.invalid") && !text.contains("canary-token"),
            "{text}"
        );
    }
}

fn offline_runs_ask_what_is_here() {
    let page = page("jobs 7\n");
    let sandbox = Sandbox::with(&format!(
        "{}{}",
        source("queue", &page.url(), "jobs", ""),
        source(
            "far",
            "https://monitoring.invalid",
            "jobs",
            ", limit = \"max < 3\""
        )
    ));
    let target = Server::start(shop);
    let run = sandbox.run("single --iterations 3", &target);
    let output = run.env("LOADTEST_OFFLINE", "1").run();
    output.says(&[
        "observe `far`: an offline run queries no other machine, and its limit is not judged",
    ]);
}
