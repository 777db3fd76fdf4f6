//! Scenarios that run at once: who gets which share, and that they begin and end together.

use crate::call::{Call, wait_for};
use crate::project::{Files, Project, STANDS_ALONE, all_files};
use crate::site::{Sandbox, assert_balanced, total};
use crate::smoke::smoke;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::metrics::Frame;
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{EndReason, ScenarioRecord};
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::time::Instant;

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

fn sandbox() -> Sandbox {
    Sandbox::at(project().root(), "")
}

fn mix(sandbox: &Sandbox, line: &str, server: &Server) -> Call {
    sandbox.run(&format!("--mix {line}"), server)
}

/// The frames so far of each scenario of a run under way, by its journal.
pub(crate) fn frames(sandbox: &Sandbox) -> Vec<Vec<Frame>> {
    let files = all_files(sandbox.root()).into_iter();
    let journals = files.filter(|file| file.to_string_lossy().contains("journal"));
    let texts = journals.filter_map(|file| std::fs::read_to_string(sandbox.root().join(file)).ok());
    let frames = texts.map(|text| {
        // The last line may be half written.
        let lines = text
            .lines()
            .map(|line| JournalLine::from_json(line.as_bytes()));
        let frames = lines.flatten().filter_map(|line| match line {
            JournalLine::Frame(frame) => Some(*frame),
            _ => None,
        });
        frames.collect()
    });
    frames.collect()
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
        let (server, sandbox) = (shop(), sandbox());
        let output = mix(&sandbox, &format!("--tag shares {total}"), &server).run();
        let output = output.exits(0);
        let sent = (server.requests_to("/browse"), server.requests_to("/buy"));
        assert_eq!(sent, expected, "{total}\n{output}");
        let record = sandbox.only_run().record();
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
        let folder = sandbox.only_run();
        folder.has_page();
        assert!(!folder.0.join("mix.json").exists());
    }
}

fn a_total_that_leaves_somebody_nothing_is_refused() {
    let (server, sandbox) = (shop(), sandbox());
    mix(&sandbox, "--tag shares --users 1 --iterations 1", &server)
        .run()
        .exits(2)
        .has_one_error()
        .says(&["`--users 1` is the total", "`--iterations 1` is the total"]);
    assert_eq!(server.connections(), 0);
}

fn without_a_total_each_runs_its_own_load() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(5)));
    let sandbox = sandbox();
    let running = mix(&sandbox, "--tag shares --duration 1h", &server).start();
    wait_for("both", || {
        let both = server.requests_to("/browse") > 1 && server.requests_to("/buy") > 1;
        both.then_some(())
    });
    running.signal(Signal::INT);
    running.output().exits(105);
    for scenario in sandbox.only_run().record().scenarios {
        assert_eq!(
            scenario.start.plan.load.duration(),
            Some(Duration::from_secs(60 * 60))
        );
        assert_eq!(scenario.start.plan.max_users, 1);
        assert!(total(&scenario).journey.ok > 0);
    }
}

fn one_that_cannot_begin_keeps_all_from_beginning() {
    let (server, sandbox) = (shop(), sandbox());
    mix(
        &sandbox,
        "--tag hindered --tag shares --iterations 8",
        &server,
    )
    .run()
    .exits(100)
    .says(&["setup `database` failed: no database", "put away"]);
    assert_eq!(server.requests(), 0);
    let record = sandbox.only_run().record();
    assert!(record.scenarios.is_empty());
    for not_run in &record.not_run {
        assert_eq!(not_run.exit_code.number(), 100);
        let is_the_cause = not_run.scenario == "mix::load::unfit";
        let blames = "not started, because `mix::load::unfit` could not start";
        assert_eq!(
            !is_the_cause,
            not_run.message.starts_with(blames),
            "{not_run:?}"
        );
    }
    assert_eq!(record.not_run.len(), 4);
}

fn scenarios_of_several_programs_are_refused_by_name() {
    let server = shop();
    project()
        .tool("run", "--mix browse elsewhere")
        .args(["--base-url", &server.url()])
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
    let (server, sandbox) = (shop(), sandbox());
    mix(&sandbox, "buy panics --iterations 8 --users 4", &server)
        .run()
        .exits(99);
    let record = sandbox.only_run().record();
    assert_eq!(names(&record.scenarios), ["buy", "panics"]);
    assert!(record.scenarios[0].end.panics.is_empty());
    let panics = &record.scenarios[1].end.panics;
    assert_eq!((panics.len(), panics[0].count), (1, 4));
}

