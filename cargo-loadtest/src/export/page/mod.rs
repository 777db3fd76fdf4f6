//! The report as a page: sheets of sections of blocks, which every format for people renders.
//!
//! Nothing here knows a format. A new section is one function and appears in the terminal, Markdown, HTML
//! and PDF alike.

mod block;
mod calls;
mod card;
pub(crate) mod comparison;
mod executions;
mod findings;
mod generators;
#[cfg(feature = "ui")]
pub(crate) mod live;
mod search;
mod section;
mod steps;
mod streams;
#[cfg(test)]
mod tests;
mod traces;
mod units;
mod websockets;

use super::labels::NOT_RUN;
pub(crate) use block::{
    Block, Column, ColumnKind, Fact, Form, Sentence, Table, TableCell, TableRow, Tone, split_prose,
};
use loadtest_model::card::{Card, Report, Verdict};
use loadtest_model::definition::Letter;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::NotRun;
pub(crate) use section::{Place, Section};

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
    pub(crate) exit_code: ExitCode,
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
        "",
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
            TableCell::chip(card.grade.label(), tone_of_grade(card)),
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
    units::share_table_units(&mut table);
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

/// Returns the tone of the overall grade: no good one beside a verdict that is not good.
fn tone_of_grade(card: &Card) -> Tone {
    match card.verdict {
        Verdict::Passed => tone_of_letter(card.grade.letter),
        _ => Tone::Muted,
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
                help: scenario.help.as_deref().map(str::to_owned),
                ..reason
            }],
            ..Self::default()
        }
    }
}

/// Returns whether a threshold on the errors of the journey is broken by their rate, which is alarming then.
fn is_error_rate_alarming(card: &Card) -> bool {
    use loadtest_model::definition::Metric;
    card.thresholds
        .iter()
        .filter(|row| row.metric == Metric::Errors && row.subject() == "journey")
        .any(|row| row.actual.is_some() && !row.passed)
}
