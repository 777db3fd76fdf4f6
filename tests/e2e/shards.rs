//! A load that several processes make: `--shard`, `setup`, `merge`.

use crate::call::{Call, send};
use crate::project::{Files, Project};
use crate::site::{RunFolder, Sandbox, assert_balanced, shop};
use crate::trials;
use jiff::{SignedDuration, Timestamp};
use libtest_mimic::Trial;
use loadtest_model::metrics::Windows;
use loadtest_tests::{Reply, Request, Server};
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;
use tokio::time::Instant;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        shards_are_merged_into_the_run_of_one_process,
        runs_that_are_not_the_shards_of_one_load_are_refused,
        what_cannot_be_divided_is_refused_before_anything_is_sent,
        shards_start_at_the_time_that_they_are_given,
        a_shard_that_waits_says_until_when,
        setups_and_teardowns_run_once_for_all_shards,
        a_value_without_json_is_refused_with_its_type,
        a_setup_that_starts_a_target_is_refused_without_a_base_url,
    ]
}

/// `cargo loadtest merge <runs>`.
fn merge(sandbox: &Sandbox, runs: &[RunFolder]) -> Call {
    let runs = runs.iter().map(RunFolder::name);
    sandbox.tool("merge", "").args(runs)
}

fn shards_are_merged_into_the_run_of_one_process() {
    let server = Server::recording(shop);
    let sandbox = Sandbox::new();
    let load = "journey --iterations 50 --users 6";
    for shard in ["3/3", "1/3", "2/3"] {
        sandbox
            .run(&format!("{load} --shard {shard}"), &server)
            .run()
            .exits(0)
            .prints(&[&format!("shard {shard}")]);
    }
    let sent = |server: &Server| {
        let mut all: Vec<String> = server
            .recorded()
            .iter()
            .map(|request| format!("{} {} {}", request.method, request.target, request.text()))
            .collect();
        all.sort();
        all
    };
    let by_shards = sent(&server);

    let runs = sandbox.runs();
    let unknown = merge(&sandbox, &runs).args(["--baseline", "missing"]);
    unknown.run().exits(2).says(&["missing"]);
    assert_eq!(sandbox.runs().len(), runs.len(), "nothing is kept");
    merge(&sandbox, &runs).run().exits(0);
    let merged = sandbox.runs().pop().expect("the merged run");
    let scenario = merged.scenario();
    assert_balanced(&scenario);
    assert_eq!(scenario.end.planned, 50);
    assert!(scenario.start.plan.shard.is_whole());
    let parts: Vec<_> = runs.iter().map(RunFolder::scenario).collect();
    let mut windows = Windows::default();
    for part in &parts {
        windows.merge(&part.windows);
    }
    assert_eq!(scenario.windows, windows, "bucket by bucket");
    let names = scenario.shards.iter().map(|shard| shard.shard.to_string());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["shard 1/3", "shard 2/3", "shard 3/3"]
    );
    let planned = scenario.shards.iter().map(|shard| shard.planned);
    assert_eq!(planned.sum::<u64>(), 50);

    // One process with the same seed sends the same.
    let alone = Server::recording(shop);
    sandbox
        .run(&format!("{load} --seed 0"), &alone)
        .run()
        .exits(0);
    assert_eq!(sent(&alone), by_shards);
    // The merged run is one like any other.
    sandbox.tool("report", &merged.name()).run().exits(0);
    sandbox
        .tool("history", "journey")
        .run()
        .exits(0)
        .prints(&[&merged.name()]);
}

fn runs_that_are_not_the_shards_of_one_load_are_refused() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    let load = "single --iterations 6 --users 6";
    for line in [
        "--shard 1/3",
        "--shard 3/3",
        "--shard 2/3 --seed 5",
        "--shard 1/2",
        "",
    ] {
        sandbox
            .run(&format!("{load} {line}"), &server)
            .run()
            .exits(0);
    }
    let runs = sandbox.runs();
    let refused = |chosen: &[usize], words: &str| {
        let names = chosen.iter().map(|at| runs[*at].name());
        let call = sandbox.tool("merge", "").args(names);
        call.run().exits(2).says(&[words]);
    };
    let [first, third] = [0, 1].map(|at| runs[at].name());
    refused(
        &[1, 0],
        &format!(
            "the runs are not one load: shard 2/3 is missing; shard 1/3 is the run {first}, shard 3/3 is the run {third}"
        ),
    );
    refused(
        &[0, 1, 0],
        &format!(
            "the runs are not one load: shard 1/3 is there twice; shard 1/3 is the run {first}, shard 1/3 is the run {first}, "
        ),
    );
    refused(
        &[0],
        "the runs are not one load: shards 2 to 3 of 3 are missing",
    );
    refused(&[0, 1, 2], "differ in their seed");
    refused(
        &[0, 3],
        "shard 1/2 and shard 1/3 are parts of different divisions",
    );
    refused(&[4, 0], "is not a shard, but a whole load");
    assert_eq!(sandbox.runs().len(), runs.len(), "nothing is kept");
    // A shard is no baseline's match.
    let compare = format!("{} {}", runs[4].name(), runs[0].name());
    let output = sandbox.tool("compare", &compare).run().exits(2);
    assert!(
        output.stdout.contains("is shard 1/3, a part of its load"),
        "{output}"
    );
}