fn ctrl_c_stops_all_of_them() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)));
    let sandbox = sandbox();
    let mut running = mix(&sandbox, "--tag shares --users 4 --duration 1h", &server).start();
    wait_for("the load", || {
        let both = server.requests_to("/browse") > 9 && server.requests_to("/buy") > 3;
        both.then_some(())
    });
    running.signal(Signal::INT);
    running.wait_until_it_says("stopping");
    running.output().exits(105);
    let record = sandbox.only_run().record();
    assert_eq!(record.scenarios.len(), 2);
    for scenario in &record.scenarios {
        assert_balanced(scenario);
        assert_eq!(scenario.end.ending, EndReason::Interrupted);
        assert_eq!(total(scenario).journey.failed, 0);
    }
}

fn one_that_starts_later_does_so_in_a_mix_alone() {
    const LATER: Duration = Duration::from_millis(1_500);
    let server = Server::recording(|_| Reply::text("ok"));
    let sandbox = sandbox();
    let output = mix(&sandbox, "--tag guests", &server).run().exits(0);
    let over = Instant::now();
    let output = output.says(&["starts in 1.5s"]);
    output.prints(&["into the mix on"]);
    let requests = server.recorded();
    let mut paths: Vec<_> = requests.iter().map(|request| &*request.path).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/early", "/late", "/ready"]);
    let arrived = |path: &str| {
        let mut found = requests.iter().filter(|request| request.path == path);
        found.next().expect(path).arrived
    };
    // All are ready before the mix begins.
    let ready = arrived("/ready");
    assert!(arrived("/late") - ready >= LATER);
    let record = sandbox.only_run().record();
    let starts = record.scenarios.iter().map(|one| one.start.plan.start);
    assert_eq!(starts.collect::<Vec<_>>(), [Duration::ZERO, LATER]);
    for scenario in &record.scenarios {
        assert_balanced(scenario);
        // From its own start on.
        let elapsed = Duration::from_micros(scenario.end.elapsed_us);
        assert!(scenario.start.plan.start + elapsed <= over - ready);
    }
    let url = server.url();
    let alone = project().tool("plan", &format!("late --base-url {url}"));
    alone
        .run()
        .exits(0)
        .prints(&["`late` starts at once: `start = 1.5s` is its place in a mix (`--mix`)"]);
}

fn ctrl_c_stops_one_that_is_yet_to_start() {
    let (server, sandbox) = (shop(), sandbox());
    let running = mix(&sandbox, "--tag guests --tag waits", &server).start();
    wait_for("the one that comes at once", || {
        (server.requests_to("/early") > 0).then_some(())
    });
    running.signal(Signal::INT);
    running.output().exits(105);
    assert_eq!(server.requests_to("/much-later"), 0);
    let record = sandbox.only_run().record();
    let last = record.scenarios.last().expect("three scenarios");
    assert_eq!(last.end.ending, EndReason::Interrupted);
    assert_eq!(total(last).journey.started, 0);
}

fn a_killed_tool_leaves_what_the_journals_hold() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)));
    let sandbox = sandbox();
    let running = mix(&sandbox, "--tag shares --users 4 --duration 1h", &server).start();
    wait_for("two seconds in both journals", || {
        let frames = frames(&sandbox);
        (frames.len() == 2 && frames.iter().all(|all| all.len() >= 2)).then_some(())
    });
    running.signal(Signal::KILL);
    drop(running.output());
    sandbox
        .tool("report", "")
        .run()
        .exits(105)
        .prints(&["mix::load::browse", "mix::load::buy"]);
}

fn a_weight_is_listed() {
    let output = sandbox().tool("list", "--tag shares").run().exits(0);
    let facts: Vec<_> = output
        .stdout
        .lines()
        .filter(|line| line.trim_start().starts_with("mix "))
        .collect();
    assert_eq!(
        facts,
        ["    mix        weight 3 relative to others"],
        "{output}"
    );
}

fn a_target_in_the_process_is_told_on_the_card() {
    let sandbox = sandbox();
    sandbox
        .tool("run", "--mix inside")
        .run()
        .exits(0)
        .prints(&["the target runs inside the generator's process"]);
    let record = sandbox.only_run().record();
    assert!(record.scenarios[0].start.target_in_process);
    assert_eq!(total(&record.scenarios[0]).journey.ok, 6);
    smoke(project(), "--exact inside")
        .run()
        .exits(0)
        .prints(&["1 passed"]);
}
