//! The plainest definitions, for tests to vary.

use super::{GroupDef, Load, ScenarioDef, StepDef};

/// A step that needs nothing and keeps nothing.
pub fn step(name: &'static str) -> StepDef {
    StepDef::new(name)
}

/// The steps as a group.
pub fn grouped<const N: usize>(name: &'static str, steps: [StepDef; N]) -> [StepDef; N] {
    steps.map(|step| StepDef {
        group: Some(name.into()),
        ..step
    })
}

/// `shop::load::journey` of these steps, with the groups that they are in.
pub fn scenario(load: Option<Load>, steps: Vec<StepDef>) -> ScenarioDef {
    let mut groups: Vec<GroupDef> = Vec::new();
    for name in steps.iter().filter_map(|step| step.group.clone()) {
        if groups.iter().all(|group| group.name != name) {
            groups.push(GroupDef {
                name,
                line: 1,
                description: "".into(),
                thresholds: Vec::new().into(),
            });
        }
    }
    ScenarioDef {
        groups: groups.into(),
        package: "shop".into(),
        file: "tests/load.rs".into(),
        load,
        ..ScenarioDef::new("journey", steps)
    }
}
