//! Scenarios that run at once: who gets which share, and that they begin and end together.

use crate::call::{Call, wait_for};
use crate::project::{Files, Project, STANDS_ALONE};
use crate::site::{RunFolder, assert_balanced, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::record::{EndReason, RunRecord, ScenarioRecord};
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_total_is_split_by_weight,
        a_total_that_leaves_somebody_nothing_is_refused,
        without_a_total_each_runs_its_own_load,
        one_that_cannot_begin_keeps_all_from_beginning,
        scenarios_of_several_programs_are_refused_by_name,
        panics_are_told_of_the_scenario_they_happened_in,
        one_that_starts_later_does_so_in_a_mix_alone,
        ctrl_c_stops_one_that_is_yet_to_start,
        ctrl_c_stops_all_of_them,
        a_killed_tool_leaves_what_the_journals_hold,
        a_weight_is_listed,
        a_target_in_the_process_is_told_on_the_card,
    ]
}

fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let other = "[[test]]\nname = \"other\"\nharness = false\n\n[dev-dependencies.tokio]\n\
                     version = \"1\"\nfeatures = [\"net\", \"rt\"]\n\n";
        Files::new("mix")
            .package("", "mix", &format!("{other}{STANDS_ALONE}"))
            .file("tests/load.rs", include_str!("../fixtures/mix/load.rs"))
            .file("tests/other.rs", OTHER)
            .create()
    })
}

const OTHER: &str = "\
use loadtest::prelude::*;

#[scenario]
fn elsewhere() {
    #[step(get = \"/elsewhere\")]
    fn ask();
}

loadtest::main!();
";

/// A place for the runs of one test.
struct Sandbox(TempDir);

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("sandbox-")
            .tempdir_in(project().root())
            .expect("a folder in the project");
        let text = "[store]\ndirectory = \"runs\"\n";
        std::fs::write(folder.path().join("loadtest.toml"), text).expect("the configuration");
        Self(folder)
    }

    fn mix(&self, line: &str, server: &Server) -> Call {
        self.run(line).args(["--base-url", &server.url()])
    }

    fn run(&self, line: &str) -> Call {
        Call::tool(self.0.path())
            .args(["run", "--profile", "dev", "--mix"])
            .line(line)
    }

    fn folder(&self) -> RunFolder {
        let runs = std::fs::read_dir(self.0.path().join("runs")).expect("the runs");
        let mut runs = runs
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let run = runs.next().expect("a run");
        assert!(runs.next().is_none(), "one run");
        RunFolder(run.path())
    }

    fn record(&self) -> RunRecord {
        self.folder().record()
    }
}

fn shop() -> Server {
    Server::start(|_| Reply::text("ok"))
}

fn names(scenarios: &[ScenarioRecord]) -> Vec<&str> {
    let names = scenarios
        .iter()
        .map(|scenario| &*scenario.start.definition.name);
    names.collect()
}

fn a_total_is_split_by_weight() {
    for (total, expected) in [
        ("--rate 40/s --duration 1s", (30, 10)),
        ("--iterations 40 --users 4", (30, 10)),
        ("--iterations 7", (5, 2)),
    ] {
        let (server, sandbox) = (shop(), Sandbox::new());
        let output = sandbox.mix(&format!("--tag shares {total}"), &server).run();
        let output = output.exits(0);
        let sent = (server.requests_to("/browse"), server.requests_to("/buy"));
        assert_eq!(sent, expected, "{total}\n{output}");
        let record = sandbox.record();
        assert_eq!(names(&record.scenarios), ["browse", "buy"]);
        for scenario in &record.scenarios {
            assert_balanced(scenario);
        }
        let seeds = record
            .scenarios
            .iter()
            .map(|scenario| scenario.start.plan.seed);
        assert_eq!(seeds.collect::<std::collections::BTreeSet<_>>().len(), 1);
        output
            .says(&["mix::load::browse against", "mix::load::buy against"])
            .prints(&["browse", "buy"]);
        let folder = sandbox.folder();
        folder.has_page();
        assert!(!folder.0.join("mix.json").exists());
    }
}

fn a_total_that_leaves_somebody_nothing_is_refused() {
    let (server, sandbox) = (shop(), Sandbox::new());
    sandbox
        .mix("--tag shares --users 1 --iterations 1", &server)
        .run()
        .exits(2)
        .has_one_error()
        .says(&["`--users 1` is the total", "`--iterations 1` is the total"]);
    assert_eq!(server.connections(), 0);
}

fn without_a_total_each_runs_its_own_load() {
    let (server, sandbox) = (shop(), Sandbox::new());
    sandbox
        .mix("--tag shares --duration 1s", &server)
        .run()
        .exits(0);
    for scenario in sandbox.record().scenarios {
        assert_eq!(
            scenario.start.plan.load.duration(),
            Some(Duration::from_secs(1))
        );
        assert_eq!(scenario.start.plan.max_users, 1);
        assert!(total(&scenario).journey.ok > 0);
    }
}

