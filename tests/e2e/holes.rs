//! The known holes of a guard like this one, by each way of sending: engine, steps that send for themselves,
//! setups and teardowns, in runs and in smoke tests. A server that counts stands where the packets would go.

use crate::lonely::{self, hosts, tests};
use crate::project::{Files, LOAD_TEST, Project, STANDS_ALONE, dependency, header};
use crate::site::Sandbox;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::OnceLock;

pub(crate) fn trials() -> Vec<Trial> {
    let tests = tests![
        no_hole_lets_a_packet_out_by_any_way_of_sending,
        redirects_are_not_followed_and_proxies_not_used_by_default,
        a_name_that_moves_during_a_run_is_not_followed,
        a_cap_holds_for_all_clients_of_a_run_together,
        an_owner_who_takes_the_file_away_ends_steps_that_send_for_themselves,
        an_answer_to_a_setup_ends_the_run_before_its_load,
        an_answer_ends_a_smoke_test_as_well,
        every_request_says_who_sent_it,
    ];
    lonely::trials("holes", || _ = project(), tests)
}

/// Where each leads, and by how many of the four ways if that is listed: the engine takes no other letters and
/// no credentials, which a step that sends for itself puts into a header.
const HOLES: [(&str, &str, u64); 16] = [
    ("literal", "http://10.99.0.2:8111", 4),
    ("decimal", "http://174260226:8111", 4),
    ("hexadecimal", "http://0xa.0x63.0.0x2:8111", 4),
    ("octal", "http://012.0143.0.2:8111", 4),
    ("short", "http://10.99.2:8111", 4),
    ("dotted", "http://10.99.0.2.:8111", 4),
    ("mapped", "http://[::ffff:10.99.0.2]:8111", 4),
    ("translated", "http://[64:ff9b::10.99.0.2]:8111", 4),
    ("wide", "http://１０.９９.０.２:8111", 3),
    ("named", "http://elsewhere.test.:8111", 0),
    ("user", "http://10.99.0.1:8101@10.99.0.2:8111", 3),
    ("unspecified", "http://0.0.0.0:8111", 0),
    ("unspecified6", "http://[::]:8111", 0),
    ("metadata", "http://169.254.169.254:8111", 0),
    ("metadata6", "http://[::ffff:a9fe:a9fe]:8111", 0),
    ("redirect", "", 4),
];

/// Each `name=url`, its path the name.
fn holes() -> String {
    let line = |(name, url, _): &(&str, &str, u64)| format!("{name}={url}/{name}");
    HOLES.iter().map(line).collect::<Vec<_>>().join("\n")
}

const LISTED: &str = r#"
[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8121
owner = "ada@shop.test"
max_rate = "1/m"

[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8122
owner = "ada@shop.test"
proof = "well-known"
"#;

/// The project of scenarios that try to send where they may not.
pub(crate) fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let manifest = format!(
            "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
            header("guard"),
            dependency()
        );
        let project = Files::new("guard")
            .file("Cargo.toml", manifest)
            .file("src/lib.rs", "//! Nothing.\n")
            .file("tests/load.rs", load())
            .file("loadtest.toml", LISTED)
            .create();
        project.tool("list", "").run().exits(0);
        project
    })
}

