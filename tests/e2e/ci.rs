//! `--ci`: what a build server is told, read as its runner reads it.

use crate::call::{Call, Output, wait_for};
use crate::project::{Files, kept};
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        the_lines_are_plain_whatever_the_environment,
        github_is_told_of_a_run_that_failed,
        nothing_that_a_target_answers_is_a_command,
        what_github_does_not_take_fails_no_run,
        several_runs_share_one_summary,
        what_prevents_a_run_is_told_too,
        an_old_run_is_told_again,
        a_search_is_told_by_its_own_verdict,
        hardly_any_load_is_a_warning,
        the_metrics_are_read_by_gitlab,
    ]
}

/// What `--ci` leaves in the folder of a run.
const FILES: [&str; 5] = [
    "report.html",
    "report.json",
    "junit.xml",
    "report.md",
    "metrics.txt",
];

/// A step of a job, as GitHub's runner sets it up.
#[derive(Debug)]
pub(crate) struct Step(TempDir);

/// A command: its name, its properties, its text.
type Command = (String, BTreeMap<String, String>, String);

impl Step {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for file in ["summary", "output"] {
            fs::write(folder.path().join(file), "").expect("room");
        }
        Self(folder)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `call` as part of the step, in the repository that holds all projects.
    pub(crate) fn call(&self, call: Call) -> Call {
        call.env("CI", "true")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_STEP_SUMMARY", self.file("summary"))
            .env("GITHUB_OUTPUT", self.file("output"))
            .env("GITHUB_WORKSPACE", kept("projects"))
    }

    pub(crate) fn summary(&self) -> String {
        fs::read_to_string(self.file("summary")).expect("UTF-8")
    }

    /// The outputs as the runner reads them.
    pub(crate) fn outputs(&self) -> BTreeMap<String, String> {
        let text = fs::read_to_string(self.file("output")).expect("UTF-8");
        let mut values = BTreeMap::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let equals = line.find('=').unwrap_or(usize::MAX);
            if let Some(at) = line.find("<<").filter(|at| *at < equals) {
                let end = &line[at + 2..];
                let value: Vec<_> = lines.by_ref().take_while(|one| *one != end).collect();
                values.insert(line[..at].to_owned(), value.join("\n"));
            } else {
                let (name, value) = line.split_once('=').expect("a name and a value");
                values.insert(name.to_owned(), value.to_owned());
            }
        }
        values
    }
}

/// A command of a line, whatever it is.
fn command(line: &str) -> Option<Command> {
    let unescape = |text: &str| {
        let text = text.replace("%0D", "\r").replace("%0A", "\n");
        let text = text.replace("%3A", ":").replace("%2C", ",");
        text.replace("%25", "%")
    };
    let (info, text) = line.trim_start().strip_prefix("::")?.split_once("::")?;
    let (name, properties) = info.split_once(' ').unwrap_or((info, ""));
    let properties = properties.split(',').filter_map(|one| one.split_once('='));
    let properties = properties.map(|(key, value)| (key.to_owned(), unescape(value)));
    Some((name.to_owned(), properties.collect(), unescape(text)))
}

/// The commands that the runner takes, in their order; both streams end up taking commands.
#[track_caller]
fn commands(output: &Output) -> Vec<Command> {
    for line in output.stdout.lines() {
        assert_eq!(command(line), None, "on standard output\n{output}");
        assert!(!line.contains("##["), "on standard output\n{output}");
    }
    let mut taken = Vec::new();
    let mut stopped: Option<String> = None;
    for line in output.stderr.lines() {
        let Some((name, properties, text)) = command(line) else {
            assert!(stopped.is_some() || !line.contains("##["), "{line}");
            continue;
        };
        match &stopped {
            Some(word) if *word == name => stopped = None,
            Some(_) => {}
            None if name == "stop-commands" => stopped = Some(text),
            None => taken.push((name, properties, text)),
        }
    }
    assert_eq!(stopped, None, "commands are taken again\n{output}");
    taken
}

fn slow() -> Server {
    Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)))
}

fn the_lines_are_plain_whatever_the_environment() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let mut call = sandbox.run("single --iterations 20 --ci", &server);
    for (name, value) in [
        ("CLICOLOR_FORCE", "1"),
        ("FORCE_COLOR", "1"),
        ("CARGO_TERM_COLOR", "always"),
        ("CARGO_TERM_PROGRESS_WHEN", "always"),
        ("CARGO_TERM_PROGRESS_WIDTH", "80"),
        ("TERM", "xterm-256color"),
    ] {
        call = call.env(name, value);
    }
    let output = call.run().exits(0);
    for stream in [&output.stdout, &output.stderr] {
        assert!(!stream.contains(['\u{1b}', '\r', '\u{8}']), "{output}");
    }
    assert_eq!(
        commands(&output),
        [],
        "this is no build server that takes commands"
    );
    let run = sandbox.only_run();
    for file in FILES {
        assert!(!run.text(file).is_empty(), "{file}");
        assert!(output.stdout.contains(file), "{file} is told\n{output}");
    }
    // What is asked for comes besides.
    let sandbox = Sandbox::new();
    let folder = tempfile::tempdir().expect("a folder");
    let junit = folder.path().join("tests.xml");
    sandbox
        .run("single --iterations 20 --ci --export csv", &server)
        .args(["--export", &format!("junit={}", junit.display())])
        .run()
        .exits(0);
    let run = sandbox.only_run();
    for file in FILES.into_iter().chain(["report.csv"]) {
        assert!(!run.text(file).is_empty(), "{file}");
    }
    assert_eq!(
        fs::read_to_string(junit).expect("there"),
        run.text("junit.xml")
    );
}

