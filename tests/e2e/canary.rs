//! Random secrets in every place, every command over them, and then a search of everything that was
//! written: by either half of the secret, which most escapes do not change, and by the other forms of it:
//! Base64, hexadecimal, percent, JSON, reversed.

use crate::baselines::stretch_to_a_minute;
use crate::call::{Call, Output, wait_for};
use crate::ci::Step;
use crate::project::{Files, Project, all_files, dependency, header, kept};
use crate::project::{LOAD_TEST, STANDS_ALONE, built_load_test};
use crate::site::RunFolder;
use crate::smoke::smoke;
use crate::trial::{is_installed, trials};
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use rustix::process::Signal;
use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::Read as _;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        the_search_finds_what_it_looks_for,
        nothing_that_is_written_holds_a_secret,
        a_killed_run_leaves_no_secret,
        a_test_without_its_secret_is_ignored,
        a_run_without_its_secret_sends_nothing,
        a_secret_that_only_code_knows_ends_the_run,
        a_secret_is_read_from_a_file,
    ]
}

/// As much work as two users do in a minute, which is the shortest run that becomes a baseline.
const WORK: &str = "leaky --iterations 122 --users 2";

pub(crate) fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let manifest = format!(
            "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
            header("canary"),
            dependency()
        );
        Files::new("canary")
            .file("Cargo.toml", manifest)
            .file("src/lib.rs", "//! Nothing.\n")
            .file("tests/load.rs", include_str!("../fixtures/canary/load.rs"))
            .create()
    })
}

/// A secret: random letters with what is escaped between them.
#[derive(Debug, Clone)]
struct Canary {
    value: String,
    /// The random parts of it.
    cores: [String; 2],
}

impl Canary {
    fn new() -> Self {
        let core = || format!("{:016x}", RandomState::new().build_hasher().finish());
        let cores = [core(), core()];
        let value = format!("{} \"q'+/=ü%41\\&<>{}", cores[0], cores[1]);
        Self { value, cores }
    }

    /// Everything that shows a part of it.
    fn traces(&self) -> Vec<Vec<u8>> {
        let mut traces = Vec::new();
        for core in &self.cores {
            let bytes = core.as_bytes();
            traces.push(bytes.to_vec());
            traces.push(bytes.iter().rev().copied().collect());
            let escapes = ["%", "\\x", "\\u00", "&#x"].into_iter();
            traces.extend(escapes.map(|before| escape_all(bytes, before).into_bytes()));
            let hex = hexadecimal(bytes);
            traces.push(hex.to_uppercase().into_bytes());
            traces.push(hex.into_bytes());
            // Three letters are four of Base64, wherever they begin.
            traces.extend((0..3).map(|begin| base64(&bytes[begin..begin + 12])));
        }
        traces
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    escape_all(bytes, "")
}

/// Each byte in hexadecimal digits, after what makes them an escape.
fn escape_all(bytes: &[u8], before: &str) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{before}{byte:02x}");
        text
    })
}

/// Of a number of bytes that three divides.
fn base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let padded = |chunk: &[u8]| {
        let at = |i: usize| u32::from(*chunk.get(i).unwrap_or(&0));
        (at(0) << 16) | (at(1) << 8) | at(2)
    };
    let letters = bytes.chunks(3).flat_map(|chunk| {
        let bits = padded(chunk);
        [18, 12, 6, 0].map(|shift| LETTERS[((bits >> shift) & 63) as usize])
    });
    letters.collect()
}

/// Where `bytes` show a secret, with what is around it.
fn leaks(bytes: &[u8], canaries: &[&Canary]) -> Vec<String> {
    let mut found = Vec::new();
    for trace in canaries.iter().flat_map(|canary| canary.traces()) {
        for at in (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&trace)) {
            let around = at.saturating_sub(120)..(at + 60).min(bytes.len());
            found.push(String::from_utf8_lossy(&bytes[around]).into_owned());
        }
    }
    found
}

/// The file, and what is compressed in it.
fn contents(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).expect("a file");
    let mut all = Vec::new();
    let mut text = Vec::new();
    if flate2::read::GzDecoder::new(&*bytes)
        .read_to_end(&mut text)
        .is_ok()
    {
        all.push(text);
    }
    if path.extension().is_some_and(|extension| extension == "pdf") {
        let mut streams = 0;
        for at in 0..bytes.len() {
            let mut stream = Vec::new();
            let Some(rest) = bytes[at..].strip_prefix(b"stream\n") else {
                continue;
            };
            let mut decoder = flate2::read::ZlibDecoder::new(rest);
            streams += usize::from(decoder.read_to_end(&mut stream).is_ok());
            all.push(stream);
        }
        if is_installed("pdftotext") {
            let folder = path.parent().expect("a folder");
            let output = Call::program("pdftotext", folder).arg(path).arg("-").run();
            assert!(output.stdout.contains("leaky"), "{output}");
            all.push(output.stdout.replace(['\n', ' '], "").into_bytes());
            all.push(output.stdout.into_bytes());
        } else {
            assert!(streams > 0, "{}: compressed otherwise", path.display());
        }
    }
    all.push(bytes);
    all
}