/// The scenarios, and one with a step of the engine's for each hole.
fn load() -> String {
    let mut text = include_str!("../fixtures/guard/load.rs").to_owned();
    text.push_str(
        "\n/// By the engine.\n#[scenario(load = iterations(1), redirects = 2)]\nfn engine() {\n",
    );
    for (name, ..) in HOLES {
        // Not in the source, where the guard would find it before the run.
        let _ = writeln!(
            text,
            "    #[step]\n    fn {name}() -> Request {{ Request::get(hole(\"{name}\")) }}\n"
        );
    }
    text.push_str("}\n\nloadtest::main!();\n");
    text
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

/// The target that is given, from which one of the holes leads on.
fn near() -> Server {
    Server::start(|request| match &*request.path {
        "/redirect" => Reply::status(302).header("location", "http://10.99.0.2:8111/redirect"),
        _ => Reply::text("near"),
    })
}

fn no_hole_lets_a_packet_out_by_any_way_of_sending() {
    std::fs::write(hosts(), "127.0.0.1 localhost\n10.99.0.2 elsewhere.test\n").expect("our file");
    let (far, near) = (far(), near());
    let run = || {
        let sandbox = Sandbox::at(project().root(), "");
        let call = sandbox.run("engine sender around", &near);
        let output = call.env("HOLES", holes()).run();
        (output, sandbox.only_run().record())
    };
    let smoke = || {
        let call = project().cargo("test --test load -- engine sender around");
        let call = call.env("LOADTEST_BASE_URL", near.url());
        call.env("HOLES", holes()).run()
    };
    let (output, record) = run();
    let ran = output.exits(103).prints(&["NOT PERMITTED"]);
    let smoked = smoke().exits(101);
    let engine = record.scenarios.iter();
    let mut engine = engine.filter(|one| one.start.definition.function == "engine");
    let engine = engine.next_back().expect("the scenario ran");
    let steps = crate::site::total(engine).steps;
    for ((name, url, _), step) in HOLES.iter().zip(&steps) {
        assert_eq!((step.executed, step.ok), (1, 0), "{name} by the engine");
        // The redirect itself is answered by a target that may be asked.
        assert_eq!(
            step.requests,
            u64::from(url.is_empty()),
            "{name} by the engine"
        );
        for way in ["sender", "setup", "teardown"] {
            for (printed, place) in [(&ran.stderr, "a run"), (&smoked.stdout, "a test")] {
                assert!(
                    printed.contains(&format!("{way} by {name}: guard.blocked"))
                        || printed.contains(&format!("{way} by {name}: redirect.blocked")),
                    "{way} by {name} in {place}\n{printed}"
                );
            }
        }
        assert!(
            smoked.stdout.contains(&format!("step `{name}` failed")),
            "{name}\n{smoked}"
        );
    }
    for server in &far {
        assert_eq!(server.connections(), 0, "{server:?}");
    }
    // Where they lead if that is listed: else the silence above would prove nothing.
    let listed = ["10.99.0.2", "64:ff9b::a63:2"].map(|host| {
        format!("[[targets]]\nhost = \"{host}\"\nscheme = \"http\"\nport = 8111\nowner = \"ada\"\n")
    });
    // Seen by this test alone, since others run beside it.
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), listed.concat()).expect("our file");
    let mut mount = Command::new("mount");
    let mount = mount.arg("--bind").arg(file.path());
    let mounted = mount.arg(project().path("loadtest.toml")).status();
    assert!(mounted.is_ok_and(|status| status.success()));
    let _ = run();
    for (name, _, arrives) in HOLES {
        let path = format!("/{name}");
        let requests: u64 = far.iter().map(|server| server.requests_to(&path)).sum();
        assert_eq!(requests, arrives, "{name}, where it is listed");
    }
}

fn redirects_are_not_followed_and_proxies_not_used_by_default() {
    let far = far();
    let near =
        Server::start(|_| Reply::status(302).header("location", "http://10.99.0.2:8111/redirect"));
    let proxied = |mut call: crate::call::Call| {
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
    };
    let sandbox = Sandbox::at(project().root(), "");
    proxied(sandbox.run("stays", &near)).exits(0);
    assert_eq!(
        near.requests(),
        3,
        "setup, engine and a step that sends for itself"
    );
    let call = project().cargo("test --test load -- stays");
    proxied(call.env("LOADTEST_BASE_URL", near.url())).exits(0);
    assert_eq!(near.requests(), 6);
    for server in &far {
        assert_eq!(server.connections(), 0, "{server:?}");
    }
}

fn a_name_that_moves_during_a_run_is_not_followed() {
    let far = Server::start_at(at("10.99.0.2:8113"), |_| Reply::text("far"));
    // Whoever asks for this is the last to be told of the old address.
    for (scenario, path) in [("pinned", "/x"), ("moves", "/itself"), ("moves", "/before")] {
        std::fs::write(hosts(), "127.0.0.1 localhost shop.test\n").expect("our file");
        let file = hosts();
        let near = Server::start_at(at("127.0.0.1:8113"), move |request| {
            if request.path == path {
                std::fs::write(&file, "127.0.0.1 localhost\n10.99.0.2 shop.test\n")
                    .expect("our file");
            }
            // So that each request takes a connection of its own.
            Reply::text("near").close()
        });
        let sandbox = Sandbox::at(project().root(), "");
        let call = sandbox.tool("run", scenario);
        let output = call.args(["--base-url", "http://shop.test:8113"]).run();
        match path {
            "/x" => drop(output.exits(0)),
            _ => drop(output.exits(103).prints(&["10.99.0.2"])),
        }
        assert!(near.requests_to(path) > 0, "{scenario}");
        assert_eq!(far.connections(), 0, "{scenario}, {path}");
    }
}

