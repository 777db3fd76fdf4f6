//! The sheet of a search for the capacity.

use super::{
    Badge, Block, Column, Form, Section, Sentence, Sheet, SheetKind, Table, TableCell, Tone,
    findings, units,
};
use loadtest_model::capacity::{Trial, TrialOutcome};
use loadtest_model::card::{Capacity, CapacityVerdict, Report, Tone as RemarkTone};
use loadtest_model::definition::Metric;
use loadtest_model::display;
use loadtest_model::record::ObservedFigure;

/// The most figures of the target's side beside a trial.
const OBSERVED: usize = 4;

pub(super) fn build_sheet(report: &Report, found: &Capacity) -> Sheet {
    let tone = match found.verdict {
        CapacityVerdict::Confirmed => Tone::Good,
        CapacityVerdict::Invalid | CapacityVerdict::Interrupted => Tone::Fair,
        _ => Tone::Bad,
    };
    let remarks = found.remarks.iter().map(|remark| {
        let tone = match remark.tone {
            RemarkTone::Good => Tone::Good,
            RemarkTone::Bad => Tone::Bad,
            RemarkTone::Note => Tone::Fair,
        };
        Sentence::marked(tone, &*remark.words)
    });
    let mut sections = Vec::from_iter(build_trials(found));
    sections.extend(
        report
            .cards
            .first()
            .map(|card| findings::build_environment(report, card)),
    );
    units::share_units(&mut sections);
    Sheet {
        anchor: "search".to_owned(),
        kind: SheetKind::Search,
        verdict: found.verdict.name().to_owned(),
        tone,
        name: found.scenario.clone(),
        about: format!(
            "capacity at {} · trials of {}, confirmed over {}",
            found.slo(),
            display::format_span(found.goal.window),
            display::format_span(found.goal.confirm)
        ),
        badge: Some(Badge {
            title: "capacity",
            label: found.headline(),
            tone,
            notes: Vec::new(),
        }),
        remarks: remarks.collect(),
        sections,
        ..Sheet::default()
    }
}

/// Builds the section of the trials, if there are any.
pub(super) fn build_trials(found: &Capacity) -> Option<Section> {
    if found.trials.is_empty() {
        return None;
    }
    let further = found.further_conditions();
    let mut columns = vec![
        Column::figure("Rate"),
        Column::figure("Achieved").leaves(1),
        Column::figure("p95"),
        Column::figure("Errors"),
    ];
    columns.extend(further.iter().map(|(_, title)| Column::figure(title)));
    let observed = list_observed(found);
    columns.extend(observed.iter().map(|name| Column::figure(name).leaves(2)));
    columns.extend([Column::figure("Window"), Column::text("Result", 1.0)]);
    let mut table = Table::new("In the order in which they were tried", columns);
    for trial in &found.trials {
        let (mark, tone) = match trial.attempt.outcome {
            TrialOutcome::Met => ('✓', Tone::Good),
            TrialOutcome::Missed => ('✗', Tone::Bad),
            TrialOutcome::GeneratorLimited => ('!', Tone::Fair),
        };
        let breaks = |metric: Metric| {
            let slo = found.goal.slo.iter().enumerate();
            let mut of_journey = slo.filter(|(_, scoped)| {
                let threshold = &scoped.threshold;
                scoped.step.is_none()
                    && scoped.group.is_none()
                    && threshold.subject.is_whole()
                    && threshold.metric == metric
            });
            Tone::alarm(of_journey.any(|(at, _)| trial.breaks(at)))
        };
        let mut cells = vec![
            TableCell::figure(display::format_rate(trial.attempt.per_second)),
            TableCell::optional(trial.achieved_per_second, display::format_rate),
            TableCell::time(trial.p95).tone(breaks(Metric::P95)),
            TableCell::optional(trial.error_rate, display::format_percent)
                .tone(breaks(Metric::Errors)),
        ];
        cells.extend(further.iter().map(|(at, _)| further_cell(trial, *at)));
        cells.extend(observed.iter().map(|name| observed_cell(trial, name)));
        cells.push(TableCell::figure(display::format_span(trial.window)));
        let mut result = TableCell::figure(format!("{mark} {}", trial.describe())).tone(tone);
        if !trial.reasons.is_empty() {
            result = result.note(Form::Prose, trial.reasons.join("; "));
        }
        cells.push(result);
        table.push(cells);
    }
    let trials = Block::Table(table);
    Some(Section::new("Trials", vec![trials]).essential())
}

/// Returns the figures of the target's side that the table has room for; those of the team come first.
fn list_observed(found: &Capacity) -> Vec<&str> {
    let most = found.trials.iter().map(|trial| &trial.observed);
    let most = most.max_by_key(|observed| observed.len());
    let names = most.into_iter().flatten().map(|one| &*one.name);
    // Of these there is a column already.
    let is_condition = |name: &&str| {
        let mut conditions = found.goal.observed.iter();
        conditions.any(|one| one.name == **name && one.limit.figure == ObservedFigure::Max)
    };
    names
        .filter(|name| !is_condition(name))
        .take(OBSERVED)
        .collect()
}

fn observed_cell(trial: &Trial, name: &str) -> TableCell {
    let found = trial.observed.iter().find(|one| one.name == name);
    let value = found.and_then(|one| Some((one.max?, &one.unit)));
    TableCell::optional(value, |(max, unit)| display::format_observed(max, unit))
}

fn further_cell(trial: &Trial, condition: usize) -> TableCell {
    let measured = trial.slo.get(condition);
    TableCell::optional(measured, |measured| measured.words.clone())
        .tone(Tone::alarm(trial.breaks(condition)))
}
