//! The figures of a run as names and values, for the steps that come after.

use super::Published;
use loadtest_model::card::{Card, Report};
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::NotRun;
use serde_json::{Value, json};

/// More than this of all scenarios is for the JSON export.
const LONGEST: usize = 256 * 1024;
/// The figures of the worst scenario that are outputs of their own.
const KEYS: [&str; 7] = [
    "scenario",
    "verdict",
    "grade",
    "score",
    "p95_ms",
    "error_rate",
    "rps",
];

/// What a scenario came to; null where it has no such figure.
fn describe_card(card: &Card) -> Value {
    let head = &card.headline;
    let rounded = |number: Option<f64>, digits| number.map(|number| round_digits(number, digits));
    json!({
        "scenario": card.identity,
        "verdict": output_word(card.verdict.name()),
        "grade": card.grade.letter.map(|letter| letter.to_string()),
        "score": rounded(card.grade.score, 4),
        "p95_ms": rounded(head.time.p95.map(|time| time.as_secs_f64() * 1e3), 3),
        "error_rate": rounded(head.error_rate, 6),
        "rps": rounded(head.achieved_per_second, 3),
    })
}

/// The same of a scenario that did not run.
fn describe_missing(scenario: &NotRun) -> Value {
    json!({
        "scenario": scenario.scenario,
        "verdict": "did_not_run",
        "grade": null,
        "score": null,
        "p95_ms": null,
        "error_rate": null,
        "rps": null,
    })
}

/// The names and values of a run: figures are those of the worst scenario.
pub(super) fn list_outputs(run: &Published<'_>) -> Vec<(&'static str, String)> {
    let report = run.report;
    let worst = worst_row(report);
    let path = |path: Option<&std::path::Path>| {
        let path = path.map(|path| std::path::absolute(path).unwrap_or(path.to_path_buf()));
        path.map_or_else(String::new, |path| path.display().to_string())
    };
    let mut all = vec![
        ("run_id", report.run_id.clone()),
        ("directory", path(Some(run.folder))),
        ("report", path(run.page)),
    ];
    if let Some(mut row) = worst {
        if let Some(search) = &report.capacity {
            row["verdict"] = output_word(search.verdict.name()).into();
        }
        all.extend(KEYS.map(|key| (key, show_value(&row[key]))));
    }
    if let Some(search) = &report.capacity {
        let rate = search.finding.confirmed_per_second;
        let rate = rate.map(|rate| round_digits(rate, 3));
        all.push(("capacity", show_value(&json!(rate))));
    }
    let cards = report.cards.iter().map(describe_card);
    let rows: Vec<_> = cards
        .chain(report.not_run.iter().map(describe_missing))
        .collect();
    let rows = Value::from(rows).to_string();
    if rows.len() <= LONGEST {
        all.push(("scenarios", rows));
    }
    all
}

/// A value as a shell reads it.
fn show_value(value: &Value) -> String {
    match value {
        Value::String(words) => words.clone(),
        value => value
            .as_f64()
            .map_or_else(String::new, |number| number.to_string()),
    }
}

/// Returns the row of the worst scenario: by the exit code, then by the score.
fn worst_row(report: &Report) -> Option<Value> {
    let code = ExitCode::worst_of(
        (report.cards.iter().map(|card| card.verdict.exit_code()))
            .chain(report.not_run.iter().map(|scenario| scenario.exit_code)),
    );
    let of_code = report
        .cards
        .iter()
        .filter(|card| card.verdict.exit_code() == code);
    let score = |card: &&Card| card.grade.score.unwrap_or(0.0);
    let card = of_code.min_by(|one, other| score(one).total_cmp(&score(other)));
    let not_run = || {
        let mut those = report.not_run.iter();
        those.find(|scenario| scenario.exit_code == code)
    };
    card.map(describe_card)
        .or_else(|| not_run().map(describe_missing))
}

/// `NOT PERMITTED` as programs write it.
fn output_word(name: &str) -> String {
    name.to_lowercase().replace(' ', "_")
}

fn round_digits(number: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (number * scale).round() / scale
}
