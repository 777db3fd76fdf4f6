//! Thresholds in attributes: `p95 < 300ms`, `tls.p95 < 1s or abort after 30s`.
//!
//! `loadtest_model::threshold` has the grammar, also for the command line. This file hands it the text
//! of the tokens.

use crate::spelling::SpelledTokens;
use loadtest_model::threshold::{
    Metric, Scope, Threshold, is_custom_word, is_metric_word, is_part_word, parse_threshold,
};
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::ParseStream;
use syn::{Ident, Token, token};

/// A threshold, and its tokens for the place of a mistake.
pub(crate) struct ThresholdOption {
    pub(crate) threshold: Threshold,
    pub(crate) written: TokenStream,
}

impl ThresholdOption {
    /// Returns true for a limit on something per second.
    pub(crate) fn is_rate(&self) -> bool {
        matches!(self.threshold.metric, Metric::Rps | Metric::Throughput)
    }
}

/// Returns true if a threshold begins with `name`, which was just parsed.
pub(super) fn begins_threshold(name: &str, input: ParseStream<'_>) -> bool {
    is_metric_word(name) && !input.peek(token::Paren)
        || is_part_word(name) && (input.peek(Token![.]) || is_compared(input))
        || (is_custom_word(name) || name == "p") && input.peek(token::Paren)
}

/// Returns true if a comparison follows.
pub(super) fn is_compared(input: ParseStream<'_>) -> bool {
    input.peek(Token![<]) || input.peek(Token![>])
}

/// Parses a threshold that begins with `first`.
pub(super) fn parse_threshold_option(
    first: &Ident,
    scope: Scope,
    input: ParseStream<'_>,
) -> syn::Result<ThresholdOption> {
    let rest: TokenStream = input.parse()?;
    let written = quote!(#first #rest);
    let spelled = SpelledTokens::new(written.clone());
    match parse_threshold(&spelled.text, scope) {
        Ok(condition) => Ok(ThresholdOption {
            threshold: condition.threshold,
            written,
        }),
        Err(mistake) => Err(spelled.error_at(&mistake.place, &mistake.message)),
    }
}
