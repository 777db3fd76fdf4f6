//! Checks steps with `once`, `retry` and `until`.

use super::ResolvedStep;
use crate::options::RetryTrigger;
use crate::suggest::MacroErrors;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};

/// Notes what only the whole scenario shows.
pub(super) fn check_repeating_steps(steps: &[ResolvedStep], errors: &mut MacroErrors) {
    for step in steps {
        if let Some(condition) = &step.options.repeat.until
            && step.response.is_unit
            && !reads_only_head(condition.clone())
        {
            errors.add_on(condition, step.explain_not_read());
        }
    }
    for step in steps {
        refuse_retry_and_refresh(step, steps, errors);
    }
    let rare = |step: &ResolvedStep| {
        let key = step
            .options
            .find_key("once")
            .or(step.options.find_key("last"));
        key.map(Ident::span)
    };
    let rare: Option<Vec<Span>> = steps.iter().map(rare).collect();
    if let Some([first, ..]) = rare.as_deref() {
        errors.add_at(
            *first,
            "every step of this scenario runs `once` or `last`, so that a user's second iteration would \
             send nothing: leave it out where the load is meant to be",
        );
    }
}

/// A step that is sent again since an answer was renewed is not sent again for the same failure.
fn refuse_retry_and_refresh(step: &ResolvedStep, steps: &[ResolvedStep], errors: &mut MacroErrors) {
    let triggers = step.options.repeat.retry.iter().flat_map(|retry| &retry.on);
    for (trigger, span) in triggers {
        let RetryTrigger::Status(from, to) = *trigger else {
            continue;
        };
        let sources = step.dependencies.iter().map(|used| &steps[used.step]);
        let mut sources = sources.filter(|source| {
            let mut statuses = source.options.repeat.refresh.iter();
            statuses.any(|(low, high)| from <= *high && *low <= to)
        });
        if let Some(source) = sources.next() {
            errors.add_at(
                *span,
                format!(
                    "`{}` runs again after this status (`refresh`), and then this step is sent again: take it out of `on`",
                    source.name
                ),
            );
        }
    }
}

/// Returns true if a closure only uses status or headers, so the body need not be read.
fn reads_only_head(closure: TokenStream) -> bool {
    closure.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "status" || word == "headers",
        TokenTree::Group(group) => reads_only_head(group.stream()),
        _ => false,
    })
}
