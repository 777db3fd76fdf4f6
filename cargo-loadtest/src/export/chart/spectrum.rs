//! The percentile spectrum: the whole distribution of times, its tail stretched.

use super::Chart;
use super::plot::{Axis, Plot, PlotSeries};
use super::time::{format_exact_seconds, format_seconds};
use crate::export::scene::Paint;
use loadtest_model::card::Card;

/// Times by quantile, over the decades that what is above a quantile shrinks by; none of fewer than ten
/// times.
pub(crate) fn draw_spectrum(card: &Card) -> Option<Chart> {
    // Ten points and the longest are one decade.
    let points = &card.spectrum[..];
    if points.len() < 12 {
        return None;
    }
    let decades = |quantile: f64| -(1.0 - quantile).log10();
    // The points are at equal distances, and the longest time is one further.
    let last = points.len() - 1;
    let length = decades(points[last - 1].quantile) * last as f64 / (last - 1) as f64;
    let mut ticks = vec![(0.0, "0 %".to_owned())];
    for (quantile, words) in [
        (0.5, "50 %"),
        (0.9, "90 %"),
        (0.99, "99 %"),
        (0.999, "99.9 %"),
        (0.999_9, "99.99 %"),
        (0.999_99, "99.999 %"),
    ] {
        ticks.push((decades(quantile) / length, words.to_owned()));
    }
    // What would stand over the word at the end gives way to it.
    ticks.retain(|(share, _)| *share < 0.87);
    ticks.push((1.0, "max".to_owned()));
    let series = [PlotSeries {
        values: points
            .iter()
            .map(|point| Some(point.time.as_secs_f64()))
            .collect(),
        filled: true,
        ..PlotSeries::new(
            if card.headline.single_request {
                "response time"
            } else {
                "journey time"
            },
            Paint::Series(0),
        )
    }];
    let axis = Axis {
        ends: (0.0, 1.0),
        at: points
            .iter()
            .map(|point| format_quantile(point.quantile))
            .collect(),
        ticks,
        shade: None,
        words: "by the share of all that stay within".to_owned(),
    };
    let plot = Plot {
        title: "Percentile spectrum",
        series: &series,
        tick: format_seconds,
        exact: format_exact_seconds,
        whole: false,
    };
    Some(plot.over(&axis))
}

/// A quantile, with as many digits as tell it from its neighbours: `93.7 %`, `99.937 %`.
fn format_quantile(quantile: f64) -> String {
    let rest = 1.0 - quantile;
    if rest <= 0.0 {
        return "longest".to_owned();
    }
    let digits = (-rest.log10()).floor().max(0.0) as usize;
    let percent = format!("{:.digits$}", quantile * 100.0);
    let percent = if percent.contains('.') {
        percent.trim_end_matches('0').trim_end_matches('.')
    } else {
        &percent
    };
    format!("{percent} % within")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;
    use loadtest_model::display;

    #[test]
    fn quantiles_have_the_digits_that_tell_them_apart() {
        let words: Vec<String> = [0.0, 0.498_8, 0.9, 0.993_69, 0.999_9, 1.0]
            .map(format_quantile)
            .to_vec();
        assert_eq!(
            words,
            [
                "0 % within",
                "50 % within",
                "90 % within",
                "99.37 % within",
                "99.99 % within",
                "longest"
            ]
        );
    }

    #[test]
    fn it_ends_with_the_longest_time_and_says_the_digits_of_the_tiles() {
        let report = sample::failed();
        let card = &report.cards[0];
        let chart = draw_spectrum(card).unwrap();
        let readout = chart.readout.unwrap();
        let of = |at: &str| {
            let i = readout.at.iter().position(|words| words == at).unwrap();
            readout.series[0].words[i].clone()
        };
        assert_eq!(
            of("99 % within"),
            display::format_duration(card.headline.time.p99.unwrap())
        );
        let longest = card.headline.time.max.unwrap();
        assert_eq!(of("longest"), display::format_duration(longest));
        assert!(draw_spectrum(&sample::empty().cards[0]).is_none());
    }
}
