//! Refuses calls of steps in the code of a scenario.

use super::{ResolvedScenario, shape, without_raw_prefix};
use crate::body::{BodyItem, Role};
use crate::spelling::source_text;
use crate::suggest::MacroErrors;

impl ResolvedScenario {
    /// Refuses calls of declared steps, in any body and any `check = ..`.
    pub(super) fn refuse_step_calls(&self, errors: &mut MacroErrors) {
        let declared = |item: &BodyItem| match item {
            BodyItem::Function(function) => function.role == Role::Step && function.body.is_none(),
            _ => false,
        };
        let declared: Vec<String> = self
            .items
            .iter()
            .filter(|item| declared(item))
            .filter_map(|item| item.ident().map(without_raw_prefix))
            .collect();
        let builders: Vec<String> = self
            .items
            .iter()
            .filter(|item| match item {
                BodyItem::Function(function) => {
                    function.role == Role::Step
                        && function.body.is_some()
                        && function.signature.asyncness.is_none()
                }
                _ => false,
            })
            .filter_map(|item| item.ident().map(without_raw_prefix))
            .collect();
        let instead = |name: &str| {
            let step = self.steps.iter().find(|step| step.name == name);
            match step.map(|step| &step.response) {
                Some(response) if !response.is_unit => format!(
                    "its answer comes as a parameter `{name}: &{}`",
                    source_text(&response.ty)
                ),
                _ => "it is sent by the engine, and not called".to_owned(),
            }
        };
        for item in &self.items {
            let BodyItem::Function(function) = item else {
                continue;
            };
            if let Some(body) = &function.body {
                let body = body.stream();
                let is_step = |name: &str| {
                    declared.iter().any(|step| step == name)
                        && !shape::defines_name(body.clone(), name)
                };
                shape::refuse_calls(body.clone(), &is_step, &instead, errors);
                // nothing else can be awaited there either
                let is_sync = function.signature.asyncness.is_none();
                let is_builder = |name: &str| {
                    builders.iter().any(|step| step == name)
                        && (is_sync || !shape::defines_name(body.clone(), name))
                };
                shape::refuse_awaited_steps(body.clone(), &is_builder, &instead, errors);
            }
        }
        for check in self.steps.iter().flat_map(|step| step.options.closures()) {
            let is_step = |name: &str| {
                declared.iter().any(|step| step == name)
                    && !shape::defines_name(check.clone(), name)
            };
            let instead = |_: &str| {
                "a `#[check]` function can look at the answers of several steps".to_owned()
            };
            shape::refuse_calls(check.clone(), &is_step, &instead, errors);
        }
    }
}
