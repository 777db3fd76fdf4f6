//! Where the iterations went that came by each step, and what kept steps from running.

use super::table::{Column, Table};
use super::text::{BAD, DIM, Line, PLAIN, clean, width};
use super::{MOST, Page, more};
use crate::export::facts::{self, spared_heading};
use loadtest_model::card::{Card, DependencyFailure, view};
use std::fmt::Write as _;

/// Columns that stay on the narrowest terminal: planned, executed, failed.
const ALWAYS: u8 = 3;

/// Whether the card has the ledger of its steps: where steps were kept from running or were cut off. What
/// weights and functions leave out is in the table of the steps.
pub(super) fn is_shown(card: &Card) -> bool {
    card.steps
        .iter()
        .any(|step| step.skipped > 0 || step.cancelled > 0)
}

/// The steps that did not run each time, or failed.
pub(super) fn steps(page: &mut Page, card: &Card) {
    let Some(ledger) = facts::ledger(card).filter(|_| is_shown(card)) else {
        return;
    };
    let mut columns = vec![Column::left("step")];
    for (column, rank) in ledger.columns.iter().zip(0..) {
        let leaves = if rank < ALWAYS { 0 } else { rank };
        columns.push(Column::right(column.title).leaves(leaves));
    }
    let mut table = Table::new(columns);
    let wanting = |at: &usize| card.steps[*at].planned > card.steps[*at].ok;
    let rows: Vec<usize> = (0..card.steps.len()).filter(wanting).collect();
    for at in rows.iter().take(MOST) {
        let mut cells = vec![(PLAIN, clean(ledger.steps[*at]))];
        cells.extend(ledger.columns.iter().zip(0..).map(|(column, rank)| {
            let style = if column.alarming { BAD } else { PLAIN };
            // That nothing happened is said of what is always looked for.
            match column.counts[*at] {
                0 if rank >= ALWAYS => (PLAIN, String::new()),
                0 => (DIM, view::count(0)),
                count => (style, view::count(count)),
            }
        }));
        table.row(cells, None);
    }
    page.title("Dependency ledger");
    let lines = table.lines(page.room());
    page.lines(lines);
    more(page, rows.len());
}

pub(super) fn causes(page: &mut Page, card: &Card) {
    if !card.dependency_failures.is_empty() {
        page.title("Dependency failures");
        list(page, &card.dependency_failures, BAD);
    }
    if !card.not_drawn.is_empty() {
        page.title(spared_heading(card));
        list(page, &card.not_drawn, DIM);
    }
}

fn list(page: &mut Page, failures: &[DependencyFailure], style: anstyle::Style) {
    let wide = failures.iter().map(|row| width(&view::count(row.count)));
    let wide = wide.max().unwrap_or(0);
    for row in failures.iter().take(MOST) {
        let count = view::count(row.count);
        let lead = Line::new().to(wide - width(&count)).add(style, count);
        let mut words = row.words();
        if row.elsewhere > 0 {
            let _ = write!(words, " (and {} in the ramp)", view::count(row.elsewhere));
        }
        page.text(lead.add(PLAIN, " × "), PLAIN, &words);
        // What a step itself said stands in the line above.
        if !row.example.is_empty() && row.variable.is_some() {
            page.text(
                Line::new().to(wide + 3),
                DIM,
                &format!("first: {}", row.example),
            );
        }
    }
    more(page, failures.len());
}
