//! The section of changes against a baseline or another run: figures of the journey and of what changed as
//! rows, the rest as sentences.

use super::{Block, Column, Section, Sentence, Table, TableCell, Tone};
use crate::export::labels::JOURNEY;
use loadtest_console::console::clean;
use loadtest_model::card::Card;
use loadtest_model::comparison::{
    BaselineComparison, Change, Compared, Comparison, ComparisonOutcome, Figure, ObservedCompared,
    Skipped, Subject,
};
use loadtest_model::display;
use std::collections::BTreeMap;
use std::fmt;

/// The most rows of figures on a card.
const ROWS: usize = 20;

/// The other side of a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ComparisonBase<'a> {
    /// The runs of a baseline, by its name.
    Baseline(&'a str),
    /// Another run, by its identifier.
    Run(&'a str),
}

impl fmt::Display for ComparisonBase<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baseline(name) => write!(f, "the baseline {}", clean(name)),
            Self::Run(id) => write!(f, "the run {}", clean(id)),
        }
    }
}

/// The sign of a change, so that colour is not all that tells changes apart.
const fn change_mark(change: Change) -> char {
    match change {
        Change::Regressed => '✗',
        Change::Improved => '✓',
        Change::Unchanged => '=',
        Change::Inconclusive => '?',
    }
}

const fn tone_of_change(change: Change) -> Tone {
    match change {
        Change::Regressed => Tone::Bad,
        Change::Improved => Tone::Good,
        Change::Inconclusive => Tone::Fair,
        Change::Unchanged => Tone::Plain,
    }
}

/// All changes, the gravest first.
const CHANGES: [Change; 4] = [
    Change::Regressed,
    Change::Improved,
    Change::Inconclusive,
    Change::Unchanged,
];

/// Builds the section of a card, where it was compared.
pub(super) fn build_of_card(card: &Card) -> Option<Section> {
    let BaselineComparison { baseline, outcome } = card.comparison.as_ref()?;
    let base = ComparisonBase::Baseline(baseline);
    Some(build_section(base, outcome, select_gravest))
}

/// Builds the section of a comparison with all of its figures.
pub(crate) fn build_complete_section(
    base: ComparisonBase<'_>,
    outcome: &ComparisonOutcome,
) -> Section {
    build_section(base, outcome, list_figures)
}

/// Builds the section of a scenario that only `base` has.
pub(crate) fn build_missing_section(base: ComparisonBase<'_>) -> Section {
    let lead = Sentence::plain(format!("Not compared: only {base} has this scenario."));
    wrap_section(base, vec![Block::Sentences(vec![lead])])
}

fn wrap_section(base: ComparisonBase<'_>, blocks: Vec<Block>) -> Section {
    Section::new(format!("Against {base}"), blocks).essential()
}

fn build_section(
    base: ComparisonBase<'_>,
    outcome: &ComparisonOutcome,
    select: Selection,
) -> Section {
    let blocks = match outcome {
        ComparisonOutcome::Compared(comparison) => build_compared(base, comparison, select),
        ComparisonOutcome::Refused { refusals } => {
            let lead = "Not compared: a difference could have causes other than the target:";
            let mut sentences = vec![Sentence::plain(lead)];
            sentences.extend(refusals.iter().map(|refusal| Sentence {
                help: Some(refusal.help().to_owned()),
                ..Sentence::marked(Tone::Bad, refusal.to_string())
            }));
            vec![Block::Sentences(sentences)]
        }
        ComparisonOutcome::Absent => vec![Block::Sentences(match base {
            ComparisonBase::Baseline(name) => vec![
                Sentence::plain("Not compared: the baseline has no run of this scenario."),
                Sentence::small(format!(
                    "`cargo loadtest baseline save {}` adds the latest run to it.",
                    clean(name)
                )),
            ],
            ComparisonBase::Run(_) => {
                vec![Sentence::plain(format!(
                    "Not compared: {base} does not have this scenario."
                ))]
            }
        })],
    };
    wrap_section(base, blocks)
}

