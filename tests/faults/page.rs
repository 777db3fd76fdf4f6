//! `docs/faults.md`, made of the rows.

use crate::project::workspace;
use crate::row::{EVERYTHING, Group, ITERATIONS, Outcome, Row};
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
         The result of each of {} faults. A test injects the fault into a run of {ITERATIONS} iterations of one step with the real command. \
         It compares\nthe exit code, the [kind](errors.md) and count of every failure, the message, and the files that the run leaves. The tables are made from \
         these tests.\n\n\
         Every run leaves its record and its report, unless the row says otherwise.\n",
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
            let Outcome {
                exit_code, message, ..
            } = &row.expected;
            let message = escape(message);
            let result = result(&row.expected);
            let _ = writeln!(
                page,
                "| {} | {result} | {exit_code} | {message} |",
                escape(row.fault)
            );
        }
    }
    page
}

fn result(outcome: &Outcome) -> String {
    let mut parts = Vec::new();
    if outcome.ok > 0 {
        parts.push(format!("{} ok", outcome.ok));
    }
    for (kind, count) in &outcome.errors {
        parts.push(format!("{count} `{kind}`"));
    }
    if parts.is_empty() {
        parts.push("nothing is sent".to_owned());
    }
    for (remark, count) in &outcome.remarks {
        parts.push(format!("{remark}: {count}"));
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
        }
    }

    fn introduction(self) -> &'static str {
        match self {
            Self::Server => "HTTP/1.1 answers that are broken or unusual.",
            Self::Network => "Connections that break off, stall or are slow.",
            Self::Tls => "Certificates and handshakes.",
            Self::Http2 => "Frames of HTTP/2 that are broken or unusual.",
        }
    }
}
