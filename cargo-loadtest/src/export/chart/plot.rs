//! Lines and areas over time.

use super::axis::{clock_step, format_clock, round_step};
use super::{Chart, Readout, SeriesFigures};
use crate::export::scene::{Anchor, At, Legend, Paint, Scene, SceneShape};
use crate::export::terminal::text::{shorten, width};
use loadtest_model::card::{Point, Timeline};
use loadtest_model::display;
use std::time::Duration;

/// Width and height.
const SIZE: At = (480.0, 256.0);
/// Left, top, right and bottom of what surrounds the data.
const FRAME: (f64, f64, f64, f64) = (58.0, 28.0, 10.0, 24.0);
/// The height of the strip at the top.
const LEGEND: f64 = 16.0;
/// The width of the mark of a name in it with what surrounds the name, and that of a letter.
const LEGEND_MARK: f64 = 40.0;
const LEGEND_LETTER: f64 = 6.2;
/// The width of a line of data.
const STROKE: f64 = 2.0;
/// Fewer points than these have dots.
const FEW: usize = 20;
const DOT: f64 = 3.0;

/// A value per point; `None` leaves a gap.
pub(super) struct PlotSeries {
    pub(super) name: String,
    pub(super) paint: Paint,
    pub(super) values: Vec<Option<f64>>,
    /// The value below each value, of a series that stands on others; empty where it begins at the ground.
    pub(super) below: Vec<f64>,
    pub(super) dashed: bool,
    /// The opacity of the area below the line; 0 for none.
    pub(super) fill: f64,
    /// Holds each value over the width of its point.
    pub(super) is_stepped: bool,
}

/// A value that must not be exceeded, in the words of its condition.
pub(super) struct AxisBound {
    pub(super) value: f64,
    pub(super) words: String,
}

/// The words for a value.
pub(super) type Words<'a> = &'a dyn Fn(f64) -> String;

impl PlotSeries {
    pub(super) fn new(
        name: &str,
        paint: Paint,
        course: &Timeline,
        value: impl Fn(&Point) -> Option<f64>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            paint,
            values: course.points.iter().map(value).collect(),
            below: Vec::new(),
            dashed: false,
            fill: 0.0,
            is_stepped: false,
        }
    }

    fn highest(&self) -> f64 {
        let values = (0..self.values.len()).filter_map(|i| self.top(i));
        values.fold(0.0, f64::max)
    }

    fn floor(&self, i: usize) -> f64 {
        self.below.get(i).copied().unwrap_or(0.0)
    }

    fn top(&self, i: usize) -> Option<f64> {
        self.values[i].map(|value| value + self.floor(i))
    }

    /// Returns whether there is something to draw at a point. Of a series that stands on others, a stretch of nothing
    /// would be a line on top of what is below.
    fn is_drawn(&self, i: usize) -> bool {
        let around = i.saturating_sub(1)..(i + 2).min(self.values.len());
        let mut values = self.values[around].iter().flatten();
        self.values[i].is_some() && (self.below.is_empty() || values.any(|value| *value > 0.0))
    }
}

