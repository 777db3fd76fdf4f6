//! The definitions of steps that send again, and the condition that ends it.

use super::definition::{duration, list, option, text};
use super::slot;
use crate::options::{Repeat, Trigger};
use crate::resolve::Resolved;
use crate::spelling::as_written;
use proc_macro2::TokenStream;
use quote::quote;

/// The `Option<Retry>` of a step.
pub(super) fn retry(repeat: &Repeat) -> TokenStream {
    option(repeat.retry.as_ref().map(|retry| {
        let times = retry.times;
        let backoff = retry
            .backoff
            .map_or_else(|| quote!(::loadtest::__private::Retry::BACKOFF), duration);
        let on = if retry.on.is_empty() {
            quote!(::loadtest::__private::Cow::Borrowed(
                ::loadtest::__private::Retry::ON
            ))
        } else {
            list(retry.on.iter().map(|(on, _)| trigger(*on)))
        };
        quote! {
            ::loadtest::__private::Retry { times: #times, backoff: #backoff, on: #on }
        }
    }))
}

fn trigger(trigger: Trigger) -> TokenStream {
    let variant = match trigger {
        Trigger::Status(from, to) => quote! {
            Status(::loadtest::__private::StatusRange { from: #from, to: #to })
        },
        Trigger::Timeout => quote!(Timeout),
        Trigger::Connect => quote!(Connect),
        Trigger::Reset => quote!(Reset),
    };
    quote!(::loadtest::__private::Trigger::#variant)
}

/// The `Option<Until>` of a step.
pub(super) fn until(repeat: &Repeat) -> TokenStream {
    option(repeat.until.as_ref().map(|(_, condition)| {
        let condition = text(&as_written(condition));
        let every = repeat.every.as_ref().map_or_else(
            || quote!(::loadtest::__private::Until::EVERY),
            |(_, time)| duration(*time),
        );
        let within = repeat.within.as_ref().map_or_else(
            || quote!(::loadtest::__private::Until::WITHIN),
            |(_, time)| duration(*time),
        );
        quote! {
            ::loadtest::__private::Until { condition: #condition, every: #every, within: #within }
        }
    }))
}

/// `Chain::arrived`: the conditions of the steps that ask until the answer is the one they wait for.
pub(super) fn arrived(resolved: &Resolved) -> TokenStream {
    let arms: Vec<TokenStream> = resolved
        .steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| {
            let (_, condition) = step.options.repeat.until.as_ref()?;
            let (slot, ty) = (slot(at), &step.response.ty);
            Some(quote! {
                #at => self.#slot.response().is_some_and(|__response| {
                    ::loadtest::__private::holds::<#ty>(__response, #condition)
                }),
            })
        })
        .collect();
    let decide = if arms.is_empty() {
        quote!(true)
    } else {
        quote! {
            match __step {
                #(#arms)*
                _ => true,
            }
        }
    };
    quote! {
        fn arrived(&self, __step: usize) -> bool {
            #decide
        }
    }
}
