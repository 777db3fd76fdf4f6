//! The steps: what each did, and where the time goes.

use super::table::{Column, Table};
use super::text::{ACCENT, BAD, BOLD, DIM, FAIR, Line, PLAIN, bar, clean, shorten, width};
use super::{Page, ledger, letter_style};
use crate::export::facts::{run_again, spared_title};
use loadtest_model::card::{Card, InnerRow, StepRow, view};
use std::cmp::Reverse;
use std::time::Duration;

/// Of the parts of a journey, those of at least a fifth are told one by one.
const NOTABLE: u64 = 5;

pub(super) fn table(page: &mut Page, card: &Card) {
    let any = |counts: fn(&StepRow) -> u64| card.steps.iter().any(|step| counts(step) > 0);
    // The ledger has them all, where there is one.
    let has_ledger = ledger::is_shown(card);
    let spared = !has_ledger && any(StepRow::spared);
    let kept = !has_ledger && any(|step| step.kept);
    let skips = !has_ledger && any(|step| step.skipped);
    let repeats = any(|step| step.retries);
    let mut columns = vec![
        Column::left("step"),
        Column::left("grade"),
        Column::right("executed").leaves(1),
        Column::right("RPS").leaves(4),
        Column::right("errors"),
        Column::right("p50").leaves(3),
        Column::right("p95"),
        Column::right("p99").leaves(2),
        Column::right("time"),
        Column::right("received").leaves(6),
    ];
    if repeats {
        columns.push(Column::right("requests").leaves(3));
    }
    if skips {
        columns.push(Column::right("skips"));
    }
    if spared {
        columns.push(Column::right(spared_title(card)).leaves(5));
    }
    if kept {
        columns.push(Column::right("kept").leaves(5));
    }
    let mut table = Table::new(columns);
    for (i, step) in card.steps.iter().enumerate() {
        let slowest = card.steps.len() > 1
            && card
                .bottleneck
                .as_ref()
                .is_some_and(|found| found.step == i);
        table.row(
            step_cells(step, card, slowest, [repeats, skips, spared, kept]),
            request_of(step),
        );
        for row in &step.inner {
            table.row(inner_cells(row, [repeats, skips, spared, kept]), None);
        }
    }
    page.title("Steps");
    let lines = table.lines(page.room());
    page.lines(lines);
}

