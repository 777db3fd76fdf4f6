//! What pages say where there is nothing, and where something went wrong.

use super::editor::{LOAD, project};
use super::{Dashboard, status};
use crate::call::{send, wait_for};
use crate::own_target::starter_of;
use crate::project::{Files, LOAD_TEST, dependency, write};
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Server;
use rustix::process::Signal;
use std::fs;

pub(super) fn trials() -> Vec<Trial> {
    trials![
        what_is_not_there_is_said_with_the_next_step,
        what_went_wrong_is_said_in_the_words_of_the_command,
        a_run_says_what_it_waits_for_and_why_it_died,
        runs_that_are_damaged_or_cannot_be_compared_have_reasons,
        a_load_test_that_does_not_build_keeps_its_rows_and_its_form,
        a_workspace_without_a_load_test_is_told_how_to_begin,
    ]
}

/// Waits until a page has these words; returns the page.
#[track_caller]
fn wait_for_words(dashboard: &Dashboard, cookie: &str, path: &str, words: &str) -> String {
    wait_for(words, || {
        Some(dashboard.page(cookie, path)).filter(|page| page.contains(words))
    })
}

#[track_caller]
fn assert_words(dashboard: &Dashboard, cookie: &str, path: &str, code: u16, words: &[&str]) {
    let page = dashboard.page(cookie, path);
    assert_eq!(status(&page), code, "{path}: {page}");
    for words in words {
        assert!(page.contains(words), "{path}: {words}: {page}");
    }
}

fn what_is_not_there_is_said_with_the_next_step() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    wait_for_words(&dashboard, &cookie, "/", "site::load::journey");
    let scenario = "/scenarios/site::load::journey";
    for (path, code, words) in [
        ("/", 200, &["never run"][..]),
        ("/runs", 200, &["Nothing has run yet", "cargo loadtest run"]),
        ("/compare", 200, &["Nothing has run yet"]),
        (
            "/baselines",
            200,
            &[
                "There is no baseline yet",
                "cargo loadtest baseline save main",
            ],
        ),
        (
            "/events",
            200,
            &["Nothing has happened yet", "No webhook is configured"],
        ),
        (scenario, 200, &["It has not run yet."]),
        (
            &format!("{scenario}/try"),
            200,
            &["Runs one journey without think times."],
        ),
        (
            "/scenarios/site::load::nobody",
            404,
            &["`site::load::nobody` has no run"],
        ),
        ("/scenarios/site::load::nobody/edit", 404, &["nobody"]),
        ("/runs/20260101-000000-none", 404, &["there is no run"]),
        ("/started?number=99", 200, &["There is no such run."]),
        ("/nothing", 404, &["Not found"]),
    ] {
        assert_words(&dashboard, &cookie, path, code, words);
    }
    dashboard.end().exits(0);
}

fn what_went_wrong_is_said_in_the_words_of_the_command() {
    // Nobody listens there.
    let sandbox = Sandbox::with("[[notify]]\nurl = \"http://127.0.0.1:9/hook\"\n");
    let server = Server::start(shop);
    sandbox
        .run("journey --users 1 --iterations 5", &server)
        .run()
        .exits(0);
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    wait_for_words(&dashboard, &cookie, "/", "site::load::single");
    assert_words(&dashboard, &cookie, "/events", 200, &["not delivered"]);

    // A target that is not permitted, and one that does not answer.
    let form = "scenario=site::load::single&base-url=http://loadtest.example/";
    dashboard.send_form(&cookie, "/try/start", form);
    let page = "/scenarios/site::load::single/try";
    let page = wait_for_words(&dashboard, &cookie, page, "notice t-bad");
    assert!(
        page.contains("loadtest.example") && page.contains("loadtest.toml"),
        "{page}"
    );
    let form = "scenario=site::load::single&base-url=http://127.0.0.1:9/";
    dashboard.send_form(&cookie, "/try/start", form);
    let page = "/scenarios/site::load::single/try";
    wait_for_words(
        &dashboard,
        &cookie,
        page,
        "nothing answers at http://127.0.0.1:9",
    );
    let form = "only=site::load::single&users=1&duration=1s&base-url=http://loadtest.example/";
    dashboard.send_form(&cookie, "/runs/start", form);
    let page = wait_for_words(&dashboard, &cookie, "/runs", "✗ DID NOT RUN");
    assert!(page.contains("loadtest.example"), "{page}");
    let runs = sandbox.runs();
    let run = format!("/runs/{}", runs.last().expect("a run").name());
    assert_words(&dashboard, &cookie, &run, 200, &["loadtest.example"]);

    let toml = sandbox.root().join("loadtest.toml");
    fs::write(&toml, "[store]\ndirectroy = \"runs\"\n").expect("our own file");
    assert_words(
        &dashboard,
        &cookie,
        "/settings",
        400,
        &["directroy", "loadtest.toml"],
    );
    fs::remove_file(&toml).expect("our own file");
    assert_words(
        &dashboard,
        &cookie,
        "/settings",
        200,
        &["all values are built-in"],
    );
    dashboard.end().exits(0);
}

