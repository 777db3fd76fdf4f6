//! Targets that `loadtest.toml` lists, beyond loopback.

use crate::call::Output;
use crate::lonely::{self, tests};
use crate::project::{Files, LOAD_TEST, Project, STANDS_ALONE, dependency, header};
use crate::site::{Sandbox, assert_balanced, total};
use crate::smoke::smoke;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    let tests = tests![
        what_is_listed_is_tested_and_its_neighbours_are_not,
        a_load_above_what_an_entry_allows_is_refused_before_it_begins,
        what_nobody_could_foresee_is_stopped_at_the_cap,
        clients_of_ones_own_keep_to_the_list,
        a_target_proves_that_it_may_be_tested,
        an_owner_who_takes_the_file_away_ends_the_run,
        a_target_ends_the_run_by_a_header,
        redirects_and_proxies_lead_nowhere_else,
    ];
    lonely::trials("listed", || _ = project(), tests)
}

const LOAD: &str = r#"
//! Scenarios whose target is given.

use loadtest::Stream;
use loadtest::prelude::*;

#[scenario(load = iterations(5))]
fn single() {
    #[step(get = "/x")]
    fn ask();
}

#[scenario(load = iterations(4))]
fn hop() {
    #[step(get = "/hop", redirects = 3, expect = 200..400)]
    fn ask();
}

#[scenario(reaches = ["tcp://10.99.0.1:8108"], load = iterations(100000, users = 1), thresholds(errors < 100%))]
fn client() {
    #[step(once)]
    async fn line(net: &mut Net) -> Result<Stream, Error> {
        Ok(net.connect("tcp://10.99.0.1:8108").await?)
    }

    #[step]
    async fn ask(_line: &Stream, vu: &mut Vu) -> Result<(), Error> {
        Ok(vu.measure("ask", async { Ok::<_, Error>(()) }).await?)
    }
}

#[scenario(reaches = ["tcp://10.99.0.1:8102"])]
fn neighbour() {
    #[step]
    async fn ask(vu: &mut Vu) -> Result<(), Error> {
        Ok(vu.measure("ask", async { Ok::<_, Error>(()) }).await?)
    }
}

#[scenario(reaches = ["tcp://db.example.com:5432"])]
fn unlisted() {
    #[step]
    async fn ask(vu: &mut Vu) -> Result<(), Error> {
        Ok(vu.measure("ask", async { Ok::<_, Error>(()) }).await?)
    }
}

#[scenario(load = iterations(3))]
fn wanderer() {
    #[step]
    async fn leave(net: &mut Net) -> Result<(), Error> {
        net.connect("tcp://10.99.0.1:8102").await?;
        Ok(())
    }
}

loadtest::main!();
"#;

