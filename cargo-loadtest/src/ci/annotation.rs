//! Notes at lines of the source: why a run did not pass at the step that is to blame, and what speaks against it.

use loadtest_model::card::{Card, Report, StepRow, ThresholdRow, Trust};
use loadtest_model::definition::Metric;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;

/// The severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Error,
    Warning,
}

/// A note at a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Annotation {
    pub(super) level: Level,
    /// The file, as the compiler names it, and the line.
    pub(super) place: Option<(String, u32)>,
    pub(super) title: String,
    pub(super) text: String,
}

/// The most kinds of failures of a note.
const KINDS: usize = 3;

/// All notes on a run, those of the scenarios that did not pass first.
pub(super) fn list_annotations(report: &Report) -> Vec<Annotation> {
    if let Some(search) = &report.capacity {
        // A search has one verdict, of which its trials are no part.
        let words: Vec<_> = search.remarks.iter().map(|remark| &*remark.words).collect();
        let note = Annotation {
            level: Level::Error,
            place: report.cards.first().and_then(place_of_card),
            title: format!("{}: capacity {}", search.scenario, search.verdict.name()),
            text: words.join("\n"),
        };
        return (report.exit_code() != ExitCode::Passed)
            .then_some(note)
            .into_iter()
            .collect();
    }
    let not_run = report.not_run.iter().map(|scenario| Annotation {
        level: Level::Error,
        place: None,
        title: format!("{}: DID NOT RUN", scenario.scenario),
        text: std::iter::once(&scenario.message)
            .chain(&scenario.help)
            .map(|text| &**text)
            .collect::<Vec<_>>()
            .join("\n"),
    });
    let mut all: Vec<_> = not_run.collect();
    all.extend(report.cards.iter().flat_map(annotate_errors));
    all.extend(report.cards.iter().flat_map(annotate_warnings));
    all
}

fn place_of_card(card: &Card) -> Option<(String, u32)> {
    let (file, line) = card.source.rsplit_once(':')?;
    // What came from no file: `<stdin>`.
    if file.starts_with('<') {
        return None;
    }
    Some((file.to_owned(), line.parse().ok()?))
}

/// The line of a step; that of the scenario where there is no such step.
fn place_of(card: &Card, step: Option<&str>) -> Option<(String, u32)> {
    let (file, line) = place_of_card(card)?;
    let row = step.and_then(|step| card.steps.iter().find(|row| row.name == step));
    Some((file, row.map_or(line, |row| row.line)))
}

/// Returns a note for each reason of the verdict.
fn annotate_errors(card: &Card) -> Vec<Annotation> {
    let note = |step: Option<&str>, text: String| Annotation {
        level: Level::Error,
        place: place_of(card, step),
        title: format!("{}: {}", card.name, card.verdict.name()),
        text,
    };
    let reasons = card.reasons.iter();
    let mut all: Vec<_> = reasons
        .map(|reason| note(reason.step.as_deref(), reason.words.clone()))
        .collect();
    let is_error = |row: &ThresholdRow| {
        !row.passed && row.row.is_none() && matches!(row.metric, Metric::Errors | Metric::Checks)
    };
    if card.thresholds.iter().any(is_error) {
        let mut failed: Vec<_> = card.steps.iter().filter(|step| step.failed > 0).collect();
        failed.sort_by_key(|step| std::cmp::Reverse(step.failed));
        all.extend(
            failed
                .into_iter()
                .map(|step| note(Some(&step.name), describe_failures(card, step))),
        );
    }
    all
}

/// Tells how often a step failed, and how.
fn describe_failures(card: &Card, step: &StepRow) -> String {
    let (failed, all) = (
        display::format_count(step.failed),
        display::format_count(step.executed),
    );
    let mut lines = vec![format!("`{}` failed {failed} of {all} times", step.name)];
    let errors = card.errors.iter();
    let errors = errors.filter(|error| error.step == step.name && error.count > 0);
    lines.extend(errors.take(KINDS).map(|error| {
        let (count, kind) = (display::format_count(error.count), error.kind);
        format!("{count} x {kind}: {}", error.example)
    }));
    lines.join("\n")
}

/// Returns the objections to the measurement, whatever the verdict.
fn annotate_warnings(card: &Card) -> Vec<Annotation> {
    let note = |step: Option<&str>, about: &str, text: String| Annotation {
        level: Level::Warning,
        place: place_of(card, step),
        title: format!("{}: {about}", card.name),
        text,
    };
    let mut all = Vec::new();
    for cause in &card.validity.causes {
        if cause.trust == Trust::Degraded {
            let text = format!("{}\n{}", cause.what, cause.remedy);
            all.push(note(None, "the measurement is degraded", text));
        }
    }
    for failure in &card.dependency_failures {
        if failure.count > 0 {
            let text = format!(
                "{} times: {}",
                display::format_count(failure.count),
                failure.describe()
            );
            all.push(note(Some(&failure.step), "dependency failures", text));
        }
    }
    if card.setting.default_load {
        let text = "no load is declared, so one user ran for 10 s, which only shows that it works; \
                    declare `load = ..`, or give `--rate` or `--users`";
        all.push(note(None, "hardly any load", text.to_owned()));
    }
    all
}
