//! The card for a terminal: verdict and grade first, nothing wider than it.

pub(crate) mod beside;
mod capacity;
mod detail;
mod ledger;
mod own;
mod steps;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use crate::export::beside::{asked, kept, reasons};
use crate::export::facts::{NOT_RUN, errors_alarm, percentiles_of};
use loadtest_model::card::{Card, Grade, LossKind, Report, Verdict, view};
use loadtest_model::definition::Letter;
use loadtest_model::record::NotRun;
use table::{Column, Table};
use text::{BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN, clean, width, wrap};

/// Columns left of everything.
const MARGIN: usize = 2;
/// The widest a card gets: longer lines are hard to read.
const WIDEST: usize = 132;
/// The narrowest a card is laid out for.
const NARROWEST: usize = 40;
/// Columns from which what belongs to the grade has room beside it.
const ROOMY: usize = 58;
/// Lost points and the like are listed up to here.
const MOST: usize = 8;

/// The report in at most `width` columns, with ANSI colours or as plain text.
pub(crate) fn render(report: &Report, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    if let Some(search) = &report.capacity {
        capacity::result(&mut page, report, search);
        return page.out;
    }
    for card in &report.cards {
        card_of(&mut page, report, card);
    }
    for scenario in &report.not_run {
        not_run(&mut page, scenario);
    }
    conclusion(&mut page, report);
    page.out
}

/// What is written so far, and how wide it may get.
#[derive(Debug)]
struct Page {
    out: String,
    width: usize,
    limit: usize,
    colour: bool,
}

impl Page {
    /// An empty one of at most `width` columns.
    fn new(width: usize, colour: bool) -> Self {
        Self {
            out: String::new(),
            width: width.clamp(NARROWEST, WIDEST),
            limit: width,
            colour,
        }
    }

    /// Columns between the margins.
    fn room(&self) -> usize {
        self.width - MARGIN
    }

    fn line(&mut self, line: Line) {
        let line = Line::new().add(PLAIN, " ".repeat(MARGIN)).join(line);
        line.print(&mut self.out, self.limit, self.colour);
    }

    fn lines(&mut self, lines: Vec<Line>) {
        for line in lines {
            self.line(line);
        }
    }

    fn gap(&mut self) {
        self.out.push('\n');
    }

    fn title(&mut self, title: &str) {
        self.gap();
        self.line(Line::new().add(BOLD, title));
    }

    fn rule(&mut self) {
        self.line(Line::new().add(DIM, "─".repeat(self.room())));
    }

    /// A text after a lead, its further lines below its first.
    fn text(&mut self, lead: Line, style: anstyle::Style, text: &str) {
        self.text_within(usize::MAX, lead, style, text);
    }

    /// The same in at most so many lines.
    fn text_within(&mut self, most: usize, lead: Line, style: anstyle::Style, text: &str) {
        let begin = lead.width();
        let room = self.room().saturating_sub(begin).max(10);
        let mut parts = wrap(&clean(text), room);
        if parts.len() > most {
            parts.truncate(most);
            if let Some(last) = parts.last_mut() {
                *last = text::shorten(&format!("{last} …"), room);
            }
        }
        let mut lead = Some(lead);
        for part in parts {
            let line = lead.take().unwrap_or_default().to(begin);
            self.line(line.add(style, part));
        }
    }
}

fn card_of(page: &mut Page, report: &Report, card: &Card) {
    page.gap();
    header(page, card);
    tiles(page, card);
    losses(page, card);
    steps::table(page, card);
    steps::time(page, card);
    steps::slowest(page, card);
    ledger::steps(page, card);
    ledger::causes(page, card);
    detail::weights(page, card);
    detail::outcomes(page, card);
    own::table(page, card);
    detail::errors(page, card);
    detail::thresholds(page, card);
    beside::section(page, card);
    detail::accounts(page, card);
    detail::validity(page, card);
    detail::environment(page, report, card);
    detail::notes(page, card);
}

