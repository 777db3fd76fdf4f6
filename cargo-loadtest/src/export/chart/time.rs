//! The course of a run, drawn over time.

use super::observed::draw_observed;
use super::plot::{AxisBound, PlotSeries, draw_plot};
use super::{Chart, paint_of};
use crate::export::scene::Paint;
use loadtest_model::card::{Card, Point, SocketPoint, StepCourse, ThresholdRow, Timeline};
use loadtest_model::definition::Metric;
use loadtest_model::display;
use std::collections::BTreeMap;
use std::time::Duration;

/// The most kinds of errors in one chart.
const KINDS: usize = 5;

/// All charts over time; none of a course with fewer than two points, and none in which there would be nothing.
pub(crate) fn draw_over_time(card: &Card) -> Vec<Chart> {
    let course = &card.course;
    if course.points.len() < 2 {
        return Vec::new();
    }
    let mut charts = Vec::new();
    charts.extend(draw_times(card));
    charts.extend(draw_rate(card));
    charts.extend(draw_step_times(
        "Time to the first event, p95",
        course,
        &course.first_events,
    ));
    charts.extend(draw_step_times(
        "Response time of steps, p95",
        course,
        &course.steps,
    ));
    // Of a fast target no user is ever seen at work.
    if course.points.iter().any(|point| point.active_users > 0) {
        charts.push(draw_users(course));
    }
    charts.extend(draw_messages(course));
    charts.extend(draw_errors(course));
    charts.extend(draw_observed(card));
    charts
}

/// Returns whether the course has times of journeys.
pub(crate) fn has_times(course: &Timeline) -> bool {
    course.points.iter().any(|point| point.p50.is_some())
}

/// The times of journeys; none where none of them ended well.
fn draw_times(card: &Card) -> Option<Chart> {
    let quantile = |name: &str, paint, of: fn(&Point) -> Option<Duration>| {
        let values = |point: &Point| of(point).map(|time| time.as_secs_f64());
        PlotSeries::new(name, Paint::Quantile(paint), &card.course, values)
    };
    let series = [
        quantile("p50", 0, |point| point.p50),
        PlotSeries {
            fill: 0.12,
            ..quantile("p95", 1, |point| point.p95)
        },
        quantile("p99", 2, |point| point.p99),
    ];
    let title = if card.headline.single_request {
        "Response time"
    } else {
        "Journey time"
    };
    let draw = || draw_seconds(title, &card.course, &series, &list_time_bounds(card));
    has_times(&card.course).then(draw)
}

/// A time of each step, or of those that take longest; none without any.
fn draw_step_times(title: &str, course: &Timeline, steps: &[StepCourse]) -> Option<Chart> {
    let series = steps.iter().map(|step| PlotSeries {
        values: step
            .p95_us
            .iter()
            .map(|time| time.map(|time| time as f64 / 1e6))
            .collect(),
        ..PlotSeries::new(&step.name, paint_of(step.step), course, |_| None)
    });
    let series: Vec<_> = series.collect();
    let draw = || draw_seconds(title, course, &series, &[]);
    (!series.is_empty()).then(draw)
}

/// The delays of starts by the shards that made a load; none where one process made it.
pub(crate) fn draw_delays(card: &Card) -> Option<Chart> {
    let course = &card.course;
    let series = course.generators.iter().map(|generator| PlotSeries {
        values: generator
            .latest_us
            .iter()
            .map(|latest| latest.map(|latest| latest as f64 / 1e6))
            .collect(),
        ..PlotSeries::new(&generator.name, paint_of(generator.place), course, |_| None)
    });
    let series: Vec<_> = series.collect();
    let draw = || draw_seconds("Longest start delay", course, &series, &[]);
    (course.points.len() > 1 && !series.is_empty()).then(draw)
}

fn draw_seconds(
    title: &str,
    course: &Timeline,
    series: &[PlotSeries],
    bounds: &[AxisBound],
) -> Chart {
    let time = |seconds: f64| Duration::from_nanos((seconds * 1e9).round() as u64);
    let tick = |seconds| display::format_span(time(seconds));
    let exact = |seconds| display::format_duration(time(seconds));
    draw_plot(title, course, series, bounds, &tick, &exact)
}

