//! Places a sheet on pages, from its verdict to its notes.

use super::block::Drawing;
use super::flow::{Flow, WIDTH};
use super::fonts::Fonts;
use super::text::{ALARM, GRID, INK, MUTED, Span, Style, break_lines, plain_spans, prose_spans};
use super::{BODY, SUB, colour_of, table};
use crate::export::chart::Chart;
use crate::export::page::{self, Badge, Fact, Section, Sentence, Sheet, Tile};

/// The width of the badge in the upper right corner.
const BADGE: f64 = 92.0;
/// The space between two drawings.
const BETWEEN: f64 = 22.0;
/// The width of one of two drawings beside one another.
const HALF: f64 = (WIDTH - BETWEEN) / 2.0;
/// The width of a drawing by itself.
const ALONE: f64 = 0.7 * WIDTH;
/// Space left of marked sentences.
const INDENT: f64 = 12.0;
/// The width of the labels of facts.
const LABELS: f64 = 78.0;

pub(super) fn place_sheet(flow: &mut Flow<'_>, sheet: &Sheet) {
    flow.mark(&sheet.name, 0);
    flow.before_next(draw_head(sheet, flow.fonts));
    let remarks = sentence_rows(&sheet.remarks, flow.fonts);
    flow.rows(&Drawing::default(), remarks);
    if !sheet.tiles.is_empty() {
        flow.gap(16.0);
        flow.place(draw_tiles(&sheet.tiles, flow.fonts));
        flow.gap(3.0);
        flow.paragraph(&plain_spans(&*sheet.tiles_note, SUB));
    }
    for section in &sheet.sections {
        place_section(flow, section);
    }
}

/// Draws the verdict, the name and what is below them, beside the badge.
fn draw_head(sheet: &Sheet, fonts: &Fonts) -> Drawing {
    let room = WIDTH - sheet.badge.as_ref().map_or(0.0, |_| BADGE + 16.0);
    let tone = colour_of(sheet.tone);
    let mut block = Drawing::default();
    let style = Style::new(8.0).bold().colour(tone);
    for line in break_lines(&plain_spans(&*sheet.verdict, style), room, 1, fonts) {
        block.frame((0.4, 0.4), (line.width + 16.0, 15.0), tone);
        block.line(line, (8.4, 10.9));
    }
    block.height = 22.0;
    let name = plain_spans(&*sheet.name, Style::new(21.0).bold());
    block.below(Drawing::words(&name, room, 4, fonts));
    let tags = match sheet.tags.len() {
        0 => String::new(),
        _ => format!("Tags: {}", sheet.tags.join(", ")),
    };
    for words in [
        prose_spans(&sheet.about, SUB),
        plain_spans(&*sheet.description, BODY),
        plain_spans(tags, SUB),
    ] {
        if words.iter().any(|span| !span.text.is_empty()) {
            block.height += 2.0;
            block.below(Drawing::words(&words, room, 8, fonts));
        }
    }
    if let Some(found) = &sheet.badge {
        block.add(draw_badge(found, fonts), (WIDTH - BADGE, 0.0));
    }
    block.height += 10.0;
    block
}

/// Draws the result in large type.
fn draw_badge(badge: &Badge, fonts: &Fonts) -> Drawing {
    let tone = colour_of(badge.tone);
    let size = match badge.label.chars().count() {
        0..=2 => 40.0,
        3..=4 => 32.0,
        5..=7 => 18.0,
        _ => 14.0,
    };
    let room = BADGE - 8.0;
    let large = break_lines(
        &plain_spans(&*badge.label, Style::new(size).bold().colour(tone)),
        room,
        1,
        fonts,
    );
    let small = Style::new(8.0).colour(tone);
    let notes = badge
        .notes
        .iter()
        .flat_map(|note| break_lines(&plain_spans(&**note, small), room, 2, fonts));
    let mut block = Drawing::default();
    let mut y = 29.0 + 0.42 * size;
    let mut texts = Drawing::default();
    for line in large {
        texts.line(line.clone(), ((BADGE - line.width) / 2.0, y));
    }
    y = y.max(46.0);
    for line in notes {
        y += 11.0;
        texts.line(line.clone(), ((BADGE - line.width) / 2.0, y + 3.0));
    }
    block.rect((0.0, 0.0), (BADGE, y + 14.0), tone.tint(0.09));
    block.add(texts, (0.0, 0.0));
    block.height = y + 14.0;
    block
}

