//! The report as a page: sheets of sections of blocks, which every format for people renders.
//!
//! Nothing here knows a format. A new section is one function and appears in the terminal, Markdown, HTML
//! and PDF alike.

mod card;
pub(crate) mod comparison;
mod findings;
mod search;
mod steps;
#[cfg(test)]
mod tests;

use super::chart::Chart;
use super::labels::NOT_RUN;
use super::scene::Paint;
use loadtest_model::card::{Card, Report, Verdict};
use loadtest_model::definition::Letter;
use loadtest_model::display;
use loadtest_model::record::NotRun;

/// The whole report.
#[derive(Debug)]
pub(crate) struct Page {
    /// Title of the document.
    pub(crate) title: String,
    /// Time and identifier of the run.
    pub(crate) about: String,
    /// Result in a few words, as `2 of 3 scenarios passed`.
    pub(crate) outcome: String,
    /// A row per scenario.
    pub(crate) scenarios: Table,
    /// A single card without a search needs no summary.
    pub(crate) is_alone: bool,
    /// The first sheet is the result of a search for the capacity.
    pub(crate) is_search: bool,
    pub(crate) sheets: Vec<Sheet>,
    pub(crate) tool_version: String,
    pub(crate) run_id: String,
    pub(crate) started_at: String,
    pub(crate) exit_code: u8,
}

/// A scenario, a search, or a scenario that did not run.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    /// Target of links within a document.
    pub(crate) anchor: String,
    pub(crate) kind: SheetKind,
    pub(crate) verdict: String,
    pub(crate) tone: Tone,
    pub(crate) name: String,
    /// Identity and load, or the terms of a search.
    pub(crate) about: String,
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
    pub(crate) badge: Option<Badge>,
    /// Reasons of the verdict, and what else a reader must see first.
    pub(crate) remarks: Vec<Sentence>,
    pub(crate) tiles: Vec<Tile>,
    /// Explains the tiles.
    pub(crate) tiles_note: String,
    pub(crate) sections: Vec<Section>,
}

/// The place of a sheet in the report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SheetKind {
    #[default]
    Card,
    Search,
    /// The card of the trial that decided a search; the terminal leaves it to the documents.
    Appendix,
    NotRun,
}

/// The result of a sheet in large type.
#[derive(Debug)]
pub(crate) struct Badge {
    /// `grade` or `capacity`.
    pub(crate) title: &'static str,
    pub(crate) label: String,
    pub(crate) tone: Tone,
    pub(crate) notes: Vec<String>,
}

/// A figure in large type.
#[derive(Debug)]
pub(crate) struct Tile {
    pub(crate) title: &'static str,
    pub(crate) figure: String,
    pub(crate) note: String,
    pub(crate) is_alarming: bool,
}

/// A titled part of a sheet.
#[derive(Debug)]
pub(crate) struct Section {
    /// Empty for closing notes.
    pub(crate) title: String,
    /// Importance: where space is limited, the sections of the highest rank go first.
    pub(crate) rank: u8,
    /// Shares its row with a neighbour of the same kind where there is room.
    pub(crate) is_half: bool,
    /// Part of the short card.
    pub(crate) is_essential: bool,
    pub(crate) blocks: Vec<Block>,
}

/// Sections from this rank on may be folded.
const FOLDED: u8 = 10;

/// A piece of a section that renderers know.
#[derive(Debug)]
pub(crate) enum Block {
    Table(Table),
    Sentences(Vec<Sentence>),
    Facts(Vec<(String, String)>),
    Charts(Charts),
    /// A block under a summary, for formats that can fold; others leave it out.
    Folded(&'static str, Table),
}

/// Drawings, and what replaces them where nothing can be drawn.
#[derive(Debug, Default)]
pub(crate) struct Charts {
    pub(crate) drawings: Vec<Chart>,
    /// Explains the drawings.
    pub(crate) caption: String,
    /// A single drawing over the whole width, without its title.
    pub(crate) is_wide: bool,
    /// Shown beside the drawings, and without them.
    pub(crate) beside: Vec<Block>,
    /// Shown instead of the drawings.
    pub(crate) instead: Vec<Block>,
}

/// A sentence; text between backticks is code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) tone: Tone,
    /// Begins with the sign of its tone.
    pub(crate) is_marked: bool,
    /// Small print.
    pub(crate) is_small: bool,
    /// Words in bold before the sentence.
    pub(crate) lead: &'static str,
    pub(crate) words: String,
    /// The remedy.
    pub(crate) help: Option<String>,
}

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Good,
    Fair,
    Bad,
    Muted,
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Explains the table; a document shows it above.
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<TableRow>,
    /// A list of findings that a format may cut.
    pub(crate) is_list: bool,
    /// Many rows of small figures.
    pub(crate) is_dense: bool,
}

