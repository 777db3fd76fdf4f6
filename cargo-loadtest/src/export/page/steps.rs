//! Sections about steps: lost points, figures, time, and what kept steps from running.

use super::{
    Block, Charts, Column, Form, Section, Sentence, Table, TableCell, TableRow, Tone,
    tone_of_letter,
};
use crate::export::chart::{self, paint_of};
use loadtest_model::card::{Card, DependencyFailure, InnerRow, LossKind, SlowRow, StepRow};
use loadtest_model::display;
use loadtest_model::metrics::RootCause;
use std::cmp::Reverse;

/// Parts of a journey are named from a fifth of its time.
const NOTABLE: u64 = 5;
/// The package of scenarios that the tool makes of requests on its command line.
const AD_HOC: &str = "curl::";

pub(super) fn build_losses(card: &Card) -> Option<Section> {
    let mut table = Table::list("", vec![Column::figure(""), Column::text("", 1.0)]);
    for loss in &card.losses {
        let tone = match loss.kind {
            LossKind::Errors | LossKind::Skips => Tone::Bad,
            LossKind::Latency | LossKind::StartDelay => Tone::Fair,
        };
        table.push(vec![
            TableCell::figure(display::format_points(loss.points)).tone(tone),
            TableCell::prose(&*loss.words),
        ]);
    }
    let title = "Where the grade lost points";
    (!table.rows.is_empty()).then(|| Section::new(title, 9, vec![Block::Table(table)]))
}

/// A column that only some cards have.
type Further = (Column, fn(&StepRow) -> TableCell);

pub(super) fn build_steps(card: &Card) -> Section {
    let further = further_columns(card);
    let mut table = Table::new(
        "Steps, graded on response time; Time is the share of the service time of all",
        vec![
            Column::text("Step", 1.0),
            Column::word("Grade"),
            Column::figure("Executed").leaves(1),
            Column::figure("RPS").leaves(5),
            Column::figure("Errors"),
            Column::figure("p50").leaves(4),
            Column::figure("p95"),
            Column::figure("p99").leaves(3),
            Column::figure("Time"),
            Column::figure("Received").leaves(7),
        ],
    );
    let slowest = slowest_step(card).filter(|_| card.steps.len() > 1);
    for (at, step) in card.steps.iter().enumerate() {
        let mut cells = step_cells(card, at, step);
        cells.extend(further.iter().map(|(_, cell)| cell(step)));
        table.rows.push(TableRow {
            cells,
            flag: (slowest == Some(at)).then_some("bottleneck"),
            ..TableRow::default()
        });
        table.rows.extend(step.inner.iter().map(|inner| {
            let mut cells = inner_cells(inner);
            cells.resize(10 + further.len(), TableCell::default());
            TableRow {
                cells,
                is_inner: true,
                ..TableRow::default()
            }
        }));
    }
    table
        .columns
        .extend(further.into_iter().map(|(column, _)| column));
    Section::new("Steps", 3, vec![Block::Table(table)]).essential()
}

fn further_columns(card: &Card) -> Vec<Further> {
    let any = |counts: fn(&StepRow) -> u64| card.steps.iter().any(|step| counts(step) > 0);
    let in_table = !has_ledger(card);
    let mut further: Vec<Further> = Vec::new();
    if any(|step| step.retries) {
        further.push((Column::figure("Requests").leaves(4), |step| {
            TableCell::count(step.requests)
        }));
    }
    if any(|step| step.skipped) {
        further.push((Column::figure("Skips").leaves(2), |step| {
            TableCell::count(step.skipped).tone(Tone::alarm(step.skipped > 0))
        }));
    }
    if in_table && any(StepRow::spared) {
        let title = if any(|step| step.left_out) {
            "Left out"
        } else {
            "Not drawn"
        };
        further.push((Column::figure(title).leaves(6), |step| {
            TableCell::count(step.spared())
        }));
    }
    if in_table && any(|step| step.kept) {
        further.push((Column::figure("Kept").leaves(6), |step| {
            TableCell::figure(if step.kept > 0 {
                display::format_count(step.kept)
            } else {
                String::new()
            })
        }));
    }
    further
}

fn slowest_step(card: &Card) -> Option<usize> {
    card.bottleneck.as_ref().map(|found| found.step)
}

fn step_cells(card: &Card, at: usize, step: &StepRow) -> Vec<TableCell> {
    let grade = match &step.grade {
        Some(grade) if grade.interval.is_some() => format!("{}*", grade.letter),
        Some(grade) => grade.letter.to_string(),
        None if card.grade.withheld => display::NO_VALUE.to_owned(),
        None => "NS".to_owned(),
    };
    let mut name = TableCell::name(&*step.name);
    name.key = slowest_step(card)
        .filter(|_| card.steps.len() > 1)
        .map(|slowest| paint_of(at, slowest));
    let request: Vec<&str> = [&step.method, &step.url]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    if !request.is_empty() {
        name = name.note(Form::Code, request.join(" "));
    }
    vec![
        name,
        TableCell::chip(grade, tone_of_letter(step.grade.map(|grade| grade.letter))),
        TableCell::count(step.executed),
        TableCell::optional(step.per_second, display::format_rate),
        TableCell::optional(step.error_rate, display::format_percent)
            .tone(Tone::alarm(step.failed > 0)),
        TableCell::time(step.response.p50),
        TableCell::time(step.response.p95),
        TableCell::time(step.response.p99),
        TableCell::optional(step.time_share, display::format_percent),
        TableCell::optional(step.received_bytes_per_second, display::format_throughput),
    ]
}

