//! Tables: columns as wide as their figures need, words in what is left.

use super::block::{Drawing, LEADING, light_colour};
use super::colour_of;
use super::flow::{Flow, WIDTH};
use super::fonts::Fonts;
use super::text::{GRID, INK, Line, MUTED, Span, Style, break_lines, plain_spans, prose_spans};
use crate::export::page::{Column, ColumnKind, Form, Table, TableCell, TableRow, Tone};

/// The size of letters in tables.
const SIZE: f64 = 8.0;
/// Letters get no smaller than this share of their size.
const SMALLEST: f64 = 0.78;
/// Words are broken where their column would be narrower than that.
const NARROWEST: f64 = 104.0;
/// More lines of a cell are left out, so that every row fits a page.
const MOST_LINES: usize = 36;
/// Space above and below the words of a row.
const PAD: f64 = 4.0;

/// Places a table on as many pages as it takes.
pub(super) fn place_table(flow: &mut Flow<'_>, table: &Table) {
    if !table.caption.is_empty() {
        flow.caption(&table.caption);
    }
    let grid = Grid::new(table, flow.fonts);
    let mut rows: Vec<Drawing> = Vec::new();
    let mut first_inner = false;
    for (i, row) in table.rows.iter().enumerate() {
        let block = grid.draw_row(row, i == 0);
        match rows.last_mut().filter(|_| row.is_inner && first_inner) {
            // A row stays with the first of those that belong to it.
            Some(above) => above.below(block),
            None => rows.push(block),
        }
        first_inner = !row.is_inner;
    }
    flow.rows(&grid.draw_head(), rows);
}

/// The places of the columns, and the size of their letters.
#[derive(Debug)]
struct Grid<'a> {
    table: &'a Table,
    fonts: &'a Fonts,
    /// Left edge and width.
    columns: Vec<(f64, f64)>,
    scale: f64,
}

impl<'a> Grid<'a> {
    fn new(table: &'a Table, fonts: &'a Fonts) -> Self {
        let share_of = |column: &Column| match column.kind {
            ColumnKind::Text(share) => share,
            _ => 0.0,
        };
        let shares: f64 = table.columns.iter().map(share_of).sum();
        let gaps = table.columns.len().saturating_sub(1) as f64;
        let (mut scale, mut between) = (1.0, 11.0);
        loop {
            let mut grid = Self {
                table,
                fonts,
                columns: Vec::new(),
                scale,
            };
            let naturals = table.columns.iter().enumerate();
            let naturals: Vec<f64> = naturals
                .map(|(at, column)| match column.kind {
                    ColumnKind::Text(_) => 0.0,
                    _ => grid.natural_width(at),
                })
                .collect();
            let left = WIDTH - naturals.iter().sum::<f64>() - gaps * between;
            let needed = if shares > 0.0 { NARROWEST } else { 0.0 };
            if left < needed && scale > SMALLEST {
                between = f64::max(between - 1.0, 5.0);
                scale = f64::max(scale - 0.04, SMALLEST);
                continue;
            }
            let mut x = 0.0;
            for (column, natural) in table.columns.iter().zip(naturals) {
                let words = left.max(NARROWEST / 2.0) * share_of(column) / shares.max(1.0);
                grid.columns.push((x, natural + words));
                x += natural + words + between;
            }
            return grid;
        }
    }

    /// The width of the cells of a column that are never broken.
    fn natural_width(&self, at: usize) -> f64 {
        let title = self.title_lines(at, 0.0).into_iter();
        let lines = self.table.rows.iter().flat_map(|row| {
            let chip = 2.0 * chip_pad(&row.cells[at]);
            let lines = self.cell_lines(row, at, f64::INFINITY).into_iter();
            lines.map(move |(line, _)| line.width + chip)
        });
        let widths = title.map(|line| line.width).chain(lines);
        widths.fold(0.0, f64::max)
    }

