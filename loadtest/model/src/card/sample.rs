//! Records for the tests of the card.

use crate::definition::{Load, ScenarioDef, Shape, StepDef};
use crate::metrics::{StepTally, Tally};
use crate::plan::{GradingDefaults, Overrides, Plan};
use crate::record::{EndReason, RunEnd, RunStart, ScenarioRecord};
use std::time::Duration;

pub const SECONDS: u64 = 10;

/// A scenario of the named steps under 100 iterations per second for ten seconds, in which each
/// step was executed 1,000 times within 10 ms.
pub fn record(names: &[&'static str]) -> ScenarioRecord {
    let steps: Vec<StepDef> = names.iter().map(|name| step(name)).collect();
    let definition = ScenarioDef {
        package: "shop".into(),
        file: "tests/load.rs".into(),
        line: 12,
        tags: vec!["critical".into()].into(),
        load: Some(Load::new(Shape::Rate {
            per_second: 100.0,
            ramp_up: Duration::ZERO,
            duration: Duration::from_secs(SECONDS),
        })),
        fingerprint: "9c1d5a20".into(),
        ..ScenarioDef::new("checkout", steps)
    };
    let plan = Plan::new(
        &definition,
        &Overrides::default(),
        &GradingDefaults::default(),
        7,
    )
    .expect("the fixture is a valid plan");
    let mut record = ScenarioRecord::new(RunStart {
        definition,
        plan,
        base_url: Some("http://127.0.0.1:8080".to_owned()),
        own_target: false,
        target_in_process: false,
        permits: Vec::new(),
        offline: None,
        validity_off: false,
        executable_hash: "ab12".to_owned(),
        workers: 2,
        started_at: "2026-11-05T10:00:00Z".to_owned(),
    });
    record.finish(RunEnd {
        ending: EndReason::Completed,
        elapsed_us: SECONDS * 1_000_000,
        planned: 1_000,
        steady_us: SECONDS * 1_000_000,
        complete: true,
        panics: Vec::new(),
        out_of_rows: false,
        target_death: None,
        samples: None,
    });
    let tally = &mut record.windows.steady;
    *tally = Tally::new(names.len());
    tally.journey.started = 1_000;
    tally.journey.ok = 1_000;
    let time = Duration::from_millis(10);
    tally
        .journey
        .time
        .record_n(time * names.len() as u32, 1_000);
    for step in &mut tally.steps {
        *step = executed(1_000, time);
    }
    record
}

/// A step executed `count` times with success, each time as long as `time` and within T.
pub fn executed(count: u64, time: Duration) -> StepTally {
    let mut step = StepTally {
        executed: count,
        ok: count,
        requests: count,
        satisfied: count,
        ..StepTally::default()
    };
    step.response.record_n(time, count);
    step.service.record_n(time, count);
    step.phases.first_byte.record_n(time, count);
    step.statuses.insert(200, count);
    step
}

fn step(name: &'static str) -> StepDef {
    StepDef {
        method: Some("GET".into()),
        url: Some(format!("/{name}").into()),
        fingerprint: "5f".into(),
        ..StepDef::new(name)
    }
}
