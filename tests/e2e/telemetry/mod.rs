//! Figures that are sent while a run goes on: what arrives, and that nothing else changes for them.

mod deliveries;
mod exemplars;
mod grafana;
mod influx;
mod lines;
mod otlp;
mod prometheus;
pub(crate) mod receivers;
mod spans;
mod traces;

use crate::site::{Sandbox, total};
use libtest_mimic::{Completion, Trial};
use loadtest_model::metrics::Tally;
use loadtest_model::record::{RunRecord, ScenarioRecord};
use serde_json::Value;
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    let trials = [
        deliveries::trials(),
        exemplars::trials(),
        grafana::trials(),
        influx::trials(),
        lines::trials(),
        otlp::trials(),
        prometheus::trials(),
        spans::trials(),
        traces::trials(),
    ];
    trials.into_iter().flatten().collect()
}

/// Makes a trial that is left out where a file is missing.
fn needing(file: &Path, name: &str, run: fn()) -> Trial {
    let file = file.to_path_buf();
    Trial::ignorable_test(format!("telemetry::{name}"), move || {
        if !file.is_file() {
            let reason = format!("`{}` is not installed", file.display());
            return Ok(Completion::ignored_with(reason));
        }
        run();
        Ok(Completion::Completed)
    })
}

/// A table of `[telemetry]` with one sink.
fn sink(lines: &str) -> String {
    format!("[[telemetry.to]]\n{lines}\n")
}

/// The lines of a file of the format `json`.
fn read_lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("lines");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// The newest line of a scenario about a step, or about all of it.
#[track_caller]
fn last_line<'a>(lines: &'a [Value], scenario: &str, step: Option<&str>) -> &'a Value {
    let is_about = |line: &&Value| {
        let ends = line["scenario"]
            .as_str()
            .is_some_and(|name| name.ends_with(scenario));
        let others = ["request", "group", "name", "condition"];
        ends && line["step"].as_str() == step && others.iter().all(|part| line[part].is_null())
    };
    let found = lines.iter().rev().find(is_about);
    found.unwrap_or_else(|| panic!("no line of {scenario} {step:?}"))
}

/// Everything but the warm-up, as the figures are.
fn measured(record: &ScenarioRecord) -> Tally {
    let mut tally = Tally::new(record.start.definition.steps.len());
    tally.merge(&record.windows.ramp);
    tally.merge(&record.windows.steady);
    tally
}

/// The lines add up to the record.
#[track_caller]
fn assert_lines_agree(lines: &[Value], record: &ScenarioRecord) {
    let tally = measured(record);
    let scenario = record.start.definition.identity();
    let line = last_line(lines, &scenario, None);
    let journeys = &line["totals"]["journeys"];
    assert_eq!(journeys["ok"], tally.journey.ok, "{line:#}");
    assert_eq!(journeys["failed"], tally.journey.failed, "{line:#}");
    assert_eq!(journeys["dropped"], tally.journey.dropped, "{line:#}");
    for (step, counts) in record.start.definition.steps.iter().zip(&tally.steps) {
        let line = last_line(lines, &scenario, Some(&step.name));
        let totals = &line["totals"];
        assert_eq!(totals["executions"]["ok"], counts.ok, "{line:#}");
        assert_eq!(totals["executions"]["failed"], counts.failed, "{line:#}");
        assert_eq!(totals["sent_bytes"], counts.sent_bytes, "{line:#}");
        assert_eq!(totals["received_bytes"], counts.received_bytes, "{line:#}");
        assert_eq!(
            line["times"]["response"]["total"],
            counts.response.count(),
            "{line:#}"
        );
        let errors: u64 = counts.errors.iter().map(|error| error.count).sum();
        let told = totals["errors"].as_object();
        let told: u64 = told
            .into_iter()
            .flatten()
            .filter_map(|(_, count)| count.as_u64())
            .sum();
        assert_eq!(told, errors, "{line:#}");
    }
}

/// Every sink got everything.
#[track_caller]
fn assert_delivered(record: &RunRecord) {
    assert!(!record.telemetry.is_empty());
    for sink in &record.telemetry {
        assert_eq!(sink.delivered, sink.intervals, "{sink:?}");
        assert!(sink.intervals > 0 && sink.reason.is_none(), "{sink:?}");
    }
}

/// No file of the runs made from here holds `part`.
#[track_caller]
fn assert_nothing_holds(sandbox: &Sandbox, part: &str) {
    for run in sandbox.runs() {
        for file in run.files() {
            let bytes = std::fs::read(run.0.join(&file)).expect("a file of the run");
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(part), "{} holds {part}", file.display());
        }
    }
}

/// The accounts of a run are whole, whatever became of its telemetry.
#[track_caller]
fn assert_measured(sandbox: &Sandbox, iterations: u64) {
    let record = sandbox.record();
    crate::site::assert_balanced(&record);
    assert_eq!(total(&record).journey.ok, iterations);
}
