//! The parts of the card below its first page.

use super::table::{Column, Table};
use super::text::{BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN, bar, clean, width};
use super::{MOST, Page, more};
use crate::export::facts::facts;
use loadtest_model::card::{Card, Report, Trust, view};
use std::fmt::Write as _;

/// The most lines of what came from outside.
const EXAMPLE: usize = 4;

pub(super) fn weights(page: &mut Page, card: &Card) {
    if card.weights.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::left("weight of"),
        Column::right("configured"),
        Column::right("observed"),
        Column::right("95 % interval").leaves(1),
        Column::right("draws").leaves(2),
    ]);
    for row in &card.weights {
        let none = || view::NONE.to_owned();
        let style = if row.plausible { PLAIN } else { FAIR };
        let outside = if row.plausible { "" } else { " (outside)" };
        let interval = row.interval.map_or_else(none, |(low, high)| {
            format!("{} – {}{outside}", view::percent(low), view::percent(high))
        });
        table.row(
            vec![
                (PLAIN, clean(&row.step)),
                (PLAIN, view::percent(row.configured)),
                (style, row.observed.map_or_else(none, view::percent)),
                (DIM, interval),
                (DIM, view::count(row.draws)),
            ],
            None,
        );
    }
    page.title("Weights");
    let lines = table.lines(page.room());
    page.lines(lines);
}

/// Answers by status, of a test of one request.
pub(super) fn outcomes(page: &mut Page, card: &Card) {
    if !card.headline.single_request || card.statuses.is_empty() {
        return;
    }
    page.title("Answers by status");
    let all: u64 = card.statuses.values().sum();
    let wide = card
        .statuses
        .values()
        .map(|count| width(&view::count(*count)));
    let wide = wide.max().unwrap_or(0);
    let room = page.room().saturating_sub(wide + 18);
    for (status, count) in &card.statuses {
        let share = *count as f64 / all as f64;
        let style = if *status < 400 { GOOD } else { BAD };
        let words = view::count(*count);
        let line = Line::new()
            .add(style, status.to_string())
            .to(5 + wide - width(&words))
            .add(PLAIN, words)
            .to(wide + 7)
            .add(style, bar(share, room))
            .add(DIM, format!(" {}", view::percent(share)));
        page.line(line);
    }
}

pub(super) fn errors(page: &mut Page, card: &Card) {
    if card.errors.is_empty() && card.panics.is_empty() {
        return;
    }
    page.title("Errors");
    let wide = card.errors.iter().map(|row| width(&view::count(row.count)));
    let wide = wide.max().unwrap_or(0);
    for row in card.errors.iter().take(MOST) {
        let count = view::count(row.count);
        let lead = Line::new().to(wide - width(&count)).add(BAD, count);
        let mut words = format!("`{}` {}", row.step, row.kind);
        if let Some(status) = row.status {
            let _ = write!(words, " {status}");
        }
        if row.elsewhere > 0 {
            let _ = write!(words, " (and {} in the ramp)", view::count(row.elsewhere));
        }
        page.text(lead.add(PLAIN, " × "), PLAIN, &words);
        let below = || Line::new().to(wide + 3);
        let first = format!("first: {}", row.example);
        page.text_within(EXAMPLE, below(), DIM, &first);
        if let Some(sample) = row.sample.as_deref().filter(|sample| !sample.is_empty()) {
            let room = page.room().saturating_sub(wide + 3);
            let sample = super::text::shorten(&clean(sample), room);
            page.line(below().add(DIM, sample));
        }
    }
    more(page, card.errors.len());
    for panic in &card.panics {
        let lead = Line::new().add(BAD, format!("{} × ", view::count(panic.count)));
        let words = format!("panic at {}: {}", panic.location, panic.message);
        page.text_within(EXAMPLE, lead, PLAIN, &words);
    }
}

pub(super) fn thresholds(page: &mut Page, card: &Card) {
    let mut table = Table::new(vec![
        Column::left(""),
        Column::left(""),
        Column::right(""),
        Column::left(""),
    ]);
    for row in &card.thresholds {
        let (style, mark) = if row.passed {
            (GOOD, '✓')
        } else {
            (BAD, '✗')
        };
        let of = row
            .step
            .as_deref()
            .map_or_else(|| "journey".to_owned(), clean);
        let by_default = if row.implied { "by default" } else { "" };
        table.row(
            vec![
                (style, format!("{mark} {}", row.condition)),
                (PLAIN, super::text::shorten(&of, page.room() / 3)),
                (
                    if row.passed { PLAIN } else { BAD },
                    row.actual_words.clone(),
                ),
                (DIM, by_default.to_owned()),
            ],
            None,
        );
    }
    if card.thresholds.is_empty() {
        return;
    }
    page.title("Thresholds");
    let lines = table.lines(page.room());
    page.lines(lines);
}

pub(super) fn accounts(page: &mut Page, card: &Card) {
    let accounts = &card.accounts;
    page.title("Iterations");
    let figure = view::count;
    page.text(
        Line::new(),
        PLAIN,
        &format!(
            "{} planned = {} started + {} dropped",
            figure(accounts.planned),
            figure(accounts.started),
            figure(accounts.dropped)
        ),
    );
    page.text(
        Line::new(),
        PLAIN,
        &format!(
            "{} started = {} ok + {} failed + {} cancelled",
            figure(accounts.started),
            figure(accounts.ok),
            figure(accounts.failed),
            figure(accounts.cancelled)
        ),
    );
    if accounts.balanced == Some(false) {
        page.text(
            Line::new().add(BAD, "✗ "),
            PLAIN,
            "the accounts do not balance",
        );
    }
    if accounts.balanced.is_none() {
        page.text(Line::new(), DIM, "what was in flight at the end is unknown");
    }
    if accounts.warm_up > 0 {
        let words = format!("besides {} of the warm-up", figure(accounts.warm_up));
        page.text(Line::new(), DIM, &words);
    }
}

pub(super) fn validity(page: &mut Page, card: &Card) {
    page.gap();
    let style = match card.validity.trust {
        Trust::Valid => GOOD,
        Trust::Degraded => FAIR,
        Trust::Invalid => BAD,
    };
    let line = Line::new()
        .add(BOLD, "Measurement ")
        .add(style, card.validity.trust.name());
    page.line(line);
    for cause in &card.validity.causes {
        let style = if cause.trust == Trust::Invalid {
            BAD
        } else {
            FAIR
        };
        page.text(Line::new().add(style, "! "), PLAIN, &cause.what);
        page.text(Line::new().add(DIM, "  → "), DIM, &cause.remedy);
    }
    if card.validity.trust != Trust::Valid {
        let words = format!("generator: {}", card.generator.words());
        page.text(Line::new(), DIM, &words);
    }
}

pub(super) fn environment(page: &mut Page, report: &Report, card: &Card) {
    page.title("Environment");
    for (label, value) in facts(report, card) {
        let lead = Line::new().add(DIM, label).to(13);
        page.text(lead, PLAIN, &value);
    }
}

pub(super) fn notes(page: &mut Page, card: &Card) {
    if card.notes.is_empty() {
        return;
    }
    page.gap();
    for note in &card.notes {
        page.text(Line::new(), DIM, note);
    }
}
