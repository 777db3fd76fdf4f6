//! Renders thresholds as constants of the library.

use super::definition::{render_duration, render_option, render_text};
use loadtest_model::threshold::{Bound, Metric, Subject, Threshold};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use std::fmt::Debug;

/// Renders a `Threshold`.
pub(super) fn render_threshold(threshold: &Threshold) -> TokenStream {
    let subject = match &threshold.subject {
        Subject::Whole => quote!(Whole),
        Subject::Tag(name) => {
            let name = render_text(name);
            quote!(Tag(#name))
        }
        Subject::Row(name) => {
            let name = render_text(name);
            quote!(Row(#name))
        }
    };
    let comparison = variant_ident(&threshold.comparison);
    let metric = match &threshold.metric {
        Metric::Time(part, statistic) => {
            let (part, statistic) = (variant_ident(part), variant_ident(statistic));
            quote!(Time(
                ::loadtest::__private::Part::#part,
                ::loadtest::__private::Statistic::#statistic
            ))
        }
        Metric::Count(name) => {
            let name = render_text(name);
            quote!(Count(#name))
        }
        Metric::Rate(name) => {
            let name = render_text(name);
            quote!(Rate(#name))
        }
        Metric::Timing(name, statistic) => {
            let (name, statistic) = (render_text(name), variant_ident(statistic));
            quote!(Timing(#name, ::loadtest::__private::Statistic::#statistic))
        }
        Metric::Gauge(name, figure) => {
            let (name, figure) = (render_text(name), variant_ident(figure));
            quote!(Gauge(#name, ::loadtest::__private::GaugeFigure::#figure))
        }
        word => variant_ident(word).into_token_stream(),
    };
    let bound = match threshold.bound {
        Bound::Time(time) => {
            let time = render_duration(time);
            quote!(Time(#time))
        }
        Bound::Ratio(ratio) => quote!(Ratio(#ratio)),
        Bound::PerSecond(rate) => quote!(PerSecond(#rate)),
        Bound::BytesPerSecond(rate) => quote!(BytesPerSecond(#rate)),
        Bound::Count(number) => quote!(Count(#number)),
        Bound::Number(number) => quote!(Number(#number)),
    };
    let abort_after = render_option(threshold.abort_after.map(render_duration));
    quote! {
        ::loadtest::__private::Threshold {
            subject: ::loadtest::__private::Subject::#subject,
            metric: ::loadtest::__private::Metric::#metric,
            comparison: ::loadtest::__private::Comparator::#comparison,
            bound: ::loadtest::__private::Bound::#bound,
            abort_after: #abort_after,
        }
    }
}

/// The name of a variant without fields, as its `Debug` shows it.
fn variant_ident(variant: &impl Debug) -> Ident {
    Ident::new(&format!("{variant:?}"), Span::call_site())
}
