//! The language of scenarios: what `#[scenario]` and the other attributes of `loadtest` mean.
//!
//! Tokens go three ways: `body` and `options` parse them, `resolve` finds out what every name means
//! and collects all mistakes, `render` writes the code. The user's own items always come out again,
//! so that an editor keeps working in half-written code.
//!
//! `loadtest-macros` calls it for the compiler, and `cargo-loadtest` for forms.

mod body;
mod crate_path;
mod fingerprint;
mod group;
mod mistakes;
mod module;
mod options;
mod render;
mod resolve;
mod signature;
mod spelling;
mod statement;
mod suggest;
mod template;

pub use options::{
    DocumentedOption, METHODS, OPEN_OPTION, documented_scenario_options, documented_step_options,
};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Expands `#[scenario(options)]` on an item.
pub fn expand_scenario(options: &TokenStream, item: &TokenStream) -> TokenStream {
    expand(options, item, expand_scenario_function)
}

/// Expands `#[scenarios(options)]` on an item.
pub fn expand_module(options: &TokenStream, item: &TokenStream) -> TokenStream {
    expand(options, item, module::expand_module)
}

/// Expands `#[group(options)]` on an item.
pub fn expand_group(options: &TokenStream, item: &TokenStream) -> TokenStream {
    expand(options, item, group::expand_group)
}

/// Expands a scenario into which the macro of a shared group places that group.
pub fn place_group(tokens: TokenStream) -> TokenStream {
    match group::place_group(tokens) {
        Ok((options, item)) => expand_scenario(&options, &item),
        Err(error) => error.into_compile_error(),
    }
}

/// Returns the mistakes that the attributes of a file report, each at its place.
///
/// A scenario with a group of another file is not looked at.
pub fn find_mistakes(file: TokenStream) -> Vec<syn::Error> {
    let found = catch_unwind(AssertUnwindSafe(|| mistakes::check_file(file)));
    let found = found.map(suggest::MacroErrors::into_errors);
    found.unwrap_or_else(|_| vec![syn::Error::new(Span::call_site(), PANIC)])
}

const PANIC: &str = "the macro failed here: that is a mistake in `loadtest`, please report it";

/// Expands an attribute; a panic becomes an error beside the item.
fn expand(
    options: &TokenStream,
    item: &TokenStream,
    expand: fn(&TokenStream, &TokenStream) -> TokenStream,
) -> TokenStream {
    let expanded = catch_unwind(AssertUnwindSafe(|| expand(options, item)));
    expanded.unwrap_or_else(|_| {
        let error = syn::Error::new(Span::call_site(), PANIC);
        with_error(item, &error)
    })
}

fn expand_scenario_function(options: &TokenStream, item: &TokenStream) -> TokenStream {
    match syn::parse2::<body::ScenarioFn>(item.clone()) {
        Ok(function) => {
            if let Some(call) = group::hand_to_group(options, item, &function) {
                return call;
            }
            let mut errors = suggest::MacroErrors::default();
            let resolved = resolve::resolve_scenario(options.clone(), &function, &mut errors);
            let code = render::render_scenario(&function, &resolved, errors);
            match &resolved.options.crate_path {
                Some(path) => crate_path::replace_crate_path(code, path),
                None => code,
            }
        }
        Err(error) => with_error(item, &error),
    }
}

/// The item as it was written, without roles, beside the error.
fn with_error(item: &TokenStream, error: &syn::Error) -> TokenStream {
    let item = body::with_stub_body(body::strip_role_attributes(item.clone()));
    let error = error.to_compile_error();
    quote!(#item #error)
}

/// Refuses an attribute of a step, a feed or another part that stands outside of a scenario.
pub fn expand_part(role: &str, item: TokenStream) -> TokenStream {
    let place = match role {
        "step" | "check" => "",
        _ => ", or in a `#[scenarios]` module",
    };
    let error = syn::Error::new(
        Span::call_site(),
        format!("`#[{role}]` only has a meaning inside a `#[scenario]` function{place}"),
    )
    .into_compile_error();
    let item = body::with_stub_body(item);
    quote!(#error #item)
}

/// Expands `#[response(options)]` on an item.
pub fn expand_response(options: TokenStream, item: &TokenStream) -> TokenStream {
    if let Err(error) = body::check_response_item(item) {
        let error = error.into_compile_error();
        return quote!(#item #error);
    }
    let (path, error) = match crate_path::parse_response_options(options) {
        Ok(path) => (path, None),
        Err(error) => (None, Some(error.into_compile_error())),
    };
    let path = path.map_or_else(|| quote!(::loadtest), |path| quote!(#path));
    let (serde, alias) = crate_path::serde_path(&path, item);
    quote! {
        #error
        #alias
        #[derive(
            ::core::fmt::Debug,
            ::core::clone::Clone,
            #path::__private::serde::Deserialize,
        )]
        #[serde(crate = #serde)]
        // An answer has to have its fields, whether or not a step reads them. Before the item, so that
        // `#[warn(dead_code)]` on it counts.
        #[allow(dead_code)]
        #item
    }
}
