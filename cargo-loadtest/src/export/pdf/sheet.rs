//! One card, from its verdict to its notes.

use super::block::{Block, colour};
use super::flow::{Flow, WIDTH};
use super::fonts::Fonts;
use super::text::{ALARM, FAIR, GOOD, INK, MUTED, Style, lines, plain, prose};
use super::{
    BADGE, BODY, SUB, beside, drawings, figure, findings, grade_colour, reasons, steps, tone, top,
};
use crate::export::beside::{asked, kept, reasons as told};
use crate::export::chart;
use crate::export::facts::{errors_alarm, facts, percentiles_of, spared_heading};
use loadtest_model::card::{Card, Report, Trust, view};
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
    findings::dependencies(flow, "Dependency failures", &card.dependency_failures);
    findings::dependencies(flow, spared_heading(card), &card.not_drawn);
    findings::weights(flow, card);
    findings::statuses(flow, card);
    findings::own(flow, card);
    drawings::over_time(flow, card);
    drawings::distribution(flow, card);
    drawings::slowest(flow, card);
    findings::errors(flow, card);
    findings::thresholds(flow, card);
    beside::place(flow, card);
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
    let told = told(card).into_iter();
    let mut sentences: Vec<_> = told.map(|words| (words, INK)).collect();
    if sentences.is_empty() {
        sentences.push((kept(card), INK));
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
    if let Some(asked) = asked(card) {
        // In two lines: there is little room.
        let (least, end) = asked.split_once(" asked").unwrap_or((&asked, ""));
        below.extend([least.to_owned(), format!("asked{end}")]);
    }
    let (width, height) = (BADGE, 60.0 + 11.0 * below.len() as f64);
    let mut block = Block::gap(height);
    block.plate((0.0, 0.0), (width, height), 10.0, tone.tint(0.09));
    let label = card.grade.label();
    let size = if label.chars().count() > 2 {
        32.0
    } else {
        40.0
    };
    let mut centred = |words: String, style: Style, y: f64| {
        for line in lines(&plain(words, style), width - 8.0, 1, fonts) {
            let x = (width - line.width) / 2.0;
            block.line(line, (x, y));
        }
    };
    centred(label, Style::new(size).bold().colour(tone), 46.0);
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