/// A place of its own in the project, with a secret.
struct Scene {
    folder: TempDir,
    /// What the environment holds.
    canary: Canary,
    /// What the target gives out.
    session: Canary,
    target: Server,
    receiver: Server,
    printed: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        let (canary, session) = (Canary::new(), Canary::new());
        let target = Server::recording({
            let (canary, session) = (canary.clone(), session.clone());
            move |request| answer(request, &canary.value, &session.value)
        });
        let receiver = Server::recording(|_| Reply::text("ok"));
        let folder = tempfile::Builder::new()
            .prefix("sandbox-")
            .tempdir_in(project().root())
            .expect("a folder in the project");
        let configuration = format!(
            "[store]\ndirectory = \"runs\"\n\n\
             [[notify]]\nurl = \"{0}/json\"\n\n[[notify]]\nurl = \"{0}/slack\"\nformat = \"slack\"\n",
            receiver.url()
        );
        fs::write(folder.path().join("loadtest.toml"), configuration).expect("the configuration");
        Self {
            folder,
            canary,
            session,
            target,
            receiver,
            printed: Vec::new(),
        }
    }

    fn call(&self, command: &str, line: &str) -> Call {
        let call = self.call_without_secret(command, line);
        call.env("CANARY", &self.canary.value)
    }

    fn call_without_secret(&self, command: &str, line: &str) -> Call {
        let call = Call::tool(self.folder.path()).arg(command);
        let call = if crate::project::builds(command) {
            call.arg("--binary").arg(built_load_test(project().root()))
        } else {
            call
        };
        call.line(line)
    }

    fn run(&self, line: &str) -> Call {
        let call = self.call("run", line);
        call.args(["--base-url", &self.target.url()])
    }

    /// The load test by itself, as `cargo test` starts it.
    fn smoke(&self, line: &str) -> Call {
        smoke(project(), line)
            .env("CANARY", &self.canary.value)
            .env("LOADTEST_BASE_URL", self.target.url())
    }

    /// Keeps what was printed, to be searched.
    fn note(&mut self, output: Output) -> Output {
        self.printed.push(output.to_string());
        output
    }

    fn leaks(&self, bytes: &[u8]) -> Vec<String> {
        leaks(bytes, &[&self.canary, &self.session])
    }

    /// Nothing that was printed, sent to others or left in a file shows a secret.
    #[track_caller]
    fn is_clean(&self, outside: &[&Path]) {
        for printed in &self.printed {
            let leaks = self.leaks(printed.as_bytes());
            assert!(leaks.is_empty(), "{leaks:#?}\nis in\n{printed}");
        }
        for told in self.receiver.recorded() {
            let head = format!("{} {:?}", told.target, told.headers);
            let leaks = [self.leaks(&told.body), self.leaks(head.as_bytes())].concat();
            assert!(leaks.is_empty(), "a webhook is told {leaks:#?}");
        }
        let roots = [self.folder.path()];
        for root in roots.iter().chain(outside) {
            for file in all_files(root) {
                let path = root.join(file);
                for content in contents(&path) {
                    let leaks = self.leaks(&content);
                    assert!(leaks.is_empty(), "{} shows {leaks:#?}", path.display());
                }
            }
        }
    }
}

/// Gives everything back in every form it can think of.
fn answer(request: &Request, canary: &str, session: &str) -> Reply {
    let echo = format!(
        "{} {:?} {}",
        request.target,
        request.headers,
        request.text()
    );
    let json = |value: &str| serde_json::to_string(value).expect("JSON");
    match request.path.as_str() {
        path if path.starts_with("/open/") => Reply::json(format!("{{\"id\":{}}}", json(session))),
        "/form" => Reply::status(303).header("location", format!("/ok?to={}", percent(canary))),
        "/ok" => Reply::text("ok").header("set-cookie", "seen=1"),
        "/echo" => Reply::json(json(session)).header("x-echo", session),
        _ => {
            let hex = hexadecimal(canary.as_bytes());
            let base64 = base64(format!("ada:{canary}").as_bytes());
            let base64 = String::from_utf8_lossy(&base64).into_owned();
            let body = format!(
                "{canary} {} {} {} {hex} {base64} {echo}",
                percent(session),
                json(session),
                json(&json(canary))
            );
            Reply::status(500)
                .header("x-reason", canary)
                .header("set-cookie", format!("key={}", percent(canary)))
                .body(body)
        }
    }
}

