//! Base URLs, redirects, words and secrets, each in a run between two servers that record what arrives.

use crate::call::Output;
use crate::inject::{matrix, observe, sandbox};
use crate::project::all_files;
use crate::row::{Group, Outcome, Row, ends, fails, passes};
use crate::site::{Sandbox, total};
use flate2::read::GzDecoder;
use loadtest_tests::{Reply, Request, Server};
use std::io::Read as _;

/// The base URL of a row that has no other.
const SERVER: &str = "http://127.0.0.1:PORT";
/// The text of the scenarios as it may be shown.
const ODD: &str = "␛]0;title␇ ␛[31m ␍ \u{fffd}31m \u{fffd} <b>@team</b> | `x` end";
/// The part of it that is shown everywhere.
const TITLE: &str = "␛]0;title␇";
/// Everything that is escaped somewhere, between two parts that are escaped nowhere.
const SECRET: &str = "7c1e9a40b2d85f63\"q'+/=%41\\&<>e4a07d3916bc582f";
const PARTS: [&str; 2] = ["7c1e9a40b2d85f63", "e4a07d3916bc582f"];

pub(super) fn rows() -> Vec<Row> {
    let parts = [base_urls(), stops(), redirects(), texts(), secrets()];
    parts.into_iter().flatten().collect()
}

fn base_urls() -> Vec<Row> {
    const NEVER: &str = "which no entry permits";
    let refused = |fault, url, message| {
        let arguments = ["--base-url", url].map(str::to_owned);
        attempt(fault, "plain", &arguments, ends(103, message))
    };
    vec![
        refused(
            "A base URL with a name that no list has",
            "http://shop.example",
            "a name that is not listed is looked up in the hosts file only",
        ),
        refused(
            "A base URL with an address that no list has",
            "http://198.51.100.7",
            "is not a permitted target; load may go to this machine",
        ),
        refused(
            "A base URL with an address of a private network that no list has",
            "https://10.255.255.1:9",
            "is not a permitted target; load may go to this machine",
        ),
        refused(
            "A base URL with an IPv6 address that no list has",
            "http://[2001:db8::1]/",
            "is not a permitted target; load may go to this machine",
        ),
        refused("The metadata of clouds", "http://169.254.169.254", NEVER),
        refused("Metadata, as a number", "http://2852039166", NEVER),
        refused("Metadata, in hexadecimal", "http://0xa9fea9fe", NEVER),
        refused(
            "Metadata, mapped to IPv6",
            "http://[::ffff:169.254.169.254]",
            NEVER,
        ),
        refused("Metadata of AWS over IPv6", "http://[fd00:ec2::254]", NEVER),
        refused(
            "Metadata of Google over IPv6",
            "http://[fd20:ce::254]",
            NEVER,
        ),
        refused("Link-local over IPv6", "http://[fe80::1]", NEVER),
        refused("Multicast", "http://224.0.0.1", NEVER),
        refused("Broadcast", "http://255.255.255.255", NEVER),
        // What is sent there arrives at this machine.
        refused("The unspecified address", "http://0.0.0.0:PORT", NEVER),
        attempt(
            "A base URL with a password",
            "plain",
            &[
                "--base-url",
                &format!("http://ada:{}@127.0.0.1:PORT", PARTS[0]),
            ]
            .map(str::to_owned),
            ends(2, "user name"),
        ),
        attempt(
            "Answers that lead to an address that is not permitted",
            "elsewhere",
            &[],
            ends(103, "NOT PERMITTED").ok(30).error("guard.blocked", 10),
        ),
    ]
}

fn stops() -> Vec<Row> {
    let stopped = |fault, scenario, expected: Outcome| {
        let expected = expected.says("asked for it by the header `loadtest-stop`");
        attempt(fault, scenario, &[], expected)
    };
    let five = || ends(103, "").ok(5).with("cancelled", 1);
    vec![
        stopped(
            "`Loadtest-Stop` in the fifth answer, in a closed load",
            "text::stopped",
            five(),
        ),
        stopped(
            "`Loadtest-Stop` in the fifth answer, in an open load",
            "text::stopped_rate",
            five(),
        ),
        stopped(
            "`Loadtest-Stop` in the fifth answer, in fixed work",
            "text::stopped_work",
            five(),
        ),
        stopped(
            "`Loadtest-Stop` in the fifth answer, in a step that sends on, whatever it is told",
            "text::relentless",
            ends(103, "").with("cancelled", 1),
        ),
    ]
}

