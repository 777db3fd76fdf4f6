//! The slowest journeys, a row each, over one axis of time.

use super::axis::round_step;
use super::{Chart, paint_of};
use crate::export::scene::{Anchor, Paint, Scene};
use loadtest_model::card::Card;
use loadtest_model::display;
use std::time::Duration;

/// The width of the drawing.
const WIDTH: f64 = 480.0;
/// Room for the numbers of iterations at the left, and for times at the right.
const SIDES: (f64, f64) = (62.0, 58.0);
/// The height of a row, of the bar in it, and of the axis.
const ROW: f64 = 24.0;
const BAR: f64 = 14.0;
const AXIS: f64 = 24.0;

/// Draws when the steps of the slowest journeys ran, from when each journey was due.
pub(crate) fn draw_slowest(card: &Card) -> Chart {
    let rows = &card.slowest;
    let end = |row: &loadtest_model::card::SlowRow| {
        let last = row.steps.iter().map(|step| step.begin_us + step.time_us);
        last.max().unwrap_or(0).max(row.time_us)
    };
    let longest = rows.iter().map(end).max().unwrap_or(0).max(1) as f64;
    let step = round_step(longest / 4.0);
    let lines = (longest / step).ceil();
    let room = WIDTH - SIDES.0 - SIDES.1;
    let x = |us: u64| SIDES.0 + room * us as f64 / (step * lines);
    let floor = ROW * rows.len() as f64;
    let mut scene = Scene::new((WIDTH, floor + AXIS));
    for number in 0..=lines as u32 {
        let us = (f64::from(number) * step) as u64;
        scene.line(vec![(x(us), 0.0), (x(us), floor)], Paint::Grid, 1.0);
        let label = display::format_span(Duration::from_micros(us));
        scene.text((x(us), floor + 17.0), label, Paint::Muted, Anchor::Middle);
    }
    let mut words = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let top = ROW * at as f64 + (ROW - BAR) / 2.0;
        let label = format!("#{}", row.number);
        scene.text(
            (SIDES.0 - 8.0, top + 11.0),
            label,
            Paint::Muted,
            Anchor::End,
        );
        let whole = (x(end(row)) - x(0)).max(1.0);
        scene.rect((x(0), top + BAR / 2.0 - 2.0), (whole, 4.0), Paint::Grid);
        for step in &row.steps {
            let size = ((x(step.time_us) - x(0)).max(1.0), BAR);
            scene.rect((x(step.begin_us), top), size, paint_of(step.step));
        }
        let mark = if row.ok { "" } else { "✗ " };
        let time = format!("{mark}{}", display::format_micros(row.time_us));
        let paint = if row.ok { Paint::Ink } else { Paint::Alarm };
        words.push(format!("{} {time}", row.number));
        scene.text((x(end(row)) + 6.0, top + 11.0), time, paint, Anchor::Start);
    }
    Chart {
        title: "From the due time of each, by step".to_owned(),
        label: format!("Slowest journeys by iteration: {}", words.join(", ")),
        scene,
        readout: None,
    }
}