fn one_that_cannot_begin_keeps_all_from_beginning() {
    let (server, sandbox) = (shop(), Sandbox::new());
    sandbox
        .mix("--tag hindered --tag shares --iterations 8", &server)
        .run()
        .exits(100)
        .says(&["setup `database` failed: no database", "put away"]);
    assert_eq!(server.requests(), 0);
    let record = sandbox.record();
    assert!(record.scenarios.is_empty());
    for not_run in &record.not_run {
        assert_eq!(not_run.exit_code, 100);
        let is_the_cause = not_run.scenario == "mix::load::unfit";
        let blames = "not started, since `mix::load::unfit` could not begin";
        assert_eq!(
            !is_the_cause,
            not_run.message.starts_with(blames),
            "{not_run:?}"
        );
    }
    assert_eq!(record.not_run.len(), 4);
}

fn scenarios_of_several_programs_are_refused_by_name() {
    let (server, sandbox) = (shop(), Sandbox::new());
    sandbox
        .mix("browse elsewhere", &server)
        .run()
        .exits(2)
        .has_one_error()
        .says(&[
            "a mix runs in one program, and these are in 2",
            "`mix::load::browse`",
            "`mix::other::elsewhere`",
        ]);
    assert_eq!(server.connections(), 0);
}

fn panics_are_told_of_the_scenario_they_happened_in() {
    let (server, sandbox) = (shop(), Sandbox::new());
    sandbox
        .mix("buy panics --iterations 8 --users 4", &server)
        .run()
        .exits(99);
    let record = sandbox.record();
    assert_eq!(names(&record.scenarios), ["buy", "panics"]);
    assert!(record.scenarios[0].end.panics.is_empty());
    let panics = &record.scenarios[1].end.panics;
    assert_eq!((panics.len(), panics[0].count), (1, 4));
}

fn ctrl_c_stops_all_of_them() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)));
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .mix("--tag shares --users 4 --duration 60s", &server)
        .start();
    wait_for("the load", || {
        let both = server.requests_to("/browse") > 9 && server.requests_to("/buy") > 3;
        both.then_some(())
    });
    running.signal(Signal::INT);
    running.wait_until_it_says("stopping");
    running.output().exits(105);
    let record = sandbox.record();
    assert_eq!(record.scenarios.len(), 2);
    for scenario in &record.scenarios {
        assert_balanced(scenario);
        assert_eq!(scenario.end.ending, EndReason::Interrupted);
        assert_eq!(total(scenario).journey.failed, 0);
    }
}

fn one_that_starts_later_does_so_in_a_mix_alone() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let server = Server::start(move |request| {
        log.lock().expect("the log").push(request.path.clone());
        Reply::text("ok")
    });
    let sandbox = Sandbox::new();
    let output = sandbox.mix("--tag guests", &server).run().exits(0);
    let output = output.says(&["starts in 1.5s"]);
    output.prints(&["into the mix on"]);
    assert_eq!(*seen.lock().expect("the log"), ["/early", "/late"]);
    let record = sandbox.record();
    let starts = record.scenarios.iter().map(|one| one.start.plan.start);
    let expected = [Duration::ZERO, Duration::from_millis(1_500)];
    assert_eq!(starts.collect::<Vec<_>>(), expected);
    for scenario in &record.scenarios {
        assert_balanced(scenario);
        assert!(scenario.end.elapsed_us < 1_500_000, "from its own start on");
    }
    let url = server.url();
    let alone = project().tool("plan", &format!("late --base-url {url}"));
    alone
        .run()
        .exits(0)
        .prints(&["`late` starts at once: `start = 1.5s` is its place in a mix (`--mix`)"]);
}

fn ctrl_c_stops_one_that_is_yet_to_start() {
    let (server, sandbox) = (shop(), Sandbox::new());
    let running = sandbox.mix("--tag guests --tag waits", &server).start();
    wait_for("the one that comes at once", || {
        (server.requests_to("/early") > 0).then_some(())
    });
    running.signal(Signal::INT);
    running.output().exits(105);
    assert_eq!(server.requests_to("/much-later"), 0);
    let record = sandbox.record();
    let last = record.scenarios.last().expect("three scenarios");
    assert_eq!(last.end.ending, EndReason::Interrupted);
    assert_eq!(total(last).journey.started, 0);
}

fn a_killed_tool_leaves_what_the_journals_hold() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)));
    let sandbox = Sandbox::new();
    let running = sandbox
        .mix("--tag shares --users 4 --duration 60s", &server)
        .start();
    wait_for("the load of some seconds", || {
        (server.requests() > 500).then_some(())
    });
    running.signal(Signal::KILL);
    drop(running.output());
    Call::tool(sandbox.0.path())
        .arg("report")
        .run()
        .exits(105)
        .prints(&["mix::load::browse", "mix::load::buy"]);
}

fn a_weight_is_listed() {
    let output = project().tool("list", "--tag shares").run().exits(0);
    let facts: Vec<_> = output
        .stdout
        .lines()
        .filter(|line| line.trim_start().starts_with("mix "))
        .collect();
    assert_eq!(facts, ["    mix        weight 3 beside others"], "{output}");
}

fn a_target_in_the_process_is_told_on_the_card() {
    let sandbox = Sandbox::new();
    sandbox
        .run("inside")
        .run()
        .exits(0)
        .prints(&["the target runs inside the generator's process"]);
    let record = sandbox.record();
    assert!(record.scenarios[0].start.target_in_process);
    assert_eq!(total(&record.scenarios[0]).journey.ok, 6);
    project()
        .cargo("test --test load -- --exact inside")
        .run()
        .exits(0)
        .prints(&["1 passed"]);
}
