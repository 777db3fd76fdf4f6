//! What changed against the baseline, by how much and how surely.

use super::Chart;
use super::slowest::cut_name;
use crate::export::labels::JOURNEY;
use crate::export::page::comparison::{change_mark, select_gravest};
use crate::export::scene::{Anchor, Paint, Scene, SceneShape};
use loadtest_model::card::Card;
use loadtest_model::comparison::{
    Change, Compared, Comparison, ComparisonOutcome, Figure, Subject,
};
use std::ops::RangeInclusive;

const WIDE: f64 = 520.0;
/// The name of the figure begins here, after that of the step; then the drawing, and the words at
/// its right.
const FIGURE: f64 = 130.0;
const FROM: f64 = 168.0;
const TO: f64 = WIDE - 84.0;
const ROW: f64 = 20.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 22.0;
/// The most rows: of more the gravest.
const ROWS: usize = 24;
/// Changes beyond these are drawn at the edge.
const EDGES: RangeInclusive<f64> = -0.9..=9.0;
/// Half the size of the point that stands for the change.
const POINT: f64 = 4.0;

/// A row per p95 and per other time or rate that is not unchanged: the change as a point, where it lies as a
/// line, and what would be too little to count as ground. Error rates have another scale.
pub(crate) fn draw_changes(card: &Card) -> Option<Chart> {
    let beside = card.comparison.as_ref()?;
    let ComparisonOutcome::Compared(comparison) = &beside.outcome else {
        return None;
    };
    let rows = select_changes(comparison);
    if rows.is_empty() {
        return None;
    }
    let around = |row: &Compared| comparison.margin.around(row);
    let axis = Axis::from_changes(rows.iter().flat_map(|(_, row)| {
        let (low, high) = margin_range(around(row));
        [row.change, row.interval.0, row.interval.1, low, high]
    }));
    let high = ROW * rows.len() as f64;
    let mut scene = Scene::new((WIDE, TOP + high + BOTTOM));
    for (at, (_, row)) in rows.iter().enumerate() {
        let (low, up) = margin_range(around(row));
        let (y, x) = (TOP + ROW * at as f64, (axis.x(low), axis.x(up)));
        scene.shapes.push(SceneShape::Area {
            points: vec![(x.0, y), (x.1, y), (x.1, y + ROW), (x.0, y + ROW)],
            paint: Paint::Muted,
            opacity: 0.14,
        });
    }
    for change in axis.ticks() {
        let x = axis.x(change);
        let (paint, width) = if change == 0.0 {
            (Paint::Muted, 1.2)
        } else {
            (Paint::Grid, 1.0)
        };
        scene.line(vec![(x, TOP), (x, TOP + high)], paint, width);
        let below = (x, TOP + high + 16.0);
        scene.text(below, format_tick(change), Paint::Muted, Anchor::Middle);
    }
    for (at, (subject, row)) in rows.iter().enumerate() {
        draw_change(
            &mut scene,
            &axis,
            TOP + ROW * (at as f64 + 0.5),
            subject,
            row,
        );
    }
    Some(Chart {
        title: "Change, and where it lies with a confidence of 90 %".to_owned(),
        label: format!("Change against the baseline: {}", describe_changes(&rows)),
        scene,
        readout: None,
    })
}

fn select_changes(comparison: &Comparison) -> Vec<(&Subject, &Compared)> {
    select_gravest(comparison, ROWS, |_, row| {
        let is_drawn = row.figure == Figure::P95 || row.verdict != Change::Unchanged;
        is_drawn && row.figure != Figure::Errors && row.change.is_finite()
    })
}

/// Returns the changes within a margin, on a scale on which twice and half are equally far from
/// none.
fn margin_range(margin: f64) -> (f64, f64) {
    (1.0 / (1.0 + margin) - 1.0, margin)
}

fn draw_change(scene: &mut Scene, axis: &Axis, y: f64, subject: &Subject, row: &Compared) {
    let (paint, ink) = match row.verdict {
        Change::Regressed => (Paint::Alarm, Paint::Alarm),
        Change::Improved => (Paint::Series(3), Paint::Ink),
        Change::Inconclusive => (Paint::Series(1), Paint::Ink),
        Change::Unchanged => (Paint::Muted, Paint::Muted),
    };
    let base = y + 4.0;
    let name = subject.step.as_deref().unwrap_or(JOURNEY);
    scene.text((FIGURE - 8.0, base), cut_name(name), ink, Anchor::End);
    scene.text(
        (FIGURE, base),
        row.figure.label(),
        Paint::Muted,
        Anchor::Start,
    );
    let (from, to) = (axis.x(row.interval.0), axis.x(row.interval.1));
    scene.line(vec![(from, y), (to, y)], paint, 2.0);
    let x = axis.x(row.change);
    scene.shapes.push(SceneShape::Area {
        points: vec![
            (x - POINT, y),
            (x, y - POINT),
            (x + POINT, y),
            (x, y + POINT),
        ],
        paint,
        opacity: 1.0,
    });
    let words = format!("{} {}", change_mark(row.verdict), row.change_words());
    scene.text((TO + 12.0, base), words, ink, Anchor::Start);
}

