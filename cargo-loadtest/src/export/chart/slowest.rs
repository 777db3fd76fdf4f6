//! Waterfalls of the slowest journeys.

use super::axis::round_step;
use super::time::format_seconds;
use super::{Chart, paint_of};
use crate::export::scene::{Anchor, Paint, Scene};
use loadtest_model::card::{Card, SlowRow, SlowStepRow};
use loadtest_model::display;
use unicode_width::UnicodeWidthChar;

/// Width of a drawing, and of the names in it.
const WIDE: f64 = 520.0;
const NAMES: f64 = 134.0;
const ROW: f64 = 20.0;
const BAR: f64 = 10.0;
/// Top, right and bottom of what surrounds the rows; at the right is room for the longest time in words.
const FRAME: (f64, f64, f64) = (16.0, 62.0, 22.0);
/// The most rows of a drawing: of more steps the longest are shown.
const ROWS: usize = 14;
/// Cells of a terminal that a name may take.
const CELLS: usize = 17;

/// A waterfall of each of the slowest journeys, all on one scale.
pub(crate) fn draw_slowest(card: &Card) -> Vec<Chart> {
    let end = card
        .slowest
        .iter()
        .map(end_of_journey)
        .max()
        .unwrap_or(0)
        .max(1);
    let rows = card.slowest.iter();
    rows.map(|row| draw_waterfall(card, row, end)).collect()
}

/// Returns the end of the last step, in microseconds from when the journey was to start.
fn end_of_journey(row: &SlowRow) -> u64 {
    let steps = row.steps.iter().map(|step| step.begin_us + step.time_us);
    steps.fold(row.delay_us, u64::max)
}

fn draw_waterfall(card: &Card, row: &SlowRow, end: u64) -> Chart {
    let steps = longest_steps(row);
    // What is too short to be seen is not drawn.
    let delayed = row.delay_us * 200 > end;
    let (top, right, bottom) = FRAME;
    let high = ROW * (steps.len() + usize::from(delayed)).max(1) as f64;
    let mut scene = Scene::new((WIDE, top + high + bottom));
    let wide = WIDE - NAMES - right;
    let x = |us: u64| NAMES + wide * us as f64 / end as f64;

    for (from, to) in list_pauses(row).filter(|(from, to)| (to - from) * 200 > end) {
        let width = x(to) - x(from);
        scene.rect((x(from), top), (width, high), Paint::Shade);
        if width > 32.0 {
            let at = (x(from) + width / 2.0, top - 4.0);
            scene.text(at, "think", Paint::Muted, Anchor::Middle);
        }
    }
    let step = round_step(end as f64 / 4.0);
    for us in (0..=4)
        .map(|i| f64::from(i) * step)
        .take_while(|us| *us <= end as f64)
    {
        let at = x(us as u64);
        let line = vec![(at, top), (at, top + high)];
        scene.line(line, Paint::Grid, 1.0);
        let below = (at, top + high + 16.0);
        scene.text(
            below,
            format_seconds(us / 1e6),
            Paint::Muted,
            Anchor::Middle,
        );
    }
    let mut y = top;
    let mut stretch = |name: &str, from: u64, time: u64, bar: Paint, ok: bool| {
        let shown = (x(from + time) - x(from)).max(1.5);
        let (mark, ink) = if ok {
            ("", Paint::Ink)
        } else {
            ("✗ ", Paint::Alarm)
        };
        let base = y + ROW / 2.0 + 4.0;
        scene.text((NAMES - 8.0, base), cut_name(name), ink, Anchor::End);
        scene.rect((x(from), y + (ROW - BAR) / 2.0), (shown, BAR), bar);
        let words = format!("{mark}{}", display::format_micros(time));
        let after = (x(from) + shown + 5.0, base);
        scene.text(after, words, ink, Anchor::Start);
        y += ROW;
    };
    if delayed {
        stretch("start delay", 0, row.delay_us, Paint::Muted, true);
    }
    let bottleneck = card.bottleneck.as_ref().map(|found| found.step);
    for step in &steps {
        let bar = paint_of(step.step, bottleneck.unwrap_or(usize::MAX));
        stretch(&step.name, step.begin_us, step.time_us, bar, step.ok);
    }
    if row.steps.is_empty() {
        let at = (x(0) + 8.0, top + high - 6.0);
        scene.text(at, "no step ran", Paint::Muted, Anchor::Start);
    }
    let state = if row.ok { "" } else { ", failed" };
    let of = match row.steps.len() {
        all if all > steps.len() => format!(", the {} longest of {all} steps", steps.len()),
        _ => String::new(),
    };
    Chart {
        title: format!(
            "Iteration {} · {}{state}{of}",
            row.number,
            display::format_micros(row.time_us)
        ),
        label: describe_journey(row, &steps),
        scene,
        readout: None,
    }
}

/// The longest steps, in the order in which they ran.
fn longest_steps(row: &SlowRow) -> Vec<&SlowStepRow> {
    let mut steps: Vec<&SlowStepRow> = row.steps.iter().collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.time_us));
    steps.truncate(ROWS);
    steps.sort_by_key(|step| step.begin_us);
    steps
}

