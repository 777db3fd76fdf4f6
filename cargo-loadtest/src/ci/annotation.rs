//! Notes at lines of the source: why a run did not pass at the step that is to blame, and what speaks against it.

use loadtest_model::card::{Card, ReasonKind, Report, ThresholdRow, Trust, Verdict};
use loadtest_model::comparison::{Change, Comparison, ComparisonOutcome};
use loadtest_model::definition::{Metric, Part};
use loadtest_model::display;

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

/// The most figures of a note.
const FIGURES: usize = 3;

/// All notes on a run, the gravest first; each scenario has its first before one has its second.
pub(super) fn list_annotations(report: &Report) -> Vec<Annotation> {
    let mut groups: Vec<Vec<Annotation>> = Vec::new();
    if let Some(search) = report.capacity.as_ref().filter(|_| report.exit_code() != 0) {
        let card = report.cards.first();
        let words: Vec<_> = search.remarks.iter().map(|remark| &*remark.words).collect();
        groups.push(vec![Annotation {
            level: Level::Error,
            place: card.and_then(place_of_card),
            title: format!("{}: capacity {}", search.scenario, search.verdict.name()),
            text: words.join("\n"),
        }]);
    }
    let mut cards: Vec<&Card> = report.cards.iter().collect();
    cards.sort_by_key(|card| (grade_of(card), card.identity.clone()));
    let not_run = report.not_run.iter().map(|scenario| {
        let text = match &scenario.help {
            Some(help) => format!("{}\n{help}", scenario.message),
            None => scenario.message.clone(),
        };
        vec![Annotation {
            level: Level::Error,
            place: None,
            title: format!("{}: DID NOT RUN", scenario.scenario),
            text,
        }]
    });
    groups.extend(not_run);
    // A search has one verdict, of which its trials are no part.
    let of_card = |card: &&Card| match report.capacity {
        None => annotate_card(card),
        Some(_) => Vec::new(),
    };
    groups.extend(cards.iter().map(of_card));
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .flat_map(|at| groups.iter().filter_map(move |group| group.get(at)))
        .cloned()
        .collect()
}

/// Orders cards: failures first, and among them the lowest score.
fn grade_of(card: &Card) -> (bool, u32) {
    let score = card.grade.score.unwrap_or(0.0);
    (card.verdict == Verdict::Passed, (score * 1e6) as u32)
}

fn annotate_card(card: &Card) -> Vec<Annotation> {
    let mut all = annotate_errors(card);
    all.extend(annotate_warnings(card));
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
    let mut all: Vec<Annotation> = Vec::new();
    for reason in &card.reasons {
        let mut text = reason.words.clone();
        let mut step = reason.step.as_deref();
        let broken = card
            .thresholds
            .iter()
            .find(|row| reason.kind == ReasonKind::Threshold && row.reason() == reason.words);
        let is_of_journey = |row: &ThresholdRow| {
            row.step.is_none() && matches!(row.metric, Metric::Time(Part::Whole | Part::Service, _))
        };
        if broken.is_some_and(is_of_journey)
            && let Some(most) = &card.bottleneck
        {
            text = format!(
                "{text}\n`{}` takes {} of the time",
                most.name,
                display::format_percent(most.share)
            );
            step = Some(&most.name);
        }
        if let Some((step, row)) = step.zip(broken)
            && row.metric == Metric::Errors
            && let Some(kinds) = describe_failures(card, step)
        {
            text = format!("{text}\n{kinds}");
        }
        all.push(note(step, text));
    }
    let of_journey = |row: &&ThresholdRow| {
        !row.passed && row.step.is_none() && matches!(row.metric, Metric::Errors | Metric::Checks)
    };
    if card.thresholds.iter().any(|row| of_journey(&row)) {
        let mut failed: Vec<_> = card.steps.iter().filter(|step| step.failed > 0).collect();
        failed.sort_by_key(|step| std::cmp::Reverse(step.failed));
        for step in failed {
            if let Some(text) = describe_failures(card, &step.name) {
                all.push(note(Some(&step.name), text));
            }
        }
    }
    all
}

/// Tells how often a step failed, and how; nothing where it did not.
fn describe_failures(card: &Card, name: &str) -> Option<String> {
    let step = card.steps.iter().find(|step| step.name == name)?;
    let kinds: Vec<_> = card
        .errors
        .iter()
        .filter(|error| error.step == name && error.count > 0)
        .take(FIGURES)
        .map(|error| {
            let (count, kind) = (display::format_count(error.count), error.kind);
            format!("{count} x {kind}: {}", error.example)
        })
        .collect();
    (step.failed > 0).then(|| {
        let (failed, all) = (
            display::format_count(step.failed),
            display::format_count(step.executed),
        );
        let counted = format!("`{name}` failed {failed} of {all} times");
        std::iter::once(counted)
            .chain(kinds)
            .collect::<Vec<_>>()
            .join("\n")
    })
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
    if let Some(beside) = &card.comparison {
        let name = &beside.baseline;
        match &beside.outcome {
            ComparisonOutcome::Compared(comparison) => {
                let about = format!("not told from the baseline {name}");
                all.extend(describe_undecided(comparison).map(|text| note(None, &about, text)));
            }
            ComparisonOutcome::Absent => {
                let text = format!("the baseline `{name}` holds no run of this scenario");
                all.push(note(None, "compared with nothing", text));
            }
            ComparisonOutcome::Refused { .. } => {}
        }
    }
    if card.setting.default_load {
        let text = "no load is declared, so one user ran for 10 s, which shows that it works and no more; \
                    declare `load = ..`, or give `--rate` or `--users`";
        all.push(note(None, "hardly any load", text.to_owned()));
    }
    all
}

/// The figures of which nothing could be said.
fn describe_undecided(comparison: &Comparison) -> Option<String> {
    let mut lines = Vec::new();
    for subject in &comparison.subjects {
        for figure in &subject.figures {
            if figure.verdict == Change::Inconclusive {
                let of = subject.step.as_deref().unwrap_or("the journey");
                lines.push(format!(
                    "{} of {of}: {}",
                    figure.figure.name(),
                    figure.describe()
                ));
            }
        }
    }
    let more = lines.len().saturating_sub(FIGURES);
    lines.truncate(FIGURES);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}
