//! Tables: columns as wide as their figures need, words in what is left.

use super::block::{Drawing, light_colour};
use super::colour_of;
use super::flow::{Flow, WIDTH};
use super::fonts::Fonts;
use super::text::{
    ALARM, Colour, GRID, Line, MUTED, Span, Style, break_lines, plain_spans, prose_spans,
};
use crate::export::page::{self, Column, ColumnKind, Form, TableCell, Tone};

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

/// Places a table on as many pages as it takes.
pub(super) fn place_table(flow: &mut Flow<'_>, table: &page::Table) {
    if !table.caption.is_empty() {
        flow.caption(&table.caption);
    }
    Layout::new(table).place(flow);
}

/// A cell as it is drawn.
#[derive(Debug, Clone, Default)]
struct CellLayout {
    /// Paragraphs.
    text: Vec<Vec<Span>>,
    /// On a plate of this colour.
    chip: Option<Colour>,
    /// With a square of this colour before it.
    key: Option<Colour>,
    /// Space before the text.
    indent: f64,
}

impl CellLayout {
    fn new(cell: &TableCell, is_first: bool, row: &page::TableRow) -> Self {
        let flag = row.flag.filter(|_| is_first);
        let mut style = Style::new(SIZE).colour(match flag {
            Some(_) => ALARM,
            None => colour_of(cell.tone),
        });
        if cell.form == Form::Chip || is_first && !row.is_inner && cell.tone == Tone::Plain {
            style = style.bold();
        }
        let mut first = build_spans(cell.form, &cell.text, style);
        if let Some(flag) = flag {
            let style = Style::new(6.6).bold().colour(ALARM);
            first.extend(plain_spans(format!(" {flag}"), style));
        }
        let small = Style::new(7.2).colour(MUTED);
        let notes = cell.notes.iter().map(|(form, note)| match form {
            // A request below the name of its step.
            Form::Code => plain_spans(&**note, Style::new(6.8).colour(MUTED)),
            _ => build_spans(*form, note, small),
        });
        Self {
            text: std::iter::once(first).chain(notes).collect(),
            chip: (cell.form == Form::Chip).then(|| colour_of(cell.tone)),
            key: cell.key.map(light_colour),
            indent: if row.is_inner && is_first { 20.0 } else { 0.0 },
        }
    }

    fn left(&self) -> f64 {
        self.indent + self.key.map_or(0.0, |_| 11.0)
    }

    fn lines(&self, width: f64, scale: f64, fonts: &Fonts) -> Vec<(Line, f64)> {
        let mut all = Vec::new();
        for spans in &self.text {
            let spans = scale_spans(spans, scale);
            let size = spans.iter().map(|span| span.style.size).fold(0.0, f64::max);
            let most = MOST_LINES.saturating_sub(all.len());
            if most > 0 {
                let lines = break_lines(&spans, width - self.left(), most, fonts);
                all.extend(lines.into_iter().map(|line| (line, size)));
            }
        }
        all
    }
}

fn scale_spans(spans: &[Span], scale: f64) -> Vec<Span> {
    let mut spans = spans.to_vec();
    for span in &mut spans {
        span.style.size *= scale;
    }
    spans
}

fn build_spans(form: Form, text: &str, style: Style) -> Vec<Span> {
    match form {
        Form::Prose => prose_spans(text, style),
        Form::Code | Form::Sample => plain_spans(
            text,
            Style {
                code: true,
                ..style
            },
        ),
        Form::Figure | Form::Name | Form::Chip => plain_spans(text, style),
    }
}

/// A row as it is drawn.
#[derive(Debug, Clone, Default)]
struct RowLayout {
    cells: Vec<CellLayout>,
    /// The colour below the whole row.
    ground: Option<Colour>,
    is_inner: bool,
}

/// A table as it is drawn.
#[derive(Debug)]
struct Layout<'a> {
    columns: &'a [Column],
    rows: Vec<RowLayout>,
}

/// The places of the columns, and the size of their letters.
#[derive(Debug)]
struct Grid {
    /// Left edge and width.
    columns: Vec<(f64, f64)>,
    scale: f64,
}

impl<'a> Layout<'a> {
    fn new(table: &'a page::Table) -> Self {
        let rows = table.rows.iter().map(|row| {
            let cells = row.cells.iter().enumerate();
            RowLayout {
                cells: cells
                    .map(|(at, cell)| CellLayout::new(cell, at == 0, row))
                    .collect(),
                ground: row.flag.map(|_| ALARM.tint(0.06)),
                is_inner: row.is_inner,
            }
        });
        Self {
            columns: &table.columns,
            rows: rows.collect(),
        }
    }

