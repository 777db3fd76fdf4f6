//! The chain: a slot per step, and the calls of the user's functions.

use super::{
    arguments, call_site, in_turbofish, infer, payload, request, setup_value, slot, state,
};
use crate::resolve::{Form, Resolved, Setup};
use crate::spelling::as_written;
use proc_macro2::TokenStream;
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
        arrived(resolved),
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
    let files = payload::made(resolved)
        .filter(|made| made.is_shared)
        .map(|payload::Made { name, ty, .. }| quote!(#name: #ty,));
    quote! {
        struct __Shared { #(#values)* #(#files)* }
        struct __Chain {
            #(#slots)*
            #(#states)*
            shared: ::std::sync::Arc<__Shared>,
        }
    }
}

fn begin(resolved: &Resolved) -> TokenStream {
    let slots = (0..resolved.steps.len()).map(|at| {
        let slot = slot(at);
        quote!(self.#slot = ::loadtest::__private::Slot::unused(#at);)
    });
    quote! {
        fn begin(&mut self, __vu: &mut ::loadtest::__private::Vu) {
            #(#slots)*
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
    let arms = (0..resolved.steps.len()).map(|at| {
        let code = build_arm(at, resolved);
        quote!(#at => #code)
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
fn run(_: &Resolved) -> TokenStream {
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
            ::loadtest::__private::no_such_step(__step)
        }
    }
}

fn finish(resolved: &Resolved) -> TokenStream {
    let arms = resolved.steps.iter().enumerate().map(|(at, step)| {
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

/// The conditions of the steps that ask until the answer is the one they wait for.
fn arrived(_: &Resolved) -> TokenStream {
    quote! {
        fn arrived(&self, _: usize) -> bool {
            true
        }
    }
}

fn check(resolved: &Resolved) -> TokenStream {
    let arms = (0..resolved.steps.len()).filter_map(|at| {
        let code = checks_of(at, resolved);
        (!code.is_empty()).then(|| quote!(#at => { #code }))
    });
    quote! {
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
                #(#arms)*
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
            let given = arguments(given, resolved, in_chain);
            let (returned, response) = (in_turbofish(returned), &step.response.ty);
            quote! {
                ::loadtest::__private::into_request::<#returned, #response>(#name(#given))?
                    .write(__request),
            }
        }
        Form::Declared(declared) => request::build(at, declared),
        Form::Broken => TokenStream::new(),
    }
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
    let setups = resolved
        .setups
        .iter()
        .enumerate()
        .map(|(at, setup)| run_setup(at, setup, resolved));
    let values = (0..resolved.setups.len()).map(setup_value);
    let files = payload::made(resolved)
        .map(|payload::Made { name, value, .. }| quote!(let #name = #value;));
    let shared = values.chain(
        payload::made(resolved)
            .filter(|made| made.is_shared)
            .map(|made| made.name),
    );
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
    let teardowns = resolved.teardowns.iter().map(|teardown| {
        let name = call_site(&teardown.ident);
        let given = arguments(&teardown.arguments, resolved, in_shared);
        quote!(&|| #name(#given))
    });
    quote! {
        fn __prepare(
            __context: &::loadtest::__private::SetupContext,
        ) -> ::core::result::Result<
            ::loadtest::__private::Prepared,
            ::loadtest::__private::SetupError,
        > {
            #(#files)*
            #(#setups)*
            ::core::result::Result::Ok(::loadtest::__private::Prepared {
                shared: ::std::sync::Arc::new(__Shared { #(#shared),* }),
                target: #target,
                rows: ::core::option::Option::None,
            })
        }
        fn __chain(
            __shared: &::loadtest::__private::Shared,
            __vu: &mut ::loadtest::__private::Vu,
        ) -> ::std::boxed::Box<dyn ::loadtest::__private::Chain> {
            let __shared = ::loadtest::__private::shared::<__Shared>(__shared);
            ::std::boxed::Box::new(__Chain {
                #(#slots)*
                #(#states)*
                shared: __shared,
            })
        }
        fn __teardown(__shared: &::loadtest::__private::Shared) {
            let __shared = ::loadtest::__private::shared::<__Shared>(__shared);
            ::loadtest::__private::run_teardowns(&[#(#teardowns),*]);
        }
    }
}

fn run_setup(at: usize, setup: &Setup, resolved: &Resolved) -> TokenStream {
    let value = setup_value(at);
    let function = call_site(&setup.ident);
    let (name, ty) = (&setup.name, &setup.made.ty);
    let given = arguments(&setup.arguments, resolved, |at| {
        let value = setup_value(at);
        quote!(#value.get())
    });
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
}

fn in_chain(at: usize) -> TokenStream {
    let value = setup_value(at);
    quote!(self.shared.#value.get())
}

fn in_shared(at: usize) -> TokenStream {
    let value = setup_value(at);
    quote!(__shared.#value.get())
}
