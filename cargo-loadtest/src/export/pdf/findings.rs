//! What was found, in tables: dependencies, weights, statuses, own metrics, errors, thresholds.

use super::figure;
use super::flow::Flow;
use super::table::{self, Cell, Column, Row, Table};
use super::text::{ALARM, GOOD, INK, MUTED, Span, Style, plain, prose};
use crate::export::facts::OWN_METRICS;
use loadtest_model::card::{Card, DependencyFailure, view};
use std::fmt::Write as _;

const CELL: Style = Style::new(table::SIZE);
const SMALL: Style = Style::new(7.2).colour(MUTED);

pub(super) fn dependencies(flow: &mut Flow<'_>, title: &str, rows: &[DependencyFailure]) {
    if rows.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::words("Step", 1.0),
        Column::words("Missing variable", 1.2),
        Column::words("Upstream step", 1.0),
        Column::words("Root cause", 1.5),
        Column::figure("Count"),
    ]);
    for row in rows {
        let variable = match &row.variable {
            Some(variable) => code(variable),
            None => plain(view::NONE, CELL),
        };
        let first = if row.variable.is_some() {
            "first: "
        } else {
            ""
        };
        let mut cause = Cell::name(&format!("{} {}", row.root_step, row.cause));
        if !row.example.is_empty() {
            cause = cause.and(prose(&format!("{first}{}", row.example), SMALL));
        }
        table.row(Row::new(vec![
            Cell::name(&row.step),
            Cell::of(variable),
            Cell::figure(&*row.upstream),
            cause,
            count(row.count, row.elsewhere),
        ]));
    }
    flow.heading(title);
    table.place(flow);
}

fn code(text: &str) -> Vec<Span> {
    plain(text, Style { code: true, ..CELL })
}

fn count(count: u64, elsewhere: u64) -> Cell {
    let cell = Cell::figure(view::count(count));
    if elsewhere == 0 {
        return cell;
    }
    let words = format!("+ {} in the ramp", view::count(elsewhere));
    cell.and(plain(words, SMALL))
}

pub(super) fn weights(flow: &mut Flow<'_>, card: &Card) {
    if card.weights.is_empty() {
        return;
    }
    let mut columns = vec![Column::words("Step", 1.0)];
    columns.extend(["Configured", "Observed", "95 % interval", "Draws"].map(Column::figure));
    let mut table = Table::new(columns);
    for row in &card.weights {
        let mut interval = figure(row.interval, |(from, to)| {
            format!("{} – {}", view::percent(from), view::percent(to))
        });
        if !row.plausible {
            interval.push_str(" (outside)");
        }
        table.row(Row::new(vec![
            Cell::name(&row.step),
            Cell::figure(view::percent(row.configured)),
            Cell::figure(figure(row.observed, view::percent)),
            Cell::figure(interval),
            Cell::figure(view::count(row.draws)),
        ]));
    }
    flow.heading("Weights");
    table.place(flow);
}

pub(super) fn statuses(flow: &mut Flow<'_>, card: &Card) {
    if !card.headline.single_request || card.statuses.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::words("Status", 1.0),
        Column::figure("Answers"),
    ]);
    for (status, number) in &card.statuses {
        let cells = vec![
            Cell::name(&status.to_string()),
            Cell::figure(view::count(*number)),
        ];
        table.row(Row::new(cells));
    }
    flow.heading("Answers by status");
    table.place(flow);
}

pub(super) fn own(flow: &mut Flow<'_>, card: &Card) {
    if !card.counters.is_empty() {
        let mut columns = vec![Column::words("Counter", 1.0)];
        columns.extend(["Count", "Per second"].map(Column::figure));
        let mut table = Table::new(columns);
        for row in &card.counters {
            table.row(Row::new(vec![
                Cell::name(&row.name),
                Cell::figure(view::count(row.count)),
                Cell::figure(figure(row.per_second, view::rate)),
            ]));
        }
        flow.heading(OWN_METRICS);
        table.place(flow);
    }
    if !card.timings.is_empty() {
        let mut columns = vec![Column::words("Duration", 1.0)];
        columns.extend(["Count", "p50", "p95", "p99", "Max"].map(Column::figure));
        let mut table = Table::new(columns);
        for row in &card.timings {
            let times = [row.time.p50, row.time.p95, row.time.p99, row.time.max];
            let mut cells = vec![Cell::name(&row.name), Cell::figure(view::count(row.count))];
            cells.extend(times.map(|time| Cell::figure(figure(time, view::duration))));
            table.row(Row::new(cells));
        }
        if card.counters.is_empty() {
            flow.heading(OWN_METRICS);
        } else {
            flow.gap(12.0);
        }
        table.place(flow);
    }
}

pub(super) fn errors(flow: &mut Flow<'_>, card: &Card) {
    if card.errors.is_empty() && card.panics.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::words("Step", 1.0),
        Column::word("Kind"),
        Column::words("First example", 2.4),
        Column::figure("Count"),
    ]);
    for row in &card.errors {
        let mut kind = row.kind.name().to_owned();
        if let Some(status) = row.status {
            let _ = write!(kind, " {status}");
        }
        let mut example = Cell::of(prose(&row.example, CELL));
        if let Some(sample) = &row.sample {
            let style = Style {
                code: true,
                ..SMALL.colour(INK)
            };
            example = example.and(plain(&**sample, style));
        }
        table.row(Row::new(vec![
            Cell::name(&row.step),
            Cell::figure(kind),
            example,
            count(row.count, row.elsewhere),
        ]));
    }
    for row in &card.panics {
        table.row(Row::new(vec![
            Cell::name(&row.location),
            Cell::figure("panic"),
            Cell::figure(&*row.message),
            count(row.count, 0),
        ]));
    }
    flow.heading("Errors");
    table.place(flow);
}

pub(super) fn thresholds(flow: &mut Flow<'_>, card: &Card) {
    if card.thresholds.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::words("Condition", 1.0),
        Column::words("Of", 1.0),
        Column::figure("Measured"),
        Column::word("Result"),
    ]);
    for row in &card.thresholds {
        let mut condition = code(&row.condition);
        if row.implied {
            condition.extend(plain("  by default", SMALL));
        }
        let (result, colour) = if row.passed {
            ("✓ kept", GOOD)
        } else {
            ("✗ broken", ALARM)
        };
        table.row(Row::new(vec![
            Cell::of(condition),
            Cell::figure(row.step.as_deref().unwrap_or("journey")),
            Cell::figure(&*row.actual_words).colour((!row.passed).then_some(ALARM)),
            Cell::figure(result).colour(Some(colour)),
        ]));
    }
    flow.heading("Thresholds");
    table.place(flow);
}
