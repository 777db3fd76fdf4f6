//! Renders a page for a terminal: verdict and grade first, nothing wider than the terminal.

pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use crate::export::page::{
    Block, ColumnKind, Form, Page, Section, Sentence, Sheet, SheetKind, Table, TableCell, Tile,
    Tone,
};
use anstyle::Style;
use loadtest_model::card::Report;
use loadtest_model::exit_code::ExitCode;
use table::{TextCell, TextColumn, TextTable};
use text::{ACCENT, BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN, bar, clean, shorten, width, wrap};

/// Columns left of everything.
const MARGIN: usize = 2;
/// The widest a card gets: longer lines are hard to read.
const WIDEST: usize = 132;
/// The narrowest a card is laid out for.
const NARROWEST: usize = 40;
/// Columns from which the notes of the grade have room beside it.
const ROOMY: usize = 58;
/// Lists are shown up to here.
const MOST: usize = 8;
/// Columns left of the values of facts.
const LABELS: usize = 13;

/// The extent of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The sections that tell what happened, without requests and samples of answers.
    Short,
    Full,
}

/// Renders a report in at most `width` columns, with ANSI colours or as plain text.
pub(crate) fn render(report: &Report, width: usize, colour: bool, extent: Extent) -> String {
    let page = Page::new(report);
    let mut screen = Screen::new(width, colour, extent);
    for sheet in &page.sheets {
        if sheet.kind != SheetKind::Appendix {
            screen.sheet(sheet);
        }
    }
    screen.gap();
    let repeats_card = extent == Extent::Short && page.is_alone;
    if !page.is_search && !repeats_card {
        screen.rule();
        if page.sheets.is_empty() {
            screen.text(Line::new(), PLAIN, "No scenario ran.");
        } else {
            screen.table(&page.scenarios);
        }
    }
    if page.exit_code != ExitCode::Passed {
        let code = format!("exit code {}", page.exit_code);
        screen.line(Line::new().add(DIM, code));
    }
    if screen.is_cut {
        screen.line(Line::new().add(DIM, "`--verbose` prints the whole card"));
    }
    screen.out
}

/// Renders sections below titles, without their cards.
pub(crate) fn render_sections(
    sections: &[(String, Section)],
    width: usize,
    colour: bool,
) -> String {
    let mut screen = Screen::new(width, colour, Extent::Full);
    for (at, (title, section)) in sections.iter().enumerate() {
        if at > 0 {
            screen.gap();
        }
        screen.text(Line::new(), BOLD, title);
        screen.text(Line::new(), DIM, &section.title);
        screen.blocks(&section.blocks);
    }
    screen.out
}

/// The lines so far, and how wide they may get.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) out: String,
    width: usize,
    limit: usize,
    colour: bool,
    extent: Extent,
    /// A section was left out.
    is_cut: bool,
}

impl Screen {
    pub(crate) fn new(width: usize, colour: bool, extent: Extent) -> Self {
        Self {
            out: String::new(),
            width: width.clamp(NARROWEST, WIDEST),
            limit: width,
            colour,
            extent,
            is_cut: false,
        }
    }

    /// Returns the columns between the margins.
    pub(crate) fn room(&self) -> usize {
        self.width - MARGIN
    }

    pub(crate) fn line(&mut self, line: Line) {
        let line = Line::new().add(PLAIN, " ".repeat(MARGIN)).join(line);
        line.print(&mut self.out, self.limit, self.colour);
    }

    pub(crate) fn gap(&mut self) {
        self.out.push('\n');
    }

    fn rule(&mut self) {
        self.line(Line::new().add(DIM, "─".repeat(self.room())));
    }

    /// Prints a text after a lead, its further lines below its first.
    pub(crate) fn text(&mut self, lead: Line, style: Style, text: &str) {
        let begin = lead.width();
        let room = self.room().saturating_sub(begin).max(10);
        let mut lead = Some(lead);
        for part in wrap(text, room) {
            let line = lead.take().unwrap_or_default().to(begin);
            self.line(line.add(style, part));
        }
    }

