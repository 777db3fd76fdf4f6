//! The section of gRPC calls: their statuses by name, and their messages.

use super::{Block, Column, Section, Table, TableCell, TableRow};
use loadtest_model::card::{Card, InnerRow};
use loadtest_model::display;
use loadtest_model::metrics::status_label;

/// Builds a row for each method that is called.
pub(super) fn build_calls(card: &Card) -> Option<Section> {
    let mut table = Table::new(
        "",
        vec![
            Column::text("Call", 1.0),
            Column::figure("Calls"),
            Column::text("Status", 1.0),
            Column::figure("Messages sent").leaves(1),
            Column::figure("Messages received").leaves(1),
        ],
    );
    for step in &card.steps {
        let methods = step.inner.iter().filter(|row| row.messages.is_some());
        let mut methods = methods.peekable();
        if methods.peek().is_none() {
            continue;
        }
        let mut cells = vec![TableCell::name(&*step.name)];
        cells.resize_with(5, TableCell::default);
        table.rows.push(TableRow {
            cells,
            ..TableRow::default()
        });
        table.rows.extend(methods.map(|row| TableRow {
            cells: call_cells(row),
            is_inner: true,
            ..TableRow::default()
        }));
    }
    let has_calls = !table.rows.is_empty();
    let section = || Section::new("gRPC calls", vec![Block::Table(table)]);
    has_calls.then(|| section().essential())
}

fn call_cells(row: &InnerRow) -> Vec<TableCell> {
    let messages = row.messages.unwrap_or_default();
    vec![
        TableCell::name(&*row.name),
        TableCell::count(row.requests),
        TableCell::prose(format_statuses(row)),
        TableCell::count(messages.sent),
        TableCell::count(messages.received),
    ]
}

/// `OK 1 200 · NOT_FOUND 3`.
fn format_statuses(row: &InnerRow) -> String {
    let statuses = row.statuses.iter();
    let statuses = statuses.map(|(status, count)| {
        let count = display::format_count(*count);
        format!("{} {count}", status_label(*status))
    });
    statuses.collect::<Vec<_>>().join(" \u{b7} ")
}
