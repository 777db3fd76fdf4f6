//! Traffic that is not permitted, text that drives a terminal, and secrets: a row says what is done and what must
//! happen, and each is exact. Whatever the row, nothing that is printed or kept drives a terminal or holds a secret,
//! and neither credentials nor bodies follow a redirect to another origin.

mod rows;

use crate::call::{Call, Output};
use crate::project::{Files, LOAD_TEST, Project, STANDS_ALONE, all_files, dependency, header};
use crate::site::{Sandbox, total};
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use rows::ROWS;
use std::sync::OnceLock;

/// The name of each step, and how often it ended well, failed and was cancelled.
type Counts = &'static [(&'static str, u64, u64, u64)];

/// Something that is done, and what must happen.
struct Row {
    name: &'static str,
    scenario: &'static str,
    arguments: &'static [&'static str],
    /// Another base URL than that of the server.
    base: Option<&'static str>,
    exit: u8,
    /// Requests that arrive, and those that arrive at another origin.
    sent: u64,
    other: u64,
    /// The steps in the record; without them nothing ran.
    counts: Counts,
    /// What is said.
    says: &'static str,
    /// `debug` and `cargo test` have to be as silent as the run.
    is_shown_everywhere: bool,
}

impl Row {
    const fn run(
        name: &'static str,
        scenario: &'static str,
        counts: Counts,
        says: &'static str,
    ) -> Self {
        Self {
            name,
            scenario,
            arguments: &[],
            base: None,
            exit: 0,
            sent: 3,
            other: 0,
            counts,
            says,
            is_shown_everywhere: false,
        }
    }
}

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |row: &'static Row| {
        Trial::test(format!("security::{}", row.name), move || {
            row.holds();
            Ok(())
        })
    };
    ROWS.iter().map(trial).collect()
}

/// Everything that is escaped somewhere, between two parts that are escaped nowhere.
const SECRET: &str = "7c1e9a40b2d85f63\"q'+/=%41\\&<>e4a07d3916bc582f";
const PARTS: [&str; 2] = ["7c1e9a40b2d85f63", "e4a07d3916bc582f"];

fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let manifest = format!(
            "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
            header("security"),
            dependency()
        );
        Files::new("security")
            .file("Cargo.toml", manifest)
            .file("src/lib.rs", "//! Nothing.\n")
            .file(
                "tests/load.rs",
                include_str!("../../fixtures/security/load.rs"),
            )
            .create()
    })
}

fn answer(request: &Request, other: &str) -> Reply {
    let path = request.path.as_str();
    match path {
        "/stop" if request.sequence == 4 => Reply::text("ok").header("loadtest-stop", "1"),
        "/hostile" => Reply::status(500)
            .header("x-hostile", "a\u{9b}31m")
            .body("body \x1b]0;title\x07 \x1b[31m \r \u{9b}31m \u{202e} <b>@team</b> | `x` end"),
        "/unlisted" => Reply::status(302).header("location", "http://198.51.100.7/x"),
        _ if path.starts_with("/echo") => Reply::text(format!(
            "{} {:?} {}",
            request.target,
            request.headers,
            request.text()
        )),
        _ => match path.strip_prefix("/away/") {
            Some(status) => {
                Reply::status(status.parse().expect("a status")).header("location", other)
            }
            None => Reply::text("ok"),
        },
    }
}

impl Row {
    fn holds(&self) {
        let other = Server::recording(|_| Reply::text("ok"));
        let elsewhere = format!("{}/ok", other.url());
        let server = Server::recording(move |request| answer(request, &elsewhere));
        let base = self.base.map_or_else(|| server.url(), str::to_owned);
        let sandbox = Sandbox::at(project().root(), "");
        let exports = "--export markdown --export json --export html --export junit --export csv";
        let call = sandbox
            .tool("run", exports)
            .line(self.scenario)
            .args(self.arguments);
        let run = call.args(["--base-url", &base]).env("ODD", SECRET).run();
        let run = run.exits(i32::from(self.exit));
        let arrived = (server.requests(), other.requests());
        assert_eq!(arrived, (self.sent, self.other), "{run}");
        let ran = sandbox.runs().first().map(|run| run.record().scenarios);
        let ran = ran.unwrap_or_default();
        let counts: Vec<_> = ran
            .iter()
            .flat_map(|scenario| {
                let names = scenario.start.definition.steps.iter();
                let names: Vec<String> = names.map(|step| step.name.to_string()).collect();
                let steps = total(scenario).steps.into_iter();
                let counts = steps.map(|step| (step.ok, step.failed, step.cancelled));
                names.into_iter().zip(counts).collect::<Vec<_>>()
            })
            .collect();
        let expected = self.counts.iter();
        let expected: Vec<_> = expected
            .map(|(name, ok, failed, cancelled)| ((*name).to_owned(), (*ok, *failed, *cancelled)))
            .collect();
        assert_eq!(counts, expected, "{run}");
        let mut is_said = is_harmless("the run", &printed(&run), self.says);
        for file in all_files(sandbox.root()) {
            let text = std::fs::read(sandbox.root().join(&file)).expect("a file");
            let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
            is_said |= is_harmless(&file.display().to_string(), &text, self.says);
        }
        assert!(is_said, "nothing says {}\n{run}", self.says);
        for request in other.recorded() {
            assert_eq!(request.header("x-api-key"), None);
            assert_eq!(request.header("authorization"), None);
            assert_eq!(request.text(), "");
        }
        if self.is_shown_everywhere {
            let debug = sandbox.tool("debug", self.scenario);
            let debug = debug.args(["--base-url", &base]);
            let test = project().cargo("test --test load -- --exact");
            let test = test.arg(self.scenario).env("LOADTEST_BASE_URL", &base);
            self.is_silent(debug, 99);
            self.is_silent(test, 101);
        }
    }

    fn is_silent(&self, call: Call, exit: i32) {
        let output: Output = call.env("ODD", SECRET).run().exits(exit);
        let is_said = is_harmless("the output", &printed(&output), self.says);
        assert!(is_said, "nothing says {}\n{output}", self.says);
    }
}

fn printed(output: &Output) -> String {
    format!("{}{}", output.stdout, output.stderr)
}

/// Returns whether a text `says` something. Nothing in it drives a terminal or is a part of the secret.
fn is_harmless(name: &str, text: &str, says: &str) -> bool {
    let drives = |letter: char| {
        letter.is_control() && !"\n\t".contains(letter)
            || ('\u{202a}'..='\u{202e}').contains(&letter)
    };
    if let Some((at, _)) = text.char_indices().find(|(_, letter)| drives(*letter)) {
        let before: String = text[..at].chars().rev().take(80).collect();
        let before: String = before.chars().rev().collect();
        panic!("{name}: {before:?} {:?}", &text[at..]);
    }
    for part in PARTS {
        assert!(!text.contains(part), "{name} holds {part}\n{text}");
    }
    text.contains(says)
}