#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) kind: ColumnKind,
    /// The column with the highest rank leaves a table that is too wide; 0 never does.
    pub(crate) leaves: u8,
    /// Title above several columns.
    pub(crate) group: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ColumnKind {
    /// Aligned at the right, never broken.
    Figure,
    /// Aligned at the left, never broken.
    Word,
    /// Broken into lines; its share of the width that is left.
    Text(f64),
}

#[derive(Debug, Default)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<TableCell>,
    /// Belongs to the row above it.
    pub(crate) is_inner: bool,
    /// Stands out, with this word beside its name.
    pub(crate) flag: Option<&'static str>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TableCell {
    pub(crate) text: String,
    pub(crate) form: Form,
    pub(crate) tone: Tone,
    /// Smaller, below the text.
    pub(crate) notes: Vec<(Form, String)>,
    /// A square of this colour before the text.
    pub(crate) key: Option<Paint>,
    /// A bar of this share before the text, where bars are letters.
    pub(crate) bar: Option<f64>,
    /// Anchor of the sheet that it leads to.
    pub(crate) link: Option<String>,
}

/// The origin of a text, which decides how a format defuses it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Our own figures and words.
    #[default]
    Figure,
    /// A name from outside.
    Name,
    /// A sentence; text between backticks is code.
    Prose,
    Code,
    /// Lines that a server sent.
    Sample,
    /// On a ground of its tone.
    Chip,
}

impl Page {
    /// Lays out a report.
    pub(crate) fn new(report: &Report) -> Self {
        let all = report.cards.len() + report.not_run.len();
        let is_search = report.capacity.is_some();
        let mut sheets: Vec<Sheet> = report
            .capacity
            .iter()
            .map(|found| search::build_sheet(report, found))
            .collect();
        sheets.extend(
            report
                .cards
                .iter()
                .enumerate()
                .map(|(at, card)| card::build_sheet(report, card, at)),
        );
        let not_run = report.not_run.iter().enumerate();
        sheets.extend(not_run.map(|(at, scenario)| Sheet::not_run(scenario, at)));
        let mut page = Self {
            title: String::new(),
            about: format!("{} · run {}", report.started_at, report.run_id),
            outcome: describe_outcome(report),
            scenarios: build_scenarios(report),
            is_alone: all == 1 && report.not_run.is_empty() && !is_search,
            is_search,
            sheets,
            tool_version: report.tool_version.clone(),
            run_id: report.run_id.clone(),
            started_at: report.started_at.clone(),
            exit_code: report.exit_code(),
        };
        page.title = page.describe_title(all);
        page
    }

    /// The line that identifies the run.
    pub(crate) fn footer(&self) -> String {
        format!(
            "loadtest {} · run {} · {} · exit code {}",
            self.tool_version, self.run_id, self.started_at, self.exit_code
        )
    }

    fn describe_title(&self, all: usize) -> String {
        let first = self
            .sheets
            .first()
            .filter(|_| self.is_alone || self.is_search);
        let words = first.map_or_else(
            || display::format_counted(all as u64, "scenario"),
            |sheet| {
                let label = sheet.badge.as_ref().map_or("", |badge| &badge.label);
                format!("{} {label} · {}", sheet.verdict, sheet.name)
            },
        );
        format!("{words} · load test report")
    }
}

fn describe_outcome(report: &Report) -> String {
    let all = (report.cards.len() + report.not_run.len()) as u64;
    let passed = report
        .cards
        .iter()
        .filter(|card| card.verdict == Verdict::Passed);
    if all == 0 {
        "No scenario ran".to_owned()
    } else {
        format!(
            "{} of {} passed",
            display::format_count(passed.count() as u64),
            display::format_counted(all, "scenario")
        )
    }
}