/// Returns the upper bounds of the quantiles of the whole journey.
fn list_time_bounds(card: &Card) -> Vec<AxisBound> {
    let is_whole = |row: &&ThresholdRow| {
        let is_quantile = matches!(row.metric, Metric::P50 | Metric::P95 | Metric::P99);
        let is_of_step = row.step.is_some() && !card.headline.single_request;
        is_quantile
            && !is_of_step
            && row.tag.is_none()
            && row.row.is_none()
            && row.condition.contains('<')
    };
    let bounds = card
        .thresholds
        .iter()
        .filter(is_whole)
        .map(|row| AxisBound {
            value: row.bound / 1e6,
            words: row.condition.clone(),
        });
    bounds.collect()
}

/// The rate of journeys; none where none was to start.
fn draw_rate(card: &Card) -> Option<Chart> {
    let course = &card.course;
    if card.accounts.planned == 0 {
        return None;
    }
    let title = if card.headline.single_request {
        "Requests per second"
    } else {
        "Journeys per second"
    };
    let achieved = |point: &Point| Some(point.finished_per_second);
    let mut series = Vec::new();
    let mut points = course.points.iter();
    if points.any(|point| point.target_per_second.is_some()) {
        series.push(PlotSeries {
            fill: 0.18,
            is_stepped: true,
            ..PlotSeries::new("target", Paint::Muted, course, |point| {
                point.target_per_second
            })
        });
    }
    series.push(PlotSeries::new(
        "achieved",
        Paint::Series(0),
        course,
        achieved,
    ));
    Some(draw_rates(title, course, &series))
}

fn draw_users(course: &Timeline) -> Chart {
    let users = |point: &Point| Some(f64::from(point.active_users));
    let series = [PlotSeries {
        fill: 0.16,
        ..PlotSeries::new("active", Paint::Series(2), course, users)
    }];
    let tick = |value: f64| value.to_string();
    draw_plot("Active users", course, &series, &[], &tick, &tick)
}

/// The messages of WebSockets; none without any.
fn draw_messages(course: &Timeline) -> Option<Chart> {
    let mut points = course.points.iter();
    points.find(|point| point.websockets.is_some())?;
    let rate = |name: &str, paint, of: fn(&SocketPoint) -> f64| {
        let of_point = |point: &Point| point.websockets.as_ref().map(of);
        PlotSeries::new(name, Paint::Series(paint), course, of_point)
    };
    let series = [
        rate("sent", 0, |point| point.sent_per_second),
        rate("received", 1, |point| point.received_per_second),
    ];
    Some(draw_rates("WebSocket messages per second", course, &series))
}

/// Failures by kind, the most frequent at the bottom.
fn draw_errors(course: &Timeline) -> Option<Chart> {
    let mut kinds: BTreeMap<&str, f64> = BTreeMap::new();
    for point in &course.points {
        for (kind, rate) in &point.errors_per_second {
            *kinds.entry(kind.name()).or_default() += rate;
        }
    }
    let mut kinds: Vec<(&str, f64)> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    let others = [1, 4, 0, 5].map(Paint::Series);
    let paints = std::iter::once(Paint::Alarm).chain(others);
    let mut below = Vec::new();
    let mut series: Vec<PlotSeries> = Vec::new();
    for ((name, _), paint) in kinds.into_iter().take(KINDS).zip(paints) {
        let rate = |point: &Point| {
            let all = point.errors_per_second.iter();
            let of_kind = all.filter(|(kind, _)| kind.name() == name);
            Some(of_kind.map(|(_, rate)| rate).sum())
        };
        let kind = PlotSeries {
            below: below.clone(),
            fill: 0.28,
            ..PlotSeries::new(name, paint, course, rate)
        };
        below.resize(kind.values.len(), 0.0);
        for (below, value) in below.iter_mut().zip(&kind.values) {
            *below += value.unwrap_or_default();
        }
        series.push(kind);
    }
    (!series.is_empty()).then(|| draw_rates("Errors per second", course, &series))
}

fn draw_rates(title: &str, course: &Timeline, series: &[PlotSeries]) -> Chart {
    draw_plot(
        title,
        course,
        series,
        &[],
        &display::format_exact_rate,
        &display::format_rate,
    )
}
