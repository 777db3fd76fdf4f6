//! The card in every format: written, or not at all; true to the run; and read by programs of others.

use crate::call::{Call, wait_for};
use crate::project::{kept, workspace};
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::{Completion, Trial};
use loadtest_tests::{Reply, Server};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![
        all_formats_tell_of_the_same_run,
        a_format_that_cannot_be_written_says_so_and_leaves_nothing,
        no_export_takes_the_place_of_another_or_of_the_record,
        an_old_run_is_graded_anew_by_what_the_command_line_says,
        a_record_of_a_newer_version_says_so,
    ];
    trials.extend(trials![needing "unshare":
        a_full_disk_leaves_no_half_a_format,
    ]);
    trials.extend(trials![needing "xmllint":
        junit_is_well_formed,
    ]);
    trials.extend(trials![needing "cmark-gfm":
        markdown_from_outside_does_nothing_on_github,
    ]);
    trials.extend([
        reading("junitparser", "junit_is_read_by_junitparser", junit_is_read),
        reading(
            "prometheus_client",
            "openmetrics_is_read_by_the_client_of_prometheus",
            openmetrics_is_read,
        ),
        reading("csv", "csv_is_read_by_python", csv_is_read),
        reading("jsonschema", "json_is_valid_to_jsonschema", json_is_valid),
    ]);
    trials
}

/// The formats, and the names of their files in the folder of a run.
const FORMATS: [(&str, &str); 7] = [
    ("html", "report.html"),
    ("pdf", "report.pdf"),
    ("json", "report.json"),
    ("junit", "junit.xml"),
    ("markdown", "report.md"),
    ("csv", "report.csv"),
    ("openmetrics", "metrics.txt"),
];

/// A trial that is left out where Python has no such module.
fn reading(module: &'static str, name: &str, run: fn(&Python)) -> Trial {
    Trial::ignorable_test(format!("reports::{name}"), move || {
        let Some(python) = Python::with(module) else {
            let reason = format!("no `python3` with the module `{module}` is installed");
            return Ok(Completion::ignored_with(reason));
        };
        run(&python);
        Ok(Completion::Completed)
    })
}

/// A Python that has a module: the first in `PATH`, or that of the system.
struct Python(&'static str);

impl Python {
    fn with(module: &str) -> Option<Self> {
        let imports = |python: &&str| {
            let mut command = Command::new(python);
            let output = command.args(["-c", &format!("import {module}")]).output();
            output.is_ok_and(|output| output.status.success())
        };
        let found = ["python3", "/usr/bin/python3"].into_iter().find(imports);
        found.map(Self)
    }

    /// What a reader makes of a file; it panics where the reader does not take it.
    #[track_caller]
    fn read(&self, format: &str, file: &Path) -> Value {
        let call = Call::program(self.0, workspace())
            .arg(workspace().join("tests/fixtures/reports/check.py"))
            .arg(format)
            .arg(file);
        let call = match format {
            "json" => call.arg(workspace().join("docs/report.schema.json")),
            _ => call,
        };
        let output = call.env("PYTHONIOENCODING", "utf-8").run().exits(0);
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output}"))
    }
}

/// The golden files of a format, by the name of what they are of, as files of their own.
fn golden(format: &str) -> (tempfile::TempDir, Vec<(String, PathBuf)>) {
    let export = workspace().join("cargo-loadtest/src/export");
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = Vec::new();
    let kept = [
        export.join("snapshots"),
        export.join(format).join("snapshots"),
    ];
    for entry in kept
        .iter()
        .filter_map(|kept| fs::read_dir(kept).ok())
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((_, of)) = name.split_once(&format!("__tests__{format}_")) else {
            continue;
        };
        let text = fs::read_to_string(entry.path()).expect("a golden file");
        let (_, text) = text.split_once("\n---\n").expect("a head");
        let of = of.trim_end_matches(".snap").to_owned();
        let file = folder.path().join(&of);
        fs::write(&file, text).expect("room");
        files.push((of, file));
    }
    assert!(files.len() > 6, "the golden files of {format}: {files:?}");
    (folder, files)
}