fn github_is_told_of_a_run_that_failed() {
    let server = slow();
    let (sandbox, step) = (Sandbox::new(), Step::new());
    let line = "--exact site::load::strict site::load::single --iterations 20 --ci";
    let output = step.call(sandbox.run(line, &server)).run().exits(99);
    let run = sandbox.only_run();
    let record = run.record();

    let all = step.outputs();
    for (name, value) in [
        ("passed", "false"),
        ("exit_code", "99"),
        ("verdict", "failed"),
        ("scenario", "site::load::strict"),
        ("run_id", &record.run_id),
    ] {
        assert_eq!(all[name], value, "{name}");
    }
    let page = fs::canonicalize(&all["report"]).expect("the page is there");
    assert_eq!(
        page,
        run.0.join("report.html").canonicalize().expect("there")
    );
    assert!(
        PathBuf::from(&all["directory"])
            .join("record.json")
            .exists()
    );
    assert!(all["p95_ms"].parse::<f64>().expect("a number") > 5.0);
    assert_eq!(all["error_rate"], "0");
    assert!(!all["grade"].is_empty() && all["score"].parse::<f64>().is_ok());
    assert!(all["rps"].parse::<f64>().expect("a number") > 0.0);
    let rows: serde_json::Value = serde_json::from_str(&all["scenarios"]).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(2));

    assert_eq!(step.summary(), run.text("report.md"));
    assert!(step.summary().contains("site::load::strict"));

    let definition = record
        .scenarios
        .iter()
        .map(|scenario| &scenario.start.definition);
    let definition = definition.into_iter().find(|one| one.function == "strict");
    let line = definition.expect("it ran").steps[0].line.to_string();
    let notes = commands(&output);
    let (name, properties, text) = &notes[0];
    assert_eq!(name, "error");
    assert_eq!(
        properties["file"], "site/tests/load.rs",
        "from the root of the repository"
    );
    assert_eq!(properties["line"], line);
    assert_eq!(properties["title"], "strict: FAILED");
    assert!(
        text.contains("p95") && text.contains("must be < 5"),
        "{text}"
    );
    // Without the flag the server is told nothing.
    let (sandbox, step) = (Sandbox::new(), Step::new());
    let output = step
        .call(sandbox.run("strict --iterations 5", &server))
        .run();
    assert_eq!(commands(&output.exits(99)), []);
    assert!(step.summary().is_empty() && step.outputs().is_empty());
}

fn nothing_that_a_target_answers_is_a_command() {
    const BODY: &str = "x\n::error file=a,line=1::injected\r\n  ::add-mask::p95\n##[error]injected\n\
                        passed=true\nEOF\n%0A::warning::injected";
    let server = Server::start(|_| Reply::status(500).body(BODY));
    for flags in ["--ci", "--ci --mix", "--ci --quiet"] {
        let (sandbox, step) = (Sandbox::new(), Step::new());
        let line = format!("journey chatty --iterations 20 --users 2 {flags}");
        let output = step.call(sandbox.run(&line, &server)).run().exits(99);
        let notes = commands(&output);
        assert!(!notes.is_empty());
        for (name, properties, _) in &notes {
            assert!(
                matches!(name.as_str(), "error" | "warning"),
                "{name}\n{output}"
            );
            assert!(properties["file"].ends_with("load.rs"), "{properties:?}");
        }
        let at_login = notes
            .iter()
            .find(|(_, _, text)| text.contains("`login` failed"));
        assert!(
            at_login.is_some(),
            "the step that failed is noted\n{notes:#?}"
        );
        assert_eq!(step.outputs()["passed"], "false");
        assert!(step.outputs().len() < 16, "{:?}", step.outputs());
    }
}

fn what_github_does_not_take_fails_no_run() {
    let server = Server::start(|_| Reply::text("ok"));
    let (sandbox, step) = (Sandbox::new(), Step::new());
    let call = step
        .call(sandbox.run("single --iterations 20 --ci", &server))
        .env("GITHUB_STEP_SUMMARY", step.file("no/such/file"))
        .env("GITHUB_OUTPUT", step.0.path());
    let output = call.run().exits(0);
    let output = output.says(&[
        "warning: could not write",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_OUTPUT",
    ]);
    assert!(!output.stderr.contains("error:"), "{output}");
    let told = output.stderr.matches("which `GITHUB_OUTPUT` names").count();
    assert_eq!(told, 1, "{output}");
    // Set to nothing, they are not there.
    let (sandbox, step) = (Sandbox::new(), Step::new());
    let call = step.call(sandbox.run("single --iterations 20 --ci", &server));
    let call = call.env("GITHUB_STEP_SUMMARY", "").env("GITHUB_OUTPUT", "");
    let output = call.run().exits(0);
    output.says_no("could not write").says_no("GITHUB_");
}

