//! Renders a page for a pull request, a job summary or a chat.
//!
//! GitHub drops a summary of more than 1,024 KiB whole, so a page that is longer is trimmed, and says so.

#[cfg(test)]
mod tests;
mod text;

use crate::export::page::{
    Badge, Block, Column, ColumnKind, Form, Page, Section, Sentence, Sheet, SheetKind, Table,
    TableCell, TableRow, Tile, Tone,
};
use crate::export::terminal::text::bar;
use loadtest_model::card::Report;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use std::fmt::Write as _;
use text::{escape_code, escape_prose};

/// The most that GitHub takes, in bytes.
const LIMIT: usize = 1_024 * 1_024;
/// Lists are shown up to here.
const MOST: usize = 20;
/// Letters that a bar of the whole has.
const BAR: usize = 10;

/// Renders a report as Markdown.
pub(crate) fn render(report: &Report) -> String {
    render_within(report, LIMIT)
}

/// Renders a report in at most `limit` bytes: what is not essential goes first, then what stands last.
pub(crate) fn render_within(report: &Report, limit: usize) -> String {
    let page = Page::new(report);
    let footer = render_footer(&page);
    let whole = render_page(&page, |_| true) + &footer;
    if whole.len() <= limit {
        return whole;
    }
    let end = format!(
        "\n> **Shortened, to stay within {}.** The other formats have the rest.\n{footer}",
        display::format_bytes(limit as u64)
    );
    let mut text = render_page(&page, |section| section.is_essential);
    let room = limit.saturating_sub(end.len());
    if text.len() > room {
        let last = text.as_bytes()[..room]
            .iter()
            .rposition(|byte| *byte == b'\n');
        text.truncate(last.map_or(0, |at| at + 1));
    }
    text + &end
}

fn render_footer(page: &Page) -> String {
    format!(
        "\n<sub>loadtest {} · run {} · {} · exit code {}</sub>\n",
        escape_code(&page.tool_version),
        escape_code(&page.run_id),
        escape_code(&page.started_at),
        page.exit_code
    )
}

/// Renders the summary and the sheets with the sections that are shown.
fn render_page(page: &Page, is_shown: impl Fn(&Section) -> bool) -> String {
    let mut text = String::new();
    let is_summarised = !page.is_search && page.sheets.len() != 1;
    if is_summarised {
        let mark = if page.exit_code == ExitCode::Passed {
            "✅"
        } else {
            "❌"
        };
        let _ = writeln!(text, "## {mark} {}", page.outcome);
        if !page.sheets.is_empty() {
            text.push('\n');
            text.push_str(&render_table(&page.scenarios));
        }
    }
    for (at, sheet) in page.sheets.iter().enumerate() {
        let level = if is_summarised || at > 0 { "###" } else { "##" };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&render_head(sheet, level));
        let sections = sheet.sections.iter().filter(|section| is_shown(section));
        text.extend(sections.filter_map(render_section));
    }
    text
}

/// Renders verdict, grade, reasons and the figures in large type.
fn render_head(sheet: &Sheet, level: &str) -> String {
    let mark = mark(sheet.tone);
    let mut head = format!(
        "{level} {mark} {}: {}",
        sheet.verdict,
        escape_code(&sheet.name)
    );
    if let Some(Badge {
        title,
        label,
        notes,
        ..
    }) = &sheet.badge
    {
        let _ = write!(head, ", {title} {}", escape_star(label));
        for note in notes {
            let _ = write!(head, ", {note}");
        }
    }
    head.push_str("\n\n");
    if !sheet.about.is_empty() {
        let (identity, load) = sheet.about.split_once(" · ").unwrap_or((&sheet.about, ""));
        let identity = if sheet.kind == SheetKind::Card {
            escape_code(identity)
        } else {
            escape_prose(identity)
        };
        let _ = write!(head, "{identity} · {}\n\n", escape_prose(load));
    }
    if !sheet.description.is_empty() {
        let _ = write!(head, "{}\n\n", escape_prose(&sheet.description));
    }
    if !sheet.tags.is_empty() {
        let tags: Vec<_> = sheet.tags.iter().map(|tag| escape_code(tag)).collect();
        let _ = write!(head, "Tags: {}\n\n", tags.join(", "));
    }
    head.push_str(&render_sentences(&sheet.remarks));
    if !sheet.tiles.is_empty() {
        head.push_str(&render_tiles(&sheet.tiles));
        let _ = write!(head, "\n{}\n", escape_prose(&sheet.tiles_note));
    }
    head
}

const fn mark(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "✅",
        Tone::Bad => "❌",
        Tone::Fair => "⚠️",
        Tone::Plain | Tone::Muted => "",
    }
}

/// The asterisk of a small sample is no markup.
fn escape_star(label: &str) -> String {
    label.replace('*', "&#42;")
}

