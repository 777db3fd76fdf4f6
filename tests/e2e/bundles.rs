//! Load tests in one file: run where neither their source nor a toolchain is.

use crate::call::Call;
use crate::project::{Files, Project};
use crate::trials;
use flate2::read::GzDecoder;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_bundle_runs_in_an_empty_folder_without_its_source,
        a_bundle_holds_no_source_and_no_secret,
        files_that_a_bundle_cannot_hold_are_refused,
    ]
}

const USERS: &str = "name\nada\ngrace\nlinus\nmargaret\nalan\nbarbara\n";
const NAMES: [&str; 6] = ["ada", "alan", "barbara", "grace", "linus", "margaret"];

const BUNDLED: &str = r#"use loadtest::{File, prelude::*};

// canary-comment
#[response]
struct User {
    name: String,
}

#[scenario(load = iterations(6, users = 3))]
fn visit() {
    #[setup]
    fn note() -> Result<String, std::io::Error> {
        std::fs::read_to_string("data/note.txt")
    }

    #[feed]
    fn user() -> Feed<User> {
        Feed::csv("data/users.csv").stop()
    }

    #[step(post = "/users/{{user.name}}", body = file("data/me.png"))]
    fn send();

    #[step]
    fn tell(note: &String) -> Request {
        Request::post("/notes").body(note.clone())
    }
}

#[scenario(load = iterations(1, users = 1))]
fn hidden_key() {
    #[setup]
    fn upload() -> Result<File, loadtest::FileError> {
        File::read("data/other.bin")
    }

    #[step]
    fn send(upload: &File) -> Request {
        Request::post("/").header("x-key", secret("BUNDLE_TOKEN")).body(upload)
    }
}

loadtest::main!();
"#;

fn bundled(name: &'static str) -> Project {
    Files::single(name, BUNDLED)
        .file("data/users.csv", USERS)
        .file("data/note.txt", "a note")
        .file("data/me.png", "a picture")
        .file("data/other.bin", "canary-other")
        .file("data/unused.csv", "canary-unused")
        .file(".env", "BUNDLE_TOKEN=canary-environment\n")
        .file(
            "loadtest.toml",
            "# canary-remark\n[run]\nseed = 7\n\n[[notify]]\nurl = \"https://hooks.example.com/canary-hook\"\n",
        )
        .create()
}

/// A folder outside of every package, with a bundle in it.
struct Elsewhere(TempDir);

impl Elsewhere {
    fn with_bundle(project: &Project, line: &str) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        project
            .tool("bundle", line)
            .arg("-o")
            .arg(folder.bundle())
            .env("BUNDLE_TOKEN", "canary-variable")
            .run()
            .exits(0);
        folder
    }

    fn bundle(&self) -> PathBuf {
        self.0.path().join("visit.bundle")
    }

    /// The tool, in an empty folder and with no cargo to be found.
    fn tool(&self, line: &str) -> Call {
        let empty = self.0.path().join("empty");
        fs::create_dir_all(&empty).expect("a folder");
        Call::tool(&empty)
            .line(line)
            .arg("--bundle")
            .arg(self.bundle())
            .env("PATH", "")
            .env("CARGO", "/no/cargo")
    }

    fn records(&self) -> Vec<PathBuf> {
        let runs = self.0.path().join("empty/target/loadtest");
        let folders = fs::read_dir(runs).expect("runs");
        let records = folders.map(|folder| folder.expect("a run"));
        // Not the link to the latest one.
        let records = records.filter(|folder| folder.file_type().is_ok_and(|kind| kind.is_dir()));
        records.map(|run| run.path().join("record.json")).collect()
    }
}

/// A folder under another name while this is there.
struct Away(PathBuf);

impl Away {
    fn put(folder: &Path) -> Self {
        fs::rename(folder, folder.with_extension("away")).expect("our own folder");
        Self(folder.to_owned())
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        let _ = fs::rename(self.0.with_extension("away"), &self.0);
    }
}

fn shop(_: &Request) -> Reply {
    Reply::text("ok")
}

