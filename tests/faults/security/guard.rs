//! Holes of a guard, by each way of sending: engine, steps that send for themselves, setups and teardowns, in runs and
//! in smoke tests. A server that counts stands where the packets would go.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use crate::call::{Call, Output};
use crate::guard::{HOLES, project};
use crate::inject::{matrix, observe};
use crate::lonely::hosts;
use crate::row::Count::{Any as AnyOf, Some as SomeOf};
use crate::row::{Group, Outcome, Place, Row, ends, passes};
use crate::site::{Sandbox, total};
use loadtest_tests::{Reply, Server};
use std::net::SocketAddr;
use std::process::Command;

pub(super) fn rows() -> Vec<Row> {
    vec![
        guarded(
            "A host that is not listed, written in 16 ways, by each way of sending",
            ends(103, "NOT PERMITTED")
                .ok(2)
                .error("guard.blocked", 14)
                .error("redirect.blocked", 1)
                .error("step.error", 1)
                .leaves(&[
                    "journal-1.jsonl.gz",
                    "journal-2.jsonl.gz",
                    "journal-3.jsonl.gz",
                    "record.json",
                    "report.html",
                ]),
            try_holes,
        ),
        guarded(
            "A redirect and five variables that name a proxy, where the scenario asks for neither",
            passes().ok(2),
            |sandbox| {
                let far = far();
                let near = Server::start(|_| {
                    Reply::status(302).header("location", "http://10.99.0.2:8111/redirect")
                });
                let output = proxied(sandbox.run("stays", &near));
                assert_eq!(
                    near.requests(),
                    3,
                    "setup, engine and a step that sends for itself"
                );
                let call = project().test("stays");
                proxied(call.env("LOADTEST_BASE_URL", near.url())).exits(0);
                assert_eq!(near.requests(), 6);
                assert_nothing_arrived(&far);
                output
            },
        ),
        moved(
            "The name of the target leads elsewhere during the load",
            "pinned",
            "/x",
            passes().ok(10),
        ),
        moved(
            "The same where names are looked up again, in a step that sends for itself",
            "moves",
            "/itself",
            ends(103, "10.99.0.2")
                .ok(SomeOf)
                .error("guard.blocked", SomeOf),
        ),
        moved(
            "The same where names are looked up again, in a setup",
            "moves",
            "/before",
            ends(103, "10.99.0.2"),
        ),
        guarded(
            "A target that permits one request a minute, and three at once by setup, steps and teardown",
            ends(103, "max_rate").ok(6),
            |sandbox| {
                let server = Server::start_at(at("10.99.0.1:8121"), |_| Reply::text("ok"));
                let output = sandbox.run("busy", &server).run();
                assert_eq!(server.requests(), 1, "of the one a minute that is allowed");
                output.says(&["setup 1", "load 0", "teardown 0"])
            },
        ),
        guarded(
            "The file that permits the test is taken away during the load",
            ends(103, "it answers 404")
                .ok(SomeOf)
                .with("cancelled", AnyOf),
            |sandbox| {
                const FILE: &str = "/.well-known/loadtest-authorization";
                let server =
                    Server::start_at(at("10.99.0.1:8122"), |request| match &*request.path {
                        // It is there before the run and for a while.
                        FILE if request.sequence < 4 => {
                            Reply::text("loadtest: 1\nowner: ada@shop.test\nrecheck: 1s\n")
                        }
                        FILE => Reply::status(404),
                        _ => Reply::text("ok"),
                    });
                let output = sandbox.run("lasting", &server).run();
                // Some before the file is looked at again, and not those of the whole minute.
                assert!((6..1_200).contains(&server.requests_to("/x")));
                output.prints(&["NOT PERMITTED", "stopped before its end"])
            },
        ),
        guarded(
            "`Loadtest-Stop` in an answer to a setup, and three scenarios",
            ends(103, "`loadtest-stop`"),
            |sandbox| {
                let server = ends_at("/stop");
                let output = sandbox.run("stopped lasting named", &server).run();
                assert_eq!(server.requests(), 1, "also of the scenarios after it");
                assert_eq!(sandbox.only_run().record().not_run.len(), 3);
                output
                    .has_one_error()
                    .says(&["again: false", "after: false"])
            },
        ),
        guarded(
            "`Loadtest-Stop` in a smoke test, in an answer to a setup, the engine or a step",
            ends(101, "the permission to test has ended").leaves(&[]),
            |_| {
                let test = |name: &str, path, requests| {
                    let server = ends_at(path);
                    let call = project().test(name);
                    let output = call.env("LOADTEST_BASE_URL", server.url()).run().exits(101);
                    assert_eq!(server.requests(), requests, "{path}");
                    output.prints(&["the permission to test has ended", "`loadtest-stop`"])
                };
                test("stopped", "/stop", 1);
                test("named", "/setup", 1);
                test("named", "/engine", 2);
                test("named", "/sender", 3)
            },
        ),
        guarded(
            "`Loadtest-Stop` in a journey of `debug`",
            ends(99, "`loadtest-stop`").leaves(&[]),
            |sandbox| {
                let server = ends_at("/engine");
                let call = sandbox.tool("debug", "named");
                let output = call.args(["--base-url", &server.url()]).run();
                assert_eq!(server.requests(), 2);
                output
            },
        ),
        smoke_test(),
    ]
}

