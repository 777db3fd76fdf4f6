//! The charts of a card, as drawings.

use super::scene::{Anchor, At, Paint, Scene, Shape};
use loadtest::card::{Card, Course, Point, view};
use std::collections::BTreeMap;
use std::time::Duration;

/// Width and height of a chart over time.
const SIZE: At = (520.0, 220.0);
/// Left, top, right and bottom of what surrounds the data.
const FRAME: (f64, f64, f64, f64) = (58.0, 26.0, 10.0, 24.0);

const USERS: &str = "Active users";

/// A chart and what it shows.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) title: &'static str,
    pub(crate) label: String,
    pub(crate) scene: Scene,
}

/// One value per point of the course; `None` leaves a gap.
struct Series {
    name: String,
    paint: Paint,
    values: Vec<Option<f64>>,
    dashed: bool,
    filled: bool,
}

/// All charts over time; none of a course with fewer than two points.
pub(crate) fn over_time(card: &Card) -> Vec<Chart> {
    if card.course.points.len() < 2 {
        return Vec::new();
    }
    let mut charts = vec![times(card), rate(card)];
    // Of a fast target no user is ever seen at work.
    if card
        .course
        .points
        .iter()
        .any(|point| point.active_users > 0)
    {
        charts.push(users(&card.course));
    }
    charts.extend(errors(&card.course));
    charts
}

/// What the generator saw of itself over time; none of a course with fewer than two points.
pub(crate) fn of_generator(card: &Card) -> Vec<Chart> {
    let course = &card.course;
    if course.points.len() < 2 {
        return Vec::new();
    }
    let line = |name: &str, paint, of: fn(&Point) -> f64| Series {
        values: each(course, |point| Some(of(point))),
        ..Series::new(name, paint)
    };
    let late = vec![
        line("latest start", Paint::Series(0), |point| {
            point.latest.as_secs_f64()
        }),
        line("stall", Paint::Alarm, |point| point.stall.as_secs_f64()),
    ];
    let cpu = vec![
        line("busiest worker", Paint::Series(0), |point| {
            point.busiest_worker
        }),
        line("throttled", Paint::Alarm, |point| point.throttled),
        line("stolen by the host", Paint::Series(1), |point| point.stolen),
    ];
    let waits = line("waited", Paint::Series(2), |point| point.waited_per_second);
    let percent = view::whole_percent;
    let mut charts = vec![
        chart("Start lateness", course, &with_trouble(late), seconds),
        chart("Processor time", course, &with_trouble(cpu), percent),
    ];
    if waits.highest() > 0.0 {
        let title = "Waits for a free user per second";
        charts.push(chart(title, course, &[waits], view::exact_rate));
    }
    charts
}

/// The first series, and of the others those in which there is something to see.
fn with_trouble(mut series: Vec<Series>) -> Vec<Series> {
    let mut first = true;
    series.retain(|series| std::mem::take(&mut first) || series.highest() > 0.0);
    series
}

fn seconds(value: f64) -> String {
    view::span(Duration::from_nanos((value * 1e9).round() as u64))
}

fn times(card: &Card) -> Chart {
    let quantile = |name: &str, paint, of: fn(&Point) -> Option<Duration>| Series {
        values: each(&card.course, |point| {
            of(point).map(|time| time.as_secs_f64())
        }),
        ..Series::new(name, paint)
    };
    let series = [
        quantile("p50", Paint::Series(0), |point| point.p50),
        quantile("p95", Paint::Series(1), |point| point.p95),
        quantile("p99", Paint::Series(2), |point| point.p99),
    ];
    let title = if card.headline.single_request {
        "Response time"
    } else {
        "Journey time"
    };
    chart(title, &card.course, &series, seconds)
}

fn rate(card: &Card) -> Chart {
    let course = &card.course;
    let title = if card.headline.single_request {
        "Requests per second"
    } else {
        "Journeys per second"
    };
    let mut series = Vec::new();
    if course
        .points
        .iter()
        .any(|point| point.target_per_second.is_some())
    {
        series.push(Series {
            values: each(course, |point| point.target_per_second),
            dashed: true,
            ..Series::new("target", Paint::Muted)
        });
    }
    series.push(Series {
        values: each(course, |point| Some(point.finished_per_second)),
        ..Series::new("achieved", Paint::Series(0))
    });
    chart(title, course, &series, view::exact_rate)
}