/// The formats of runs of several kinds, each in a folder, with the exit code of the run.
fn exported() -> &'static [(i32, PathBuf)] {
    static EXPORTED: OnceLock<Vec<(i32, PathBuf)>> = OnceLock::new();
    EXPORTED.get_or_init(|| {
        let export = |(at, (sandbox, code)): (usize, (Sandbox, i32))| {
            let folder = kept("reports").join(at.to_string());
            fs::create_dir_all(&folder).expect("room");
            export_all(&sandbox, code, &folder);
            (code, folder)
        };
        runs().into_iter().enumerate().map(export).collect()
    })
}

/// Runs of several kinds, with the exit code of each.
fn runs() -> Vec<(Sandbox, i32)> {
    let server = Server::start(shop);
    let slow = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)));
    let sick = Server::start(|_| Reply::status(500).body("=1+1|<b>\u{202e}\"@team"));
    let mut runs = Vec::new();
    for (line, server, code) in [
        ("journey --iterations 40 --users 2", &server, 0),
        ("strict --iterations 20", &slow, 99),
        ("journey single --iterations 20", &sick, 99),
    ] {
        let sandbox = Sandbox::new();
        let output = sandbox.run(line, server).run();
        output.exits(code);
        runs.push((sandbox, code));
    }
    let sandbox = Sandbox::new();
    let line = "--exact site::load::own site::load::own_dies --iterations 3";
    sandbox.tool("run", line).run().exits(100);
    runs.push((sandbox, 100));
    let sandbox = Sandbox::new();
    let mut running = sandbox
        .run("single --users 2 --duration 1h", &server)
        .start();
    running.wait_until_it_says("[0s]");
    let before = server.requests();
    wait_for("the load", || {
        (server.requests() > before + 5).then_some(())
    });
    running.signal(rustix::process::Signal::INT);
    running.output().exits(105);
    runs.push((sandbox, 105));
    runs
}

/// Writes all formats of the latest run, first into its folder and then into `folder`.
fn export_all(sandbox: &Sandbox, code: i32, folder: &Path) {
    let mut call = sandbox.tool("report", "latest");
    for (format, _) in FORMATS {
        call = call.args(["--export", format]);
    }
    let output = call.run().exits(code);
    for (format, name) in FORMATS {
        let mut lines = output.stdout.lines();
        let told = lines.any(|line| line.starts_with(format) && line.ends_with(name));
        assert!(told, "{format} is said to be in {name}\n{output}");
    }
    let run = sandbox.only_run();
    for (_, name) in FORMATS {
        fs::copy(run.0.join(name), folder.join(name)).expect("room");
    }
}