    /// The lines of a cell, with the sizes of their letters.
    fn cell_lines(&self, row: &TableRow, at: usize, width: f64) -> Vec<(Line, f64)> {
        let cell = &row.cells[at];
        let flag = row.flag.filter(|_| at == 0);
        let colour = colour_of(cell.tone);
        let mut style = Style::new(SIZE * self.scale).colour(colour);
        let is_name = at == 0 && !row.is_inner && cell.tone == Tone::Plain;
        if cell.form == Form::Chip || is_name {
            style = style.bold();
        }
        let small = Style::new(7.0 * self.scale).colour(MUTED);
        let mut first = build_spans(cell.form, &cell.text, style);
        first.extend(flag.map(|flag| Span {
            text: format!(" {flag}"),
            style: small.bold().colour(INK),
        }));
        let mut paragraphs = vec![(first, style.size)];
        paragraphs.extend(cell.notes.iter().map(|(form, note)| match form {
            // A request below the name of its step.
            Form::Code => (plain_spans(&**note, small), small.size),
            form => (build_spans(*form, note, small), small.size),
        }));
        // A reader of paper types it.
        let address = cell.address.iter();
        paragraphs.extend(address.map(|address| (plain_spans(&**address, small), small.size)));
        let mut all: Vec<(Line, f64)> = Vec::new();
        for (spans, size) in paragraphs {
            if all.len() < MOST_LINES {
                let most = MOST_LINES - all.len();
                let lines = break_lines(&spans, width - indent(row, at), most, self.fonts);
                all.extend(lines.into_iter().map(|line| (line, size)));
            }
        }
        all
    }

    /// A title in as many lines as it has words, where its column is no wider.
    fn title_lines(&self, at: usize, width: f64) -> Vec<Line> {
        let style = Style::new(7.2 * self.scale).colour(MUTED);
        let title = &self.table.columns[at].title;
        let widest = title
            .split(' ')
            .flat_map(|word| break_lines(&plain_spans(word, style), f64::INFINITY, 1, self.fonts))
            .map(|line| line.width)
            .fold(width, f64::max);
        break_lines(&plain_spans(&**title, style), widest, 3, self.fonts)
    }

    /// The place where a line of a column begins.
    fn line_begin(&self, at: usize, indent: f64, line: &Line) -> f64 {
        let (left, width) = self.columns[at];
        match self.table.columns[at].kind {
            ColumnKind::Figure => left + width - line.width,
            _ => left + indent,
        }
    }

    fn draw_head(&self) -> Drawing {
        let mut block = Drawing::default();
        let is_titled = |column: &Column| !column.title.is_empty();
        if !self.table.columns.iter().any(is_titled) {
            return block;
        }
        let height = 9.0 * self.scale;
        let titles = self.columns.iter().enumerate();
        let titles = titles.map(|(at, (_, width))| self.title_lines(at, *width));
        let titles: Vec<Vec<Line>> = titles.collect();
        let most = titles.iter().map(Vec::len).max().unwrap_or_default();
        for (at, lines) in titles.into_iter().enumerate() {
            // Titles stand on the rule.
            let mut y = (most - lines.len()) as f64 * height;
            for line in lines {
                y += height;
                let x = self.line_begin(at, 0.0, &line);
                block.line(line, (x, y - 1.5 * self.scale));
            }
        }
        block.height = most as f64 * height + 4.0;
        block.rule((0.0, block.height), WIDTH, MUTED.tint(0.5));
        block
    }

    fn draw_row(&self, row: &TableRow, is_top: bool) -> Drawing {
        let pad = PAD * self.scale.max(0.85);
        let above = if row.is_inner { 0.0 } else { pad };
        let mut height = 0.0;
        let mut cells = Drawing::default();
        for (at, (cell, (left, width))) in row.cells.iter().zip(&self.columns).enumerate() {
            let mut y = above;
            if let Some(key) = cell.key {
                let size = 6.2 * self.scale;
                cells.rect(
                    (*left, y + 2.5 * self.scale),
                    (size, size),
                    light_colour(key),
                );
            }
            for (line, size) in self.cell_lines(row, at, *width) {
                let base = y + size * 1.04;
                let pad = chip_pad(cell);
                let x = self.line_begin(at, indent(row, at) + pad, &line);
                if pad > 0.0 {
                    let ground = (line.width + 2.0 * pad, size * 1.5);
                    let colour = colour_of(cell.tone).tint(0.12);
                    cells.rect((x - pad, base - size * 1.12), ground, colour);
                }
                cells.line(line, (x, base));
                y += size * LEADING;
            }
            height = f64::max(height, y);
        }
        let mut block = Drawing::gap(height + pad);
        if row.flag.is_some() {
            let size = (WIDTH + 10.0, block.height - 0.3);
            block.rect((-5.0, 0.3), size, GRID.tint(0.5));
        }
        if !is_top && !row.is_inner {
            block.rule((0.0, 0.0), WIDTH, GRID);
        }
        block.items.extend(cells.items);
        block
    }
}

/// Space left of the words of a cell.
fn indent(row: &TableRow, at: usize) -> f64 {
    let level = if at == 0 { row.level() } else { 0 };
    20.0 * level as f64 + row.cells[at].key.map_or(0.0, |_| 11.0)
}