fn users(course: &Course) -> Chart {
    let series = [Series {
        values: each(course, |point| Some(f64::from(point.active_users))),
        filled: true,
        ..Series::new("active", Paint::Series(3))
    }];
    chart(USERS, course, &series, |value| {
        view::count(value.round() as u64)
    })
}

/// Failures by kind, the most frequent at the bottom; what is beyond five kinds is one.
fn errors(course: &Course) -> Option<Chart> {
    let mut kinds: BTreeMap<&str, f64> = BTreeMap::new();
    for point in &course.points {
        for (kind, rate) in &point.errors_per_second {
            *kinds.entry(kind.name()).or_default() += rate;
        }
    }
    if kinds.is_empty() {
        return None;
    }
    let mut kinds: Vec<(&str, f64)> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named: Vec<&str> = kinds.iter().take(4).map(|(name, _)| *name).collect();
    let paints = [2, 1, 4, 0, 5].map(Paint::Series);
    let mut sum = vec![0.0; course.points.len()];
    let mut series = Vec::new();
    let others = (kinds.len() > named.len()).then_some("other");
    for (name, paint) in named.iter().copied().chain(others).zip(paints) {
        for (sum, point) in sum.iter_mut().zip(&course.points) {
            let of_kind = point.errors_per_second.iter().filter(|(kind, _)| {
                if others == Some(name) {
                    !named.contains(&kind.name())
                } else {
                    kind.name() == name
                }
            });
            *sum += of_kind.map(|(_, rate)| rate).sum::<f64>();
        }
        series.push(Series {
            values: sum.iter().copied().map(Some).collect(),
            filled: true,
            ..Series::new(name, paint)
        });
    }
    // The whole is drawn first, so that each part covers what is above it.
    series.reverse();
    Some(chart(
        "Errors per second",
        course,
        &series,
        view::exact_rate,
    ))
}

fn each(course: &Course, of: impl Fn(&Point) -> Option<f64>) -> Vec<Option<f64>> {
    course.points.iter().map(of).collect()
}

impl Series {
    fn new(name: &str, paint: Paint) -> Self {
        Self {
            name: name.to_owned(),
            paint,
            values: Vec::new(),
            dashed: false,
            filled: false,
        }
    }

    fn highest(&self) -> f64 {
        self.values.iter().flatten().copied().fold(0.0, f64::max)
    }
}

fn chart(
    title: &'static str,
    course: &Course,
    series: &[Series],
    tick: impl Fn(f64) -> String,
) -> Chart {
    let (left, top, right, bottom) = FRAME;
    let (wide, high) = (SIZE.0 - left - right, SIZE.1 - top - bottom);
    let highest = series.iter().map(Series::highest).fold(0.0, f64::max);
    // Users come in whole numbers.
    let step = match nice(highest / 4.0) {
        step if title == USERS => step.ceil(),
        step => step,
    };
    let peak = step * (highest / step).ceil().max(1.0);
    let seconds = f64::from(course.width) * course.points.len() as f64;
    let x = |second: f64| left + wide * second / seconds;
    let y = |value: f64| top + high * (1.0 - value / peak);
    let mut scene = Scene::new(SIZE);

    if let Some(steady) = course.steady_from.filter(|steady| *steady < seconds) {
        scene.rect((left, top), (x(steady) - left, high), Paint::Shade);
        if x(steady) - left > 34.0 {
            scene.text(
                (left + 5.0, top + 13.0),
                "ramp",
                Paint::Muted,
                Anchor::Start,
            );
        }
    }
    let lines = (peak / step).round() as u32;
    for value in (0..=lines).map(|i| f64::from(i) * step) {
        let at = y(value);
        scene.line(vec![(left, at), (left + wide, at)], Paint::Grid, 1.0);
        scene.text(
            (left - 8.0, at + 4.0),
            tick(value),
            Paint::Muted,
            Anchor::End,
        );
    }
    let every = clock_step(seconds);
    let mut second = 0.0;
    while second <= seconds {
        let anchor = if second + every > seconds && x(second) > left + wide - 14.0 {
            Anchor::End
        } else {
            Anchor::Middle
        };
        let at = (x(second), top + high + 17.0);
        scene.text(at, clock(second), Paint::Muted, anchor);
        second += every;
    }
    for line in series {
        draw(&mut scene, line, x, y, f64::from(course.width));
    }
    legend(&mut scene, series, left);
    let names: Vec<&str> = series.iter().map(|series| &*series.name).collect();
    Chart {
        title,
        label: format!(
            "{title} over {}: {}; highest {}",
            view::span(Duration::from_secs(seconds as u64)),
            names.join(", "),
            tick(round_up(highest, step / 20.0))
        ),
        scene,
    }
}

