//! Thresholds, as constants of the library.

use super::definition::{render_duration, render_option, render_text};
use crate::options::{Bound, Limit, Metric};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

/// The `Threshold` of a limit.
pub(super) fn render_threshold(limit: &Limit) -> TokenStream {
    let variant = |name: &str| Ident::new(name, Span::call_site());
    let comparison = variant(limit.comparison);
    let statistic = |name: &str| {
        let name = variant(name);
        quote!(::loadtest::__private::Statistic::#name)
    };
    let metric = match &limit.metric {
        Metric::Word(word) => variant(word).into_token_stream(),
        Metric::Time(part, of) => {
            let (part, of) = (variant(part), statistic(of));
            quote!(Time(::loadtest::__private::Part::#part, #of))
        }
        Metric::Count(name) => {
            let name = render_text(name);
            quote!(Count(#name))
        }
        Metric::Rate(name) => {
            let name = render_text(name);
            quote!(Rate(#name))
        }
        Metric::Timing(name, of) => {
            let (name, of) = (render_text(name), statistic(of));
            quote!(Timing(#name, #of))
        }
    };
    let bound = match limit.bound {
        Bound::Time(time) => {
            let time = render_duration(time);
            quote!(Time(#time))
        }
        Bound::Ratio(ratio) => quote!(Ratio(#ratio)),
        Bound::PerSecond(rate) => quote!(PerSecond(#rate)),
        Bound::BytesPerSecond(rate) => quote!(BytesPerSecond(#rate)),
        Bound::Count(number) => quote!(Count(#number)),
    };
    let abort_after = render_option(limit.abort_after.map(render_duration));
    quote! {
        ::loadtest::__private::Threshold {
            metric: ::loadtest::__private::Metric::#metric,
            comparison: ::loadtest::__private::Comparator::#comparison,
            bound: ::loadtest::__private::Bound::#bound,
            abort_after: #abort_after,
        }
    }
}
