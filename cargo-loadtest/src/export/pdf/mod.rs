//! The card as a document of A4 pages, to print and to hand on: the sections and the charts of the page.
//!
//! `printpdf` writes the file. Without its feature `text_layout`, since the document is laid out here: that
//! feature would add 16 crates and a second reader of fonts, and takes the widths of characters out of reach.
//! Without it nothing cuts a font down to the characters in use, so `subsetter` does, which Typst's documents
//! go through: one crate, no code that runs on anything but the font. The font is `DejaVu Sans Condensed`, of the
//! crate `dejavu` (Bitstream's licence, which allows to embed it): of the fonts that crates carry it alone has
//! Latin, Greek, Cyrillic, Hebrew, Arabic and all signs of the reports, regular and bold. The family is
//! complete and changes no more, hence neither does the crate; the two faces add 1.3 MB to the tool.
//!
//! Times and numbers of the file are those of the run, so that a record gives the same bytes every time.

mod beside;
mod block;
mod drawings;
mod findings;
mod flow;
mod fonts;
mod lacking;
mod search;
mod sheet;
mod steps;
mod table;
mod text;
mod write;

use super::facts::NOT_RUN;
use block::{Block, Item};
use flow::{Flow, Mark, WIDTH};
use fonts::Fonts;
pub(crate) use fonts::{Font, NoFont};
use loadtest_model::card::{Card, Report, Verdict, view};
use loadtest_model::definition::Letter;
use table::{Cell, Column, Row, Table};
use text::{ALARM, Colour, FAIR, GOOD, MUTED, Span, Style, plain, prose};
use write::About;

/// The width of what stands in the upper right corner.
const BADGE: f64 = 92.0;
/// The size of letters in sentences.
const BODY: Style = Style::new(9.0);
const SUB: Style = Style::new(8.0).colour(MUTED);

/// The report as a PDF document; characters that the bundled font lacks are of the first of `more` that has
/// them.
pub(crate) fn render(report: &Report, more: &[Font]) -> Vec<u8> {
    let fonts = Fonts::new(more);
    let (pages, marks) = laid_out(report, &fonts);
    let about = About {
        title: title(report),
        producer: format!("loadtest {}", report.tool_version),
        time: report
            .started_at
            .parse::<jiff::Timestamp>()
            .map_or(0, jiff::Timestamp::as_second),
        identifier: report.run_id.clone(),
    };
    write::file(&pages, &marks, &about, &fonts)
}

/// The pages, and what their outline names.
fn laid_out(report: &Report, fonts: &Fonts) -> (Vec<Vec<Item>>, Vec<Mark>) {
    let mut flow = Flow::new(fonts);
    if let Some(capacity) = &report.capacity {
        search::place(&mut flow, report, capacity);
    } else if !is_alone(report) {
        summary(&mut flow, report);
    }
    for card in &report.cards {
        flow.page();
        sheet::place(&mut flow, report, card);
    }
    for scenario in &report.not_run {
        flow.gap(26.0);
        flow.mark(&scenario.scenario, 0);
        flow.before_next(top(&flow, (NOT_RUN, ALARM), &scenario.scenario, &[], None));
        reasons(&mut flow, ALARM, &[(scenario.message.clone(), text::INK)]);
        if let Some(help) = &scenario.help {
            flow.paragraph_at(12.0, &prose(&format!("→ {help}"), SUB), |_| {});
        }
    }
    lacking::place(&mut flow);
    flow.finish(&format!(
        "loadtest {} · run {} · {} · exit code {}",
        report.tool_version,
        report.run_id,
        report.started_at,
        report.exit_code()
    ))
}

/// Whether one card is all there is to say.
fn is_alone(report: &Report) -> bool {
    report.cards.len() == 1 && report.not_run.is_empty() && report.capacity.is_none()
}

fn title(report: &Report) -> String {
    let words = match (&report.capacity, &report.cards[..]) {
        (Some(found), _) => {
            format!(
                "{} {} · {}",
                found.verdict.name(),
                found.headline(),
                found.scenario
            )
        }
        (None, [card]) if is_alone(report) => {
            format!(
                "{} {} · {}",
                card.verdict.name(),
                card.grade.label(),
                card.name
            )
        }
        (None, cards) => view::counted((cards.len() + report.not_run.len()) as u64, "scenario"),
    };
    format!("{words} · load test report")
}