/// Builds the row of one name among the requests that a step sends by itself.
fn inner_cells(row: &InnerRow) -> Vec<TableCell> {
    let time = |time| TableCell::time(time).tone(Tone::Muted);
    let errors = if row.failed > 0 {
        Tone::Bad
    } else {
        Tone::Muted
    };
    vec![
        TableCell::name(&*row.name).tone(Tone::Muted),
        TableCell::default(),
        TableCell::count(row.requests).tone(Tone::Muted),
        TableCell::default(),
        TableCell::optional(row.error_rate, display::format_percent).tone(errors),
        time(row.service.p50),
        time(row.service.p95),
        time(row.service.p99),
    ]
}

/// Builds the shares of time, the bottleneck and the slow tail.
pub(super) fn build_time(card: &Card) -> Option<Section> {
    let bottleneck = card.bottleneck.as_ref()?;
    let mut blocks = Vec::new();
    let mut sentences = Vec::new();
    if let Some(shares) = chart::draw_shares(card) {
        let mut table = Table::new("", vec![Column::text("Step", 1.0), Column::word("Time")]);
        for (at, step) in card.steps.iter().enumerate() {
            let share = step.time_share.unwrap_or(0.0);
            let mut bar = TableCell::figure(display::format_percent(share))
                .tone(Tone::alarm(at == bottleneck.step));
            bar.bar = Some(share);
            table.push(vec![TableCell::name(&*step.name), bar]);
        }
        blocks.push(Block::Charts(Charts {
            drawings: vec![shares],
            is_wide: true,
            instead: vec![Block::Table(table)],
            ..Charts::default()
        }));
        let share = display::format_percent(bottleneck.share);
        let words = format!(
            "`{}` takes {share} of the time. {}",
            bottleneck.name, bottleneck.why
        );
        sentences.push(Sentence::led("Bottleneck:", words));
    } else {
        sentences.push(Sentence::plain(&*bottleneck.why));
    }
    if let Some(tail) = &card.tail {
        let words = format!(
            "`{}` takes {} of the time of the slowest 5 % of journeys, those of {} and more.",
            tail.name,
            display::format_percent(tail.share),
            display::format_micros(tail.at_least_us)
        );
        sentences.push(Sentence::led("Slow tail:", words));
    }
    blocks.push(Block::Sentences(sentences));
    Some(Section::new("Where the time goes", 4, blocks).essential())
}

/// Returns whether steps were kept from running or cut off; the table of steps has all other reasons.
fn has_ledger(card: &Card) -> bool {
    card.steps
        .iter()
        .any(|step| step.skipped > 0 || step.cancelled > 0)
}

/// A column of the ledger: title, meaning, whether any count is trouble, and the count.
type Account = (&'static str, &'static str, bool, fn(&StepRow) -> u64);

/// `planned` is the sum of all others but `failed`, which is a part of `executed`.
const ACCOUNTS: [Account; 9] = [
    ("Planned", "iterations that reached it", false, |step| {
        step.planned
    }),
    ("Executed", "ran to an end", false, |step| step.executed),
    ("Failed", "of these, without success", true, |step| {
        step.failed
    }),
    ("Skipped", "an upstream value was missing", true, |step| {
        step.skipped
    }),
    ("Not drawn", "its weight left it out", false, |step| {
        step.not_drawn
    }),
    (
        "Left out",
        "its function declined, which is no failure",
        false,
        |step| step.left_out,
    ),
    (
        "Upstream out",
        "a step it needs was not drawn or left out",
        false,
        |step| step.skipped_not_drawn,
    ),
    (
        "Kept",
        "it had run once and its answer was kept",
        false,
        |step| step.kept,
    ),
    ("Cut off", "by the end of the run", false, |step| {
        step.cancelled
    }),
];

