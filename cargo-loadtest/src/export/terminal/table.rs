//! Tables whose columns line up, and which lose columns rather than grow wider than the terminal.

use super::text::{DIM, Line, clean, shorten, width, wrap};
use anstyle::Style;
use std::borrow::Cow;

/// A column of a table.
#[derive(Debug)]
pub(crate) struct TextColumn {
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
pub(crate) struct TextTable {
    columns: Vec<TextColumn>,
    rows: Vec<Vec<TextCell>>,
    /// Texts below each row.
    below: Vec<Vec<String>>,
    /// The last column is broken into lines.
    wraps_last: bool,
    /// Cells without room are left out instead of below their row.
    drops_cells: bool,
}

/// A text and its style.
pub(crate) type TextCell = (Style, String);

/// Columns between two columns of a table.
const GAP: usize = 2;
/// The first column is not shortened below this while another one can leave.
const LEAST: usize = 18;
/// The last column is not broken into shorter lines than these: it moves below its row.
const LEAST_WRAPPED: usize = 24;
/// The most lines of a text that came from outside.
const MOST_LINES: usize = 4;

impl TextColumn {
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

impl TextTable {
    pub(crate) fn new(columns: Vec<TextColumn>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
            below: Vec::new(),
            wraps_last: false,
            drops_cells: false,
        }
    }

    /// Breaks the texts of the last column into lines, with the texts below a row in the same column.
    pub(crate) fn wrap_last(mut self) -> Self {
        self.wraps_last = true;
        self
    }

    /// Leaves out cells without room.
    pub(crate) fn drop_cells(mut self) -> Self {
        self.drops_cells = true;
        self
    }

    /// Adds a row and a text below it.
    pub(crate) fn row(&mut self, cells: Vec<TextCell>, below: Option<String>) {
        self.push(cells, below.into_iter().collect());
    }

    /// Adds a row and the texts below it.
    pub(crate) fn push(&mut self, cells: Vec<TextCell>, below: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        let cells = cells.into_iter();
        let cells = cells.map(|(style, text)| (style, clean(&text)));
        self.rows.push(cells.collect());
        self.below.push(below);
    }

    /// Returns the lines of the table within `limit` columns. Cells without room are below their row, before
    /// the other texts there.
    pub(crate) fn lines(&self, limit: usize) -> Vec<Line> {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        while self.total(&kept) > limit {
            let Some(leaving) = kept
                .iter()
                .copied()
                .filter(|&i| self.rank(i) > 0)
                .max_by_key(|&i| self.rank(i))
            else {
                break;
            };
            kept.retain(|&i| i != leaving);
        }
        let widths = self.widths(&kept, limit);
        let wraps = self.wraps_last && kept.contains(&(self.columns.len() - 1));
        let indent = if wraps {
            widths[..widths.len() - 1]
                .iter()
                .map(|wide| wide + GAP)
                .sum()
        } else {
            2
        };
        let room = limit.saturating_sub(indent).max(1);
        let mut lines = Vec::new();
        if self.columns.iter().any(|column| !column.title.is_empty()) {
            lines.push(self.line(&kept, &widths, |i| {
                (DIM, self.columns[i].title.clone().into_owned())
            }));
        }
        for (row, below) in self.rows.iter().zip(&self.below) {
            let left = (0..self.columns.len())
                .filter(|i| !self.drops_cells && !kept.contains(i) && !row[*i].1.is_empty())
                .map(|i| {
                    format!("{} {}", self.columns[i].title, row[i].1)
                        .trim()
                        .to_owned()
                });
            if is_group_title(row) {
                lines.push(Line::new().add(row[0].0, shorten(&row[0].1, limit)));
                continue;
            }
            let mut row = row.clone();
            let last = row.len() - 1;
            let style = row[last].0;
            let mut rest = Vec::new();
            if wraps {
                rest = cut_lines(&row[last].1, room);
                row[last].1 = rest.remove(0);
            }
            lines.push(self.line(&kept, &widths, |i| row[i].clone()));
            let notes = join_parts(left.chain(below.iter().cloned()), room);
            let notes = notes.iter().flat_map(|note| cut_lines(note, room));
            let rest = rest.into_iter().map(|text| (style, text));
            for (style, text) in rest.chain(notes.map(|note| (DIM, note))) {
                lines.push(Line::new().to(indent).add(style, text));
            }
        }
        lines
    }

