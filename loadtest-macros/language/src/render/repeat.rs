//! The definitions of steps that send again, and the condition that ends it.

use super::definition::{
    render_duration, render_list, render_option, render_statuses, render_text,
};
use super::slot_ident;
use crate::options::{RepeatOptions, RetryTrigger};
use crate::resolve::ResolvedScenario;
use crate::spelling::source_text;
use proc_macro2::TokenStream;
use quote::quote;
use std::time::Duration;

/// The `Option<Retry>` of a step.
pub(super) fn render_retry(repeat: &RepeatOptions) -> TokenStream {
    let retry = repeat.retry.as_ref().filter(|retry| retry.times > 0);
    render_option(retry.map(|retry| {
        let times = retry.times;
        let backoff = retry.backoff.map_or_else(
            || quote!(::loadtest::__private::Retry::BACKOFF),
            render_duration,
        );
        let on = if retry.on.is_empty() {
            quote!(::loadtest::__private::Cow::Borrowed(
                ::loadtest::__private::Retry::ON
            ))
        } else {
            render_list(retry.on.iter().map(|(on, _)| render_trigger(*on)))
        };
        quote! {
            ::loadtest::__private::Retry { times: #times, backoff: #backoff, on: #on }
        }
    }))
}

/// The `Option<Renewal>` of a step.
pub(super) fn render_renewal(repeat: &RepeatOptions) -> TokenStream {
    let is_renewed = repeat.once_for.is_some() || !repeat.refresh.is_empty();
    render_option(is_renewed.then(|| render_renewal_rules(repeat.once_for, &repeat.refresh)))
}

/// The `Renewal` of a value that is of use for a time, and until an answer with one of the statuses.
pub(super) fn render_renewal_rules(after: Option<Duration>, on: &[(u16, u16)]) -> TokenStream {
    let (after, on) = (
        render_option(after.map(render_duration)),
        render_statuses(on),
    );
    quote!(::loadtest::__private::Renewal { after: #after, on: #on })
}

fn render_trigger(trigger: RetryTrigger) -> TokenStream {
    let variant = match trigger {
        RetryTrigger::Status(from, to) => quote! {
            Status(::loadtest::__private::StatusRange { from: #from, to: #to })
        },
        RetryTrigger::Timeout => quote!(Timeout),
        RetryTrigger::Connect => quote!(Connect),
        RetryTrigger::Reset => quote!(Reset),
    };
    quote!(::loadtest::__private::Trigger::#variant)
}

/// The `Option<Until>` of a step.
pub(super) fn render_until(repeat: &RepeatOptions) -> TokenStream {
    render_option(repeat.until.as_ref().map(|condition| {
        let condition = render_text(&source_text(condition));
        let every = repeat.every.map_or_else(
            || quote!(::loadtest::__private::Until::EVERY),
            render_duration,
        );
        let within = repeat.within.map_or_else(
            || quote!(::loadtest::__private::Until::WITHIN),
            render_duration,
        );
        quote! {
            ::loadtest::__private::Until { condition: #condition, every: #every, within: #within }
        }
    }))
}

/// `Chain::arrived`: the conditions of the steps that ask until the answer is the one they wait for.
pub(super) fn render_arrived(resolved: &ResolvedScenario) -> TokenStream {
    let arms: Vec<TokenStream> = resolved
        .steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| {
            let condition = step.options.repeat.until.as_ref()?;
            let (slot, ty) = (slot_ident(at), &step.response.ty);
            Some(quote! {
                #at => self.#slot.response().is_some_and(|__response| {
                    ::loadtest::__private::call_with::<#ty, bool>(__response, #condition)
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
