//! Steps that run `last`: after the last journey of a user, and so after all others.

use super::{Resolved, Step};
use crate::suggest::Errors;

impl Step {
    /// Whether it runs after the last journey of a user.
    pub(crate) fn runs_last(&self) -> bool {
        self.options.repeat.last.is_some()
    }
}

/// Has checks run after the last step they name, wherever that stands, and notes what names a step that
/// has not run by then.
pub(super) fn check(resolved: &mut Resolved, errors: &mut Errors) {
    let steps = &resolved.steps;
    for check in &mut resolved.checks {
        let named = check.arguments.iter();
        let named = named.filter_map(|argument| argument.source.step());
        let runs_last = |step: &usize| steps.get(*step).is_some_and(Step::runs_last);
        if let Some(step) = named.filter(runs_last).max() {
            check.step = step;
        }
    }
    for reader in steps.iter().filter(|step| !step.runs_last()) {
        for dependency in &reader.dependencies {
            let (name, upstream) = (&reader.name, &steps[dependency.step]);
            if upstream.runs_last() {
                errors.at(
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