/// Accounts for every iteration that reached a step which failed or did not always run.
pub(super) fn build_ledger(card: &Card) -> Option<Section> {
    let counts_any = |account: &&Account| card.steps.iter().any(|step| account.3(step) > 0);
    let accounts: Vec<&Account> = ACCOUNTS.iter().filter(counts_any).collect();
    let meanings: Vec<_> = accounts
        .iter()
        .map(|(title, meaning, ..)| format!("{title}: {meaning}"))
        .collect();
    let mut columns = vec![Column::text("Step", 1.0)];
    for (account, rank) in accounts.iter().zip(0..) {
        // Planned, executed and failed stay on the narrowest terminal.
        columns.push(Column::figure(account.0).leaves(if rank < 3 { 0 } else { rank }));
    }
    let caption = format!(
        "Where the iterations went that reached each step. {}.",
        meanings.join("; ")
    );
    let mut table = Table::list(&caption, columns);
    for step in card.steps.iter().filter(|step| step.planned > step.ok) {
        let mut cells = vec![TableCell::name(&*step.name)];
        cells.extend(accounts.iter().map(|(_, _, is_alarming, count)| {
            let count = count(step);
            let tone = if count == 0 {
                Tone::Muted
            } else {
                Tone::alarm(*is_alarming)
            };
            TableCell::count(count).tone(tone)
        }));
        table.push(cells);
    }
    has_ledger(card).then(|| Section::new("Dependency ledger", 6, vec![Block::Table(table)]))
}

pub(super) fn build_dependency_failures(card: &Card) -> Option<Section> {
    let section = build_dependencies("Dependency failures", Tone::Bad, &card.dependency_failures);
    section.map(Section::essential)
}

/// Lists the steps that did not run and are no failure.
pub(super) fn build_left_out(card: &Card) -> Option<Section> {
    let by_chance = |row: &DependencyFailure| row.cause == RootCause::NotDrawn;
    let title = if card.not_drawn.iter().all(by_chance) {
        "Left out by chance, in no grade"
    } else {
        "Left out, in no grade"
    };
    build_dependencies(title, Tone::Plain, &card.not_drawn)
}

fn build_dependencies(title: &str, tone: Tone, failures: &[DependencyFailure]) -> Option<Section> {
    let mut table = Table::list(
        "Steps that could not run, and the cause at the root",
        vec![Column::figure("Count"), Column::text("Cause", 1.0)],
    );
    for row in failures {
        let mut cause = TableCell::prose(row.describe());
        // A step's own words are in the sentence.
        if !row.example.is_empty() && row.variable.is_some() {
            cause = cause.note(Form::Prose, format!("first: {}", row.example));
        }
        table.push(vec![
            TableCell::count_and_ramp(row.count, row.elsewhere).tone(tone),
            cause,
        ]);
    }
    (!failures.is_empty()).then(|| Section::new(title, 5, vec![Block::Table(table)]))
}

/// Builds the slowest journeys and the command that runs the slowest one again.
pub(super) fn build_slowest(card: &Card) -> Option<Section> {
    let first = card.slowest.first()?;
    let sentences = card
        .slowest
        .iter()
        .map(|row| Sentence::plain(describe_journey(row)));
    let again = format!(
        "The slowest one again, by itself: {}",
        describe_rerun(card, &first.number)
    );
    let charts = Charts {
        drawings: chart::draw_slowest(card),
        caption: "Service time of each step, from when the journey was to start. Think time and pauses between \
                  attempts are shaded. All on one scale."
            .to_owned(),
        instead: vec![Block::Sentences(sentences.collect())],
        ..Charts::default()
    };
    let blocks = vec![
        Block::Charts(charts),
        Block::Sentences(vec![Sentence::small(again)]),
    ];
    Some(Section::new("Slowest journeys", 11, blocks))
}

fn describe_journey(row: &SlowRow) -> String {
    let mut parts = Vec::new();
    if row.delay_us * NOTABLE >= row.time_us {
        parts.push(format!("{} late", display::format_micros(row.delay_us)));
    }
    let mut steps: Vec<_> = row.steps.iter().collect();
    steps.sort_by_key(|step| Reverse(step.time_us));
    let (long, short): (Vec<_>, Vec<_>) = steps
        .into_iter()
        .partition(|step| step.time_us * NOTABLE >= row.time_us);
    for step in &long {
        let failed = if step.ok { "" } else { " (failed)" };
        parts.push(format!(
            "`{}` {}{failed}",
            step.name,
            display::format_micros(step.time_us)
        ));
    }
    if !short.is_empty() {
        let others = display::format_counted(short.len() as u64, "other step");
        let time = display::format_micros(short.iter().map(|step| step.time_us).sum());
        parts.push(format!("{others} {time}"));
    }
    let failed = if row.ok { "" } else { ", failed" };
    format!(
        "Iteration {} took {}{failed}: {}.",
        row.number,
        display::format_micros(row.time_us),
        parts.join(", ")
    )
}

/// Describes how to run an iteration again by itself.
fn describe_rerun(card: &Card, number: &str) -> String {
    let (scenario, seed) = (&card.identity, card.setting.seed);
    let ad_hoc = scenario.strip_prefix(AD_HOC);
    if ad_hoc.is_some_and(|function| !function.contains("::")) {
        return "its requests are the same in every iteration: `cargo loadtest debug -- curl ..` shows them".to_owned();
    }
    let mut command = format!("cargo loadtest debug {scenario} --seed {seed} --iteration {number}");
    for flag in &card.setting.flags {
        command.push(' ');
        command.push_str(flag);
    }
    format!("`{command}`")
}
