//! Checks steps with `once`, `retry` and `until`.

use super::ResolvedStep;
use crate::body::RoleFn;
use crate::options::RepeatOptions;
use crate::suggest::MacroErrors;
use proc_macro2::{Ident, TokenStream, TokenTree};

/// Notes what only the whole scenario shows.
pub(super) fn check_repeating_steps(steps: &[ResolvedStep], errors: &mut MacroErrors) {
    for step in steps {
        if let Some((_, condition)) = &step.options.repeat.until
            && step.response.is_unit
            && !reads_only_head(condition.clone())
        {
            errors.add_on(condition, step.explain_not_read());
        }
    }
    let rare = |step: &ResolvedStep| {
        let RepeatOptions { once, last, .. } = &step.options.repeat;
        once.clone().or_else(|| last.clone())
    };
    let rare: Option<Vec<Ident>> = steps.iter().map(rare).collect();
    if let Some([first, rest @ ..]) = rare.as_deref() {
        let other = rest.iter().find(|word| *word != first);
        let words = other.map_or_else(String::new, |other| format!(" or `{other}`"));
        errors.add_at(
            first.span(),
            format!(
                "every step of this scenario runs `{first}`{words}, so that a user's second iteration \
                 would send nothing: leave `{first}` out where the load is meant to be",
            ),
        );
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

/// The engine repeats the requests that it sends itself.
pub(super) fn refuse_on_async(step: &ResolvedStep, function: &RoleFn, errors: &mut MacroErrors) {
    if function.signature.asyncness.is_none() {
        return;
    }
    let repeat = &step.options.repeat;
    let retry = repeat.retry.as_ref().map(|retry| &retry.key);
    for key in retry
        .into_iter()
        .chain(repeat.until.as_ref().map(|(key, _)| key))
    {
        errors.add_at(
            key.span(),
            format!(
                "an `async` step sends for itself, and repeats in its own code: drop `{key}`, or \
                 return a `Request<T>`"
            ),
        );
    }
}
