//! Lines and areas above an axis.

use super::axis::{round_step, round_up};
use super::{Chart, Readout, SeriesFigures};
use crate::export::scene::{Anchor, At, Legend, Paint, Scene, SceneShape};

/// Width and height.
const SIZE: At = (520.0, 220.0);
/// Left, top, right and bottom of what surrounds the data.
const FRAME: (f64, f64, f64, f64) = (58.0, 26.0, 10.0, 24.0);
/// The height of the strip at the top.
const LEGEND: f64 = 16.0;

/// A value per point; `None` leaves a gap.
pub(super) struct PlotSeries {
    pub(super) name: String,
    pub(super) paint: Paint,
    pub(super) values: Vec<Option<f64>>,
    /// The value below each value; empty where the series begins at the ground.
    pub(super) below: Vec<f64>,
    pub(super) dashed: bool,
    pub(super) filled: bool,
}

/// The horizontal axis; positions are shares of its length.
pub(super) struct Axis {
    /// The places of the first and the last point.
    pub(super) ends: (f64, f64),
    /// The time or quantile of each point.
    pub(super) at: Vec<String>,
    /// The texts below the axis.
    pub(super) ticks: Vec<(f64, String)>,
    /// The end of a marked part, and its name.
    pub(super) shade: Option<(f64, &'static str)>,
    /// The extent in words for screen readers: `over 1 min`.
    pub(super) words: String,
}

/// The series to draw, and the words for their values.
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    pub(super) series: &'a [PlotSeries],
    /// A value beside the vertical axis.
    pub(super) tick: fn(f64) -> String,
    /// A value that was measured.
    pub(super) exact: fn(f64) -> String,
    /// There are whole numbers only.
    pub(super) whole: bool,
}

impl PlotSeries {
    pub(super) fn new(name: &str, paint: Paint) -> Self {
        Self {
            name: name.to_owned(),
            paint,
            values: Vec::new(),
            below: Vec::new(),
            dashed: false,
            filled: false,
        }
    }

    pub(super) fn highest(&self) -> f64 {
        let values = (0..self.values.len()).filter_map(|i| self.top(i));
        values.fold(0.0, f64::max)
    }

    fn floor(&self, i: usize) -> f64 {
        self.below.get(i).copied().unwrap_or(0.0)
    }

    fn top(&self, i: usize) -> Option<f64> {
        self.values[i].map(|value| value + self.floor(i))
    }
}

impl Axis {
    fn share(&self, point: usize) -> f64 {
        let (from, to) = self.ends;
        let steps = self.at.len().saturating_sub(1).max(1);
        from + (to - from) * point as f64 / steps as f64
    }
}

impl Plot<'_> {
    pub(super) fn over(&self, axis: &Axis) -> Chart {
        let (left, top, right, bottom) = FRAME;
        let (wide, high) = (SIZE.0 - left - right, SIZE.1 - top - bottom);
        let highest = self
            .series
            .iter()
            .map(PlotSeries::highest)
            .fold(0.0, f64::max);
        let step = match round_step(highest / 4.0) {
            step if self.whole => step.ceil(),
            step => step,
        };
        let peak = step * (highest / step).ceil().max(1.0);
        let x = |share: f64| left + wide * share;
        let y = |value: f64| top + high * (1.0 - value / peak);
        let mut scene = Scene::new(SIZE);

        if let Some((share, words)) = axis.shade {
            scene.rect((left, top), (wide * share, high), Paint::Shade);
            if wide * share > 34.0 {
                scene.text((left + 5.0, top + 13.0), words, Paint::Muted, Anchor::Start);
            }
        }
        let lines = (peak / step).round() as u32;
        for value in (0..=lines).map(|i| f64::from(i) * step) {
            let at = y(value);
            scene.line(vec![(left, at), (left + wide, at)], Paint::Grid, 1.0);
            let words = (self.tick)(value);
            scene.text((left - 8.0, at + 4.0), words, Paint::Muted, Anchor::End);
        }
        for (i, (share, words)) in axis.ticks.iter().enumerate() {
            let is_last = i + 1 == axis.ticks.len();
            let anchor = if is_last && x(*share) > left + wide - 14.0 {
                Anchor::End
            } else {
                Anchor::Middle
            };
            let at = (x(*share), top + high + 17.0);
            scene.text(at, words, Paint::Muted, anchor);
        }
        for series in self.series {
            let first = scene.shapes.len();
            draw_series(&mut scene, series, |point| x(axis.share(point)), y);
            scene.groups.push(first..scene.shapes.len());
        }
        draw_legend(&mut scene, self.series, left);
        let names: Vec<&str> = self.series.iter().map(|series| &*series.name).collect();
        Chart {
            title: self.title.to_owned(),
            label: format!(
                "{} {}: {}; highest {}",
                self.title,
                axis.words,
                names.join(", "),
                (self.tick)(round_up(highest, step / 20.0))
            ),
            scene,
            readout: Some(Readout {
                from: x(axis.ends.0),
                to: x(axis.ends.1),
                at: axis.at.clone(),
                series: self
                    .series
                    .iter()
                    .map(|series| self.figures(series))
                    .collect(),
            }),
        }
    }

    fn figures(&self, series: &PlotSeries) -> SeriesFigures {
        let words = |value: &Option<f64>| value.map(self.exact).unwrap_or_default();
        SeriesFigures {
            name: series.name.clone(),
            paint: series.paint,
            dashed: series.dashed,
            words: series.values.iter().map(words).collect(),
        }
    }
}

