//! The chain: a slot per step, and the calls of the user's functions.

use super::hooks::setup_in_chain;
use super::{
    at_call_site, feed_ident, flatten_tokens, header, held_ident, inferred_type_at, payload,
    render_arguments, render_net, repeat, request, row_ident, setup_ident, slot_ident, state_ident,
    stream, type_in_turbofish,
};
use crate::resolve::{
    ArgumentSource, ResolvedScenario, ResolvedStep, StepForm, without_raw_prefix,
};
use crate::spelling::source_text;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};

/// The types of chain and shared values, and `impl Chain`.
pub(super) fn render_chain(resolved: &ResolvedScenario) -> TokenStream {
    let types = render_types(resolved);
    let methods = [
        render_begin(resolved),
        render_skip(resolved),
        render_build(resolved),
        render_run(resolved),
        render_finish(resolved),
        render_partial(resolved),
        repeat::render_arrived(resolved),
        stream::render_stream_methods(resolved),
        render_used_setups(resolved),
        render_check(resolved),
    ];
    quote! {
        #types
        impl ::loadtest::__private::Chain for __Chain {
            #(#methods)*
        }
    }
}

/// Renders the types for the values that all users share and for those of each user.
fn render_types(resolved: &ResolvedScenario) -> TokenStream {
    let slots = resolved.steps.iter().enumerate().map(|(at, step)| {
        let (slot, ty) = (slot_ident(at), &step.response.ty);
        quote!(#slot: ::loadtest::__private::Slot<#ty>,)
    });
    let states = resolved.states.iter().enumerate().map(|(at, value)| {
        let (state, ty) = (state_ident(at), &value.ty);
        quote!(#state: ::loadtest::__private::StateValue<#ty>,)
    });
    let types = resolved.setups.iter().map(|setup| {
        let (renewed, ty) = (setup.options.is_renewed(), &setup.made.ty);
        let kept = format_ident!(
            "{}",
            if renewed {
                "RenewedSetup"
            } else {
                "SetupValue"
            }
        );
        quote!(::loadtest::__private::#kept<#ty>)
    });
    let types: Vec<_> = types.collect();
    let values: Vec<_> = (0..types.len()).map(setup_ident).collect();
    let held = (0..types.len()).map(held_ident);
    let feeds = resolved.feeds.iter().enumerate().map(|(at, value)| {
        let (feed, ty) = (feed_ident(at), &value.ty.row);
        quote!(#feed: ::loadtest::__private::Rows<#ty>,)
    });
    let rows = resolved.feeds.iter().enumerate().map(|(at, feed)| {
        let (row, rows) = (row_ident(at), feed.rows);
        quote!(#row: [::loadtest::__private::Row; #rows],)
    });
    let files = payload::prepared_values(resolved)
        .filter(|made| made.is_shared)
        .map(|payload::PreparedValue { name, ty, .. }| quote!(#name: #ty,));
    quote! {
        struct __Shared { #(#values: #types,)* #(#feeds)* #(#files)* }
        struct __Chain {
            #(#slots)*
            #(#rows)*
            #(#states)*
            #(#held: #types,)*
            shared: ::std::sync::Arc<__Shared>,
        }
    }
}

fn render_begin(resolved: &ResolvedScenario) -> TokenStream {
    // the response of a step that runs once is there for all iterations that follow
    let renewed = |at: &usize| !resolved.steps[*at].options.repeat.once;
    let slots = (0..resolved.steps.len()).filter(renewed).map(|at| {
        let slot = slot_ident(at);
        quote!(self.#slot = ::loadtest::__private::Slot::unused(#at);)
    });
    let rows = (0..resolved.feeds.len()).map(|at| {
        let (row, feed) = (row_ident(at), feed_ident(at));
        quote!(::loadtest::__private::draw(&mut self.#row, &self.shared.#feed, __vu);)
    });
    quote! {
        fn begin(&mut self, __vu: &mut ::loadtest::__private::Vu) {
            #(#slots)*
            #(#rows)*
        }
    }
}

fn render_skip(resolved: &ResolvedScenario) -> TokenStream {
    let arms = (0..resolved.steps.len()).map(|at| {
        let slot = slot_ident(at);
        quote!(#at => self.#slot = ::loadtest::__private::Slot::Empty(__cause),)
    });
    quote! {
        fn skip(&mut self, __step: usize, __cause: ::loadtest::__private::Cause) {
            match __step {
                #(#arms)*
                _ => ::core::unreachable!("this scenario has no step {__step}"),
            }
        }
    }
}

fn render_build(resolved: &ResolvedScenario) -> TokenStream {
    let arms = (0..resolved.steps.len()).filter_map(|at| {
        let code = render_build_arm(at, resolved);
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
                _ => ::core::unreachable!("this scenario has no step {__step}"),
            }
        }
    }
}

/// The steps that send for themselves.
fn render_run(resolved: &ResolvedScenario) -> TokenStream {
    let arms = resolved.steps.iter().enumerate().filter_map(|(at, step)| {
        let StepForm::Sender {
            returned,
            arguments: given,
        } = &step.form
        else {
            return None;
        };
        let (name, slot) = (at_call_site(&step.ident), slot_ident(at));
        let net = render_net(given);
        let given = render_arguments(given, resolved, setup_in_chain);
        let (returned, response) = (type_in_turbofish(returned), &step.response.ty);
        let defaults = header::render_async_headers(step);
        let jar = jar_name(step).map(|jar| quote!(__http.set_jar(#jar);));
        let renewals = render_renewals(step, resolved);
        Some(quote! {
            #at => ::std::boxed::Box::pin(async move {
                use ::loadtest::__private::{
                    SkipsAlways as _, SkipsMaybe as _, SkipsNever as _, SkipsWithin as _,
                };
                #renewals
                #defaults
                #jar
                #net
                let __returned = #name(#given).await;
                let __seen = (&&&&::loadtest::__private::SkipProbe(&__returned)).halt();
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
        ) -> ::core::pin::Pin<::std::boxed::Box<
            dyn ::core::future::Future<
                Output = ::core::result::Result<(), ::loadtest::__private::Halt>,
            > + '__a,
        >> {
            match __step {
                #(#arms)*
                _ => ::core::unreachable!("this scenario has no step {__step}"),
            }
        }
    }
}

fn render_finish(resolved: &ResolvedScenario) -> TokenStream {
    let filled = |step: &ResolvedStep| !matches!(step.form, StepForm::Sender { .. });
    let steps = resolved.steps.iter().enumerate();
    let arms = steps.filter(|(_, step)| filled(step)).map(|(at, step)| {
        let (slot, ty) = (slot_ident(at), &step.response.ty);
        let fill = match &step.response.graph_data {
            Some(data) => {
                let partial = step.options.graphql.partial;
                quote!(fill_graph::<#data>(&mut self.#slot, __response, #partial))
            }
            None if step.reads_graphql() => {
                quote!(fill_graph_data::<#ty>(&mut self.#slot, __response))
            }
            None => quote!(fill::<#ty>(&mut self.#slot, __response)),
        };
        quote!(#at => ::loadtest::__private::#fill,)
    });
    quote! {
        fn finish(
            &mut self,
            __step: usize,
            __response: ::loadtest::__private::RawResponse,
        ) -> ::core::result::Result<(), ::loadtest::__private::ReadError> {
            match __step {
                #(#arms)*
                _ => ::core::unreachable!("this scenario has no step {__step}"),
            }
        }
    }
}

/// Steps that accept errors beside data.
fn render_partial(resolved: &ResolvedScenario) -> TokenStream {
    let steps = resolved.steps.iter().enumerate();
    let partial = steps
        .filter(|(_, step)| step.options.graphql.partial && step.response.graph_data.is_some());
    let arms = partial.map(|(at, _)| {
        let slot = slot_ident(at);
        quote!(#at => ::loadtest::__private::is_partial_graph(&self.#slot),)
    });
    let arms: Vec<_> = arms.collect();
    if arms.is_empty() {
        return TokenStream::new();
    }
    quote! {
        fn is_partial(&self, __step: usize) -> bool {
            match __step {
                #(#arms)*
                _ => false,
            }
        }
    }
}

fn render_check(resolved: &ResolvedScenario) -> TokenStream {
    let checks = (0..resolved.steps.len()).filter_map(|at| {
        let code = render_checks_after(at, resolved);
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

/// The name of the cookie jar of a step.
fn jar_name(step: &ResolvedStep) -> Option<String> {
    step.options.jar.as_ref().map(without_raw_prefix)
}

fn render_build_arm(at: usize, resolved: &ResolvedScenario) -> TokenStream {
    let step = &resolved.steps[at];
    let request = render_built_request(at, resolved);
    let jar = jar_name(step).map(|jar| quote!(__request.set_jar(#jar);));
    let renewals = render_renewals(step, resolved);
    if request.is_empty() {
        request
    } else if jar.is_none() && renewals.is_empty() {
        quote!(#request,)
    } else {
        quote! {
            {
                #renewals
                let __built: ::core::result::Result<(), ::loadtest::__private::Unmet> = #request;
                #jar
                __built
            }
        }
    }
}

/// The values that a step uses of setups that are fetched again.
fn renewed_setups<'a>(
    step: &ResolvedStep,
    resolved: &'a ResolvedScenario,
) -> impl Iterator<Item = Ident> + use<'a> {
    let is_renewed = |at: &usize| resolved.setups[*at].options.is_renewed();
    let used = step.setups().into_iter().filter(is_renewed);
    used.map(held_ident)
}

/// Takes the newest values of setups before a step uses them.
fn render_renewals(step: &ResolvedStep, resolved: &ResolvedScenario) -> TokenStream {
    let held = renewed_setups(step, resolved);
    quote!(#(self.#held.renew()?;)*)
}

/// The setups that are fetched again, of the steps that use some.
fn render_used_setups(resolved: &ResolvedScenario) -> TokenStream {
    let arms = resolved.steps.iter().enumerate().filter_map(|(at, step)| {
        let mut held = renewed_setups(step, resolved).peekable();
        held.peek()?;
        Some(quote!(#at => ::std::vec![#(self.#held.used()),*],))
    });
    let arms: Vec<_> = arms.collect();
    if arms.is_empty() {
        return TokenStream::new();
    }
    quote! {
        fn used_setups(
            &self,
            __step: usize,
        ) -> ::std::vec::Vec<::loadtest::__private::UsedSetup> {
            match __step {
                #(#arms)*
                _ => ::std::vec::Vec::new(),
            }
        }
    }
}

/// The code that builds the request of a step; none where it sends for itself.
fn render_built_request(at: usize, resolved: &ResolvedScenario) -> TokenStream {
    let step = &resolved.steps[at];
    match &step.form {
        StepForm::Builder {
            returned,
            arguments: given,
        } => {
            let name = at_call_site(&step.ident);
            let has_row = given
                .iter()
                .any(|argument| matches!(argument.source, ArgumentSource::Feed(_)));
            let given = render_arguments(given, resolved, setup_in_chain);
            let response = &step.response.ty;
            let may_skip = returns_result(returned);
            let returned = type_in_turbofish(returned);
            let into_request = quote! {
                <#returned as ::loadtest::__private::StepReturn<#response>>::into_request
            };
            let write = if may_skip {
                quote! {
                    {
                        use ::loadtest::__private::{
                            SkipsAlways as _, SkipsMaybe as _, SkipsNever as _, SkipsWithin as _,
                        };
                        let __returned = #name(#given);
                        (&&&&::loadtest::__private::SkipProbe(&__returned)).skip()?;
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
            header::render_missing_headers(write, step)
        }
        StepForm::Declared(declared) => {
            let follows = (!step.follows.is_empty()).then(|| {
                let follows = render_arguments(&step.follows, resolved, setup_in_chain);
                quote!(let _ = (#follows,);)
            });
            request::render_request(at, declared, follows.as_ref())
        }
        StepForm::Sender { .. } | StepForm::Broken => TokenStream::new(),
    }
}

/// Returns true if a function returns a `Result`, whose `Err` may be a `Skip`.
fn returns_result(returned: &TokenStream) -> bool {
    flatten_tokens(returned.clone())
        .any(|token| matches!(token, TokenTree::Ident(word) if word == "Result"))
}

/// The checks that run after the step with the number `at`: closures of the step, then functions.
fn render_checks_after(at: usize, resolved: &ResolvedScenario) -> TokenStream {
    let step = &resolved.steps[at];
    let slot = slot_ident(at);
    let closures = step.options.checks.iter().map(|closure| {
        let (ty, infer, variable) = (&step.response.ty, inferred_type_at(closure), &step.name);
        let verdict = quote! {
            <#infer as ::loadtest::__private::CheckReturn>::into_check(
                ::loadtest::__private::call_with::<#ty, #infer>(
                    self.#slot.get(#at, #variable)?,
                    #closure,
                ),
            )
        };
        render_check_call(&source_text(closure), &verdict)
    });
    let functions = resolved
        .checks
        .iter()
        .filter(|check| check.step == at)
        .map(|check| {
            let name = at_call_site(&check.ident);
            let given = render_arguments(&check.arguments, resolved, setup_in_chain);
            let returned = type_in_turbofish(&check.returned);
            let verdict = quote! {
                <#returned as ::loadtest::__private::CheckReturn>::into_check(#name(#given))
            };
            render_check_call(&check.name, &verdict)
        });
    closures.chain(functions).collect()
}

fn render_check_call(name: &str, verdict: &TokenStream) -> TokenStream {
    quote! {
        if let ::core::option::Option::Some(__verdict) =
            ::loadtest::__private::run_check(|| ::core::result::Result::Ok(#verdict))
        {
            __report(#name, __verdict);
        }
    }
}
