//! The tables of a plan: the course of the load, and the steps.

use super::super::outlook::{Bound, Phase, PhaseKind};
use super::super::{Prospect, words};
use super::{MARGIN, Page, margin};
use crate::commands::weights::short;
use crate::export::terminal::table::{Column, Table};
use crate::export::terminal::text::{BOLD, DIM, FAIR, PLAIN, clean};
use loadtest_model::card::view;
use loadtest_model::definition::StepDef;
use loadtest_model::plan::StepGrading;
use std::time::Duration;

pub(super) fn course(page: &mut Page, prospect: &Prospect<'_>) {
    let phases = &prospect.outlook.phases;
    if phases.is_empty() {
        return;
    }
    let open = prospect.plan.load.is_open();
    let mut columns = vec![
        Column::left("Course"),
        Column::left("from"),
        Column::left("to"),
        Column::right(if open { "iterations/s" } else { "users" }),
    ];
    if open {
        columns.push(Column::right("iterations"));
    }
    let mut table = Table::new(columns);
    for phase in phases {
        let time = |us: u64| match us {
            0 => "0 s".to_owned(),
            us => view::span(Duration::from_micros(us)),
        };
        let mut row = vec![
            (PLAIN, format_phase(phase).to_owned()),
            (PLAIN, time(phase.start_us)),
            (PLAIN, time(phase.start_us + phase.duration_us)),
            (PLAIN, level(phase)),
        ];
        if let Some(iterations) = phase.iterations {
            row.push((PLAIN, figure(iterations)));
        }
        table.row(row, None);
    }
    page.gap();
    for line in table.lines(page.width.saturating_sub(MARGIN)) {
        page.line(&margin(MARGIN).join(line));
    }
}

fn format_phase(phase: &Phase) -> &'static str {
    match phase.kind {
        PhaseKind::WarmUp => "warm-up, discarded",
        PhaseKind::Ramp if phase.to >= phase.from => "ramp-up",
        PhaseKind::Ramp => "ramp-down",
        PhaseKind::Steady => "measured",
    }
}

fn level(phase: &Phase) -> String {
    let number = |level: f64| figure(level);
    if (phase.from - phase.to).abs() < f64::EPSILON {
        number(phase.to)
    } else {
        format!("{} → {}", number(phase.from), number(phase.to))
    }
}

pub(super) fn steps(page: &mut Page, prospect: &Prospect<'_>) {
    let rates = prospect.outlook.iterations.per_second.is_some();
    let totals = prospect
        .outlook
        .steps
        .iter()
        .any(|step| step.requests.total.is_some());
    let mut columns = vec![
        Column::left("Steps"),
        Column::right("weight"),
        Column::right("effective"),
        Column::right("per iteration"),
    ];
    if rates {
        columns.push(Column::right("per second"));
    }
    if totals {
        columns.push(Column::right("in all"));
    }
    let mut table = Table::new(columns);
    for (i, step) in prospect.outlook.steps.iter().enumerate() {
        let requests = &step.requests;
        let per_iteration = match (requests.per_iteration, requests.per_user) {
            (Some(number), _) => format!("{}{}", mark(requests.bound), short(number)),
            (None, Some(number)) if requests.bound == Bound::AtLeast => {
                format!("≥ {} per user", short(number))
            }
            (None, Some(number)) => format!("{} per user", short(number)),
            (None, None) => view::NONE.to_owned(),
        };
        let marked = |number: Option<f64>, shown: fn(f64) -> String| {
            let words = number.map(|number| format!("{}{}", mark(requests.bound), shown(number)));
            (PLAIN, words.unwrap_or_else(|| view::NONE.to_owned()))
        };
        let differs = (step.effective_weight - step.weight).abs() > 1e-9;
        let mut row = vec![
            (BOLD, format!("{} {}", i + 1, clean(&step.name))),
            (PLAIN, short(step.weight).to_string()),
            (
                if differs { FAIR } else { PLAIN },
                short(step.effective_weight).to_string(),
            ),
            (PLAIN, per_iteration),
        ];
        if rates {
            row.push(marked(requests.per_second, view::rate));
        }
        if totals {
            row.push(marked(requests.total, figure));
        }
        table.row(row, None);
    }
    page.gap();
    let mut lines = table.lines(page.width.saturating_sub(MARGIN)).into_iter();
    if let Some(head) = lines.next() {
        page.line(&margin(MARGIN).join(head));
    }
    let below = prospect.scenario.steps.iter().zip(&prospect.outlook.steps);
    for (line, (step, expected)) in lines.zip(below) {
        page.line(&margin(MARGIN).join(line));
        let words = step_details(step, &expected.grading);
        page.text(margin(2 * MARGIN), DIM, &format_request(step));
        page.text(margin(2 * MARGIN), DIM, &words.join("; "));
    }
}

fn format_request(step: &StepDef) -> String {
    let method = step.method.as_deref().unwrap_or("*");
    match step.url.as_deref() {
        Some(url) => format!("{method} {url}"),
        None if step.method.is_some() => format!("{method} (made by its code)"),
        None => "made by its code".to_owned(),
    }
}

fn step_details(step: &StepDef, grading: &StepGrading) -> Vec<String> {
    let mut words = words::marks(step);
    if let Some(think) = &step.think {
        words.push(format!("then thinks {}", words::think(think)));
    }
    if !step.thresholds.is_empty() {
        words.push(words::thresholds(&step.thresholds));
    }
    words.push(format!("timeout {}", view::span(step.timeout)));
    words.push(format!(
        "graded by {}, {} errors, weight {}",
        view::span(grading.target),
        view::exact_percent(grading.budget),
        short(grading.weight)
    ));
    words
}

pub(super) fn mark(bound: Bound) -> &'static str {
    match bound {
        Bound::Expected => "",
        Bound::AtLeast => "≥ ",
        Bound::AtMost => "≤ ",
    }
}

/// A number of things that need not be whole: `350`, `12.5`, `0.04`.
pub(super) fn figure(number: f64) -> String {
    if number >= 99.95 || number.fract().abs() < 1e-9 {
        view::count(number.round() as u64)
    } else {
        short(if number >= 1.0 {
            (number * 10.0).round() / 10.0
        } else {
            number
        })
        .to_string()
    }
}
