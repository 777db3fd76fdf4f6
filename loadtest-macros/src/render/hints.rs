//! What an editor shows for the names of options: their documentation.
//!
//! An option is no item, so rust-analyzer knows nothing of it. For its eyes alone the names are also
//! imported from a module of documented items; no compiler ever sees that (the idea is that of `bon`).

use crate::body::{Item, Role};
use crate::options;
use crate::resolve::Resolved;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;

/// The items of `loadtest::__private::options::scenario`.
const OF_SCENARIOS: [&str; 8] = [
    "name",
    "tags",
    "base",
    "load",
    "thresholds",
    "apdex",
    "budget",
    "version",
];

/// The items of `loadtest::__private::options::step`.
const OF_STEPS: [&str; 19] = [
    "name",
    "weight",
    "expect",
    "think",
    "timeout",
    "get",
    "post",
    "put",
    "delete",
    "patch",
    "head",
    "options",
    "header",
    "bearer",
    "json",
    "apdex",
    "budget",
    "grade_weight",
    "check",
];

pub(super) fn options(resolved: &Resolved) -> TokenStream {
    let of_scenario = names(&resolved.written, &OF_SCENARIOS);
    let of_steps = resolved.items.iter().flat_map(|item| match item {
        Item::Function(function) if function.role == Role::Step => {
            names(&function.options, &OF_STEPS)
        }
        _ => Vec::new(),
    });
    quote! {
        #[cfg(rust_analyzer)]
        const _: () = {
            use ::loadtest::__private::options::scenario::{#(#of_scenario as _,)*};
            use ::loadtest::__private::options::step::{#(#of_steps as _,)*};
        };
    }
}

/// The names of the options that are documented.
fn names(written: &TokenStream, documented: &[&str]) -> Vec<Ident> {
    options::split_at_commas(written.clone())
        .into_iter()
        .filter_map(|option| match option.into_iter().next()? {
            TokenTree::Ident(name) => Some(name),
            _ => None,
        })
        .filter(|name| documented.iter().any(|known| name == known))
        .collect()
}
