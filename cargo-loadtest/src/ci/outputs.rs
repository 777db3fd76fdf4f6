//! The figures of a run as names and values, for the steps that come after.

use super::Published;
use loadtest_model::card::{Card, Report, worst_exit_code};
use serde::Serialize;
use std::time::Duration;

/// More than this of all scenarios is for the JSON export.
const LONGEST: usize = 256 * 1024;

/// The figures of a scenario.
#[derive(Debug, Serialize)]
struct OutputRow<'a> {
    scenario: &'a str,
    verdict: String,
    grade: Option<String>,
    score: Option<f64>,
    p95_ms: Option<f64>,
    error_rate: Option<f64>,
    rps: Option<f64>,
}

impl<'a> OutputRow<'a> {
    fn from_card(card: &'a Card) -> Self {
        Self {
            scenario: &card.identity,
            verdict: output_word(card.verdict.name()),
            grade: card.grade.letter.map(|letter| letter.to_string()),
            score: card.grade.score.map(|score| round_digits(score, 4)),
            p95_ms: card.headline.time.p95.map(to_millis),
            error_rate: card.headline.error_rate.map(|rate| round_digits(rate, 6)),
            rps: card
                .headline
                .achieved_per_second
                .map(|rate| round_digits(rate, 3)),
        }
    }

    /// Returns the row of a scenario that did not run.
    fn without(scenario: &'a str) -> Self {
        Self {
            scenario,
            verdict: "did_not_run".to_owned(),
            grade: None,
            score: None,
            p95_ms: None,
            error_rate: None,
            rps: None,
        }
    }
}

/// The names and values of a run: figures are those of the worst scenario.
pub(super) fn list_outputs(run: &Published<'_>) -> Vec<(&'static str, String)> {
    let report = run.report;
    let worst = worst_row(report);
    let path = |path: Option<&std::path::Path>| {
        let path = path.map(|path| std::path::absolute(path).unwrap_or(path.to_path_buf()));
        path.map_or_else(String::new, |path| path.display().to_string())
    };
    let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
    let mut all = vec![
        ("run_id", report.run_id.clone()),
        ("directory", path(Some(run.folder))),
        ("report", path(run.page)),
    ];
    if let Some(row) = worst {
        let verdict = report
            .capacity
            .as_ref()
            .map_or(row.verdict.clone(), |search| {
                output_word(search.verdict.name())
            });
        all.extend([
            ("scenario", row.scenario.to_owned()),
            ("verdict", verdict),
            ("grade", row.grade.clone().unwrap_or_default()),
            ("score", number(row.score)),
            ("p95_ms", number(row.p95_ms)),
            ("error_rate", number(row.error_rate)),
            ("rps", number(row.rps)),
        ]);
    }
    if let Some(search) = &report.capacity {
        let rate = search.finding.confirmed_per_second;
        all.push(("capacity", number(rate.map(|rate| round_digits(rate, 3)))));
    }
    let rows: Vec<_> = list_rows(report).collect();
    let rows = serde_json::to_string(&rows).unwrap_or_default();
    if rows.len() <= LONGEST {
        all.push(("scenarios", rows));
    }
    all
}

fn list_rows(report: &Report) -> impl Iterator<Item = OutputRow<'_>> {
    let not_run = report.not_run.iter();
    report
        .cards
        .iter()
        .map(OutputRow::from_card)
        .chain(not_run.map(|scenario| OutputRow::without(&scenario.scenario)))
}

/// Returns the row of the worst scenario: by the exit code, then by the score.
fn worst_row(report: &Report) -> Option<OutputRow<'_>> {
    let code = worst_exit_code(
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
    card.map(OutputRow::from_card)
        .or_else(|| not_run().map(|scenario| OutputRow::without(&scenario.scenario)))
}

/// `NOT PERMITTED` as programs write it.
fn output_word(name: &str) -> String {
    name.to_lowercase().replace(' ', "_")
}

fn to_millis(time: Duration) -> f64 {
    round_digits(time.as_secs_f64() * 1e3, 3)
}

fn round_digits(number: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (number * scale).round() / scale
}