fn draw_tiles(tiles: &[Tile], fonts: &Fonts) -> Drawing {
    let width = WIDTH / tiles.len() as f64;
    let mut block = Drawing::default();
    let mut height: f64 = 0.0;
    for (i, tile) in tiles.iter().enumerate() {
        let colour = |other| if tile.is_alarming { ALARM } else { other };
        let mut one = Drawing::gap(8.0);
        let room = width - 8.0;
        one.below(Drawing::label(
            tile.title,
            SUB.colour(colour(MUTED)),
            room,
            fonts,
        ));
        let large = Style::new(15.0).bold().colour(colour(INK));
        one.below(Drawing::label(&tile.figure, large, room, fonts));
        let note = plain_spans(&*tile.note, Style::new(7.2).colour(colour(MUTED)));
        one.below(Drawing::words(&note, room, 2, fonts));
        height = height.max(one.height + 6.0);
        block.add(one, (width * i as f64, 0.0));
    }
    block.height = height;
    for y in [0.0, height] {
        block.rule((0.0, y), WIDTH, GRID);
    }
    block
}

fn place_section(flow: &mut Flow<'_>, section: &Section) {
    if section.title.is_empty() {
        flow.gap(18.0);
    } else {
        flow.heading(&section.title);
    }
    for (at, block) in section.blocks.iter().enumerate() {
        if at > 0 {
            flow.gap(7.0);
        }
        match block {
            page::Block::Table(table) => table::place_table(flow, table),
            page::Block::Sentences(sentences) => {
                let rows = sentence_rows(sentences, flow.fonts);
                flow.rows(&Drawing::default(), rows);
            }
            page::Block::Facts(facts) => {
                let rows = fact_rows(facts, flow.fonts);
                flow.rows(&Drawing::default(), rows);
            }
            page::Block::Charts(charts) => place_charts(flow, charts),
            page::Block::Strip(chart, _) => {
                let mut drawing = Drawing::scene(&chart.scene, WIDTH, flow.fonts);
                drawing.height += 7.0;
                flow.before_next(drawing);
            }
        }
    }
}

/// Draws sentences, a row per line.
fn sentence_rows(sentences: &[Sentence], fonts: &Fonts) -> Vec<Drawing> {
    let mut rows: Vec<Drawing> = Vec::new();
    for sentence in sentences {
        let colour = colour_of(sentence.tone);
        let style = match sentence {
            Sentence { is_small: true, .. } => SUB,
            Sentence {
                is_marked: true, ..
            } => BODY,
            Sentence { .. } => BODY.colour(colour),
        };
        let mut spans = Vec::new();
        if !sentence.lead.is_empty() {
            spans.push(Span {
                text: format!("{} ", sentence.lead),
                style: style.bold(),
            });
        }
        spans.extend(prose_spans(&sentence.words, style));
        let indent = if sentence.is_marked { INDENT } else { 0.0 };
        let help = sentence.help.as_ref();
        let help = help.map(|help| (prose_spans(&format!("→ {help}"), SUB), SUB.size));
        for (spans, size) in std::iter::once((spans, style.size)).chain(help) {
            for line in break_lines(&spans, WIDTH - indent, usize::MAX, fonts) {
                let mut row = Drawing::default();
                row.add(Drawing::lines(vec![line], size), (indent, 0.0));
                if sentence.is_marked {
                    let height = row.height;
                    row.rect((0.0, 0.0), (2.2, height), colour);
                }
                rows.push(row);
            }
        }
        if let Some(last) = rows.last_mut().filter(|_| !sentence.is_marked) {
            last.height += 2.0;
        }
    }
    rows
}

/// Draws labels and values, a row for each.
fn fact_rows(facts: &[Fact], fonts: &Fonts) -> Vec<Drawing> {
    let rows = facts.iter().map(|fact| {
        let mut row = Drawing::default();
        row.add(Drawing::label(&fact.label, SUB, LABELS, fonts), (0.0, 2.6));
        let value = plain_spans(&*fact.value, Style::new(8.0));
        row.add(
            Drawing::words(&value, WIDTH - LABELS, 12, fonts),
            (LABELS, 2.6),
        );
        row.height += 2.6;
        row.rule((0.0, row.height), WIDTH, GRID);
        row
    });
    rows.collect()
}

fn place_charts(flow: &mut Flow<'_>, charts: &[Chart]) {
    let width = if charts.len() == 1 { ALONE } else { HALF };
    for pair in charts.chunks(2) {
        let mut row = Drawing::default();
        for (chart, left) in pair.iter().zip([0.0, HALF + BETWEEN]) {
            row.add(draw_chart(chart, width, flow.fonts), (left, 0.0));
        }
        row.height += 12.0;
        flow.place(row);
    }
}

fn draw_chart(chart: &Chart, width: f64, fonts: &Fonts) -> Drawing {
    let mut block = Drawing::label(&chart.title, Style::new(8.5).bold(), width, fonts);
    block.height += 4.0;
    block.below(Drawing::scene(&chart.scene, width, fonts));
    block
}
