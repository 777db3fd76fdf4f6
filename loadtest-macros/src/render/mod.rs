//! Writes the code of a resolved scenario.
//!
//! In an editor, every generated identifier that shares its place with a token of the user turns up
//! in that token's hover. So only the user's own tokens carry their spans - types in a turbofish,
//! fields of templates, one `_` where an error is to be placed - and everything else is call-site.

mod chain;
mod completion;
mod definition;
mod header;
mod hints;
mod payload;
mod repeat;
mod request;
mod threshold;

use crate::body::{self, Item, Role, RoleFn, ScenarioFn};
use crate::resolve::{Argument, Form, Resolved, Source, description};
use crate::suggest::Errors;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::{FnArg, ReturnType};

/// The whole expansion: the scenario's function and its registration, or all errors and the user's
/// items.
pub(crate) fn scenario(function: &ScenarioFn, resolved: &Resolved, errors: Errors) -> TokenStream {
    let ScenarioFn {
        attributes,
        visibility,
        signature,
        ..
    } = function;
    let name = &signature.ident;
    let is_broken = !errors.is_empty() || resolved.is_incomplete;
    let items: TokenStream = resolved
        .items
        .iter()
        .map(|one| item(one, is_broken))
        .collect();
    let hints = hints::options(resolved);
    let completion = completion::placeholders(resolved);
    // the same in both cases up to the user's items, since `completion` compares them
    let head = quote! {
        #(#attributes)*
        #[allow(dead_code, unexpected_cfgs)]
        #visibility fn #name() -> &'static ::loadtest::__private::Scenario
    };
    if is_broken {
        let errors = errors.into_compile_errors();
        return quote! {
            #head {
                #completion
                #items
                #hints
                ::core::unreachable!()
            }
            #errors
        };
    }
    let chain = chain::chain(resolved);
    let hooks = chain::hooks(resolved);
    let names = request::names(resolved);
    let weights = definition::weights(&resolved.steps);
    let definition = definition::scenario(name, &description(attributes), resolved);
    let stubs = resolved.steps.iter().filter_map(|step| match step.form {
        Form::Declared(_) => Some(call_site(&step.ident)),
        _ => None,
    });
    // the generated items are in a block of their own, so that completion in the user's functions
    // does not offer them
    // it is registered from within, so that it may be an associated function; nobody has to call it
    quote! {
        #head {
            #completion
            #items
            {
                #hints
                #(let _ = #stubs;)*
                #names
                #chain
                #hooks
                #weights
                static __SCENARIO: ::loadtest::__private::Scenario =
                    ::loadtest::__private::Scenario {
                        definition: #definition,
                        root: ::core::env!("CARGO_MANIFEST_DIR"),
                        prepare: __prepare,
                        chain: __chain,
                        teardown: __teardown,
                    };
                fn __entry() -> &'static ::loadtest::__private::Scenario {
                    &__SCENARIO
                }
                ::loadtest::__private::inventory::submit! {
                    ::loadtest::__private::Entry(__entry)
                }
                __entry()
            }
        }
    }
}

/// An item as the user wrote it, without the attributes of this crate.
fn item(item: &Item, is_broken: bool) -> TokenStream {
    match item {
        Item::Plain(tokens) | Item::Broken { tokens, .. } => tokens.clone(),
        Item::Function(function) => role_function(function, is_broken),
    }
}