fn a_cap_holds_for_all_clients_of_a_run_together() {
    let server = Server::start_at(at("10.99.0.1:8121"), |_| Reply::text("ok"));
    let sandbox = Sandbox::at(project().root(), "");
    let output = sandbox.run("busy", &server).run();
    output
        .exits(103)
        .says(&["setup 1", "load 0", "teardown 0"])
        .prints(&["max_rate"]);
    assert_eq!(server.requests(), 1, "of the one a minute that is allowed");
}

const FILE: &str = "/.well-known/loadtest-authorization";

fn an_owner_who_takes_the_file_away_ends_steps_that_send_for_themselves() {
    // It is there before the run and for a while.
    let server = Server::start_at(at("10.99.0.1:8122"), |request| match &*request.path {
        FILE if request.sequence < 4 => {
            Reply::text("loadtest: 1\nowner: ada@shop.test\nrecheck: 1s\n")
        }
        FILE => Reply::status(404),
        _ => Reply::text("ok"),
    });
    let sandbox = Sandbox::at(project().root(), "");
    let output = sandbox.run("lasting", &server).run();
    output
        .exits(103)
        .prints(&["NOT PERMITTED", "stopped before its end", "it answers 404"]);
    let record = sandbox.record();
    assert!(
        record.end.elapsed_us < 40_000_000,
        "{}",
        record.end.elapsed_us
    );
    assert!(server.requests_to("/x") > 5);
    assert!(server.requests_to("/x") < 600);
}

/// Ends the test in the answer to `path`.
fn ends_at(path: &'static str) -> Server {
    Server::start(move |request| match &*request.path {
        asked if asked == path => Reply::text("ok").header("loadtest-stop", "please"),
        _ => Reply::text("ok"),
    })
}

fn an_answer_to_a_setup_ends_the_run_before_its_load() {
    let server = ends_at("/stop");
    let sandbox = Sandbox::at(project().root(), "");
    let output = sandbox.run("stopped lasting named", &server).run();
    output
        .exits(103)
        .has_one_error()
        .says(&["`loadtest-stop`", "again: false", "after: false"]);
    assert_eq!(server.requests(), 1, "also of the scenarios after it");
    assert_eq!(sandbox.only_run().record().not_run.len(), 3);
}

fn an_answer_ends_a_smoke_test_as_well() {
    for (name, path, requests) in [
        ("stopped", "/stop", 1),
        ("named", "/setup", 1),
        ("named", "/engine", 2),
        ("named", "/sender", 3),
    ] {
        let server = ends_at(path);
        let call = project().cargo(&format!("test --test load -- {name}"));
        let call = call.env("LOADTEST_BASE_URL", server.url());
        call.run()
            .exits(101)
            .prints(&["the permission to test has ended", "`loadtest-stop`"]);
        assert_eq!(server.requests(), requests, "{path}");
    }
    let server = ends_at("/engine");
    let sandbox = Sandbox::at(project().root(), "");
    let call = sandbox.tool("debug", "named");
    let output = call.args(["--base-url", &server.url()]).run();
    output.exits(99).prints(&["`loadtest-stop`"]);
    assert_eq!(server.requests(), 2);
}

fn every_request_says_who_sent_it() {
    let server = Server::recording(|_| Reply::text("ok"));
    let sandbox = Sandbox::at(project().root(), "");
    sandbox.run("named", &server).run().exits(0);
    let run_id = sandbox.only_run().record().run_id;
    let smoke = || {
        let call = project().cargo("test --test load -- named");
        call.env("LOADTEST_BASE_URL", server.url()).run().exits(0)
    };
    smoke();
    smoke();
    let call = sandbox.tool("debug", "named");
    call.args(["--base-url", &server.url()]).run().exits(0);
    let seen = server.recorded();
    let agent = format!("loadtest/{}", env!("CARGO_PKG_VERSION"));
    assert!(
        seen.iter()
            .all(|request| request.header("user-agent") == Some(&agent))
    );
    let ids: Vec<_> = seen
        .iter()
        .map(|request| request.header("loadtest-run").unwrap_or_default())
        .collect();
    let (run, rest) = ids.split_at(1 + 2 * 2 + 1);
    assert_eq!(run, [&run_id; 6]);
    // One of each, and each test and journey another.
    let others: Vec<_> = rest.chunks(4).collect();
    for (ids, kind) in others.iter().zip(["smoke-", "smoke-", "debug-"]) {
        assert!(
            ids[0].starts_with(kind) && ids.iter().all(|id| id == &ids[0]),
            "{ids:?}"
        );
    }
    assert_eq!(others.len(), 3, "{ids:?}");
    assert_ne!(others[0], others[1]);
}
