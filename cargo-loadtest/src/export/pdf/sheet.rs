//! One card, from its verdict to its notes.

use super::block::{Block, colour};
use super::flow::{Flow, WIDTH};
use super::fonts::Fonts;
use super::table::{Cell, Column, Row, Table};
use super::text::{ALARM, FAIR, GOOD, INK, MUTED, Span, Style, lines, plain, prose};
use super::{BADGE, BODY, SUB, drawings, figure, grade_colour, reasons, steps, tone, top};
use crate::export::chart;
use crate::export::facts::{OWN_METRICS, errors_alarm, facts, percentiles_of, spared_heading};
use loadtest::card::{Card, DependencyFailure, Report, Trust, view};
use std::fmt::Write as _;

pub(super) fn place(flow: &mut Flow<'_>, report: &Report, card: &Card) {
    head(flow, card);
    flow.gap(16.0);
    flow.place(tiles(card, flow.fonts));
    flow.gap(3.0);
    flow.paragraph(&plain(percentiles_of(card), SUB));
    steps::table(flow, card);
    losses(flow, card);
    steps::time(flow, card);
    steps::accounts(flow, card);
    dependencies(flow, "Dependency failures", &card.dependency_failures);
    dependencies(flow, spared_heading(card), &card.not_drawn);
    weights(flow, card);
    statuses(flow, card);
    own(flow, card);
    drawings::over_time(flow, card);
    drawings::distribution(flow, card);
    drawings::slowest(flow, card);
    errors(flow, card);
    thresholds(flow, card);
    trust(flow, card);
    iterations(flow, card);
    environment(flow, report, card);
    drawings::of_generator(flow, card);
    notes(flow, card);
}

fn head(flow: &mut Flow<'_>, card: &Card) {
    let tone = tone(card.verdict);
    flow.mark(&card.name, 0);
    let badge = badge(card, flow.fonts);
    let about = format!("{} · {}", card.identity, card.setting.load);
    let mut below = vec![plain(about, SUB)];
    if !card.description.is_empty() {
        below.push(plain(&*card.description, BODY));
    }
    if !card.tags.is_empty() {
        below.push(plain(format!("Tags: {}", card.tags.join(", ")), SUB));
    }
    let verdict = (card.verdict.name(), tone);
    flow.before_next(top(flow, verdict, &card.name, &below, Some(badge)));
    let mut sentences: Vec<_> = card
        .reasons
        .iter()
        .map(|reason| (reason.clone(), INK))
        .collect();
    if sentences.is_empty() {
        let kept = view::counted(card.thresholds.len() as u64, "threshold");
        sentences.push((format!("{kept} kept"), INK));
    }
    sentences.extend(card.remarks.iter().map(|remark| (remark.clone(), FAIR)));
    reasons(flow, tone, &sentences);
}

/// The overall grade in large type.
fn badge(card: &Card, fonts: &Fonts) -> Block {
    let tone = grade_colour(card.grade.letter);
    let mut below = Vec::new();
    if let Some(score) = card.grade.score {
        below.push(view::score(score));
    }
    if let Some((from, to)) = card.grade.interval {
        below.push(format!("{} – {}", view::score(from), view::score(to)));
    }
    if card.grade.partial {
        below.push("partial".to_owned());
    }
    if card.grade.withheld {
        below.push("withheld".to_owned());
    }
    let (width, height) = (BADGE, 60.0 + 11.0 * below.len() as f64);
    let mut block = Block::gap(height);
    block.plate((0.0, 0.0), (width, height), 10.0, tone.tint(0.09));
    let mut centred = |words: String, style: Style, y: f64| {
        for line in lines(&plain(words, style), width - 8.0, 1, fonts) {
            let x = (width - line.width) / 2.0;
            block.line(line, (x, y));
        }
    };
    centred(
        card.grade.label(),
        Style::new(40.0).bold().colour(tone),
        46.0,
    );
    for (i, words) in below.into_iter().enumerate() {
        centred(words, Style::new(8.0).colour(tone), 60.0 + 11.0 * i as f64);
    }
    block
}

fn tiles(card: &Card, fonts: &Fonts) -> Block {
    let head = &card.headline;
    let time = |time: Option<_>| figure(time, view::duration);
    let mut failed = format!("{} failed", view::count(head.failed));
    if head.dropped > 0 {
        let _ = write!(failed, ", {} dropped", view::count(head.dropped));
    }
    let (rate, errors) = if head.single_request {
        ("Success rate", head.error_rate.map(|rate| 1.0 - rate))
    } else {
        ("Error rate", head.error_rate)
    };
    let achieved = if head.single_request {
        "RPS"
    } else {
        "Journeys/s"
    };
    let target = head.target_per_second.map_or_else(
        || "closed model: no target".to_owned(),
        |target| format!("of {} targeted", view::rate(target)),
    );
    let mut tiles = vec![
        ("p50", time(head.time.p50), String::new(), false),
        ("p95", time(head.time.p95), String::new(), false),
        ("p99", time(head.time.p99), String::new(), false),
        (
            rate,
            figure(errors, view::percent),
            failed,
            errors_alarm(card),
        ),
        (
            achieved,
            figure(head.achieved_per_second, view::rate),
            target,
            false,
        ),
    ];
    if !head.single_request {
        let failures = head.dependency_failures;
        tiles.push((
            "Dependency failures",
            view::count(failures),
            String::new(),
            failures > 0,
        ));
    }
    let width = WIDTH / tiles.len() as f64;
    let mut block = Block::default();
    let mut height: f64 = 0.0;
    for (i, (name, figure, note, is_bad)) in tiles.into_iter().enumerate() {
        let colour = |other| if is_bad { ALARM } else { other };
        let mut one = Block::gap(8.0);
        let room = width - 8.0;
        one.below(Block::label(name, SUB.colour(colour(MUTED)), room, fonts));
        let large = Style::new(15.0).bold().colour(colour(INK));
        one.below(Block::label(&figure, large, room, fonts));
        let note = plain(note, Style::new(7.2).colour(colour(MUTED)));
        one.below(Block::words(&note, room, 2, fonts));
        height = height.max(one.height + 6.0);
        block.add(one, (width * i as f64, 0.0));
    }
    block.height = height;
    for y in [0.0, height] {
        block.rule((0.0, y), WIDTH, super::text::GRID);
    }
    block
}

