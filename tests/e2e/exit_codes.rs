//! The exit codes, each by a real run or its real cause, and what never passes whatever is asked for.

use crate::call::{Call, Output, wait_for};
use crate::project::Files;
use crate::site::{RunFolder, Sandbox, assert_balanced, total};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{ClosedPort, Reply, Server};
use rustix::process::Signal;
use serde_json::json;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        each_exit_code_has_its_cause,
        the_gravest_of_several_causes_wins,
        a_regression_fails_the_gate,
        what_is_invalid_empty_or_interrupted_never_passes,
        a_least_grade_is_kept_or_not,
        a_grade_that_is_none_is_told_once,
        a_run_whose_store_takes_no_record_is_among_the_temporary_files,
        a_folder_whose_path_is_not_utf8_is_named,
    ]
}

/// What a run can meet.
#[derive(Debug, Clone, Copy)]
enum Meets {
    /// Answers at once.
    Swift,
    /// Answers after 20 ms: too late for `strict`.
    Slow,
    /// Answers after 600 ms: beyond the target time of the grade, within every threshold of `single`.
    Sluggish,
    /// Nobody there.
    Nobody,
    /// An address that may not be tested.
    Foreign,
}

impl Meets {
    fn server(self) -> Server {
        Server::start(move |_| match self {
            Self::Slow => Reply::text("ok").delay(Duration::from_millis(20)),
            Self::Sluggish => Reply::text("ok").delay(Duration::from_millis(600)),
            _ => Reply::text("ok"),
        })
    }

    fn url(self, server: &Server, closed: &ClosedPort) -> String {
        match self {
            Self::Foreign => format!("http://0.0.0.0:{}", server.address().port()),
            Self::Nobody => format!("http://{}", closed.address()),
            _ => server.url(),
        }
    }
}

/// A run that measures nothing: the first arrival is due after its end.
const EMPTY: &str = "single --rate 1/h --ramp-up 900ms --duration 1s";
/// A run whose step keeps its thread, in two seconds and more.
const INVALID: &str = "blocking --iterations 8 --users 1";

/// Makes a run; one that is to be INVALID is judged.
fn run(code: i32, meets: Meets, line: &str) -> (Sandbox, Output) {
    let (server, closed) = (meets.server(), ClosedPort::new());
    let sandbox = Sandbox::new();
    let url = meets.url(&server, &closed);
    let call = sandbox.tool("run", line).args(["--base-url", &url]);
    let call = if code == 102 { call.judged() } else { call };
    let output = call.run();
    (sandbox, output)
}

fn each_exit_code_has_its_cause() {
    let strict = "--exact site::load::strict --iterations 20";
    for (code, meets, line) in [
        (0, Meets::Swift, "single --iterations 20"),
        (2, Meets::Swift, "single --rate 0/s"),
        (3, Meets::Swift, "no-such-scenario"),
        (3, Meets::Swift, EMPTY),
        (99, Meets::Slow, strict),
        (
            99,
            Meets::Sluggish,
            "single --iterations 4 --users 4 --min-grade B",
        ),
        (100, Meets::Nobody, "single --iterations 4"),
        (102, Meets::Swift, INVALID),
        (103, Meets::Foreign, "single --iterations 4"),
    ] {
        let (sandbox, output) = run(code, meets, line);
        let output = output.exits(code);
        let kept = sandbox.runs();
        assert_eq!(
            kept.is_empty(),
            code == 2 || line.starts_with("no-"),
            "{output}"
        );
        if let [_] = kept[..] {
            sandbox.tool("report", "").run().exits(code);
        }
    }
    // Without a server of the test's own.
    let sandbox = Sandbox::new();
    let own = "--exact site::load::own_dies --iterations 3";
    sandbox.tool("run", own).run().exits(100);
    let broken = "use loadtest::prelude::*;\n\n#[scenario]\nfn broken() {}\n\nloadtest::main!();\n";
    let project = Files::single("exit-codes", broken).create();
    project.tool("run", "").run().exits(101);
    let sandbox = Sandbox::new();
    let server = Meets::Swift.server();
    let call = sandbox.run("single --iterations 4", &server);
    call.output_without_room().exits(1);
    interrupted(&Sandbox::new(), "single --users 2", &Meets::Swift.server()).exits(105);
}