/// Builds the table of all scenarios.
fn build_scenarios(report: &Report) -> Table {
    let mut table = Table::new(
        "Scenarios",
        vec![
            Column::text("Scenario", 1.0),
            Column::word("Verdict"),
            Column::word("Grade"),
            Column::figure("p50").leaves(3),
            Column::figure("p95").leaves(1),
            Column::figure("p99").leaves(4),
            Column::figure("Errors").leaves(2),
            Column::figure("Achieved").leaves(5),
        ],
    );
    for (at, card) in report.cards.iter().enumerate() {
        let head = &card.headline;
        let unit = if head.single_request {
            "requests"
        } else {
            "journeys"
        };
        table.push(vec![
            TableCell {
                link: Some(anchor(at)),
                ..TableCell::name(&card.name)
            },
            TableCell::chip(card.verdict.name(), tone_of_verdict(card.verdict)),
            TableCell::chip(card.grade.label(), tone_of_letter(card.grade.letter)),
            TableCell::time(head.time.p50),
            TableCell::time(head.time.p95),
            TableCell::time(head.time.p99),
            TableCell::optional(head.error_rate, display::format_percent),
            TableCell::optional(head.achieved_per_second, |rate| {
                format!("{} {unit}", display::format_rate(rate))
            }),
        ]);
    }
    for (at, scenario) in report.not_run.iter().enumerate() {
        let name = TableCell {
            link: Some(anchor_not_run(at)),
            ..TableCell::name(&scenario.scenario).note(Form::Prose, &*scenario.message)
        };
        let mut cells = vec![name, TableCell::chip(NOT_RUN, Tone::Bad)];
        cells.resize(table.columns.len(), TableCell::figure(display::NO_VALUE));
        table.push(cells);
    }
    table
}

fn anchor(card: usize) -> String {
    format!("scenario-{}", card + 1)
}

fn anchor_not_run(scenario: usize) -> String {
    format!("not-run-{}", scenario + 1)
}

fn tone_of_verdict(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Passed => Tone::Good,
        Verdict::Failed | Verdict::NotPermitted | Verdict::Internal => Tone::Bad,
        Verdict::Invalid | Verdict::Interrupted | Verdict::Empty => Tone::Fair,
    }
}

fn tone_of_letter(letter: Option<Letter>) -> Tone {
    match letter {
        Some(letter) if letter >= Letter::BMinus => Tone::Good,
        Some(letter) if letter >= Letter::CMinus => Tone::Fair,
        Some(_) => Tone::Bad,
        None => Tone::Muted,
    }
}

impl Sheet {
    fn not_run(scenario: &NotRun, at: usize) -> Self {
        let reason = Sentence::marked(Tone::Bad, &*scenario.message);
        Self {
            anchor: anchor_not_run(at),
            kind: SheetKind::NotRun,
            verdict: NOT_RUN.to_owned(),
            tone: Tone::Bad,
            name: scenario.scenario.clone(),
            remarks: vec![Sentence {
                help: scenario.help.clone(),
                ..reason
            }],
            ..Self::default()
        }
    }

    /// Returns the times that the charts over time share; empty without any.
    pub(crate) fn time_axis(&self) -> &[String] {
        let mut charts = self.sections.iter().flat_map(|section| &section.blocks);
        let readout = charts.find_map(|block| match block {
            Block::Charts(drawn) => drawn.drawings.first()?.readout.as_ref(),
            _ => None,
        });
        readout.map_or(&[], |readout| &readout.at)
    }
}

impl Section {
    fn new(title: impl Into<String>, rank: u8, blocks: Vec<Block>) -> Self {
        Self {
            title: title.into(),
            rank,
            is_half: false,
            is_essential: false,
            blocks,
        }
    }

    /// Makes the section a part of the short card.
    fn essential(self) -> Self {
        Self {
            is_essential: true,
            ..self
        }
    }

    /// Returns whether a reader may be asked to unfold it.
    pub(crate) const fn is_folded(&self) -> bool {
        self.rank >= FOLDED
    }
}

