//! The result of a search: the rate, what broke beyond it, and every trial.

use super::table::{Column, Table};
use super::text::{BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN, clean, shorten};
use super::{Page, detail};
use crate::export::facts::trial_cells;
use loadtest_model::capacity::{Outcome, Purpose, Trial};
use loadtest_model::card::{Capacity, CapacityVerdict, Report, Tone, view};

/// Prints the search in place of the cards; the card of the trial that shows the result is in the page.
pub(super) fn result(page: &mut Page, report: &Report, capacity: &Capacity) {
    page.gap();
    header(page, capacity);
    trials(page, capacity);
    if let Some(card) = report.cards.first() {
        detail::environment(page, report, card);
    }
    let code = capacity.exit_code();
    if code != 0 {
        page.gap();
        page.line(Line::new().add(DIM, format!("exit code {code}")));
    }
}

fn style(verdict: CapacityVerdict) -> anstyle::Style {
    match verdict {
        CapacityVerdict::Confirmed => GOOD,
        CapacityVerdict::Invalid | CapacityVerdict::Interrupted => FAIR,
        _ => BAD,
    }
    .bold()
}

fn header(page: &mut Page, capacity: &Capacity) {
    let verdict = Line::new()
        .add(style(capacity.verdict), capacity.verdict.name())
        .add(PLAIN, "  ");
    let rate = Line::new().add(style(capacity.verdict), capacity.headline());
    let room = page
        .room()
        .saturating_sub(verdict.width() + rate.width() + 2);
    let begin = page.room().saturating_sub(rate.width());
    let name = shorten(&clean(&capacity.scenario), room);
    page.line(verdict.add(BOLD, name).to(begin).join(rate));
    let goal = &capacity.goal;
    page.text(Line::new(), DIM, &format!("capacity at {}", capacity.slo()));
    let words = format!(
        "trials of {}, confirmed over {}",
        view::span(goal.window),
        view::span(goal.confirm)
    );
    page.text(Line::new(), DIM, &words);
    page.rule();
    for remark in &capacity.remarks {
        let (style, mark) = match remark.tone {
            Tone::Good => (GOOD, "✓ "),
            Tone::Bad => (BAD, "✗ "),
            Tone::Note => (FAIR, "! "),
        };
        page.text(Line::new().add(style, mark), PLAIN, &remark.words);
    }
}

fn trials(page: &mut Page, capacity: &Capacity) {
    if capacity.trials.is_empty() {
        return;
    }
    page.title("Trials");
    let mut columns = vec![
        Column::right("rate"),
        Column::right("achieved").leaves(1),
        Column::right("p95"),
        Column::right("errors"),
    ];
    let further = capacity.further_conditions();
    for (_, title) in &further {
        columns.push(Column::right(shorten(&clean(title), page.room() / 4)));
    }
    columns.push(Column::right("window"));
    columns.push(Column::left(""));
    let mut table = Table::new(columns);
    for trial in &capacity.trials {
        table.row(row(capacity, trial, &further), None);
    }
    let lines = table.lines(page.room());
    page.lines(lines);
}

fn row(
    capacity: &Capacity,
    trial: &Trial,
    further: &[(usize, String)],
) -> Vec<(anstyle::Style, String)> {
    let weight = match trial.attempt.purpose {
        Purpose::Search => PLAIN,
        Purpose::Confirmation => BOLD,
    };
    let (style, mark) = match trial.attempt.outcome {
        Outcome::Met => (GOOD, '✓'),
        Outcome::Missed => (BAD, '✗'),
        Outcome::GeneratorLimited => (FAIR, '!'),
    };
    let alarm = |is_broken: bool| if is_broken { BAD } else { PLAIN };
    let figures = trial_cells(capacity, trial, further);
    std::iter::once((weight, view::rate(trial.attempt.per_second)))
        .chain(
            figures
                .into_iter()
                .map(|(words, is_broken)| (alarm(is_broken), words)),
        )
        .chain([(style, format!("{mark} {}", trial.words()))])
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::export::sample;
    use crate::export::terminal::{render, text};

    #[test]
    fn a_search_is_told_within_the_terminal() {
        let report = sample::search("too much");
        for width in 40..140 {
            for line in render(&report, width, false).lines() {
                assert!(text::width(line) <= width, "{width}: {line}");
            }
        }
    }
}
