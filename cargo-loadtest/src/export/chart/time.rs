//! The course of a run, drawn over time.

use super::Chart;
use super::axis::{clock_step, format_clock};
use super::plot::{Axis, Plot, PlotSeries};
use crate::export::scene::Paint;
use loadtest_model::card::{Card, Point, Timeline};
use loadtest_model::display;
use std::collections::BTreeMap;
use std::time::Duration;

const USERS: &str = "Active users";

/// All charts over time; none of a course with fewer than two points.
pub(crate) fn draw_over_time(card: &Card) -> Vec<Chart> {
    if card.course.points.len() < 2 {
        return Vec::new();
    }
    let mut charts = vec![draw_times(card), draw_rate(card)];
    // Of a fast target no user is ever seen at work.
    if card
        .course
        .points
        .iter()
        .any(|point| point.active_users > 0)
    {
        charts.push(draw_users(&card.course));
    }
    charts.extend(draw_errors(&card.course));
    charts
}

/// Draws the health of the generator over time; nothing for a course with fewer than two points.
pub(crate) fn draw_generator(card: &Card) -> Vec<Chart> {
    let course = &card.course;
    if course.points.len() < 2 {
        return Vec::new();
    }
    let line = |name: &str, paint, of: fn(&Point) -> f64| PlotSeries {
        values: collect_values(course, |point| Some(of(point))),
        ..PlotSeries::new(name, paint)
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
    let mut charts = vec![
        draw_chart("Start lateness", course, &with_trouble(late), TIMES),
        draw_chart("Processor time", course, &with_trouble(cpu), SHARES),
    ];
    if waits.highest() > 0.0 {
        let title = "Waits for a free user per second";
        charts.push(draw_chart(title, course, &[waits], RATES));
    }
    charts
}

/// The first series, and of the others those in which there is something to see.
fn with_trouble(mut series: Vec<PlotSeries>) -> Vec<PlotSeries> {
    let mut first = true;
    series.retain(|series| std::mem::take(&mut first) || series.highest() > 0.0);
    series
}

/// The words for values of a kind: beside the axis, and as measured.
type Words = (fn(f64) -> String, fn(f64) -> String);

const TIMES: Words = (format_seconds, format_exact_seconds);
const RATES: Words = (display::format_exact_rate, display::format_rate);
const SHARES: Words = (display::format_whole_percent, display::format_percent);

/// A round time, given in seconds.
pub(super) fn format_seconds(value: f64) -> String {
    display::format_span(duration_of_seconds(value))
}

/// A measured time, given in seconds.
pub(super) fn format_exact_seconds(value: f64) -> String {
    display::format_duration(duration_of_seconds(value))
}

fn duration_of_seconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}

fn draw_times(card: &Card) -> Chart {
    let quantile = |name: &str, paint, of: fn(&Point) -> Option<Duration>| PlotSeries {
        values: collect_values(&card.course, |point| {
            of(point).map(|time| time.as_secs_f64())
        }),
        ..PlotSeries::new(name, paint)
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
    draw_chart(title, &card.course, &series, TIMES)
}

fn draw_rate(card: &Card) -> Chart {
    let course = &card.course;
    let title = if card.headline.single_request {
        "Requests per second"
    } else {
        "Journeys per second"
    };
    let mut series = vec![PlotSeries {
        values: collect_values(course, |point| Some(point.finished_per_second)),
        ..PlotSeries::new("achieved", Paint::Series(0))
    }];
    let mut points = course.points.iter();
    if points.any(|point| point.target_per_second.is_some()) {
        // Last, so that it is seen where it was achieved.
        series.push(PlotSeries {
            values: collect_values(course, |point| point.target_per_second),
            dashed: true,
            ..PlotSeries::new("target", Paint::Ink)
        });
    }
    draw_chart(title, course, &series, RATES)
}

fn draw_users(course: &Timeline) -> Chart {
    let series = [PlotSeries {
        values: collect_values(course, |point| Some(f64::from(point.active_users))),
        filled: true,
        ..PlotSeries::new("active", Paint::Series(3))
    }];
    let words = |value: f64| display::format_count(value.round() as u64);
    draw_chart(USERS, course, &series, (words, words))
}

/// Failures by kind, the most frequent at the bottom; what is beyond five kinds is one.
fn draw_errors(course: &Timeline) -> Option<Chart> {
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
    let mut below = vec![0.0; course.points.len()];
    let mut series = Vec::new();
    let others = (kinds.len() > named.len()).then_some("other");
    for (name, paint) in named.iter().copied().chain(others).zip(paints) {
        let is_meant = |kind: &str| {
            if others == Some(name) {
                !named.contains(&kind)
            } else {
                kind == name
            }
        };
        let values: Vec<f64> = course
            .points
            .iter()
            .map(|point| {
                let all = point.errors_per_second.iter();
                let of_kind = all.filter(|(kind, _)| is_meant(kind.name()));
                of_kind.map(|(_, rate)| rate).sum()
            })
            .collect();
        series.push(PlotSeries {
            values: values.iter().copied().map(Some).collect(),
            below: below.clone(),
            filled: true,
            ..PlotSeries::new(name, paint)
        });
        for (below, value) in below.iter_mut().zip(values) {
            *below += value;
        }
    }
    Some(draw_chart("Errors per second", course, &series, RATES))
}

fn collect_values(course: &Timeline, of: impl Fn(&Point) -> Option<f64>) -> Vec<Option<f64>> {
    course.points.iter().map(of).collect()
}

fn draw_chart(title: &str, course: &Timeline, series: &[PlotSeries], words: Words) -> Chart {
    let points = course.points.len() as f64;
    let width = f64::from(course.width);
    let seconds = width * points;
    let every = clock_step(seconds);
    let labels = (0..).map(|i| f64::from(i) * every);
    let axis = Axis {
        ends: (0.5 / points, 1.0 - 0.5 / points),
        at: course
            .points
            .iter()
            .map(|point| format_clock(f64::from(point.second)))
            .collect(),
        ticks: labels
            .take_while(|second| *second <= seconds)
            .map(|second| (second / seconds, format_clock(second)))
            .collect(),
        shade: course
            .steady_from
            .filter(|steady| *steady < seconds)
            .map(|steady| (steady / seconds, "ramp")),
        words: format!(
            "over {}",
            display::format_span(Duration::from_secs(seconds as u64))
        ),
    };
    let plot = Plot {
        title,
        series,
        tick: words.0,
        exact: words.1,
        // Users come in whole numbers.
        whole: title == USERS,
    };
    plot.over(&axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;
    use loadtest_model::card::Report;

    #[test]
    fn of_a_calm_generator_no_trouble_is_drawn() {
        let mut report = sample::passed();
        let labels = |report: &Report| -> Vec<String> {
            let charts = draw_generator(&report.cards[0]).into_iter();
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
}