fn what_cannot_be_divided_is_refused_before_anything_is_sent() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    for (line, words) in [
        (
            "single --users 2 --duration 1s --shard 1/3",
            "a load of 2 users leaves nothing for some of 3 shards",
        ),
        (
            "single --shard 4/3",
            "there is no shard 4 of 3; the first is 1/3, the last 3/3",
        ),
        (
            "single --shard second",
            "write `2/8` for the second of eight",
        ),
        ("single --setup-values x.json", "--shard"),
        (
            "single journey --start-at 2026-01-31T12:00:00Z",
            "is for one scenario",
        ),
        (
            "single --start-at tomorrow",
            "write for example `2026-01-31T12:00:00Z`",
        ),
        (
            "single --start-at 2026-01-31T12:00:00Z",
            "the load should start at 2026-01-31T12:00:00Z, but was not ready until later",
        ),
    ] {
        sandbox.run(line, &server).run().exits(2).says(&[words]);
    }
    assert_eq!(server.requests(), 0);
}

fn shards_start_at_the_time_that_they_are_given() {
    let server = Server::start(shop);
    // How long a whole run takes here says how far ahead the time has to be for both to be ready before it.
    let begin = Instant::now();
    let apart = Sandbox::new();
    let alone = "single --iterations 40 --users 2";
    apart.run(alone, &server).run().exits(0);
    let needed = SignedDuration::try_from(begin.elapsed() * 10).expect("not for ever");
    let before = server.requests();
    let sandbox = Sandbox::new();
    let at = Timestamp::now() + SignedDuration::from_secs(5) + needed;
    let at = at.round(jiff::Unit::Second).expect("a time");
    let line = |shard: u32| format!("{alone} --shard {shard}/2 --start-at {at}");
    let shards = [1, 2].map(|shard| sandbox.run(&line(shard), &server).start());
    for shard in shards {
        shard.output().exits(0);
    }
    assert!(Timestamp::now() >= at, "they waited");
    let runs = sandbox.runs();
    let output = merge(&sandbox, &runs).run().exits(0);
    assert!(!output.stdout.contains(" apart, so the target"), "{output}");
    let merged = sandbox.runs().pop().expect("the merged run");
    let scenario = merged.scenario();
    let sent = server.requests() - before;
    assert_eq!((scenario.end.planned, sent), (40, 40));
    for shard in scenario.shards {
        assert_eq!(shard.started_at, at.to_string());
        assert_eq!(shard.began_after_us, 0);
    }
}

fn a_shard_that_waits_says_until_when() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    let at = Timestamp::now() + SignedDuration::from_hours(1);
    let at = at.round(jiff::Unit::Second).expect("a time");
    let line = format!("single --iterations 4 --users 2 --shard 1/2 --start-at {at}");
    let mut run = sandbox.run(&line, &server).start();
    run.wait_until_it_says(&format!("Waiting until {at} to start the load"));
    send(run.process(), Signal::INT);
    let output = run.output().exits(105);
    output.prints(&["stopped before the load started"]);
    assert_eq!(server.requests(), 0);
}

const DIVIDED: &str = r#"use loadtest::prelude::*;

#[scenario(load = iterations(8, users = 4))]
fn visit() {
    #[setup]
    async fn accounts(http: &mut Http) -> Result<Vec<String>, Error> {
        Ok(vec![http.post("/accounts").send().await?.text().await?])
    }

    #[setup]
    fn prefix() -> String {
        "/of".to_owned()
    }

    #[step]
    fn look(accounts: &Vec<String>, prefix: &String) -> Request {
        Request::get(format!("{prefix}/{}", accounts[0]))
    }

    #[teardown]
    async fn remove(accounts: &Vec<String>, http: &mut Http) -> Result<(), Error> {
        http.delete(format!("/accounts/{}", accounts[0])).send().await?;
        Ok(())
    }
}