fn all_formats_tell_of_the_same_run() {
    let schema = fs::read_to_string(workspace().join("docs/report.schema.json")).expect("a schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema that can be used");
    for (code, run) in exported() {
        let text = |name: &str| fs::read_to_string(run.join(name)).expect(name);
        let report: Value = serde_json::from_str(&text("report.json")).expect("JSON");
        let mistakes: Vec<_> = validator
            .iter_errors(&report)
            .map(|error| error.to_string())
            .collect();
        assert!(mistakes.is_empty(), "{mistakes:#?}");
        assert_eq!(report["exit_code"], *code);
        let (junit, csv, metrics, page) = (
            text("junit.xml"),
            text("report.csv"),
            text("metrics.txt"),
            text("report.md"),
        );
        let root = junit.lines().nth(1).expect("a root");
        assert_eq!(
            root.contains("failures=\"0\" errors=\"0\""),
            *code == 0,
            "{root}"
        );
        assert!(
            metrics.contains(&format!("\nloadtest_exit_code {code}\n")),
            "{metrics}"
        );
        assert!(
            page.contains(&format!(" · exit code {code}</sub>")),
            "{page}"
        );
        for card in report["cards"].as_array().expect("cards") {
            let identity = card["identity"].as_str().expect("an identity");
            let journey = csv
                .lines()
                .find(|line| line.contains(&format!(",{identity},journey,")));
            let verdict = card["verdict"].as_str().expect("a verdict");
            assert!(
                journey.is_some_and(|row| row.contains(&format!(",{verdict},"))),
                "{csv}"
            );
            for step in card["steps"].as_array().expect("steps") {
                let name = step["name"].as_str().expect("a name");
                let count = |field: &str| step[field].as_u64().expect("a count");
                let (executed, ok, failed) = (count("executed"), count("ok"), count("failed"));
                let row = csv
                    .lines()
                    .find(|line| line.contains(&format!(",{identity},step,{name},")));
                let cells = format!(",{executed},{ok},{failed},,");
                assert!(
                    row.is_some_and(|row| row.contains(&cells)),
                    "{name}: {cells}\n{csv}"
                );
                for (result, count) in [("ok", ok), ("failed", failed)] {
                    let sample = format!(
                        "loadtest_step_executions_total{{scenario=\"{identity}\",step=\"{name}\",result=\"{result}\"}} {count}\n"
                    );
                    assert!(metrics.contains(&sample), "{sample}{metrics}");
                }
                let case = format!("<testcase name=\"{name}\" classname=\"{identity}\"");
                assert!(junit.contains(&case), "{case}\n{junit}");
                assert!(page.contains(&format!("`{name}`")), "{name}\n{page}");
            }
        }
    }
    // One of them takes the place of the card, and one goes elsewhere.
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = folder.path().join("comment.md");
    let output = sandbox
        .run(
            "single --iterations 9 --export junit --export csv=-",
            &server,
        )
        .arg("--export")
        .arg(format!("markdown={}", elsewhere.display()))
        .run()
        .exits(0);
    assert!(
        output
            .stdout
            .starts_with("run_id,started_at,scenario,kind,"),
        "{output}"
    );
    assert_eq!(output.stdout.lines().count(), 3, "{output}");
    let page = fs::read_to_string(elsewhere).expect("the page");
    let run = sandbox.only_run();
    assert!(page.contains(&run.record().run_id), "{page}");
    assert!(run.text("junit.xml").ends_with("</testsuites>\n"));
    assert!(!run.files().contains(&"report.md".into()));
}

/// A sandbox with a run.
fn ran() -> Sandbox {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    sandbox.run("single --iterations 5", &server).run().exits(0);
    sandbox
}

fn a_format_that_cannot_be_written_says_so_and_leaves_nothing() {
    let sandbox = ran();
    let folder = tempfile::tempdir().expect("a folder");
    let export = |format: &str, path: &Path| {
        let call = sandbox.tool("report", "latest --export");
        call.arg(format!("{format}={}", path.display())).run()
    };
    let full = Path::new("/dev/full");
    for (format, name) in FORMATS {
        let missing = folder.path().join("missing").join(name);
        export(format, &missing)
            .exits(2)
            .has_one_error()
            .says(&[&*missing.to_string_lossy()]);
        export(format, folder.path()).exits(2).has_one_error();
        // Where it is the device and not somebody's file.
        if fs::metadata(full).is_ok_and(|there| !there.is_file()) {
            export(format, full)
                .exits(1)
                .has_one_error()
                .says(&["/dev/full"]);
        }
    }
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0, "nothing is left there");
}

fn no_export_takes_the_place_of_another_or_of_the_record() {
    let sandbox = ran();
    let run = sandbox.only_run();
    let record = run.text("record.json");
    let in_place = run.0.join("record.json");
    let folder = tempfile::tempdir().expect("a folder");
    let both = folder.path().join("both");
    let (one, other) = (both.display(), folder.path().join("./both"));
    for exports in [
        format!("--export json={one} --export csv={}", other.display()),
        "--export csv --export json=- --export html=-".to_owned(),
        format!("--export json={}", in_place.display()),
    ] {
        let line = format!("latest {exports}");
        sandbox.tool("report", &line).run().exits(2).has_one_error();
    }
    assert_eq!(run.text("record.json"), record, "the record is as it was");
    assert!(!both.exists());
}

