//! What changed against the baseline, or another run.

use super::Page;
use super::table::{Column, Table};
use super::text::{BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN, clean};
use crate::export::beside::{JOURNEY, Row, Shown, shown};
use anstyle::Style;
use loadtest_model::card::Card;
use loadtest_model::comparison::Change;

pub(super) fn section(page: &mut Page, card: &Card) {
    if let Some(shown) = shown(card) {
        page.title(&shown.title);
        contents(page, &shown);
    }
}

/// Comparisons of several scenarios without their cards, in at most `width` columns.
pub(crate) fn scenarios(compared: &[(String, Shown<'_>)], width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    for (at, (identity, shown)) in compared.iter().enumerate() {
        if at > 0 {
            page.gap();
        }
        page.text(Line::new(), BOLD, identity);
        page.text(Line::new(), DIM, &shown.title);
        contents(&mut page, shown);
    }
    page.out
}

fn contents(page: &mut Page, shown: &Shown<'_>) {
    lead(page, shown);
    for (refusal, help) in &shown.against {
        page.text(Line::new().add(BAD, "✗ "), PLAIN, refusal);
        page.text(Line::new().add(DIM, "  → "), DIM, help);
    }
    let lines = table(&shown.rows).lines(page.room());
    if !shown.rows.is_empty() {
        page.lines(lines);
        page.gap();
    }
    for note in &shown.notes {
        page.text(Line::new(), DIM, note);
    }
}

/// `Beside 3 runs of it: ✗ 2 regressed · = 13 unchanged`.
fn lead(page: &mut Page, shown: &Shown<'_>) {
    if shown.counts.is_empty() {
        let end = if shown.against.is_empty() { "" } else { ":" };
        page.text(Line::new(), PLAIN, &format!("{}{end}", shown.lead));
        return;
    }
    let mut line = Line::new().add(PLAIN, format!("{}:", shown.lead));
    for (i, row) in shown.counts.iter().enumerate() {
        let words = format!("{} {} {}", row.mark, row.count, row.verdict);
        let after = Line::new().add(style(row.verdict), words);
        let between = if i == 0 { " " } else { " · " };
        if line.width() + between.len() + after.width() > page.room() {
            page.line(std::mem::take(&mut line));
            line = after;
        } else {
            line = line.add(DIM, between).join(after);
        }
    }
    page.line(line);
}

pub(super) fn style(change: Change) -> Style {
    match change {
        Change::Regressed => BAD,
        Change::Improved => GOOD,
        Change::Inconclusive => FAIR,
        Change::Unchanged => PLAIN,
    }
}

fn table(rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(vec![
        Column::left("  step"),
        Column::left(""),
        Column::right("baseline"),
        Column::right("now"),
        Column::right("change"),
        Column::left("90 % sure").leaves(1),
    ]);
    let mut before = None;
    for row in rows {
        let style = style(row.verdict);
        let name = row.step.map_or_else(|| JOURNEY.to_owned(), clean);
        let is_same = before.replace(row.step) == Some(row.step);
        let name = if is_same { String::new() } else { name };
        table.row(
            vec![
                (style, format!("{} {name}", row.mark)),
                (PLAIN, row.figure.to_owned()),
                (DIM, row.base.clone()),
                (PLAIN, row.new.clone()),
                (style, row.change.clone()),
                (DIM, row.interval.clone()),
            ],
            None,
        );
    }
    table
}