    /// Prints a value behind its label.
    pub(crate) fn fact(&mut self, label: &str, style: Style, value: &str) {
        let begin = LABELS.max(width(label) + 2);
        self.text(Line::new().add(DIM, label).to(begin), style, value);
    }

    fn sheet(&mut self, sheet: &Sheet) {
        self.gap();
        self.header(sheet);
        self.sentences(&sheet.remarks);
        if !sheet.tiles.is_empty() {
            self.gap();
            self.tiles(&sheet.tiles);
            self.text(Line::new(), DIM, &sheet.tiles_note);
        }
        for section in &sheet.sections {
            if self.extent == Extent::Short && !section.is_essential {
                self.is_cut = true;
            } else if section
                .blocks
                .iter()
                .any(|block| !matches!(block, Block::Charts(_)))
            {
                self.gap();
                if !section.title.is_empty() {
                    self.text(Line::new(), BOLD, &section.title);
                }
                self.blocks(&section.blocks);
            }
        }
    }

    /// Prints verdict and name at the left, and the badge at the right.
    fn header(&mut self, sheet: &Sheet) {
        let (mut badge, mut below) = (Line::new(), Line::new());
        if let Some(found) = &sheet.badge {
            badge = badge.add(style_of(found.tone).bold(), &*found.label);
            let notes = Line::new().add(DIM, found.notes.join(", "));
            if self.room() < ROOMY {
                below = notes;
            } else if !found.notes.is_empty() {
                badge = badge.add(PLAIN, "  ").join(notes);
            }
        }
        let verdict = style_of(sheet.tone).bold();
        let verdict = Line::new().add(verdict, &*sheet.verdict).add(PLAIN, "  ");
        let room = self
            .room()
            .saturating_sub(verdict.width() + badge.width() + 2);
        let name = shorten(&clean(&sheet.name), room);
        let begin = self.room().saturating_sub(badge.width());
        self.line(verdict.add(BOLD, name).to(begin).join(badge));
        if below.width() > 0 {
            let begin = self.room().saturating_sub(below.width());
            self.line(Line::new().to(begin).join(below));
        }
        if !sheet.about.is_empty() {
            self.text(Line::new(), DIM, &sheet.about);
        }
        self.rule();
    }