impl Sentence {
    pub(crate) fn plain(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            ..Self::default()
        }
    }

    pub(crate) fn small(words: impl Into<String>) -> Self {
        Self {
            is_small: true,
            ..Self::plain(words)
        }
    }

    pub(crate) fn marked(tone: Tone, words: impl Into<String>) -> Self {
        Self {
            tone,
            is_marked: true,
            ..Self::plain(words)
        }
    }

    fn led(lead: &'static str, words: impl Into<String>) -> Self {
        Self {
            lead,
            ..Self::plain(words)
        }
    }
}

impl Tone {
    const fn alarm(is_bad: bool) -> Self {
        if is_bad { Self::Bad } else { Self::Plain }
    }

    /// The sign of the tone, so that colour is not all that tells sentences apart.
    pub(crate) const fn mark(self) -> Option<char> {
        match self {
            Self::Good => Some('✓'),
            Self::Bad => Some('✗'),
            Self::Fair => Some('!'),
            Self::Plain | Self::Muted => None,
        }
    }

    /// Name of the tone in a style sheet.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Bad => "bad",
            Self::Muted => "muted",
        }
    }
}

impl Table {
    fn new(caption: &str, columns: Vec<Column>) -> Self {
        Self {
            caption: caption.to_owned(),
            columns,
            ..Self::default()
        }
    }

    /// A list of findings, of which a format may show the first ones.
    fn list(caption: &str, columns: Vec<Column>) -> Self {
        Self {
            is_list: true,
            ..Self::new(caption, columns)
        }
    }

    fn push(&mut self, cells: Vec<TableCell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(TableRow {
            cells,
            ..TableRow::default()
        });
    }
}

impl Column {
    fn new(title: &str, kind: ColumnKind) -> Self {
        Self {
            title: title.to_owned(),
            kind,
            leaves: 0,
            group: String::new(),
        }
    }

    fn figure(title: &str) -> Self {
        Self::new(title, ColumnKind::Figure)
    }

    fn word(title: &str) -> Self {
        Self::new(title, ColumnKind::Word)
    }

    fn text(title: &str, share: f64) -> Self {
        Self::new(title, ColumnKind::Text(share))
    }

    fn leaves(mut self, rank: u8) -> Self {
        self.leaves = rank;
        self
    }
}

impl TableCell {
    fn new(form: Form, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            form,
            ..Self::default()
        }
    }

    fn figure(text: impl Into<String>) -> Self {
        Self::new(Form::Figure, text)
    }

    fn name(text: impl Into<String>) -> Self {
        Self::new(Form::Name, text)
    }

    fn prose(text: impl Into<String>) -> Self {
        Self::new(Form::Prose, text)
    }

    fn code(text: impl Into<String>) -> Self {
        Self::new(Form::Code, text)
    }

    fn chip(text: impl Into<String>, tone: Tone) -> Self {
        Self::new(Form::Chip, text).tone(tone)
    }

    fn count(number: u64) -> Self {
        Self::figure(display::format_count(number))
    }

    /// A figure, or a dash.
    fn optional<T>(figure: Option<T>, words: impl Fn(T) -> String) -> Self {
        Self::figure(figure.map_or_else(|| display::NO_VALUE.to_owned(), words))
    }

    fn time(time: Option<std::time::Duration>) -> Self {
        Self::optional(time, display::format_duration)
    }

    /// A count, and how often the same happened in the ramp.
    fn count_and_ramp(count: u64, in_ramp: u64) -> Self {
        let cell = Self::count(count);
        match in_ramp {
            0 => cell,
            _ => cell.note(
                Form::Figure,
                format!("+ {} in the ramp", display::format_count(in_ramp)),
            ),
        }
    }

    fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    fn note(mut self, form: Form, text: impl Into<String>) -> Self {
        self.notes.push((form, text.into()));
        self
    }
}

/// Returns whether a threshold on the errors of the journey is broken, so that their rate is alarming.
fn is_error_rate_alarming(card: &Card) -> bool {
    use loadtest_model::definition::Metric;
    card.thresholds
        .iter()
        .any(|row| row.metric == Metric::Errors && row.step.is_none() && !row.passed)
}