/// Space around the words of a cell that has a ground of its own.
fn chip_pad(cell: &TableCell) -> f64 {
    if cell.form == Form::Chip { 4.0 } else { 0.0 }
}

fn build_spans(form: Form, text: &str, style: Style) -> Vec<Span> {
    let code = matches!(form, Form::Code | Form::Sample);
    match form {
        Form::Prose => prose_spans(text, style),
        _ => plain_spans(text, Style { code, ..style }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::pdf::block::PdfItem;

    fn cell(text: &str) -> TableCell {
        TableCell {
            text: text.to_owned(),
            ..TableCell::default()
        }
    }

    /// A table of names and of these figures.
    fn table(names: &[String], figures: &[&str]) -> Table {
        let mut columns = vec![Column::new("Step", ColumnKind::Text(1.0))];
        columns.extend(
            figures
                .iter()
                .map(|_| Column::new("Figure", ColumnKind::Figure)),
        );
        let rows = names.iter().map(|name| TableRow {
            cells: std::iter::once(name.as_str())
                .chain(figures.iter().copied())
                .map(cell)
                .collect(),
            ..TableRow::default()
        });
        Table {
            columns,
            rows: rows.collect(),
            ..Table::default()
        }
    }

    fn steps(number: usize) -> Vec<String> {
        (0..number).map(|i| format!("step_{i}")).collect()
    }

    #[test]
    fn columns_never_overlap_and_stay_on_the_page() {
        let fonts = Fonts::new(&[]);
        for columns in [1, 6, 10] {
            let names = vec!["a_long_name_of_a_step".repeat(9)];
            let table = table(&names, &vec!["1\u{202f}234\u{202f}567"; columns]);
            let grid = Grid::new(&table, &fonts);
            for pair in grid.columns.windows(2) {
                assert!(pair[0].0 + pair[0].1 < pair[1].0, "{grid:?}");
            }
            let last = grid.columns.last().unwrap();
            assert!(last.0 + last.1 <= WIDTH + 0.1, "{columns}: {grid:?}");
            for row in &table.rows {
                for (at, (_, width)) in grid.columns.iter().enumerate() {
                    for (line, _) in grid.cell_lines(row, at, *width) {
                        assert!(line.width <= width + 1e-6, "{line:?} in {width}");
                    }
                }
            }
        }
    }

    #[test]
    fn figures_end_below_one_another() {
        let fonts = Fonts::new(&[]);
        let mut both = table(&steps(1), &["9 ms"]);
        both.rows.extend(table(&steps(1), &["1\u{202f}234 s"]).rows);
        let grid = Grid::new(&both, &fonts);
        let ends: Vec<f64> = both
            .rows
            .iter()
            .map(|row| {
                let block = grid.draw_row(row, true);
                let Some(PdfItem::Text {
                    at,
                    text,
                    size,
                    face,
                    ..
                }) = block.items.last()
                else {
                    panic!("{block:?}");
                };
                at.0 + text
                    .chars()
                    .map(|letter| fonts.width(*face, letter))
                    .sum::<f64>()
                    * size
            })
            .collect();
        assert!((ends[0] - ends[1]).abs() < 1e-6, "{ends:?}");
    }

    #[test]
    fn a_row_stays_with_the_first_that_belongs_to_it() {
        let fonts = Fonts::new(&[]);
        for above in 640..760 {
            let mut flow = Flow::new(&fonts);
            flow.place(Drawing::gap(f64::from(above)));
            let mut table = table(&steps(3), &["1"]);
            table.rows[2].is_inner = true;
            place_table(&mut flow, &table);
            let (pages, _) = flow.finish("");
            let page_of = |name: &str| {
                let is =
                    |item: &PdfItem| matches!(item, PdfItem::Text { text, .. } if text == name);
                pages.iter().position(|page| page.iter().any(is))
            };
            assert_eq!(page_of("step_1"), page_of("step_2"), "{above}");
        }
    }

    #[test]
    fn the_title_of_a_table_comes_again_on_the_next_page() {
        let fonts = Fonts::new(&[]);
        let mut flow = Flow::new(&fonts);
        place_table(&mut flow, &table(&steps(43), &["1", "2"]));
        let (pages, _) = flow.finish("");
        assert_eq!(pages.len(), 2);
        for page in pages {
            let heads = page
                .iter()
                .filter(|item| matches!(item, PdfItem::Text { text, .. } if text == "Step"));
            assert_eq!(heads.count(), 1);
        }
    }
}
