//! Makes editors show the documentation of options on hover.
//!
//! An option is no item, so rust-analyzer knows nothing of it. For its eyes alone the names are also
//! imported from a module of documented items; no compiler ever sees that (the idea is that of `bon`).

use crate::body::{BodyItem, Role};
use crate::options;
use crate::resolve::ResolvedScenario;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;

pub(super) fn render_option_hints(resolved: &ResolvedScenario) -> TokenStream {
    let of_scenario = written_options(
        &resolved.written,
        &options::of_scenarios().collect::<Vec<_>>(),
    );
    let known: Vec<_> = options::of_steps().collect();
    let of_steps = resolved.items.iter().flat_map(|item| match item {
        BodyItem::Function(function) if function.role == Role::Step => {
            written_options(&function.options, &known)
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

/// The names among `documented` that are written.
fn written_options(written: &TokenStream, documented: &[&str]) -> Vec<Ident> {
    options::split_at_commas(written.clone())
        .into_iter()
        .filter_map(|option| match option.into_iter().next()? {
            TokenTree::Ident(name) => Some(name),
            _ => None,
        })
        .filter(|name| documented.iter().any(|known| name == known))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_its_documentation() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../loadtest/src/chain/option_docs.rs"
        );
        let text = std::fs::read_to_string(path).unwrap();
        let (of_scenarios, of_steps) = text.split_once("pub enum step {").unwrap();
        let is_there = |of_one: &str, name: &str| of_one.contains(&format!("\n    {name},\n"));
        for name in options::of_scenarios() {
            assert!(is_there(of_scenarios, name), "`{name}` of scenarios");
        }
        for name in options::of_steps() {
            assert!(is_there(of_steps, name), "`{name}` of steps");
        }
    }
}
