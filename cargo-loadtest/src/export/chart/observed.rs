//! The target's own side, drawn over time: a chart for each unit.

use super::plot::{AxisBound, PlotSeries, draw_plot};
use super::{Chart, paint_of};
use loadtest_model::card::{Card, ObservedRow};
use loadtest_model::display;

/// The most series in one chart.
const SERIES: usize = 6;

/// Draws all figures with a unit, those of one unit in a chart; the table has the others.
pub(super) fn draw_observed(card: &Card) -> Vec<Chart> {
    let mut units: Vec<&str> = Vec::new();
    for row in &card.observed {
        let is_drawn = !row.unit.is_empty() && row.course.iter().any(Option::is_some);
        if is_drawn && !units.contains(&&*row.unit) {
            units.push(&row.unit);
        }
    }
    let charts = units.into_iter().map(|unit| draw_unit(card, unit));
    charts.collect()
}

fn draw_unit(card: &Card, unit: &str) -> Chart {
    let rows: Vec<&ObservedRow> = (card.observed.iter())
        .filter(|row| row.unit == unit)
        .take(SERIES)
        .collect();
    let series = rows.iter().enumerate().map(|(place, row)| PlotSeries {
        values: row.course.clone(),
        ..PlotSeries::new(&row.name, paint_of(place), &card.course, |_| None)
    });
    let bounds = rows.iter().filter_map(|row| {
        Some(AxisBound {
            value: row.bound?,
            words: format!("{} {}", row.name, row.limit.as_ref()?),
        })
    });
    let words = |value: f64| display::format_observed(value, unit);
    let title = match rows.as_slice() {
        [only] => capitalize(&only.name),
        _ => format!("The target's side, {unit}"),
    };
    draw_plot(
        &title,
        &card.course,
        &series.collect::<Vec<_>>(),
        &bounds.collect::<Vec<_>>(),
        &words,
        &words,
    )
}

fn capitalize(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
