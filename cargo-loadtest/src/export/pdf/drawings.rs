//! The charts, two beside one another.

use super::block::Block;
use super::figure;
use super::flow::{Flow, WIDTH};
use super::fonts::Fonts;
use super::text::{GRID, MUTED, Style, lines, plain};
use crate::export::chart::{self, Chart};
use crate::export::facts::run_again;
use loadtest_model::card::{Card, view};

/// The space between two drawings.
const BETWEEN: f64 = 22.0;
pub(super) const HALF: f64 = (WIDTH - BETWEEN) / 2.0;

pub(super) fn over_time(flow: &mut Flow<'_>, card: &Card) {
    let charts = drawn(&chart::over_time(card), flow.fonts);
    if !charts.is_empty() {
        flow.heading("Over time");
        in_pairs(flow, &charts);
    }
}

/// The percentile spectrum, and beside it the percentiles that people ask for.
pub(super) fn distribution(flow: &mut Flow<'_>, card: &Card) {
    let Some(spectrum) = chart::spectrum(card) else {
        return;
    };
    let time = &card.headline.time;
    let what = if card.headline.single_request {
        "Response time by percentile"
    } else {
        "Journey time by percentile"
    };
    let mut table = Block::label(what, TITLE, HALF, flow.fonts);
    table.height += 6.0;
    for (share, time) in [
        ("50 %", time.p50),
        ("90 %", time.p90),
        ("95 %", time.p95),
        ("99 %", time.p99),
        ("99.9 %", time.p99_9),
        ("all", time.max),
    ] {
        let time = plain(figure(time, view::duration), Style::new(8.0).bold());
        let share = plain(format!("{share} within"), Style::new(8.0).colour(MUTED));
        let y = table.height + 11.0;
        for (i, words) in [share, time].into_iter().enumerate() {
            for line in lines(&words, HALF, 1, flow.fonts) {
                let x = i as f64 * (HALF - line.width);
                table.line(line, (x, y));
            }
        }
        table.height += 15.5;
        table.rule((0.0, table.height), HALF, GRID);
    }
    flow.heading("Distribution");
    let spectrum = drawing(&spectrum, flow.fonts);
    in_pairs(flow, &[spectrum, table]);
}

pub(super) fn slowest(flow: &mut Flow<'_>, card: &Card) {
    let charts = drawn(&chart::slowest(card), flow.fonts);
    let Some(first) = card.slowest.first() else {
        return;
    };
    flow.heading("Slowest journeys");
    flow.caption(&format!(
        "Service time of each step, from when the journey was to start; shaded is think time, and pauses \
         between attempts. All on one scale.\nThe slowest one again, by itself: `{}`",
        run_again(card, &first.number)
    ));
    in_pairs(flow, &charts);
}

pub(super) fn of_generator(flow: &mut Flow<'_>, card: &Card) {
    let charts = drawn(&chart::of_generator(card), flow.fonts);
    if !charts.is_empty() {
        flow.heading("Generator");
        let words = card.generator.words();
        flow.caption(&format!("What the generator saw of itself: {words}."));
        in_pairs(flow, &charts);
    }
}

pub(super) fn in_pairs(flow: &mut Flow<'_>, drawings: &[Block]) {
    for pair in drawings.chunks(2) {
        let mut row = Block::default();
        for (i, drawing) in pair.iter().enumerate() {
            row.add(drawing.clone(), ((HALF + BETWEEN) * i as f64, 0.0));
        }
        row.height += 12.0;
        flow.place(row);
    }
}

fn drawn(charts: &[Chart], fonts: &Fonts) -> Vec<Block> {
    charts.iter().map(|chart| drawing(chart, fonts)).collect()
}

const TITLE: Style = Style::new(8.5).bold();

pub(super) fn drawing(chart: &Chart, fonts: &Fonts) -> Block {
    let mut block = Block::label(&chart.title, TITLE, HALF, fonts);
    block.height += 4.0;
    block.below(Block::scene(&chart.scene, HALF, fonts));
    block
}