/// What stands in the place of a card.
fn not_run(page: &mut Page, scenario: &NotRun) {
    page.gap();
    let lead = Line::new().add(BAD.bold(), NOT_RUN).add(PLAIN, "  ");
    page.text(lead, BOLD, &scenario.scenario);
    page.rule();
    page.text(Line::new().add(BAD.bold(), "✗ "), PLAIN, &scenario.message);
    if let Some(help) = &scenario.help {
        page.text(Line::new().add(DIM, "  → "), DIM, help);
    }
}

fn verdict_style(verdict: Verdict) -> anstyle::Style {
    match verdict {
        Verdict::Passed => GOOD,
        Verdict::Failed | Verdict::NotPermitted | Verdict::Internal => BAD,
        Verdict::Invalid | Verdict::Interrupted | Verdict::Empty => FAIR,
    }
    .bold()
}

fn letter_style(letter: Option<Letter>) -> anstyle::Style {
    match letter {
        Some(letter) if letter >= Letter::BMinus => GOOD,
        Some(letter) if letter >= Letter::CMinus => FAIR,
        Some(_) => BAD,
        None => DIM,
    }
}

/// `B+  0.912`, with the interval of a small sample.
fn grade_line(grade: &Grade) -> Line {
    let mut line = Line::new().add(letter_style(grade.letter).bold(), grade.label());
    if let Some(score) = grade.score {
        line = line.add(DIM, format!("  {}", view::score(score)));
    }
    if let Some((low, high)) = grade.interval {
        let interval = format!(" ({}–{})", view::score(low), view::score(high));
        line = line.add(DIM, interval);
    }
    if grade.partial && grade.score.is_some() {
        line = line.add(FAIR, " partial");
    }
    line
}

fn header(page: &mut Page, card: &Card) {
    let mut grade = grade_line(&card.grade);
    let mut below = None;
    if let Some(asked) = asked(card) {
        let is_less = card
            .grade
            .letter
            .is_some_and(|letter| Some(letter) < card.min_grade);
        let style = if is_less { BAD } else { DIM };
        if page.room() < ROOMY {
            below = Some(Line::new().add(style, asked));
        } else {
            grade = grade.add(style, format!(", {asked}"));
        }
    }
    let verdict = Line::new()
        .add(verdict_style(card.verdict), card.verdict.name())
        .add(PLAIN, "  ");
    let room = page
        .room()
        .saturating_sub(verdict.width() + grade.width() + 2);
    let name = text::shorten(&clean(&card.name), room);
    let begin = page.room().saturating_sub(grade.width());
    page.line(verdict.add(BOLD, name).to(begin).join(grade));
    if let Some(below) = below {
        let begin = page.room().saturating_sub(below.width());
        page.line(Line::new().to(begin).join(below));
    }
    page.text(
        Line::new(),
        DIM,
        &format!("{} · {}", card.identity, card.setting.load),
    );
    page.rule();
    for reason in reasons(card) {
        let style = verdict_style(card.verdict);
        page.text(Line::new().add(style, "✗ "), PLAIN, &reason);
    }
    if card.reasons.is_empty() {
        page.text(Line::new().add(GOOD, "✓ "), PLAIN, &kept(card));
    }
    for remark in &card.remarks {
        page.text(Line::new().add(FAIR, "! "), PLAIN, remark);
    }
}

