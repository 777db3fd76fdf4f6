//! Small values of the protocol, for tests.

use loadtest_model::definition::{
    Dependency, EndMark, GoodCondition, Load, Part, ScenarioDef, Shape, StepDef, StreamDef,
    StreamFormat,
};
use loadtest_model::metrics::Frame;
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::protocol::{JournalLine, RunRequest};
use loadtest_model::record::{EndReason, RunEnd, RunStart, ScenarioRecord};
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

/// A scenario of two steps in `tests/load.rs` of the package `shop`.
pub(crate) fn definition(function: &str, tags: &[String]) -> ScenarioDef {
    let mut buy = step("buy", 0.5);
    buy.dependencies = vec![Dependency {
        step: 0,
        optional: false,
    }]
    .into();
    ScenarioDef {
        package: "shop".into(),
        file: "tests/load.rs".into(),
        line: 7,
        description: "A visit.".into(),
        tags: tags.iter().map(|tag| Cow::Owned(tag.clone())).collect(),
        load: Some(Load::new(Shape::Rate {
            per_second: 20.0,
            ramp_up: Duration::from_secs(2),
            duration: Duration::from_secs(60),
        })),
        fingerprint: "f1".into(),
        ..ScenarioDef::new(function.to_owned(), vec![step("login", 0.8), buy])
    }
}

/// A step that reads a stream of events and says what is good.
pub(crate) fn streamed(mut step: StepDef) -> StepDef {
    step.stream = Some(StreamDef {
        format: StreamFormat::Lines,
        first: Some("|event| event.output().is_some()".into()),
        end: Some(EndMark::Data("[DONE]".into())),
        units: Some("tokens".into()),
        events: Some(500),
        lasts: Some(Duration::from_secs(60)),
        idle: StreamDef::IDLE,
        idle_counts_bytes: false,
        graded_by_response: false,
    });
    step.good = vec![GoodCondition {
        part: Part::FirstEvent,
        at_most: Duration::from_millis(800),
    }]
    .into();
    step
}

fn step(name: &str, weight: f64) -> StepDef {
    StepDef {
        line: 9,
        method: Some("GET".into()),
        url: Some(format!("/{name}").into()),
        weight,
        fingerprint: "f2".into(),
        ..StepDef::new(name.to_owned())
    }
}

/// A request to run `checkout`, with files in `folder`.
pub(crate) fn request(folder: &Path) -> RunRequest {
    RunRequest {
        scenario: "shop::load::checkout".to_owned(),
        run_id: "run".to_owned(),
        overrides: Overrides::default(),
        base_url: None,
        grading: GradingDefaults::default(),
        seed: 1,
        executable_hash: String::new(),
        journal: folder.join("journal"),
        record: folder.join("record"),
        spare_record: None,
        spans: None,
        setup_values: None,
        start_at_us: None,
        has_controller: false,
        samples: None,
    }
}

pub(crate) fn start() -> RunStart {
    let definition = definition("checkout", &[]);
    let plan = Plan::new(
        &definition,
        &Overrides::default(),
        &GradingDefaults::default(),
        1,
    )
    .unwrap();
    RunStart {
        definition,
        plan,
        base_url: None,
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

/// A second in which `started` iterations began and ended well, after 30 ms each; nothing happened if there are none.
pub(crate) fn frame(second: u32, started: u64) -> Frame {
    let mut frame = Frame {
        second,
        active_users: 3,
        ..Frame::default()
    };
    if started == 0 {
        return frame;
    }
    let tally = &mut frame.windows.steady;
    *tally = loadtest_model::metrics::Tally::new(2);
    tally.journey.started = started;
    tally.journey.ok = started;
    tally
        .journey
        .time
        .record_n(Duration::from_millis(30), started);
    tally.steps[0].executed = started;
    tally.steps[0].ok = started;
    tally.steps[0]
        .response
        .record_n(Duration::from_millis(20), started);
    frame
}

pub(crate) fn end() -> RunEnd {
    RunEnd {
        ending: EndReason::Completed,
        elapsed_us: 60_000_000,
        planned: 1_180,
        steady_us: 58_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    }
}

pub(crate) fn scenario_record() -> ScenarioRecord {
    let mut record = ScenarioRecord::new(start());
    record.absorb(&frame(0, 4));
    record.finish(end());
    record
}

pub(crate) fn journal(lines: &[JournalLine]) -> String {
    lines
        .iter()
        .map(|line| serde_json::to_string(line).unwrap() + "\n")
        .collect()
}
