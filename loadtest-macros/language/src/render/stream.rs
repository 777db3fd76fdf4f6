//! How a step reads a stream of events: its definition, and the functions of the scenario that look at the events.

use super::definition::{render_duration, render_list, render_option, render_text};
use super::slot_ident;
use crate::options::{EndOption, StreamOptions};
use crate::resolve::{ResolvedScenario, ResolvedStep};
use crate::spelling::source_text;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// The `Option<StreamDef>` of a step.
pub(super) fn render_stream_def(step: &ResolvedStep) -> TokenStream {
    let StreamOptions {
        first,
        end,
        units,
        events,
        lasts,
        idle,
        idle_counts_bytes,
        format,
        is_graded_by_response,
        good: _,
    } = &step.options.stream;
    let source = |tokens: &TokenStream| render_text(&source_text(tokens));
    let first = render_option(first.as_ref().map(source));
    let units = render_option(units.as_ref().map(source));
    let end = render_option(end.as_ref().map(|end| match end {
        EndOption::Data(data) => {
            let data = render_text(&data.value());
            quote!(::loadtest::__private::EndMark::Data(#data))
        }
        EndOption::Condition(closure) => {
            let closure = source(closure);
            quote!(::loadtest::__private::EndMark::Condition(#closure))
        }
    }));
    let events = render_option(events.map(|events| quote!(#events)));
    let lasts = render_option(lasts.map(render_duration));
    let idle = idle.map_or_else(
        || quote!(::loadtest::__private::StreamDef::IDLE),
        render_duration,
    );
    let format = Ident::new(format.unwrap_or("Detected"), Span::call_site());
    let is_stream = step.response.is_stream() && !step.is_async;
    render_option(is_stream.then(|| {
        quote! {
            ::loadtest::__private::StreamDef {
                format: ::loadtest::__private::StreamFormat::#format,
                first: #first,
                end: #end,
                units: #units,
                events: #events,
                lasts: #lasts,
                idle: #idle,
                idle_counts_bytes: #idle_counts_bytes,
                graded_by_response: #is_graded_by_response,
            }
        }
    }))
}

/// The conditions of `good(..)`.
pub(super) fn render_good(options: &StreamOptions) -> TokenStream {
    render_list(options.good.iter().map(|(part, at_most)| {
        let (part, at_most) = (
            Ident::new(part, Span::call_site()),
            render_duration(*at_most),
        );
        quote! {
            ::loadtest::__private::GoodCondition {
                part: ::loadtest::__private::Part::#part,
                at_most: #at_most,
            }
        }
    }))
}

/// `Chain::measure_stream` and `Chain::ends_stream`; nothing where no step reads a stream.
pub(super) fn render_stream_methods(resolved: &ResolvedScenario) -> TokenStream {
    let streams = || {
        let steps = resolved.steps.iter().enumerate();
        steps.filter(|(_, step)| step.response.is_stream() && !step.is_async)
    };
    if streams().next().is_none() {
        return TokenStream::new();
    }
    let measured = streams().map(|(at, step)| {
        let slot = slot_ident(at);
        let StreamOptions { first, units, .. } = &step.options.stream;
        let first = first
            .as_ref()
            .map_or_else(|| quote!(|_| true), Clone::clone);
        let measure = units.as_ref().map_or_else(
            || quote!(measure_events(&self.#slot, __failed, #first)),
            |units| quote!(measure_units(&self.#slot, __failed, #first, #units)),
        );
        quote!(#at => ::loadtest::__private::#measure,)
    });
    let ends = streams().filter_map(|(at, step)| {
        let Some(EndOption::Condition(closure)) = &step.options.stream.end else {
            return None;
        };
        let slot = slot_ident(at);
        Some(quote!(#at => ::loadtest::__private::ends_stream(&self.#slot, __event, #closure),))
    });
    quote! {
        fn measure_stream(
            &self,
            __step: usize,
            __failed: ::core::option::Option<&::loadtest::__private::EventLog>,
        ) -> ::loadtest::__private::StreamSample {
            match __step {
                #(#measured)*
                _ => ::core::default::Default::default(),
            }
        }

        fn ends_stream(&self, __step: usize, __event: &::loadtest::__private::RawEvent) -> bool {
            match __step {
                #(#ends)*
                _ => false,
            }
        }
    }
}