/// A line or area, in as many pieces as gaps leave of it.
fn draw_series(
    scene: &mut Scene,
    series: &PlotSeries,
    x: impl Fn(usize) -> f64,
    y: impl Fn(f64) -> f64,
) {
    let mut pieces: Vec<Vec<usize>> = vec![Vec::new()];
    for (i, value) in series.values.iter().enumerate() {
        if value.is_some() {
            pieces.last_mut().expect("never empty").push(i);
        } else {
            pieces.push(Vec::new());
        }
    }
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        let tops = piece.iter().filter_map(|i| Some((*i, series.top(*i)?)));
        let mut points: Vec<At> = tops.map(|(i, top)| (x(i), y(top))).collect();
        if series.filled {
            let floor = piece.iter().rev().map(|i| (x(*i), y(series.floor(*i))));
            scene.shapes.push(SceneShape::Area {
                points: points.iter().copied().chain(floor).collect(),
                paint: series.paint,
                opacity: 0.28,
            });
        }
        if let [only] = points[..] {
            points.push((only.0 + 1.0, only.1));
        }
        scene.shapes.push(SceneShape::Line {
            points,
            paint: series.paint,
            width: 1.6,
            dashed: series.dashed,
        });
    }
}

fn draw_legend(scene: &mut Scene, series: &[PlotSeries], left: f64) {
    let first = scene.shapes.len();
    let mut x = left;
    for series in series {
        scene.shapes.push(SceneShape::Line {
            points: vec![(x, 9.0), (x + 16.0, 9.0)],
            paint: series.paint,
            width: 2.5,
            dashed: series.dashed,
        });
        scene.text((x + 22.0, 13.0), &*series.name, Paint::Ink, Anchor::Start);
        x += 40.0 + 6.2 * series.name.chars().count() as f64;
    }
    scene.legend = Some(Legend {
        shapes: first..scene.shapes.len(),
        height: LEGEND,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_the_data_is_a_gap_in_the_line() {
        let mut scene = Scene::new(SIZE);
        let series = PlotSeries {
            values: vec![Some(1.0), Some(2.0), None, Some(1.0), Some(2.0)],
            ..PlotSeries::new("p50", Paint::Ink)
        };
        draw_series(&mut scene, &series, |x| x as f64, |y| y);
        assert_eq!(scene.shapes.len(), 2);
    }

    #[test]
    fn an_area_covers_what_it_stands_for_and_nothing_below() {
        let mut scene = Scene::new(SIZE);
        let series = PlotSeries {
            values: vec![Some(1.0), Some(2.0)],
            below: vec![3.0, 4.0],
            filled: true,
            ..PlotSeries::new("timeout", Paint::Ink)
        };
        draw_series(&mut scene, &series, |x| x as f64, |y| y);
        let SceneShape::Area { points, .. } = &scene.shapes[0] else {
            panic!("{:?}", scene.shapes);
        };
        assert_eq!(points, &[(0.0, 4.0), (1.0, 6.0), (1.0, 4.0), (0.0, 3.0)]);
    }
}
