//! Times that are read together share a unit, so that an eye can compare them.

use super::{Block, Section, Table};
use loadtest_model::display;

/// Lets the times of each row of a table share a unit.
pub(super) fn share_units(sections: &mut [Section]) {
    let blocks = sections.iter_mut().flat_map(|section| &mut section.blocks);
    for block in blocks {
        if let Block::Table(table) = block {
            share_table_units(table);
        }
    }
}

/// Lets the times of each row share a unit.
pub(super) fn share_table_units(table: &mut Table) {
    for row in &mut table.rows {
        let cells: Vec<_> = row
            .cells
            .iter_mut()
            .filter(|cell| cell.time.is_some())
            .collect();
        let times: Vec<_> = cells.iter().map(|cell| cell.time).collect();
        for (cell, words) in cells.into_iter().zip(display::format_durations(&times)) {
            cell.text = words;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::page::{Column, TableCell};
    use std::time::Duration;

    /// Returns the texts of a table of these times in microseconds.
    fn texts(rows: &[[u64; 2]]) -> Vec<Vec<String>> {
        let mut table = Table::new("", vec![Column::figure("p50"), Column::figure("p99")]);
        for row in rows {
            let times = row.map(|us| TableCell::time(Some(Duration::from_micros(us))));
            table.push(times.into());
        }
        share_table_units(&mut table);
        let rows = table.rows.into_iter();
        rows.map(|row| row.cells.into_iter().map(|cell| cell.text).collect())
            .collect()
    }

    #[test]
    fn the_times_of_a_row_share_a_unit() {
        assert_eq!(
            texts(&[[885, 1_390], [12_000, 885_000]]),
            [["0.885 ms", "1.39 ms"], ["12.0 ms", "885 ms"]]
        );
        assert_eq!(
            texts(&[[85, 1_200], [2_999_000, 3_005_000], [0, 7_000]]),
            [
                ["85 µs", "1\u{202f}200 µs"],
                ["3.00 s", "3.00 s"],
                ["0 ms", "7.00 ms"]
            ]
        );
    }
}