/// A line or area, in as many pieces as gaps leave of it.
fn draw(
    scene: &mut Scene,
    series: &Series,
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> f64,
    width: f64,
) {
    let mut pieces: Vec<Vec<At>> = vec![Vec::new()];
    for (i, value) in series.values.iter().enumerate() {
        match value {
            Some(value) => {
                let at = (x((i as f64 + 0.5) * width), y(*value));
                pieces.last_mut().expect("never empty").push(at);
            }
            None => pieces.push(Vec::new()),
        }
    }
    for piece in pieces {
        let (Some(first), Some(last)) = (piece.first(), piece.last()) else {
            continue;
        };
        if series.filled {
            let mut outline = vec![(first.0, y(0.0))];
            outline.extend(&piece);
            outline.push((last.0, y(0.0)));
            // Paper below the colour, so that what lies beneath does not shine through.
            for (paint, opacity) in [(Paint::Paper, 1.0), (series.paint, 0.28)] {
                scene.shapes.push(Shape::Area {
                    points: outline.clone(),
                    paint,
                    opacity,
                });
            }
        }
        scene.shapes.push(Shape::Line {
            points: if piece.len() == 1 {
                vec![*first, (first.0 + 1.0, first.1)]
            } else {
                piece
            },
            paint: series.paint,
            width: 1.6,
            dashed: series.dashed,
        });
    }
}

fn legend(scene: &mut Scene, series: &[Series], left: f64) {
    let mut x = left;
    for series in series {
        scene.shapes.push(Shape::Line {
            points: vec![(x, 9.0), (x + 16.0, 9.0)],
            paint: series.paint,
            width: 2.5,
            dashed: series.dashed,
        });
        scene.text((x + 22.0, 13.0), &*series.name, Paint::Ink, Anchor::Start);
        x += 40.0 + 6.2 * series.name.chars().count() as f64;
    }
}

/// The share of time of each step, side by side; the bottleneck in the colour of alarm.
pub(crate) fn shares(card: &Card) -> Option<Chart> {
    let bottleneck = card.bottleneck.as_ref()?;
    if card.steps.len() < 2 {
        return None;
    }
    let (wide, high) = (1000.0, 40.0);
    let mut scene = Scene::new((wide, high));
    let mut x = 0.0;
    let mut words = Vec::new();
    for (i, step) in card.steps.iter().enumerate() {
        let share = step.time_share.unwrap_or(0.0);
        let width = wide * share;
        let shown = (width - 2.0).max(0.5);
        scene.rect((x, 0.0), (shown, high), paint_of(i, bottleneck.step));
        let text = format!("{} {}", step.name, view::percent(share));
        if text.chars().count() as f64 * 7.6 + 20.0 < width {
            scene.shapes.push(Shape::Text {
                at: (x + 10.0, 25.0),
                size: 14.0,
                text: text.clone(),
                paint: Paint::Paper,
                anchor: Anchor::Start,
            });
        }
        words.push(text);
        x += width;
    }
    Some(Chart {
        title: "Where the time goes",
        label: format!("Share of service time: {}", words.join(", ")),
        scene,
    })
}