/// From and to, wherever no step ran between two: think time, and the pauses of repetitions.
fn list_pauses(row: &SlowRow) -> impl Iterator<Item = (u64, u64)> {
    row.steps.windows(2).filter_map(|pair| {
        let from = pair[0].begin_us + pair[0].time_us;
        (from < pair[1].begin_us).then_some((from, pair[1].begin_us))
    })
}

fn describe_journey(row: &SlowRow, steps: &[&SlowStepRow]) -> String {
    let mut words = vec![format!(
        "start delay {}",
        display::format_micros(row.delay_us)
    )];
    words.extend(steps.iter().map(|step| {
        let (time, begin) = (
            display::format_micros(step.time_us),
            display::format_micros(step.begin_us),
        );
        let state = if step.ok { "" } else { ", failed" };
        format!("{} {time} at {begin}{state}", step.name)
    }));
    let time = display::format_micros(row.time_us);
    format!("Iteration {}, {time}: {}", row.number, words.join("; "))
}

/// A name that fits beside its bar.
pub(super) fn cut_name(name: &str) -> String {
    let width = |c: char| c.width().unwrap_or(0);
    if name.chars().map(width).sum::<usize>() <= CELLS {
        return name.to_owned();
    }
    let mut cells = 1;
    let fits = name.chars().take_while(|c| {
        cells += width(*c);
        cells <= CELLS
    });
    fits.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;
    use crate::export::scene::SceneShape;

    fn row() -> SlowRow {
        let step = |step: usize, begin_us, time_us, ok| SlowStepRow {
            step,
            name: format!("step_{step}"),
            begin_us,
            time_us,
            ok,
        };
        SlowRow {
            iteration: 42,
            number: "42".to_owned(),
            due_us: 7_000_000,
            delay_us: 100_000,
            time_us: 700_000,
            ok: false,
            steps: vec![
                step(0, 100_000, 200_000, true),
                step(1, 600_000, 400_000, false),
            ],
        }
    }

    fn bars(chart: &Chart, of: Paint) -> Vec<(f64, f64)> {
        let shapes = chart.scene.shapes.iter();
        let bars = shapes.filter_map(|shape| match shape {
            SceneShape::Rect { at, size, paint } if *paint == of => Some((at.0, at.0 + size.0)),
            _ => None,
        });
        bars.collect()
    }

    #[test]
    fn delay_steps_and_think_time_stand_where_they_were() {
        let mut card = sample::failed().cards[0].clone();
        card.slowest = vec![row()];
        let chart = &draw_slowest(&card)[0];
        assert_eq!(chart.title, "Iteration 42 · 700 ms, failed");
        let x = |us: f64| NAMES + (WIDE - NAMES - FRAME.1) * us / 1e6;
        let near = |bars: Vec<(f64, f64)>, from: f64, to: f64| {
            assert_eq!(bars.len(), 1, "{bars:?}");
            assert!((bars[0].0 - x(from)).abs() < 1e-6, "{bars:?}");
            assert!((bars[0].1 - x(to)).abs() < 1e-6, "{bars:?}");
        };
        near(bars(chart, Paint::Muted), 0.0, 100_000.0);
        near(bars(chart, Paint::Shade), 300_000.0, 600_000.0);
        let paint = |step| paint_of(step, card.bottleneck.as_ref().unwrap().step);
        near(bars(chart, paint(0)), 100_000.0, 300_000.0);
        near(bars(chart, paint(1)), 600_000.0, 1_000_000.0);
        let texts: Vec<&str> = chart.scene.shapes.iter().filter_map(text).collect();
        assert!(
            texts.contains(&"✗ 400 ms") && texts.contains(&"think"),
            "{texts:?}"
        );
        assert!(chart.label.ends_with("step_1 400 ms at 600 ms, failed"));
    }

    fn text(shape: &SceneShape) -> Option<&str> {
        match shape {
            SceneShape::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    #[test]
    fn of_many_steps_the_longest_are_shown_in_their_order() {
        let mut card = sample::failed().cards[0].clone();
        let mut long = row();
        let mut begin_us = 0;
        long.steps = (0..40)
            .map(|step| {
                let time_us = 1_000 * (1 + (step * 7 % 40) as u64);
                begin_us += 50_000;
                SlowStepRow {
                    step,
                    name: format!("注文を作成して確認メールを送る_{step}"),
                    begin_us,
                    time_us,
                    ok: true,
                }
            })
            .collect();
        card.slowest = vec![long];
        let chart = &draw_slowest(&card)[0];
        assert!(chart.title.ends_with("the 14 longest of 40 steps"));
        let names = chart.scene.shapes.iter().filter_map(text);
        assert_eq!(
            names.filter(|text| *text == "注文を作成して確…").count(),
            14
        );
    }

    #[test]
    fn a_journey_without_steps_and_a_card_without_journeys_are_drawn() {
        let mut card = sample::failed().cards[0].clone();
        let mut none = row();
        none.steps.clear();
        none.delay_us = 0;
        card.slowest = vec![none];
        let chart = &draw_slowest(&card)[0];
        assert!(
            chart
                .scene
                .shapes
                .iter()
                .any(|shape| text(shape) == Some("no step ran"))
        );
        card.slowest.clear();
        assert!(draw_slowest(&card).is_empty());
    }
}
