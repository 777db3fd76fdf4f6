//! Tables: columns as wide as their figures need, words in what is left.

use super::block::Block;
use super::flow::{Flow, WIDTH};
use super::fonts::Fonts;
use super::text::{Colour, GRID, Line, MUTED, Span, Style, lines, plain};

/// The size of letters in tables.
pub(super) const SIZE: f64 = 8.0;
/// Below this, figures are hard to read on paper.
const SMALLEST: f64 = 6.2;
/// Words are broken where their column would be narrower than that.
const NARROWEST: f64 = 104.0;
/// More lines of a cell are left out, so that every row fits a page.
const MOST_LINES: usize = 36;
/// Space above and below the words of a row.
const PAD: f64 = 4.2;

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    title: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Never broken, at the right.
    Figure,
    /// Never broken, at the left.
    Word,
    /// Broken into lines; its share of the width that is left.
    Words(f64),
}

impl Column {
    pub(super) fn figure(title: &str) -> Self {
        Self::new(title, Kind::Figure)
    }

    pub(super) fn word(title: &str) -> Self {
        Self::new(title, Kind::Word)
    }

    pub(super) fn words(title: &str, share: f64) -> Self {
        Self::new(title, Kind::Words(share))
    }

    fn new(title: &str, kind: Kind) -> Self {
        Self {
            title: title.to_owned(),
            kind,
        }
    }
}

/// What stands in a column of a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    /// Paragraphs.
    text: Vec<Vec<Span>>,
    /// On a plate of this colour.
    chip: Option<Colour>,
    /// With a square of this colour before it.
    key: Option<Colour>,
    /// How much further right it begins.
    indent: f64,
}

impl Cell {
    pub(super) fn of(spans: Vec<Span>) -> Self {
        Self {
            text: vec![spans],
            ..Self::default()
        }
    }

    pub(super) fn figure(text: impl Into<String>) -> Self {
        Self::of(plain(text, Style::new(SIZE)))
    }

    pub(super) fn name(text: &str) -> Self {
        Self::of(plain(text, Style::new(SIZE).bold()))
    }

    pub(super) fn muted(text: &str) -> Self {
        Self::of(plain(text, Style::new(SIZE).colour(MUTED)))
    }

    /// Letters on a plate in a tint of their colour.
    pub(super) fn chip(text: &str, colour: Colour) -> Self {
        Self {
            chip: Some(colour),
            ..Self::of(plain(text, Style::new(SIZE).bold().colour(colour)))
        }
    }

    pub(super) fn colour(mut self, colour: Option<Colour>) -> Self {
        if let Some(colour) = colour {
            for span in self.text.iter_mut().flatten() {
                span.style.colour = colour;
            }
        }
        self
    }

    pub(super) fn key(self, key: Option<Colour>) -> Self {
        Self { key, ..self }
    }

    /// One more paragraph.
    pub(super) fn and(mut self, spans: Vec<Span>) -> Self {
        self.text.push(spans);
        self
    }

    pub(super) fn indented(self, indent: f64) -> Self {
        Self { indent, ..self }
    }

    fn left(&self) -> f64 {
        self.indent + self.key.map_or(0.0, |_| 11.0)
    }

    fn lines(&self, width: f64, scale: f64, fonts: &Fonts) -> Vec<(Line, f64)> {
        let mut all = Vec::new();
        for spans in &self.text {
            let spans = scaled(spans, scale);
            let size = spans.iter().map(|span| span.style.size).fold(0.0, f64::max);
            let most = MOST_LINES.saturating_sub(all.len());
            if most > 0 {
                let lines = lines(&spans, width - self.left(), most, fonts);
                all.extend(lines.into_iter().map(|line| (line, size)));
            }
        }
        all
    }
}

fn scaled(spans: &[Span], scale: f64) -> Vec<Span> {
    let mut spans = spans.to_vec();
    for span in &mut spans {
        span.style.size *= scale;
    }
    spans
}

/// A row.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    /// What lies below the whole row.
    pub(super) ground: Option<Colour>,
    /// It belongs to the row above it.
    pub(super) inner: bool,
}

impl Row {
    pub(super) fn new(cells: Vec<Cell>) -> Self {
        Self {
            cells,
            ..Self::default()
        }
    }
}

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

/// Where the columns lie, and how large their letters are.
#[derive(Debug)]
struct Grid {
    /// Left edge and width.
    columns: Vec<(f64, f64)>,
    scale: f64,
}