    fn place(&self, flow: &mut Flow<'_>) {
        let grid = self.grid(flow.fonts);
        let head = self.head(&grid, flow.fonts);
        let mut rows: Vec<Drawing> = Vec::new();
        let mut first_inner = false;
        for (i, row) in self.rows.iter().enumerate() {
            let block = self.drawn(row, i == 0, &grid, flow.fonts);
            match rows.last_mut().filter(|_| row.is_inner && first_inner) {
                // A row stays with the first of those that belong to it.
                Some(above) => above.below(block),
                None => rows.push(block),
            }
            first_inner = !row.is_inner;
        }
        flow.rows(&head, rows);
    }

    /// The natural width of the cells of a column that are never broken.
    fn natural(&self, column: usize, scale: f64, fonts: &Fonts) -> f64 {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        let width = |cell: &CellLayout| {
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
            .filter(|column| matches!(column.kind, ColumnKind::Text(_)));
        let shares: f64 = words
            .map(|column| match column.kind {
                ColumnKind::Text(share) => share,
                _ => 0.0,
            })
            .sum();
        let gaps = self.columns.len().saturating_sub(1) as f64;
        let mut scale = 1.0;
        let mut between = 11.0;
        loop {
            let naturals: Vec<f64> = (0..self.columns.len())
                .map(|i| match self.columns[i].kind {
                    ColumnKind::Text(_) => 0.0,
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
                    ColumnKind::Text(share) => left * share / shares,
                    _ => natural,
                };
                columns.push((x, width));
                x += width + between;
            }
            return Grid { columns, scale };
        }
    }

    fn head(&self, grid: &Grid, fonts: &Fonts) -> Drawing {
        let mut block = Drawing::default();
        if self.columns.iter().all(|column| column.title.is_empty()) {
            return block;
        }
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
                let x = align_line(column.kind, *left, *width, line.width);
                y += size * 1.25;
                block.line(line, (x, y - size * 0.2));
            }
        }
        block.height = most as f64 * size * 1.25 + 4.0;
        block.rule((0.0, block.height), WIDTH, MUTED.tint(0.5));
        block
    }

    fn drawn(&self, row: &RowLayout, first: bool, grid: &Grid, fonts: &Fonts) -> Drawing {
        let mut block = Drawing::default();
        let pad = PAD * grid.scale.max(0.85);
        let above = if row.is_inner { 0.0 } else { pad };
        let mut height = 0.0;
        let mut cells = Drawing::default();
        for ((cell, (left, width)), column) in row.cells.iter().zip(&grid.columns).zip(self.columns)
        {
            let mut y = above;
            for (i, (line, size)) in cell
                .lines(*width, grid.scale, fonts)
                .into_iter()
                .enumerate()
            {
                let x = align_line(
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
        if !first && !row.is_inner {
            block.rule((0.0, 0.0), WIDTH, GRID);
        }
        block.items.extend(cells.items);
        block
    }
}

fn align_line(kind: ColumnKind, left: f64, width: f64, line: f64) -> f64 {
    match kind {
        ColumnKind::Figure => left + width - line,
        _ => left,
    }
}

/// A title in as many lines as it has words, where its column is no wider.
fn title_lines(column: &Column, width: f64, scale: f64, fonts: &Fonts) -> Vec<Line> {
    let style = Style::new(7.2 * scale).colour(MUTED);
    let widest = column
        .title
        .split(' ')
        .flat_map(|word| break_lines(&plain_spans(word, style), f64::INFINITY, 1, fonts))
        .map(|line| line.width)
        .fold(width, f64::max);
    break_lines(&plain_spans(&*column.title, style), widest, 3, fonts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::pdf::block::Item;

    fn cell(text: &str) -> TableCell {
        TableCell {
            text: text.to_owned(),
            ..TableCell::default()
        }
    }

    fn column(title: &str, kind: ColumnKind) -> Column {
        Column {
            title: title.to_owned(),
            kind,
            leaves: 0,
            group: String::new(),
        }
    }

    /// A table of names and of these figures.
    fn table(names: &[String], figures: &[&str]) -> page::Table {
        let mut columns = vec![column("Step", ColumnKind::Text(1.0))];
        columns.extend(figures.iter().map(|_| column("Figure", ColumnKind::Figure)));
        let rows = names.iter().map(|name| page::TableRow {
            cells: std::iter::once(name.as_str())
                .chain(figures.iter().copied())
                .map(cell)
                .collect(),
            ..page::TableRow::default()
        });
        page::Table {
            columns,
            rows: rows.collect(),
            ..page::Table::default()
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
            let table = Layout::new(&table);
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
        let mut both = table(&steps(1), &["9 ms"]);
        both.rows.extend(table(&steps(1), &["1\u{202f}234 s"]).rows);
        let table = Layout::new(&both);
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
            flow.place(Drawing::gap(f64::from(above)));
            let mut table = table(&steps(3), &["1"]);
            table.rows[2].is_inner = true;
            place_table(&mut flow, &table);
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
        let mut flow = Flow::new(&fonts);
        place_table(&mut flow, &table(&steps(43), &["1", "2"]));
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
