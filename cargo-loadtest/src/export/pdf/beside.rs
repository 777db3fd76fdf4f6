//! What changed against the baseline.

use super::block::Block;
use super::drawings::{HALF, drawing, in_pairs};
use super::flow::Flow;
use super::table::{Cell, Column, Row, Table};
use super::text::{ALARM, Colour, FAIR, GOOD, MUTED, Span, plain, prose};
use super::{BODY, SUB};
use crate::export::beside::{JOURNEY, Shown, shown};
use crate::export::chart;
use loadtest_model::card::Card;
use loadtest_model::comparison::Change;

pub(super) fn place(flow: &mut Flow<'_>, card: &Card) {
    let Some(shown) = shown(card) else {
        return;
    };
    flow.heading(&shown.title);
    flow.paragraph(&lead(&shown));
    for (refusal, help) in &shown.against {
        flow.gap(2.0);
        flow.paragraph_at(10.0, &prose(&format!("✗ {refusal}"), BODY), |_| {});
        flow.paragraph_at(10.0, &prose(&format!("→ {help}"), SUB), |_| {});
    }
    if !shown.rows.is_empty() {
        flow.gap(6.0);
        table(&shown).place(flow);
    }
    let mut notes: Vec<&str> = shown.notes.iter().map(String::as_str).collect();
    let Some(changes) = chart::changes(card) else {
        for note in notes {
            flow.gap(2.0);
            flow.paragraph(&prose(note, SUB));
        }
        return;
    };
    notes.insert(
        0,
        "A point is the change, its line where the change lies, and the ground what is too little to count.",
    );
    let mut words = Block::gap(14.0);
    for note in notes {
        words.below(Block::words(&prose(note, SUB), HALF, 12, flow.fonts));
        words.height += 4.0;
    }
    flow.gap(12.0);
    let changes = drawing(&changes, flow.fonts);
    in_pairs(flow, &[changes, words]);
}

fn lead(shown: &Shown<'_>) -> Vec<Span> {
    let is_list = !shown.counts.is_empty() || !shown.against.is_empty();
    let end = if is_list { ":" } else { "" };
    let mut spans = plain(format!("{}{end}", shown.lead), BODY);
    for (i, row) in shown.counts.iter().enumerate() {
        let between = if i == 0 { " " } else { " · " };
        spans.extend(plain(between, BODY.colour(MUTED)));
        let words = format!("{} {} {}", row.mark, row.count, row.verdict);
        let colour = colour(row.verdict).unwrap_or(MUTED);
        spans.extend(plain(words, BODY.colour(colour)));
    }
    spans
}

fn table(shown: &Shown<'_>) -> Table {
    let mut columns = vec![Column::words("Step", 1.0), Column::word("Figure")];
    columns.extend(["Baseline", "Now", "Change", "90 % sure"].map(Column::figure));
    columns.push(Column::word("Result"));
    let mut table = Table::new(columns);
    for row in &shown.rows {
        let colour = colour(row.verdict);
        table.row(Row::new(vec![
            Cell::name(row.step.unwrap_or(JOURNEY)),
            Cell::figure(row.figure),
            Cell::figure(&*row.base),
            Cell::figure(&*row.new),
            Cell::figure(&*row.change).colour(colour),
            Cell::figure(&*row.interval),
            Cell::figure(format!("{} {}", row.mark, row.verdict)).colour(colour),
        ]));
    }
    table
}

fn colour(change: Change) -> Option<Colour> {
    match change {
        Change::Regressed => Some(ALARM),
        Change::Improved => Some(GOOD),
        Change::Inconclusive => Some(FAIR),
        Change::Unchanged => None,
    }
}