    /// Returns the rank of a column; the last one leaves before any other where it would be too narrow.
    fn rank(&self, column: usize) -> u8 {
        let is_wrapped = self.wraps_last && column + 1 == self.columns.len();
        if is_wrapped {
            u8::MAX
        } else {
            self.columns[column].rank
        }
    }

    /// Returns the widths of the columns that are kept.
    fn widths(&self, kept: &[usize], limit: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = kept.iter().map(|&i| self.widest(i)).collect();
        if self.wraps_last && kept.last() == Some(&(self.columns.len() - 1)) {
            let others: usize = widths[..widths.len() - 1]
                .iter()
                .map(|wide| wide + GAP)
                .sum();
            let last = widths.last_mut().expect("the last column is kept");
            *last = (*last).min(limit.saturating_sub(others).max(LEAST_WRAPPED));
        }
        let rest: usize = widths[1..].iter().map(|wide| wide + GAP).sum();
        widths[0] = widths[0].min(limit.saturating_sub(rest).max(1));
        widths
    }

    fn line(&self, kept: &[usize], widths: &[usize], cell: impl Fn(usize) -> TextCell) -> Line {
        let mut line = Line::new();
        let mut end = 0;
        for (&i, &wide) in kept.iter().zip(widths) {
            let (style, text) = cell(i);
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
            .filter(|row| !is_group_title(row))
            .map(|row| width(&row[column].1))
            .chain([width(&self.columns[column].title)])
            .max()
            .unwrap_or(0)
    }

    /// Returns the columns that the table takes at least.
    fn total(&self, kept: &[usize]) -> usize {
        let least = |i: usize| {
            let is_wrapped = self.wraps_last && i + 1 == self.columns.len();
            let most = match i {
                _ if is_wrapped => LEAST_WRAPPED,
                0 => LEAST,
                _ => usize::MAX,
            };
            self.widest(i).min(most)
        };
        let first = least(kept[0]);
        first + kept[1..].iter().map(|&i| least(i) + GAP).sum::<usize>()
    }
}

/// Returns whether a row has its first cell only, which then has the whole width.
fn is_group_title(row: &[TextCell]) -> bool {
    row.len() > 1 && row[1..].iter().all(|(_, text)| text.is_empty())
}

/// Breaks a text into lines, and cuts what came from outside.
fn cut_lines(text: &str, room: usize) -> Vec<String> {
    let mut lines = wrap(text, room);
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES);
        if let Some(last) = lines.last_mut() {
            *last = shorten(&format!("{last} …"), room);
        }
    }
    lines
}

/// Joins parts into as few lines as hold them within `room`.
fn join_parts(parts: impl Iterator<Item = String>, room: usize) -> Vec<String> {
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
    use crate::export::terminal::text::PLAIN;

    fn table() -> TextTable {
        let mut table = TextTable::new(vec![
            TextColumn::left("step"),
            TextColumn::right("RPS").leaves(1),
            TextColumn::right("p95"),
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
    fn what_does_not_fit_moves_below_and_is_shortened() {
        let mut wide = table();
        wide.rows[0][0].1 = "a_name_that_is_longer_than_that".to_owned();
        let lines = wide.lines(33);
        assert_eq!(lines[1].width(), 33, "{lines:?}");
        let narrow = printed(21);
        assert_eq!(narrow[1], "a_rather_long…  31 ms");
        assert_eq!(narrow[2], "  RPS 9.1");
    }
}