fn a_bundle_runs_in_an_empty_folder_without_its_source() {
    let project = bundled("bundled");
    let elsewhere = Elsewhere::with_bundle(&project, "visit");
    let _away = Away::put(project.root());
    let output = elsewhere.tool("list").run().exits(0);
    assert!(output.stdout.contains("visit"), "{output}");
    assert!(!output.stdout.contains("hidden_key"), "{output}");

    let server = Server::recording(shop);
    let base = format!("--base-url {}", server.url());
    elsewhere
        .tool(&format!("setup visit {base}"))
        .run()
        .exits(0)
        .prints(&["Wrote the values of note to"]);
    for shard in ["1/3", "2/3", "3/3"] {
        let line = format!("run visit --shard {shard} --setup-values setup-values.json {base}");
        elsewhere.tool(&line).run().exits(0);
    }
    elsewhere
        .tool(&format!("teardown visit {base}"))
        .run()
        .exits(0);
    let sent = server.recorded();
    let users = sent.iter().filter(|request| request.text() == "a picture");
    let mut rows: Vec<_> = users
        .map(|request| request.target.trim_start_matches("/users/").to_owned())
        .collect();
    rows.sort();
    assert_eq!(rows, NAMES);
    let notes = sent.iter().filter(|request| request.text() == "a note");
    assert_eq!(notes.count(), 6);

    let records = elsewhere.records();
    assert_eq!(records.len(), 3);
    let merged = Call::tool(&elsewhere.0.path().join("empty"))
        .arg("merge")
        .args(records)
        .env("PATH", "")
        .env("CARGO", "/no/cargo");
    merged.run().exits(0);
}

fn a_bundle_holds_no_source_and_no_secret() {
    let project = bundled("bundled-private");
    let elsewhere = Elsewhere::with_bundle(&project, "visit");
    let read = || fs::read(elsewhere.bundle()).expect("the bundle");
    let mut bytes = Vec::new();
    GzDecoder::new(&*read())
        .read_to_end(&mut bytes)
        .expect("a whole archive");
    let holds = |text: &str| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(holds("margaret") && holds("a picture"), "the data is there");
    assert!(!holds("canary"), "what is not of the scenario is not there");
    let headers = bytes
        .chunks(512)
        .filter(|block| block[257..].starts_with(b"ustar"));
    let names = headers.map(|header| {
        let name = header[..100].split(|byte| *byte == 0).next();
        String::from_utf8_lossy(name.unwrap_or_default()).into_owned()
    });
    assert_eq!(
        names.collect::<BTreeSet<_>>(),
        [
            "bundle.json",
            "loadtest.toml",
            "packages/bundled-private/data/me.png",
            "packages/bundled-private/data/note.txt",
            "packages/bundled-private/data/users.csv",
            "packages/bundled-private/loadtest.toml",
            "programs/bundled-private-1",
        ]
        .map(str::to_owned)
        .into()
    );
    // The same again gives the same bytes.
    let again = Elsewhere::with_bundle(&project, "visit");
    assert!(read() == fs::read(again.bundle()).expect("the bundle"));
}

const OUTSIDE: &str = r#"use loadtest::prelude::*;

const NAMES: &str = "data/names.csv";

#[scenario]
fn parent() {
    #[feed]
    fn user() -> Feed<Value> {
        Feed::csv("../users.csv")
    }

    #[step(get = "/{{user.name}}")]
    fn look();
}

#[scenario]
fn computed() {
    #[feed]
    fn user() -> Feed<Value> {
        Feed::csv(NAMES)
    }

    #[step(get = "/{{user.name}}")]
    fn look();
}

#[scenario]
fn missing() {
    #[step(post = "/", body = file("data/missing.png"))]
    fn send();
}

#[scenario(identity = "data/client.pem")]
fn certified() {
    #[step(get = "/")]
    fn look();
}

loadtest::main!();
"#;

fn files_that_a_bundle_cannot_hold_are_refused() {
    let project = Files::single("unbundled", OUTSIDE)
        .file("data/names.csv", "name\nada\n")
        .file("data/client.pem", "canary-key")
        .create();
    let output = project.root().join("target-x.bundle");
    let bundle = |line: &str| project.tool("bundle", line).arg("-o").arg(&output);
    for (line, words) in [
        (
            "parent",
            "reads `../users.csv` (feed `user`), which is outside of its package `unbundled`",
        ),
        (
            "computed",
            "reads a file whose path its source does not show (feed `user`)",
        ),
        (
            "missing",
            "reads `data/missing.png` (step `send`), which cannot be bundled",
        ),
        (
            "certified",
            "reads the private key in `data/client.pem` (`identity`)",
        ),
        (
            "computed --include ..",
            "is outside of the package of the scenarios",
        ),
    ] {
        bundle(line).run().exits(2).says(&[words]);
        assert!(!output.exists(), "{line}");
    }
    bundle("computed --include data/names.csv")
        .run()
        .exits(0)
        .says(&["packages/unbundled/data/names.csv"]);
    fs::remove_file(output).expect("the bundle");
}