fn several_runs_share_one_summary() {
    const LIMIT: usize = 1024 * 1024;
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let step = Step::new();
    let run = || {
        step.call(sandbox.run("single --iterations 20 --ci", &server))
            .run()
    };
    fs::write(step.file("summary"), "# before").expect("room");
    run().exits(0);
    run().exits(0);
    let text = step.summary();
    assert!(text.starts_with("# before\n"), "{text}");
    assert_eq!(text.matches("<sub>loadtest").count(), 2);
    // Little room is left, then none.
    for (left, told) in [(4_000, true), (100, false)] {
        fs::write(step.file("summary"), "x".repeat(LIMIT - left)).expect("room");
        let output = run().exits(0);
        let text = step.summary();
        assert!(text.len() <= LIMIT, "{}", text.len());
        assert_eq!(text.contains("single"), told);
        assert_eq!(
            output.stderr.contains("the summary of this step is full"),
            !told
        );
    }
}

fn what_prevents_a_run_is_told_too() {
    let broken = "use loadtest::prelude::*;\n\n#[scenario]\nfn broken() {}\n\nloadtest::main!();\n";
    let project = Files::single("ci-broken", broken).create();
    let step = Step::new();
    let output = step.call(project.tool("run", "--ci")).run().exits(101);
    let notes = commands(&output);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].0 == "error" && notes[0].2.contains("do not compile"),
        "{notes:?}"
    );
    let all = step.outputs();
    assert_eq!(
        (&*all["passed"], &*all["exit_code"], &*all["verdict"]),
        ("false", "101", "error")
    );
    assert!(step.summary().contains("do not compile"));
    // One that did not run is no error of the whole.
    let (sandbox, step) = (Sandbox::new(), Step::new());
    let line = "--exact site::load::own_dies --iterations 3 --ci";
    let output = step.call(sandbox.tool("run", line)).run().exits(100);
    let notes = commands(&output);
    assert_eq!(notes[0].1["title"], "site::load::own_dies: DID NOT RUN");
    let all = step.outputs();
    assert_eq!(
        (&*all["verdict"], &*all["exit_code"]),
        ("did_not_run", "100")
    );
}

fn an_old_run_is_told_again() {
    let server = slow();
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("--exact site::load::strict --iterations 20", &server)
        .run();
    output.exits(99);
    let step = Step::new();
    let output = step.call(sandbox.tool("report", "--ci")).run().exits(99);
    assert_eq!(commands(&output)[0].1["file"], "site/tests/load.rs");
    assert_eq!(step.outputs()["exit_code"], "99");
    let run = sandbox.only_run();
    assert!(FILES.iter().all(|file| !run.text(file).is_empty()));
}

fn a_search_is_told_by_its_own_verdict() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(300)));
    let (sandbox, step) = (Sandbox::new(), Step::new());
    let call = sandbox.tool(
        "capacity",
        "site::load::single --ci --max 20/s --from 20/s --min 20/s",
    );
    let call = call
        .args(["--slo", "p95 < 100ms", "--base-url", &server.url()])
        .line("--window 1s --confirm 1s --ramp-up 0s --rest 0s");
    let output = step.call(call).run().exits(99);
    let notes = commands(&output);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].1["title"].contains("capacity NOT MET"),
        "{notes:?}"
    );
    let all = step.outputs();
    assert_eq!(
        (&*all["verdict"], &*all["passed"], &*all["capacity"]),
        ("not_met", "false", "")
    );
}

fn hardly_any_load_is_a_warning() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(50)));
    let (sandbox, step) = (Sandbox::new(), Step::new());
    let call = step.call(sandbox.run("--exact site::load::single --ci", &server));
    let running = call.start();
    wait_for("the load", || (server.requests() > 0).then_some(()));
    // Of ten seconds this is enough to be told.
    running.signal(Signal::INT);
    let output = running.output().exits(105);
    let notes = commands(&output);
    let note = notes
        .iter()
        .find(|(_, properties, _)| properties["title"].contains("hardly any load"));
    let (name, properties, text) = note.expect("it is noted");
    assert_eq!(
        (name.as_str(), &*properties["file"]),
        ("warning", "site/tests/load.rs")
    );
    assert!(
        text.contains("one user") && text.contains("--rate"),
        "{text}"
    );
}

/// GitLab takes what follows a `#` off each line, splits it as a shell would, and takes the first two words.
fn the_metrics_are_read_by_gitlab() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    sandbox
        .run("single --iterations 20 --ci", &server)
        .run()
        .exits(0);
    let text = sandbox.only_run().text("metrics.txt");
    let mut read = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(!line.contains('#'), "{line}");
        assert_eq!(line.matches('"').count() % 2, 0, "{line}");
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let outside: Vec<_> = name.split('"').step_by(2).collect();
        assert!(!outside.concat().contains(' '), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
        read += 1;
    }
    assert!(read > 20, "{text}");
}