fn redirects() -> Vec<Row> {
    const BLOCKED: &str = "a redirect is not followed";
    vec![
        attempt(
            "A redirect of a request with credentials to another origin: it goes there without them",
            "text::away_by_get",
            &[],
            passes(),
        ),
        attempt(
            "A redirect of a request with a body to another origin",
            "text::away_with_body",
            &[],
            fails("redirect.blocked", BLOCKED),
        ),
        attempt(
            "A redirect to an address that no list has",
            "text::away_unlisted",
            &[],
            fails("redirect.blocked", BLOCKED),
        ),
    ]
}

fn texts() -> Vec<Row> {
    let argument =
        |fault, argument: &str, expected| attempt(fault, "plain", &[argument.to_owned()], expected);
    vec![
        attempt(
            "Controls of a terminal in what a scenario prints",
            "text::prints",
            &[],
            passes().says("printed odd   ␍ \u{fffd}31m \u{fffd} <b>@team</b> | `x` end 0"),
        ),
        attempt(
            "A core dump of the tool, which would hold secrets",
            "text::prints",
            &[],
            passes().says("of the tool: Max core file size 0"),
        ),
        attempt(
            "Controls in the error of a setup",
            "text::setup_fails",
            &[],
            ends(100, ODD),
        ),
        attempt(
            "Controls in the error of a teardown",
            "text::teardown_fails",
            &[],
            passes().says(ODD),
        ),
        attempt(
            "Controls in the body of an answer that is refused",
            "text::refused",
            &[],
            fails("status", TITLE),
        ),
        attempt(
            "Controls in the error of a step that sends nothing",
            "text::errs",
            &[],
            ends(99, TITLE),
        ),
        attempt(
            "Controls in a panic",
            "text::panics",
            &[],
            fails("step.panic", TITLE),
        ),
        attempt(
            "Controls in the error of a check",
            "text::checked",
            &[],
            fails("step.assert", TITLE),
        ),
        attempt(
            "Controls in the name of a request",
            "text::named",
            &[],
            passes().says(TITLE),
        ),
        argument(
            "Controls in the value of an option",
            "--rate=\x1b]0;title\x07",
            ends(2, "invalid value").leaves(&[]),
        ),
        argument(
            "Controls in an option that does not exist",
            "--\x1b]0;title\x07",
            ends(2, "unexpected argument").leaves(&[]),
        ),
        argument(
            "Controls in a filter",
            "no\x1b]0;title\x07\u{9b}\u{202e}",
            ends(3, TITLE).leaves(&[]),
        ),
        argument(
            "Controls in a base URL",
            "--base-url=http://h\x1b]0;title\x07",
            ends(2, TITLE),
        ),
    ]
}

fn secrets() -> Vec<Row> {
    let sent = |fault, scenario, kind, message| leaked(fault, scenario, fails(kind, message));
    let declared = "[secret:ODD]";
    vec![
        sent(
            "A secret in a path, which comes back",
            "text::in_path",
            "step.error",
            declared,
        ),
        sent(
            "A secret in a query, which comes back",
            "text::in_query",
            "step.error",
            declared,
        ),
        sent(
            "A secret in a template, which comes back",
            "text::in_template",
            "status",
            declared,
        ),
        sent(
            "A secret in a header, which comes back",
            "text::in_header",
            "status",
            declared,
        ),
        sent(
            "A secret in a cookie, which comes back",
            "text::in_cookie",
            "status",
            declared,
        ),
        sent(
            "A secret in a form, which comes back",
            "text::in_form",
            "status",
            declared,
        ),
        sent(
            "A secret in JSON, which comes back",
            "text::in_json",
            "status",
            declared,
        ),
        sent(
            "A password that is written down in a part, which comes back",
            "text::in_part",
            "status",
            "[redacted]",
        ),
    ]
}

/// A run between two servers, of which only the first may get credentials and bodies. What arrives is what the
/// record says, and nothing that is printed or kept drives a terminal or holds the secret.
fn attempt(
    fault: &'static str,
    scenario: &'static str,
    arguments: &[String],
    expected: Outcome,
) -> Row {
    let (arguments, wanted) = (arguments.to_vec(), expected.clone());
    Row::new(Group::Security, fault, expected, move || {
        let servers = Servers::start();
        let (sandbox, outcome) = servers.try_to(scenario, &arguments, &wanted);
        drop(sandbox);
        outcome
    })
}

/// The same where `debug` and a smoke test have to be as silent as the run.
fn leaked(fault: &'static str, scenario: &'static str, expected: Outcome) -> Row {
    let wanted = expected.clone();
    Row::new(Group::Security, fault, expected, move || {
        let servers = Servers::start();
        let (sandbox, outcome) = servers.try_to(scenario, &[], &wanted);
        let url = servers.first.url();
        let debug = sandbox.tool("debug", &format!("matrix::load::{scenario}"));
        let debug = debug.args(["--base-url", &url]);
        let test = matrix().project.test(scenario.trim_start_matches("text::"));
        let test = test.env("LOADTEST_BASE_URL", &url);
        for (call, exit) in [(debug, 99), (test, 101)] {
            let output = call.env("ODD", SECRET).run().exits(exit);
            let said = printed(&output);
            assert_harmless("the output", &said);
            assert!(said.contains(&wanted.message), "{output}");
        }
        outcome
    })
}

