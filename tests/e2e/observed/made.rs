//! Runs whose journal and readings are made here, as a tool that was killed leaves them: each figure of the report is exact.

use crate::site::{RunFolder, Sandbox};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::definition::{Load, ScenarioDef, Shape, Stage, StepDef};
use loadtest_model::metrics::{Frame, Tally};
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{
    EndReason, Environment, NotRun, RunEnd, RunRecord, RunStart, SCHEMA_VERSION,
};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

pub(super) fn trials() -> Vec<Trial> {
    trials![
        a_latency_that_follows_a_figure_is_said_to_move_with_it,
        what_only_rises_is_not_said_to_move_together,
        a_comparison_has_the_figures_of_both_runs,
    ]
}

const SECONDS: u32 = 60;
const PER_SECOND: u64 = 20;

/// A steady load.
const STEADY: Shape = Shape::Rate {
    per_second: PER_SECOND as f64,
    ramp_up: Duration::ZERO,
    duration: Duration::from_secs(SECONDS as u64),
};

/// A second of a run.
struct Second {
    sent: u64,
    latency: Duration,
    cores: f64,
    jobs: f64,
}

fn start_of(shape: Shape) -> RunStart {
    let mut definition = ScenarioDef::new(
        "buy".to_owned(),
        vec![StepDef {
            method: Some("GET".into()),
            url: Some("/buy".into()),
            ..StepDef::new("pay".to_owned())
        }],
    );
    definition.load = Some(Load::new(shape));
    let (overrides, grading) = (Overrides::default(), GradingDefaults::default());
    let plan = Plan::new(&definition, &overrides, &grading, 1).expect("a plan");
    RunStart {
        definition,
        plan,
        base_url: Some("http://127.0.0.1:1".to_owned()),
        own_target: false,
        target_in_process: false,
        permits: Vec::new(),
        offline: None,
        validity_off: false,
        executable_hash: "00".to_owned(),
        workers: 1,
        started_at: "2026-11-21T14:30:05Z".to_owned(),
    }
}

fn frame(number: u32, second: &Second) -> Frame {
    let mut tally = Tally::new(1);
    tally.journey.started = second.sent;
    tally.journey.ok = second.sent;
    tally.journey.lateness.record_n(Duration::ZERO, second.sent);
    tally.journey.time.record_n(second.latency, second.sent);
    let step = &mut tally.steps[0];
    step.executed = second.sent;
    step.ok = second.sent;
    step.requests = second.sent;
    step.response.record_n(second.latency, second.sent);
    step.service.record_n(second.latency, second.sent);
    let mut frame = Frame {
        second: number,
        ..Frame::default()
    };
    frame.windows.steady = tally;
    frame
}

/// Makes a run with a scenario of one step.
fn make_run(sandbox: &Sandbox, name: &str, shape: Shape, second: impl Fn(u32) -> Second) {
    let folder = sandbox.root().join("runs").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    let write = |file: &str, text: String| fs::write(folder.join(file), text).expect("a file");
    let start = start_of(shape);
    let header = RunRecord {
        schema_version: SCHEMA_VERSION,
        run_id: name.to_owned(),
        tool_version: "0.1.0".to_owned(),
        started_at: start.started_at.clone(),
        environment: Environment::default(),
        scenarios: Vec::new(),
        not_run: vec![NotRun::from_definition(&start.definition)],
        capacity: None,
        telemetry: Vec::new(),
    };
    let seconds: Vec<_> = (0..SECONDS).map(second).collect();
    let length = u64::from(SECONDS) * 1_000_000;
    let end = RunEnd {
        ending: EndReason::Completed,
        elapsed_us: length,
        planned: seconds.iter().map(|second| second.sent).sum(),
        steady_us: length,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    };
    let frames = (0..).zip(&seconds);
    let frames = frames.map(|(number, second)| JournalLine::Frame(Box::new(frame(number, second))));
    let lines = [JournalLine::Start(Box::new(start))].into_iter();
    let lines = lines.chain(frames).chain([JournalLine::End(end)]);
    let mut observed: Vec<Value> = [("db cpu", "cores"), ("queue", "jobs")]
        .map(|(name, unit)| {
            json!({"series": {
                "name": name, "unit": unit, "source": "http://127.0.0.1:2", "width": 1, "points": [],
            }})
        })
        .into();
    for (number, second) in (0_u64..).zip(&seconds) {
        for (series, value) in [(0, second.cores), (1, second.jobs)] {
            let at = number * 1_000_000 + 500_000;
            observed.push(json!({"reading": {
                "series": series, "at_us": at, "span_us": 1_000_000, "value": value,
            }}));
        }
    }
    write("run.json", json!(header).to_string());
    write("request-1.json", "{}".to_owned());
    write(
        "journal-1.jsonl",
        lines.map(|line| json!(line).to_string() + "\n").collect(),
    );
    write(
        "observed-1.jsonl",
        observed
            .iter()
            .map(|line| line.to_string() + "\n")
            .collect(),
    );
}

