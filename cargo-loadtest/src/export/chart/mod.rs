//! The charts of a card, as drawings.

mod axis;
mod observed;
mod plot;
mod shares;
mod slowest;
mod time;

use super::scene::{Paint, Scene};

pub(crate) use axis::format_clock;
pub(crate) use shares::{draw_shares, paint_of};
pub(crate) use slowest::draw_slowest;
pub(crate) use time::{draw_delays, draw_over_time, has_times};

/// A chart and what it shows.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// A description in words.
    pub(crate) label: String,
    pub(crate) scene: Scene,
    /// The figures in it; `None` of a drawing that says them itself.
    pub(crate) readout: Option<Readout>,
}

/// The figures of a chart, point by point.
#[derive(Debug)]
pub(crate) struct Readout {
    /// The places of the first and the last point, from the left of the scene; the others lie
    /// between them at equal distances.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// The time of each point.
    pub(crate) at: Vec<String>,
    /// The series in the order of drawing, which is that of the groups of the scene.
    pub(crate) series: Vec<SeriesFigures>,
}

/// The figures of one series.
#[derive(Debug)]
pub(crate) struct SeriesFigures {
    pub(crate) name: String,
    pub(crate) paint: Paint,
    pub(crate) dashed: bool,
    /// A text per point; empty in a gap.
    pub(crate) words: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;
    use crate::export::scene::SceneShape;

    #[test]
    fn no_shape_leaves_its_drawing() {
        for report in [
            sample::failed(),
            sample::huge(),
            sample::single(),
            sample::compared(),
            sample::merged(),
            sample::observed(),
        ] {
            let card = &report.cards[0];
            let mut charts = draw_over_time(card);
            charts.extend(draw_shares(card));
            charts.push(draw_slowest(card));
            charts.extend(draw_delays(card));
            assert!(charts.len() >= 3, "{}", charts.len());
            for chart in charts {
                let (wide, high) = chart.scene.size;
                for shape in &chart.scene.shapes {
                    let points = match shape {
                        SceneShape::Rect { at, size, .. } => {
                            vec![*at, (at.0 + size.0, at.1 + size.1)]
                        }
                        SceneShape::Line { points, .. } | SceneShape::Area { points, .. } => {
                            points.clone()
                        }
                        SceneShape::Text { at, .. } | SceneShape::Dot { at, .. } => vec![*at],
                    };
                    for (x, y) in points {
                        assert!((0.0..=wide + 0.01).contains(&x), "{}: {x}", chart.title);
                        assert!((0.0..=high + 0.01).contains(&y), "{}: {y}", chart.title);
                    }
                }
            }
        }
    }

    #[test]
    fn a_readout_has_a_figure_for_every_point_and_a_group_for_every_series() {
        let report = sample::failed();
        let card = &report.cards[0];
        let charts = draw_over_time(card);
        assert_eq!(charts.len(), 5);
        for chart in charts {
            let readout = chart.readout.expect("a chart with figures");
            assert!(readout.from < readout.to);
            assert_eq!(chart.scene.groups.len(), readout.series.len());
            for series in readout.series {
                assert_eq!(series.words.len(), readout.at.len(), "{}", series.name);
            }
        }
    }
}