/// What comes before several cards.
fn summary(flow: &mut Flow<'_>, report: &Report) {
    flow.mark("Load test report", 0);
    let mut head = Block::label(
        "Load test report",
        Style::new(21.0).bold(),
        WIDTH,
        flow.fonts,
    );
    let about = format!("{} · run {}", report.started_at, report.run_id);
    head.below(Block::words(&plain(about, SUB), WIDTH, 2, flow.fonts));
    head.height += 14.0;
    if report.cards.is_empty() && report.not_run.is_empty() {
        flow.place(head);
        flow.paragraph(&plain("No scenario ran.", BODY));
        return;
    }
    flow.before_next(head);
    let mut columns = vec![
        Column::words("Scenario", 1.0),
        Column::word("Verdict"),
        Column::word("Grade"),
    ];
    columns.extend(["p50", "p95", "p99", "Errors", "Achieved"].map(Column::figure));
    let mut table = Table::new(columns);
    for card in &report.cards {
        let head = &card.headline;
        let achieved = head.achieved_per_second.map(|rate| {
            let unit = if head.single_request {
                "requests"
            } else {
                "journeys"
            };
            format!("{} {unit}", view::rate(rate))
        });
        let time = |time: Option<_>| Cell::figure(figure(time, view::duration));
        table.row(Row::new(vec![
            Cell::name(&card.name),
            Cell::chip(card.verdict.name(), tone(card.verdict)),
            Cell::chip(&card.grade.label(), grade_colour(card.grade.letter)),
            time(head.time.p50),
            time(head.time.p95),
            time(head.time.p99),
            Cell::figure(figure(head.error_rate, view::percent)),
            Cell::figure(achieved.unwrap_or_else(|| view::NONE.to_owned())),
        ]));
    }
    for scenario in &report.not_run {
        table.row(Row::new(vec![
            Cell::name(&scenario.scenario).and(prose(&scenario.message, SUB)),
            Cell::chip(NOT_RUN, ALARM),
        ]));
    }
    table.place(flow);
}

/// The verdict, the name, what is said below them, and what stands right of all that.
fn top(
    flow: &Flow<'_>,
    (verdict, tone): (&str, Colour),
    name: &str,
    below: &[Vec<Span>],
    badge: Option<Block>,
) -> Block {
    let room = WIDTH - badge.as_ref().map_or(0.0, |_| BADGE + 16.0);
    let mut block = Block::default();
    let style = Style::new(8.0).bold().colour(tone);
    for line in text::lines(&plain(verdict, style), room, 1, flow.fonts) {
        block.frame((0.4, 0.4), (line.width + 16.0, 15.0), 7.5, tone);
        block.line(line, (8.4, 10.9));
    }
    block.height = 22.0;
    let name = plain(name, Style::new(21.0).bold());
    block.below(Block::words(&name, room, 4, flow.fonts));
    for words in below {
        block.height += 2.0;
        block.below(Block::words(words, room, 8, flow.fonts));
    }
    if let Some(badge) = badge {
        block.add(badge, (WIDTH - BADGE, 0.0));
    }
    block.height += 10.0;
    block
}

/// Sentences with a bar at their left.
fn reasons(flow: &mut Flow<'_>, tone: Colour, sentences: &[(String, Colour)]) {
    for (words, colour) in sentences {
        flow.paragraph_at(12.0, &prose(words, BODY.colour(*colour)), |row| {
            let height = row.height;
            row.rect((0.0, 0.0), (2.2, height), tone);
        });
    }
}

fn figure<T>(figure: Option<T>, words: impl Fn(T) -> String) -> String {
    figure.map_or_else(|| view::NONE.to_owned(), words)
}

fn tone(verdict: Verdict) -> Colour {
    match verdict {
        Verdict::Passed => GOOD,
        Verdict::Failed | Verdict::NotPermitted | Verdict::Internal => ALARM,
        _ => FAIR,
    }
}

fn grade_colour(letter: Option<Letter>) -> Colour {
    match letter
        .map(|letter| letter.to_string())
        .as_deref()
        .and_then(|word| word.chars().next())
    {
        Some('A' | 'B') => GOOD,
        Some('C') => FAIR,
        Some(_) => ALARM,
        None => MUTED,
    }
}

/// The grade of a step in a chip: its letter, with a star where it is of few attempts.
fn step_grade(card: &Card, step: usize) -> (String, Colour) {
    let grade = card.steps[step].grade.as_ref();
    let words = match grade {
        Some(grade) if grade.interval.is_some() => format!("{}*", grade.letter),
        Some(grade) => grade.letter.to_string(),
        None if card.grade.withheld => view::NONE.to_owned(),
        None => "NS".to_owned(),
    };
    (words, grade_colour(grade.map(|grade| grade.letter)))
}

#[cfg(test)]
mod tests;