/// Changes from left to right, on the scale of their logarithms.
#[derive(Debug)]
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    fn from_changes(changes: impl Iterator<Item = f64>) -> Self {
        let (mut from, mut to) = (0.0_f64, 0.0_f64);
        for change in changes.filter(|change| change.is_finite()) {
            let change = change.clamp(*EDGES.start(), *EDGES.end());
            (from, to) = (from.min(change), to.max(change));
        }
        // Some room for the points at the ends.
        let (from, to) = (from.ln_1p(), to.ln_1p());
        let more = 0.04 * (to - from).max(0.05);
        Self {
            from: from - more,
            to: to + more,
        }
    }

    fn x(&self, change: f64) -> f64 {
        let change = change.clamp(*EDGES.start(), *EDGES.end()).ln_1p();
        let share = (change.clamp(self.from, self.to) - self.from) / (self.to - self.from);
        FROM + (TO - FROM) * share
    }

    /// Round changes, far enough from one another to be read; no change is one of them.
    fn ticks(&self) -> Vec<f64> {
        const APART: f64 = 52.0;
        let step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
            .into_iter()
            .find(|step| {
                self.x(*step) - self.x(0.0) >= APART || self.x(0.0) - self.x(-step) >= APART
            })
            .unwrap_or(5.0);
        let mut ticks = vec![0.0];
        for sign in [-1.0, 1.0] {
            let mut last = self.x(0.0);
            for number in 1..=40 {
                let change = sign * step * f64::from(number);
                let is_shown = change > -1.0 && (self.from..=self.to).contains(&change.ln_1p());
                if is_shown && (self.x(change) - last).abs() >= APART {
                    last = self.x(change);
                    ticks.push(change);
                }
            }
        }
        ticks
    }
}

fn format_tick(change: f64) -> String {
    let sign = match change {
        change if change < 0.0 => "−",
        change if change > 0.0 => "+",
        _ => "",
    };
    format!("{sign}{:.0} %", change.abs() * 100.0)
}

fn describe_changes(rows: &[(&Subject, &Compared)]) -> String {
    let words = rows.iter().map(|(subject, row)| {
        let name = subject.step.as_deref().unwrap_or(JOURNEY);
        format!(
            "{name} {} {} ({}), {}",
            row.figure.label(),
            row.change_words(),
            row.interval_words(),
            row.verdict
        )
    });
    words.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;

    #[test]
    fn the_point_lies_within_its_line_and_what_regressed_beyond_the_margin() {
        let report = sample::regressed();
        let chart = draw_changes(&report.cards[0]).unwrap();
        let (mut grounds, mut lines, mut points) = (vec![], vec![], vec![]);
        for shape in &chart.scene.shapes {
            match shape {
                SceneShape::Area {
                    points: at,
                    opacity,
                    paint,
                } if *opacity < 1.0 => {
                    assert_eq!(*paint, Paint::Muted);
                    grounds.push((at[0].0, at[1].0));
                }
                SceneShape::Area {
                    points: at, paint, ..
                } => points.push((at[1].0, *paint)),
                SceneShape::Line { points, width, .. } if *width > 1.5 => {
                    lines.push((points[0].0, points[1].0));
                }
                _ => {}
            }
        }
        // The journey's p95 and p99, three of the order, and p95 of the other four steps.
        assert_eq!((grounds.len(), lines.len(), points.len()), (9, 9, 9));
        for ((ground, line), (x, paint)) in grounds.iter().zip(&lines).zip(&points) {
            assert!(line.0 < *x && *x < line.1);
            assert_eq!(
                *paint == Paint::Alarm,
                line.0 > ground.1,
                "{ground:?} {line:?}"
            );
        }
        assert!(
            chart
                .label
                .contains("create_order p95 +29 % (+24 % to +35 %), regressed")
        );
    }

    #[test]
    fn ticks_are_round_apart_and_within_the_drawing() {
        for (low, high) in [
            (-0.01, 0.01),
            (-0.08, 0.4),
            (-0.6, 0.1),
            (0.0, 8.0),
            (-0.89, 9.0),
        ] {
            let axis = Axis::from_changes([low, high].into_iter());
            let mut at: Vec<f64> = axis.ticks().iter().map(|change| axis.x(*change)).collect();
            assert!(at.len() >= 2, "{low} {high}: {:?}", axis.ticks());
            at.sort_by(f64::total_cmp);
            assert!(
                at.windows(2).all(|pair| pair[1] - pair[0] >= 51.9),
                "{at:?}"
            );
            assert!(at.iter().all(|x| (FROM..=TO).contains(x)), "{at:?}");
        }
    }

    #[test]
    fn what_is_beyond_all_bounds_is_drawn_at_the_edge() {
        let mut card = sample::regressed().cards[0].clone();
        let beside = card.comparison.as_mut().unwrap();
        let ComparisonOutcome::Compared(comparison) = &mut beside.outcome else {
            panic!("{beside:?}");
        };
        let row = &mut comparison.subjects[0].figures[1];
        (row.change, row.interval) = (400.0, (-1.0, f64::INFINITY));
        let chart = draw_changes(&card).unwrap();
        for shape in &chart.scene.shapes {
            if let SceneShape::Line { points, .. } = shape {
                assert!(
                    points
                        .iter()
                        .all(|(x, _)| (FROM - 0.1..=TO + 0.1).contains(x)),
                    "{points:?}"
                );
            }
        }
        assert!(draw_changes(&sample::refused().cards[0]).is_none());
        assert!(draw_changes(&sample::passed().cards[0]).is_none());
    }
}
