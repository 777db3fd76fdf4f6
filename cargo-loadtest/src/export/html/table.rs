//! Tables, which scroll by themselves where they are wider than the page.

use super::join_classes;
use crate::export::markup::{Prose, Text};
use crate::export::page::{Column, ColumnKind, Form, Table, TableCell, TableRow, Tone};
use maud::{Markup, html};

/// A table of so many columns becomes cards on a narrow screen.
const CARDS: usize = 5;
/// A table whose lines have at most so many letters is as wide as these, not as the page.
const FIT: usize = 72;

/// Renders a table in a region that scrolls.
pub(crate) fn render_table(table: &Table) -> Markup {
    let is_text = |column: &Column| matches!(column.kind, ColumnKind::Text(_));
    let has_keys = |row: &TableRow| row.cells.iter().any(|cell| cell.key.is_some());
    let is_stack = table.columns[1..].iter().any(is_text);
    let classes = join_classes([
        (is_stack, "stack"),
        (
            table.columns.len() >= CARDS && !is_stack && !table.is_dense,
            "cards",
        ),
        (table.rows.iter().any(has_keys), "steps"),
        (table.is_dense, "dense"),
        (count_letters(table) <= FIT, "fit"),
    ]);
    let titles = table.columns.iter().map(|column| &*column.title);
    let titles: Vec<&str> = titles.filter(|title| !title.is_empty()).collect();
    let is_titled = !titles.is_empty();
    let name = match &*table.caption {
        "" if is_titled => titles.join(", "),
        "" => "Findings".to_owned(),
        caption => caption.to_owned(),
    };
    html! {
        div.scroll role="region" aria-label=(Text(&name)) tabindex="0" {
            table class=[classes] {
                @if !table.caption.is_empty() { caption.quiet { (Text(&table.caption)) } }
                @if is_titled {
                    thead {
                        tr {
                            @for column in &table.columns {
                                th scope="col" class=[column_class(column.kind)] { (Text(&column.title)) }
                            }
                        }
                    }
                }
                tbody { @for row in &table.rows { (render_row(&table.columns, row)) } }
            }
        }
    }
}

/// Counts the letters that a line of the table takes.
fn count_letters(table: &Table) -> usize {
    let widest = |at: usize| {
        let cells = table.rows.iter().map(|row| &row.cells[at]);
        let lines = cells.flat_map(|cell| {
            std::iter::once(&cell.text).chain(cell.notes.iter().map(|(_, note)| note))
        });
        let lines = lines.chain([&table.columns[at].title]);
        lines.map(|line| line.chars().count()).max().unwrap_or(0)
    };
    (0..table.columns.len()).map(widest).sum()
}

const fn column_class(kind: ColumnKind) -> Option<&'static str> {
    match kind {
        ColumnKind::Figure => Some("n"),
        ColumnKind::Word => Some("w"),
        ColumnKind::Text(_) => None,
    }
}

fn render_row(columns: &[Column], row: &TableRow) -> Markup {
    let classes = join_classes([
        (row.is_inner, "inner"),
        (row.is_member, "member"),
        (!row.is_inner && row.flag.is_some(), "slow"),
    ]);
    html! {
        tr class=[classes] {
            @for (at, (cell, column)) in row.cells.iter().zip(columns).enumerate() {
                @let class = cell_class(column.kind, cell);
                @if at == 0 {
                    th scope="row" class=[class] { (render_cell(cell, row.flag)) }
                } @else {
                    @let label = (!column.title.is_empty()).then_some(Text(&column.title));
                    td class=[class] data-label=[label] { (render_cell(cell, None)) }
                }
            }
        }
    }
}

fn cell_class(kind: ColumnKind, cell: &TableCell) -> Option<String> {
    let align = column_class(kind).filter(|_| cell.form != Form::Chip)?;
    Some(match cell.tone {
        Tone::Plain => align.to_owned(),
        tone => format!("{align} s-{}", tone.class()),
    })
}

fn render_cell(cell: &TableCell, flag: Option<&str>) -> Markup {
    let shown = render_text(cell.form, &cell.text, cell.tone);
    html! {
        @if let Some(paint) = cell.key {
            span class={"key k-" (paint.role())} aria-hidden="true" {}
        }
        @if let Some(address) = &cell.address {
            a href=(Text(address)) rel="noreferrer" { (shown) }
        } @else {
        @match (&cell.link, flag) {
            (Some(anchor), _) => a href={"#" (Text(anchor))} { (shown) },
            (None, Some(flag)) => { span.name { (shown) } " " span.flag { (flag) } }
            (None, None) => (shown),
        }
        }
        @for (form, note) in &cell.notes {
            @let note = render_text(*form, note, Tone::Muted);
            @match form {
                Form::Sample => (note),
                _ => { br; span.sub { (note) } }
            }
        }
    }
}

fn render_text(form: Form, words: &str, tone: Tone) -> Markup {
    let text = Text(words);
    html! {
        @match form {
            Form::Figure | Form::Name => (text),
            Form::Prose => (Prose(words)),
            Form::Code => code { (text) },
            Form::Sample => pre role="group" aria-label="Sample" tabindex="0" { (text) },
            Form::Chip => span class={"chip t-" (tone.class())} { (text) },
        }
    }
}
