//! Sections about steps: lost points, figures, time, failed dependencies and the slowest journeys.

use super::{
    Block, Column, Form, Section, Sentence, Table, TableCell, TableRow, Tone, tone_of_letter,
};
use crate::export::chart::{self, paint_of};
use loadtest_model::card::{Card, GroupRow, InnerRow, LossKind, Quantiles, SlowRow, StepRow};
use loadtest_model::definition::Part;
use loadtest_model::display;
use std::cmp::Reverse;
use std::fmt::Write as _;

/// Steps of a slow journey are named from a fifth of its time.
const NOTABLE: u64 = 5;
/// Its delay, and the time in no request, from a hundredth.
const VISIBLE: u64 = 100;
/// The word beside the step that takes the most time.
const BOTTLENECK: &str = "▲ bottleneck";
/// The package of scenarios that the tool makes of requests on its command line.
const AD_HOC: &str = "curl::";

pub(super) fn build_losses(card: &Card) -> Option<Section> {
    let mut table = Table::list("", vec![Column::figure(""), Column::text("", 1.0)]);
    for loss in &card.losses {
        let tone = match loss.kind {
            LossKind::Errors | LossKind::Skips | LossKind::Journeys => Tone::Bad,
            LossKind::Latency | LossKind::StartDelay => Tone::Fair,
        };
        table.push(vec![
            TableCell::figure(display::format_points(loss.points)).tone(tone),
            TableCell::prose(&*loss.words),
        ]);
    }
    let title = "Where the grade lost points";
    (!table.rows.is_empty()).then(|| Section::new(title, vec![Block::Table(table)]))
}

