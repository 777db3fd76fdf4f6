//! The section of how often each step ran: what became of the iterations that reached it, and its weight.

use super::{Block, Column, Section, Sentence, Table, TableCell, Tone};
use loadtest_model::card::{Card, DependencyFailure, StepRow, WeightRow};
use loadtest_model::display;

/// The most causes of steps that were left out.
const CAUSES: usize = 6;

/// A column of the accounts: title, meaning, whether any count is trouble, and the count.
type Account = (&'static str, &'static str, bool, fn(&StepRow) -> u64);

/// `planned` is the sum of all others but `failed`, a part of `executed`, and the requests.
const ACCOUNTS: [Account; 9] = [
    ("Planned", "iterations that reached it", false, |step| {
        step.planned
    }),
    ("Executed", "ended", false, |step| step.executed),
    ("Failed", "of these, failed", true, |step| step.failed),
    ("Skipped", "an upstream value was missing", true, |step| {
        step.skipped
    }),
    ("Not drawn", "its weight left it out", false, |step| {
        step.not_drawn
    }),
    (
        "Left out",
        "its function left it out, which is not a failure",
        false,
        |step| step.left_out,
    ),
    (
        "Upstream out",
        "a step that it needs was not drawn or was left out",
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

/// What tells the retries, where there are some.
const REQUESTS: Account = (
    "Requests",
    "sent for it, including retries",
    false,
    |step| step.requests,
);

/// The accounts that every table has room for.
const USUAL: usize = 3;

/// Builds the accounts of steps that failed or did not always run, with the weights beside them.
pub(super) fn build_executions(card: &Card) -> Option<Section> {
    let any = |account: &&Account| card.steps.iter().any(|step| account.3(step) > 0);
    let is_retried = card.steps.iter().any(|step| step.retries > 0);
    let has_accounts = is_retried || ACCOUNTS[USUAL..].iter().any(|account| any(&account));
    if !has_accounts && card.weights.is_empty() {
        return None;
    }
    let requests = is_retried.then_some(&REQUESTS);
    let accounts: Vec<&Account> = ACCOUNTS.iter().filter(any).chain(requests).collect();
    let mut columns = vec![Column::text("Step", 1.0)];
    columns.extend((accounts.iter().zip(0..)).map(|(account, rank)| {
        // The usual ones stay on the narrowest terminal.
        Column::figure(account.0).leaves(if rank < 3 { 0 } else { rank })
    }));
    if !card.weights.is_empty() {
        columns.extend([
            Column::figure("Weight"),
            Column::figure("Observed"),
            Column::figure("95 % interval").leaves(20),
        ]);
    }
    let mut table = Table::list(&describe_accounts(&accounts), columns);
    for step in &card.steps {
        let weight = card.weights.iter().find(|row| row.step == step.name);
        if step.planned <= step.ok && step.retries == 0 && weight.is_none() {
            continue;
        }
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
        if !card.weights.is_empty() {
            cells.extend(weight_cells(weight));
        }
        table.push(cells);
    }
    let mut blocks = vec![Block::Table(table)];
    let causes = describe_causes(&card.not_drawn);
    if !causes.is_empty() {
        blocks.push(Block::Sentences(causes));
    }
    let is_alarming = card.weights.iter().any(|row| !row.plausible);
    Some(Section::new("Executions by step", blocks).account(is_alarming))
}

/// Explains the columns.
fn describe_accounts(accounts: &[&Account]) -> String {
    let meanings: Vec<_> = accounts
        .iter()
        .map(|(title, meaning, ..)| format!("{title}: {meaning}"))
        .collect();
    format!("{}.", meanings.join("; "))
}

/// Builds the configured and the observed weight; empty for a step that runs every time.
fn weight_cells(row: Option<&WeightRow>) -> [TableCell; 3] {
    let Some(row) = row else {
        return Default::default();
    };
    let (outside, tone) = if row.plausible {
        ("", Tone::Plain)
    } else {
        (" (outside)", Tone::Fair)
    };
    [
        TableCell::figure(display::format_percent(row.configured)),
        TableCell::optional(row.observed, display::format_percent).tone(tone),
        TableCell::optional(row.interval, |(low, high)| {
            format!(
                "{} – {}{outside}",
                display::format_percent(low),
                display::format_percent(high)
            )
        }),
    ]
}

/// Names the causes for which steps were left out, which is no failure.
fn describe_causes(left_out: &[DependencyFailure]) -> Vec<Sentence> {
    let causes = left_out.iter().take(CAUSES).map(|row| {
        let count = display::format_counted(row.count, "time");
        Sentence::small(format!("{count}, not graded: {}.", row.describe()))
    });
    let mut causes: Vec<_> = causes.collect();
    if left_out.len() > CAUSES {
        causes.push(Sentence::small(format!(
            "and {} more",
            left_out.len() - CAUSES
        )));
    }
    causes
}
