//! The card for a pull request, a job summary or a chat: tables, and bars of letters.
//!
//! GitHub drops a summary of more than 1,024 KiB whole, so a page that is longer is trimmed, and says so.

mod beside;
mod search;
mod section;
mod steps;
mod table;
#[cfg(test)]
mod tests;
mod text;

use super::beside::{asked, kept, reasons};
use super::facts::NOT_RUN;
use loadtest_model::card::{Card, Report, Verdict, view};
use loadtest_model::record::NotRun;
use section::SECTIONS;
use std::fmt::Write as _;
use table::figure;
use text::{code, prose};

/// The most that GitHub takes, in bytes.
const LIMIT: usize = 1_024 * 1_024;
/// What the sentence about what was left out may take.
const RESERVE: usize = 500;

/// The report as Markdown.
pub(crate) fn render(report: &Report) -> String {
    within(report, LIMIT)
}

/// A scenario of the page.
#[derive(Debug)]
struct Part {
    passed: bool,
    head: String,
    /// As many as there are [`SECTIONS`]; what is left out is empty.
    sections: Vec<String>,
}

impl Part {
    fn len(&self) -> usize {
        // With the line before it.
        1 + self.head.len() + self.sections.iter().map(String::len).sum::<usize>()
    }
}

/// The report in at most `limit` bytes. What goes first is what matters least: section by section from the
/// last of [`SECTIONS`], those of scenarios that passed before the others'; then whole scenarios, those that
/// passed first; then rows of the summary.
pub(crate) fn within(report: &Report, limit: usize) -> String {
    let (title, end) = (title(report), end(report));
    let room = limit.saturating_sub(RESERVE + title.len() + end.len());
    let mut parts = parts(report);
    let mut summary = summary(report);
    let mut left_out = Vec::new();
    let size = |parts: &[Part], summary: &[Row]| {
        let rows: usize = summary.iter().map(|row| row.text.len()).sum();
        rows + parts.iter().map(Part::len).sum::<usize>()
    };
    let mut now = size(&parts, &summary);
    for (at, section) in SECTIONS.iter().enumerate().rev() {
        for passed in [true, false] {
            let those = parts.iter_mut().filter(|part| part.passed == passed);
            for part in those.rev() {
                let there = part.sections[at].len();
                if now > room && there > 0 {
                    part.sections[at].clear();
                    now -= there;
                    if !left_out.contains(&section.name.to_owned()) {
                        left_out.push(section.name.to_owned());
                    }
                }
            }
        }
    }
    let all = parts.len();
    for passed in [true, false] {
        while now > room
            && let Some(last) = parts.iter().rposition(|part| part.passed == passed)
        {
            now -= parts.remove(last).len();
        }
    }
    if parts.len() < all {
        let cards = view::counted((all - parts.len()) as u64, "card");
        left_out.push(format!("{cards} of {all}"));
    }
    let rows = summary.len();
    for passed in [true, false] {
        while now > room
            && let Some(last) = summary.iter().rposition(|row| row.passed == passed)
        {
            now -= summary.remove(last).text.len();
        }
    }
    if summary.len() < rows {
        let cut = view::counted((rows - summary.len()) as u64, "row");
        left_out.push(format!("{cut} of {rows} of the summary"));
    }
    let mut page = title;
    for row in &summary {
        page.push_str(&row.text);
    }
    for part in &parts {
        if !page.is_empty() {
            page.push('\n');
        }
        page.push_str(&part.head);
        for section in &part.sections {
            page.push_str(section);
        }
    }
    if !left_out.is_empty() {
        let _ = write!(
            page,
            "\n> **Left out, to stay within {}**: {}. The other formats have it.\n",
            view::bytes(limit as u64),
            left_out.join(", ")
        );
    }
    page + &end
}

/// What identifies the run.
fn end(report: &Report) -> String {
    format!(
        "\n<sub>loadtest {} · run {} · {} · exit code {}</sub>\n",
        code(&report.tool_version),
        code(&report.run_id),
        code(&report.started_at),
        report.exit_code()
    )
}

/// What stands above all, but for a single card or a search, which have titles of their own.
fn title(report: &Report) -> String {
    if report.cards.len() + report.not_run.len() == 1 || report.capacity.is_some() {
        return String::new();
    }
    let code = report.exit_code();
    let mark = if code == 0 { "✅" } else { "❌" };
    let all = (report.cards.len() + report.not_run.len()) as u64;
    let passed = report.cards.iter().filter(|card| is_passed(card)).count() as u64;
    let words = if all == 0 {
        "No scenario ran".to_owned()
    } else {
        format!(
            "{} of {} passed",
            view::count(passed),
            view::counted(all, "scenario")
        )
    };
    format!("## {mark} {words}\n")
}

