//! The plainest definitions, for tests to vary.

use super::{DEFAULT_TIMEOUT, Expect, Load, Reads, ScenarioDef, StepDef};
use std::borrow::Cow;

/// A step that needs nothing and keeps nothing.
pub(crate) fn step(name: &'static str) -> StepDef {
    StepDef {
        name: name.into(),
        line: 1,
        description: "".into(),
        method: None,
        url: None,
        weight: 1.0,
        expect: Expect::SUCCESS,
        think: None,
        timeout: DEFAULT_TIMEOUT,
        thresholds: Cow::Borrowed(&[]),
        apdex: None,
        budget: None,
        grade_weight: None,
        dependencies: Cow::Borrowed(&[]),
        reads: Reads {
            body: false,
            headers: false,
        },
        fingerprint: "".into(),
    }
}

/// `shop::load::journey` of these steps.
pub(crate) fn scenario(load: Option<Load>, steps: Vec<StepDef>) -> ScenarioDef {
    ScenarioDef {
        name: "journey".into(),
        function: "journey".into(),
        module: "load".into(),
        package: "shop".into(),
        file: "tests/load.rs".into(),
        line: 1,
        description: "".into(),
        tags: Cow::Borrowed(&[]),
        base: None,
        load,
        thresholds: Cow::Borrowed(&[]),
        apdex: None,
        budget: None,
        fingerprint: "".into(),
        version: None,
        starts_target: false,
        steps: steps.into(),
    }
}