/// A compared figure and what it belongs to.
type ComparedRow<'a> = (&'a Subject, &'a Compared);
/// Selects the figures that become rows.
type Selection = fn(&Comparison) -> Vec<ComparedRow<'_>>;

fn list_figures(comparison: &Comparison) -> Vec<ComparedRow<'_>> {
    let subjects = comparison.subjects.iter();
    let rows = subjects.flat_map(|subject| subject.figures.iter().map(move |row| (subject, row)));
    rows.collect()
}

/// Selects all figures of the journey, and the changed ones of steps; of many the gravest.
fn select_gravest(comparison: &Comparison) -> Vec<ComparedRow<'_>> {
    let mut rows: Vec<_> = list_figures(comparison).into_iter().enumerate().collect();
    rows.retain(|(_, (subject, row))| subject.step.is_none() || row.verdict != Change::Unchanged);
    let gravity = |row: &Compared| CHANGES.iter().position(|change| *change == row.verdict);
    rows.sort_by_key(|(_, (_, row))| gravity(row));
    rows.truncate(ROWS);
    rows.sort_by_key(|(at, _)| *at);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Builds the counts, the rows and the notes.
fn build_compared(
    base: ComparisonBase<'_>,
    comparison: &Comparison,
    select: Selection,
) -> Vec<Block> {
    let count = |rows: &[ComparedRow<'_>], change| {
        let of_kind = rows.iter().filter(|(_, row)| row.verdict == change);
        of_kind.count() as u64
    };
    let all = list_figures(comparison);
    let mut counts = CHANGES.map(|change| (change, count(&all, change))).to_vec();
    counts.retain(|(_, count)| *count > 0);
    let mut lead = match base {
        ComparisonBase::Baseline(_) => {
            let runs = display::format_counted(comparison.base.len() as u64, "run");
            format!("Compared with {runs}: ")
        }
        ComparisonBase::Run(_) => "Compared with it: ".to_owned(),
    };
    let parts = counts
        .iter()
        .map(|(change, count)| format!("{} {count} {change}", change_mark(*change)));
    lead.push_str(&parts.collect::<Vec<_>>().join(" · "));
    if counts.is_empty() {
        lead.push_str("no figure can be compared.");
    }
    let gravest = counts
        .first()
        .map_or(Tone::Plain, |(change, _)| tone_of_change(*change));
    let lead = Sentence {
        tone: gravest,
        ..Sentence::plain(lead)
    };
    let rows = select(comparison);
    let mut notes = Vec::new();
    for (change, all) in &counts {
        let rest = all - count(&rows, *change);
        if rest > 0 {
            let rest = display::format_counted(rest, "further figure");
            notes.push(format!("{rest} {change}."));
        }
    }
    if counts
        .iter()
        .any(|(change, _)| *change == Change::Inconclusive)
    {
        notes.push(
            "Inconclusive: these runs are too short or too noisy to decide. This blocks nothing."
                .to_owned(),
        );
    }
    notes.extend(describe_needs(&all));
    notes.extend(describe_skipped(comparison));
    notes.extend(describe_detectable(&all));
    if !counts.is_empty() {
        let mut margin = comparison.margin.describe();
        margin.replace_range(..1, "A");
        notes.push(format!("{margin}."));
    }
    let mut blocks = vec![Block::Sentences(vec![lead])];
    if !rows.is_empty() {
        blocks.push(Block::Table(build_table(&rows)));
    }
    let notes = notes.into_iter().map(Sentence::small);
    blocks.push(Block::Sentences(notes.collect()));
    if !comparison.observed.is_empty() {
        blocks.push(Block::Table(build_observed_table(&comparison.observed)));
    }
    blocks
}

