//! The steps of a card, and where their time goes.

use super::table::{alarming, figure, table, time};
use super::text::{code, prose};
use crate::export::facts::spared_title;
use crate::export::terminal::text::bar;
use loadtest_model::card::{Card, InnerRow, Report, StepRow, view};
use std::fmt::Write as _;
use std::time::Duration;

/// Letters that a bar of the whole time has.
const BAR: usize = 10;

pub(super) fn steps(_: &Report, card: &Card) -> String {
    let any = |counts: fn(&StepRow) -> u64| card.steps.iter().any(|step| counts(step) > 0);
    let (skips, spared) = (any(|step| step.skipped), any(StepRow::spared));
    let mut titles = vec![
        "Step",
        "Grade",
        ">Executed",
        ">RPS",
        ">Errors",
        ">p50",
        ">p95",
        ">p99",
        "Share of time",
    ];
    if skips {
        titles.push(">Skips");
    }
    let spared_title = match spared_title(card) {
        "not drawn" => ">Not drawn",
        _ => ">Left out",
    };
    if spared {
        titles.push(spared_title);
    }
    let mut rows = Vec::new();
    for (at, step) in card.steps.iter().enumerate() {
        let mut row = step_cells(card, at, step);
        if skips {
            row.push(alarming(view::count(step.skipped), step.skipped > 0));
        }
        if spared {
            row.push(view::count(step.spared()));
        }
        rows.push(row);
        rows.extend(step.inner.iter().map(|inner| {
            let mut row = inner_cells(inner);
            row.resize(titles.len(), String::new());
            row
        }));
    }
    format!("\n**Steps**\n{}", table(&titles, &rows))
}

fn step_cells(card: &Card, at: usize, step: &StepRow) -> Vec<String> {
    let is_slowest = card
        .bottleneck
        .as_ref()
        .is_some_and(|found| found.step == at);
    let grade = match &step.grade {
        Some(grade) if grade.interval.is_some() => format!("{}*", grade.letter),
        Some(grade) => grade.letter.to_string(),
        None if card.grade.withheld => view::NONE.to_owned(),
        None => "NS".to_owned(),
    };
    // The asterisk of a small sample is no markup.
    let grade = grade.replace('*', "&#42;");
    let share = figure(step.time_share, |share| {
        format!("{} {}", bar(share, BAR), view::percent(share))
            .trim()
            .to_owned()
    });
    let mut name = alarming(code(&step.name), is_slowest && card.steps.len() > 1);
    let request: Vec<&str> = [&step.method, &step.url]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    if !request.is_empty() {
        let _ = write!(name, "<br>{}", code(&request.join(" ")));
    }
    vec![
        name,
        grade,
        view::count(step.executed),
        figure(step.per_second, view::rate),
        alarming(figure(step.error_rate, view::percent), step.failed > 0),
        time(step.response.p50),
        time(step.response.p95),
        time(step.response.p99),
        share,
    ]
}

/// A name of the requests of a step that sends for itself, below it.
fn inner_cells(row: &InnerRow) -> Vec<String> {
    vec![
        format!("↳ {}", code(&row.name)),
        String::new(),
        view::count(row.requests),
        String::new(),
        alarming(figure(row.error_rate, view::percent), row.failed > 0),
        time(row.service.p50),
        time(row.service.p95),
        time(row.service.p99),
    ]
}

pub(super) fn bottleneck(_: &Report, card: &Card) -> String {
    let Some(found) = &card.bottleneck else {
        return String::new();
    };
    let why = prose(&found.why);
    let mut section = if card.steps.len() > 1 {
        let share = view::percent(found.share);
        format!(
            "\n**Bottleneck:** {} takes {share} of the time. {why}\n",
            code(&found.name)
        )
    } else {
        format!("\n**Where the time goes:** {why}\n")
    };
    if let Some(tail) = &card.tail {
        let _ = writeln!(
            section,
            "\n**Slow tail:** {} takes {} of the time of the slowest 5 % of journeys, those of {} and more.",
            code(&tail.name),
            view::percent(tail.share),
            view::duration(Duration::from_micros(tail.at_least_us))
        );
    }
    section
}
