//! What steps that repeat, and steps that run once, cannot be.

use super::Step;
use crate::body::RoleFn;
use crate::options::Repeat;
use crate::suggest::Errors;
use proc_macro2::{Ident, TokenStream, TokenTree};

/// Notes what only the whole scenario shows.
pub(super) fn check(steps: &[Step], errors: &mut Errors) {
    for step in steps {
        if let Some((_, condition)) = &step.options.repeat.until
            && step.response.is_unit
            && !looks_at_head(condition.clone())
        {
            errors.on(condition, step.not_read());
        }
    }
    let rare = |step: &Step| {
        let Repeat { once, last, .. } = &step.options.repeat;
        once.clone().or_else(|| last.clone())
    };
    let rare: Option<Vec<Ident>> = steps.iter().map(rare).collect();
    if let Some([first, rest @ ..]) = rare.as_deref() {
        let other = rest.iter().find(|word| *word != first);
        let words = other.map_or_else(String::new, |other| format!(" or `{other}`"));
        errors.at(
            first.span(),
            format!(
                "every step of this scenario runs `{first}`{words}, so that a user's second iteration \
                 would send nothing: leave `{first}` out where the load is meant to be",
            ),
        );
    }
}

/// Whether a closure asks for status or headers, which an answer that is not read has as well.
fn looks_at_head(closure: TokenStream) -> bool {
    closure.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "status" || word == "headers",
        TokenTree::Group(group) => looks_at_head(group.stream()),
        _ => false,
    })
}

/// The engine repeats the requests that it sends itself.
pub(super) fn refuse_on_async(step: &Step, function: &RoleFn, errors: &mut Errors) {
    if function.signature.asyncness.is_none() {
        return;
    }
    let repeat = &step.options.repeat;
    let retry = repeat.retry.as_ref().map(|retry| &retry.key);
    for key in retry
        .into_iter()
        .chain(repeat.until.as_ref().map(|(key, _)| key))
    {
        errors.at(
            key.span(),
            format!(
                "an `async` step sends for itself, and repeats in its own code: drop `{key}`, or \
                 return a `Request<T>`"
            ),
        );
    }
}
