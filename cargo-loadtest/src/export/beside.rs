//! What is said of a run beside a baseline, or beside another run, in all formats: the journey and what
//! changed in figures, the rest in sentences. What a report leaves out here is in its JSON and CSV, and in
//! what `compare` prints.

use crate::console::clean;
use loadtest_model::card::{Card, Reason, ReasonKind, view};
use loadtest_model::comparison::{
    Beside, Change, Compared, Comparison, Figure, Margin, Outcome, Skipped, Subject,
};
use serde::Serialize;
use std::fmt::{self, Write as _};

/// The most rows of figures.
const ROWS: usize = 20;
/// Of more regressions than these the verdict names some, and how many more there are.
const REGRESSIONS: usize = 6;
/// What stands for the journey in the place of a step.
pub(crate) const JOURNEY: &str = "journey";

/// What a run is shown beside.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base<'a> {
    /// The runs of a baseline, by its name.
    Baseline(&'a str),
    /// Another run, by its identifier.
    Run(&'a str),
}

/// Which figures are rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Those of the journey, and those of steps that are not unchanged; of many the gravest.
    Gravest,
    /// All of them.
    All,
}

/// A comparison as it is shown.
#[derive(Debug, Serialize)]
pub(crate) struct Shown<'a> {
    /// `Against the baseline main`
    pub(crate) title: String,
    /// What was compared with what, or that nothing was; without a full stop where `counts` or `against`
    /// follow.
    pub(crate) lead: String,
    /// How many figures became what, the gravest first.
    pub(crate) counts: Vec<Tally>,
    /// Why the runs are not compared, and what to do about it.
    pub(crate) against: Vec<(String, &'static str)>,
    /// The figures that were asked for, in the order of the scenario.
    pub(crate) rows: Vec<Row<'a>>,
    /// What else there is to know, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// How many figures became something.
#[derive(Debug, Serialize)]
pub(crate) struct Tally {
    pub(crate) mark: char,
    pub(crate) verdict: Change,
    pub(crate) count: usize,
}

/// A figure beside that of the baseline, in words.
#[derive(Debug, Serialize)]
pub(crate) struct Row<'a> {
    /// The step; `None` for the journey.
    pub(crate) step: Option<&'a str>,
    pub(crate) figure: &'static str,
    pub(crate) base: String,
    pub(crate) new: String,
    pub(crate) change: String,
    /// Where the change lies with a confidence of 90 %.
    pub(crate) interval: String,
    pub(crate) mark: char,
    pub(crate) verdict: Change,
}

/// The sign of what became of a figure, so that colour is not all that tells them apart.
pub(crate) const fn mark(change: Change) -> char {
    match change {
        Change::Regressed => '✗',
        Change::Improved => '✓',
        Change::Unchanged => '=',
        Change::Inconclusive => '?',
    }
}

/// The order in which figures matter: what cannot be told more than what is the same.
pub(crate) const fn gravity(change: Change) -> u8 {
    match change {
        Change::Regressed => 0,
        Change::Improved => 1,
        Change::Inconclusive => 2,
        Change::Unchanged => 3,
    }
}

/// What the card says of its comparison; `None` where there was to be none.
pub(crate) fn shown(card: &Card) -> Option<Shown<'_>> {
    let Beside { baseline, outcome } = card.comparison.as_ref()?;
    let shown = Shown::of(Base::Baseline(baseline), outcome, Rows::Gravest);
    Some(shown)
}

/// The reasons of the verdict for people: of many regressions the first, and how many more there are.
pub(crate) fn reasons(card: &Card) -> Vec<String> {
    let is_regression = |reason: &&Reason| reason.kind == ReasonKind::Regression;
    let all = card.reasons.iter().filter(is_regression).count();
    let most = if all > REGRESSIONS {
        REGRESSIONS - 1
    } else {
        all
    };
    let mut words = Vec::new();
    let mut told = 0;
    for reason in &card.reasons {
        if is_regression(&reason) {
            told += 1;
            if told > most {
                continue;
            }
        }
        words.push(reason.words.clone());
    }
    if all > most {
        let more = view::counted((all - most) as u64, "further figure");
        words.push(format!("{more} regressed against the baseline"));
    }
    words
}

/// What a run that passed has kept.
pub(crate) fn kept(card: &Card) -> String {
    let mut words = format!(
        "{} kept",
        view::counted(card.thresholds.len() as u64, "threshold")
    );
    if let Some(least) = card.min_grade {
        let _ = write!(words, ", graded {least} or better");
    }
    if let Some(beside) = &card.comparison {
        let baseline = view::quoted(&clean(&beside.baseline));
        let _ = match &beside.outcome {
            Outcome::Compared(_) => {
                write!(words, ", nothing regressed against the baseline {baseline}")
            }
            _ => write!(words, ", not compared with the baseline {baseline}"),
        };
    }
    words
}

/// The least grade that was asked for, to stand beside the grade.
pub(crate) fn asked(card: &Card) -> Option<String> {
    card.min_grade
        .map(|least| format!("at least {least} asked for"))
}

