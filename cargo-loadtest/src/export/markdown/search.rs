//! A search for the capacity.

use super::table::{alarming, table};
use super::text::{code, prose};
use crate::export::facts::trial_cells;
use loadtest_model::card::{Capacity, Tone, view};
use std::fmt::Write as _;

/// What a search came to, before the card of its decisive trial.
pub(super) fn search(search: &Capacity) -> String {
    let mark = if search.exit_code() == 0 {
        "✅"
    } else {
        "❌"
    };
    let mut section = format!(
        "## {mark} {}: the capacity of {} is {}\n\nSLO: {}\n\n",
        search.verdict.name(),
        code(&search.scenario),
        search.headline(),
        prose(&search.slo())
    );
    for remark in &search.remarks {
        let mark = match remark.tone {
            Tone::Good => "✅ ",
            Tone::Bad => "❌ ",
            Tone::Note => "",
        };
        let _ = writeln!(section, "- {mark}{}", prose(&remark.words));
    }
    let further = search.further_conditions();
    let named: Vec<String> = further
        .iter()
        .map(|(_, name)| format!(">{}", code(name)))
        .collect();
    let mut titles = vec![">Rate", "Result", ">Achieved", ">p95", ">Errors"];
    titles.extend(named.iter().map(String::as_str));
    titles.push(">Window");
    let rows = search.trials.iter().map(|trial| {
        let mut row = vec![
            view::rate(trial.attempt.per_second),
            trial.words().to_owned(),
        ];
        let cells = trial_cells(search, trial, &further);
        row.extend(
            cells
                .into_iter()
                .map(|(words, breaks)| alarming(prose(&words), breaks)),
        );
        row
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        section.push_str(&table(&titles, &rows));
    }
    section
}
