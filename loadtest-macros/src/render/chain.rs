//! The chain: a slot per step, and the calls of the user's functions.

use super::{
    arguments, call_site, feed, flat, header, in_turbofish, infer, payload, repeat, request, row,
    setup_value, slot, state,
};
use crate::resolve::{Feed, Form, Resolved, Setup, Source, Step};
use crate::spelling::as_written;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;

/// The types of chain and shared values, and `impl Chain`.
pub(super) fn chain(resolved: &Resolved) -> TokenStream {
    let types = types(resolved);
    let methods = [
        begin(resolved),
        skip(resolved),
        build(resolved),
        run(resolved),
        finish(resolved),
        repeat::arrived(resolved),
        check(resolved),
    ];
    quote! {
        #types
        impl ::loadtest::__private::Chain for __Chain {
            #(#methods)*
        }
    }
}

/// What all users share, and what each has of its own.
fn types(resolved: &Resolved) -> TokenStream {
    let slots = resolved.steps.iter().enumerate().map(|(at, step)| {
        let (slot, ty) = (slot(at), &step.response.ty);
        quote!(#slot: ::loadtest::__private::Slot<#ty>,)
    });
    let states = resolved.states.iter().enumerate().map(|(at, value)| {
        let (state, ty) = (state(at), &value.ty);
        quote!(#state: ::loadtest::__private::StateValue<#ty>,)
    });
    let values = resolved.setups.iter().enumerate().map(|(at, setup)| {
        let (value, ty) = (setup_value(at), &setup.made.ty);
        quote!(#value: ::loadtest::__private::SetupValue<#ty>,)
    });
    let feeds = resolved.feeds.iter().enumerate().map(|(at, value)| {
        let (feed, ty) = (feed(at), &value.ty.row);
        quote!(#feed: ::loadtest::__private::Rows<#ty>,)
    });
    let rows = (0..resolved.feeds.len()).map(|at| {
        let row = row(at);
        quote!(#row: ::loadtest::__private::Row,)
    });
    let files = payload::made(resolved)
        .filter(|made| made.is_shared)
        .map(|payload::Made { name, ty, .. }| quote!(#name: #ty,));
    quote! {
        struct __Shared { #(#values)* #(#feeds)* #(#files)* }
        struct __Chain {
            #(#slots)*
            #(#rows)*
            #(#states)*
            shared: ::std::sync::Arc<__Shared>,
        }
    }
}

fn begin(resolved: &Resolved) -> TokenStream {
    // the response of a step that runs once is there for all iterations that follow
    let renewed = |at: &usize| resolved.steps[*at].options.repeat.once.is_none();
    let slots = (0..resolved.steps.len()).filter(renewed).map(|at| {
        let slot = slot(at);
        quote!(self.#slot = ::loadtest::__private::Slot::unused(#at);)
    });
    let rows = (0..resolved.feeds.len()).map(|at| {
        let (row, feed) = (row(at), feed(at));
        quote!(self.#row.draw(&self.shared.#feed, __vu);)
    });
    quote! {
        fn begin(&mut self, __vu: &mut ::loadtest::__private::Vu) {
            #(#slots)*
            #(#rows)*
        }
    }
}

fn skip(resolved: &Resolved) -> TokenStream {
    let arms = (0..resolved.steps.len()).map(|at| {
        let slot = slot(at);
        quote!(#at => self.#slot = ::loadtest::__private::Slot::Empty(__cause),)
    });
    quote! {
        fn skip(&mut self, __step: usize, __cause: ::loadtest::__private::Cause) {
            match __step {
                #(#arms)*
                _ => ::loadtest::__private::no_such_step(__step),
            }
        }
    }
}

fn build(resolved: &Resolved) -> TokenStream {
    let arms = (0..resolved.steps.len()).filter_map(|at| {
        let code = build_arm(at, resolved);
        (!code.is_empty()).then(|| quote!(#at => #code))
    });
    quote! {
        fn build(
            &mut self,
            __step: usize,
            __vu: &mut ::loadtest::__private::Vu,
            __request: &mut ::loadtest::__private::RequestBuf,
        ) -> ::core::result::Result<(), ::loadtest::__private::Unmet> {
            match __step {
                #(#arms)*
                _ => ::loadtest::__private::no_such_step(__step),
            }
        }
    }
}

/// The steps that send for themselves.
fn run(resolved: &Resolved) -> TokenStream {
    let arms = resolved.steps.iter().enumerate().filter_map(|(at, step)| {
        let Form::Sender {
            returned,
            arguments: given,
        } = &step.form
        else {
            return None;
        };
        let (name, slot) = (call_site(&step.ident), slot(at));
        let given = arguments(given, resolved, in_chain);
        let (returned, response) = (in_turbofish(returned), &step.response.ty);
        let defaults = header::of_sender(step);
        Some(quote! {
            #at => ::std::boxed::Box::pin(async move {
                use ::loadtest::__private::{
                    SkipsAlways as _, SkipsMaybe as _, SkipsNever as _, SkipsWithin as _,
                };
                #defaults
                let __returned = #name(#given).await;
                let __seen = (&&&&::loadtest::__private::Asked(&__returned)).halt();
                ::loadtest::__private::sent::<#returned, #response>(
                    &mut self.#slot,
                    __returned,
                    __seen,
                    __http,
                )
            }),
        })
    });
    quote! {
        fn run<'__a>(
            &'__a mut self,
            __step: usize,
            __vu: &'__a mut ::loadtest::__private::Vu,
            __http: &'__a mut ::loadtest::__private::Http,
        ) -> ::loadtest::__private::Local<
            '__a,
            ::core::result::Result<(), ::loadtest::__private::Halt>,
        > {
            match __step {
                #(#arms)*
                _ => ::loadtest::__private::no_such_step(__step),
            }
        }
    }
}

fn finish(resolved: &Resolved) -> TokenStream {
    let filled = |step: &Step| !matches!(step.form, Form::Sender { .. });
    let steps = resolved.steps.iter().enumerate();
    let arms = steps.filter(|(_, step)| filled(step)).map(|(at, step)| {
        let (slot, ty) = (slot(at), &step.response.ty);
        quote!(#at => ::loadtest::__private::fill::<#ty>(&mut self.#slot, __response),)
    });
    quote! {
        fn finish(
            &mut self,
            __step: usize,
            __response: ::loadtest::__private::RawResponse,
        ) -> ::core::result::Result<(), ::std::string::String> {
            match __step {
                #(#arms)*
                _ => ::loadtest::__private::no_such_step(__step),
            }
        }
    }
}

fn check(resolved: &Resolved) -> TokenStream {
    let checks = (0..resolved.steps.len()).filter_map(|at| {
        let code = checks_of(at, resolved);
        (!code.is_empty()).then_some((at, code))
    });
    let (checked, code): (Vec<_>, Vec<_>) = checks.unzip();
    quote! {
        fn is_checked(&self, __step: usize) -> bool {
            [#(#checked),*].contains(&__step)
        }

        fn check(
            &mut self,
            __step: usize,
            __vu: &mut ::loadtest::__private::Vu,
            __report: &mut dyn ::core::ops::FnMut(
                &'static str,
                ::core::result::Result<(), ::std::string::String>,
            ),
        ) {
            match __step {
                #(#checked => { #code })*
                _ => {}
            }
        }
    }
}

fn build_arm(at: usize, resolved: &Resolved) -> TokenStream {
    let step = &resolved.steps[at];
    match &step.form {
        Form::Builder {
            returned,
            arguments: given,
        } => {
            let name = call_site(&step.ident);
            let has_row = given
                .iter()
                .any(|argument| matches!(argument.source, Source::Feed(_)));
            let given = arguments(given, resolved, in_chain);
            let response = &step.response.ty;
            let may_skip = is_result(returned);
            let returned = in_turbofish(returned);
            let into_request = quote!(::loadtest::__private::into_request::<#returned, #response>);
            let write = if may_skip {
                quote! {
                    {
                        use ::loadtest::__private::{
                            SkipsAlways as _, SkipsMaybe as _, SkipsNever as _, SkipsWithin as _,
                        };
                        let __returned = #name(#given);
                        (&&&&::loadtest::__private::Asked(&__returned)).skip()?;
                        #into_request(__returned)?.write(__request)
                    }
                }
            } else {
                quote!(#into_request(#name(#given))?.write(__request))
            };
            let write = if has_row {
                // a URL with a value of a feed is not shown when it is invalid
                let shown = step.shown.as_ref().map_or("..", |(_, url)| url);
                quote!(::loadtest::__private::without_row(#write, #shown))
            } else {
                write
            };
            let write = header::after(write, step);
            quote!(#write,)
        }
        Form::Declared(declared) => {
            let follows = (!step.follows.is_empty()).then(|| {
                let follows = arguments(&step.follows, resolved, in_chain);
                quote!(let _ = (#follows,);)
            });
            request::build(at, declared, follows.as_ref())
        }
        Form::Sender { .. } | Form::Broken => TokenStream::new(),
    }
}

/// Whether the type that a function returns is a `Result`, whose `Err` may be a `Skip`.
fn is_result(returned: &TokenStream) -> bool {
    flat(returned.clone()).any(|token| matches!(token, TokenTree::Ident(word) if word == "Result"))
}

/// The checks that run after the step with the number `at`: closures of the step, then functions.
fn checks_of(at: usize, resolved: &Resolved) -> TokenStream {
    let step = &resolved.steps[at];
    let slot = slot(at);
    let closures = step.options.checks.iter().map(|closure| {
        let (ty, infer, variable) = (&step.response.ty, infer(closure), &step.name);
        let verdict = quote! {
            ::loadtest::__private::check_with::<#ty, #infer>(
                self.#slot.get(#at, #variable)?,
                #closure,
            )
        };
        run_check(&as_written(closure), &verdict)
    });
    let functions = resolved
        .checks
        .iter()
        .filter(|check| check.step == at)
        .map(|check| {
            let name = call_site(&check.ident);
            let given = arguments(&check.arguments, resolved, in_chain);
            let returned = in_turbofish(&check.returned);
            let verdict = quote!(::loadtest::__private::into_check::<#returned>(#name(#given)));
            run_check(&check.name, &verdict)
        });
    closures.chain(functions).collect()
}

fn run_check(name: &str, verdict: &TokenStream) -> TokenStream {
    quote! {
        if let ::core::option::Option::Some(__verdict) =
            ::loadtest::__private::run_check(|| ::core::result::Result::Ok(#verdict))
        {
            __report(#name, __verdict);
        }
    }
}

/// `prepare`, the maker of chains, and `teardown`.
pub(super) fn hooks(resolved: &Resolved) -> TokenStream {
    let preparations = preparations(resolved);
    let files = payload::made(resolved)
        .map(|payload::Made { name, value, .. }| quote!(let #name = #value;));
    let shared = (0..resolved.setups.len())
        .map(setup_value)
        .chain((0..resolved.feeds.len()).map(feed))
        .chain(
            payload::made(resolved)
                .filter(|made| made.is_shared)
                .map(|made| made.name),
        );
    let limits = (0..resolved.feeds.len()).map(|at| {
        let feed = feed(at);
        quote!(#feed.limit())
    });
    let rows = (0..resolved.feeds.len()).map(|at| {
        let row = row(at);
        quote!(#row: ::core::default::Default::default(),)
    });
    let target = if resolved.setups.iter().any(|setup| setup.made.is_target) {
        quote!(__target)
    } else {
        quote!(::core::option::Option::None)
    };
    let slots = (0..resolved.steps.len()).map(|at| {
        let slot = slot(at);
        quote!(#slot: ::loadtest::__private::Slot::unused(#at),)
    });
    let states = resolved.states.iter().enumerate().map(|(at, value)| {
        let (state, ty, name) = (state(at), &value.ty, call_site(&value.ident));
        let given = arguments(&value.arguments, resolved, in_shared);
        quote!(#state: ::loadtest::__private::state::<#ty>(#name(#given)),)
    });
    let redirects = redirects(resolved);
    let teardowns = resolved.teardowns.iter().map(|teardown| {
        let name = call_site(&teardown.ident);
        let given = arguments(&teardown.arguments, resolved, in_shared);
        let (label, returned) = (&teardown.name, in_turbofish(&teardown.returned));
        let verdict = quote!(::loadtest::__private::into_teardown::<#returned>);
        let run = if teardown.is_async {
            quote! {
                ::loadtest::__private::run_async_teardown(
                    __context,
                    #redirects,
                    async |__http: &mut ::loadtest::__private::Http| {
                        #verdict(#name(#given).await)
                    },
                )
            }
        } else {
            quote!(#verdict(#name(#given)))
        };
        quote!((#label, &|| #run))
    });
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
            ::core::result::Result::Ok(::loadtest::__private::Prepared {
                shared: ::std::sync::Arc::new(__Shared { #(#shared),* }),
                target: #target,
                rows: __rows,
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

/// The setups and the feeds, in source order.
fn preparations(resolved: &Resolved) -> Vec<TokenStream> {
    let feeds_above = |setups: usize| {
        let feeds = resolved.feeds.iter().enumerate();
        feeds
            .filter(move |(_, feed)| feed.setups_above == setups)
            .map(|(at, feed)| open_feed(at, feed, resolved))
    };
    let mut code = Vec::new();
    for (at, setup) in resolved.setups.iter().enumerate() {
        code.extend(feeds_above(at));
        code.push(run_setup(at, setup, resolved));
    }
    code.extend(feeds_above(resolved.setups.len()));
    code
}

fn open_feed(at: usize, declared: &Feed, resolved: &Resolved) -> TokenStream {
    let feed = feed(at);
    let function = call_site(&declared.ident);
    let (name, row) = (&declared.name, &declared.ty.row);
    let given = arguments(&declared.arguments, resolved, in_prepare);
    let open = if declared.ty.is_fallible {
        let infer = infer(row);
        quote!(open_fallible_feed::<#row, #infer>)
    } else {
        quote!(open_feed::<#row>)
    };
    quote! {
        let #feed = ::loadtest::__private::#open(#name, __context, || #function(#given))?;
    }
}

fn run_setup(at: usize, setup: &Setup, resolved: &Resolved) -> TokenStream {
    let value = setup_value(at);
    let function = call_site(&setup.ident);
    let (name, ty) = (&setup.name, &setup.made.ty);
    let given = arguments(&setup.arguments, resolved, in_prepare);
    if setup.is_async {
        return run_async_setup(at, setup, &given, resolved);
    }
    let run = if setup.made.is_fallible {
        let infer = infer(ty);
        quote!(::loadtest::__private::run_fallible_setup::<#ty, #infer>)
    } else {
        quote!(::loadtest::__private::run_setup::<#ty>)
    };
    let run = quote!(#run(#name, || #function(#given)));
    if setup.made.is_target {
        quote! {
            let (#value, __target) = ::loadtest::__private::target(__context, || #run)?;
        }
    } else {
        keep(&value, ty, &run)
    }
}

/// A setup that sends, to the target that a setup above it started.
fn run_async_setup(
    at: usize,
    setup: &Setup,
    given: &TokenStream,
    resolved: &Resolved,
) -> TokenStream {
    let function = call_site(&setup.ident);
    let (name, ty) = (&setup.name, &setup.made.ty);
    let redirects = redirects(resolved);
    let target = resolved.setups[..at]
        .iter()
        .position(|above| above.made.is_target)
        .map(setup_value);
    let own = target.map_or_else(
        || quote!(::core::option::Option::None),
        |target| quote!(::core::option::Option::Some(#target.get().url())),
    );
    let (error, call) = if setup.made.is_fallible {
        (infer(ty), quote!(#function(#given).await))
    } else {
        let never = quote!(::core::convert::Infallible);
        let call = quote!(::core::result::Result::Ok(#function(#given).await));
        (never, call)
    };
    let run = quote! {
        ::loadtest::__private::run_async_setup::<#ty, #error>(
            #name,
            __context,
            #own,
            #redirects,
            async |__http: &mut ::loadtest::__private::Http| #call,
        )
    };
    keep(&setup_value(at), ty, &run)
}

/// Keeps what a setup made, in whose type nothing may hide.
fn keep(value: &Ident, ty: &TokenStream, run: &TokenStream) -> TokenStream {
    let infer = infer(ty);
    quote! {
        let #value = #run?;
        {
            use ::loadtest::__private::{HidesNothing as _, HidesSomething as _};
            ::loadtest::__private::spelled_out::<#infer>(
                (&::loadtest::__private::Returned::<#ty>::new()).hidden(),
            );
        }
    }
}

/// How many redirects the scenario follows.
fn redirects(resolved: &Resolved) -> u32 {
    resolved.options.client.redirects.unwrap_or(0)
}

fn in_prepare(at: usize) -> TokenStream {
    let value = setup_value(at);
    quote!(#value.get())
}

fn in_chain(at: usize) -> TokenStream {
    let value = setup_value(at);
    quote!(self.shared.#value.get())
}

fn in_shared(at: usize) -> TokenStream {
    let value = setup_value(at);
    quote!(__shared.#value.get())
}