/// Draws series over the time of a course; `tick` words a value beside the axis, `exact` a measured one.
pub(super) fn draw_plot(
    title: &str,
    course: &Timeline,
    series: &[PlotSeries],
    bounds: &[AxisBound],
    tick: Words<'_>,
    exact: Words<'_>,
) -> Chart {
    let (left, top, right, bottom) = FRAME;
    let (wide, high) = (SIZE.0 - left - right, SIZE.1 - top - bottom);
    let highest = series.iter().map(PlotSeries::highest).fold(0.0, f64::max);
    let step = round_step(highest / 4.0);
    let lines = (highest / step).ceil().max(1.0);
    let points = course.points.len() as f64;
    let seconds = f64::from(course.width) * points;
    let x_of_time = |second: f64| left + wide * second / seconds;
    let x = |point: usize| left + wide * (point as f64 + 0.5) / points;
    let y = |value: f64| top + high * (1.0 - value / (step * lines));
    let mut scene = Scene::new(SIZE);
    if let Some(steady) = course.steady_from.filter(|steady| *steady < seconds) {
        let width = x_of_time(steady) - left;
        scene.rect((left, top), (width, high), Paint::Shade);
        if width > 34.0 {
            let at = (left + 5.0, top + 13.0);
            scene.text(at, "ramp", Paint::Muted, Anchor::Start);
        }
    }
    for value in (0..=lines as u32).map(|i| f64::from(i) * step) {
        let at = y(value);
        scene.line(vec![(left, at), (left + wide, at)], Paint::Grid, 1.0);
        let at = (left - 8.0, at + 4.0);
        scene.text(at, tick(value), Paint::Muted, Anchor::End);
    }
    let labels = (0..).map(|i| f64::from(i) * clock_step(seconds));
    for second in labels.take_while(|second| *second <= seconds) {
        let x = x_of_time(second);
        let anchor = if x > left + wide - 14.0 {
            Anchor::End
        } else {
            Anchor::Middle
        };
        let at = (x, top + high + 17.0);
        scene.text(at, format_clock(second), Paint::Muted, anchor);
    }
    for series in series {
        let first = scene.shapes.len();
        draw_series(&mut scene, series, wide / points, x, y);
        scene.groups.push(first..scene.shapes.len());
    }
    for bound in bounds.iter().filter(|bound| bound.value <= step * lines) {
        let at = y(bound.value);
        scene.line(vec![(left, at), (left + wide, at)], Paint::Alarm, 1.0);
        let at = (
            left + wide - 4.0,
            if at < top + 16.0 { at + 14.0 } else { at - 5.0 },
        );
        scene.text(at, &*bound.words, Paint::Alarm, Anchor::End);
    }
    draw_legend(&mut scene, series, left);
    let names: Vec<&str> = series.iter().map(|series| &*series.name).collect();
    let figures = series.iter().map(|series| SeriesFigures {
        name: series.name.clone(),
        paint: series.paint,
        dashed: series.dashed,
        words: (series.values.iter())
            .map(|value| value.map(exact).unwrap_or_default())
            .collect(),
    });
    let clock = |point: &Point| format_clock(f64::from(point.second));
    Chart {
        title: title.to_owned(),
        label: format!(
            "{title} over {}: {}; highest {}",
            display::format_span(Duration::from_secs(seconds as u64)),
            names.join(", "),
            tick((highest / step * 20.0).ceil() * step / 20.0)
        ),
        scene,
        readout: Some(Readout {
            from: x(0),
            to: x(course.points.len() - 1),
            at: course.points.iter().map(clock).collect(),
            series: figures.collect(),
        }),
    }
}

/// A line or area, in as many pieces as gaps leave of it.
fn draw_series(
    scene: &mut Scene,
    series: &PlotSeries,
    width: f64,
    x: impl Fn(usize) -> f64,
    y: impl Fn(f64) -> f64,
) {
    let mut pieces: Vec<Vec<usize>> = vec![Vec::new()];
    for i in 0..series.values.len() {
        if series.is_drawn(i) {
            pieces.last_mut().expect("never empty").push(i);
        } else {
            pieces.push(Vec::new());
        }
    }
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        let tops = piece.iter().filter_map(|i| Some((*i, series.top(*i)?)));
        let tops: Vec<At> = tops.map(|(i, top)| (x(i), y(top))).collect();
        let mut points = if series.is_stepped {
            list_corners(&tops, width)
        } else {
            tops.clone()
        };
        if series.fill > 0.0 {
            let floor = piece.iter().rev().map(|i| (x(*i), y(series.floor(*i))));
            let mut floor: Vec<At> = floor.collect();
            if let (true, [last, .., first]) = (series.is_stepped, &mut floor[..]) {
                (last.0, first.0) = (last.0 + width / 2.0, first.0 - width / 2.0);
            }
            scene.shapes.push(SceneShape::Area {
                points: points.iter().copied().chain(floor).collect(),
                paint: series.paint,
                opacity: series.fill,
            });
        }
        if let [only] = points[..] {
            points.push((only.0 + 1.0, only.1));
        }
        scene.shapes.push(SceneShape::Line {
            points,
            paint: series.paint,
            width: if series.is_stepped {
                STROKE / 2.0
            } else {
                STROKE
            },
            dashed: series.dashed,
        });
        if series.values.len() < FEW && !series.is_stepped {
            scene
                .shapes
                .extend(tops.into_iter().map(|at| SceneShape::Dot {
                    at,
                    radius: DOT,
                    paint: series.paint,
                }));
        }
    }
}

/// Returns the corners of steps, which have their points in the middle.
fn list_corners(points: &[At], width: f64) -> Vec<At> {
    let mut corners: Vec<At> = Vec::new();
    for (x, y) in points {
        let (left, right) = ((x - width / 2.0, *y), (x + width / 2.0, *y));
        match corners.last_mut() {
            Some(last) if (last.1 - y).abs() < 0.05 => *last = right,
            _ => corners.extend([left, right]),
        }
    }
    corners
}