impl fmt::Display for Base<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baseline(name) => write!(f, "the baseline {}", clean(name)),
            Self::Run(id) => write!(f, "the run {}", clean(id)),
        }
    }
}

impl<'a> Shown<'a> {
    pub(crate) fn of(base: Base<'_>, outcome: &'a Outcome, rows: Rows) -> Self {
        let mut shown = Self {
            title: format!("Against {base}"),
            lead: String::new(),
            counts: Vec::new(),
            against: Vec::new(),
            rows: Vec::new(),
            notes: Vec::new(),
        };
        match outcome {
            Outcome::Compared(comparison) => shown.compare(base, comparison, rows),
            Outcome::Refused { refusals } => {
                "Not compared, since a difference would not be the target's"
                    .clone_into(&mut shown.lead);
                shown.against = refusals
                    .iter()
                    .map(|refusal| (refusal.to_string(), refusal.help()))
                    .collect();
            }
            Outcome::Absent => match base {
                Base::Baseline(name) => {
                    "Not compared: the baseline has no run of this scenario."
                        .clone_into(&mut shown.lead);
                    shown.notes.push(format!(
                        "`cargo loadtest baseline save {}` makes the latest run a part of it.",
                        clean(name)
                    ));
                }
                Base::Run(_) => {
                    shown.lead = format!("Not compared: {base} does not have this scenario.");
                }
            },
        }
        shown
    }

    /// That only `base` has a scenario.
    pub(crate) fn missing(base: Base<'_>) -> Self {
        let mut shown = Self::of(base, &Outcome::Absent, Rows::All);
        shown.lead = format!("Not compared: only {base} has this scenario.");
        shown.notes.clear();
        shown
    }

    fn compare(&mut self, base: Base<'_>, comparison: &'a Comparison, rows: Rows) {
        let figures = || {
            comparison
                .subjects
                .iter()
                .flat_map(|subject| &subject.figures)
        };
        let counts = [
            Change::Regressed,
            Change::Improved,
            Change::Inconclusive,
            Change::Unchanged,
        ];
        self.counts = counts
            .into_iter()
            .map(|verdict| Tally {
                mark: mark(verdict),
                verdict,
                count: figures().filter(|figure| figure.verdict == verdict).count(),
            })
            .filter(|row| row.count > 0)
            .collect();
        self.lead = match base {
            Base::Baseline(_) => {
                let runs = view::counted(comparison.base.len() as u64, "run");
                format!("Beside {runs} of it")
            }
            Base::Run(_) => "Beside it".to_owned(),
        };
        if figures().next().is_none() {
            self.lead.push_str(": no figure can be compared.");
        }
        self.rows = rows_of(comparison, rows);
        let listed = |verdict| {
            self.rows
                .iter()
                .filter(|row| row.verdict == verdict)
                .count()
        };
        for Tally { verdict, count, .. } in &self.counts {
            let rest = count - listed(*verdict);
            if rest > 0 {
                let what = if self.rows.is_empty() {
                    "figure"
                } else {
                    "further figure"
                };
                let figures = view::counted(rest as u64, what);
                let within = match verdict {
                    Change::Unchanged => format!(" within {}", within(&comparison.margin)),
                    _ => String::new(),
                };
                self.notes.push(format!("{figures} {verdict}{within}."));
            }
        }
        if figures().any(|figure| figure.verdict == Change::Inconclusive) {
            let words = "Inconclusive: these runs are too short or too noisy to tell, which blocks nothing.";
            self.notes.push(words.to_owned());
        }
        self.notes.extend(needs(comparison));
        self.notes.extend(skipped(comparison));
        self.notes.extend(detectable(comparison));
        if figures().next().is_some() {
            let mut margin = comparison.margin.words();
            margin.replace_range(..1, "A");
            self.notes.push(format!("{margin}."));
        }
    }
}

/// The share that times and rates may change by: `10 %`.
fn within(margin: &Margin) -> String {
    view::exact_percent(margin.relative)
}

/// The figures that are rows, in the order of the scenario; of more than [`ROWS`] the gravest, where not all
/// are asked for.
fn rows_of(comparison: &Comparison, rows: Rows) -> Vec<Row<'_>> {
    let of = |subject: &'_ Subject| {
        let is_told = rows == Rows::All || subject.step.is_none();
        move |figure: &&Compared| is_told || figure.verdict != Change::Unchanged
    };
    let mut told: Vec<(usize, &Subject, &Compared)> = Vec::new();
    for subject in &comparison.subjects {
        for figure in subject.figures.iter().filter(of(subject)) {
            told.push((told.len(), subject, figure));
        }
    }
    if rows == Rows::Gravest {
        told.sort_by_key(|(at, _, figure)| (gravity(figure.verdict), *at));
        told.truncate(ROWS);
        told.sort_by_key(|(at, ..)| *at);
    }
    told.into_iter()
        .map(|(_, subject, compared)| Row {
            step: subject.step.as_deref(),
            figure: compared.figure.label(),
            base: compared.base_words(),
            new: compared.new_words(),
            change: compared.change_words(),
            // Beside the change, which has the unit.
            interval: compared.interval_words().replace(" points", ""),
            mark: mark(compared.verdict),
            verdict: compared.verdict,
        })
        .collect()
}