    /// Prints figures above their titles, in as many lines as they take.
    fn tiles(&mut self, tiles: &[Tile]) {
        let (mut captions, mut figures) = (Line::new(), Line::new());
        for tile in tiles {
            let is_target = tile.note.starts_with("of ");
            let figure = if is_target {
                format!(
                    "{} {}",
                    tile.figure,
                    tile.note.trim_end_matches(" targeted")
                )
            } else {
                tile.figure.clone()
            };
            let title = lower_first(tile.title);
            let wide = width(&title).max(width(&figure));
            if captions.width() + wide > self.room() {
                self.line(std::mem::take(&mut figures));
                self.line(std::mem::take(&mut captions));
            }
            let style = if tile.is_alarming { BAD } else { PLAIN };
            let next = captions.width() + wide.max(8) + 2;
            figures = figures.add(style.bold(), figure).to(next);
            captions = captions.add(DIM, title).to(next);
        }
        self.line(figures);
        self.line(captions);
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Table(table) => self.table(table),
                Block::Sentences(sentences) => self.sentences(sentences),
                Block::Facts(facts) => {
                    for fact in facts {
                        self.fact(&fact.label, PLAIN, &fact.value);
                    }
                }
                Block::Strip(_, table) if self.extent == Extent::Full => self.table(table),
                Block::Strip(..) | Block::Charts(_) => {}
            }
        }
    }

    fn sentences(&mut self, sentences: &[Sentence]) {
        for sentence in sentences {
            let mut lead = Line::new();
            if let Some(mark) = sentence.tone.mark().filter(|_| sentence.is_marked) {
                lead = lead.add(style_of(sentence.tone).bold(), format!("{mark} "));
            }
            if !sentence.lead.is_empty() {
                lead = lead.add(BOLD, format!("{} ", sentence.lead));
            }
            let style = match sentence {
                Sentence { is_small: true, .. } => DIM,
                Sentence {
                    is_marked: true, ..
                } => PLAIN,
                Sentence { tone, .. } => style_of(*tone),
            };
            self.text(lead, style, &sentence.words);
            if let Some(help) = &sentence.help {
                self.text(Line::new().add(DIM, "  → "), DIM, help);
            }
        }
    }

    /// Returns whether notes of a form are printed.
    fn shows(&self, form: Form) -> bool {
        self.extent == Extent::Full || !matches!(form, Form::Code | Form::Sample)
    }

    fn table(&mut self, table: &Table) {
        let most = if table.is_list { MOST } else { usize::MAX };
        let has_titles = table.columns.iter().any(|column| !column.title.is_empty());
        let columns = table.columns.iter().map(|column| {
            let title = lower_first(&column.title);
            let laid_out = match column.kind {
                ColumnKind::Figure => TextColumn::right(title),
                ColumnKind::Word | ColumnKind::Text(_) => TextColumn::left(title),
            };
            laid_out.leaves(column.leaves)
        });
        let last = table.columns.len() - 1;
        let mut text = TextTable::new(columns.collect());
        if last > 0 && matches!(table.columns[last].kind, ColumnKind::Text(_)) {
            text = text.wrap_last();
        }
        if self.extent == Extent::Short {
            text = text.drop_cells();
        }
        for row in table.rows.iter().take(most) {
            let mut cells: Vec<TextCell> = Vec::new();
            let notes = row.cells.iter().rev().flat_map(|cell| &cell.notes);
            let below = notes
                .filter(|(form, _)| self.shows(*form))
                .map(|(_, note)| note.clone())
                .collect();
            for (at, cell) in row.cells.iter().enumerate() {
                let style = match (at, row.flag) {
                    (0, Some(_)) => ACCENT.bold(),
                    (0, None) if !row.is_inner && cell.tone == Tone::Plain && has_titles => BOLD,
                    _ => style_of(cell.tone),
                };
                let indent = "  ".repeat(if at == 0 { row.level() } else { 0 });
                let mark = row.flag.filter(|_| at == 0).map_or("", |_| " ▲");
                let words = format!("{indent}{}{mark}", clean(&cell.text));
                cells.push((style, words));
            }
            if let Some((at, share)) = bar_of(&row.cells) {
                let others = text_widths(table, at);
                let percent = std::mem::take(&mut cells[at].1);
                let room = self.room().saturating_sub(others + 8);
                let style = if cells[at].0 == PLAIN {
                    ACCENT
                } else {
                    cells[at].0
                };
                cells[at] = (
                    style,
                    format!("{} {percent}", bar(share, room)).trim().to_owned(),
                );
            }
            text.push(cells, below);
        }
        for line in text.lines(self.room()) {
            self.line(line);
        }
        if table.rows.len() > most {
            let more = format!("and {} more", table.rows.len() - most);
            self.line(Line::new().add(DIM, more));
        }
    }
}

fn bar_of(cells: &[TableCell]) -> Option<(usize, f64)> {
    cells
        .iter()
        .enumerate()
        .find_map(|(at, cell)| Some((at, cell.bar?)))
}

/// Returns the columns that a table takes without the one of its bars.
fn text_widths(table: &Table, bars: usize) -> usize {
    let widest = |at: usize| {
        let cells = table
            .rows
            .iter()
            .map(|row| width(&clean(&row.cells[at].text)));
        cells
            .chain([width(&table.columns[at].title)])
            .max()
            .unwrap_or(0)
    };
    let others = (0..table.columns.len()).filter(|at| *at != bars);
    others.map(|at| widest(at) + 2).sum()
}

fn style_of(tone: Tone) -> Style {
    match tone {
        Tone::Plain => PLAIN,
        Tone::Good => GOOD,
        Tone::Fair => FAIR,
        Tone::Bad => BAD,
        Tone::Muted => DIM,
    }
}

/// Writes a title small, but for one that is an abbreviation.
fn lower_first(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => title.to_owned(),
    }
}