fn draw_legend(scene: &mut Scene, series: &[PlotSeries], left: f64) {
    let first = scene.shapes.len();
    let share = (SIZE.0 - left) / series.len().max(1) as f64;
    let limit = ((share - LEGEND_MARK) / LEGEND_LETTER) as usize;
    let widths = || series.iter().map(|series| width(&series.name));
    let is_full = widths().sum::<usize>() > limit * series.len();
    let mut x = left;
    for series in series {
        let name = if is_full {
            shorten(&series.name, limit)
        } else {
            series.name.clone()
        };
        scene.shapes.push(SceneShape::Line {
            points: vec![(x, 9.0), (x + 16.0, 9.0)],
            paint: series.paint,
            width: 2.5,
            dashed: series.dashed,
        });
        let columns = width(&name) as f64;
        scene.text((x + 22.0, 13.0), name, Paint::Ink, Anchor::Start);
        x += LEGEND_MARK + LEGEND_LETTER * columns;
    }
    scene.legend = Some(Legend {
        shapes: first..scene.shapes.len(),
        height: LEGEND,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: Vec<Option<f64>>) -> PlotSeries {
        PlotSeries {
            name: "p50".to_owned(),
            paint: Paint::Ink,
            values,
            below: Vec::new(),
            dashed: false,
            fill: 0.0,
            is_stepped: false,
        }
    }

    #[test]
    fn a_gap_in_the_data_is_a_gap_in_the_line() {
        let mut scene = Scene::new(SIZE);
        let values = vec![Some(1.0), Some(2.0), None, Some(1.0), Some(2.0)];
        let series = series(values);
        draw_series(&mut scene, &series, 1.0, |x| x as f64, |y| y);
        let is_line = |shape: &&SceneShape| matches!(shape, SceneShape::Line { .. });
        assert_eq!(scene.shapes.iter().filter(is_line).count(), 2);
    }

    #[test]
    fn an_area_covers_what_it_stands_for_and_nothing_below() {
        let mut scene = Scene::new(SIZE);
        let series = PlotSeries {
            below: vec![3.0, 4.0],
            fill: 0.3,
            ..series(vec![Some(1.0), Some(2.0)])
        };
        draw_series(&mut scene, &series, 1.0, |x| x as f64, |y| y);
        let SceneShape::Area { points, .. } = &scene.shapes[0] else {
            panic!("{:?}", scene.shapes);
        };
        assert_eq!(points, &[(0.0, 4.0), (1.0, 6.0), (1.0, 4.0), (0.0, 3.0)]);
    }

    #[test]
    fn a_stretch_of_nothing_on_top_of_others_is_not_drawn() {
        let mut scene = Scene::new(SIZE);
        let zero = Some(0.0);
        let series = PlotSeries {
            below: vec![3.0; 7],
            fill: 0.3,
            ..series(vec![zero, zero, Some(2.0), zero, zero, zero, None])
        };
        draw_series(&mut scene, &series, 1.0, |x| x as f64, |y| y);
        let lines = scene.shapes.iter().filter_map(|shape| match shape {
            SceneShape::Line { points, .. } => Some(&points[..]),
            _ => None,
        });
        assert_eq!(
            lines.collect::<Vec<_>>(),
            [[(1.0, 3.0), (2.0, 5.0), (3.0, 3.0)]]
        );
    }

    #[test]
    fn a_step_holds_its_value_over_the_width_of_its_point() {
        let points = [(1.0, 5.0), (2.0, 5.0), (3.0, 7.0)];
        assert_eq!(
            list_corners(&points, 1.0),
            [(0.5, 5.0), (2.5, 5.0), (2.5, 7.0), (3.5, 7.0)]
        );
    }

    #[test]
    fn few_points_have_dots_and_many_have_none() {
        for (count, dots) in [(FEW - 1, FEW - 1), (FEW, 0)] {
            let mut scene = Scene::new(SIZE);
            let series = series(vec![Some(1.0); count]);
            draw_series(&mut scene, &series, 1.0, |x| x as f64, |y| y);
            let is_dot = |shape: &&SceneShape| matches!(shape, SceneShape::Dot { .. });
            assert_eq!(scene.shapes.iter().filter(is_dot).count(), dots);
        }
    }
}
