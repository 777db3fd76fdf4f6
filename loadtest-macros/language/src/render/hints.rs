//! Makes editors show the documentation of options on hover.
//!
//! An option is no item, so rust-analyzer knows nothing of it. For its eyes alone each name is also that of a
//! documented item; no compiler ever sees that (the idea is that of `bon`).

use crate::body::{BodyItem, Role};
use crate::options::{
    FEED_TABLE, SCENARIO_TABLE, SETUP_TABLE, STEP_TABLE, documented_options, split_at_commas,
};
use crate::resolve::ResolvedScenario;
use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

/// Options that no item can be named like.
const KEYWORDS: [&str; 2] = ["crate", "for"];

pub(super) fn render_option_hints(resolved: &ResolvedScenario) -> TokenStream {
    let of_scenario = document_options(&resolved.written, SCENARIO_TABLE);
    let of_functions = resolved.items.iter().map(|item| match item {
        BodyItem::Function(function) if function.role == Role::Step => {
            document_options(&function.options, STEP_TABLE)
        }
        BodyItem::Function(function) if function.role == Role::Feed => {
            document_options(&function.options, FEED_TABLE)
        }
        BodyItem::Function(function) if function.role == Role::Setup => {
            document_options(&function.options, SETUP_TABLE)
        }
        _ => TokenStream::new(),
    });
    quote! {
        #[cfg(rust_analyzer)]
        #[allow(non_camel_case_types)]
        const _: () = {
            #of_scenario
            #(#of_functions)*
        };
    }
}

/// Declares an item for each option that is written.
fn document_options(written: &TokenStream, table: &str) -> TokenStream {
    let documented: Vec<_> = documented_options(table).collect();
    let items = split_at_commas(written.clone())
        .into_iter()
        .filter_map(|option| {
            let Some(TokenTree::Ident(name)) = option.into_iter().next() else {
                return None;
            };
            let (_, text) = documented
                .iter()
                .find(|(known, _)| name == known && !KEYWORDS.contains(known))?;
            Some(quote!(const _: () = { #[doc = #text] struct #name; };))
        });
    items.collect()
}
