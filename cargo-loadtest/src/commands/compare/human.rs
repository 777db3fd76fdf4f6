//! A comparison for people: what regressed in sentences, then all figures.

use super::Compared;
use crate::export::terminal::table::{Column, Table};
use crate::export::terminal::text::{BAD, BOLD, DIM, FAIR, GOOD, Line, PLAIN, clean, wrap};
use anstyle::Style;
use loadtest::card::view;
use loadtest::comparison::{
    Change, Compared as Found, Comparison, Figure, Outcome, Refusal, Skipped, Subject,
};
use std::collections::BTreeMap;

/// Longer lines are hard to read.
const WIDEST: usize = 110;
const NARROWEST: usize = 40;
/// Names that are listed.
const MOST: usize = 8;

pub(super) fn render(compared: &Compared, columns: usize, colour: bool) -> String {
    let mut page = Page {
        out: String::new(),
        width: columns.clamp(NARROWEST, WIDEST),
        limit: columns,
        colour,
    };
    for (at, (identity, outcome)) in compared.scenarios.iter().enumerate() {
        if at > 0 {
            page.gap();
        }
        page.text(Line::new(), BOLD, identity);
        match outcome {
            Outcome::Compared(comparison) => page.comparison(compared, comparison),
            Outcome::Refused { refusals } => page.refused(refusals),
            Outcome::Absent => {
                let what = compared.base();
                page.text(
                    Line::new(),
                    PLAIN,
                    &format!("not compared: {what} has no run of it"),
                );
            }
        }
    }
    for identity in &compared.missing {
        page.gap();
        page.text(Line::new(), BOLD, identity);
        let words = format!("not compared: only {} has it", compared.base());
        page.text(Line::new(), PLAIN, &words);
    }
    if compared.scenarios.is_empty() {
        page.text(
            Line::new(),
            PLAIN,
            "nothing to compare: none of the run's scenarios ran",
        );
    }
    page.out
}

impl Compared {
    fn base(&self) -> String {
        if self.is_baseline {
            format!("the baseline `{}`", self.base)
        } else {
            format!("the run {}", self.base)
        }
    }
}

/// The sign of a verdict, so that colour is not all that tells them apart.
const fn mark(change: Change) -> char {
    match change {
        Change::Regressed => '✗',
        Change::Improved => '✓',
        Change::Unchanged => '=',
        Change::Inconclusive => '?',
    }
}

const fn style(change: Change) -> Style {
    match change {
        Change::Regressed => BAD,
        Change::Improved => GOOD,
        Change::Inconclusive => FAIR,
        Change::Unchanged => PLAIN,
    }
}

/// What is written so far, and how wide it may get.
struct Page {
    out: String,
    width: usize,
    limit: usize,
    colour: bool,
}

impl Page {
    fn line(&mut self, line: &Line) {
        line.print(&mut self.out, self.limit, self.colour);
    }

    fn gap(&mut self) {
        self.out.push('\n');
    }

    /// A text after a lead, its further lines below its first.
    fn text(&mut self, lead: Line, style: Style, text: &str) {
        let begin = lead.width();
        let mut lead = Some(lead);
        for part in wrap(&clean(text), self.width.saturating_sub(begin).max(10)) {
            let line = lead.take().unwrap_or_default().to(begin);
            self.line(&line.add(style, part));
        }
    }

    fn refused(&mut self, refusals: &[Refusal]) {
        self.text(
            Line::new(),
            PLAIN,
            "not compared, since a difference would not be the target's",
        );
        for refusal in refusals {
            self.text(Line::new().add(BAD, "✗ "), PLAIN, &refusal.to_string());
            self.text(Line::new().add(DIM, "  → "), DIM, refusal.help());
        }
    }

    fn comparison(&mut self, compared: &Compared, comparison: &Comparison) {
        let beside = if compared.is_baseline {
            let runs = view::counted(comparison.base.len() as u64, "run");
            format!(
                "the run {} beside {} ({runs})",
                compared.new,
                compared.base()
            )
        } else {
            format!("the run {} beside {}", compared.new, compared.base())
        };
        self.text(Line::new(), DIM, &beside);
        self.counts(comparison);
        self.regressions(comparison);
        if comparison
            .subjects
            .iter()
            .any(|subject| !subject.figures.is_empty())
        {
            self.gap();
            let lines = table(comparison).lines(self.width);
            for line in lines {
                self.line(&line);
            }
            self.gap();
        }
        for note in notes(comparison) {
            self.text(Line::new(), DIM, &note);
        }
    }

    /// `✗ 2 regressed · = 13 unchanged`
    fn counts(&mut self, comparison: &Comparison) {
        let mut line = Line::new();
        for change in [
            Change::Regressed,
            Change::Improved,
            Change::Unchanged,
            Change::Inconclusive,
        ] {
            let count = figures(comparison)
                .filter(|(_, found)| found.verdict == change)
                .count();
            if count > 0 {
                let words = format!("{} {} {change}", mark(change), view::count(count as u64));
                let part = Line::new().add(style(change), words);
                if line.width() == 0 {
                    line = part;
                } else if line.width() + part.width() + 3 > self.width {
                    self.line(&std::mem::replace(&mut line, part));
                } else {
                    line = line.add(DIM, " · ").join(part);
                }
            }
        }
        if line.width() == 0 {
            line = line.add(PLAIN, "no figure can be compared");
        }
        self.line(&line);
    }