/// A run that is stopped once something was measured.
fn interrupted(sandbox: &Sandbox, line: &str, server: &Server) -> Output {
    let mut running = sandbox
        .run(&format!("{line} --duration 1h"), server)
        .start();
    running.wait_until_it_says("[0s]");
    let before = server.requests();
    wait_for("the load", || {
        (server.requests() > before + 5).then_some(())
    });
    running.signal(Signal::INT);
    running.output()
}

fn the_gravest_of_several_causes_wins() {
    let names = |all: &str| {
        let mut line = "--exact".to_owned();
        for name in all.split(' ') {
            line = format!("{line} site::load::{name}");
        }
        line
    };
    let server = Meets::Slow.server();
    for (code, all) in [(99, "single strict"), (102, "strict blocking")] {
        let line = format!("{} --users 1 --iterations 8", names(all));
        let sandbox = Sandbox::new();
        let call = sandbox.run(&line, &server);
        let call = if code == 102 { call.judged() } else { call };
        call.run().exits(code);
        assert_eq!(sandbox.only_run().record().scenarios.len(), 2);
    }
    // A target that does not start is graver than one that is, and a lack of any graver than that.
    for (code, all) in [(100, "own own_dies"), (2, "single own_dies")] {
        let sandbox = Sandbox::new();
        let line = names(all) + " --iterations 3";
        sandbox.tool("run", &line).run().exits(code);
    }
    // What is sent elsewhere is graver than a threshold that does not hold.
    let server = Server::start(|request| match request.path.as_str() {
        "/where" => Reply::json(r#"{"url":"http://0.0.0.0:9/"}"#),
        _ => Reply::text("ok").delay(Duration::from_millis(20)),
    });
    let sandbox = Sandbox::new();
    let line = names("strict elsewhere") + " --iterations 20";
    sandbox.run(&line, &server).run().exits(103);
    // One was stopped after another had failed: nobody knows what it would have come to.
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let server = Server::start(move |request| {
        if request.path == "/endless" {
            let _released = held.lock().expect("one request at a time").recv();
        }
        Reply::text("ok").delay(Duration::from_millis(20))
    });
    let sandbox = Sandbox::new();
    let line = names("strict endless") + " --users 1 --iterations 8";
    let mut running = sandbox.run(&line, &server).start();
    wait_for("the second one", || {
        (server.requests_to("/endless") > 0).then_some(())
    });
    running.signal(Signal::INT);
    running.wait_until_it_says("stopping");
    drop(release);
    running.output().exits(105);
}

/// Says of the only run that a figure became worse than that of a baseline.
fn compare(sandbox: &Sandbox, outcome: &serde_json::Value) {
    let folder = sandbox.only_run().0;
    let text = std::fs::read_to_string(folder.join("record.json")).expect("a record");
    let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut compared = outcome.clone();
    compared["baseline"] = json!("main");
    let comparison = json!({
        "run_id": record["run_id"],
        "scenarios": { "site::load::single": compared },
    });
    std::fs::write(folder.join("comparison.json"), comparison.to_string()).expect("our own file");
}

fn a_regression_fails_the_gate() {
    let figure = json!({
        "figure": "p95", "base": 100_000.0, "new": 150_000.0, "change": 0.5,
        "interval": [0.4, 0.6], "detectable": 0.1, "verdict": "regressed"
    });
    let compared = |verdict: &str| {
        let mut figure = figure.clone();
        figure["verdict"] = json!(verdict);
        json!({
            "outcome": "compared", "scenario": "site::load::single", "base": ["a"], "new": "b",
            "margin": { "relative": 0.1, "time_us": 300, "errors": 0.005 },
            "subjects": [{ "step": "ask", "skipped": null, "figures": [figure] }]
        })
    };
    let (sandbox, output) = run(0, Meets::Swift, "single --iterations 20");
    output.exits(0);
    for (code, outcome) in [
        (99, compared("regressed")),
        (0, compared("inconclusive")),
        (0, compared("unchanged")),
        (0, json!({ "outcome": "absent" })),
    ] {
        compare(&sandbox, &outcome);
        sandbox.tool("report", "").run().exits(code);
    }
}

fn what_is_invalid_empty_or_interrupted_never_passes() {
    let server = Meets::Swift.server();
    let folder = tempfile::tempdir().expect("a folder");
    let export = folder.path().join("report.md");
    let markdown = format!("--export markdown={}", export.display());
    for flags in [
        "--min-grade F",
        "--quiet --export json=-",
        "--mix --ci",
        "--ci --export junit=- --quiet --color always",
        &markdown,
    ] {
        let with = |line: &str| format!("{line} {flags}");
        let run = |line: &str| Sandbox::new().run(&with(line), &server).judged().run();
        run(EMPTY).exits(3);
        run(INVALID).exits(102);
        let sandbox = Sandbox::new();
        let stopped = || sandbox.run(&with("single --users 2 --duration 1h"), &server);
        let running = stopped().start();
        let before = server.requests();
        wait_for("the load", || {
            (server.requests() > before + 5).then_some(())
        });
        running.signal(Signal::INT);
        running.output().exits(105);
    }
}

fn a_least_grade_is_kept_or_not() {
    let server = Meets::Slow.server();
    // Every answer takes longer than four times the one target, and none as long as the other.
    for (code, target, grade) in [
        (0, "1ms", "F"),
        (99, "1ms", "d-"),
        (99, "1ms", "B"),
        (99, "1ms", "A+"),
        (0, "1h", "d-"),
        (0, "1h", "A+"),
    ] {
        let sandbox = Sandbox::with(&format!("[grading]\napdex = \"{target}\"\n"));
        let line = format!("single --iterations 4 --users 4 --min-grade {grade}");
        let output = sandbox.run(&line, &server).run().exits(code);
        let words = format!("{} or better is required", grade.to_uppercase());
        assert_eq!(output.stdout.contains(&words), code == 99, "{output}");
        assert!(sandbox.record().start.plan.min_grade.is_some());
    }
}

fn a_grade_that_is_none_is_told_once() {
    for grade in ["E", "", "A++", "7", "-1"] {
        let sandbox = Sandbox::new();
        let call: Call = sandbox.tool("run", "single").arg("--min-grade").arg(grade);
        call.run()
            .exits(2)
            .has_one_error()
            .says(&["--min-grade", "A+"]);
        assert!(sandbox.runs().is_empty());
    }
}

fn a_run_whose_store_takes_no_record_is_among_the_temporary_files() {
    let sandbox = Sandbox::new();
    let store = sandbox.root().join("runs");
    let server = Server::start(move |request| {
        if request.sequence == 2 {
            std::fs::remove_dir_all(&store).expect("the store");
            std::fs::write(&store, "a file").expect("a file in its place");
        }
        Reply::text("ok")
    });
    let temporary = tempfile::tempdir().expect("a folder");
    let output = sandbox
        .run("single --iterations 5 --users 1", &server)
        .env("TMPDIR", temporary.path())
        .run()
        .exits(1)
        .says(&["could not write `", "record and report are in `"]);
    let mut left = std::fs::read_dir(temporary.path()).expect("the folder");
    let folder = left.next().expect("one is left").expect("readable").path();
    assert!(left.next().is_none(), "one folder\n{output}");
    let mut runs = std::fs::read_dir(&folder).expect("the folder");
    let run = RunFolder(runs.next().expect("a run").expect("readable").path());
    output.prints(&[&run.0.join("report.html").display().to_string()]);
    run.has_page();
    let record = run.scenario();
    assert_balanced(&record);
    assert_eq!(total(&record).journey.ok, 5);
    let report = sandbox.call().arg("report").arg(&run.0).run();
    report.exits(0).prints(&["single"]);
}

fn a_folder_whose_path_is_not_utf8_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"odd-\xff"));
    std::fs::create_dir(&odd).expect("a folder in it");
    for command in ["list", "run", "report", "config"] {
        Call::tool(&odd)
            .arg(command)
            .run()
            .exits(2)
            .says(&["/odd-\u{fffd}` is not UTF-8", "help: rename the folder"])
            .has_one_error();
    }
}