/// The target, and another that its redirects and answers lead to.
struct Servers {
    first: Server,
    other: Server,
}

impl Servers {
    fn start() -> Self {
        let other = Server::recording(|_| Reply::text("ok"));
        let (elsewhere, port) = (other.url(), other.address().port());
        let first = Server::recording(move |request| answer(request, &elsewhere, port));
        Self { first, other }
    }

    fn try_to(&self, scenario: &str, arguments: &[String], wanted: &Outcome) -> (Sandbox, Outcome) {
        let sandbox = sandbox();
        let port = self.first.address().port().to_string();
        let exports = "--export markdown=card.md --export json=card.json --export html=card.html \
                       --export junit=card.xml --export csv=card.csv --exact";
        let call = sandbox
            .tool("run", exports)
            .arg(format!("matrix::load::{scenario}"));
        let arguments = arguments
            .iter()
            .map(|argument| argument.replace("PORT", &port));
        let arguments: Vec<String> = arguments.collect();
        let has_base = arguments
            .iter()
            .any(|argument| argument.starts_with("--base-url"));
        let base = [format!("--base-url={}", SERVER.replace("PORT", &port))];
        let call = call.args(if has_base { &[][..] } else { &base });
        let output = call.args(&arguments).env("ODD", SECRET).run();
        let mut said = printed(&output);
        assert_harmless("the run", &said);
        for file in all_files(sandbox.root()) {
            let bytes = std::fs::read(sandbox.root().join(&file)).expect("a file");
            let mut text = bytes.clone();
            if file.extension().is_some_and(|extension| extension == "gz") {
                text.clear();
                let mut unpacked = GzDecoder::new(&bytes[..]);
                unpacked.read_to_end(&mut text).expect("a whole file");
            }
            let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
            assert_harmless(&file.display().to_string(), &text);
            said.push_str(&text);
        }
        self.assert_arrived(&sandbox);
        let outcome = observe(&sandbox, &output).round_to(wanted, &said);
        (sandbox, outcome)
    }

    /// As many requests arrive as the record says, and the other server gets neither credentials nor bodies.
    fn assert_arrived(&self, sandbox: &Sandbox) {
        let scenarios = sandbox.runs().first().map(|run| run.record().scenarios);
        let steps = scenarios.iter().flatten().flat_map(|one| total(one).steps);
        let sent: u64 = steps.map(|step| step.requests).sum();
        assert_eq!(self.first.requests() + self.other.requests(), sent);
        for request in self.other.recorded() {
            assert_eq!(request.header("x-api-key"), None);
            assert_eq!(request.header("authorization"), None);
            assert_eq!(request.text(), "");
        }
    }
}

fn answer(request: &Request, other: &str, port: u16) -> Reply {
    let path = request.path.as_str();
    let to = |url: String| Reply::json(format!(r#"{{"url":"{url}"}}"#));
    match path {
        "/stop" if request.sequence == 4 => Reply::text("ok").header("loadtest-stop", "1"),
        "/hostile" => Reply::status(500)
            .header("x-hostile", "a\u{9b}31m")
            .body("body \x1b]0;title\x07 \x1b[31m \r \u{9b}31m \u{202e} <b>@team</b> | `x` end"),
        "/unlisted" => Reply::status(302).header("location", "http://198.51.100.7/x"),
        "/page" => match request.sequence % 4 {
            // It would arrive at the other server.
            0 => to(format!("http://0.0.0.0:{port}/from-here")),
            1 => to("http://192.0.2.1:9/x".to_owned()),
            2 => to(format!("{other}/allowed")),
            _ => to("/near".to_owned()),
        },
        _ if path.starts_with("/echo") => Reply::text(format!(
            "{} {:?} {}",
            request.target,
            request.headers,
            request.text()
        )),
        _ => match path.strip_prefix("/away/") {
            Some(status) => Reply::status(status.parse().expect("a status"))
                .header("location", format!("{other}/ok")),
            None => Reply::text("ok"),
        },
    }
}

fn printed(output: &Output) -> String {
    format!("{}{}", output.stdout, output.stderr)
}

/// Nothing in a text drives a terminal or is a part of the secret.
fn assert_harmless(name: &str, text: &str) {
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
}