const TARGETS: &str = r#"
[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8101
owner = "ada@shop.test"

[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8103
owner = "ada@shop.test"
max_rate = "20/s"

[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8104
owner = "ada@shop.test"
max_in_flight = 2

[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8105
owner = "ada@shop.test"
max_duration = "1s"

[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8106
owner = "ada@shop.test"
addresses = ["10.98.0.0/16"]

[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8109
owner = "ada@shop.test"
max_rate = "6/m"

[[targets]]
host = "10.99.0.1"
scheme = "tcp"
port = 8108
owner = "ada@shop.test"
max_rate = "20/s"

[[targets]]
host = "10.99.0.1"
scheme = "http"
port = 8107
owner = "ada@shop.test"
proof = "well-known"
"#;

fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let manifest = format!(
            "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
            header("listed"),
            dependency()
        );
        let project = Files::new("listed")
            .file("Cargo.toml", manifest)
            .file("src/lib.rs", "//! Nothing.\n")
            .file("tests/load.rs", LOAD.trim_start())
            .file("loadtest.toml", TARGETS)
            .create();
        project.tool("list", "").run().exits(0);
        project
    })
}

fn at(address: &str) -> SocketAddr {
    address.parse().expect("an address")
}

fn run(line: &str, url: &str) -> (Sandbox, Output) {
    let sandbox = Sandbox::at(project().root(), "");
    let call = sandbox.tool("run", line).args(["--base-url", url]);
    let output = call.run();
    (sandbox, output)
}

fn what_is_listed_is_tested_and_its_neighbours_are_not() {
    let listed = Server::start_at(at("10.99.0.1:8101"), |_| Reply::text("ok"));
    let others = ["10.99.0.1:8102", "10.99.0.2:8101", "10.99.0.1:8106"]
        .map(|address| Server::start_at(at(address), |_| Reply::text("ok")));
    let (sandbox, output) = run("single", "http://10.99.0.1:8101");
    output.exits(0).prints(&["PASSED"]);
    assert_eq!(total(&sandbox.record()).journey.ok, 5);
    assert_eq!(listed.requests(), 5);
    for (url, told) in [
        ("http://10.99.0.1:8102", "lists http://10.99.0.1:8101"),
        ("https://10.99.0.1:8101", "lists http://10.99.0.1:8101"),
        (
            "http://10.99.0.2:8101",
            "`[[targets]]` with `host = \"10.99.0.2\"`",
        ),
        ("http://10.99.0.1:8106", "pins other addresses"),
        ("http://169.254.169.254", "cloud metadata"),
        ("http://[::ffff:10.99.0.2]:8101", "host = \"10.99.0.2\""),
    ] {
        let (sandbox, output) = run("single", url);
        output
            .exits(103)
            .has_one_error()
            .says(&["is not a permitted target", told]);
        assert_eq!(
            sandbox.only_run().not_run().exit_code.number(),
            103,
            "{url}"
        );
    }
    // By its number as well.
    run("single", "http://174260225:8101").1.exits(0);
    assert_eq!(listed.requests(), 10);
    for other in &others {
        assert_eq!(other.connections(), 0);
    }
    let output = smoke(project(), "single --exact")
        .env("LOADTEST_BASE_URL", "http://10.99.0.1:8102")
        .run();
    output.exits(101).prints(&["lists http://10.99.0.1:8101"]);
    assert_eq!(others[0].connections(), 0);
    let plan = project()
        .tool("plan", "single")
        .args(["--base-url", "http://10.99.0.1:8101"]);
    plan.run().exits(0).prints(&["owned by ada@shop.test"]);
}

fn a_load_above_what_an_entry_allows_is_refused_before_it_begins() {
    let servers = ["10.99.0.1:8103", "10.99.0.1:8104", "10.99.0.1:8105"]
        .map(|address| Server::start_at(at(address), |_| Reply::text("ok")));
    for (line, port, told) in [
        (
            "single --rate 50/s --duration 2s",
            8103,
            "max_rate = \"20/s\"",
        ),
        ("single --users 5", 8104, "max_in_flight = 2"),
        (
            "single --rate 5/s --duration 3s",
            8105,
            "max_duration = \"1s\"",
        ),
    ] {
        let (_sandbox, output) = run(line, &format!("http://10.99.0.1:{port}"));
        output
            .exits(103)
            .has_one_error()
            .says(&[told, "over the cap in line"]);
    }
    for server in &servers {
        assert_eq!(server.requests(), 0);
    }
    // What an open load may choose by itself, it chooses within the bounds: here as many users as arrivals.
    let (sandbox, output) = run("single --rate 2/s --duration 1s", "http://10.99.0.1:8104");
    output.exits(0);
    assert_eq!(sandbox.record().start.plan.max_users, 2);
    // As many in all as may be sent at once, however late they are.
    run("single --rate 20/s --duration 1s", "http://10.99.0.1:8103")
        .1
        .exits(0);
}

fn what_nobody_could_foresee_is_stopped_at_the_cap() {
    let quick = Server::start_at(at("10.99.0.1:8109"), |_| Reply::text("ok"));
    let (sandbox, output) = run("single --iterations 200 --users 5", "http://10.99.0.1:8109");
    output.exits(103).prints(&["NOT PERMITTED", "max_rate"]);
    // One at once, and one more every ten seconds.
    let seconds = sandbox.record().end.elapsed_us / 1_000_000;
    let most = 2 + seconds / 10;
    assert!(quick.requests() <= most, "{}", quick.requests());
    let slow = Server::start_at(at("10.99.0.1:8105"), |_| {
        Reply::text("ok").delay(Duration::from_millis(300))
    });
    let (_sandbox, output) = run("single --iterations 50 --users 1", "http://10.99.0.1:8105");
    output.exits(103).prints(&["for 1s at a time"]);
    assert!(slow.requests() < 40, "{}", slow.requests());
}

fn clients_of_ones_own_keep_to_the_list() {
    let listed = Server::start_at(at("10.99.0.1:8108"), |_| Reply::text("ok"));
    let other = Server::start_at(at("10.99.0.1:8102"), |_| Reply::text("ok"));
    let run = |scenario: &str| {
        let sandbox = Sandbox::at(project().root(), "");
        let output = sandbox.tool("run", scenario).run();
        (sandbox, output)
    };
    // The cap counts what is measured: the connection, and a second's worth of the rest at once.
    let (sandbox, output) = run("client");
    output.exits(103).prints(&["NOT PERMITTED", "max_rate"]);
    let record = sandbox.record();
    let ask = &total(&record).steps[1];
    let most = 21 + record.end.elapsed_us / 50_000;
    assert!((20..=most).contains(&ask.ok), "{} of {most}", ask.ok);
    // One to see that somebody is there, and that of the user.
    assert_eq!(listed.connections(), 2);
    for (scenario, told) in [
        ("neighbour", "lists http://10.99.0.1:8101"),
        (
            "unlisted",
            "`[[targets]]` with `host = \"db.example.com\"`, `scheme = \"tcp\"`, `port = 5432`",
        ),
    ] {
        let (sandbox, output) = run(scenario);
        let output = output.exits(103).has_one_error();
        output.says(&["is not a permitted target", told]);
        assert_eq!(
            sandbox.only_run().not_run().exit_code.number(),
            103,
            "{scenario}"
        );
    }
    let (_sandbox, output) = run("wanderer");
    output.exits(103).prints(&[
        "NOT PERMITTED",
        "`tcp://10.99.0.1:8102` is not a permitted target",
    ]);
    assert_eq!(other.connections(), 0);
    let plan = |scenario: &str| project().tool("plan", scenario).run().exits(0);
    plan("client").prints(&[
        "each step has its own",
        "tcp://10.99.0.1:8108: permitted",
        "owned by ada@shop.test",
    ]);
    plan("neighbour").prints(&["tcp://10.99.0.1:8102: NOT permitted"]);
    let list = project().tool("list", "client").run().exits(0);
    list.prints(&["reaches    tcp://10.99.0.1:8108"]);
}

const FILE: &str = "/.well-known/loadtest-authorization";

fn a_target_proves_that_it_may_be_tested() {
    for (text, told) in [
        (None, "it answers 404"),
        (Some("<!doctype html>"), "not `key: value`"),
        (
            Some("loadtest: 1\nowner: eve@shop.test\n"),
            "its owner differs",
        ),
        (
            Some("loadtest: 1\nowner: ada@shop.test\nuntil: 2020-01-01\n"),
            "it held until 2020-01-01",
        ),
        (
            Some("loadtest: 1\nowner: ada@shop.test\nmax-rate: 5/s\n"),
            "it allows 5/s",
        ),
    ] {
        let server = Server::start_at(at("10.99.0.1:8107"), move |request| match text {
            Some(text) if request.path == FILE => Reply::text(text),
            _ => Reply::status(404),
        });
        let (_sandbox, output) = run("single", "http://10.99.0.1:8107");
        output.exits(103).has_one_error().says(&[FILE, told]);
        assert_eq!(server.requests_to("/x"), 0, "{told}");
        assert!(server.requests_to(FILE) > 0, "{told}");
    }
    let server = Server::start_at(at("10.99.0.1:8107"), |request| match &*request.path {
        FILE => Reply::text("loadtest: 1\nowner: ada@shop.test\n"),
        _ => Reply::text("ok"),
    });
    run("single", "http://10.99.0.1:8107").1.exits(0);
    assert_eq!(server.requests_to("/x"), 5);
}

fn an_owner_who_takes_the_file_away_ends_the_run() {
    // It is there before the run and until some requests have come.
    let come = Arc::new(AtomicU64::new(0));
    let server = Server::start_at(at("10.99.0.1:8107"), move |request| match &*request.path {
        FILE if come.load(Ordering::SeqCst) < 10 => {
            Reply::text("loadtest: 1\nowner: ada@shop.test\nrecheck: 1s\n")
        }
        FILE => Reply::status(404),
        _ => {
            come.fetch_add(1, Ordering::SeqCst);
            Reply::text("ok")
        }
    });
    let (sandbox, output) = run("single --rate 20/s --duration 1h", "http://10.99.0.1:8107");
    output
        .exits(103)
        .prints(&["NOT PERMITTED", "stopped before its end", "it answers 404"]);
    let record = sandbox.record();
    assert_balanced(&record);
    // Of an hour's.
    let (sent, started) = (server.requests_to("/x"), total(&record).journey.started);
    assert!((10..=started).contains(&sent), "{sent} of {started}");
    assert!(record.end.planned < 20 * 60 * 60, "{}", record.end.planned);
}

fn a_target_ends_the_run_by_a_header() {
    // Any target may, also one on this machine.
    let server = Server::start(|request| {
        let reply = Reply::text("ok");
        if request.sequence < 30 {
            reply
        } else {
            reply.header("Loadtest-Stop", "1")
        }
    });
    let (sandbox, output) = run("single --users 1 --iterations 1000", &server.url());
    output
        .exits(103)
        .prints(&["NOT PERMITTED", "`loadtest-stop`"]);
    assert_balanced(&sandbox.record());
    // Nothing was sent after the answer.
    assert_eq!(server.requests(), 31);
}

fn redirects_and_proxies_lead_nowhere_else() {
    let near = Server::start_at(at("10.99.0.1:8103"), |_| Reply::text("near"));
    let far = Server::start_at(at("10.99.0.2:8101"), |_| Reply::text("far"));
    let server = Server::start_at(at("10.99.0.1:8101"), |request| {
        let to = match request.sequence % 2 {
            0 => "http://10.99.0.1:8103/near",
            _ => "http://10.99.0.2:8101/far",
        };
        Reply::status(302).header("location", to)
    });
    let (_sandbox, output) = run("hop", "http://10.99.0.1:8101");
    output.prints(&["a redirect is not followed", "10.99.0.2"]);
    assert_eq!((server.requests(), near.requests_to("/near")), (4, 2));
    assert_eq!(far.connections(), 0);
    let sandbox = Sandbox::at(project().root(), "");
    let mut call = sandbox
        .tool("run", "single")
        .args(["--base-url", "http://10.99.0.1:8103"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        call = call.env(name, "http://10.99.0.2:8101");
    }
    call.run().exits(0);
    assert_eq!(far.connections(), 0);
}
