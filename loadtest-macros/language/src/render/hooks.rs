//! Renders setups, feeds, states and teardowns.

use super::{
    at_call_site, feed_ident, held_ident, inferred_type_at, payload, render_arguments, render_net,
    repeat, row_ident, setup_ident, slot_ident, state_ident, type_in_turbofish,
};
use crate::resolve::{ResolvedFeed, ResolvedScenario, ResolvedSetup};
use proc_macro2::TokenStream;
use quote::quote;

/// `prepare`, the maker of chains, and `teardown`.
pub(super) fn render_hooks(resolved: &ResolvedScenario) -> TokenStream {
    let preparations = render_preparations(resolved);
    let files = payload::prepared_values(resolved)
        .map(|payload::PreparedValue { name, value, .. }| quote!(let #name = #value;));
    let shared = (0..resolved.setups.len())
        .map(setup_ident)
        .chain((0..resolved.feeds.len()).map(feed_ident))
        .chain(
            payload::prepared_values(resolved)
                .filter(|made| made.is_shared)
                .map(|made| made.name),
        );
    let limits = (0..resolved.feeds.len()).map(|at| {
        let feed = feed_ident(at);
        quote!(#feed.limit())
    });
    let shared_feeds = (0..resolved.feeds.len()).map(|at| {
        let feed = feed_ident(at);
        quote!(#feed.shared())
    });
    let rows = (0..resolved.feeds.len()).map(|at| {
        let row = row_ident(at);
        quote!(#row: ::core::array::from_fn(|_| ::core::default::Default::default()),)
    });
    let target = if resolved.setups.iter().any(|setup| setup.made.is_target) {
        quote!(__target)
    } else {
        quote!(::core::option::Option::None)
    };
    let slots = (0..resolved.steps.len()).map(|at| {
        let slot = slot_ident(at);
        quote!(#slot: ::loadtest::__private::Slot::unused(#at),)
    });
    let states = resolved.states.iter().enumerate().map(|(at, value)| {
        let (state, ty, name) = (state_ident(at), &value.ty, at_call_site(&value.ident));
        let given = render_arguments(&value.arguments, resolved, setup_in_shared(resolved));
        quote!(#state: ::loadtest::__private::state::<#ty>(#name(#given)),)
    });
    let held = (0..resolved.setups.len()).map(|at| {
        let (held, value) = (held_ident(at), setup_ident(at));
        quote!(#held: __shared.#value.hold(),)
    });
    let teardowns = render_teardowns(resolved);
    quote! {
        fn __prepare(
            __context: &::loadtest::__private::SetupContext,
        ) -> ::core::result::Result<
            ::loadtest::__private::Prepared,
            ::loadtest::__private::SetupError,
        > {
            #(#files)*
            #(#preparations)*
            let __rows = ::loadtest::__private::fewest([#(#limits),*]);
            let __shared_feeds = ::loadtest::__private::collect_shared([#(#shared_feeds),*]);
            ::core::result::Result::Ok(::loadtest::__private::Prepared {
                shared: ::std::sync::Arc::new(__Shared { #(#shared),* }),
                target: #target,
                rows: __rows,
                shared_feeds: __shared_feeds,
            })
        }
        fn __chain(
            __shared: &::loadtest::__private::Shared,
            __vu: &mut ::loadtest::__private::Vu,
        ) -> ::std::boxed::Box<dyn ::loadtest::__private::Chain> {
            let __shared = ::loadtest::__private::shared::<__Shared>(__shared);
            ::std::boxed::Box::new(__Chain {
                #(#slots)*
                #(#rows)*
                #(#states)*
                #(#held)*
                shared: __shared,
            })
        }
        fn __teardown(
            __shared: &::loadtest::__private::Shared,
            __context: &::loadtest::__private::SetupContext,
        ) -> ::core::result::Result<(), ::std::string::String> {
            let __shared = ::loadtest::__private::shared::<__Shared>(__shared);
            ::loadtest::__private::run_teardowns(&[#(#teardowns),*])
        }
    }
}

/// Renders a label and a call for each teardown, in source order.
fn render_teardowns(resolved: &ResolvedScenario) -> impl Iterator<Item = TokenStream> {
    let redirects = scenario_redirects(resolved);
    resolved.teardowns.iter().map(move |teardown| {
        let name = at_call_site(&teardown.ident);
        let net = render_net(&teardown.arguments);
        let given = render_arguments(&teardown.arguments, resolved, setup_in_shared(resolved));
        let (label, returned) = (&teardown.name, type_in_turbofish(&teardown.returned));
        let verdict = quote!(<#returned as ::loadtest::__private::TeardownReturn>::into_teardown);
        let run = if teardown.is_async {
            quote! {
                ::loadtest::__private::run_async_teardown(
                    __context,
                    #redirects,
                    async |__http: &mut ::loadtest::__private::Http| {
                        #net
                        #verdict(#name(#given).await)
                    },
                )
            }
        } else {
            quote!(#verdict(#name(#given)))
        };
        quote!((#label, &|| #run))
    })
}

/// The setups and the feeds, in source order.
fn render_preparations(resolved: &ResolvedScenario) -> Vec<TokenStream> {
    let feeds_above = |setups: usize| {
        let feeds = resolved.feeds.iter().enumerate();
        feeds
            .filter(move |(_, feed)| feed.setups_above == setups)
            .map(|(at, feed)| render_open_feed(at, feed, resolved))
    };
    let mut code = Vec::new();
    for (at, setup) in resolved.setups.iter().enumerate() {
        code.extend(feeds_above(at));
        code.push(render_setup(at, setup, resolved));
    }
    code.extend(feeds_above(resolved.setups.len()));
    code
}

fn render_open_feed(
    at: usize,
    declared: &ResolvedFeed,
    resolved: &ResolvedScenario,
) -> TokenStream {
    let feed = feed_ident(at);
    let function = at_call_site(&declared.ident);
    let (name, row, rows) = (&declared.name, &declared.ty.row, declared.rows as u64);
    let given = render_arguments(&declared.arguments, resolved, setup_in_prepare(resolved));
    let (error, call) = render_fallible(row, declared.ty.is_fallible, &quote!(#function(#given)));
    quote! {
        let #feed =
            ::loadtest::__private::open_feed::<#row, #error>(#name, __context, #rows, || #call)?;
    }
}

fn render_setup(at: usize, setup: &ResolvedSetup, resolved: &ResolvedScenario) -> TokenStream {
    let value = setup_ident(at);
    let function = at_call_site(&setup.ident);
    let (name, ty) = (&setup.name, &setup.made.ty);
    let given = render_arguments(&setup.arguments, resolved, setup_in_prepare(resolved));
    if setup.is_async {
        return render_async_setup(at, setup, &given, resolved);
    }
    let (error, call) = render_fallible(ty, setup.made.is_fallible, &quote!(#function(#given)));
    if setup.made.is_target {
        quote! {
            let (#value, __target) =
                ::loadtest::__private::target::<#error>(#name, __context, || #call)?;
        }
    } else {
        let form = render_json_form(ty);
        quote! {
            let #value =
                ::loadtest::__private::run_setup::<#ty, #error>(#name, __context, &#form, || #call)?;
        }
    }
}

/// A setup that sends, to the target that a setup above it started.
fn render_async_setup(
    at: usize,
    setup: &ResolvedSetup,
    given: &TokenStream,
    resolved: &ResolvedScenario,
) -> TokenStream {
    let function = at_call_site(&setup.ident);
    let (name, ty) = (&setup.name, &setup.made.ty);
    let redirects = scenario_redirects(resolved);
    let target = resolved.setups[..at]
        .iter()
        .position(|above| above.made.is_target)
        .map(setup_ident);
    let own = target.map_or_else(
        || quote!(::core::option::Option::None),
        |target| quote!(::core::option::Option::Some(#target.get().url())),
    );
    let call = quote!(#function(#given).await);
    let (error, call) = render_fallible(ty, setup.made.is_fallible, &call);
    let (value, form) = (setup_ident(at), render_json_form(ty));
    let net = render_net(&setup.arguments);
    if setup.options.is_renewed() {
        let rules = repeat::render_renewal_rules(setup.options.keeps_for, &setup.options.refresh);
        // each fetch has them
        let used = setup
            .arguments
            .iter()
            .filter_map(|given| given.source.setup_index());
        let used = used.map(setup_ident);
        return quote! {
            let #value = {
                let __own = #own;
                #(let #used = #used.hold();)*
                ::loadtest::__private::run_renewed_setup::<#ty, #error>(
                    #name,
                    __context,
                    __own,
                    #redirects,
                    #rules,
                    async move |__http: &mut ::loadtest::__private::Http| {
                        #net
                        #call
                    },
                )?
            };
        };
    }
    quote! {
        let #value = ::loadtest::__private::run_async_setup::<#ty, #error>(
            #name,
            __context,
            &#form,
            #own,
            #redirects,
            async |__http: &mut ::loadtest::__private::Http| {
                #net
                #call
            },
        )?;
    }
}

/// Renders how the values of a type become JSON, by what the type implements: where it can be serialised, the first trait
/// has the method; else the reference takes the second.
fn render_json_form(ty: &TokenStream) -> TokenStream {
    quote! {
        {
            #[allow(unused_imports)]
            use ::loadtest::__private::{OpaqueSetup as _, SerializedSetup as _};
            (&::loadtest::__private::SetupType::<#ty>::new()).json_form()
        }
    }
}

/// Returns the error type of a call, and the call itself as a `Result`.
fn render_fallible(
    ty: &TokenStream,
    is_fallible: bool,
    call: &TokenStream,
) -> (TokenStream, TokenStream) {
    if is_fallible {
        return (inferred_type_at(ty), call.clone());
    }
    let never = quote!(::core::convert::Infallible);
    (never, quote!(::core::result::Result::Ok(#call)))
}

/// The number of redirects that the scenario follows.
fn scenario_redirects(resolved: &ResolvedScenario) -> u32 {
    resolved.options.client.redirects.unwrap_or(0)
}

fn setup_in_prepare(resolved: &ResolvedScenario) -> impl Fn(usize) -> TokenStream {
    move |at| render_newest(at, resolved, &TokenStream::new())
}

pub(super) fn setup_in_chain(at: usize) -> TokenStream {
    let value = held_ident(at);
    quote!(self.#value.get())
}

fn setup_in_shared(resolved: &ResolvedScenario) -> impl Fn(usize) -> TokenStream {
    move |at| render_newest(at, resolved, &quote!(__shared.))
}

/// The value that a setup has now; it is found in `owner`.
fn render_newest(at: usize, resolved: &ResolvedScenario, owner: &TokenStream) -> TokenStream {
    let value = setup_ident(at);
    let newest = resolved.setups[at].options.is_renewed();
    let newest = newest.then(|| quote!(.hold()));
    quote!(#owner #value #newest.get())
}
