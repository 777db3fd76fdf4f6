//! The tables of a plan: the course of the load, and the steps.

use crate::commands::plan::outlook::{Bound, Phase};
use crate::commands::plan::{Prospect, words};
use crate::commands::weights::round_weight;
use crate::export::terminal::Screen;
use crate::export::terminal::table::{TextColumn, TextTable};
use crate::export::terminal::text::{BOLD, DIM, FAIR, Line, PLAIN};
use loadtest_model::definition::StepDef;
use loadtest_model::display;
use loadtest_model::plan::StepGrading;
use loadtest_model::schedule::Window;
use std::time::Duration;

pub(super) fn render_course(page: &mut Screen, prospect: &Prospect<'_>) {
    let phases = &prospect.outlook.phases;
    if phases.is_empty() {
        return;
    }
    let open = prospect.plan.load.is_open();
    let mut columns = vec![
        TextColumn::left("Course"),
        TextColumn::left("from"),
        TextColumn::left("to"),
        TextColumn::right(if open { "iterations/s" } else { "users" }),
    ];
    if open {
        columns.push(TextColumn::right("iterations"));
    }
    let mut table = TextTable::new(columns);
    for phase in &join_phases(phases) {
        let time = |us: u64| match us {
            0 => "0 s".to_owned(),
            us => display::format_span(Duration::from_micros(us)),
        };
        let mut row = vec![
            (PLAIN, format_phase(phase).to_owned()),
            (PLAIN, time(phase.start_us)),
            (PLAIN, time(phase.start_us + phase.duration_us)),
            (PLAIN, format_level(phase)),
        ];
        if let Some(iterations) = phase.iterations {
            row.push((PLAIN, format_figure(iterations)));
        }
        table.row(row, None);
    }
    page.gap();
    for line in table.lines(page.room()) {
        page.line(line);
    }
}

/// The most rows of the course.
const MOST_ROWS: usize = 12;

/// Joins neighbours of one kind where there are more than there is room for, as of a curve.
fn join_phases(phases: &[Phase]) -> Vec<Phase> {
    let size = phases.len().div_ceil(MOST_ROWS);
    let mut joined: Vec<(usize, Phase)> = Vec::new();
    for phase in phases {
        match joined.last_mut() {
            Some((count, last)) if *count < size && last.kind == phase.kind => {
                *count += 1;
                last.duration_us += phase.duration_us;
                last.to = phase.to;
                last.iterations = last.iterations.zip(phase.iterations).map(|(a, b)| a + b);
            }
            _ => joined.push((1, phase.clone())),
        }
    }
    joined.into_iter().map(|(_, phase)| phase).collect()
}

fn format_phase(phase: &Phase) -> &'static str {
    match phase.kind {
        Window::WarmUp => "warm-up, discarded",
        Window::Ramp if phase.to >= phase.from => "ramp-up",
        Window::Ramp => "ramp-down",
        Window::Steady => "measured",
    }
}

fn format_level(phase: &Phase) -> String {
    let [from, to] = [phase.from, phase.to].map(format_figure);
    if from == to {
        to
    } else {
        format!("{from} → {to}")
    }
}

pub(super) fn render_steps(page: &mut Screen, prospect: &Prospect<'_>) {
    let rates = prospect.outlook.iterations.per_second.is_some();
    let totals = prospect
        .outlook
        .steps
        .iter()
        .any(|step| step.requests.total.is_some());
    let mut columns = vec![
        TextColumn::left("Steps"),
        TextColumn::right("weight"),
        TextColumn::right("effective"),
        TextColumn::right("per iteration"),
    ];
    if rates {
        columns.push(TextColumn::right("per second"));
    }
    if totals {
        columns.push(TextColumn::right("in all"));
    }
    let mut table = TextTable::new(columns);
    for (i, step) in prospect.outlook.steps.iter().enumerate() {
        let requests = &step.requests;
        let per_iteration = match (requests.per_iteration, requests.per_user) {
            (Some(number), _) => format!("{}{}", bound_mark(requests.bound), round_weight(number)),
            (None, Some(number)) => {
                let least = match requests.bound {
                    Bound::AtLeast => "≥ ",
                    _ => "",
                };
                format!("{least}{} per user", round_weight(number))
            }
            (None, None) => display::NO_VALUE.to_owned(),
        };
        let marked = |number: Option<f64>, shown: fn(f64) -> String| {
            let words =
                number.map(|number| format!("{}{}", bound_mark(requests.bound), shown(number)));
            (PLAIN, words.unwrap_or_else(|| display::NO_VALUE.to_owned()))
        };
        let differs = (step.effective_weight - step.weight).abs() > 1e-9;
        let mut row = vec![
            (BOLD, format!("{} {}", i + 1, step.name)),
            (PLAIN, round_weight(step.weight).to_string()),
            (
                if differs { FAIR } else { PLAIN },
                round_weight(step.effective_weight).to_string(),
            ),
            (PLAIN, per_iteration),
        ];
        if rates {
            row.push(marked(requests.per_second, display::format_rate));
        }
        if totals {
            row.push(marked(requests.total, format_figure));
        }
        table.row(row, None);
    }
    page.gap();
    let mut lines = table.lines(page.room()).into_iter();
    lines.by_ref().take(1).for_each(|head| page.line(head));
    let below = prospect.scenario.steps.iter().zip(&prospect.outlook.steps);
    for (line, (step, expected)) in lines.zip(below) {
        page.line(line);
        let words = step_details(step, &expected.grading).join("; ");
        for below in [format_request(step), words] {
            page.text(Line::new().to(2), DIM, &below);
        }
    }
}

fn format_request(step: &StepDef) -> String {
    let method = step.method.as_deref().unwrap_or("*");
    match step.url.as_deref() {
        Some(url) => format!("{method} {url}"),
        None if step.method.is_some() => format!("{method} (computed by its code)"),
        None => "made by its code".to_owned(),
    }
}

fn step_details(step: &StepDef, grading: &StepGrading) -> Vec<String> {
    let mut words = words::list_marks(step);
    if let Some(think) = &step.think {
        words.push(format!("then thinks {}", words::format_think(think)));
    }
    if !step.thresholds.is_empty() {
        words.push(words::join_thresholds(&step.thresholds));
    }
    words.push(format!("timeout {}", display::format_span(step.timeout)));
    words.push(format!(
        "graded by {}, {} errors, weight {}",
        display::format_span(grading.target),
        display::format_exact_percent(grading.budget),
        round_weight(grading.weight)
    ));
    words
}

pub(super) fn bound_mark(bound: Bound) -> &'static str {
    match bound {
        Bound::Expected => "",
        Bound::AtLeast => "≥ ",
        Bound::AtMost => "≤ ",
    }
}

/// A number of things that need not be whole: `350`, `12.5`, `0.04`.
pub(super) fn format_figure(number: f64) -> String {
    if number >= 99.95 || number.fract().abs() < 1e-9 {
        display::format_count(number.round() as u64)
    } else {
        round_weight(if number >= 1.0 {
            (number * 10.0).round() / 10.0
        } else {
            number
        })
        .to_string()
    }
}
