//! The figures of the charts over time as a table, for those who do not see drawings.

use crate::export::chart::Chart;
use serde::Serialize;

/// The most rows.
const ROWS: usize = 16;

/// A row for each point, or for one in some.
#[derive(Serialize)]
pub(super) struct Table {
    /// What it shows, in words.
    words: String,
    /// The charts, and how many columns each has.
    groups: Vec<(String, usize)>,
    names: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

impl Table {
    /// The table of charts with the same points; `None` without any.
    pub(super) fn of(charts: &[Chart]) -> Option<Self> {
        let charts = charts
            .iter()
            .filter_map(|chart| Some((&chart.title, chart.readout.as_ref()?)));
        let charts: Vec<_> = charts.collect();
        let at = &charts.first()?.1.at;
        let every = at.len().div_ceil(ROWS);
        let series = || charts.iter().flat_map(|(_, readout)| &readout.series);
        let row = |(point, at): (usize, &String)| {
            let words = series().map(|figures| figures.words[point].clone());
            (at.clone(), words.collect())
        };
        Some(Self {
            words: match every {
                1 => "The figures at every point of the charts".to_owned(),
                _ => format!("The figures at one point in {every} of the charts"),
            },
            groups: charts
                .iter()
                .map(|(title, readout)| ((*title).clone(), readout.series.len()))
                .collect(),
            names: series().map(|figures| figures.name.clone()).collect(),
            rows: at.iter().enumerate().step_by(every).map(row).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{chart, sample};

    #[test]
    fn each_row_has_a_figure_of_every_series_at_one_time() {
        let card = &sample::failed().cards[0];
        let table = Table::of(&chart::over_time(card)).unwrap();
        assert_eq!(table.words, "The figures at one point in 4 of the charts");
        assert_eq!(table.rows.len(), 15);
        assert_eq!(
            table
                .groups
                .iter()
                .map(|(_, columns)| columns)
                .sum::<usize>(),
            7
        );
        for (i, (at, words)) in table.rows.iter().enumerate() {
            let point = &card.course.points[4 * i];
            assert_eq!(*at, format!("0:{:02}", point.second));
            assert_eq!(words.len(), table.names.len());
            let p95 = loadtest_model::card::view::duration(point.p95.unwrap());
            assert_eq!(words[1], p95);
        }
        assert!(Table::of(&[]).is_none());
    }
}
