//! The steps: what each did, and where the time goes.

use super::block::Block;
use super::flow::{Flow, WIDTH};
use super::sheet::key;
use super::table::{Cell, Column, Row, Table};
use super::text::{ALARM, Colour, MUTED, Span, Style, plain};
use super::{BODY, figure, step_grade};
use crate::export::chart;
use crate::export::facts::ledger;
use loadtest_model::card::{Card, InnerRow, StepRow, view};
use std::time::Duration;

/// A column that not every card has.
type More = (&'static str, fn(&StepRow) -> Cell);

fn more(card: &Card) -> Vec<More> {
    let any = |counts: fn(&StepRow) -> u64| card.steps.iter().any(|step| counts(step) > 0);
    let mut more: Vec<More> = Vec::new();
    if any(|step| step.retries) {
        more.push(("Requests", |step| Cell::figure(view::count(step.requests))));
    }
    if any(|step| step.skipped) {
        more.push(("Skips", |step| {
            Cell::figure(view::count(step.skipped)).colour(red(step.skipped > 0))
        }));
    }
    more
}

fn red(is: bool) -> Option<Colour> {
    is.then_some(ALARM)
}

pub(super) fn table(flow: &mut Flow<'_>, card: &Card) {
    let more = more(card);
    let mut columns = vec![Column::words("Step", 1.0), Column::word("Grade")];
    let figures = [
        "Executed",
        "RPS",
        "Errors",
        "p50",
        "p95",
        "p99",
        "Share of\u{a0}time",
        "Received",
    ];
    columns.extend(figures.map(Column::figure));
    columns.extend(more.iter().map(|(title, _)| Column::figure(title)));
    let mut table = Table::new(columns);
    let many = card.steps.len() > 1;
    for (i, step) in card.steps.iter().enumerate() {
        let slowest = card
            .bottleneck
            .as_ref()
            .is_some_and(|found| many && found.step == i);
        table.row(step_row(card, i, slowest, &more));
        for inner in &step.inner {
            table.row(inner_row(inner));
        }
    }
    flow.heading("Steps");
    table.place(flow);
}

fn step_row(card: &Card, number: usize, slowest: bool, more: &[More]) -> Row {
    let step = &card.steps[number];
    let bold = Style::new(super::table::SIZE).bold();
    let mut name: Vec<Span> = plain(&*step.name, if slowest { bold.colour(ALARM) } else { bold });
    if slowest {
        name.extend(plain(" bottleneck", Style::new(6.6).bold().colour(ALARM)));
    }
    let mut name = Cell::of(name);
    let request: Vec<&str> = [&step.method, &step.url]
        .into_iter()
        .flatten()
        .map(|word| &**word)
        .collect();
    if !request.is_empty() {
        name = name.and(plain(request.join("\u{a0}"), Style::new(6.8).colour(MUTED)));
    }
    let keyed = card.bottleneck.is_some() && card.steps.len() > 1;
    let (grade, tone) = step_grade(card, number);
    let time = |time: Option<Duration>| Cell::figure(figure(time, view::duration));
    let mut cells = vec![
        name.key(keyed.then(|| key(card, number))),
        Cell::chip(&grade, tone),
        Cell::figure(view::count(step.executed)),
        Cell::figure(figure(step.per_second, view::rate)),
        Cell::figure(figure(step.error_rate, view::percent)).colour(red(step.failed > 0)),
        time(step.response.p50),
        time(step.response.p95),
        time(step.response.p99),
        Cell::figure(figure(step.time_share, view::percent)).colour(red(slowest)),
        Cell::figure(figure(step.received_bytes_per_second, view::throughput)),
    ];
    cells.extend(more.iter().map(|(_, cell)| cell(step)));
    Row {
        ground: slowest.then(|| ALARM.tint(0.06)),
        ..Row::new(cells)
    }
}

/// One name of the requests of a step that sends for itself, below it.
fn inner_row(row: &InnerRow) -> Row {
    let none = Cell::default;
    let time = |time: Option<Duration>| Cell::muted(&figure(time, view::duration));
    let cells = vec![
        Cell::muted(&row.name).indented(20.0),
        none(),
        Cell::muted(&view::count(row.requests)),
        none(),
        Cell::muted(&figure(row.error_rate, view::percent)).colour(red(row.failed > 0)),
        time(row.service.p50),
        time(row.service.p95),
        time(row.service.p99),
    ];
    Row {
        inner: true,
        ..Row::new(cells)
    }
}

/// The bottleneck, the share of time of each step, and the slow tail.
pub(super) fn time(flow: &mut Flow<'_>, card: &Card) {
    let Some(bottleneck) = &card.bottleneck else {
        return;
    };
    flow.heading("Where the time goes");
    if let Some(shares) = chart::shares(card) {
        let mut block = Block::scene(&shares.scene, WIDTH, flow.fonts);
        block.height += 7.0;
        flow.before_next(block);
        let found = [
            ("Bottleneck: ", true, false),
            (&*bottleneck.name, false, true),
        ];
        let mut spans = sentence(&found);
        let share = format!(
            " takes {} of the time. {}",
            view::percent(bottleneck.share),
            bottleneck.why
        );
        spans.extend(super::prose(&share, BODY));
        flow.paragraph(&spans);
    } else {
        flow.paragraph(&super::prose(&bottleneck.why, BODY));
    }
    if let Some(tail) = &card.tail {
        let mut spans = sentence(&[("Slow tail: ", true, false), (&*tail.name, false, true)]);
        let words = format!(
            " takes {} of the time of the slowest 5 % of journeys, those of {} and more.",
            view::percent(tail.share),
            view::duration(Duration::from_micros(tail.at_least_us))
        );
        spans.extend(plain(words, BODY));
        flow.gap(2.0);
        flow.paragraph(&spans);
    }
}

/// Words, and whether they are bold or code.
fn sentence(words: &[(&str, bool, bool)]) -> Vec<Span> {
    words
        .iter()
        .map(|(text, bold, code)| Span {
            text: (*text).to_owned(),
            style: Style {
                bold: *bold,
                code: *code,
                ..BODY
            },
        })
        .collect()
}

/// Where the iterations went that came by each step.
pub(super) fn accounts(flow: &mut Flow<'_>, card: &Card) {
    let Some(ledger) = ledger(card) else {
        return;
    };
    let mut columns = vec![Column::words("Step", 1.0)];
    columns.extend(
        ledger
            .columns
            .iter()
            .map(|column| Column::figure(&capital(column.title))),
    );
    let mut table = Table::new(columns);
    for (i, name) in ledger.steps.iter().enumerate() {
        let mut cells = vec![Cell::name(name)];
        cells.extend(ledger.columns.iter().map(|column| {
            let count = column.counts[i];
            let colour = match count {
                0 => Some(MUTED),
                _ => red(column.alarming),
            };
            Cell::figure(view::count(count)).colour(colour)
        }));
        table.row(Row::new(cells));
    }
    let words: Vec<String> = ledger
        .columns
        .iter()
        .map(|column| format!("{}: {}", capital(column.title), column.words))
        .collect();
    let words = format!(
        "Where the iterations went that came by each step. {}.",
        words.join("; ")
    );
    flow.heading("Dependency ledger");
    flow.caption(&words);
    table.place(flow);
}

fn capital(title: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