struct Opaque(u8);

#[scenario(load = iterations(8, users = 4))]
fn opaque() {
    #[setup]
    fn key() -> Opaque {
        Opaque(7)
    }

    #[step]
    fn look(key: &Opaque) -> Request {
        Request::get(format!("/{}", key.0))
    }
}

#[scenario(load = iterations(8, users = 4))]
fn own() {
    #[setup]
    fn server() -> Target {
        panic!("it must not run")
    }

    #[step(get = "/")]
    fn look();
}

loadtest::main!();
"#;

pub(crate) fn divided(name: &'static str) -> Project {
    let project = Files::single(name, DIVIDED)
        .file("loadtest.toml", "[store]\ndirectory = \"runs\"\n")
        .create();
    // Of an earlier test run.
    let _ = fs::remove_dir_all(project.root().join("runs"));
    project
}

pub(crate) fn accounts(request: &Request) -> Reply {
    match &*request.method {
        "POST" => Reply::text("ada"),
        _ => Reply::text("ok"),
    }
}

fn setups_and_teardowns_run_once_for_all_shards() {
    let server = Server::recording(accounts);
    let project = divided("divided");
    let base = format!("--base-url {}", server.url());
    let of = |method: &str, server: &Server| {
        let all = server.recorded();
        let own = all.iter().filter(|request| request.method == method);
        own.map(|request| request.target.clone())
            .collect::<Vec<_>>()
    };
    // Without the values, nothing is sent.
    let refused = project
        .tool("run", &format!("visit --shard 1/2 {base}"))
        .run();
    refused.exits(100).says(&[
        "setup `accounts` failed",
        "run it once, with `cargo loadtest setup`",
    ]);
    assert_eq!(server.requests(), 0);

    let output = project
        .tool("setup", &format!("visit {base}"))
        .run()
        .exits(0);
    assert!(
        output
            .stdout
            .contains("Wrote the values of accounts, prefix to"),
        "{output}"
    );
    let file: PathBuf = project.root().join("setup-values.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&file)
            .expect("the values")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    for shard in ["1/2", "2/2"] {
        let line = format!("visit --shard {shard} --setup-values setup-values.json {base}");
        project.tool("run", &line).run().exits(0);
    }
    project
        .tool("teardown", &format!("visit {base}"))
        .run()
        .exits(0);
    assert_eq!(of("POST", &server), ["/accounts"]);
    assert_eq!(of("GET", &server), vec!["/of/ada"; 8]);
    assert_eq!(of("DELETE", &server), ["/accounts/ada"]);

    // Values of another scenario, and what is none.
    let line = format!("opaque --shard 1/2 --setup-values setup-values.json {base}");
    project
        .tool("run", &line)
        .run()
        .exits(2)
        .says(&["holds the values of `divided::load::visit`, which does not run"]);
    fs::write(&file, "{\n\"x\"").expect("our own file");
    let line = format!("visit --shard 1/2 --setup-values setup-values.json {base}");
    project
        .tool("run", &line)
        .run()
        .exits(2)
        .says(&["holds no values of setups (line 2"]);
    fs::remove_file(file).expect("our own file");
}

fn a_value_without_json_is_refused_with_its_type() {
    let server = Server::start(accounts);
    let project = divided("divided_key");
    let base = format!("--base-url {}", server.url());
    let words = [
        "setup `key` failed",
        "Opaque`",
        "derive `Serialize` and `Deserialize`",
    ];
    for (command, line) in [("setup", ""), ("run", "--shard 1/2")] {
        let call = project.tool(command, &format!("opaque {line} {base}"));
        call.run().exits(100).says(&words);
    }
    // Alone it runs as ever.
    project
        .tool("run", &format!("opaque {base}"))
        .run()
        .exits(0);
    assert_eq!(server.requests(), 8);
}

fn a_setup_that_starts_a_target_is_refused_without_a_base_url() {
    let server = Server::start(accounts);
    let project = divided("divided_target");
    let words = ["its setup starts its own target", "`--base-url`"];
    for (command, line) in [("setup", ""), ("run", "--shard 1/2")] {
        let call = project.tool(command, &format!("own {line}"));
        call.run().exits(2).says(&words);
    }
    let line = format!("own --shard 1/2 --base-url {}", server.url());
    project.tool("run", &line).run().exits(0);
    assert_eq!(server.requests(), 4);
}