/// The colour of a step in [`shares`].
pub(crate) fn paint_of(step: usize, bottleneck: usize) -> Paint {
    const CALM: [usize; 5] = [0, 3, 4, 1, 5];
    if step == bottleneck {
        Paint::Alarm
    } else {
        Paint::Series(CALM[step % CALM.len()])
    }
}

/// The smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `least`.
fn nice(least: f64) -> f64 {
    if least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(10.0 * power)
}

fn round_up(value: f64, step: f64) -> f64 {
    (value / step).ceil() * step
}

/// Seconds between two labels of the axis of time: about six in all.
fn clock_step(seconds: f64) -> f64 {
    const STEPS: [f64; 12] = [
        1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0,
    ];
    STEPS
        .into_iter()
        .find(|step| seconds / step <= 7.0)
        .unwrap_or(seconds / 6.0)
}

/// `0:30`, `12:00`, `1:05:00`.
fn clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("{minutes}:{rest:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;
    use loadtest::card::Report;

    #[test]
    fn steps_of_an_axis_are_round() {
        for (least, step) in [(0.7, 1.0), (13.0, 20.0), (0.021, 0.025), (260.0, 500.0)] {
            assert!((nice(least) - step).abs() < 1e-9, "{}", nice(least));
        }
        assert_eq!(
            (clock(65.0), clock(3_900.0)),
            ("1:05".to_owned(), "1:05:00".to_owned())
        );
    }

    #[test]
    fn no_shape_leaves_its_drawing() {
        let report = sample::failed();
        let mut charts = over_time(&report.cards[0]);
        assert_eq!(charts.len(), 4);
        charts.extend(shares(&report.cards[0]));
        charts.extend(of_generator(&report.cards[0]));
        for chart in charts {
            let (wide, high) = chart.scene.size;
            for shape in &chart.scene.shapes {
                let points = match shape {
                    Shape::Rect { at, size, .. } => vec![*at, (at.0 + size.0, at.1 + size.1)],
                    Shape::Line { points, .. } | Shape::Area { points, .. } => points.clone(),
                    Shape::Text { at, .. } => vec![*at],
                };
                for (x, y) in points {
                    assert!((0.0..=wide + 0.01).contains(&x), "{}: {x}", chart.title);
                    assert!((0.0..=high + 0.01).contains(&y), "{}: {y}", chart.title);
                }
            }
        }
    }

    #[test]
    fn of_a_calm_generator_no_trouble_is_drawn() {
        let mut report = sample::passed();
        let labels = |report: &Report| -> Vec<String> {
            let charts = of_generator(&report.cards[0]).into_iter();
            charts.map(|chart| chart.label).collect()
        };
        let calm = labels(&report);
        assert_eq!(calm.len(), 2, "{calm:?}");
        assert!(calm[0].contains(": latest start;"), "{calm:?}");
        assert!(
            calm[1].contains(": busiest worker; highest 18 %"),
            "{calm:?}"
        );
        let point = &mut report.cards[0].course.points[3];
        point.stall = Duration::from_millis(1_500);
        (point.throttled, point.stolen, point.waited_per_second) = (0.3, 0.2, 7.0);
        let troubled = labels(&report);
        assert_eq!(troubled.len(), 3);
        assert!(
            troubled[0].contains(": latest start, stall; highest 1.5 s"),
            "{troubled:?}"
        );
        assert!(troubled[1].contains(": busiest worker, throttled, stolen by the host;"));
        assert!(
            troubled[2].contains(": waited; highest 7/s"),
            "{troubled:?}"
        );
    }

    #[test]
    fn a_gap_in_the_data_is_a_gap_in_the_line() {
        let mut scene = Scene::new(SIZE);
        let series = Series {
            values: vec![Some(1.0), Some(2.0), None, Some(1.0), Some(2.0)],
            ..Series::new("p50", Paint::Ink)
        };
        draw(&mut scene, &series, |x| x, |y| y, 1.0);
        assert_eq!(scene.shapes.len(), 2);
    }
}
