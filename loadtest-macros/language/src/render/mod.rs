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
mod hooks;
mod payload;
mod repeat;
mod request;
mod stream;
mod threshold;
mod websocket;

use crate::body::{self, BodyItem, Role, RoleFn, ScenarioFn};
use crate::options::LoadShape;
use crate::resolve::{
    Argument, ArgumentSource, ResolvedFeed, ResolvedScenario, StepForm, doc_text,
};
use crate::suggest::MacroErrors;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::{FnArg, ReturnType, parse_quote};

/// The whole expansion: the scenario's function and its registration, or all errors and the user's
/// items.
pub(crate) fn render_scenario(
    function: &ScenarioFn,
    resolved: &ResolvedScenario,
    errors: MacroErrors,
) -> TokenStream {
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
        .map(|one| render_item(one, is_broken))
        .collect();
    let hints = hints::render_option_hints(resolved);
    let completion = completion::render_completions(resolved);
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
    let chain = chain::render_chain(resolved);
    let hooks = hooks::render_hooks(resolved);
    let names = request::render_field_names(resolved);
    let weights = definition::render_weight_checks(&resolved.steps);
    let definition = definition::render_definition(name, &doc_text(attributes), resolved);
    let scenario = quote!(::loadtest::__private::Scenario);
    let value = quote! {
        #scenario {
            definition: #definition,
            root: ::core::env!("CARGO_MANIFEST_DIR"),
            prepare: __prepare,
            chain: __chain,
            teardown: __teardown,
        }
    };
    // a curve is a function that no constant can call
    let load = resolved.options.load.as_ref();
    let has_curve = load.is_some_and(|load| matches!(load.shape, LoadShape::Curve { .. }));
    let kept = if has_curve {
        quote! {
            static __SCENARIO: ::std::sync::LazyLock<#scenario> =
                ::std::sync::LazyLock::new(|| #value);
        }
    } else {
        quote!(static __SCENARIO: #scenario = #value;)
    };
    let stubs = resolved.steps.iter().filter_map(|step| match step.form {
        StepForm::Declared(_) => Some(at_call_site(&step.ident)),
        _ => None,
    });
    // the generated items are in a block of their own, so that completion in the user's functions
    // does not offer them
    // registered inside the function, so that it may be an associated function; no call is needed
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
                #kept
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
pub(crate) fn render_item(item: &BodyItem, is_broken: bool) -> TokenStream {
    match item {
        BodyItem::Function(group) if group.role == Role::Group => TokenStream::new(),
        BodyItem::Plain(tokens) | BodyItem::Broken { tokens, .. } => tokens.clone(),
        BodyItem::Function(function) => render_role_function(function, is_broken),
    }
}

/// The lints that the language itself provokes are off: it is the scenario that lends a state as
/// `&mut Vec<T>` and a number as `&u64`, and has no `const` functions.
fn render_role_function(function: &RoleFn, is_broken: bool) -> TokenStream {
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
    if *role == Role::Step && body.is_none() {
        // a call of it does not compile: the engine sends the step
        signature
            .inputs
            .push(parse_quote!(_: ::loadtest::__private::SentByEngine));
    }
    let body = match body {
        Some(body) if lacks_type => body::stub_body(body.span()),
        Some(body) => body.clone(),
        None => body::stub_body(semicolon.unwrap_or_else(Span::call_site)),
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
fn render_arguments(
    arguments: &[Argument],
    resolved: &ResolvedScenario,
    setup: impl Fn(usize) -> TokenStream,
) -> TokenStream {
    let arguments = arguments.iter().map(
        |Argument {
             source,
             ty,
             variable,
             span: _,
         }| match *source {
            ArgumentSource::Step {
                at: step,
                is_mutable: true,
            } => {
                let (slot, of) = (slot_ident(step), &resolved.steps[step].response.ty);
                let body = quote!(self.#slot.body_mut(#step, #variable)?);
                render_mut_borrow(ty, of, &body)
            }
            ArgumentSource::Step { at: step, .. } => {
                let slot = slot_ident(step);
                let response = &resolved.steps[step].response.ty;
                quote! {
                    <#ty as ::loadtest::__private::FromSlot<'_, #response>>::from_slot(
                        &self.#slot,
                        #step,
                        #variable,
                    )?
                }
            }
            ArgumentSource::Feed(at) => render_rows(ty, at, &resolved.feeds[at]),
            ArgumentSource::Vu { is_mutable } => {
                let vu = quote!(::loadtest::__private::Vu);
                if is_mutable {
                    render_mut_borrow(ty, &vu, &quote!(&mut *__vu))
                } else {
                    render_borrow(ty, &vu, &quote!(&*__vu))
                }
            }
            ArgumentSource::Http => {
                let http = quote!(::loadtest::__private::Http);
                render_mut_borrow(ty, &http, &quote!(&mut *__http))
            }
            ArgumentSource::Net => {
                let net = quote!(::loadtest::__private::Net);
                render_mut_borrow(ty, &net, &quote!(&mut *__net))
            }
            ArgumentSource::State { at, is_mutable } => {
                let (state, of) = (state_ident(at), &resolved.states[at].ty);
                if is_mutable {
                    render_mut_borrow(ty, of, &quote!(self.#state.get_mut()))
                } else {
                    render_borrow(ty, of, &quote!(self.#state.get()))
                }
            }
            ArgumentSource::Setup(at) => {
                render_borrow(ty, &resolved.setups[at].made.ty, &setup(at))
            }
        },
    );
    quote!(#(#arguments),*)
}

/// What [`render_arguments`] takes `net` from, where a function has it.
fn render_net(arguments: &[Argument]) -> Option<TokenStream> {
    let has_net = arguments
        .iter()
        .any(|argument| argument.source == ArgumentSource::Net);
    has_net.then(|| quote!(let __net = &mut __http.net();))
}

/// The row of the iteration, or all of them where it has several.
fn render_rows(ty: &syn::Type, at: usize, feed: &ResolvedFeed) -> TokenStream {
    let (row, rows, of) = (row_ident(at), feed.rows, &feed.ty.row);
    let feed = feed_ident(at);
    if rows == 1 {
        return render_borrow(ty, of, &quote!(self.#row[0].get(&self.shared.#feed)));
    }
    quote! {{
        let __rows = &self.shared.#feed;
        <#ty as ::loadtest::__private::LendRows<'_, #of, #rows>>::lend_rows(
            self.#row.each_ref().map(|__row| __row.get(__rows)),
        )
    }}
}

fn render_borrow(ty: &syn::Type, of: &TokenStream, value: &TokenStream) -> TokenStream {
    quote!(<#ty as ::loadtest::__private::Lend<'_, #of>>::lend(#value))
}

fn render_mut_borrow(ty: &syn::Type, of: &TokenStream, value: &TokenStream) -> TokenStream {
    quote!(<#ty as ::loadtest::__private::LendMut<'_, #of>>::lend_mut(#value))
}

/// A return type for a turbofish, where `impl Trait` is not allowed.
fn type_in_turbofish(ty: &TokenStream) -> TokenStream {
    let has_impl = |token: TokenTree| matches!(token, TokenTree::Ident(word) if word == "impl");
    if flatten_tokens(ty.clone()).any(has_impl) {
        inferred_type_at(ty)
    } else {
        ty.clone()
    }
}

/// A `_` at the place of `tokens`: rustc blames it for a bound that does not hold.
fn inferred_type_at(tokens: &TokenStream) -> TokenStream {
    let span = tokens
        .clone()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span());
    quote_spanned!(span=> _)
}

fn flatten_tokens(tokens: TokenStream) -> Box<dyn Iterator<Item = TokenTree>> {
    Box::new(tokens.into_iter().flat_map(|token| match token {
        TokenTree::Group(group) => flatten_tokens(group.stream()),
        other => Box::new(std::iter::once(other)),
    }))
}

fn at_call_site(ident: &Ident) -> Ident {
    let mut ident = ident.clone();
    ident.set_span(Span::call_site());
    ident
}

fn slot_ident(step: usize) -> Ident {
    format_ident!("step_{step}")
}

/// The rows of a feed, among what all users share.
fn feed_ident(at: usize) -> Ident {
    format_ident!("feed_{at}")
}

/// The rows that a user has of a feed.
fn row_ident(at: usize) -> Ident {
    format_ident!("row_{at}")
}

fn state_ident(at: usize) -> Ident {
    format_ident!("state_{at}")
}

fn setup_ident(at: usize) -> Ident {
    format_ident!("setup_{at}")
}

/// The value that a user has of a setup that is fetched again.
fn held_ident(at: usize) -> Ident {
    format_ident!("held_{at}")
}
