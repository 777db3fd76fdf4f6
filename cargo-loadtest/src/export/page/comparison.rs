//! The section of changes against a baseline or another run: figures of the journey and of what changed as
//! rows, the rest as sentences.

use super::{Block, Charts, Column, Section, Sentence, Table, TableCell, TableRow, Tone};
use crate::console::clean;
use crate::export::chart;
use crate::export::labels::JOURNEY;
use loadtest_model::card::Card;
use loadtest_model::comparison::{
    BaselineComparison, Change, Compared, Comparison, ComparisonOutcome, Figure, Margin, Skipped,
    Subject,
};
use loadtest_model::display;
use std::fmt;

/// The most rows of figures.
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

/// The figures that become rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selection {
    /// All figures of the journey, and the changed ones of steps; of many the gravest.
    Gravest,
    All,
}

/// The sign of a change, so that colour is not all that tells changes apart.
pub(crate) const fn change_mark(change: Change) -> char {
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

/// Orders changes by how much they matter: the inconclusive before the unchanged.
const fn change_gravity(change: Change) -> u8 {
    match change {
        Change::Regressed => 0,
        Change::Improved => 1,
        Change::Inconclusive => 2,
        Change::Unchanged => 3,
    }
}

/// Builds the section of a card, where it was compared.
pub(super) fn build_of_card(card: &Card) -> Option<Section> {
    let BaselineComparison { baseline, outcome } = card.comparison.as_ref()?;
    let base = ComparisonBase::Baseline(baseline);
    let mut section = build_section(base, outcome, Selection::Gravest);
    if let Some(chart) = chart::draw_changes(card) {
        let notes = section.blocks.split_off(section.blocks.len() - 1);
        section.blocks.push(Block::Charts(Charts {
            drawings: vec![chart],
            caption: "A point is the change, its line where the change lies, and the ground what is too little to \
                      count."
                .to_owned(),
            beside: notes,
            ..Charts::default()
        }));
    }
    Some(section)
}

/// Builds the section of a comparison with all of its figures.
pub(crate) fn build_complete_section(
    base: ComparisonBase<'_>,
    outcome: &ComparisonOutcome,
) -> Section {
    build_section(base, outcome, Selection::All)
}

/// Builds the section of a scenario that only `base` has.
pub(crate) fn build_missing_section(base: ComparisonBase<'_>) -> Section {
    let lead = Sentence::plain(format!("Not compared: only {base} has this scenario."));
    wrap_section(base, vec![Block::Sentences(vec![lead])])
}

fn wrap_section(base: ComparisonBase<'_>, blocks: Vec<Block>) -> Section {
    Section::new(format!("Against {base}"), 2, blocks).essential()
}

fn build_section(
    base: ComparisonBase<'_>,
    outcome: &ComparisonOutcome,
    selection: Selection,
) -> Section {
    let blocks = match outcome {
        ComparisonOutcome::Compared(comparison) => build_compared(base, comparison, selection),
        ComparisonOutcome::Refused { refusals } => {
            let lead = "Not compared, since a difference would not be the target's:";
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
                    "`cargo loadtest baseline save {}` makes the latest run a part of it.",
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

fn list_figures(comparison: &Comparison) -> impl Iterator<Item = &Compared> {
    comparison
        .subjects
        .iter()
        .flat_map(|subject| &subject.figures)
}

/// Builds the counts, the rows and the notes.
fn build_compared(
    base: ComparisonBase<'_>,
    comparison: &Comparison,
    selection: Selection,
) -> Vec<Block> {
    let changes = [
        Change::Regressed,
        Change::Improved,
        Change::Inconclusive,
        Change::Unchanged,
    ];
    let count = |change| {
        list_figures(comparison)
            .filter(|figure| figure.verdict == change)
            .count()
    };
    let counts = changes.map(|change| (change, count(change)));
    let counts: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    let mut lead = match base {
        ComparisonBase::Baseline(_) => {
            let runs = display::format_counted(comparison.base.len() as u64, "run");
            format!("Beside {runs} of it: ")
        }
        ComparisonBase::Run(_) => "Beside it: ".to_owned(),
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
    let rows = select_rows(comparison, selection);
    let mut notes = describe_rest(comparison, &counts, &rows);
    if list_figures(comparison).any(|figure| figure.verdict == Change::Inconclusive) {
        notes.push(
            "Inconclusive: these runs are too short or too noisy to tell, which blocks nothing."
                .to_owned(),
        );
    }
    notes.extend(describe_needs(comparison));
    notes.extend(describe_skipped(comparison));
    notes.extend(describe_detectable(comparison));
    if !counts.is_empty() {
        let mut margin = comparison.margin.describe();
        margin.replace_range(..1, "A");
        notes.push(format!("{margin}."));
    }
    let mut blocks = vec![Block::Sentences(vec![lead])];
    if !rows.is_empty() {
        blocks.push(Block::Table(match selection {
            Selection::Gravest => build_table(&rows),
            Selection::All => build_groups(&rows),
        }));
    }
    blocks.push(Block::Sentences(
        notes.into_iter().map(Sentence::small).collect(),
    ));
    blocks
}

fn build_table(rows: &[(&Subject, &Compared)]) -> Table {
    let mut table = Table::new(
        "The journey, and what is not unchanged; the change lies in its interval with a confidence of 90 %",
        vec![
            Column::text("Step", 1.0),
            Column::word("Figure"),
            Column::figure("Baseline").leaves(1),
            Column::figure("Now"),
            Column::figure("Change"),
            Column::figure("90 % sure").leaves(2),
            Column::word("Result"),
        ],
    );
    table.is_dense = true;
    for (subject, compared) in rows {
        let mut cells = vec![subject_cell(subject)];
        cells.extend(figure_cells(compared));
        table.push(cells);
    }
    table
}

/// Builds a table with the figures of each step below its name, which leaves room for more columns.
fn build_groups(rows: &[(&Subject, &Compared)]) -> Table {
    let mut table = build_table(&[]);
    table.columns.remove(0);
    for group in rows.chunk_by(|(one, _), (other, _)| one.step == other.step) {
        let mut title = vec![subject_cell(group[0].0)];
        title.resize(table.columns.len(), TableCell::default());
        table.push(title);
        table
            .rows
            .extend(group.iter().map(|(_, compared)| TableRow {
                cells: figure_cells(compared).into(),
                is_inner: true,
                ..TableRow::default()
            }));
    }
    table
}

fn subject_cell(subject: &Subject) -> TableCell {
    let step = subject.step.as_ref();
    step.map_or_else(|| TableCell::figure(JOURNEY), TableCell::name)
}

fn figure_cells(compared: &Compared) -> [TableCell; 6] {
    let change = compared.verdict;
    let tone = tone_of_change(change);
    [
        TableCell::figure(compared.figure.label()),
        TableCell::figure(compared.base_words()),
        TableCell::figure(compared.new_words()),
        TableCell::figure(compared.change_words()).tone(tone),
        // The change beside it has the unit.
        TableCell::figure(compared.interval_words().replace(" points", "")),
        TableCell::figure(format!("{} {change}", change_mark(change))).tone(tone),
    ]
}

/// Selects the figures that become rows, in the order of the scenario.
fn select_rows(comparison: &Comparison, selection: Selection) -> Vec<(&Subject, &Compared)> {
    let is_shown = |subject: &Subject, figure: &Compared| {
        selection == Selection::All || subject.step.is_none() || figure.verdict != Change::Unchanged
    };
    let most = match selection {
        Selection::Gravest => ROWS,
        Selection::All => usize::MAX,
    };
    select_gravest(comparison, most, is_shown)
}

/// Selects at most so many figures, the gravest, in the order of the scenario.
pub(crate) fn select_gravest(
    comparison: &Comparison,
    most: usize,
    is_shown: impl Fn(&Subject, &Compared) -> bool,
) -> Vec<(&Subject, &Compared)> {
    let mut rows = Vec::new();
    for subject in &comparison.subjects {
        let shown = subject.figures.iter();
        let shown = shown.filter(|figure| is_shown(subject, figure));
        rows.extend(shown.map(|figure| (subject, figure)));
    }
    let mut order: Vec<_> = rows.into_iter().enumerate().collect();
    order.sort_by_key(|(at, (_, figure))| (change_gravity(figure.verdict), *at));
    order.truncate(most);
    order.sort_by_key(|(at, _)| *at);
    order.into_iter().map(|(_, row)| row).collect()
}

/// Counts the figures that are no rows.
fn describe_rest(
    comparison: &Comparison,
    counts: &[(Change, usize)],
    rows: &[(&Subject, &Compared)],
) -> Vec<String> {
    let mut notes = Vec::new();
    for (change, count) in counts {
        let shown = rows
            .iter()
            .filter(|(_, figure)| figure.verdict == *change)
            .count();
        if *count == shown {
            continue;
        }
        let what = if rows.is_empty() {
            "figure"
        } else {
            "further figure"
        };
        let rest = display::format_counted((count - shown) as u64, what);
        let within = match change {
            Change::Unchanged => format!(" within {}", describe_margin(&comparison.margin)),
            _ => String::new(),
        };
        notes.push(format!("{rest} {change}{within}."));
    }
    notes
}

/// Returns the share that times and rates may change by: `10 %`.
fn describe_margin(margin: &Margin) -> String {
    display::format_exact_percent(margin.relative)
}

/// Names the figures of which a run has too few, and how many it takes.
fn describe_needs(comparison: &Comparison) -> Option<String> {
    let mut all: Vec<(&str, u64)> = Vec::new();
    for figure in list_figures(comparison) {
        let Some(needs) = figure.needs else {
            continue;
        };
        let label = figure.figure.label();
        match all.iter_mut().find(|(name, _)| *name == label) {
            Some((_, most)) => *most = needs.max(*most),
            None => all.push((label, needs)),
        }
    }
    let parts = all
        .iter()
        .map(|(name, needs)| format!("{name} needs {}", display::format_count(*needs)));
    let parts: Vec<_> = parts.collect();
    let words = parts.join(", ");
    (!parts.is_empty()).then(|| format!("Too few in one of these runs: {words} in each."))
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
        (Skipped::Changed, "another source than in the baseline"),
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
            Skipped::Idle => "since none ended in one of these runs",
            _ => "since with other steps it takes another time",
        };
        sentences.push(format!("The journey is not compared, {why}."));
    }
    sentences
}

/// Describes the smallest change that the runs could have shown: of the journey's p95, or of those of steps.
fn describe_detectable(comparison: &Comparison) -> Option<String> {
    let is_p95 = |figure: &&Compared| figure.figure == Figure::P95 && figure.detectable.is_finite();
    let p95 = |subject: &'_ Subject| subject.figures.iter().find(is_p95).cloned();
    let subjects = comparison.subjects.iter();
    let mut all: Vec<(&Subject, Compared)> = subjects
        .filter_map(|subject| Some((subject, p95(subject)?)))
        .collect();
    if let Some((_, journey)) = all.iter().find(|(subject, _)| subject.step.is_none()) {
        return Some(format!(
            "A p95 of the journey that is {} worse, or more, would have shown nine times of ten.",
            journey.detectable_words()
        ));
    }
    all.sort_by(|(_, one), (_, other)| one.detectable.total_cmp(&other.detectable));
    let name = |subject: &Subject| {
        display::quote_name(&clean(subject.step.as_deref().unwrap_or_default()))
    };
    let ((low_at, low), (high_at, high)) = (all.first()?, all.last()?);
    let (low, high) = (low.detectable_words(), high.detectable_words());
    let which = if low == high {
        low
    } else {
        format!("{low} ({}) to {high} ({})", name(low_at), name(high_at))
    };
    Some(format!(
        "A p95 of a step that is {which} worse, or more, would have shown nine times of ten."
    ))
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
        for block in build_compared(ComparisonBase::Run("x"), comparison, Selection::Gravest) {
            match block {
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
                list_figures(&comparison).count(),
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
            (sample::kept(), "A p95 of the journey that is 10 % worse"),
            (
                sample::compared(),
                "A p95 of a step that is 10 % (`login`) to 15 % (`create_order`) worse",
            ),
        ] {
            let (_, notes) = contents(&report.cards[0]);
            let said: Vec<_> = notes
                .iter()
                .filter(|note| note.contains("nine times of ten"))
                .collect();
            assert_eq!(said.len(), 1);
            assert!(said[0].starts_with(says), "{said:?}");
        }
    }
}