impl Table {
    pub(super) fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Puts the table on as many pages as it takes.
    pub(super) fn place(&self, flow: &mut Flow<'_>) {
        let grid = self.grid(flow.fonts);
        let head = self.head(&grid, flow.fonts);
        let mut rows: Vec<Block> = Vec::new();
        let mut first_inner = false;
        for (i, row) in self.rows.iter().enumerate() {
            let block = self.drawn(row, i == 0, &grid, flow.fonts);
            match rows.last_mut().filter(|_| row.inner && first_inner) {
                // A row stays with the first of those that belong to it.
                Some(above) => above.below(block),
                None => rows.push(block),
            }
            first_inner = !row.inner;
        }
        flow.rows(&head, rows);
    }

    /// The natural width of the cells of a column that are never broken.
    fn natural(&self, column: usize, scale: f64, fonts: &Fonts) -> f64 {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        let width = |cell: &Cell| {
            let lines = cell.lines(f64::INFINITY, scale, fonts);
            let chip = if cell.chip.is_some() { 8.0 } else { 0.0 };
            lines.iter().map(|(line, _)| line.width).fold(0.0, f64::max) + chip
        };
        let title = title_lines(&self.columns[column], 0.0, scale, fonts);
        let title = title.iter().map(|line| line.width).fold(0.0, f64::max);
        cells.map(width).fold(title, f64::max)
    }

    fn grid(&self, fonts: &Fonts) -> Grid {
        let words = self
            .columns
            .iter()
            .filter(|column| matches!(column.kind, Kind::Words(_)));
        let shares: f64 = words
            .map(|column| match column.kind {
                Kind::Words(share) => share,
                _ => 0.0,
            })
            .sum();
        let gaps = self.columns.len().saturating_sub(1) as f64;
        let mut scale = 1.0;
        let mut between = 11.0;
        loop {
            let naturals: Vec<f64> = (0..self.columns.len())
                .map(|i| match self.columns[i].kind {
                    Kind::Words(_) => 0.0,
                    _ => self.natural(i, scale, fonts),
                })
                .collect();
            let left = WIDTH - naturals.iter().sum::<f64>() - gaps * between;
            let needed = if shares > 0.0 { NARROWEST } else { 0.0 };
            if left < needed && (scale > SMALLEST / SIZE || between > 5.0) {
                between = f64::max(between - 1.0, 5.0);
                scale = f64::max(scale - 0.04, SMALLEST / SIZE);
                continue;
            }
            let left = left.max(NARROWEST / 2.0);
            let mut x = 0.0;
            let mut columns = Vec::new();
            for (column, natural) in self.columns.iter().zip(naturals) {
                let width = match column.kind {
                    Kind::Words(share) => left * share / shares,
                    _ => natural,
                };
                columns.push((x, width));
                x += width + between;
            }
            return Grid { columns, scale };
        }
    }

    fn head(&self, grid: &Grid, fonts: &Fonts) -> Block {
        let mut block = Block::default();
        let size = 7.2 * grid.scale;
        let titles: Vec<Vec<Line>> = self
            .columns
            .iter()
            .zip(&grid.columns)
            .map(|(column, (_, width))| title_lines(column, *width, grid.scale, fonts))
            .collect();
        let most = titles.iter().map(Vec::len).max().unwrap_or_default();
        for ((column, (left, width)), lines) in self.columns.iter().zip(&grid.columns).zip(titles) {
            // Titles stand on the rule.
            let mut y = (most - lines.len()) as f64 * size * 1.25;
            for line in lines {
                let x = placed(column.kind, *left, *width, line.width);
                y += size * 1.25;
                block.line(line, (x, y - size * 0.2));
            }
        }
        block.height = most as f64 * size * 1.25 + 4.0;
        block.rule((0.0, block.height), WIDTH, MUTED.tint(0.5));
        block
    }

    fn drawn(&self, row: &Row, first: bool, grid: &Grid, fonts: &Fonts) -> Block {
        let mut block = Block::default();
        let pad = PAD * grid.scale.max(0.85);
        let above = if row.inner { 0.0 } else { pad };
        let mut height = 0.0;
        let mut cells = Block::default();
        for ((cell, (left, width)), column) in
            row.cells.iter().zip(&grid.columns).zip(&self.columns)
        {
            let mut y = above;
            for (i, (line, size)) in cell
                .lines(*width, grid.scale, fonts)
                .into_iter()
                .enumerate()
            {
                let x = placed(
                    column.kind,
                    *left + cell.left(),
                    *width - cell.left(),
                    line.width,
                );
                let base = y + size * 1.04;
                if let Some(colour) = cell.chip {
                    let plate = (line.width.max(size * 1.3) + 8.0, size * 1.5);
                    let middle = x + line.width / 2.0;
                    let at = (
                        f64::max(middle - plate.0 / 2.0, *left - 1.0),
                        base - size * 1.12,
                    );
                    cells.plate(at, plate, 2.5, colour.tint(0.12));
                    let x = at.0 + (plate.0 - line.width) / 2.0;
                    cells.line(line, (x, base));
                } else {
                    cells.line(line, (x, base));
                }
                if let (0, Some(key)) = (i, cell.key) {
                    cells.plate(
                        (*left, base - size * 0.72),
                        (size * 0.78, size * 0.78),
                        1.2,
                        key,
                    );
                }
                y += size * super::block::LEADING;
            }
            height = f64::max(height, y);
        }
        block.height = height + pad;
        if let Some(ground) = row.ground {
            block.rect((-5.0, 0.3), (WIDTH + 10.0, block.height - 0.3), ground);
        }
        if !first && !row.inner {
            block.rule((0.0, 0.0), WIDTH, GRID);
        }
        block.items.extend(cells.items);
        block
    }
}