    fn regressions(&mut self, comparison: &Comparison) {
        for (subject, found) in comparison.regressions() {
            let name = name(subject);
            let words = format!(
                "{} of {name}: {}: regressed",
                found.figure.name(),
                found.difference_words()
            );
            self.text(Line::new().add(BAD, "✗ "), PLAIN, &words);
        }
    }
}

fn figures(comparison: &Comparison) -> impl Iterator<Item = (&Subject, &Found)> {
    let subjects = comparison.subjects.iter();
    subjects.flat_map(|subject| subject.figures.iter().map(move |found| (subject, found)))
}

fn name(subject: &Subject) -> String {
    subject.step.as_ref().map_or_else(
        || "the journey".to_owned(),
        |step| format!("`{}`", clean(step)),
    )
}

fn table(comparison: &Comparison) -> Table {
    let mut table = Table::new(vec![
        Column::left(""),
        Column::left(""),
        Column::right("baseline"),
        Column::right("now"),
        Column::right("change"),
        Column::left("90 % sure").leaves(1),
    ]);
    for subject in &comparison.subjects {
        for (at, found) in subject.figures.iter().enumerate() {
            let style = style(found.verdict);
            let name = subject
                .step
                .as_deref()
                .map_or_else(|| "journey".to_owned(), clean);
            let name = if at == 0 { name } else { String::new() };
            let cells = vec![
                (PLAIN, name),
                (
                    style,
                    format!("{} {}", mark(found.verdict), found.figure.name()),
                ),
                (DIM, found.base_words()),
                (PLAIN, found.new_words()),
                (style, found.change_words()),
                (DIM, found.interval_words()),
            ];
            table.row(cells, None);
        }
    }
    table
}

/// What else there is to know, a sentence each.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(skipped(comparison));
    notes.extend(few(comparison));
    let noisy = |(_, found): (&Subject, &Found)| {
        found.verdict == Change::Inconclusive && found.needs.is_none()
    };
    if figures(comparison).any(noisy) {
        notes.push(
            "Inconclusive: these runs are too short or too noisy to tell. It blocks nothing; a longer run, \
             or more runs in the baseline, would tell."
                .to_owned(),
        );
    }
    notes.extend(detectable(comparison));
    if figures(comparison).next().is_some() {
        let mut margin = comparison.margin.words();
        margin.replace_range(..1, "A");
        notes.push(format!("{margin}."));
    }
    notes
}

/// Which steps are not compared, and why.
fn skipped(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    for (why, words) in [
        (
            Skipped::Changed,
            "the source is another one than in the baseline",
        ),
        (Skipped::Added, "the baseline does not have it"),
        (Skipped::Removed, "only the baseline has it"),
        (Skipped::Idle, "not executed in each of the runs"),
    ] {
        let of = comparison
            .subjects
            .iter()
            .filter(|subject| subject.skipped == Some(why));
        let names: Vec<String> = of
            .filter(|subject| subject.step.is_some())
            .map(name)
            .collect();
        if !names.is_empty() {
            notes.push(format!("Not compared: {} ({words}).", listed(&names)));
        }
    }
    let journey = comparison
        .subjects
        .iter()
        .find(|subject| subject.step.is_none());
    if journey.is_some_and(|journey| journey.skipped == Some(Skipped::Changed)) {
        let words = "The journey is not compared, since with other steps it takes another time.";
        notes.push(words.to_owned());
    }
    notes
}

/// The figures of which there are too few to tell, by how many they need.
fn few(comparison: &Comparison) -> Vec<String> {
    let mut few: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (subject, found) in figures(comparison) {
        if let Some(needs) = found.needs {
            let name = format!("{} of {}", found.figure.name(), name(subject));
            few.entry(needs).or_default().push(name);
        }
    }
    let note = |(needs, names): (u64, Vec<String>)| {
        format!(
            "Too few to tell: {}, of which each run needs {}.",
            listed(&names),
            view::count(needs)
        )
    };
    few.into_iter().map(note).collect()
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST);
    let words = names[..names.len() - more].join(", ");
    if more > 0 {
        format!("{words} and {more} more")
    } else {
        words
    }
}

/// The smallest change that this comparison would have shown: of p95, of the journey and of the steps.
fn detectable(comparison: &Comparison) -> Vec<String> {
    let mut all: Vec<(&Subject, &Found)> = figures(comparison)
        .filter(|(_, found)| found.figure == Figure::P95 && found.needs.is_none())
        .collect();
    let more = |found: &Found| format!("+{} and more", found.detectable_words());
    let lead = "This comparison would have shown, nine times of ten,";
    let journey = all.iter().find(|(subject, _)| subject.step.is_none());
    let journey =
        journey.map(|(_, found)| format!("{lead} {} of p95 of the journey.", more(found)));
    all.retain(|(subject, _)| subject.step.is_some());
    all.sort_by(|(_, one), (_, other)| one.detectable.total_cmp(&other.detectable));
    let steps = match all[..] {
        [] => None,
        [(subject, found)] => Some(format!(
            "{lead} {} of p95 of {}.",
            more(found),
            name(subject)
        )),
        [(first, least), .., (other, most)] => {
            let (least, most) = (more(least), more(most));
            Some(if least == most {
                format!("{lead} {least} of p95 of a step.")
            } else {
                format!(
                    "{lead} {least} of p95 of {}, to {most} of that of {}.",
                    name(first),
                    name(other)
                )
            })
        }
    };
    journey.into_iter().chain(steps).collect()
}