fn an_old_run_is_graded_anew_by_what_the_command_line_says() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    sandbox
        .run("single --iterations 20", &server)
        .run()
        .exits(0);
    let run = sandbox.only_run();
    let name = run.0.file_name().expect("a name").to_string_lossy();
    let begin = &name[..name.len() - 2];
    let grade = |flags: &str| {
        let line = format!("{begin} {flags} --export json=-");
        let output = sandbox.tool("report", &line).run().exits(0);
        let json: Value = serde_json::from_str(&output.stdout).expect("JSON");
        let step = &json["cards"][0]["steps"][0]["grade"];
        (
            step["target_us"].as_u64().expect("a target"),
            step["budget"].as_f64().expect("a budget"),
            step["score"].as_f64().expect("a score"),
        )
    };
    let (_, budget, score) = grade("");
    assert!(score > 0.5, "{score}");
    // Nothing on a socket is that quick.
    let (target, same, anew) = grade("--apdex 1us");
    assert_eq!((target, same), (1, budget));
    assert!(anew < score, "{anew}");
    let (_, other, _) = grade("--budget 7%");
    assert!((other - 0.07).abs() < 1e-9, "{other}");
    sandbox
        .tool("report", "latest --budget 7%")
        .run()
        .exits(0)
        .prints(&["Graded again, with an error budget of 7.0 % for every step."]);
    // The gate is by what is asked for now.
    sandbox
        .tool("report", "latest --min-grade F")
        .run()
        .exits(0)
        .prints(&[
            "at least F required",
            "Graded again, with at least F required.",
        ]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let mut call = sandbox.tool("report", "latest --apdex 1us --min-grade A+");
    for (format, name) in FORMATS {
        let path = file(name);
        call = call
            .arg("--export")
            .arg(format!("{format}={}", path.display()));
    }
    call.run().exits(99).prints(&[
        "at least A+ required",
        "A+ or better is required",
        "exit code 99",
    ]);
    let text = |name: &str| fs::read_to_string(file(name)).expect(name);
    let json: Value = serde_json::from_str(&text("report.json")).expect("JSON");
    assert_eq!(json["exit_code"], 99);
    assert_eq!(json["cards"][0]["reasons"][0]["kind"], "min_grade");
    assert_eq!(json["cards"][0]["regraded"]["apdex_us"], 1);
    for (name, says) in [
        ("junit.xml", "type=\"min_grade\""),
        ("junit.xml", "value=\"apdex=0.001 ms, min_grade=A+\""),
        ("report.csv", ",min_grade,"),
        ("report.csv", "\"apdex=0.001 ms, min_grade=A+\""),
        ("metrics.txt", "kind=\"min_grade\"} 1"),
        ("metrics.txt", "regraded=\"apdex=0.001 ms, min_grade=A+\""),
        ("report.md", "at least A+ required"),
        ("report.html", "at least A+ required"),
    ] {
        assert!(text(name).contains(says), "{says}\n{}", text(name));
    }
    for flags in [
        "--min-grade Z",
        "--apdex 0ms",
        "--apdex soon",
        "--budget 200%",
        "--budget -1%",
    ] {
        let line = format!("latest {flags}");
        sandbox.tool("report", &line).run().exits(2);
    }
}

fn a_record_of_a_newer_version_says_so() {
    let sandbox = ran();
    let path = sandbox.only_run().0.join("record.json");
    let text = fs::read_to_string(&path).expect("a record");
    let newer = text.replacen(
        "\"schema_version\":1",
        "\"schema_version\":7,\"shape\":[]",
        1,
    );
    assert_ne!(newer, text);
    fs::write(&path, newer).expect("room");
    sandbox
        .tool("report", "latest --export pdf")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["record.json", "version 7"]);
}

fn a_full_disk_leaves_no_half_a_format() {
    let sandbox = ran();
    // What is on the disk goes with the namespace.
    let script = "mkdir -p full && mount -t tmpfs -o size=4k none full && head -c 4096 /dev/zero >full/filling; \
                  \"$0\" \"$@\"; code=$?; echo left: $(ls -A full) >&2; exit $code";
    let mut call = sandbox
        .wrapped("unshare", &["-Urm", "sh", "-c", script])
        .line("report latest");
    for (format, name) in FORMATS {
        call = call.arg("--export").arg(format!("{format}=full/{name}"));
    }
    let output = call.run().exits(1).prints(&["site::load::single"]);
    let told: Vec<String> = FORMATS
        .iter()
        .map(|(_, name)| format!("could not write `full/{name}`"))
        .collect();
    output
        .says(&told.iter().map(String::as_str).collect::<Vec<_>>())
        .says(&["left: filling\n", "No space left on device"]);
}

