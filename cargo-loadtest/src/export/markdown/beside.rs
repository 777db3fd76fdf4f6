//! What changed against the baseline.

use super::table::table;
use super::text::{code, prose};
use crate::export::beside::{JOURNEY, Row, Shown, shown};
use loadtest_model::card::{Card, Report};
use loadtest_model::comparison::Change;
use std::fmt::Write as _;

pub(super) fn against(_: &Report, card: &Card) -> String {
    shown(card).map_or_else(String::new, |shown| section(&shown))
}

fn section(shown: &Shown<'_>) -> String {
    let mut section = format!("\n**{}**\n\n{}", prose(&shown.title), prose(&shown.lead));
    if !shown.counts.is_empty() {
        let counts = shown.counts.iter().map(|row| {
            let words = format!("{} {} {}", sign(row.verdict), row.count, row.verdict);
            match row.verdict {
                Change::Regressed => format!("**{words}**"),
                _ => words,
            }
        });
        let _ = write!(section, ": {}", counts.collect::<Vec<_>>().join(" · "));
    }
    if !shown.against.is_empty() {
        section.push_str(":\n");
        for (refusal, help) in &shown.against {
            let _ = write!(section, "\n- {} → {}", prose(refusal), prose(help));
        }
    }
    section.push('\n');
    if !shown.rows.is_empty() {
        let rows: Vec<_> = shown.rows.iter().map(row).collect();
        let titles = ["", "Step", "", ">Baseline", ">Now", ">Change", "90 % sure"];
        section.push_str(&table(&titles, &rows));
    }
    if !shown.notes.is_empty() {
        let notes: Vec<_> = shown.notes.iter().map(|note| prose(note)).collect();
        let _ = write!(section, "\n<sub>{}</sub>\n", notes.join("<br>"));
    }
    section
}

fn row(row: &Row<'_>) -> Vec<String> {
    // A line does not end between a number and its unit.
    let whole = |words: &str| words.replace(' ', "\u{a0}");
    let change = whole(&row.change);
    vec![
        sign(row.verdict).to_owned(),
        row.step.map_or_else(|| JOURNEY.to_owned(), code),
        row.figure.to_owned(),
        whole(&row.base),
        whole(&row.new),
        match row.verdict {
            Change::Regressed => format!("**{change}**"),
            _ => change,
        },
        whole(&row.interval),
    ]
}

fn sign(change: Change) -> &'static str {
    match change {
        Change::Regressed => "❌",
        Change::Improved => "✅",
        Change::Inconclusive => "❔",
        Change::Unchanged => "=",
    }
}
