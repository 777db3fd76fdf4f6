//! Tables whose columns line up, and which lose columns rather than grow wider than the terminal.

use super::text::{DIM, Line, PLAIN, shorten, width};
use anstyle::Style;
use std::borrow::Cow;

/// A column of a table.
#[derive(Debug)]
pub(crate) struct Column {
    title: Cow<'static, str>,
    align: Align,
    /// The column with the highest rank leaves first; 0 never does.
    rank: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// A table; its first column is the one that is shortened.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<(Style, String)>>,
    /// Lines below each row.
    below: Vec<Option<String>>,
}

/// Columns between two columns of a table.
const GAP: usize = 2;
/// The first column is not shortened below this while another one can leave.
const LEAST: usize = 14;

impl Column {
    pub(crate) fn left(title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            title: title.into(),
            align: Align::Left,
            rank: 0,
        }
    }

    pub(crate) fn right(title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            align: Align::Right,
            ..Self::left(title)
        }
    }

    /// Lets the column leave when the table is too wide, the highest rank first.
    pub(crate) fn leaves(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }
}

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
            below: Vec::new(),
        }
    }

    /// Adds a row and what stands below it.
    pub(crate) fn row(&mut self, cells: Vec<(Style, String)>, below: Option<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
        self.below.push(below);
    }

    /// The lines of the table within `limit` columns. Cells that had to leave stand below their row,
    /// before what stands there anyway.
    pub(crate) fn lines(&self, limit: usize) -> Vec<Line> {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        while self.total(&kept) > limit {
            let Some(leaving) = kept
                .iter()
                .copied()
                .filter(|&i| self.columns[i].rank > 0)
                .max_by_key(|&i| self.columns[i].rank)
            else {
                break;
            };
            kept.retain(|&i| i != leaving);
        }
        let rest: usize = kept[1..].iter().map(|&i| self.widest(i) + GAP).sum();
        let first = self.widest(0).min(limit.saturating_sub(rest).max(1));
        let mut lines = Vec::new();
        if self.columns.iter().any(|column| !column.title.is_empty()) {
            lines.push(self.line(&kept, first, |i| {
                (DIM, self.columns[i].title.clone().into_owned())
            }));
        }
        for (row, below) in self.rows.iter().zip(&self.below) {
            lines.push(self.line(&kept, first, |i| row[i].clone()));
            let figures = (0..self.columns.len())
                .filter(|i| !kept.contains(i))
                .filter(|&i| !row[i].1.is_empty())
                .map(|i| format!("{} {}", self.columns[i].title, row[i].1));
            let room = limit.saturating_sub(2);
            for part in packed(figures.chain(below.clone()), room) {
                lines.push(Line::new().add(PLAIN, "  ").add(DIM, shorten(&part, room)));
            }
        }
        lines
    }

    fn line(&self, kept: &[usize], first: usize, cell: impl Fn(usize) -> (Style, String)) -> Line {
        let mut line = Line::new();
        let mut end = 0;
        for &i in kept {
            let (style, text) = cell(i);
            let wide = if i == 0 { first } else { self.widest(i) };
            let text = shorten(&text, wide);
            end += if i == 0 { wide } else { wide + GAP };
            let begin = match self.columns[i].align {
                Align::Left => end - wide,
                Align::Right => end - width(&text),
            };
            line = line.to(begin).add(style, text);
        }
        line
    }

    fn widest(&self, column: usize) -> usize {
        self.rows
            .iter()
            .map(|row| width(&row[column].1))
            .chain([width(&self.columns[column].title)])
            .max()
            .unwrap_or(0)
    }

    fn total(&self, kept: &[usize]) -> usize {
        let first = self.widest(0).min(LEAST);
        first
            + kept[1..]
                .iter()
                .map(|&i| self.widest(i) + GAP)
                .sum::<usize>()
    }
}

/// Joins parts into as few lines as hold them within `room`.
fn packed(parts: impl Iterator<Item = String>, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width(line) + width(&part) + 3 <= room => {
                line.push_str(" · ");
                line.push_str(&part);
            }
            _ => lines.push(part),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(vec![
            Column::left("step"),
            Column::right("RPS").leaves(1),
            Column::right("p95"),
        ]);
        for (name, rate) in [("a_rather_long_name", "9.1"), ("b", "12.0")] {
            let cells = [name, rate, "31 ms"].map(|text| (PLAIN, text.to_owned()));
            table.row(cells.to_vec(), None);
        }
        table
    }

    fn printed(limit: usize) -> Vec<String> {
        table()
            .lines(limit)
            .iter()
            .map(|line| {
                let mut out = String::new();
                line.print(&mut out, 200, false);
                out.trim_end().to_owned()
            })
            .collect()
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(
            printed(40),
            [
                "step                 RPS    p95",
                "a_rather_long_name   9.1  31 ms",
                "b                   12.0  31 ms",
            ]
        );
    }

    #[test]
    fn what_does_not_fit_is_shortened_and_then_moves_below() {
        assert_eq!(printed(29)[1], "a_rather_long_n…   9.1  31 ms");
        let narrow = printed(21);
        assert_eq!(narrow[1], "a_rather_long…  31 ms");
        assert_eq!(narrow[2], "  RPS 9.1");
    }
}
