//! What the scenario's code counted and timed by itself.

use super::Page;
use super::table::{Column, Table};
use super::text::{BOLD, PLAIN, clean};
use crate::export::facts::OWN_METRICS;
use loadtest_model::card::{Card, CounterRow, TimingRow, view};
use std::time::Duration;

pub(super) fn table(page: &mut Page, card: &Card) {
    if card.counters.is_empty() && card.timings.is_empty() {
        return;
    }
    page.title(OWN_METRICS);
    if !card.counters.is_empty() {
        counters(page, &card.counters);
    }
    if !card.counters.is_empty() && !card.timings.is_empty() {
        page.gap();
    }
    if !card.timings.is_empty() {
        timings(page, &card.timings);
    }
}

fn counters(page: &mut Page, rows: &[CounterRow]) {
    let mut table = Table::new(vec![
        Column::left("counter"),
        Column::right("count"),
        Column::right("per second"),
    ]);
    for row in rows {
        let rate = row.per_second.map(view::rate);
        table.row(
            vec![
                (BOLD, clean(&row.name)),
                (PLAIN, view::count(row.count)),
                (PLAIN, rate.unwrap_or_else(|| view::NONE.to_owned())),
            ],
            None,
        );
    }
    let lines = table.lines(page.room());
    page.lines(lines);
}

fn timings(page: &mut Page, rows: &[TimingRow]) {
    let mut table = Table::new(vec![
        Column::left("duration"),
        Column::right("count").leaves(1),
        Column::right("p50").leaves(3),
        Column::right("p95"),
        Column::right("p99").leaves(2),
        Column::right("max"),
    ]);
    let figure = |time: Option<Duration>| {
        let words = time.map(view::duration);
        (PLAIN, words.unwrap_or_else(|| view::NONE.to_owned()))
    };
    for row in rows {
        table.row(
            vec![
                (BOLD, clean(&row.name)),
                (PLAIN, view::count(row.count)),
                figure(row.time.p50),
                figure(row.time.p95),
                figure(row.time.p99),
                figure(row.time.max),
            ],
            None,
        );
    }
    let lines = table.lines(page.room());
    page.lines(lines);
}