fn losses(flow: &mut Flow<'_>, card: &Card) {
    if card.losses.is_empty() {
        return;
    }
    flow.heading("Where the grade lost points");
    for loss in &card.losses {
        let style = BODY.bold().colour(ALARM);
        let points = lines(
            &plain(view::points(loss.points), style),
            40.0,
            1,
            flow.fonts,
        );
        let mut first = Block::default();
        for line in points {
            let x = 36.0 - line.width;
            first.line(line, (x, BODY.size * 1.04));
        }
        let rest = lines(&prose(&loss.words, BODY), WIDTH - 46.0, 12, flow.fonts);
        first.add(Block::lines(rest, BODY.size), (46.0, 0.0));
        first.height += 2.0;
        flow.place(first);
    }
}

fn dependencies(flow: &mut Flow<'_>, title: &str, rows: &[DependencyFailure]) {
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

const CELL: Style = Style::new(super::table::SIZE);
const SMALL: Style = Style::new(7.2).colour(MUTED);

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

fn weights(flow: &mut Flow<'_>, card: &Card) {
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

fn statuses(flow: &mut Flow<'_>, card: &Card) {
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

fn own(flow: &mut Flow<'_>, card: &Card) {
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

fn errors(flow: &mut Flow<'_>, card: &Card) {
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

fn thresholds(flow: &mut Flow<'_>, card: &Card) {
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

/// How far the measurement can be trusted.
fn trust(flow: &mut Flow<'_>, card: &Card) {
    let colour = match card.validity.trust {
        Trust::Valid => GOOD,
        Trust::Degraded => FAIR,
        Trust::Invalid => ALARM,
    };
    flow.heading("Measurement");
    let word = card.validity.trust.name();
    flow.paragraph(&plain(word, Style::new(8.5).bold().colour(colour)));
    if card.validity.causes.is_empty() {
        let words = "The generator kept up: nothing speaks against the figures.";
        flow.paragraph(&plain(words, SUB));
    }
    for cause in &card.validity.causes {
        flow.gap(2.0);
        flow.paragraph_at(10.0, &prose(&cause.what, BODY), |_| {});
        flow.paragraph_at(10.0, &prose(&format!("→ {}", cause.remedy), SUB), |_| {});
    }
}

/// Where every iteration went, as two sums in a line.
fn iterations(flow: &mut Flow<'_>, card: &Card) {
    let accounts = &card.accounts;
    let figures = [
        ("planned", accounts.planned),
        ("= started", accounts.started),
        ("+ dropped", accounts.dropped),
        ("started", accounts.started),
        ("= ok", accounts.ok),
        ("+ failed", accounts.failed),
        ("+ cancelled", accounts.cancelled),
    ];
    let width = WIDTH / figures.len() as f64;
    let mut block = Block::default();
    for (i, (name, number)) in figures.into_iter().enumerate() {
        let mut figure = Block::label(name, SUB, width - 6.0, flow.fonts);
        let style = Style::new(10.0).bold();
        figure.below(Block::label(
            &view::count(number),
            style,
            width - 6.0,
            flow.fonts,
        ));
        block.add(figure, (width * i as f64, 0.0));
    }
    block.height += 4.0;
    let words = match accounts.balanced {
        None => "What was in flight at the end is unknown.".to_owned(),
        Some(false) => "The accounts do not balance.".to_owned(),
        Some(true) if accounts.warm_up > 0 => format!(
            "The accounts balance; ramp included, and {} of the warm-up apart.",
            view::count(accounts.warm_up)
        ),
        Some(true) => "The accounts balance; ramp included.".to_owned(),
    };
    block.below(Block::words(&plain(words, SUB), WIDTH, 2, flow.fonts));
    flow.heading("Iterations");
    flow.place(block);
}

fn environment(flow: &mut Flow<'_>, report: &Report, card: &Card) {
    flow.heading("Environment");
    let left = 78.0;
    let rows = facts(report, card).into_iter().map(|(name, value)| {
        let mut row = Block::default();
        row.add(Block::label(name, SUB, left, flow.fonts), (0.0, 2.6));
        let value = Block::words(&plain(value, Style::new(8.0)), WIDTH - left, 12, flow.fonts);
        row.add(value, (left, 2.6));
        row.height += 2.6;
        row.rule((0.0, row.height), WIDTH, super::text::GRID);
        row
    });
    let rows = rows.collect();
    flow.rows(&Block::default(), rows);
}

fn notes(flow: &mut Flow<'_>, card: &Card) {
    if card.notes.is_empty() {
        return;
    }
    flow.gap(18.0);
    for note in &card.notes {
        flow.paragraph(&prose(note, SUB));
        flow.gap(3.0);
    }
}

/// A square in the colour of a step in the drawing of shares.
pub(super) fn key(card: &Card, step: usize) -> super::text::Colour {
    let bottleneck = card
        .bottleneck
        .as_ref()
        .map_or(usize::MAX, |found| found.step);
    colour(chart::paint_of(step, bottleneck))
}