/// How many it takes to tell figures of which a run has fewer.
fn needs(comparison: &Comparison) -> Option<String> {
    let figures = comparison
        .subjects
        .iter()
        .flat_map(|subject| &subject.figures);
    let mut all: Vec<(&str, u64)> = Vec::new();
    for figure in figures {
        let Some(needs) = figure.needs else {
            continue;
        };
        match all
            .iter_mut()
            .find(|(name, _)| *name == figure.figure.label())
        {
            Some((_, most)) => *most = needs.max(*most),
            None => all.push((figure.figure.label(), needs)),
        }
    }
    let parts = all
        .iter()
        .map(|(name, needs)| format!("{name} needs {}", view::count(*needs)));
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Too few in one of these runs: {} in each.",
            parts.join(", ")
        )
    })
}

/// Which steps are not compared, and that the journey is not.
fn skipped(comparison: &Comparison) -> Vec<String> {
    let of = |why| {
        let steps = comparison.subjects.iter();
        let steps = steps.filter(|subject| subject.skipped == Some(why));
        let names = steps.filter_map(|subject| subject.step.as_deref());
        let names: Vec<_> = names.map(|name| view::quoted(&clean(name))).collect();
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
        parts.extend(of(why).map(|names| format!("{names} ({words})")));
    }
    let journey = comparison
        .subjects
        .iter()
        .find(|subject| subject.step.is_none())
        .and_then(|subject| subject.skipped);
    let mut sentences = Vec::new();
    if !parts.is_empty() {
        sentences.push(format!("Not compared: {}.", parts.join("; ")));
    }
    if let Some(why) = journey {
        let why = match why {
            Skipped::Idle => "since none ended in one of these runs",
            _ => "since with other steps it takes another time",
        };
        sentences.push(format!("The journey is not compared, {why}."));
    }
    sentences
}

/// The smallest change that the runs could have shown: of the journey's p95, or of those of the steps.
fn detectable(comparison: &Comparison) -> Option<String> {
    let p95 = |subject: &'_ Subject| {
        let mut figures = subject.figures.iter();
        figures
            .find(|figure| figure.figure == Figure::P95 && figure.detectable.is_finite())
            .cloned()
    };
    let mut all: Vec<(&Subject, Compared)> = comparison
        .subjects
        .iter()
        .filter_map(|subject| Some((subject, p95(subject)?)))
        .collect();
    if let Some((_, journey)) = all.iter().find(|(subject, _)| subject.step.is_none()) {
        return Some(format!(
            "A p95 of the journey that is {} worse, or more, would have shown nine times of ten.",
            journey.detectable_words()
        ));
    }
    all.sort_by(|(_, one), (_, other)| one.detectable.total_cmp(&other.detectable));
    let name =
        |subject: &Subject| view::quoted(&clean(subject.step.as_deref().unwrap_or_default()));
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
        let Some(Beside {
            outcome: Outcome::Compared(comparison),
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

    #[test]
    fn every_figure_is_a_row_or_counted_in_a_note() {
        for card in [
            sample::compared().cards[0].clone(),
            sample::kept().cards[0].clone(),
            all_worse(1),
            all_worse(40),
        ] {
            let shown = shown(&card).unwrap();
            assert!(shown.rows.len() <= ROWS);
            let all: usize = shown.counts.iter().map(|row| row.count).sum();
            let further: usize = shown
                .notes
                .iter()
                .filter(|note| note.contains("further figure"))
                .map(|note| note.split(' ').next().unwrap().parse::<usize>().unwrap())
                .sum();
            assert_eq!(shown.rows.len() + further, all, "{:?}", shown.notes);
        }
    }

    #[test]
    fn of_many_figures_the_gravest_are_rows() {
        let card = all_worse(40);
        let shown = shown(&card).unwrap();
        assert!(
            shown
                .rows
                .iter()
                .all(|row| row.verdict == Change::Regressed)
        );
        assert_eq!(shown.rows[0].step, None, "in the order of the scenario");
        assert!(
            shown.notes[0].ends_with("further figures regressed."),
            "{:?}",
            shown.notes
        );
    }

    #[test]
    fn of_many_regressions_the_verdict_names_the_first_and_counts_the_rest() {
        let mut card = sample::regressed().cards[0].clone();
        let words = |card: &Card| reasons(card);
        assert_eq!(words(&card).len(), 4);
        let one = card.reasons[0].clone();
        card.reasons.extend(vec![one; 4]);
        let told = words(&card);
        assert_eq!(told.len(), REGRESSIONS);
        assert_eq!(told[5], "3 further figures regressed against the baseline");
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
            let shown = shown(&report.cards[0]).unwrap();
            let said = shown
                .notes
                .iter()
                .filter(|note| note.contains("nine times of ten"));
            let said: Vec<_> = said.collect();
            assert_eq!(said.len(), 1);
            assert!(said[0].starts_with(says), "{said:?}");
        }
    }
}