fn request_of(step: &StepRow) -> Option<String> {
    let words: Vec<String> = [&step.method, &step.url]
        .into_iter()
        .flatten()
        .map(|part| clean(part))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// `shown` says whether there are columns of requests, of skips, of steps left out, and of those kept.
fn step_cells(
    step: &StepRow,
    card: &Card,
    slowest: bool,
    shown: [bool; 4],
) -> Vec<(anstyle::Style, String)> {
    let figure = |figure: Option<String>| figure.unwrap_or_else(|| view::NONE.to_owned());
    let grade = match &step.grade {
        Some(grade) if grade.interval.is_some() => format!("{}*", grade.letter),
        Some(grade) => grade.letter.to_string(),
        None if card.grade.withheld => view::NONE.to_owned(),
        None => "NS".to_owned(),
    };
    let name = if slowest { BAD.bold() } else { BOLD };
    let share = if slowest { BAD } else { PLAIN };
    let red = |bad: bool| if bad { BAD } else { PLAIN };
    let mut cells = vec![
        (name, clean(&step.name)),
        (letter_style(step.grade.map(|grade| grade.letter)), grade),
        (PLAIN, view::count(step.executed)),
        (PLAIN, figure(step.per_second.map(view::rate))),
        (
            red(step.failed > 0),
            figure(step.error_rate.map(view::percent)),
        ),
        (PLAIN, figure(step.response.p50.map(view::duration))),
        (PLAIN, figure(step.response.p95.map(view::duration))),
        (PLAIN, figure(step.response.p99.map(view::duration))),
        (share, figure(step.time_share.map(view::percent))),
        (
            PLAIN,
            figure(step.received_bytes_per_second.map(view::throughput)),
        ),
    ];
    let [repeats, skips, spared, kept] = shown;
    if repeats {
        cells.push((PLAIN, view::count(step.requests)));
    }
    if skips {
        cells.push((red(step.skipped > 0), view::count(step.skipped)));
    }
    if spared {
        cells.push((PLAIN, view::count(step.spared())));
    }
    if kept {
        let kept = (step.kept > 0).then(|| view::count(step.kept));
        cells.push((PLAIN, kept.unwrap_or_default()));
    }
    cells
}

/// One name of the requests of a step that sends for itself, below it.
fn inner_cells(row: &InnerRow, shown: [bool; 4]) -> Vec<(anstyle::Style, String)> {
    let figure = |figure: Option<String>| figure.unwrap_or_else(|| view::NONE.to_owned());
    let none = || (PLAIN, String::new());
    let errors = if row.failed > 0 { BAD } else { DIM };
    let time = |time: Option<Duration>| (DIM, figure(time.map(view::duration)));
    let mut cells = vec![
        (DIM, format!("  {}", clean(&row.name))),
        none(),
        (DIM, view::count(row.requests)),
        none(),
        (errors, figure(row.error_rate.map(view::percent))),
        time(row.service.p50),
        time(row.service.p95),
        time(row.service.p99),
        none(),
        none(),
    ];
    cells.extend(shown.into_iter().filter(|is| *is).map(|_| none()));
    cells
}

pub(super) fn time(page: &mut Page, card: &Card) {
    let Some(bottleneck) = &card.bottleneck else {
        return;
    };
    page.title("Where the time goes");
    if card.steps.len() > 1 {
        let names = card.steps.iter().map(|step| width(&clean(&step.name)));
        let name = names.max().unwrap_or(0).min(page.room() / 3);
        let room = page.room().saturating_sub(name + 12);
        for (i, step) in card.steps.iter().enumerate() {
            let share = step.time_share.unwrap_or(0.0);
            let style = if i == bottleneck.step { BAD } else { ACCENT };
            let line = Line::new()
                .add(PLAIN, shorten(&clean(&step.name), name))
                .to(name + 2)
                .add(style, bar(share, room))
                .add(DIM, format!(" {}", view::percent(share)));
            page.line(line);
        }
        page.text(
            Line::new().add(BAD.bold(), "Bottleneck "),
            PLAIN,
            &format!(
                "`{}` takes {} of the time. {}",
                bottleneck.name,
                view::percent(bottleneck.share),
                bottleneck.why
            ),
        );
    } else {
        page.text(Line::new(), PLAIN, &bottleneck.why);
    }
    if let Some(tail) = &card.tail {
        page.text(
            Line::new().add(FAIR.bold(), "Slow tail  "),
            PLAIN,
            &format!(
                "`{}` takes {} of the time of the slowest 5 % of journeys, those of {} and more.",
                tail.name,
                view::percent(tail.share),
                view::duration(Duration::from_micros(tail.at_least_us))
            ),
        );
    }
}

/// The slowest journey, and how to look at it.
pub(super) fn slowest(page: &mut Page, card: &Card) {
    let Some(journey) = card.slowest.first() else {
        return;
    };
    let micros = |us: u64| view::duration(Duration::from_micros(us));
    let mut parts = Vec::new();
    if journey.delay_us * NOTABLE >= journey.time_us {
        parts.push(format!("{} late", micros(journey.delay_us)));
    }
    let mut steps: Vec<_> = journey.steps.iter().collect();
    steps.sort_by_key(|step| Reverse(step.time_us));
    let (long, short): (Vec<_>, Vec<_>) = steps
        .into_iter()
        .partition(|step| step.time_us * NOTABLE >= journey.time_us);
    for step in &long {
        let failed = if step.ok { "" } else { " (failed)" };
        parts.push(format!("`{}` {}{failed}", step.name, micros(step.time_us)));
    }
    let rest = short.len() as u64;
    if rest > 0 {
        let time = micros(short.iter().map(|step| step.time_us).sum());
        parts.push(format!("{} {time}", view::counted(rest, "other step")));
    }
    let ended = if journey.ok { "" } else { ", failed" };
    let words = format!(
        "iteration {} took {}{ended}: {}.",
        journey.number,
        micros(journey.time_us),
        parts.join(", ")
    );
    page.text(Line::new().add(BOLD, "Slowest    "), PLAIN, &words);
    let again = run_again(card, &journey.number);
    page.text(Line::new().to(2), DIM, &again);
}