fn percent(text: &str) -> String {
    let encode = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02x}"),
    };
    text.bytes().map(encode).collect()
}

fn the_search_finds_what_it_looks_for() {
    let canary = Canary::new();
    let [core, _] = &canary.cores;
    for before in ["", "a", "ab"] {
        let text = base64(format!("{before}{core}xx").as_bytes());
        assert!(!leaks(&text, &[&canary]).is_empty(), "{before}");
    }
    assert!(!leaks(percent(&canary.value).as_bytes(), &[&canary]).is_empty());
    let reversed: String = core.chars().rev().collect();
    let all_escaped = escape_all(core.as_bytes(), "%");
    let json = escape_all(core.as_bytes(), "\\u00");
    for text in [reversed, all_escaped, json] {
        assert!(!leaks(text.as_bytes(), &[&canary]).is_empty(), "{text}");
    }
    assert!(leaks(b"nothing of it", &[&canary]).is_empty());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("record.json.gz");
    let file = fs::File::create(&path).expect("a file");
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, canary.value.as_bytes()).expect("room");
    encoder.finish().expect("room");
    let all = contents(&path);
    assert!(
        all.iter()
            .any(|content| !leaks(content, &[&canary]).is_empty())
    );
}

fn nothing_that_is_written_holds_a_secret() {
    let mut scene = Scene::new();
    let step = Step::new();

    let test = scene.smoke("leaky").run().exits(101);
    let test = scene
        .note(test)
        .prints(&["[secret:CANARY]", "step `built` failed"]);
    test.prints(&["[secret:answer]"]).says(&["[secret:CANARY]"]);
    let test = scene.smoke("quiet").run().exits(0);
    scene.note(test).says(&["200 OK [secret:CANARY]"]);
    // The secrets were sent, and came back.
    let sent = scene.target.recorded();
    let opened = sent
        .iter()
        .find(|request| request.path.starts_with("/open/"));
    let opened = opened.expect("a session was opened");
    let said = format!("is {}.", scene.canary.value);
    assert_eq!(opened.header("x-plain"), Some(&*said));
    let body = opened.text();
    assert!(body.contains(&scene.canary.cores[1]), "{body}");
    let refused = sent.iter().find(|request| request.path == "/refused");
    let refused = refused.expect("a request was refused");
    assert_eq!(refused.header("x-session"), Some(&*scene.session.value));
    assert_eq!(refused.header("x-own"), Some(&*scene.canary.value));

    let exports = "--export html --export pdf --export json --export junit --export markdown --export csv \
                   --export openmetrics";
    let other = scene.run(WORK).run();
    scene.note(other.exits(99));
    let line = format!("{WORK} --ci {exports}");
    let run = step.call(scene.run(&line)).run();
    scene
        .note(run.exits(99))
        .says(&["[secret:CANARY]", "pieces: [secret:answer]"]);
    let files: Vec<_> = all_files(scene.folder.path())
        .into_iter()
        .filter(|file| file.ends_with("record.json"))
        .map(|file| scene.folder.path().join(file))
        .collect();
    let [file, newer] = files.as_slice() else {
        panic!("two records: {files:?}");
    };
    let record = fs::read_to_string(file).expect("text");
    for shown in [
        "for want of [secret:CANARY]",
        "saw \\\"[secret:CANARY]\\\"",
        "own [secret:CANARY]",
        "[secret:answer]",
    ] {
        assert!(record.contains(shown), "the record lacks {shown}: {record}");
    }
    let [older, newer] = [file, newer].map(|file| {
        let folder = file.parent().expect("the folder of the run");
        stretch_to_a_minute(&RunFolder(folder.to_path_buf()));
        let name = folder.file_name().expect("a run has a name");
        name.to_string_lossy().into_owned()
    });

    for (command, line) in [
        ("report", format!("latest {exports}")),
        ("history", String::new()),
        ("history", "--format json".to_owned()),
        ("baseline", format!("save main {older}")),
        ("baseline", "list".to_owned()),
        ("list", String::new()),
        ("list", "--format json".to_owned()),
        ("plan", "leaky".to_owned()),
        ("export", "leaky".to_owned()),
        ("config", String::new()),
        (
            "report",
            "latest --export pdf=elsewhere.pdf --export csv=elsewhere.csv".to_owned(),
        ),
    ] {
        let output = scene.call(command, &line).run();
        let output = scene.note(output);
        output.exits(if command == "report" { 99 } else { 0 });
    }
    for (command, line) in [
        ("report", format!("{newer} --baseline main {exports}")),
        ("compare", format!("main {newer}")),
        ("compare", format!("main {newer} --format json")),
    ] {
        let output = scene.call(command, &line).run();
        scene.note(output).prints(&["main"]);
    }
    let debug = scene.call("debug", "leaky");
    let debug = debug.args(["--base-url", &scene.target.url()]).run();
    let debug = scene.note(debug);
    debug.prints(&["\"$CANARY\"", "the secret CANARY", "[secret:CANARY]"]);
    let line = "leaky --slo errors<1% --from 5/s --max 10/s --window 1s --confirm 1s --ramp-up 0s --rest 0s";
    let search = scene.call("capacity", line);
    let search = search.args(["--base-url", &scene.target.url()]).run();
    scene.note(search);
    let told = scene.receiver.recorded();
    assert!(told.len() >= 4, "webhooks are told: {}", told.len());
    scene.is_clean(&[step.file("summary").parent().expect("a folder")]);
}

