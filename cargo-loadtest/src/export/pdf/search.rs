//! The result of a search, for the document.

use super::block::Block;
use super::flow::Flow;
use super::table::{Cell, Column, Row, Table};
use super::text::{ALARM, FAIR, GOOD, INK, MUTED, Style, plain, prose};
use super::{BADGE, SUB, reasons, top};
use crate::export::facts::trial_cells;
use loadtest_model::card::{Capacity, CapacityVerdict, Report, Tone, view};

pub(super) fn place(flow: &mut Flow<'_>, report: &Report, found: &Capacity) {
    let tone = match found.verdict {
        CapacityVerdict::Confirmed => GOOD,
        CapacityVerdict::Invalid | CapacityVerdict::Interrupted => FAIR,
        _ => ALARM,
    };
    let mut badge = Block::default();
    badge.plate((0.0, 0.0), (BADGE, 52.0), 10.0, MUTED.tint(0.09));
    let rate = found.headline();
    let size = if rate.chars().count() > 7 { 14.0 } else { 18.0 };
    let style = Style::new(size).bold().colour(MUTED);
    for line in super::text::lines(&plain(rate, style), BADGE - 6.0, 1, flow.fonts) {
        let x = (BADGE - line.width) / 2.0;
        badge.line(line, (x, 26.0 + size * 0.36));
    }
    badge.height = 52.0;
    flow.mark(&found.scenario, 0);
    let about = format!(
        "capacity: {} · trials of {}, confirmed over {} · run {}",
        found.slo(),
        view::span(found.goal.window),
        view::span(found.goal.confirm),
        report.run_id
    );
    let verdict = (found.verdict.name(), tone);
    let below = [prose(&about, SUB)];
    flow.before_next(top(flow, verdict, &found.scenario, &below, Some(badge)));
    let sentences: Vec<_> = found
        .remarks
        .iter()
        .map(|remark| {
            let colour = if remark.tone == Tone::Note { FAIR } else { INK };
            (remark.words.clone(), colour)
        })
        .collect();
    reasons(flow, tone, &sentences);
    trials(flow, found);
    if !report.cards.is_empty() {
        flow.gap(8.0);
        let words = "On the next page, in full: the trial that shows the result.";
        flow.paragraph(&plain(words, SUB));
    }
}

fn trials(flow: &mut Flow<'_>, found: &Capacity) {
    let further = found.further_conditions();
    let mut columns: Vec<Column> = ["Rate", "Achieved", "p95", "Errors"]
        .map(Column::figure)
        .into();
    columns.extend(further.iter().map(|(_, title)| Column::figure(title)));
    columns.push(Column::figure("Window"));
    columns.push(Column::words("Result", 1.0));
    let mut table = Table::new(columns);
    for trial in &found.trials {
        let mut cells = vec![Cell::name(&view::rate(trial.attempt.per_second))];
        let figures = trial_cells(found, trial, &further);
        cells.extend(
            figures
                .into_iter()
                .map(|(words, breaks)| Cell::figure(words).colour(breaks.then_some(ALARM))),
        );
        let mut result = Cell::figure(trial.words());
        if !trial.reasons.is_empty() {
            result = result.and(prose(&trial.reasons.join("; "), SUB));
        }
        cells.push(result);
        table.row(Row::new(cells));
    }
    flow.heading("Trials");
    table.place(flow);
}
