//! `docs/faults.md`, made of the rows.

use crate::project::workspace;
use crate::row::{Count, EVERYTHING, Group, ITERATIONS, Outcome, Row};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

/// Set, the page is written instead of compared.
const WRITE_VARIABLE: &str = "FAULTS_WRITE_PAGE";

/// Compares the page with the rows.
pub(crate) fn compare_page(rows: &[Row]) {
    let names: BTreeSet<String> = rows.iter().map(Row::name).collect();
    assert_eq!(names.len(), rows.len(), "two rows have the same words");
    let path = workspace().join("docs/faults.md");
    let page = render_page(rows);
    if std::env::var_os(WRITE_VARIABLE).is_some() {
        fs::write(&path, page).expect("the page can be written");
        return;
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == page,
        "docs/faults.md is not what the rows say; write it again: \
         {WRITE_VARIABLE}=1 cargo test -p loadtest-tests --test faults -- page"
    );
}

fn render_page(rows: &[Row]) -> String {
    let mut groups: Vec<Group> = rows.iter().map(|row| row.group).collect();
    groups.sort();
    groups.dedup();
    let mut page = format!(
        "# Faults\n\n\
         <!-- Generated from the rows in tests/faults; see CONTRIBUTING.md. -->\n\n\
         The result of each of {} faults. A test injects the fault into a run of the real command, which has {ITERATIONS} iterations of one step unless the row \
         says more.\nIt compares the exit code, the [kind](errors.md) and count of every failure, the message or the part of it that is shown, and the files that \
         the run leaves.\nThe tables are made from these tests. `some` is a number that depends on the instant of the fault, and is above 0; `any` may be 0.\n\n\
         Every run leaves its record and its report, unless the row says otherwise. [The limits of all waits](#waits) and [what other tools do](#other-tools) are at the end.\n",
        rows.len()
    );
    for group in groups {
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n| fault | result | [exit code](exit-codes.md) | message |\n|---|---|---|---|\n",
            group.title(),
            group.introduction()
        );
        for row in rows.iter().filter(|row| row.group == group) {
            let (fault, result) = (escape(row.fault), result(&row.expected));
            let code = row.expected.exit_code;
            let message = escape(&row.expected.message);
            let _ = writeln!(page, "| {fault} | {result} | {code} | {message} |");
        }
    }
    page.push_str(&loadtest_tests::render_waits());
    page.push_str(
        "\n## Other tools\n\n\
         Results of k6 2.2, oha 1.15, Goose 0.18.1 (bodies read), wrk 4.1 and hey 0.1.4 for the same faults. Their exit code is 0, unless it is given.\n\n\
         | fault | other tools |\n|---|---|\n",
    );
    for row in rows.iter().filter(|row| !row.peers.is_empty()) {
        let _ = writeln!(page, "| {} | {} |", escape(row.fault), escape(row.peers));
    }
    page
}

fn result(outcome: &Outcome) -> String {
    let mut parts = Vec::new();
    if outcome.ok != Count::Exactly(0) {
        parts.push(format!("{} ok", outcome.ok));
    }
    for (kind, count) in &outcome.errors {
        parts.push(format!("{count} `{kind}`"));
    }
    for (remark, count) in &outcome.remarks {
        parts.push(format!("{remark}: {count}"));
    }
    if parts.is_empty() {
        parts.push("no step is counted".to_owned());
    }
    if outcome.survives != EVERYTHING {
        parts.push(match outcome.survives.join(", ") {
            none if none.is_empty() => "nothing is left".to_owned(),
            files => format!("left: {files}"),
        });
    }
    parts.join(", ")
}

/// Keeps a text within its cell.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('\n', " ")
}

impl Group {
    fn title(self) -> &'static str {
        match self {
            Self::Server => "Server",
            Self::Network => "Network",
            Self::Tls => "TLS",
            Self::Http2 => "HTTP/2",
            Self::Streams => "Streams and GraphQL",
            Self::Generator => "Generator",
            Self::Code => "Code of a scenario",
            Self::Files => "Files",
            Self::Signals => "Signals",
            Self::Security => "Security",
        }
    }

    fn introduction(self) -> &'static str {
        match self {
            Self::Server => "HTTP/1.1 answers that are broken or unusual.",
            Self::Network => "Connections that break off, stall or are slow.",
            Self::Tls => "Certificates and handshakes.",
            Self::Http2 => "Frames of HTTP/2 that are broken or unusual.",
            Self::Streams => {
                "Answers with a good status whose events or errors say that the service failed."
            }
            Self::Generator => {
                "The machine has too few files, ports or too little time for the load."
            }
            Self::Code => "Steps, checks, setups and teardowns that panic, hang or print too much.",
            Self::Files => "Files, disks and standard output that cannot be read or written.",
            Self::Signals => {
                "Processes that are stopped, suspended or killed: the tool, the load test, or both."
            }
            Self::Security => {
                "Forbidden traffic, text that controls a terminal, and secrets. No forbidden request arrives, no output or file controls a terminal or contains a secret, and neither credentials nor bodies follow a redirect to another origin."
            }
        }
    }
}