pub(super) fn build_steps(card: &Card) -> Section {
    let of_groups = if card.groups.is_empty() {
        ""
    } else {
        "; the time of a group is the sum of its steps"
    };
    let is_by_event = |step: &StepRow| step.graded_part() == Part::FirstEvent;
    let of_streams = if card.steps.iter().any(is_by_event) {
        ", streams by the time to their first event"
    } else {
        ""
    };
    let caption = format!(
        "Graded by response time{of_streams}; Time: share of the service time of all steps{of_groups}"
    );
    let mut table = Table::new(
        &caption,
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
    let slowest = slowest_step(card);
    let mut above = None;
    for (at, step) in card.steps.iter().enumerate() {
        if step.group != above {
            above.clone_from(&step.group);
            let is_it = |group: &&GroupRow| Some(&group.name) == step.group.as_ref();
            let group = card.groups.iter().find(is_it).map(group_cells);
            table.rows.extend(group.map(|cells| TableRow {
                cells,
                ..TableRow::default()
            }));
        }
        table.rows.push(TableRow {
            cells: step_cells(card, at, step),
            is_member: step.group.is_some(),
            flag: (slowest == Some(at)).then_some(BOTTLENECK),
            ..TableRow::default()
        });
        table.rows.extend(step.inner.iter().map(|inner| TableRow {
            cells: inner_cells(inner),
            is_inner: true,
            is_member: step.group.is_some(),
            ..TableRow::default()
        }));
    }
    let traffic = describe_traffic(card).map(|traffic| Block::Sentences(vec![traffic]));
    let blocks = [Some(Block::Table(table)), traffic];
    Section::new("Steps", blocks.into_iter().flatten().collect()).essential()
}

/// Sums up the requests of all steps: their bytes, those that were sent again, and the connections of the whole run.
fn describe_traffic(card: &Card) -> Option<Sentence> {
    let sum = |count: fn(&StepRow) -> u64| card.steps.iter().map(count).sum::<u64>();
    let requests = sum(|step| step.requests);
    if requests == 0 {
        return None;
    }
    let mut words = format!(
        "{}: {} sent, {} received",
        display::format_counted(requests, "request"),
        display::format_bytes(sum(|step| step.sent_bytes)),
        display::format_bytes(sum(|step| step.received_bytes)),
    );
    let resent = sum(|step| step.resent);
    let repeated = sum(|step| step.retries) - resent;
    let again = [
        (resent, "by the client: the target had not started them"),
        (repeated, "by `retry` or `until`"),
    ];
    for (count, why) in again.iter().filter(|(count, _)| *count > 0) {
        let count = display::format_count(*count);
        let _ = write!(words, "; {count} sent again {why}");
    }
    words.push('.');
    // Most are opened before the measured part, of which the rest is.
    let connections = sum(|step| step.phases.connections);
    if connections > 0 {
        let connections = display::format_counted(connections, "connection");
        let _ = write!(words, " Whole run: {connections}.");
    }
    Some(Sentence::small(words))
}

/// Returns the bottleneck, where there are several steps.
fn slowest_step(card: &Card) -> Option<usize> {
    let several = card.steps.len() > 1;
    card.bottleneck
        .as_ref()
        .filter(|_| several)
        .map(|found| found.step)
}

fn step_cells(card: &Card, at: usize, step: &StepRow) -> Vec<TableCell> {
    let grade = match &step.grade {
        Some(grade) => grade.label(),
        None if card.grade.withheld => display::NO_VALUE.to_owned(),
        None => "NS".to_owned(),
    };
    let mut name = TableCell::name(&*step.name);
    name.key = slowest_step(card).map(|_| paint_of(at));
    let tags = (!step.tags.is_empty()).then(|| format!("[{}]", step.tags.join(", ")));
    let request: Vec<&str> = [&step.method, &step.url, &step.operation, &tags]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    if !request.is_empty() {
        name = name.note(Form::Code, request.join(" "));
    }
    if let Some(done) = &step.done {
        name = name.note(Form::Figure, describe_done(done));
    }
    let mut errors = TableCell::optional(step.error_rate, display::format_percent)
        .tone(Tone::alarm(step.failed > 0));
    if step.partial_answers > 0 {
        let words = format!("{} partial", display::format_count(step.partial_answers));
        errors = errors.note(Form::Figure, words);
    }
    vec![
        name,
        TableCell::chip(grade, tone_of_letter(step.grade.map(|grade| grade.letter))),
        TableCell::count(step.executed),
        TableCell::optional(step.per_second, display::format_rate),
        errors,
        TableCell::time(step.response.p50),
        TableCell::time(step.response.p95),
        TableCell::time(step.response.p99),
        TableCell::optional(step.time_share, display::format_percent),
        TableCell::optional(step.received_bytes_per_second, display::format_throughput),
    ]
}

/// Describes how long it took until `until` held, pauses included: `until done: p50 152 ms, p95 190 ms, p99 201 ms`.
fn describe_done(done: &Quantiles) -> String {
    let quantiles = [("p50", done.p50), ("p95", done.p95), ("p99", done.p99)];
    let shown = quantiles.iter().filter_map(|(name, time)| {
        let time = display::format_duration((*time)?);
        Some(format!("{name} {time}"))
    });
    format!("until done: {}", shown.collect::<Vec<_>>().join(", "))
}

/// Builds the row of a group, which stands above those of its steps.
fn group_cells(row: &GroupRow) -> Vec<TableCell> {
    vec![
        TableCell::name(&*row.name),
        TableCell::default(),
        TableCell::count(row.executed),
        TableCell::optional(row.per_second, display::format_rate),
        TableCell::optional(row.error_rate, display::format_percent)
            .tone(Tone::alarm(row.failed > 0)),
        TableCell::time(row.response.p50),
        TableCell::time(row.response.p95),
        TableCell::time(row.response.p99),
        TableCell::optional(row.time_share, display::format_percent),
        TableCell::default(),
    ]
}

/// Names a row, with the number of its names where they differ only in ids: `/users/{..} (32 names)`.
fn label_row(row: &InnerRow) -> String {
    match row.describe_names() {
        Some(names) => format!("{} ({names})", row.name),
        None => row.name.clone(),
    }
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
        TableCell::name(label_row(row)).tone(Tone::Muted),
        row.grade.map_or_else(TableCell::default, |grade| {
            TableCell::figure(grade.label()).tone(tone_of_letter(Some(grade.letter)))
        }),
        TableCell::count(row.requests).tone(Tone::Muted),
        TableCell::default(),
        TableCell::optional(row.error_rate, display::format_percent).tone(errors),
        time(row.service.p50),
        time(row.service.p95),
        time(row.service.p99),
        TableCell::default(),
        TableCell::default(),
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
            let mut bar = TableCell::figure(display::format_percent(share));
            bar.bar = Some(share);
            table.rows.push(TableRow {
                cells: vec![TableCell::name(&*step.name), bar],
                flag: (at == bottleneck.step).then_some(BOTTLENECK),
                ..TableRow::default()
            });
        }
        blocks.push(Block::Strip(Box::new(shares), table));
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
            "in the slowest 5 % of journeys ({2} and up), `{0}` takes {1} of the time.",
            tail.name,
            display::format_percent(tail.share),
            display::format_micros(tail.at_least_us)
        );
        sentences.push(Sentence::led("Slow tail:", words));
    }
    blocks.push(Block::Sentences(sentences));
    Some(Section::new("Where the time goes", blocks).essential())
}