fn placed(kind: Kind, left: f64, width: f64, line: f64) -> f64 {
    match kind {
        Kind::Figure => left + width - line,
        _ => left,
    }
}

/// A title in as many lines as it has words, where its column is no wider.
fn title_lines(column: &Column, width: f64, scale: f64, fonts: &Fonts) -> Vec<Line> {
    let style = Style::new(7.2 * scale).colour(MUTED);
    let widest = column
        .title
        .split(' ')
        .flat_map(|word| lines(&plain(word, style), f64::INFINITY, 1, fonts))
        .map(|line| line.width)
        .fold(width, f64::max);
    lines(&plain(&*column.title, style), widest, 3, fonts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::pdf::block::Item;

    fn table(columns: usize, name: &str) -> Table {
        let mut all = vec![Column::words("Step", 1.0)];
        all.extend((0..columns).map(|i| Column::figure(&format!("Figure {i}"))));
        let mut table = Table::new(all);
        for i in 0..3 {
            let mut cells = vec![Cell::name(&format!("{name}_{i}"))];
            cells.extend((0..columns).map(|_| Cell::figure("1\u{202f}234\u{202f}567")));
            table.row(Row::new(cells));
        }
        table
    }

    #[test]
    fn columns_never_overlap_and_stay_on_the_page() {
        let fonts = Fonts::new(&[]);
        for columns in [1, 6, 10] {
            let table = table(columns, &"a_long_name_of_a_step".repeat(9));
            let grid = table.grid(&fonts);
            for pair in grid.columns.windows(2) {
                assert!(pair[0].0 + pair[0].1 < pair[1].0, "{grid:?}");
            }
            let last = grid.columns.last().unwrap();
            assert!(last.0 + last.1 <= WIDTH + 0.1, "{columns}: {grid:?}");
            for row in &table.rows {
                for (cell, (_, width)) in row.cells.iter().zip(&grid.columns) {
                    for (line, _) in cell.lines(*width, grid.scale, &fonts) {
                        assert!(line.width <= width + 1e-6, "{line:?} in {width}");
                    }
                }
            }
        }
    }

    #[test]
    fn figures_end_below_one_another() {
        let fonts = Fonts::new(&[]);
        let mut table = Table::new(vec![Column::words("Step", 1.0), Column::figure("p95")]);
        for figure in ["9 ms", "1\u{202f}234 s"] {
            table.row(Row::new(vec![Cell::name("login"), Cell::figure(figure)]));
        }
        let grid = table.grid(&fonts);
        let ends: Vec<f64> = table
            .rows
            .iter()
            .map(|row| {
                let block = table.drawn(row, true, &grid, &fonts);
                let Some(Item::Text {
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
            flow.place(Block::gap(f64::from(above)));
            let mut table = table(1, "step");
            table.rows[2].inner = true;
            table.place(&mut flow);
            let (pages, _) = flow.finish("");
            let page_of = |name: &str| {
                let is = |item: &Item| matches!(item, Item::Text { text, .. } if text == name);
                pages.iter().position(|page| page.iter().any(is))
            };
            assert_eq!(page_of("step_1"), page_of("step_2"), "{above}");
        }
    }

    #[test]
    fn the_title_of_a_table_comes_again_on_the_next_page() {
        let fonts = Fonts::new(&[]);
        let mut long = table(2, "step");
        for _ in 0..40 {
            long.row(long.rows[0].clone());
        }
        let mut flow = Flow::new(&fonts);
        long.place(&mut flow);
        let (pages, _) = flow.finish("");
        assert_eq!(pages.len(), 2);
        for page in pages {
            let heads = page
                .iter()
                .filter(|item| matches!(item, Item::Text { text, .. } if text == "Step"));
            assert_eq!(heads.count(), 1);
        }
    }
}