/// A row in a network of its own, in the project of the guard.
fn guarded(
    fault: &'static str,
    expected: Outcome,
    act: impl Fn(&Sandbox) -> Output + Send + Sync + 'static,
) -> Row {
    let wanted = expected.clone();
    let row = Row::new(Group::Security, fault, expected, move || {
        let sandbox = Sandbox::at(project().root(), "");
        let output = act(&sandbox);
        observe(&sandbox, &output).said(&wanted, &output)
    });
    row.needing(Place::OwnNetwork)
}

/// The target may not be tested, by the variable that a smoke test goes by.
fn smoke_test() -> Row {
    let expected = ends(101, "is not a permitted target").leaves(&[]);
    crate::inject::act(
        Group::Security,
        "A smoke test whose base URL is not a permitted target",
        expected,
        |_| {
            let server = Server::start(|_| Reply::text("ok"));
            let port = server.address().port();
            let call = matrix().project.cargo("test --test load -- plain --exact");
            let output = call
                .env("LOADTEST_BASE_URL", format!("http://0.0.0.0:{port}"))
                .run();
            assert_eq!(server.connections(), 0);
            output.prints(&["1 failed"])
        },
    )
}

fn at(address: &str) -> SocketAddr {
    address.parse().expect("an address")
}

/// Servers where the holes lead to.
fn far() -> Vec<Server> {
    [
        "10.99.0.2:8111",
        "[64:ff9b::a63:2]:8111",
        "169.254.169.254:8111",
        "127.0.0.1:8111",
        "[::1]:8111",
    ]
    .map(|address| Server::start_at(at(address), |_| Reply::text("far")))
    .into()
}

fn assert_nothing_arrived(far: &[Server]) {
    for server in far {
        assert_eq!(server.connections(), 0, "{server:?}");
    }
}

