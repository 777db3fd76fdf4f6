//! Steps that run `last`: after the last journey of a user, and so after all others.

use super::{ResolvedScenario, ResolvedStep};
use crate::suggest::MacroErrors;

impl ResolvedStep {
    /// Returns true if the step runs after the last journey of a user.
    pub(crate) fn runs_last(&self) -> bool {
        self.options.repeat.last
    }
}

/// Moves each check behind the last step that it names, and refuses names of steps that have not run by
/// then.
pub(super) fn check_last_steps(resolved: &mut ResolvedScenario, errors: &mut MacroErrors) {
    let steps = &resolved.steps;
    for check in &mut resolved.checks {
        let named = check.arguments.iter();
        let named = named.filter_map(|argument| argument.source.step_index());
        let runs_last = |step: &usize| steps.get(*step).is_some_and(ResolvedStep::runs_last);
        if let Some(step) = named.filter(runs_last).max() {
            check.step = step;
        }
    }
    for reader in steps.iter().filter(|step| !step.runs_last()) {
        for dependency in &reader.dependencies {
            let (name, upstream) = (&reader.name, &steps[dependency.step]);
            if upstream.runs_last() {
                errors.add_at(
                    dependency.span,
                    format!(
                        "`{}` runs `last`, after all journeys of a user, and `{name}` in each of them: \
                         the answer would always be missing; mark `{name}` as `last` too, or do without",
                        upstream.name
                    ),
                );
            }
        }
    }
}