/// Builds the figures of the target's own side, which have no verdict.
fn build_observed_table(observed: &[ObservedCompared]) -> Table {
    let mut table = Table::new(
        "The target's side; it changes no verdict",
        vec![
            Column::text("Figure", 1.0),
            Column::figure("Baseline mean").leaves(1),
            Column::figure("Mean"),
            Column::figure("Change"),
            Column::figure("Baseline max").leaves(2),
            Column::figure("Max"),
            Column::figure("Change"),
        ],
    );
    table.is_dense = true;
    for row in observed {
        let mut cells = vec![TableCell::name(&row.name)];
        for (_, base, new) in row.figures() {
            let words = [row.format_value(base), row.format_value(new)];
            cells.extend(words.map(TableCell::figure));
            cells.push(TableCell::figure(ObservedCompared::format_change(
                base, new,
            )));
        }
        table.push(cells);
    }
    table
}

fn build_table(rows: &[ComparedRow<'_>]) -> Table {
    let mut table = Table::new(
        "The journey, and all changed figures; 90 % confidence intervals",
        vec![
            Column::text("Step", 1.0),
            Column::word("Figure"),
            Column::figure("Baseline").leaves(1),
            Column::figure("Now"),
            Column::figure("Change"),
            Column::figure("90 % interval").leaves(2),
            Column::word("Result"),
        ],
    );
    table.is_dense = true;
    for (subject, compared) in rows {
        let change = compared.verdict;
        let tone = tone_of_change(change);
        let step = subject.step.as_ref();
        let [base, new] = compared.value_words();
        table.push(vec![
            step.map_or_else(|| TableCell::figure(JOURNEY), TableCell::name),
            TableCell::figure(compared.figure.label()),
            TableCell::figure(base),
            TableCell::figure(new),
            TableCell::figure(compared.change_words()).tone(tone),
            // The change beside it has the unit.
            TableCell::figure(compared.interval_words().replace(" points", "")),
            TableCell::figure(format!("{} {change}", change_mark(change))).tone(tone),
        ]);
    }
    table
}

/// Names the figures of which a run has too few, and how many it takes.
fn describe_needs(rows: &[ComparedRow<'_>]) -> Option<String> {
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, row) in rows {
        if let Some(needs) = row.needs {
            let most = all.entry(row.figure.label()).or_default();
            *most = needs.max(*most);
        }
    }
    let parts =
        (all.iter()).map(|(name, needs)| format!("{name} needs {}", display::format_count(*needs)));
    let words = parts.collect::<Vec<_>>().join(", ");
    (!all.is_empty()).then(|| format!("Too few executions in one of these runs: {words} in each."))
}

/// Names the steps that are not compared, and tells whether the journey is.
fn describe_skipped(comparison: &Comparison) -> Vec<String> {
    let named = |why| {
        let skipped = comparison
            .subjects
            .iter()
            .filter(|subject| subject.skipped == Some(why));
        let names = skipped.filter_map(|subject| subject.step.as_deref());
        let names: Vec<_> = names
            .map(|name| display::quote_name(&clean(name)))
            .collect();
        let more = names.len().saturating_sub(ROWS);
        let mut words = names[..names.len() - more].join(", ");
        if more > 0 {
            words = format!("{words} and {more} more");
        }
        (!names.is_empty()).then_some(words)
    };
    let mut parts = Vec::new();
    for (why, words) in [
        (Skipped::Changed, "its source differs from the baseline"),
        (Skipped::Added, "not in the baseline"),
        (Skipped::Removed, "only in the baseline"),
        (Skipped::Idle, "not executed in all of these runs"),
    ] {
        parts.extend(named(why).map(|names| format!("{names} ({words})")));
    }
    let mut sentences = Vec::new();
    if !parts.is_empty() {
        sentences.push(format!("Not compared: {}.", parts.join("; ")));
    }
    let journey = comparison
        .subjects
        .iter()
        .find(|subject| subject.step.is_none());
    if let Some(why) = journey.and_then(|subject| subject.skipped) {
        let why = match why {
            Skipped::Idle => "because none ended in one of these runs",
            _ => "because its steps changed",
        };
        sentences.push(format!("The journey is not compared, {why}."));
    }
    sentences
}

/// Describes the smallest change of the journey's p95 that the runs could have shown.
fn describe_detectable(rows: &[ComparedRow<'_>]) -> Option<String> {
    let mut journey = rows.iter().filter(|(subject, _)| subject.step.is_none());
    let (_, p95) = journey.find(|(_, row)| row.figure == Figure::P95)?;
    p95.detectable.is_finite().then(|| {
        format!(
            "With these runs, a journey p95 that is {} slower would be detected 9 times out of 10.",
            p95.detectable_words()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::sample;

    /// A run beside a baseline, of whose steps everything is worse.
    fn all_worse(steps: usize) -> Card {
        let mut card = sample::regressed().cards[0].clone();
        let Some(BaselineComparison {
            outcome: ComparisonOutcome::Compared(comparison),
            ..
        }) = &mut card.comparison
        else {
            panic!("{:?}", card.comparison);
        };
        let worse = comparison.subjects[4].clone();
        comparison.subjects.truncate(1);
        for number in 0..steps {
            let mut step = worse.clone();
            step.step = Some(format!("step_{number}"));
            for figure in &mut step.figures {
                figure.verdict = Change::Regressed;
            }
            comparison.subjects.push(step);
        }
        card
    }

    /// The rows and the notes of the section of a card.
    fn contents(card: &Card) -> (Vec<Vec<TableCell>>, Vec<String>) {
        let Some(BaselineComparison {
            outcome: ComparisonOutcome::Compared(comparison),
            ..
        }) = &card.comparison
        else {
            panic!("{:?}", card.comparison);
        };
        let (mut rows, mut notes) = (Vec::new(), Vec::new());
        for block in build_compared(ComparisonBase::Run("x"), comparison, select_gravest) {
            match block {
                Block::Table(table) if table.columns[0].title == "Figure" => {}
                Block::Table(table) => rows = table.rows.into_iter().map(|row| row.cells).collect(),
                Block::Sentences(all) => notes = all.into_iter().map(|note| note.words).collect(),
                other => panic!("{other:?}"),
            }
        }
        (rows, notes)
    }

    #[test]
    fn every_figure_is_a_row_or_counted_in_a_note() {
        for card in [
            sample::compared().cards[0].clone(),
            sample::kept().cards[0].clone(),
            all_worse(1),
            all_worse(40),
        ] {
            let (rows, notes) = contents(&card);
            assert!(rows.len() <= ROWS);
            let Some(ComparisonOutcome::Compared(comparison)) =
                card.comparison.map(|beside| beside.outcome)
            else {
                panic!("not compared");
            };
            let further = notes.iter().filter(|note| note.contains("further figure"));
            let further =
                further.map(|note| note.split(' ').next().unwrap().parse::<usize>().unwrap());
            assert_eq!(
                rows.len() + further.sum::<usize>(),
                list_figures(&comparison).len(),
                "{notes:?}"
            );
        }
    }

    #[test]
    fn of_many_figures_the_gravest_are_rows() {
        let (rows, notes) = contents(&all_worse(40));
        assert!(rows.iter().all(|row| row[6].text == "✗ regressed"));
        assert_eq!(rows[0][0].text, JOURNEY, "in the order of the scenario");
        assert!(
            notes[0].ends_with("further figures regressed."),
            "{notes:?}"
        );
    }

    #[test]
    fn the_smallest_change_that_could_have_shown_is_said_once() {
        for (report, says) in [
            (sample::kept(), Some("a journey p95 that is 10 % slower")),
            // The journey is not compared.
            (sample::compared(), None),
        ] {
            let (_, notes) = contents(&report.cards[0]);
            let said: Vec<_> = notes
                .iter()
                .filter(|note| note.contains("9 times out of 10"))
                .collect();
            assert_eq!(said.len(), says.iter().len());
            let said = said
                .first()
                .map(|note| note.contains(says.unwrap_or_default()));
            assert_eq!(said, says.map(|_| true), "{notes:?}");
        }
    }
}