/// Tries them by a run and by a smoke test, and then by a run that is permitted, so that silence proves something.
fn try_holes(sandbox: &Sandbox) -> Output {
    std::fs::write(hosts(), "127.0.0.1 localhost\n10.99.0.2 elsewhere.test\n").expect("our file");
    let far = far();
    // The target that is given, from which one of the holes leads on.
    let near = Server::start(|request| match &*request.path {
        "/redirect" => Reply::status(302).header("location", "http://10.99.0.2:8111/redirect"),
        _ => Reply::text("near"),
    });
    let line = |(name, url, _): &(&str, &str, u64)| format!("{name}={url}/{name}");
    let holes = HOLES.iter().map(line).collect::<Vec<_>>().join("\n");
    let run = |sandbox: &Sandbox| {
        let call = sandbox.run("engine sender around", &near);
        call.env("HOLES", &holes).run()
    };
    let ran = run(sandbox);
    let smoke = project().test("engine sender around");
    let smoke = smoke.env("LOADTEST_BASE_URL", near.url());
    let smoked = smoke.env("HOLES", &holes).run().exits(101);
    let scenarios = sandbox.only_run().record().scenarios;
    let mut scenarios = scenarios.iter();
    let engine = scenarios.find(|one| one.start.definition.function == "engine");
    let steps = total(engine.expect("the scenario ran")).steps;
    for ((name, url, _), step) in HOLES.iter().zip(&steps) {
        assert_eq!((step.executed, step.ok), (1, 0), "{name} by the engine");
        // The redirect itself is answered by a target that may be asked.
        let requests = u64::from(url.is_empty());
        assert_eq!(step.requests, requests, "{name} by the engine");
        for way in ["sender", "setup", "teardown"] {
            for (printed, place) in [(&ran.stderr, "a run"), (&smoked.stdout, "a test")] {
                let is_blocked = |by| printed.contains(&format!("{way} by {name}: {by}.blocked"));
                assert!(
                    is_blocked("guard") || is_blocked("redirect"),
                    "{way} by {name} in {place}\n{printed}"
                );
            }
        }
        let failed = format!("step `{name}` failed");
        assert!(smoked.stdout.contains(&failed), "{name}\n{smoked}");
    }
    assert_nothing_arrived(&far);
    permit_holes();
    run(&Sandbox::at(project().root(), ""));
    for (name, _, arrives) in HOLES {
        let path = format!("/{name}");
        let requests: u64 = far.iter().map(|server| server.requests_to(&path)).sum();
        assert_eq!(requests, arrives, "{name}, where it is listed");
    }
    ran
}

/// Lists where the holes lead to, for this row alone: others run beside it.
fn permit_holes() {
    let listed = ["10.99.0.2", "64:ff9b::a63:2"].map(|host| {
        format!("[[targets]]\nhost = \"{host}\"\nscheme = \"http\"\nport = 8111\nowner = \"ada\"\n")
    });
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), listed.concat()).expect("our file");
    let mut mount = Command::new("mount");
    let mount = mount.arg("--bind").arg(file.path());
    let mounted = mount.arg(project().path("loadtest.toml")).status();
    assert!(mounted.is_ok_and(|status| status.success()));
}

fn proxied(mut call: Call) -> Output {
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "all_proxy",
    ] {
        call = call.env(name, "http://10.99.0.2:8111");
    }
    call.run()
}

/// A target whose name leads elsewhere from the answer to `path` on.
fn moved(
    fault: &'static str,
    scenario: &'static str,
    path: &'static str,
    expected: Outcome,
) -> Row {
    guarded(fault, expected, move |sandbox| {
        let far = Server::start_at(at("10.99.0.2:8113"), |_| Reply::text("far"));
        std::fs::write(hosts(), "127.0.0.1 localhost shop.test\n").expect("our file");
        let file = hosts();
        let near = Server::start_at(at("127.0.0.1:8113"), move |request| {
            if request.path == path {
                let moved = "127.0.0.1 localhost\n10.99.0.2 shop.test\n";
                std::fs::write(&file, moved).expect("our file");
            }
            // So that each request takes a connection of its own.
            Reply::text("near").close()
        });
        let call = sandbox.tool("run", scenario);
        let output = call.args(["--base-url", "http://shop.test:8113"]).run();
        assert!(near.requests_to(path) > 0);
        assert_eq!(far.connections(), 0);
        output
    })
}

/// Ends the test in the answer to `path`.
fn ends_at(path: &'static str) -> Server {
    Server::start(move |request| match &*request.path {
        asked if asked == path => Reply::text("ok").header("loadtest-stop", "please"),
        _ => Reply::text("ok"),
    })
}