fn junit_is_well_formed() {
    let (_folder, files) = golden("junit");
    for (name, file) in files {
        let output = Call::program("xmllint", workspace())
            .arg("--noout")
            .arg(file)
            .run()
            .exits(0);
        assert_eq!(output.stderr, "", "{name}");
    }
}

fn markdown_from_outside_does_nothing_on_github() {
    let (_folder, files) = golden("markdown");
    for (name, file) in files {
        let page = fs::read_to_string(&file).expect("a golden file");
        let call = Call::program("cmark-gfm", workspace());
        let line = "--unsafe -e table -e autolink -e strikethrough";
        let html = call.line(line).arg(file).run().exits(0).stdout;
        for element in ["<a ", "<img", "<script", "<b>", "<del", "<em"] {
            assert!(!html.contains(element), "{name}: {element}\n{html}");
        }
        // Everybody and everything is named within code, where the site looks for nobody.
        let outside: String = html
            .split("<code>")
            .map(|part| part.split_once("</code>").map_or(part, |(_, after)| after))
            .collect();
        for sign in ["@", "#1", "http"] {
            assert!(!outside.contains(sign), "{name}: {sign}\n{outside}");
        }
        let rows = page.lines().filter(|line| line.starts_with('|')).count();
        let heads = page
            .lines()
            .filter(|line| line.starts_with("|---") || line.starts_with("|--:"));
        let all = html.matches("<tr>").count();
        assert_eq!(
            all,
            rows - heads.count(),
            "{name}: every row is in a table\n{html}"
        );
    }
}

fn junit_is_read(python: &Python) {
    let (_folder, files) = golden("junit");
    for (name, file) in files {
        let found = python.read("junit", &file);
        let green = found["failures"] == 0 && found["errors"] == 0;
        assert_eq!(
            green,
            ["passed", "single", "merged", "search", "absent", "streamed"].contains(&&*name),
            "{name}: {found}"
        );
    }
    for (code, run) in exported() {
        let found = python.read("junit", &run.join("junit.xml"));
        assert_eq!(
            found["failures"] == 0 && found["errors"] == 0,
            *code == 0,
            "{found}"
        );
    }
}

fn openmetrics_is_read(python: &Python) {
    let (_folder, files) = golden("openmetrics");
    for (name, file) in files {
        let code = match &*name {
            "passed" | "single" | "merged" | "search" | "absent" | "streamed" => 0,
            "failed" | "observed" | "huge" | "compared" | "regressed" | "refused"
            | "graded_too_low" => 99,
            "empty" | "nothing" => 3,
            "interrupted" => 105,
            _ => 100,
        };
        let found = python.read("openmetrics", &file);
        assert_eq!(found["loadtest_exit_code{}"], f64::from(code), "{name}");
    }
    for (code, run) in exported() {
        let found = python.read("openmetrics", &run.join("metrics.txt"));
        assert_eq!(found["loadtest_exit_code{}"], f64::from(*code), "{found}");
    }
}

fn csv_is_read(python: &Python) {
    let (_folder, files) = golden("csv");
    for (_, file) in files {
        python.read("csv", &file);
    }
    for (_, run) in exported() {
        let rows = python.read("csv", &run.join("report.csv"));
        let report = fs::read_to_string(run.join("report.json")).expect("the report");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        let card = &report["cards"][0];
        assert_eq!(rows[0]["scenario"], card["identity"]);
        assert_eq!(rows[1]["name"], card["steps"][0]["name"]);
        let p95 = &card["steps"][0]["response"]["p95_us"];
        assert_eq!(rows[1]["p95_us"], *p95.to_string().replace("null", ""));
    }
}

fn json_is_valid(python: &Python) {
    for (_, run) in exported() {
        let mistakes = python.read("json", &run.join("report.json"));
        assert_eq!(mistakes, Value::Array(Vec::new()));
    }
}
