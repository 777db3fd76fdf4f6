//! Targets that a scenario starts itself are there for the run, and gone afterwards.

use crate::call::{send, wait_for};
use crate::project::{Files, Project, STANDS_ALONE, dependency, header};
use crate::site::{Sandbox, assert_balanced, site, total};
use crate::smoke::smoke;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::record::ScenarioRecord;
use rustix::process::Signal;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_target_is_started_used_and_stopped,
        a_target_is_stopped_after_ctrl_c,
        a_target_does_not_survive_a_killed_scenario,
        a_target_does_not_survive_a_killed_tool,
        a_target_does_not_survive_a_killed_tool_and_scenario,
        a_target_does_not_survive_a_terminated_program,
        a_target_does_not_survive_a_killed_program,
        a_target_is_stopped_after_a_panic_in_the_setup,
        a_target_that_dies_at_once_is_shown_with_its_words,
        a_given_base_url_takes_the_place_of_the_target,
        cargo_test_starts_and_stops_the_target_too,
    ]
}

fn address(url: &str) -> SocketAddr {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    address
        .parse()
        .unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// Nobody listens there any more, once the system is done with the socket of the process that has ended.
#[track_caller]
fn assert_gone(url: &str) {
    let address = address(url);
    wait_for(&format!("the end of the target at {address}"), || {
        TcpStream::connect(address).is_err().then_some(())
    });
}

fn url_of(record: &ScenarioRecord) -> String {
    record
        .start
        .base_url
        .clone()
        .expect("the record has a base URL")
}

fn a_target_is_started_used_and_stopped() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("run", "--exact site::load::own --iterations 50")
        .run()
        .exits(0);
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(total(&record).journey.ok, 50);
    assert!(record.start.own_target);
    assert_gone(&url_of(&record));
}

fn a_target_is_stopped_after_ctrl_c() {
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .tool("run", "--exact site::load::own --users 2 --duration 1h")
        .start();
    running.wait_until_it_says("[0s]");
    running.signal(Signal::INT);
    running.output().exits(105);
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(
        total(&record).steps[0].failed,
        0,
        "it outlives the requests"
    );
    assert_gone(&url_of(&record));
}

fn a_target_does_not_survive_a_killed_scenario() {
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .tool("run", "--exact site::load::own --users 2 --duration 1h")
        .start();
    let url = running.wait_for_word_after("[0s] site::load::own against ");
    let url = url.trim_end_matches(',');
    send(starter_of(url), Signal::KILL);
    running.output().exits(105);
    assert_gone(url);
}

fn a_target_does_not_survive_a_killed_tool() {
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .tool("run", "--exact site::load::own --users 2 --duration 1h")
        .start();
    let url = running.wait_for_word_after("[0s] site::load::own against ");
    running.signal(Signal::KILL);
    drop(running.output());
    assert_gone(url.trim_end_matches(','));
}

fn a_target_does_not_survive_a_killed_tool_and_scenario() {
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .tool("run", "--exact site::load::own --users 2 --duration 1h")
        .start();
    let url = running.wait_for_word_after("[0s] site::load::own against ");
    let url = url.trim_end_matches(',');
    let scenario = starter_of(url);
    // It has no time to notice the end of the tool.
    send(scenario, Signal::STOP);
    running.signal(Signal::KILL);
    send(scenario, Signal::KILL);
    drop(running.output());
    assert_gone(url);
}

fn a_target_does_not_survive_a_terminated_program() {
    assert_ends_with_its_program(Signal::TERM);
}

fn a_target_does_not_survive_a_killed_program() {
    assert_ends_with_its_program(Signal::KILL);
}

/// Ends a program in the middle of the run of a value.
fn assert_ends_with_its_program(signal: Signal) {
    let mut running = value().cargo("test --test value").start();
    let url = running.wait_for_word_after("the server is at ");
    send(starter_of(&url), signal);
    running.output().says_no("the run came to its end");
    assert_gone(&url);
}

/// A program that runs a scenario as a value.
fn value() -> &'static Project {
    static VALUE: OnceLock<Project> = OnceLock::new();
    VALUE.get_or_init(|| {
        let manifest = format!(
            "{}[dev-dependencies]\nloadtest = {}\n\n\
             [[test]]\nname = \"value\"\nharness = false\n\n{STANDS_ALONE}",
            header("value"),
            dependency()
        );
        Files::new("value")
            .file("Cargo.toml", manifest)
            .file("src/main.rs", include_str!("../fixtures/site/main.rs"))
            .file("tests/value.rs", include_str!("../fixtures/value/value.rs"))
            .create()
    })
}

/// The number of the process that started the server at `url`, which is what it answers.
pub(crate) fn starter_of(url: &str) -> u32 {
    let mut stream = TcpStream::connect(address(url)).expect("the target listens");
    let request = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = Vec::new();
    let mut reader = BufReader::new(stream);
    reader.read_until(b'}', &mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (_, number) = answer.split_once("\"parent\":").expect("a number");
    number.trim_end_matches('}').parse().expect("a number")
}

fn a_target_is_stopped_after_a_panic_in_the_setup() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .tool("run", "own_then_panic")
        .run()
        .exits(100)
        .says(&["setup `server` failed", "the server is at"]);
    assert_gone(&said_url(&output.stderr, "the server is at "));
    assert_eq!(sandbox.only_run().not_run().exit_code.number(), 100);
}

fn a_target_that_dies_at_once_is_shown_with_its_words() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("run", "own_dies")
        .run()
        .exits(100)
        .has_one_error()
        .says(&[
            "setup `server` failed",
            "ended before it was ready",
            "no database at shop.db",
        ]);
}

fn a_given_base_url_takes_the_place_of_the_target() {
    let server = loadtest_tests::Server::start(|_| loadtest_tests::Reply::text("ok"));
    let sandbox = Sandbox::new();
    sandbox
        .run("--exact site::load::own --iterations 4", &server)
        .run()
        .exits(0);
    assert_eq!(server.requests_to("/own"), 4);
    assert!(!sandbox.record().start.own_target);
}

fn cargo_test_starts_and_stops_the_target_too() {
    site()
        .cargo("test --test load -- --exact own")
        .run()
        .exits(0)
        .prints(&["1 passed"]);
    let output = smoke(site(), "--exact own_then_panic")
        .run()
        .exits(101)
        .prints(&["1 failed", "the server is at"]);
    assert_gone(&said_url(&output.stdout, "the server is at "));
}

pub(crate) fn said_url(text: &str, before: &str) -> String {
    let (_, rest) = text.split_once(before).expect("the URL is said");
    rest.split_whitespace().next().expect("a URL").to_owned()
}