/// Returns a number below 1 that has nothing to do with those around it.
fn noise(number: u32) -> f64 {
    f64::from(number.wrapping_mul(2_654_435_761) >> 16) / 65_536.0
}

/// Reports the latest run; returns its JSON, too.
fn report(sandbox: &Sandbox, more: &str) -> (RunFolder, Value) {
    let line = format!("report latest --export json --export markdown --export html {more}");
    sandbox.call().line(&line).run();
    let run = sandbox.runs().pop().expect("a run");
    let report = serde_json::from_str(&run.text("report.json")).expect("JSON");
    (run, report)
}

fn a_latency_that_follows_a_figure_is_said_to_move_with_it() {
    let sandbox = Sandbox::new();
    make_run(&sandbox, "20261121-143005-aaaa", STEADY, |second| Second {
        sent: PER_SECOND,
        latency: Duration::from_millis(20) + Duration::from_millis(200).mul_f64(noise(second)),
        cores: 4.0 * noise(second),
        jobs: noise(second + 1_000),
    });
    let (run, report) = report(&sandbox, "");
    let words = "p95 and `db cpu` move together (Spearman 1.00 over 60 points)";
    let output = sandbox.call().line("report latest --verbose").run();
    output.exits(0).prints(&[words]);
    let correlations = &report["cards"][0]["correlations"];
    assert_eq!(correlations["figures"].as_array().map(Vec::len), Some(1));
    let figure = &correlations["figures"][0];
    assert_eq!(figure["name"], "db cpu");
    assert_eq!(figure["points"], 60);
    assert!(run.text("report.md").contains(words));
    assert!(
        run.text("report.html")
            .contains("p95 and <code>db cpu</code> move together (Spearman 1.00")
    );
}

fn what_only_rises_is_not_said_to_move_together() {
    let rising = Stage {
        from: 1.0,
        to: 61.0,
        duration: Duration::from_secs(SECONDS.into()),
    };
    let rising = Shape::RateStages {
        stages: vec![rising].into(),
    };
    let only_rose = "the load only rose, and so did everything else";
    for (shape, told) in [(STEADY, None), (rising, Some(only_rose))] {
        let sandbox = Sandbox::new();
        make_run(&sandbox, "20261121-143005-aaaa", shape, |second| Second {
            sent: PER_SECOND,
            latency: Duration::from_millis(20 + u64::from(second)),
            cores: f64::from(second),
            jobs: f64::from(second) + noise(second),
        });
        let (run, report) = report(&sandbox, "");
        let output = sandbox.call().line("report latest --verbose").run();
        let shown = output.exits(0).stdout;
        assert!(!shown.contains("(Spearman"), "{shown}");
        assert_eq!(shown.contains(only_rose), told.is_some(), "{shown}");
        let correlations = &report["cards"][0]["correlations"];
        assert_eq!(
            correlations["not_computed"].as_str(),
            told,
            "{correlations}"
        );
        assert!(!run.text("report.md").contains("(Spearman"));
        assert_eq!(run.text("report.html").contains(only_rose), told.is_some());
    }
}

fn a_comparison_has_the_figures_of_both_runs() {
    let sandbox = Sandbox::new();
    let second = |cores: f64| {
        move |second| Second {
            sent: PER_SECOND,
            latency: Duration::from_millis(20),
            cores: if second % 2 == 0 { cores } else { 1.0 },
            jobs: 7.0,
        }
    };
    make_run(&sandbox, "20261121-143005-aaaa", STEADY, second(2.0));
    sandbox.tool("baseline", "save main").run().exits(0);
    make_run(&sandbox, "20261121-153005-bbbb", STEADY, second(5.0));
    let (run, report) = report(&sandbox, "--baseline main");
    let expected = json!([
        {"name": "db cpu", "unit": "cores", "base_mean": 1.5, "new_mean": 3.0, "base_max": 2.0, "new_max": 5.0},
        {"name": "queue", "unit": "jobs", "base_mean": 7.0, "new_mean": 7.0, "base_max": 7.0, "new_max": 7.0},
    ]);
    let comparison = &report["cards"][0]["comparison"];
    assert_eq!(comparison["observed"], expected, "{comparison}");
    let words = [
        "db cpu",
        "1.5 cores",
        "3 cores",
        "+100 %",
        "2 cores",
        "5 cores",
        "+150 %",
    ];
    let compared = sandbox.tool("compare", "main latest").run().exits(0);
    for text in [compared.stdout, run.text("report.md")] {
        let text = text.replace('\u{a0}', " ");
        let mut lines = text.lines();
        let row = lines.find(|line| line.contains("db cpu") && line.contains("+100 %"));
        let row = row.unwrap_or_else(|| panic!("no row: {text}"));
        let mut rest = row;
        for word in words {
            let found = rest.split_once(word);
            (_, rest) = found.unwrap_or_else(|| panic!("no {word}: {row}"));
        }
    }
    assert!(run.text("report.html").contains("it changes no verdict"));
}