/// A line of the summary; its head is of no scenario.
#[derive(Debug)]
struct Row {
    passed: bool,
    text: String,
}

/// A row per scenario, where there is more than one.
fn summary(report: &Report) -> Vec<Row> {
    if report.cards.len() + report.not_run.len() < 2 || report.capacity.is_some() {
        return Vec::new();
    }
    let head =
        "\n| | Scenario | Verdict | Grade | p95 | Errors | Rate |\n|---|---|---|---|--:|--:|--:|\n";
    let mut rows = vec![Row {
        passed: false,
        text: head.to_owned(),
    }];
    for card in &report.cards {
        let headline = &card.headline;
        let mut text = String::new();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            mark(card.verdict),
            code(&card.name),
            card.verdict.name(),
            card.grade.label(),
            figure(headline.time.p95, view::duration),
            figure(headline.error_rate, view::percent),
            figure(headline.achieved_per_second, view::rate),
        );
        rows.push(Row {
            passed: is_passed(card),
            text,
        });
    }
    for scenario in &report.not_run {
        let none = view::NONE;
        let name = code(&scenario.scenario);
        rows.push(Row {
            passed: false,
            text: format!("| ❌ | {name} | {NOT_RUN} | {none} | {none} | {none} | {none} |\n"),
        });
    }
    rows
}

fn parts(report: &Report) -> Vec<Part> {
    let level = if report.cards.len() + report.not_run.len() > 1 {
        "###"
    } else {
        "##"
    };
    let mut parts = Vec::new();
    if let Some(search) = &report.capacity {
        parts.push(Part {
            passed: false,
            head: search::search(search),
            sections: vec![String::new(); SECTIONS.len()],
        });
    }
    parts.extend(report.cards.iter().map(|card| {
        Part {
            passed: is_passed(card),
            head: head(report, card, level),
            sections: SECTIONS
                .iter()
                .map(|section| (section.write)(report, card))
                .collect(),
        }
    }));
    parts.extend(report.not_run.iter().map(|scenario| Part {
        passed: false,
        head: not_run(scenario, level),
        sections: vec![String::new(); SECTIONS.len()],
    }));
    parts
}

fn is_passed(card: &Card) -> bool {
    card.verdict == Verdict::Passed
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "✅",
        Verdict::Failed | Verdict::NotPermitted | Verdict::Internal => "❌",
        Verdict::Invalid | Verdict::Interrupted | Verdict::Empty => "⚠️",
    }
}

/// Verdict, grade, reasons and the figures in large type.
fn head(report: &Report, card: &Card, level: &str) -> String {
    let mut head = String::new();
    let grade = &card.grade;
    let trial = if report.capacity.is_some() {
        "The decisive trial: "
    } else {
        ""
    };
    let mark = mark(card.verdict);
    let (verdict, name) = (card.verdict.name(), code(&card.name));
    let _ = write!(
        head,
        "{level} {mark} {trial}{verdict}: {name}, grade {}",
        grade.label()
    );
    if let Some(score) = grade.score {
        let _ = write!(head, " ({})", view::score(score));
    }
    if let Some((low, high)) = grade.interval {
        let _ = write!(head, ", {} to {}", view::score(low), view::score(high));
    }
    if grade.partial && grade.score.is_some() {
        head.push_str(", partial");
    }
    if let Some(asked) = asked(card) {
        let _ = write!(head, ", {asked}");
    }
    let _ = write!(
        head,
        "\n\n{} · {}\n\n",
        code(&card.identity),
        prose(&card.setting.load)
    );
    for reason in reasons(card) {
        let _ = writeln!(head, "- {mark} {}", prose(&reason));
    }
    if card.reasons.is_empty() {
        let _ = writeln!(head, "- ✅ {}", prose(&kept(card)));
    }
    for remark in &card.remarks {
        let _ = writeln!(head, "- ⚠️ {}", prose(remark));
    }
    head.push_str(&section::tiles(card));
    head
}

fn not_run(scenario: &NotRun, level: &str) -> String {
    let name = code(&scenario.scenario);
    let mut head = format!(
        "{level} ❌ {NOT_RUN}: {name}\n\n- ❌ {}\n",
        prose(&scenario.message)
    );
    if let Some(help) = &scenario.help {
        let _ = writeln!(head, "- → {}", prose(help));
    }
    head
}