fn tiles(page: &mut Page, card: &Card) {
    let headline = &card.headline;
    let time = |time: Option<std::time::Duration>| {
        (
            PLAIN,
            time.map_or_else(|| view::NONE.to_owned(), view::duration),
        )
    };
    let failing = errors_alarm(card);
    let errors = |words: Option<String>| {
        let style = if failing { BAD } else { PLAIN };
        (style, words.unwrap_or_else(|| view::NONE.to_owned()))
    };
    let mut rate = headline
        .achieved_per_second
        .map_or_else(|| view::NONE.to_owned(), view::rate);
    let label = if headline.single_request {
        "RPS"
    } else {
        "journeys/s"
    };
    if let Some(target) = headline.target_per_second {
        rate = format!("{rate} of {}", view::rate(target));
    }
    let mut tiles = vec![
        ("p50", time(headline.time.p50)),
        ("p95", time(headline.time.p95)),
        ("p99", time(headline.time.p99)),
    ];
    if headline.single_request {
        let success = headline.error_rate.map(|rate| view::percent(1.0 - rate));
        tiles.push(("success", errors(success)));
        tiles.push((label, (PLAIN, rate)));
    } else {
        tiles.push(("errors", errors(headline.error_rate.map(view::percent))));
        tiles.push((label, (PLAIN, rate)));
        let count = headline.dependency_failures;
        let style = if count > 0 { BAD } else { PLAIN };
        tiles.push(("dependency failures", (style, view::count(count))));
    }
    page.gap();
    let (mut labels, mut values) = (Line::new(), Line::new());
    for (label, (style, value)) in tiles {
        let wide = width(label).max(width(&value));
        if labels.width() + wide > page.room() {
            page.line(std::mem::take(&mut values));
            page.line(std::mem::take(&mut labels));
        }
        let next = labels.width() + wide.max(8) + 2;
        values = values.add(style.bold(), value).to(next);
        labels = labels.add(DIM, label).to(next);
    }
    page.line(values);
    page.line(labels);
    page.text(Line::new(), DIM, &percentiles_of(card));
}

fn losses(page: &mut Page, card: &Card) {
    if card.losses.is_empty() {
        return;
    }
    page.title("Where the grade lost points");
    for loss in card.losses.iter().take(MOST) {
        let style = match loss.kind {
            LossKind::Errors | LossKind::Skips => BAD,
            LossKind::Latency | LossKind::StartDelay => FAIR,
        };
        let points = Line::new().add(style, view::points(loss.points)).to(8);
        page.text(points, PLAIN, &loss.words);
    }
    more(page, card.losses.len());
}

/// `and 3 more` where a list was cut.
fn more(page: &mut Page, listed: usize) {
    if listed > MOST {
        page.line(Line::new().add(DIM, format!("and {} more", listed - MOST)));
    }
}

/// The last lines, which a reader sees without scrolling.
fn conclusion(page: &mut Page, report: &Report) {
    page.gap();
    page.rule();
    let mut table = Table::new(vec![
        Column::left(""),
        Column::left(""),
        Column::left(""),
        Column::right("").leaves(1),
        Column::right("").leaves(2),
    ]);
    for card in &report.cards {
        let headline = &card.headline;
        let figure = |name: &str, figure: Option<String>| {
            let words = figure.map(|figure| format!("{name} {figure}"));
            (DIM, words.unwrap_or_default())
        };
        table.row(
            vec![
                (BOLD, clean(&card.name)),
                (verdict_style(card.verdict), card.verdict.name().to_owned()),
                (letter_style(card.grade.letter), card.grade.label()),
                figure("p95", headline.time.p95.map(view::duration)),
                figure("errors", headline.error_rate.map(view::percent)),
            ],
            None,
        );
    }
    for scenario in &report.not_run {
        let message = text::shorten(&clean(&scenario.message), page.room() / 2);
        table.row(
            vec![
                (BOLD, clean(&scenario.scenario)),
                (BAD.bold(), NOT_RUN.to_owned()),
                (DIM, view::NONE.to_owned()),
                (DIM, String::new()),
                (DIM, String::new()),
            ],
            Some(message),
        );
    }
    if report.cards.is_empty() && report.not_run.is_empty() {
        page.text(Line::new(), PLAIN, "No scenario ran.");
    } else {
        let lines = table.lines(page.room());
        page.lines(lines);
    }
    let code = report.exit_code();
    if code != 0 {
        page.line(Line::new().add(DIM, format!("exit code {code}")));
    }
}