/// The lints that the language itself provokes are off: it is the scenario that lends a state as
/// `&mut Vec<T>` and a number as `&u64`, and has no `const` functions.
fn role_function(function: &RoleFn, is_broken: bool) -> TokenStream {
    let RoleFn {
        role,
        attributes,
        visibility,
        body,
        semicolon,
        ..
    } = function;
    let mut signature = function.signature.clone();
    // these are noted already
    signature.constness = None;
    signature.safety = syn::Safety::Default;
    signature.abi = None;
    signature.inputs = signature
        .inputs
        .into_iter()
        .filter(|input| matches!(input, FnArg::Typed(_)))
        .collect();
    for input in &mut signature.inputs {
        if let FnArg::Typed(input) = input {
            input
                .attrs
                .retain(|attribute| !attribute.path().is_ident("from"));
        }
    }
    // a return type that is missing is noted already, and must not make the body an error too
    let lacks_type = matches!(role, Role::Step | Role::Check | Role::Feed | Role::State)
        && matches!(signature.output, ReturnType::Default);
    // `async` is the word for a step that sends for itself, whatever else it does
    let lints = signature
        .asyncness
        .is_some()
        .then(|| quote!(#[allow(clippy::future_not_send, clippy::unused_async)]));
    // a parameter is there for its name: one of a broken scenario is noted already, one of a declared
    // step says what it follows
    let unused = (is_broken || body.is_none()).then(|| quote!(#[allow(unused_variables)]));
    let body = match body {
        Some(body) if lacks_type => body::stub(body.span()),
        Some(body) => body.clone(),
        None => body::stub(semicolon.unwrap_or_else(Span::call_site)),
    };
    quote! {
        #(#attributes)*
        #[allow(
            clippy::missing_const_for_fn,
            clippy::ptr_arg,
            clippy::ref_option,
            clippy::trivially_copy_pass_by_ref,
            clippy::unnecessary_wraps
        )]
        #lints
        #unused
        #visibility #signature #body
    }
}

/// The arguments of a call; `setup` borrows a setup's value.
fn arguments(
    arguments: &[Argument],
    resolved: &Resolved,
    setup: impl Fn(usize) -> TokenStream,
) -> TokenStream {
    let arguments = arguments.iter().map(
        |Argument {
             source,
             ty,
             variable,
             span: _,
         }| match *source {
            Source::Step(step) => {
                let slot = slot(step);
                let response = &resolved.steps[step].response.ty;
                quote!(::loadtest::__private::arg::<#ty, #response>(&self.#slot, #step, #variable)?)
            }
            Source::Feed(at) => {
                let (row, feed) = (row(at), feed(at));
                let value = quote!(self.#row.get(&self.shared.#feed));
                lend(ty, &resolved.feeds[at].ty.row, &value)
            }
            Source::Vu { is_mutable } => {
                let vu = quote!(::loadtest::__private::Vu);
                if is_mutable {
                    lend_mut(ty, &vu, &quote!(&mut *__vu))
                } else {
                    lend(ty, &vu, &quote!(&*__vu))
                }
            }
            Source::Http => {
                let http = quote!(::loadtest::__private::Http);
                lend_mut(ty, &http, &quote!(&mut *__http))
            }
            Source::State { at, is_mutable } => {
                let (state, of) = (state(at), &resolved.states[at].ty);
                if is_mutable {
                    lend_mut(ty, of, &quote!(self.#state.get_mut()))
                } else {
                    lend(ty, of, &quote!(self.#state.get()))
                }
            }
            Source::Setup(at) => lend(ty, &resolved.setups[at].made.ty, &setup(at)),
        },
    );
    quote!(#(#arguments),*)
}

fn lend(ty: &syn::Type, of: &TokenStream, value: &TokenStream) -> TokenStream {
    quote!(::loadtest::__private::lend::<#ty, #of>(#value))
}

fn lend_mut(ty: &syn::Type, of: &TokenStream, value: &TokenStream) -> TokenStream {
    quote!(::loadtest::__private::lend_mut::<#ty, #of>(#value))
}

/// A return type for a turbofish, where `impl Trait` is not allowed.
fn in_turbofish(ty: &TokenStream) -> TokenStream {
    let has_impl = |token: TokenTree| matches!(token, TokenTree::Ident(word) if word == "impl");
    if flat(ty.clone()).any(has_impl) {
        infer(ty)
    } else {
        ty.clone()
    }
}

/// A `_` at the place of `tokens`: rustc blames it for a bound that does not hold.
fn infer(tokens: &TokenStream) -> TokenStream {
    let span = tokens
        .clone()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span());
    quote_spanned!(span=> _)
}

fn flat(tokens: TokenStream) -> Box<dyn Iterator<Item = TokenTree>> {
    Box::new(tokens.into_iter().flat_map(|token| match token {
        TokenTree::Group(group) => flat(group.stream()),
        other => Box::new(std::iter::once(other)),
    }))
}

fn call_site(ident: &Ident) -> Ident {
    let mut ident = ident.clone();
    ident.set_span(Span::call_site());
    ident
}

fn slot(step: usize) -> Ident {
    format_ident!("step_{step}")
}

/// The rows of a feed, among what all users share.
fn feed(at: usize) -> Ident {
    format_ident!("feed_{at}")
}

/// The row that a user has of a feed.
fn row(at: usize) -> Ident {
    format_ident!("row_{at}")
}

fn state(at: usize) -> Ident {
    format_ident!("state_{at}")
}

fn setup_value(at: usize) -> Ident {
    format_ident!("setup_{at}")
}