fn a_run_says_what_it_waits_for_and_why_it_died() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    let file = sandbox.root().join("deaf");
    let line = "--exact site::load::own_deaf";
    let waiting = sandbox.tool("run", line).env("SITE_DEAF", &file).start();
    wait_for("the target", || fs::read(&file).ok());
    let run = format!("/runs/{}", sandbox.only_run().name());
    assert_words(
        &dashboard,
        &cookie,
        &run,
        200,
        &["The load has not started"],
    );
    waiting.signal(Signal::INT);
    waiting.output().exits(105);
    let reason = "stopped before the load started";
    assert_words(&dashboard, &cookie, &run, 200, &["DID NOT RUN", reason]);

    let line = "--exact site::load::own --users 2 --duration 1h";
    let mut dying = sandbox.tool("run", line).start();
    let url = dying.wait_for_word_after("[0s] site::load::own against ");
    send(starter_of(url.trim_end_matches(',')), Signal::KILL);
    dying.output().exits(105);
    let run = format!("/runs/{}", sandbox.runs()[1].name());
    assert_words(
        &dashboard,
        &cookie,
        &run,
        200,
        &["INTERRUPTED", "killed by signal 9"],
    );
    dashboard.end().exits(0);
}

fn runs_that_are_damaged_or_cannot_be_compared_have_reasons() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    for line in [
        "journey --users 1 --iterations 5",
        "single --users 1 --iterations 5",
    ] {
        sandbox.run(line, &server).run().exits(0);
    }
    let runs: Vec<_> = sandbox
        .runs()
        .iter()
        .map(crate::site::RunFolder::name)
        .collect();
    let damaged = sandbox.root().join("runs/20260101-000000-torn");
    fs::create_dir(&damaged).expect("a folder");
    fs::write(damaged.join("record.json"), "{\"schema_version\":").expect("our own file");
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    let (one, other) = (&runs[0], &runs[1]);
    for (path, code, words) in [
        (
            "/runs".to_owned(),
            200,
            &["Nothing is known of", "20260101-000000-torn"][..],
        ),
        (
            "/runs/20260101-000000-torn".to_owned(),
            500,
            &["record.json"],
        ),
        (
            format!("/compare?base={one}&new={other}"),
            200,
            &["Not compared: the run", "does not have this scenario"],
        ),
        (
            format!("/compare?base=nobody&new={other}"),
            400,
            &["nobody"],
        ),
        (
            format!("/compare?run={one}&run={other}&run=x"),
            400,
            &["select two runs"],
        ),
    ] {
        assert_words(&dashboard, &cookie, &path, code, words);
    }
    dashboard.end().exits(0);
}

fn a_load_test_that_does_not_build_keeps_its_rows_and_its_form() {
    let name = "broken_board";
    let server = Server::start(shop);
    let project = project(name);
    let base = ["--base-url", &server.url()].map(str::to_owned);
    project.tool("run", "").args(&base).run();
    let path = project.root().join("tests/load.rs");
    let broken = LOAD.replace("token: String", "token: Strong");
    fs::write(&path, broken).expect("the source");
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let cookie = dashboard.sign_in();
    let page = wait_for_words(&dashboard, &cookie, "/", "The scenarios cannot be listed");
    for words in ["Strong", "broken_board::load::visit", "Try again"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let form = "/scenarios/broken_board::load::visit/edit";
    assert_words(&dashboard, &cookie, form, 200, &["step-browse"]);
    fs::remove_file(&path).expect("the source");
    let page = dashboard.page(&cookie, form);
    assert_eq!(status(&page), 404, "{page}");
    assert!(page.contains("visit"), "{page}");
    dashboard.end().exits(0);
}

fn a_workspace_without_a_load_test_is_told_how_to_begin() {
    let manifest = "[package]\nname = \"bare_board\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let project = Files::new("bare_board")
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", "//! Nothing.\n")
        .file("loadtest.toml", "[store]\ndirectory = \"runs\"\n")
        .create();
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let cookie = dashboard.sign_in();
    let page = wait_for_words(&dashboard, &cookie, "/", "The scenarios cannot be listed");
    assert!(page.contains("cargo loadtest init"), "{page}");
    assert_words(
        &dashboard,
        &cookie,
        "/new",
        200,
        &["There is no load test", "cargo loadtest init"],
    );
    // One that was added meanwhile is seen.
    let added = format!(
        "{manifest}\n[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n",
        dependency()
    );
    write(&project.path("Cargo.toml"), &added);
    write(&project.path("tests/load.rs"), LOAD);
    let page = dashboard.page(&cookie, "/new");
    assert!(page.contains("tests/load.rs"), "{page}");
    dashboard.end().exits(0);
}