fn render_tiles(tiles: &[Tile]) -> String {
    let columns: Vec<_> = tiles
        .iter()
        .map(|tile| Column::new(tile.title, ColumnKind::Figure))
        .collect();
    let cells = tiles.iter().map(|tile| {
        let figure = emphasize(bind_units(&tile.figure), tile.is_alarming);
        if tile.note.is_empty() {
            figure
        } else {
            format!("{figure}<br>{}", tile.note)
        }
    });
    format!("\n{}{}", render_table_head(&columns), join_row(cells))
}

/// Returns a section, or nothing where there is nothing to show.
fn render_section(section: &Section) -> Option<String> {
    let contents = render_blocks(&section.blocks);
    if contents.is_empty() {
        return None;
    }
    let title = escape_prose(&section.title);
    Some(if title.is_empty() {
        format!("\n{contents}")
    } else if section.is_folded {
        format!("\n<details><summary>{title}</summary>\n\n{contents}\n</details>\n")
    } else {
        format!("\n**{title}**\n\n{contents}")
    })
}

fn render_blocks(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        let block = match block {
            Block::Table(table) | Block::Strip(_, table) => render_table(table),
            Block::Sentences(sentences) => render_sentences(sentences),
            Block::Facts(facts) => {
                let mut rows = String::from("| | |\n|---|---|\n");
                for fact in facts {
                    let cells = [fact.label.clone(), escape_code(&fact.value)];
                    rows.push_str(&join_row(cells.into_iter()));
                }
                rows
            }
            Block::Charts(_) => String::new(),
        };
        if !text.is_empty() && !block.is_empty() {
            text.push('\n');
        }
        text.push_str(&block);
    }
    text
}

/// Renders marked sentences as a list, and others as paragraphs.
fn render_sentences(sentences: &[Sentence]) -> String {
    let mut text = String::new();
    let mut was_marked = true;
    for sentence in sentences {
        if !(text.is_empty() || was_marked && sentence.is_marked) {
            text.push('\n');
        }
        was_marked = sentence.is_marked;
        if sentence.is_marked {
            let _ = write!(text, "- {} ", mark(sentence.tone));
        }
        if !sentence.lead.is_empty() {
            let _ = write!(text, "**{}** ", sentence.lead);
        }
        let words = escape_prose(&sentence.words);
        let _ = if sentence.is_small {
            write!(text, "<sub>{words}</sub>")
        } else {
            write!(text, "{words}")
        };
        if let Some(help) = &sentence.help {
            let _ = write!(text, " → {}", escape_prose(help));
        }
        text.push('\n');
    }
    text
}

fn render_table(table: &Table) -> String {
    let most = if table.is_list { MOST } else { usize::MAX };
    let mut text = render_table_head(&table.columns);
    text.extend(table.rows.iter().take(most).map(render_row));
    if table.rows.len() > most {
        let _ = write!(text, "\nand {} more\n", table.rows.len() - most);
    }
    text
}

fn render_table_head(columns: &[Column]) -> String {
    let titles = columns.iter().map(|column| escape_prose(&column.title));
    let mut head = format!("{}|", join_row(titles));
    for column in columns {
        head.push_str(if column.kind == ColumnKind::Figure {
            "--:|"
        } else {
            "---|"
        });
    }
    head + "\n"
}

fn render_row(row: &TableRow) -> String {
    let cells = row.cells.iter().enumerate().map(|(at, cell)| {
        let inner = "↳ ".repeat(if at == 0 { row.level() } else { 0 });
        let is_strong =
            cell.tone == Tone::Bad && cell.form != Form::Prose || at == 0 && row.flag.is_some();
        format!("{inner}{}", render_cell(cell, is_strong))
    });
    join_row(cells)
}

fn render_cell(cell: &TableCell, is_strong: bool) -> String {
    let mut text = render_text(cell.form, &cell.text);
    if let Some(share) = cell.bar {
        let drawn = format!("{} {text}", bar(share, BAR));
        drawn.trim().clone_into(&mut text);
    }
    let mut text = emphasize(text, is_strong && cell.form != Form::Chip);
    if let Some(address) = &cell.address {
        // A bar would end the cell, and these the address.
        let address = address.replace('|', "%7C").replace('`', "%60");
        let address = address.replace('<', "%3C").replace('>', "%3E");
        text = format!("[{text}](<{address}>)");
    }
    for (form, note) in &cell.notes {
        let note = render_text(*form, note);
        if !note.is_empty() {
            let _ = write!(text, "<br>{note}");
        }
    }
    text
}

fn render_text(form: Form, text: &str) -> String {
    match form {
        Form::Figure | Form::Chip => bind_units(&escape_star(text)).replace('<', "&lt;"),
        Form::Name | Form::Code | Form::Sample => escape_code(text),
        Form::Prose => escape_prose(text),
    }
}

/// Keeps a number and its unit on one line.
fn bind_units(figure: &str) -> String {
    figure.replace(' ', "\u{a0}")
}

fn emphasize(text: String, is_strong: bool) -> String {
    if is_strong && !text.is_empty() {
        format!("**{text}**")
    } else {
        text
    }
}

fn join_row(cells: impl Iterator<Item = String>) -> String {
    let mut row = String::from("|");
    for cell in cells {
        let _ = write!(row, " {cell} |");
    }
    row + "\n"
}
