//! A comparison as data.

use super::RunComparison;
use loadtest_console::error::Error;
use loadtest_model::comparison::{Comparison, ComparisonOutcome, Refusal};
use serde_json::{Value, json};

pub(super) fn render(compared: &RunComparison) -> Result<String, Error> {
    let not_encoded = Error::encode("the comparison");
    let mut scenarios = Vec::new();
    for (identity, outcome) in &compared.scenarios {
        let mut value = serde_json::to_value(outcome).map_err(&not_encoded)?;
        match outcome {
            ComparisonOutcome::Compared(comparison) => {
                value["regressions"] = regressions_json(comparison);
            }
            ComparisonOutcome::Refused { refusals } => value["reasons"] = reasons_json(refusals),
            ComparisonOutcome::Absent => {}
        }
        value["scenario"] = json!(identity);
        scenarios.push(value);
    }
    let kind = if compared.is_baseline {
        "baseline"
    } else {
        "run"
    };
    let value = json!({
        "base": { "kind": kind, "name": compared.base },
        "new": compared.new,
        "scenarios": scenarios,
        "only_in_base": compared.missing,
        "exit_code": compared.exit_code(),
    });
    serde_json::to_string_pretty(&value).map_err(&not_encoded)
}

/// Lists the regressions, each once, with a description.
fn regressions_json(comparison: &Comparison) -> Value {
    let one = |(subject, figure): (
        &loadtest_model::comparison::Subject,
        &loadtest_model::comparison::Compared,
    )| {
        json!({ "step": subject.step, "figure": figure.figure, "words": figure.describe() })
    };
    comparison.regressions().map(one).collect()
}

fn reasons_json(refusals: &[Refusal]) -> Value {
    let one = |refusal: &Refusal| json!({ "words": refusal.to_string(), "help": refusal.help() });
    refusals.iter().map(one).collect()
}
