//! The plainest definitions, for tests to vary.

use super::{Load, ScenarioDef, StepDef};

/// A step that needs nothing and keeps nothing.
pub fn step(name: &'static str) -> StepDef {
    StepDef::new(name)
}

/// `shop::load::journey` of these steps.
pub fn scenario(load: Option<Load>, steps: Vec<StepDef>) -> ScenarioDef {
    ScenarioDef {
        package: "shop".into(),
        file: "tests/load.rs".into(),
        load,
        ..ScenarioDef::new("journey", steps)
    }
}