pub(super) fn build_dependency_failures(card: &Card) -> Option<Section> {
    let mut table = Table::list(
        "With the root cause",
        vec![Column::figure("Count"), Column::text("Cause", 1.0)],
    );
    for row in &card.dependency_failures {
        table.push(vec![
            TableCell::count_and_ramp(row.count, row.elsewhere).tone(Tone::Bad),
            TableCell::prose(row.describe()),
        ]);
    }
    let title = "Dependency failures";
    (!table.rows.is_empty()).then(|| Section::new(title, vec![Block::Table(table)]).essential())
}

/// Builds the slowest journeys and the command that runs the slowest one again.
pub(super) fn build_slowest(card: &Card) -> Option<Section> {
    let first = card.slowest.first()?;
    let sentences = card
        .slowest
        .iter()
        .map(|row| Sentence::plain(describe_journey(row)));
    let again = format!(
        "Run the slowest journey again: {}",
        describe_rerun(card, &first.number)
    );
    let blocks = vec![
        Block::Charts(vec![chart::draw_slowest(card)]),
        Block::Sentences(sentences.collect()),
        Block::Sentences(vec![Sentence::small(again)]),
    ];
    Some(Section::new("Slowest journeys", blocks).folded())
}

fn describe_journey(row: &SlowRow) -> String {
    let mut parts = Vec::new();
    if row.delay_us * VISIBLE >= row.time_us {
        parts.push(format!("{} late", display::format_micros(row.delay_us)));
    }
    let mut steps: Vec<_> = row.steps.iter().collect();
    steps.sort_by_key(|step| Reverse(step.time_us));
    let (mut long, mut short): (Vec<_>, Vec<_>) = steps
        .into_iter()
        .partition(|step| step.time_us * NOTABLE >= row.time_us);
    if short.len() == 1 {
        long.append(&mut short);
    }
    for step in &long {
        let failed = if step.ok { "" } else { " (failed)" };
        parts.push(format!(
            "`{}` {}{failed}",
            step.name,
            display::format_micros(step.time_us)
        ));
    }
    if !short.is_empty() {
        let kind = if long.is_empty() {
            "step"
        } else {
            "other step"
        };
        let others = display::format_counted(short.len() as u64, kind);
        let time = display::format_micros(short.iter().map(|step| step.time_us).sum());
        parts.push(format!("{others} {time}"));
    }
    if row.own_us * VISIBLE >= row.time_us {
        let time = display::format_micros(row.own_us);
        parts.push(format!(
            "{time} outside of requests: in the scenario's own code, or waiting for a thread of the generator"
        ));
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