fn a_killed_run_leaves_no_secret() {
    let mut scene = Scene::new();
    let running = scene.run("leaky --users 1 --duration 1h").start();
    wait_for("a journal with a second", || {
        let files = all_files(scene.folder.path());
        let journal = files.iter().find(|file| {
            file.extension()
                .is_some_and(|extension| extension == "jsonl")
                || file.to_string_lossy().contains("journal")
        })?;
        let text = fs::read_to_string(scene.folder.path().join(journal)).ok()?;
        text.contains("[secret:CANARY]").then_some(())
    });
    running.signal(Signal::KILL);
    let output = running.output();
    scene.note(output);
    let report = scene.call("report", "latest --export json").run();
    scene.note(report);
    scene.is_clean(&[]);
}

fn a_test_without_its_secret_is_ignored() {
    let scene = Scene::new();
    for value in [None, Some("")] {
        let mut call = smoke(project(), "").env("LOADTEST_BASE_URL", scene.target.url());
        if let Some(value) = value {
            call = call.env("CANARY", value);
        }
        let output = call.run().exits(0);
        let ignored = output
            .stdout
            .matches("ignored (no secret: the secret `CANARY`");
        assert_eq!(ignored.count(), 3, "{output}");
        output.prints(&[
            "0 passed; 0 failed; 3 ignored",
            "or `CANARY_FILE` to the path",
        ]);
    }
    // The one whose source does not say what it needs came as far as that.
    assert_eq!(scene.target.requests(), scene.target.requests_to("/ok"));
    let output = scene.smoke("quiet");
    let output = output.env("CANARY_FILE", "/nowhere").run().exits(101);
    output.prints(&["the secret `CANARY` is given twice: by `CANARY` and by `CANARY_FILE`"]);
}

fn a_run_without_its_secret_sends_nothing() {
    let scene = Scene::new();
    for (name, value, said) in [
        ("OTHER", "x", "the secret `CANARY` is missing"),
        ("CANARY", "", "the secret `CANARY` is empty"),
        (
            "CANARY_FILE",
            "/nowhere/canary",
            "`/nowhere/canary`: No such file",
        ),
    ] {
        for command in ["run leaky --iterations 1", "debug leaky"] {
            let (command, line) = command.split_once(' ').expect("two words");
            let call = scene.call_without_secret(command, line);
            let call = call.args(["--base-url", &scene.target.url()]);
            let output = call.env(name, value).run().exits(2).has_one_error();
            output.says(&[
                said,
                "set the environment variable `CANARY`",
                "`CANARY_FILE`",
            ]);
        }
    }
    assert_eq!(scene.target.requests(), 0);
}

fn a_secret_that_only_code_knows_ends_the_run() {
    let scene = Scene::new();
    for line in [
        "surprised --users 1 --duration 1h",
        "surprised --iterations 1",
    ] {
        let call = scene.call_without_secret("run", line);
        let call = call.args(["--base-url", &scene.target.url()]);
        let output = call.run().exits(2).has_one_error();
        output.says(&["the secret `CANARY` is missing", "`CANARY_FILE`"]);
    }
}

fn a_secret_is_read_from_a_file() {
    let scene = Scene::new();
    let path = kept("canary.txt");
    fs::write(&path, format!("{}\n", scene.canary.value)).expect("room");
    let call = smoke(project(), "quiet")
        .env("CANARY_FILE", &path)
        .env("LOADTEST_BASE_URL", scene.target.url());
    let output = call.run().exits(0);
    fs::remove_file(&path).expect("our own file");
    let sent = scene.target.recorded();
    assert_eq!(sent[0].header("x-key"), Some(&*scene.canary.value));
    let leaks = scene.leaks(output.to_string().as_bytes());
    assert!(leaks.is_empty(), "{leaks:#?}");
}
